//! The memory limit and the shared state of one reading of files.

use crate::report;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One reading of the files of a data item.
#[derive(Debug)]
pub struct Reading {
    limit: u64,
    used: Cell<u64>,
    checksums: RefCell<BTreeMap<PathBuf, Checksum>>,
    texts: RefCell<Vec<String>>,
    /// Columns that are left out if one of their cells is empty.
    optional: Vec<String>,
}

impl Reading {
    /// A reading that may take `limit` bytes.
    pub fn within(limit: Option<u64>) -> Reading {
        Reading {
            limit: limit.unwrap_or(u64::MAX),
            used: Cell::new(0),
            checksums: RefCell::default(),
            texts: RefCell::default(),
            optional: Vec::new(),
        }
    }

    /// Leaves out columns of these names if any of their cells is empty.
    pub fn with_optional(self, names: Vec<String>) -> Reading {
        Reading {
            optional: names,
            ..self
        }
    }

    /// Returns whether a column is left out if one of its cells is empty.
    pub(super) fn is_optional(&self, column: &str) -> bool {
        self.optional.iter().any(|name| name == column)
    }

    /// Treats columns of these names as text, whatever their first row looks like.
    pub fn with_texts<'a>(self, names: impl Iterator<Item = &'a String>) -> Reading {
        self.know_texts(names);
        self
    }

    /// Treats columns of these names as text in the files that follow.
    pub(crate) fn know_texts<'a>(&self, names: impl Iterator<Item = &'a String>) {
        self.texts.borrow_mut().extend(names.cloned());
    }

    /// Returns whether a column is known to hold text.
    pub(super) fn is_text(&self, column: &str) -> bool {
        self.texts.borrow().iter().any(|name| name == column)
    }

    /// Keeps the checksum of a file's contents as read: a pipe cannot be read again, and a file may change.
    pub(super) fn keep(&self, path: &Path, bytes: &[u8]) {
        let mut checksums = self.checksums.borrow_mut();
        checksums.insert(path.to_path_buf(), Checksum::of(bytes));
    }

    /// Returns the checksums of the files that were read.
    pub(crate) fn checksums(&self) -> BTreeMap<PathBuf, Checksum> {
        self.checksums.borrow().clone()
    }

    /// Returns the bytes that are left.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.get())
    }

    /// Counts bytes that the contents of a file take.
    ///
    /// # Errors
    /// More bytes than the limit.
    pub(crate) fn take(&self, path: &Path, bytes: usize) -> Result<(), Diagnostic> {
        let used = self.used.get().saturating_add(bytes as u64);
        self.used.set(used);
        match used > self.limit {
            true => Err(report::too_little_memory(path, self.limit)),
            false => Ok(()),
        }
    }

    /// Releases bytes that were counted.
    pub(super) fn free(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes as u64));
    }
}

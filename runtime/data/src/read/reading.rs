//! The memory limit and the shared state while the files of a data item are read.

use crate::report;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// One reading of the files of a data item.
#[derive(Debug)]
pub struct Reading {
    limit: u64,
    used: Cell<u64>,
    checksums: RefCell<BTreeMap<PathBuf, Checksum>>,
    texts: RefCell<Vec<String>>,
    /// The columns that are read; all of them where this is `None`.
    only: Option<HashSet<String>>,
}

impl Reading {
    /// Creates a reading that may take `limit` bytes of memory.
    pub fn within(limit: Option<u64>) -> Reading {
        Reading {
            limit: limit.unwrap_or(u64::MAX),
            used: Cell::new(0),
            checksums: RefCell::default(),
            texts: RefCell::default(),
            only: None,
        }
    }

    /// The same where only columns of these names are read, all of them where there is no list. The cells of other columns are not examined.
    pub fn with_only(self, names: Option<HashSet<String>>) -> Reading {
        Reading { only: names, ..self }
    }

    /// Returns whether a column is read.
    pub(super) fn reads(&self, column: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(column))
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

    /// Keeps the checksum of a file's contents while they are in memory: a pipe cannot be read again, and a file may change.
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

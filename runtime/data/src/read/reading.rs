//! The memory that reading may take.

use crate::report;
use bnnc_base::diagnostic::Diagnostic;
use std::cell::Cell;
use std::path::Path;

/// One reading of the files of a data item.
#[derive(Debug)]
pub struct Reading {
    limit: u64,
    used: Cell<u64>,
}

impl Reading {
    /// A reading that may take `limit` bytes.
    pub fn within(limit: Option<u64>) -> Reading {
        Reading {
            limit: limit.unwrap_or(u64::MAX),
            used: Cell::new(0),
        }
    }

    /// The bytes that are left.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.get())
    }

    /// Counts bytes that the contents of a file take.
    ///
    /// # Errors
    /// More than there may be.
    pub(super) fn take(&self, path: &Path, bytes: usize) -> Result<(), Diagnostic> {
        let used = self.used.get().saturating_add(bytes as u64);
        self.used.set(used);
        match used > self.limit {
            true => Err(report::too_little_memory(path, self.limit)),
            false => Ok(()),
        }
    }

    /// Counts bytes that are free again.
    pub(super) fn free(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes as u64));
    }
}

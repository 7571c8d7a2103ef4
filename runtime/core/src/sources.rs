//! Data that are read before a run begins.

use bnnc_base::checksum::Checksum;
use bnnc_data::LoadedData;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Data items in memory, by name.
#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<Mutex<HashMap<String, LoadedData>>>);

impl Sources {
    /// Wraps data items that were read.
    pub fn of(read: HashMap<String, LoadedData>) -> Sources {
        Sources(Arc::new(Mutex::new(read)))
    }

    /// Returns the checksum of a data item's file, computed when the file was read.
    pub fn checksum(&self, item: &str, path: &Path) -> Option<Checksum> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(item)?.checksum(path)
    }

    /// Removes and returns a data item, so that its memory is freed once its rows have been selected.
    pub fn take(&self, name: &str) -> Option<LoadedData> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name)
    }
}

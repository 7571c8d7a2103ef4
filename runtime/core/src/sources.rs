//! Keeps the data items that are read before a run begins.

use bnnc_base::checksum::Checksum;
use bnnc_data::LoadedData;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Data items in memory, by their name.
#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<Mutex<HashMap<String, LoadedData>>>);

impl Sources {
    /// Returns a container for these data items.
    pub fn of(read: HashMap<String, LoadedData>) -> Sources {
        Sources(Arc::new(Mutex::new(read)))
    }

    /// Returns the checksum of one of the files of a data item. The checksum was computed while the
    /// file was read.
    pub fn checksum(&self, item: &str, path: &Path) -> Option<Checksum> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(item)?.checksum(path)
    }

    /// Removes and returns a data item. The caller can then free the memory of the data item once
    /// it has selected the rows.
    pub fn take(&self, name: &str) -> Option<LoadedData> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name)
    }
}

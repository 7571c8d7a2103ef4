//! The file in a checkpoint that stores the state of a training run while it runs.

use super::{Checkpoint, seal, unseal};
use crate::diagnostics;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The time between the start of a training run and its first commit. Each later interval is twice
/// as long as the one before.
const FIRST: Duration = Duration::from_millis(10);

/// The maximum time between commits.
const LONGEST: Duration = Duration::from_secs(60);

/// Commits may take at most the fraction `1 / SHARE` of the running time of a training run.
const SHARE: u32 = 20;

/// The file that stores the state of a training run. Without a checkpoint, nothing is written.
#[derive(Debug)]
pub struct TrainingFile {
    place: Option<(PathBuf, Checksum)>,
    due: Instant,
    wait: Duration,
}

impl Checkpoint {
    /// Returns the file of a training run. `name` is the name of the inference block. If the block
    /// trains more than once, the member or the restart follows.
    pub fn training(&self, name: &str, split: usize) -> TrainingFile {
        let place = self.folder.as_ref().map(|folder| {
            let name = format!("{name}-{split}");
            (path(&folder.path, &name), folder.of(&name))
        });
        let wait = FIRST.min(self.every);
        TrainingFile {
            place,
            due: Instant::now() + wait,
            wait,
        }
    }
}

/// Returns the path of the file in which the state of a training run is stored.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.training"))
}

impl TrainingFile {
    /// Returns the state that an interrupted run saved. Returns `None` if it did not save a state.
    ///
    /// # Errors
    /// Fails if the file is damaged.
    pub fn resumed<T: DeserializeOwned>(&self) -> Result<Option<T>, Diagnostic> {
        let Some((path, of)) = &self.place else {
            return Ok(None);
        };
        match unseal(path, *of) {
            Ok(Some(state)) => Ok(Some(state)),
            Ok(None) => Err(diagnostics::checkpoint_damaged(path, "it is not complete")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(diagnostics::checkpoint_damaged(path, &error.to_string())),
        }
    }

    /// Returns the diagnostic for a state that does not fit the program.
    pub fn corrupt(&self) -> Diagnostic {
        let path = self
            .place
            .as_ref()
            .map_or(Path::new("checkpoint"), |(path, _)| path);
        diagnostics::checkpoint_damaged(path, "it belongs to another training")
    }

    /// Returns whether the next commit is due.
    pub fn is_due(&self) -> bool {
        self.place.is_some() && Instant::now() >= self.due
    }

    /// Replaces the saved state. A later run can resume from the new state.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn commit<T: Serialize>(&mut self, state: &T) -> Result<(), Diagnostic> {
        let Some((path, of)) = &self.place else {
            return Ok(());
        };
        let clock = Instant::now();
        seal(path, *of, state)?;
        let least = SHARE * clock.elapsed();
        self.wait = (2 * self.wait).max(least).min(LONGEST);
        self.due = Instant::now() + self.wait;
        Ok(())
    }

    /// Deletes the state of a training run that failed. A training run that resumes from this state would fail again.
    ///
    /// # Errors
    /// Fails if a file cannot be deleted.
    pub fn forget(&self) -> Result<(), Diagnostic> {
        self.place.as_ref().map_or(Ok(()), |(path, _)| remove(path))
    }
}

/// Deletes the state of a training run whose result has been stored.
pub(super) fn forget(folder: &Path, name: &str) -> Result<(), Diagnostic> {
    remove(&path(folder, name))
}

fn remove(path: &Path) -> Result<(), Diagnostic> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(diagnostics::cannot_write(path, &error.to_string())),
    }
}

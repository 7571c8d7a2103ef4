//! Determines which files in a checkpoint a run may delete or replace, from the names of the files.
//! Also locks the folder of the checkpoint.

use crate::diagnostics;
use bnnc_base::diagnostic::Diagnostic;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// The extensions of the files of a run. The part of the file name before the extension consists of the
/// name of the inference block, the index of the split and, for a chain, the index of the chain.
const EXTENSIONS: [&str; 5] = ["draws", "chain", "chain.old", "fit", "training"];

/// Locks the checkpoint in the folder `out`. The folder stays locked until the returned file is closed.
pub(super) fn lock(folder: &Path, out: &Path) -> Result<File, Diagnostic> {
    let path = folder.join("lock");
    not_a_link(&path)?;
    // Only a regular file is opened, because opening a pipe would block.
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(diagnostics::cannot_write(&path, "it is not a regular file"));
    }
    // An existing lock file is not truncated.
    let opened = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let file = opened.map_err(|error| diagnostics::cannot_write(&path, &error.to_string()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(diagnostics::folder_in_use(out)),
        // Some file systems do not support locks. On such a file system, the run continues without
        // a lock.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Fails if a path is a link.
pub(super) fn not_a_link(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(diagnostics::is_a_link(path)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Deletes the files of a checkpoint that belong to these inference blocks. If `only_begun` is
/// true, deletes only temporary files, which were not completed.
pub(super) fn clear(folder: &Path, infers: &[&[String]], only_begun: bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let (finished, is_begun) = match unfinished(&name) {
            Some(finished) => (finished, true),
            None => (&*name, false),
        };
        let is_own = infers.concat().iter().any(|infer| is_of(finished, infer));
        if is_own && (is_begun || !only_begun) && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns whether the folder contains a file of these inference blocks from which a run could
/// continue. Also returns true if the folder cannot be read.
pub(super) fn is_begun(folder: &Path, infers: &[String]) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return true;
    };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| {
        let name = name.to_string_lossy();
        infers.iter().any(|infer| is_of(&name, infer))
    })
}

/// Returns the final name `NAME` of a temporary file `NAME.PROCESS.tmp`, or `None` if the name does
/// not have this form.
fn unfinished(name: &str) -> Option<&str> {
    let (name, process) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let is_process = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    is_process.then_some(name)
}

/// Returns whether the name of a file is `INFER-SPLIT.EXTENSION` or `INFER-SPLIT-CHAIN.EXTENSION`.
fn is_of(name: &str, infer: &str) -> bool {
    let Some((numbers, extension)) = name
        .strip_prefix(infer)
        .and_then(|rest| rest.strip_prefix('-')?.split_once('.'))
    else {
        return false;
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    EXTENSIONS.contains(&extension) && numbers.split('-').count() <= 2 && numbers.split('-').all(is_number)
}

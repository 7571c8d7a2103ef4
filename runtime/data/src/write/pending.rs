//! A file that is written under a temporary name and renamed when it is complete. Links are followed. A target that is not a regular file,
//! such as a pipe or a device, is written to directly.

use crate::file;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that still has a temporary name. If the value is dropped before [`Pending::finish`], the
/// file is removed.
#[derive(Debug)]
pub(super) struct Pending {
    target: PathBuf,
    /// The temporary name, or `None` if the target is written to directly.
    temporary: Option<PathBuf>,
    /// The writer, or `None` after [`Pending::finish`].
    writer: Option<BufWriter<File>>,
}

impl Pending {
    /// Creates a file beside its final name.
    pub(super) fn create(target: &Path) -> io::Result<Pending> {
        // If the target does not exist, the name is not a link. A dangling link is replaced.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
        let is_special = fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let temporary = (!is_special).then(|| beside(&target, "tmp"));
        let opened = match &temporary {
            Some(temporary) => {
                let file = File::create(temporary)?;
                if let Ok(found) = fs::metadata(&target) {
                    // The new file gets the permissions of the file that it replaces, so that it
                    // does not become readable for more users.
                    file.set_permissions(found.permissions())?;
                }
                file
            }
            None => file::open_to_write(&target)?,
        };
        Ok(Pending {
            target,
            temporary,
            writer: Some(BufWriter::new(opened)),
        })
    }

    /// Creates a file that will replace any existing file of its final name. A link with this name
    /// is replaced too, not followed.
    pub(super) fn in_place_of(target: &Path) -> io::Result<Pending> {
        let temporary = beside(target, "tmp");
        let file = File::create(&temporary)?;
        Ok(Pending {
            target: target.to_path_buf(),
            temporary: Some(temporary),
            writer: Some(BufWriter::new(file)),
        })
    }

    /// Gives the file its final name. A reader sees the old content or the new content, but never a
    /// part of it.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let whole = writer.into_inner().map_err(io::IntoInnerError::into_error);
        let Some(temporary) = &self.temporary else {
            return whole.map(drop);
        };
        let renamed = whole
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(temporary, &self.target));
        // Only the error of the renaming is reported. If the temporary file cannot be removed
        // either, it remains in the folder.
        renamed.inspect_err(|_| drop(fs::remove_file(temporary)))
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        let finished = || io::Error::other("the file is finished");
        self.writer.as_mut().ok_or_else(finished)
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open()?.flush()
    }
}

impl Seek for Pending {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.open()?.seek(to)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(_), Some(temporary)) = (self.writer.take(), &self.temporary) {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Returns a name in the same folder: `NAME.PROCESS.EXTENSION`. The name contains the process ID,
/// so that two processes do not write to the same file.
pub(super) fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.{extension}", std::process::id()));
    path.with_file_name(name)
}

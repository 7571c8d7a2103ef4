//! A file that is written under a temporary name and renamed when it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that does not have its name yet; it vanishes where it is dropped unfinished.
#[derive(Debug)]
pub(super) struct Pending {
    target: PathBuf,
    temporary: PathBuf,
    /// Nothing once the file has its name.
    writer: Option<BufWriter<File>>,
}

impl Pending {
    /// Begins a file beside its final name.
    pub(super) fn create(target: &Path) -> io::Result<Pending> {
        let temporary = beside(target, "tmp");
        let writer = Some(BufWriter::new(File::create(&temporary)?));
        Ok(Pending {
            target: target.to_path_buf(),
            temporary,
            writer,
        })
    }

    /// Gives the file its name: a reader sees the old content or the new, never a part.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            let whole = writer.into_inner().map_err(io::IntoInnerError::into_error);
            let renamed = whole
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&self.temporary, &self.target));
            // The first fault is the one worth telling; a leftover file is only untidy.
            renamed.inspect_err(|_| drop(fs::remove_file(&self.temporary)))?;
        }
        Ok(())
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
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A name of this process in the same folder: `NAME.PROCESS.EXTENSION`.
pub(super) fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.{extension}", std::process::id()));
    path.with_file_name(name)
}

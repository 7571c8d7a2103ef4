//! Opens files that may be pipes or devices. A time limit ensures that opening a pipe does not
//! block for ever.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// Opens a file for reading. If the file is a named pipe that no program opens for writing within
/// five seconds, the call fails. Without this limit, the call could block for ever.
///
/// # Errors
/// Fails if the operating system reports an error.
pub fn open(path: &Path) -> Result<File> {
    match is_pipe(path)? {
        true => open_pipe(path, File::open, "it is a pipe, and no program writes into it"),
        false => File::open(path),
    }
}

/// Opens an existing file for writing. If the file is a named pipe that no program opens for
/// reading within five seconds, the call fails.
///
/// # Errors
/// Fails if the operating system reports an error.
pub(crate) fn open_to_write(path: &Path) -> Result<File> {
    fn to_write(path: PathBuf) -> Result<File> {
        OpenOptions::new().write(true).open(path)
    }
    match is_pipe(path)? {
        true => open_pipe(path, to_write, "it is a pipe, and no program reads from it"),
        false => to_write(path.to_path_buf()),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> Result<bool> {
    use std::os::unix::fs::FileTypeExt;
    Ok(std::fs::metadata(path)?.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_path: &Path) -> Result<bool> {
    Ok(false)
}

/// Opens a pipe in a separate thread. This thread stays blocked if no program opens the other end
/// of the pipe.
fn open_pipe(path: &Path, open: fn(PathBuf) -> Result<File>, why: &'static str) -> Result<File> {
    let (sender, receiver) = mpsc::channel();
    let path = path.to_path_buf();
    std::thread::Builder::new().spawn(move || {
        // After a timeout, no receiver is left. The failure to send is then harmless.
        let _ = sender.send(open(path));
    })?;
    let found = receiver.recv_timeout(Duration::from_secs(5));
    found.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, why)))
}

/// Opens a regular file. Pipes and devices are rejected without being opened, because a pipe may
/// never receive data, and a device may deliver data without end.
///
/// # Errors
/// Fails if the operating system reports an error, or if the path is not a regular file.
pub fn regular(path: &Path) -> Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a regular file, but at most the number of bytes that the file had when it was opened.
///
/// # Errors
/// Fails in the same cases as [`regular`].
pub fn whole(path: &Path) -> Result<Vec<u8>> {
    let file = regular(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file as text.
///
/// # Errors
/// Fails in the same cases as [`regular`], and if the bytes are not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(whole(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

//! Files that may be pipes or devices: opened without waiting for ever.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a file. A named pipe that no program opens for writing within five seconds is an error, because opening it would wait for ever.
///
/// # Errors
/// As the system says.
pub fn open(path: &Path) -> Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if std::fs::metadata(path)?.file_type().is_fifo() {
            return open_pipe(path);
        }
    }
    File::open(path)
}

/// Opens a pipe in a thread of its own, which stays behind where nobody writes.
#[cfg(unix)]
fn open_pipe(path: &Path) -> Result<File> {
    use std::sync::mpsc;
    use std::time::Duration;
    let (sender, receiver) = mpsc::channel();
    let path = path.to_path_buf();
    std::thread::Builder::new().spawn(move || {
        // Nobody listens any more where it took too long.
        let _ = sender.send(File::open(path));
    })?;
    receiver.recv_timeout(Duration::from_secs(5)).unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::TimedOut,
            "it is a pipe, and no program writes into it",
        ))
    })
}

/// Opens a regular file. Pipes and devices are refused before they are opened: a pipe may never be written into, and a device has no end.
///
/// # Errors
/// Those of the system, and a path that is not a regular file.
pub fn regular(path: &Path) -> Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a regular file, up to the size that it had when it was opened.
///
/// # Errors
/// Those of [`regular`].
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
/// Those of [`regular`], and bytes that are not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(whole(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

//! Opens files that may be pipes or devices. A time limit ensures that opening a pipe does not
//! block for ever.

use bnnc_abi::data::DataSpec;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// Returns every file that a data item reads.
pub fn files_of(spec: &DataSpec) -> Vec<PathBuf> {
    let mut spec = spec.clone();
    let paths = spec.paths_mut().into_iter();
    paths.flat_map(|path| matching(path)).collect()
}

/// Returns whether the name of a file is a pattern, and no file has this name.
pub fn is_pattern(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.contains('*')) && !path.exists()
}

/// Returns the files that a pattern matches, in the order of their names. In the pattern, `*` stands for any characters of the file's name.
/// If the pattern itself is the name of a file, or if no file matches, returns the path itself.
pub fn matching(path: &Path) -> Vec<PathBuf> {
    let own = || vec![path.to_path_buf()];
    let Some(pattern) = path.file_name().and_then(|name| name.to_str()) else {
        return own();
    };
    if !is_pattern(path) {
        return own();
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_match = |name: &String| matches(pattern, name);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(is_match).collect();
    if names.is_empty() {
        return own();
    }
    names.sort_unstable();
    names.into_iter().map(|name| path.with_file_name(name)).collect()
}

/// Returns whether a name matches the pattern. It matches if it equals the pattern after each `*` has been
/// replaced by any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = name.strip_prefix(first).and_then(|name| name.strip_suffix(last));
    let after = |name: &str, part: &str| name.split_once(part).map(|(_, after)| after.to_owned());
    let mut parts = middle.split('*');
    inner.is_some_and(|inner| {
        parts
            .try_fold(inner.to_owned(), |name, part| after(&name, part))
            .is_some()
    })
}

/// Opens a file for reading. If the file is a named pipe that no program opens for writing within five seconds, the call fails. Without this limit,
/// the call could block for ever.
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
        // After a timeout, the receiver no longer exists. The failure to send is then harmless.
        let _ = sender.send(open(path));
    })?;
    let found = receiver.recv_timeout(Duration::from_secs(5));
    found.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, why)))
}

/// Opens a regular file. Pipes and devices are rejected without being opened. A pipe may never
/// receive data, and a device may deliver data without end.
///
/// # Errors
/// Fails if the operating system reports an error, or if the path is not a regular file.
pub fn regular(path: &Path) -> Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a regular file. If the file grows after it has been opened, the additional bytes are not read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("data_batch_*.bin", "data_batch_1.bin", true),
            ("data_batch_*.bin", "data_batch_.bin", true),
            ("data_batch_*.bin", "test_batch.bin", false),
            ("data_batch_*.bin", "data_batch_1.bin.gz", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*", "x", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("a*b*b", "ab", false),
            ("plain", "plain", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

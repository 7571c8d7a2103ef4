//! Writes executables. An executable is written under a temporary name and renamed when it is complete.

use crate::build::diagnostics;
use bnnc_abi::artefact;
use bnnc_base::diagnostic::Diagnostic;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Flags for the linker that remove unreachable sections and symbol names.
const FLAGS: &[&str] = if cfg!(target_os = "linux") {
    &["-Wl,--gc-sections", "-Wl,-z,noexecstack", "-s"]
} else if cfg!(target_os = "macos") {
    &["-Wl,-dead_strip"]
} else {
    &[]
};

/// Messages of linkers or of the system that mean that the disk is full.
const FULL: &[&str] = &[
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "File size limit exceeded",
];

/// The system libraries that Rust's standard library needs.
const LIBRARIES: &[&str] = if cfg!(target_os = "linux") {
    &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"]
} else if cfg!(target_os = "macos") {
    &["-liconv", "-lSystem", "-lc", "-lm"]
} else {
    &["-lm"]
};

/// Checks that an executable can be written to `path`.
///
/// # Errors
/// Fails if the path is a folder or a special file, does not end in a file name, or has a folder
/// that does not exist.
pub fn check(path: &Path) -> Result<(), Box<Diagnostic>> {
    let reject = |why: &str| Err(Box::new(diagnostics::cannot_build(path, why)));
    if path.is_dir() {
        return reject("it is a folder");
    }
    if path.exists() && !path.is_file() {
        return reject("it is not a regular file");
    }
    if path.file_name().is_none() {
        return reject("it is not the name of a file");
    }
    if !folder(path).is_dir() {
        return reject("its folder does not exist");
    }
    Ok(())
}

/// Checks that the executable at `path` would not overwrite one of its source files.
///
/// # Errors
/// Fails if one of these files is at the path.
pub fn spares<'a>(path: &Path, mut files: impl Iterator<Item = &'a Path>) -> Result<(), Box<Diagnostic>> {
    match files.any(|file| is_same(path, file)) {
        true => Err(Box::new(bnnc_core::diagnostics::replaces_its_source(path))),
        false => Ok(()),
    }
}

/// Returns whether two paths refer to the same file.
#[cfg(unix)]
fn is_same(left: &Path, right: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    identity(left).is_ok_and(|left| identity(right).is_ok_and(|right| left == right))
}

/// Returns whether two paths refer to the same file.
#[cfg(not(unix))]
fn is_same(left: &Path, right: &Path) -> bool {
    fs::canonicalize(left).is_ok_and(|left| fs::canonicalize(right).is_ok_and(|right| left == right))
}

/// Checks that a file is the complete runtime of this version: the library or the executable. The runtime must also be able to read the layout of
/// bundles that this compiler writes. Otherwise, the executable could not read its own program.
///
/// # Errors
/// Fails if the file is not the runtime of this version and layout, if it is incomplete, or if it
/// cannot be read.
pub fn is_runtime(path: &Path) -> Result<(), Box<Diagnostic>> {
    let bytes =
        fs::read(path).map_err(|error| Box::new(diagnostics::cannot_build(path, &error.to_string())))?;
    let layout = artefact::layout_of(&bytes, env!("CARGO_PKG_VERSION"));
    Err(Box::new(match layout {
        None => diagnostics::no_runner(path),
        Some(artefact::LAYOUT) if is_whole(&bytes) => return Ok(()),
        Some(artefact::LAYOUT) => diagnostics::half_a_runner(path),
        Some(layout) => diagnostics::other_runner(path, layout),
    }))
}

/// Returns whether the length of a little-endian 64-bit ELF file agrees with its header. Linkers
/// write the section table at the end of the file, so a truncated file does not contain it.
/// For files of other formats, returns `true`.
fn is_whole(bytes: &[u8]) -> bool {
    const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
    if !bytes.starts_with(ELF_64_LITTLE) {
        return true;
    }
    let number = |at: usize, size: usize| {
        let digits = bytes.get(at..at + size)?.iter().rev();
        Some(digits.fold(0_u64, |number, digit| number << 8 | u64::from(*digit)))
    };
    let end = || {
        let (offset, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
        offset.checked_add(size * count)
    };
    end().is_some_and(|end| end <= bytes.len() as u64)
}

/// Writes a copy of `runner` to `path`, and appends `bytes`. Returns the size of the executable in
/// bytes.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn append(runner: &Path, bytes: &[u8], path: &Path) -> Result<u64, Box<Diagnostic>> {
    let draft = Draft::of(path);
    let write = || -> io::Result<()> {
        fs::copy(runner, &draft.path)?;
        let mut file = OpenOptions::new().append(true).open(&draft.path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| Box::new(diagnostics::cannot_build(path, &error.to_string())))?;
    draft.finish(path)
}

/// Links objects with the static library `runtime`, and returns the size of the executable in bytes.
///
/// # Errors
/// Fails if a linker cannot be found, if the linker fails, or if a file cannot be written.
pub fn link(objects: &[&[u8]], runtime: &Path, path: &Path) -> Result<u64, Box<Diagnostic>> {
    let draft = Draft::of(path);
    let cannot = |error: io::Error| Box::new(diagnostics::cannot_build(path, &error.to_string()));
    // Every linker has its own message for a folder without write permission, so the permission is
    // tested first.
    fs::write(&draft.path, []).map_err(cannot)?;
    let workshop = Workshop::new().map_err(cannot)?;
    let mut files = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        let file = workshop.0.join(format!("{number}.o"));
        fs::write(&file, object).map_err(cannot)?;
        files.push(file);
    }
    let (name, first) = compiler();
    let mut command = Command::new(&name);
    command
        .args(first)
        .arg("-o")
        .arg(&draft.path)
        .args(files)
        .arg(runtime);
    command.args(FLAGS).args(LIBRARIES).stdin(Stdio::null());
    // In the locale `C`, the messages about a full disk are the texts in `FULL`.
    command.env("LC_ALL", "C");
    let output = command
        .output()
        .map_err(|error| Box::new(diagnostics::no_linker(&name, &error)))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(Box::new(
            match FULL.iter().find(|words| message.contains(**words)) {
                Some(words) => diagnostics::cannot_build(path, words),
                None => diagnostics::link_failed(&name, &message),
            },
        ));
    }
    draft.finish(path)
}

/// Returns the name of the C compiler and its first arguments: the words in the environment
/// variable `CC`, or `cc` if it is not set.
fn compiler() -> (String, Vec<String>) {
    let words = std::env::var("CC").unwrap_or_default();
    let mut words = words.split_whitespace().map(str::to_owned);
    let name = words.next().unwrap_or_else(|| "cc".to_owned());
    (name, words.collect())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A temporary file in the folder of the executable. It is removed if the executable is not
/// completed.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn of(path: &Path) -> Draft {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        Draft {
            path: folder(path).join(name),
        }
    }

    fn finish(self, path: &Path) -> Result<u64, Box<Diagnostic>> {
        let finish = || -> io::Result<u64> {
            executable(&self.path)?;
            let bytes = fs::metadata(&self.path)?.len();
            fs::rename(&self.path, path)?;
            Ok(bytes)
        };
        finish().map_err(|error| Box::new(diagnostics::cannot_build(path, &error.to_string())))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a successful rename, the file no longer exists under its temporary name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Gives everyone who may read a file the permission to execute it.
#[cfg(unix)]
fn executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | ((mode & 0o444) >> 2));
    fs::set_permissions(path, permissions)
}

/// On this system, nothing but the name of a file determines whether it is executable.
#[cfg(not(unix))]
fn executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A temporary folder for object files. It is removed when this value is dropped.
struct Workshop(PathBuf);

impl Workshop {
    fn new() -> io::Result<Workshop> {
        let folder = std::env::temp_dir();
        // An earlier process may have left a folder with this name. Several names are therefore
        // tried.
        for attempt in 0..64 {
            let path = folder.join(format!("bnnc-build-{}-{attempt}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Workshop(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no folder for temporary files"))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // An error is ignored, because a remaining temporary folder does not cause any harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

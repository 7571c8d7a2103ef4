//! Lists the image files of a folder, in an order that does not depend on the file system.

use super::super::Reading;
use crate::diagnostics::{self, At, Faults};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use std::fs::Metadata;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The extensions of the files that are read, in lower case.
const EXTENSIONS: &[&str] = &["jfif", "jpe", "jpeg", "jpg", "png"];

/// The extensions of images in other formats. Leaving such images out without a message would change the data.
const OTHER_EXTENSIONS: &[&str] = &[
    "avif", "bmp", "dib", "gif", "heic", "heif", "ico", "j2k", "jp2", "jxl", "pbm", "pgm", "pnm", "ppm",
    "tga", "tif", "tiff", "webp",
];

/// The names of folders that hold the parts of a split, in lower case.
const SPLITS: &[&str] = &[
    "test",
    "testing",
    "train",
    "training",
    "val",
    "valid",
    "validation",
];

/// An image file.
pub(super) struct ImageFile {
    pub(super) path: PathBuf,
    /// The index of its class, or 0 if the folder does not have classes.
    pub(super) class: usize,
}

/// The image files of a folder.
pub(super) struct Listing {
    /// The names of the subfolders, in order. Empty if the folder has images of its own.
    pub(super) classes: Vec<String>,
    /// The files, class by class. Within a class, they are in the order of their names.
    pub(super) files: Vec<ImageFile>,
    /// The names of some files in the folder that are not images.
    pub(super) ignored: Vec<String>,
}

/// The entries of one folder, in the order of their names.
struct Entries {
    /// The images and the folders.
    used: Vec<Entry>,
    /// The names of the other files.
    ignored: Vec<String>,
}

struct Entry {
    path: PathBuf,
    is_folder: bool,
}

/// Returns the value of a name that is an integer without leading zeros.
pub(super) fn integer(name: &str) -> Option<i64> {
    name.parse().ok().filter(|value: &i64| value.to_string() == name)
}

/// Lists the images of a folder. A path of a single file is returned as it is.
///
/// # Errors
/// Fails if a folder cannot be read, if the folder has images beside subfolders, if a subfolder does not have images, if the subfolders are the
/// parts of a split, or if a file is an image in a format that is not supported.
pub(super) fn list(folder: &Path, reading: &Reading) -> Result<Listing, Faults> {
    list_folder(folder, reading).map_err(|fault| vec![fault])
}

fn list_folder(folder: &Path, reading: &Reading) -> Result<Listing, Diagnostic> {
    let about = std::fs::metadata(folder).map_err(|error| diagnostics::unreadable(folder, &error))?;
    if !about.is_dir() {
        return Ok(Listing {
            classes: Vec::new(),
            files: vec![ImageFile {
                path: folder.to_path_buf(),
                class: 0,
            }],
            ignored: Vec::new(),
        });
    }
    let top = entries(folder)?;
    let (folders, images): (Vec<Entry>, Vec<Entry>) = top.used.into_iter().partition(|entry| entry.is_folder);
    let mut walk = Walk {
        reading,
        open: vec![canonical(folder)?],
        files: Vec::new(),
    };
    if let (Some(image), Some(class)) = (images.first(), folders.first()) {
        return Err(diagnostics::images_beside_folders(
            folder,
            &image.path,
            &class.path,
        ));
    }
    for image in images {
        walk.add(image.path, 0)?;
    }
    let mut classes = named(folders)?;
    sort_classes(&mut classes);
    check_splits(folder, &classes)?;
    for (class, (_, path)) in classes.iter().enumerate() {
        let before = walk.files.len();
        let ignored = walk.folder(path, class)?;
        if walk.files.len() == before {
            return Err(diagnostics::no_images_in(path, &ignored));
        }
    }
    Ok(Listing {
        classes: classes.into_iter().map(|(name, _)| name).collect(),
        files: walk.files,
        ignored: top.ignored,
    })
}

/// Returns the name of each class with its folder.
fn named(folders: Vec<Entry>) -> Result<Vec<(String, PathBuf)>, Diagnostic> {
    let name = |entry: Entry| match entry.path.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok((name.to_owned(), entry.path)),
        None => Err(diagnostics::not_utf8(At::file(&entry.path))),
    };
    folders.into_iter().map(name).collect()
}

/// If the names of all classes are integers, sorts the classes by these integers. Text is already in the order of its bytes.
fn sort_classes(classes: &mut [(String, PathBuf)]) {
    if classes.iter().all(|(name, _)| integer(name).is_some()) {
        classes.sort_by_key(|(name, _)| integer(name));
    }
}

/// Checks that the subfolders are classes rather than the parts of a split, such as `train` and `test`.
/// A part has subfolders of its own, or stands beside other parts only.
fn check_splits(folder: &Path, classes: &[(String, PathBuf)]) -> Result<(), Diagnostic> {
    let is_split = |name: &str| SPLITS.contains(&name.to_lowercase().as_str());
    for (name, path) in classes.iter().filter(|(name, _)| is_split(name)) {
        if entries(path)?.used.iter().any(|entry| entry.is_folder) {
            return Err(diagnostics::split_folder(folder, name));
        }
    }
    if classes.len() > 1 && classes.iter().all(|(name, _)| is_split(name)) {
        let names = quoted(classes.iter().map(|(name, _)| name));
        return Err(diagnostics::split_without_classes(folder, &names));
    }
    Ok(())
}

/// Collects the images of a class, and of all folders inside it.
struct Walk<'r> {
    reading: &'r Reading,
    /// The folders that are being listed, from the outermost to the innermost, without links.
    open: Vec<PathBuf>,
    files: Vec<ImageFile>,
}

impl Walk<'_> {
    fn add(&mut self, path: PathBuf, class: usize) -> Result<(), Diagnostic> {
        let bytes = size_of::<ImageFile>() + path.as_os_str().len();
        self.reading.take(&path, bytes)?;
        self.files.push(ImageFile { path, class });
        Ok(())
    }

    /// Adds the images of a folder and of the folders inside it. Returns the names of the other files in the folder.
    ///
    /// # Errors
    /// Fails if a link leads back to a folder that is being listed: following the link would not end.
    fn folder(&mut self, folder: &Path, class: usize) -> Result<Vec<String>, Diagnostic> {
        let own = canonical(folder)?;
        if self.open.contains(&own) {
            return Err(diagnostics::endless_link(folder, &own));
        }
        self.open.push(own);
        let entries = entries(folder)?;
        for entry in entries.used {
            match entry.is_folder {
                true => drop(self.folder(&entry.path, class)?),
                false => self.add(entry.path, class)?,
            }
        }
        self.open.pop();
        Ok(entries.ignored)
    }
}

fn canonical(folder: &Path) -> Result<PathBuf, Diagnostic> {
    std::fs::canonicalize(folder).map_err(|error| diagnostics::unreadable(folder, &error))
}

/// Lists one folder. Hidden entries are left out. Links are followed.
fn entries(folder: &Path) -> Result<Entries, Diagnostic> {
    let unreadable = |error: Error| diagnostics::unreadable(folder, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        names.push(entry.map_err(unreadable)?.file_name());
    }
    // The order of the bytes of a name does not depend on the language of the system.
    names.sort_unstable();
    let (mut used, mut ignored) = (Vec::new(), Vec::new());
    for name in names {
        let text = name.to_string_lossy();
        if text.starts_with('.') || text == "__MACOSX" {
            continue;
        }
        let path = folder.join(&name);
        let about = std::fs::metadata(&path).map_err(|error| diagnostics::unreadable(&path, &error))?;
        match kind(&path, &about)? {
            Kind::Folder => used.push(Entry {
                path,
                is_folder: true,
            }),
            Kind::Image => used.push(Entry {
                path,
                is_folder: false,
            }),
            Kind::Other => ignored.push(text.into_owned()),
        }
    }
    Ok(Entries { used, ignored })
}

enum Kind {
    Folder,
    Image,
    Other,
}

fn kind(path: &Path, about: &Metadata) -> Result<Kind, Diagnostic> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let (is_read, is_other) = (
        EXTENSIONS.contains(&extension.as_str()),
        OTHER_EXTENSIONS.contains(&extension.as_str()),
    );
    if about.is_dir() {
        return Ok(Kind::Folder);
    }
    if is_other {
        return Err(diagnostics::other_image_format(
            At::file(path),
            &extension.to_uppercase(),
        ));
    }
    // Opening a pipe or a device could block or never end.
    if is_read && !about.is_file() {
        let error = Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        return Err(diagnostics::unreadable(path, &error));
    }
    Ok(if is_read { Kind::Image } else { Kind::Other })
}

//! Errors in images: their files, sizes and folders.

use super::{At, codes, folder_has, short, shown};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::reports;
use std::path::Path;

/// The maximum number of file names in a message.
const MOST_NAMES: usize = 3;

/// The first bytes of images in other formats, with the names of the formats.
const MAGIC: &[(&[u8], &str)] = &[
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\0\0\0\x0cjP", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
    (b"<svg", "SVG"),
];

reports! {
    /// An error: a folder does not have images. `ignored` contains the names of its other files.
    fn no_images_in(folder: &Path, ignored: &[String])
        = data(codes::NO_ROWS, folder, "the folder has no images")
        .help("put PNG or JPEG files into the folder, or delete the folder; hidden files are not read")
        .notes(folder_has(ignored, MOST_NAMES));

    /// An error: a folder has images beside subfolders, so that the classes of these images are not
    /// known. `image` is the first image and `class` the first subfolder.
    fn images_beside_folders(folder: &Path, image: &Path, class: &Path)
        = data(codes::IMAGE_FOLDERS, folder, "the folder has images, such as `{}`, beside subfolders, such as `{}`",
            short(image), short(class))
        .help("move the images into the subfolders of their classes");

    /// An error: the subfolder `name` is a part of a split rather than a class.
    fn split_folder(folder: &Path, name: &str)
        = data(codes::IMAGE_FOLDERS, folder, "the subfolder `{}` has subfolders: it is a part of a split rather than a class",
            shown(name))
        .help("read each part as a folder of its own: `images(\"..\") {{ test = images(\"..\") }}`")
        .help("or, if `{}` is a class, rename it", shown(name));

    /// An error: all subfolders are parts of a split, such as `train` and `test`, and contain images
    /// without classes.
    fn split_without_classes(folder: &Path, names: &str)
        = data(codes::IMAGE_FOLDERS, folder, "the subfolders {names} are parts of a split, not classes")
        .help("put the images of each part into one subfolder per class, such as `train/cat`");

    /// An error: a link inside a folder leads back to a folder that contains it.
    fn endless_link(link: &Path, target: &Path)
        = data(codes::IMAGE_FOLDERS, link, "the link leads back to `{}`, which contains it", target.display())
        .help("delete the link");

    /// An error: an image is in a format that is not supported.
    fn other_image_format(at: At<'_>, format: &str)
        = data(codes::UNSUPPORTED, at, "{format} images cannot be read")
        .help("convert the images to PNG, which keeps every pixel");

    /// An error: a file is neither a PNG file nor a JPEG file.
    fn unknown_image_format(at: At<'_>)
        = data(codes::MALFORMED, at, "not a PNG or JPEG file")
        .help("check that the file is an image and was downloaded completely; `images(..)` reads a folder of images");

    /// An error: an image has a property that is not supported.
    fn unsupported_image(at: At<'_>, what: &str, help: &str)
        = data(codes::UNSUPPORTED, at, "{what} cannot be read")
        .help("{help}");

    /// An error: an image has another size than the first image, which is at `place`. Sizes are pairs
    /// of height and width.
    fn other_image_size(at: At<'_>, size: [usize; 2], first: [usize; 2], place: &str)
        = data(codes::IMAGE_SIZES, at, "expected an image of {} pixels as in {place}, found {}",
            pixels(first), pixels(size))
        .help("resize or crop copies of all images to one size: with ImageMagick, `magick a.png -resize '32x32!' small/a.png`");

    /// An error: an image is in colour, but the images of the files before it are greyscale.
    fn colour_among_greyscale(at: At<'_>)
        = data(codes::IMAGE_SIZES, at, "the image is in colour, but the images before it are greyscale")
        .help("convert all images to RGB, or all to greyscale");

    /// An error: an image has more pixels than the limit `most`.
    fn too_many_pixels(at: At<'_>, size: [usize; 2], most: usize)
        = data(codes::TOO_LARGE, at, "the image has {} pixels, but the limit is {most} pixels", pixels(size))
        .help("resize the images to the size that the model reads");
}

/// An error: a file is neither a PNG file nor a JPEG file. `bytes` are its contents. If they are an
/// image in another format, the error names this format.
pub fn not_an_image(at: At<'_>, bytes: &[u8]) -> Diagnostic {
    match MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, format)) => other_image_format(at, format),
        None if bytes.starts_with(b"RIFF") && bytes[4..].get(4..8) == Some(b"WEBP") => {
            other_image_format(at, "WebP")
        }
        None if bytes.get(4..8) == Some(b"ftyp") => other_image_format(at, "HEIC or AVIF"),
        None => unknown_image_format(at),
    }
}

/// Returns the place of an image for messages.
pub fn place_of_image(at: At<'_>) -> String {
    match at.row {
        0 => format!("`{}`", with_folder(at.path)),
        row => format!("row {row} of `{}`", short(at.path)),
    }
}

/// Returns the name of a file with that of its folder, because every class may have a file `1.png`.
fn with_folder(path: &Path) -> String {
    match path.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{}", folder.to_string_lossy(), short(path)),
        None => short(path),
    }
}

/// Writes a size as width x height, as image viewers do.
fn pixels([height, width]: [usize; 2]) -> String {
    format!("{width} x {height}")
}

//! Reads folders of images. Each subfolder is a class, and its name is the target.

#[cfg(not(feature = "images"))]
mod absent;
#[cfg(feature = "images")]
mod decode;
mod folder;
mod pixels;
mod stack;

pub(super) use pixels::is_image;
pub(super) use stack::ImageStack;

use self::folder::Listing;
use super::open::plain;
use super::{INPUTS, Reading, TARGET, pair};
use crate::diagnostics::{At, Faults, no_images_in};
use crate::table::{ArrayValues, Table};
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::path::{Path, PathBuf};

/// Reading stops after this number of unusable images, so that the list of errors stays short.
const MOST_FAULTS: usize = 10;

/// Returns the images of a folder as `[rows, channels, height, width]`, with their classes as the target. A folder without subfolders does not
/// have a target. Classes and files are in the order of their names.
///
/// # Errors
/// Fails if an image cannot be used or has another size than the first image, and if the folder does not have images. Returns the errors of up
/// to [`MOST_FAULTS`] images.
pub(super) fn read(path: &Path, reading: &Reading) -> Result<Table, Faults> {
    stack::ready().map_err(|fault| vec![fault])?;
    let listing = folder::list(path, reading)?;
    if listing.files.is_empty() {
        return Err(vec![no_images_in(path, &listing.ignored)]);
    }
    let mut stack = ImageStack::new(reading, INPUTS, listing.files.len());
    let (mut checksum, mut faults) = (Checksum::default(), Vec::new());
    for file in &listing.files {
        if let Err(fault) = add(&mut stack, &file.path, (path, &mut checksum), reading) {
            faults.push(fault);
            if faults.len() == MOST_FAULTS {
                break;
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    reading.keep(path, checksum);
    let rows = listing.files.len();
    let targets = targets(&listing, reading).map(|targets| (vec![rows], targets));
    let (axes, pixels) = stack.finish();
    let shape = std::iter::once(rows).chain(axes).collect();
    let files: Vec<PathBuf> = listing.files.into_iter().map(|file| file.path).collect();
    Ok(pair(path, (shape, ArrayValues::Byte(pixels.into())), targets).with_files(files))
}

/// Reads a file, and adds its image to `stack`. Adds its name within the folder and its bytes to the checksum of the folder.
fn add(
    stack: &mut ImageStack<'_>,
    file: &Path,
    (folder, checksum): (&Path, &mut Checksum),
    reading: &Reading,
) -> Result<(), Diagnostic> {
    let bytes = plain(file, reading)?;
    let name = file.strip_prefix(folder).unwrap_or(file);
    for part in name {
        checksum.add(part.as_encoded_bytes());
        checksum.add(b"/");
    }
    checksum.add(&(bytes.len() as u64).to_le_bytes());
    checksum.add(&bytes);
    let added = stack.push(At::file(file), &bytes);
    reading.free(bytes.len());
    added
}

/// Returns the class of each image. If the names of all classes are integers, such as `0` to `9`, the classes are these integers. Otherwise, they
/// are text. `None` if the folder does not have classes.
fn targets(listing: &Listing, reading: &Reading) -> Option<ArrayValues> {
    let integers: Option<Vec<i64>> = listing.classes.iter().map(|name| folder::integer(name)).collect();
    let codes = listing.files.iter().map(|file| file.class);
    if listing.classes.is_empty() {
        return None;
    }
    Some(match integers.filter(|_| !reading.is_text(TARGET)) {
        Some(integers) => ArrayValues::Int(codes.map(|class| integers[class]).collect()),
        None => ArrayValues::Level {
            codes: codes.map(|class| class as u32).collect(),
            levels: listing.classes.clone(),
        },
    })
}

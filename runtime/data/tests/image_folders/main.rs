//! Reads folders of PNG and JPEG files, and images inside Parquet files.

#![cfg(feature = "images")]
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

#[path = "../folder/mod.rs"]
mod folder;

mod classes;
mod columns;
mod damage;
mod pixels;

use bnnc_abi::data::Format;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_data::read::{Reading, read};
use bnnc_data::table::{ArrayValues, Table};
use folder::Folder;
use png::{BitDepth, ColorType};
use std::path::Path;

/// The folder of the images that `make.py` wrote. The `.raw` files hold their pixels as Pillow decodes them.
fn stored(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images_data");
    std::fs::read(folder.join(name)).unwrap()
}

/// Returns a PNG file. `size` is its width and height.
fn png_of(size: (u32, u32), (color, depth): (ColorType, BitDepth), data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    file
}

/// Returns a PNG file of 2 x 1 grey pixels.
fn grey(pixels: [u8; 2]) -> Vec<u8> {
    png_of((2, 1), (ColorType::Grayscale, BitDepth::Eight), &pixels)
}

/// Returns a PNG file of 2 x 1 pixels with colours.
fn colour(pixels: [u8; 6]) -> Vec<u8> {
    png_of((2, 1), (ColorType::Rgb, BitDepth::Eight), &pixels)
}

/// The names and the contents of files.
type Files<'f> = Vec<(&'f str, Vec<u8>)>;

/// A folder with these files. The names may have subfolders.
fn images(files: &[(&str, Vec<u8>)]) -> Folder {
    let folder = Folder::new();
    for (name, bytes) in files {
        std::fs::create_dir_all(folder.0.join(name).parent().unwrap()).unwrap();
        folder.file(name, bytes);
    }
    folder
}

fn table(folder: &Folder) -> Result<Table, Vec<Diagnostic>> {
    read(
        Format::Images,
        std::slice::from_ref(&folder.0),
        None,
        &Reading::within(None),
    )
}

fn bytes(table: &Table) -> &[u8] {
    match &table.arrays[0].values {
        ArrayValues::Byte(bytes) => bytes,
        _ => panic!("images are bytes"),
    }
}

/// Returns the code, the name of the file, the message and the advice of each error.
fn faults(folder: &Folder) -> Vec<String> {
    let line = |fault: &Diagnostic| match &fault.at {
        Place::File { path, .. } => {
            let name = path.strip_prefix(&folder.0).unwrap_or(path).display().to_string();
            format!("{} {name}: {}", fault.code.id, fault.message)
        }
        _ => format!("{}: {}", fault.code.id, fault.message),
    };
    table(folder).unwrap_err().iter().map(line).collect()
}

//! Tests images that are damaged or too large.

use crate::folder::Folder;
use crate::{Files, bytes, faults, grey, images, png_of, stored};
use bnnc_abi::data::Format;
use bnnc_data::read::{Reading, read};
use png::{BitDepth, ColorType};

/// Returns a header of a PNG file that claims this size.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut chunk = b"IHDR".to_vec();
    chunk.extend(width.to_be_bytes());
    chunk.extend(height.to_be_bytes());
    chunk.extend([8, 2, 0, 0, 0]);
    let mut crc = flate2::Crc::new();
    crc.update(&chunk);
    let start = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    [start, chunk, crc.sum().to_be_bytes().to_vec()].concat()
}

#[test]
fn images_that_cannot_be_used_are_rejected_with_their_file() {
    let rgba = |data: &[u8]| png_of((1, 1), (ColorType::Rgba, BitDepth::Eight), data);
    let deep = png_of((1, 1), (ColorType::Grayscale, BitDepth::Sixteen), &[1, 2]);
    let cases: Vec<(Files, &str)> = vec![
        (
            vec![("a.png", rgba(&[1, 2, 3, 254]))],
            "E0413 a.png: an image with transparent pixels cannot be read",
        ),
        (
            vec![("a.png", deep)],
            "E0413 a.png: an image with 16 bits per channel cannot be read",
        ),
        (
            vec![("a.jpg", stored("print.jpg"))],
            "E0413 a.jpg: a CMYK image cannot be read",
        ),
        (
            vec![("a.png", b"GIF89a..".to_vec())],
            "E0413 a.png: GIF images cannot be read",
        ),
        (
            vec![("c/a.webp", vec![1])],
            "E0413 c/a.webp: WEBP images cannot be read",
        ),
        (
            vec![("a.png", b"text".to_vec())],
            "E0411 a.png: not a PNG or JPEG file",
        ),
        (vec![("a.png", Vec::new())], "E0405 a.png: the file is empty"),
        (
            vec![("x/a.png", grey([1, 2])), ("y/b.jpg", stored("full.jpg"))],
            "E0440 y/b.jpg: expected an image of 2 x 1 pixels as in `x/a.png`, found 20 x 12",
        ),
        (vec![("notes.txt", vec![1])], "E0405 : the folder has no images"),
        (
            vec![("x/a.png", grey([1, 2])), ("y/b.txt", vec![1])],
            "E0405 y: the folder has no images",
        ),
        (
            vec![("x/a.png", grey([1, 2])), ("b.png", grey([1, 2]))],
            "E0441 : the folder has images, such as `b.png`, beside subfolders, such as `x`",
        ),
        (
            vec![
                ("Train/cat/a.png", grey([1, 2])),
                ("Test/cat/a.png", grey([1, 2])),
            ],
            "E0441 : the subfolder `Test` has subfolders: it is a part of a split rather than a class",
        ),
        (
            vec![("a.png", bomb(100_000, 100_000))],
            "E0435 a.png: the image has 100000 x 100000 pixels, but the limit is 67108864 pixels",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(faults(&images(&files)), [expected]);
    }
}

#[test]
fn all_broken_images_of_a_folder_are_listed_up_to_a_limit() {
    let files: Vec<(String, Vec<u8>)> = (0..30)
        .map(|at| (format!("{at:02}.png"), b"text".to_vec()))
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, file)| (&**name, file.clone())).collect();
    let found = faults(&images(&files));
    assert_eq!(found.len(), 10);
    assert_eq!(found[9], "E0411 09.png: not a PNG or JPEG file");
}

#[test]
fn the_memory_limit_is_checked_before_an_image_is_decoded() {
    let folder = images(&[("a.png", bomb(4000, 4000))]);
    let file = std::slice::from_ref(&folder.0);
    let fault = read(Format::Images, file, None, &Reading::within(Some(100 << 20))).unwrap_err();
    assert_eq!(fault[0].code.id, "E0435");
    // With more memory, the decoder finds that the pixels are missing.
    let fault = read(Format::Images, file, None, &Reading::within(Some(1 << 30))).unwrap_err();
    assert_eq!(fault[0].code.id, "E0411");
}

/// Every truncation is an error. Flipping a bit gives an error or a whole image. (A panic of a decoder is
/// an error too.)
#[test]
fn damaged_images_are_errors_or_whole_images() {
    let folder = Folder::new();
    let file = folder.0.join("x.png");
    let try_read = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let reading = Reading::within(Some(64 << 20));
        read(Format::Images, std::slice::from_ref(&file), None, &reading)
    };
    for name in [
        "palette.png",
        "full.jpg",
        "halved.jpg",
        "blocks.jpg",
        "progressive.jpg",
        "grey.jpg",
        "print.jpg",
    ] {
        let whole = stored(name);
        for end in 0..whole.len() {
            assert!(try_read(&whole[..end]).is_err(), "{name} cut at {end}");
        }
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                if let Ok(table) = try_read(&flipped) {
                    assert_eq!(bytes(&table).len(), table.axes.iter().product::<usize>());
                }
            }
        }
    }
}

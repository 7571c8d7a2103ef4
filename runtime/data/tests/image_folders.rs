//! Reads folders of PNG and JPEG files, and images inside Parquet files.

#![cfg(feature = "images")]
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::data::{DataSpec, FieldKind, Format, Outliers, Test};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_data::LoadedData;
use bnnc_data::read::{Reading, read};
use bnnc_data::table::{ArrayValues, Table};
use folder::{Folder, spec};
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

/// The largest differences between the pixels of a stored image and those that Pillow decodes.
#[derive(Debug)]
struct Difference {
    /// The difference of the bytes.
    colours: u8,
    /// The same, without the last column and the last row of the image.
    inside: u8,
    /// The difference of the luma, `0.299 R + 0.587 G + 0.114 B`, in pixels without clipped bytes.
    luma: f64,
}

/// Compares a stored image with the pixels that Pillow decodes.
fn difference(name: &str, axes: [usize; 3]) -> Difference {
    let [channels, height, width] = axes;
    let folder = images(&[(name, stored(name))]);
    let table = table(&folder).unwrap();
    assert_eq!(table.axes, axes, "{name}");
    let expected = stored(&format!("{}.raw", name.split('.').next().unwrap()));
    let found = bytes(&table);
    assert_eq!(found.len(), expected.len());
    let mut largest = Difference {
        colours: 0,
        inside: 0,
        luma: 0.0,
    };
    for pixel in 0..height * width {
        let pairs =
            (0..channels).map(|c| (found[c * height * width + pixel], expected[pixel * channels + c]));
        let pairs: Vec<(u8, u8)> = pairs.collect();
        let of_pixel = pairs
            .iter()
            .map(|(ours, theirs)| ours.abs_diff(*theirs))
            .max()
            .unwrap();
        largest.colours = largest.colours.max(of_pixel);
        if pixel % width + 1 < width && pixel / width + 1 < height {
            largest.inside = largest.inside.max(of_pixel);
        }
        let is_clipped = |byte: &u8| [0, 255].contains(byte);
        if channels == 3
            && !pairs
                .iter()
                .any(|(ours, theirs)| is_clipped(ours) || is_clipped(theirs))
        {
            let weighted = pairs.iter().zip([0.299, 0.587, 0.114]);
            let luma: f64 = weighted
                .map(|((ours, theirs), weight)| weight * (f64::from(*ours) - f64::from(*theirs)))
                .sum();
            largest.luma = largest.luma.max(luma.abs());
        }
    }
    largest
}

#[test]
fn pixels_are_those_of_pillow() {
    assert_eq!(difference("palette.png", [3, 12, 20]).colours, 0);
    // The inverse transforms of two decoders may round to neighbouring bytes.
    assert!(difference("grey.jpg", [1, 12, 20]).colours <= 1);
    // The luma and the two chroma values of a pixel may differ by 1 each. Blue is `Y + 1.772 Cb`, rounded, so it may differ by 3.
    for name in ["full.jpg", "progressive.jpg"] {
        let found = difference(name, [3, 12, 20]);
        assert!(found.colours <= 3 && found.luma <= 2.0, "{name}: {found:?}");
    }
}

/// Decoders interpolate chroma values that a file stores at half the resolution. The interpolation rounds once more, so blue may differ by
/// `1 + 2 * 1.772 + 1`, or 5. If the blocks of 16 x 16 pixels reach beyond the image, libjpeg repeats the last chroma value inside the image, but
/// zune-jpeg interpolates with the next value of the block. Only the colours of the last column and the last row depend on it.
#[test]
fn interpolated_colours_differ_only_where_a_block_reaches_beyond_the_image() {
    let found = difference("blocks.jpg", [3, 16, 32]);
    assert!(found.colours <= 5 && found.luma <= 2.0, "{found:?}");
    let found = difference("halved.jpg", [3, 12, 20]);
    assert!(found.inside <= 5 && found.luma <= 2.0, "{found:?}");
    assert!(found.colours > 5, "the exception can be removed: {found:?}");
}

#[test]
fn subfolders_are_classes_in_the_order_of_their_names() {
    let folder = images(&[
        ("dog/b.PNG", grey([5, 6])),
        ("dog/a/z.png", grey([3, 4])),
        ("dog/.hidden.png", b"no image".to_vec()),
        ("dog/notes.txt", b"two dogs".to_vec()),
        ("cat/2.png", grey([1, 2])),
        ("cat/10.jpeg", grey([7, 8])),
        (".git/x.png", grey([9, 9])),
        ("README.md", b"pets".to_vec()),
    ]);
    let table = table(&folder).unwrap();
    assert_eq!(table.axes, [1, 1, 2]);
    assert_eq!(bytes(&table), [7, 8, 1, 2, 3, 4, 5, 6]);
    let classes = ArrayValues::Level {
        codes: vec![0, 0, 1, 1],
        levels: vec!["cat".into(), "dog".into()],
    };
    assert_eq!(table.arrays[1].values, classes);
    let place = table.place(2);
    assert_eq!(
        (place.path, place.row),
        (folder.0.join("dog/a/z.png").as_path(), 0)
    );
}

#[test]
fn classes_that_are_integers_are_numbers() {
    let names = ["10", "9", "0"];
    let files: Vec<(String, Vec<u8>)> = (names.iter().zip([1, 2, 3]))
        .map(|(name, value)| (format!("{name}/x.png"), grey([value, 0])))
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, file)| (&**name, file.clone())).collect();
    let table = table(&images(&files)).unwrap();
    assert_eq!(table.arrays[1].values, ArrayValues::Int(vec![0, 9, 10]));
    assert_eq!(bytes(&table), [3, 0, 2, 0, 1, 0]);
}

#[test]
fn a_flat_folder_and_a_single_file_have_no_classes() {
    let folder = images(&[("b.png", grey([3, 4])), ("a.png", grey([1, 2]))]);
    let whole = table(&folder).unwrap();
    assert_eq!((whole.arrays.len(), bytes(&whole)), (1, &[1, 2, 3, 4][..]));
    let file = [folder.0.join("b.png")];
    let single = read(Format::Images, &file, None, &Reading::within(None)).unwrap();
    assert_eq!(bytes(&single), [3, 4]);
}

#[test]
fn grey_images_among_colours_get_equal_channels() {
    let colours = [1, 2, 3, 4, 5, 6];
    let planes = [1, 4, 2, 5, 3, 6];
    let folder = images(&[
        ("a.png", grey([8, 9])),
        ("b.png", colour(colours)),
        ("c.png", grey([7, 6])),
    ]);
    let table = table(&folder).unwrap();
    assert_eq!(table.axes, [3, 1, 2]);
    let expected = [&[8, 9, 8, 9, 8, 9][..], &planes, &[7, 6, 7, 6, 7, 6]].concat();
    assert_eq!(bytes(&table), expected);
}

#[test]
fn fewer_bits_and_opaque_pixels_are_converted() {
    let bits = png_of((3, 1), (ColorType::Grayscale, BitDepth::Two), &[0b00_01_11_00]);
    let folder = images(&[("a.png", bits)]);
    assert_eq!(bytes(&table(&folder).unwrap()), [0, 85, 255]);
    let opaque = [
        (ColorType::Rgba, vec![1, 2, 3, 255]),
        (ColorType::GrayscaleAlpha, vec![4, 255]),
    ];
    for ((color, data), expected) in opaque.into_iter().zip([vec![1, 2, 3], vec![4]]) {
        let folder = images(&[("a.png", png_of((1, 1), (color, BitDepth::Eight), &data))]);
        assert_eq!(bytes(&table(&folder).unwrap()), expected);
    }
}

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

#[cfg(unix)]
#[test]
fn links_are_followed_but_not_in_circles() {
    use std::os::unix::fs::symlink;
    let other = images(&[("a.png", grey([1, 2]))]);
    let folder = images(&[("x/b.png", grey([3, 4]))]);
    symlink(&other.0, folder.0.join("y")).unwrap();
    symlink(other.0.join("a.png"), folder.0.join("x/c.png")).unwrap();
    assert_eq!(bytes(&table(&folder).unwrap()), [3, 4, 1, 2, 1, 2]);
    symlink(other.0.join("none.png"), folder.0.join("x/d.png")).unwrap();
    assert!(faults(&folder)[0].starts_with("E0401 x/d.png: the file is a link to"));
    std::fs::remove_file(folder.0.join("x/d.png")).unwrap();
    symlink(&folder.0, folder.0.join("x/e")).unwrap();
    assert!(faults(&folder)[0].starts_with("E0441 x/e: the link leads back to"));
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

#[test]
fn test_folders_have_the_classes_of_the_training_rows() {
    let train = images(&[("b/1.png", grey([1, 2])), ("a/1.png", grey([3, 4]))]);
    let test = images(&[("b/9.png", grey([5, 6]))]);
    let far = images(&[("z/9.png", grey([7, 8]))]);
    let base = spec(Format::Images, &[&train.0]);
    let spec_of = |test: &Folder, outliers: &Folder| DataSpec {
        test: Test::Files(vec![test.0.clone()]),
        outliers: Some(Outliers::File(outliers.0.clone())),
        ..base.clone()
    };
    let data = LoadedData::read(&spec_of(&test, &far)).unwrap();
    let target = data
        .schema()
        .fields
        .iter()
        .find(|field| field.name == "target")
        .unwrap();
    assert_eq!(target.kind, FieldKind::Levels(vec!["a".into(), "b".into()]));
    assert_eq!(data.schema().axes, [1, 1, 2]);
    let rows = data.dataset(0, 1).unwrap();
    assert_eq!(rows.train.ints("target").unwrap(), [0, 1]);
    assert_eq!(rows.test.ints("target").unwrap(), [1]);
    assert_eq!(*rows.outliers.inputs.reals(), [7.0, 8.0]);
    let data = LoadedData::read(&spec_of(&far, &far)).unwrap();
    assert_eq!(data.dataset(0, 1).unwrap_err()[0].code.id, "E0428");
    // Images with colours do not fit a model of grey images.
    let bright = images(&[("b/9.png", colour([1, 2, 3, 4, 5, 6]))]);
    assert_eq!(
        LoadedData::read(&spec_of(&bright, &far)).unwrap_err()[0].code.id,
        "E0440"
    );
}

#[test]
fn the_checksum_of_a_folder_covers_names_and_contents() {
    let checksum = |files: &[(&str, Vec<u8>)]| {
        let folder = images(files);
        let data = LoadedData::read(&spec(Format::Images, &[&folder.0])).unwrap();
        data.checksum(&folder.0).unwrap().value()
    };
    let (one, two) = (grey([1, 2]), grey([3, 4]));
    let first = checksum(&[("a/x.png", one.clone()), ("b/y.png", two.clone())]);
    assert_eq!(
        first,
        checksum(&[("b/y.png", two.clone()), ("a/x.png", one.clone())])
    );
    assert_ne!(
        first,
        checksum(&[("a/x.png", two.clone()), ("b/y.png", one.clone())])
    );
    assert_ne!(first, checksum(&[("a/x.png", one), ("c/y.png", two)]));
}

#[test]
fn parquet_files_may_have_encoded_images() {
    let folder = Folder::new();
    let file = folder.file("t.parquet", stored("table.parquet"));
    let data = LoadedData::read(&spec(Format::Parquet, &[&file])).unwrap();
    assert_eq!(data.schema().axes, [3, 12, 20]);
    let rows = data.dataset(0, 1).unwrap().train;
    assert_eq!(rows.ints("label").unwrap(), [2, 0, 1]);
    let expected = stored("palette.raw");
    for row in [0, 2] {
        let planes = (0..720).map(|at| f64::from(expected[at % 240 * 3 + at / 240]));
        assert!(planes.eq(rows.input(row).iter().copied()));
    }
    let field = data
        .schema()
        .fields
        .iter()
        .find(|field| field.name == "img")
        .unwrap();
    assert!(field.bytes, "pixels take one byte each");
}

/// Returns a Parquet file whose columns contain encoded images.
fn columns_of_images(columns: &[(&str, [Vec<u8>; 2])]) -> Vec<u8> {
    use parquet::data_type::ByteArrayType;
    use parquet::file::writer::SerializedFileWriter;
    let names = columns.iter().map(|(name, _)| format!("required binary {name};"));
    let message = format!("message m {{ {} }}", names.collect::<String>());
    let schema = parquet::schema::parser::parse_message_type(&message).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, images) in columns {
        let images: Vec<_> = images.iter().map(|image| image.clone().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        let writer = column.typed::<ByteArrayType>();
        writer.write_batch(&images, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// The number of channels of one column does not affect the next column.
#[test]
fn each_column_of_images_has_its_own_channels() {
    let photos = ["palette.png", "full.jpg"].map(stored);
    let masks = [grey([1, 2]), grey([3, 4])];
    for order in [["mask", "photo"], ["photo", "mask"]] {
        let columns = order.map(|name| match name {
            "photo" => (name, photos.clone()),
            _ => (name, masks.clone()),
        });
        let folder = Folder::new();
        let file = folder.file("t.parquet", columns_of_images(&columns));
        let table = read(Format::Parquet, &[file], None, &Reading::within(None)).unwrap();
        let shape = |name: &str| {
            let array = table.arrays.iter().find(|array| array.name == name);
            array.unwrap().shape[1..].to_vec()
        };
        assert_eq!(shape("photo"), [3, 12, 20]);
        assert_eq!(shape("mask")[0], 1);
    }
}

#[test]
fn parts_of_a_split_are_not_classes() {
    let folder = images(&[("train/1.png", grey([1, 2])), ("test/1.png", grey([3, 4]))]);
    assert_eq!(
        faults(&folder),
        ["E0441 : the subfolders `test`, `train` are parts of a split, not classes"]
    );
    let folder = images(&[("test/1.png", grey([1, 2])), ("other/1.png", grey([3, 4]))]);
    assert_eq!(table(&folder).unwrap().arrays[0].shape[0], 2);
}

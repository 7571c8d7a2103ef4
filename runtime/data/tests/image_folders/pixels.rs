//! Compares pixels with those of Pillow, and tests conversions of colours.

use crate::{bytes, colour, grey, images, png_of, stored, table};
use png::{BitDepth, ColorType};

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

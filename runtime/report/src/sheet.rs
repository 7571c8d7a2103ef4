//! The contact sheet of augmented training images.

use crate::svg;
use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_data::write::png;
use bnnc_data::{ImageSize, Rows};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_training::augment::AugmentedInput;

/// The numbers of rows of the training data that are shown, and of epochs. Each row of images has the image of the file first.
const SHOWN: usize = 6;
const EPOCHS: usize = 9;

/// Pixels between two images.
const GAP: usize = 2;

/// Returns a figure with some training images and their transformations in the first epochs. Returns `None` if the training does not transform
/// images.
pub fn contact(infer: &InferenceBlock, outcome: &InferenceOutcome, seed: u64) -> Option<String> {
    let train = infer.training()?;
    let dataset = &outcome.dataset;
    let mut input = AugmentedInput::new(infer, train, &dataset.preparation, seed)?;
    let rows = chosen(dataset.train.count);
    let images = shown(&mut input, &dataset.train, &rows)?;
    let (width, pixels) = tiled(&images, input.frame());
    let file = png::rgba(width, &pixels).ok()?;
    let list: Vec<String> = train
        .options
        .augment
        .iter()
        .map(Augmentation::to_string)
        .collect();
    let title = format!(
        "Training images of {}: as in the file, then epochs 1 to {EPOCHS} with {}",
        infer.name,
        list.join(", ")
    );
    let height = pixels.len() / width;
    Some(svg::sheet(&title, (width, height), &base64(&file)))
}

/// Returns the positions of a few rows, spread over `count` rows.
fn chosen(count: usize) -> Vec<u32> {
    let few = SHOWN.min(count);
    (0..few).map(|at| (at * count / few) as u32).collect()
}

/// Returns the images of some training rows in the units of the file: for each row, the image itself, and its transformation in each epoch.
fn shown(input: &mut AugmentedInput, train: &Rows, rows: &[u32]) -> Option<Vec<Vec<Vec<f64>>>> {
    let mut of_row = |row: &u32| {
        let mut all = vec![input.image(train, *row as usize)?];
        for epoch in 0..EPOCHS {
            all.push(input.transformed(train, *row, epoch)?);
        }
        all.iter_mut().for_each(|image| input.undo(image));
        Some(all)
    };
    rows.iter().map(&mut of_row).collect()
}

/// Returns the pixels of all images side by side, and the width of the whole. Black and the extreme values of the images of the files set the scale of
/// brightness. Images with three channels are in colour; of others, the first channel is shown.
fn tiled(images: &[Vec<Vec<f64>>], frame: ImageSize) -> (usize, Vec<[u8; 4]>) {
    let originals = images.iter().filter_map(|row| row.first()).flatten();
    let (low, high) = originals.fold((0.0, 0.0), |(low, high): (f64, f64), value| {
        (low.min(*value), high.max(*value))
    });
    let span = if high > low { high - low } else { 1.0 };
    let byte = |value: f64| (255.0 * (value - low) / span).round().clamp(0.0, 255.0) as u8;
    let [across, down] = [frame.width, frame.height].map(|size| size + GAP);
    let columns = images.first().map_or(0, Vec::len);
    let (width, height) = (
        (columns * across).saturating_sub(GAP),
        (images.len() * down).saturating_sub(GAP),
    );
    let mut pixels = vec![[0; 4]; width * height];
    for (line, row) in images.iter().enumerate() {
        for (column, image) in row.iter().enumerate() {
            for at in 0..frame.pixels() {
                let plane = |number: usize| match frame.planes {
                    3 => byte(image[number * frame.pixels() + at]),
                    _ => byte(image[at]),
                };
                let (y, x) = (line * down + at / frame.width, column * across + at % frame.width);
                pixels[y * width + x] = [plane(0), plane(1), plane(2), 255];
            }
        }
    }
    (width, pixels)
}

/// Returns bytes as text (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize] as char;
            text.push(if at <= group.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, section 10.
    #[test]
    fn text_of_bytes_is_that_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn images_are_side_by_side_with_gaps() {
        let frame = ImageSize {
            planes: 1,
            height: 1,
            width: 2,
        };
        let images = vec![
            vec![vec![0.0, 2.0], vec![1.0, 4.0]],
            vec![vec![2.0, 2.0], vec![0.0, -1.0]],
        ];
        let (width, pixels) = tiled(&images, frame);
        let grey = |value: u8| [value, value, value, 255];
        let none = [0; 4];
        assert_eq!(width, 6);
        let first = [grey(0), grey(255), none, none, grey(128), grey(255)];
        let last = [grey(255), grey(255), none, none, grey(0), grey(0)];
        assert_eq!(pixels, [first, [none; 6], [none; 6], last].concat());
    }

    #[test]
    fn the_rows_are_spread_over_the_data() {
        assert!(chosen(0).is_empty());
        assert_eq!(chosen(2), [0, 1]);
        assert_eq!(chosen(60), [0, 10, 20, 30, 40, 50]);
    }
}

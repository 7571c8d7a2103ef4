//! Transformations of images. An image is a row of numbers. A transformation rotates an image about
//! its centre, corrupts it, or cuts it into squares and shuffles the squares.

use crate::corrupt::{Corrupter, PixelUnits};
use crate::dataset::Preparation;
use crate::diagnostics::{self, Faults};
use crate::rows::Rows;
use crate::scaled::InputValues;
use crate::source::{Input, LoadedData};
use crate::split::shuffled;
use crate::table::ArrayValues;
use bnnc_abi::corruption::Shift;
use bnnc_abi::data::Outliers;

/// The images of some rows, with the pixel values of the file.
#[derive(Clone, Debug)]
pub struct Images {
    frame: ImageSize,
    values: ArrayValues,
    scale: f64,
    degrees: Vec<f64>,
    /// The corruptions. Empty if the program does not corrupt images.
    shifts: Vec<(Shift, Corrupter)>,
    /// The side of the squares that are shuffled to make outliers, in pixels.
    side: Option<usize>,
}

impl Images {
    /// Returns the images of the rows `part`, or `None` if the program does not rotate, corrupt or shuffle images. `key` determines the random
    /// numbers of corruptions.
    ///
    /// # Errors
    /// Fails if the inputs are not images, or if a corruption does not apply to the values of their pixels.
    pub(crate) fn of(source: &LoadedData, part: &[usize], key: u64) -> Result<Option<Images>, Faults> {
        let Some(frame) = source.frame()? else {
            return Ok(None);
        };
        let [Input::Array(place)] = source.inputs[..] else {
            unreachable!("there is a frame only where one array is the inputs")
        };
        let values = source.table.arrays[place].rows(part);
        let shifts = match source.spec.shifts.is_empty() {
            true => Vec::new(),
            false => {
                let units = units(&values)
                    .map_err(|value| vec![diagnostics::not_pixels(&source.table.path(), value)])?;
                let shifts = source.spec.shifts.iter();
                shifts
                    .map(|shift| {
                        (
                            *shift,
                            Corrupter::new(frame.height, frame.width, *shift, key, units),
                        )
                    })
                    .collect()
            }
        };
        Ok(Some(Images {
            frame,
            values,
            shifts,
            scale: source.spec.scale,
            degrees: source.spec.rotate.clone(),
            side: match source.spec.outliers {
                Some(Outliers::Shuffled(side)) => Some(side),
                Some(Outliers::File(_)) | None => None,
            },
        }))
    }

    /// Returns the angles of rotation, in degrees.
    pub(crate) fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// Returns the rows with their images rotated by `degrees`.
    pub(crate) fn rotated(&self, rows: &Rows, preparation: &Preparation, degrees: f64) -> Rows {
        let mut turn = Turn::new(self.frame, degrees);
        self.changed(rows, preparation, |_, image| turn.apply(image))
    }

    /// For each shift, returns the rows with the corrupted images. The images of the file are corrupted, without a rotation.
    pub(crate) fn shifted<'a>(
        &'a self,
        rows: &'a Rows,
        preparation: &'a Preparation,
    ) -> impl Iterator<Item = (Shift, Rows)> + 'a {
        self.shifts.iter().map(move |(shift, corrupter)| {
            let rows = self.changed(rows, preparation, |row, image| corrupter.apply(row, image));
            (*shift, rows)
        })
    }

    /// Returns the rows with the squares of their images shuffled. The result is empty if the
    /// program does not shuffle images.
    pub(crate) fn shuffled(&self, rows: &Rows, preparation: &Preparation, key: u64) -> Rows {
        let Some(side) = self.side else {
            return rows.none();
        };
        let mut shuffle = Shuffle::new(self.frame, side, key);
        self.changed(rows, preparation, |row, image| shuffle.apply(row, image))
    }

    /// Returns the rows with transformed images. The transformation is applied to the values from
    /// the file, before these are scaled and standardised.
    fn changed(
        &self,
        rows: &Rows,
        preparation: &Preparation,
        mut change: impl FnMut(usize, &mut [f64]),
    ) -> Rows {
        let mut inputs = Vec::with_capacity(rows.inputs.len());
        for (at, row) in rows.index.iter().enumerate() {
            let start = inputs.len();
            inputs.extend((at * rows.width..(at + 1) * rows.width).map(|i| self.values.real(i)));
            change(*row, &mut inputs[start..]);
            for (value, map) in inputs[start..].iter_mut().zip(&preparation.inputs) {
                *value = map.apply(*value * self.scale);
            }
        }
        Rows {
            inputs: InputValues::Real(inputs),
            ..rows.clone()
        }
    }
}

/// Returns the units of pixels.
///
/// # Errors
/// Returns a value that is outside the ranges of pixels.
fn units(values: &ArrayValues) -> Result<PixelUnits, f64> {
    if matches!(values, ArrayValues::Byte(_)) {
        return Ok(PixelUnits::Bytes);
    }
    PixelUnits::of_reals((0..values.len()).map(|at| values.real(at)))
}

/// The sizes of an image. Pixels are in row-major order, plane by plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// The number of colour channels: the product of all axes before the last two.
    pub planes: usize,
    /// The number of rows of pixels.
    pub height: usize,
    /// The number of pixels in a row.
    pub width: usize,
}

impl ImageSize {
    /// Returns the frame of arrays with these axes, or `None` for fewer than two axes.
    pub fn of(axes: &[usize]) -> Option<ImageSize> {
        let [planes @ .., height, width] = axes else {
            return None;
        };
        Some(ImageSize {
            planes: planes.iter().product(),
            height: *height,
            width: *width,
        })
    }

    /// Returns the number of squares that fit completely into the image. A square has sides of `side` pixels.
    pub(crate) fn squares(self, side: usize) -> usize {
        (self.height / side.max(1)) * (self.width / side.max(1))
    }

    /// Returns the number of pixels of one plane.
    pub fn pixels(self) -> usize {
        self.height * self.width
    }
}

/// A rotation of an image about its centre, with bilinear interpolation. Pixels outside the image
/// count as zero.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    frame: ImageSize,
    /// For each pixel of a plane, the indices and the weights of its four source pixels.
    taps: Vec<[(usize, f64); 4]>,
    plane: Vec<f64>,
}

impl Turn {
    /// Creates a counter-clockwise rotation. Rotating a square image by a multiple of 90 degrees does not interpolate pixels.
    pub(crate) fn new(frame: ImageSize, degrees: f64) -> Turn {
        let angle = sine_cosine(degrees);
        let taps = (0..frame.pixels()).map(|pixel| source(frame, angle, pixel));
        Turn {
            frame,
            taps: taps.collect(),
            plane: vec![0.0; frame.pixels()],
        }
    }

    /// Rotates one image.
    pub(crate) fn apply(&mut self, image: &mut [f64]) {
        debug_assert_eq!(image.len(), self.frame.planes * self.frame.pixels());
        for plane in image.chunks_exact_mut(self.frame.pixels().max(1)) {
            self.plane.copy_from_slice(plane);
            for (pixel, taps) in plane.iter_mut().zip(&self.taps) {
                *pixel = taps.iter().map(|(at, weight)| weight * self.plane[*at]).sum();
            }
        }
    }
}

/// Returns the indices and the bilinear weights of the four pixels around the point that a rotation moves to `pixel`. The rotation is about the
/// centre, counter-clockwise, by the angle with this sine and cosine. A point outside the image has weights whose sum is below 1.
pub(crate) fn source(frame: ImageSize, (sine, cosine): (f64, f64), pixel: usize) -> [(usize, f64); 4] {
    let centre = |size: usize| (size as f64 - 1.0) / 2.0;
    let (middle, centre) = (centre(frame.height), centre(frame.width));
    let down = (pixel / frame.width) as f64 - middle;
    let right = (pixel % frame.width) as f64 - centre;
    // The vertical axis points down. With these signs, the lines compute the source of a pixel.
    // This is the inverse rotation.
    let y = middle + right * sine + down * cosine;
    let x = centre + right * cosine - down * sine;
    taps(frame, (y, x))
}

/// Returns the sine and the cosine of an angle. Both results are exact at multiples of 90 degrees.
pub(crate) fn sine_cosine(degrees: f64) -> (f64, f64) {
    let quarters = (degrees / 90.0).round();
    let (sine, cosine) = (degrees - 90.0 * quarters).to_radians().sin_cos();
    match quarters.rem_euclid(4.0) as u8 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// Returns the indices of the four pixels around a point, and their bilinear weights. A weight is
/// the product over both axes of `1 - distance`.
fn taps(frame: ImageSize, (y, x): (f64, f64)) -> [(usize, f64); 4] {
    let (top, left) = (y.floor(), x.floor());
    let tap = |row: f64, column: f64| {
        let weight = (1.0 - (y - row).abs()) * (1.0 - (x - column).abs());
        let inside = |place: f64, size: usize| (0.0..size as f64).contains(&place);
        match inside(row, frame.height) && inside(column, frame.width) {
            true => (row as usize * frame.width + column as usize, weight),
            false => (0, 0.0),
        }
    };
    [
        tap(top, left),
        tap(top, left + 1.0),
        tap(top + 1.0, left),
        tap(top + 1.0, left + 1.0),
    ]
}

/// Cuts images into squares and puts the squares back in a random order. Each image has its own
/// order. If the squares do not cover the image completely, the remaining pixels at the right and
/// at the bottom do not move.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    frame: ImageSize,
    side: usize,
    key: u64,
    before: Vec<f64>,
}

impl Shuffle {
    /// Creates a shuffle of squares whose sides have `side` pixels. `key` determines the orders of
    /// the squares.
    pub(crate) fn new(frame: ImageSize, side: usize, key: u64) -> Shuffle {
        Shuffle {
            frame,
            side,
            key,
            before: Vec::new(),
        }
    }

    /// Shuffles one image. `number` is the number of the image. It determines the order of its
    /// squares.
    pub(crate) fn apply(&mut self, number: usize, image: &mut [f64]) {
        let (side, width) = (self.side, self.frame.width);
        let across = width / side;
        let order = shuffled(self.frame.squares(side), self.key, number);
        let corner = |square: usize| (square / across * width + square % across) * side;
        self.before.clear();
        self.before.extend_from_slice(image);
        let planes = image.chunks_exact_mut(self.frame.pixels().max(1));
        for (plane, before) in planes.zip(self.before.chunks_exact(self.frame.pixels().max(1))) {
            for (to, from) in order.iter().enumerate() {
                for row in 0..side {
                    let (to, from) = (corner(to) + row * width, corner(*from) + row * width);
                    plane[to..to + side].copy_from_slice(&before[from..from + side]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: ImageSize = ImageSize {
        planes: 1,
        height: 5,
        width: 5,
    };

    fn numbered(frame: ImageSize) -> Vec<f64> {
        (0..frame.planes * frame.pixels())
            .map(|pixel| pixel as f64 + 1.0)
            .collect()
    }

    fn rotated(frame: ImageSize, degrees: f64) -> Vec<f64> {
        let mut image = numbered(frame);
        Turn::new(frame, degrees).apply(&mut image);
        image
    }

    #[test]
    fn quarter_turns_only_move_pixels() {
        for size in [4, 5] {
            let frame = ImageSize {
                planes: 2,
                height: size,
                width: size,
            };
            let before = numbered(frame);
            let moved = |from: &dyn Fn(usize, usize) -> usize| -> Vec<f64> {
                let pixel = |at: usize| {
                    let (plane, pixel) = (at / (size * size), at % (size * size));
                    before[plane * size * size + from(pixel / size, pixel % size)]
                };
                (0..before.len()).map(pixel).collect()
            };
            let last = size - 1;
            assert_eq!(rotated(frame, 0.0), before);
            assert_eq!(rotated(frame, 360.0), before);
            // The rotation is counter-clockwise, so the right column becomes the top row.
            assert_eq!(rotated(frame, 90.0), moved(&|i, j| j * size + last - i));
            assert_eq!(rotated(frame, 180.0), moved(&|i, j| (last - i) * size + last - j));
            assert_eq!(rotated(frame, 270.0), moved(&|i, j| (last - j) * size + i));
            assert_eq!(rotated(frame, -90.0), rotated(frame, 270.0));
        }
    }

    #[test]
    fn half_a_turn_flips_an_image_that_is_not_square() {
        let frame = ImageSize {
            planes: 1,
            height: 2,
            width: 3,
        };
        assert_eq!(rotated(frame, 180.0), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
    }

    #[test]
    fn other_angles_interpolate_between_four_pixels() {
        let degrees: f64 = 30.0;
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let image = rotated(FRAME, degrees);
        // The pixel to the right of the centre comes from the point (x, y) = (2 + cos, 2 + sin). The image
        // is the linear function 1 + x + 5 y. Bilinear interpolation is exact for this function.
        let expected = 1.0 + (2.0 + cosine) + 5.0 * (2.0 + sine);
        assert!(
            (image[2 * 5 + 3] - expected).abs() < 1e-12,
            "{} {expected}",
            image[13]
        );
        assert_eq!(image[2 * 5 + 2], 13.0, "the centre stays");
        // The value of the corner comes from a point above the middle of the upper edge, at a distance of 2
        // sqrt(2) - 2 pixels. This point lies between a pixel with the value 3 and the zeros outside the image.
        let corner = rotated(FRAME, 45.0)[0];
        assert!((corner - 3.0 * (3.0 - 8_f64.sqrt())).abs() < 1e-12, "{corner}");
    }

    #[test]
    fn a_turn_and_back_keeps_a_linear_image_inside() {
        let mut image = numbered(FRAME);
        Turn::new(FRAME, 17.0).apply(&mut image);
        Turn::new(FRAME, -17.0).apply(&mut image);
        // For the pixel next to the centre, all source pixels are inside the image. The image is
        // linear, so bilinear interpolation is exact.
        assert!((image[13] - 14.0).abs() < 1e-12, "{}", image[13]);
    }

    #[test]
    fn squares_are_moved_whole_and_leftovers_stay() {
        let frame = ImageSize {
            planes: 2,
            height: 5,
            width: 6,
        };
        assert_eq!(frame.squares(2), 6);
        let before = numbered(frame);
        let mut shuffle = Shuffle::new(frame, 2, 7);
        let mut moved = 0;
        for number in 0..20 {
            let mut image = before.clone();
            shuffle.apply(number, &mut image);
            // The last row is not part of any square.
            assert_eq!((&image[24..30], &image[54..]), (&before[24..30], &before[54..]));
            let mut corners = Vec::new();
            for square in 0..6 {
                let at = square / 3 * 12 + square % 3 * 2;
                let first = image[at];
                let whole = [first, first + 1.0, first + 6.0, first + 7.0];
                assert_eq!([image[at], image[at + 1], image[at + 6], image[at + 7]], whole);
                assert_eq!(image[30 + at], first + 30.0, "the planes move together");
                corners.push(first as usize);
                moved += usize::from(first != before[at]);
            }
            corners.sort_unstable();
            assert_eq!(corners, [1, 3, 5, 13, 15, 17]);
        }
        // On average, a random order of six squares leaves one square in its place. Of 120 squares,
        // 100 are therefore moved on average, with a standard deviation of sqrt(20).
        assert!((moved as f64 - 100.0).abs() < 4.0 * 20_f64.sqrt(), "{moved}");
        let mut again = before.clone();
        let mut other = before;
        Shuffle::new(frame, 2, 7).apply(3, &mut again);
        shuffle.apply(3, &mut other);
        assert_eq!(again, other);
    }

    #[test]
    fn images_have_two_axes() {
        assert_eq!(ImageSize::of(&[784]), None);
        assert_eq!(
            ImageSize::of(&[3, 2, 4, 5]),
            Some(ImageSize {
                planes: 6,
                height: 4,
                width: 5
            })
        );
    }
}

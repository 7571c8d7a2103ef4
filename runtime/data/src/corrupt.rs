//! Corruptions of test images after Hendrycks and Dietterich (2019), with the constants of CIFAR-10-C.
//!
//! The random numbers of a corruption depend only on the key and the number of the row. All severities of a corruption use the same random numbers,
//! and the results do not depend on the number of threads.
//!
//! The definitions are those of the published program `make_cifar_c.py`, with four differences. `frost` uses a generated texture instead of
//! photographs. In `glass_blur`, two pixels change places; in the published program, one of them is copied to both places. Intermediate
//! results are not rounded to bytes, except in `jpeg`. Images that are not 32 x 32 have the same constants in pixels; only the lengths of
//! `elastic` are proportional to the shorter side.

mod blur;
mod field;
mod geometry;
mod jpeg;
mod noise;
mod tone;
mod weather;

use bnnc_abi::corruption::{Corruption, Shift};
use bnnc_math::philox;
use field::Field;

/// Corrupts images with one shift.
#[derive(Clone, Debug)]
pub(crate) struct Corrupter {
    height: usize,
    width: usize,
    shift: Shift,
    key: u64,
    units: PixelUnits,
}

/// The values that pixels have in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PixelUnits {
    /// Whole numbers from 0 to 255.
    Bytes,
    /// Reals from 0 to 1.
    Unit,
    /// Reals from 0 to 255.
    Reals,
}

impl PixelUnits {
    /// Returns the units of real pixels with these values.
    ///
    /// # Errors
    /// Returns the first value that is outside both ranges.
    pub(crate) fn of_reals(values: impl Iterator<Item = f64>) -> Result<PixelUnits, f64> {
        let mut most = 0.0_f64;
        for value in values {
            if !(0.0..=255.0).contains(&value) {
                return Err(value);
            }
            most = most.max(value);
        }
        Ok(if most <= 1.0 {
            PixelUnits::Unit
        } else {
            PixelUnits::Reals
        })
    }

    /// Returns the value of white.
    fn white(self) -> f64 {
        match self {
            PixelUnits::Unit => 1.0,
            PixelUnits::Bytes | PixelUnits::Reals => 255.0,
        }
    }
}

/// The random numbers of one image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRandom {
    key: u64,
    row: u32,
}

impl RowRandom {
    /// Returns a uniform number in (0, 1). `purpose` separates the uses of random numbers in one corruption.
    fn uniform(self, purpose: u32, element: usize) -> f64 {
        philox::uniform(self.key, [purpose, self.row, 0], element as u64)
    }

    /// Returns a uniform number between `low` and `high`.
    fn between(self, low: f64, high: f64, purpose: u32, element: usize) -> f64 {
        low + (high - low) * self.uniform(purpose, element)
    }

    /// Returns a standard normal number.
    fn normal(self, purpose: u32, element: usize) -> f64 {
        philox::normal(self.key, [purpose, self.row, 0], element as u64)
    }
}

impl Corrupter {
    /// Prepares a shift of images of `height` by `width` pixels. The images have one plane, or the three planes red, green and blue.
    pub(crate) fn new(height: usize, width: usize, shift: Shift, key: u64, units: PixelUnits) -> Corrupter {
        Corrupter {
            height,
            width,
            shift,
            key: philox::attempt(key, 1 + shift.corruption as u64),
            units,
        }
    }

    /// Corrupts the image of one row of the file, which is in the units of the file.
    pub(crate) fn apply(&self, row: usize, image: &mut [f64]) {
        let white = self.units.white();
        let (height, width) = (self.height, self.width);
        let planes = image.chunks_exact((height * width).max(1));
        let mut planes: Vec<Field> = planes
            .map(|plane| Field::new(height, width, |at| plane[at] / white))
            .collect();
        let random = RowRandom {
            key: self.key,
            row: row as u32,
        };
        self.corrupt(&mut planes, random);
        let values = planes.iter().flat_map(|plane| &plane.values);
        for (pixel, value) in image.iter_mut().zip(values) {
            let value = value.clamp(0.0, 1.0) * white;
            *pixel = match self.units {
                // The published program truncates. Without the small number, the byte 3 / 255 * 255 could become 2.
                PixelUnits::Bytes => (value + 1e-6).floor(),
                PixelUnits::Unit | PixelUnits::Reals => value,
            };
        }
    }

    fn corrupt(&self, planes: &mut [Field], random: RowRandom) {
        let level = usize::from(self.shift.severity.clamp(1, Shift::SEVEREST)) - 1;
        match self.shift.corruption {
            Corruption::GaussianNoise => noise::gaussian(planes, level, random),
            Corruption::ShotNoise => noise::shot(planes, level, random),
            Corruption::ImpulseNoise => noise::impulse(planes, level, random),
            Corruption::DefocusBlur => blur::defocus(planes, level),
            Corruption::GlassBlur => blur::glass(planes, level, random),
            Corruption::MotionBlur => blur::motion(planes, level, random),
            Corruption::ZoomBlur => blur::zoom(planes, level),
            Corruption::Snow => weather::snow(planes, level, random),
            Corruption::Frost => weather::frost(planes, level, random),
            Corruption::Fog => weather::fog(planes, level, random),
            Corruption::Brightness => tone::brightness(planes, level),
            Corruption::Contrast => tone::contrast(planes, level),
            Corruption::Elastic => geometry::elastic(planes, level, random),
            Corruption::Pixelate => geometry::pixelate(planes, level),
            Corruption::Jpeg => jpeg::compress(planes, level),
        }
    }
}

#[cfg(test)]
mod tests;

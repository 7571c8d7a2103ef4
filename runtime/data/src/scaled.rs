//! The inputs of rows in memory: real numbers, or bytes that are converted whenever they are read.

use crate::standardise::Standardisation;
use crate::table::chosen;
use std::borrow::Cow;
use std::sync::Arc;

/// A number that stores a pixel.
pub trait Pixel: Copy {
    /// Rounds a real to this type.
    fn of(real: f64) -> Self;

    /// Returns the pixel as a real.
    fn real(self) -> f64;
}

impl Pixel for f32 {
    fn of(real: f64) -> f32 {
        real as f32
    }

    fn real(self) -> f64 {
        f64::from(self)
    }
}

impl Pixel for f64 {
    fn of(real: f64) -> f64 {
        real
    }

    fn real(self) -> f64 {
        self
    }
}

/// Bytes of rows, such as pixels, `[rows, width]`, with the map from each byte to the units of the model. Clones share the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledBytes {
    bytes: Arc<Vec<u8>>,
    /// The factor that multiplies a byte before it is standardised.
    scale: f64,
    /// One standardisation per element of a row.
    maps: Arc<[Standardisation]>,
}

impl ScaledBytes {
    /// Creates bytes with `maps.len()` elements per row.
    pub fn new(bytes: Arc<Vec<u8>>, scale: f64, maps: Arc<[Standardisation]>) -> ScaledBytes {
        ScaledBytes { bytes, scale, maps }
    }

    /// Returns the number of elements of all rows.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the number of elements is zero.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of elements of one row.
    pub fn width(&self) -> usize {
        self.maps.len()
    }

    /// Returns element `i` of all rows, in the units of the model.
    pub fn real(&self, i: usize) -> f64 {
        self.map(self.bytes[i], &self.maps[i % self.width().max(1)])
    }

    /// Converts a byte to the units of the model. Bytes that are converted when a batch is gathered and reals that are converted when rows are
    /// selected must be equal, so the order of the operations is the same.
    fn map(&self, byte: u8, map: &Standardisation) -> f64 {
        map.apply(f64::from(byte) * self.scale)
    }

    /// Returns all elements in the units of the model.
    pub fn reals(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let rows = self.bytes.chunks(self.width().max(1));
        rows.flat_map(|row| {
            row.iter()
                .zip(&*self.maps)
                .map(|(byte, map)| self.map(*byte, map))
        })
    }

    /// Writes the elements of one row, in the units of the model, rounded to the type of `to`.
    pub fn write<T: Pixel>(&self, row: usize, to: &mut [T]) {
        let bytes = &self.bytes[row * self.width()..(row + 1) * self.width()];
        for ((to, byte), map) in to.iter_mut().zip(bytes).zip(&*self.maps) {
            *to = T::of(self.map(*byte, map));
        }
    }

    /// Returns whether the absolute value of every element is at most `most`, for any bytes. The conversion is monotone, so only the smallest and the
    /// largest byte are converted.
    pub fn is_within(&self, most: f64) -> bool {
        let is_within =
            |map: &Standardisation| [0, u8::MAX].iter().all(|byte| self.map(*byte, map).abs() <= most);
        self.maps.iter().all(is_within)
    }

    /// Returns the elements of these rows.
    fn select(&self, rows: &[usize]) -> ScaledBytes {
        ScaledBytes {
            bytes: Arc::new(chosen(&self.bytes, rows, self.width())),
            ..self.clone()
        }
    }
}

/// The inputs of rows, `[rows, width]`, in the units of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum InputValues {
    /// Real numbers. They were scaled and standardised when the rows were selected.
    Real(Vec<f64>),
    /// Bytes as in the file. They take an eighth of the memory of reals.
    Byte(ScaledBytes),
}

impl InputValues {
    /// Returns the number of elements of all rows.
    pub fn len(&self) -> usize {
        match self {
            InputValues::Real(values) => values.len(),
            InputValues::Byte(bytes) => bytes.len(),
        }
    }

    /// Returns whether the number of elements is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns element `i` of all rows.
    pub fn real(&self, i: usize) -> f64 {
        match self {
            InputValues::Real(values) => values[i],
            InputValues::Byte(bytes) => bytes.real(i),
        }
    }

    /// Returns all elements. Bytes are converted, which takes eight times their memory.
    pub fn reals(&self) -> Cow<'_, [f64]> {
        match self {
            InputValues::Real(values) => values.into(),
            InputValues::Byte(bytes) => bytes.reals().collect(),
        }
    }

    /// Returns the elements of one row of `width` elements.
    pub(crate) fn row(&self, row: usize, width: usize) -> Cow<'_, [f64]> {
        match self {
            InputValues::Real(values) => values[row * width..(row + 1) * width].into(),
            InputValues::Byte(bytes) => {
                let mut values = vec![0.0; width];
                bytes.write(row, &mut values);
                values.into()
            }
        }
    }

    /// Returns the elements of these rows of `width` elements.
    pub fn select(&self, rows: &[usize], width: usize) -> InputValues {
        match self {
            InputValues::Real(values) => InputValues::Real(chosen(values, rows, width)),
            InputValues::Byte(bytes) => InputValues::Byte(bytes.select(rows)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes() -> ScaledBytes {
        let maps = [(0.0, 1.0), (0.5, 2.0)].map(|(mean, sd)| Standardisation { mean, sd });
        ScaledBytes::new(Arc::new(vec![0, 10, 20, 30]), 0.1, maps.into())
    }

    /// The expected values are `(byte / 10 - mean) / sd`.
    #[test]
    fn bytes_are_scaled_and_then_standardised() {
        let expected = [0.0, 0.25, 2.0, 1.25];
        let inputs = InputValues::Byte(bytes());
        assert_eq!(*inputs.reals(), expected);
        assert_eq!((0..4).map(|i| inputs.real(i)).collect::<Vec<_>>(), expected);
        assert_eq!(*inputs.row(1, 2), expected[2..]);
        let mut narrow = [0_f32; 2];
        bytes().write(1, &mut narrow);
        assert_eq!(narrow, [2.0, 1.25]);
    }

    #[test]
    fn selected_rows_are_equal_in_both_forms() {
        let inputs = InputValues::Byte(bytes());
        let reals = InputValues::Real(inputs.reals().into_owned());
        for rows in [vec![], vec![1], vec![1, 0, 1]] {
            let [of_bytes, of_reals] = [&inputs, &reals].map(|all| all.select(&rows, 2));
            assert_eq!(of_bytes.reals(), of_reals.reals());
            assert_eq!(
                (of_bytes.len(), of_bytes.is_empty()),
                (2 * rows.len(), rows.is_empty())
            );
        }
    }

    #[test]
    fn the_bound_covers_all_bytes() {
        // The first element reaches 25.5, the second 12.5.
        assert!(bytes().is_within(25.6));
        assert!(!bytes().is_within(25.4));
        let none = ScaledBytes::new(Arc::default(), f64::NAN, [Standardisation::IDENTITY].into());
        assert!(!none.is_within(f64::MAX));
    }
}

//! NumPy's NPY format, versions 1 to 3. A file consists of a magic string, a Python dictionary
//! (type, order and shape), and the elements.

use super::ShapedValues;
use crate::diagnostics::{self, At};
use crate::table::ArrayValues;
use bnnc_base::diagnostic::Diagnostic;
use std::path::Path;

/// The type, order and shape of the elements of a binary array.
pub(super) struct Layout {
    pub little_endian: bool,
    /// The kind of the elements as in NumPy: `f` for reals, `i` and `u` for integers, `b` for Booleans.
    pub kind: u8,
    /// The number of bytes of an element.
    pub width: usize,
    /// True if the elements are in column-major order.
    pub fortran: bool,
    pub shape: Vec<usize>,
}

impl Layout {
    /// Returns the shape and the elements of an array, in row-major order.
    ///
    /// # Errors
    /// Fails if `data` does not have the length that the shape needs, or if an element is not a finite number
    /// or is above 2^63.
    pub(super) fn read(self, path: &Path, data: &[u8]) -> Result<ShapedValues, Diagnostic> {
        let mut sizes = self.shape.iter();
        let expected = sizes.try_fold(self.width, |product, &size| product.checked_mul(size));
        if expected != Some(data.len()) {
            let expected = expected.map_or("more than 2^64".to_string(), |count| count.to_string());
            return Err(diagnostics::wrong_length(path, &expected, data.len()));
        }
        let values = elements(path, &self, data)?;
        let values = match self.fortran {
            true => row_major(&self.shape, &values),
            false => values,
        };
        if let ArrayValues::Real(reals) = &values
            && let Some(at) = reals.iter().position(|value| !value.is_finite())
        {
            let index = index(&self.shape, at);
            return Err(diagnostics::not_finite_at(path, &index, reals[at]));
        }
        Ok((self.shape, values))
    }
}

/// Returns the shape and the elements of a file, in row-major order.
pub(super) fn array(path: &Path, bytes: &[u8]) -> Result<ShapedValues, Diagnostic> {
    let bad = |detail: &str| diagnostics::malformed(At::file(path), "npy", detail);
    let (dictionary, data) = split(bytes).map_err(bad)?;
    header(path, dictionary)?.read(path, data)
}

/// Returns the dictionary, and the bytes that follow it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), &'static str> {
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .ok_or("expected it to start with the bytes 93 NUMPY")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err("expected version 1, 2 or 3"),
    };
    let (dictionary, data) = rest.split_at_checked(length).ok_or("the header is cut short")?;
    Ok((
        std::str::from_utf8(dictionary).map_err(|_| "the header is not text")?,
        data,
    ))
}

/// Parses a dictionary such as `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
fn header(path: &Path, dictionary: &str) -> Result<Layout, Diagnostic> {
    let at = At::file(path);
    let bad = |key: &str| diagnostics::malformed(at, "npy", &format!("cannot read `{key}` in the header"));
    let after = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let rest = quoted
            .iter()
            .find_map(|key| dictionary.split_once(key.as_str()))
            .map(|(_, rest)| rest);
        rest.and_then(|rest| rest.trim_start().strip_prefix(':'))
            .map(str::trim_start)
            .ok_or_else(|| bad(key))
    };
    let descr = after("descr")?;
    let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let Some(quote) = quote else {
        return Err(unsupported(at, "a structured type"));
    };
    let name = descr[1..].split(quote).next().unwrap_or_default();
    let (little_endian, kind, width) =
        element_type(name).ok_or_else(|| unsupported(at, &format!("the npy type `{name}`")))?;
    let order = after("fortran_order")?;
    let fortran = match (order.starts_with("True"), order.starts_with("False")) {
        (true, _) => true,
        (_, true) => false,
        _ => return Err(bad("fortran_order")),
    };
    let inside = after("shape")?
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .map(|(sizes, _)| sizes);
    let sizes = inside
        .ok_or_else(|| bad("shape"))?
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    let shape = sizes
        .map(|size| size.trim_end_matches('L').parse().map_err(|_| bad("shape")))
        .collect::<Result<_, _>>()?;
    Ok(Layout {
        little_endian,
        kind,
        width,
        fortran,
        shape,
    })
}

fn unsupported(at: At<'_>, what: &str) -> Diagnostic {
    diagnostics::unsupported(
        at,
        what,
        "arrays of integers, reals (`f4`, `f8`) or Booleans: in Python, `array.astype(\"float32\")`",
    )
}

/// Parses the name of an element type, such as `<f8`, into (little-endian, kind, bytes).
fn element_type(name: &str) -> Option<(bool, u8, usize)> {
    let (&order, rest) = name.as_bytes().split_first()?;
    let (&kind, digits) = rest.split_first()?;
    let width: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let little_endian = match order {
        b'<' | b'|' => true,
        b'=' => cfg!(target_endian = "little"),
        b'>' => false,
        _ => return None,
    };
    let known = match kind {
        b'f' => matches!(width, 4 | 8),
        b'i' | b'u' => matches!(width, 1 | 2 | 4 | 8),
        b'b' => width == 1,
        _ => false,
    };
    known.then_some((little_endian, kind, width))
}

fn elements(path: &Path, header: &Layout, data: &[u8]) -> Result<ArrayValues, Diagnostic> {
    let words = data.chunks_exact(header.width).map(|chunk| {
        let bytes = chunk.iter().enumerate();
        bytes.fold(0_u64, |word, (i, &byte)| {
            let place = if header.little_endian {
                i
            } else {
                chunk.len() - 1 - i
            };
            word | u64::from(byte) << (8 * place)
        })
    });
    Ok(match (header.kind, header.width) {
        (b'f', 4) => ArrayValues::Real(words.map(|word| f64::from(f32::from_bits(word as u32))).collect()),
        (b'f', _) => ArrayValues::Real(words.map(f64::from_bits).collect()),
        (b'u', 1) => ArrayValues::Byte(data.to_vec().into()),
        (b'b', _) => ArrayValues::Int(words.map(|word| i64::from(word != 0)).collect()),
        (b'i', width) => {
            let unused = 64 - 8 * width as u32;
            ArrayValues::Int(words.map(|word| (word << unused) as i64 >> unused).collect())
        }
        _ => {
            let ints: Option<Vec<i64>> = words.map(|word| i64::try_from(word).ok()).collect();
            ArrayValues::Int(
                ints.ok_or_else(|| unsupported(At::file(path), "an unsigned integer above 2^63"))?,
            )
        }
    })
}

/// Converts the order of elements from column-major (Fortran) to row-major.
fn row_major(shape: &[usize], values: &ArrayValues) -> ArrayValues {
    let from = |at: usize| {
        let (mut rest, mut stride, mut place) = (at, values.len(), 0);
        for size in shape.iter().rev() {
            stride /= size;
            place += rest % size * stride;
            rest /= size;
        }
        place
    };
    values.select((0..values.len()).map(from))
}

/// Returns the indices of the element at this position, in row-major order.
fn index(shape: &[usize], at: usize) -> Vec<usize> {
    let mut rest = at;
    let mut indices: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let index = rest % size.max(&1);
            rest /= size.max(&1);
            index
        })
        .collect();
    indices.reverse();
    indices
}

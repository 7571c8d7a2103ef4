//! NumPy's NPY format, versions 1 to 3. A file has a magic string, a Python dictionary with type,
//! order and shape, and the elements.

use crate::diagnostics::{self, At};
use crate::table::ArrayValues;
use bnnc_base::diagnostic::Diagnostic;
use std::path::Path;

/// The entries of the dictionary in the header of an NPY file.
struct Header {
    little_endian: bool,
    kind: u8,
    width: usize,
    fortran: bool,
    shape: Vec<usize>,
}

/// Returns the shape and the elements of a file, in row-major order.
pub(super) fn array(path: &Path, bytes: &[u8]) -> Result<(Vec<usize>, ArrayValues), Diagnostic> {
    let bad = |detail: &str| diagnostics::malformed(At::file(path), "npy", detail);
    let (dictionary, data) = split(bytes).map_err(bad)?;
    let header = header(path, dictionary)?;
    let expected = header
        .shape
        .iter()
        .try_fold(header.width, |product, &size| product.checked_mul(size));
    if expected != Some(data.len()) {
        let expected = expected.map_or("more than 2^64".to_string(), |count| count.to_string());
        return Err(diagnostics::wrong_length(path, &expected, data.len()));
    }
    let values = elements(path, &header, data)?;
    let values = if header.fortran {
        row_major(&header.shape, values)
    } else {
        values
    };
    let values = match values {
        ArrayValues::Real(reals) => finite(path, &header.shape, reals)?,
        whole => whole,
    };
    Ok((header.shape, values))
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
fn header(path: &Path, dictionary: &str) -> Result<Header, Diagnostic> {
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
    Ok(Header {
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

fn elements(path: &Path, header: &Header, data: &[u8]) -> Result<ArrayValues, Diagnostic> {
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
        (b'u', 1) => ArrayValues::Byte(data.to_vec()),
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
fn row_major(shape: &[usize], values: ArrayValues) -> ArrayValues {
    match values {
        ArrayValues::Byte(values) => ArrayValues::Byte(reorder(shape, &values)),
        ArrayValues::Int(values) => ArrayValues::Int(reorder(shape, &values)),
        ArrayValues::Real(values) => ArrayValues::Real(reorder(shape, &values)),
        text @ ArrayValues::Level { .. } => text,
    }
}

fn reorder<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    (0..values.len())
        .map(|_| {
            let from = shape
                .iter()
                .zip(&index)
                .rev()
                .fold(0, |sum, (&size, &i)| sum * size + i);
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
            values[from]
        })
        .collect()
}

/// Returns the values of an array of this shape if all of them are finite. Otherwise, returns a diagnostic for the first value
/// that is infinite or NaN.
pub(super) fn finite(path: &Path, shape: &[usize], reals: Vec<f64>) -> Result<ArrayValues, Diagnostic> {
    match reals.iter().position(|value| !value.is_finite()) {
        None => Ok(ArrayValues::Real(reals)),
        Some(at) => Err(diagnostics::not_finite_at(path, &index(shape, at), reals[at])),
    }
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

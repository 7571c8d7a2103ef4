//! Formats values as text. Numbers have at most eight significant digits, the columns of matrices
//! are aligned, and long arrays are shortened.

use bnnc_base::dtype::DType;
use bnnc_graph::tensor::Tensor;

/// The number of significant digits of a printed real.
const DIGITS: usize = 8;

/// The length of the longest axis that is printed in full. For a longer axis, only elements at both
/// ends are printed ([`ENDS`]).
const LONGEST: usize = 16;

/// The numbers of elements that are printed at the start and at the end of a shortened axis.
const ENDS: (usize, usize) = (6, 3);

/// Formats a real in its shortest form with at most eight significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return match value {
            0.0 => "0".to_owned(),
            f64::INFINITY => "inf".to_owned(),
            f64::NEG_INFINITY => "-inf".to_owned(),
            _ => "nan".to_owned(),
        };
    }
    let scientific = format!("{value:.*e}", DIGITS - 1);
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent @ -5..15) => {
            let places = usize::try_from(DIGITS as i32 - 1 - exponent).unwrap_or(0);
            trimmed(&format!("{value:.places$}")).to_owned()
        }
        _ => format!("{}e{exponent}", trimmed(digits)),
    }
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

/// Formats one element.
fn element(value: f64, dtype: DType) -> String {
    match dtype {
        DType::Bool if value == 0.0 => "false".to_owned(),
        DType::Bool => "true".to_owned(),
        DType::Int => format!("{value:.0}"),
        DType::Real => number(value),
    }
}

/// Formats sizes as `[3, 2]`.
pub fn shape(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

/// Formats a tensor. A scalar has the form `0.5`, a vector has the form `[1, 2, 3]`, and a matrix
/// has one row per line. If elements are omitted, the shape follows at the end.
pub fn tensor(tensor: &Tensor, dtype: DType) -> String {
    let elided = tensor.shape.iter().any(|size| *size > LONGEST);
    let text = match tensor.shape.len() {
        0 => element(tensor.data[0], dtype),
        _ => nested(tensor, &widths(tensor, dtype), dtype, 0),
    };
    if elided {
        format!("{text} of shape {}", shape(&tensor.shape))
    } else {
        text
    }
}

/// Returns the positions along an axis that are printed. `None` stands for omitted positions.
fn positions(size: usize) -> Vec<Option<usize>> {
    if size <= LONGEST {
        return (0..size).map(Some).collect();
    }
    let ends = (0..ENDS.0).map(Some).chain([None]);
    ends.chain((size - ENDS.1..size).map(Some)).collect()
}

/// Returns the width of each printed column of a matrix. Vectors are not padded.
fn widths(tensor: &Tensor, dtype: DType) -> Vec<usize> {
    let rank = tensor.shape.len();
    let columns = tensor.shape[rank - 1];
    if rank == 1 || columns == 0 {
        return vec![0; columns];
    }
    let mut widths = vec![0; columns];
    for column in positions(columns).into_iter().flatten() {
        let rows = positions(tensor.data.len() / columns).into_iter().flatten();
        let wide = rows.map(|row| element(tensor.data[row * columns + column], dtype).len());
        widths[column] = wide.max().unwrap_or(0);
    }
    widths
}

fn nested(tensor: &Tensor, widths: &[usize], dtype: DType, depth: usize) -> String {
    let one = |at: Option<usize>| match (at, tensor.shape.len()) {
        (None, _) => "..".to_owned(),
        (Some(at), 1) => format!("{:>width$}", element(tensor.data[at], dtype), width = widths[at]),
        (Some(at), _) => nested(&tensor.leading(at), widths, dtype, depth + 1),
    };
    let parts: Vec<String> = positions(tensor.shape[0]).into_iter().map(one).collect();
    let separator = match tensor.shape.len() {
        1 => ", ".to_owned(),
        rank => format!(",{}{}", "\n".repeat(rank - 1), " ".repeat(depth + 1)),
    };
    format!("[{}]", parts.join(&separator))
}

#[cfg(test)]
mod tests {
    use super::{number, tensor};
    use bnnc_base::dtype::DType;
    use bnnc_graph::tensor::Tensor;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.1 + 0.2, "0.3"),
            (2.0, "2"),
            (-0.5, "-0.5"),
            (1.0 / 3.0, "0.33333333"),
            (1e-9, "1e-9"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(123_456_789.0), "123456789");
        assert_eq!(number(6.02214076e23), "6.0221408e23");
        assert_eq!(number(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn matrices_are_aligned_and_long_vectors_elided() {
        let matrix = Tensor::new(vec![2, 2], vec![1.0, -20.5, 300.0, 4.0]);
        assert_eq!(tensor(&matrix, DType::Real), "[[  1, -20.5],\n [300,     4]]");
        let long = Tensor::from_fn(vec![100], |at| at[0] as f64);
        assert_eq!(
            tensor(&long, DType::Int),
            "[0, 1, 2, 3, 4, 5, .., 97, 98, 99] of shape [100]"
        );
    }
}

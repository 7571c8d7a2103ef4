//! Reads IDX, the format of MNIST. A file has the bytes `0 0 type rank`, the sizes of the axes as
//! big-endian 32-bit integers, and the elements.

use crate::diagnostics::{self, At};
use crate::table::ArrayValues;
use bnnc_base::diagnostic::Diagnostic;
use std::path::Path;

/// Returns the shape and the elements of a file.
pub(super) fn array(path: &Path, bytes: &[u8]) -> Result<(Vec<usize>, ArrayValues), Diagnostic> {
    let at = At::file(path);
    let &[0, 0, code, rank, ..] = bytes else {
        return Err(diagnostics::malformed(
            at,
            "idx",
            "expected two zero bytes, a type and a rank at the start",
        ));
    };
    let width = match code {
        0x08 | 0x09 => 1,
        0x0b => 2,
        0x0c | 0x0d => 4,
        0x0e => 8,
        _ => {
            return Err(diagnostics::unsupported(
                at,
                &format!("the idx type 0x{code:02x}"),
                "bytes, integers or reals",
            ));
        }
    };
    let Some((sizes, data)) = bytes[4..].split_at_checked(4 * usize::from(rank)) else {
        return Err(diagnostics::malformed(
            at,
            "idx",
            &format!("expected the sizes of {rank} axes, found the end"),
        ));
    };
    let shape: Vec<usize> = sizes
        .chunks_exact(4)
        .map(|size| big_endian(size) as usize)
        .collect();
    let expected = shape
        .iter()
        .try_fold(width, |product: usize, &size| product.checked_mul(size));
    if expected != Some(data.len()) {
        let expected = expected.map_or("more than 2^64".to_string(), |count| count.to_string());
        return Err(diagnostics::wrong_length(path, &expected, data.len()));
    }
    let values = match elements(code, data) {
        ArrayValues::Real(reals) => super::npy::finite(path, &shape, reals)?,
        whole => whole,
    };
    Ok((shape, values))
}

/// Returns up to eight big-endian bytes as an unsigned integer.
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Returns the elements of the type with this code.
fn elements(code: u8, data: &[u8]) -> ArrayValues {
    match code {
        0x08 => ArrayValues::Byte(data.to_vec()),
        0x09 => ArrayValues::Int(data.iter().map(|&byte| i64::from(byte as i8)).collect()),
        0x0b => ArrayValues::Int(
            data.chunks_exact(2)
                .map(|c| i64::from(big_endian(c) as u16 as i16))
                .collect(),
        ),
        0x0c => ArrayValues::Int(
            data.chunks_exact(4)
                .map(|c| i64::from(big_endian(c) as u32 as i32))
                .collect(),
        ),
        0x0d => ArrayValues::Real(
            data.chunks_exact(4)
                .map(|c| f64::from(f32::from_bits(big_endian(c) as u32)))
                .collect(),
        ),
        _ => ArrayValues::Real(
            data.chunks_exact(8)
                .map(|c| f64::from_bits(big_endian(c)))
                .collect(),
        ),
    }
}

//! Reads IDX, the format of MNIST. A file has the bytes `0 0 type rank`, the sizes of the axes as
//! big-endian 32-bit integers, and the elements.

use super::ShapedValues;
use super::npy::Layout;
use crate::diagnostics::{self, At};
use bnnc_base::diagnostic::Diagnostic;
use std::path::Path;

/// Returns the shape and the elements of a file.
pub(super) fn array(path: &Path, bytes: &[u8]) -> Result<ShapedValues, Diagnostic> {
    let at = At::file(path);
    let malformed = |detail: &str| diagnostics::malformed(at, "idx", detail);
    let &[0, 0, code, rank, ..] = bytes else {
        let fault = malformed("expected two zero bytes, a type and a rank at the start");
        return Err(fault);
    };
    let (kind, width) = match code {
        0x08 => (b'u', 1),
        0x09 => (b'i', 1),
        0x0b => (b'i', 2),
        0x0c => (b'i', 4),
        0x0d => (b'f', 4),
        0x0e => (b'f', 8),
        _ => {
            let what = format!("the idx type 0x{code:02x}");
            return Err(diagnostics::unsupported(at, &what, "bytes, integers or reals"));
        }
    };
    let Some((sizes, data)) = bytes[4..].split_at_checked(4 * usize::from(rank)) else {
        return Err(malformed(&format!(
            "expected the sizes of {rank} axes, found the end"
        )));
    };
    let big_endian = |size: &[u8]| size.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let layout = Layout {
        little_endian: false,
        kind,
        width,
        fortran: false,
        shape: sizes.chunks_exact(4).map(big_endian).collect(),
    };
    layout.read(path, data)
}

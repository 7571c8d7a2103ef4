//! Scalar kinds and the precision of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one element. `Real` becomes `f32` or `f64` when a run chooses its precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// A real number.
    Real,
    /// An integer (stored as `i32` in compiled programs).
    Int,
    /// A Boolean, only inside kernels; stored as a real 0 or 1.
    Bool,
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::Real => "real",
            DType::Int => "int",
            DType::Bool => "bool",
        })
    }
}

/// The width of `real` in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

impl Precision {
    /// Returns the number of bytes of one real.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        })
    }
}

//! The types that single elements can have, and the precision of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of one element. A run chooses its precision, and `Real` then becomes `f32` or `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// A real number.
    Real,
    /// An integer. Compiled programs store it as `i32`.
    Int,
    /// A Boolean, which exists only inside kernels and is stored as a real number, 0 or 1.
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

/// The number of bits that a `real` has in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Precision {
    /// A `real` has 32 bits (`f32`).
    F32,
    /// A `real` has 64 bits (`f64`).
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

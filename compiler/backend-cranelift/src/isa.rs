//! The instruction set of the host, and the types that its vectors give.

use bnnc_base::dtype::{DType, Precision};
use bnnc_base::fault::Fault;
use cranelift_codegen::ir::{Type, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// Bytes of a vector register: Cranelift's vectors are 128 bits wide on every host.
pub(crate) const VECTOR_BYTES: i64 = 16;

/// Settings under which emitted code is neither reordered nor checked. Kernels come with common subexpressions removed
/// and invariants hoisted, and their unrolled copies interleaved; Cranelift's own optimiser would undo the interleaving.
const FLAGS: &[(&str, &str)] = &[
    ("opt_level", "none"),
    ("is_pic", "false"),
    ("use_colocated_libcalls", "false"),
    ("unwind_info", "false"),
    (
        "enable_verifier",
        if cfg!(debug_assertions) { "true" } else { "false" },
    ),
];

/// The host with every extension it has.
pub(crate) fn host() -> Result<OwnedTargetIsa, Fault> {
    let mut flags = settings::builder();
    for (name, value) in FLAGS {
        flags
            .set(name, value)
            .map_err(|error| Fault::Bug(format!("Cranelift setting {name}: {error}")))?;
    }
    let builder = cranelift_native::builder().map_err(|reason| Fault::Limit(reason.to_owned()))?;
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| Fault::Limit(error.to_string()))
}

/// How many elements one value holds, and of which width reals are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    precision: Precision,
    vector: bool,
}

impl Lanes {
    /// One element.
    pub fn one(precision: Precision) -> Lanes {
        Lanes {
            precision,
            vector: false,
        }
    }

    /// A vector register of reals.
    pub fn vector(precision: Precision) -> Lanes {
        Lanes {
            precision,
            vector: true,
        }
    }

    /// Whether values are vectors.
    pub fn is_vector(self) -> bool {
        self.vector
    }

    /// The number of elements.
    pub fn count(self) -> i64 {
        if self.vector {
            VECTOR_BYTES / self.precision.bytes() as i64
        } else {
            1
        }
    }

    /// Bytes of the reals of one value.
    pub fn bytes(self) -> i64 {
        self.count() * self.precision.bytes() as i64
    }

    /// The type of values in registers. Truth values are bytes, or lane masks as wide as reals.
    pub fn of(self, dtype: DType) -> Type {
        match (dtype, self.vector, self.precision) {
            (DType::Real, false, Precision::F32) => types::F32,
            (DType::Real, false, Precision::F64) => types::F64,
            (DType::Real, true, Precision::F32) => types::F32X4,
            (DType::Real, true, Precision::F64) => types::F64X2,
            (DType::Int, false, _) => types::I32,
            (DType::Int, true, _) => types::I32X4,
            (DType::Bool, false, _) => types::I8,
            (DType::Bool, true, _) => self.mask(),
        }
    }

    /// Integers as wide as the reals.
    pub fn mask(self) -> Type {
        match (self.vector, self.precision) {
            (false, Precision::F32) => types::I32,
            (false, Precision::F64) => types::I64,
            (true, Precision::F32) => types::I32X4,
            (true, Precision::F64) => types::I64X2,
        }
    }

    /// The width of reals.
    pub fn precision(self) -> Precision {
        self.precision
    }
}

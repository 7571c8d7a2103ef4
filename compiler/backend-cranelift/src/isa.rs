//! The instruction set of the host, and its vector types.

use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{CodePlacement, ObjectFormat};
use cranelift_codegen::ir::{Type, types};
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};

/// The number of bytes in a vector register. Vectors of Cranelift have 128 bits on every host.
pub(crate) const VECTOR_BYTES: i64 = 16;

/// Settings that disable the optimiser of Cranelift and, in release builds, its verifier. When
/// kernels are emitted, common subexpressions are already removed, invariants hoisted, and the
/// copies of unrolled loops interleaved. Cranelift's own optimiser would undo the interleaving.
const FLAGS: &[(&str, &str)] = &[
    ("opt_level", "none"),
    ("use_colocated_libcalls", "false"),
    ("unwind_info", "false"),
    (
        "enable_verifier",
        if cfg!(debug_assertions) { "true" } else { "false" },
    ),
];

/// Returns the instruction set of the host with all its extensions. The code in objects is
/// position-independent, because objects are loaded at unknown addresses.
pub(crate) fn host(form: &CodePlacement) -> Result<OwnedTargetIsa, Fault> {
    let (pic, elf) = match form {
        CodePlacement::Memory => ("false", false),
        CodePlacement::Object { format, .. } => ("true", *format == ObjectFormat::Elf),
    };
    let mut flags = settings::builder();
    for (name, value) in FLAGS.iter().chain(&[("is_pic", pic)]) {
        flags
            .set(name, value)
            .map_err(|error| Fault::Bug(format!("Cranelift setting {name}: {error}")))?;
    }
    let mut builder =
        cranelift_native::builder().map_err(|reason| Fault::limit(&NO_CODE, reason.to_owned()))?;
    if elf {
        builder = as_elf(&builder)?;
    }
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| Fault::limit(&NO_CODE, error.to_string()))
}

/// Returns an instruction set with the object format of Linux. Otherwise, it equals the instruction
/// set of `builder`.
fn as_elf(builder: &isa::Builder) -> Result<isa::Builder, Fault> {
    let limit = |reason: &dyn std::fmt::Display| Fault::limit(&NO_CODE, reason.to_string());
    let mut triple = builder.triple().clone();
    let linux = isa::lookup_by_name("x86_64-unknown-linux-gnu").map_err(|reason| limit(&reason))?;
    triple.binary_format = linux.triple().binary_format;
    let mut builder = isa::lookup(triple).map_err(|reason| limit(&reason))?;
    cranelift_native::infer_native_flags(&mut builder).map_err(|reason| limit(&reason))?;
    Ok(builder)
}

/// Returns the CPU extensions that the generated code may use. The names are those that `std::arch` uses.
pub(crate) fn features(isa: &dyn TargetIsa) -> Vec<String> {
    let enabled = isa
        .isa_flags()
        .into_iter()
        .filter(|flag| flag.as_bool() == Some(true));
    let names = enabled.filter_map(|flag| flag.name.strip_prefix("has_"));
    names.filter_map(feature).map(str::to_owned).collect()
}

/// Converts Cranelift's name of a CPU extension to the name in `std::arch`. Returns `None` if every processor of the architecture has the
/// extension.
fn feature(name: &str) -> Option<&str> {
    match name {
        "sse41" => Some("sse4.1"),
        "sse42" => Some("sse4.2"),
        "cmpxchg16b" => None,
        "avx_vnni" => Some("avxvnni"),
        other => Some(other),
    }
}

/// The number of elements in one value, and the width of reals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    precision: Precision,
    vector: bool,
}

impl Lanes {
    /// Returns the lanes of a single element.
    pub fn one(precision: Precision) -> Lanes {
        Lanes {
            precision,
            vector: false,
        }
    }

    /// Returns the lanes of a vector register of reals.
    pub fn vector(precision: Precision) -> Lanes {
        Lanes {
            precision,
            vector: true,
        }
    }

    /// Returns whether values are vectors.
    pub fn is_vector(self) -> bool {
        self.vector
    }

    /// Returns the number of elements in one value.
    pub fn count(self) -> i64 {
        if self.vector {
            VECTOR_BYTES / self.precision.bytes() as i64
        } else {
            1
        }
    }

    /// Returns the number of bytes of the reals in one value.
    pub fn bytes(self) -> i64 {
        self.count() * self.precision.bytes() as i64
    }

    /// Returns the register type of values. A single Boolean is a byte. In a vector, a Boolean is a
    /// lane mask that is as wide as a real.
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

    /// Returns the integer type that is as wide as a real.
    pub fn mask(self) -> Type {
        match (self.vector, self.precision) {
            (false, Precision::F32) => types::I32,
            (false, Precision::F64) => types::I64,
            (true, Precision::F32) => types::I32X4,
            (true, Precision::F64) => types::I64X2,
        }
    }

    /// Returns the width of reals.
    pub fn precision(self) -> Precision {
        self.precision
    }
}

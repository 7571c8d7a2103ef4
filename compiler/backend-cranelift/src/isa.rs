//! The instruction set of the host, and the types that its vectors give.

use bnnc_base::dtype::{DType, Precision};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Form, ObjectFormat};
use cranelift_codegen::ir::{Type, types};
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};

/// Bytes of a vector register: Cranelift's vectors are 128 bits wide on every host.
pub(crate) const VECTOR_BYTES: i64 = 16;

/// Settings under which emitted code is neither reordered nor checked. Kernels come with common subexpressions removed
/// and invariants hoisted, and their unrolled copies interleaved; Cranelift's own optimiser would undo the interleaving.
const FLAGS: &[(&str, &str)] = &[
    ("opt_level", "none"),
    ("use_colocated_libcalls", "false"),
    ("unwind_info", "false"),
    (
        "enable_verifier",
        if cfg!(debug_assertions) { "true" } else { "false" },
    ),
];

/// The host with every extension it has. Objects go to addresses that are not known yet, so their code has none in it.
pub(crate) fn host(form: &Form) -> Result<OwnedTargetIsa, Fault> {
    let (pic, elf) = match form {
        Form::Memory => ("false", false),
        Form::Object { format, .. } => ("true", *format == ObjectFormat::Elf),
    };
    let mut flags = settings::builder();
    for (name, value) in FLAGS.iter().chain(&[("is_pic", pic)]) {
        flags
            .set(name, value)
            .map_err(|error| Fault::Bug(format!("Cranelift setting {name}: {error}")))?;
    }
    let mut builder = cranelift_native::builder().map_err(|reason| Fault::Limit(reason.to_owned()))?;
    if elf {
        builder = as_elf(&builder)?;
    }
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| Fault::Limit(error.to_string()))
}

/// The same instruction set and calling convention with objects in the form of Linux.
fn as_elf(builder: &isa::Builder) -> Result<isa::Builder, Fault> {
    let limit = |reason: &dyn std::fmt::Display| Fault::Limit(reason.to_string());
    let mut triple = builder.triple().clone();
    let linux = isa::lookup_by_name("x86_64-unknown-linux-gnu").map_err(|reason| limit(&reason))?;
    triple.binary_format = linux.triple().binary_format;
    let mut builder = isa::lookup(triple).map_err(|reason| limit(&reason))?;
    cranelift_native::infer_native_flags(&mut builder).map_err(|reason| limit(&reason))?;
    Ok(builder)
}

/// The extensions that code for this instruction set may use, as `std::arch` names them.
pub(crate) fn features(isa: &dyn TargetIsa) -> Vec<String> {
    let enabled = isa
        .isa_flags()
        .into_iter()
        .filter(|flag| flag.as_bool() == Some(true));
    let names = enabled.filter_map(|flag| flag.name.strip_prefix("has_"));
    names.filter_map(feature).map(str::to_owned).collect()
}

/// What `std::arch` calls an extension that Cranelift calls so; nothing where code for every processor of the architecture may use it.
fn feature(name: &str) -> Option<&str> {
    match name {
        "sse41" => Some("sse4.1"),
        "sse42" => Some("sse4.2"),
        "cmpxchg16b" => None,
        "avx_vnni" => Some("avxvnni"),
        other => Some(other),
    }
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

    /// Returns whether values are vectors.
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

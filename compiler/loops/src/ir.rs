//! Kernels: a scalar body over a rectangular domain, with stores and reductions.
//!
//! Note [Semantics of a kernel]. For every point of the domain in row-major order, with the outermost axis
//! restricted to `start..end`, the body is evaluated and each output is applied. A plain output stores its
//! value. A reducing output combines it with the stored value, which the executor has initialised with the
//! identity. Bodies have no vectors and no control flow; a backend vectorises the innermost axis. The order
//! of a reduction within one invocation is free, but may depend only on the domain.

use bnnc_abi::plan::{Combine, Plan, Storage};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

bnnc_base::id!(
    /// The result of an instruction.
    InstId,
    "v"
);

/// A plan and its kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The buffers and steps.
    pub plan: Plan,
    /// The kernels, to which the launches of the plan refer by index.
    pub kernels: Vec<Kernel>,
}

/// A number that is known at compile time, or one of the integers of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A known number.
    Fixed(i64),
    /// `launch.ints[slot]`.
    Slot(u32),
}

/// A fused loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The name, for printed text.
    pub name: String,
    /// Trip counts, outermost first; at least one axis.
    pub dims: Vec<Size>,
    /// The element storage of each buffer slot.
    pub slots: Vec<Storage>,
    /// The body in evaluation order.
    pub body: Arena<InstId, Inst>,
    /// The outputs.
    pub outputs: Vec<KernelOutput>,
}

/// An element address: `buffer[offset + sum strides[i] * index[i] + sum dynamic]`, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer slot.
    pub slot: u32,
    /// The number of elements to skip.
    pub offset: Size,
    /// One stride per domain axis.
    pub strides: Vec<Size>,
    /// Positions that are computed in the body.
    pub dynamic: Vec<Dynamic>,
}

/// A computed position along one axis of the buffer. It is clamped to `0..limit`, so that no address is
/// outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    /// The integer instruction with the position.
    pub index: InstId,
    /// The number of elements per step.
    pub stride: Size,
    /// The size of the axis.
    pub limit: Size,
}

/// One instruction. Booleans are `Bool` inside a body, and become 0 or 1 when stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// The operation.
    pub op: InstOp,
    /// The type of its result.
    pub dtype: DType,
}

/// The operation of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum InstOp {
    /// A number.
    Const(f64),
    /// The domain index along an axis, as an integer.
    Index(u32),
    /// An element of a buffer; a `Bool` result means "not zero".
    Load(Access),
    /// A scalar operation. Comparisons and arithmetic have two real or two integer operands; the first
    /// operand of `Select` is a Boolean.
    Apply(Scalar, Vec<InstId>),
    /// An element of a counter-based stream.
    Noise {
        /// The distribution.
        kind: NoiseKind,
        /// The key of the site, `hash(seed, site path)`, read from this integer slot.
        key: Size,
        /// The integer coordinates draw, example and step.
        coordinates: [InstId; 3],
        /// The real shape parameter, for distributions that have one.
        shape: Option<InstId>,
        /// The offset of the element number, which is `offset + sum strides[i] * index[i]`.
        offset: Size,
        /// One stride per domain axis.
        strides: Vec<Size>,
    },
}

/// A value that the body writes.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelOutput {
    /// The destination. Reduced axes have stride 0.
    pub access: Access,
    /// The value.
    pub value: InstId,
    /// The combination with the stored value; `None` overwrites it.
    pub combine: Option<Combine>,
}

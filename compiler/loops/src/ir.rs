//! Kernels: a scalar body over a rectangular domain, with stores and reductions.
//!
//! Note [What a kernel means]. For every point of the domain in row-major order, and for the outermost axis restricted to
//! `start..end`, the body is evaluated and each output is applied: a plain output stores its value, a reducing one combines
//! it with what is there (the executor has filled it with the identity). Bodies have no vectors and no control flow; a
//! backend vectorises the innermost axis. The order of a reduction is free inside one invocation, but must not depend on
//! anything but the domain.

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
    /// Buffers and steps.
    pub plan: Plan,
    /// The kernels that the plan's launches name by position.
    pub kernels: Vec<Kernel>,
}

/// A number known when a kernel is compiled, or one of the launch's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Known.
    Fixed(i64),
    /// `launch.ints[slot]`.
    Slot(u32),
}

/// A fused loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// For people.
    pub name: String,
    /// Trip counts, outermost first; at least one axis.
    pub dims: Vec<Size>,
    /// How elements of each buffer slot are stored.
    pub slots: Vec<Storage>,
    /// The body in evaluation order.
    pub body: Arena<InstId, Inst>,
    /// What leaves it.
    pub outputs: Vec<KernelOutput>,
}

/// An element address: `buffer[offset + sum strides[i] * index[i] + sum dynamic]`, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer slot.
    pub slot: u32,
    /// Elements to skip.
    pub offset: Size,
    /// One stride per domain axis.
    pub strides: Vec<Size>,
    /// Positions that the body computes.
    pub dynamic: Vec<Dynamic>,
}

/// A computed position along one axis of the buffer, clamped to `0..limit` so that no address leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    /// An integer instruction.
    pub index: InstId,
    /// Elements per step.
    pub stride: Size,
    /// The size of the axis.
    pub limit: Size,
}

/// One instruction; truth values are `Bool` inside a body and become 0 or 1 when stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub op: InstOp,
    /// What its result is.
    pub dtype: DType,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum InstOp {
    /// A number.
    Const(f64),
    /// The domain index along an axis, as an integer.
    Index(u32),
    /// An element of a buffer; a `Bool` result means "not zero".
    Load(Access),
    /// A scalar operation. Comparisons and arithmetic take two reals or two integers; `Select` takes a truth value first.
    Apply(Scalar, Vec<InstId>),
    /// An element of a counter-based stream.
    Noise {
        /// Its law.
        kind: NoiseKind,
        /// The site: `key = hash(seed, site path)` is read from this integer slot.
        key: Size,
        /// The coordinates draw, example, step: integers.
        coordinates: [InstId; 3],
        /// The shape, where the law has one: a real.
        shape: Option<InstId>,
        /// The number of the element: `offset + sum strides[i] * index[i]`.
        offset: Size,
        /// One stride per domain axis.
        strides: Vec<Size>,
    },
}

/// A value that leaves the body.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelOutput {
    /// Where to. Reduced axes have stride 0.
    pub access: Access,
    /// The value.
    pub value: InstId,
    /// How it combines with what is there; `None` stores.
    pub combine: Option<Combine>,
}

//! Kernels: a scalar body that is evaluated over a rectangular domain, with stores and reductions.
//!
//! Note [Semantics of a kernel]. The points of the domain are visited in row-major order, with the
//! outermost axis restricted to `start..end`. At every point, the body is evaluated and each output
//! is applied. A plain output stores its value. A reducing output combines its value with the
//! stored value. Before this, the executor has set the stored value to the identity of the
//! reduction. Bodies contain neither vectors nor control flow; the backend vectorises the innermost
//! axis. Within one invocation, a backend may choose the order of a reduction, but this order must
//! depend only on the domain.

use bnnc_abi::plan::{Combine, Plan, Storage};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

bnnc_base::id!(
    /// The id of an instruction, and of its result.
    InstId,
    "v"
);

/// A plan and its kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopProgram {
    /// The buffers and steps.
    pub plan: Plan,
    /// The kernels. The launches of the plan refer to them by index.
    pub kernels: Vec<Kernel>,
}

/// A size: either a number that is known at compile time, or one of the integers passed by the
/// launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopSize {
    /// A known number.
    Fixed(i64),
    /// The integer `launch.ints[slot]`. It is known only at run time.
    Slot(u32),
}

/// A kernel: a fused loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The name, for printed text.
    pub name: String,
    /// The trip counts of the axes. The outermost axis comes first, and a kernel has at least one
    /// axis.
    pub dims: Vec<LoopSize>,
    /// For each buffer slot, how elements are stored.
    pub slots: Vec<Storage>,
    /// The body in evaluation order.
    pub body: Arena<InstId, Inst>,
    /// The outputs.
    pub outputs: Vec<KernelOutput>,
}

impl Kernel {
    /// Returns the strides of all loads, noise and outputs, one list for each.
    pub fn strides(&self) -> impl Iterator<Item = &[LoopSize]> {
        let inside = self.body.iter().filter_map(|inst| inst.op.strides());
        inside.chain(self.outputs.iter().map(|output| output.access.strides.as_slice()))
    }

    /// Changes the strides of all loads, noise and outputs.
    pub fn change_strides(&mut self, change: impl Fn(&mut Vec<LoopSize>)) {
        for id in self.body.ids() {
            self.body[id].op.strides_mut().into_iter().for_each(&change);
        }
        for output in &mut self.outputs {
            change(&mut output.access.strides);
        }
    }
}

/// The address of an element: `buffer[offset + sum strides[i] * index[i] + sum dynamic]`, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer slot.
    pub slot: u32,
    /// The offset of the address, in elements.
    pub offset: LoopSize,
    /// The strides, one per axis of the domain.
    pub strides: Vec<LoopSize>,
    /// Positions that are computed in the body.
    pub dynamic: Vec<Dynamic>,
}

impl Access {
    /// Returns the instructions that compute positions.
    pub fn positions(&self) -> impl Iterator<Item = InstId> + '_ {
        self.dynamic.iter().map(|dynamic| dynamic.index)
    }
}

/// A computed position along one axis of the buffer. It is clamped to `0..limit`, so that every
/// address lies inside the buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    /// The integer instruction that computes the position.
    pub index: InstId,
    /// The distance in elements between two consecutive positions.
    pub stride: LoopSize,
    /// The size of the axis.
    pub limit: LoopSize,
}

/// One instruction. Inside a body, Booleans have the type `Bool`. In memory, they are stored as 0
/// or 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// The operation.
    pub op: InstOp,
    /// The type of the result.
    pub dtype: DType,
}

/// The operation of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum InstOp {
    /// A number.
    Const(f64),
    /// The index of the point along an axis of the domain, as an integer.
    Index(u32),
    /// An element of a buffer. If the type of the result is `Bool`, the result is true if the element is not
    /// zero.
    Load(Access),
    /// A scalar operation. For comparisons and arithmetic, the two operands are both reals or both integers.
    /// The first operand of `Select` is a Boolean.
    Apply(Scalar, Vec<InstId>),
    /// An element of a counter-based stream.
    Noise(Noise),
}

impl InstOp {
    /// Returns every instruction that the operation reads.
    pub fn operands(&self) -> Vec<InstId> {
        match self {
            InstOp::Const(_) | InstOp::Index(_) => Vec::new(),
            InstOp::Load(access) => access.positions().collect(),
            InstOp::Apply(_, operands) => operands.clone(),
            InstOp::Noise(noise) => noise.coordinates.into_iter().chain(noise.shape).collect(),
        }
    }

    /// Returns the address that a load reads, and `None` for another operation.
    pub fn load(&self) -> Option<&Access> {
        match self {
            InstOp::Load(access) => Some(access),
            InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) | InstOp::Noise(_) => None,
        }
    }

    /// Returns the strides of a load or of noise, and `None` for another operation.
    pub fn strides(&self) -> Option<&[LoopSize]> {
        match self {
            InstOp::Load(access) => Some(&access.strides),
            InstOp::Noise(noise) => Some(&noise.strides),
            InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) => None,
        }
    }

    fn strides_mut(&mut self) -> Option<&mut Vec<LoopSize>> {
        match self {
            InstOp::Load(access) => Some(&mut access.strides),
            InstOp::Noise(noise) => Some(&mut noise.strides),
            InstOp::Const(_) | InstOp::Index(_) | InstOp::Apply(..) => None,
        }
    }
}

/// An element of a counter-based stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The distribution.
    pub kind: NoiseKind,
    /// The integer slot that holds the key of the site, `hash(seed, site path)`.
    pub key: LoopSize,
    /// The integer coordinates draw, example and step.
    pub coordinates: [InstId; 3],
    /// The real shape parameter, if the distribution has one.
    pub shape: Option<InstId>,
    /// The offset in the number of the element in the stream, which is
    /// `offset + sum strides[i] * index[i]`.
    pub offset: LoopSize,
    /// The strides, one per axis of the domain.
    pub strides: Vec<LoopSize>,
}

/// A value that the body writes.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelOutput {
    /// The address where the value is stored. Its stride along a reduced axis is 0.
    pub access: Access,
    /// The value.
    pub value: InstId,
    /// The operation that combines the value with the stored value. `None` overwrites the stored
    /// value.
    pub combine: Option<Combine>,
}

impl KernelOutput {
    /// Returns the instructions that the output uses: its value and its computed positions.
    pub fn operands(&self) -> impl Iterator<Item = InstId> + '_ {
        std::iter::once(self.value).chain(self.access.positions())
    }
}

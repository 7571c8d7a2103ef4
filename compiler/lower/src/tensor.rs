//! Tensor expressions for fusion: every graph op as a scalar operation, an index map, a reduction or a call.

use crate::polynomial::SizePolynomial;
use bnnc_abi::plan::{BufferId, Combine};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_math::scalar::Scalar;

bnnc_base::id!(
    /// A tensor-valued expression. Operands have smaller ids.
    TensorId,
    "t"
);

/// All expressions of a function.
pub type Tensors = Arena<TensorId, TensorExpr>;

/// One tensor-valued expression.
#[derive(Clone, Debug)]
pub struct TensorExpr {
    /// The definition.
    pub kind: Kind,
    /// The axes.
    pub dims: Vec<Dim>,
    /// The type of its elements.
    pub dtype: DType,
    /// The label for names in printed text.
    pub label: Option<std::sync::Arc<str>>,
}

/// A position along one axis of an operand: `offset + sum stride * index[axis] + dynamic`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// The number of elements to skip.
    pub offset: SizePolynomial,
    /// The axes of the result, each with its stride.
    pub terms: Vec<(usize, SizePolynomial)>,
    /// A computed position: an integer tensor with the shape of the result.
    pub dynamic: Option<TensorId>,
}

impl Coordinate {
    /// Returns the index along `axis` of the result.
    pub fn axis(axis: usize) -> Coordinate {
        Coordinate {
            terms: vec![(axis, SizePolynomial::fixed(1))],
            ..Coordinate::default()
        }
    }
}

/// The definition of a tensor.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The content of a buffer that is filled before the first step.
    Buffer(BufferId),
    /// The same number in all elements.
    Const(f64),
    /// The index along an axis.
    Index(usize),
    /// Random numbers.
    Noise {
        /// The distribution.
        kind: NoiseKind,
        /// The key of the site.
        key: i64,
        /// The coordinates draw, example and step: integer tensors of the same shape.
        coordinates: [TensorId; 3],
        /// The shape parameters, for distributions that have one: a tensor of the same shape.
        shape: Option<TensorId>,
        /// The strides of the element number, one per axis.
        strides: Vec<SizePolynomial>,
    },
    /// A scalar operation on operands of the same shape.
    Apply(Scalar, Vec<TensorId>),
    /// An index map, with one coordinate per axis of the operand.
    View(TensorId, Vec<Coordinate>),
    /// The same elements in row-major order with another shape, where no index map expresses it.
    Flat(TensorId),
    /// A tensor written by kernels, one per part.
    Assembled {
        /// The parts.
        parts: Vec<Part>,
        /// True if later parts overwrite earlier ones.
        ordered: bool,
    },
    /// A tensor written by a library call.
    Call(Call),
    /// The stacked carries of a loop.
    Loop(Box<Loop>),
}

/// A kernel's contribution to an assembled tensor: the destination of the element at every point of the
/// operand.
#[derive(Clone, Debug)]
pub struct Part {
    /// The operand, whose axes are the domain.
    pub value: TensorId,
    /// One coordinate per axis of the result, over the operand's axes.
    pub to: Vec<Coordinate>,
    /// The combination with stored elements; `None` overwrites them.
    pub combine: Option<Combine>,
}

/// A library call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The primitive.
    pub primitive: bnnc_abi::primitive::Primitive,
    /// The operands.
    pub args: Vec<TensorId>,
    /// The integers. Those of a matrix product are computed from the strides of its operands.
    pub ints: CallInts,
}

/// The integers of a call.
#[derive(Clone, Debug)]
pub enum CallInts {
    /// These integers.
    Given(Vec<SizePolynomial>),
    /// The integers of a contraction with these letters for the operands and the result.
    Contraction(crate::contract::Letters),
}

/// A first-order recurrence.
#[derive(Clone, Debug)]
pub struct Loop {
    /// All operands, in the order of the op.
    pub args: Vec<TensorId>,
    /// The body of the op.
    pub body: std::sync::Arc<bnnc_graph::function::Function>,
    /// The number of iterations.
    pub count: Dim,
    /// The number of operands that are sliced, after the first, which is the initial carry. The other
    /// operands are the same in all iterations.
    pub sliced: usize,
}

impl TensorExpr {
    /// Returns the direct operands.
    pub fn operands(&self) -> Vec<TensorId> {
        let dynamic = |to: &[Coordinate]| to.iter().filter_map(|c| c.dynamic).collect::<Vec<_>>();
        match &self.kind {
            Kind::Buffer(_) | Kind::Const(_) | Kind::Index(_) => Vec::new(),
            Kind::Noise {
                coordinates, shape, ..
            } => coordinates.iter().chain(shape).copied().collect(),
            Kind::Apply(_, args) => args.clone(),
            Kind::View(arg, at) => [vec![*arg], dynamic(at)].concat(),
            Kind::Flat(arg) => vec![*arg],
            Kind::Assembled { parts, .. } => parts
                .iter()
                .flat_map(|p| [vec![p.value], dynamic(&p.to)].concat())
                .collect(),
            Kind::Call(call) => call.args.clone(),
            Kind::Loop(looped) => looped.args.clone(),
        }
    }
}

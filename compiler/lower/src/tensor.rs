//! What fusion works on: every graph op as a scalar operation, an index map, a reduction, or a call.

use crate::polynomial::SizePolynomial;
use bnnc_abi::plan::{BufferId, Combine};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_math::scalar::Scalar;

bnnc_base::id!(
    /// A tensor-valued expression; operands have smaller ids.
    TensorId,
    "t"
);

/// All expressions of a function.
pub type Tensors = Arena<TensorId, TensorExpr>;

/// One tensor-valued expression.
#[derive(Clone, Debug)]
pub struct TensorExpr {
    /// What makes it.
    pub kind: Kind,
    /// Its axes.
    pub dims: Vec<Dim>,
    /// What its elements are.
    pub dtype: DType,
    /// For people.
    pub label: Option<std::sync::Arc<str>>,
}

/// A position along one axis of an operand: `offset + sum stride * index[axis] + dynamic`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// Elements to skip.
    pub offset: SizePolynomial,
    /// Axes of the result and their strides.
    pub terms: Vec<(usize, SizePolynomial)>,
    /// A computed position: an integer tensor of the result's shape.
    pub dynamic: Option<TensorId>,
}

impl Coordinate {
    /// The index along `axis` of the result.
    pub fn axis(axis: usize) -> Coordinate {
        Coordinate {
            terms: vec![(axis, SizePolynomial::fixed(1))],
            ..Coordinate::default()
        }
    }
}

/// What makes a tensor.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The content of a buffer that exists before any step.
    Buffer(BufferId),
    /// The same number everywhere.
    Const(f64),
    /// The index along an axis.
    Index(usize),
    /// Random numbers.
    Noise {
        /// Their law.
        kind: NoiseKind,
        /// The site's key.
        key: i64,
        /// Draw, example, step: integer tensors of the same shape.
        coordinates: [TensorId; 3],
        /// The shapes of their law, where it has any: of the same shape too.
        shape: Option<TensorId>,
        /// The number of an element: one stride per axis.
        strides: Vec<SizePolynomial>,
    },
    /// A scalar operation on operands of the same shape.
    Apply(Scalar, Vec<TensorId>),
    /// An index map: one coordinate per axis of the operand.
    View(TensorId, Vec<Coordinate>),
    /// The same elements in row-major order under another shape, where no index map can say so.
    Flat(TensorId),
    /// Written by kernels, one per part.
    Assembled {
        /// The parts.
        parts: Vec<Part>,
        /// Whether later parts overwrite earlier ones.
        ordered: bool,
    },
    /// Written by a call of the library.
    Call(Call),
    /// The stacked carries of a loop.
    Loop(Box<Loop>),
}

/// A kernel's contribution to an assembled tensor: for every point of the operand, where its element goes.
#[derive(Clone, Debug)]
pub struct Part {
    /// The operand, whose axes are the domain.
    pub value: TensorId,
    /// One coordinate per axis of the result, over the operand's axes.
    pub to: Vec<Coordinate>,
    /// How elements combine; `None` stores.
    pub combine: Option<Combine>,
}

/// A library call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The primitive's name in the registry of primitives.
    pub primitive: bnnc_abi::primitive::Primitive,
    /// The operands.
    pub args: Vec<TensorId>,
    /// The integers; those of a matrix product are computed from the strides of its operands.
    pub ints: CallInts,
}

/// The integers of a call.
#[derive(Clone, Debug)]
pub enum CallInts {
    /// These.
    Given(Vec<SizePolynomial>),
    /// Those of a contraction with these letters for the operands and the result.
    Contraction(crate::contract::Letters),
}

/// A first-order recurrence.
#[derive(Clone, Debug)]
pub struct Loop {
    /// All operands, in the op's order.
    pub args: Vec<TensorId>,
    /// The op's body.
    pub body: std::sync::Arc<bnnc_graph::function::Function>,
    /// The number of iterations.
    pub count: Dim,
    /// How many operands after the first, which is carried, are sliced; the others are the same in all iterations.
    pub sliced: usize,
}

impl TensorExpr {
    /// The direct operands.
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

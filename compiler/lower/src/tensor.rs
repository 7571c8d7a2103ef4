//! Tensor expressions for fusion. Every graph op becomes a scalar operation, an index map, a
//! reduction or a call.

use crate::polynomial::SizePolynomial;
use bnnc_abi::plan::{BufferId, Combine};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_graph::labels::ContractionLabels;
use bnnc_math::scalar::Scalar;

bnnc_base::id!(
    /// The id of a tensor expression. Operands have smaller ids than the expression.
    TensorId,
    "t"
);

/// All tensor expressions of a function.
pub type Tensors = Arena<TensorId, TensorExpr>;

/// One tensor-valued expression.
#[derive(Clone, Debug)]
pub struct TensorExpr {
    /// The definition.
    pub kind: TensorDef,
    /// The axes.
    pub dims: Vec<Dim>,
    /// The type of the elements.
    pub dtype: DType,
    /// The label of the tensor. The names in printed text are made from it.
    pub label: Option<std::sync::Arc<str>>,
}

/// A position along one axis of an operand: `offset + sum stride * index[axis] + dynamic`. `index`
/// is a point of the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// The offset of the position.
    pub offset: SizePolynomial,
    /// The axes of the result on which the position depends, each with its stride.
    pub terms: Vec<(usize, SizePolynomial)>,
    /// A computed position, as an integer tensor with the shape of the result.
    pub dynamic: Option<TensorId>,
}

impl Coordinate {
    /// Returns the coordinate that equals the index along `axis` of the result.
    pub fn axis(axis: usize) -> Coordinate {
        Coordinate {
            terms: vec![(axis, SizePolynomial::fixed(1))],
            ..Coordinate::default()
        }
    }

    /// Returns the coordinates that equal the indices along these axes of the result.
    pub fn axes(axes: std::ops::Range<usize>) -> Vec<Coordinate> {
        axes.map(Coordinate::axis).collect()
    }

    /// Returns the positions `start, start + stride, ..` along an axis.
    pub fn strided(axis: usize, start: i64, stride: i64) -> Coordinate {
        Coordinate {
            offset: SizePolynomial::fixed(start),
            terms: vec![(axis, SizePolynomial::fixed(stride))],
            dynamic: None,
        }
    }

    /// Returns the positions that an integer tensor holds.
    pub fn computed(positions: TensorId) -> Coordinate {
        Coordinate {
            dynamic: Some(positions),
            ..Coordinate::default()
        }
    }
}

/// The definition of a tensor.
#[derive(Clone, Debug)]
pub enum TensorDef {
    /// The content of a buffer that is filled before the first step.
    Buffer(BufferId),
    /// A tensor whose elements are all this number.
    Const(f64),
    /// A tensor whose elements are their own indices along this axis.
    Index(usize),
    /// A tensor of random numbers.
    Noise {
        /// The distribution.
        kind: NoiseKind,
        /// The key of the site.
        key: i64,
        /// The coordinates draw, example and step. They are integer tensors with the same shape.
        coordinates: [TensorId; 3],
        /// The shape parameters of the distribution, as a tensor with the shape of the coordinates.
        /// `None` if the distribution does not have such parameters.
        shape: Option<TensorId>,
        /// The strides, one per axis, by which elements are numbered in the stream.
        strides: Vec<SizePolynomial>,
    },
    /// A scalar operation on operands with equal shapes.
    Apply(Scalar, Vec<TensorId>),
    /// An index map, with one coordinate for each axis of the operand.
    View(TensorId, Vec<Coordinate>),
    /// The elements of a tensor in row-major order, with another shape. Used only if the change of
    /// shape is not an index map.
    Flat(TensorId),
    /// A tensor that kernels write. Each kernel writes one part.
    Assembled {
        /// The parts.
        parts: Vec<AssembledPart>,
        /// True if later parts overwrite earlier ones.
        ordered: bool,
    },
    /// A tensor that a library call writes.
    Call(LibraryCall),
    /// The stacked carries of a loop. The first axis is the iteration.
    Loop(Box<Loop>),
}

/// The part of an assembled tensor that one kernel writes. Each point of the operand gives one
/// element, and `to` gives the position of this element.
#[derive(Clone, Debug)]
pub struct AssembledPart {
    /// The operand. The axes of the operand are the domain.
    pub value: TensorId,
    /// One coordinate for each axis of the result. Each coordinate is a function of the operand's axes.
    pub to: Vec<Coordinate>,
    /// The operation that combines elements with stored elements. `None` overwrites the stored
    /// elements.
    pub combine: Option<Combine>,
}

/// A library call.
#[derive(Clone, Debug)]
pub struct LibraryCall {
    /// The primitive.
    pub primitive: bnnc_abi::primitive::Primitive,
    /// The operands.
    pub args: Vec<TensorId>,
    /// The integers. For a matrix product, they are computed from the strides of its operands.
    pub ints: CallInts,
}

/// The integers that are passed to a call.
#[derive(Clone, Debug)]
pub enum CallInts {
    /// The integers are given.
    Given(Vec<SizePolynomial>),
    /// The integers for a contraction with these letters. They are computed from the strides of the
    /// operands and of the result.
    Contraction(ContractionLabels),
    /// Like [`CallInts::Contraction`], but the call reads its operands through their index maps.
    Views(ContractionLabels),
}

/// A first-order recurrence, computed by a loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// All operands, in the order of the op.
    pub args: Vec<TensorId>,
    /// The body of the op.
    pub body: std::sync::Arc<bnnc_graph::function::Function>,
    /// The number of iterations.
    pub count: Dim,
    /// The number of operands of which each iteration reads one slice. They follow the first
    /// operand, the initial carry, which is not counted. All other operands are the same in all
    /// iterations.
    pub sliced: usize,
}

impl TensorExpr {
    /// If a call of a contraction computes the tensor, returns the labels and the operands.
    pub fn contraction(&self) -> Option<(&ContractionLabels, [TensorId; 2])> {
        match &self.kind {
            TensorDef::Call(LibraryCall {
                args,
                ints: CallInts::Contraction(labels) | CallInts::Views(labels),
                ..
            }) => Some((labels, [args[0], args[1]])),
            _ => None,
        }
    }

    /// Returns the direct operands.
    pub fn operands(&self) -> Vec<TensorId> {
        let dynamic = |to: &[Coordinate]| to.iter().filter_map(|c| c.dynamic).collect::<Vec<_>>();
        match &self.kind {
            TensorDef::Buffer(_) | TensorDef::Const(_) | TensorDef::Index(_) => Vec::new(),
            TensorDef::Noise {
                coordinates, shape, ..
            } => coordinates.iter().chain(shape).copied().collect(),
            TensorDef::Apply(_, args) => args.clone(),
            TensorDef::View(arg, at) => [vec![*arg], dynamic(at)].concat(),
            TensorDef::Flat(arg) => vec![*arg],
            TensorDef::Assembled { parts, .. } => parts
                .iter()
                .flat_map(|p| [vec![p.value], dynamic(&p.to)].concat())
                .collect(),
            TensorDef::Call(call) => call.args.clone(),
            TensorDef::Loop(looped) => looped.args.clone(),
        }
    }
}

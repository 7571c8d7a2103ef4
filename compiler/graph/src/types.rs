//! The type of a graph value: element type and shape.

use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use std::fmt;

/// Element type and shape. There is no implicit broadcast: elementwise operands have equal types of shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// What one element is.
    pub dtype: DType,
    /// The axes.
    pub shape: Shape,
}

impl Type {
    /// A type.
    pub fn new(dtype: DType, shape: Shape) -> Type {
        Type { dtype, shape }
    }

    /// A tensor of reals.
    pub fn real(shape: Shape) -> Type {
        Type::new(DType::Real, shape)
    }

    /// A tensor of integers.
    pub fn int(shape: Shape) -> Type {
        Type::new(DType::Int, shape)
    }

    /// A single real.
    pub fn scalar() -> Type {
        Type::real(Shape::scalar())
    }

    /// The axes.
    pub fn dims(&self) -> &[Dim] {
        self.shape.dims()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// This type with another shape.
    pub fn with_shape(&self, shape: Shape) -> Type {
        Type::new(self.dtype, shape)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

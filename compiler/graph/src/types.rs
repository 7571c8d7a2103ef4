//! The type of a graph value: element type and shape.

use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use std::fmt;

/// An element type and a shape. Operands are never broadcast implicitly, so the operands of an elementwise
/// op have equal shapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub dtype: DType,
    /// The axes.
    pub shape: Shape,
}

impl Type {
    /// Creates a type.
    pub fn new(dtype: DType, shape: Shape) -> Type {
        Type { dtype, shape }
    }

    /// Creates the type of a tensor of reals.
    pub fn real(shape: Shape) -> Type {
        Type::new(DType::Real, shape)
    }

    /// Creates the type of a tensor of integers.
    pub fn int(shape: Shape) -> Type {
        Type::new(DType::Int, shape)
    }

    /// Creates the type of a real scalar.
    pub fn scalar() -> Type {
        Type::real(Shape::scalar())
    }

    /// Returns the axes.
    pub fn dims(&self) -> &[Dim] {
        self.shape.dims()
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Returns this type with another shape.
    pub fn with_shape(&self, shape: Shape) -> Type {
        Type::new(self.dtype, shape)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

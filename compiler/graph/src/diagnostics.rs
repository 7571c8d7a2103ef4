//! The errors of this crate.

use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use std::fmt;

/// The reason why operands and attributes do not fit an op. The reason is one sentence. It begins
/// with the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// A wrong number of operands, attributes, arguments or elements.
    Count {
        /// The text after "expected". It includes the expected number, such as "`f` to take 2 arguments".
        expected: String,
        /// The actual number.
        found: usize,
    },
    /// An operand with a wrong element type.
    DType {
        /// The position of the operand.
        operand: usize,
        /// The element types that the op accepts.
        allowed: Vec<DType>,
        /// The type of the operand.
        found: Type,
    },
    /// An operand with too few axes.
    Rank {
        /// The position of the operand.
        operand: usize,
        /// The smallest number of axes that the op accepts.
        least: usize,
        /// The type of the operand.
        found: Type,
    },
    /// Two operands whose shapes differ.
    Shapes(Shape, Shape),
    /// An axis that does not exist.
    Axis {
        /// The number of axes.
        rank: usize,
        /// The axis that was given.
        found: i64,
    },
    /// An axis whose size is not static, although a static size is needed there.
    Symbolic {
        /// The role of the axis in the op.
        axis: &'static str,
        /// The symbolic size of the axis.
        found: Dim,
    },
    /// An operand, an argument or a result of a wrong type.
    Type {
        /// The text after "expected". It includes the expected type, such as `argument 1 of f to be real[3]`.
        expected: String,
        /// The actual type.
        found: Type,
    },
    /// Attributes that break another rule of the op or do not fit the operands. The text follows "expected".
    Rule(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        match self {
            CallError::Count { expected, found } => write!(f, "{expected}, found {found}"),
            CallError::DType {
                operand,
                allowed,
                found,
            } => {
                let names: Vec<String> = allowed.iter().map(DType::to_string).collect();
                let names = names.join(" or ");
                write!(f, "operand {} to be {names}, found {found}", operand + 1)
            }
            CallError::Rank {
                operand,
                least,
                found,
            } => {
                let operand = operand + 1;
                write!(
                    f,
                    "operand {operand} to have at least {least} axes, found {found}"
                )
            }
            CallError::Shapes(first, other) => {
                write!(f, "operands of equal shape, found {first} and {other}")
            }
            CallError::Axis { rank, found } => write!(f, "an axis below {rank}, found {found}"),
            CallError::Symbolic { axis, found } => {
                write!(f, "{axis} to be a static axis, found `{found}`")
            }
            CallError::Type { expected, found } => write!(f, "{expected}, found {found}"),
            CallError::Rule(rule) => f.write_str(rule),
        }
    }
}

impl std::error::Error for CallError {}

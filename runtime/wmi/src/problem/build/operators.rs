//! The table of operators for all notations.

use super::super::diagnostics::Flaw;
use super::super::tree::{Position, Tree};

/// An operator. An operator can have several names, in the same notation or in different notations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Negate,
    Multiply,
    Divide,
    Power,
    Relu,
    Absolute,
    Largest,
    Smallest,
    Choose,
    And,
    Or,
    Not,
    Implies,
    Same,
    Different,
    Equal,
    Distinct,
    AtMost,
    Below,
    AtLeast,
    Above,
    Boolean,
    Constant,
    Variable,
    Itself,
    Let,
}

/// The names of all operators in all notations.
pub(super) const OPERATORS: &[(&str, Operator)] = &[
    ("+", Operator::Add),
    ("-", Operator::Subtract),
    ("neg", Operator::Negate),
    ("*", Operator::Multiply),
    ("/", Operator::Divide),
    ("^", Operator::Power),
    ("pow", Operator::Power),
    ("relu", Operator::Relu),
    ("abs", Operator::Absolute),
    ("max", Operator::Largest),
    ("min", Operator::Smallest),
    ("ite", Operator::Choose),
    ("and", Operator::And),
    ("&", Operator::And),
    ("or", Operator::Or),
    ("|", Operator::Or),
    ("not", Operator::Not),
    ("~", Operator::Not),
    ("=>", Operator::Implies),
    ("->", Operator::Implies),
    ("iff", Operator::Same),
    ("<->", Operator::Same),
    ("xor", Operator::Different),
    ("distinct", Operator::Distinct),
    ("=", Operator::Equal),
    ("<=", Operator::AtMost),
    ("<", Operator::Below),
    (">=", Operator::AtLeast),
    (">", Operator::Above),
    ("b", Operator::Boolean),
    ("const", Operator::Constant),
    ("var", Operator::Variable),
    ("to_real", Operator::Itself),
    ("let", Operator::Let),
];

/// An operator with its arguments, as parsed.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// The name of the operator, as it is written in the text.
    pub name: &'a str,
    /// The position of the operator in the text.
    pub at: Position,
    /// The arguments of the operator.
    pub arguments: &'a [Tree],
}

impl Call<'_> {
    /// Creates the error for a wrong number of arguments.
    pub(super) fn wants(&self, what: &str) -> Flaw {
        let text = format!(
            "`{}` takes {what}, found {} arguments",
            self.name,
            self.arguments.len()
        );
        Flaw::problem(self.at, text)
    }
}

//! The sums of a model that are linear in parameters, with the columns that the parameters multiply.

use bnnc_math::scalar::Scalar;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The linear part of a model: `a + b * x + c * x * z` has the columns 1, `x` and `x * z`.
///
/// Every use of a parameter that stands here is in one of the sums, so that values of the parameters with the same sums have the same likelihood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The names of the coefficients: parameters, or elements of parameters.
    pub coefficients: Vec<String>,
    /// The inputs and outputs that columns are computed from, by the names of their ports.
    pub ports: Vec<String>,
    /// The sums, one for each row.
    pub sums: Vec<LinearSum>,
}

/// A sum of coefficients times columns, beside other terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearSum {
    /// The terms; each coefficient occurs once.
    pub terms: Vec<LinearTerm>,
}

/// A coefficient and its column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearTerm {
    /// The position of the coefficient in [`Design::coefficients`].
    pub coefficient: usize,
    /// The values that multiply it.
    pub column: ColumnFormula,
}

/// A number that is computed from the data of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ColumnFormula {
    /// A constant.
    Number(f64),
    /// An element of a port.
    Element {
        /// The position of the port in [`Design::ports`].
        port: usize,
        /// The position of the element in a row.
        at: usize,
    },
    /// A function of other numbers.
    Apply(
        #[serde(serialize_with = "write_scalar", deserialize_with = "read_scalar")] Scalar,
        Vec<ColumnFormula>,
    ),
}

impl ColumnFormula {
    /// The product with another formula.
    #[must_use]
    pub fn times(self, other: ColumnFormula) -> ColumnFormula {
        match (self, other) {
            (ColumnFormula::Number(1.0), formula) | (formula, ColumnFormula::Number(1.0)) => formula,
            (one, other) => ColumnFormula::Apply(Scalar::Mul, vec![one, other]),
        }
    }

    /// Its value where `element` returns the elements of ports.
    pub fn value(&self, element: &dyn Fn(usize, usize) -> f64) -> f64 {
        match self {
            ColumnFormula::Number(number) => *number,
            ColumnFormula::Element { port, at } => element(*port, *at),
            ColumnFormula::Apply(scalar, args) => {
                let args: Vec<f64> = args.iter().map(|arg| arg.value(element)).collect();
                scalar.eval(&args)
            }
        }
    }

    /// Returns whether the data do not change its value.
    pub fn is_constant(&self) -> bool {
        match self {
            ColumnFormula::Number(_) => true,
            ColumnFormula::Element { .. } => false,
            ColumnFormula::Apply(_, args) => args.iter().all(ColumnFormula::is_constant),
        }
    }

    /// Its text as the language writes it, where `name` returns the names of elements.
    pub fn text(&self, name: &dyn Fn(usize, usize) -> String) -> String {
        let infix = |scalar: &Scalar| match scalar {
            Scalar::Add => Some("+"),
            Scalar::Sub => Some("-"),
            Scalar::Mul => Some("*"),
            Scalar::Div => Some("/"),
            Scalar::Pow => Some("^"),
            _ => None,
        };
        let part = |formula: &ColumnFormula| match formula {
            ColumnFormula::Apply(scalar, _) if infix(scalar).is_some() && *scalar != Scalar::Mul => {
                format!("({})", formula.text(name))
            }
            _ => formula.text(name),
        };
        match self {
            ColumnFormula::Number(number) => number.to_string(),
            ColumnFormula::Element { port, at } => name(*port, *at),
            ColumnFormula::Apply(scalar, args) => match (infix(scalar), &args[..]) {
                (Some(sign), [left, right]) => format!("{} {sign} {}", part(left), part(right)),
                _ => {
                    let args: Vec<String> = args.iter().map(|arg| arg.text(name)).collect();
                    format!("{}({})", scalar.name(), args.join(", "))
                }
            },
        }
    }
}

fn write_scalar<S: Serializer>(scalar: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scalar.name())
}

fn read_scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
    let name = String::deserialize(deserializer)?;
    Scalar::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown operation `{name}`")))
}

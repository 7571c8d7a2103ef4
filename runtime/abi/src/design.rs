//! The part of a model that is linear in parameters. It consists of sums of terms, and each term is
//! a parameter multiplied by a column of the data.

use bnnc_math::scalar::Scalar;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The linear part of a model. For example, `a + b * x + c * x * z` has the columns 1, `x` and
/// `x * z`.
///
/// The model uses these parameters only in these sums. Therefore, parameter values that give the
/// same sums give the same likelihood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The names of the coefficients: parameters, or elements of parameters.
    pub coefficients: Vec<String>,
    /// The names of the ports from which columns are computed: inputs and outputs of the model.
    pub ports: Vec<String>,
    /// The sums, one for each row.
    pub sums: Vec<LinearSum>,
}

/// A sum of terms, each a coefficient times a column. The expression in the model may contain
/// further terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearSum {
    /// The terms; each coefficient occurs once.
    pub terms: Vec<LinearTerm>,
    /// The link, if the sum is a linear predictor. The distribution of an output depends on a linear predictor through scalar
    /// functions without further parameters. `None` for the sums in the hidden layers of a network.
    pub link: Option<PredictorLink>,
}

impl LinearSum {
    /// Returns whether the sum is a linear predictor.
    pub fn is_predictor(&self) -> bool {
        self.link.is_some()
    }
}

/// The scale on which a linear predictor is additive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PredictorLink {
    /// The scale of the output, as in `Normal(f, sigma)`.
    Identity,
    /// The scale of the logarithm of the output, as in `LogNormal(f, sigma)` or `Gamma(k, k / exp(f))`.
    Log,
    /// The scale of the logits of a categorical distribution. The sum stands for one sum per class: all have the same columns, and each has
    /// coefficients of its own. Adding the same number to all of them leaves the likelihood unchanged.
    Classes,
    /// Another scale, or an unknown one.
    Other,
}

/// A coefficient and its column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearTerm {
    /// The position of the coefficient in [`Design::coefficients`].
    pub coefficient: usize,
    /// The column: the values that multiply the coefficient.
    pub column: ColumnFormula,
    /// If the data select one element of the parameter in each row, the position of this element along the axis of the selection. -1 in all
    /// rows if the position does not have a formula.
    pub selection: Option<ColumnFormula>,
}

/// A formula for a number that is computed from the data of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ColumnFormula {
    /// A constant: the same number for every row.
    Number(f64),
    /// An element of a port.
    Element {
        /// The position of the port in [`Design::ports`].
        port: usize,
        /// The position of the element among the elements of one row of the port.
        at: usize,
    },
    /// A scalar function whose arguments are other formulas.
    Apply(
        #[serde(serialize_with = "write_scalar", deserialize_with = "read_scalar")] Scalar,
        Vec<ColumnFormula>,
    ),
}

impl ColumnFormula {
    /// Returns the product with another formula.
    #[must_use]
    pub fn times(self, other: ColumnFormula) -> ColumnFormula {
        match (self, other) {
            (ColumnFormula::Number(1.0), formula) | (formula, ColumnFormula::Number(1.0)) => formula,
            (one, other) => ColumnFormula::Apply(Scalar::Mul, vec![one, other]),
        }
    }

    /// Returns the value of the formula. `element(port, at)` returns element `at` of the port with
    /// index `port`.
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

    /// Returns whether the value of the formula is independent of the data.
    pub fn is_constant(&self) -> bool {
        match self {
            ColumnFormula::Number(_) => true,
            ColumnFormula::Element { .. } => false,
            ColumnFormula::Apply(_, args) => args.iter().all(ColumnFormula::is_constant),
        }
    }

    /// Returns the formula in the syntax of the language. `name(port, at)` returns the name of
    /// element `at` of the port with index `port`.
    pub fn text(&self, name: &dyn Fn(usize, usize) -> String) -> String {
        self.leveled(name).0
    }

    /// Returns the text of the formula. The text is put in parentheses if its outermost operator
    /// binds less tightly than `level`.
    fn text_at(&self, level: u8, name: &dyn Fn(usize, usize) -> String) -> String {
        match self.leveled(name) {
            (text, own) if own < level => format!("({text})"),
            (text, _) => text,
        }
    }

    /// Returns the text of the formula and the precedence level of its outermost operator.
    fn leveled(&self, name: &dyn Fn(usize, usize) -> String) -> (String, u8) {
        let (scalar, args) = match self {
            ColumnFormula::Number(number) if *number < 0.0 => return (number.to_string(), SUM),
            ColumnFormula::Number(number) => return (number.to_string(), ATOM),
            ColumnFormula::Element { port, at } => return (name(*port, *at), ATOM),
            ColumnFormula::Apply(scalar, args) => (*scalar, &args[..]),
        };
        let quotient = quotient(scalar, args).and_then(|operands| infix(Scalar::Div, operands, name));
        if let Some(text) = quotient {
            return text;
        }
        match (scalar, args) {
            (Scalar::Neg, [operand]) => (format!("-{}", operand.text_at(PRODUCT, name)), SUM),
            (Scalar::Not, [operand]) => (format!("!{}", operand.text_at(ATOM, name)), ATOM),
            // These conversions are not written, because the language converts numbers and Booleans
            // implicitly.
            (Scalar::ToReal | Scalar::ToInt, [operand]) => operand.leveled(name),
            (Scalar::Select, [condition, yes, no]) => {
                let [condition, yes, no] = [condition, yes, no].map(|part| part.text(name));
                (format!("if {condition} {{ {yes} }} else {{ {no} }}"), CHOICE)
            }
            (_, [left, right]) => {
                infix(scalar, [left, right], name).unwrap_or_else(|| (call(scalar, args, name), ATOM))
            }
            _ => (call(scalar, args, name), ATOM),
        }
    }
}

/// Returns the dividend and the divisor of a quotient, which is stored as a product with a
/// reciprocal.
fn quotient(scalar: Scalar, args: &[ColumnFormula]) -> Option<[&ColumnFormula; 2]> {
    let (Scalar::Mul, [first, second]) = (scalar, args) else {
        return None;
    };
    [(first, second), (second, first)]
        .into_iter()
        .find_map(|(dividend, inverse)| match inverse {
            ColumnFormula::Apply(Scalar::Div, parts) => match &parts[..] {
                [ColumnFormula::Number(1.0), divisor] => Some([dividend, divisor]),
                _ => None,
            },
            _ => None,
        })
}

/// The precedence levels that operators have in the grammar of the language. A higher level binds more tightly.
const CHOICE: u8 = 0;
const EITHER: u8 = 1;
const BOTH: u8 = 2;
const COMPARISON: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const POWER: u8 = 6;
const ATOM: u8 = 7;

/// Returns the text of an operator between two operands, and the precedence level of the operator;
/// `None` if the operation is not an infix operator.
fn infix(
    scalar: Scalar,
    [left, right]: [&ColumnFormula; 2],
    name: &dyn Fn(usize, usize) -> String,
) -> Option<(String, u8)> {
    let (sign, level) = match scalar {
        Scalar::Or => ("||", EITHER),
        Scalar::And => ("&&", BOTH),
        Scalar::Eq => ("==", COMPARISON),
        Scalar::Lt => ("<", COMPARISON),
        Scalar::Le => ("<=", COMPARISON),
        Scalar::Add => ("+", SUM),
        Scalar::Sub => ("-", SUM),
        Scalar::Mul => ("*", PRODUCT),
        Scalar::Div => ("/", PRODUCT),
        Scalar::Pow => ("^", POWER),
        _ => return None,
    };
    let before = level + u8::from(matches!(level, COMPARISON | POWER));
    // For these operators, an operand on the right with the same level does not need parentheses:
    // `a + (b - c)`, `a * (b / c)`.
    let is_associative = matches!(scalar, Scalar::Or | Scalar::And | Scalar::Add | Scalar::Mul);
    let after = level + u8::from(!is_associative);
    let (left, right) = (left.text_at(before, name), right.text_at(after, name));
    Some((format!("{left} {sign} {right}"), level))
}

/// Returns the text of a function call.
fn call(scalar: Scalar, args: &[ColumnFormula], name: &dyn Fn(usize, usize) -> String) -> String {
    let args: Vec<String> = args.iter().map(|arg| arg.text(name)).collect();
    format!("{}({})", scalar.name(), args.join(", "))
}

fn write_scalar<S: Serializer>(scalar: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scalar.name())
}

fn read_scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
    let name = String::deserialize(deserializer)?;
    Scalar::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown operation `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(port: usize) -> ColumnFormula {
        ColumnFormula::Element { port, at: 0 }
    }

    fn number(number: f64) -> ColumnFormula {
        ColumnFormula::Number(number)
    }

    fn of(scalar: Scalar, args: impl IntoIterator<Item = ColumnFormula>) -> ColumnFormula {
        ColumnFormula::Apply(scalar, args.into_iter().collect())
    }

    fn text(formula: &ColumnFormula) -> String {
        formula.text(&|port, _| ["x", "h", "a", "b"][port].to_owned())
    }

    #[test]
    fn texts_have_parentheses_where_precedence_needs_them() {
        let [x, h, a, b] = [0, 1, 2, 3].map(port);
        let pair =
            |scalar, one: &ColumnFormula, other: &ColumnFormula| of(scalar, [one.clone(), other.clone()]);
        let square = pair(Scalar::Mul, &h, &h);
        let inverse = pair(Scalar::Div, &number(1.0), &square);
        let product = pair(Scalar::Mul, &a, &b);
        let (sum, difference) = (pair(Scalar::Add, &a, &b), pair(Scalar::Sub, &a, &b));
        let is_less = pair(Scalar::Lt, &a, &b);
        let negative = of(Scalar::Neg, [sum.clone()]);
        let cases = [
            (pair(Scalar::Mul, &x, &inverse), "x / (h * h)"),
            (pair(Scalar::Mul, &inverse, &x), "x / (h * h)"),
            (inverse.clone(), "1 / (h * h)"),
            (pair(Scalar::Pow, &product, &number(2.0)), "(a * b) ^ 2"),
            (pair(Scalar::Pow, &number(-2.0), &x), "(-2) ^ x"),
            (pair(Scalar::Mul, &x, &sum), "x * (a + b)"),
            (pair(Scalar::Add, &x, &product), "x + a * b"),
            (pair(Scalar::Sub, &x, &difference), "x - (a - b)"),
            (pair(Scalar::Sub, &difference, &x), "a - b - x"),
            (negative.clone(), "-(a + b)"),
            (pair(Scalar::Sub, &x, &negative), "x - (-(a + b))"),
            (of(Scalar::ToReal, [is_less.clone()]), "a < b"),
            (
                pair(Scalar::Mul, &x, &of(Scalar::ToReal, [is_less.clone()])),
                "x * (a < b)",
            ),
            (of(Scalar::Not, [is_less.clone()]), "!(a < b)"),
            (pair(Scalar::Le, &sum, &x), "a + b <= x"),
            (
                of(Scalar::Select, [is_less, x.clone(), number(0.0)]),
                "if a < b { x } else { 0 }",
            ),
            (of(Scalar::Exp, [sum]), "exp(a + b)"),
            (pair(Scalar::Max, &x, &product), "max(x, a * b)"),
        ];
        for (formula, expected) in cases {
            assert_eq!(text(&formula), expected);
        }
    }
}

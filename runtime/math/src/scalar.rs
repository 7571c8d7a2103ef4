//! The scalar operations that every backend implements. The set of operations is closed. The record of
//! an operation has its operands, its types, its reference value, and whether generated code calls it.

use crate::{gamma, special};

/// The types of the operands and of the result of a scalar operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarTypes {
    /// Maps a Boolean and two values of one type to a value of this type.
    Choice,
    /// Maps numbers of one type to a Boolean.
    Comparison,
    /// Maps Booleans to a Boolean.
    Logic,
    /// Maps numbers of one type, real or integer, to a number of this type.
    Numbers,
    /// Maps real numbers to a real number.
    Reals,
    /// Converts a value of any type to an integer.
    ToInt,
    /// Converts a value of any type to a real number.
    ToReal,
}

/// How generated code performs a scalar operation.
#[derive(PartialEq, Eq)]
enum ScalarCode {
    /// By a call of a function.
    Call,
    /// By instructions of the processor.
    Inline,
}

/// A function that is generic over a scalar operation, so that it is compiled for each operation.
pub trait ScalarVisitor {
    /// The result of the function.
    type Output;

    /// Computes the result for the operation with the index `AT` in [`Scalar::ALL`].
    fn visit<const AT: usize>(self) -> Self::Output;
}

macro_rules! scalars {
    ($($(#[$meta:meta])* $variant:ident $name:literal ($($x:ident),*) $types:ident $code:ident => $value:expr;)*) => {
        /// A scalar operation. Only the two backends match on operations. These matches do not have a
        /// wildcard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scalar { $($(#[$meta])* $variant,)* }

        impl Scalar {
            /// All operations, in the order of their declaration.
            pub const ALL: &'static [Scalar] = &[$(Scalar::$variant,)*];

            /// Returns the operation's name in the text of the intermediate representation.
            pub const fn name(self) -> &'static str {
                match self { $(Scalar::$variant => $name,)* }
            }

            /// Returns the number of operands.
            pub const fn arity(self) -> usize {
                match self { $(Scalar::$variant => [$(stringify!($x)),*].len(),)* }
            }

            /// Returns the types of the operands and of the result.
            pub const fn types(self) -> ScalarTypes {
                match self { $(Scalar::$variant => ScalarTypes::$types,)* }
            }

            const fn code(self) -> ScalarCode {
                match self { $(Scalar::$variant => ScalarCode::$code,)* }
            }

            /// Returns the reference value of the operation, computed in `f64`. Booleans are represented by
            /// 0 and 1. Operands after the first [`Scalar::arity`] are ignored.
            ///
            /// # Panics
            /// If there are too few operands.
            #[inline]
            pub fn eval(self, operands: &[f64]) -> f64 {
                match (self, operands) {
                    $((Scalar::$variant, &[$($x,)* ..]) => $value,)*
                    (scalar, _) => panic!("`{}` takes {} operands", scalar.name(), scalar.arity()),
                }
            }

            /// Calls a generic function for this operation.
            pub fn visit<V: ScalarVisitor>(self, visitor: V) -> V::Output {
                match self { $(Scalar::$variant => visitor.visit::<{ Scalar::$variant as usize }>(),)* }
            }
        }
    };
}

scalars! {
    /// `|x|`.
    Abs "abs" (x) Numbers Inline => x.abs();
    /// `x + y`.
    Add "add" (x, y) Numbers Inline => x + y;
    /// True if both operands are true.
    And "and" (x, y) Logic Inline => truth(x != 0.0 && y != 0.0);
    /// `cos x`.
    Cos "cos" (x) Reals Call => x.cos();
    /// The derivative of `lgamma`.
    Digamma "digamma" (x) Reals Call => special::digamma(x);
    /// `x / y`.
    Div "div" (x, y) Reals Inline => x / y;
    /// `x == y`.
    Eq "eq" (x, y) Comparison Inline => truth(x == y);
    /// The error function.
    Erf "erf" (x) Reals Call => special::erf(x);
    /// `1 - erf x`, which is accurate even if the result is small.
    Erfc "erfc" (x) Reals Call => special::erfc(x);
    /// The natural exponential.
    Exp "exp" (x) Reals Call => x.exp();
    /// `exp x - 1`, which is accurate near zero.
    Expm1 "expm1" (x) Reals Call => x.exp_m1();
    /// The largest integer that is not above `x`.
    Floor "floor" (x) Reals Inline => x.floor();
    /// The derivative of a gamma variate `y` with respect to its shape `x`, at a fixed probability.
    GammaGradient "gamma_gradient" (x, y) Reals Call => gamma::gradient(x, y);
    /// `x <= y`.
    Le "le" (x, y) Comparison Inline => truth(x <= y);
    /// The logarithm of `|Gamma(x)|`.
    Lgamma "lgamma" (x) Reals Call => special::lgamma(x);
    /// The natural logarithm.
    Log "log" (x) Reals Call => x.ln();
    /// `log (1 + x)`, which is accurate near zero.
    Log1p "log1p" (x) Reals Call => x.ln_1p();
    /// `log (sigmoid x)`, which does not overflow or lose digits in the tails.
    LogSigmoid "log_sigmoid" (x) Reals Call => -special::softplus(-x);
    /// `x < y`.
    Lt "lt" (x, y) Comparison Inline => truth(x < y);
    /// The larger operand. The result is NaN if either operand is NaN.
    Max "max" (x, y) Numbers Inline => special::max(x, y);
    /// The smaller operand. The result is NaN if either operand is NaN.
    Min "min" (x, y) Numbers Inline => -special::max(-x, -y);
    /// `x * y`.
    Mul "mul" (x, y) Numbers Inline => x * y;
    /// `-x`.
    Neg "neg" (x) Numbers Inline => -x;
    /// The negation of a Boolean.
    Not "not" (x) Logic Inline => truth(x == 0.0);
    /// True if at least one operand is true.
    Or "or" (x, y) Logic Inline => truth(x != 0.0 || y != 0.0);
    /// `x ^ y`. If `x` is negative, the power is defined only for integers `y`.
    Pow "pow" (x, y) Reals Call => x.powf(y);
    /// `if c { x } else { y }`.
    Select "select" (c, x, y) Choice Inline => if c != 0.0 { x } else { y };
    /// `1 / (1 + exp(-x))`.
    Sigmoid "sigmoid" (x) Reals Call => special::sigmoid(x);
    /// The sign of `x`: -1, 0 or 1.
    Sign "sign" (x) Numbers Inline => special::sign(x);
    /// `sin x`.
    Sin "sin" (x) Reals Call => x.sin();
    /// `log (1 + exp x)`, which does not overflow or lose digits in the tails.
    Softplus "softplus" (x) Reals Call => special::softplus(x);
    /// The square root.
    Sqrt "sqrt" (x) Reals Inline => x.sqrt();
    /// `x - y`.
    Sub "sub" (x, y) Numbers Inline => x - y;
    /// The hyperbolic tangent.
    Tanh "tanh" (x) Reals Call => x.tanh();
    /// A real number, converted to an integer by rounding towards zero.
    ToInt "to_int" (x) ToInt Inline => x.trunc();
    /// An integer or a Boolean, converted to a real number.
    ToReal "to_real" (x) ToReal Inline => x;
    /// The second derivative of `lgamma`.
    Trigamma "trigamma" (x) Reals Call => special::trigamma(x);
}

impl Scalar {
    /// Returns the operation with this name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.iter().copied().find(|scalar| scalar.name() == name)
    }

    /// Returns whether generated code performs the operation by a function call instead of inline.
    pub fn is_called(self) -> bool {
        self.code() == ScalarCode::Call
    }

    /// Returns the operations that generated code calls, in the order of [`Scalar::ALL`].
    pub fn called() -> impl Iterator<Item = Scalar> {
        Scalar::ALL.iter().copied().filter(|scalar| scalar.is_called())
    }
}

/// Returns the number that represents a Boolean.
fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

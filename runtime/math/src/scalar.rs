//! The scalar operations that every backend implements, with their reference values. The set of operations is
//! closed.

use crate::gamma;
use crate::special;

macro_rules! scalars {
    ($($(#[$meta:meta])* $variant:ident $name:literal $arity:literal;)*) => {
        /// A scalar operation. Only [`Scalar::eval`] and the two backends match on operations. These matches
        /// do not have a wildcard.
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
                match self { $(Scalar::$variant => $arity,)* }
            }
        }
    };
}

scalars! {
    /// `|x|`.
    Abs "abs" 1;
    /// `x + y`.
    Add "add" 2;
    /// True if both operands are true.
    And "and" 2;
    /// `cos x`.
    Cos "cos" 1;
    /// The derivative of `lgamma`.
    Digamma "digamma" 1;
    /// `x / y`.
    Div "div" 2;
    /// `x == y`.
    Eq "eq" 2;
    /// The error function.
    Erf "erf" 1;
    /// `1 - erf x`, which is accurate even if the result is small.
    Erfc "erfc" 1;
    /// The natural exponential.
    Exp "exp" 1;
    /// `exp x - 1`, which is accurate near zero.
    Expm1 "expm1" 1;
    /// The largest integer that is not above `x`.
    Floor "floor" 1;
    /// The derivative of a gamma variate `y` with respect to its shape `x`, at the same probability.
    GammaGradient "gamma_gradient" 2;
    /// `x <= y`.
    Le "le" 2;
    /// The logarithm of `|Gamma(x)|`.
    Lgamma "lgamma" 1;
    /// The natural logarithm.
    Log "log" 1;
    /// `log (1 + x)`, which is accurate near zero.
    Log1p "log1p" 1;
    /// `log (sigmoid x)`, which does not overflow or lose digits in the tails.
    LogSigmoid "log_sigmoid" 1;
    /// `x < y`.
    Lt "lt" 2;
    /// The larger operand. The result is NaN if either operand is NaN.
    Max "max" 2;
    /// The smaller operand. The result is NaN if either operand is NaN.
    Min "min" 2;
    /// `x * y`.
    Mul "mul" 2;
    /// `-x`.
    Neg "neg" 1;
    /// The negation of a Boolean.
    Not "not" 1;
    /// True if at least one operand is true.
    Or "or" 2;
    /// `x ^ y`. If `x` is negative, the power is defined only for integers `y`.
    Pow "pow" 2;
    /// `if c { x } else { y }`.
    Select "select" 3;
    /// `1 / (1 + exp(-x))`.
    Sigmoid "sigmoid" 1;
    /// The sign of `x`: -1, 0 or 1.
    Sign "sign" 1;
    /// `sin x`.
    Sin "sin" 1;
    /// `log (1 + exp x)`, which does not overflow or lose digits in the tails.
    Softplus "softplus" 1;
    /// The square root.
    Sqrt "sqrt" 1;
    /// `x - y`.
    Sub "sub" 2;
    /// The hyperbolic tangent.
    Tanh "tanh" 1;
    /// A real number, converted to an integer by rounding towards zero.
    ToInt "to_int" 1;
    /// An integer or a Boolean, converted to a real number.
    ToReal "to_real" 1;
    /// The second derivative of `lgamma`.
    Trigamma "trigamma" 1;
}

impl Scalar {
    /// Returns the operation with this name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.iter().copied().find(|scalar| scalar.name() == name)
    }

    /// Returns the reference value of the operation, computed in `f64`. Booleans are represented by 0 and 1.
    pub fn eval(self, x: &[f64]) -> f64 {
        let truth = |t: bool| f64::from(u8::from(t));
        match self {
            Scalar::Abs => x[0].abs(),
            Scalar::Add => x[0] + x[1],
            Scalar::And => truth(x[0] != 0.0 && x[1] != 0.0),
            Scalar::Cos => x[0].cos(),
            Scalar::Digamma => special::digamma(x[0]),
            Scalar::Div => x[0] / x[1],
            Scalar::Eq => truth(x[0] == x[1]),
            Scalar::Erf => special::erf(x[0]),
            Scalar::Erfc => special::erfc(x[0]),
            Scalar::Exp => x[0].exp(),
            Scalar::Expm1 => x[0].exp_m1(),
            Scalar::Floor => x[0].floor(),
            Scalar::GammaGradient => gamma::gradient(x[0], x[1]),
            Scalar::Le => truth(x[0] <= x[1]),
            Scalar::Lgamma => special::lgamma(x[0]),
            Scalar::Log => x[0].ln(),
            Scalar::Log1p => x[0].ln_1p(),
            Scalar::LogSigmoid => -special::softplus(-x[0]),
            Scalar::Lt => truth(x[0] < x[1]),
            Scalar::Max => special::max(x[0], x[1]),
            Scalar::Min => -special::max(-x[0], -x[1]),
            Scalar::Mul => x[0] * x[1],
            Scalar::Neg => -x[0],
            Scalar::Not => truth(x[0] == 0.0),
            Scalar::Or => truth(x[0] != 0.0 || x[1] != 0.0),
            Scalar::Pow => x[0].powf(x[1]),
            Scalar::Select => {
                if x[0] != 0.0 {
                    x[1]
                } else {
                    x[2]
                }
            }
            Scalar::Sigmoid => special::sigmoid(x[0]),
            Scalar::Sign => special::sign(x[0]),
            Scalar::Sin => x[0].sin(),
            Scalar::Softplus => special::softplus(x[0]),
            Scalar::Sqrt => x[0].sqrt(),
            Scalar::Sub => x[0] - x[1],
            Scalar::Tanh => x[0].tanh(),
            Scalar::ToInt => x[0].trunc(),
            Scalar::ToReal => x[0],
            Scalar::Trigamma => special::trigamma(x[0]),
        }
    }
}

//! Names and signatures of what generated code calls inside kernels.
//!
//! Array primitives work on one block: `out` and `x` hold `n` elements of the run's precision and may be the same.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// `(out, x, n)`: an elementwise function of one operand.
pub type Unary = unsafe extern "C" fn(out: *mut u8, x: *const u8, n: i64);

/// `(out, x, y, n)`: an elementwise function of two operands.
pub type Binary = unsafe extern "C" fn(out: *mut u8, x: *const u8, y: *const u8, n: i64);

/// `(out, shapes, n, key, first, draw, example, step)`: elements `first .. first + n` of a noise stream. `shapes` holds one
/// number per element where the law has a shape, and may be `out`; it is not looked at otherwise.
pub type Noise = unsafe extern "C" fn(
    out: *mut u8,
    shapes: *const u8,
    n: i64,
    key: u64,
    first: u64,
    draw: u32,
    example: u32,
    step: u32,
);

/// The kinds of noise (DESIGN section 3, random numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoiseKind {
    /// Uniform on the open interval (0, 1).
    Uniform,
    /// Standard normal (Box-Muller on pairs of uniforms).
    Normal,
    /// Gamma of scale one, with a shape per element.
    Gamma,
}

impl NoiseKind {
    /// Every kind.
    pub const ALL: [NoiseKind; 3] = [NoiseKind::Uniform, NoiseKind::Normal, NoiseKind::Gamma];

    /// As written in IR text.
    pub fn name(self) -> &'static str {
        match self {
            NoiseKind::Uniform => "uniform",
            NoiseKind::Normal => "normal",
            NoiseKind::Gamma => "gamma",
        }
    }

    /// Returns whether the law has a shape.
    pub fn has_shape(self) -> bool {
        match self {
            NoiseKind::Uniform | NoiseKind::Normal => false,
            NoiseKind::Gamma => true,
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<NoiseKind> {
        NoiseKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The scalar operations that generated code calls instead of inlining, with the number of operands.
pub const CALLED: &[Scalar] = &[
    Scalar::Cos,
    Scalar::Digamma,
    Scalar::Erf,
    Scalar::Erfc,
    Scalar::Exp,
    Scalar::Expm1,
    Scalar::GammaGradient,
    Scalar::Lgamma,
    Scalar::Log,
    Scalar::Log1p,
    Scalar::LogSigmoid,
    Scalar::Pow,
    Scalar::Sigmoid,
    Scalar::Sin,
    Scalar::Softplus,
    Scalar::Tanh,
    Scalar::Trigamma,
];

/// The symbol of a called scalar operation: `bnnc_exp_f32`.
pub fn scalar_symbol(scalar: Scalar, precision: Precision) -> String {
    format!("bnnc_{}_{precision}", scalar.name())
}

/// The symbol of a noise stream: `bnnc_noise_normal_f32`.
pub fn noise_symbol(kind: NoiseKind, precision: Precision) -> String {
    format!("bnnc_noise_{}_{precision}", kind.name())
}

/// A function that generated code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callable {
    /// An elementwise function: [`Unary`] or [`Binary`].
    Scalar(Scalar),
    /// A noise stream: [`Noise`].
    Noise(NoiseKind),
}

impl Callable {
    /// Its symbol.
    pub fn symbol(self, precision: Precision) -> String {
        match self {
            Callable::Scalar(scalar) => scalar_symbol(scalar, precision),
            Callable::Noise(kind) => noise_symbol(kind, precision),
        }
    }
}

/// Everything that generated code may call, in an order that executables rely on.
pub fn callables() -> impl Iterator<Item = (Callable, Precision)> {
    [Precision::F32, Precision::F64]
        .into_iter()
        .flat_map(|precision| {
            let scalars = CALLED.iter().map(|scalar| Callable::Scalar(*scalar));
            let noise = NoiseKind::ALL.into_iter().map(Callable::Noise);
            scalars.chain(noise).map(move |callable| (callable, precision))
        })
}

/// A symbol and its address, handed to a backend through its options.
#[derive(Clone, Debug)]
pub struct Address {
    /// The name.
    pub name: String,
    /// Where it is.
    pub pointer: usize,
}

/// The cost of one scalar operation, in additions.
pub fn weight(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::Div | Scalar::Sqrt => 4,
        scalar if CALLED.contains(&scalar) => 10,
        _ => 1,
    }
}

/// The cost of one random number, in additions.
pub const NOISE_WEIGHT: u32 = 20;

//! Names and signatures of the functions that generated code calls inside kernels.
//!
//! An array function computes one block of elements. `out` and `x` point to `n` elements in the
//! precision of the run. The two pointers may be equal.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// An elementwise function of one operand: `(out, x, n)`.
pub type Unary = unsafe extern "C" fn(out: *mut u8, x: *const u8, n: i64);

/// An elementwise function of two operands: `(out, x, y, n)`.
pub type Binary = unsafe extern "C" fn(out: *mut u8, x: *const u8, y: *const u8, n: i64);

/// A function that writes elements `first .. first + n` of a noise stream:
/// `(out, shapes, n, key, first, draw, example, step)`. If the distribution has a shape parameter,
/// `shapes` points to one number for each element, and may equal `out`. For a distribution without
/// a shape parameter, `shapes` is not read.
pub type NoiseFn = unsafe extern "C" fn(
    out: *mut u8,
    shapes: *const u8,
    n: i64,
    key: u64,
    first: u64,
    draw: u32,
    example: u32,
    step: u32,
);

/// The kinds of noise streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoiseKind {
    /// The uniform distribution on the open interval (0, 1).
    Uniform,
    /// The standard normal distribution (Box-Muller on pairs of uniforms).
    Normal,
    /// The gamma distribution with scale one, and with a shape for each element.
    Gamma,
}

impl NoiseKind {
    /// All kinds of noise streams.
    pub const ALL: [NoiseKind; 3] = [NoiseKind::Uniform, NoiseKind::Normal, NoiseKind::Gamma];

    /// Returns the name of the kind in texts of the intermediate representation.
    pub fn name(self) -> &'static str {
        match self {
            NoiseKind::Uniform => "uniform",
            NoiseKind::Normal => "normal",
            NoiseKind::Gamma => "gamma",
        }
    }

    /// Returns whether the distribution has a shape parameter.
    pub fn has_shape(self) -> bool {
        match self {
            NoiseKind::Uniform | NoiseKind::Normal => false,
            NoiseKind::Gamma => true,
        }
    }

    /// Returns the kind with this name; the inverse of [`NoiseKind::name`].
    pub fn from_name(name: &str) -> Option<NoiseKind> {
        NoiseKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns the symbol of a scalar operation that is called: for example `bnnc_exp_f32`.
pub fn scalar_symbol(scalar: Scalar, precision: Precision) -> String {
    format!("bnnc_{}_{precision}", scalar.name())
}

/// Returns the symbol of a noise stream: for example `bnnc_noise_normal_f32`.
pub fn noise_symbol(kind: NoiseKind, precision: Precision) -> String {
    format!("bnnc_noise_{}_{precision}", kind.name())
}

/// A function that generated code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callable {
    /// An elementwise function: [`Unary`] or [`Binary`].
    Scalar(Scalar),
    /// A noise stream: [`NoiseFn`].
    Noise(NoiseKind),
}

impl Callable {
    /// Returns the symbol of the function.
    pub fn symbol(self, precision: Precision) -> String {
        match self {
            Callable::Scalar(scalar) => scalar_symbol(scalar, precision),
            Callable::Noise(kind) => noise_symbol(kind, precision),
        }
    }
}

/// Returns all functions that generated code may call. Executables rely on their order.
pub fn callables() -> impl Iterator<Item = (Callable, Precision)> {
    [Precision::F32, Precision::F64]
        .into_iter()
        .flat_map(|precision| {
            let scalars = Scalar::called().map(Callable::Scalar);
            let noise = NoiseKind::ALL.into_iter().map(Callable::Noise);
            scalars.chain(noise).map(move |callable| (callable, precision))
        })
}

/// The symbol and the address of a function, which a backend receives through its options.
#[derive(Clone, Debug)]
pub struct Address {
    /// The name of the symbol.
    pub name: String,
    /// The address of the function.
    pub pointer: usize,
}

/// Returns the cost of one scalar operation, as a multiple of the cost of an addition.
pub fn weight(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::Div | Scalar::Sqrt => 4,
        scalar if scalar.is_called() => 10,
        _ => 1,
    }
}

/// The cost of one random number, as a multiple of the cost of an addition.
pub const NOISE_WEIGHT: u32 = 20;

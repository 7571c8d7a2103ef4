//! The elementwise functions, one element at a time and without branches; see Note [One source, three versions].

use super::lane::{Arch, Lane};

/// A function of one element.
pub trait Elementwise {
    /// Its value.
    fn apply<A: Arch, T: Lane>(x: T) -> T;

    /// Whether [`Elementwise::apply`] does not hold for `x`, and [`Elementwise::beyond`] has the value.
    #[inline(always)]
    fn is_beyond<A: Arch, T: Lane>(_: T) -> bool {
        false
    }

    /// The value, slowly.
    #[inline(always)]
    fn beyond<T: Lane>(x: T) -> T {
        x
    }
}

/// `n` and `r` with `x = n log 2 + r`; `n` comes with [`Lane::ROUNDER`] added.
#[inline(always)]
fn reduce<A: Arch, T: Lane>(x: T) -> (T, T) {
    let rounded = x.fma::<A>(T::LOG2_E, T::ROUNDER);
    let n = rounded - T::ROUNDER;
    let r = (-n).fma::<A>(T::LN2_LOW, (-n).fma::<A>(T::LN2_HIGH, x));
    (rounded, r)
}

/// `x` between the two, NaN kept.
#[inline(always)]
fn clamp<T: Lane>(x: T, low: T, high: T) -> T {
    let above = low.when(x < low, x);
    high.when(above > high, above)
}

/// The exponential.
#[inline(always)]
pub fn exp<A: Arch, T: Lane>(x: T) -> T {
    exp_clamped::<A, T>(clamp(x, T::EXP_LOWEST, T::EXP_LARGEST))
}

/// The exponential between [`Lane::EXP_LOWEST`] and [`Lane::EXP_LARGEST`]. The power of two is applied in halves, so that
/// results near both ends of the range round once.
#[inline(always)]
fn exp_clamped<A: Arch, T: Lane>(x: T) -> T {
    let (rounded, r) = reduce::<A, T>(x);
    let n = rounded - T::ROUNDER;
    let half = n.fma::<A>(T::HALF, T::ROUNDER);
    let rest = n - (half - T::ROUNDER);
    let power = (r * r).fma::<A>(T::exp_rest::<A>(r), r) + T::ONE;
    power * T::power_of_two(half) * T::power_of_two(rest + T::ROUNDER)
}

/// `exp x - 1`: `2 (s p + (s - 1/2))` with `p = exp r - 1` and `s = 2^(n-1)`, which stays finite.
#[inline(always)]
pub fn expm1<A: Arch, T: Lane>(x: T) -> T {
    let (rounded, r) = reduce::<A, T>(clamp(x, T::EXPM1_LOWEST, T::EXP_LARGEST));
    let scale = T::power_of_two(rounded - T::ONE);
    let p = (r * r).fma::<A>(T::exp_rest::<A>(r), r);
    let value = T::TWO * scale.fma::<A>(p, scale - T::HALF);
    x.when(x.magnitude() < T::TINY, value)
}

/// The natural logarithm.
#[inline(always)]
pub fn log<A: Arch, T: Lane>(x: T) -> T {
    let (m, k) = x.split_any();
    edges(x, x, T::log_reduced::<A>(m - T::ONE, k))
}

/// The limits of a logarithm of `u`, for an argument `x` that is infinite where `u` is.
#[inline(always)]
fn edges<T: Lane>(x: T, u: T, value: T) -> T {
    let value = x.when(u == T::INFINITY, value);
    let value = (-T::INFINITY).when(u == T::ZERO, value);
    value.when(u >= T::ZERO, T::NAN)
}

/// `log (1 + x)`: the logarithm of the rounded sum, with what the rounding lost added to the reduced argument.
#[inline(always)]
pub fn log1p<A: Arch, T: Lane>(x: T) -> T {
    let u = T::ONE + x;
    let lost = (T::ONE - (u - x)).when(x > T::ONE, x - (u - T::ONE));
    let (m, k) = u.split();
    let scale = T::power_of_two(T::ROUNDER - T::CORRECTED.when(k > T::CORRECTED, k));
    let value = T::log_reduced::<A>(lost.fma::<A>(scale, m - T::ONE), k);
    x.when(x.magnitude() < T::TINY, edges(x, u, value))
}

/// The exponential of `-|x|`.
#[inline(always)]
fn exp_below<A: Arch, T: Lane>(x: T) -> T {
    let x = -x.magnitude();
    exp_clamped::<A, T>(T::EXP_LOWEST.when(x < T::EXP_LOWEST, x))
}

/// `log (1 + exp(-|x|))`.
#[inline(always)]
fn softplus_rest<A: Arch, T: Lane>(x: T) -> T {
    let e = exp_below::<A, T>(x);
    e * T::log1p_slope::<A>(e)
}

/// The sine of `x + shift pi / 2`, by the quadrant and the angle within it.
#[inline(always)]
fn sin_shifted<A: Arch, T: Lane>(x: T, shift: T) -> T {
    let rounded = x.fma::<A>(T::TWO_OVER_PI, T::ROUNDER);
    let n = T::ROUNDER - rounded;
    let angle = T::HALF_PI
        .into_iter()
        .fold(x, |rest, part| n.fma::<A>(part, rest));
    let (cos, sin) = T::cos_sin_reduced::<A>(angle);
    let quadrant = rounded + shift;
    let value = cos.when(T::has_bit(quadrant, 0), sin);
    (-value).when(T::has_bit(quadrant, 1), value)
}

/// Reducing an angle needs the exact products of fused multiply-add.
#[inline(always)]
fn is_beyond_reduction<A: Arch, T: Lane>(x: T) -> bool {
    let inside = x.magnitude() <= T::ANGLE_LARGEST;
    !A::FUSED || !inside
}

/// The cosine.
pub struct Cos;

impl Elementwise for Cos {
    #[inline(always)]
    fn apply<A: Arch, T: Lane>(x: T) -> T {
        sin_shifted::<A, T>(x, T::ONE)
    }

    #[inline(always)]
    fn is_beyond<A: Arch, T: Lane>(x: T) -> bool {
        is_beyond_reduction::<A, T>(x)
    }

    fn beyond<T: Lane>(x: T) -> T {
        T::from_f64(x.to_f64().cos())
    }
}

/// The sine.
pub struct Sin;

impl Elementwise for Sin {
    #[inline(always)]
    fn apply<A: Arch, T: Lane>(x: T) -> T {
        x.when(x.magnitude() < T::TINY, sin_shifted::<A, T>(x, T::ZERO))
    }

    #[inline(always)]
    fn is_beyond<A: Arch, T: Lane>(x: T) -> bool {
        is_beyond_reduction::<A, T>(x)
    }

    fn beyond<T: Lane>(x: T) -> T {
        T::from_f64(x.to_f64().sin())
    }
}

/// The tags under which functions are compiled into loops.
macro_rules! functions {
    ($($(#[$meta:meta])* $tag:ident |$x:ident| $body:expr;)*) => {$(
        $(#[$meta])*
        pub struct $tag;

        impl Elementwise for $tag {
            #[inline(always)]
            fn apply<A: Arch, T: Lane>($x: T) -> T {
                $body
            }
        }
    )*};
}

functions! {
    /// The error function: an odd polynomial below 1, the complement above.
    Erf |x| {
        let a = x.magnitude();
        let square = a * a;
        let b = T::ERF_LARGEST.when(a > T::ERF_LARGEST, a);
        let t = (b - T::TWO) / (b + T::TWO);
        let complement = exp::<A, T>(-(b * b)) * T::erfc_scaled::<A>(t);
        (a * T::erf_slope::<A>(square)).when(a < T::ONE, T::ONE - complement).with_sign(x)
    };
    /// The exponential.
    Exp |x| exp::<A, T>(x);
    /// `exp x - 1`.
    Expm1 |x| expm1::<A, T>(x);
    /// The natural logarithm.
    Log |x| log::<A, T>(x);
    /// `log (1 + x)`.
    Log1p |x| log1p::<A, T>(x);
    /// `log (sigmoid x)`.
    LogSigmoid |x| x.when(x < T::ZERO, T::ZERO) - softplus_rest::<A, T>(x);
    /// `1 / (1 + exp(-x))`.
    Sigmoid |x| {
        let e = exp_below::<A, T>(x);
        T::ONE.when(x >= T::ZERO, e) / (T::ONE + e)
    };
    /// `log (1 + exp x)`.
    Softplus |x| x.when(x > T::ZERO, T::ZERO) + softplus_rest::<A, T>(x);
    /// The hyperbolic tangent, through `exp(2 |x|) - 1`.
    Tanh |x| {
        let a = x.magnitude();
        let e = expm1::<A, T>(T::TWO * (-T::EXPM1_LOWEST).when(a > -T::EXPM1_LOWEST, a));
        (e / (e + T::TWO)).with_sign(x)
    };
}

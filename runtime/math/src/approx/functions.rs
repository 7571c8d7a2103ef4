//! The elementwise functions. These functions process one element at a time and do not contain branches: see Note \[One source\] in [`super`].

use super::format::FloatFormat;
use super::lane::{Arch, Lane, Mask, Word};
use super::noise::cos_sin;
use crate::scalar::Scalar;

/// A function of one element.
pub trait Elementwise {
    /// Computes the value. The result is valid only if [`Elementwise::is_beyond`] returns false.
    fn apply<A: Arch, T: Lane>(x: T) -> T;

    /// Returns whether [`Elementwise::apply`] is invalid for `x`. In this case, [`Elementwise::beyond`] must compute the value.
    #[inline(always)]
    fn is_beyond<A: Arch, T: Lane>(_: T) -> T::Mask {
        T::Mask::known(false)
    }

    /// Computes the value for any `x`. This function is slower than [`Elementwise::apply`].
    #[inline(always)]
    fn beyond(x: f64) -> f64 {
        x
    }
}

/// Writes `x` as `n log 2 + r`, with an integer `n` and a small `r`. Returns `n` plus [`Lane::rounder`], and `r`.
#[inline(always)]
fn reduce<A: Arch, T: Lane>(x: T) -> (T, T) {
    let rounded = x.fma::<A>(T::number(std::f64::consts::LOG2_E), T::rounder());
    let n = rounded - T::rounder();
    let r = (-n).fma::<A>(
        T::number(T::Format::LN2_LOW),
        (-n).fma::<A>(T::number(T::Format::LN2_HIGH), x),
    );
    (rounded, r)
}

/// Returns the larger of `x` and `low`. Returns NaN if `x` is NaN.
#[inline(always)]
fn above<T: Lane>(x: T, low: f64) -> T {
    let low = T::number(low);
    low.when(x.less(low), x)
}

/// Returns the smaller of `x` and `high`. Returns NaN if `x` is NaN.
#[inline(always)]
fn below<T: Lane>(x: T, high: f64) -> T {
    let high = T::number(high);
    high.when(high.less(x), x)
}

/// Returns the exponential of `x`.
#[inline(always)]
pub fn exp<A: Arch, T: Lane>(x: T) -> T {
    exp_clamped::<A, T>(below(above(x, T::Format::EXP_LOWEST), T::Format::EXP_LARGEST))
}

/// Returns the exponential of an `x` between [`FloatFormat::EXP_LOWEST`] and [`FloatFormat::EXP_LARGEST`]. The power of two is split into two
/// factors that are multiplied one after the other, so that results near both ends of the range are rounded only once.
#[inline(always)]
fn exp_clamped<A: Arch, T: Lane>(x: T) -> T {
    let (rounded, r) = reduce::<A, T>(x);
    let n = rounded - T::rounder();
    let half = n.fma::<A>(T::number(0.5), T::rounder());
    let rest = n - (half - T::rounder());
    let power = (r * r).fma::<A>(T::Format::exp_rest::<A, T>(r), r) + T::one();
    power * T::power_of_two(half) * T::power_of_two(rest + T::rounder())
}

/// Returns `exp x - 1`. With `exp x = 2^n exp r`, the result is computed as `2 (s p + (s - 1/2))`, where `p = exp r - 1` and `s = 2^(n-1)`. The
/// number `s` is always finite.
#[inline(always)]
pub fn expm1<A: Arch, T: Lane>(x: T) -> T {
    let (rounded, r) = reduce::<A, T>(below(above(x, T::Format::EXPM1_LOWEST), T::Format::EXP_LARGEST));
    let scale = T::power_of_two(rounded - T::one());
    let p = (r * r).fma::<A>(T::Format::exp_rest::<A, T>(r), r);
    let value = T::number(2.0) * scale.fma::<A>(p, scale - T::number(0.5));
    x.when(x.magnitude().less(T::number(T::Format::TINY)), value)
}

/// Returns the natural logarithm of `x`.
#[inline(always)]
pub fn log<A: Arch, T: Lane>(x: T) -> T {
    let (m, k) = x.split_any();
    edges(x, x, T::Format::log_reduced::<A, T>(m - T::one(), k))
}

/// Corrects `value`, the computed logarithm of `u`, for special values of `u`. If `u` is 0 or infinite, returns the limit of the logarithm. If `u`
/// is negative, returns NaN. If `u` is infinite, `x` must be infinite too.
#[inline(always)]
fn edges<T: Lane>(x: T, u: T, value: T) -> T {
    let value = x.when(u.equals(T::number(f64::INFINITY)), value);
    let value = T::number(f64::NEG_INFINITY).when(u.equals(T::zero()), value);
    value.when(T::zero().at_most(u), T::number(f64::NAN))
}

/// Returns `log (1 + x)`. Computes the logarithm of the rounded sum `1 + x`, and corrects for the rounding error by adding it to the reduced
/// argument of the logarithm.
#[inline(always)]
pub fn log1p<A: Arch, T: Lane>(x: T) -> T {
    let u = T::one() + x;
    let lost = (T::one() - (u - x)).when(T::one().less(x), x - (u - T::one()));
    let (m, k) = u.split();
    let scale = T::power_of_two(T::rounder() - below(k, T::Format::CORRECTED));
    let value = T::Format::log_reduced::<A, T>(lost.fma::<A>(scale, m - T::one()), k);
    x.when(x.magnitude().less(T::number(T::Format::TINY)), edges(x, u, value))
}

/// Returns the exponential of `-|x|`.
#[inline(always)]
fn exp_below<A: Arch, T: Lane>(x: T) -> T {
    exp_clamped::<A, T>(above(-x.magnitude(), T::Format::EXP_LOWEST))
}

/// Returns `log (1 + exp(-|x|))`.
#[inline(always)]
fn softplus_rest<A: Arch, T: Lane>(x: T) -> T {
    let e = exp_below::<A, T>(x);
    e * T::Format::log1p_slope::<A, T>(e)
}

/// Returns the sine of `x + shift pi / 2`. The angle is first reduced to its quadrant and the remaining angle within the quadrant.
#[inline(always)]
fn sin_shifted<A: Arch, T: Lane>(x: T, shift: T) -> T {
    let rounded = x.fma::<A>(T::number(std::f64::consts::FRAC_2_PI), T::rounder());
    let n = T::rounder() - rounded;
    let angle = T::Format::HALF_PI
        .into_iter()
        .fold(x, |rest, part| n.fma::<A>(T::number(part), rest));
    let (cos, sin) = cos_sin::<A, T>(angle);
    let quadrant = (rounded + shift).bits();
    let value = cos.when(quadrant.has(0), sin);
    (-value).when(quadrant.has(1), value)
}

/// Returns whether the computed sine or cosine of `x` is invalid. The result is invalid if the angle is too large, or if the processor lacks the
/// fused multiply-add that an exact reduction needs.
#[inline(always)]
fn is_beyond_reduction<A: Arch, T: Lane>(x: T) -> T::Mask {
    let inside = x.magnitude().at_most(T::number(T::Format::ANGLE_LARGEST));
    T::Mask::known(!A::FUSED) | !inside
}

/// Returns `erfc a` for `a` from 1/2 on. The result is the product of `exp(-a^2)`, corrected for the rounding error of `a^2`, and a remaining
/// factor.
#[inline(always)]
fn complement<A: Arch, T: Lane>(a: T) -> T {
    let a = below(a, T::Format::ERFC_LARGEST);
    let square = a * a;
    let e = exp::<A, T>(-square);
    let bell = (-square_rest::<A, T>(a, square)).fma::<A>(e, e);
    let (centre, inverse) = (T::number(3.0), T::one() / (a + T::number(3.0)));
    bell * (inverse * T::Format::erfc_scaled::<A, T>((a - centre) * inverse))
}

/// Returns `x^2 - square`, where `square` is the rounded value of `x^2`.
#[inline(always)]
fn square_rest<A: Arch, T: Lane>(x: T, square: T) -> T {
    if A::FUSED {
        return x.fma::<A>(x, -square);
    }
    // The mask `low` selects the lower half of the digits. Without them, the square of the number is exact.
    let low = T::Bits::known((1 << (T::Format::MANTISSA / 2 + 1)) - 1);
    let high = T::from_bits(x.bits() & !low);
    (high * high - square) + (x - high) * (x + high)
}

/// A function that is generic over an elementwise function, so that it is compiled for each of them.
pub trait ElementwiseVisitor {
    /// The result of the function.
    type Output;

    /// Computes the result for an elementwise function.
    fn visit<F: Elementwise>(self) -> Self::Output;
}

/// A scalar operation, and the function that approximates it.
pub type ApproximatedOp<T> = (Scalar, fn(T) -> T);

/// Declares the approximated functions. Each one has the name of its scalar operation and its formula. If the formula is not valid everywhere, the
/// entry also has the two other methods of [`Elementwise`].
macro_rules! functions {
    ($($(#[$meta:meta])* $tag:ident |$x:ident| $body:expr $(, unless $is_beyond:ident use $beyond:path)?;)*) => {
        $(
            $(#[$meta])*
            pub struct $tag;

            impl Elementwise for $tag {
                #[inline(always)]
                fn apply<A: Arch, T: Lane>($x: T) -> T {
                    $body
                }

                $(
                    #[inline(always)]
                    fn is_beyond<A: Arch, T: Lane>(x: T) -> T::Mask {
                        $is_beyond::<A, T>(x)
                    }

                    fn beyond(x: f64) -> f64 {
                        $beyond(x)
                    }
                )?
            }
        )*

        /// Returns all approximated functions. Some of them are invalid for some arguments: see [`Elementwise::is_beyond`].
        pub fn table<A: Arch, T: Lane>() -> impl Iterator<Item = ApproximatedOp<T>> {
            [$((Scalar::$tag, $tag::apply::<A, T> as fn(T) -> T),)*].into_iter()
        }

        /// Calls a generic function for the approximation of a scalar operation. Returns `None` if the operation is not approximated.
        pub fn visit<V: ElementwiseVisitor>(scalar: Scalar, visitor: V) -> Option<V::Output> {
            match scalar {
                $(Scalar::$tag => Some(visitor.visit::<$tag>()),)*
                _ => None,
            }
        }
    };
}

functions! {
    /// The cosine function.
    Cos |x| sin_shifted::<A, T>(x, T::one()), unless is_beyond_reduction use f64::cos;
    /// The error function. Near zero, it is computed as an odd polynomial. Elsewhere, it is computed as one minus its complement.
    Erf |x| {
        let a = x.magnitude();
        let near = a * T::Format::erf_slope::<A, T>(a * a);
        near.when(a.less(T::number(0.5)), T::one() - complement::<A, T>(a)).with_sign(x)
    };
    /// `1 - erf x`. For `x` of at least 1/2, this difference would lose digits, so the complement is computed directly.
    Erfc |x| {
        let a = x.magnitude();
        let far = complement::<A, T>(a);
        let near = T::one() - x * T::Format::erf_slope::<A, T>(a * a);
        near.when(a.less(T::number(0.5)), far.when(T::zero().less(x), T::number(2.0) - far))
    };
    /// The exponential function.
    Exp |x| exp::<A, T>(x);
    /// `exp x - 1`.
    Expm1 |x| expm1::<A, T>(x);
    /// The natural logarithm.
    Log |x| log::<A, T>(x);
    /// `log (1 + x)`.
    Log1p |x| log1p::<A, T>(x);
    /// `log (sigmoid x)`.
    LogSigmoid |x| x.when(x.less(T::zero()), T::zero()) - softplus_rest::<A, T>(x);
    /// `1 / (1 + exp(-x))`.
    Sigmoid |x| {
        let e = exp_below::<A, T>(x);
        T::one().when(T::zero().at_most(x), e) / (T::one() + e)
    };
    /// The sine function.
    Sin |x| x.when(
        x.magnitude().less(T::number(T::Format::TINY)),
        sin_shifted::<A, T>(x, T::zero()),
    ), unless is_beyond_reduction use f64::sin;
    /// `log (1 + exp x)`.
    Softplus |x| x.when(T::zero().less(x), T::zero()) + softplus_rest::<A, T>(x);
    /// The hyperbolic tangent, computed from `exp(2 |x|) - 1`.
    Tanh |x| {
        let a = x.magnitude();
        let e = expm1::<A, T>(T::number(2.0) * below(a, -T::Format::EXPM1_LOWEST));
        (e / (e + T::number(2.0))).with_sign(x)
    };
}

//! Conversions and calculations with exact rational numbers.

use dashu_base::{BitTest, Gcd, UnsignedAbs};
use dashu_int::{IBig, UBig};
pub use dashu_ratio::RBig as Rational;

/// The largest exponent that [`parse`] accepts. Without this limit, a short text could produce a very long number.
const LARGEST_EXPONENT: u64 = 4096;

/// Returns the floating-point number that is nearest to a rational number.
pub fn to_f64(number: &Rational) -> f64 {
    number.to_f64().value()
}

/// Computes the natural logarithm of a number's magnitude, even if the number itself is too large or too small for floating point. For
/// zero, the result is minus infinity.
pub fn ln_abs(number: &Rational) -> f64 {
    let (above, below) = (number.numerator().unsigned_abs(), number.denominator());
    // The quotient is near two to this power. Only its first 64 bits are used.
    let power = above.bit_len() as i64 - below.bit_len() as i64;
    let shift = 64 - power;
    let digits = match usize::try_from(shift) {
        Ok(up) => (above << up) / below,
        Err(_) => above / (below.clone() << shift.unsigned_abs() as usize),
    };
    (digits.to_f64().value() / 2f64.powi(64)).ln() + power as f64 * std::f64::consts::LN_2
}

/// Converts a finite floating-point number to a rational number. Returns `None` if the number is not finite.
pub fn from_f64(number: f64) -> Option<Rational> {
    Rational::try_from(number).ok()
}

/// Parses a number exactly, without floating point. The number is an integer, a decimal number, or a quotient of two such numbers, for
/// example `"3"`, `"-1.25"`, `"2.5e-3"` or `"49/20"`. Returns `None` if the text is not such a number, a denominator is zero, or the
/// magnitude of an exponent is above 4096.
pub fn parse(text: &str) -> Option<Rational> {
    match text.split_once('/') {
        None => parse_decimal(text.trim()),
        Some((above, below)) => {
            let below = parse_decimal(below.trim())?;
            if below.is_zero() {
                None
            } else {
                Some(parse_decimal(above.trim())? / below)
            }
        }
    }
}

/// Returns the number of bits in the numerator plus the number in the denominator.
pub(crate) fn bits(number: &Rational) -> u64 {
    (number.numerator().bit_len() + number.denominator().bit_len()) as u64
}

/// Returns the smallest positive integer whose product with each of `numbers` is an integer.
pub(crate) fn common_denominator<'a>(numbers: impl Iterator<Item = &'a Rational>) -> UBig {
    numbers.fold(UBig::ONE, |all, number| {
        let below = number.denominator();
        if below.is_one() {
            all
        } else {
            &all / (&all).gcd(below) * below
        }
    })
}

/// Multiplies all `numbers` by one positive factor that makes them integers without a common divisor. Zeros stay zeros.
pub(crate) fn primitive_integers<'a>(numbers: impl Iterator<Item = &'a Rational> + Clone) -> Vec<IBig> {
    let denominator = common_denominator(numbers.clone());
    let mut integers: Vec<IBig> = numbers
        .map(|number| number.numerator() * (&denominator / number.denominator()))
        .collect();
    make_primitive(&mut integers);
    integers
}

/// Divides the integers by their greatest common divisor.
pub(crate) fn make_primitive(integers: &mut [IBig]) {
    let mut common = UBig::ZERO;
    for integer in integers.iter().filter(|integer| !integer.is_zero()) {
        common = common.gcd(integer);
        if common.is_one() {
            return;
        }
    }
    if !common.is_zero() {
        integers.iter_mut().for_each(|integer| *integer /= &common);
    }
}

fn parse_decimal(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [whole, fraction].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    if shift.unsigned_abs() > LARGEST_EXPONENT {
        return None;
    }
    let magnitude = IBig::from(UBig::from_str_radix(&all, 10).ok()?);
    let power = UBig::from(10u8).pow(usize::try_from(shift.unsigned_abs()).ok()?);
    let signed = if negative { -magnitude } else { magnitude };
    Some(if shift < 0 {
        Rational::from_parts(signed, power)
    } else {
        Rational::from(signed * IBig::from(power))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ratio(above: i64, below: u64) -> Rational {
        Rational::from_parts(above.into(), below.into())
    }

    #[test]
    fn decimals_and_quotients_are_exact() {
        for (text, expected) in [
            ("3", ratio(3, 1)),
            ("-1.25", ratio(-5, 4)),
            (".5", ratio(1, 2)),
            ("+2.", ratio(2, 1)),
            ("2.5e-3", ratio(1, 400)),
            ("1E3", ratio(1000, 1)),
            ("49/20", ratio(49, 20)),
            (" -0.1 / 0.3 ", ratio(-1, 3)),
            ("0.1", ratio(1, 10)),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_that_are_not_numbers_are_rejected() {
        for text in [
            "",
            "-",
            ".",
            "1/0",
            "1/",
            "x",
            "1e",
            "1e99999",
            "1_0",
            "0x1",
            "--1",
            "inf",
            "1/2/3",
            "1e-9223372036854775808",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn floating_point_numbers_keep_their_value() {
        assert_eq!(from_f64(0.375), Some(ratio(3, 8)));
        assert_eq!(from_f64(f64::NAN), None);
        assert_eq!(to_f64(&ratio(1, 3)), 1.0 / 3.0);
    }

    #[test]
    fn logarithms_reach_beyond_floating_point() {
        for (text, expected) in [
            ("1", 0.0),
            ("-1/3", -3f64.ln()),
            ("-1e-1000", -1000.0 * 10f64.ln()),
            ("7e2000", 2000.0 * 10f64.ln() + 7f64.ln()),
            ("1.0000000000000001", 1e-16),
        ] {
            let error = (ln_abs(&parse(text).unwrap()) - expected).abs();
            assert!(error <= 1e-15 * expected.abs() + 1e-16, "{text}: {error}");
        }
        assert_eq!(ln_abs(&Rational::ZERO), f64::NEG_INFINITY);
    }
}

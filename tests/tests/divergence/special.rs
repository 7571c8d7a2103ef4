//! The special functions in the densities. The special functions are implemented here independently
//! of the compiler.

use super::laws::EULER;

/// Returns the logarithm of the gamma function of a positive number. Uses Stirling's series after a
/// shift beyond ten.
pub fn log_gamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut product = 1.0;
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let square = shifted * shifted;
    let series = (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square)
            / square)
        / shifted;
    (shifted - 0.5) * shifted.ln() - shifted + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

/// Returns `exp(x) E1(x)` for positive `x`. Uses the power series if `x` is below one, and
/// otherwise the continued fraction.
pub fn e1_scaled(x: f64) -> f64 {
    // The argument may be a small square that underflowed to zero. At zero, the function is
    // infinite.
    let x = x.max(f64::MIN_POSITIVE);
    if x < 1.0 {
        let mut term = 1.0;
        let mut sum = -EULER - x.ln();
        for k in 1..30 {
            term *= -x / f64::from(k);
            sum -= term / f64::from(k);
        }
        return x.exp() * sum;
    }
    // The continued fraction 1/(x+1- 1/(x+3- 4/(x+5- 9/(x+7- ..)))) is evaluated from its end.
    let mut tail = 0.0;
    for k in (1..200).rev() {
        let k = f64::from(k);
        tail = k * k / (x + 2.0 * k + 1.0 - tail);
    }
    1.0 / (x + 1.0 - tail)
}

/// The expected values are from tables 5.1 and 6.1 of Abramowitz and Stegun.
#[test]
fn special_functions_have_their_published_values() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
    near(e1_scaled(0.5) * (-0.5f64).exp(), 0.559_773_594_8);
    near(e1_scaled(1.0) * (-1f64).exp(), 0.219_383_934_4);
    near(e1_scaled(2.0) * (-2f64).exp(), 0.048_900_510_7);
    near(10.0 * e1_scaled(10.0), 0.915_633_339_4);
    near(log_gamma(0.5), std::f64::consts::PI.sqrt().ln());
    near(log_gamma(7.0), 720f64.ln());
    near(log_gamma(1.5), (0.5 * std::f64::consts::PI.sqrt()).ln());
}

//! The penalty that is added to a noisy loss difference, so that the noise does not change the stationary distribution of the chain.

use bnnc_abi::methods::sampling::samplers::penalty::Correction;

/// Returns the penalty for a loss difference. `variance` is an estimate of its variance with `batches - 1` degrees of freedom.
///
/// If the difference is normal and its variance `s^2` is known, the penalty is `s^2 / 2`. With this penalty, the mean acceptance `A`
/// satisfies detailed balance, `A(D) = exp(-D) A(-D)` (Ceperley and Dewing 1999, equation 15). If the variance is estimated, the penalty
/// `u` must satisfy `E exp(-u) = exp(-s^2 / 2)`. The exact solution is `u = -log 0F1(; (M - 1) / 2; -(M - 1) variance / 4)` for `M`
/// batches. But `0F1` can be negative, and then its logarithm does not exist. The code therefore uses the series of Ceperley and Dewing
/// up to the third order, which is always positive.
pub fn penalty(correction: Correction, variance: f64, batches: usize) -> f64 {
    match correction {
        Correction::Naive => 0.0,
        Correction::Plain => 0.5 * variance,
        Correction::Corrected => {
            let batches = batches as f64;
            let second = 1.0 / (4.0 * (batches + 1.0));
            let third = 1.0 / (3.0 * (batches + 1.0) * (batches + 3.0));
            variance * (0.5 + variance * (second + variance * third))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the confluent hypergeometric limit function `0F1(; k; x)`, computed by its series.
    fn confluent(k: f64, x: f64) -> f64 {
        let terms = (0..80).scan(1.0, |term, at| {
            let now = *term;
            *term *= x / ((k + f64::from(at)) * (f64::from(at) + 1.0));
            Some(now)
        });
        terms.sum()
    }

    /// The difference between the series and the exact penalty is of fourth order in the variance.
    #[test]
    fn series_agrees_with_the_exact_penalty_to_third_order() {
        for batches in [4, 5, 10, 30] {
            let free = (batches - 1) as f64;
            let error = |variance: f64| {
                let exact = -confluent(free / 2.0, -free * variance / 4.0).ln();
                (penalty(Correction::Corrected, variance, batches) - exact).abs()
            };
            let order = (error(0.4) / error(0.2)).log2();
            assert!((3.8..4.6).contains(&order), "{batches} batches: order {order}");
        }
    }
}

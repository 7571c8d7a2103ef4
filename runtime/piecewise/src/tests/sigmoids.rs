//! Tests of class probabilities.

use super::{close, term};
use crate::{UniformTerm, mean_sigmoid, mean_sigmoid_cubic};
use bnnc_math::special::sigmoid;

#[test]
fn one_weight() {
    for (slope, low, high, shift, want) in [
        (1.7, -0.4, 0.9, 0.3, 0.528_388_18),
        (-2.0, 0.1, 0.6, -1.0, 0.572_961_80),
        (0.5, -3.0, 3.0, 0.25, 0.447_234_98),
    ] {
        close(mean_sigmoid(&[term(slope, low, high)], -shift), want, 2e-8);
    }
    // Four intervals are tested: a single point, an interval far to the left (where the logistic function is exp), one far to the right, and one
    // that extends to both sides of 0.
    close(mean_sigmoid(&[term(1.0, 0.3, 0.3)], 0.0), sigmoid(0.3), 1e-16);
    close(mean_sigmoid(&[term(1e-12, 0.0, 1.0)], 0.3), sigmoid(0.3), 1e-12);
    close(
        mean_sigmoid(&[term(1.0, 0.0, 1.0)], -40.0),
        (-39f64).exp() - (-40f64).exp(),
        1e-14,
    );
    close(mean_sigmoid(&[term(1.0, 0.0, 1.0)], 50.0), 1.0, 1e-15);
    close(mean_sigmoid(&[term(2000.0, -1.0, 1.0)], 0.0), 0.5, 1e-15);
}

/// For every representation of a sum, the mean over one more weight equals the average of the means at fixed values of this weight. The average
/// is computed by Simpson's rule. The relative error of Simpson's rule is about 3e-11 where the logistic function is an exponential.
#[test]
fn means_over_one_more_weight_are_means_of_means() {
    for count in [2, 4, 5, 9, 30] {
        let terms: Vec<UniformTerm> = (0..count)
            .map(|index| term(1.0, -0.5 - 0.01 * index as f64, 0.6))
            .collect();
        for offset in [0.0, -25.0, 2.0] {
            let steps = 160;
            let last = terms[count - 1];
            let width = last.upper - last.lower;
            let mean: f64 = (0..=steps)
                .map(|index| {
                    let weight = if index == 0 || index == steps {
                        1.0
                    } else {
                        2.0 + 2.0 * f64::from(index % 2)
                    };
                    let at = last.lower + width * f64::from(index) / f64::from(steps);
                    weight / (3.0 * f64::from(steps)) * mean_sigmoid(&terms[..count - 1], offset + at)
                })
                .sum();
            close(mean_sigmoid(&terms, offset), mean, 1e-10);
        }
    }
}

#[test]
fn symmetry() {
    for count in [1, 3, 7, 20] {
        let terms: Vec<UniformTerm> = (0..count)
            .map(|index| term(0.8, -0.5, 0.1 * index as f64))
            .collect();
        let mirrored: Vec<UniformTerm> = terms
            .iter()
            .map(|t| UniformTerm {
                slope: -t.slope,
                ..*t
            })
            .collect();
        let sum = mean_sigmoid(&terms, 0.7) + mean_sigmoid(&mirrored, -0.7);
        close(sum, 1.0, 1e-13);
        let sum = mean_sigmoid_cubic(&terms, 0.7, 3.0) + mean_sigmoid_cubic(&mirrored, -0.7, 3.0);
        close(sum, 1.0, 1e-13);
    }
}

#[test]
fn the_cubic() {
    close(
        mean_sigmoid_cubic(&[term(3.5, -1.0, 2.0)], 0.6, 5.0),
        150_342_281.0 / 210_000_000.0,
        1e-14,
    );
    close(
        mean_sigmoid_cubic(&[], 1.0, 4.0),
        0.5 + 3.0 / 16.0 - 1.0 / 256.0,
        1e-15,
    );
    assert_eq!(mean_sigmoid_cubic(&[term(1.0, 6.0, 7.0)], 0.0, 5.0), 1.0);
    assert_eq!(mean_sigmoid_cubic(&[term(1.0, -7.0, -6.0)], 0.0, 5.0), 0.0);
}

/// If logits are far below 0, the amount of work does not grow with their range. Only the part near 0 contributes to the mean.
#[test]
fn logits_far_from_zero_take_bounded_work() {
    let start = std::time::Instant::now();
    for (count, bits) in [(2, 1e9), (3, 1e12), (12, 1e9)] {
        let terms = vec![term(1.0, -bits, bits); count];
        close(mean_sigmoid(&terms, 0.0), 0.5, 1e-6);
    }
    // The mean is E softplus(u) / 1e10, where u is uniform on [0, 1/2] and softplus(u) = log 2 + u / 2 + u^2 / 8 - u^4 / 192 + u^6 / 2880 - ...
    let mean = 2f64.ln() + 0.125 + 1.0 / 96.0 - 1.0 / 15_360.0 + 1.0 / 1_290_240.0;
    let terms = [term(1.0, -1e10, 0.0), term(1.0, 0.0, 0.5)];
    close(mean_sigmoid(&terms, 0.0), mean / 1e10, 1e-7);
    assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
}

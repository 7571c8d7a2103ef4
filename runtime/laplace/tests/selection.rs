//! Tests of subnetworks: scores, equal scores, weights that do not affect the outputs, positions in arrays, and the distance that the selection
//! minimises.
#![allow(clippy::unwrap_used)]

mod models;

use bnnc_laplace::select::{
    Element, TooFew, columns, diagonal_variances, highest, locate, magnitudes, random, size, wasserstein,
};
use bnnc_math::philox;
use models::{block, close, diagonal, inverse, plus_diagonal, product, regression, square_root};

/// Returns the full covariance of the weights of the regression.
fn covariance() -> Vec<f64> {
    inverse(&plus_diagonal(regression::curvature(), regression::PRECISION)).0
}

/// Returns the covariance of a subnetwork. All weights have the same prior precision.
fn subnetwork(chosen: &[usize]) -> Vec<f64> {
    inverse(&plus_diagonal(
        block(&regression::curvature(), chosen),
        regression::PRECISION,
    ))
    .0
}

#[test]
fn scores_are_variances_under_a_diagonal_precision() {
    let ggn = diagonal(&regression::curvature());
    let scores = diagonal_variances(&ggn, &[regression::PRECISION; 7], 1.0);
    let want = [
        0.13192154, 0.10408779, 0.08823636, 0.11309906, 0.12795559, 0.19102911, 0.07142857,
    ];
    for (got, want) in scores.iter().zip(want) {
        close(*got, want, 5e-9);
    }
    assert_eq!(highest(&scores, &ggn, 3), Ok(vec![0, 4, 5]));
    // A temperature of two has the same effect as half of the rows.
    let half: Vec<f64> = ggn.iter().map(|element| element / 2.0).collect();
    assert_eq!(
        diagonal_variances(&ggn, &[1.5; 7], 2.0),
        diagonal_variances(&half, &[1.5; 7], 1.0)
    );
}

#[test]
fn exact_variances_choose_other_weights_than_diagonal_ones() {
    let ggn = diagonal(&regression::curvature());
    assert_eq!(highest(&diagonal(&covariance()), &ggn, 3), Ok(vec![3, 4, 5]));
}

#[test]
fn magnitudes_ignore_signs() {
    let scores = magnitudes(&regression::WEIGHTS);
    assert_eq!(highest(&scores, &[1.0; 7], 3), Ok(vec![0, 4, 5]));
}

#[test]
fn lower_index_wins_among_equal_scores() {
    assert_eq!(highest(&[1.0; 6], &[1.0; 6], 2), Ok(vec![0, 1]));
    assert_eq!(
        highest(&[1.0, 2.0, 1.0, 2.0, 1.0], &[1.0; 5], 3),
        Ok(vec![0, 1, 3])
    );
    assert_eq!(highest(&[-0.0, 0.0], &[1.0; 2], 1), Ok(vec![0]));
}

/// A weight that does not affect the outputs has the prior variance. The prior variance is larger than all posterior variances of other weights.
#[test]
fn dead_weights_are_never_chosen() {
    let ggn = [3.0, 0.0, 1.0, -0.0, 2.0, f64::NAN];
    let scores = diagonal_variances(&ggn, &[1.0; 6], 1.0);
    assert_eq!(highest(&scores, &ggn, 2), Ok(vec![2, 4]));
    assert_eq!(highest(&scores, &ggn, 3), Ok(vec![0, 2, 4]));
    let few = TooFew {
        wanted: 4,
        alive: 3,
        parameters: 6,
    };
    assert_eq!(highest(&scores, &ggn, 4), Err(few));
    assert_eq!(
        few.to_string(),
        "a subnetwork of 4 weights was requested, but only 3 of 6 weights affect an output on the training rows"
    );
}

#[test]
fn weights_with_nan_scores_are_skipped() {
    assert_eq!(
        highest(&[f64::NAN, 1.0, f64::INFINITY], &[1.0; 3], 2),
        Ok(vec![1, 2])
    );
    assert!(highest(&[f64::NAN, 1.0], &[1.0; 2], 2).is_err());
}

#[test]
fn sizes_are_numbers_or_fractions() {
    assert_eq!(size(42.0, 100), 42);
    assert_eq!(size(1.0, 100), 1);
    assert_eq!(size(0.03, 2600), 78);
    assert_eq!(size(0.0001, 100), 1);
    // The function `size` does not limit its result. The selection rejects sizes above the number of weights.
    assert_eq!(size(101.0, 100), 101);
}

/// All weights occur equally often in random subnetworks. The counts of 40 weights over 4000 keys are within five standard deviations of the mean
/// of a binomial distribution. The same key always gives the same scores.
#[test]
fn random_subnetworks_contain_each_weight_equally_often() {
    let (parameters, wanted, keys) = (40, 10, 4000);
    let mut counts = vec![0usize; parameters];
    for seed in 0..keys {
        let scores = random(philox::key(seed, "subnetwork"), parameters);
        for d in highest(&scores, &vec![1.0; parameters], wanted).unwrap() {
            counts[d] += 1;
        }
    }
    let p = wanted as f64 / parameters as f64;
    let (mean, deviation) = (keys as f64 * p, (keys as f64 * p * (1.0 - p)).sqrt());
    assert!(
        counts
            .iter()
            .all(|count| (*count as f64 - mean).abs() < 5.0 * deviation),
        "{counts:?}"
    );
    assert_eq!(random(3, 9), random(3, 9));
}

#[test]
fn chosen_weights_are_located_in_their_arrays() {
    let at = |array, index| Element { array, index };
    let located = locate(&[0, 4, 5, 6, 11], &[5, 0, 1, 6]);
    assert_eq!(located, [at(0, 0), at(0, 4), at(2, 0), at(3, 0), at(3, 5)]);
    assert_eq!(
        columns(&located, 0),
        (vec![0, 4, 0, 0, 0], vec![1.0, 1.0, 0.0, 0.0, 0.0])
    );
    assert_eq!(
        columns(&located, 3),
        (vec![0, 0, 0, 0, 5], vec![0.0, 0.0, 0.0, 1.0, 1.0])
    );
    assert_eq!(columns(&located, 1), (vec![0; 5], vec![0.0; 5]));
    assert!(locate(&[], &[5, 2]).is_empty());
}

#[test]
fn distance_of_a_subnetwork_has_the_known_value() {
    close(
        wasserstein(&covariance(), &subnetwork(&[0, 4, 6]), &[0, 4, 6]),
        1.50967638,
        5e-9,
    );
}

/// For every subnetwork of three weights, the distance agrees with equation (22), evaluated with zero-padded matrices and iterated square roots.
#[test]
fn distance_agrees_with_zero_padded_gaussians() {
    let full = covariance();
    for chosen in (0..35).map(combination) {
        let sub = subnetwork(&chosen);
        let mut padded = vec![0.0; 49];
        for (at, element) in sub.iter().enumerate() {
            padded[chosen[at / 3] * 7 + chosen[at % 3]] = *element;
        }
        // A small variance is added so that the iterations converge. The tolerance of the comparison is larger than the square root of this
        // variance.
        let root = square_root(&plus_diagonal(padded.clone(), 1e-12));
        let inner = square_root(&product(&product(&root, &full, 7), &root, 7));
        let trace = |a: &[f64]| diagonal(a).iter().sum::<f64>();
        let want = trace(&full) + trace(&padded) - 2.0 * trace(&inner);
        close(wasserstein(&full, &sub, &chosen), want, 2e-5);
    }
}

/// Returns one of the subnetworks with three of seven weights. `at` is its index in lexicographic order.
fn combination(at: usize) -> Vec<usize> {
    let all = (0..7).flat_map(|i| (i + 1..7).flat_map(move |j| (j + 1..7).map(move |k| vec![i, j, k])));
    all.into_iter().nth(at).unwrap()
}

#[test]
fn distances_of_diagonal_gaussians_have_closed_forms() {
    let variances = [0.5, 2.0, 0.25, 1.0];
    let full: Vec<f64> = (0..16)
        .map(|at| if at % 5 == 0 { variances[at / 5] } else { 0.0 })
        .collect();
    // For the whole network, the distance is zero. For an empty network, the distance is the total variance.
    close(wasserstein(&full, &full, &[0, 1, 2, 3]), 0.0, 1e-14);
    close(wasserstein(&full, &[], &[]), 3.75, 1e-15);
    // The first value follows from equation (23). In the second case, the chosen weight has different variances in the two Gaussians, which adds
    // the distance between two one-dimensional Gaussians.
    close(wasserstein(&full, &[2.0, 0.0, 0.0, 1.0], &[1, 3]), 0.75, 1e-14);
    close(
        wasserstein(&full, &[4.5], &[1]),
        1.75 + (4.5f64.sqrt() - 2f64.sqrt()).powi(2),
        1e-14,
    );
    assert!(wasserstein(&[f64::NAN; 4], &[1.0], &[0]).is_nan());
}

/// For a diagonal posterior, the nearest of all subnetworks of three weights is the one with the highest variances (equation 23).
#[test]
fn highest_variances_give_the_nearest_subnetwork() {
    let ggn = diagonal(&regression::curvature());
    let variances = diagonal_variances(&ggn, &[regression::PRECISION; 7], 1.0);
    let best = highest(&variances, &ggn, 3).unwrap();
    let left_out = |chosen: &[usize]| -> f64 {
        let others = (0..7).filter(|at| !chosen.contains(at));
        others.map(|at| variances[at]).sum()
    };
    let nearest = (0..35)
        .map(combination)
        .min_by(|a, b| left_out(a).total_cmp(&left_out(b)));
    assert_eq!(nearest, Some(best));
}

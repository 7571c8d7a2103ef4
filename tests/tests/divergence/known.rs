//! KL divergences of single pairs agree with published numbers and with numbers that were computed
//! by hand.

use super::estimate::{BEST, DIRECT, SUMS, Subject, Table, inputs, method, states};
use super::expectation::compare;
use super::laws::radial_constant;
use super::pairs::{Expected, Family, Method, Pair, Prior, family, prior};
use super::pairwise::{Summed, evaluate};
use bnnc_core::states::StateValues;
use bnnc_math::special::{sigmoid, softplus};
use std::collections::HashMap;

#[track_caller]
fn near(found: f64, expected: f64) {
    let error = (found - expected).abs();
    assert!(
        error < 1e-8 * expected.abs().max(1.0),
        "{found} is not {expected}"
    );
}

fn pair(family: Family, prior: Prior) -> Pair {
    Pair {
        row: 0,
        family,
        prior,
        expected: Expected::Finite(Method::Direct),
    }
}

/// Runs a check for the pairs of a program.
fn each(text: &str, pairs: Vec<Pair>, mut check: impl FnMut(usize, Pair, Subject<'_>)) {
    for (at, (pair, subject)) in Table::of(text, pairs).subjects().enumerate() {
        match subject {
            Ok(subject) => check(at, pair, subject),
            Err(rejected) => panic!("{}: {}", pair.label(), rejected.text),
        }
    }
}

const NORMAL: Family = family("Normal", "loc = 0.3, scale = 0.5");
const LOGISTIC: Family = family("Logistic", "loc = 0.3, scale = 0.5");
const STANDARD_NORMAL: Prior = prior("Normal", "Normal(0, 1)", &[0.0, 1.0], "real[1]");
const STANDARD_LOGISTIC: Prior = prior("Logistic", "Logistic(0, 1)", &[0.0, 1.0], "real[1]");

/// Pairs of a family and a prior for one element, with their KL divergences.
const DIVERGENCES: [(Family, Prior, f64); 8] = [
    (NORMAL, STANDARD_NORMAL, 0.363_147_18),
    (
        NORMAL,
        prior("Laplace", "Laplace(0, 1)", &[0.0, 1.0], "real[1]"),
        0.436_028_56,
    ),
    (NORMAL, STANDARD_LOGISTIC, 0.742_370_96),
    (
        NORMAL,
        prior(
            "Mixture",
            "Mixture(0.5, Normal(0, 1), Normal(0, exp(-6)))",
            &[0.5, 0.0, 1.0, 0.0, 0.002_478_752_176_666_358_4],
            "real[1]",
        ),
        1.008_896_51,
    ),
    (LOGISTIC, STANDARD_NORMAL, 0.068_319_23),
    (LOGISTIC, STANDARD_LOGISTIC, 0.283_208_57),
    (
        family("Gamma", "shape = fixed(2), scale = 0.5"),
        prior("Chi2", "Chi2(3)", &[3.0], "positive[1]"),
        0.670_051_47,
    ),
    (
        family("InverseGamma", "shape = fixed(3), scale = 0.5"),
        prior("InverseGamma", "InverseGamma(2, 1)", &[2.0, 1.0], "positive[1]"),
        1.843_342_79,
    ),
];

#[test]
fn kl_divergences_have_the_published_numbers() {
    let pairs = DIVERGENCES
        .iter()
        .map(|(family, prior, _)| pair(*family, *prior))
        .collect();
    each("", pairs, |at, pair, mut subject| {
        let found = compare(&pair, &mut subject, BEST, |_| ()).unwrap();
        near(found.integral, DIVERGENCES[at].2);
        assert_eq!(found.fault(), None, "{}", pair.label());
    });
}

fn inverse_softplus(x: f64) -> f64 {
    x.exp_m1().ln()
}

/// Radial distributions agree with published values: the constants in several dimensions, and two
/// KL divergences for given locations and scales.
#[test]
fn radial_kl_divergences_have_the_published_numbers() {
    let constants = [
        (1, "real[1]", -1.418_938_53),
        (2, "real[2]", -1.928_487_00),
        (3, "real[3]", -1.986_452_75),
        (10, "real[10]", 1.752_098_67),
        (100, "real[100]", 148.793_272),
        (1000, "real[1000]", 2_665.878_21),
    ];
    let radial = family("Radial", "loc = 0, scale = 1");
    let on = |site| prior("Normal", "Normal(0, 1)", &[0.0, 1.0], site);
    let pairs = constants
        .iter()
        .map(|(_, site, _)| pair(radial, on(site)))
        .collect();
    each("", pairs, |at, _, mut subject| {
        let (n, _, constant) = constants[at];
        near(radial_constant(n), constant);
        let mut set = |locations: &[f64], scales: &[f64]| {
            let states: StateValues = [
                ("w/loc".to_owned(), locations.to_vec()),
                (
                    "w/scale".to_owned(),
                    scales.iter().map(|x| inverse_softplus(*x)).collect(),
                ),
            ]
            .into();
            let divergence = subject.divergence(0, BEST).unwrap();
            subject.machine(&divergence, 1, "reference").value(&states, 0)
        };
        let log_normal = 0.5 * std::f64::consts::TAU.ln() * n as f64 + 0.5;
        near(set(&vec![0.0; n], &vec![1.0; n]) - log_normal, constant);
        match n {
            2 => near(set(&[0.3, -0.2], &[0.5, 0.8]), 1.113_180_80),
            3 => near(set(&[0.1; 3], &[0.2; 3]), 5.633_676_58),
            _ => {}
        }
    });
}

/// Checks, for the given noise, that the estimate from averages over noise equals the plain mean
/// over draws. Returns the results.
fn with_noise(subject: &mut Subject<'_>, noise: &[f64]) -> HashMap<String, Summed> {
    let draws = noise.len();
    let mut evaluated = [DIRECT, SUMS].map(|way| {
        let found = subject.divergence(draws, way).unwrap();
        evaluate(&found.gradient, &inputs(&states(&found), 0), draws, Some(noise))
    });
    let [direct, sums] = &mut evaluated;
    for (name, expected) in &*direct {
        for (found, expected) in sums[name].values.iter().zip(&expected.values) {
            assert!(
                (found - expected).abs() < 1e-13,
                "{name}: {found} is not {expected}"
            );
        }
    }
    std::mem::take(sums)
}

/// The distribution `Plain` is a normal family without an entropy in closed form, so the
/// expectation of its log density is estimated too. The log density of the second distribution is a
/// square.
const DISTRIBUTIONS: &str = "
dist Plain(loc: real, scale: positive) on real {
  log_density(x) = Normal(loc, scale).log_density(x)
  draw           = Normal(loc, scale).draw
}
dist Square() on real {
  log_density(x) = x ^ 2
}
";

/// Returns the mean log prior, and its derivatives with respect to the location and the scale. The
/// mean and its derivatives are computed from a KL divergence and its gradient.
fn log_prior(results: &HashMap<String, Summed>, scale: f64) -> (f64, f64, f64) {
    let of = |name: &str| results[name].values[0];
    let entropy = scale.ln() + 1.418_938_533_204_672_7;
    let slope = sigmoid(inverse_softplus(scale));
    (
        -(of("$kl") + entropy),
        -of("w/loc"),
        -(of("w/scale") / slope + 1.0 / scale),
    )
}

/// The noise is (-1.2, 0.3, 0.7, 2), the location is 0.3, and the scale is 0.5.
#[test]
fn fixed_noise_of_a_location_and_a_scale_gives_the_known_estimate() {
    let noise = [-1.2, 0.3, 0.7, 2.0];
    let normal = prior("Normal", "Normal(0.1, 0.8)", &[0.1, 0.8], "real[1]");
    let laplace = prior("Laplace", "Laplace(0.1, 0.8)", &[0.1, 0.8], "real[1]");
    let plain = family("Plain", "loc = 0.3, scale = 0.5");
    let square = prior("Square", "Square()", &[], "real[1]");
    let pairs = vec![
        pair(NORMAL, normal),
        pair(NORMAL, laplace),
        pair(plain, normal),
        pair(NORMAL, square),
    ];
    each(DISTRIBUTIONS, pairs, |at, _, mut subject| {
        let results = with_noise(&mut subject, &noise);
        let kl = results["$kl"].values[0];
        let (mean, by_location, by_scale) = log_prior(&results, 0.5);
        match at {
            0 => {
                near(mean, -1.091_302_79);
                near(kl, 0.365_511_44);
            }
            1 => {
                near(mean, -1.251_253_63);
                near(by_location, -0.625);
                near(by_scale, -1.3125);
            }
            2 => near(kl, 0.113_011_44),
            _ => {
                near(mean, 0.601_25);
                near(by_location, 1.05);
                near(by_scale, 1.775);
            }
        }
    });
}

/// The noise is (0.2, 0.9, 1.4, 3.1), and the scale is 0.5. The same noise is used for exponential
/// and for Rayleigh variables.
#[test]
fn fixed_noise_of_a_scale_gives_the_known_estimate() {
    let noise: [f64; 4] = [0.2, 0.9, 1.4, 3.1];
    let gamma = prior("Gamma", "Gamma(2, 1)", &[2.0, 1.0], "positive[1]");
    let inverse_gaussian = prior(
        "InverseGaussian",
        "InverseGaussian(1, 1)",
        &[1.0, 1.0],
        "positive[1]",
    );
    let pairs = vec![
        pair(family("Exponential", "scale = 0.5"), gamma),
        pair(family("Rayleigh", "scale = 0.5"), inverse_gaussian),
    ];
    each("", pairs, |at, _, mut subject| {
        let results = match at {
            0 => with_noise(&mut subject, &noise.map(|xi| (-xi).exp())),
            _ => with_noise(&mut subject, &noise.map(|xi| (-0.5 * xi * xi).exp())),
        };
        let (kl, slope) = (results["$kl"].values[0], results["w/scale"].values[0]);
        let entropy = 0.5f64.ln();
        if at == 0 {
            near(-kl - entropy - 1.0, -1.454_878_20);
            let slope = slope / sigmoid(inverse_softplus(0.5));
            near(-slope - 1.0 / 0.5, 0.6);
        } else {
            let rayleigh = 1.0 - 0.5 * 2f64.ln() + 0.5 * super::laws::EULER;
            near(-kl - entropy - rayleigh, -0.923_615_60);
        }
        near(softplus(inverse_softplus(0.5)), 0.5);
    });
}

/// The Taylor series of the logarithm around one has terms of alternating signs. The location is
/// 1.1, and the scale is 0.1.
#[test]
fn the_taylor_series_of_the_logarithm_gives_the_known_estimates() {
    let noise = [-1.2, 0.3, 0.7, 2.0];
    let text = "dist Log() on real { log_density(x) = log(x) }";
    let pairs = vec![pair(
        family("Normal", "loc = 1, scale = 0.1"),
        prior("Log", "Log()", &[], "real[1]"),
    )];
    let expected = [
        (0, 0.130_345_73),
        (1, 0.145),
        (2, 0.127_975),
        (3, 0.130_816_83),
        (4, 0.130_240_52),
        (6, 0.130_339_40),
    ];
    each(text, pairs, |_, _, mut subject| {
        for (order, mean) in expected {
            subject.taylor = order;
            let found = subject.divergence(noise.len(), SUMS).unwrap();
            assert_eq!(
                method(&found) == Method::Taylor,
                order > 0,
                "{}",
                found.reports[0].kl
            );
            let mut states = states(&found);
            states.insert("w/loc".to_owned(), vec![1.1]);
            let results = evaluate(&found.gradient, &inputs(&states, 0), noise.len(), Some(&noise));
            near(log_prior(&results, 0.1).0, mean);
        }
    });
}

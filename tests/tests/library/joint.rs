//! Distributions over vectors agree with closed forms, published values and samples.

use super::probe::{ELEMENTS, Probe, SETTINGS, coordinates, module, named};
use bnnc_base::shape::Sizes;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::types::{Elem, Ty};
use std::f64::consts::PI;
use std::sync::Arc;

const DRAWS: usize = 3000;

/// Runs a check for every distribution over real vectors, at every setting of its parameters.
fn all(check: impl Fn(&Probe<'_>)) {
    let module = module("");
    let mut names = 0;
    for id in module.dists.ids() {
        let item = &module.dists[id];
        if item.elementwise || !matches!(item.on, Ty::Tensor(Elem::Real(_), _)) {
            continue;
        }
        names += 1;
        (0..SETTINGS).for_each(|setting| check(&Probe::new(&module, id, setting)));
    }
    assert!(names >= 4, "only {names} joint distributions were found");
}

fn part<'i>(instance: &'i Instance, name: &str, part: &'i Option<Arc<Function>>) -> &'i Function {
    part.as_deref()
        .unwrap_or_else(|| panic!("`{}` has no {name}", instance.name))
}

#[track_caller]
fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let close = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
    assert!(close, "{what}: {found}, expected {expected}");
}

/// Samples agree with the declared values within five standard errors. The test compares the means
/// and variances of elements, and the entropy (the mean of the negative log density).
#[test]
fn samples_have_the_moments_and_the_entropy() {
    all(|probe| {
        let instance = probe.instance(&[ELEMENTS]);
        let draw = part(&instance, "draw", &instance.draw);
        let mean = probe.call(part(&instance, "mean", &instance.mean), &[]).data;
        let variance = probe
            .call(part(&instance, "variance", &instance.variance), &[])
            .data;
        let entropy = probe
            .call(part(&instance, "entropy", &instance.entropy), &[])
            .data[0];
        let draws: Vec<Tensor> = (0..DRAWS).map(|at| probe.call(draw, &coordinates(at))).collect();
        let within = |what: &str, expected: f64, sample: &[f64]| {
            let n = sample.len() as f64;
            let average = sample.iter().sum::<f64>() / n;
            let spread = sample.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n;
            let z = (average - expected) / (spread / n).sqrt();
            assert!(
                z.abs() < 5.0,
                "{}: {what} {average}, expected {expected}: z = {z}",
                probe.label()
            );
        };
        for at in 0..ELEMENTS {
            let sample: Vec<f64> = draws.iter().map(|draw| draw.data[at]).collect();
            within("mean", mean[at], &sample);
            let squares: Vec<f64> = sample.iter().map(|x| (x - mean[at]).powi(2)).collect();
            within("variance", variance[at], &squares);
            let logs: Vec<f64> = sample.iter().map(|x| x.ln()).collect();
            if let Some(log_mean) = instance
                .log_mean
                .as_ref()
                .map(|part| probe.call(part, &[]).data[at])
            {
                within("mean of the logarithm", log_mean, &logs);
                let squares: Vec<f64> = logs.iter().map(|x| (x - log_mean).powi(2)).collect();
                let log_variance = part(&instance, "log_variance", &instance.log_variance);
                within(
                    "variance of the logarithm",
                    probe.call(log_variance, &[]).data[at],
                    &squares,
                );
            }
        }
        let surprises: Vec<f64> = draws
            .iter()
            .map(|draw| -probe.call(&instance.log_density, std::slice::from_ref(draw)).data[0])
            .collect();
        within("entropy", entropy, &surprises);
    });
}

#[test]
fn gradients_are_finite() {
    all(|probe| {
        let instance = probe.instance(&[ELEMENTS]);
        let mut names: Vec<&str> = instance.params.iter().map(|(name, _)| &**name).collect();
        names.push("x");
        let gradient = bnnc_rewrite::differentiate::gradient(&instance.log_density, "log_density", &names);
        let gradient = gradient.unwrap_or_else(|fault| panic!("{}: {fault}", probe.label()));
        let mut inputs = probe.parameters().to_vec();
        let value = match instance.support {
            Support::Simplex => vec![0.2, 1e-30, 0.8],
            _ => vec![0.4, -0.2, 1.5],
        };
        inputs.push(Tensor::new(vec![ELEMENTS], value));
        for result in evaluate(&gradient, &inputs, &Sizes::default()) {
            assert!(
                result.data.iter().all(|x| x.is_finite()),
                "{}: {result:?}",
                probe.label()
            );
        }
    });
}

/// Returns the log density of a multivariate normal distribution. Computed by elimination on the
/// dense covariance matrix.
fn normal_log_density(mut covariance: Vec<Vec<f64>>, mut offset: Vec<f64>) -> f64 {
    let n = offset.len();
    let (mut log_determinant, mut quadratic) = (0.0, 0.0);
    for k in 0..n {
        let (pivot_row, pivot) = (covariance[k].clone(), covariance[k][k]);
        log_determinant += pivot.ln();
        quadratic += offset[k] * offset[k] / pivot;
        for row in k + 1..n {
            let factor = covariance[row][k] / pivot;
            covariance[row]
                .iter_mut()
                .zip(&pivot_row)
                .for_each(|(entry, above)| *entry -= factor * above);
            offset[row] -= factor * offset[k];
        }
    }
    -0.5 * (quadratic + log_determinant + n as f64 * (2.0 * PI).ln())
}

/// The covariance matrices of the normal families are `cholesky transpose(cholesky)` and
/// `diag(scale^2) + factor transpose(factor)`.
#[test]
fn normal_densities_match_their_dense_covariance() {
    let module = module("");
    let x = [0.4, -0.2, 1.5];
    let gram = |factor: &Tensor, i: usize, j: usize| -> f64 {
        (0..factor.shape[1])
            .map(|k| factor.at(&[i, k]) * factor.at(&[j, k]))
            .sum()
    };
    for name in ["MultivariateNormal", "LowRankNormal"] {
        let probe = Probe::new(&module, named(&module, name), 1);
        let (loc, diagonal, factor) = match probe.parameters() {
            [loc, factor] => (loc, vec![0.0; ELEMENTS], factor),
            [loc, scale, factor] => (loc, scale.data.clone(), factor),
            other => panic!("{other:?}"),
        };
        let entry =
            |i: usize, j: usize| gram(factor, i, j) + if i == j { diagonal[i] * diagonal[i] } else { 0.0 };
        let covariance: Vec<Vec<f64>> = (0..ELEMENTS)
            .map(|i| (0..ELEMENTS).map(|j| entry(i, j)).collect())
            .collect();
        let offset = (0..ELEMENTS).map(|i| x[i] - loc.data[i]).collect();
        let found = probe.call(
            &probe.instance(&[ELEMENTS]).log_density,
            &[Tensor::new(vec![ELEMENTS], x.to_vec())],
        );
        near(name, found.data[0], normal_log_density(covariance, offset), 1e-12);
    }
}

/// Runs a check for the radial distribution with this location and these scales.
fn radial(loc: &[f64], scale: &[f64], check: impl Fn(&Probe<'_>, &Instance)) {
    let module = module("");
    let values = [loc, scale].map(|value| Tensor::new(vec![value.len()], value.to_vec()));
    let probe = Probe::at(&module, named(&module, "Radial"), values.to_vec());
    check(&probe, &probe.instance(&[loc.len()]));
}

fn entropy(probe: &Probe<'_>, instance: &Instance) -> f64 {
    probe.call(part(instance, "entropy", &instance.entropy), &[]).data[0]
}

/// With unit scales, the entropy of the radial distribution is minus the constant term in the
/// closed form of its KL divergence. In one dimension, it equals the entropy of the normal
/// distribution.
#[test]
fn radial_entropies_are_the_known_constants() {
    let known = [
        (1, -1.41893853),
        (2, -1.92848700),
        (3, -1.98645275),
        (10, 1.75209867),
        (100, 148.793272),
        (1000, 2665.87821),
    ];
    for (n, constant) in known {
        let check = |probe: &Probe<'_>, instance: &Instance| {
            near(&format!("C_{n}"), -entropy(probe, instance), constant, 5e-9);
        };
        radial(&vec![0.0; n], &vec![1.0; n], check);
    }
}

/// The KL divergence to the standard normal is the negative entropy minus the mean of the normal
/// log density. Only means and variances are needed to compute the mean of the normal log density.
/// The first expected value was confirmed by quadrature in polar coordinates.
#[test]
fn radial_kl_divergences_are_the_known_values() {
    let known: [(&[f64], &[f64], f64); 2] = [
        (&[0.3, -0.2], &[0.5, 0.8], 1.11318080),
        (&[0.1; 3], &[0.2; 3], 5.63367658),
    ];
    for (loc, scale, divergence) in known {
        radial(loc, scale, |probe, instance| {
            let variance = probe
                .call(part(instance, "variance", &instance.variance), &[])
                .data;
            let squares: f64 = loc.iter().zip(&variance).map(|(m, v)| m * m + v).sum();
            let expected_log_prior = -0.5 * (squares + loc.len() as f64 * (2.0 * PI).ln());
            near(
                "KL",
                -entropy(probe, instance) - expected_log_prior,
                divergence,
                5e-9,
            );
        });
    }
}

/// In one dimension, the radial distribution is normal. In two dimensions, its total probability is
/// one, computed in polar coordinates.
#[test]
fn radial_densities_have_mass_one() {
    radial(&[0.3], &[0.5], |probe, instance| {
        let found = probe
            .call(&instance.log_density, &[Tensor::new(vec![1], vec![1.1])])
            .data[0];
        near(
            "one dimension",
            found,
            -0.5 * 1.6f64.powi(2) - 0.5f64.ln() - 0.5 * (2.0 * PI).ln(),
            1e-12,
        );
    });
    radial(&[0.0; 2], &[1.0; 2], |probe, instance| {
        let rule = super::quadrature::Rule::new((0.0, 8.0), &[]);
        let density = |r: f64| {
            let x = Tensor::new(vec![2], vec![0.6 * r, 0.8 * r]);
            probe.call(&instance.log_density, &[x]).data[0].exp()
        };
        near(
            "two dimensions",
            rule.sum(|_, r| 2.0 * PI * r * density(r)),
            1.0,
            1e-9,
        );
    });
}

/// The Dirichlet distribution of three shares has the total probability one on the triangle. For
/// two shares, it is the beta distribution.
#[test]
fn dirichlet_densities_have_mass_one_and_reduce_to_the_beta() {
    let module = module("");
    let rule = super::quadrature::Rule::new((0.0, 1.0), &[]);
    let log_density = |concentration: &[f64], x: Vec<f64>| {
        let values = vec![Tensor::new(vec![concentration.len()], concentration.to_vec())];
        let probe = Probe::at(&module, named(&module, "Dirichlet"), values);
        let x = Tensor::new(vec![x.len()], x);
        let instance = probe.instance(&[concentration.len()]);
        probe.call(&instance.log_density, &[x]).data[0]
    };
    let values = vec![Tensor::new(vec![3], vec![1.7, 2.0, 3.2])];
    let probe = Probe::at(&module, named(&module, "Dirichlet"), values);
    let instance = probe.instance(&[3]);
    let at = |x: Vec<f64>| probe.call(&instance.log_density, &[Tensor::new(vec![3], x)]).data[0];
    let coarse = super::quadrature::Rule {
        points: rule.points.iter().step_by(4).copied().collect(),
        weights: rule
            .weights
            .iter()
            .step_by(4)
            .map(|weight| 4.0 * weight)
            .collect(),
    };
    let mass = coarse.sum(|_, first| {
        let rest = 1.0 - first;
        coarse.sum(|_, share| rest * at(vec![first, rest * share, rest * (1.0 - share)]).exp())
    });
    near("mass", mass, 1.0, 1e-8);
    let values = [1.9, 0.8].map(Tensor::scalar).to_vec();
    let beta = Probe::at(&module, named(&module, "Beta"), values);
    let expected = beta.log_densities(&[0.3]).unwrap_or_default()[0];
    near(
        "two shares",
        log_density(&[1.9, 0.8], vec![0.3, 0.7]),
        expected,
        1e-12,
    );
}

/// The probabilities of classes are the softmax of the logits, and the log densities are the
/// logarithms of these probabilities. The entropy follows from both.
#[test]
fn classes_have_their_probabilities() {
    let module = module("");
    let logits: [f64; 3] = [0.3, -1.2, 2.0];
    let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
    let expected = logits.map(|logit| logit.exp() / total);
    let values = vec![Tensor::new(vec![3], logits.to_vec())];
    let probe = Probe::at(&module, named(&module, "Categorical"), values);
    let instance = probe.instance(&[]);
    let found = probe
        .call(part(&instance, "probabilities", &instance.probabilities), &[])
        .data;
    for (class, probability) in expected.iter().enumerate() {
        near("probability", found[class], *probability, 1e-12);
        let log_density = probe
            .call(&instance.log_density, &[Tensor::scalar(class as f64)])
            .data[0];
        near("log density", log_density, probability.ln(), 1e-12);
    }
    near(
        "entropy",
        entropy(&probe, &instance),
        -expected.iter().map(|p| p * p.ln()).sum::<f64>(),
        1e-12,
    );
}

//! Draws from samplers of counts agree with the probability mass functions.

use super::probe::{Probe, coordinates, module, named, vector};
use bnnc_graph::tensor::Tensor;
use bnnc_hir::tree::{DistId, Module};

/// The number of draws from each distribution.
const DRAWS: usize = 20_000;

/// Returns Pearson's chi-squared statistic and its degrees of freedom. Neighbouring counts are
/// pooled so that at least ten draws are expected in each pool.
fn chi_square(draws: &[f64], log_mass: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let (mut statistic, mut bins) = (0.0, 0.0);
    let (mut seen, mut expected, mut all) = (0.0, 0.0, 0.0);
    for (count, log) in log_mass.iter().enumerate() {
        seen += draws.iter().filter(|draw| **draw == count as f64).count() as f64;
        expected += n * log.exp();
        all += log.exp();
        if expected >= 10.0 && n * (1.0 - all) >= 10.0 {
            statistic += (seen - expected).powi(2) / expected;
            bins += 1.0;
            (seen, expected) = (0.0, 0.0);
        }
    }
    let (seen, expected) = (
        seen + draws
            .iter()
            .filter(|draw| **draw >= log_mass.len() as f64)
            .count() as f64,
        expected + n * (1.0 - all).max(0.0),
    );
    statistic += (seen - expected).powi(2) / expected;
    (statistic, bins)
}

/// The tested means are on both sides of the point where the sampler changes its algorithm. One
/// mean has counts in the thousands. A correct sampler exceeds the bound of this test with a
/// probability below 1e-6.
#[test]
fn counts_are_drawn_with_their_probabilities() {
    let module = module("");
    let cases: &[(&str, &[f64])] = &[
        ("Poisson", &[-5.0]),
        ("Poisson", &[-0.4]),
        ("Poisson", &[1.6]),
        ("Poisson", &[2.4848]),
        ("Poisson", &[2.4850]),
        ("Poisson", &[4.0]),
        ("Poisson", &[7.5]),
        ("NegativeBinomial", &[0.3, 0.4]),
        ("NegativeBinomial", &[3.5, 6.0]),
    ];
    for (name, values) in cases {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let Some(draws) = probe.draws(DRAWS) else {
            panic!("{} has no sampler", probe.label());
        };
        assert!(draws.iter().all(|draw| draw.fract() == 0.0 && *draw >= 0.0));
        let most = draws.iter().copied().fold(0.0, f64::max) as usize + 2;
        let counts: Vec<f64> = (0..most).map(|count| count as f64).collect();
        let log_mass = probe.log_densities(&counts).unwrap_or_default();
        let (statistic, free) = chi_square(&draws, &log_mass);
        let bound = free + 7.0 * (2.0 * free).sqrt() + 12.0;
        assert!(statistic < bound, "{}: {statistic} of {free}", probe.label());
    }
}

/// Returns the distribution with this name that has a parameter of the given name.
fn declared(module: &Module, name: &str, parameter: &str) -> DistId {
    let mut ids = module.dists.ids();
    let found = ids.find(|id| {
        let item = &module.dists[*id];
        let mut params = item.params.iter();
        &*item.name == name && params.any(|param| &*param.param.name == parameter)
    });
    found.unwrap_or_else(|| panic!("no `{name}` with `{parameter}`"))
}

/// Returns the largest distance between two cumulative functions, times the square root of the
/// number of draws. One cumulative function is the empirical function of the draws, and the other
/// belongs to the distribution. If the sampler is correct and the distribution is continuous, the
/// result exceeds 2.8 with a probability below 4e-7 (Kolmogorov). For counts, this probability is
/// even lower.
fn kolmogorov(draws: &mut [f64], first: f64, log_mass: &[f64]) -> f64 {
    draws.sort_by(f64::total_cmp);
    let count = draws.len() as f64;
    let (mut below, mut seen, mut distance) = (0.0, 0, 0.0f64);
    for (at, log) in log_mass.iter().enumerate() {
        below += log.exp();
        seen += draws[seen..]
            .iter()
            .take_while(|draw| **draw <= first + at as f64)
            .count();
        distance = distance.max((seen as f64 / count - below).abs());
    }
    distance * count.sqrt()
}

/// The test covers every parameterisation. The rates range from close to zero to a million, on both
/// sides of the points where the samplers change their algorithms.
#[test]
fn draws_of_counts_have_their_cumulative_functions() {
    let module = module("");
    let cases: &[(&str, &str, &[f64])] = &[
        ("Poisson", "rate", &[1e-3]),
        ("Poisson", "rate", &[0.7]),
        ("Poisson", "rate", &[1e6]),
        ("Poisson", "log_rate", &[-4.0]),
        ("Poisson", "log_rate", &[13.8]),
        ("NegativeBinomial", "mean", &[0.2, 0.5]),
        ("NegativeBinomial", "mean", &[30.0, 2.0]),
        ("NegativeBinomial", "mean", &[1e4, 40.0]),
        ("NegativeBinomial", "log_mean", &[3.0, 1.5]),
        ("Bernoulli", "logit", &[-1.3]),
        ("Bernoulli", "p", &[0.97]),
        ("Binomial", "logit", &[1.0, 0.3]),
        ("Binomial", "logit", &[7.0, 2.0]),
        ("Binomial", "logit", &[40.0, -0.9]),
        ("Binomial", "logit", &[1e6, -16.0]),
        ("Binomial", "logit", &[2e6, 0.0]),
        ("Binomial", "p", &[23.0, 0.5]),
        ("Binomial", "p", &[25.0, 0.5]),
        ("Binomial", "p", &[130.0, 0.1]),
        ("Binomial", "p", &[1e5, 0.9]),
        ("Binomial", "p", &[1e6, 2e-5]),
        ("Binomial", "p", &[5.0, 0.0]),
        ("Binomial", "p", &[5.0, 1.0]),
    ];
    for (name, parameter, values) in cases {
        let tensors = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, declared(&module, name, parameter), tensors);
        let Some(mut draws) = probe.draws(DRAWS / 4) else {
            panic!("{} has no sampler", probe.label());
        };
        let moment = |part| probe.scalar(part).unwrap_or(f64::NAN);
        let (mean, sd) = (moment(|i| &i.mean), moment(|i| &i.variance).sqrt());
        let first = (mean - 9.0 * sd - 9.0).max(0.0).floor();
        let last = match *name {
            "Bernoulli" => 1.0,
            "Binomial" => values[0].min((mean + 9.0 * sd + 9.0).ceil()),
            _ => (mean + 25.0 * sd + 25.0).ceil(),
        };
        assert!(
            draws
                .iter()
                .all(|draw| draw.fract() == 0.0 && *draw >= 0.0 && *draw <= last.max(values[0]))
        );
        let points: Vec<f64> = (first as usize..=last as usize)
            .map(|count| count as f64)
            .collect();
        let log_mass = probe.log_densities(&points).unwrap_or_default();
        let found = kolmogorov(&mut draws, first, &log_mass);
        assert!(found < 2.8, "{}: {found}", probe.label());
    }
}

/// The number of draws of each class is binomial. This number must be within five standard
/// deviations of its mean.
#[test]
fn classes_are_drawn_with_their_probabilities() {
    let module = module("");
    let probabilities = [0.5, 0.0, 0.3, 0.2];
    let logits = probabilities.map(|p: f64| p.max(1e-30).ln());
    for (parameter, values) in [("logits", logits), ("probabilities", probabilities)] {
        let probe = Probe::at(
            &module,
            declared(&module, "Categorical", parameter),
            vec![vector(&values)],
        );
        let draw = probe.instance(&[]).draw.unwrap_or_else(|| panic!("no sampler"));
        let mut seen = [0.0; 4];
        for draw_number in 0..4000 {
            seen[probe.call(&draw, &coordinates(draw_number)).data[0] as usize] += 1.0;
        }
        for (seen, p) in seen.iter().zip(probabilities) {
            let bound = 5.0 * (4000.0 * p * (1.0 - p)).sqrt();
            assert!((seen - 4000.0 * p).abs() <= bound, "{parameter}: {seen} of {p}");
        }
    }
}

/// The chi-squared statistic detects a sampler whose mean is five percent too large.
#[test]
fn a_shifted_sampler_is_detected() {
    let module = module("");
    let at = |log_rate: f64| Probe::at(&module, named(&module, "Poisson"), vec![Tensor::scalar(log_rate)]);
    let draws = at(4.05).draws(DRAWS).unwrap_or_default();
    let counts: Vec<f64> = (0..120).map(f64::from).collect();
    let log_mass = at(4.0).log_densities(&counts).unwrap_or_default();
    let (statistic, free) = chi_square(&draws, &log_mass);
    assert!(
        statistic > free + 20.0 * (2.0 * free).sqrt(),
        "{statistic} of {free}"
    );
}

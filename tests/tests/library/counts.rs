//! Samplers of counts against their mass functions.

use super::probe::{Probe, module, named};
use bnnc_graph::tensor::Tensor;

/// Draws per distribution.
const DRAWS: usize = 20_000;

/// Pearson's statistic and its degrees of freedom: counts are put together until at least ten are expected.
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

/// Small and large means on both sides of where the sampler changes its way, and one where a count is one of thousands. The bound
/// is exceeded with a probability below 1e-6.
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

/// The statistic finds a sampler whose mean is five percent too large.
#[test]
fn a_shifted_sampler_is_found() {
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

//! The programs of `examples/posteriors` find the published posteriors. The programs run unchanged,
//! from the source to the draws.
//!
//! The mean of every quantity must be within four combined standard errors of the reference. The
//! test also compares our standard deviation of every quantity with the standard deviation in the
//! reference. The logarithm of their ratio must be within four standard errors of zero. This
//! standard error is `sqrt((kurtosis - 1) / 4 * (1 / ess + 1 / 10000))`. The kurtosis comes from
//! the reference, and 10000 is the number of draws of a published reference.

use super::{by_hand, exact};
use bnnc_mcmc::diagnostics::{QuantitySummary, Summariser};
use bnnc_run::InferenceOutcome;
use bnnc_tests::compile;
use serde_json::Value;
use std::path::PathBuf;

/// The largest allowed difference from the reference, in standard errors.
const BOUND: f64 = 4.0;

/// The number of draws of each published posterior.
const PUBLISHED: f64 = 10_000.0;

/// The reference values for one quantity.
pub struct Reference {
    /// The name of the quantity. Elements are numbered as in the language: the first element is
    /// `beta[0]`.
    pub name: String,
    pub mean: f64,
    pub sd: f64,
    /// The standard error of the reference mean; zero if the mean is exact.
    pub mcse_mean: f64,
    /// The value `(kurtosis - 1) / 4` of the reference.
    pub spread: f64,
    /// One divided by the number of reference draws; zero if the reference is exact.
    pub per_draw: f64,
}

fn folder() -> PathBuf {
    bnnc_tests::root().join("examples/posteriors")
}

fn data(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(format!("data/{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Reads the reference values from `reference/NAME.csv`.
fn published(name: &str) -> Vec<Reference> {
    let text = std::fs::read_to_string(folder().join(format!("reference/{name}.csv"))).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |cells: &[&str], name: &str| -> Option<f64> {
        let at = head.iter().position(|column| *column == name)?;
        Some(cells[at].parse().unwrap())
    };
    let reference = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let of = |name| column(&cells, name);
        let (mean, sd) = (of("mean").unwrap(), of("sd").unwrap());
        // An exact reference does not have these columns. The posterior is then close to a normal
        // distribution, so the kurtosis is taken as three.
        let spread = of("mcse_sd")
            .zip(of("ess_bulk"))
            .map_or(0.5, |(error, size)| (error / sd).powi(2) * size.min(PUBLISHED));
        Reference {
            name: numbered(cells[0]),
            mean,
            sd,
            mcse_mean: of("mcse_mean").unwrap_or(0.0),
            spread,
            per_draw: if of("mcse_mean").is_some() {
                1.0 / PUBLISHED
            } else {
                0.0
            },
        }
    };
    lines.map(reference).collect()
}

/// Converts a name with indices from 1 to the name in the language: `beta[1]` becomes `beta[0]`.
fn numbered(name: &str) -> String {
    match name.split_once('[') {
        Some((site, rest)) => {
            let at: usize = rest.trim_end_matches(']').parse().unwrap();
            format!("{site}[{}]", at - 1)
        }
        None => name.to_owned(),
    }
}

/// Runs a program. The function `edit` may change the text of the program first.
fn outcomes(name: &str, edit: impl Fn(String) -> String) -> Vec<(String, InferenceOutcome)> {
    let path = folder().join(format!("{name}.bnn"));
    let text = edit(std::fs::read_to_string(&path).unwrap());
    let compiled = compile::text(&path, &text, &compile::options("cranelift", None));
    let result = compile::run(&compiled.manifest, 2);
    let names = compiled.manifest.infers.iter().map(|infer| infer.name.clone());
    names.zip(result.outcomes).collect()
}

/// Returns the summary of a quantity, computed from its draws in all chains.
fn summary(outcome: &InferenceOutcome, name: &str) -> QuantitySummary {
    let found = outcome.quantities.iter().find(|quantity| quantity.name == name);
    let quantity = found.unwrap_or_else(|| panic!("no `{name}`"));
    let chains: Vec<&[f64]> = quantity.chains.iter().map(Vec::as_slice).collect();
    Summariser::default().summary(&chains)
}

fn divergences(outcome: &InferenceOutcome) -> f64 {
    let split = outcome.splits.last().unwrap();
    let sampled = split.found.sampled().unwrap();
    let diverging = sampled.stat("diverging").unwrap().unwrap();
    diverging.iter().flatten().sum()
}

/// Returns the differences from the reference that are too large, as one sentence each.
fn differences(outcome: &InferenceOutcome, references: &[Reference]) -> Vec<String> {
    let mut faults = Vec::new();
    for reference in references {
        let found = summary(outcome, &reference.name);
        let error = reference.mcse_mean.hypot(found.mcse_mean);
        let z = (found.mean - reference.mean) / error;
        if z.is_nan() || z.abs() > BOUND {
            faults.push(format!(
                "{}: the mean is {z:.1} standard errors off",
                reference.name
            ));
        }
        // If draws alternate around the mean, they determine the mean better than the spread. The
        // smaller of the bulk and tail ESS is therefore used.
        let size = found.ess_bulk.min(found.ess_tail);
        let error = (reference.spread * (1.0 / size + reference.per_draw)).sqrt();
        let z = (found.sd / reference.sd).ln() / error;
        if z.is_nan() || z.abs() > BOUND {
            faults.push(format!(
                "{}: the sd is {z:.1} standard errors off",
                reference.name
            ));
        }
        if found.rhat.is_nan() || found.rhat >= 1.01 {
            faults.push(format!("{}: R-hat is {:.4}", reference.name, found.rhat));
        }
    }
    faults
}

/// Checks the inference block `gold` of a program. The inference block must find the posterior of
/// every list of references, without divergent transitions.
fn check(name: &str, references: &[Vec<Reference>]) {
    let outcomes = outcomes(name, |text| text);
    let (_, gold) = outcomes.iter().find(|(infer, _)| infer == "gold").unwrap();
    let mut faults: Vec<String> = references
        .iter()
        .flat_map(|references| differences(gold, references))
        .collect();
    if divergences(gold) > 0.0 {
        faults.push(format!("{} divergences", divergences(gold)));
    }
    assert!(faults.is_empty(), "{name}\n{}", faults.join("\n"));
}

#[test]
fn autoregression() {
    check("ar5", &[published("ar5")]);
}

#[test]
fn independent_coefficients() {
    check("blr-independent", &[published("blr-independent")]);
}

#[test]
fn eight_schools() {
    check("eight-schools", &[published("eight-schools")]);
}

/// For every prior of the noise, the posterior of the coefficients is symmetric around the
/// least-squares solution. This solution is therefore the exact posterior mean.
#[test]
fn kidscore() {
    let data = data("kidscore-momiq");
    let mut exact = exact::posterior(&by_hand::kidscore_cases(&data));
    exact.truncate(2);
    let published = published("kidscore-momiq");
    for (exact, published) in exact.iter_mut().zip(&published) {
        // The posterior spread depends on the prior of the noise, so the published spread is used
        // for it.
        (exact.sd, exact.spread, exact.per_draw) = (published.sd, published.spread, published.per_draw);
    }
    check("kidscore-momiq", &[published, exact]);
}

#[test]
fn earnings() {
    let exact = exact::posterior(&by_hand::earnings_cases(&data("log-earnings")));
    check("log-earnings", &[published("log-earnings"), exact]);
}

#[test]
fn mesquite() {
    let exact = exact::posterior(&by_hand::mesquite_cases(&data("log-mesquite")));
    check("log-mesquite", &[published("log-mesquite"), exact]);
}

#[test]
fn votes() {
    let mut references = published("nes-logit");
    for reference in &mut references {
        // The published draws number the coefficients. The program names them after their columns
        // instead.
        if reference.name == "beta[0]" {
            reference.name = "beta[income]".to_owned();
        }
    }
    check("nes-logit", &[references]);
}

/// In the centred parameterisation, the sampler does not reach the neck of the funnel, and reports
/// divergent transitions. In the non-centred parameterisation, which the compiler generates, the
/// sampler reaches the neck without divergent transitions.
#[test]
fn eight_schools_centred() {
    check("eight-schools-centred", &[published("eight-schools")]);
    let outcomes = outcomes("eight-schools-centred", |text| text);
    let (_, centred) = outcomes.iter().find(|(infer, _)| infer == "centred").unwrap();
    assert!(divergences(centred) > 0.0);
}

/// The test is strict enough: it fails if the prior of tau has half the width of the published
/// prior.
#[test]
fn another_prior_is_distinguished() {
    let edit = |text: String| {
        let edited = text.replace("Cauchy(0, 5)", "Cauchy(0, 2.5)");
        assert_ne!(edited, text);
        edited
    };
    let outcomes = outcomes("eight-schools", edit);
    assert!(!differences(&outcomes[0].1, &published("eight-schools")).is_empty());
}

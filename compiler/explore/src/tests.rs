//! Compares the values of the explorer with closed forms and with independently computed numbers.

use super::chosen::{ChosenDistribution, DistributionRole};
use super::exact::exact;
use super::families::{Family, families};
use super::{Question, Way, examine, program};

fn all() -> Vec<Family> {
    families(&program::library())
}

fn question(posterior: &str, prior: &str) -> Question {
    let all = all();
    Question {
        posterior: ChosenDistribution::read(posterior, DistributionRole::Posterior, &all).expect("a family"),
        prior: ChosenDistribution::read(prior, DistributionRole::Prior, &all).expect("a prior"),
        weights: 1,
        taylor: 0,
        draws: 2,
        seed: 0,
    }
}

fn rejected(text: &str, role: DistributionRole) -> String {
    ChosenDistribution::read(text, role, &all())
        .expect_err("it is refused")
        .to_string()
}

/// The expected values have three sources: closed forms for normal distributions, the mean of the
/// folded normal distribution for the Laplace distribution, and an independent quadrature for all
/// other distributions.
#[test]
fn quadrature_finds_known_divergences() {
    let cases = [
        ("Normal(0.3, 0.5)", "Normal(0, 1)", 0.36314718),
        ("Normal(0.3, 0.5)", "Laplace(0, 1)", 0.43602856),
        ("Normal(0.3, 0.5)", "Logistic(0, 1)", 0.74237096),
        ("Logistic(0.3, 0.5)", "Normal(0, 1)", 0.06831923),
        ("Logistic(0.3, 0.5)", "Logistic(0, 1)", 0.28320857),
        (
            "Normal(0.3, 0.5)",
            "Mixture(0.5, Normal(0, 1), Normal(0, 0.0024787521766663585))",
            1.00889651,
        ),
        // The exponential of a normal variate is log-normal, so both lines have the same
        // divergence.
        ("Normal(0.3, 0.5)", "LogNormal(0, 1)", 0.36314718),
        ("LogNormal(0.3, 0.5)", "LogNormal(0, 1)", 0.36314718),
    ];
    for (posterior, prior, want) in cases {
        let found = exact(&question(posterior, prior)).expect("it compiles");
        let found = found.value.expect("it is finite");
        assert!(
            (found - want).abs() < 1e-8,
            "{posterior} to {prior}: {found} is not {want}"
        );
    }
}

#[test]
fn an_infinite_divergence_has_no_value() {
    let found = exact(&question("Cauchy(0, 1)", "Laplace(0, 1)")).expect("the densities exist");
    assert_eq!(found.value, None);
}

/// The explorer derives the available distributions from the library.
#[test]
fn every_family_is_offered_with_its_requirements() {
    let all = all();
    let named = |name: &str| all.iter().find(|family| family.name == name);
    for name in ["Normal", "Laplace", "Exponential", "LogNormal"] {
        let family = named(name).expect("it is offered");
        assert!(family.approximates && family.is_prior, "{family:?}");
    }
    let mixture = named("Mixture").expect("it is a prior");
    assert!(!mixture.approximates && mixture.is_prior);
    for joint in ["Radial", "MultivariateNormal", "Point", "Bernoulli"] {
        assert_eq!(named(joint), None, "{joint}");
    }
    for family in &all {
        let written = ChosenDistribution::of(family).to_string();
        assert_eq!(
            ChosenDistribution::read(&written, DistributionRole::Prior, &all).as_ref(),
            Ok(&ChosenDistribution::of(family))
        );
    }
}

#[test]
fn every_default_of_a_family_compiles_or_gives_an_error() {
    let all = all();
    for family in all.iter().filter(|family| family.approximates) {
        let written = ChosenDistribution::of(family).to_string();
        match examine(&question(&written, "Normal(0, 1)"), Way::Direct) {
            Ok(examined) => assert!(examined.drawing.gradient_nodes() > 0, "{written}"),
            Err(error) => assert!(error.to_string().contains("error"), "{written}: {error}"),
        }
    }
}

#[test]
fn texts_that_are_not_library_distributions_are_rejected() {
    for text in [
        "",
        "1",
        "Normal",
        "Normal(",
        "sum(i for i in 0..9)",
        "Nobody(1)",
        "f.g(1)",
    ] {
        assert!(!rejected(text, DistributionRole::Prior).is_empty(), "{text}");
    }
    assert!(rejected("Normal(wide = 1)", DistributionRole::Prior).contains("loc, scale"));
    assert!(rejected("Normal(0, 1, 2)", DistributionRole::Prior).contains("loc, scale"));
    assert!(rejected("Normal(0, -1)", DistributionRole::Prior).contains("`scale: positive` cannot be -1"));
    assert!(!rejected("Normal(0, 1e999)", DistributionRole::Prior).is_empty());
    assert!(rejected("Normal(0, fixed(1))", DistributionRole::Prior).contains("must be a number"));
    assert!(
        rejected("Mixture(0.5, Normal(0, 1), 3)", DistributionRole::Prior)
            .contains("expected a distribution")
    );
    assert!(rejected("Mixture()", DistributionRole::Posterior).contains("no posterior family"));
    let deep = "Mixture(0.5, Mixture(0.5, Mixture(0.5, Mixture(), Normal()), Normal()), Normal())";
    assert!(rejected(deep, DistributionRole::Prior).contains("there is no prior"));
    assert!(
        rejected(&format!("Normal({})", "0".repeat(2000)), DistributionRole::Prior).contains("characters")
    );
}

#[test]
fn programs_contain_the_options_of_the_question() {
    let mut question = question("Normal(0.3, fixed(0.5))", "Exponential(2)");
    question.weights = 3;
    let text = program::text(&question, Way::Sums);
    for part in [
        "w: positive[3] ~ Exponential(scale = 2)",
        "w ~ Normal(loc = 0.3, scale = fixed(0.5))",
        "kl = monte_carlo, statistics = sums",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let source = bnnc_base::source::SourceMap::default().add("program", &text);
    assert_eq!(bnnc_grammar::print::format(&source), Ok(text));
}

/// Fixed parameters do not need gradients.
#[test]
fn gradients_flow_only_to_optimised_parameters() {
    let gradients = |posterior: &str| {
        let examined = examine(&question(posterior, "Laplace(0, 1)"), Way::Direct);
        examined.expect("it compiles").drawing
    };
    let (free, held) = (
        gradients("Normal(0.3, 0.5)"),
        gradients("Normal(0.3, fixed(0.5))"),
    );
    assert!(held.gradient_nodes() < free.gradient_nodes());
    // Before the rewrite, every draw adds numbers that the gradient computation keeps. The noise
    // itself does not have a gradient.
    assert!(free.gradient_numbers(1001) - free.gradient_numbers(1) >= 3000);
    assert!(
        free.nodes
            .iter()
            .any(|node| node.name == "noise" && !node.gradient)
    );
}

/// After the rewrite, the number of elements with gradients does not depend on the number of draws.
#[test]
fn after_the_rewrite_draws_need_no_gradients() {
    for prior in ["Laplace(0, 1)", "Normal(0, 1)"] {
        let examined = examine(&question("Normal(0.3, 0.5)", prior), Way::Sums).expect("it compiles");
        let drawing = examined.drawing;
        assert!(examined.sampled && drawing.gradient_nodes() > 0);
        assert_eq!(
            drawing.gradient_numbers(1),
            drawing.gradient_numbers(1_000_000),
            "{prior}"
        );
    }
    let examined = examine(&question("Normal(0.3, 0.5)", "Normal(0, 1)"), Way::Best).expect("it compiles");
    assert!(!examined.sampled);
}

#[test]
fn an_infinite_divergence_is_reported_as_on_the_command_line() {
    let reported = examine(&question("Gamma(2, 1)", "Beta(1, 1)"), Way::Best);
    let reported = reported.expect_err("it is refused").to_string();
    assert!(reported.contains("error[E03"), "{reported}");
}

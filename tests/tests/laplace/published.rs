//! The published digits of small models: a network in every form, subnetworks, and classes.

use crate::setup::{
    FULL, TANH, approximated, close, column, compiled, folder, network, outcome, safetensors, variances,
};
use bnnc_tests::compile;

#[test]
fn every_form_has_the_published_digits() {
    let folder = network("forms");
    let forms = [
        ("full", "structure = full"),
        ("diagonal", "structure = diagonal"),
        ("last", "over = [w2, b2]"),
        ("functional", "structure = functional"),
        ("low", "structure = low_rank(3)"),
        ("kronecker", "structure = kronecker"),
    ];
    let infers: String = forms
        .iter()
        .map(|(name, option)| {
            format!(
                "infer {name} = laplace(Net, rows) {{ {option}, start = safetensors(\"w.safetensors\") }}\n"
            )
        })
        .collect();
    let result = compile::run(&compiled(&folder, &format!("{TANH}{infers}")).manifest, 2);
    close(&variances(&result, "full"), &FULL, 1e-8);
    close(&variances(&result, "functional"), &FULL, 1e-8);
    // The matrix that three rows contribute has at most three nonzero eigenvalues, so the low-rank
    // form is exact.
    close(&variances(&result, "low"), &FULL, 1e-8);
    close(
        &variances(&result, "diagonal"),
        &[0.379_207_35, 0.452_623_43, 0.409_440_98],
        1e-8,
    );
    close(
        &variances(&result, "last"),
        &[0.081_949_64, 0.105_265_22, 0.207_827_31],
        1e-8,
    );
    for (name, evidence) in [
        ("full", -8.668_151_67),
        ("functional", -8.668_151_67),
        ("low", -8.668_151_67),
        ("diagonal", -10.952_379_87),
    ] {
        let facts = &approximated(&result, name).members[0].facts;
        close(&[facts.log_marginal_likelihood.unwrap()], &[evidence], 1e-7);
        close(&[facts.log_likelihood], &[-1.475_517_67], 1e-8);
        assert_eq!((facts.weights, facts.parameters, facts.clipped), (7, 7, 0));
    }
    // The standard deviation of the noise is reported in a separate column. The variance of the
    // output and the variance of the noise add up to the variance of the prediction.
    let full = outcome(&result, "full");
    close(column(full, "sd_aleatoric"), &[0.5; 3], 1e-12);
    let total: Vec<f64> = FULL.iter().map(|variance| (variance + 0.25).sqrt()).collect();
    close(column(full, "sd"), &total, 1e-8);
    // The quantiles are computed from the Normal distribution, not from a finite number of draws.
    let normal = column(full, "mean").iter().zip(&total);
    let far: Vec<f64> = normal.map(|(mean, sd)| mean + 1.644_853_627 * sd).collect();
    close(column(full, "q95"), &far, 1e-8);
    close(column(full, "q50"), column(full, "mean"), 1e-9);
    let f = |x: f64| 1.5 * (0.8 * x + 0.1).tanh() - (-0.5 * x + 0.2).tanh() + 0.3;
    close(column(full, "mean"), &[f(0.0), f(1.0), f(3.0)], 1e-9);
    // The targets are 0, so the log density of a target has a simple closed form.
    let density = |(x, variance): (f64, f64)| {
        -0.5 * (std::f64::consts::TAU * (variance + 0.25)).ln() - 0.5 * f(x).powi(2) / (variance + 0.25)
    };
    let mean = [0.0, 1.0, 3.0].into_iter().zip(FULL).map(density).sum::<f64>() / 3.0;
    let metrics = &full.splits[0].metrics;
    let found = metrics
        .iter()
        .find(|(name, _)| name == "log_likelihood")
        .unwrap()
        .1;
    close(&[found], &[mean], 1e-8);
}

#[test]
fn subnetworks_have_the_published_digits() {
    let folder = network("subnetworks");
    let forms = [
        ("chosen", "over = subnetwork(3)"),
        ("unscaled", "over = subnetwork(3), scale_prior = false"),
        ("exact", "over = subnetwork(3, by = marginal)"),
        ("large", "over = subnetwork(3, by = magnitude)"),
        ("any", "over = subnetwork(0.43, by = random)"),
        (
            "squares",
            "over = subnetwork(3), structure = diagonal, scale_prior = false",
        ),
        (
            "tuned",
            "over = subnetwork(3, by = marginal), prior_precision = marginal_likelihood",
        ),
    ];
    let infers: String = forms
        .iter()
        .map(|(name, option)| {
            format!(
                "infer {name} = laplace(Net, rows) {{ {option}, start = safetensors(\"w.safetensors\") }}\n"
            )
        })
        .collect();
    let result = compile::run(&compiled(&folder, &format!("{TANH}{infers}")).manifest, 2);
    let index = |name: &str| approximated(&result, name).members[0].index.clone().unwrap();
    assert_eq!(index("chosen"), [0, 4, 5]);
    assert_eq!(index("unscaled"), [0, 4, 5]);
    assert_eq!(index("exact"), [3, 4, 5]);
    assert_eq!(index("large"), [0, 4, 5]);
    assert_eq!(index("any").len(), 3);
    let facts = &approximated(&result, "chosen").members[0].facts;
    assert_eq!((facts.weights, facts.parameters), (3, 7));
    close(&[facts.prior_scale], &[3.0 / 7.0], 1e-15);
    // Under the same prior, the output variance of a subnetwork is at most the output variance of
    // the whole network, by the Schur complement.
    for (small, all) in variances(&result, "unscaled").iter().zip(FULL) {
        assert!(*small <= all, "{small} {all}");
    }
    let distance = approximated(&result, "exact").members[0]
        .facts
        .wasserstein
        .unwrap();
    assert!(distance > 0.0 && distance < 10.0, "{distance}");
    // The prior factor is tuned for the subnetwork but not for the whole network, so the two
    // Gaussians are not compared.
    assert_eq!(approximated(&result, "tuned").members[0].facts.wasserstein, None);
}

/// The approximation of a softmax model with three classes and four rows agrees with the published
/// results.
#[test]
fn classes_have_the_published_digits() {
    let folder = folder(
        "softmax",
        &[
            ("rows.csv", "u,v,y\n1,0,0\n0,1,1\n1,1,2\n-1,0.5,0\n".to_owned()),
            ("new.csv", "u,v,y\n2,-1,0\n".to_owned()),
        ],
    );
    let w = [1.0, -0.5, 0.2, 0.4, -0.6, 0.3];
    safetensors(&folder.join("w.safetensors"), &[("w", &[3, 2], &w)]);
    let forms = [
        ("glm", "link = glm"),
        ("fisher", "link = probit, curvature = fisher"),
        ("bridge", "link = bridge"),
        ("normalised", "link = bridge_normalised"),
        ("drawn", "link = monte_carlo, predictive_draws = 20000"),
        ("weights", "link = weights, predictive_draws = 20000"),
        ("factored", "structure = kronecker"),
        ("other", "structure = diagonal"),
    ];
    let infers: String = forms
        .iter()
        .map(|(name, option)| format!("infer {name} = laplace(Softmax, rows) {{ {option}, start = safetensors(\"w.safetensors\") }}\n"))
        .collect();
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ target = y, test = csv(\"new.csv\") }}
model Softmax(x: real[2]) -> y: index(3) {{
  w: real[3, 2] ~ Normal(0, 1)
  y ~ Categorical(w @ x)
}}
{infers}"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 2);
    let of = |infer: &str| ["p0", "p1", "p2"].map(|name| column(outcome(&result, infer), name)[0]);
    close(&of("glm"), &[0.777_208_31, 0.161_131_48, 0.061_660_21], 1e-8);
    let exact = [0.746_192_07, 0.185_797_15, 0.068_010_79];
    // The standard deviation of a probability is at most one half.
    close(&of("drawn"), &exact, 4.0 * 0.35 / 20000f64.sqrt());
    close(&of("weights"), &exact, 4.0 * 0.35 / 20000f64.sqrt());
    for (name, _) in forms {
        let sum: f64 = of(name).iter().sum();
        close(&[sum], &[1.0], 1e-6);
    }
    let metrics = &outcome(&result, "glm").splits[0].metrics;
    let nll = metrics.iter().find(|(name, _)| name == "nll").unwrap().1;
    close(&[nll], &[-0.777_208_31f64.ln()], 1e-8);
}

/// In a linear model with one output, the Kronecker product is the whole matrix.
#[test]
fn factors_of_a_linear_layer_are_exact() {
    let rows = "u,v,w,y\n1,0.5,-0.3,1\n0.2,-1,0.7,0\n-0.4,0.1,1.1,2\n0.9,0.8,0.6,1\n";
    let folder = folder("linear", &[("rows.csv", rows.to_owned())]);
    let text = "
data rows = csv(\"rows.csv\") { target = y }
model Linear(x: real[3]) -> y: real {
  w: real[1, 3] ~ Normal(0, 1)
  y ~ Normal((w @ x)[0], 0.4)
}
infer all = laplace(Linear, rows) { epochs = 10 }
infer factored = laplace(Linear, rows) { start = all, structure = kronecker }
";
    let result = compile::run(&compiled(&folder, text).manifest, 1);
    close(&variances(&result, "all"), &variances(&result, "factored"), 1e-9);
}

//! Factors that apply to a part of the weights, and tunings that conflict.

use crate::setup::{
    SEARCH, approximated, close, combined, compiled, factors, folder, log_normal, maximum, normals,
};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_tests::compile;
use std::path::Path;

/// Returns the first diagnostic of a program that does not compile.
fn rejected(folder: &Path, text: &str) -> Diagnostic {
    compile::rejected(&folder.join("p.bnn"), text)
}

/// At the maximum, weights in `over` have the prior with the tuned factor. All other weights have
/// the prior of the model.
#[test]
fn factors_apply_only_to_the_approximated_weights() {
    let x = normals(0);
    let y: Vec<f64> = combined(&[(0.8, &x), (0.3, &normals(9))])
        .iter()
        .map(|y| y + 1.1)
        .collect();
    let folder = folder("chosen", &[("x", &x), ("y", &y)]);
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 0.4)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.3)
}}
infer l = laplace(Line, rows) {{ {SEARCH}, over = [b] }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let best = maximum(&[0.0, 0.0], |at| {
        let rest: Vec<f64> = y.iter().map(|y| y - at[1]).collect();
        log_normal(&rest, 0.09, &[((-at[0]).exp(), &x)]) - 0.5 * (at[1] / 0.4).powi(2)
    });
    let place = [
        factors(&result, "l")[0].ln(),
        approximated(&result, "l").values["a/loc"][0],
    ];
    close(&place, &best, 1e-3);
}

/// A weight of a subnetwork has the prior factor of its site.
#[test]
fn weights_of_a_subnetwork_have_the_factors_of_their_sites() {
    let x: Vec<Vec<f64>> = (0..2).map(normals).collect();
    let y = combined(&[(1.3, &x[0]), (-0.6, &x[1]), (0.3, &normals(9))]);
    let folder = folder("subnetwork", &[("u", &x[0]), ("v", &x[1]), ("y", &y)]);
    let infer = |structure: &str| {
        format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(u: real, v: real) -> y: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a * u + b * v, 0.3)
}}
infer l = laplace(Line, rows) {{ {SEARCH}, over = subnetwork(1, by = magnitude), scale_prior = false, prior_structure = {structure} }}
"
        )
    };
    for structure in ["layer", "diagonal"] {
        let result = compile::run(&compiled(&folder, &infer(structure)).manifest, 1);
        let found = approximated(&result, "l");
        assert_eq!(found.members[0].index, Some(vec![0]));
        // The weight outside the subnetwork keeps the prior of the model.
        let best = maximum(&[0.0, 0.0], |at| {
            let rest = combined(&[(1.0, &y), (-at[1], &x[1])]);
            log_normal(&rest, 0.09, &[((-at[0]).exp(), &x[0])]) - 0.5 * at[1] * at[1]
        });
        let place = [factors(&result, "l")[0].ln(), found.values["b/loc"][0]];
        close(&place, &best, 1e-3);
    }
}

/// Two kinds of programs are rejected, and the error gives the reason. Programs of the first kind
/// would tune a parameter twice. In programs of the second kind, the prior does not have a
/// normalising constant.
#[test]
fn conflicting_tunings_are_rejected_with_the_reason() {
    let folder = folder("refused", &[("x", &normals(0)), ("y", &normals(1))]);
    let of = |prior: &str, noise: &str, options: &str| {
        format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  tau: positive ~ HalfNormal(1)
  a ~ Normal(0, {prior})
  y ~ Normal(a * x, {noise})
}}
infer l = laplace(Line, rows) {{ epochs = 2, online = true{options} }}
"
        )
    };
    for (prior, noise, options, reported) in [
        ("tau", "1", "", "depends on the free parameter `tau`"),
        ("tau", "tau", "", "depends on the free parameter `tau`"),
        ("1", "tau", ", temperature = 2", "no normaliser"),
        (
            "1",
            "tau",
            ", prior_precision = 2",
            "already tunes the factor on the prior",
        ),
    ] {
        let found = rejected(&folder, &of(prior, noise, options));
        assert_eq!(found.code.id, "E0614", "{found:?}");
        assert!(found.message.contains(reported), "{}", found.message);
        assert!(!found.help.is_empty());
    }
}

//! Factors on the prior that maximise the marginal likelihood or the likelihood of validation rows.

use crate::setup::{
    LINE, POINTS, approximated, close, compiled, design, folder, inverse, outcome, safetensors, stopped,
};
use bnnc_tests::compile;

/// If the prior factors maximise the marginal likelihood, each group of weights satisfies an
/// equation. The effective number of parameters of the group equals the factor of the group times
/// the sum of the squared weights (MacKay 1992).
#[test]
fn factors_on_the_prior_maximise_the_marginal_likelihood() {
    let folder = folder("factors", &[("rows.csv", POINTS.to_owned())]);
    let text = format!(
        "{LINE}
infer fit = map(Line, rows) {{ epochs = 3000, batch = 0, optimiser = Adam(1e-2), schedule = cosine, precision = f64 }}
infer one = laplace(Line, rows) {{ start = fit, prior_precision = marginal_likelihood }}
infer each = laplace(Line, rows) {{ start = fit, prior_precision = marginal_likelihood, prior_structure = layer }}
infer given = laplace(Line, rows) {{ start = fit, prior_precision = 3 }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 2);
    let found = approximated(&result, "one");
    let (a, b) = (found.values["a/loc"][0], found.values["b/loc"][0]);
    let sum = |of: &dyn Fn(f64) -> f64| design().iter().map(|(x, _)| of(*x)).sum::<f64>() / 0.09;
    let curvature = [sum(&|_| 1.0), sum(&|x| x), sum(&|x| x * x)];
    let posterior = |[s, t]: [f64; 2]| inverse([curvature[0] + s, curvature[1], curvature[2] + t]);
    let factors = |name: &str| {
        approximated(&result, name).members[0]
            .facts
            .prior_precision
            .clone()
    };
    let scalar = factors("one")[0].1;
    let [aa, _, bb] = posterior([scalar; 2]);
    close(&[2.0 - scalar * (aa + bb)], &[scalar * (a * a + b * b)], 1e-6);
    let [(first, s), (second, t)] = &factors("each")[..] else {
        panic!()
    };
    assert_eq!((first.as_str(), second.as_str()), ("a", "b"));
    let [aa, _, bb] = posterior([*s, *t]);
    close(&[1.0 - s * aa, 1.0 - t * bb], &[s * a * a, t * b * b], 1e-5);
    let sites = &outcome(&result, "given").sites;
    let [aa, _, bb] = posterior([3.0; 2]);
    let variances: Vec<f64> = sites.iter().map(|site| site.elements[0].sd.powi(2)).collect();
    close(&variances, &[aa, bb], 1e-10);
}

/// The model is conjugate. A factor that is tuned during the search maximises the exact marginal
/// likelihood.
#[test]
fn online_tuning_maximises_the_marginal_likelihood() {
    let folder = folder("online", &[("rows.csv", POINTS.to_owned())]);
    let text = format!(
        "{LINE}infer l = laplace(Line, rows) {{ epochs = 4000, batch = 0, optimiser = Adam(1e-2), schedule = cosine, online = true }}\n"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let facts = &approximated(&result, "l").members[0].facts;
    let sum = |of: &dyn Fn(f64, f64) -> f64| design().iter().map(|(x, y)| of(*x, *y)).sum::<f64>() / 0.09;
    let (n, sx, sxx) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|x, _| x * x));
    let (sy, sxy, syy) = (sum(&|_, y| y), sum(&|x, y| x * y), sum(&|_, y| y * y));
    // Returns the log evidence of a linear model. Terms that do not depend on the factor are left
    // out.
    let evidence = |t: f64| {
        let [aa, ab, bb] = inverse([n + t, sx, sxx + t]);
        let quadratic = aa * sy * sy + 2.0 * ab * sy * sxy + bb * sxy * sxy;
        0.5 * (aa * bb - ab * ab).ln() + t.ln() + 0.5 * (quadratic - syy)
    };
    let found = facts.prior_precision[0].1;
    let best = evidence(found);
    for factor in [0.9, 1.1] {
        assert!(evidence(found * factor) < best, "{found} {factor}");
    }
    let constant = -4.0 * (std::f64::consts::TAU * 0.09).ln();
    close(
        &[facts.log_marginal_likelihood.unwrap()],
        &[best + constant],
        1e-4,
    );
}

#[test]
fn validation_rows_choose_the_factor() {
    let rows: String = (0..40)
        .map(|at| format!("{},{}\n", at as f64 / 10.0 - 2.0, (at * 7 % 11) as f64 / 5.0))
        .collect();
    let folder = folder("validation", &[("rows.csv", format!("x,y\n{rows}"))]);
    let text = "
data rows = csv(\"rows.csv\") { target = y, validation = 0.4 }
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.6)
}
infer l = laplace(Line, rows) { epochs = 2000, batch = 0, optimiser = Adam(1e-2), prior_precision = validation }
";
    let compiled = compiled(&folder, text);
    let result = compile::run(&compiled.manifest, 1);
    let found = approximated(&result, "l");
    let (a, b) = (found.values["a/loc"][0], found.values["b/loc"][0]);
    let dataset = compiled.dataset("rows");
    let sum =
        |of: &dyn Fn(f64) -> f64| dataset.train.inputs.reals().iter().map(|x| of(*x)).sum::<f64>() / 0.36;
    let score = |t: f64| {
        let [aa, ab, bb] = inverse([sum(&|_| 1.0) + t, sum(&|x| x), sum(&|x| x * x) + t]);
        let targets = dataset.validation.reals("y").unwrap();
        let inputs = dataset.validation.inputs.reals();
        let rows = inputs.iter().zip(&targets);
        let density = |(x, y): (&f64, &f64)| {
            let variance = aa + 2.0 * ab * x + bb * x * x + 0.36;
            -0.5 * (std::f64::consts::TAU * variance).ln() - 0.5 * (y - a - b * x).powi(2) / variance
        };
        rows.map(density).sum::<f64>() / targets.len() as f64
    };
    let facts = &found.members[0].facts;
    let factor = facts.prior_precision[0].1;
    close(&[facts.validation.unwrap()], &[score(factor)], 1e-9);
    let grid = (-40..=40).map(|at| score((f64::from(at) / 40.0 * 1e4f64.ln()).exp()));
    let best = grid.fold(f64::NEG_INFINITY, f64::max);
    assert!(score(factor) >= best - 1e-4, "{factor}: {} {best}", score(factor));
}

/// The marginal likelihood is known if the prior is not Normal, because the prior has a known
/// normalising constant. Factors on the precision of such a prior are rejected.
#[test]
fn a_prior_that_is_not_normal_has_its_own_normaliser() {
    let folder = folder("student", &[("rows.csv", POINTS.to_owned())]);
    safetensors(&folder.join("b.safetensors"), &[("b", &[], &[0.5])]);
    let model = |prior: &str, options: &str| {
        let text = format!(
            "
data rows = csv(\"rows.csv\") {{ target = y, validation = 0.3 }}
model Line(x: real) -> y: real {{
  b{prior}
  y ~ Normal(b * x, 0.3)
}}
infer l = laplace(Line, rows) {{ {options} }}
"
        );
        compiled(&folder, &text)
    };
    let start = "start = safetensors(\"b.safetensors\")";
    let evidence = |options: &str| {
        let compiled = model(" ~ StudentT(3, 0, 1)", &format!("{start}{options}"));
        let result = compile::run(&compiled.manifest, 1);
        let facts = &approximated(&result, "l").members[0].facts;
        (facts.log_marginal_likelihood, facts.log_likelihood, compiled)
    };
    let (found, log_likelihood, compiled) = evidence("");
    let rows = compiled.dataset("rows");
    let curvature: f64 = rows.train.inputs.reals().iter().map(|x| x * x / 0.09).sum();
    // The prior density is 2 / (pi sqrt 3) (1 + w^2 / 3)^-2.
    let log_prior = (2.0 / (std::f64::consts::PI * 3f64.sqrt())).ln() - 2.0 * (1.0 + 0.25 / 3.0f64).ln();
    let precision = curvature + 4.0 * (3.0 - 0.25) / 3.25f64.powi(2);
    let wanted = log_likelihood + log_prior + 0.5 * (std::f64::consts::TAU / precision).ln();
    close(&[found.unwrap()], &[wanted], 1e-9);
    assert_eq!(evidence(", prior_precision = 2").0, None);
    assert!(evidence(", prior_precision = validation").0.is_none());
    for (prior, options) in [
        (
            " ~ StudentT(3, 0, 1)",
            format!("{start}, prior_precision = marginal_likelihood"),
        ),
        (" ~ StudentT(3, 0, 1)", "epochs = 5, online = true".to_owned()),
        (
            " ~ Laplace(0, 1)",
            format!("{start}, prior_precision = marginal_likelihood"),
        ),
        (
            ": positive ~ HalfNormal(1)",
            format!("{start}, prior_precision = marginal_likelihood"),
        ),
    ] {
        let found = stopped(&model(prior, &options), None);
        assert_eq!(found.code.id, "E0550", "{prior} {options}");
    }
    // The logarithm of a parameter with a LogNormal prior has a Normal prior.
    let normal = model(
        ": positive ~ LogNormal(0, 1)",
        &format!("{start}, prior_precision = marginal_likelihood"),
    );
    compile::run(&normal.manifest, 1);
}

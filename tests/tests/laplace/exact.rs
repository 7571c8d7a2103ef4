//! Models whose approximation has a known result: conjugate models, links that agree with quadrature, and outputs without curvature.

use crate::setup::{
    LINE, POINTS, approximated, close, column, compiled, design, folder, outcome, rejected, shown_so, stopped,
};
use bnnc_abi::manifest::Work;
use bnnc_abi::methods::laplace::Structure;
use bnnc_core::context::Context;
use bnnc_data::write::ResultColumn;
use bnnc_kernels::pool::Pool;
use bnnc_run::{RunOptions, RunResult, joint, out, run, slopes};
use bnnc_tests::compile;
use std::path::PathBuf;
use std::sync::Arc;

#[test]
fn a_conjugate_model_has_its_exact_posterior() {
    let folder = folder("line", &[("rows.csv", POINTS.to_owned())]);
    let text = format!(
        "{LINE}
infer fit = laplace(Line, rows) {{ epochs = 3000, batch = 0, optimiser = Adam(1e-2), schedule = cosine }}
infer second = laplace(Line, rows) {{ start = fit, curvature = hessian }}
infer tempered = laplace(Line, rows) {{ start = fit, temperature = 4 }}
infer wrong = laplace(Line, rows) {{ start = far }}
infer far = map(Line, rows) {{ epochs = 1, optimiser = SGD(1e-9) }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 2);
    for infer in ["fit", "second"] {
        let sites = &outcome(&result, infer).sites;
        let of = |name: &str| sites.iter().find(|site| site.name == name).unwrap().elements[0];
        close(&[of("a").mean, of("b").mean], &[0.214_804_89, 0.778_637_25], 1e-5);
        close(
            &[of("a").sd.powi(2), of("b").sd.powi(2)],
            &[0.011_381_04, 0.009_921_62],
            1e-8,
        );
        close(&[of("a").q95 - of("a").mean], &[1.644_853_627 * of("a").sd], 1e-8);
        let facts = &approximated(&result, infer).members[0].facts;
        close(&[facts.log_marginal_likelihood.unwrap()], &[-3.403_943_78], 1e-6);
        assert!(facts.rise.unwrap() < 1e-6);
    }
    // At temperature 4, the likelihood is raised to the power 1/4.
    let weight = 1.0 / (4.0 * 0.09);
    let (n, sx, sxx) = (8.0, 1.3, 2.25 + 1.0 + 0.16 + 0.09 + 0.64 + 1.44 + 3.61);
    let (aa, ab, bb) = (1.0 + weight * n, weight * sx, 1.0 + weight * sxx);
    let sites = &outcome(&result, "tempered").sites;
    let variance = sites.iter().find(|site| site.name == "a").unwrap().elements[0]
        .sd
        .powi(2);
    close(&[variance], &[bb / (aa * bb - ab * ab)], 1e-9);
    // A warning is reported if the start is not a maximum.
    let warned: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
    assert_eq!(warned, ["E0533", "E0546"]);
    for (warning, name) in result.warnings.iter().zip(["`far`", "`wrong`"]) {
        assert!(warning.message.contains(name), "{warning:?}");
    }
}

/// Two weights may depend on each other under the prior. The approximation is then the posterior
/// from the normal equations.
#[test]
fn a_dependent_prior_needs_a_full_matrix() {
    let folder = folder("dependent", &[("rows.csv", POINTS.to_owned())]);
    let model = "
data rows = csv(\"rows.csv\") { target = y }
model Chain(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(a, 0.5)
  y ~ Normal(a + b * x, 0.3)
}
";
    let text = format!(
        "{model}infer l = laplace(Chain, rows) {{ epochs = 3000, batch = 0, optimiser = Adam(1e-2), schedule = cosine }}\n"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let weight = 1.0 / 0.09;
    let (n, sx, sxx) = (8.0, 1.3, 9.19);
    // The prior adds 1 + 1 / 0.25 to the precision of a, and 1 / 0.25 to the precision of b. The
    // prior adds -1 / 0.25 to the off-diagonal element.
    let (aa, ab, bb) = (5.0 + weight * n, weight * sx - 4.0, 4.0 + weight * sxx);
    let determinant = aa * bb - ab * ab;
    let sites = &outcome(&result, "l").sites;
    let variance = |name: &str| {
        sites.iter().find(|site| site.name == name).unwrap().elements[0]
            .sd
            .powi(2)
    };
    close(
        &[variance("a"), variance("b")],
        &[bb / determinant, aa / determinant],
        1e-9,
    );
    // The evidence of a Normal model follows from the likelihood at the maximum and the density of
    // the joint Normal prior there.
    let found = approximated(&result, "l");
    let (a, b) = (found.values["a/loc"][0], found.values["b/loc"][0]);
    let normal = |z: f64, sd: f64| -0.5 * (z / sd).powi(2) - (sd * std::f64::consts::TAU.sqrt()).ln();
    let log_likelihood: f64 = design().iter().map(|(x, y)| normal(y - a - b * x, 0.3)).sum();
    let log_joint = log_likelihood + normal(a, 1.0) + normal(b - a, 0.5);
    let evidence = log_joint + std::f64::consts::TAU.ln() - 0.5 * determinant.ln();
    let facts = &found.members[0].facts;
    close(&[facts.log_marginal_likelihood.unwrap()], &[evidence], 1e-9);
    let tuned = format!(
        "{model}infer l = laplace(Chain, rows) {{ epochs = 1, prior_precision = marginal_likelihood }}\n"
    );
    compile::run(&compiled(&folder, &tuned).manifest, 1);
    // The compiler rejects other structures for this prior, but a manifest could contain them.
    let mut other = compiled(&folder, &tuned);
    if let Work::Laplace(laplace) = &mut other.manifest.infers[0].work {
        laplace.options.structure = Structure::Diagonal;
    }
    shown_so("E0547", &stopped(&other, None));
}

/// The Laplace approximation of a logistic regression, with each of its links, agrees with
/// quadrature.
#[test]
fn a_logistic_regression_matches_quadrature() {
    let rows = "x,y\n-2,0\n-1,0\n-0.5,1\n0.3,0\n0.9,1\n1.8,1\n";
    let folder = folder(
        "logistic",
        &[
            ("rows.csv", rows.to_owned()),
            ("new.csv", "x,y\n0.5,1\n-3,0\n".to_owned()),
        ],
    );
    let text = "
data rows = csv(\"rows.csv\") { target = y, test = csv(\"new.csv\") }
model Logistic(x: real) -> y: bool {
  w ~ Normal(0, 2)
  y ~ Bernoulli(w * x)
}
infer fit = laplace(Logistic, rows) { epochs = 3000, batch = 0, optimiser = Adam(1e-2), schedule = cosine }
infer drawn = laplace(Logistic, rows) { start = fit, link = monte_carlo, predictive_draws = 20000 }
infer weights = laplace(Logistic, rows) { start = fit, link = weights, predictive_draws = 20000 }
";
    let result = compile::run(&compiled(&folder, text).manifest, 2);
    let data = [
        (-2.0, 0.0),
        (-1.0, 0.0),
        (-0.5, 1.0),
        (0.3, 0.0),
        (0.9, 1.0),
        (1.8, 1.0),
    ];
    let sigmoid = |f: f64| 1.0 / (1.0 + (-f).exp());
    // Newton's method finds the maximum.
    let mut w: f64 = 0.0;
    let mut precision = 0.0;
    for _ in 0..100 {
        let slope: f64 = data.iter().map(|(x, y)| x * (y - sigmoid(w * x))).sum::<f64>() - w / 4.0;
        let each = data
            .iter()
            .map(|(x, _)| x * x * sigmoid(w * x) * (1.0 - sigmoid(w * x)));
        precision = each.sum::<f64>() + 0.25;
        w += slope / precision;
    }
    let site = &outcome(&result, "fit").sites[0].elements[0];
    close(&[site.mean, site.sd], &[w, 1.0 / precision.sqrt()], 1e-5);
    let sd = 1.0 / precision.sqrt();
    for (at, x) in [0.5, -3.0].into_iter().enumerate() {
        let probit = sigmoid(w * x / (1.0 + std::f64::consts::PI / 8.0 * (x * sd).powi(2)).sqrt());
        close(&[column(outcome(&result, "fit"), "p1")[at]], &[probit], 1e-5);
        // The reference value is computed by the trapezoidal rule. The rule covers eight standard
        // deviations on each side.
        let steps = 4000;
        let point = |step: usize| -8.0 + 16.0 * step as f64 / steps as f64;
        let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * 16.0 / steps as f64;
        let mean: f64 = (0..=steps)
            .map(|step| density(point(step)) * sigmoid(x * (w + sd * point(step))))
            .sum();
        let square: f64 = (0..=steps)
            .map(|step| density(point(step)) * sigmoid(x * (w + sd * point(step))).powi(2))
            .sum();
        let error = ((square - mean * mean) / 20000.0).sqrt();
        for infer in ["drawn", "weights"] {
            let found = column(outcome(&result, infer), "p1")[at];
            assert!(
                (found - mean).abs() < 4.5 * error,
                "{infer} {x}: {found} {mean} {error}"
            );
        }
    }
}

/// If only one of two outputs has curvature, weights that affect only the other output keep their
/// prior.
#[test]
fn weights_of_a_flat_output_keep_their_prior() {
    let rows = "x,y,z\n0.5,0.4,-0.3\n1,1.1,-1.2\n-0.8,-0.7,1.0\n";
    let folder = folder("heads", &[("rows.csv", rows.to_owned())]);
    let of = |over: &str| {
        format!(
            "data rows = csv(\"rows.csv\") {{ inputs = [x] }}
model Heads(x: real) -> y: real, z: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
  z ~ Laplace(b * x, 1)
}}
infer l = laplace(Heads, rows) {{ epochs = 1, {over} }}
"
        )
    };
    for (over, code, reported) in [
        ("over = [b]", "E0624", "`loc` of `Laplace` is zero"),
        ("over = [b], curvature = hessian", "E0624", "second"),
        (
            "over = subnetwork(2)",
            "E0625",
            "only 1 affect an output in which",
        ),
        (
            "over = subnetwork(0.9)",
            "E0625",
            "2 weights for its subnetwork, but only 1",
        ),
        (
            "over = subnetwork(3)",
            "E0625",
            "3 weights for its subnetwork, but there are only 2",
        ),
    ] {
        let found = rejected(&folder, &of(over));
        assert_eq!(found.code.id, code, "{over}: {found:?}");
        assert!(found.message.contains(reported), "{over}: {}", found.message);
    }
    // The precision of `a` is the sum of two precisions: the precision from the rows and the
    // precision of the prior. The rows affect the precision of `b` only under `fisher`. The
    // derivatives then have the absolute value 1 for any target.
    let squares = 0.5 * 0.5 + 1.0 + 0.8 * 0.8;
    let known = 1.0 / (1.0 + squares);
    for (over, wanted) in [
        ("over = all", vec![known, 1.0]),
        ("over = [a]", vec![known]),
        ("over = [a, b]", vec![known, 1.0]),
        ("over = subnetwork(1)", vec![1.0 / (0.5 + squares)]),
        ("over = [b], curvature = fisher", vec![known]),
    ] {
        let result = compile::run(&compiled(&folder, &of(over)).manifest, 1);
        let covariance = approximated(&result, "l").members[0]
            .posterior
            .inverse(&Pool::new(1));
        close(&covariance.diagonal(), &wanted, 1e-12);
    }
}

/// The predictions of two outputs use joint draws of both network outputs. The expected log
/// likelihood of a row is the expected log likelihood of two independent Normals.
#[test]
fn several_outputs_are_predicted_by_draws_of_functions() {
    let rows = "x,y,z\n0.5,0.4,-0.3\n1,1.1,-1.2\n-0.8,-0.7,1.0\n";
    let folder = folder("several", &[("rows.csv", rows.to_owned())]);
    let text = "data rows = csv(\"rows.csv\") { inputs = [x], test = csv(\"rows.csv\") }
model Two(x: real) -> y: real, z: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a * x, 0.5)
  z ~ Normal(b * x, 0.8)
}
infer l = laplace(Two, rows) { epochs = 2000, batch = 0, optimiser = Adam(1e-2), predictive_draws = 20000 }
";
    let compiled = compiled(&folder, text);
    let found = run(&compiled.manifest, &RunOptions::new(1))
        .and_then(RunResult::whole)
        .unwrap();
    let mut metrics = found.outcomes[0].splits[0].metrics.iter();
    let scored = metrics.find(|(name, _)| name == "log_likelihood").unwrap().1;
    let data = [[0.5, 0.4, -0.3], [1.0, 1.1, -1.2], [-0.8, -0.7, 1.0]];
    let mut expected = 0.0;
    for (column, sd) in [(1, 0.5), (2, 0.8f64)] {
        let noise = sd * sd;
        let precision = 1.0 + data.iter().map(|row| row[0] * row[0] / noise).sum::<f64>();
        let mean = data.iter().map(|row| row[0] * row[column] / noise).sum::<f64>() / precision;
        for row in data {
            let variance = noise + row[0] * row[0] / precision;
            let error = row[column] - mean * row[0];
            expected -= 0.5 * (error * error / variance + (std::f64::consts::TAU * variance).ln()) / 3.0;
        }
    }
    assert!((scored - expected).abs() < 0.01, "{scored} for {expected}");
    // If the likelihood of one output does not have curvature, the other output still has
    // curvature. If both likelihoods lack curvature, the program is rejected.
    let one = text.replace("z ~ Normal(b * x, 0.8)", "z ~ Laplace(b * x, 0.8)");
    self::compiled(&folder, &one);
    let both = one.replace("y ~ Normal(a * x, 0.5)", "y ~ Laplace(a * x, 0.5)");
    assert_eq!(rejected(&folder, &both).code.id, "E0624");
}

/// The target may be standardised. Outputs that are not means of a Normal likelihood still keep the
/// units of the model.
#[test]
fn outputs_of_other_likelihoods_keep_the_units_of_the_model() {
    let rows = "x,y\n0,10\n1,30\n2,35\n3,70\n4,75\n";
    let folder = folder("units", &[("rows.csv", rows.to_owned())]);
    let text = "
data rows = csv(\"rows.csv\") { target = y, standardise = [target], test = csv(\"rows.csv\") }
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ StudentT(4, a + b * x, 0.5)
}
infer l = laplace(Line, rows) { epochs = 2000, batch = 0, optimiser = Adam(1e-2), schedule = cosine }
";
    let compiled = compiled(&folder, text);
    let result = compile::run(&compiled.manifest, 1);
    let saved = compile::saved(PathBuf::new());
    out::write(&folder, &compiled.manifest, &result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let (infer, outcome) = (&compiled.manifest.infers[0], outcome(&result, "l"));
    let (preparation, test) = (&outcome.dataset.preparation, &outcome.dataset.test);
    let at = (&read["l"], folder.as_path());
    // At the row with x = 0, the output is the intercept.
    let covariance = joint(infer, preparation, at, test.clone(), (None, &context)).unwrap();
    let a = outcome.sites.iter().find(|site| site.name == "a").unwrap();
    close(&[covariance[(0, 0)]], &[a.elements[0].sd.powi(2)], 1e-10);
    let columns = slopes(infer, preparation, at, test.clone(), (None, &context)).unwrap();
    assert_eq!(columns[1].0, "model_mean/x/f0");
    let ResultColumn::Real(slope) = &columns[1].1 else {
        panic!()
    };
    let b = outcome.sites.iter().find(|site| site.name == "b").unwrap();
    close(slope, &[b.elements[0].mean; 5], 1e-9);
}

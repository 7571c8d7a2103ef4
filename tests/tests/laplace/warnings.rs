//! Warnings about approximations.

use crate::setup::{POINTS, TANH, approximated, compiled, folder, network, safetensors};
use bnnc_base::dtype::Precision;
use bnnc_driver::compile::{compile, data};
use bnnc_driver::program;
use bnnc_tests::compile;
use bnnc_tests::compile::options;

/// A warning is reported if the best prior factor is at an end of the searched range.
#[test]
fn a_factor_at_the_end_of_its_range_is_a_warning() {
    let folder = folder("end", &[("rows.csv", POINTS.to_owned())]);
    let text = |sigma: f64, options: &str| {
        format!(
            "
data rows = csv(\"rows.csv\") {{ target = y, validation = 0.3 }}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, {sigma})
}}
infer l = laplace(Line, rows) {{ start = safetensors(\"w.safetensors\"), {options} }}
"
        )
    };
    let warned = |[a, b]: [f64; 2], text: String| {
        safetensors(
            &folder.join("w.safetensors"),
            &[("a", &[], &[a]), ("b", &[], &[b])],
        );
        let result = compile::run(&compiled(&folder, &text).manifest, 1);
        let facts = approximated(&result, "l").members[0].facts.clone();
        let ids: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
        (facts.prior_precision, facts.at_end, ids.contains(&"E0551"))
    };
    // If the weights are at the mean of their prior, the marginal likelihood increases with the
    // factor.
    for structure in ["scalar", "layer"] {
        let options = format!("prior_precision = marginal_likelihood, prior_structure = {structure}");
        let (factors, at_end, is_warned) = warned([0.0, 0.0], text(0.3, &options));
        assert!((factors[0].1 / 1e8 - 1.0).abs() < 1e-6, "{factors:?}");
        assert!(at_end.is_some() && is_warned);
    }
    // If the noise level is far above the residuals, any spread of the weights lowers the
    // predictive density.
    let (factors, at_end, is_warned) = warned([0.2, 0.8], text(5.0, "prior_precision = validation"));
    assert!(factors[0].1 > 5e3 && at_end.is_some() && is_warned, "{factors:?}");
    let (_, at_end, is_warned) = warned([0.2, 0.8], text(0.3, "prior_precision = marginal_likelihood"));
    assert!(at_end.is_none() && !is_warned);
}

/// If the prior precision varies within a weight matrix, a Kronecker structure cannot represent it,
/// and a warning is reported. The other structures can represent such a prior.
#[test]
fn a_prior_that_kronecker_factors_cannot_represent_is_a_warning() {
    let folder = folder("averaged", &[("rows.csv", POINTS.to_owned())]);
    let warned = |prior: &str, options: &str| {
        let text = format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[1]) -> y: real {{
  w: real[2, 1] ~ Normal(0, {prior})
  v: real[1, 2] ~ Normal(0, 1)
  y ~ Normal((v @ tanh(w @ x))[0], 0.3)
}}
infer l = laplace(Net, rows) {{ epochs = 300, optimiser = Adam(1e-2), {options} }}
"
        );
        let result = compile::run(&compiled(&folder, &text).manifest, 1);
        result.warnings.iter().any(|warning| warning.code.id == "E0552")
    };
    let varied = "outer([0.1, 3.0], [1.0])";
    assert!(warned(varied, "structure = kronecker"));
    let tuned = "structure = kronecker, prior_precision = marginal_likelihood";
    assert!(warned("1", &format!("{tuned}, prior_structure = diagonal")));
    for (prior, options) in [
        ("1", "structure = kronecker".to_owned()),
        ("1", format!("{tuned}, prior_structure = layer")),
        (varied, "structure = full".to_owned()),
        (varied, "structure = diagonal".to_owned()),
    ] {
        assert!(!warned(prior, &options), "{prior} {options}");
    }
}

/// The prior of many weights is recognised as Normal, in spite of rounding errors in single
/// precision.
#[test]
fn many_normal_weights_are_recognised_in_single_precision() {
    let folder = folder("single", &[("rows.csv", POINTS.to_owned())]);
    let text = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[1]) -> y: real {
  hidden = Dense(200)
  more = Dense(100)
  out = Dense(1)
  y ~ Normal(out(relu(more(relu(hidden(x)))))[0], 0.3)
}
infer l = laplace(Net, rows) { epochs = 3, structure = diagonal, precision = f32, prior_precision = marginal_likelihood }
";
    let compiled = compile::text(&folder.join("p.bnn"), text, &options("cranelift", None));
    assert_eq!(compiled.manifest.infers[0].precision, Precision::F32);
    let result = compile::run(&compiled.manifest, 1);
    let facts = &approximated(&result, "l").members[0].facts;
    assert!(facts.log_marginal_likelihood.is_some() && facts.weights > 20_000);
}

/// The test computes the mode of the noise level in a linear regression. The prior of the weights
/// is flat. Let `u` be the variance of the noise. The derivative of the log posterior with respect
/// to the logarithm of the noise level is `-N + S / u - u + 1`, where the Jacobian contributes 1.
#[test]
fn a_noise_level_away_from_its_mode_is_a_warning() {
    const N: usize = 20;
    let x = |at: usize| at as f64 / 10.0 - 0.95;
    let y = |at: usize| 0.4 + 0.8 * x(at) + 0.3 * ((at * 7 % 11) as f64 / 5.0 - 1.0);
    let mean = |of: &dyn Fn(usize) -> f64| (0..N).map(of).sum::<f64>() / N as f64;
    let (x_mean, y_mean) = (mean(&x), mean(&y));
    let b = mean(&|at| (x(at) - x_mean) * (y(at) - y_mean)) / mean(&|at| (x(at) - x_mean).powi(2));
    let a = y_mean - b * x_mean;
    let squares = N as f64 * mean(&|at| (y(at) - a - b * x(at)).powi(2));
    let half = (N - 1) as f64 / 2.0;
    let mode = ((half * half + squares).sqrt() - half).sqrt();
    let rows: String = (0..N).map(|at| format!("{},{}\n", x(at), y(at))).collect();
    let folder = folder("noise", &[("rows.csv", format!("x,y\n{rows}"))]);
    let levels = [("near", 1.0, false), ("low", 0.3, true), ("high", 3.0, true)];
    for (name, factor, _) in levels {
        let path = folder.join(format!("{name}.safetensors"));
        safetensors(
            &path,
            &[
                ("a", &[], &[a]),
                ("b", &[], &[b]),
                ("sigma", &[], &[factor * mode]),
            ],
        );
    }
    let infers = levels.map(|(name, ..)| {
        format!("infer {name} = laplace(Line, rows) {{ start = safetensors(\"{name}.safetensors\") }}\n")
    });
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1e4)
  b ~ Normal(0, 1e4)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(a + b * x, sigma)
}}
{}",
        infers.concat()
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    for (name, _, is_far) in levels {
        let facts = &approximated(&result, name).members[0].facts;
        assert!(facts.rise.unwrap() < 1e-3, "{name}: {facts:?}");
        assert_eq!(
            facts.others_rise.is_some_and(|rise| rise > 1.0),
            is_far,
            "{name}: {facts:?}"
        );
        let quoted = format!("`{name}`");
        let warned = result
            .warnings
            .iter()
            .filter(|warning| warning.message.contains(&quoted));
        let codes: Vec<&str> = warned.map(|warning| warning.code.id).collect();
        // If the noise level is less than a third of the size of the residuals, most rows are
        // outside their 90 % intervals. Rows outside their intervals are reported too.
        let expected: &[&str] = match name {
            "near" => &[],
            "low" => &["E0546", "E0586"],
            _ => &["E0546"],
        };
        assert_eq!(codes, expected, "{name}");
    }
}

/// Outlier rows do not have an effect if the output is not a class. A warning is reported.
#[test]
fn outliers_without_classes_are_a_warning() {
    let folder = network("outliers");
    let text = TANH.replace("target = y,", "target = y, outliers = csv(\"new.csv\"),");
    let text = format!("{text}infer m = map(Net, rows) {{ epochs = 1 }}\n");
    let options = options("cranelift", None);
    let path = folder.join("p.bnn").display().to_string();
    let program = program::load(&path, &text, &options);
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    let specs = data(&program, &options).unwrap();
    let schemas = specs
        .iter()
        .map(|spec| (spec.name.clone(), bnnc_data::schema(spec).unwrap()))
        .collect();
    let compiled = compile(&program, &schemas, &options).unwrap();
    let codes: Vec<&str> = compiled.warnings.iter().map(|warning| warning.code.id).collect();
    assert_eq!(codes, ["E0623"]);
}

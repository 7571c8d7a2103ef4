//! Laplace approximations, from the program to the predictions. The tests cover three topics: the
//! published results of a small network in every form, conjugate models whose approximation equals
//! the posterior, and links that agree with quadrature. Other tests cover subnetworks and rejected
//! programs.
#![allow(clippy::unwrap_used)]

use bnnc_abi::laplace::{Link, Over, Score, Structure};
use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::Precision;
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::states::StateValues as States;
use bnnc_data::Dataset;
use bnnc_data::table::ArrayValues;
use bnnc_data::write::ResultColumn;
use bnnc_driver::compile::{compile, data};
use bnnc_driver::program;
use bnnc_kernels::pool::Pool;
use bnnc_laplace::matrix::Matrix;
use bnnc_methods::laplace::gaussian::PREFIX;
use bnnc_methods::laplace::gaussian::part;
use bnnc_methods::laplace::jacobians::{self, Which};
use bnnc_methods::laplace::machines::Evaluator;
use bnnc_methods::laplace::{Approximated, curve, memory, spread, weights};
use bnnc_run::out;
use bnnc_run::{InferenceOutcome, RunOptions, RunResult, Sources, joint, predict, run, slopes};
use bnnc_tests::compile::{self, Compiled, opening, options};
use bnnc_training::iterates::Collected;
use bnnc_training::start::{EarlierResults, Starts};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates a folder for one test. The folder contains these files.
fn folder(name: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-laplace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// Writes a safetensors file of doubles. The file consists of the length of the header, the header,
/// and the data.
fn safetensors(path: &Path, tensors: &[(&str, &[usize], &[f64])]) {
    let (mut at, mut header) = (0, Vec::new());
    for (name, shape, values) in tensors {
        let end = at + 8 * values.len();
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"F64\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    let header = format!("{{{}}}", header.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    for (_, _, values) in tensors {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
    std::fs::write(path, file).unwrap();
}

fn compiled(folder: &Path, text: &str) -> Compiled {
    compile::text(
        &folder.join("p.bnn"),
        text,
        &options("cranelift", Some(Precision::F64)),
    )
}

/// Compiles a program together with the programs of Jacobians. A saved run needs them for joint
/// covariances and derivatives.
fn asked(folder: &Path, text: &str) -> Compiled {
    let options = bnnc_driver::options::CompileOptions {
        jacobians: true,
        ..options("cranelift", Some(Precision::F64))
    };
    compile::text(&folder.join("p.bnn"), text, &options)
}

fn infer<'a>(compiled: &'a Compiled, name: &str) -> &'a InferenceBlock {
    let mut infers = compiled.manifest.infers.iter();
    infers.find(|infer| infer.name == name).unwrap()
}

fn outcome<'a>(result: &'a RunResult, infer: &str) -> &'a InferenceOutcome {
    result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap()
}

fn approximated<'a>(result: &'a RunResult, infer: &str) -> &'a Approximated {
    let found = &outcome(result, infer).splits[0].found;
    found.of().expect("an approximation")
}

fn column<'a>(outcome: &'a InferenceOutcome, name: &str) -> &'a [f64] {
    let found = outcome.predictions.iter().find(|(known, _)| known == name);
    match found {
        Some((_, ResultColumn::Real(values))) => values,
        _ => panic!(
            "no column {name} among {:?}",
            outcome
                .predictions
                .iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        ),
    }
}

fn close(found: &[f64], wanted: &[f64], error: f64) {
    assert_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
    for (one, other) in found.iter().zip(wanted) {
        assert!((one - other).abs() < error, "{found:?} is not {wanted:?}");
    }
}

/// Returns the diagnostic that stops the run of a program.
fn stopped(compiled: &Compiled, max_memory: Option<u64>) -> Diagnostic {
    let options = RunOptions {
        max_memory,
        ..RunOptions::new(1)
    };
    match run(&compiled.manifest, &options).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Checks the code and the rendered text of a diagnostic. Only a manifest from another compiler can
/// cause this diagnostic.
#[track_caller]
fn shown_so(code: &str, diagnostic: &Diagnostic) {
    assert_eq!(diagnostic.code.id, code);
    insta::assert_snapshot!(code, compile::rendered(diagnostic));
}

/// Returns the first diagnostic of a program that does not compile.
fn refused(folder: &Path, text: &str) -> Diagnostic {
    compile::refused(&folder.join("p.bnn"), text)
}

/// A tanh network with one input, two hidden units and one output. The Laplace approximation of
/// this network is published. Each test appends inference blocks to this text.
const TANH: &str = "
data rows = csv(\"rows.csv\") { target = y, test = csv(\"new.csv\") }
model Net(x: real) -> y: real {
  w1: real[2] ~ Normal(0, sqrt(0.5))
  b1: real[2] ~ Normal(0, sqrt(0.5))
  w2: real[2] ~ Normal(0, sqrt(0.5))
  b2 ~ Normal(0, sqrt(0.5))
  y ~ Normal(dot(w2, tanh(x * w1 + b1)) + b2, 0.5)
}
";

/// Creates the folder of [`TANH`]. The folder contains three rows, three new rows, and the weights.
fn network(name: &str) -> PathBuf {
    let folder = folder(
        name,
        &[
            ("rows.csv", "x,y\n-1,-0.7\n0.5,1.1\n2,2\n".to_owned()),
            ("new.csv", "x,y\n0,0\n1,0\n3,0\n".to_owned()),
        ],
    );
    safetensors(
        &folder.join("w.safetensors"),
        &[
            ("w1", &[2], &[0.8, -0.5]),
            ("b1", &[2], &[0.1, 0.2]),
            ("w2", &[2], &[1.5, -1.0]),
            ("b2", &[], &[0.3]),
        ],
    );
    folder
}

/// Returns the variance of the output at each new row.
fn variances(result: &RunResult, infer: &str) -> Vec<f64> {
    column(outcome(result, infer), "sd_epistemic")
        .iter()
        .map(|sd| sd * sd)
        .collect()
}

const FULL: [f64; 3] = [0.207_270_46, 0.162_929_85, 0.307_559_88];

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

/// Points around a straight line. The noise has the standard deviation 0.3. The intercept and the
/// slope have the prior `N(0, 1)`, and their posterior is published.
const POINTS: &str = "x,y\n-1.5,-0.9\n-1,-0.8\n-0.4,0.1\n0,0.25\n0.3,0.35\n0.8,1\n1.2,1.05\n1.9,1.7\n";

const LINE: &str = "
data rows = csv(\"rows.csv\") { target = y }
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.3)
}
";

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

#[test]
fn runs_that_cannot_be_approximated_are_rejected() {
    let one = folder("refused", &[("rows.csv", "x,y\n1,1\n".to_owned())]);
    let data = "data rows = csv(\"rows.csv\") { target = y }\n";
    let dense = "use layers::Dense
model Net(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 1)
}
";
    let stop = |text: &str| stopped(&compiled(&one, &format!("{data}{text}")), None);
    // The compiler rejects a program without a start. A manifest could still lack the start.
    let text = format!(
        "{data}{dense}infer m = map(Net, rows) {{ epochs = 1 }}\ninfer l = laplace(Net, rows) {{ start = m }}\n"
    );
    let mut other = compiled(&one, &text);
    other.manifest.infers[1].start = None;
    shown_so("E0540", &stopped(&other, None));
    // The compiler rejects links that do not fit the likelihood. A manifest could still contain
    // such a link.
    let text = format!("{data}{dense}infer l = laplace(Net, rows) {{ epochs = 1 }}\n");
    let mut other = compiled(&one, &text);
    if let Work::Laplace(laplace) = &mut other.manifest.infers[0].work {
        laplace.options.link = Link::Bridge;
    }
    shown_so("E0545", &stopped(&other, None));
    // The compiler rejects a program that uses the variances of a point estimate. A manifest could
    // still request them.
    let text = format!(
        "{data}{dense}infer m = map(Net, rows) {{ epochs = 1 }}\ninfer l = laplace(Net, rows) {{ start = m, over = subnetwork(1) }}\n"
    );
    let mut other = compiled(&one, &text);
    if let Work::Laplace(laplace) = &mut other.manifest.infers[1].work {
        laplace.options.over = Over::Subnetwork {
            size: 1.0,
            by: Score::Infer("m".to_owned()),
        };
    }
    shown_so("E0625", &stopped(&other, None));
    // The data have one row, and the prior does not have a second derivative.
    let flat = "
model Flat(x: real) -> y: real {
  a ~ Laplace(0.5, 1)
  b ~ Laplace(0.5, 1)
  y ~ Normal(a + b * x, 1)
}
infer l = laplace(Flat, rows) { epochs = 1 }
";
    assert_eq!(stop(flat).code.id, "E0542");
    safetensors(&one.join("w.safetensors"), &[("a", &[], &[1e3])]);
    let steep = "
model Steep(x: real) -> y: count {
  a ~ Normal(0, 1)
  y ~ Poisson(exp(a * x))
}
infer l = laplace(Steep, rows) { start = safetensors(\"w.safetensors\") }
";
    assert_eq!(stop(steep).code.id, "E0541");
    // The input of the second test row is so large that the variance of the output overflows.
    std::fs::write(one.join("far.csv"), "x,y\n1,1\n1e120,1\n").unwrap();
    let overflow = "
data far = csv(\"rows.csv\") { target = y, test = csv(\"far.csv\") }
model Tail(x: real) -> y: real {
  a ~ Normal(0, 1)
  y ~ StudentT(4, a * x * x, 1)
}
infer l = laplace(Tail, far) { epochs = 1 }
";
    let found = stop(overflow);
    assert_eq!(found.code.id, "E0541");
    assert!(
        found.message.contains("covariance") && found.message.contains("row 2"),
        "{}",
        found.message
    );
}

/// A program with three models and their inference blocks. Two models have different layers. In the
/// third model, the weights depend on each other under the prior.
const EARLIER: &str = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 1)
}
model Other(x: real[1]) -> y: real {
  away = Dense(1)
  y ~ Normal(away(x)[0], 1)
}
model Shared(x: real) -> y: real {
  m ~ Normal(0, 1)
  w: real[2] ~ Normal(m, 1)
  y ~ Normal(w[0] * x + w[1] + m, 1)
}
posterior Q of Other { away.* ~ Normal(0, 0.1) }
infer m = map(Net, rows) { epochs = 1 }
infer o = map(Other, rows) { epochs = 1 }
infer v = vi(Q, rows) { epochs = 1 }
infer a = laplace(Net, rows) { start = m }
infer p = swag(Net, rows) { epochs = 2, warmup = 0, covariance = point }
";

/// If an error is known before training, it is reported before training, at its place in the
/// program.
#[test]
fn known_errors_are_reported_before_training() {
    let one = folder("beforehand", &[("rows.csv", "x,y\n1,1\n2,3\n".to_owned())]);
    for (infer, code, said) in [
        (
            "laplace(Net, rows) { epochs = 0 }",
            "E0540",
            "has no `start` with a value of `out.w`",
        ),
        ("laplace(Net, rows) { start = o }", "E0540", "`o` has no `out.w`"),
        (
            "laplace(Net, rows) { over = subnetwork(3) }",
            "E0625",
            "needs 3 weights for its subnetwork, but there are only 2",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = m) }",
            "E0625",
            "under `m`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = a) }",
            "E0625",
            "under `a`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = p) }",
            "E0625",
            "under `p`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = v) }",
            "E0625",
            "which has no `out.w`",
        ),
        (
            "laplace(Net, rows) { start = m, batch = 5 }",
            "E0614",
            "`batch` applies to the search",
        ),
        (
            "laplace(Net, rows) { start = m, epochs = 0, schedule = cosine }",
            "E0614",
            "`schedule` applies to the search",
        ),
        (
            "laplace(Net, rows) { prior_structure = layer }",
            "E0614",
            "no factor is tuned",
        ),
        (
            "laplace(Shared, rows) { online = true, prior_structure = layer }",
            "E0614",
            "one factor for all weights",
        ),
        (
            "laplace(Shared, rows) { structure = diagonal }",
            "E0614",
            "correlates weights",
        ),
    ] {
        let found = refused(&one, &format!("{EARLIER}infer l = {infer}\n"));
        assert_eq!(found.code.id, code, "{infer}: {found:?}");
        assert!(found.message.contains(said), "{infer}: {}", found.message);
        assert!(
            !found.help.is_empty() && matches!(found.at, Place::Span(_)),
            "{infer}"
        );
    }
    // A user who follows the advice on conflicting options does not get the same error again.
    let layers = "laplace(Net, rows) { prior_precision = marginal_likelihood, prior_structure = layer }";
    let text = format!("{EARLIER}infer l = {layers}\n");
    let infers = compiled(&one, &text).manifest.infers.len();
    assert_eq!(infers, text.matches("\ninfer ").count());
}

/// The square of the slope may overflow when the possible increase of the log density is computed.
/// The increase is still reported.
#[test]
fn an_overflowing_rise_is_reported() {
    let folder = folder("steep", &[("rows.csv", POINTS.to_owned())]);
    safetensors(
        &folder.join("far.safetensors"),
        &[("a", &[], &[1e160]), ("b", &[], &[0.0])],
    );
    let text =
        format!("{LINE}\ninfer l = laplace(Line, rows) {{ start = safetensors(\"far.safetensors\") }}\n");
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let warned = result
        .warnings
        .iter()
        .find(|warning| warning.code.id == "E0546")
        .unwrap();
    assert!(
        warned.message.contains("without bound over 2 weights"),
        "{}",
        warned.message
    );
}

/// If the second derivative with respect to the outputs is zero wherever it exists, the data would
/// not affect the precision. The program is then rejected, except if it uses `fisher`.
#[test]
fn likelihoods_without_a_second_derivative_need_fisher() {
    let folder = folder("straight", &[("rows.csv", POINTS.to_owned())]);
    let of = |likelihood: &str, options: &str| {
        format!(
            "data rows = csv(\"rows.csv\") {{ target = y }}
dist Peak(loc: real) on real {{
  log_density(x) = if x < loc {{ x - loc }} else {{ loc - x }}
  draw = loc + standard_normal()
}}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ {likelihood}
}}
infer l = laplace(Line, rows) {{ epochs = 300, batch = 0, optimiser = Adam(1e-2), {options} }}
"
        )
    };
    for (likelihood, argument) in [
        ("Laplace(a + b * x, 0.5)", "`loc` of `Laplace`"),
        ("Peak(a + b * x)", "`loc` of `Peak`"),
    ] {
        for options in ["curvature = ggn", "curvature = hessian", "structure = diagonal"] {
            let found = refused(&folder, &of(likelihood, options));
            assert_eq!(found.code.id, "E0624", "{likelihood}, {options}");
            assert!(
                found.message.contains("second") && found.message.contains(argument),
                "{}",
                found.message
            );
            assert!(found.help[0].contains("curvature = fisher"));
        }
        // The derivative of the log likelihood of each row has the absolute value 1 / scale. The
        // precision is therefore a sum of two terms: the precision of the prior, and a multiple of
        // the sum over the outer products of `(1, x)`.
        let scale = if likelihood.starts_with("Laplace") {
            0.5
        } else {
            1.0
        };
        let found = compiled(&folder, &of(likelihood, "curvature = fisher"));
        let outcome = run(&found.manifest, &RunOptions::new(1))
            .and_then(RunResult::whole)
            .unwrap();
        let found: &Approximated = outcome.outcomes[0].splits[0].found.of().expect("a Gaussian");
        let covariance = found.members[0].posterior.inverse(&Pool::new(1));
        let weight = 1.0 / (scale * scale);
        let of = |term: &dyn Fn(f64) -> f64| design().iter().map(|(x, _)| weight * term(*x)).sum::<f64>();
        let expected = inverse([1.0 + of(&|_| 1.0), of(&|x| x), 1.0 + of(&|x| x * x)]);
        for (found, expected) in [covariance[(0, 0)], covariance[(0, 1)], covariance[(1, 1)]]
            .iter()
            .zip(expected)
        {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
    }
    // If a density is constant in an output of the network, its first derivative is zero too.
    for options in ["curvature = ggn", "curvature = fisher"] {
        let text = of("Peak(0 * a)", options)
            .replace("{ x - loc }", "{ -1 }")
            .replace("{ loc - x }", "{ -2 }");
        let found = refused(&folder, &text);
        assert_eq!(found.code.id, "E0624", "{options}");
        assert!(found.message.contains("first"), "{}", found.message);
    }
    // With respect to the bounds of an interval, the second derivatives of the loss are not zero,
    // but they are never positive.
    let ends = of("Uniform(a * x - 100, a * x + 100 + b)", "");
    let found = stopped(&compiled(&folder, &ends), None);
    assert_eq!(found.code.id, "E0541");
    assert!(
        found.message.contains("concave") && found.help[0].contains("fisher"),
        "{found:?}"
    );
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
    for (over, code, said) in [
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
        let found = refused(&folder, &of(over));
        assert_eq!(found.code.id, code, "{over}: {found:?}");
        assert!(found.message.contains(said), "{over}: {}", found.message);
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
    assert_eq!(refused(&folder, &both).code.id, "E0624");
}

/// If a unit is never active, its incoming and outgoing weights are not chosen for a subnetwork.
#[test]
fn dead_weights_are_not_chosen() {
    let folder = folder("dead", &[("rows.csv", "x,y\n1,1\n2,2\n".to_owned())]);
    let weights: [(&str, &[usize], &[f64]); 4] = [
        ("w1", &[2], &[1.0, -1.0]),
        ("b1", &[2], &[0.0, 0.0]),
        ("w2", &[2], &[1.0, 1.0]),
        ("b2", &[], &[0.0]),
    ];
    safetensors(&folder.join("w.safetensors"), &weights);
    let of = |size: usize| {
        format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real) -> y: real {{
  w1: real[2] ~ Normal(0, 1)
  b1: real[2] ~ Normal(0, 1)
  w2: real[2] ~ Normal(0, 1)
  b2 ~ Normal(0, 1)
  y ~ Normal(dot(w2, relu(x * w1 + b1)) + b2, 0.5)
}}
infer l = laplace(Net, rows) {{ over = subnetwork({size}), start = safetensors(\"w.safetensors\") }}
"
        )
    };
    let result = compile::run(&compiled(&folder, &of(4)).manifest, 1);
    assert_eq!(
        approximated(&result, "l").members[0].index.as_deref().unwrap(),
        [0, 2, 4, 6]
    );
    let refusal = stopped(&compiled(&folder, &of(5)), None);
    assert_eq!(refusal.code.id, "E0625");
    assert_eq!(refusal.help, ["use at most 4 weights"]);
    let refusal = bnnc_methods::laplace::diagnostics::too_few_weights("l", 1, 0, 7);
    assert!(refusal.help[0].contains("no subnetwork is possible"));
}

/// Returns a network with 1761 weights. Of these, 41 are in its last layer. The network is
/// approximated with these options.
fn wide(options: &str) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[1]) -> y: real {{
  hidden = Dense(40)
  more = Dense(40)
  out = Dense(1)
  y ~ Normal(out(relu(more(relu(hidden(x)))))[0], 0.3)
}}
infer l = laplace(Net, rows) {{ epochs = 1, {options} }}
"
    )
}

/// Returns the predicted peak memory of a run of the network from [`wide`].
fn peak(folder: &Path, options: &str) -> u64 {
    compiled(folder, &wide(options)).manifest.infers[0]
        .cost
        .peak_bytes
}

/// If a matrix does not fit into memory, the run is rejected before any computation.
#[test]
fn a_matrix_beyond_the_memory_is_rejected() {
    let folder = folder("large", &[("rows.csv", POINTS.to_owned())]);
    let whole = compiled(&folder, &wide(""));
    // The network has 1761 weights, so two copies of the matrix need 47 MiB.
    let found = stopped(&whole, Some(20 << 20));
    assert_eq!(found.code.id, "E0502");
    assert!(
        found.notes[0].contains("full precision matrix of 1761 weights"),
        "{found:?}"
    );
    // The peak includes the Gaussian, and the serialised bytes of the Gaussian while it is written.
    let whole = whole.manifest.infers[0].cost.peak_bytes;
    assert!(whole >= 2 * 8 * 1761 * 1761, "{whole}");
    // The subnetwork is chosen by the marginal variances of the full matrix. A smaller subnetwork
    // therefore does not need less memory.
    let chosen = compiled(&folder, &wide("over = subnetwork(10, by = marginal)"));
    assert!(chosen.manifest.infers[0].cost.peak_bytes >= 2 * 8 * 1761 * 1761);
    let found = stopped(&chosen, Some(20 << 20));
    let chooses = |note: &String| note.contains("needs the full precision matrix of all 1761 weights");
    assert!(found.notes.iter().any(chooses), "{found:?}");
    assert!(found.help[0].contains("by = diagonal"), "{found:?}");
}

/// If a run needs too much memory, the advice in the error is accurate. The advised size fits into
/// the memory, and the next larger size does not. A structure that is not advised does not fit.
#[test]
fn advice_on_memory_fits_the_memory() {
    let folder = folder("offers", &[("rows.csv", POINTS.to_owned())]);
    let mut offered = 0;
    for (options, parts) in [
        ("", vec![0.1, 0.4, 0.8, 0.97]),
        ("curvature = hessian", vec![0.5]),
        ("structure = functional, link = weights", vec![0.9]),
        ("over = [more]", vec![0.3, 0.5, 0.9]),
        ("over = subnetwork(1500, by = magnitude)", vec![0.3, 0.9]),
        ("over = subnetwork(1700, by = marginal)", vec![0.4, 0.9, 0.99]),
        (
            "over = subnetwork(900, by = random), structure = diagonal",
            vec![0.95],
        ),
    ] {
        let first = compiled(&folder, &wide(options));
        let whole = first.manifest.infers[0].cost.peak_bytes;
        // The advice does not change any other option.
        let others = match options.find("over") {
            None if options.is_empty() => "temperature = 1".to_owned(),
            None => options.replace("structure = functional, ", ""),
            Some(_) if options.contains("diagonal") => "structure = diagonal".to_owned(),
            Some(_) => "temperature = 1".to_owned(),
        };
        let least = peak(&folder, &format!("{others}, over = subnetwork(1)"));
        let all = others.replace("structure = diagonal", "temperature = 1");
        // The advised diagonal structure covers the layers in the option `over`.
        let of_same = match options {
            "over = [more]" => options,
            _ => &all,
        };
        let diagonal = peak(&folder, &format!("structure = diagonal, {of_same}"));
        let limits = parts.iter().map(|part| (whole as f64 * part) as u64);
        for limit in limits.chain([diagonal.min(least) / 2]) {
            let found = stopped(&first, Some(limit));
            assert_eq!(found.code.id, "E0502", "{options}");
            let written = |help: &String| Some(help.split('`').nth(1)?.to_owned());
            let offers = found.help.iter().filter_map(written);
            let offers: Vec<String> = offers.filter(|offer| offer.contains('=')).collect();
            for offer in &offers {
                let besides = if offer.contains("over") { &others } else { of_same };
                let fits = peak(&folder, &format!("{besides}, {offer}"));
                assert!(fits <= limit, "{options} within {limit}: {offer} takes {fits}");
                offered += 1;
                let is_largest = |help: &&String| help.contains("largest") && help.contains(offer);
                let largest = found.help.iter().find(is_largest).map(|_| offer);
                let Some((before, rest)) = largest.and_then(|offer| offer.split_once('(')) else {
                    continue;
                };
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let size: usize = digits.parse().unwrap();
                let more = format!("{before}({}{}", size + 1, &rest[digits.len()..]);
                let more = peak(&folder, &format!("{others}, {more}"));
                assert!(
                    more > limit,
                    "{options} within {limit}: more than {offer} takes {more}"
                );
            }
            if offers.is_empty() {
                assert!(limit < least, "{options} within {limit}: nothing is offered");
                assert!(
                    found.help[0].contains("the smaller approximations that bnnc tried"),
                    "{found:?}"
                );
            }
            let is_offered = offers.contains(&"structure = diagonal".to_owned());
            assert!(
                options.contains("subnetwork") || is_offered == (diagonal <= limit),
                "{options} within {limit}"
            );
        }
    }
    assert!(offered >= 15, "{offered}");
}

/// If a kernel has too many rows, the error names the matrix that needs the memory. The error
/// advises the largest number of rows that fits.
#[test]
fn the_largest_kernel_that_fits_is_advised() {
    let rows: String = (0..600)
        .map(|at| format!("{},{}\n", at as f64 / 100.0, at % 7))
        .collect();
    let folder = folder("kernels", &[("rows.csv", format!("x,y\n{rows}"))]);
    let whole = compiled(&folder, &wide("structure = functional"));
    // The numbers that are in memory are the Jacobian, the factor of the kernel, and one number for
    // each weight.
    let kept = 8 * (600 * 1761 + 600 * 600 + 1761);
    let precision = bnnc_run::cost::precision(&whole.manifest, &whole.manifest.infers[0]).unwrap();
    assert!(precision >= kept && precision < 3 * kept, "{precision}");
    let mut offered = 0;
    let peak = |rows: usize| peak(&folder, &format!("structure = functional({rows})"));
    for part in [0.95, 0.85, 0.7, 0.5] {
        let limit = (whole.manifest.infers[0].cost.peak_bytes as f64 * part) as u64;
        let found = stopped(&whole, Some(limit));
        let said = "functional precision matrix of 1761 weights";
        assert!(found.notes[0].contains(said), "{found:?}");
        let Some(rest) = found
            .help
            .iter()
            .find_map(|help| help.split("functional(").nth(1))
        else {
            assert!(peak(1) > limit, "{found:?}");
            continue;
        };
        let rows: usize = rest.split(')').next().unwrap().parse().unwrap();
        assert!(
            peak(rows) <= limit && peak(rows + 1) > limit,
            "{rows} within {limit}"
        );
        offered += 1;
    }
    assert!(offered >= 2, "{offered}");
}

/// Returns the rows `(1, x)` of the design matrix of the straight line.
fn design() -> Vec<(f64, f64)> {
    let rows = POINTS.lines().skip(1);
    let row = |line: &str| {
        let (x, y) = line.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    rows.map(row).collect()
}

/// Returns the inverse of `[[aa, ab], [ab, bb]]`.
fn inverse([aa, ab, bb]: [f64; 3]) -> [f64; 3] {
    let determinant = aa * bb - ab * ab;
    [bb / determinant, -ab / determinant, aa / determinant]
}

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
    let sum = |of: &dyn Fn(f64) -> f64| dataset.train.inputs.iter().map(|x| of(*x)).sum::<f64>() / 0.36;
    let score = |t: f64| {
        let [aa, ab, bb] = inverse([sum(&|_| 1.0) + t, sum(&|x| x), sum(&|x| x * x) + t]);
        let targets = dataset.validation.reals("y").unwrap();
        let rows = dataset.validation.inputs.iter().zip(&targets);
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

/// Subnetworks can be chosen by the variances of other posteriors. A mixture can have one Gaussian
/// for each member of an ensemble.
#[test]
fn subnetworks_and_mixtures_use_earlier_inferences() {
    let folder = network("others");
    let text = format!(
        "{TANH}
posterior Field of Net {{
  w1 ~ Normal(0, 0.1)
  b1 ~ Normal(0, 0.1)
  w2 ~ Normal(0, 0.1)
  b2 ~ Normal(0, 0.1)
}}
infer field = vi(Field, rows) {{ epochs = 50 }}
infer iterates = swag(Net, rows) {{ epochs = 50, warmup = 0, optimiser = SGD(1e-2) }}
infer several = ensemble(Net, rows) {{ epochs = 50, members = 3 }}
infer first = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = field) }}
infer second = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = iterates) }}
infer mixture = laplace(Net, rows) {{ start = several }}
infer one = laplace(Net, rows) {{ start = mixture, epochs = 20 }}
infer few = laplace(Net, rows) {{ start = several, link = weights, predictive_draws = 1 }}
"
    );
    let compiled = compiled(&folder, &text);
    let result = compile::run(&compiled.manifest, 2);
    let highest = |variances: &[f64]| {
        let mut order: Vec<usize> = (0..7).collect();
        order.sort_by(|a, b| variances[*b].total_cmp(&variances[*a]));
        let mut chosen = order[..3].to_vec();
        chosen.sort_unstable();
        chosen
    };
    let values = outcome(&result, "field").splits[0].found.values();
    let scales = ["w1", "b1", "w2", "b2"].map(|site| values[&format!("{site}/scale")].clone());
    let index = |name: &str| approximated(&result, name).members[0].index.clone().unwrap();
    assert_eq!(index("first"), highest(&scales.concat()));
    let iterates: &Collected = outcome(&result, "iterates").splits[0].found.of().unwrap();
    let spread = ["w1", "b1", "w2", "b2"].map(|site| iterates.variances[&format!("{site}/loc")].clone());
    assert_eq!(index("second"), highest(&spread.concat()));
    let mixture = approximated(&result, "mixture");
    assert_eq!(mixture.members.len(), 3);
    let mean = |weights: &dyn Fn(&str) -> Vec<f64>, x: f64| {
        let (w1, b1, w2, b2) = (weights("w1"), weights("b1"), weights("w2"), weights("b2"));
        (0..2)
            .map(|at| w2[at] * (x * w1[at] + b1[at]).tanh())
            .sum::<f64>()
            + b2[0]
    };
    for (at, x) in [0.0, 1.0, 3.0].into_iter().enumerate() {
        let each = mixture.members.iter();
        let each: Vec<f64> = each
            .map(|member| mean(&|site| member.values[&format!("{site}/loc")].clone(), x))
            .collect();
        let average = each.iter().sum::<f64>() / 3.0;
        let found = column(outcome(&result, "mixture"), "mean")[at];
        assert!((found - average).abs() < 1e-12, "{found} {average}");
        let spread = each.iter().map(|mean| (mean - average).powi(2)).sum::<f64>() / 3.0;
        assert!(column(outcome(&result, "mixture"), "sd_epistemic")[at] >= spread.sqrt());
    }
    // If an inference block needs a single point, a mixture provides its first member. The report
    // describes the search of this member.
    let one = approximated(&result, "one");
    assert_eq!(one.members.len(), 3);
    assert_eq!(one.fitted.values, one.members[0].values);
    assert_eq!(
        outcome(&result, "one").splits[0].found.point(),
        &one.members[0].values
    );
    // Each member contributes at least one draw, even if the options request fewer draws than there
    // are members.
    let infer = compiled
        .manifest
        .infers
        .iter()
        .find(|infer| infer.name == "one")
        .unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let drawn = weights::drawn(&one.members, infer, part(infer).unwrap(), 1, &context);
    assert_eq!(drawn["w1/loc"].len(), 3 * 2);
    assert_eq!(column(outcome(&result, "few"), "mean").len(), 3);
}

/// A run that was written to a folder and restored from it.
struct Kept {
    folder: PathBuf,
    compiled: Compiled,
    /// The program, compiled with the programs of Jacobians. Joint covariances and derivatives need
    /// them.
    asked: Compiled,
    result: RunResult,
    read: HashMap<String, States>,
    context: Context,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let folder = network(name);
        let text = format!(
            "{TANH}
infer whole = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\") }}
infer part = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3) }}
infer low = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = low_rank(2) }}
infer squares = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = diagonal }}
infer factored = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = kronecker }}
infer kernel = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = functional }}
infer drawn = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), link = weights }}
infer several = ensemble(Net, rows) {{ epochs = 10, members = 2 }}
infer mixture = laplace(Net, rows) {{ start = several, predictive_draws = 50 }}
infer mixed_squares = laplace(Net, rows) {{ start = several, structure = diagonal, predictive_draws = 50 }}
"
        );
        let compiled = compiled(&folder, &text);
        let asked = asked(&folder, &text);
        let result = compile::run(&compiled.manifest, 2);
        let saved = compile::saved(PathBuf::new());
        out::write(&folder, &compiled.manifest, &result, saved).unwrap();
        let (_, read) = out::read(&folder).unwrap();
        Kept {
            folder,
            compiled,
            asked,
            result,
            read,
            context: Context::new(Arc::new(Pool::new(1)), 1),
        }
    }

    fn infer(&self, name: &str) -> &InferenceBlock {
        infer(&self.asked, name)
    }

    fn dataset(&self) -> &Dataset {
        &outcome(&self.result, "whole").dataset
    }

    fn at(&self, name: &str) -> (&States, &Path) {
        (&self.read[name], self.folder.as_path())
    }

    fn joint(&self, name: &str, limit: Option<u64>) -> Result<Matrix, Stop> {
        let dataset = self.dataset();
        let within = (limit, &self.context);
        let rows = dataset.test.clone();
        joint(
            self.infer(name),
            &dataset.preparation,
            self.at(name),
            rows,
            within,
        )
    }

    fn slopes(&self, name: &str) -> Result<Vec<(String, ResultColumn)>, Stop> {
        let dataset = self.dataset();
        let rows = dataset.test.clone();
        slopes(
            self.infer(name),
            &dataset.preparation,
            self.at(name),
            rows,
            (None, &self.context),
        )
    }
}

/// Returns the code and the message of an error.
fn refusal<T: std::fmt::Debug>(made: Result<T, Stop>) -> (&'static str, String) {
    match made {
        Err(Stop::Diagnostics(found)) => (found[0].code.id, found[0].message.clone()),
        other => panic!("{other:?}"),
    }
}

/// A restored run gives the same predictions. The restored run also contains properties of the
/// approximation, such as the prior scale.
#[test]
fn a_saved_run_predicts_again() {
    let kept = Kept::new("saved");
    for infer in &kept.compiled.manifest.infers {
        let outcome = outcome(&kept.result, &infer.name);
        let rows = outcome.dataset.test.clone();
        let at = kept.at(&infer.name);
        let again = predict(infer, &outcome.dataset.preparation, at, rows, &kept.context).unwrap();
        assert_eq!(again, outcome.predictions, "{}", infer.name);
    }
    let arrays = out::arrays(&kept.folder, "whole", PREFIX).unwrap();
    let again =
        Approximated::restore(kept.infer("whole"), &kept.read["whole"], &arrays, &kept.folder).unwrap();
    close(&[again.members[0].facts.prior_scale], &[1.0], 1e-15);
}

/// Returns the mean of an inference block's predictions, and their variance without noise. The
/// inputs of the rows are increased by `by`.
fn shifted(kept: &Kept, name: &str, by: f64) -> [Vec<f64>; 2] {
    let dataset = kept.dataset();
    let mut rows = dataset.test.clone();
    for field in rows.fields.iter_mut().filter(|field| field.name == "x") {
        let x = (0..field.values.len()).map(|at| field.values.real(at) + by);
        field.values = ArrayValues::Real(x.collect());
    }
    let (infer, at) = (kept.infer(name), kept.at(name));
    let columns = predict(infer, &dataset.preparation, at, rows, &kept.context).unwrap();
    let of = |name: &str| match &columns.iter().find(|(known, _)| known == name).unwrap().1 {
        ResultColumn::Real(values) => values.clone(),
        _ => panic!(),
    };
    [of("mean"), of("sd_epistemic").iter().map(|sd| sd * sd).collect()]
}

/// The joint covariance contains the published variances. Derivatives with respect to the inputs
/// agree with central differences. The derivatives are tested for every form of the precision, and
/// for a mixture.
#[test]
fn joint_covariances_and_slopes_match_their_definitions() {
    let kept = Kept::new("together");
    let diagonal = [0.379_207_35, 0.452_623_43, 0.409_440_98];
    for (name, published) in [("whole", FULL), ("squares", diagonal)] {
        close(&kept.joint(name, None).unwrap().diagonal(), &published, 1e-8);
    }
    for name in [
        "whole",
        "part",
        "low",
        "squares",
        "factored",
        "kernel",
        "drawn",
        "mixture",
        "mixed_squares",
    ] {
        let together = kept.joint(name, None).unwrap();
        assert!((together[(0, 1)] - together[(1, 0)]).abs() < 1e-12, "{name}");
        // Predictions from draws of the weights have Monte Carlo error. The joint covariance of
        // such predictions is the one of the full matrix.
        let same = if name == "drawn" { "whole" } else { name };
        let ([_, variances], low, high) = (
            shifted(&kept, same, 0.0),
            shifted(&kept, same, -1e-5),
            shifted(&kept, same, 1e-5),
        );
        close(&together.diagonal(), &variances, 1e-12);
        let found = kept.slopes(name).unwrap();
        assert_eq!(found.len(), 3);
        for (column, (low, high)) in found[1..].iter().zip(low.iter().zip(&high)) {
            let ResultColumn::Real(values) = &column.1 else {
                panic!()
            };
            let pairs = low.iter().zip(high);
            let wanted: Vec<f64> = pairs.map(|(low, high)| (high - low) / 2e-5).collect();
            close(values, &wanted, 1e-7);
        }
    }
}

/// For a straight line, the joint covariance is the covariance of `a + b x`. The diagonal structure
/// uses the inverse of the diagonal of the precision matrix. In this mixture, all members have the
/// same covariance, but different means. The joint covariance of the mixture includes the
/// covariance of these means.
#[test]
fn the_joint_covariance_of_a_line_is_exact() {
    let folder = folder("joint", &[("rows.csv", POINTS.to_owned())]);
    let text = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Line(x: real[1]) -> y: real {
  line = Dense(1)
  y ~ Normal(line(x)[0], 0.3)
}
infer several = ensemble(Line, rows) { epochs = 3, members = 3, optimiser = SGD(1e-3) }
infer whole = laplace(Line, rows) { start = several, predictive_draws = 2 }
infer squares = laplace(Line, rows) { start = several, structure = diagonal, predictive_draws = 2 }
infer one = laplace(Line, rows) { epochs = 50, structure = diagonal }
";
    let (compiled, asked) = (compiled(&folder, text), asked(&folder, text));
    let result = compile::run(&compiled.manifest, 1);
    let saved = compile::saved(PathBuf::new());
    out::write(&folder, &compiled.manifest, &result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let sum = |of: &dyn Fn(f64) -> f64| design().iter().map(|(x, _)| of(*x)).sum::<f64>() / 0.09;
    let precision = [1.0 + sum(&|_| 1.0), sum(&|x| x), 1.0 + sum(&|x| x * x)];
    let diagonal = [1.0 / precision[0], 0.0, 1.0 / precision[2]];
    for (name, [aa, ab, bb]) in [
        ("whole", inverse(precision)),
        ("squares", diagonal),
        ("one", diagonal),
    ] {
        let members = &approximated(&result, name).members;
        let at = |state: &str| {
            members
                .iter()
                .map(|member| member.values[state][0])
                .collect::<Vec<f64>>()
        };
        let (a, b) = (at("line.b/loc"), at("line.w/loc"));
        assert!(
            name == "one" || (b[0] - b[1]).abs() > 0.1 && b.len() == 3,
            "{b:?}"
        );
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let between = |left: &[f64], right: &[f64]| {
            let products = left.iter().zip(right);
            let products: Vec<f64> = products
                .map(|(one, other)| (one - mean(left)) * (other - mean(right)))
                .collect();
            mean(&products)
        };
        let [aa, ab, bb] = [aa + between(&a, &a), ab + between(&a, &b), bb + between(&b, &b)];
        let dataset = &outcome(&result, name).dataset;
        let (rows, at) = (&dataset.train, (&read[name], folder.as_path()));
        let infer = infer(&asked, name);
        let found = joint(infer, &dataset.preparation, at, rows.clone(), (None, &context)).unwrap();
        let wanted = design().into_iter().flat_map(|(x, _)| {
            let row = move |(other, _): (f64, f64)| aa + ab * (x + other) + bb * x * other;
            design().into_iter().map(row)
        });
        close(&found.values, &wanted.collect::<Vec<f64>>(), 1e-12);
        let found = slopes(infer, &dataset.preparation, at, rows.clone(), (None, &context)).unwrap();
        let real = |column: usize| match &found[column].1 {
            ResultColumn::Real(values) => values.clone(),
            _ => panic!(),
        };
        close(&real(1), &vec![mean(&b); design().len()], 1e-12);
        let wanted: Vec<f64> = design().iter().map(|(x, _)| 2.0 * (ab + bb * x)).collect();
        close(&real(2), &wanted, 1e-12);
    }
}

/// A joint covariance cannot be computed without a Gaussian, or with too little memory. In both
/// cases, an error is reported.
#[test]
fn joint_covariances_need_a_gaussian_and_memory() {
    let kept = Kept::new("unsaid");
    for (code, message) in [
        refusal(kept.slopes("several")),
        refusal(kept.joint("several", None)),
    ] {
        assert!(
            code == "E0548" && message.contains("not a Laplace"),
            "{code} {message}"
        );
    }
    // The computation needs 408 bytes for two arrays of three outputs by seven weights and one
    // array of three by three. For a mixture, it needs nine further numbers. The programs need
    // memory in addition.
    for (name, members, least) in [("whole", 1, 408), ("squares", 1, 408), ("mixture", 2, 408 + 72)] {
        let laplace = part(kept.infer(name)).unwrap();
        let need = memory::together(kept.infer(name), laplace, members, 3);
        assert!(need > least, "{name}: {need}");
        assert!(kept.joint(name, Some(need)).is_ok());
        assert_eq!(refusal(kept.joint(name, Some(need - 1))).0, "E0502");
    }
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

/// The user can interrupt the computation of a curvature between two blocks of rows.
#[test]
fn a_curvature_is_interrupted() {
    let folder = network("interrupted");
    let forms = ["full", "diagonal", "low_rank(2)", "functional", "kronecker"];
    let infer = |(at, form): (usize, &&str)| {
        format!(
            "infer l{at} = laplace(Net, rows) {{ structure = {form}, start = safetensors(\"w.safetensors\") }}\n"
        )
    };
    let infers: String = forms.iter().enumerate().map(infer).collect();
    let second =
        "infer second = laplace(Net, rows) { curvature = hessian, start = safetensors(\"w.safetensors\") }\n";
    let compiled = compiled(&folder, &format!("{TANH}{infers}{second}"));
    let dataset = compiled.dataset("rows");
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    context.interrupt.raise();
    for infer in &compiled.manifest.infers {
        let starts = Starts::new(infer, &EarlierResults::new(), 0).unwrap();
        let values = starts.of(1, 0);
        let programs = (infer, part(infer).unwrap());
        let rows = (&dataset.train, true);
        let evaluation = Evaluator::new(programs, &values, rows, &dataset, &context).unwrap();
        let stopped = curve::curvature(&evaluation, Which::All).map(drop);
        assert!(matches!(stopped, Err(Stop::Interrupted)), "{}", infer.name);
        let stopped = jacobians::gradient(&evaluation).map(drop);
        assert!(matches!(stopped, Err(Stop::Interrupted)), "{}", infer.name);
    }
}

/// A start must contain every weight, and must do so for every split. A warning for an early split
/// is still reported after later splits.
#[test]
fn a_start_must_give_every_weight_on_every_split() {
    let splits = "{\"n_rows\": 8, \"index_base\": 0, \"test\": [[0, 1], [6, 7]]}";
    let folder = folder(
        "splits",
        &[
            ("rows.csv", POINTS.to_owned()),
            ("splits.json", splits.to_owned()),
        ],
    );
    let head = format!(
        "{LINE}
data several = csv(\"rows.csv\") {{ target = y, test = splits(\"splits.json\") }}
model Constant(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Normal(a, 0.3)
}}
"
    );
    let one = "infer m = map(Line, rows) { epochs = 1 }\ninfer l = laplace(Line, several) { start = m }\n";
    let found = stopped(&compiled(&folder, &format!("{head}{one}")), None);
    assert_eq!(found.code.id, "E0549");
    assert!(found.message.ends_with("split 2"), "{}", found.message);
    let other = "infer m = map(Constant, rows) { epochs = 1 }\ninfer l = laplace(Line, rows) { start = m }\n";
    let found = refused(&folder, &format!("{head}{other}"));
    assert_eq!(found.code.id, "E0540");
    assert!(found.message.contains("`b`"), "{}", found.message);
    let far = "infer l = laplace(Line, several) { epochs = 1, optimiser = SGD(1e-9) }\n";
    let result = compile::run(&compiled(&folder, &format!("{head}{far}")).manifest, 1);
    let warned = result
        .warnings
        .iter()
        .filter(|warning| warning.code.id == "E0546");
    assert_eq!(warned.count(), 2);
}

/// Subnetworks are chosen by variances, not by scales: the scale of a family is its standard
/// deviation only for the Normal family.
#[test]
fn subnetworks_rank_by_variances_not_by_scales() {
    let folder = network("families");
    let text = format!(
        "{TANH}
posterior Field of Net {{
  w1 ~ Laplace(0, 0.1)
  b1 ~ Normal(0, 0.2)
  w2 ~ Normal(0, 0.1)
  b2 ~ Normal(0, 0.1)
}}
infer field = vi(Field, rows) {{ epochs = 5 }}
infer l = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = field) }}
"
    );
    let compiled = compiled(&folder, &text);
    let result = compile::run(&compiled.manifest, 1);
    let of = |name: &str| {
        compiled
            .manifest
            .infers
            .iter()
            .find(|infer| infer.name == name)
            .unwrap()
    };
    let found = &outcome(&result, "field").splits[0].found;
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let variances = spread::variances(of("l"), (of("field"), &**found), &context).unwrap();
    let scale = |site: &str| -> Vec<f64> {
        let position = found.values()[&format!("{site}/scale")].iter();
        position.map(|position| position.exp().ln_1p()).collect()
    };
    for (variance, scale) in variances[..2].iter().zip(scale("w1")) {
        // The variance of a Laplace distribution is twice its squared scale. The variance is
        // estimated from 1000 draws, and the kurtosis is 6. The relative standard error of this
        // variance is therefore the square root of 5 / 1000.
        let ratio = variance / (2.0 * scale * scale);
        assert!((ratio - 1.0).abs() < 4.5 * 0.0708, "{ratio}");
    }
    let squares: Vec<f64> = scale("b1").iter().map(|scale| scale * scale).collect();
    close(&variances[2..4], &squares, 1e-12);
}

/// If an earlier run is resumed, a finished approximation is restored from its checkpoint, with its
/// warnings.
#[test]
fn a_checkpoint_keeps_an_approximation() {
    let folder = network("kept");
    let text = format!(
        "{TANH}infer l = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3) }}\n"
    );
    let compiled = compiled(&folder, &text);
    let fingerprint = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
    let results = [false, true].map(|resume| {
        let options = RunOptions {
            checkpoint: Checkpoint::open(&folder.join("out"), &fingerprint, opening(resume)).unwrap(),
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    });
    let [first, second] = &results;
    assert_eq!(outcome(first, "l").predictions, outcome(second, "l").predictions);
    let facts = |result: &RunResult| approximated(result, "l").members[0].facts.clone();
    assert_eq!(facts(first), facts(second));
    assert_eq!(first.warnings.len(), second.warnings.len());
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
    let curvature: f64 = rows.train.inputs.iter().map(|x| x * x / 0.09).sum();
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

/// If `over` contains the name of a list of layers, all layers in the list are selected.
#[test]
fn the_name_of_a_list_selects_all_of_its_layers() {
    let folder = network("list");
    let program = |over: &str| {
        format!(
            "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Deep(x: real[k]) -> y: real {{
  hidden = [Dense(3) for l in 1..3]
  out    = Dense(1)
  y ~ Normal(out(tanh(hidden[1](tanh(hidden[0](x)))))[0], 0.5)
}}
infer l = laplace(Deep, rows) {{ epochs = 1, over = [{over}] }}
"
        )
    };
    let sites = |over: &str| -> Vec<String> {
        let compiled = compiled(&folder, &program(over));
        let weights = &part(&compiled.manifest.infers[0]).unwrap().weights;
        weights.iter().map(|weights| weights.site.clone()).collect()
    };
    let all = sites("hidden");
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(all.iter().all(|site| site.starts_with("hidden[")), "{all:?}");
    assert_eq!(sites("hidden.*"), all);
    // The saved result contains the names of the layers.
    let compiled = compiled(&folder, &program("out"));
    let result = compile::run(&compiled.manifest, 1);
    let saved = bnnc_report::result::json(&compiled.manifest, &result).to_string();
    assert!(
        saved.contains("\"over\":\"[out.b, out.w]\"") || saved.contains("\"over\":\"[out.w, out.b]\""),
        "{saved}"
    );
    let found = refused(&folder, &program("hiden"));
    assert_eq!(found.code.id, "E0313");
    assert!(found.help.concat().contains("did you mean `"), "{found:?}");
}

/// A size below one is a fraction of the weights, and a size of one means one weight. The fraction
/// 1.0 is therefore rejected.
#[test]
fn a_fraction_of_one_is_rejected() {
    let folder = network("fraction");
    let load = |size: &str| {
        let text = format!("{TANH}infer l = laplace(Net, rows) {{ over = subnetwork({size}) }}\n");
        let path = folder.join("p.bnn").display().to_string();
        program::load(&path, &text, &options("cranelift", None))
    };
    assert!(!load("1").has_errors());
    assert!(!load("0.5").has_errors());
    let refused = load("1.0");
    assert!(refused.has_errors());
    let text = format!("{:?}", refused.diagnostics);
    assert!(text.contains("one weight"), "{text}");
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

//! Laplace approximations from program to prediction: published digits of a small network in every form, conjugate models whose approximation is the
//! posterior, links against quadrature, subnetworks, refusals.
#![allow(clippy::unwrap_used)]

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_data::write::ResultColumn;
use bnnc_run::fit::Stop;
use bnnc_run::laplace::Approximated;
use bnnc_run::run::{Found, Options, Outcome, RunResult, run};
use bnnc_tests::compile::{self, Compiled, options};
use std::path::{Path, PathBuf};

/// A folder of one test with these files.
fn folder(name: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-laplace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// A safetensors file of doubles: the length of its header, the header, the data.
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

fn outcome<'a>(result: &'a RunResult, infer: &str) -> &'a Outcome {
    result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap()
}

fn approximated<'a>(result: &'a RunResult, infer: &str) -> &'a Approximated {
    match &outcome(result, infer).splits[0].found {
        Found::Approximated(found) => found,
        _ => panic!("{infer} is no approximation"),
    }
}

fn column<'a>(outcome: &'a Outcome, name: &str) -> &'a [f64] {
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

/// The diagnostic that stops a program when it runs.
fn stopped(compiled: &Compiled, max_memory: Option<u64>) -> Diagnostic {
    let options = Options {
        max_memory,
        ..Options::new(1)
    };
    match run(&compiled.manifest, &options) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The network of 1, 2 and 1 units with tanh whose approximation is published, as three infers may share it.
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

/// The network's folder: three rows, three new ones, the weights.
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

/// The variances of the outputs at the new rows.
fn variances(result: &RunResult, infer: &str) -> Vec<f64> {
    column(outcome(result, infer), "sd_epistemic")
        .iter()
        .map(|sd| sd * sd)
        .collect()
}

const FULL: [f64; 3] = [0.207_270_46, 0.162_929_85, 0.307_559_88];

#[test]
fn published_digits_of_every_form() {
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
    // Three rows have three eigenvectors.
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
    // The noise is apart, and both together are the deviation of the prediction.
    let full = outcome(&result, "full");
    close(column(full, "sd_aleatoric"), &[0.5; 3], 1e-12);
    let total: Vec<f64> = FULL.iter().map(|variance| (variance + 0.25).sqrt()).collect();
    close(column(full, "sd"), &total, 1e-8);
    let f = |x: f64| 1.5 * (0.8 * x + 0.1).tanh() - (-0.5 * x + 0.2).tanh() + 0.3;
    close(column(full, "mean"), &[f(0.0), f(1.0), f(3.0)], 1e-9);
    // The log density of the targets 0 in closed form.
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
fn published_digits_of_subnetworks() {
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
    // The Schur complement: with one prior, the variance of a subnetwork is never above that of the whole.
    for (small, all) in variances(&result, "unscaled").iter().zip(FULL) {
        assert!(*small <= all, "{small} {all}");
    }
    let distance = approximated(&result, "exact").members[0]
        .facts
        .wasserstein
        .unwrap();
    assert!(distance > 0.0 && distance < 10.0, "{distance}");
}

/// The points of a line with noise 0.3 and `N(0, 1)` priors of intercept and slope, whose posterior is published.
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
fn a_conjugate_model_is_its_posterior() {
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
    // The likelihood to the power of one quarter.
    let weight = 1.0 / (4.0 * 0.09);
    let (n, sx, sxx) = (8.0, 1.3, 2.25 + 1.0 + 0.16 + 0.09 + 0.64 + 1.44 + 3.61);
    let (aa, ab, bb) = (1.0 + weight * n, weight * sx, 1.0 + weight * sxx);
    let sites = &outcome(&result, "tempered").sites;
    let variance = sites.iter().find(|site| site.name == "a").unwrap().elements[0]
        .sd
        .powi(2);
    close(&[variance], &[bb / (aa * bb - ab * ab)], 1e-9);
    // A start that is no maximum is told apart.
    let warned: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
    assert_eq!(warned, ["E0546"]);
    assert!(
        result.warnings[0].message.contains("`wrong`"),
        "{:?}",
        result.warnings[0]
    );
}

/// Two weights that depend on each other under the prior have the posterior of the normal equations.
#[test]
fn a_dependent_prior_has_a_whole_matrix() {
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
    // a has 1 + 1 / 0.25 of the prior, b has 1 / 0.25, and together they have -1 / 0.25.
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
    let refused = format!("{model}infer l = laplace(Chain, rows) {{ structure = diagonal, epochs = 1 }}\n");
    assert_eq!(stopped(&compiled(&folder, &refused), None).code.id, "E0547");
}

/// A logistic regression whose Laplace approximation and links are found by quadrature.
#[test]
fn a_logistic_regression() {
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
    // Newton's method for the maximum.
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
        // The trapezium rule over eight standard deviations.
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
fn what_is_refused() {
    let one = folder("refused", &[("rows.csv", "x,y\n1,1\n".to_owned())]);
    let data = "data rows = csv(\"rows.csv\") { target = y }\n";
    let dense = "use layers::Dense
model Net(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 1)
}
";
    let stop = |text: &str| stopped(&compiled(&one, &format!("{data}{text}")), None);
    let found = stop(&format!("{dense}infer l = laplace(Net, rows) {{ epochs = 0 }}\n"));
    assert_eq!(found.code.id, "E0540");
    let found = stop(&format!(
        "{dense}infer l = laplace(Net, rows) {{ epochs = 1, link = bridge }}\n"
    ));
    assert_eq!(found.code.id, "E0545");
    let found = stop(&format!(
        "{dense}infer m = map(Net, rows) {{ epochs = 1 }}\ninfer l = laplace(Net, rows) {{ start = m, over = subnetwork(1, by = m) }}\n"
    ));
    assert_eq!(found.code.id, "E0544");
    // One row and a prior without a second derivative.
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
}

/// Weights behind a unit that is never active are no part of a subnetwork.
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
    assert_eq!(stopped(&compiled(&folder, &of(5)), None).code.id, "E0543");
}

/// A matrix that does not fit is refused before anything is done, with the largest subnetwork that would.
#[test]
fn a_large_matrix_is_refused() {
    let folder = folder("large", &[("rows.csv", POINTS.to_owned())]);
    let of = |over: &str| {
        format!(
            "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[1]) -> y: real {{
  hidden = Dense(40)
  more = Dense(40)
  out = Dense(1)
  y ~ Normal(out(relu(more(relu(hidden(x)))))[0], 0.3)
}}
infer l = laplace(Net, rows) {{ epochs = 1{over} }}
"
        )
    };
    // 1761 weights: 47 MiB for two copies of the matrix.
    let limit = 20 << 20;
    let found = stopped(&compiled(&folder, &of("")), Some(limit));
    assert_eq!(found.code.id, "E0502");
    assert!(
        found.notes[0].contains("full precision of 1761 weights"),
        "{found:?}"
    );
    let size: usize = found.help[0]
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap();
    assert!(size > 500 && size < 1761, "{size}");
    let smaller = compiled(&folder, &of(&format!(", over = subnetwork({size}, by = random)")));
    assert!(smaller.manifest.infers[0].cost.peak_bytes <= limit + (limit >> 3));
}

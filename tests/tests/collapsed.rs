//! Collapsed inference: the integrals over the box of the iterates agree with closed forms and with
//! brute force. The iterates may come from other inference blocks.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "collapsed")]

use bnnc_abi::collapsed::Collapsed;
use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::dtype::Precision;
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::predict::{PROBABILITIES, Predictive};
use bnnc_data::write::ResultColumn;
use bnnc_driver::infer::CompileFailure;
use bnnc_inference::posterior::SharedPosterior;
use bnnc_kernels::pool::Pool;
use bnnc_math::philox;
use bnnc_math::special::{erf, sigmoid};
use bnnc_methods::collapsed::CollapsedPosterior;
use bnnc_methods::collapsed::choice::Choice;
use bnnc_run::out;
use bnnc_run::{RunOptions, RunResult, Sources, predict, run};
use bnnc_tests::compile::{self as compiling, Compiled, opening, options};
use bnnc_training::iterates::Collected;
use std::path::PathBuf;
use std::sync::Arc;

const X: [f64; 6] = [1.0, -0.4, 0.7, -1.3, 0.2, 1.9];
const Y: [f64; 6] = [0.4, 1.1, 0.2, -0.3, 0.9, 1.5];
const CLASSES: [usize; 6] = [0, 1, 2, 1, 0, 2];
const SD: f64 = 0.5;

const LINE: &str = "model M(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 0.5)
}
";

/// A model with one hidden unit.
const UNIT: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(1, prior = Normal(1, 1))
  out    = Dense(1)
  y ~ Normal(out(relu(hidden(x)))[0], 0.5)
}
";

/// A model with one unit in the first layer and two units in the second layer. The kinks of the
/// second layer depend on the unit in the first layer, through its kink and its weights.
const DEEP: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(1, prior = Normal(1, 1))
  second = Dense(2, prior = Normal(0.5, 1))
  out    = Dense(1)
  y ~ Normal(out(relu(second(relu(hidden(x)))))[0], 0.5)
}
";

const DIGIT: &str = "model M(x: real[1]) -> c: index(3) {
  hidden = Dense(2, prior = Normal(1, 1))
  out    = Dense(3)
  c ~ Categorical(logits = out(tanh(hidden(x))))
}
";

/// The options of a training run whose iterates differ a lot from each other.
const FAR: &str = "epochs = 9, warmup = 4, batch = 3, optimiser = SGD(0.05), predictive_draws = 40";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-collapsed-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let table = |header: &str, line: &dyn Fn(usize) -> String| {
        let rows: String = (0..X.len())
            .map(|row| format!("{},{}\n", X[row], line(row)))
            .collect();
        format!("{header}\n{rows}")
    };
    std::fs::write(folder.join("d.csv"), table("a,y", &|row| Y[row].to_string())).unwrap();
    std::fs::write(
        folder.join("c.csv"),
        table("a,c", &|row| CLASSES[row].to_string()),
    )
    .unwrap();
    std::fs::write(
        folder.join("t.csv"),
        table("a,y", &|row| (CLASSES[row] % 2).to_string()),
    )
    .unwrap();
    std::fs::write(folder.join("x.npy"), npy(1, &X)).unwrap();
    let splits =
        "{\"kind\": \"standard\", \"n_rows\": 6, \"index_base\": 0, \"n_splits\": 2, \"test\": [[0], [1]]}";
    std::fs::write(folder.join("s.json"), splits).unwrap();
    let both: Vec<f64> = Y.iter().flat_map(|y| [*y, -y]).collect();
    std::fs::write(folder.join("y.npy"), npy(2, &both)).unwrap();
    folder
}

/// Returns an array in NumPy's format. Each of its rows has this width.
fn npy(width: usize, values: &[f64]) -> Vec<u8> {
    let shape = (values.len() / width, width);
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape:?}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&118u16.to_le_bytes());
    bytes.extend_from_slice(format!("{header:<117}\n").as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn compiled(name: &str, text: &str) -> Compiled {
    let options = options("cranelift", None);
    let text = format!(
        "use layers::Dense\ndata d = csv(\"d.csv\")\ndata classes = csv(\"c.csv\")\ndata truths = csv(\"t.csv\")\n{text}"
    );
    compiling::text(&folder(name).join("p.bnn"), &text, &options)
}

fn attempt(name: &str, text: &str) -> Result<Compiled, CompileFailure> {
    let text = format!("use layers::Dense\ndata d = csv(\"d.csv\")\n{text}");
    compiling::attempt(&folder(name).join("p.bnn"), &text, &options("cranelift", None))
}

fn stopped(compiled: &Compiled) -> Diagnostic {
    match run(&compiled.manifest, &RunOptions::new(1)).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was run"),
    }
}

/// A finished run, and one inference block of the program.
struct Done {
    compiled: Compiled,
    result: RunResult,
    infer: InferenceBlock,
    found: Collected,
    choice: Choice,
    predictive: Predictive,
}

fn done(name: &str, text: &str, infer: &str) -> Done {
    let compiled = compiled(name, text);
    let result = compiling::run(&compiled.manifest, 2);
    let infer = compiled
        .manifest
        .infers
        .iter()
        .find(|known| known.name == infer)
        .unwrap()
        .clone();
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer.name)
        .unwrap();
    let found = &outcome.splits.last().unwrap().found;
    let context = Context::new(Arc::new(Pool::new(2)), 1);
    let rows = (&outcome.dataset.train, true);
    let draws = match &infer.work {
        Work::Collapsed(collapsed) => {
            bnnc_methods::collapsed::draws(&infer, collapsed, collected(found).draws)
        }
        _ => bnnc_core::predict::predictive_draws(&infer, collected(found).draws),
    };
    let mut forecaster = found
        .forecaster(&infer, rows, &outcome.dataset, (draws, &context))
        .unwrap();
    let mut predictive = Predictive::default();
    forecaster
        .run(&mut |_, block| predictive = block.clone())
        .unwrap();
    drop(forecaster);
    let integrated: Option<&CollapsedPosterior> = found.of();
    let choice = integrated.map(|found| found.choice.clone()).unwrap_or_default();
    let found = collected(found).clone();
    Done {
        compiled,
        result,
        infer,
        found,
        choice,
        predictive,
    }
}

fn collected(found: &SharedPosterior) -> &Collected {
    let integrated: Option<&CollapsedPosterior> = found.of();
    let collected = integrated.map(|found| &found.collected);
    collected
        .or_else(|| found.of())
        .unwrap_or_else(|| panic!("{found:?}"))
}

impl Done {
    fn part(&self) -> &Collapsed {
        match &self.infer.work {
            Work::Collapsed(collapsed) => collapsed,
            _ => panic!("not collapsed"),
        }
    }

    /// Returns the elements of a site at each iterate.
    fn site(&self, site: &str) -> Vec<Vec<f64>> {
        let values = &self.found.values[&format!("{site}/loc")];
        let size = values.len() / self.found.draws;
        values.chunks_exact(size).map(<[f64]>::to_vec).collect()
    }

    /// Returns the smallest and the largest value of an element over the iterates.
    fn range(&self, site: &str, element: usize) -> (f64, f64) {
        let all = self.site(site);
        let column = || all.iter().map(|values| values[element]);
        (
            column().fold(f64::INFINITY, f64::min),
            column().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    fn codes(&self) -> Vec<&str> {
        self.result
            .warnings
            .iter()
            .map(|warning| warning.code.id)
            .collect()
    }
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * (1.0 + want.abs()),
        "{got} is not {want}"
    );
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2))
}

fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Divides an interval into `count` equal parts, and returns their midpoints.
fn midpoints((low, high): (f64, f64), count: usize) -> Vec<f64> {
    (0..count)
        .map(|at| low + (high - low) * (at as f64 + 0.5) / count as f64)
        .collect()
}

/// The test uses one weight on an interval, with Normal noise. The results have closed forms:
/// differences of the Normal distribution function, and differences of the integral of this
/// function.
#[test]
fn one_weight_has_a_closed_form() {
    let done = done(
        "one",
        &format!("{LINE}infer c = collapsed(M, d) {{ weights = 1, {FAR} }}\n"),
        "c",
    );
    assert_eq!(done.found.draws, 5);
    let weights = done.range("out.w", 0);
    let biases = done.range("out.b", 0);
    for row in 0..X.len() {
        let by_weight = (weights.1 - weights.0) * X[row].abs() >= biases.1 - biases.0;
        let ends: Vec<(f64, f64)> = done
            .site("out.w")
            .iter()
            .zip(done.site("out.b"))
            .map(|(w, b)| match by_weight {
                true => {
                    let (p, q) = (b[0] + weights.0 * X[row], b[0] + weights.1 * X[row]);
                    (p.min(q), p.max(q))
                }
                false => (w[0] * X[row] + biases.0, w[0] * X[row] + biases.1),
            })
            .collect();
        let law = |(low, high): &(f64, f64), y: f64| {
            (normal_cdf((y - low) / SD) - normal_cdf((y - high) / SD)) / (high - low)
        };
        let want = mean(ends.iter().map(|ends| law(ends, Y[row]))).ln();
        close(done.predictive.log_likelihood[row], want, 1e-10);
        let middle = mean(ends.iter().map(|(low, high)| 0.5 * (low + high)));
        let square = ends
            .iter()
            .map(|(low, high)| (high - low).powi(2) / 12.0 + (0.5 * (low + high) - middle).powi(2));
        close(done.predictive.epistemic[row], mean(square).sqrt(), 1e-10);
        close(done.predictive.aleatoric[row], SD, 1e-12);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-10);
        let below = |(low, high): &(f64, f64), y: f64| {
            let integral = |t: f64| t * normal_cdf(t) + density(t);
            SD * (integral((y - low) / SD) - integral((y - high) / SD)) / (high - low)
        };
        for (values, probability) in done.predictive.quantiles.iter().zip(PROBABILITIES) {
            close(
                mean(ends.iter().map(|ends| below(ends, values[row]))),
                probability,
                1e-9,
            );
        }
        for draw in 0..draws {
            let y = done.predictive.draw[draw * X.len() + row];
            let want = (draw as f64 + 0.5) / draws as f64;
            close(mean(ends.iter().map(|ends| below(ends, y))), want, 2e-3);
        }
        // The table of predictions contains the same numbers. The error estimates in the table are
        // as small as rounding errors, but they are not 0.
        close(column(&done, "log_density")[row], want, 1e-10);
        close(
            column(&done, "cdf")[row],
            mean(ends.iter().map(|ends| below(ends, Y[row]))),
            1e-10,
        );
        for name in ["error", "log_density_error"] {
            let error = column(&done, name)[row];
            assert!(error > 0.0 && error < 1e-9, "{name}: {error}");
        }
    }
}

/// Returns a column of the table of predictions. The table belongs to the first inference block.
fn column(done: &Done, name: &str) -> Vec<f64> {
    let predictions = &done.result.outcomes[0].predictions;
    match predictions.iter().find(|(known, _)| known == name) {
        Some((_, ResultColumn::Real(values))) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// The integral over both weights agrees with brute force over the sum of two uniform variables.
/// The integral is the same for every iterate, because the model does not have other weights.
#[test]
fn all_weights_of_a_line_match_brute_force() {
    for (noise, options) in [
        ("normal", ""),
        ("triangular", ", noise = triangular, alpha = l2, floor = 0"),
    ] {
        let text = format!("{LINE}infer c = collapsed(M, d) {{ {FAR}{options} }}\n");
        let done = done(&format!("all-{noise}"), &text, "c");
        let (weights, biases) = (
            midpoints(done.range("out.w", 0), 1500),
            midpoints(done.range("out.b", 0), 1500),
        );
        for row in 0..X.len() {
            let of = |f: f64| match noise {
                "normal" => density((Y[row] - f) / SD) / SD,
                _ => {
                    let radius = 2.297_003_764_578_612_6 * SD;
                    (1.0 - (Y[row] - f).abs() / radius).max(0.0) / radius
                }
            };
            let want = mean(
                weights
                    .iter()
                    .flat_map(|w| biases.iter().map(move |b| w * X[row] + b))
                    .map(of),
            );
            close(done.predictive.log_likelihood[row], want.ln(), 1e-6);
        }
    }
}

/// Returns the density and the mean of a network with one input. The density and the mean are
/// averaged over the weights of the first layer by brute force.
fn brute(done: &Done, row: usize, location: &dyn Fn(usize, f64) -> f64) -> (f64, f64) {
    let weights = midpoints(done.range("hidden.w", 0), 700);
    let biases = midpoints(done.range("hidden.b", 0), 700);
    let (mut likelihood, mut middle) = (0.0, 0.0);
    for iterate in 0..done.found.draws {
        for w in &weights {
            for b in &biases {
                let f = location(iterate, (w * X[row] + b).max(0.0));
                likelihood += density((Y[row] - f) / SD) / SD;
                middle += f;
            }
        }
    }
    let count = (done.found.draws * weights.len() * biases.len()) as f64;
    (likelihood / count, middle / count)
}

#[test]
fn one_hidden_unit_matches_brute_force() {
    let text = format!("{UNIT}infer c = collapsed(M, d) {{ over = [hidden], {FAR} }}\n");
    let done = done("unit", &text, "c");
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    for row in 0..X.len() {
        let location = |iterate: usize, unit: f64| outgoing[iterate][0] * unit + offsets[iterate][0];
        let (likelihood, middle) = brute(&done, row, &location);
        close(done.predictive.log_likelihood[row], likelihood.ln(), 1e-5);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-5);
    }
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.units > 0, "no kink was crossed: {tally:?}");
    assert_eq!(tally.integrals(), (X.len() * done.found.draws) as u64);
}

/// If kinks depend on other kinks, the integral is computed piece by piece.
#[test]
fn units_behind_units_match_brute_force() {
    let text = format!("{DEEP}infer c = collapsed(M, d) {{ over = [hidden], {FAR} }}\n");
    let done = done("deep", &text, "c");
    let names = ["second.w", "second.b", "out.w", "out.b"];
    let [second, shifts, outgoing, offsets] = names.map(|name| done.site(name));
    for row in 0..X.len() {
        let location = |iterate: usize, unit: f64| {
            let of = |at: usize| {
                (second[iterate][at] * unit + shifts[iterate][at]).max(0.0) * outgoing[iterate][at]
            };
            of(0) + of(1) + offsets[iterate][0]
        };
        let (likelihood, middle) = brute(&done, row, &location);
        close(done.predictive.log_likelihood[row], likelihood.ln(), 1e-5);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-5);
    }
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.pieces > 0, "{tally:?}");
}

/// After training in single precision, the integrals are still finite, because they use double
/// precision and distinguish the pieces.
#[test]
fn single_precision_training_keeps_integrals_finite() {
    let text = format!("{DEEP}infer c = collapsed(M, d) {{ over = [hidden], precision = f32, {FAR} }}\n");
    let done = done("single", &text, "c");
    assert_eq!(done.infer.precision, Precision::F32);
    assert!(
        done.predictive
            .log_likelihood
            .iter()
            .all(|value| value.is_finite())
    );
}

/// The model applies a second rectifier, which does not change any value. The kink of the second
/// rectifier depends on the first rectifier, so the integral uses pieces instead of units. Pieces
/// and units must give the same result.
#[test]
fn pieces_and_units_agree() {
    let twice = UNIT.replace("relu(hidden(x))", "relu(relu(hidden(x)) - 0.1)");
    let once = UNIT.replace("relu(hidden(x))", "relu(hidden(x) - 0.1)");
    let of = |model: &str, name: &str| {
        let text = format!(
            "{model}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(M, d) {{ over = [hidden], iterates = s }}\n"
        );
        done(name, &text, "c")
    };
    let (one, other) = (of(&once, "once"), of(&twice, "twice"));
    let tally = |done: &Done| done.result.outcomes[1].splits[0].tally.clone().unwrap();
    assert!(
        tally(&one).pieces == 0 && tally(&one).units > 0,
        "{:?}",
        tally(&one)
    );
    assert!(tally(&other).pieces > 0, "{:?}", tally(&other));
    for (one, other) in one
        .predictive
        .log_likelihood
        .iter()
        .zip(&other.predictive.log_likelihood)
    {
        close(*one, *other, 1e-9);
    }
}

/// For each class, the integral covers one weight. It is the weight with the largest effect on the
/// logit of the class. The expected probability of each class is computed by quadrature. The
/// probabilities are then normalised.
#[test]
fn classes_match_quadrature() {
    let text = DIGIT.to_owned() + &format!("infer c = collapsed(M, classes) {{ {FAR} }}\n");
    let done = done("classes", &text, "c");
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name));
    let weights = done
        .part()
        .weights
        .iter()
        .find(|weights| weights.site == "out.w")
        .unwrap();
    assert_eq!(weights.elements, 6);
    // The shape of the weights is `[units, classes]` or `[classes, units]`, depending on the layer.
    let place = |unit: usize, class: usize| {
        if is_units_first(&done) {
            unit * 3 + class
        } else {
            class * 2 + unit
        }
    };
    for row in 0..X.len() {
        let mut raw = [0.0; 3];
        for iterate in 0..done.found.draws {
            let unit = |at: usize| (w1[iterate][at] * X[row] + b1[iterate][at]).tanh();
            let units = [unit(0), unit(1), 1.0];
            let weight = |at: usize, class: usize| {
                if at == 2 {
                    b2[iterate][class]
                } else {
                    w2[iterate][place(at, class)]
                }
            };
            let logit = |class: usize| (0..3).map(|at| weight(at, class) * units[at]).sum::<f64>();
            for (class, raw) in raw.iter_mut().enumerate() {
                let range = |at: usize| match at {
                    2 => done.range("out.b", class),
                    _ => done.range("out.w", place(at, class)),
                };
                let width = |at: usize| (range(at).1 - range(at).0) * units[at].abs();
                let best = (0..3).max_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap();
                let others: f64 = (0..3)
                    .filter(|other| *other != class)
                    .map(|other| logit(other).exp())
                    .sum();
                let rest = logit(class) - weight(best, class) * units[best] - others.ln();
                let all = midpoints(range(best), 4000);
                *raw += mean(all.iter().map(|value| sigmoid(rest + value * units[best])))
                    / done.found.draws as f64;
            }
        }
        let total: f64 = raw.iter().sum();
        for (class, raw) in raw.iter().enumerate() {
            close(done.predictive.probabilities[row * 3 + class], raw / total, 1e-7);
        }
        close(
            done.predictive.log_likelihood[row],
            (raw[CLASSES[row]] / total).ln(),
            1e-7,
        );
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert!(
        (diagnostics["raw_sum"].as_f64().unwrap() - 1.0).abs() < 0.2,
        "{diagnostics}"
    );
    assert_eq!(diagnostics["others_held"], false);
}

/// Returns whether the weights of a layer are `[inputs, units]`.
fn is_units_first(done: &Done) -> bool {
    let site = done
        .infer
        .reports
        .iter()
        .find(|site| site.name == "out.w")
        .unwrap();
    site.shape.resolve(&Default::default())[0] == 2
}

/// The mean of the sigmoid of one logit agrees with brute force. The logit depends on two weights.
#[test]
fn a_boolean_output_matches_brute_force() {
    let model = "model M(x: real[1]) -> y: bool {
  out = Dense(1)
  y ~ Bernoulli(out(x)[0])
}
";
    let text = format!("{model}infer c = collapsed(M, truths) {{ {FAR} }}\n");
    let done = done("truth", &text, "c");
    let (weights, biases) = (
        midpoints(done.range("out.w", 0), 1000),
        midpoints(done.range("out.b", 0), 1000),
    );
    for row in 0..X.len() {
        let all = weights
            .iter()
            .flat_map(|w| biases.iter().map(move |b| sigmoid(w * X[row] + b)));
        let want = mean(all);
        close(done.predictive.mean[row], want, 1e-7);
        let right = if CLASSES[row] % 2 == 1 { want } else { 1.0 - want };
        close(done.predictive.log_likelihood[row], right.ln(), 1e-7);
    }
}

/// If the box has width zero, the predictions equal the predictions at the iterate, and a warning
/// is reported.
#[test]
fn a_box_of_width_zero_predicts_like_the_iterate() {
    let text = format!(
        "{UNIT}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}
infer last = swag(M, d) {{ iterates = s, keep = 1, covariance = point }}
infer c = collapsed(M, d) {{ iterates = s, keep = 1 }}\n"
    );
    let done = done("point", &text, "c");
    assert_eq!(done.found.draws, 1);
    assert!(done.codes().contains(&"E0563"), "{:?}", done.codes());
    let (w1, b1, w2, b2) = (
        done.site("hidden.w"),
        done.site("hidden.b"),
        done.site("out.w"),
        done.site("out.b"),
    );
    for row in 0..X.len() {
        let f = w2[0][0] * (w1[0][0] * X[row] + b1[0][0]).max(0.0) + b2[0][0];
        close(
            done.predictive.log_likelihood[row],
            (density((Y[row] - f) / SD) / SD).ln(),
            1e-10,
        );
    }
    let values = |name: &str| {
        let outcome = done
            .result
            .outcomes
            .iter()
            .find(|outcome| outcome.name == name)
            .unwrap();
        collected(&outcome.splits[0].found).values.clone()
    };
    let snapshots = &values("s")["hidden.w/loc"];
    assert_eq!(values("last")["hidden.w/loc"], snapshots[snapshots.len() - 1..]);
    assert_eq!(values("c")["hidden.w/loc"], snapshots[snapshots.len() - 1..]);
}

/// Iterates of another inference block are used unchanged, without further training.
#[test]
fn iterates_of_another_inference_are_used_unchanged() {
    let text = format!(
        "{UNIT}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}
infer c = collapsed(M, d) {{ iterates = s }}
infer g = swag(M, d) {{ iterates = s, covariance = diagonal, predictive_draws = 10 }}\n"
    );
    let done = done("others", &text, "c");
    let of = |name: &str| {
        let outcome = done
            .result
            .outcomes
            .iter()
            .find(|outcome| outcome.name == name)
            .unwrap();
        collected(&outcome.splits[0].found).clone()
    };
    let (snapshots, own, gaussian) = (of("s"), of("c"), of("g"));
    assert_eq!(snapshots.values, own.values);
    assert_eq!((own.fitted.steps, own.iterates.0), (0, 5));
    let all = &snapshots.values["out.b/loc"];
    let middle = mean(all.iter().copied());
    close(gaussian.mean["out.b/loc"][0], middle, 1e-12);
    close(
        gaussian.variances["out.b/loc"][0],
        mean(all.iter().map(|b| (b - middle).powi(2))),
        1e-12,
    );
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    assert!(table.contains("iterates of"), "{table}");
}

/// If an option refers to iterates that do not exist, an error names the option before training
/// starts.
#[test]
fn missing_iterates_are_rejected_at_their_option() {
    let refused = |name: &str, text: &str, why: &str| {
        let found = match attempt(name, text) {
            Err(CompileFailure::Program(found)) => found,
            other => panic!("{name}: {:?}", other.err()),
        };
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.code.id, "E0560", "{only:?}");
        assert!(only.message.contains(why), "{name}: {}", only.message);
        assert!(matches!(only.at, Place::Span(_)), "{only:?}");
    };
    let takes = "infer c = collapsed(M, d) { iterates = s }\n";
    for (at, from) in [
        "map(M, d) { epochs = 2 }",
        "laplace(M, d) { epochs = 2 }",
        "swag(M, d) { epochs = 2, warmup = 0, covariance = diagonal }",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{LINE}infer s = {from}\n{takes}");
        refused(&format!("none{at}"), &text, "keeps no iterates");
    }
    let other = UNIT
        .replace("model M", "model Other")
        .replace("out  ", "exit ")
        .replace("out(", "exit(");
    let text = format!(
        "{UNIT}{other}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(Other, d) {{ iterates = s }}\n"
    );
    refused("other", &text, "which do not include `exit");
    let splits = "data halves = csv(\"d.csv\") { test = splits(\"s.json\") }\n";
    let text = format!(
        "{splits}{LINE}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(M, halves) {{ iterates = s }}\n"
    );
    refused("splits", &text, "on 2 splits");
    // In the non-centred parameterisation, the draws of the sampler are not draws of the weights.
    let text = "model M(x: real[1]) -> y: real {
  tau: positive ~ HalfNormal(1)
  w ~ Normal(0, tau)
  y ~ Normal(w * x[0], 0.5)
}
infer s = nuts(M, d) { chains = 1, non_centered = [w] }
infer c = collapsed(M, d) { over = [w], iterates = s }
";
    refused("noise", text, "contain the noise of `w`");
    // A noise level is a site. The noise level is not a weight, because the mean does not depend on
    // it.
    let noisy = LINE
        .replace("  out =", "  s: positive ~ HalfNormal(1)\n  out =")
        .replace("0.5)", "s)");
    match attempt(
        "scale",
        &format!("{noisy}infer c = collapsed(M, d) {{ over = [s] }}\n"),
    ) {
        Err(CompileFailure::Program(found)) => {
            assert_eq!(found[0].code.id, "E0313");
            let message = &found[0].message;
            assert!(
                message.contains("parameters that affect the outputs"),
                "{message}"
            );
        }
        other => panic!("{:?}", other.err()),
    }
}

/// Two Normal outputs that depend on the same weights are rejected. Outputs that do not share
/// weights are accepted.
#[test]
fn outputs_that_share_weights_are_rejected() {
    let model = "data two = npy(\"x.npy\", \"y.npy\")
model M(x: real[1]) -> y: real[2] {
  hidden = Dense(2, prior = Normal(1, 1))
  out    = Dense(2)
  y ~ Normal(out(relu(hidden(x))), 0.5)
}
";
    let text = format!("{model}infer c = collapsed(M, two) {{ over = [hidden], {FAR} }}\n");
    assert_eq!(stopped(&compiled("shared", &text)).code.id, "E0561");
    let text = format!("{model}infer c = collapsed(M, two) {{ {FAR} }}\n");
    let done = done("apart", &text, "c");
    assert!(
        done.predictive
            .log_likelihood
            .iter()
            .all(|value| value.is_finite())
    );
    assert_eq!(done.predictive.mean.len(), 2 * X.len() * done.predictive.draws);
}

/// A model with two hidden layers of six units each.
const WIDE: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(6)
  second = Dense(6)
  out    = Dense(1)
  y ~ Normal(out(relu(second(relu(hidden(x)))))[0], 0.5)
}
";

/// Integrals over twelve weights before two layers would have too many pieces, so the weights are
/// drawn instead. The difference from a result with more draws is within the reported error.
#[test]
fn too_many_pieces_are_drawn() {
    let with =
        |options: &str| format!("{WIDE}infer c = collapsed(M, d) {{ over = [hidden], {FAR}{options} }}\n");
    let done = done("pieces", &with(""), "c");
    assert!(done.codes().contains(&"E0562"), "{:?}", done.codes());
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.drawn > 0 && tally.drawn_rows > 0, "{tally:?}");
    // The program for draws does not compute derivatives.
    let plain = &done.part().plain.as_ref().unwrap().plan;
    let has = |name: &str| plain.port(name).is_some();
    assert!(has("$location") && !has("$location/$slope") && !has("$kinks/$slope"));
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    for part in [
        "sampled rows",
        "1000 draws per iterate",
        "error of integrals",
        "of the iterates, not of the box",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert_eq!(diagnostics["sampled"]["draws"], 1000);
    let rows = ["exact", "sampled"].map(|name| diagnostics["rows"][name].as_u64().unwrap());
    assert_eq!((rows[0] + rows[1], rows[1]), (X.len() as u64, tally.drawn_rows));
    assert!(diagnostics["log_density_error"].as_f64().unwrap() > 1e-6);
    let names = ["hidden.w", "hidden.b", "second.w", "second.b", "out.w", "out.b"];
    let [w1, b1, w2, b2, w3, b3] = names.map(|name| done.site(name));
    let boxes: Vec<(f64, f64)> = (0..12)
        .map(|at| match at {
            0..6 => done.range("hidden.w", at),
            _ => done.range("hidden.b", at - 6),
        })
        .collect();
    // The weights between the two hidden layers may be stored in either order of their axes.
    let place = |from: usize, to: usize| {
        if second_is_inputs_first(&done) {
            from * 6 + to
        } else {
            to * 6 + from
        }
    };
    assert_eq!((w1[0].len(), b1[0].len()), (6, 6));
    let key = philox::key(3, "brute");
    let count = 4000;
    for row in 0..X.len() {
        let mut densities = Vec::new();
        for iterate in 0..done.found.draws {
            for draw in 0..count {
                let at = |number: usize| {
                    let (low, high) = boxes[number];
                    low + (high - low)
                        * philox::uniform(key, [draw, row as u32, iterate as u32], number as u64)
                };
                let first: Vec<f64> = (0..6)
                    .map(|unit| (at(unit) * X[row] + at(6 + unit)).max(0.0))
                    .collect();
                let second = |unit: usize| {
                    let sum: f64 = (0..6)
                        .map(|from| w2[iterate][place(from, unit)] * first[from])
                        .sum();
                    (sum + b2[iterate][unit]).max(0.0)
                };
                let f: f64 = (0..6).map(|unit| w3[iterate][unit] * second(unit)).sum();
                densities.push(density((Y[row] - f - b3[iterate][0]) / SD) / SD);
            }
        }
        let want = mean(densities.iter().copied());
        let spread = mean(densities.iter().map(|density| (density - want).powi(2)));
        let own = (spread / densities.len() as f64).sqrt() / want;
        let said = done.predictive.integrated.log_density_error[row];
        let off = (done.predictive.log_likelihood[row] - want.ln()).abs();
        assert!(
            off < 4.5 * own.hypot(said) + 1e-9,
            "row {row}: {off}, {own} and {said}"
        );
    }
}

/// Returns whether the shape of the weights between the two hidden layers is `[inputs, units]`. The
/// weights of all layers have the same order of axes.
fn second_is_inputs_first(done: &Done) -> bool {
    let site = done
        .infer
        .reports
        .iter()
        .find(|site| site.name == "out.w")
        .unwrap();
    site.shape.resolve(&Default::default()) == [6, 1]
}

/// If fewer weights or fewer units are integrated over, the integral is exact. The option `units`
/// limits the number of units whose incoming weights are integrated over.
#[test]
fn fewer_weights_or_units_are_exact() {
    let with =
        |options: &str| format!("{WIDE}infer c = collapsed(M, d) {{ over = [hidden], {FAR}{options} }}\n");
    for (name, options, columns) in [("fewer", ", weights = 2", 12), ("two-units", ", units = 2", 4)] {
        let done = done(name, &with(options), "c");
        let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
        assert_eq!(
            (tally.drawn, done.choice.columns.len()),
            (0, columns),
            "{name}: {tally:?}"
        );
        assert!(!done.codes().contains(&"E0562"), "{:?}", done.codes());
        let likelihoods = &done.predictive.log_likelihood;
        assert!(likelihoods.iter().all(|value| value.is_finite()));
    }
}

/// The report before the run describes the integrals, and names every option that affects them.
#[test]
fn the_report_describes_the_integrals() {
    let said = |name: &str, model: &str, options: &str| -> String {
        let text = format!("{model}infer c = collapsed(M, d) {{ {FAR}{options} }}\n");
        let compiled = compiled(name, &text);
        let site = compiled.manifest.infers[0]
            .reports
            .iter()
            .find(|site| site.likelihood.contains("box"));
        site.unwrap().likelihood.clone()
    };
    let wide = said("said", WIDE, ", over = [hidden]");
    assert!(
        wide.contains("the integral is exact where the box of a row crosses no kink"),
        "{wide}"
    );
    assert!(
        wide.contains("1000 draws per iterate") && wide.contains("a box of 12 weights is not cut"),
        "{wide}"
    );
    let few = said("few", WIDE, ", over = [hidden], weights = 2");
    // Six lines divide a plane into at most 22 regions. The six kinks of the second layer divide
    // each region into at most 64 pieces, so there are at most 22 * 64 = 1408 pieces.
    assert!(
        few.contains("at most 20000 simplices") && few.contains("at most 1408 pieces"),
        "{few}"
    );
    let units = said(
        "units",
        UNIT,
        ", over = [hidden], units = 1, box = moments, draws = 77",
    );
    for part in [
        "the unit with the largest effect on the outputs",
        "standard deviations",
        "do not share weights",
        "77 draws",
    ] {
        assert!(units.contains(part), "{part}: {units}");
    }
    let fixed = said("said-fixed", LINE, ", weights = 1, selection = fixed");
    for part in [
        "with the largest mean effect on the training rows",
        "the range of the iterates",
        "the integral is exact, because the location is affine in the weights",
    ] {
        assert!(fixed.contains(part), "{part}: {fixed}");
    }
}

/// The maximum of several units is an affine function between kinks. The integral over its pieces
/// agrees with brute force.
#[test]
fn the_maximum_of_units_matches_brute_force() {
    let model = "model M(x: real[1]) -> y: real {
  hidden = Dense(3, prior = Normal(0, 1))
  y ~ Normal(max(hidden(x)), 0.5)
}
";
    let text = format!("{model}infer c = collapsed(M, d) {{ over = [hidden.w], {FAR} }}\n");
    let done = done("largest", &text, "c");
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.pieces > 0 && tally.drawn == 0, "{tally:?}");
    let weights = [0, 1, 2].map(|at| midpoints(done.range("hidden.w", at), 60));
    let biases = done.site("hidden.b");
    for row in 0..X.len() {
        let mut all = Vec::new();
        for bias in &biases {
            for a in &weights[0] {
                for b in &weights[1] {
                    for c in &weights[2] {
                        let units = [a * X[row] + bias[0], b * X[row] + bias[1], c * X[row] + bias[2]];
                        let f = units.into_iter().fold(f64::NEG_INFINITY, f64::max);
                        all.push(density((Y[row] - f) / SD) / SD);
                    }
                }
            }
        }
        close(
            done.predictive.log_likelihood[row],
            mean(all.into_iter()).ln(),
            1e-3,
        );
    }
}

#[test]
fn classes_that_share_weights_are_normalised() {
    let model = DIGIT.replace("tanh", "relu");
    let text = format!("{model}infer c = collapsed(M, classes) {{ over = [hidden], weights = 0, {FAR} }}\n");
    let done = done("held", &text, "c");
    assert!(done.codes().contains(&"E0564"), "{:?}", done.codes());
    for row in done.predictive.probabilities.chunks_exact(3) {
        close(row.iter().sum(), 1.0, 1e-12);
    }
}

/// If the outputs are smooth functions of the weights, the weights are drawn from the box.
#[test]
fn smooth_weights_are_drawn_from_the_box() {
    let model = UNIT.replace("relu", "tanh");
    let text = format!("{model}infer c = collapsed(M, d) {{ over = [hidden], draws = 400, {FAR} }}\n");
    let done = done("drawn", &text, "c");
    assert_eq!(done.predictive.draws, 2000);
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    for (row, x) in X.iter().enumerate() {
        let mut all = Vec::new();
        for w in midpoints(done.range("hidden.w", 0), 100) {
            for b in midpoints(done.range("hidden.b", 0), 100) {
                let unit = (w * x + b).tanh();
                all.extend(outgoing.iter().zip(&offsets).map(|(v, c)| v[0] * unit + c[0]));
            }
        }
        let middle = mean(all.iter().copied());
        let sd = mean(all.iter().map(|f| (f - middle).powi(2))).sqrt();
        let of_row = (0..2000).map(|draw| done.predictive.mean[draw * X.len() + row]);
        // The mean of n draws has the standard deviation sd / sqrt(n).
        assert!((mean(of_row) - middle).abs() < 4.5 * sd / 2000f64.sqrt() + 1e-9);
    }
}

/// A run folder restores the choice of weights. The restored choice may be one that all rows share,
/// or a choice of units.
#[test]
fn a_saved_run_predicts_the_same_values() {
    let model = UNIT.replace("Dense(1, prior", "Dense(4, prior");
    let text = format!(
        "{model}{smooth}infer units = collapsed(M, d) {{ over = [hidden], units = 2, {FAR} }}
infer fixed = collapsed(M, d) {{ selection = fixed, weights = 2, {FAR} }}
infer row = collapsed(M, d) {{ weights = 2, {FAR} }}
infer scored = collapsed(M, d) {{ weights = 2, always = [out.b], compat = published, {FAR} }}
infer drawn = collapsed(Smooth, d) {{ over = [hidden], draws = 20, {FAR} }}\n",
        smooth = model.replace("model M", "model Smooth").replace("relu", "tanh")
    );
    let done = done("saved", &text, "units");
    // Two units with one input have two weights and two biases.
    assert_eq!(done.choice.columns.len(), 4);
    let folder = folder("saved-out");
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder, &done.compiled.manifest, &done.result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    for (infer, outcome) in done.compiled.manifest.infers.iter().zip(&done.result.outcomes) {
        let dataset = &outcome.dataset;
        let again = predict(
            infer,
            &dataset.preparation,
            (&read[&outcome.name], folder.as_path()),
            dataset.train.clone(),
            &context,
        )
        .unwrap();
        let same = again.iter().zip(&outcome.predictions);
        same.for_each(|(again, first)| {
            assert_eq!(format!("{again:?}"), format!("{first:?}"), "{}", infer.name)
        });
        // If rows do not have targets, the table leaves out the columns that need targets.
        let more = &outcome.predictions[again.len()..];
        let of_targets = |name: &str| ["log_density", "log_density_error", "cdf"].contains(&name);
        assert!(
            more.len() >= 2 && more.iter().all(|(name, _)| of_targets(name)),
            "{more:?}"
        );
    }
}

/// If a run is resumed, a finished inference block is not trained again.
#[test]
fn a_resumed_run_keeps_finished_inferences() {
    let compiled = compiled(
        "resumed",
        &format!("{LINE}infer c = collapsed(M, d) {{ weights = 1, {FAR} }}\n"),
    );
    let folder = folder("resumed-out");
    let with = |resumes: bool| {
        let fingerprint = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
        let checkpoint = Checkpoint::open(&folder, &fingerprint, opening(resumes)).unwrap();
        let options = RunOptions {
            checkpoint,
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    };
    let (first, again) = (with(false), with(true));
    let metrics = |result: &RunResult| format!("{:?}", result.outcomes[0].splits[0].metrics);
    assert_eq!(metrics(&first), metrics(&again));
}

/// Returns the mean, the variance, and the kurtosis (the fourth central moment divided by the
/// squared variance).
fn moments(values: &[f64]) -> (f64, f64, f64) {
    let middle = mean(values.iter().copied());
    let of = |power: i32| mean(values.iter().map(|value| (value - middle).powi(power)));
    (middle, of(2), of(4) / of(2).powi(2))
}

/// Returns the values of a unit `tanh(w x + b)` at the points of a grid over the box.
fn smooth_units(done: &Done, x: f64) -> Vec<f64> {
    let (weights, biases) = (done.range("hidden.w", 0), done.range("hidden.b", 0));
    let biases = midpoints(biases, 100);
    let all = midpoints(weights, 100).into_iter();
    all.flat_map(|w| biases.iter().map(move |b| (w * x + b).tanh()))
        .collect()
}

/// The reported errors of draws from the box are standard errors. The draws around each iterate are
/// independent. If a distribution has the kurtosis k, a variance that is estimated from n draws has
/// the relative standard error sqrt((k - 1) / n). The test computes the kurtosis and the variance
/// on a grid over the box.
#[test]
fn errors_of_draws_are_their_standard_errors() {
    let model = UNIT.replace("relu", "tanh");
    let with = |draws: usize| {
        let text =
            format!("{model}infer c = collapsed(M, d) {{ over = [hidden], draws = {draws}, {FAR} }}\n");
        done(&format!("drawn-errors-{draws}"), &text, "c")
    };
    let count = 400.0;
    let done = with(400);
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    let iterates = outgoing.len() as f64;
    for (row, x) in X.iter().enumerate() {
        let units = smooth_units(&done, *x);
        let (mut of_mean, mut of_density, mut likelihood, mut kurtosis) = (0.0, 0.0, 0.0, 1.0f64);
        for (v, c) in outgoing.iter().zip(&offsets) {
            let places: Vec<f64> = units.iter().map(|unit| v[0] * unit + c[0]).collect();
            let densities: Vec<f64> = places.iter().map(|f| density((Y[row] - f) / SD) / SD).collect();
            let (place, dense) = (moments(&places), moments(&densities));
            of_mean += place.1 / (count * iterates * iterates);
            of_density += dense.1 / (count * iterates * iterates);
            likelihood += dense.0 / iterates;
            kurtosis = kurtosis.max(place.2).max(dense.2);
        }
        let relative = of_density.sqrt() / likelihood;
        let near = 4.5 * (kurtosis - 1.0).sqrt() / count.sqrt() + 9.0 * relative;
        let [error, off] = ["error", "log_density_error"].map(|name| column(&done, name)[row]);
        assert!(
            (error.powi(2) / of_mean - 1.0).abs() < near,
            "row {row}: {error}, {of_mean}"
        );
        assert!(
            (off / relative).powi(2) - 1.0 < near,
            "row {row}: {off}, {relative}"
        );
        assert!(
            1.0 - (off / relative).powi(2) < near,
            "row {row}: {off}, {relative}"
        );
        let found = column(&done, "log_density")[row];
        close(
            found,
            bnnc_data::metrics::log_mean_exp(
                (0..2000).map(|draw| done.predictive.log_likelihood[draw * X.len() + row]),
            ),
            1e-12,
        );
        assert!(
            (found - likelihood.ln()).abs() < 4.5 * off + 1e-6,
            "row {row}: {found}"
        );
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert_eq!(diagnostics["rows"]["sampled"], X.len());
    let largest = column(&done, "error").into_iter().fold(0.0, f64::max);
    assert_eq!(diagnostics["error"], largest);
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    assert!(
        table.contains("draws per iterate") && table.contains("of a log density"),
        "{table}"
    );
    // The error cannot be estimated from a single draw per iterate, even if predictions repeat this
    // draw.
    let alone = with(1);
    assert!(alone.predictive.draws > alone.found.draws);
    for name in ["error", "log_density_error"] {
        assert!(
            column(&alone, name).iter().all(|error| *error == f64::INFINITY),
            "{name}"
        );
    }
}

/// The reported error of class probabilities from draws is the largest error of any class.
#[test]
fn errors_of_drawn_classes_are_the_largest_of_the_classes() {
    let model = DIGIT.replace("Dense(2, prior", "Dense(1, prior");
    let text = format!("{model}infer c = collapsed(M, classes) {{ over = [hidden], draws = 400, {FAR} }}\n");
    let done = done("drawn-classes", &text, "c");
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    let (count, iterates) = (400.0, outgoing.len() as f64);
    for (row, x) in X.iter().enumerate() {
        let units = smooth_units(&done, *x);
        let (mut of_classes, mut kurtosis) = ([0.0; 3], 1.0f64);
        for (v, c) in outgoing.iter().zip(&offsets) {
            let probability = |unit: &f64, class: usize| {
                let power = |class: usize| (v[class] * unit + c[class]).exp();
                power(class) / (0..3).map(power).sum::<f64>()
            };
            for (class, sum) in of_classes.iter_mut().enumerate() {
                let all: Vec<f64> = units.iter().map(|unit| probability(unit, class)).collect();
                let (_, variance, fourth) = moments(&all);
                *sum += variance / (count * iterates * iterates);
                kurtosis = kurtosis.max(fourth);
            }
        }
        let want = of_classes.into_iter().fold(0.0, f64::max);
        let near = 4.5 * (kurtosis - 1.0).sqrt() / count.sqrt();
        let error = column(&done, "error")[row];
        assert!(
            (error.powi(2) / want - 1.0).abs() < near,
            "row {row}: {error}, {want}"
        );
    }
}

/// Returns the density of a triangular distribution at a distance from its centre. Also returns the
/// probability of a value below this point.
fn triangle(distance: f64, radius: f64) -> (f64, f64) {
    let part = (1.0 - distance.abs() / radius).max(0.0);
    let below = 0.5 * part * part;
    (part / radius, if distance < 0.0 { below } else { 1.0 - below })
}

/// Returns the density and the distribution function at a target as the published code computes
/// them. `places` contains the location at each point of a grid over the box.
fn published(places: &[f64], y: f64, (low, high): (f64, f64), smoothing: f64) -> (f64, f64) {
    let radius = 2.45 * SD;
    let below = |y: f64| mean(places.iter().map(|f| triangle(y - f, radius).1));
    let numerator = mean(places.iter().map(|f| triangle(y - f, radius).0));
    let whole = smoothing * (high - low) + below(high) - below(low);
    (
        (smoothing + numerator) / whole,
        (smoothing * (y - low) + below(y) - below(low)) / whole,
    )
}

/// Returns a program whose model has three hidden units. The rows of this program are standardised.
fn scored() -> String {
    let model = UNIT.replace("Dense(1, prior", "Dense(3, prior");
    format!("data std = csv(\"d.csv\") {{ standardise = [inputs, target] }}\n{model}")
}

/// Compares a run on standardised rows with sums over a grid of points in the box. `places` returns
/// the locations at the grid points around an iterate, for one value of the input.
fn check_published(done: &Done, smoothing: f64, places: &dyn Fn(usize, f64) -> Vec<f64>, tolerance: f64) {
    let dataset = &done.result.outcomes[0].dataset;
    let (x, y) = (&dataset.train.inputs, dataset.train.reals("y").unwrap());
    let ends = (
        y.iter().copied().fold(f64::INFINITY, f64::min) - 1e-3,
        y.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1e-3,
    );
    for row in 0..X.len() {
        let all: Vec<Vec<f64>> = (0..done.found.draws)
            .map(|iterate| places(iterate, x[row]))
            .collect();
        let (densities, below): (Vec<f64>, Vec<f64>) = all
            .iter()
            .map(|places| published(places, y[row], ends, smoothing))
            .unzip();
        let want = mean(densities.into_iter()).ln();
        close(done.predictive.log_likelihood[row], want, tolerance);
        let original = want - dataset.preparation.target.sd.ln();
        close(column(done, "log_density")[row], original, tolerance);
        close(column(done, "cdf")[row], mean(below.into_iter()), tolerance);
        let error = column(done, "log_density_error")[row];
        assert!(error > 0.0 && error < 1e-9, "{error}");
        // The mean of the predictions equals the mean of the location.
        let middle = mean(all.iter().flatten().copied());
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, tolerance);
        let variance = (2.45 * SD).powi(2) / 6.0;
        close(done.predictive.aleatoric[row], variance.sqrt(), 1e-12);
    }
    assert!(done.codes().contains(&"E0565"), "{:?}", done.codes());
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let said = &json["infer"]["c"]["diagnostics"]["published"];
    close(said["interval"][0].as_f64().unwrap(), ends.0, 1e-12);
    close(said["interval"][1].as_f64().unwrap(), ends.1, 1e-12);
    assert_eq!(
        (&said["alpha"], &said["smoothing"]),
        (&2.45.into(), &smoothing.into())
    );
}

/// The integral covers the bias and the two weights of the last layer that affect a row most. The
/// results agree with the definition of the published density.
#[test]
fn the_published_density_holds_for_a_last_layer() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ weights = 2, always = [out.b], compat = published, smoothing = 0.02, {FAR} }}\n",
        scored()
    );
    let done = done("published-last", &text, "c");
    let [w1, b1, w2] = ["hidden.w", "hidden.b", "out.w"].map(|name| done.site(name));
    let biases = midpoints(done.range("out.b", 0), 50);
    let places = |iterate: usize, x: f64| {
        let units = [0, 1, 2].map(|at| (w1[iterate][at] * x + b1[iterate][at]).max(0.0));
        let width = |at: usize| (done.range("out.w", at).1 - done.range("out.w", at).0) * units[at];
        let least = (0..3).min_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap();
        let grids: Vec<Vec<f64>> = (0..3)
            .filter(|at| *at != least)
            .map(|at| {
                midpoints(done.range("out.w", at), 50)
                    .into_iter()
                    .map(|w| w * units[at])
                    .collect()
            })
            .collect();
        let kept = w2[iterate][least] * units[least];
        let mut all = Vec::new();
        for one in &grids[0] {
            for other in &grids[1] {
                all.extend(biases.iter().map(|bias| kept + one + other + bias));
            }
        }
        all
    };
    check_published(&done, 0.02, &places, 1e-4);
}

/// The integral covers only the weight and the bias of the first unit, even if another unit has a
/// larger effect on the outputs.
#[test]
fn the_published_density_holds_for_one_unit() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ over = [hidden], units = 1, weights = 1, always = [hidden.b], compat = published, {FAR} }}\n",
        scored()
    );
    let done = done("published-unit", &text, "c");
    // The sites `hidden.w` and `hidden.b` have three elements each.
    assert_eq!(done.choice.columns, [0, 3]);
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name));
    let (weights, biases) = (done.range("hidden.w", 0), done.range("hidden.b", 0));
    let (weights, biases) = (midpoints(weights, 300), midpoints(biases, 300));
    let places = |iterate: usize, x: f64| {
        let unit = |at: usize| w2[iterate][at] * (w1[iterate][at] * x + b1[iterate][at]).max(0.0);
        let kept = unit(1) + unit(2) + b2[iterate][0];
        let first = |w: f64, b: f64| kept + w2[iterate][0] * (w * x + b).max(0.0);
        let all = weights.iter().flat_map(|w| biases.iter().map(move |b| (*w, *b)));
        all.map(|(w, b)| first(w, b)).collect()
    };
    // The second argument is the default of `smoothing`.
    check_published(&done, 1e-3, &places, 1e-4);
}

/// A bias that has the same value at all iterates gets a narrow box. Other weights that have the
/// same value at all iterates do not get a box.
#[test]
fn a_bias_with_equal_iterates_has_the_published_box() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ weights = 2, always = [out.b], keep = 1, compat = published, {FAR} }}\n",
        scored()
    );
    let done = done("published-point", &text, "c");
    // The index of the bias is 3, because three weights come before it.
    assert_eq!(done.choice.columns, [3]);
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name)[0].clone());
    let biases = midpoints((b2[0] - 5e-5, b2[0] + 5e-5), 200);
    let places = |_: usize, x: f64| {
        let unit = |at: usize| w2[at] * (w1[at] * x + b1[at]).max(0.0);
        let kept = unit(0) + unit(1) + unit(2);
        biases.iter().map(|bias| kept + bias).collect()
    };
    check_published(&done, 1e-3, &places, 1e-8);
}

/// Options that contradict the published density are rejected. The error points at the option.
#[test]
fn options_against_the_published_density_are_rejected() {
    let refused = |name: &str, text: &str, option: &str, why: &str| {
        let found = match attempt(name, text) {
            Err(CompileFailure::Program(found)) => found,
            other => panic!("{name}: {:?}", other.err()),
        };
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.code.id, "E0614", "{only:?}");
        assert!(only.message.contains(why), "{name}: {}", only.message);
        let Place::Span(span) = only.at else {
            panic!("{only:?}")
        };
        let whole = format!("use layers::Dense\ndata d = csv(\"d.csv\")\n{text}");
        let before = &whole[..span.start as usize];
        assert!(before.ends_with(&format!("{option} = ")), "{name}: {before}");
    };
    let with = |model: &str, options: &str| format!("{model}infer c = collapsed(M, d) {{ {options} }}\n");
    let compat = "compat = published";
    for (at, (options, option, why)) in [
        (
            "noise = normal, compat = published",
            "noise",
            "triangular noise instead of Normal noise",
        ),
        ("floor = 0.1, compat = published", "floor", "a uniform"),
        ("smoothing = 0.1", "smoothing", "requires `compat = published`"),
        (
            "noise = triangular, smoothing = 0.1, compat = none",
            "smoothing",
            "requires `compat = published`",
        ),
        (
            "always = [out.b]",
            "always",
            "all weights are already integrated over",
        ),
        (
            "weights = 1, always = [hidden]",
            "always",
            "`always` names `hidden`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        refused(&format!("apart{at}"), &with(LINE, options), option, why);
    }
    let smooth = UNIT.replace("relu", "tanh");
    let drawn = format!("over = [hidden], {compat}");
    refused(
        "apart-drawn",
        &with(&smooth, &drawn),
        "compat",
        "sampled from their box",
    );
    let classes =
        format!("data classes = csv(\"c.csv\")\n{DIGIT}infer c = collapsed(M, classes) {{ {compat} }}\n");
    refused("apart-classes", &classes, "compat", "is a class");
    let two = "data two = npy(\"x.npy\", \"y.npy\")
model M(x: real[1]) -> y: real[2] {
  out = Dense(2)
  y ~ Normal(out(x), 0.5)
}
";
    let two = format!("{two}infer c = collapsed(M, two) {{ {compat} }}\n");
    refused("apart-two", &two, "compat", "one number per row");
}

//! Posteriors from training: Gaussians over iterates, ensembles, and dropout masks on the inputs of
//! layers. Also tests starts from files.
#![allow(clippy::unwrap_used)]

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::states::{StateValues, start};
use bnnc_kernels::pool::Pool;
use bnnc_methods::iterates::seed_of;
use bnnc_run::out;
use bnnc_run::{RunOptions, RunResult, Sources, predict, run};
use bnnc_tests::compile::{self as compiling, Compiled, opening, options};
use bnnc_tests::step::{Steps, predictions};
use bnnc_training::TrainingResult;
use bnnc_training::iterates::Collected;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const X: [[f64; 3]; 6] = [
    [1.0, 0.3, -0.5],
    [0.9, -0.2, 0.4],
    [1.2, 0.8, 0.1],
    [0.7, 0.5, -0.9],
    [1.1, -0.6, 0.2],
    [0.8, 0.1, 0.6],
];
const Y: [f64; 6] = [0.4, 1.1, 0.2, -0.3, 0.9, 0.5];

/// A network that has one hidden layer with five units, and a noise level.
const NET: &str = "use layers::Dense
use layers::Embedding
data d = csv(\"d.csv\")
model Net(x: real[3]) -> y: real {
  hidden = Dense(5)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(tanh(hidden(x)))[0], sigma + 0.1)
}
";

/// A model that consists of a linear layer.
const LINE: &str = "use layers::Dense
data d = csv(\"d.csv\")
model Line(x: real[3]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 0.5)
}
";

/// Creates a folder for one test. The folder contains the table of [`X`] and [`Y`].
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-iterates-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let row = |(x, y): (&[f64; 3], &f64)| format!("{},{},{},{y}\n", x[0], x[1], x[2]);
    let rows: String = X.iter().zip(&Y).map(row).collect();
    std::fs::write(folder.join("d.csv"), format!("a,b,c,y\n{rows}")).unwrap();
    folder
}

fn seeded(folder: &Path, text: &str, seed: u64) -> Compiled {
    let options = bnnc_driver::options::CompileOptions {
        seed,
        ..options("cranelift", Some(Precision::F64))
    };
    compiling::text(&folder.join("p.bnn"), text, &options)
}

fn compiled(name: &str, text: &str) -> Compiled {
    seeded(&folder(name), text, 1)
}

/// Returns the first diagnostic of the compiler for a program that does not compile.
fn refused(name: &str, text: &str) -> Diagnostic {
    compiling::refused(&folder(name).join("p.bnn"), text)
}

fn stopped(compiled: &Compiled) -> Diagnostic {
    match run(&compiled.manifest, &RunOptions::new(1)).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was run"),
    }
}

fn collected<'a>(result: &'a RunResult, infer: &str) -> &'a Collected {
    let outcome = result.outcomes.iter().find(|outcome| outcome.name == infer);
    let found = &outcome.unwrap().splits.last().unwrap().found;
    found.of().unwrap_or_else(|| panic!("{found:?}"))
}

fn values(result: &RunResult, infer: &str) -> Arc<StateValues> {
    let outcome = result.outcomes.iter().find(|outcome| outcome.name == infer);
    outcome.unwrap().splits.last().unwrap().found.values().clone()
}

fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!(
            (got - want).abs() <= tolerance * (1.0 + want.abs()),
            "{got} is not {want}"
        );
    }
}

// Tests of Gaussians over iterates.

/// The mean of the iterates after epochs 4 and 6 equals the mean of two results of `map`, one after
/// 4 epochs and one after 6 epochs.
#[test]
fn the_mean_of_iterates_is_that_of_single_runs() {
    let folder = folder("average");
    let run_with = |method: &str| {
        let text = format!(
            "{NET}infer fit = {method}, batch = 4, optimiser = SGD(1e-2), schedule = constant, predictive_draws = 20 }}\n"
        );
        compiling::run(&seeded(&folder, &text, 3).manifest, 1)
    };
    let swag = run_with("swag(Net, d) { epochs = 6, warmup = 2, every = 2, covariance = point");
    let singles = [4, 6].map(|epochs| values(&run_with(&format!("map(Net, d) {{ epochs = {epochs}")), "fit"));
    let found = collected(&swag, "fit");
    assert_eq!(found.iterates, (2, 0));
    assert_eq!(found.draws, 1);
    for (name, mean) in found.mean.iter() {
        let own: Vec<f64> = (0..mean.len())
            .map(|at| 0.5 * (singles[0][name][at] + singles[1][name][at]))
            .collect();
        close(mean, &own, 1e-14);
        assert_eq!(mean, &found.values[name], "{name}");
    }
    assert_eq!(swag.outcomes[0].sites.len(), 5);
}

/// The test runs gradient descent on a quadratic function, with one row per step. Let
/// `a = rate (N + 1 / prior variance)`, and let `j` run over the rows in the order of the epoch,
/// which is a random permutation. The weight at the end of the epoch is
/// `(1 - a)^N w + rate N sum_j (1 - a)^(N - 1 - j) y_(j)`. The weights therefore form a first-order
/// autoregression. The stationary mean and variance of this autoregression are known: over random
/// permutations, a sum `c_j y_(j)` has the variance `S^2 (sum c^2 - (sum c)^2 / N)`.
#[test]
fn iterates_have_the_stationary_variance() {
    const EPOCHS: usize = 4000;
    let text = format!(
        "data d = csv(\"d.csv\") {{ inputs = [a], target = y }}
model Mean(x: real[1]) -> y: real {{
  w ~ Normal(0, 10)
  y ~ Normal(w, 1)
}}
infer fit = swag(Mean, d) {{ epochs = {EPOCHS}, warmup = 20, batch = 1, optimiser = SGD(0.01), covariance = diagonal, scale = 2, \
predictive_draws = 20000 }}
"
    );
    let result = compiling::run(&compiled("stationary", &text).manifest, 1);
    let found = collected(&result, "fit");
    let rows = Y.len() as f64;
    let (rate, n) = (0.01, Y.len() as i32);
    let a = rate * (rows + 0.01);
    let weights: Vec<f64> = (0..n).map(|j| rate * rows * (1.0 - a).powi(n - 1 - j)).collect();
    let (sum, squares) = (
        weights.iter().sum::<f64>(),
        weights.iter().map(|c| c * c).sum::<f64>(),
    );
    let mean = Y.iter().sum::<f64>() / rows;
    let spread = Y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (rows - 1.0);
    let correlation = (1.0 - a).powi(n);
    let variance = spread * (squares - sum * sum / rows) / (1.0 - correlation * correlation);
    let centre = mean * sum / (1.0 - correlation);
    // The standard error of the mean, and the standard error of the variance of an autoregression.
    let steps = (EPOCHS - 20) as f64;
    let of_mean = (variance / steps * (1.0 + correlation) / (1.0 - correlation)).sqrt();
    let z = (found.mean["w/loc"][0] - centre) / of_mean;
    assert!(z.abs() < 4.5, "{} is not {centre}", found.mean["w/loc"][0]);
    let draws = &found.values["w/loc"];
    assert_eq!((draws.len(), found.draws), (20_000, 20_000));
    let own = draws
        .iter()
        .map(|w| (w - found.mean["w/loc"][0]).powi(2))
        .sum::<f64>()
        / draws.len() as f64;
    let squared = correlation * correlation;
    let error = (2.0 / steps * (1.0 + squared) / (1.0 - squared) + 2.0 / draws.len() as f64).sqrt();
    // The option `scale = 2` doubles the covariance.
    let z = (own / (2.0 * variance) - 1.0) / error;
    assert!(z.abs() < 4.5, "{own} is not twice {variance}: {z}");
}

/// A site that a posterior fixes to the result of another inference block keeps this value. The
/// draws of all other sites differ from each other.
#[test]
fn fixed_sites_keep_their_values() {
    let text = format!(
        "{NET}infer first = map(Net, d) {{ epochs = 3 }}
posterior Q of Net {{
  hidden.* = first.hidden.*
}}
infer fit = swag(Q, d) {{ epochs = 8, warmup = 0, start = first, predictive_draws = 7, covariance = low_rank(3) }}
infer more = ensemble(Q, d) {{ epochs = 2, members = 3 }}
"
    );
    let result = compiling::run(&compiled("fixed", &text).manifest, 1);
    let (first, fit, more) = (
        values(&result, "first"),
        values(&result, "fit"),
        values(&result, "more"),
    );
    for state in ["hidden.w/loc", "hidden.b/loc"] {
        assert_eq!(first[state], fit[state]);
        assert_eq!(first[state], more[state]);
    }
    assert_eq!(fit["out.w/loc"].len(), 7 * 5);
    assert_eq!(more["out.w/loc"].len(), 3 * 5);
    assert_ne!(fit["out.w/loc"][..5], fit["out.w/loc"][5..10]);
    assert_eq!(collected(&result, "fit").iterates, (8, 3));
}

#[test]
fn options_without_a_covariance_are_rejected() {
    let few = format!("{NET}infer fit = swag(Net, d) {{ epochs = 10, warmup = 8, every = 2 }}\n");
    let diagnostic = refused("few", &few);
    assert_eq!(diagnostic.code.id, "E0614");
    assert!(
        diagnostic.message.contains("give 1 iterates"),
        "{}",
        diagnostic.message
    );
    let one = format!("{NET}infer fit = swag(Net, d) {{ epochs = 10, covariance = low_rank(1) }}\n");
    assert_eq!(refused("one", &one).code.id, "E0614");
}

/// The learning rate is so small that no step improves the loss. With `patience`, training then
/// stops before the first iterate.
#[test]
fn patience_that_ends_before_the_first_iterate_is_an_error() {
    let text = NET.replace("csv(\"d.csv\")", "csv(\"d.csv\") { validation = 0.4 }")
        + "infer fit = swag(Net, d) { epochs = 90, warmup = 60, patience = 2, optimiser = SGD(1e-300) }\n";
    let diagnostic = stopped(&compiled("patience", &text));
    assert_eq!(diagnostic.code.id, "E0531");
}

// Tests of ensembles.

/// Each member is the result of `map` with the seed of this member. Predictions are averages over
/// the members.
#[test]
fn an_ensemble_is_made_of_single_runs() {
    let folder = folder("ensemble");
    let options = "epochs = 5, batch = 4, optimiser = Adam(1e-2), predictive_draws = 3 }";
    let text = format!("{NET}infer fit = ensemble(Net, d) {{ members = 3, {options}\n");
    let result = compiling::run(&seeded(&folder, &text, 1).manifest, 2);
    let ensemble = collected(&result, "fit");
    let means = |result: &RunResult| {
        let (_, column) = &result.outcomes[0].predictions[1];
        match column {
            bnnc_data::write::ResultColumn::Real(values) => values.clone(),
            other => panic!("{other:?}"),
        }
    };
    let mut average = vec![0.0; Y.len()];
    for member in 0..3 {
        let text = format!("{NET}infer fit = map(Net, d) {{ {options}\n");
        let single = compiling::run(&seeded(&folder, &text, seed_of(1, member)).manifest, 1);
        assert_eq!(*values(&single, "fit"), *ensemble.members[member]);
        let own = means(&single);
        average
            .iter_mut()
            .zip(own)
            .for_each(|(sum, mean)| *sum += mean / 3.0);
    }
    close(&means(&result), &average, 1e-12);
    assert_eq!(seed_of(1, 0), 1);
    assert_ne!(ensemble.members[0]["out.w/loc"], ensemble.members[1]["out.w/loc"]);
    assert_eq!(ensemble.draws, 3);
}

/// If an ensemble starts from another ensemble, it continues each member of that ensemble. An
/// inference block that is not an ensemble starts from the first member.
#[test]
fn ensembles_are_continued() {
    let text = format!(
        "{NET}infer first = ensemble(Net, d) {{ epochs = 2, members = 2 }}
infer fit = ensemble(Net, d) {{ epochs = 1, members = 3, start = first, optimiser = SGD(1e-300) }}
infer one = map(Net, d) {{ epochs = 1, start = first, optimiser = SGD(1e-300) }}
"
    );
    let result = compiling::run(&compiled("continued", &text).manifest, 1);
    let (first, fit) = (collected(&result, "first"), collected(&result, "fit"));
    assert_eq!(first.members[0], fit.members[0]);
    assert_eq!(first.members[1], fit.members[1]);
    assert_eq!(first.members[0], fit.members[2]);
    assert_eq!(first.members[0], values(&result, "one"));
}

/// If a run is interrupted between two members, the resumed run begins with the next member and
/// gives the same numbers.
#[test]
fn resuming_keeps_finished_members() {
    let folder = folder("kept");
    let text = format!("{NET}infer fit = ensemble(Net, d) {{ epochs = 3, members = 3 }}\n");
    let compiled = seeded(&folder, &text, 1);
    let print = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
    let with = |resume: bool| {
        let options = RunOptions {
            checkpoint: Checkpoint::open(&folder, &print, opening(resume)).unwrap(),
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    };
    let whole = with(false);
    let checkpoint = folder.join("checkpoint");
    std::fs::remove_file(checkpoint.join("fit-0.fit")).unwrap();
    std::fs::remove_file(checkpoint.join("fit-member2-0.fit")).unwrap();
    let before = std::fs::metadata(checkpoint.join("fit-member1-0.fit"))
        .unwrap()
        .modified()
        .unwrap();
    let again = with(true);
    let after = std::fs::metadata(checkpoint.join("fit-member1-0.fit"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after, "the second member was trained again");
    assert_eq!(*values(&whole, "fit"), *values(&again, "fit"));
    let resumed = with(true);
    assert_eq!(
        collected(&whole, "fit").members,
        collected(&resumed, "fit").members
    );
}

/// The results of a run are restored from its folder. The restored results give the same
/// predictions, and contain the iterates and members under their names.
#[test]
fn results_can_be_read_back() {
    let folder = folder("written");
    let text = format!(
        "{NET}infer swag = swag(Net, d) {{ epochs = 6, warmup = 0, predictive_draws = 5 }}
infer members = ensemble(Net, d) {{ epochs = 3, members = 2, predictive_draws = 5 }}
"
    );
    let compiled = seeded(&folder, &text, 1);
    let result = compiling::run(&compiled.manifest, 1);
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder, &compiled.manifest, &result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    for outcome in &result.outcomes {
        let infer = compiled
            .manifest
            .infers
            .iter()
            .find(|infer| infer.name == outcome.name)
            .unwrap();
        let dataset = &outcome.dataset;
        let again = predict(
            infer,
            &dataset.preparation,
            (&read[&outcome.name], folder.as_path()),
            dataset.train.clone(),
            &context,
        )
        .unwrap();
        assert_eq!(again.len(), outcome.predictions.len());
        let same = again.iter().zip(&outcome.predictions);
        same.for_each(|(again, first)| assert_eq!(format!("{again:?}"), format!("{first:?}")));
    }
    let json = bnnc_report::result::json(&compiled.manifest, &result);
    let swag = &json["infer"]["swag"];
    assert_eq!(swag["diagnostics"]["iterates"], 6);
    assert_eq!(swag["diagnostics"]["rank"], 6);
    assert_eq!(swag["diagnostics"]["covariance"], "low_rank");
    assert!(swag["parameters"]["sigma"]["sd"].as_f64().unwrap() > 0.0);
    let members = json["infer"]["members"]["diagnostics"]["members"]
        .as_array()
        .unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(members[1]["seed"], seed_of(1, 1));
    let table = bnnc_report::result::table(&compiled.manifest, &result);
    assert!(table.contains("iterates") && table.contains("members"), "{table}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("6 iterates") && page.contains("2 members"));
}

// Tests of dropout.

fn dropped(name: &str, text: &str) -> (Compiled, StateValues) {
    let compiled = compiled(name, text);
    let infer = &compiled.manifest.infers[0];
    let states = start(&infer.states, 1, &HashMap::new());
    (compiled, states)
}

fn named<'a>(outputs: &'a [(&'static str, Vec<f64>)], name: &str) -> &'a [f64] {
    &outputs.iter().find(|(found, _)| *found == name).unwrap().1
}

/// If `x` has masks, `w x + b` has the mean `w x + b` and the variance `p / (1 - p) sum (w x)^2` in
/// every row. Rows are independent.
#[test]
fn a_linear_layer_keeps_its_mean_under_masks() {
    const DRAWS: usize = 20_000;
    const RATE: f64 = 0.3;
    let text = format!("{LINE}infer fit = dropout(Line, d) {{ layers = [out], rate = {RATE} }}\n");
    let (compiled, mut states) = dropped("linear", &text);
    let (w, b) = ([0.8, -1.1, 0.4], 0.25);
    states.insert("out.w/loc".into(), w.to_vec());
    states.insert("out.b/loc".into(), vec![b]);
    let infer = &compiled.manifest.infers[0];
    assert!(infer.reports.iter().any(|site| site.likelihood.contains("0.3")));
    let outputs = predictions(infer, &compiled.dataset("d"), &states, (Y.len(), DRAWS));
    let found = named(&outputs, "$mean");
    let n = DRAWS as f64;
    let mut deviations = vec![Vec::new(); Y.len()];
    for (row, x) in X.iter().enumerate() {
        let terms: Vec<f64> = w.iter().zip(x).map(|(w, x)| w * x).collect();
        let mean = b + terms.iter().sum::<f64>();
        let variances: Vec<f64> = terms.iter().map(|t| t * t * RATE / (1.0 - RATE)).collect();
        let variance: f64 = variances.iter().sum();
        let own: Vec<f64> = (0..DRAWS)
            .map(|draw| found[draw * Y.len() + row] - mean)
            .collect();
        let z = own.iter().sum::<f64>() / n / (variance / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: mean off by {z} standard errors");
        // The fourth moment of a sum of independent variables. Each variable has two possible
        // values.
        let two = |t: &f64| t.powi(4) * (RATE + (1.0 - RATE) * (RATE / (1.0 - RATE)).powi(4));
        let squares: f64 = variances.iter().map(|v| v * v).sum();
        let fourth = terms.iter().map(two).sum::<f64>() + 3.0 * (variance * variance - squares);
        let got = own.iter().map(|d| d * d).sum::<f64>() / n;
        let z = (got - variance) / ((fourth - variance * variance) / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: variance {got} is not {variance} ({z})");
        deviations[row] = own.iter().map(|d| d / variance.sqrt()).collect();
    }
    for row in 1..Y.len() {
        let product = deviations[row - 1].iter().zip(&deviations[row]);
        let z = product.map(|(a, b)| a * b).sum::<f64>() / n.sqrt();
        assert!(z.abs() < 4.5, "rows {} and {row} share their masks: {z}", row - 1);
    }
    // The likelihood of a row uses the same mask as the mean of the row.
    let likelihood = named(&outputs, "$log_likelihood");
    for at in 0..20 {
        let z = (Y[at % Y.len()] - found[at]) / 0.5;
        let own = -0.5 * z * z - 0.5f64.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
        assert!((likelihood[at] - own).abs() < 1e-9);
    }
}

/// A window slides over the inputs. An input has the same mask at all positions of the window, so
/// two windows over three inputs have three masks, not four.
#[test]
fn windows_of_an_input_share_its_mask() {
    const DRAWS: usize = 20_000;
    let text = "data d = csv(\"d.csv\")
model Slide(x: real[3]) -> y: real {
  k: real[1, 2] ~ Normal(0, 1)
  z = [tanh((k @ [x[i], x[i + 1]])[0]) for i in 0..2]
  y ~ Normal(sum(z), 0.5)
}
infer fit = dropout(Slide, d) { layers = [k], rate = 0.25 }
";
    let (compiled, mut states) = dropped("windows", text);
    let k: [f64; 2] = [0.7, -0.4];
    states.insert("k/loc".into(), k.to_vec());
    let outputs = predictions(
        &compiled.manifest.infers[0],
        &compiled.dataset("d"),
        &states,
        (Y.len(), DRAWS),
    );
    let found = named(&outputs, "$mean");
    let n = DRAWS as f64;
    for (row, x) in X.iter().enumerate() {
        // A moment is the sum over all masks, weighted by the probabilities of the masks.
        let moments = |power: i32, centre: f64| -> f64 {
            let of_mask = |mask: usize| {
                let kept = |at: usize| mask >> at & 1 == 1;
                let probability: f64 = (0..3).map(|at| if kept(at) { 0.75 } else { 0.25 }).product();
                let input = |at: usize| if kept(at) { x[at] / 0.75 } else { 0.0 };
                let window = |at: usize| (k[0] * input(at) + k[1] * input(at + 1)).tanh();
                probability * (window(0) + window(1) - centre).powi(power)
            };
            (0..8).map(of_mask).sum()
        };
        let mean = moments(1, 0.0);
        let (variance, fourth) = (moments(2, mean), moments(4, mean));
        let own = (0..DRAWS).map(|draw| found[draw * Y.len() + row] - mean);
        let (sum, squares) = own.fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
        let z = sum / n / (variance / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: mean off by {z} standard errors");
        let z = (squares / n - variance) / ((fourth - variance * variance) / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: variance off by {z} standard errors");
    }
}

/// The masks of one row do not depend on the other rows. By default, masks apply to the inputs of
/// all layers except the first layer.
#[test]
fn masks_do_not_depend_on_other_rows() {
    let text = format!("{NET}infer fit = dropout(Net, d) {{ rate = 0.5 }}\n");
    let (compiled, states) = dropped("rows", &text);
    let infer = &compiled.manifest.infers[0];
    let dataset = compiled.dataset("d");
    let few = predictions(infer, &dataset, &states, (2, 3));
    let all = predictions(infer, &dataset, &states, (Y.len(), 3));
    for draw in 0..3 {
        for row in 0..2 {
            let (a, b) = (
                named(&few, "$mean")[draw * 2 + row],
                named(&all, "$mean")[draw * Y.len() + row],
            );
            assert_eq!(a, b);
        }
    }
    let sentence = |name: &str| {
        let site = infer.reports.iter().find(|site| site.name == name).unwrap();
        site.likelihood.clone()
    };
    assert!(sentence("out.w").contains("dropped"));
    assert_eq!(sentence("hidden.w"), "shared draw");
    assert_eq!(sentence("out.b"), "shared draw");
}

/// A step follows the gradient of its own loss, because the masks of the step do not depend on the
/// values of the weights.
#[test]
fn the_gradient_matches_the_masked_loss() {
    let text = format!(
        "{NET}infer fit = dropout(Net, d) {{ layers = [hidden, out], rate = 0.4, batch = 0, optimiser = SGD(1) }}\n"
    );
    let (compiled, states) = dropped("gradient", &text);
    let infer = &compiled.manifest.infers[0];
    let dataset = compiled.dataset("d");
    let rows: Vec<u32> = (0..Y.len() as u32).collect();
    let mut steps = Steps::new(infer, &dataset, &states, 1);
    let mut loss = |states: &StateValues, step: i32| {
        steps.set(states);
        let loss = steps.step(&rows, step);
        (loss, steps.states())
    };
    let (first, after) = loss(&states, 5);
    assert_ne!(first, loss(&states, 6).0, "the masks of two steps are the same");
    for state in ["hidden.w/loc", "out.w/loc", "out.b/loc", "sigma/loc"] {
        for at in 0..states[state].len().min(6) {
            let gradient = states[state][at] - after[state][at];
            let h = 1e-5;
            let mut moved = |by: f64| {
                let mut states = states.clone();
                states.get_mut(state).unwrap()[at] += by;
                loss(&states, 5).0
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (gradient - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "{state}[{at}]: {gradient} is not {slope}"
            );
        }
    }
}

#[test]
fn invalid_dropout_layers_are_rejected() {
    let unknown = format!("{NET}infer fit = dropout(Net, d) {{ layers = [hiden] }}\n");
    let diagnostic = refused("unknown", &unknown);
    assert_eq!(diagnostic.code.id, "E0320");
    assert!(
        diagnostic.help.iter().any(|help| help.contains("hidden")),
        "{diagnostic:?}"
    );
    let nothing = format!("{LINE}infer fit = dropout(Line, d)\n");
    let diagnostic = refused("nothing", &nothing);
    assert_eq!(diagnostic.code.id, "E0322");
    assert!(
        diagnostic.help.iter().any(|help| help.contains("layers = [out]")),
        "{diagnostic:?}"
    );
    let bias = format!("{NET}infer fit = dropout(Net, d) {{ layers = [out.b] }}\n");
    assert_eq!(refused("bias", &bias).code.id, "E0322");
}

/// Training with masks runs to its end, and predictions average over masks.
#[test]
fn dropout_trains_to_the_end() {
    let text = format!(
        "{NET}infer fit = dropout(Net, d) {{ epochs = 400, batch = 0, optimiser = Adam(1e-2), rate = 0.05 }}\n"
    );
    let compiled = compiled("trains", &text);
    let result = compiling::run(&compiled.manifest, 1);
    let fitted: &TrainingResult = result.outcomes[0].splits[0]
        .found
        .fitted()
        .expect("dropout trains");
    let average = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let losses = fitted.history.means();
    assert!(average(&losses[380..]) < average(&losses[..20]));
}

// Tests of starts from files.

/// Writes a safetensors file. The file consists of the length of the header, the header, and the
/// data.
fn safetensors(path: &Path, tensors: &[(&str, &str, &[usize], Vec<u8>)]) {
    let mut at = 0;
    let mut header = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let end = at + bytes.len();
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    let header = format!("{{{}}}", header.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    tensors.iter().for_each(|(_, _, _, bytes)| file.extend(bytes));
    std::fs::write(path, file).unwrap();
}

fn double(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn single(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Writes the weights of [`NET`] to a file, in three precisions.
fn write_net(path: &Path) {
    let w: Vec<f32> = (0..15).map(|at| at as f32 / 8.0 - 1.0625).collect();
    // The half-precision representations of 1, 2, 0.5, -1 and 0.25.
    let halves: Vec<u8> = [0x3C00u16, 0x4000, 0x3800, 0xBC00, 0x3400]
        .iter()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    safetensors(
        path,
        &[
            ("hidden.w", "F32", &[5, 3], single(&w)),
            ("hidden.b", "F16", &[5], halves),
            ("out.w", "F64", &[1, 5], double(&[0.1, 0.2, 0.3, 0.4, 0.5])),
            ("out.b", "F64", &[1], double(&[-0.5])),
            ("sigma", "F64", &[], double(&[0.25])),
        ],
    );
}

/// If the states of a method are values of sites, an inference block with this method can start
/// from a file. The path of the file is relative to the folder of the program.
#[test]
fn inferences_start_from_files() {
    let folder = folder("file");
    write_net(&folder.join("net.safetensors"));
    let file = "start = safetensors(\"net.safetensors\")";
    let still = format!("epochs = 2, optimiser = SGD(1e-300), {file}");
    let text = format!(
        "{NET}infer fit = map(Net, d) {{ {still} }}
infer swag = swag(Net, d) {{ {still}, warmup = 0 }}
infer members = ensemble(Net, d) {{ {still}, members = 2 }}
infer dropped = dropout(Net, d) {{ {still} }}
infer chains = hmc(Net, d) {{ {file}, chains = 1, warmup = 0, draws = 1, steps = 1, step_size = 1e-9 }}
"
    );
    let result = compiling::run(&seeded(&folder, &text, 1).manifest, 1);
    let w: Vec<f64> = (0..15).map(|at| f64::from(at) / 8.0 - 1.0625).collect();
    for infer in ["fit", "dropped", "members", "swag", "chains"] {
        let found = values(&result, infer);
        close(&found["hidden.w/loc"][..15], &w, 1e-6);
        close(&found["hidden.b/loc"][..5], &[1.0, 2.0, 0.5, -1.0, 0.25], 1e-6);
        close(&found["out.w/loc"][..5], &[0.1, 0.2, 0.3, 0.4, 0.5], 1e-6);
        close(&found["sigma/loc"][..1], &[0.25f64.ln()], 1e-6);
    }
    let members = collected(&result, "members");
    assert_eq!(members.members[0], members.members[1]);
}

/// An inference block can start from a file with the results of `map`. The name of the inference
/// block in the file may be different.
#[test]
fn an_inference_starts_from_the_file_of_a_run() {
    let folder = folder("continue");
    let text = format!("{NET}infer first = map(Net, d) {{ epochs = 4 }}\n");
    let compiled = seeded(&folder, &text, 1);
    let result = compiling::run(&compiled.manifest, 1);
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder.join("run"), &compiled.manifest, &result, saved).unwrap();
    let text = format!(
        "{NET}infer fit = map(Net, d) {{ epochs = 1, optimiser = SGD(1e-300), start = \
         safetensors(\"run/posterior.safetensors\") }}\n"
    );
    let again = compiling::run(&seeded(&folder, &text, 2).manifest, 1);
    assert_eq!(values(&result, "first"), values(&again, "fit"));
}

#[test]
fn files_that_do_not_fit_the_model_are_rejected() {
    let folder = folder("unfit");
    let path = folder.join("net.safetensors");
    let text =
        format!("{NET}infer fit = map(Net, d) {{ epochs = 1, start = safetensors(\"net.safetensors\") }}\n");
    let compiled = seeded(&folder, &text, 1);
    let notes = || {
        let diagnostic = stopped(&compiled);
        assert_eq!(diagnostic.code.id, "E0530", "{diagnostic:?}");
        diagnostic.notes.join("\n")
    };
    assert!(notes().contains("No such file"), "{}", notes());
    std::fs::write(&path, "nothing").unwrap();
    assert!(!notes().is_empty());
    safetensors(
        &path,
        &[
            ("hidden.w", "F64", &[3, 5], double(&[0.0; 15])),
            ("hidden.b", "I64", &[5], double(&[0.0; 5])),
            ("out.w", "F64", &[1, 5], double(&[0.0, 0.0, f64::NAN, 0.0, 0.0])),
            ("sigma", "F64", &[], double(&[-0.25])),
            ("out.bias", "F64", &[1], double(&[-0.5])),
        ],
    );
    let notes = notes();
    for line in [
        "`hidden.w` is of shape [3, 5], expected of shape [5, 3]",
        "`hidden.b` holds I64",
        "element 2 of `out.w` is NaN",
        "element 0 of `sigma` is -0.25, which is outside the interval from 0 to inf",
        "the file has no `out.b`, which is of shape [1]",
        "the model has no parameter `out.bias`",
    ] {
        assert!(notes.contains(line), "{notes}");
    }
}

/// A file of values does not contain the parameters of a variational family. It does not contain
/// the state of a site in the non-centred parameterisation either.
#[test]
fn files_cannot_start_states_that_are_not_values() {
    let start = "start = safetensors(\"net.safetensors\")";
    let family = format!(
        "{LINE}posterior Q of Line {{
  out.* ~ Normal(scale = 0.1)
}}
infer fit = vi(Q, d) {{ epochs = 1, {start} }}\n"
    );
    let diagnostic = refused("family", &family);
    assert_eq!(diagnostic.code.id, "E0620");
    assert!(diagnostic.message.contains("`Normal`"), "{}", diagnostic.message);
    let noise = format!("{LINE}infer fit = nuts(Line, d) {{ non_centered = [out.w], {start} }}\n");
    assert_eq!(refused("noise", &noise).code.id, "E0620");
}

/// If the learning rate is too large for the curvature, each step increases the distance from the
/// maximum by a factor. A warning is reported.
#[test]
fn diverging_iterates_are_a_warning() {
    let text = format!(
        "{LINE}infer far = swag(Line, d) {{ epochs = 4, warmup = 0, batch = 0, optimiser = SGD(1), covariance = diagonal }}
infer near = swag(Line, d) {{ epochs = 4, warmup = 0, batch = 0, optimiser = SGD(1e-6), covariance = diagonal }}
"
    );
    let result = compiling::run(&compiled("astray", &text).manifest, 1);
    let codes: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
    // Both inference blocks train on all rows in each step, so their iterates do not scatter.
    assert_eq!(codes, ["E0532", "E0569", "E0569"]);
    assert!(
        result.warnings[0].message.contains("`far`"),
        "{:?}",
        result.warnings
    );
}

/// For an interrupted ensemble, the table shows the planned number of members.
#[test]
fn the_table_of_an_interrupted_ensemble_counts_its_members() {
    let text = format!("{LINE}infer e = ensemble(Line, d) {{ epochs = 1, members = 3 }}\n");
    let compiled = compiled("marked", &text);
    let result = compiling::run(&compiled.manifest, 1);
    let mut found = collected(&result, "e").clone();
    let table =
        |found: &Collected| bnnc_inference::iterates::report::table(&compiled.manifest.infers[0], found, 6);
    assert!(!table(&found).contains("interrupted"));
    found.members.pop();
    found.fitted.interrupted = true;
    assert!(table(&found).contains("2 of 3, interrupted"), "{}", table(&found));
}

//! The work of predictions: a point estimate evaluates its network once per row, and an ensemble evaluates
//! it once per row and member.
#![allow(clippy::unwrap_used)]

use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Context;
use bnnc_core::predict::Predictor;
use bnnc_kernels::pool::Pool;
use bnnc_run::RunResult;
use bnnc_tests::compile::{self as compiling, options};
use std::sync::Arc;

const ROWS: usize = 60;

/// A very wide network. One evaluation for all rows needs more memory than predictions usually take for a call.
const WIDE: &str = "use layers::Dense
data d = csv(\"d.csv\") { inputs = [a, b], target = y }
model Net(x: real[2]) -> y: real {
  hidden = Dense(80000)
  out    = Dense(1, prior = Normal(0, 0.01))
  y ~ Normal(out(tanh(hidden(x)))[0], 0.5)
}
posterior MeanField of Net {
  hidden.*, out.* ~ Normal(scale = 0.01)
}
posterior Points of Net {
  hidden.*, out.* ~ Point()
}
";

const CLASSES: &str = "use layers::Dense
data d = csv(\"d.csv\") { inputs = [a, b], target = c }
model Net(x: real[2]) -> c: index(3) {
  out = Dense(3)
  c ~ Categorical(logits = out(x))
}
";

/// Runs the inference blocks of a program on [`ROWS`] rows.
fn ran(name: &str, text: &str) -> (compiling::Compiled, RunResult) {
    let folder = std::env::temp_dir().join(format!("bnnc-predictions-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let row = |at: usize| {
        let (a, b) = ((at as f64 * 0.7).sin(), (at as f64 * 1.3).cos());
        format!("{a},{b},{},{}\n", a * b + 0.1 * (at as f64).sin(), at % 3)
    };
    let rows: String = (0..ROWS).map(row).collect();
    std::fs::write(folder.join("d.csv"), format!("a,b,y,c\n{rows}")).unwrap();
    let compiled = compiling::text(
        &folder.join("p.bnn"),
        text,
        &options("cranelift", Some(Precision::F32)),
    );
    let result = compiling::run(&compiled.manifest, 2);
    (compiled, result)
}

/// The work for the predictions of an inference block on all rows: the number of draws, and the number of scalar operations divided by the number
/// of scalar operations for one draw.
fn work(infer: &InferenceBlock, result: &RunResult) -> (usize, f64) {
    let mut outcomes = result.outcomes.iter();
    let outcome = outcomes.find(|outcome| outcome.name == infer.name).unwrap();
    let found = &outcome.splits.last().unwrap().found;
    let context = Context::new(Arc::new(Pool::new(2)), 1);
    let (draws, dataset) = (found.predictive_draws(infer), &outcome.dataset);
    let mut predictor = Predictor::new(infer, &dataset.train, dataset, draws, &context).unwrap();
    predictor.set_parameters(found.values()).unwrap();
    let plan = &infer.predict.plan;
    let mut operations = 0;
    let count = predictor.visit(|machine, _| {
        operations += plan.operations(machine.sizes());
        Ok(())
    });
    count.unwrap();
    let one = Sizes::default().with(Symbol::Batch, ROWS).with(Symbol::Draws, 1);
    (draws, operations as f64 / plan.operations(&one) as f64)
}

fn metrics(result: &RunResult, infer: &str) -> Vec<(String, f64)> {
    let mut outcomes = result.outcomes.iter();
    let outcome = outcomes.find(|outcome| outcome.name == infer).unwrap();
    outcome.splits.last().unwrap().metrics.clone()
}

#[test]
fn a_network_is_evaluated_once_for_each_point() {
    let text = format!(
        "{WIDE}infer point = map(Net, d) {{ epochs = 1 }}
infer points = vi(Points, d) {{ epochs = 1 }}
infer members = ensemble(Net, d) {{ epochs = 1, members = 3 }}
infer centre = swag(Net, d) {{ epochs = 4, batch = 20, covariance = point }}
infer drawn = vi(MeanField, d) {{ epochs = 1, predictive_draws = 10 }}
"
    );
    let (compiled, result) = ran("wide", &text);
    let works: Vec<(&str, (usize, f64))> = compiled
        .manifest
        .infers
        .iter()
        .map(|infer| (&*infer.name, work(infer, &result)))
        .collect();
    let expected = [
        ("point", (100, 1.0)),
        ("points", (100, 1.0)),
        ("members", (102, 3.0)),
        ("centre", (100, 1.0)),
        ("drawn", (10, 10.0)),
    ];
    for ((name, (draws, times)), (expected, (of_draws, most))) in works.iter().zip(expected) {
        assert_eq!((*name, *draws), (expected, of_draws));
        // The draws of the output from its distribution need a few operations each.
        assert!((0.99 * most..1.01 * most).contains(times), "{name}: {times}");
    }
}

/// The mean and the log likelihood of a row given a point do not depend on the number of draws.
#[test]
fn scores_of_a_point_do_not_depend_on_its_draws() {
    let of_draws = |draws: usize| {
        let options = format!("epochs = 3, predictive_draws = {draws}");
        let text = format!("{WIDE}infer point = map(Net, d) {{ {options} }}\n").replace("80000", "5");
        metrics(&ran(&format!("scores-{draws}"), &text).1, "point")
    };
    let (one, many) = (of_draws(1), of_draws(200));
    for score in ["rmse", "log_likelihood"] {
        let of = |all: &[(String, f64)]| all.iter().find(|(name, _)| name == score).unwrap().1;
        assert!((of(&one) - of(&many)).abs() < 1e-12, "{score}");
    }
}

/// Probabilities of classes are not drawn, so one position is enough.
#[test]
fn classes_under_a_point_need_one_draw() {
    let text = format!("{CLASSES}infer point = map(Net, d) {{ epochs = 5 }}\n");
    let (compiled, result) = ran("classes", &text);
    let (draws, times) = work(&compiled.manifest.infers[0], &result);
    assert_eq!((draws, times), (1, 1.0));
    let accuracy = metrics(&result, "point");
    assert!(
        accuracy
            .iter()
            .any(|(name, value)| name == "accuracy" && *value > 0.2)
    );
}

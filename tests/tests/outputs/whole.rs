//! Models that take the whole file as one example.

use crate::setup::{compiled, folder, mean, metric, near, of};
use bnnc_core::context::{Context, Stop};
use bnnc_kernels::pool::Pool;
use bnnc_run::{out, predict};
use bnnc_tests::compile as compiling;
use std::path::PathBuf;
use std::sync::Arc;

#[test]
fn whole_arrays_may_differ_in_length() {
    let folder = folder("whole");
    std::fs::write(
        folder.join("w.json"),
        "{\"y1\": [1, 2, 4], \"y2\": [1, 2, 3, 4, 5]}",
    )
    .unwrap();
    let text = "
data w = json(\"w.json\")
model Whole() -> y1: real[n], y2: real[m] {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y1 ~ Normal(a, 0.5)
  y2 ~ Normal(b, 1)
}
infer fit = map(Whole, w) { epochs = 300, batch = 0, optimiser = SGD(0.05) }
";
    let compiled = compiled(&folder, text);
    let result = compiling::run(&compiled.manifest, 1);
    // The posterior mode is `(sum / variance) / (1 + count / variance)`, where `sum` and `count`
    // are the sum and the number of the observations.
    let (a, b) = (7.0 / 0.25 / 13.0, 15.0 / 6.0);
    let squares = |values: &[f64], at: f64| mean(values.iter().map(|y| (y - at).powi(2)));
    near(
        metric(of(&result, "fit"), "y1.rmse"),
        squares(&[1.0, 2.0, 4.0], a).sqrt(),
        1e-9,
    );
    near(
        metric(of(&result, "fit"), "y2.rmse"),
        squares(&[1.0, 2.0, 3.0, 4.0, 5.0], b).sqrt(),
        1e-9,
    );
}

/// If all examples share an array of Booleans, the metrics are computed from its elements. If all
/// examples share a single number, it is treated like any other output. Results are written for
/// both outputs.
#[test]
fn whole_arrays_of_booleans_and_single_numbers_have_metrics() {
    let folder = folder("truths");
    std::fs::write(
        folder.join("w.json"),
        "{\"t\": [true, true, false, true], \"y\": 3}",
    )
    .unwrap();
    let text = "
data w = json(\"w.json\")
model Whole() -> t: bool[n], y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  t ~ Bernoulli(a)
  y ~ Normal(b, 1)
}
infer fit = map(Whole, w) { epochs = 2000, batch = 0, optimiser = SGD(0.1), precision = f64 }
";
    let compiled = compiled(&folder, text);
    let result = compiling::run(&compiled.manifest, 1);
    // At the maximum, the slope of the log density is zero: 3 - 4 p - a = 0. Bisection finds the
    // maximum.
    let p = |a: f64| 1.0 / (1.0 + (-a).exp());
    let (mut low, mut high) = (0.0, 3.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match 3.0 - 4.0 * p(middle) - middle > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    let p = p(low);
    let fit = of(&result, "fit");
    assert_eq!(metric(fit, "t.accuracy"), 0.75);
    near(metric(fit, "t.nll"), -(3.0 * p.ln() + (1.0 - p).ln()) / 4.0, 1e-9);
    near(metric(fit, "y.rmse"), 1.5, 1e-9);
    let run = folder.join("run");
    out::write(
        &run,
        &compiled.manifest,
        &result,
        compiling::saved(PathBuf::new()),
    )
    .unwrap();
    assert!(run.join("result.json").is_file());
}

/// An output that is one array for all examples cannot be predicted for new rows.
#[test]
fn whole_arrays_are_not_predicted_for_new_rows() {
    let folder = folder("chained");
    std::fs::write(folder.join("w.json"), "{\"y1\": [1, 2, 4], \"y2\": [1, 2, 3]}").unwrap();
    let text = "
data w = json(\"w.json\")
model Whole() -> y1: real[n], y2: real[n] {
  b ~ Normal(0, 1)
  y1 ~ Normal(0, 1)
  y2 ~ Normal(b * y1, 1)
}
infer fit = map(Whole, w) { epochs = 10, batch = 0 }
";
    let compiled = compiled(&folder, text);
    let result = compiling::run(&compiled.manifest, 1);
    let (infer, fit) = (&compiled.manifest.infers[0], of(&result, "fit"));
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let values = fit.splits[0].found.point();
    let (preparation, rows) = (&fit.dataset.preparation, fit.dataset.train.clone());
    let Err(Stop::Diagnostics(found)) = predict(infer, preparation, (values, &folder), rows, &context) else {
        panic!("it was not refused");
    };
    assert_eq!(found[0].code.id, "E0553");
}

//! Training runs with known closed forms: schedules of the learning rate, Nesterov's momentum, gradients of limited
//! norm.
#![allow(clippy::unwrap_used)]

use bnnc_base::dtype::Precision;
use bnnc_core::states::StateValues;
use bnnc_tests::compile::{self as compiling, options};
use std::path::PathBuf;
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

/// The negative log posterior of `w` is a parabola with the curvature [`CURVATURE`].
const MEAN: &str = "model Mean(x: real[3]) -> y: real {
  w ~ Normal(0, 2)
  y ~ Normal(w, 1)
}
infer first = map(Mean, d) { epochs = 1, optimiser = SGD(1e-300) }
";

/// Six rows and a prior with the precision 1/4.
const CURVATURE: f64 = 6.25;

const RATE: f64 = 0.05;

/// A linear model, for gradients of several parameters.
const LINE: &str = "use layers::Dense
model Line(x: real[3]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 0.5)
}
infer first = map(Line, d) { epochs = 1, optimiser = SGD(1e-300) }
";

fn path(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-training-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let row = |(x, y): (&[f64; 3], &f64)| format!("{},{},{},{y}\n", x[0], x[1], x[2]);
    let rows: String = X.iter().zip(&Y).map(row).collect();
    std::fs::write(folder.join("d.csv"), format!("a,b,c,y\n{rows}")).unwrap();
    folder.join("p.bnn")
}

/// Returns the values of `first`, where the training starts, and of `fit`, in double precision.
fn trained(name: &str, model: &str, infer: &str) -> [Arc<StateValues>; 2] {
    let text = format!("data d = csv(\"d.csv\")\n{model}infer fit = {infer}\n");
    let compiled = compiling::text(&path(name), &text, &options("cranelift", Some(Precision::F64)));
    let result = compiling::run(&compiled.manifest, 1);
    ["first", "fit"].map(|infer| {
        let outcome = result.outcomes.iter().find(|outcome| outcome.name == infer);
        outcome.unwrap().splits[0].found.values().clone()
    })
}

/// Checks that gradient descent on the parabola uses these factors on its rate: each step multiplies the distance from the minimum by `1 - RATE *
/// factor * CURVATURE`.
fn descends(name: &str, schedule: &str, factors: &[f64]) {
    let length = factors.len();
    let [first, fit] = trained(
        name,
        MEAN,
        &format!(
            "map(Mean, d) {{ epochs = {length}, start = first, optimiser = SGD({RATE}), schedule = {schedule} }}"
        ),
    );
    let minimum = Y.iter().sum::<f64>() / CURVATURE;
    let product: f64 = factors
        .iter()
        .map(|factor| 1.0 - RATE * factor * CURVATURE)
        .product();
    let expected = minimum + product * (first["w/loc"][0] - minimum);
    let found = fit["w/loc"][0];
    assert!(
        (found - expected).abs() < 1e-12,
        "{schedule}: {found} is not {expected}"
    );
}

#[test]
fn schedules_multiply_the_rate_of_each_step() {
    descends("steps", "steps([2, 4], 0.5)", &[1.0, 1.0, 0.5, 0.5, 0.25, 0.25]);
    descends(
        "swa",
        "swa(start = 10, final = 0.2)",
        &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2],
    );
    descends("warmup", "warmup(4, constant)", &[0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
    descends(
        "both",
        "warmup(schedule = steps([3], 0.1), length = 2)",
        &[0.0, 0.5, 1.0, 0.1, 0.1],
    );
}

/// The recursion is Nesterov's method in the form of Sutskever et al. (2013): a step along the momentum, and a gradient
/// step from the new point.
#[test]
fn nesterovs_momentum_looks_ahead() {
    const MOMENTUM: f64 = 0.8;
    let [first, fit] = trained(
        "nesterov",
        MEAN,
        &format!(
            "map(Mean, d) {{ epochs = 7, start = first, optimiser = Nesterov({RATE}, momentum = {MOMENTUM}), schedule = constant }}"
        ),
    );
    let gradient = |w: f64| CURVATURE * w - Y.iter().sum::<f64>();
    // Sutskever's parameter is the position before the look-ahead; ours is the position where the gradient is taken.
    let (mut place, mut velocity) = (first["w/loc"][0], 0.0);
    for _ in 0..7 {
        let next = MOMENTUM * velocity - RATE * gradient(place + MOMENTUM * velocity);
        place += next;
        velocity = next;
    }
    let expected = place + MOMENTUM * velocity;
    let found = fit["w/loc"][0];
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

/// A step of gradient descent from `first` whose gradient has at most this norm.
fn step(name: &str, clip: &str) -> Vec<f64> {
    let [first, fit] = trained(
        name,
        LINE,
        &format!(
            "map(Line, d) {{ epochs = 1, start = first, optimiser = SGD({RATE}), schedule = constant{clip} }}"
        ),
    );
    ["out.w/loc", "out.b/loc"]
        .iter()
        .flat_map(|state| {
            fit[*state]
                .iter()
                .zip(&first[*state])
                .map(|(after, before)| after - before)
        })
        .collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[test]
fn one_factor_shortens_the_gradients_of_all_parameters() {
    let whole = step("whole", "");
    assert_eq!(whole.len(), 4);
    // The largest norm refers to the gradient per row, and there are six rows.
    let of_row = norm(&whole) / RATE / 6.0;
    let clipped = step("clipped", &format!(", clip = {}", of_row / 4.0));
    for (clipped, whole) in clipped.iter().zip(&whole) {
        assert!(
            (clipped - whole / 4.0).abs() < 1e-14,
            "{clipped} is not a quarter of {whole}"
        );
    }
    assert_eq!(step("unclipped", &format!(", clip = {}", of_row * 1.001)), whole);
}

#[test]
fn times_of_a_schedule_need_a_length_in_the_same_unit() {
    let text = format!(
        "data d = csv(\"d.csv\")\n{MEAN}infer fit = map(Mean, d) {{ schedule = steps([150], 0.1) }}\n"
    );
    let diagnostic = compiling::rejected(&path("length"), &text);
    assert_eq!(diagnostic.code.id, "E0614");
    assert!(diagnostic.message.contains("no length"), "{}", diagnostic.message);
}

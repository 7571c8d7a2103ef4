//! Variational families based on gamma variables find the exact posteriors of conjugate models, on
//! every backend.

use bnnc_base::dtype::Precision;
use bnnc_core::states::{StateValues, start};
use bnnc_tests::compile::{self, Compiled, options};
use bnnc_tests::step::Steps;
use std::collections::HashMap;
use std::path::PathBuf;

/// Creates a folder for one test. The data file has one column.
fn folder(name: &str, rows: &[f64]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-gamma-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    let lines: String = rows.iter().map(|y| format!("0,{y}\n")).collect();
    std::fs::write(folder.join("rows.csv"), format!("x,y\n{lines}")).expect("the file is written");
    folder
}

fn compiled(name: &str, rows: &[f64], program: &str, (backend, precision): (&str, Precision)) -> Compiled {
    let path = folder(name, rows).join("rows.bnn");
    let program = format!("data rows = csv(\"rows.csv\") {{ target = y }}\n{program}");
    compile::text(&path, &program, &options(backend, Some(precision)))
}

/// Trains the program. Returns the two parameters of the only distribution in its posterior.
fn fitted(name: &str, rows: &[f64], program: &str, parameters: [&str; 2]) -> [f64; 2] {
    let training = "epochs = 8000, batch = 0, samples = 64, optimiser = Adam(0.1), schedule = cosine";
    let program = format!("{program}\ninfer fit = vi(Q, rows) {{ {training} }}");
    let compiled = compiled(name, rows, &program, ("cranelift", Precision::F64));
    let result = compile::run(&compiled.manifest, 1);
    let values = &result.outcomes[0].splits[0].found.values();
    parameters.map(|parameter| values[parameter][0].exp().ln_1p())
}

fn close(got: f64, want: f64, what: &str) {
    assert!(
        (got - want).abs() <= 0.02 * want,
        "{what}: {got} is not {want} within a fiftieth"
    );
}

/// The data are eight waiting times, and their rate has the prior `Gamma(2, 1)`. The posterior is
/// `Gamma(2 + 8, 1 / (1 + sum))`.
#[test]
fn a_gamma_family_finds_the_posterior_of_a_rate() {
    let times = [0.31, 1.72, 0.08, 0.55, 0.94, 0.27, 2.1, 0.42];
    let program = "
model M(x: real) -> y: positive {
  rate: positive ~ Gamma(2, 1)
  y ~ Exponential(1 / rate + 0 * x)
}
posterior Q of M { rate ~ Gamma(shape = 1.5, scale = 1) }";
    let [shape, scale] = fitted("rate", &times, program, ["rate/shape", "rate/scale"]);
    let (exact, unit) = (10.0, 1.0 / (1.0 + times.iter().sum::<f64>()));
    close(shape * scale, exact * unit, "mean");
    close(shape.sqrt() * scale, f64::sqrt(exact) * unit, "sd");
}

/// The data are three heads in ten tosses, and the prior is `Beta(2, 2)`. The posterior is
/// `Beta(5, 9)`.
#[test]
fn a_beta_family_finds_the_posterior_of_a_probability() {
    let tosses = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let program = "
model M(x: real) -> y: bool {
  p: unit ~ Beta(2, 2)
  y ~ Bernoulli(logit(p) + 0 * x)
}
posterior Q of M { p ~ Beta(a = 1, b = 1) }";
    let [a, b] = fitted("coin", &tosses, program, ["p/a", "p/b"]);
    let moments = |a: f64, b: f64| [a / (a + b), (a * b / (a + b + 1.0)).sqrt() / (a + b)];
    let ([mean, sd], [exact_mean, exact_sd]) = (moments(a, b), moments(5.0, 9.0));
    close(mean, exact_mean, "mean");
    close(sd, exact_sd, "sd");
}

/// The data are six deviations, and their variance has the prior `InverseGamma(3, 2)`. The
/// posterior is `InverseGamma(3 + 6 / 2, 2 + sum of squares / 2)`.
#[test]
fn an_inverse_gamma_family_finds_the_posterior_of_a_variance() {
    let deviations = [0.4f64, -1.3, 0.9, 0.2, -0.6, 1.1];
    let program = "
model M(x: real) -> y: real {
  variance: positive ~ InverseGamma(3, 2)
  y ~ Normal(0 * x, sqrt(variance))
}
posterior Q of M { variance ~ InverseGamma(shape = 2.5, scale = 1) }";
    let [shape, scale] = fitted(
        "variance",
        &deviations,
        program,
        ["variance/shape", "variance/scale"],
    );
    let sum: f64 = deviations.iter().map(|y| y * y).sum();
    let (exact, size) = (6.0, 2.0 + 0.5 * sum);
    close(scale / (shape - 1.0), size / (exact - 1.0), "mean");
    let sd = |shape: f64, scale: f64| scale / (shape - 1.0) / (shape - 2.0).sqrt();
    close(sd(shape, scale), sd(exact, size), "sd");
}

/// Every family based on gamma variables. Some tensors are longer than a block of random numbers,
/// and others are shorter than one row of a block.
const FAMILIES: &str = "
model M(x: real) -> y: real {
  many: positive[300]  ~ Gamma(2, 1)
  small: positive[4]   ~ InverseGamma(3, 2)
  table: unit[9, 3]    ~ Beta(0.5, 2)
  tails: real[5]       ~ Normal(0, 1)
  half: positive       ~ HalfNormal(1)
  y ~ StudentT(4, mean(many) + sum(small) * mean(table) + sum(tails) * x, half)
}
posterior Q of M {
  many  ~ Gamma(shape = Uniform(0.3, 3), scale = 0.5)
  small ~ InverseGamma(shape = 4, scale = 2)
  table ~ Beta(a = 0.4, b = 2)
  tails ~ StudentT(df = 5, loc = 0, scale = 0.1)
  half  ~ HalfStudentT(df = 3, scale = 1)
}
infer fit = vi(Q, rows) { epochs = 2, batch = 0, samples = 3, optimiser = SGD(1e-3) }";

/// Returns the losses of two training steps, and the states after these steps.
fn two_steps(backend: &str, precision: Precision) -> (Vec<f64>, StateValues) {
    let compiled = compiled("families", &[0.3, 1.2, -0.4], FAMILIES, (backend, precision));
    let infer = &compiled.manifest.infers[0];
    let states = start(&infer.states, 1, &HashMap::new());
    let dataset = compiled.dataset("rows");
    let mut steps = Steps::new(infer, &dataset, &states, 1);
    let losses = (0..2).map(|step| steps.step(&[0, 1, 2], step)).collect();
    (losses, steps.states())
}

#[test]
fn backends_and_precisions_agree() {
    let (losses, states) = two_steps("reference", Precision::F64);
    assert!(losses.iter().all(|loss| loss.is_finite()));
    for (backend, precision, tolerance) in [
        ("cranelift", Precision::F64, 1e-11),
        // The tolerance is wide, because some gamma variables with a small shape have large
        // derivatives.
        ("cranelift", Precision::F32, 1e-3),
    ] {
        let (others, after) = two_steps(backend, precision);
        for (loss, other) in losses.iter().zip(&others) {
            assert!(
                (loss - other).abs() <= tolerance * loss.abs(),
                "{precision}: {other}, not {loss}"
            );
        }
        for (name, values) in &states {
            for (value, other) in values.iter().zip(&after[name]) {
                let near = (value - other).abs() <= tolerance * (1.0 + value.abs());
                assert!(near, "{precision} {name}: {other}, not {value}");
            }
        }
    }
}

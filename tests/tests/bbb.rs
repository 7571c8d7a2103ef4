//! Bayes by Backprop, from the program to the posterior. Single steps agree with the formulas of
//! the paper, and training finds a posterior that is known exactly.
#![allow(clippy::unwrap_used)]

use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::method::Finds;
use bnnc_base::dtype::Precision;
use bnnc_core::states::{StateValues, start};
use bnnc_math::philox;
use bnnc_tests::compile::{self, Compiled, options};
use bnnc_tests::step::Steps;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::PathBuf;

/// Creates a folder for one test with one data file.
fn folder(name: &str, rows: &[(f64, f64)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    let lines: String = rows.iter().map(|(x, y)| format!("{x},{y}\n")).collect();
    std::fs::write(folder.join("line.csv"), format!("x,y\n{lines}")).expect("the file is written");
    folder
}

fn compiled(name: &str, rows: &[(f64, f64)], program: &str, precision: Precision) -> Compiled {
    let folder = folder(name, rows);
    let path = folder.join("line.bnn");
    compile::text(&path, program, &options("cranelift", Some(precision)))
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{got} is not {want} to {tolerance}"
    );
}

/// A program whose model is `y = w x + N(0, 0.5^2)` with a spike-and-slab prior. The posterior
/// begins at `mu = 0.4` and `rho = -1`.
const SPIKE_AND_SLAB: &str = "
data line = csv(\"line.csv\") { target = y }
model Line(x: real) -> y: real {
  w ~ Mixture(0.5, Normal(0, 1), Normal(0, exp(-6)))
  y ~ Normal(w * x, 0.5)
}
posterior Q of Line { w ~ Normal(loc = 0.4, scale = 0.31326168751822286) }
infer fit = vi(Q, line) { epochs = 1, batch = 0, optimiser = SGD(0.01) }
";
const ROWS: [(f64, f64); 2] = [(1.0, 1.2), (2.0, 1.9)];

/// Returns the noise of the only draw in the program, at one step.
fn noise(seed: u64, step: i32) -> f64 {
    philox::normal(philox::key(seed, "w/#0"), [0, 0, step as u32], 0)
}

fn log_normal(x: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

/// Returns the results of one step by the formulas of Blundell et al. (2015): `f`, `mu'`, `rho'`.
fn step_by_hand(mu: f64, rho: f64, eps: f64) -> [f64; 3] {
    let (spike, rate) = ((-6f64).exp(), 0.01);
    let sigma = rho.exp().ln_1p();
    let w = mu + sigma * eps;
    let components = [1.0, spike].map(|sd| 0.5 * log_normal(w, 0.0, sd).exp());
    let prior = components[0] + components[1];
    let slope_of_prior = -w * (components[0] + components[1] / (spike * spike)) / prior;
    let likelihood: f64 = ROWS.iter().map(|(x, y)| log_normal(*y, w * x, 0.5)).sum();
    let slope_of_likelihood: f64 = ROWS.iter().map(|(x, y)| (y - w * x) * x / 0.25).sum();
    let f = log_normal(w, mu, sigma) - prior.ln() - likelihood;
    let df_dw = -(w - mu) / (sigma * sigma) - slope_of_prior - slope_of_likelihood;
    let df_dmu = (w - mu) / (sigma * sigma);
    let sigmoid = 1.0 / (1.0 + (-rho).exp());
    let df_drho = (-1.0 / sigma + (w - mu).powi(2) / sigma.powi(3)) * sigmoid;
    [
        f,
        mu - rate * (df_dw + df_dmu),
        rho - rate * (df_dw * eps * sigmoid + df_drho),
    ]
}

/// Returns the results of one step of the compiled program: the loss, `mu'` and `rho'`.
fn step_by_program(
    infer: &InferenceBlock,
    steps: &mut Steps<'_>,
    states: &StateValues,
    step: i32,
) -> [f64; 3] {
    steps.set(states);
    let loss = steps.step(&[0, 1], step);
    let after = steps.states();
    assert_eq!(infer.reports[0].name, "w");
    [loss, after["w/loc"][0], after["w/scale"][0]]
}

/// Returns the difference between two values for one draw: `f` in the paper, and the loss of the
/// compiled program. The compiled program contains the entropy of `q` in closed form. The value
/// `-log q(w)` exceeds this entropy by `eps^2 / 2 - 1 / 2`. The difference does not depend on the
/// parameters, so both values have the same gradients for every draw.
fn excess(eps: f64) -> f64 {
    0.5 - 0.5 * eps * eps
}

#[test]
fn steps_follow_the_formulas() {
    for precision in [Precision::F64, Precision::F32] {
        let compiled = compiled("steps", &ROWS, SPIKE_AND_SLAB, precision);
        let infer = &compiled.manifest.infers[0];
        let dataset = compiled.dataset("line");
        let states = start(&infer.states, 1, &HashMap::new());
        let mut steps = Steps::new(infer, &dataset, &states, 1);
        let tolerance = if precision == Precision::F64 { 1e-12 } else { 2e-5 };
        for step in 0..50 {
            let eps = noise(compiled.manifest.seed, step);
            let [f, mu, rho] = step_by_hand(0.4, -1.0, eps);
            let [loss, loc, scale] = step_by_program(infer, &mut steps, &states, step);
            close(loss + excess(eps), f, tolerance * f.abs());
            close(loc, mu, tolerance);
            close(scale, rho, tolerance);
        }
    }
}

/// The expected numbers are those for `w = 0.4 + softplus(-1) 0.7`. The test uses the step whose
/// noise is closest to 0.7.
#[test]
fn a_step_at_known_noise_gives_the_known_numbers() {
    let compiled = compiled("known", &ROWS, SPIKE_AND_SLAB, Precision::F64);
    let infer = &compiled.manifest.infers[0];
    let miss = |step: &i32| (noise(1, *step) - 0.7).abs();
    let step = (0..2_000_000).min_by(|a, b| miss(a).total_cmp(&miss(b))).unwrap();
    assert!(miss(&step) < 5e-6);
    let dataset = compiled.dataset("line");
    let states = start(&infer.states, 1, &HashMap::new());
    let mut steps = Steps::new(infer, &dataset, &states, 1);
    let [loss, mu, rho] = step_by_program(infer, &mut steps, &states, step);
    // The noise differs slightly from 0.7. The derivative with respect to the noise is below 3 for
    // the loss, and below 0.1 for the updated parameters.
    close(
        loss + excess(noise(1, step)),
        3.801_655_05,
        1e-8 + 3.0 * miss(&step),
    );
    close(mu, 0.469_950_53, 1e-8 + 0.1 * miss(&step));
    close(rho, -0.978_245_98, 1e-8 + 0.1 * miss(&step));
}

/// Eight points around a straight line with noise 0.3, and standard normal priors.
const CONJUGATE: &str = "
data line = csv(\"line.csv\") { target = y }
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.3)
}
posterior Q of Line { a, b ~ Normal(loc = 0, scale = 0.5) }
infer fit = vi(Q, line) { epochs = 3000, batch = 0, samples = 64, optimiser = Adam(1e-2), schedule = cosine, precision = f64 }
";
const POINTS: [(f64, f64); 8] = [
    (-1.5, -0.9),
    (-1.0, -0.8),
    (-0.4, 0.1),
    (0.0, 0.25),
    (0.3, 0.35),
    (0.8, 1.0),
    (1.2, 1.05),
    (1.9, 1.7),
];

/// The optimal factorised normal has the means of the posterior. The variances of this normal are
/// the reciprocals of the diagonal elements of the posterior precision.
#[test]
fn vi_finds_the_optimum_of_a_conjugate_model() {
    let compiled = compiled("conjugate", &POINTS, CONJUGATE, Precision::F64);
    let infer = &compiled.manifest.infers[0];
    let result = compile::run(&compiled.manifest, 1);
    let values = result.outcomes[0].splits[0].found.values();
    let softplus = |x: f64| x.exp().ln_1p();
    close(values["a/loc"][0], 0.214_804_89, 2e-3);
    close(values["b/loc"][0], 0.778_637_25, 2e-3);
    close(softplus(values["a/scale"][0]), 0.105_474_38, 2e-3);
    close(softplus(values["b/scale"][0]), 0.098_479_82, 2e-3);
    let states = start(&infer.states, 1, &HashMap::new());
    let dataset = compiled.dataset("line");
    let mut steps = Steps::new(infer, &dataset, &states, 1);
    let all: Vec<u32> = (0..8).collect();
    let elbos: Vec<f64> = (0..2000)
        .map(|step| {
            steps.set(values);
            -steps.step(&all, 1_000_000 + step)
        })
        .collect();
    let count = elbos.len() as f64;
    let mean = elbos.iter().sum::<f64>() / count;
    let variance = elbos.iter().map(|elbo| (elbo - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    // The bound is highest at the optimum. At a distance of 2e-3 from the optimum, it is lower by
    // less than 1e-3.
    assert!(error < 5e-3, "{error}");
    assert!(mean < -3.415_327_78 + 4.0 * error, "{mean} +- {error}");
    assert!(mean > -3.415_327_78 - 4.0 * error - 1e-3, "{mean} +- {error}");
}

/// Returns whether all rows have the same noise. Layers that draw noise or masks for each row are exceptions.
fn shares_noise(infer: &InferenceBlock) -> bool {
    let by_row = |likelihood: &str| likelihood.starts_with("local") || likelihood.starts_with("flipout");
    let method = bnnc_abi::method::lookup(infer.method);
    let is_masked = method.is_some_and(|method| method.finds == Finds::Masked);
    !is_masked && !infer.reports.iter().any(|site| by_row(&site.likelihood))
}

/// Returns the partitions of an inference block's rows whose losses do not add up to the loss of all rows.
fn wrong_sums(compiled: &Compiled, infer: &InferenceBlock) -> Vec<String> {
    let dataset = compiled.dataset(&infer.data);
    let states = start(&infer.states, 1, &HashMap::new());
    let mut steps = Steps::new(infer, &dataset, &states, 2);
    let rows: Vec<u32> = (0..steps.examples() as u32).rev().collect();
    let whole = steps.step(&rows, 5);
    let mut faults = Vec::new();
    for batch in [7, 32, 100, rows.len() / 2 + 1] {
        let mut sum = 0.0;
        for part in rows.chunks(batch) {
            steps.set(&states);
            sum += steps.step(part, 5) * part.len() as f64;
        }
        let mean = sum / rows.len() as f64;
        let is_near = (mean - whole).abs() < 1e-11 * whole.abs();
        let fault = || format!("{}: batches of {batch}: {mean}, all rows: {whole}", infer.name);
        faults.extend((!is_near).then(fault));
    }
    faults
}

/// For every partition into batches, the loss of a batch is an unbiased estimate of the loss of all
/// rows. The losses of the batches of an epoch are averaged with the numbers of rows as weights.
/// The average equals the loss of one step with all rows and the same noise.
#[test]
fn batches_sum_to_the_loss_of_all_rows() {
    let faults = compile::from_examples(|path| {
        let compiled = compile::file(path, &options("cranelift", Some(Precision::F64)));
        let infers = compiled.manifest.infers.iter();
        let infers = infers.filter(|infer| infer.training().is_some() && shares_noise(infer));
        let faults = infers.flat_map(|infer| wrong_sums(&compiled, infer));
        faults
            .map(|fault| format!("{} {fault}", path.display()))
            .collect()
    });
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The data of this program do not contain information about `w`. A step with learning rate `r`
/// therefore changes the mean by `-r` times the weight of the KL divergence times the gradient of
/// the KL divergence. The gradient of the KL divergence equals the mean.
const UNINFORMED: &str = "
data line = csv(\"line.csv\") { target = y }
model Line(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}
posterior Q of Line { w ~ Normal(loc = 2, scale = fixed(0.5)) }
infer fit = vi(Q, line) { epochs = 1, batch = 4, optimiser = SGD(0.125), schedule = constant, kl_weight = HOW }
";

/// Returns the mean of `w` after a sequence of steps with these weights of the KL divergence.
fn shrunk(weights: &[f64]) -> f64 {
    weights
        .iter()
        .fold(2.0, |mean, weight| mean * (1.0 - 0.125 * weight))
}

/// The test uses ten or sixteen rows, in batches of four. In the paper, the losses of the
/// four batches contain 8/15, 4/15, 2/15 and 1/15 of the KL divergence. The likelihood of each batch
/// enters its loss unscaled. In bnnc, the loss multiplies this likelihood by the number of all rows
/// divided by the number of rows in the batch.
#[test]
fn steps_apply_the_weight_of_the_kl() {
    let fifteenths = |share: f64| 4.0 * share / 15.0;
    let even: [(&str, Vec<f64>); 3] = [
        ("exact", vec![1.0; 4]),
        ("graves", vec![1.0; 4]),
        ("blundell", [8.0, 4.0, 2.0, 1.0].map(fifteenths).to_vec()),
    ];
    let uneven: [(&str, Vec<f64>); 3] = [
        ("exact", vec![1.0; 3]),
        // The last of the three batches has two of the ten rows.
        ("graves", vec![10.0 / 12.0, 10.0 / 12.0, 10.0 / 6.0]),
        (
            "blundell",
            vec![4.0 / 7.0 * 2.5, 2.0 / 7.0 * 2.5, 1.0 / 7.0 * 5.0],
        ),
    ];
    for (rows, cases) in [(16, even), (10, uneven)] {
        for (how, weights) in cases {
            let data = vec![(0.0, 1.0); rows];
            let program = UNINFORMED.replace("HOW", how);
            let compiled = compiled(&format!("weight-{how}-{rows}"), &data, &program, Precision::F64);
            let result = compile::run(&compiled.manifest, 1);
            let fitted = result.outcomes[0].splits[0].found.fitted().unwrap();
            close(fitted.values["w/loc"][0], shrunk(&weights), 1e-14);
            assert_eq!(fitted.steps as usize, weights.len());
        }
    }
}

/// If the steps of an epoch do not change the parameters, the losses of the epoch add up to the
/// loss of all rows. The sum does not depend on the weights of the KL divergence.
#[test]
fn an_epoch_sums_to_the_bound() {
    let losses = ["exact", "graves", "blundell"].map(|how| {
        let program = UNINFORMED.replace("HOW", how).replace("SGD(0.125)", "SGD(1e-30)");
        let compiled = compiled(
            &format!("epoch-{how}"),
            &POINTS.map(|(_, y)| (0.0, y)),
            &program,
            Precision::F64,
        );
        compile::run(&compiled.manifest, 1).outcomes[0].splits[0]
            .found
            .fitted()
            .unwrap()
            .loss
    });
    // The bound contains KL(N(2, 0.5^2) || N(0, 1)), and the log density of the targets around
    // zero.
    let kl = 0.5 * (0.25 + 4.0 - 1.0) - 0.5f64.ln();
    let likelihood: f64 = POINTS.iter().map(|(_, y)| log_normal(*y, 0.0, 1.0)).sum();
    for loss in losses {
        close(loss, kl - likelihood, 1e-12);
    }
}

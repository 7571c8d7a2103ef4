//! Models with convolutions, from the program to the posterior. One model is linear in its kernel.
//! The posterior of this model is therefore known from the normal equations. The other model is a
//! network, and every method fits it.
#![allow(clippy::unwrap_used)]

use bnnc_abi::manifest::Init;
use bnnc_base::dtype::Precision;
use bnnc_data::write::ResultColumn;
use bnnc_run::{InferenceOutcome, RunResult};
use bnnc_tests::compile::{self, options};
use std::path::PathBuf;

const ROWS: usize = 9;
/// The image has three rows and four columns, so a kernel of two by two has six positions.
const POSITIONS: f64 = 6.0;
/// The standard deviation of the noise.
const NOISE: f64 = 0.5;

fn pixel(row: usize, at: usize) -> f64 {
    f64::from((row * 37 + at * 23 + row * at * 11) as u16 % 19) / 10.0 - 0.9
}

fn target(row: usize) -> f64 {
    f64::from((row * 7) as u16 % 5) / 4.0 - 0.5
}

/// Creates a folder for one test. The folder contains the table of pixels and targets. The targets
/// of the classification are the classes 0 and 1.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-convolution-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let columns: Vec<String> = (0..12).map(|at| format!("x{at}")).collect();
    let mut tables = [
        format!("{},y\n", columns.join(",")),
        format!("{},y\n", columns.join(",")),
    ];
    for row in 0..ROWS {
        let cells: Vec<String> = (0..12).map(|at| pixel(row, at).to_string()).collect();
        tables[0] += &format!("{},{}\n", cells.join(","), target(row));
        tables[1] += &format!("{},{}\n", cells.join(","), row % 2);
    }
    std::fs::write(folder.join("rows.csv"), &tables[0]).unwrap();
    std::fs::write(folder.join("classes.csv"), &tables[1]).unwrap();
    folder
}

fn run(name: &str, text: &str, precision: Option<Precision>) -> RunResult {
    let compiled = compile::text(
        &folder(name).join("p.bnn"),
        text,
        &options("cranelift", precision),
    );
    compile::run(&compiled.manifest, 1)
}

fn outcome<'a>(result: &'a RunResult, infer: &str) -> &'a InferenceOutcome {
    let found = result.outcomes.iter().find(|outcome| outcome.name == infer);
    found.unwrap()
}

/// Returns the mean and the standard deviation of each kernel element.
fn kernel(result: &RunResult, infer: &str) -> Vec<(f64, f64)> {
    let sites = &outcome(result, infer).sites;
    let site = sites.iter().find(|site| site.name == "kernel").unwrap();
    site.elements
        .iter()
        .map(|element| (element.mean, element.sd))
        .collect()
}

/// Returns the variance of the predicted mean in each row.
fn variances(result: &RunResult, infer: &str) -> Vec<f64> {
    let predictions = &outcome(result, infer).predictions;
    match predictions.iter().find(|(name, _)| name == "sd_epistemic") {
        Some((_, ResultColumn::Real(values))) => values.iter().map(|sd| sd * sd).collect(),
        other => panic!("{infer}: {other:?}"),
    }
}

fn close(found: &[f64], wanted: &[f64], error: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (one, other) in found.iter().zip(wanted) {
        assert!((one - other).abs() < error, "{what}: {found:?} is not {wanted:?}");
    }
}

/// Returns, for each position of the kernel, the four pixels under the kernel.
fn windows(row: usize) -> Vec<[f64; 4]> {
    let corner = |at: usize| at / 3 * 4 + at % 3;
    let window = |at: usize| [0, 1, 4, 5].map(|offset| pixel(row, corner(at) + offset));
    (0..6).map(window).collect()
}

/// Returns the derivative of the predicted mean with respect to the kernel elements.
fn slopes(row: usize) -> [f64; 4] {
    let windows = windows(row);
    [0, 1, 2, 3].map(|at| windows.iter().map(|window| window[at]).sum::<f64>() / POSITIONS)
}

/// Returns the identity plus the sum of the outer products of vectors. The sum is multiplied by a
/// factor.
fn precision(vectors: &[[f64; 4]], factor: f64) -> [[f64; 4]; 4] {
    let sum = |i: usize, j: usize| vectors.iter().map(|v| v[i] * v[j]).sum::<f64>() * factor;
    [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| sum(i, j) + f64::from(u8::from(i == j))))
}

/// Returns the inverse of a matrix, by elimination. The matrices are far from singular, so pivoting
/// is not needed.
fn inverse(matrix: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let (mut left, mut right) = (
        matrix,
        [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| f64::from(u8::from(i == j)))),
    );
    for pivot in 0..4 {
        let scale = left[pivot][pivot];
        (left[pivot], right[pivot]) = (left[pivot].map(|x| x / scale), right[pivot].map(|x| x / scale));
        for row in (0..4).filter(|row| *row != pivot) {
            let factor = left[row][pivot];
            for column in 0..4 {
                left[row][column] -= factor * left[pivot][column];
                right[row][column] -= factor * right[pivot][column];
            }
        }
    }
    right
}

fn quadratic(matrix: &[[f64; 4]; 4], v: &[f64; 4]) -> f64 {
    (0..4)
        .flat_map(|i| (0..4).map(move |j| (i, j)))
        .map(|(i, j)| v[i] * matrix[i][j] * v[j])
        .sum()
}

const LINEAR: &str = "data rows = csv(\"rows.csv\") { target = y }
model Linear(x: real[12]) -> y: real {
  kernel: real[1, 1, 2, 2] ~ Normal(0, 1)
  y ~ Normal(mean(conv(reshape(x, 1, 3, 4), kernel)), 0.5)
}
";

/// If a model is linear in its kernel, the precision of the posterior is `1 + D'D / noise^2`. Each
/// row of `D` is the mean of the windows of one image.
#[test]
fn a_linear_convolution_has_the_posterior_of_the_normal_equations() {
    let text = format!(
        "{LINEAR}
posterior Field of Linear {{
  kernel ~ Normal(scale = 0.3)
}}
infer fit = laplace(Linear, rows) {{ epochs = 3000, batch = 0, optimiser = Adam(1e-2), schedule = cosine }}
infer second = laplace(Linear, rows) {{ start = fit, curvature = hessian }}
infer diagonal = laplace(Linear, rows) {{ start = fit, structure = diagonal }}
infer low_rank = laplace(Linear, rows) {{ start = fit, structure = low_rank(4) }}
infer functional = laplace(Linear, rows) {{ start = fit, structure = functional }}
infer factored = laplace(Linear, rows) {{ start = fit, structure = kronecker }}
infer sampled = nuts(Linear, rows) {{ warmup = 300, draws = 1000, chains = 2 }}
infer field = vi(Field, rows) {{ epochs = 4000, batch = 0, samples = 8, optimiser = Adam(1e-2), schedule = cosine }}
infer flipped = vi(Field, rows) {{ epochs = 4000, batch = 0, flipout = [kernel], optimiser = Adam(1e-2), schedule = cosine }}
"
    );
    let result = run("linear", &text, Some(Precision::F64));
    let slopes: Vec<[f64; 4]> = (0..ROWS).map(slopes).collect();
    let matrix = precision(&slopes, 1.0 / NOISE.powi(2));
    let covariance = inverse(matrix);
    let right: Vec<f64> = (0..4)
        .map(|at| (0..ROWS).map(|row| slopes[row][at] * target(row)).sum::<f64>() / NOISE.powi(2))
        .collect();
    let means: Vec<f64> = covariance
        .iter()
        .map(|row| row.iter().zip(&right).map(|(c, r)| c * r).sum())
        .collect();
    let sds: Vec<f64> = (0..4).map(|at| covariance[at][at].sqrt()).collect();
    let narrow: Vec<f64> = (0..4).map(|at| matrix[at][at].sqrt().recip()).collect();
    let split = |infer: &str| -> (Vec<f64>, Vec<f64>) { kernel(&result, infer).into_iter().unzip() };
    for infer in ["fit", "second"] {
        let found = split(infer);
        close(&found.0, &means, 1e-5, infer);
        close(&found.1, &sds, 1e-8, infer);
    }
    close(&split("diagonal").1, &narrow, 1e-8, "diagonal");
    let wanted: Vec<f64> = slopes.iter().map(|slope| quadratic(&covariance, slope)).collect();
    // All positions have the same slope. The gradient is therefore one outer product with the mean
    // of the windows.
    for infer in ["fit", "low_rank", "functional", "factored"] {
        close(&variances(&result, infer), &wanted, 1e-7, infer);
    }
    // The two chains have 2000 draws in total. The bound is four standard errors for 1000
    // independent draws. The bound is wider than the bound for 2000 draws, because the draws of a
    // chain are correlated.
    let found = split("sampled");
    for at in 0..4 {
        let error = 4.0 * sds[at] / 1000f64.sqrt();
        close(&found.0[at..=at], &means[at..=at], error, "sampled");
        close(&found.1[at..=at], &sds[at..=at], error, "sampled");
    }
    // The optimal independent normals have the means of the posterior, and the conditional standard
    // deviations of the posterior.
    for infer in ["field", "flipped"] {
        let found = split(infer);
        for at in 0..4 {
            close(&found.0[at..=at], &means[at..=at], 0.1 * narrow[at], infer);
            close(&found.1[at..=at], &narrow[at..=at], 0.05 * narrow[at], infer);
        }
    }
}

/// A kernel that is as large as the image has only one position. The Kronecker product is therefore
/// exact for a single output.
#[test]
fn kronecker_factors_of_a_single_position_are_exact() {
    let text = "data rows = csv(\"rows.csv\") { target = y }
model Whole(x: real[12]) -> y: real {
  kernel: real[1, 1, 3, 4] ~ Normal(0, 1)
  y ~ Normal(conv(reshape(x, 1, 3, 4), kernel)[0, 0, 0], 0.4)
}
infer all = laplace(Whole, rows) { epochs = 10 }
infer factored = laplace(Whole, rows) { start = all, structure = kronecker }
";
    let result = run("whole", text, Some(Precision::F64));
    close(
        &variances(&result, "all"),
        &variances(&result, "factored"),
        1e-9,
        "factored",
    );
}

const NETWORK: &str = "use layers::Conv
use layers::Dense
data rows = csv(\"classes.csv\") { target = y }
model Net(x: real[12]) -> y: index(2) {
  first  = Conv(2, 2, 2, padding = 1)
  second = Conv(3, 2, 2)
  out    = Dense(2)
  low    = max_pool(tanh(first(reshape(x, 1, 3, 4))), 2)
  y ~ Categorical(logits = out(flatten(relu(second(pad(low, 1))))))
}
posterior Field of Net {
  first.*, second.*, out.* ~ Normal(scale = 0.1)
}
";

/// Every method gives finite metrics, and predictions that are probabilities.
#[test]
fn every_method_fits_a_network_of_convolutions() {
    let text = format!(
        "{NETWORK}
infer mode = map(Net, rows) {{ epochs = 30 }}
infer field = vi(Field, rows) {{ epochs = 30, samples = 3 }}
infer flipped = vi(Field, rows) {{ epochs = 30, flipout = [first, second], local = [out] }}
infer sampled = nuts(Net, rows) {{ warmup = 30, draws = 20, chains = 1 }}
infer full = laplace(Net, rows) {{ start = mode }}
infer diagonal = laplace(Net, rows) {{ start = mode, structure = diagonal }}
infer factored = laplace(Net, rows) {{ start = mode, structure = kronecker, link = monte_carlo }}
infer last = laplace(Net, rows) {{ start = mode, over = last_layer }}
infer chosen = laplace(Net, rows) {{ start = mode, over = subnetwork(10, by = diagonal), link = weights }}
infer dropped = dropout(Net, rows) {{ epochs = 30 }}
"
    );
    let compiled = compile::text(
        &folder("network").join("p.bnn"),
        &text,
        &options("cranelift", None),
    );
    let json = bnnc_report::result::json(&compiled.manifest, &compile::run(&compiled.manifest, 1));
    let infers = json["infer"].as_object().unwrap();
    assert_eq!(infers.len(), 10);
    for (name, infer) in infers {
        let metrics = infer["metrics"].as_object().unwrap();
        for metric in ["train_accuracy", "train_nll"] {
            let metric = metrics.get(metric).or(metrics.get(&metric["train_".len()..]));
            let value = metric.and_then(|value| value.as_f64());
            assert!(
                value.is_some_and(|value| (0.0..3.0).contains(&value)),
                "{name}: {metrics:?}"
            );
        }
    }
}

/// All windows of an image use the same draw of a kernel. The outputs therefore cannot have
/// separate draws, and `local` is rejected.
#[test]
fn a_kernel_has_one_draw_for_all_windows() {
    let text = format!("{NETWORK}\ninfer field = vi(Field, rows) {{ epochs = 1, local = [second] }}\n");
    let options = options("cranelift", None);
    let path = folder("local").join("p.bnn");
    let program = bnnc_driver::program::load(&path.display().to_string(), &text, &options);
    let specs = bnnc_driver::compile::data(&program, &options).unwrap();
    let schemas = specs
        .iter()
        .map(|spec| (spec.name.clone(), bnnc_data::schema(spec).unwrap()))
        .collect();
    let failure = bnnc_driver::compile::compile(&program, &schemas, &options);
    let text = format!("{:?}", failure.err());
    assert!(
        text.contains("E0321") && text.contains("`local` is not possible for `second.kernel`"),
        "{text}"
    );
    assert!(text.contains("leave `second.kernel` out of `local`"), "{text}");
}

/// Returns the start values of the locations of a convolution `[4, 2, 3, 2]` and of its bias.
fn starts(name: &str, family: &str) -> [Init; 2] {
    let program = format!(
        "data d = csv(\"rows.csv\") {{ target = y }}
model M(x: real[12]) -> y: real {{
  kernel: real[4, 2, 3, 2] ~ Normal(0, 1)
  bias: real[4] ~ Normal(0, 1)
  y ~ Normal(sum(x) * sum(kernel) + sum(bias), 1)
}}
posterior Q of M {{ kernel, bias ~ {family} }}
infer fit = map(Q, d) {{ steps = 1 }}
"
    );
    let path = folder(name).join("p.bnn");
    let compiled = compile::text(&path, &program, &options("cranelift", None));
    let infer = &compiled.manifest.infers[0];
    ["kernel/loc", "bias/loc"].map(|name| {
        let state = infer.states.iter().find(|state| state.name == name);
        state.unwrap().init.clone()
    })
}

/// A unit of the kernel `[4, 2, 3, 2]` has `2 * 3 * 2` inputs, and an input is used by `4 * 3 * 2`
/// elements of the result.
#[test]
fn starts_of_kernels_depend_on_the_fan_in() {
    let (fan_in, fan_out) = (12.0f64, 24.0f64);
    let bound = |bound: f64| Init::Uniform(-bound, bound);
    let zero = Init::Constant(0.0);
    assert_eq!(
        starts("default", "Point()"),
        [bound(fan_in.sqrt().recip()), zero.clone()]
    );
    assert_eq!(
        starts("he", "Point(he)"),
        [Init::Normal(0.0, (2.0 / fan_in).sqrt()), zero.clone()]
    );
    assert_eq!(
        starts("glorot", "Point(glorot)"),
        [bound((6.0 / (fan_in + fan_out)).sqrt()), zero]
    );
}

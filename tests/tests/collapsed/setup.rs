//! Programs, data and comparisons that several tests use.

use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_abi::methods::collapsed::Collapsed;
use bnnc_core::context::Context;
use bnnc_core::predict::Predictive;
use bnnc_data::write::ResultColumn;
use bnnc_driver::infer::CompileFailure;
use bnnc_inference::posterior::SharedPosterior;
use bnnc_kernels::pool::Pool;
use bnnc_methods::collapsed::CollapsedPosterior;
use bnnc_methods::collapsed::choice::Choice;
use bnnc_run::RunResult;
use bnnc_tests::compile::{self as compiling, Compiled, options};
use bnnc_training::iterates::Collected;
use std::path::PathBuf;
use std::sync::Arc;

pub const X: [f64; 6] = [1.0, -0.4, 0.7, -1.3, 0.2, 1.9];

pub const Y: [f64; 6] = [0.4, 1.1, 0.2, -0.3, 0.9, 1.5];

pub const CLASSES: [usize; 6] = [0, 1, 2, 1, 0, 2];

pub const SD: f64 = 0.5;

pub const LINE: &str = "model M(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 0.5)
}
";

/// A model with one hidden unit.
pub const UNIT: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(1, prior = Normal(1, 1))
  out    = Dense(1)
  y ~ Normal(out(relu(hidden(x)))[0], 0.5)
}
";

pub const DIGIT: &str = "model M(x: real[1]) -> c: index(3) {
  hidden = Dense(2, prior = Normal(1, 1))
  out    = Dense(3)
  c ~ Categorical(logits = out(tanh(hidden(x))))
}
";

/// The options of a training run whose iterates differ a lot from each other.
pub const FAR: &str = "epochs = 9, warmup = 4, batch = 3, optimiser = SGD(0.05), predictive_draws = 40";

pub fn folder(name: &str) -> PathBuf {
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
pub fn npy(width: usize, values: &[f64]) -> Vec<u8> {
    let shape = (values.len() / width, width);
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape:?}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&118u16.to_le_bytes());
    bytes.extend_from_slice(format!("{header:<117}\n").as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

pub fn compiled(name: &str, text: &str) -> Compiled {
    let options = options("cranelift", None);
    let text = format!(
        "use layers::Dense\ndata d = csv(\"d.csv\")\ndata classes = csv(\"c.csv\")\ndata truths = csv(\"t.csv\")\n{text}"
    );
    compiling::text(&folder(name).join("p.bnn"), &text, &options)
}

pub fn attempt(name: &str, text: &str) -> Result<Compiled, CompileFailure> {
    let text = format!("use layers::Dense\ndata d = csv(\"d.csv\")\n{text}");
    compiling::attempt(&folder(name).join("p.bnn"), &text, &options("cranelift", None))
}

/// A finished run, and one inference block of the program.
pub struct Done {
    pub compiled: Compiled,
    pub result: RunResult,
    pub infer: InferenceBlock,
    pub found: Collected,
    pub choice: Choice,
    pub predictive: Predictive,
}

pub fn done(name: &str, text: &str, infer: &str) -> Done {
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

pub fn collected(found: &SharedPosterior) -> &Collected {
    let integrated: Option<&CollapsedPosterior> = found.of();
    let collected = integrated.map(|found| &found.collected);
    collected
        .or_else(|| found.of())
        .unwrap_or_else(|| panic!("{found:?}"))
}

impl Done {
    pub fn part(&self) -> &Collapsed {
        match &self.infer.work {
            Work::Collapsed(collapsed) => collapsed,
            _ => panic!("not collapsed"),
        }
    }

    /// Returns the elements of a site at each iterate.
    pub fn site(&self, site: &str) -> Vec<Vec<f64>> {
        let values = &self.found.values[&format!("{site}/loc")];
        let size = values.len() / self.found.draws;
        values.chunks_exact(size).map(<[f64]>::to_vec).collect()
    }

    /// Returns the smallest and the largest value of an element over the iterates.
    pub fn range(&self, site: &str, element: usize) -> (f64, f64) {
        let all = self.site(site);
        let column = || all.iter().map(|values| values[element]);
        (
            column().fold(f64::INFINITY, f64::min),
            column().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    pub fn codes(&self) -> Vec<&str> {
        self.result
            .warnings
            .iter()
            .map(|warning| warning.code.id)
            .collect()
    }
}

pub fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * (1.0 + want.abs()),
        "{got} is not {want}"
    );
}

pub fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Divides an interval into `count` equal parts, and returns their midpoints.
pub fn midpoints((low, high): (f64, f64), count: usize) -> Vec<f64> {
    (0..count)
        .map(|at| low + (high - low) * (at as f64 + 0.5) / count as f64)
        .collect()
}

/// Returns a column of the table of predictions. The table belongs to the first inference block.
pub fn column(done: &Done, name: &str) -> Vec<f64> {
    let predictions = &done.result.outcomes[0].predictions;
    match predictions.iter().find(|(known, _)| known == name) {
        Some((_, ResultColumn::Real(values))) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns the density and the mean of a network with one input. The density and the mean are
/// averaged over the weights of the first layer by brute force.
pub fn brute(done: &Done, row: usize, location: &dyn Fn(usize, f64) -> f64) -> (f64, f64) {
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

/// A model with two hidden layers of six units each.
pub const WIDE: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(6)
  second = Dense(6)
  out    = Dense(1)
  y ~ Normal(out(relu(second(relu(hidden(x)))))[0], 0.5)
}
";

/// Returns the mean, the variance, and the kurtosis (the fourth central moment divided by the
/// squared variance).
pub fn moments(values: &[f64]) -> (f64, f64, f64) {
    let middle = mean(values.iter().copied());
    let of = |power: i32| mean(values.iter().map(|value| (value - middle).powi(power)));
    (middle, of(2), of(4) / of(2).powi(2))
}

/// Returns the density of a triangular distribution at a distance from its centre. Also returns the
/// probability of a value below this point.
pub fn triangle(distance: f64, radius: f64) -> (f64, f64) {
    let part = (1.0 - distance.abs() / radius).max(0.0);
    let below = 0.5 * part * part;
    (part / radius, if distance < 0.0 { below } else { 1.0 - below })
}

/// Returns the density and the distribution function at a target as the published code computes
/// them. `places` contains the location at each point of a grid over the box.
pub fn published(places: &[f64], y: f64, (low, high): (f64, f64), smoothing: f64) -> (f64, f64) {
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
pub fn scored() -> String {
    let model = UNIT.replace("Dense(1, prior", "Dense(3, prior");
    format!("data std = csv(\"d.csv\") {{ standardise = [inputs, target] }}\n{model}")
}

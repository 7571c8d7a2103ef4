//! Programs, data and comparisons that several tests use.

use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_core::context::Stop;
use bnnc_data::write::ResultColumn;
use bnnc_methods::laplace::Approximated;
use bnnc_run::{InferenceOutcome, RunOptions, RunResult, run};
use bnnc_tests::compile;
use bnnc_tests::compile::{Compiled, options};
use std::path::{Path, PathBuf};

/// Creates a folder for one test. The folder contains these files.
pub fn folder(name: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-laplace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// Writes a safetensors file of doubles. The file consists of the length of the header, the header,
/// and the data.
pub fn safetensors(path: &Path, tensors: &[(&str, &[usize], &[f64])]) {
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

pub fn compiled(folder: &Path, text: &str) -> Compiled {
    compile::text(
        &folder.join("p.bnn"),
        text,
        &options("cranelift", Some(Precision::F64)),
    )
}

pub fn infer<'a>(compiled: &'a Compiled, name: &str) -> &'a InferenceBlock {
    let mut infers = compiled.manifest.infers.iter();
    infers.find(|infer| infer.name == name).unwrap()
}

pub fn outcome<'a>(result: &'a RunResult, infer: &str) -> &'a InferenceOutcome {
    result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap()
}

pub fn approximated<'a>(result: &'a RunResult, infer: &str) -> &'a Approximated {
    let found = &outcome(result, infer).splits[0].found;
    found.of().expect("an approximation")
}

pub fn column<'a>(outcome: &'a InferenceOutcome, name: &str) -> &'a [f64] {
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

pub fn close(found: &[f64], wanted: &[f64], error: f64) {
    assert_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
    for (one, other) in found.iter().zip(wanted) {
        assert!((one - other).abs() < error, "{found:?} is not {wanted:?}");
    }
}

/// Returns the diagnostic that stops the run of a program.
pub fn stopped(compiled: &Compiled, max_memory: Option<u64>) -> Diagnostic {
    let options = RunOptions {
        max_memory,
        ..RunOptions::new(1)
    };
    match run(&compiled.manifest, &options).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Checks the code and the rendered text of a diagnostic. Only a manifest from another compiler can
/// cause this diagnostic.
#[track_caller]
pub fn shown_so(code: &str, diagnostic: &Diagnostic) {
    assert_eq!(diagnostic.code.id, code);
    insta::assert_snapshot!(code, compile::rendered(diagnostic));
}

/// Returns the first diagnostic of a program that does not compile.
pub fn rejected(folder: &Path, text: &str) -> Diagnostic {
    compile::rejected(&folder.join("p.bnn"), text)
}

/// A tanh network with one input, two hidden units and one output. The Laplace approximation of
/// this network is published. Each test appends inference blocks to this text.
pub const TANH: &str = "
data rows = csv(\"rows.csv\") { target = y, test = csv(\"new.csv\") }
model Net(x: real) -> y: real {
  w1: real[2] ~ Normal(0, sqrt(0.5))
  b1: real[2] ~ Normal(0, sqrt(0.5))
  w2: real[2] ~ Normal(0, sqrt(0.5))
  b2 ~ Normal(0, sqrt(0.5))
  y ~ Normal(dot(w2, tanh(x * w1 + b1)) + b2, 0.5)
}
";

/// Creates the folder of [`TANH`]. The folder contains three rows, three new rows, and the weights.
pub fn network(name: &str) -> PathBuf {
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

/// Returns the variance of the output at each new row.
pub fn variances(result: &RunResult, infer: &str) -> Vec<f64> {
    column(outcome(result, infer), "sd_epistemic")
        .iter()
        .map(|sd| sd * sd)
        .collect()
}

pub const FULL: [f64; 3] = [0.207_270_46, 0.162_929_85, 0.307_559_88];

/// Points around a straight line. The noise has the standard deviation 0.3. The intercept and the
/// slope have the prior `N(0, 1)`, and their posterior is published.
pub const POINTS: &str = "x,y\n-1.5,-0.9\n-1,-0.8\n-0.4,0.1\n0,0.25\n0.3,0.35\n0.8,1\n1.2,1.05\n1.9,1.7\n";

pub const LINE: &str = "
data rows = csv(\"rows.csv\") { target = y }
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.3)
}
";

/// Returns the rows `(1, x)` of the design matrix of the straight line.
pub fn design() -> Vec<(f64, f64)> {
    let rows = POINTS.lines().skip(1);
    let row = |line: &str| {
        let (x, y) = line.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    rows.map(row).collect()
}

/// Returns the inverse of `[[aa, ab], [ab, bb]]`.
pub fn inverse([aa, ab, bb]: [f64; 3]) -> [f64; 3] {
    let determinant = aa * bb - ab * ab;
    [bb / determinant, -ab / determinant, aa / determinant]
}

/// Returns the code and the message of an error.
pub fn rejection<T: std::fmt::Debug>(made: Result<T, Stop>) -> (&'static str, String) {
    match made {
        Err(Stop::Diagnostics(found)) => (found[0].code.id, found[0].message.clone()),
        other => panic!("{other:?}"),
    }
}

//! Runs that are saved, resumed or interrupted, and the joint covariances and derivatives of a saved run.

use crate::setup::{
    FULL, POINTS, TANH, approximated, close, compiled, design, folder, infer, inverse, network, outcome,
    rejection,
};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::dtype::Precision;
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::states::StateValues as States;
use bnnc_data::Dataset;
use bnnc_data::table::ArrayValues;
use bnnc_data::write::ResultColumn;
use bnnc_kernels::pool::Pool;
use bnnc_laplace::matrix::Matrix;
use bnnc_methods::laplace::gaussian::{PREFIX, part};
use bnnc_methods::laplace::jacobians::Which;
use bnnc_methods::laplace::machines::Evaluator;
use bnnc_methods::laplace::{Approximated, curve, jacobians, memory};
use bnnc_run::{RunOptions, RunResult, Sources, joint, out, predict, run, slopes};
use bnnc_tests::compile;
use bnnc_tests::compile::{Compiled, opening, options};
use bnnc_training::start::{EarlierResults, Starts};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles a program together with the programs of Jacobians. A saved run needs them for joint
/// covariances and derivatives.
fn asked(folder: &Path, text: &str) -> Compiled {
    let options = bnnc_driver::options::CompileOptions {
        jacobians: true,
        ..options("cranelift", Some(Precision::F64))
    };
    compile::text(&folder.join("p.bnn"), text, &options)
}

/// A run that was written to a folder and restored from it.
struct Kept {
    folder: PathBuf,
    compiled: Compiled,
    /// The program, compiled with the programs of Jacobians. Joint covariances and derivatives need
    /// them.
    asked: Compiled,
    result: RunResult,
    read: HashMap<String, States>,
    context: Context,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let folder = network(name);
        let text = format!(
            "{TANH}
infer whole = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\") }}
infer part = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3) }}
infer low = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = low_rank(2) }}
infer squares = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = diagonal }}
infer factored = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = kronecker }}
infer kernel = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), structure = functional }}
infer drawn = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), link = weights }}
infer several = ensemble(Net, rows) {{ epochs = 10, members = 2 }}
infer mixture = laplace(Net, rows) {{ start = several, predictive_draws = 50 }}
infer mixed_squares = laplace(Net, rows) {{ start = several, structure = diagonal, predictive_draws = 50 }}
"
        );
        let compiled = compiled(&folder, &text);
        let asked = asked(&folder, &text);
        let result = compile::run(&compiled.manifest, 2);
        let saved = compile::saved(PathBuf::new());
        out::write(&folder, &compiled.manifest, &result, saved).unwrap();
        let (_, read) = out::read(&folder).unwrap();
        Kept {
            folder,
            compiled,
            asked,
            result,
            read,
            context: Context::new(Arc::new(Pool::new(1)), 1),
        }
    }

    fn infer(&self, name: &str) -> &InferenceBlock {
        infer(&self.asked, name)
    }

    fn dataset(&self) -> &Dataset {
        &outcome(&self.result, "whole").dataset
    }

    fn at(&self, name: &str) -> (&States, &Path) {
        (&self.read[name], self.folder.as_path())
    }

    fn joint(&self, name: &str, limit: Option<u64>) -> Result<Matrix, Stop> {
        let dataset = self.dataset();
        let within = (limit, &self.context);
        let rows = dataset.test.clone();
        joint(
            self.infer(name),
            &dataset.preparation,
            self.at(name),
            rows,
            within,
        )
    }

    fn slopes(&self, name: &str) -> Result<Vec<(String, ResultColumn)>, Stop> {
        let dataset = self.dataset();
        let rows = dataset.test.clone();
        slopes(
            self.infer(name),
            &dataset.preparation,
            self.at(name),
            rows,
            (None, &self.context),
        )
    }
}

/// A restored run gives the same predictions. The restored run also contains properties of the
/// approximation, such as the prior scale.
#[test]
fn a_saved_run_predicts_again() {
    let kept = Kept::new("saved");
    for infer in &kept.compiled.manifest.infers {
        let outcome = outcome(&kept.result, &infer.name);
        let rows = outcome.dataset.test.clone();
        let at = kept.at(&infer.name);
        let again = predict(infer, &outcome.dataset.preparation, at, rows, &kept.context).unwrap();
        assert_eq!(again, outcome.predictions, "{}", infer.name);
    }
    let arrays = out::arrays(&kept.folder, "whole", PREFIX).unwrap();
    let again =
        Approximated::restore(kept.infer("whole"), &kept.read["whole"], &arrays, &kept.folder).unwrap();
    close(&[again.members[0].facts.prior_scale], &[1.0], 1e-15);
}

/// Returns the mean of an inference block's predictions, and their variance without noise. The
/// inputs of the rows are increased by `by`.
fn shifted(kept: &Kept, name: &str, by: f64) -> [Vec<f64>; 2] {
    let dataset = kept.dataset();
    let mut rows = dataset.test.clone();
    for field in rows.fields.iter_mut().filter(|field| field.name == "x") {
        let x = (0..field.values.len()).map(|at| field.values.real(at) + by);
        field.values = ArrayValues::Real(x.collect());
    }
    let (infer, at) = (kept.infer(name), kept.at(name));
    let columns = predict(infer, &dataset.preparation, at, rows, &kept.context).unwrap();
    let of = |name: &str| match &columns.iter().find(|(known, _)| known == name).unwrap().1 {
        ResultColumn::Real(values) => values.clone(),
        _ => panic!(),
    };
    [of("mean"), of("sd_epistemic").iter().map(|sd| sd * sd).collect()]
}

/// The joint covariance contains the published variances. Derivatives with respect to the inputs
/// agree with central differences. The derivatives are tested for every form of the precision, and
/// for a mixture.
#[test]
fn joint_covariances_and_slopes_match_their_definitions() {
    let kept = Kept::new("together");
    let diagonal = [0.379_207_35, 0.452_623_43, 0.409_440_98];
    for (name, published) in [("whole", FULL), ("squares", diagonal)] {
        close(&kept.joint(name, None).unwrap().diagonal(), &published, 1e-8);
    }
    for name in [
        "whole",
        "part",
        "low",
        "squares",
        "factored",
        "kernel",
        "drawn",
        "mixture",
        "mixed_squares",
    ] {
        let together = kept.joint(name, None).unwrap();
        assert!((together[(0, 1)] - together[(1, 0)]).abs() < 1e-12, "{name}");
        // Predictions from draws of the weights have Monte Carlo error. The joint covariance of
        // such predictions is the one of the full matrix.
        let same = if name == "drawn" { "whole" } else { name };
        let ([_, variances], low, high) = (
            shifted(&kept, same, 0.0),
            shifted(&kept, same, -1e-5),
            shifted(&kept, same, 1e-5),
        );
        close(&together.diagonal(), &variances, 1e-12);
        let found = kept.slopes(name).unwrap();
        assert_eq!(found.len(), 3);
        for (column, (low, high)) in found[1..].iter().zip(low.iter().zip(&high)) {
            let ResultColumn::Real(values) = &column.1 else {
                panic!()
            };
            let pairs = low.iter().zip(high);
            let wanted: Vec<f64> = pairs.map(|(low, high)| (high - low) / 2e-5).collect();
            close(values, &wanted, 1e-7);
        }
    }
}

/// For a straight line, the joint covariance is the covariance of `a + b x`. The diagonal structure
/// uses the inverse of the diagonal of the precision matrix. In this mixture, all members have the
/// same covariance, but different means. The joint covariance of the mixture includes the
/// covariance of these means.
#[test]
fn the_joint_covariance_of_a_line_is_exact() {
    let folder = folder("joint", &[("rows.csv", POINTS.to_owned())]);
    let text = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Line(x: real[1]) -> y: real {
  line = Dense(1)
  y ~ Normal(line(x)[0], 0.3)
}
infer several = ensemble(Line, rows) { epochs = 3, members = 3, optimiser = SGD(1e-3) }
infer whole = laplace(Line, rows) { start = several, predictive_draws = 2 }
infer squares = laplace(Line, rows) { start = several, structure = diagonal, predictive_draws = 2 }
infer one = laplace(Line, rows) { epochs = 50, structure = diagonal }
";
    let (compiled, asked) = (compiled(&folder, text), asked(&folder, text));
    let result = compile::run(&compiled.manifest, 1);
    let saved = compile::saved(PathBuf::new());
    out::write(&folder, &compiled.manifest, &result, saved).unwrap();
    let (_, read) = out::read(&folder).unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let sum = |of: &dyn Fn(f64) -> f64| design().iter().map(|(x, _)| of(*x)).sum::<f64>() / 0.09;
    let precision = [1.0 + sum(&|_| 1.0), sum(&|x| x), 1.0 + sum(&|x| x * x)];
    let diagonal = [1.0 / precision[0], 0.0, 1.0 / precision[2]];
    for (name, [aa, ab, bb]) in [
        ("whole", inverse(precision)),
        ("squares", diagonal),
        ("one", diagonal),
    ] {
        let members = &approximated(&result, name).members;
        let at = |state: &str| {
            members
                .iter()
                .map(|member| member.values[state][0])
                .collect::<Vec<f64>>()
        };
        let (a, b) = (at("line.b/loc"), at("line.w/loc"));
        assert!(
            name == "one" || (b[0] - b[1]).abs() > 0.1 && b.len() == 3,
            "{b:?}"
        );
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let between = |left: &[f64], right: &[f64]| {
            let products = left.iter().zip(right);
            let products: Vec<f64> = products
                .map(|(one, other)| (one - mean(left)) * (other - mean(right)))
                .collect();
            mean(&products)
        };
        let [aa, ab, bb] = [aa + between(&a, &a), ab + between(&a, &b), bb + between(&b, &b)];
        let dataset = &outcome(&result, name).dataset;
        let (rows, at) = (&dataset.train, (&read[name], folder.as_path()));
        let infer = infer(&asked, name);
        let found = joint(infer, &dataset.preparation, at, rows.clone(), (None, &context)).unwrap();
        let wanted = design().into_iter().flat_map(|(x, _)| {
            let row = move |(other, _): (f64, f64)| aa + ab * (x + other) + bb * x * other;
            design().into_iter().map(row)
        });
        close(&found.values, &wanted.collect::<Vec<f64>>(), 1e-12);
        let found = slopes(infer, &dataset.preparation, at, rows.clone(), (None, &context)).unwrap();
        let real = |column: usize| match &found[column].1 {
            ResultColumn::Real(values) => values.clone(),
            _ => panic!(),
        };
        close(&real(1), &vec![mean(&b); design().len()], 1e-12);
        let wanted: Vec<f64> = design().iter().map(|(x, _)| 2.0 * (ab + bb * x)).collect();
        close(&real(2), &wanted, 1e-12);
    }
}

/// A joint covariance cannot be computed without a Gaussian, or with too little memory. In both
/// cases, an error is reported.
#[test]
fn joint_covariances_need_a_gaussian_and_memory() {
    let kept = Kept::new("unsaid");
    for (code, message) in [
        rejection(kept.slopes("several")),
        rejection(kept.joint("several", None)),
    ] {
        assert!(
            code == "E0548" && message.contains("not a Laplace"),
            "{code} {message}"
        );
    }
    // The computation needs 408 bytes for two arrays of three outputs by seven weights and one
    // array of three by three. For a mixture, it needs nine further numbers. The programs need
    // memory in addition.
    for (name, members, least) in [("whole", 1, 408), ("squares", 1, 408), ("mixture", 2, 408 + 72)] {
        let laplace = part(kept.infer(name)).unwrap();
        let need = memory::together(kept.infer(name), laplace, members, 3);
        assert!(need > least, "{name}: {need}");
        assert!(kept.joint(name, Some(need)).is_ok());
        assert_eq!(rejection(kept.joint(name, Some(need - 1))).0, "E0502");
    }
}

/// The user can interrupt the computation of a curvature between two blocks of rows.
#[test]
fn a_curvature_is_interrupted() {
    let folder = network("interrupted");
    let forms = ["full", "diagonal", "low_rank(2)", "functional", "kronecker"];
    let infer = |(at, form): (usize, &&str)| {
        format!(
            "infer l{at} = laplace(Net, rows) {{ structure = {form}, start = safetensors(\"w.safetensors\") }}\n"
        )
    };
    let infers: String = forms.iter().enumerate().map(infer).collect();
    let second =
        "infer second = laplace(Net, rows) { curvature = hessian, start = safetensors(\"w.safetensors\") }\n";
    let compiled = compiled(&folder, &format!("{TANH}{infers}{second}"));
    let dataset = compiled.dataset("rows");
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    context.interrupt.raise();
    for infer in &compiled.manifest.infers {
        let starts = Starts::new(infer, &EarlierResults::new(), 0).unwrap();
        let values = starts.of(1, 0);
        let programs = (infer, part(infer).unwrap());
        let rows = (&dataset.train, true);
        let evaluation = Evaluator::new(programs, &values, rows, &dataset, &context).unwrap();
        let stopped = curve::curvature(&evaluation, Which::All).map(drop);
        assert!(matches!(stopped, Err(Stop::Interrupted)), "{}", infer.name);
        let stopped = jacobians::gradient(&evaluation).map(drop);
        assert!(matches!(stopped, Err(Stop::Interrupted)), "{}", infer.name);
    }
}

/// If an earlier run is resumed, a finished approximation is restored from its checkpoint, with its
/// warnings.
#[test]
fn a_checkpoint_keeps_an_approximation() {
    let folder = network("kept");
    let text = format!(
        "{TANH}infer l = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3) }}\n"
    );
    let compiled = compiled(&folder, &text);
    let fingerprint = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
    let results = [false, true].map(|resume| {
        let options = RunOptions {
            checkpoint: Checkpoint::open(&folder.join("out"), &fingerprint, opening(resume)).unwrap(),
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    });
    let [first, second] = &results;
    assert_eq!(outcome(first, "l").predictions, outcome(second, "l").predictions);
    let facts = |result: &RunResult| approximated(result, "l").members[0].facts.clone();
    assert_eq!(facts(first), facts(second));
    assert_eq!(first.warnings.len(), second.warnings.len());
}

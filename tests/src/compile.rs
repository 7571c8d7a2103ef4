//! Programs compiled and run inside the test: the path of `bnnc run` without its command line.

use crate::root;
use bnnc_abi::data::Schema;
use bnnc_abi::laplace::{Over, Structure};
use bnnc_abi::manifest::{Infer, Manifest, Work};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_core::checkpoint::Opening;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_data::Dataset;
use bnnc_driver::compile::{compile, data};
use bnnc_driver::infer::Failure;
use bnnc_driver::options::Options;
use bnnc_driver::program;
use bnnc_run::RunResult;
use bnnc_run::out::SavedRun;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A compiled program and what the headers of its data say.
#[derive(Clone)]
pub struct Compiled {
    /// For the runtime, with the predicted memory filled in.
    pub manifest: Manifest,
    /// By data item.
    pub schemas: HashMap<String, Schema>,
    /// Seconds that code generators took.
    pub code_seconds: f64,
}

/// The options of `--backend NAME --precision P`, with seed 1.
pub fn options(backend: &str, precision: Option<Precision>) -> Options {
    Options {
        seed: 1,
        backend: backend.to_string(),
        precision,
        symbols: bnnc_kernels::arrays::symbols(),
        ..Options::default()
    }
}

/// Compiles a program text; the files that it names are relative to the folder of `path`, which need not exist.
///
/// # Panics
/// Where the program has errors: the tests know the programs that they compile.
pub fn text(path: &Path, text: &str, options: &Options) -> Compiled {
    match attempt(path, text, options) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{}: {failure:#?}", path.display()),
    }
}

/// What the compiler says first against a program text, by Cranelift.
///
/// # Panics
/// Where it accepts the program.
pub fn refused(path: &Path, text: &str) -> Diagnostic {
    match attempt(path, text, &options("cranelift", None)) {
        Err(Failure::Program(found)) => match found.into_iter().next() {
            Some(first) => first,
            None => panic!("{}: it was refused without a word", path.display()),
        },
        Err(Failure::Fault(fault)) => panic!("{}: {fault}", path.display()),
        Ok(_) => panic!("{}: it was accepted", path.display()),
    }
}

/// As [`text`], where the compiler may refuse the program.
///
/// # Errors
/// What the compiler says.
///
/// # Panics
/// Where names or data are wrong.
pub fn attempt(path: &Path, text: &str, options: &Options) -> Result<Compiled, Failure> {
    let program = program::load(&path.display().to_string(), text, options);
    assert!(
        !program.has_errors(),
        "{}: {:#?}",
        path.display(),
        program.diagnostics
    );
    let specs = match data(&program, options) {
        Ok(specs) => specs,
        Err(diagnostics) => panic!("{}: {diagnostics:#?}", path.display()),
    };
    let schemas: HashMap<String, Schema> = specs
        .iter()
        .map(|spec| match bnnc_data::schema(spec) {
            Ok(schema) => (spec.name.clone(), schema),
            Err(diagnostics) => panic!("{}: {diagnostics:#?}", path.display()),
        })
        .collect();
    let compiled = compile(&program, &schemas, options)?;
    let (mut manifest, timings) = (compiled.manifest, compiled.timings);
    bnnc_run::cost::predict(&mut manifest, &schemas);
    let stages = timings.iter().flat_map(|(_, stages)| stages);
    let code = stages.filter(|(stage, _)| *stage == "code");
    Ok(Compiled {
        manifest,
        schemas,
        code_seconds: code.map(|(_, seconds)| seconds).sum(),
    })
}

/// Compiles the program in a file.
pub fn file(path: &Path, options: &Options) -> Compiled {
    text(path, &crate::files::read(&path.to_path_buf()), options)
}

/// Programs whose data are to be downloaded or are made as they run, and those with more infers than a walk has time for.
const ELSEWHERE: [&str; 6] = [
    "digits/mnist.bnn",
    "digits/mixture.bnn",
    "digits/radial.bnn",
    "digits/turned.bnn",
    "bandit/mushrooms.bnn",
    "penalty/mnist.bnn",
];

/// The programs of `examples/` whose data lie beside them, in order.
pub fn examples() -> Vec<PathBuf> {
    let found = crate::files::under("examples", &["bnn"]);
    let here = found
        .iter()
        .filter(|file| !ELSEWHERE.iter().any(|path| file.path.ends_with(path)))
        .filter(|file| cfg!(feature = "collapsed") || !file.text.contains("= collapsed("));
    here.map(|file| root().join(&file.path)).collect()
}

/// The failures that a check finds in the examples, of which two are checked at a time: a check runs on one thread for most of its time.
pub fn faults_of_examples(check: impl Fn(&Path) -> Vec<String> + Sync) -> Vec<String> {
    let left = Mutex::new(examples().into_iter());
    let found = Mutex::new(Vec::new());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(path) = next() {
            let faults = check(&path);
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(faults);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What a folder says of a run with seed 1 and without settings.
pub fn saved(program: PathBuf) -> SavedRun {
    SavedRun {
        program,
        text: String::new(),
        settings: Vec::new(),
        data: Vec::new(),
        seed: 1,
        precision: None,
        without: Vec::new(),
        library: 0,
        schemas: BTreeMap::new(),
        preparations: BTreeMap::new(),
        ranges: BTreeMap::new(),
        fingerprint: Fingerprint::default(),
    }
}

/// What becomes of the checkpoint of an earlier run of the same program.
pub fn opening(resume: bool) -> Opening {
    match resume {
        true => Opening::Resume,
        false => Opening::New,
    }
}

/// Settings that make every infer of a program short: enough for every part of a run to happen.
pub fn short(path: &Path, epochs: usize, predictive_draws: usize) -> Vec<String> {
    let infers = file(path, &options("cranelift", None)).manifest.infers;
    let of = |infer: &Infer| {
        let work: &[(&str, usize)] = match &infer.work {
            // Iterates of an earlier infer need no training.
            Work::Swag(swag) if swag.options.iterates.is_some() => &[],
            Work::Collapsed(collapsed) if collapsed.iterates.options.iterates.is_some() => &[],
            Work::Train(_) | Work::Laplace(_) | Work::Ensemble(_) => &[("epochs", epochs)],
            // A covariance needs several iterates.
            Work::Swag(_) | Work::Collapsed(_) => &[("warmup", 0), ("every", 1), ("epochs", epochs + 2)],
            Work::Sample(_) => &[("warmup", 30), ("draws", 20), ("thin", 1)],
        };
        let all = work
            .iter()
            .copied()
            .chain([("predictive_draws", predictive_draws)]);
        let settings = all.map(|(key, value)| format!("{}.{key}={value}", infer.name));
        settings.chain(small(infer)).collect::<Vec<String>>()
    };
    infers.iter().flat_map(of).collect()
}

/// The weights beyond which a dense covariance takes seconds.
const DENSE: usize = 1000;

/// A network that was hardly trained has few weights that move an output, so that large subnetworks of it do not exist.
fn small(infer: &Infer) -> Option<String> {
    let Work::Laplace(laplace) = &infer.work else {
        return None;
    };
    let by = match &laplace.options.over {
        Over::Subnetwork { by, .. } => by.word(),
        Over::All if laplace.options.structure == Structure::Full && infer.cost.parameters > DENSE => {
            "random"
        }
        _ => return None,
    };
    Some(format!("{}.over=subnetwork(10, by = {by})", infer.name))
}

/// Runs everything that a manifest asks for.
///
/// # Panics
/// Where the run stops.
pub fn run(manifest: &Manifest, threads: usize) -> RunResult {
    let options = bnnc_run::Options::new(threads);
    match bnnc_run::run(manifest, &options).and_then(RunResult::whole) {
        Ok(result) => result,
        Err(stop) => panic!("{}: {stop:?}", manifest.program),
    }
}

impl Compiled {
    /// The rows of the first split of an infer's data.
    ///
    /// # Panics
    /// Where the files changed since they were compiled against.
    pub fn dataset(&self, data: &str) -> Dataset {
        let spec = self.manifest.data.iter().find(|spec| spec.name == data);
        let loaded = spec.map(|spec| bnnc_data::load(spec, &self.schemas[data], 0, self.manifest.seed));
        match loaded {
            Some(Ok(dataset)) => dataset,
            other => panic!("{data}: {other:?}"),
        }
    }
}

/// Removes all that the clock decides from `result.json`.
pub fn without_seconds(result: &mut Value) {
    match result {
        Value::Object(members) => {
            members.shift_remove("seconds");
            members.values_mut().for_each(without_seconds);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_seconds),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

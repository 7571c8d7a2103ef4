//! Compiles and runs programs inside a test. The steps are the same as in `bnnc run`, but without
//! the command line.

use crate::root;
use bnnc_abi::manifest::{InferenceBlock, Manifest, Work};
use bnnc_abi::methods::laplace::{Over, Score, Structure};
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_base::source::SourceMap;
use bnnc_core::checkpoint::Opening;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_data::{Dataset, LoadedData};
use bnnc_driver::compile::{compile, data};
use bnnc_driver::infer::{Compilation, CompileFailure, ElaboratedInference};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{program, render};
use bnnc_rewrite::density::Densities;
use bnnc_run::RunResult;
use bnnc_run::out::SavedRun;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A compiled program, and the schemas of its data.
#[derive(Clone)]
pub struct Compiled {
    /// The manifest, which includes the predicted memory.
    pub manifest: Manifest,
    /// The schemas of the data items, by name.
    pub schemas: HashMap<String, Schema>,
    /// The time, in seconds, by which the generation of code made the compilation longer.
    pub code_seconds: f64,
}

/// Returns the text of a diagnostic as a terminal shows it, for a diagnostic that does not point to a place in a
/// program.
pub fn rendered(diagnostic: &Diagnostic) -> String {
    render::text(diagnostic, &SourceMap::default(), false)
}

/// Returns the compile options that correspond to `--backend NAME --precision P`, with seed 1.
pub fn options(backend: &str, precision: Option<Precision>) -> CompileOptions {
    CompileOptions {
        seed: 1,
        backend: backend.to_string(),
        precision,
        symbols: bnnc_kernels::arrays::symbols(),
        ..CompileOptions::default()
    }
}

/// Returns the result of a stage of the compiler.
///
/// # Panics Panics if the stage failed.
pub fn ready<T>(made: Result<T, CompileFailure>) -> T {
    match made {
        Ok(made) => made,
        Err(failure) => panic!("{failure:#?}"),
    }
}

/// Compiles an inference block of a program up to its density functions. Passes them to `rest`, and returns the
/// result of `rest`.
///
/// # Panics
/// Panics if the program or its data have errors, or if the program does not have such an inference
/// block.
pub fn from_densities<T>(
    path: &Path,
    infer: &str,
    options: &CompileOptions,
    rest: impl FnOnce(&mut Compilation<'_>, &ElaboratedInference, &Densities) -> T,
) -> T {
    let text = std::fs::read_to_string(path).expect("a readable program");
    let program = program::load(&path.display().to_string(), &text, options);
    let mut ids = program.module.infers.ids();
    let id = ids.find(|id| &*program.module.infers[*id].name == infer);
    let id = id.expect("an inference block of this name");
    let name = &program.module.datas[program.module.infers[id].data].name;
    let specs = data(&program, options).expect("data without errors");
    let spec = specs.iter().find(|spec| spec.name == **name);
    let schema = bnnc_data::schema(spec.expect("the data of the inference block")).expect("a schema");
    let mut compilation = Compilation::new(&program, id, options);
    let elaborated = ready(compilation.elaborate(&schema));
    let densities = ready(compilation.density(&elaborated.model));
    let grouped = compilation.grouped(elaborated, densities);
    let (elaborated, densities) = ready(grouped.map_err(CompileFailure::from));
    rest(&mut compilation, &elaborated, &densities)
}

/// Compiles the text of a program. Paths of files in the text are relative to the folder of `path`, which need not
/// exist.
///
/// # Panics
/// Panics if the program has errors.
pub fn text(path: &Path, text: &str, options: &CompileOptions) -> Compiled {
    match attempt(path, text, options) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{}: {failure:#?}", path.display()),
    }
}

/// Compiles a program for Cranelift, and returns the first diagnostic.
///
/// # Panics
/// Panics if the program compiles.
pub fn rejected(path: &Path, text: &str) -> Diagnostic {
    match attempt(path, text, &options("cranelift", None)) {
        Err(CompileFailure::Program(found)) => match found.into_iter().next() {
            Some(first) => first,
            None => panic!("{}: it was refused without a word", path.display()),
        },
        Err(CompileFailure::Fault(fault)) => panic!("{}: {fault}", path.display()),
        Ok(_) => panic!("{}: it was accepted", path.display()),
    }
}

/// Compiles the text of a program as [`text`] does. The program may have errors that the compilation reports, but
/// its names must be resolvable and its data must exist.
///
/// # Errors
/// Fails with the errors that the compilation reports.
///
/// # Panics
/// Panics if names cannot be resolved, or if data cannot be read.
pub fn attempt(path: &Path, text: &str, options: &CompileOptions) -> Result<Compiled, CompileFailure> {
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
    let mut compiled = compile(&program, &schemas, options)?;
    // Tests that count allocations or measure times must not run together with a compilation in the background.
    let clock = Instant::now();
    compiled.wait()?;
    let waiting = clock.elapsed().as_secs_f64();
    let (mut manifest, timings) = (compiled.manifest, compiled.timings);
    bnnc_run::cost::predict(&mut manifest, &schemas);
    let stages = timings.iter().flat_map(|(_, stages)| stages);
    let code = stages.filter(|(stage, _)| *stage == "code");
    Ok(Compiled {
        manifest,
        schemas,
        code_seconds: code.map(|(_, seconds)| seconds).sum::<f64>() + waiting,
    })
}

/// Compiles the program in a file.
pub fn file(path: &Path, options: &CompileOptions) -> Compiled {
    text(path, &crate::files::read(&path.to_path_buf()), options)
}

/// Programs that tests of all examples leave out, because their data must be downloaded or are created at run
/// time, or because they have too many inference blocks.
const ELSEWHERE: [&str; 6] = [
    "digits/mnist.bnn",
    "digits/mixture.bnn",
    "digits/radial.bnn",
    "digits/turned.bnn",
    "bandit/mushrooms.bnn",
    "penalty/mnist.bnn",
];

/// Returns the programs of `examples/` whose data are in the repository, in order.
pub fn examples() -> Vec<PathBuf> {
    let found = crate::files::under("examples", &["bnn"]);
    let here = found
        .iter()
        .filter(|file| !ELSEWHERE.iter().any(|path| file.path.ends_with(path)))
        .filter(|file| cfg!(feature = "collapsed") || !file.text.contains("= collapsed("));
    here.map(|file| root().join(&file.path)).collect()
}

/// Calls a function for every example, and returns all results in any order. Two examples are processed at the
/// same time, because compiling and running an example uses only one thread for most of the time.
pub fn from_examples<T: Send>(results_of: impl Fn(&Path) -> Vec<T> + Sync) -> Vec<T> {
    let left = Mutex::new(examples().into_iter());
    let found = Mutex::new(Vec::new());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(path) = next() {
            let results = results_of(&path);
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(results);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the record of a program that a run folder stores, for a run with seed 1 and without settings.
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

/// Returns how a checkpoint is opened: to resume an earlier run of the same program if `resume` is true, and
/// otherwise to begin a new run.
pub fn opening(resume: bool) -> Opening {
    match resume {
        true => Opening::Resume,
        false => Opening::New,
    }
}

/// Returns settings that make every inference run of a program short. The runs are still long
/// enough to execute each of their stages.
pub fn short(path: &Path, epochs: usize, predictive_draws: usize) -> Vec<String> {
    // Only the inference blocks of the program are needed here, so the backend does not generate machine code.
    let infers = file(path, &options("reference", None)).manifest.infers;
    let mut is_first = true;
    let mut of = |infer: &InferenceBlock| {
        let work: &[(&str, usize)] = match (infer.iterated(), infer.training()) {
            // An inference block that uses the iterates of an earlier block does not train, so it does not have
            // epochs to shorten.
            (Some(swag), _) if swag.options.iterates.is_some() => &[],
            // A covariance needs several iterates.
            (Some(_), _) => &[("warmup", 0), ("every", 1), ("epochs", epochs + 2)],
            (None, Some(_)) => &[("epochs", epochs)],
            (None, None) => &[("warmup", 30), ("draws", 20), ("thin", 1)],
        };
        let all = work
            .iter()
            .copied()
            .chain([("predictive_draws", predictive_draws)]);
        let settings = all.map(|(key, value)| format!("{}.{key}={value}", infer.name));
        settings
            .chain(small(infer, &mut is_first))
            .collect::<Vec<String>>()
    };
    infers.iter().flat_map(&mut of).collect()
}

/// The number of weights above which a dense covariance takes seconds.
const DENSE: usize = 1000;

/// Returns the size of a small subnetwork for a Laplace approximation. In a network that was trained for only a
/// few steps, few weights affect an output, so large subnetworks are not possible. If there are many weights, only
/// the first inference block of a program selects weights by their marginal variances, which need the dense
/// covariance. Further inference blocks would repeat the same computation, because all subnetworks have the same
/// size.
fn small(infer: &InferenceBlock, is_first: &mut bool) -> Option<String> {
    let Work::Laplace(laplace) = &infer.work else {
        return None;
    };
    let by = match &laplace.options.over {
        Over::Subnetwork {
            by: Score::Marginal, ..
        } if infer.cost.parameters > DENSE && !std::mem::take(is_first) => "random",
        Over::Subnetwork { by, .. } => by.word(),
        Over::All if laplace.options.structure == Structure::Full && infer.cost.parameters > DENSE => {
            "random"
        }
        _ => return None,
    };
    Some(format!("{}.over=subnetwork(10, by = {by})", infer.name))
}

/// Runs all inference blocks of a manifest.
///
/// # Panics
/// Panics if the run stops with an error.
pub fn run(manifest: &Manifest, threads: usize) -> RunResult {
    let options = bnnc_run::RunOptions::new(threads);
    match bnnc_run::run(manifest, &options).and_then(RunResult::whole) {
        Ok(result) => result,
        Err(stop) => panic!("{}: {stop:?}", manifest.program),
    }
}

impl Compiled {
    /// Returns the rows of the first split of a data item.
    ///
    /// # Panics
    /// Panics if the files have changed since the program was compiled.
    pub fn dataset(&self, data: &str) -> Dataset {
        let spec = self.manifest.data.iter().find(|spec| spec.name == data);
        let loaded = spec.map(|spec| LoadedData::read(spec)?.dataset(0, self.manifest.seed));
        match loaded {
            Some(Ok(dataset)) => dataset,
            other => panic!("{data}: {other:?}"),
        }
    }
}

/// Removes all durations from `result.json`.
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

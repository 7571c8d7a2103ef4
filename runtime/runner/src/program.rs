//! Runs a compiled program. The input is the bytes of the program and a command line.

use crate::arguments::{self, RunnerArguments};
use crate::{conform, run_options};
use bnnc_abi::artefact::{self, Built, Head};
use bnnc_abi::code::{KernelCode, Object};
use bnnc_abi::manifest::Manifest;
use bnnc_abi::schema::Schema;
use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use bnnc_command::execute::Job;
use bnnc_command::terminal::{self, OK};
use bnnc_command::{diagnostics, memory};
use bnnc_data::LoadedData;
use bnnc_run::Sources;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// A function that makes the kernels of an object callable.
pub type Load<'a> = &'a mut dyn FnMut(&Object) -> Result<Arc<dyn KernelCode>, Fault>;

/// Shows diagnostics without source lines, because only the text of the program itself is
/// available.
struct Display<'a> {
    json: bool,
    sources: &'a SourceMap,
}

impl Display<'_> {
    fn show(&self, diagnostics: &[Diagnostic]) -> u8 {
        terminal::show(diagnostics, self.sources, (self.json, render::text))
    }
}

/// Runs the program in `bytes` with the command line `words`. `executable` is the path of the
/// executable that contains the program. Returns the exit status.
pub fn run(bytes: &[u8], executable: &Path, words: Vec<OsString>, load: Load<'_>) -> u8 {
    let nowhere = SourceMap::default();
    // The option `--json` is needed before the command line is parsed, because errors may occur
    // before that.
    let early = Display {
        json: words.iter().any(|word| word == "--json"),
        sources: &nowhere,
    };
    let (head, built) = match artefact::decode(bytes) {
        Ok(decoded) => decoded,
        Err(rejection) => return early.show(&[diagnostics::no_program(executable, &rejection)]),
    };
    let arguments = match arguments::parse(words, &built) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Errors of printing are ignored. Such an error occurs, for example, if the reader has closed the pipe.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { OK };
        }
    };
    let mut sources = SourceMap::default();
    sources.add(&built.origin.file.display().to_string(), &built.origin.text);
    let display = Display {
        json: arguments.running.json,
        sources: &sources,
    };
    match execute((head, built), &arguments, executable, (&display, load)) {
        Ok(status) | Err(status) => status,
    }
}

fn execute(
    (head, mut built): (Head, Built),
    arguments: &RunnerArguments,
    executable: &Path,
    (display, load): (&Display<'_>, Load<'_>),
) -> Result<u8, u8> {
    let reject = |found: Vec<Diagnostic>| {
        if found.is_empty() {
            Ok(())
        } else {
            Err(display.show(&found))
        }
    };
    reject(
        arguments
            .decided
            .first()
            .map(diagnostics::decided)
            .into_iter()
            .collect(),
    )?;
    let missing = bnnc_object::missing_features(&head.features);
    reject(if missing.is_empty() {
        Vec::new()
    } else {
        vec![diagnostics::other_processor(&missing)]
    })?;
    let memory = arguments
        .running
        .memory()
        .map_err(|found| display.show(&[*found]))?;
    run_options::set(&mut built, &arguments.set).map_err(|found| display.show(&found))?;
    let manifest = &mut built.manifest;
    let chosen = run_options::chosen(manifest, &arguments.only).map_err(|found| display.show(&found))?;
    take_files(manifest, &arguments.data).map_err(|found| display.show(&found))?;
    remember_files(&mut built.origin.data, &arguments.data);
    if let Some(seed) = arguments.seed {
        manifest.reseed(seed);
    }
    let code = load_all(manifest, load);
    code.map_err(|fault| terminal::fault_status(&fault, &|found| display.show(found)))?;
    run_options::keep(manifest, &chosen);
    let sources = sources(manifest, memory).map_err(|found| display.show(&found))?;
    let schema = |(name, source): (&String, &LoadedData)| (name.clone(), source.schema().clone());
    let schemas: HashMap<String, Schema> = sources.iter().map(schema).collect();
    reject(conform::differences(manifest, &schemas))?;
    reject(run_options::apart(manifest, &schemas))?;
    conform::relabel(&mut manifest.infers, &schemas);
    // The time of compilation is set to zero, because this run did not compile anything.
    manifest
        .infers
        .iter_mut()
        .for_each(|infer| infer.compile_seconds = 0.0);
    bnnc_run::cost::predict(manifest, &schemas);
    let job = Job {
        manifest,
        sources: Sources::of(sources),
        origin: &built.origin,
        command: again(executable, arguments),
        warnings: Vec::new(),
        texts: display.sources,
        show: &|found| display.show(found),
    };
    Ok(job.run(&arguments.running, memory))
}

/// Loads all code of a manifest. Code for a device is loaded onto the device, and other code into
/// memory.
fn load_all(manifest: &mut Manifest, load: Load<'_>) -> Result<(), Fault> {
    for artifact in manifest.artifacts() {
        artifact.code = match artifact.code.device() {
            Some(_) => attach(artifact.code.clone())?,
            None => load(&artifact.code.object().cloned().unwrap_or_default())?,
        };
    }
    Ok(())
}

/// Loads code onto the device that it was compiled for.
#[cfg(feature = "cuda")]
fn attach(code: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    bnnc_cuda::attach(code)
}

/// Returns the error that reports that this runtime was built without support for devices.
#[cfg(not(feature = "cuda"))]
fn attach(_: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    let part = "what runs code on an NVIDIA GPU";
    Err(bnnc_base::diagnostics::not_in_build(part, "cuda").into())
}

/// Returns the words of the command that repeats a run.
fn again(executable: &Path, arguments: &RunnerArguments) -> Vec<String> {
    let mut words = vec![executable.display().to_string()];
    let pairs = arguments.data.iter();
    words.extend(pairs.flat_map(|pair| ["--data".to_owned(), pair.clone()]));
    for (name, values) in [("--set", &arguments.set), ("--only", &arguments.only)] {
        words.extend(values.iter().flat_map(|value| [name.to_owned(), value.clone()]));
    }
    let seed = arguments.seed.iter();
    words.extend(seed.flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
    words
}

/// Replaces files of data items by the files that the command line names.
fn take_files(manifest: &mut Manifest, words: &[String]) -> Result<(), Vec<Diagnostic>> {
    let files = settings::by_name(&settings::pairs(words)?);
    let names: Vec<&str> = manifest.data.iter().map(|spec| &*spec.name).collect();
    let item = |word: &str| {
        let mut parts = word.split('.');
        let known = parts.next().is_some_and(|name| names.contains(&name));
        known
            && parts
                .next()
                .is_none_or(|part| part == "test" || part == "outliers")
            && parts.next().is_none()
    };
    let unknown = files.iter().filter(|(name, _)| !item(name));
    let unknown: Vec<Diagnostic> = unknown
        .map(|(name, _)| diagnostics::no_item(name, &names))
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    for spec in &mut manifest.data {
        spec.take(&files)
            .map_err(|count| vec![diagnostics::one_file(&spec.name, count)])?;
    }
    Ok(())
}

/// Replaces the `--data` options of the build by the `--data` options of the command line. Options
/// for items that the command line does not name are kept.
fn remember_files(known: &mut Vec<String>, words: &[String]) {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    known.retain(|old| !words.iter().any(|word| name(word) == name(old)));
    known.extend_from_slice(words);
}

/// Reads the data, with at most `most` bytes of memory per item. If `most` is `None`, the limit is
/// the memory that the machine has available.
fn sources(manifest: &Manifest, most: Option<u64>) -> Result<HashMap<String, LoadedData>, Vec<Diagnostic>> {
    LoadedData::read_all(&manifest.data, most.or_else(memory::available))
}

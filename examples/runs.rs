//! Compiles and runs the programs of the examples, and parses the command line of the executables that plot figures.

use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_core::context::{Context, Stop};
use bnnc_driver::compile::{compile, data};
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{program, render};
use bnnc_kernels::pool::Pool;
use bnnc_run::{InferenceOutcome, RunResult};
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

/// The program to run, and its options.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The program's file in the folder of examples.
    pub program: &'static str,
    /// Text that is appended to the program.
    pub more: String,
    /// Pairs of a text in the program and its replacement.
    pub replaced: Vec<(String, String)>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The inference blocks to run. If the list is empty, all blocks run.
    pub only: Vec<String>,
    /// Settings of options, `INFER.OPTION=VALUE`.
    pub settings: Vec<String>,
    /// The name and the path of each data item that `--data` replaces.
    pub data: Vec<(String, std::path::PathBuf)>,
}

/// A program that was run.
pub struct Done {
    /// The compiled program.
    pub manifest: Manifest,
    /// The results.
    pub result: RunResult,
    /// The context that predictions need.
    pub context: Context,
}

/// Creates a figure with `draw`, from the words on the command line and the options `--set` and `--data`. Writes the figure to the file that `--svg`
/// names.
pub fn show(draw: impl FnOnce(&[&str], Wish) -> Result<String, String>) -> ExitCode {
    let shown = arguments().and_then(|(words, wish, svg)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let picture = draw(&words, wish)?;
        match svg {
            Some(path) => std::fs::write(&path, picture).map_err(|error| format!("{path}: {error}")),
            None => Ok(()),
        }
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Parses the command line into its words, the program to run, and the path of the figure.
fn arguments() -> Result<(Vec<String>, Wish, Option<String>), String> {
    let (mut words, mut wish, mut svg) = (Vec::new(), Wish::default(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--svg" => svg = arguments.next(),
            "--set" => wish.settings.extend(arguments.next()),
            "--data" => {
                let pair = arguments.next().unwrap_or_default();
                let (name, path) = pair.split_once('=').ok_or("`--data` takes `NAME=PATH`")?;
                wish.data.push((name.to_owned(), path.into()));
            }
            _ => words.push(argument),
        }
    }
    Ok((words, wish, svg))
}

/// Parses a number on the command line.
///
/// # Errors
/// Fails if the word is not a non-negative integer.
pub fn count(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

impl Wish {
    /// Compiles the program and runs it.
    ///
    /// # Errors
    /// Returns the diagnostics as text.
    pub fn run(&self) -> Result<Done, String> {
        let options = CompileOptions {
            settings: self.settings.clone(),
            only: self.only.clone(),
            data: self.data.clone(),
            seed: self.seed,
            symbols: bnnc_kernels::arrays::symbols(),
            ..CompileOptions::default()
        };
        let path = format!("{}/../../examples/{}", env!("CARGO_MANIFEST_DIR"), self.program);
        let mut text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        for (old, new) in &self.replaced {
            text = text.replace(old, new);
        }
        text.push_str(&self.more);
        let program = program::load(&path, &text, &options);
        let words = |found: &[bnnc_base::diagnostic::Diagnostic]| -> String {
            let texts = found.iter().map(|one| render::text(one, &program.sources, false));
            texts.collect()
        };
        if program.has_errors() {
            return Err(words(&program.diagnostics));
        }
        let mut schemas = HashMap::new();
        for spec in data(&program, &options).map_err(|found| words(&found))? {
            let schema = bnnc_data::schema(&spec).map_err(|found| words(&found))?;
            schemas.insert(spec.name.clone(), schema);
        }
        let compiled = compile(&program, &schemas, &options).map_err(|failure| match failure {
            CompileFailure::Program(found) => words(&found),
            CompileFailure::Fault(fault) => fault.to_string(),
        })?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let result =
            bnnc_run::run(&compiled.manifest, &bnnc_run::RunOptions::new(threads)).and_then(RunResult::whole);
        Ok(Done {
            result: result.map_err(|stop| match stop {
                Stop::Diagnostics(found) => words(&found),
                Stop::Fault(_) | Stop::Interrupted => stop.to_string(),
            })?,
            context: Context::new(Arc::new(Pool::new(threads)), compiled.manifest.seed),
            manifest: compiled.manifest,
        })
    }
}

impl Done {
    /// Returns an inference block with its outcome.
    ///
    /// # Errors
    /// Fails if no inference block has this name.
    pub fn infer(&self, name: &str) -> Result<(&InferenceBlock, &InferenceOutcome), String> {
        let infer = self.manifest.infers.iter().find(|infer| infer.name == name);
        let outcome = self.result.outcomes.iter().find(|outcome| outcome.name == name);
        infer.zip(outcome).ok_or_else(|| format!("no infer `{name}`"))
    }

    /// Returns all draws of a scalar parameter on the reals, chain after chain.
    ///
    /// # Errors
    /// Fails if the posterior does not have this site.
    pub fn draws(&self, infer: &str, site: &str) -> Result<Vec<f64>, String> {
        Ok(self.columns(infer, site)?.swap_remove(0))
    }

    /// Returns all draws of each element of a site, chain after chain.
    ///
    /// # Errors
    /// Fails if the posterior does not have this site, or if the site is empty.
    pub fn columns(&self, infer: &str, site: &str) -> Result<Vec<Vec<f64>>, String> {
        let (_, outcome) = self.infer(infer)?;
        let sampled = outcome.splits.last().and_then(|split| split.found.sampled());
        let sampled = sampled.ok_or("nothing was sampled")?;
        let own = |name: &str| {
            let rest = name.strip_prefix(site);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        };
        let slot = sampled.layout.slots.iter().find(|(name, _)| own(name));
        let (_, range) = slot
            .filter(|(_, range)| !range.is_empty())
            .ok_or_else(|| format!("no site `{site}`"))?;
        let of = |element: usize| -> Result<Vec<f64>, String> {
            let mut values = Vec::new();
            for chain in &sampled.chains {
                let records = chain
                    .store
                    .records(0..chain.store.len())
                    .map_err(|found| found.message)?;
                let width = records.len() / chain.store.len().max(1);
                values.extend(records.chunks_exact(width.max(1)).map(|record| record[element]));
            }
            Ok(values)
        };
        range.clone().map(of).collect()
    }
}

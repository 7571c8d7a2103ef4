//! Tests the stages of small programs. The tests cover the texts of the stages, the order of the
//! passes, and texts that are parsed again.
#![allow(clippy::unwrap_used)]

mod diagnostics;
mod pipelines;
mod snapshots;
mod texts;

use bnnc_abi::schema::Schema;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_driver::{compile, emit, render, stage::Stage};
use bnnc_tests::root;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Returns the folder that contains the small programs. The first line of each program names the
/// stages that have a snapshot.
fn folder() -> PathBuf {
    root().join("tests/stages")
}

/// Returns the files of this folder that have the given extension, sorted.
fn files(extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn options() -> CompileOptions {
    bnnc_tests::compile::options(bnnc_driver::backends::DEFAULT, None)
}

fn load(path: &Path, text: &str) -> CheckedProgram {
    let program = program::load(&path.display().to_string(), text, &options());
    let shown = |found| render::text(found, &program.sources, false);
    let found: String = program.diagnostics.iter().map(shown).collect();
    assert!(!program.has_errors(), "{}", found);
    program
}

fn schemas(program: &CheckedProgram) -> HashMap<String, Schema> {
    let specs = compile::data(program, &options()).unwrap();
    let schema = |spec: bnnc_abi::data::DataSpec| (spec.name.clone(), bnnc_data::schema(&spec).unwrap());
    specs.into_iter().map(schema).collect()
}

/// Returns the output of `bnnc emit STAGE FILE`.
fn emitted(path: &Path, text: &str, stage: &str) -> Result<String, CompileFailure> {
    let stage = Stage::from_name(stage).unwrap();
    let name = path.display().to_string();
    if let Some((_, read)) = emit::load(&name, text) {
        let read = read.map_err(|diagnostic| CompileFailure::Program(vec![*diagnostic]))?;
        return read.emit(stage, &options());
    }
    let program = load(path, text);
    match emit::syntactic(&program, stage) {
        Some(text) => Ok(text),
        None => emit::emit(&program, stage, None, &schemas(&program), &options()),
    }
}

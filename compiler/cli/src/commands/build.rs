//! `bnnc build`: makes an executable that runs a program without a compiler.

use crate::arguments::Build;
use crate::build::{self, Runtime, diagnostics, output};
use crate::commands::run::origin;
use crate::session::{self, Display};
use bnnc_abi::artefact::{self, Built};
use bnnc_abi::code::{Detached, Object};
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{Manifest, Start};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_command::terminal::{self, OK};
use bnnc_data::file::files_of;
use bnnc_driver::backends;
use bnnc_driver::compile::compile;
use bnnc_driver::options::{Chip, ObjectFormat, chip};
use bnnc_driver::program::CheckedProgram;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs the command.
pub fn run(arguments: &Build) -> Result<u8, u8> {
    let display = Display { json: false };
    let show = |found: Box<Diagnostic>| display.alone(&found);
    let mut options = session::options(&arguments.compile, display)?;
    options.gpu = gpu(arguments).map_err(show)?;
    // The fast checks come first, so that their errors appear before the slow compilation.
    output::check(&arguments.output).map_err(show)?;
    let runtime = match arguments.no_linker {
        true => Runtime::runner(arguments.runtime.as_deref()),
        false => Runtime::library(arguments.runtime.as_deref()),
    };
    let runtime = runtime.map_err(show)?;
    output::is_runtime(&runtime.path).map_err(show)?;
    options.objects = Some(match arguments.no_linker {
        true => ObjectFormat::Elf,
        false => ObjectFormat::Native,
    });
    let program = session::load(&arguments.file, &options, display)?;
    let schemas = session::schemas(&program, &options, display)?;
    let compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    display.show(&compiled.warnings, &program.sources);
    let mut built = Built {
        manifest: compiled.manifest,
        origin: origin(&arguments.file, &arguments.compile, &program),
    };
    settle(&mut built);
    output::spares(
        &arguments.output,
        inputs(&built, &program).iter().map(PathBuf::as_path),
    )
    .map_err(show)?;
    let objects = objects(&mut built.manifest).map_err(show)?;
    let written = match arguments.no_linker {
        true => append(&built, &objects, &runtime, &arguments.output),
        false => link(&mut built, &objects, &runtime, &arguments.output),
    };
    match written {
        Ok(bytes) => {
            let size = bnnc_core::diagnostics::size(bytes);
            terminal::say(&format!("{}: {size}\n", arguments.output.display()));
            Ok(OK)
        }
        Err(build::BuildFailure::Diagnostic(found)) => Err(show(found)),
        Err(build::BuildFailure::Fault(fault)) => Err(terminal::fault_status(&fault, &|found| {
            display.show(found, &program.sources)
        })),
    }
}

/// Returns the oldest GPU on which the code must run, as given by `--gpu`.
fn gpu(arguments: &Build) -> Result<Chip, Box<Diagnostic>> {
    let chosen = arguments.gpu.as_deref().and_then(chip::lookup);
    let backend = &*arguments.compile.backend;
    match chosen {
        Some(_) if backend != backends::DEVICE => Err(Box::new(diagnostics::no_gpu(backend))),
        chosen => Ok(chosen.unwrap_or(chip::DEFAULT)),
    }
}

/// Makes every path absolute, so that the executable finds its files from any folder.
fn settle(built: &mut Built) {
    let settle = |path: &mut PathBuf| {
        if let Ok(absolute) = std::path::absolute(&*path) {
            *path = absolute;
        }
    };
    settle(&mut built.origin.file);
    for word in &mut built.origin.data {
        if let Some((name, path)) = word.split_once('=') {
            let mut path = PathBuf::from(path);
            settle(&mut path);
            *word = format!("{name}={}", path.display());
        }
    }
    built
        .manifest
        .data
        .iter_mut()
        .flat_map(DataSpec::paths_mut)
        .for_each(settle);
    for infer in &mut built.manifest.infers {
        if let Some(Start::File(file)) = &mut infer.start {
            settle(&mut file.path);
        }
    }
}

/// Returns every file from which the executable is made, and every file that the executable reads.
fn inputs(built: &Built, program: &CheckedProgram) -> Vec<PathBuf> {
    let mut inputs: Vec<PathBuf> = program
        .sources
        .iter()
        .map(|source| PathBuf::from(&*source.name))
        .collect();
    inputs.push(built.origin.file.clone());
    inputs.extend(built.manifest.data.iter().flat_map(files_of));
    inputs.extend(
        built
            .manifest
            .infers
            .iter()
            .filter_map(|infer| match &infer.start {
                Some(Start::File(file)) => Some(file.path.clone()),
                Some(Start::Infer(_)) | None => None,
            }),
    );
    inputs
}

/// Returns the objects of all programs, in order.
fn objects(manifest: &mut Manifest) -> Result<Vec<Object>, Box<Diagnostic>> {
    let backend = manifest.backend.clone();
    let artifacts = manifest.artifacts().into_iter();
    let objects = artifacts.map(|artifact| artifact.code.object().cloned());
    objects
        .collect::<Option<Vec<Object>>>()
        .ok_or_else(|| Box::new(diagnostics::no_objects(&backend)))
}

fn encode(built: &Built, objects: &[Object]) -> Result<Vec<u8>, Fault> {
    let features: BTreeSet<&String> = objects.iter().flat_map(|object| &object.features).collect();
    artefact::encode(built, features.into_iter().cloned().collect())
        .map_err(|rejection| Fault::Bug(rejection.to_string()))
}

fn append(
    built: &Built,
    objects: &[Object],
    runtime: &Runtime,
    to: &std::path::Path,
) -> Result<u64, build::BuildFailure> {
    let artefact = encode(built, objects)?;
    Ok(output::append(&runtime.path, &artefact::appended(&artefact), to)?)
}

fn link(
    built: &mut Built,
    objects: &[Object],
    runtime: &Runtime,
    to: &std::path::Path,
) -> Result<u64, build::BuildFailure> {
    // The linker adds the kernels to the executable, so the serialised program does not contain
    // them.
    for (artifact, object) in built.manifest.artifacts().into_iter().zip(objects) {
        artifact.code = Arc::new(Detached(Object {
            bytes: Vec::new(),
            ..object.clone()
        }));
    }
    let artefact = encode(built, objects)?;
    // Kernels for a device stay in the serialised program.
    let objects = || objects.iter().filter(|object| object.device.is_none());
    let kernels = objects().flat_map(|object| &object.kernels);
    let kernels: Vec<String> = kernels.map(|kernel| kernel.symbol.clone()).collect();
    let entry = bnnc_driver::backends::entry(&artefact, &kernels)?;
    let objects = objects().map(|object| &*object.bytes);
    let objects: Vec<&[u8]> = objects.chain([&*entry]).collect();
    Ok(output::link(&objects, &runtime.path, to)?)
}

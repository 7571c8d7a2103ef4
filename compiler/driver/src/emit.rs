//! Implements `bnnc emit`, which prints any stage of a compilation as text.

mod files;

pub use files::{Text, load};

use crate::compilation::{Compilation, ElaboratedInference};
use crate::failure::CompileFailure;
use crate::options::CompileOptions;
use crate::program::CheckedProgram;
use crate::stage::Stage;
use crate::{backends, diagnostics};
use bnnc_abi::schema::Schema;
use bnnc_graph::analysis::dot::dot;
use bnnc_graph::function::Function;
use bnnc_loops::backend::{self, Backend};
use bnnc_loops::ir;
use bnnc_loops::reference::Reference;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::pipelines;
use std::collections::HashMap;

/// Prints a stage that is independent of the data. Returns `None` for all other stages.
pub fn syntactic(program: &CheckedProgram, stage: Stage) -> Option<String> {
    match stage {
        Stage::Tokens => Some(tokens(program)),
        Stage::Ast => Some(match bnnc_grammar::print::format(&program.source) {
            Ok(text) => text,
            Err(_) => format!("{:#?}\n", program.ast),
        }),
        Stage::Hir => Some(bnnc_hir::print::print(&program.module, Some(program.source.id))),
        Stage::Graph
        | Stage::Density
        | Stage::Training
        | Stage::Loops
        | Stage::Clif
        | Stage::Mlir
        | Stage::Ptx
        | Stage::Dot
        | Stage::After(_) => None,
    }
}

/// Prints a stage of the inference with the name `infer`. Without a name, prints the stage of the
/// first chosen inference.
///
/// # Errors
/// Fails if the compilation fails before this stage is complete.
pub fn emit(
    program: &CheckedProgram,
    stage: Stage,
    infer: Option<&str>,
    schemas: &HashMap<String, Schema>,
    options: &CompileOptions,
) -> Result<String, CompileFailure> {
    let chosen = crate::compile::chosen(program, options)?;
    let named =
        |id: &&bnnc_hir::tree::InferId| infer.is_none_or(|name| *name == *program.module.infers[**id].name);
    let Some(id) = chosen.iter().find(named) else {
        let names: Vec<&str> = program.module.infers.iter().map(|infer| &*infer.name).collect();
        return Err(diagnostics::no_infer(infer.unwrap_or_default(), &names).into());
    };
    let mut compilation = Compilation::new(program, *id, options);
    let data = &program.module.datas[compilation.item.data].name;
    let Some(schema) = schemas.get(&**data) else {
        return Ok(String::new());
    };
    if let Stage::After(pass) = stage {
        return after(&mut compilation, pass, schema);
    }
    let elaborated = compilation.elaborate(schema)?;
    match stage {
        Stage::Graph => return Ok(elaborated.model.function.to_string()),
        Stage::Dot => return Ok(dot(&elaborated.model.function)),
        _ => {}
    }
    let densities = compilation.density(&elaborated.model)?;
    if stage == Stage::Density {
        let functions = [
            &densities.log_prior,
            &densities.likelihood_arguments,
            &densities.log_likelihood,
        ];
        let predictions = densities
            .predictions
            .iter()
            .map(|prediction| &prediction.function);
        let mut text: String = functions
            .into_iter()
            .chain(predictions)
            .map(|function| format!("{function}\n"))
            .collect();
        if compilation.samples() {
            let sampled = compilation.sampled(elaborated.problem(&densities))?;
            for site in &sampled.reports {
                text.push_str(&format!("# {}: {} {}\n", site.name, site.family, site.kl));
            }
            let functions = sampled.prepare.iter().chain([&sampled.density]);
            functions.for_each(|function| text.push_str(&format!("{function}\n")));
            return Ok(text);
        }
        let (elaborated, densities) = compilation.grouped(elaborated, densities)?;
        let divergence = compilation.divergence(&elaborated, &densities)?;
        for site in &divergence.reports {
            text.push_str(&format!("# KL of {} ({}): {}\n", site.name, site.family, site.kl));
        }
        text.push_str(&format!("{}\n", divergence.density));
        return Ok(text);
    }
    let (name, function, states) = lowered(&mut compilation, elaborated, &densities)?;
    if stage == Stage::Training {
        return Ok(format!("{function}\n"));
    }
    let backend = backend(stage, options)?;
    let precision = compilation.precision()?;
    compilation.views = reads_views(stage, backend);
    let loops = compilation.lower(name, &function, &states, precision)?;
    of_loops(&loops, stage, backend, options)
}

/// Compiles the whole inference, and prints the functions that a pass returned, in order. The
/// pipeline that builds only the KL divergence is not part of compiling an inference. This function
/// runs it if one of its passes is requested.
fn after(
    compilation: &mut Compilation<'_>,
    pass: &'static str,
    schema: &Schema,
) -> Result<String, CompileFailure> {
    compilation.context.watched = Some(pass);
    if pass == pipelines::KL.name && !compilation.samples() {
        let elaborated = compilation.elaborate(schema)?;
        let densities = compilation.density(&elaborated.model)?;
        let (elaborated, densities) = compilation.grouped(elaborated, densities)?;
        compilation.divergence(&elaborated, &densities)?;
    } else {
        // All passes run before the backend, so the result is the same for every backend. The
        // reference interpreter is the fastest choice, because it does not generate code.
        compilation.backend = &Reference;
        compilation.compile(schema)?;
    }
    let ran: Vec<&str> = compilation
        .context
        .timings
        .iter()
        .map(|timing| timing.pass)
        .collect();
    if !ran.contains(&pass) {
        return Err(diagnostics::no_pass(compilation.item, pass, &ran).into());
    }
    let functions = compilation.context.kept.iter();
    Ok(functions.map(|function| format!("{function}\n")).collect())
}

/// Returns the backend that generates the text of a stage.
fn backend(stage: Stage, options: &CompileOptions) -> Result<&'static (dyn Backend + Sync), CompileFailure> {
    let backend = backends::chosen(&options.backend)?;
    if stage == Stage::Clif && backend.name() != backends::DEFAULT {
        return Err(diagnostics::no_clif(backend.name()).into());
    }
    Ok(backend)
}

/// Returns whether products in the program of a stage may read their operands through index maps. PTX always comes from the backend `cuda`,
/// even if another backend is chosen.
fn reads_views(stage: Stage, backend: &dyn Backend) -> bool {
    stage != Stage::Ptx && backend.reads_views()
}

/// Prints a stage that is computed from a loop program.
fn of_loops(
    loops: &ir::LoopProgram,
    stage: Stage,
    backend: &dyn Backend,
    options: &CompileOptions,
) -> Result<String, CompileFailure> {
    if stage == Stage::Loops {
        return Ok(loops.to_string());
    }
    if stage == Stage::Mlir {
        return Ok(bnnc_backend_mlir::module(loops, bnnc_backend_mlir::PREFIX).text);
    }
    if stage == Stage::Ptx {
        let cuda = backends::chosen(backends::DEVICE);
        cuda?;
        let device = bnnc_backend_mlir::gpu::compile(&backends::MLIR, loops, options.gpu)?;
        let images = device.images.iter().map(|image| &*image.ptx);
        return Ok(format!("{device}{}", images.collect::<String>()));
    }
    let options = backend::BackendOptions {
        symbols: options.symbols.clone(),
        ..backend::BackendOptions::default()
    };
    let code = backend.compile(loops, &options)?;
    code.ready()?;
    Ok(code.text())
}

/// Returns a function with its name and its states: the training step, or the log density that samplers evaluate.
fn lowered(
    compilation: &mut Compilation<'_>,
    elaborated: ElaboratedInference,
    densities: &Densities,
) -> Result<(&'static str, Function, Vec<String>), CompileFailure> {
    if compilation.samples() {
        let sampled = compilation.sampled(elaborated.problem(densities))?;
        return Ok(("density", sampled.density, Vec::new()));
    }
    let (elaborated, densities) = compilation.grouped(elaborated, densities.clone())?;
    let objective = compilation.objective(&elaborated, &densities)?;
    let states = objective.states.iter().map(|state| state.name.clone()).collect();
    Ok(("train", objective.train, states))
}

/// Prints one token per line, with its range of bytes.
fn tokens(program: &CheckedProgram) -> String {
    let lexed = bnnc_grammar::lexer::lex(&program.source);
    lexed
        .tokens
        .iter()
        .map(|(start, token, end)| format!("{start}..{end} {token}\n"))
        .collect()
}

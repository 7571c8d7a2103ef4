//! Reads stages back from files. A `.graph` file contains a function, and a `.loops` file contains
//! a loop program.

use super::{backend, of_loops, reads_views};
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::options::CompileOptions;
use crate::stage::Stage;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::source::{Source, SourceMap, Span};
use bnnc_base::text::TextError;
use bnnc_graph::analysis::dot::dot;
use bnnc_graph::function::Function;
use bnnc_graph::spec::{DENSITY, LOWERED};
use bnnc_loops::backend::Backend;
use bnnc_loops::ir;
use bnnc_rewrite::pass::PassContext;
use bnnc_rewrite::{pipeline, pipelines};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;

/// A stage that was read from a file.
pub enum Text {
    /// One function without distributions, because the text form does not contain their definitions.
    Graph(Box<Function>),
    /// A plan and its kernels.
    Loops(Box<ir::LoopProgram>),
}

/// Reads a file whose name ends in `.graph` or `.loops`. Returns `None` for every other name.
pub fn load(name: &str, text: &str) -> Option<(SourceMap, Result<Text, Box<Diagnostic>>)> {
    let is_graph = match Path::new(name).extension()?.to_str()? {
        "graph" => true,
        "loops" => false,
        _ => return None,
    };
    let mut sources = SourceMap::default();
    let source = sources.add(name, text);
    let read = match is_graph {
        true => graph(text).map(|function| Text::Graph(Box::new(function))),
        false => loops(text).map(|program| Text::Loops(Box::new(program))),
    };
    let read = read.map_err(|error| {
        let span = error.line.map_or(whole(&source), |line| span_of(&source, line));
        Box::new(match error.distribution {
            Some(name) => diagnostics::undefined_distribution(span, &name),
            None => diagnostics::bad_text(span, error.message),
        })
    });
    Some((sources, read))
}

/// Why a text cannot be read, and the number of the line, if the reason concerns a single line.
struct Unread {
    line: Option<usize>,
    message: String,
    /// If the text cannot be read because it names a distribution, the name of this distribution.
    distribution: Option<String>,
}

impl From<TextError> for Unread {
    fn from(error: TextError) -> Unread {
        Unread {
            line: Some(error.line),
            message: error.message,
            distribution: None,
        }
    }
}

impl From<Fault> for Unread {
    fn from(fault: Fault) -> Unread {
        let message = match fault {
            Fault::Bug(why) => why,
            Fault::Limit(limit) => limit.text,
            Fault::Reported(diagnostic) => diagnostic.message.clone(),
        };
        Unread {
            line: None,
            message,
            distribution: None,
        }
    }
}

fn graph(text: &str) -> Result<Function, Unread> {
    // A text may name distributions, but does not contain their definitions.
    let named = RefCell::new(None);
    let look_up = |name: &str| {
        named.replace(Some(name.to_owned()));
        None
    };
    let parsed = bnnc_graph::parse::parse_with(text, &look_up);
    let function = parsed.map_err(|error| Unread {
        distribution: named.take(),
        ..Unread::from(error)
    })?;
    bnnc_graph::verify::verify(&function, DENSITY)?;
    Ok(function)
}

fn loops(text: &str) -> Result<ir::LoopProgram, Unread> {
    let program = bnnc_loops::parse::parse(text)?;
    bnnc_loops::verify::verify(&program)?;
    Ok(program)
}

fn whole(source: &Source) -> Span {
    Span::new(source.id, 0, source.text.len())
}

/// Returns the span of a line, counted from 1.
fn span_of(source: &Source, line: usize) -> Span {
    let mut start = 0;
    for (at, text) in source.text.split_inclusive('\n').enumerate() {
        if at + 1 == line {
            return Span::new(source.id, start, start + text.trim_end().len());
        }
        start += text.len();
    }
    Span::new(source.id, start, start)
}

impl Text {
    /// Prints this stage, or a later stage that is computed from it.
    ///
    /// # Errors
    /// Fails if the requested stage comes before the stage in the file, or if lowering or the
    /// backend fails.
    pub fn emit(&self, stage: Stage, options: &CompileOptions) -> Result<String, CompileFailure> {
        let held = match self {
            Text::Graph(_) => Stage::Graph,
            Text::Loops(_) => Stage::Loops,
        };
        match (self, stage) {
            (Text::Graph(function), Stage::Graph) => Ok(format!("{function}\n")),
            (Text::Graph(function), Stage::Dot) => Ok(dot(function)),
            (Text::Graph(function), Stage::After(pass)) if runs_on_a_function(pass) => {
                Ok(format!("{}\n", run_to(function, pass, options)?))
            }
            (Text::Graph(function), Stage::Training) => Ok(format!("{}\n", lowered(function, options)?)),
            (Text::Graph(function), Stage::Loops | Stage::Clif | Stage::Mlir | Stage::Ptx) => {
                let backend = backend(stage, options)?;
                let function = lowered(function, options)?;
                let loops = program(&function, (stage, backend), options)?;
                of_loops(&loops, stage, backend, options)
            }
            (Text::Loops(program), Stage::Loops | Stage::Clif | Stage::Mlir | Stage::Ptx) => {
                of_loops(program, stage, backend(stage, options)?, options)
            }
            _ => Err(diagnostics::earlier_stage(stage, held).into()),
        }
    }
}

/// Rewrites a function so that it contains only ops that kernels compute. If the function already
/// has this form, it is returned unchanged.
fn lowered(function: &Function, options: &CompileOptions) -> Result<Function, Fault> {
    if bnnc_graph::verify::verify(function, LOWERED).is_ok() {
        return Ok(function.clone());
    }
    pipeline::run(function, pipelines::BEFORE_LOWERING, &mut context(options))
}

/// Returns whether a pass can run on any function, even without a model.
fn runs_on_a_function(pass: &str) -> bool {
    let mut passes = pipelines::BEFORE_LOWERING.iter();
    passes.any(|known| known.name == pass)
}

/// Runs all passes up to this one, including it, and returns the resulting function.
fn run_to(function: &Function, pass: &str, options: &CompileOptions) -> Result<Function, Fault> {
    let passes = pipelines::BEFORE_LOWERING;
    let last = passes.iter().position(|known| known.name == pass);
    let count = last.map_or(0, |last| last + 1);
    pipeline::run(function, &passes[..count], &mut context(options))
}

fn context(options: &CompileOptions) -> PassContext {
    let mut context = PassContext {
        without: options.without.clone(),
        ..PassContext::default()
    };
    context.verify |= options.verify;
    context
}

/// Lowers a function to loops. If a parameter and a result have the same name, the parameter is a
/// state, and the result is its next value.
fn program(
    function: &Function,
    (stage, backend): (Stage, &dyn Backend),
    options: &CompileOptions,
) -> Result<ir::LoopProgram, Fault> {
    let results: HashSet<&str> = function.results.iter().map(|(name, _)| &**name).collect();
    let names = function
        .params
        .iter()
        .filter_map(|param| function.param_name(*param));
    let states = names.filter(|name| results.contains(&***name));
    let chosen = backend.fixed_precision().or(options.precision);
    let precision = chosen.unwrap_or(Precision::F32);
    let options = bnnc_lower::LoweringOptions {
        name: function.name.clone(),
        precision,
        seed: options.seed,
        states: states.map(|name| name.to_string()).collect(),
        views: reads_views(stage, backend),
    };
    let program = bnnc_lower::lower(function, &options)?;
    bnnc_loops::verify::verify(&program)?;
    Ok(program)
}

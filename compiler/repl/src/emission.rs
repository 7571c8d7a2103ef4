//! The command `:emit`, which prints the graph of an expression, or a stage of the program so far.

use super::commands::{CommandText, reject, usage};
use super::distribution::ValueSizes;
use super::{Diagnostics, Reply, Session};
use bnnc_driver::emit::{self, syntactic};
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::stage::Stage;
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::elaborate::datum::Datum;
use bnnc_hir::elaborate::model;
use std::collections::HashMap;
use std::ops::Range;

/// Executes `:emit`.
pub fn emit(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let Some(word) = line.word(1) else {
        return usage(line);
    };
    let Some(stage) = Stage::from_name(word) else {
        return Err(bnnc_driver::diagnostics::no_stage(word).into());
    };
    match line.rest(2) {
        Some(range) if stage == Stage::Graph => emit_graph(session, line, range, reply),
        Some(_) => reject("only `graph` is printed for an expression"),
        None => emit_program(session, stage, reply),
    }
}

fn emit_graph(
    session: &mut Session,
    line: &CommandText,
    range: Range<usize>,
    reply: &mut Reply,
) -> Result<(), Diagnostics> {
    let name = line.source.text.get(range.clone()).unwrap_or_default();
    let mut ids = session.module.models.ids();
    if let Some(id) = ids.rfind(|id| *session.module.models[*id].name == *name) {
        let model = model::elaborate(&session.module, id, &HashMap::new())?;
        reply.result(model.function.to_string().trim_end());
        return Ok(());
    }
    let checked = session.argument(line, Some(range), reply)?;
    let draw = session.next_draw();
    let text = session.scene(&checked, draw).and_then(|mut scene| {
        let span = checked.expr.span;
        let datum = scene.datum(&checked.expr)?;
        match &datum {
            Datum::Dist(_) => {
                let instance = session.concrete_at(&checked, ValueSizes::Own, draw)?.instance;
                let functions = [Some(&instance.log_density), instance.draw.as_ref()];
                Ok(functions
                    .into_iter()
                    .flatten()
                    .map(|function| format!("{function}\n"))
                    .collect())
            }
            Datum::Tensor(_) | Datum::Static(_) => {
                let value = scene.elaborator.tensor(&datum, span)?;
                Ok(scene.function(vec![("it", value)]).to_string())
            }
            Datum::Layer(_) | Datum::Composed(..) | Datum::List(_) | Datum::Function(_) => Err(limit(
                span,
                "only numbers, arrays, distributions and models have a graph",
            )),
        }
    });
    let text: String = text?;
    reply.result(text.trim_end());
    Ok(())
}

fn emit_program(session: &mut Session, stage: Stage, reply: &mut Reply) -> Result<(), Diagnostics> {
    let program = session.whole_program();
    if let Some(text) = syntactic(&program, stage) {
        reply.result(text.trim_end());
        return Ok(());
    }
    let options = session.options();
    let mut schemas = HashMap::new();
    for spec in bnnc_driver::compile::data(&program, &options)? {
        schemas.insert(spec.name.clone(), (session.world.schema)(&spec)?);
    }
    match emit::emit(&program, stage, None, &schemas, &options) {
        Ok(text) => {
            reply.result(text.trim_end());
            Ok(())
        }
        Err(CompileFailure::Program(diagnostics)) => Err(diagnostics.into()),
        Err(CompileFailure::Fault(fault)) => reject(fault.to_string()),
    }
}

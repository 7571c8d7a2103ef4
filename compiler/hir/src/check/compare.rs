//! Comparisons: infers and metrics.

use super::names::Def;
use super::options::number;
use super::session::Session;
use super::statements::strip;
use crate::report::{infer as report, names as report_names};
use crate::tree::{CompareItem, InferId, Target};
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use std::sync::Arc;

const METRICS: &[&str] = &[
    "rmse",
    "log_likelihood",
    "accuracy",
    "nll",
    "brier",
    "ece",
    "entropy",
    "ood_entropy",
    "ood_auroc",
    "coverage",
    "crps",
    "time",
];

/// The levels of `coverage` that every run measures, in percent.
const LEVELS: [u32; 3] = [50, 90, 95];

/// Checks a `compare` item.
pub fn check(session: &mut Session<'_>, item: &ast::Compare, span: Span) {
    let mut infers = Vec::new();
    for name in &item.infers {
        match session.find(&name.name) {
            Some((Some(Def::Infer(id)), _)) => infers.push(id),
            Some((None, _)) => {}
            Some((Some(def), at)) => {
                let diagnostic = report_names::wrong_kind(name.span, &name.name, "an infer", def.kind(), at);
                session.diagnostics.push(diagnostic);
            }
            None => {
                let names = session.names.all(|def| matches!(def, Def::Infer(_)));
                let diagnostic = report_names::unknown_name(name.span, &name.name, names);
                session.diagnostics.push(diagnostic);
            }
        }
    }
    let metrics = item
        .by
        .iter()
        .filter_map(|metric| self::metric(session, &infers, metric))
        .collect();
    session.module.compares.push(CompareItem {
        infers,
        metrics,
        span,
    });
}

/// A metric under its name in `result.json`: `coverage(0.9)` is `coverage_90`, and `y.rmse` that of the output `y`.
fn metric(session: &mut Session<'_>, infers: &[InferId], written: &ast::Expr) -> Option<Arc<str>> {
    let written = strip(written);
    let (callee, args) = match &*written.kind {
        ast::ExprKind::Call(callee, args) => (callee, args.as_slice()),
        _ => (written, &[] as &[ast::Arg]),
    };
    let (output, name) = match &*callee.kind {
        ast::ExprKind::Name(name) => (None, name),
        ast::ExprKind::Field(base, part) => match &*strip(base).kind {
            ast::ExprKind::Name(output) => (Some(output), &part.name),
            _ => return unknown(session, written.span),
        },
        _ => return unknown(session, written.span),
    };
    if let Some(output) = output
        && !infers
            .iter()
            .any(|infer| is_one_of_several(session, *infer, output))
    {
        let expected = format!("an output of a model that has several, which `{output}` is not");
        return wrong(session, written.span, "by", &expected);
    }
    let metric = measured(session, written.span, name, args)?;
    match output {
        None => Some(metric),
        Some(_) if *metric == *"time" => wrong(session, written.span, "by", "`time` of a whole infer"),
        Some(output) => Some(format!("{output}.{metric}").into()),
    }
}

/// Whether the model of an infer has this output among others.
fn is_one_of_several(session: &Session<'_>, infer: InferId, output: &str) -> bool {
    let module = &session.module;
    let model = match module.infers[infer].target {
        Target::Model(model) => model,
        Target::Posterior(posterior) => module.posteriors[posterior].model,
    };
    let outputs = &module.models[model].outputs;
    outputs.len() > 1 && outputs.iter().any(|found| *found.param.name == *output)
}

/// What a name of a metric stands for.
fn measured(session: &mut Session<'_>, span: Span, name: &Arc<str>, args: &[ast::Arg]) -> Option<Arc<str>> {
    if !METRICS.contains(&&**name) {
        session
            .diagnostics
            .push(report::unknown_metric(span, name, METRICS));
        return None;
    }
    if &**name == "coverage" {
        let expected = "`coverage(0.5)`, `coverage(0.9)` or `coverage(0.95)`";
        let level = match args {
            [] => 0.9,
            [level] => number(session, name, expected, &level.value)?,
            _ => return wrong(session, span, name, expected),
        };
        return match LEVELS
            .iter()
            .find(|known| (f64::from(**known) - 100.0 * level).abs() < 1e-9)
        {
            Some(level) => Some(format!("coverage_{level}").into()),
            None => wrong(session, span, name, expected),
        };
    }
    match args {
        [] => Some(name.clone()),
        _ => wrong(session, span, name, &format!("`{name}` without arguments")),
    }
}

fn unknown(session: &mut Session<'_>, span: Span) -> Option<Arc<str>> {
    wrong(session, span, "by", "names of metrics")
}

fn wrong(session: &mut Session<'_>, span: Span, name: &str, expected: &str) -> Option<Arc<str>> {
    session
        .diagnostics
        .push(report::option_value(span, name, expected));
    None
}

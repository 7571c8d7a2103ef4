//! Checks `compare` items: the inference blocks and the metrics.

use super::options::number;
use super::session::CheckSession;
use crate::diagnostics::infer as report;
use crate::tree::{CompareItem, InferId};
use bnnc_abi::metrics::{self, Basis, ComparedMetric, MetricDef};
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use std::sync::Arc;

/// The name of the only metric that takes an argument.
const COVERAGE: &str = "coverage";

/// The levels of `coverage` that every run measures, in percent.
const LEVELS: [u32; 3] = [50, 90, 95];

/// Checks a `compare` item.
pub fn check(session: &mut CheckSession<'_>, item: &ast::CompareDecl) {
    let infers: Vec<InferId> = item
        .infers
        .iter()
        .filter_map(|name| session.infer(&name.name, name.span))
        .collect();
    let mut metrics: Vec<ComparedMetric> = item
        .by
        .iter()
        .filter_map(|metric| self::metric(session, &infers, metric))
        .collect();
    if item.by.is_empty() {
        metrics.extend(item.infers.last().and_then(|last| usual(last.span)));
    }
    session.module.compares.push(CompareItem { infers, metrics });
}

/// Returns the metric of a comparison that does not name one: the log likelihood, which every inference has. The
/// diagnostics of the metric point at `span`.
fn usual(span: Span) -> Option<ComparedMetric> {
    let metric = metrics::ALL
        .iter()
        .find(|metric| metric.basis == Basis::LogLikelihood)?;
    Some(ComparedMetric {
        output: None,
        name: metric.name.to_owned(),
        span,
    })
}

/// Resolves a metric. `coverage(0.9)` is the metric `coverage_90`, and `y.rmse` is the metric `rmse` of the output `y`.
fn metric(session: &mut CheckSession<'_>, infers: &[InferId], written: &ast::Expr) -> Option<ComparedMetric> {
    let written = written.without_parentheses();
    let (callee, args) = written.as_call();
    let (output, name) = match &*callee.kind {
        ast::ExprKind::Name(name) => (None, name),
        ast::ExprKind::Field(base, part) if base.as_name().is_some() => (base.as_name(), &part.name),
        _ => return session.wrong_value(written.span, "by", "names of metrics"),
    };
    if let Some(output) = output
        && !infers
            .iter()
            .any(|infer| is_one_of_several(session, *infer, output))
    {
        let expected =
            format!("an output of a model with several outputs, but the model has only `{output}`");
        return session.wrong_value(written.span, "by", &expected);
    }
    let metric = measured(session, written.span, name, args)?;
    if output.is_some() && metric.basis.is_joint() {
        let expected = format!("`{}` of a whole inference", metric.name);
        return session.wrong_value(written.span, "by", &expected);
    }
    Some(ComparedMetric {
        output: output.map(|output| output.to_string()),
        name: metric.name.to_owned(),
        span: written.span,
    })
}

/// Returns whether the model of an inference block has several outputs, and one of them has the
/// given name.
fn is_one_of_several(session: &CheckSession<'_>, infer: InferId, output: &str) -> bool {
    let module = &session.module;
    let model = module.model_of(module.infers[infer].target);
    let outputs = &module.models[model].outputs;
    outputs.len() > 1 && outputs.iter().any(|found| *found.param.name == *output)
}

/// Looks up the metric with this name and these arguments.
fn measured(
    session: &mut CheckSession<'_>,
    span: Span,
    name: &Arc<str>,
    args: &[ast::Arg],
) -> Option<&'static MetricDef> {
    if &**name == COVERAGE {
        let expected = "`coverage(0.5)`, `coverage(0.9)` or `coverage(0.95)`";
        let level = match args {
            [] => 0.9,
            [level] => number(session, name, expected, &level.value)?,
            _ => return session.wrong_value(span, name, expected),
        };
        let known = LEVELS
            .iter()
            .find(|known| (f64::from(**known) - 100.0 * level).abs() < 1e-9);
        let found = known.and_then(|level| metrics::find(&format!("{COVERAGE}_{level}")));
        return found.or_else(|| session.wrong_value(span, name, expected));
    }
    let plain = || metrics::ALL.iter().filter(|metric| metric.written == metric.name);
    let Some(metric) = plain().find(|metric| *metric.name == **name) else {
        let names: Vec<&str> = plain().map(|metric| metric.name).chain([COVERAGE]).collect();
        return session.reject(report::unknown_metric(span, name, &names));
    };
    match args {
        [] => Some(metric),
        _ => session.wrong_value(span, name, &format!("`{name}` without arguments")),
    }
}

//! Checks `compare` items: the inference blocks and the metrics.

use super::names::Def;
use super::options::number;
use super::session::CheckSession;
use crate::diagnostics::infer as report;
use crate::tree::{CompareItem, InferId};
use bnnc_abi::metrics::{self, Basis, ComparedMetric, MetricDef};
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use std::sync::Arc;

/// The group of metrics that `coverage` without an argument belongs to, and its usual member.
const COVERAGE: (&str, &str) = ("coverage", "coverage_90");

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
        && let Some(outputs) = outputs(session, infers)
        && !outputs
            .iter()
            .any(|(name, is_one_of_several)| name == output && *is_one_of_several)
    {
        return not_an_output(session, written.span, output, &outputs);
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

/// Returns the names of the outputs of all compared models, each with whether its model has several outputs. Returns `None` if a model is not
/// known, because its inference block has an error.
fn outputs(session: &CheckSession<'_>, infers: &[InferId]) -> Option<Vec<(Arc<str>, bool)>> {
    let mut names: Vec<(Arc<str>, bool)> = Vec::new();
    for infer in infers {
        let model = session.models.get(&Def::Infer(*infer))?;
        let outputs = &session.module.models[*model].outputs;
        let several = outputs.len() > 1;
        names.extend(outputs.iter().map(|output| (output.param.name.clone(), several)));
    }
    (!names.is_empty()).then_some(names)
}

/// Reports a metric of an output that no compared model has beside other outputs.
fn not_an_output<T>(
    session: &mut CheckSession<'_>,
    span: Span,
    output: &str,
    outputs: &[(Arc<str>, bool)],
) -> Option<T> {
    let mut several: Vec<String> = Vec::new();
    for (name, _) in outputs.iter().filter(|(_, is_one_of_several)| *is_one_of_several) {
        let quoted = format!("`{name}`");
        if !several.contains(&quoted) {
            several.push(quoted);
        }
    }
    let is_known = outputs.iter().any(|(name, _)| **name == *output);
    let expected = match (several.is_empty(), is_known) {
        (false, _) => format!(
            "a metric of an output ({}), but found `{output}`",
            several.join(", ")
        ),
        (true, true) => {
            format!("a metric without the name of an output, because `{output}` is the only output")
        }
        (true, false) => format!("a metric without the name of an output; `{output}` is not an output"),
    };
    session.wrong_value(span, "by", &expected)
}

/// Looks up the metric with this name and these arguments.
fn measured(
    session: &mut CheckSession<'_>,
    span: Span,
    name: &Arc<str>,
    args: &[ast::Arg],
) -> Option<&'static MetricDef> {
    let group = metrics::calls(name);
    let expected = one_of(&group);
    if let ([argument], false) = (args, group.is_empty()) {
        let value = number(session, name, &expected, &argument.value)?;
        let is_meant = |metric: &&&MetricDef| {
            let own = metric.call.map(|(_, own)| own);
            own.is_some_and(|own| (own - value).abs() < 1e-9)
        };
        let found = group.iter().find(is_meant).copied();
        return found.or_else(|| session.wrong_value(span, name, &expected));
    }
    let plain = || metrics::ALL.iter().filter(|metric| metric.written == metric.name);
    let usual = |metric: &&MetricDef| **name == *COVERAGE.0 && metric.name == COVERAGE.1;
    let named = plain().find(|metric| *metric.name == **name);
    let Some(metric) = named.or_else(|| metrics::ALL.iter().find(usual)) else {
        let names = plain().map(|metric| metric.name).chain([COVERAGE.0]);
        let names: Vec<&str> = names.collect();
        return session.reject(report::unknown_metric(span, name, &names));
    };
    match (args, group.is_empty()) {
        ([], _) => Some(metric),
        (_, true) => session.wrong_value(span, name, &format!("`{name}` without arguments")),
        (_, false) => session.wrong_value(span, name, &expected),
    }
}

/// Lists the metrics of a group: `` `coverage(0.5)`, `coverage(0.9)` or `coverage(0.95)` ``.
fn one_of(group: &[&MetricDef]) -> String {
    let written: Vec<String> = group
        .iter()
        .map(|metric| format!("`{}`", metric.written))
        .collect();
    match written.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

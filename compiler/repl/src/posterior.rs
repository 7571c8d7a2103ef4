//! Computes an expression with posterior values at each posterior draw. The results are shown as a
//! mean, a standard deviation and an interval.

use super::distribution::{self, ValueSizes};
use super::evaluate::Streams;
use super::picture::{IntervalSummary, ascending, columns, quantile};
use super::variables::VariableValue;
use super::{Checked, Diagnostics, Reply, Session, evaluate, show};
use bnnc_base::dtype::DType;
use bnnc_base::source::Span;
use bnnc_driver::diagnostics::draws as codes;
use bnnc_grammar::ast;
use bnnc_graph::dist::Support;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::elaborate::frame::Elaborated;
use bnnc_hir::prompt::check_expr;
use bnnc_hir::tree::{Locals, SampleStmt, TypedExpr, TypedExprKind};
use bnnc_hir::types::Elem;
use std::sync::Arc;

/// The largest number of reals in all draws of one expression, which take 128 MiB.
const MOST_NUMBERS: usize = 1 << 24;

/// The number of elements of an array that are shown. Later elements are left out.
const SHOWN: usize = 40;

/// The functions that compute one number from all draws of a number. For an array, they compute one
/// number for each element.
const SUMMARIES: &[&str] = &["mean", "median", "quantile", "sd"];

impl Session {
    /// Returns the number of posterior draws at which an expression is computed. Returns `None` if
    /// the expression does not depend on posterior values. A posterior value with a single draw,
    /// such as a result of `map`, is combined with every draw of the other values.
    pub(super) fn posterior_draws(&self, expr: &TypedExpr) -> Option<usize> {
        let counts: Vec<usize> = self.draw_counts(expr).map(|(_, count)| count).collect();
        let several = counts.iter().copied().filter(|count| *count != 1).min();
        several.or_else(|| counts.first().copied())
    }

    /// Returns the same number as [`Session::posterior_draws`]. Also adds a note to the reply if
    /// draws are left out because the posterior values have different numbers of draws.
    pub(super) fn noted_draws(&self, expr: &TypedExpr, reply: &mut Reply) -> Option<usize> {
        let count = self.posterior_draws(expr)?;
        let most = self.draw_counts(expr).max_by_key(|(_, own)| *own);
        if let Some((name, most)) = most.filter(|(_, most)| *most > count) {
            reply.note(&format!(
                "this uses {count} of the {most} draws of `{name}`, because another value has only {count} draws"
            ));
        }
        Some(count)
    }

    /// Returns the name and the number of draws of each posterior value in an expression.
    fn draw_counts(&self, expr: &TypedExpr) -> impl Iterator<Item = (&str, usize)> {
        let mentioned = evaluate::mentioned(expr, &self.variables);
        let variables = self.variables.iter();
        variables.filter_map(move |variable| match &variable.held {
            VariableValue::Draws(tensor, _) if mentioned.contains(&variable.local) => {
                Some((&*variable.name, tensor.shape.first().copied()?))
            }
            _ => None,
        })
    }

    /// Returns the random streams for the first of `count` posterior draws. [`Streams::at`] returns
    /// those for the others.
    pub(super) fn streams_of_draws(&self, draw: u32, count: usize) -> Streams {
        let streams = Streams {
            posterior: Some((0, count)),
            ..self.streams(draw)
        };
        streams.at(0)
    }

    /// Computes an expression at each posterior draw. Returns the values, `[draws, ..]`.
    pub(super) fn at_draws(&self, checked: &Checked, draw: u32, count: usize) -> Elaborated<(Tensor, DType)> {
        let span = checked.expr.span;
        let streams = self.streams_of_draws(draw, count);
        let mut scene = self.scene_with(checked, streams.clone())?;
        let datum = scene.datum(&checked.expr)?;
        let prepared = scene.prepared(span);
        self.stacked(count, span, |at| {
            let computed = prepared.compute(&streams.at(at))?;
            let number = computed.number(&datum);
            number.ok_or_else(|| Box::new(codes::not_a_number(span)))
        })
    }

    /// Calls `one` with each number below `count`, and stacks the results along a new first axis.
    fn stacked(
        &self,
        count: usize,
        span: Span,
        mut one: impl FnMut(usize) -> Elaborated<(Tensor, DType)>,
    ) -> Elaborated<(Tensor, DType)> {
        let (mut values, mut kind) = (Vec::with_capacity(count), DType::Real);
        self.each(count, |at| {
            let (tensor, dtype) = one(at)?;
            check_size(&tensor, count, span)?;
            kind = dtype;
            values.push(tensor);
            Ok(())
        })?;
        let sizes = values.first().map(|tensor| tensor.shape.clone());
        Ok((Tensor::stack(&sizes.unwrap_or_default(), &values), kind))
    }

    /// Samples from a distribution whose parameters depend on posterior values: one value for each
    /// posterior draw.
    pub(super) fn drawn_at_draws(
        &self,
        sample: &SampleStmt,
        locals: &Locals,
        (draw, count): (u32, usize),
    ) -> Elaborated<VariableValue> {
        let checked = Checked {
            expr: sample.dist.clone(),
            locals: locals.clone(),
        };
        let name = self.streams(draw).name(&locals[sample.local].name);
        let streams = self.streams_of_draws(draw, count);
        let prepared = self.prepared_distribution(&checked, ValueSizes::Site(&sample.ty), streams.clone())?;
        let (draws, dtype) = self.stacked(count, sample.span, |at| {
            let concrete = prepared.concrete(&streams.at(at))?;
            let stream = format!("{name}/{at}");
            let tensor = distribution::draw_declared(&concrete, &sample.ty, &stream, draw, sample.span)?;
            Ok((tensor, concrete.instance.value.dtype))
        })?;
        Ok(VariableValue::Draws(draws, dtype))
    }

    /// Replaces `mean(E)`, `sd(E)`, `median(E)` and `quantile(E, P)` by a number or an array, if `E` depends on posterior values.
    pub(super) fn summarise(&mut self, expr: &mut ast::Expr, reply: &mut Reply) -> Result<(), Diagnostics> {
        let ast::ExprKind::Call(callee, args) = &*expr.kind else {
            return Ok(());
        };
        let function = callee
            .as_name()
            .and_then(|name| SUMMARIES.iter().find(|known| **known == &**name));
        let (Some(function), Some(first)) = (function, args.first()) else {
            return Ok(());
        };
        let is_hidden = self.environment.scope.contains_key(*function) || self.items.find(function).is_some();
        let (checked, locals, found) = check_expr(&self.module, &self.environment, &first.value);
        let checked = Checked {
            expr: checked,
            locals,
        };
        let count = self.posterior_draws(&checked.expr);
        let (Some(count), false) = (count, is_hidden) else {
            return Ok(());
        };
        // An argument that cannot be computed here is an error. If it were left alone, the library
        // function with the same name would average over elements and not over draws.
        if let Some(error) = found.iter().find(|one| one.is_error()) {
            return Err(codes::not_alone(expr.span, function, &error.message).into());
        }
        let level = match (*function, args.as_slice()) {
            ("quantile", [_, level]) => Some(self.level(&level.value)?),
            ("mean" | "median" | "sd", [_]) => None,
            ("quantile", _) => {
                let text = "`quantile` takes a value and a probability: `quantile(fit.beta, 0.9)`";
                return Err(limit(expr.span, text.to_owned()).into());
            }
            _ => return Ok(()),
        };
        self.noted_draws(&checked.expr, reply);
        let draw = self.next_draw();
        let (draws, _) = self.at_draws(&checked, draw, count)?;
        let reduce = |draws: Vec<f64>| match *function {
            "mean" => IntervalSummary::of(&draws).mean,
            "sd" => IntervalSummary::of(&draws).sd,
            _ => quantile(&ascending(&draws), level.unwrap_or(0.5)),
        };
        let sizes = draws.shape[1..].to_vec();
        let data = columns(&draws).into_iter().map(reduce).collect();
        let name: Arc<str> = format!("{function}.{}", self.variables.len()).into();
        let held = VariableValue::Tensor(Tensor::new(sizes.clone(), data), DType::Real);
        self.hide(&name, (Elem::Real(Support::Real), &sizes), held, expr.span);
        *expr.kind = ast::ExprKind::Name(name);
        Ok(())
    }

    /// Evaluates the second argument of `quantile`, which is a probability.
    fn level(&mut self, written: &ast::Expr) -> Result<f64, Diagnostics> {
        let (expr, locals, found) = check_expr(&self.module, &self.environment, written);
        if found.iter().any(|one| one.is_error()) {
            return Err(found.into());
        }
        let checked = Checked { expr, locals };
        let draw = self.next_draw();
        let (datum, computed) = self.computed(&checked, draw)?;
        let level = computed.number(&datum).filter(|(one, _)| one.shape.is_empty());
        level
            .map(|(one, _)| one.data[0])
            .filter(|level| (0.0..=1.0).contains(level))
            .ok_or_else(|| limit(written.span, "a probability from 0 to 1 is needed here").into())
    }

    /// Returns the names of the elements of an expression. If the expression is a parameter, the
    /// names are the parameter's element names. Otherwise, the names are positions.
    pub(super) fn element_names(&self, expr: &TypedExpr, sizes: &[usize]) -> Vec<String> {
        let own = match &expr.kind {
            TypedExprKind::Local(local) => self.variables.iter().find(|variable| variable.local == *local),
            _ => None,
        };
        let named = own.and_then(|variable| {
            let (infer, parameter) = variable.name.split_once('.')?;
            let sites = self.fit(infer)?.sites().iter();
            let mut sites = sites.filter(|site| site.name == parameter && site.sizes == sizes);
            sites.next().map(|site| site.elements.clone())
        });
        named.unwrap_or_else(|| {
            let elements: usize = sizes.iter().product();
            (0..elements).map(|at| position(at, sizes)).collect()
        })
    }
}

fn check_size(tensor: &Tensor, count: usize, span: Span) -> Elaborated<()> {
    match tensor.data.len().saturating_mul(count) > MOST_NUMBERS {
        true => Err(limit(
            span,
            format!(
                "{count} draws of {} numbers are too many; the REPL holds at most {MOST_NUMBERS} numbers of one expression",
                tensor.data.len()
            ),
        )),
        false => Ok(()),
    }
}

/// Formats the position of an element, such as `[2, 0]`.
pub fn position(mut at: usize, sizes: &[usize]) -> String {
    let mut indices = Vec::new();
    for size in sizes.iter().rev() {
        indices.push((at % size.max(&1)).to_string());
        at /= size.max(&1);
    }
    indices.reverse();
    match indices.is_empty() {
        true => String::new(),
        false => format!("[{}]", indices.join(", ")),
    }
}

/// Formats the draws of a posterior value, `[draws, ..]`. A number takes one line, and an array
/// becomes a table. `names` are the names of the array's elements.
pub fn text(draws: &Tensor, dtype: DType, names: &[String]) -> String {
    let count = draws.shape.first().copied().unwrap_or(0);
    let shown = |value: f64| show::number(super::measures::rounded(value));
    if count == 1 {
        return show::tensor(&draws.leading(0), dtype);
    }
    let columns = columns(draws);
    if let ([only], 1) = (columns.as_slice(), draws.shape.len()) {
        let all = IntervalSummary::of(only);
        return match dtype {
            DType::Bool => format!("probability {} ({count} draws)", shown(all.mean)),
            DType::Int | DType::Real => format!(
                "mean {}, sd {}, 90 % interval {} to {} ({count} draws)",
                shown(all.mean),
                shown(all.sd),
                shown(all.low),
                shown(all.high)
            ),
        };
    }
    let width = names.iter().take(SHOWN).map(|name| name.chars().count());
    let width = width.max().unwrap_or(0);
    let head = match dtype {
        DType::Bool => format!("{:>12}", "probability"),
        DType::Int | DType::Real => format!("{:>12} {:>12} {:>12} {:>12}", "mean", "sd", "5 %", "95 %"),
    };
    let mut lines = vec![format!("{:width$} {head}", "")];
    for (name, column) in names.iter().zip(&columns).take(SHOWN) {
        let all = IntervalSummary::of(column);
        let cells = match dtype {
            DType::Bool => vec![all.mean],
            DType::Int | DType::Real => vec![all.mean, all.sd, all.low, all.high],
        };
        let cells: Vec<String> = cells
            .into_iter()
            .map(|value| format!("{:>12}", shown(value)))
            .collect();
        lines.push(format!("{name:<width$} {}", cells.join(" ")));
    }
    if columns.len() > SHOWN {
        lines.push(format!(".. of {} elements", columns.len()));
    }
    lines.push(format!("({count} draws)"));
    lines.join("\n")
}

//! Start values that are drawn from a distribution. How a distribution is drawn follows from its
//! `draw`, and does not depend on its name: a program may declare a `Normal` or a `Uniform` of its own.

use super::frame::Elaborated;
use crate::builtin::BuiltinRule;
use crate::constant::{constant, evaluate};
use crate::diagnostics::elaborate::limit;
use crate::diagnostics::types;
use crate::parts::DistributionPart;
use crate::tree::{DistId, LocalId, Module, TypedExpr, TypedExprKind};
use crate::walk;
use bnnc_abi::manifest::Init;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;
use std::collections::HashMap;

/// A number `offset + factor * z`, where `z` is a variate of the kind `noise`.
struct LinearDraw {
    noise: NoiseKind,
    offset: f64,
    factor: f64,
}

impl LinearDraw {
    /// Multiplies the number by `times`, and then adds `plus`.
    fn scaled(self, times: f64, plus: f64) -> LinearDraw {
        LinearDraw {
            offset: self.offset * times + plus,
            factor: self.factor * times,
            ..self
        }
    }
}

/// Converts a distribution to the random start value of the argument `name`, whose values lie in `support`.
///
/// # Errors
/// Fails if the start cannot be drawn from this distribution, or if the argument cannot have all drawn values.
pub fn start(module: &Module, expr: &TypedExpr, name: &str, support: Support) -> Elaborated<Init> {
    let TypedExprKind::MakeDist(dist, args) = &expr.kind else {
        return Err(limit(expr.span, "a start value is a constant or a distribution"));
    };
    let drawn = init(module, *dist, args).ok_or_else(|| {
        let name = &module.dists[*dist].name;
        let diagnostic = *limit(expr.span, format!("starts cannot be drawn from `{name}`"));
        let help = "use `Normal` or `Uniform`, or a distribution whose `draw` is a constant plus a multiple of `standard_normal()` or `standard_uniform()`";
        Box::new(diagnostic.help(help))
    })?;
    check_support(&drawn, name, support, expr.span)?;
    Ok(drawn)
}

/// Returns the start value that is drawn from a distribution with constant arguments. Returns `None` if
/// an argument is not a constant, or if the `draw` of the distribution is not a linear function of one
/// standard normal or uniform variate with finite coefficients.
fn init(module: &Module, dist: DistId, args: &[TypedExpr]) -> Option<Init> {
    let item = &module.dists[dist];
    let known: Option<HashMap<LocalId, f64>> = item
        .params
        .iter()
        .zip(args)
        .map(|(param, arg)| Some((param.local, constant(module, arg)?)))
        .collect();
    let LinearDraw {
        noise,
        offset,
        factor,
    } = linear(module, item.value(DistributionPart::Draw)?, &known?)?;
    match noise {
        _ if !(offset.is_finite() && factor.is_finite()) => None,
        NoiseKind::Normal => Some(Init::Normal(offset, factor.abs())),
        NoiseKind::Uniform => {
            let other = offset + factor;
            Some(Init::Uniform(offset.min(other), offset.max(other)))
        }
        NoiseKind::Gamma => None,
    }
}

/// Checks that a start is drawn from values that its argument `name` can have. An end of the support is excluded, because a value there has no
/// finite position on the unconstrained scale, on which the start is drawn.
fn check_support(drawn: &Init, name: &str, support: Support, span: Span) -> Elaborated<()> {
    let Support::Interval(low, high) = support else {
        return Ok(());
    };
    let is_inside = |value: f64| low < value && value < high;
    let found = match drawn {
        Init::Uniform(from, to) if !(is_inside(*from) && is_inside(*to)) => {
            format!("drawn from {from} to {to}")
        }
        Init::Normal(mean, _) if !is_inside(*mean) => format!("drawn around {mean}"),
        _ => return Ok(()),
    };
    let expected = match (low, high.is_infinite()) {
        (0.0, true) => "positive".to_owned(),
        _ => format!("between {low} and {high}"),
    };
    let report = types::support(span, &format!("the start of `{name}`"), &expected, &found);
    Err(Box::new(report.help(
        "choose ends inside this range; the ends of the range are excluded",
    )))
}

/// Returns an expression as a linear function of the only variate in it. `known` holds the values of
/// the parameters.
fn linear(module: &Module, expr: &TypedExpr, known: &HashMap<LocalId, f64>) -> Option<LinearDraw> {
    let recur = |part: &TypedExpr| linear(module, part, known);
    let number = |part: &TypedExpr| evaluate(module, part, known);
    match &expr.kind {
        TypedExprKind::Builtin(builtin, args) if args.is_empty() => match builtin.rule {
            BuiltinRule::Noise(noise) => Some(LinearDraw {
                noise,
                offset: 0.0,
                factor: 1.0,
            }),
            _ => None,
        },
        TypedExprKind::Unary(UnaryOp::Neg, operand) => Some(recur(operand)?.scaled(-1.0, 0.0)),
        TypedExprKind::Binary(op, left, right) => {
            let (is_left, is_right) = (is_random(left), is_random(right));
            let (random, other) = if is_left { (left, right) } else { (right, left) };
            // Two variates in one expression are independent, so their sum has another distribution.
            let other = number(other).filter(|_| is_left != is_right)?;
            let (times, plus) = match (op, is_left) {
                (BinaryOp::Add, _) => (1.0, other),
                (BinaryOp::Sub, true) => (1.0, -other),
                (BinaryOp::Sub, false) => (-1.0, other),
                (BinaryOp::Mul, _) => (other, 0.0),
                (BinaryOp::Div, true) => (other.recip(), 0.0),
                _ => return None,
            };
            Some(recur(random)?.scaled(times, plus))
        }
        _ => None,
    }
}

/// Returns whether an expression contains a variate.
fn is_random(expr: &TypedExpr) -> bool {
    walk::any(
        expr,
        &mut |part| matches!(&part.kind, TypedExprKind::Builtin(builtin, _) if matches!(builtin.rule, BuiltinRule::Noise(_))),
    )
}

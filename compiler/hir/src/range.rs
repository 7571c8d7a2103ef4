//! The interval in which a real expression lies: what refutes `Normal(0, -1)` before the run.

use crate::constant::constant;
use crate::tree::{Expr, ExprKind, Module};
use crate::types::{Elem, Ty};
use bnnc_base::special::{sigmoid, softplus};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;

/// Both ends, infinite where nothing is known.
pub type Range = (f64, f64);

const ALL: Range = (f64::NEG_INFINITY, f64::INFINITY);

/// Where the elements of a value lie.
pub fn range(module: &Module, expr: &Expr) -> Range {
    if let Some(value) = constant(module, expr) {
        return if value.is_nan() { ALL } else { (value, value) };
    }
    let recur = |part: &Expr| range(module, part);
    match &expr.kind {
        ExprKind::Builtin(builtin, args) => match (builtin.name, args.as_slice()) {
            ("exp", [x]) => map(recur(x), f64::exp),
            ("softplus", [x]) => map(recur(x), softplus),
            ("sigmoid", [x]) => map(recur(x), sigmoid),
            ("tanh", [x]) => map(recur(x), f64::tanh),
            ("sqrt" | "abs", _) => (0.0, f64::INFINITY),
            ("log_sigmoid", _) => (f64::NEG_INFINITY, 0.0),
            ("softmax", _) => (0.0, 1.0),
            ("max", [a, b]) => pair(recur(a), recur(b), f64::max),
            ("min", [a, b]) => pair(recur(a), recur(b), f64::min),
            _ => ALL,
        },
        ExprKind::Unary(UnaryOp::Neg, operand) => {
            let (low, high) = recur(operand);
            (-high, -low)
        }
        ExprKind::Binary(BinaryOp::Add, left, right) => pair(recur(left), recur(right), |a, b| a + b),
        ExprKind::Binary(BinaryOp::Sub, left, right) => {
            let ((a, b), (c, d)) = (recur(left), recur(right));
            (a - d, b - c)
        }
        ExprKind::Binary(BinaryOp::Mul, left, right) => product(recur(left), recur(right)),
        ExprKind::If(_, yes, no) => union(recur(yes), recur(no)),
        ExprKind::List(elements) => elements.iter().map(recur).reduce(union).unwrap_or(ALL),
        _ => declared(&expr.ty),
    }
}

fn declared(ty: &Ty) -> Range {
    match ty {
        Ty::Tensor(Elem::Real(Support::Interval(low, high)), _) => (*low, *high),
        Ty::Tensor(Elem::Real(Support::Simplex), _) => (0.0, 1.0),
        Ty::Tensor(Elem::Count | Elem::Index(_), _) => (0.0, f64::INFINITY),
        _ => ALL,
    }
}

fn map((low, high): Range, increasing: fn(f64) -> f64) -> Range {
    (increasing(low), increasing(high))
}

fn pair(a: Range, b: Range, increasing: fn(f64, f64) -> f64) -> Range {
    (increasing(a.0, b.0), increasing(a.1, b.1))
}

fn union(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

fn product(a: Range, b: Range) -> Range {
    // Zero times infinity is zero here: the ends are limits that finite values approach.
    let times = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    let ends = [times(a.0, b.0), times(a.0, b.1), times(a.1, b.0), times(a.1, b.1)];
    (
        ends.into_iter().fold(f64::INFINITY, f64::min),
        ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Whether no value of the range lies in the support. Half-lines exclude their end; finite intervals allow their ends
/// as limits (`momentum: real(0, 1) = 0`).
pub fn refuted((low, high): Range, support: Support) -> bool {
    match support {
        Support::Interval(from, to) => {
            let half = from.is_infinite() || to.is_infinite();
            high < from || low > to || (half && (high <= from || low >= to))
        }
        Support::Simplex => high < 0.0 || low > 1.0,
        Support::Real | Support::Ordered | Support::Integers(_) => false,
    }
}

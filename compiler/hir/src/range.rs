//! Computes the interval of a real expression, to find errors such as `Normal(0, -1)` before the run.

use crate::builtin::{Along, Builtin, BuiltinRule, Reduction};
use crate::constant::constant;
use crate::parts::DistributionPart;
use crate::tree::{LocalId, Module, ParamBinding, TypedExpr, TypedExprKind, TypedIndex, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_math::special::{sigmoid, softplus};
use std::cell::Cell;
use std::collections::HashMap;

/// The lower and the upper end of an interval. An unknown end is infinite.
pub type Range = (f64, f64);

const ALL: Range = (f64::NEG_INFINITY, f64::INFINITY);

/// The largest number of expressions that the analysis visits, including those in called functions.
/// After that, it uses the range of an expression's type.
const MOST_STEPS: usize = 2000;

/// Returns the range of a value's elements. `known` contains the variables whose range is narrower
/// than the range of their type.
pub fn range(module: &Module, known: &HashMap<LocalId, Range>, expr: &TypedExpr) -> Range {
    Ranges {
        module,
        steps: Cell::new(0),
    }
    .of(expr, known)
}

struct Ranges<'m> {
    module: &'m Module,
    steps: Cell<usize>,
}

impl Ranges<'_> {
    fn of(&self, expr: &TypedExpr, known: &HashMap<LocalId, Range>) -> Range {
        if let Some(value) = constant(self.module, expr) {
            return if value.is_nan() { ALL } else { (value, value) };
        }
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return declared(&expr.ty);
        }
        let recur = |part: &TypedExpr| self.of(part, known);
        let found = match &expr.kind {
            TypedExprKind::Local(local) => known.get(local).copied().unwrap_or(ALL),
            TypedExprKind::Builtin(builtin, args) => self.builtin(builtin, args, known),
            TypedExprKind::CallFn(id, args) => {
                let item = &self.module.fns[*id];
                self.body(&item.params, &item.body, args, known)
            }
            TypedExprKind::Unary(UnaryOp::Neg, operand) => {
                let (low, high) = recur(operand);
                (-high, -low)
            }
            TypedExprKind::Binary(op, left, right) => self.binary(*op, (left, right), known),
            TypedExprKind::If(_, yes, no) => union(recur(yes), recur(no)),
            TypedExprKind::List(elements) => elements.iter().map(recur).reduce(union).unwrap_or(ALL),
            TypedExprKind::Index(base, _) => recur(base),
            TypedExprKind::Comprehension(inner) => recur(&inner.element),
            TypedExprKind::DistPart(_, DistributionPart::Cdf | DistributionPart::Survival, _) => (0.0, 1.0),
            TypedExprKind::CallLayer(_, Some(id), args) => {
                let item = &self.module.layers[*id];
                self.body(&item.inputs, &item.body, args, known)
            }
            TypedExprKind::Reduce(builtin, inner) => {
                let reduction = builtin.reduction();
                reduction.map_or(ALL, |reduction| reduced(reduction, recur(&inner.element)))
            }
            _ => ALL,
        };
        let own = declared(&expr.ty);
        (found.0.max(own.0), found.1.min(own.1))
    }

    fn builtin(&self, builtin: &Builtin, args: &[TypedExpr], known: &HashMap<LocalId, Range>) -> Range {
        let recur = |part: &TypedExpr| self.of(part, known);
        match (builtin.rule, args) {
            (BuiltinRule::Elementwise(op), [x]) => {
                let known = ELEMENTWISE.iter().find(|(known, _)| op.is(known));
                known.map_or(ALL, |(_, range)| range(recur(x)))
            }
            (BuiltinRule::LastAxis(Along::LogSoftmax), _) => (f64::NEG_INFINITY, 0.0),
            (BuiltinRule::LastAxis(Along::Softmax), _) => (0.0, 1.0),
            (BuiltinRule::Extremum(_, Reduction::Max), [a, b]) => pair(recur(a), recur(b), f64::max),
            (BuiltinRule::Extremum(..), [a, b]) => pair(recur(a), recur(b), f64::min),
            (BuiltinRule::Extremum(_, reduction) | BuiltinRule::Reduce(reduction), [x]) => {
                reduced(reduction, recur(x))
            }
            (
                BuiltinRule::Reshape
                | BuiltinRule::Repeat
                | BuiltinRule::Same(_)
                | BuiltinRule::Transpose
                | BuiltinRule::Pool(_)
                | BuiltinRule::Upsample,
                [x, ..],
            ) => recur(x),
            (BuiltinRule::Dot | BuiltinRule::Outer, [a, b]) => match product(recur(a), recur(b)) {
                (low, _) if low >= 0.0 => (0.0, f64::INFINITY),
                _ => ALL,
            },
            (BuiltinRule::Concat, parts) => parts.iter().map(recur).reduce(union).unwrap_or(ALL),
            _ => ALL,
        }
    }

    fn binary(
        &self,
        op: BinaryOp,
        (left, right): (&TypedExpr, &TypedExpr),
        known: &HashMap<LocalId, Range>,
    ) -> Range {
        if op == BinaryOp::Mul && is_square(left, right) {
            return (0.0, f64::INFINITY);
        }
        let (a, b) = (self.of(left, known), self.of(right, known));
        match op {
            BinaryOp::Add => pair(a, b, |a, b| a + b),
            BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
            BinaryOp::Mul => product(a, b),
            BinaryOp::Div if a.0 >= 0.0 && b.0 >= 0.0 => {
                let high = ratio(a.1, b.0, f64::INFINITY);
                let is_share = self.is_share(left, right, known);
                (ratio(a.0, b.1, 0.0), if is_share { high.min(1.0) } else { high })
            }
            BinaryOp::Pow if a.0 >= 0.0 => (0.0, f64::INFINITY),
            BinaryOp::Pow if b.0 == b.1 && b.0 % 2.0 == 0.0 => (0.0, f64::INFINITY),
            _ => ALL,
        }
    }

    /// Returns whether `part` is a term of the sum `whole` and no term of the sum can be negative.
    /// The term divided by the sum is then at most one, as in `e / (1 + e)` and `e / sum(e)`.
    fn is_share(&self, part: &TypedExpr, whole: &TypedExpr, known: &HashMap<LocalId, Range>) -> bool {
        let is_share = |term: &TypedExpr, other: &TypedExpr| {
            self.is_share(part, term, known) && self.of(other, known).0 >= 0.0
        };
        match &whole.kind {
            TypedExprKind::Binary(BinaryOp::Add, left, right) => {
                is_share(left, right) || is_share(right, left)
            }
            TypedExprKind::Builtin(builtin, args)
                if matches!(builtin.rule, BuiltinRule::Reduce(Reduction::Sum)) =>
            {
                args.first().is_some_and(|terms| is_same(terms, part))
            }
            _ => is_same(whole, part),
        }
    }

    /// Returns the range of the result of a function or layer, given the ranges of its arguments.
    fn body(
        &self,
        params: &[ParamBinding],
        body: &[TypedStmt],
        args: &[TypedExpr],
        known: &HashMap<LocalId, Range>,
    ) -> Range {
        let params = params.iter().map(|param| param.local);
        let mut inner: HashMap<LocalId, Range> =
            params.zip(args.iter().map(|arg| self.of(arg, known))).collect();
        for stmt in body {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let range = self.of(value, &inner);
                    inner.insert(*local, range);
                }
                TypedStmt::Return(value) => return self.of(value, &inner),
                // The range of a site is the range of its type, so nothing is recorded for a site.
                // Variables assigned in a loop are not visible outside the loop.
                TypedStmt::Sample(_) | TypedStmt::For { .. } => (),
            }
        }
        ALL
    }
}

/// Returns whether two expressions apply the same operations to the same variables. Returns `false`
/// if this is not certain.
fn is_same(a: &TypedExpr, b: &TypedExpr) -> bool {
    let all =
        |a: &[TypedExpr], b: &[TypedExpr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b));
    match (&a.kind, &b.kind) {
        (TypedExprKind::Local(a), TypedExprKind::Local(b)) => a == b,
        (TypedExprKind::Const(a), TypedExprKind::Const(b)) => a == b,
        (TypedExprKind::Int(a), TypedExprKind::Int(b)) => a == b,
        (TypedExprKind::Real(a), TypedExprKind::Real(b)) => a.to_bits() == b.to_bits(),
        (TypedExprKind::Builtin(a, args), TypedExprKind::Builtin(b, others)) => {
            a.name == b.name && all(args, others)
        }
        (TypedExprKind::CallFn(a, args), TypedExprKind::CallFn(b, others)) => a == b && all(args, others),
        (TypedExprKind::Unary(a, x), TypedExprKind::Unary(b, y)) => a == b && is_same(x, y),
        (TypedExprKind::Binary(a, left, right), TypedExprKind::Binary(b, other_left, other_right)) => {
            a == b && is_same(left, other_left) && is_same(right, other_right)
        }
        (TypedExprKind::Index(base, places), TypedExprKind::Index(other, others)) => {
            let same = |(a, b): (&TypedIndex, &TypedIndex)| match (a, b) {
                (TypedIndex::At(a), TypedIndex::At(b)) => is_same(a, b),
                (TypedIndex::Range(from, to), TypedIndex::Range(other_from, other_to)) => {
                    is_same(from, other_from) && is_same(to, other_to)
                }
                (TypedIndex::At(_), TypedIndex::Range(..)) | (TypedIndex::Range(..), TypedIndex::At(_)) => {
                    false
                }
            };
            is_same(base, other) && places.len() == others.len() && places.iter().zip(others).all(same)
        }
        _ => false,
    }
}

/// Returns an end of the quotient of two non-negative values, or `unknown` if the quotient is undefined.
fn ratio(numerator: f64, denominator: f64, unknown: f64) -> f64 {
    let quotient = numerator / denominator;
    if quotient.is_nan() { unknown } else { quotient }
}

type Map = fn(Range) -> Range;

/// For each elementwise function, how to compute the range of its result from the range of its
/// argument.
static ELEMENTWISE: [(&OpDef, Map); 14] = [
    (&ops::exp::EXP, |x| positive(map(x, f64::exp))),
    (&ops::expm1::EXPM1, |x| map(x, f64::exp_m1)),
    (&ops::softplus::SOFTPLUS, |x| positive(map(x, softplus))),
    (&ops::sigmoid::SIGMOID, |x| positive(map(x, sigmoid))),
    (&ops::tanh::TANH, |x| map(x, f64::tanh)),
    (&ops::log::LOG, |x| map(x, |x| x.max(0.0).ln())),
    (&ops::sqrt::SQRT, |_| (0.0, f64::INFINITY)),
    (&ops::abs::ABS, |_| (0.0, f64::INFINITY)),
    (&ops::erfc::ERFC, |_| (0.0, 2.0)),
    (&ops::erf::ERF, |_| (-1.0, 1.0)),
    (&ops::sin::SIN, |_| (-1.0, 1.0)),
    (&ops::cos::COS, |_| (-1.0, 1.0)),
    (&ops::sign::SIGN, |_| (-1.0, 1.0)),
    (&ops::log_sigmoid::LOG_SIGMOID, |_| (f64::NEG_INFINITY, 0.0)),
];

/// Returns whether a product multiplies a variable by itself.
pub fn is_square(left: &TypedExpr, right: &TypedExpr) -> bool {
    matches!((&left.kind, &right.kind), (TypedExprKind::Local(a), TypedExprKind::Local(b)) if a == b)
}

/// Replaces an upper end that has underflowed to zero by the smallest positive number, because the
/// function is positive.
fn positive((low, high): Range) -> Range {
    (low, high.max(f64::MIN_POSITIVE))
}

/// Returns the range of a reduction, given the range of the elements.
fn reduced(reduction: Reduction, (low, high): Range) -> Range {
    match reduction {
        Reduction::Mean | Reduction::Max | Reduction::Min => (low, high),
        Reduction::Sum if low >= 0.0 => (0.0, f64::INFINITY),
        Reduction::Prod if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
        Reduction::Prod if low >= 0.0 => (0.0, f64::INFINITY),
        Reduction::Sum | Reduction::Prod => ALL,
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
    // Zero times infinity is zero here, because values in the range are finite, and their product
    // with zero is zero.
    let times = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    let ends = [times(a.0, b.0), times(a.0, b.1), times(a.1, b.0), times(a.1, b.1)];
    (
        ends.into_iter().fold(f64::INFINITY, f64::min),
        ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Returns whether the range and the support have no values in common. For this check, a half-line
/// does not contain its end, but a finite interval contains its ends, so that
/// `momentum: real(0, 1) = 0` is valid.
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

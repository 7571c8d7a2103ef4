//! Elaborates `if`. Inside a branch, the condition or its negation holds, which can narrow the
//! ranges of integers.

use super::datum::Datum;
use super::expr::compares_integers;
use super::frame::{Elaborated, Elaborator, Frame};
use super::linear::AffineExpr;
use crate::tree::{TypedExpr, TypedExprKind};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::builder::Operation;
use bnnc_graph::function::Value;
use bnnc_graph::ops;

impl<'a> Elaborator<'a> {
    /// Elaborates `if condition { yes } else { no }`.
    pub fn choice(
        &mut self,
        [condition, yes, no]: [&TypedExpr; 3],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        let chosen = self.expr(condition, frame)?;
        let of_integers = usize::from(compares_integers(condition));
        self.choices += of_integers;
        let branches = [
            self.branch(yes, (condition, true), frame),
            self.branch(no, (condition, false), frame),
        ];
        self.choices -= of_integers;
        let [yes, no] = branches;
        let ((yes, of_yes), (no, of_no)) = (yes?, no?);
        let range = of_yes.zip(of_no);
        let range = range.map(|((a, b), (c, d))| (a.min(c), b.max(d)));
        self.select_in(chosen, [yes, no], range, span)
    }

    /// Elaborates a branch. If its value is an integer, also returns the range of the value.
    fn branch(
        &mut self,
        branch: &TypedExpr,
        (condition, holds): (&TypedExpr, bool),
        frame: &mut Frame<'a>,
    ) -> Elaborated<(Datum, Option<(i64, i64)>)> {
        let facts = self.facts(condition, holds, frame);
        if facts.is_empty() {
            let datum = self.expr(branch, frame)?;
            let range = self.range_of_integer(&datum);
            return Ok((datum, range));
        }
        // Equal operations inside and outside the branch have the same graph value, but the ranges
        // from the branch hold only inside it. They are therefore dropped at its end.
        let outside = self.ranges.clone();
        let count = facts.len();
        self.forms.assume(facts);
        let datum = self.expr(branch, frame);
        let range = datum.as_ref().ok().and_then(|datum| self.range_of_integer(datum));
        self.forms.forget(count);
        self.ranges = outside;
        Ok((datum?, range))
    }

    /// Returns linear forms that cannot be negative if the condition has the value `holds`.
    fn facts(&self, condition: &TypedExpr, holds: bool, frame: &Frame<'a>) -> Vec<AffineExpr> {
        let (op, left, right) = match &condition.kind {
            TypedExprKind::Unary(UnaryOp::Not, operand) => return self.facts(operand, !holds, frame),
            TypedExprKind::Binary(op, left, right) => (*op, left, right),
            _ => return Vec::new(),
        };
        if let BinaryOp::And | BinaryOp::Or = op {
            // If `a && b` holds, both parts hold. If `!(a || b)` holds, neither part holds.
            // Otherwise, the value of the condition does not determine the values of its parts.
            let both = || {
                [left, right]
                    .into_iter()
                    .flat_map(|part| self.facts(part, holds, frame))
            };
            return match holds == (op == BinaryOp::And) {
                true => both().collect(),
                false => Vec::new(),
            };
        }
        let forms = self.form(left, frame).zip(self.form(right, frame));
        let Some((left, right)) = forms else {
            return Vec::new();
        };
        let at_least =
            |a: &AffineExpr, b: &AffineExpr, more: i64| a.plus(b, -1)?.plus(&AffineExpr::number(more), -1);
        let above = |more| at_least(&left, &right, more).into_iter().collect();
        let below = |more| at_least(&right, &left, more).into_iter().collect();
        match (op, holds) {
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => above(1),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => above(0),
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => below(1),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => below(0),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => {
                let both = [at_least(&left, &right, 0), at_least(&right, &left, 0)];
                both.into_iter().flatten().collect()
            }
            (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => {
                // If two integers differ and the first is not smaller, it is larger.
                let ends = left.plus(&right, -1).and_then(|form| self.forms.ends(&form));
                match ends {
                    Some((0, _)) => above(1),
                    Some((_, 0)) => below(1),
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the linear form of an integer expression, without adding nodes to the function.
    fn form(&self, expr: &TypedExpr, frame: &Frame<'a>) -> Option<AffineExpr> {
        match &expr.kind {
            TypedExprKind::Int(number) => Some(AffineExpr::number(*number)),
            TypedExprKind::Const(id) => {
                let number = self.module.consts[*id].number?.as_integer();
                number.map(AffineExpr::number)
            }
            TypedExprKind::Local(local) => self.forms.linear(frame.values.get(local)?),
            TypedExprKind::Unary(UnaryOp::Neg, operand) => {
                AffineExpr::number(0).plus(&self.form(operand, frame)?, -1)
            }
            TypedExprKind::Binary(op, left, right) => {
                self.form(left, frame)?.combined(*op, &self.form(right, frame)?)
            }
            _ => None,
        }
    }

    /// Elaborates an elementwise choice between the tensors `yes` and `no`.
    pub fn select(&mut self, condition: Datum, yes: Datum, no: Datum, span: Span) -> Elaborated<Datum> {
        let range = self.joint_range(&yes, &no, |(a, b), (c, d)| (a.min(c), b.max(d)));
        self.select_in(condition, [yes, no], range, span)
    }

    /// Builds an elementwise choice. If the result is an integer, `range` is its range.
    fn select_in(
        &mut self,
        condition: Datum,
        [yes, no]: [Datum; 2],
        range: Option<(i64, i64)>,
        span: Span,
    ) -> Elaborated<Datum> {
        let condition = self.tensor(&condition, span)?;
        let extent = self.extent_of_either(&yes, &no);
        let (a, b) = self.numbers(&yes, &no, span)?;
        let shape = self.ty(a).shape;
        let target = match shape.rank() {
            0 => self.ty(condition).shape,
            _ => shape,
        };
        let condition = self.stretch(condition, &target, span)?;
        let (a, b) = (self.stretch(a, &target, span)?, self.stretch(b, &target, span)?);
        let value = self.apply(Operation::new(&ops::select::SELECT, [condition, a, b]), span)?;
        Ok(self.integer_result(value, range, Some(extent), None))
    }

    /// Returns the smallest and the largest value of an integer. The bounds are derived from its
    /// known range and from the conditions of the enclosing branches.
    pub fn range_here(&self, value: Value) -> Option<(i64, i64)> {
        let known = self.ranges.get(&value).copied();
        let by_form = self.forms.ends_of(value);
        match (known, by_form) {
            (Some((a, b)), Some((c, d))) => Some((a.max(c), b.min(d))),
            (known, by_form) => known.or(by_form),
        }
    }
}

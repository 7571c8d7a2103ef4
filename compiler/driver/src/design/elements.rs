//! Finds formulas for elements that depend only on data, and follows elements of views back to the
//! operands of these views.

use super::{Linear, TooLong};
use bnnc_abi::design::ColumnFormula;
use bnnc_base::arena::Id;
use bnnc_graph::function::Value;
use bnnc_graph::op::{Lower, OpDef};
use bnnc_graph::ops;
use bnnc_math::scalar::Scalar;

/// Operations that only copy elements of their operands to other positions.
pub(super) static VIEWS: [&OpDef; 5] = [
    &ops::broadcast::BROADCAST,
    &ops::reshape::RESHAPE,
    &ops::transpose::TRANSPOSE,
    &ops::slice::SLICE,
    &ops::concat::CONCAT,
];

impl Linear<'_> {
    /// Returns the operand that contains an element of a view, and the element's index in this
    /// operand. Returns `None` if a size is not known.
    pub(super) fn viewed(&self, value: Value, mut index: Vec<usize>) -> Option<(Value, Vec<usize>)> {
        let (args, attrs) = (self.function.args(value), self.attrs(value));
        if self.is(value, &[&ops::broadcast::BROADCAST]) {
            let axes = ops::broadcast::axes(attrs).iter();
            return Some((args[0], axes.map(|axis| index[*axis as usize]).collect()));
        }
        if self.is(value, &[&ops::reshape::RESHAPE]) {
            let at = flat(&index, &self.sizes(value)?);
            return Some((args[0], unflat(at, &self.sizes(args[0])?)));
        }
        if self.is(value, &[&ops::transpose::TRANSPOSE]) {
            let mut inner = vec![0; index.len()];
            for (at, axis) in ops::transpose::axes(attrs).iter().enumerate() {
                inner[*axis as usize] = index[at];
            }
            return Some((args[0], inner));
        }
        if self.is(value, &[&ops::slice::SLICE]) {
            let starts = ops::slice::starts(attrs).iter().zip(ops::slice::strides(attrs));
            let inner = index
                .iter()
                .zip(starts)
                .map(|(at, (start, stride))| *start as usize + at * *stride as usize);
            return Some((args[0], inner.collect()));
        }
        let axis = ops::concat::axis(attrs) as usize;
        for arg in args {
            let size = self.sizes(*arg)?[axis];
            if index[axis] < size {
                return Some((*arg, index));
            }
            index[axis] -= size;
        }
        None
    }

    /// For an element that was selected at a constant position, returns the operand that contains
    /// the element, and the element's index in this operand. Returns `None` if the position does
    /// not have a formula.
    pub(super) fn selected(
        &mut self,
        (value, mut index): (Value, Vec<usize>),
    ) -> Result<Option<(Value, Vec<usize>)>, TooLong> {
        let args = self.function.args(value).to_vec();
        let axis = ops::gather::axis(self.attrs(value)) as usize;
        let axes = axis..axis + self.function.ty(args[1]).rank();
        let position = self.formula((args[1], index[axes.clone()].to_vec()))?;
        let size = self.sizes(args[0]).and_then(|sizes| sizes.get(axis).copied());
        let Some((position, size)) = position.zip(size) else {
            return Ok(None);
        };
        let at = position.value(&|_, _| f64::NAN).max(0.0) as usize;
        index.splice(axes, [at.min(size.saturating_sub(1))]);
        Ok(Some((args[0], index)))
    }

    /// Returns the formula of an element that depends only on data, or `None` if the element does
    /// not have a formula.
    pub(super) fn formula(
        &mut self,
        (value, index): (Value, Vec<usize>),
    ) -> Result<Option<ColumnFormula>, TooLong> {
        self.step()?;
        if let Some(name) = self.function.param_name(value) {
            let Some(sizes) = self.sizes(value) else {
                return Ok(None);
            };
            let known = self.ports.iter().position(|port| **port == **name);
            let port = known.unwrap_or_else(|| {
                self.ports.push(name.to_string());
                self.ports.len() - 1
            });
            let at = flat(&index, &sizes);
            return Ok(Some(ColumnFormula::Element { port, at }));
        }
        if self.is(value, &[&ops::constant::CONSTANT]) {
            return Ok(Some(ColumnFormula::Number(ops::constant::value(
                self.attrs(value),
            ))));
        }
        if self.is(value, &[&ops::literal::LITERAL]) {
            let at = self.sizes(value).map_or(0, |sizes| flat(&index, &sizes));
            let number = ops::literal::values(self.attrs(value)).get(at).copied();
            return Ok(number.map(ColumnFormula::Number));
        }
        if self.is(value, &[&ops::iota::IOTA]) {
            return Ok(index.first().map(|at| ColumnFormula::Number(*at as f64)));
        }
        if self.is(value, &VIEWS) {
            return match self.viewed(value, index) {
                Some(element) => self.formula(element),
                None => Ok(None),
            };
        }
        let Some(op) = self.function.op(value) else {
            return Ok(None);
        };
        if op.is(&ops::gather::GATHER) && self.is_constant[self.function.args(value)[1].index()] {
            return match self.selected((value, index))? {
                Some(element) => self.formula(element),
                None => Ok(None),
            };
        }
        let Lower::Scalar(scalar) = op.lower else {
            return Ok(None);
        };
        let mut args = Vec::new();
        for arg in self.function.args(value).to_vec() {
            match self.formula((arg, index.clone()))? {
                Some(formula) => args.push(formula),
                None => return Ok(None),
            }
        }
        // A conversion to reals does not change the formula. The elements of inputs and outputs are
        // read as reals anyway.
        let is_cast = scalar == Scalar::ToReal;
        Ok(match (is_cast, args.pop()) {
            (true, operand) => operand,
            (false, last) => {
                args.extend(last);
                Some(ColumnFormula::Apply(scalar, args))
            }
        })
    }
}

/// Returns the position of an element in row-major order, in which the last index varies fastest.
fn flat(index: &[usize], sizes: &[usize]) -> usize {
    index
        .iter()
        .zip(sizes)
        .fold(0, |flat, (at, size)| flat * size + at)
}

/// Returns the index of an element from its position in row-major order.
pub(super) fn unflat(mut at: usize, sizes: &[usize]) -> Vec<usize> {
    let mut index = vec![0; sizes.len()];
    for (place, size) in index.iter_mut().zip(sizes).rev() {
        (*place, at) = (at % size.max(&1), at / size.max(&1));
    }
    index
}

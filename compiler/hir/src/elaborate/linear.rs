//! Computes the ranges of integers that are linear functions of counters.
//!
//! Interval arithmetic ignores that two integers depend on each other. For example, let `u` lie
//! between `t - 2` and `t`. Then `t - u` lies between 0 and 2, even if the ranges of `t` and `u`
//! are wide.

use super::datum::Datum;
use bnnc_grammar::ast::BinaryOp;
use bnnc_graph::function::Value;
use std::collections::{BTreeMap, HashMap};

/// A form is bounded by at most this number of the most recent facts. All pairs of facts are tried for
/// each form, so the time is quadratic in this number.
const MOST_FACTS: usize = 16;

/// A constant plus a linear combination of counters. Counters are numbered in the order of their
/// creation. An inner counter therefore has a higher number than those around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AffineExpr {
    constant: i64,
    factors: BTreeMap<usize, i64>,
}

/// The linear forms of integers, and the first and the last value of each counter, which may depend
/// on earlier counters.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    values: HashMap<Value, AffineExpr>,
    counters: Vec<[AffineExpr; 2]>,
    /// For each counter, its name, and the end of its range as written in the program.
    names: Vec<[String; 2]>,
    /// The end of the next counter's range, as written in the program.
    written: Option<String>,
    /// Forms that are known to be non-negative in the current branch.
    facts: Vec<AffineExpr>,
}

impl AffineExpr {
    /// Returns a constant form.
    pub fn number(constant: i64) -> AffineExpr {
        AffineExpr {
            constant,
            factors: BTreeMap::new(),
        }
    }

    /// Returns the sum of this form and a multiple of another form, or `None` on overflow.
    pub fn plus(&self, other: &AffineExpr, factor: i64) -> Option<AffineExpr> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (counter, own) in &other.factors {
            let entry = sum.factors.entry(*counter).or_default();
            *entry = entry.checked_add(own.checked_mul(factor)?)?;
        }
        sum.factors.retain(|_, factor| *factor != 0);
        Some(sum)
    }

    /// Returns the constant if the form does not contain counters.
    pub fn as_number(&self) -> Option<i64> {
        self.factors.is_empty().then_some(self.constant)
    }

    /// Returns the value of the form for the counter zero, and the coefficient of the counter.
    /// Returns `None` if the form contains another counter.
    pub fn in_counter(&self, counter: &AffineExpr) -> Option<(i64, i64)> {
        let own = counter.factors.keys().next();
        let factor = own.and_then(|own| self.factors.get(own)).copied();
        let others = self.factors.len() - usize::from(factor.is_some());
        (others == 0).then_some((self.constant, factor.unwrap_or(0)))
    }

    /// Returns the product, or `None` if it is not linear or overflows.
    pub fn times(&self, other: &AffineExpr) -> Option<AffineExpr> {
        match (self.factors.is_empty(), other.factors.is_empty()) {
            (_, true) => AffineExpr::default().plus(self, other.constant),
            (true, _) => AffineExpr::default().plus(other, self.constant),
            (false, false) => None,
        }
    }

    /// Returns the result of a sum, a difference or a product, if it is a linear form.
    pub fn combined(&self, op: BinaryOp, other: &AffineExpr) -> Option<AffineExpr> {
        match op {
            BinaryOp::Add => self.plus(other, 1),
            BinaryOp::Sub => self.plus(other, -1),
            BinaryOp::Mul => self.times(other),
            _ => None,
        }
    }
}

impl Forms {
    /// Registers a graph value as a counter, given its first and its last value.
    pub fn count(&mut self, (counter, name): (Value, &str), ends: [AffineExpr; 2]) {
        let after = || ends[1].constant.saturating_add(1).to_string();
        let end = self.written.take().unwrap_or_else(after);
        let form = self.counter(ends);
        self.names.pop();
        self.names.push([name.to_owned(), end]);
        self.values.insert(counter, form);
    }

    /// Creates a counter without a graph value, given its first and its last value.
    pub fn counter(&mut self, ends: [AffineExpr; 2]) -> AffineExpr {
        let form = AffineExpr {
            constant: 0,
            factors: BTreeMap::from([(self.counters.len(), 1)]),
        };
        self.counters.push(ends);
        self.names.push([String::new(), String::new()]);
        form
    }

    /// Sets the end of the next counter's range, as written in the program.
    pub fn write_end(&mut self, text: Option<String>) {
        self.written = text;
    }

    /// For an index that contains a counter, suggests a range of the counter with which the index
    /// stays inside an axis of length `size`. Returns `None` if the index or the counter's current
    /// range depends on other counters.
    pub fn range_inside(&self, position: Value, size: i64) -> Option<String> {
        let form = self.values.get(&position)?;
        let (Some((counter, 1)), 1) = (
            form.factors
                .iter()
                .next()
                .map(|(counter, factor)| (*counter, *factor)),
            form.factors.len(),
        ) else {
            return None;
        };
        let [first, last] = self.counters.get(counter)?;
        if !first.factors.is_empty() || !last.factors.is_empty() {
            return None;
        }
        let [name, end] = self.names.get(counter)?;
        let from = first.constant.max(form.constant.checked_neg()?);
        let most = size.checked_sub(form.constant)?;
        let to = match most <= last.constant {
            true if end.parse::<i64>().is_ok() => most.to_string(),
            true => format!("{end} - {}", last.constant.checked_add(1)?.checked_sub(most)?),
            false => end.clone(),
        };
        (from < most.min(last.constant.saturating_add(1))).then(|| format!("{name} in {from}..{to}"))
    }

    /// Replaces the first and the last value of a counter.
    pub fn narrow(&mut self, counter: Value, ends: [AffineExpr; 2]) {
        let of_counter = self
            .values
            .get(&counter)
            .and_then(|form| form.factors.keys().next_back());
        if let Some(known) = of_counter.and_then(|at| self.counters.get_mut(*at)) {
            *known = ends;
        }
    }

    /// Sets the form of a value.
    pub fn insert(&mut self, value: Value, form: AffineExpr) {
        self.values.insert(value, form);
    }

    /// Removes all values and returns their forms. Counters are kept.
    pub fn take_values(&mut self) -> HashMap<Value, AffineExpr> {
        std::mem::take(&mut self.values)
    }

    /// Replaces all values.
    pub fn set_values(&mut self, values: HashMap<Value, AffineExpr>) {
        self.values = values;
    }

    /// Assumes that forms are not negative, until `forget` removes the assumptions.
    pub fn assume(&mut self, facts: Vec<AffineExpr>) {
        self.facts.extend(facts);
    }

    /// Removes the last `count` assumptions.
    pub fn forget(&mut self, count: usize) {
        self.facts.truncate(self.facts.len().saturating_sub(count));
    }

    /// Returns the linear form of an integer, or `None` if the integer is not linear in counters.
    pub fn linear(&self, datum: &Datum) -> Option<AffineExpr> {
        match datum {
            Datum::Static(number) => Some(AffineExpr::number(*number)),
            Datum::Tensor(value) => self.values.get(value).cloned(),
            _ => None,
        }
    }

    /// Returns the linear form of a sum, difference or product.
    pub fn linear_of(&self, op: BinaryOp, left: &Datum, right: &Datum) -> Option<AffineExpr> {
        self.linear(left)?.combined(op, &self.linear(right)?)
    }

    /// Returns the smallest and the largest value of a graph value that is linear in counters.
    pub fn ends_of(&self, value: Value) -> Option<(i64, i64)> {
        self.ends(self.values.get(&value)?)
    }

    /// Returns the smallest and the largest value of a form. A fact is not negative. A lower bound
    /// of the form minus a fact is therefore also a lower bound of the form, and an upper bound of
    /// the form plus a fact is also an upper bound. Each fact and each sum of two facts is tried.
    /// Returns `None` if no value satisfies the facts.
    pub fn ends(&self, form: &AffineExpr) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.extreme(form, false)?, self.extreme(form, true)?);
        let facts = &self.facts[self.facts.len().saturating_sub(MOST_FACTS)..];
        let singles = facts.iter().cloned();
        let pairs = facts.iter().enumerate().flat_map(|(at, one)| {
            let others = facts[..at].iter();
            others.filter_map(|other| one.plus(other, 1))
        });
        for fact in singles.chain(pairs) {
            let below = form.plus(&fact, -1).and_then(|rest| self.extreme(&rest, false));
            let above = form.plus(&fact, 1).and_then(|rest| self.extreme(&rest, true));
            low = below.map_or(low, |below| low.max(below));
            high = above.map_or(high, |above| high.min(above));
        }
        (low <= high).then_some((low, high))
    }

    /// Returns the smallest or the largest value of a form. A linear form has its smallest and its
    /// largest value where each counter is at an end of its range. The counters are replaced by
    /// these ends, starting with the innermost one.
    fn extreme(&self, form: &AffineExpr, largest: bool) -> Option<i64> {
        let mut form = form.clone();
        while let Some((counter, factor)) = form.factors.pop_last() {
            let [first, last] = self.counters.get(counter)?;
            let end = if (factor > 0) == largest { last } else { first };
            form = form.plus(end, factor)?;
        }
        Some(form.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(constant: i64, factors: &[(usize, i64)]) -> AffineExpr {
        AffineExpr {
            constant,
            factors: factors.iter().copied().collect(),
        }
    }

    #[test]
    fn ends_account_for_correlated_counters() {
        // The counters are `t` in `3..100` and `u` in `t - 3..t`.
        let counters = vec![[of(3, &[]), of(99, &[])], [of(-3, &[(0, 1)]), of(-1, &[(0, 1)])]];
        let forms = Forms {
            counters,
            ..Forms::default()
        };
        assert_eq!(forms.ends(&of(-1, &[(0, 1), (1, -1)])), Some((0, 2)));
        assert_eq!(forms.ends(&of(3, &[(0, -1), (1, 1)])), Some((0, 2)));
        assert_eq!(forms.ends(&of(0, &[(1, 1)])), Some((0, 98)));
        assert_eq!(forms.ends(&of(0, &[(0, 2), (1, -1)])), Some((4, 102)));
        assert_eq!(forms.ends(&of(7, &[])), Some((7, 7)));
    }
}

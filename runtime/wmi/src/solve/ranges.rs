//! The known bounds of rows in a state, which are the constraints that are known to hold.

use crate::problem::form::{LinearDirection, LinearForm};
use crate::rational::Rational;
use dashu_base::Signed;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// The bounds of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Range {
    /// The lower bound of the row; `None` if it is not known.
    pub lower: Option<Rational>,
    /// The upper bound of the row; `None` if it is not known.
    pub upper: Option<Rational>,
}

/// The index of a row in [`Rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RowId(u32);

/// All rows that occurred so far. Each row is stored once.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Rc<LinearDirection>>,
    ids: HashMap<Rc<LinearDirection>, RowId>,
}

impl Rows {
    /// Returns the index of a row. The row is added if it is new.
    pub(super) fn id(&mut self, row: &LinearDirection) -> RowId {
        if let Some(id) = self.ids.get(row) {
            return *id;
        }
        let id = RowId(self.rows.len() as u32);
        let row = Rc::new(row.clone());
        self.rows.push(Rc::clone(&row));
        self.ids.insert(row, id);
        id
    }

    /// Returns the index of a row if it was added before.
    fn known(&self, row: &LinearDirection) -> Option<RowId> {
        self.ids.get(row).copied()
    }

    /// Returns the row with this index.
    pub(super) fn row(&self, id: RowId) -> &LinearDirection {
        &self.rows[id.0 as usize]
    }
}

/// The constraints of a state: the range of each row that has bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ranges(BTreeMap<RowId, Range>);

impl Ranges {
    /// Adds the constraint `row <= bound`, or `row >= bound` if `is_lower` is true. Returns false if the set that satisfies all constraints
    /// certainly has volume zero.
    pub(super) fn add(&mut self, id: RowId, bound: Rational, is_lower: bool) -> bool {
        let range = self.0.entry(id).or_default();
        let (side, tighter): (_, fn(&Rational, &Rational) -> bool) = match is_lower {
            true => (&mut range.lower, |new, old| new > old),
            false => (&mut range.upper, |new, old| new < old),
        };
        if side.as_ref().is_none_or(|old| tighter(&bound, old)) {
            *side = Some(bound);
        }
        range
            .lower
            .as_ref()
            .zip(range.upper.as_ref())
            .is_none_or(|(lower, upper)| lower < upper)
    }

    /// Returns all constraints as pairs of a row and its range.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RowId, &Range)> {
        self.0.iter().map(|(id, range)| (*id, range))
    }

    /// Returns the constraints on the rows that `fits` accepts.
    pub(super) fn only(&self, fits: impl Fn(RowId) -> bool) -> Ranges {
        let entries = self.0.iter().filter(|(id, _)| fits(**id));
        Ranges(entries.map(|(id, range)| (*id, range.clone())).collect())
    }

    /// Returns true if `row <= bound` holds everywhere, and false if it holds nowhere or only on a boundary. Returns `None` if the bounds of
    /// the row and of its variables do not decide the inequality.
    pub(super) fn truth(&self, rows: &Rows, row: &LinearDirection, bound: &Rational) -> Option<bool> {
        let decided = |lower: Option<&Rational>, upper: Option<&Rational>| {
            if upper.is_some_and(|upper| upper <= bound) {
                return Some(true);
            }
            lower.is_some_and(|lower| lower >= bound).then_some(false)
        };
        let own = rows.known(row).and_then(|id| self.0.get(&id));
        let known = own.and_then(|range| decided(range.lower.as_ref(), range.upper.as_ref()));
        if known.is_some() || row.as_variable().is_some() {
            return known;
        }
        let lower = self.extreme(rows, row, false);
        let upper = self.extreme(rows, row, true);
        decided(lower.as_ref(), upper.as_ref())
    }

    /// Returns the largest or smallest value that a row can have under the bounds of its variables.
    fn extreme(&self, rows: &Rows, row: &LinearDirection, largest: bool) -> Option<Rational> {
        row.entries()
            .iter()
            .try_fold(Rational::ZERO, |sum, (variable, coefficient)| {
                let range = self.of_variable(rows, *variable)?;
                let bound = match coefficient.is_positive() == largest {
                    true => range.upper.as_ref()?,
                    false => range.lower.as_ref()?,
                };
                Some(sum + coefficient * bound)
            })
    }

    /// Returns the range of a variable; `None` if it does not have bounds.
    pub(super) fn of_variable(&self, rows: &Rows, variable: usize) -> Option<&Range> {
        self.0.get(&rows.known(&LinearDirection::variable(variable))?)
    }

    /// Returns how many other variables occur together with this variable in some constraint.
    pub(super) fn neighbours(&self, rows: &Rows, variable: usize) -> usize {
        let mine = self.0.keys().map(|id| rows.row(*id));
        let mine = mine.filter(|row| row.coefficient(variable).is_some());
        let others: BTreeSet<usize> = mine
            .flat_map(|row| row.entries().iter().map(|entry| entry.0))
            .collect();
        others.len().saturating_sub(1)
    }

    /// Returns the lower and the upper bounds of a variable, as linear forms in the other variables.
    pub(super) fn around(&self, rows: &Rows, variable: usize) -> (Vec<LinearForm>, Vec<LinearForm>) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (id, range) in &self.0 {
            let row = rows.row(*id);
            let Some(coefficient) = row.coefficient(variable) else {
                continue;
            };
            let inverse = Rational::ONE / coefficient;
            let others = row.entries().iter().filter(|(other, _)| *other != variable);
            let others = others
                .map(|(other, factor)| (*other, -factor * &inverse))
                .collect();
            let form = |bound: &Rational, coefficients: &Vec<_>| LinearForm {
                constant: bound * &inverse,
                coefficients: Vec::clone(coefficients),
            };
            let others: Vec<(usize, Rational)> = others;
            let from_below = range.lower.as_ref().map(|bound| form(bound, &others));
            let from_above = range.upper.as_ref().map(|bound| form(bound, &others));
            let (from_below, from_above) = match coefficient.is_positive() {
                true => (from_below, from_above),
                false => (from_above, from_below),
            };
            lower.extend(from_below);
            upper.extend(from_above);
        }
        (lower, upper)
    }
}

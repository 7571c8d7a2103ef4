//! Finds the deepest point of a polytope by the simplex method. The arithmetic is floating point or exact.

use crate::rational::Rational;
use dashu_base::{Abs, Signed};

/// A number type for the simplex method.
pub(crate) trait Field: Clone + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    /// True if the arithmetic is exact. In exact arithmetic, the method stops at the first interior point, and the choice of pivots must prevent
    /// cycles.
    const EXACT: bool;
    /// Returns the sign as -1, 0 or 1. The result is 0 if the number may be 0 up to rounding errors.
    fn sign(&self) -> i32;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn over(&self, other: &Self) -> Self;
    fn magnitude(&self) -> Self;
}

impl Field for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const EXACT: bool = false;

    fn sign(&self) -> i32 {
        i32::from(*self > 1e-11) - i32::from(*self < -1e-11)
    }

    fn minus(&self, other: &f64) -> f64 {
        self - other
    }

    fn times(&self, other: &f64) -> f64 {
        self * other
    }

    fn over(&self, other: &f64) -> f64 {
        self / other
    }

    fn magnitude(&self) -> f64 {
        self.abs()
    }
}

impl Field for Rational {
    const ZERO: Rational = Rational::ZERO;
    const ONE: Rational = Rational::ONE;
    const EXACT: bool = true;

    fn sign(&self) -> i32 {
        match (self.is_zero(), self.is_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn minus(&self, other: &Rational) -> Rational {
        self - other
    }

    fn times(&self, other: &Rational) -> Rational {
        if self.is_zero() || other.is_zero() {
            Rational::ZERO
        } else {
            self * other
        }
    }

    fn over(&self, other: &Rational) -> Rational {
        self / other
    }

    fn magnitude(&self) -> Rational {
        self.clone().abs()
    }
}

/// The deepest point of a polytope: a point whose smallest margin to a row is as large as possible.
#[derive(Clone, Debug)]
pub(crate) struct Deepest<T> {
    /// The largest `t <= 1` such that `coefficients . x + t <= bound` for each row. In exact arithmetic, the margin may be any positive `t`
    /// that satisfies these inequalities.
    pub margin: T,
    /// A point with this margin.
    pub point: Vec<T>,
    /// The multipliers of the rows, none of which is negative. If the margin is negative, the rows times their multipliers add up to
    /// `0 . x <= margin` (Farkas).
    pub multipliers: Vec<T>,
}

/// Finds the deepest point of the polytope `coefficients . x <= bound`, where `rows` holds the pairs `(coefficients, bound)`. The polytope has
/// `dimension` variables without sign constraints. Returns `None` if the method did not converge in floating point.
///
/// Uses the primal simplex method with dictionaries (Chvatal, Linear Programming, 1983, chapters 2 and 3). The margin is the artificial variable
/// of the first phase. In exact arithmetic, Bland's rule guarantees that the method terminates.
pub(crate) fn deepest<T: Field>(rows: &[(Vec<T>, T)], dimension: usize) -> Option<Deepest<T>> {
    let mut dictionary = Dictionary::new(rows, dimension);
    let margin_column = dimension;
    let mut margin_row = dictionary.lowest();
    dictionary.pivot(margin_row, margin_column);
    let limit = 50 + 10 * (rows.len() + dimension);
    for step in 0.. {
        if T::EXACT && dictionary.constant(margin_row).sign() > 0 {
            break;
        }
        if !T::EXACT && step > limit {
            return None;
        }
        let Some(entering) = dictionary.entering(margin_row) else {
            break;
        };
        let leaving = dictionary.leaving(entering, margin_row)?;
        dictionary.pivot(leaving, entering);
        debug_assert!(leaving != margin_row);
        margin_row = dictionary.row_of_margin();
    }
    Some(dictionary.read(margin_row, rows.len()))
}

/// A dictionary of the simplex method. The variables have indices in this order: the coordinates, the slacks of the rows, the slack of `t <= 1`,
/// and `t`.
struct Dictionary<T> {
    /// The number of coordinates.
    dimension: usize,
    /// The index of the variable `t`, the margin.
    margin: usize,
    /// The basic variables, one per row. Each basic variable is expressed as a linear form in the nonbasic variables.
    basic: Vec<usize>,
    /// The nonbasic variables, one per column. They are zero in the current solution.
    free: Vec<usize>,
    /// The entries of each row: one coefficient per column, then the constant.
    entries: Vec<Vec<T>>,
}

impl<T: Field> Dictionary<T> {
    /// Creates a dictionary that expresses the slacks by the coordinates and the margin.
    fn new(rows: &[(Vec<T>, T)], dimension: usize) -> Dictionary<T> {
        let margin = dimension + rows.len() + 1;
        let less_one = || T::ZERO.minus(&T::ONE);
        let slack = |(coefficients, bound): &(Vec<T>, T)| {
            let negated = coefficients.iter().map(|c| T::ZERO.minus(c));
            negated.chain([less_one(), bound.clone()]).collect()
        };
        let cap: Vec<T> = vec![T::ZERO; dimension]
            .into_iter()
            .chain([less_one(), T::ONE])
            .collect();
        Dictionary {
            dimension,
            margin,
            basic: (dimension..margin).collect(),
            free: (0..dimension).chain([margin]).collect(),
            entries: rows.iter().map(slack).chain([cap]).collect(),
        }
    }

    fn constant(&self, row: usize) -> &T {
        &self.entries[row][self.free.len()]
    }

    /// Returns the row that has the smallest constant.
    fn lowest(&self) -> usize {
        (1..self.entries.len()).fold(0, |lowest, row| {
            if self.constant(row) < self.constant(lowest) {
                row
            } else {
                lowest
            }
        })
    }

    fn row_of_margin(&self) -> usize {
        self.basic
            .iter()
            .position(|&variable| variable == self.margin)
            .unwrap_or_else(|| unreachable!("the margin never leaves the basis"))
    }

    /// Returns a column whose variable can change such that the margin increases. A coordinate may increase or decrease, and any other variable
    /// may only increase.
    fn entering(&self, margin_row: usize) -> Option<usize> {
        let rate = |column: usize| &self.entries[margin_row][column];
        let improves = |column: &usize| match rate(*column).sign() {
            0 => false,
            sign => sign > 0 || self.free[*column] < self.dimension,
        };
        let candidates = (0..self.free.len()).filter(improves);
        if T::EXACT {
            return candidates.min_by_key(|&column| self.free[column]);
        }
        candidates.reduce(|best, column| {
            if rate(column).magnitude() > rate(best).magnitude() {
                column
            } else {
                best
            }
        })
    }

    /// Changes the variable of `column` such that the margin increases. Returns the row of the slack that reaches zero first.
    fn leaving(&self, column: usize, margin_row: usize) -> Option<usize> {
        let direction = self.entries[margin_row][column].sign();
        let mut best: Option<(usize, T)> = None;
        for (row, entries) in self.entries.iter().enumerate() {
            let variable = self.basic[row];
            if variable < self.dimension || variable == self.margin || entries[column].sign() * direction >= 0
            {
                continue;
            }
            let reach = self.constant(row).over(&entries[column]).magnitude();
            let better = best.as_ref().is_none_or(|(other, least)| {
                reach < *least || (reach == *least && self.preferred(row, *other, column))
            });
            if better {
                best = Some((row, reach));
            }
        }
        best.map(|(row, _)| row)
    }

    /// If the slacks of two rows reach zero at the same time, returns whether `row` leaves the basis rather than `other`.
    fn preferred(&self, row: usize, other: usize, column: usize) -> bool {
        if T::EXACT {
            return self.basic[row] < self.basic[other];
        }
        self.entries[row][column].magnitude() > self.entries[other][column].magnitude()
    }

    /// Exchanges the basic variable of `row` with the nonbasic variable of `column`.
    fn pivot(&mut self, row: usize, column: usize) {
        let pivot = self.entries[row][column].clone();
        // Solving y = c x + rest for x gives x = (1/c) y - rest/c.
        let solved: Vec<T> = (0..=self.free.len())
            .map(|place| match place == column {
                true => T::ONE.over(&pivot),
                false => T::ZERO.minus(&self.entries[row][place]).over(&pivot),
            })
            .collect();
        for (_, entries) in self
            .entries
            .iter_mut()
            .enumerate()
            .filter(|(other, _)| *other != row)
        {
            let factor = std::mem::replace(&mut entries[column], T::ZERO);
            if factor == T::ZERO {
                continue;
            }
            let negated = T::ZERO.minus(&factor);
            for (entry, solved) in entries
                .iter_mut()
                .zip(&solved)
                .filter(|(_, solved)| **solved != T::ZERO)
            {
                *entry = entry.minus(&negated.times(solved));
            }
        }
        self.entries[row] = solved;
        std::mem::swap(&mut self.basic[row], &mut self.free[column]);
    }

    /// Returns the current solution of the dictionary.
    fn read(&self, margin_row: usize, rows: usize) -> Deepest<T> {
        let mut point = vec![T::ZERO; self.dimension];
        for (row, &variable) in self
            .basic
            .iter()
            .enumerate()
            .filter(|(_, variable)| **variable < self.dimension)
        {
            point[variable] = self.constant(row).clone();
        }
        let mut multipliers = vec![T::ZERO; rows];
        for (column, &variable) in self.free.iter().enumerate() {
            if (self.dimension..self.dimension + rows).contains(&variable) {
                multipliers[variable - self.dimension] = T::ZERO.minus(&self.entries[margin_row][column]);
            }
        }
        Deepest {
            margin: self.constant(margin_row).clone(),
            point,
            multipliers,
        }
    }
}

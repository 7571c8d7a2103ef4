//! Sets of linearly independent rows of integers.

use crate::rational::{Rational, make_primitive};
use dashu_base::{Abs, Gcd};
use dashu_int::IBig;
use std::rc::Rc;

/// Linearly independent rows in echelon form. In the column of a row's first non-zero entry, all later rows have zeros. Clones
/// share the memory of the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echelon(Vec<Rc<Row>>);

#[derive(Debug)]
struct Row {
    /// The column of the first non-zero entry of the row.
    pivot: usize,
    entries: Vec<IBig>,
}

/// A row from which multiples of the rows of an [`Echelon`] have been subtracted, so that its entries in the pivot columns of the
/// echelon are zero.
pub(crate) struct Reduced {
    /// The column of the first non-zero entry of the reduced row.
    pivot: usize,
    /// The entries of the reduced row, multiplied by `scale`.
    entries: Vec<IBig>,
    scale: IBig,
}

impl Reduced {
    /// Returns the magnitude of the first non-zero entry of the reduced row.
    pub fn leading(&self) -> Rational {
        Rational::from_parts_signed(self.entries[self.pivot].clone(), self.scale.clone()).abs()
    }
}

impl Echelon {
    /// Reduces `row` by the rows of the echelon. Returns `None` if `row` is a linear combination of these rows.
    pub fn reduce(&self, row: &[IBig]) -> Option<Reduced> {
        let mut entries = row.to_vec();
        let mut scale = IBig::ONE;
        for Row {
            pivot,
            entries: basis,
        } in self.0.iter().map(Rc::as_ref)
        {
            if entries[*pivot].is_zero() {
                continue;
            }
            let common = IBig::from((&entries[*pivot]).gcd(&basis[*pivot]));
            let factor = &entries[*pivot] / &common;
            let size = &basis[*pivot] / &common;
            if !size.is_one() {
                entries
                    .iter_mut()
                    .filter(|entry| !entry.is_zero())
                    .for_each(|entry| *entry *= &size);
                scale *= &size;
            }
            let changed = entries
                .iter_mut()
                .zip(basis)
                .filter(|(_, other)| !other.is_zero());
            changed.for_each(|(entry, other)| *entry -= &factor * other);
        }
        let pivot = entries.iter().position(|entry| !entry.is_zero())?;
        Some(Reduced {
            pivot,
            entries,
            scale,
        })
    }

    /// Returns the echelon with the reduced row added.
    pub fn with(&self, reduced: Reduced) -> Echelon {
        let Reduced {
            pivot, mut entries, ..
        } = reduced;
        make_primitive(&mut entries);
        let mut rows = self.0.clone();
        let place = rows.partition_point(|row| row.pivot < pivot);
        rows.insert(place, Rc::new(Row { pivot, entries }));
        Echelon(rows)
    }

    /// Returns a non-zero vector whose scalar product with every row is zero. The number of rows must be less than `dimension`.
    pub fn kernel_vector(&self, dimension: usize) -> Vec<Rational> {
        let is_open = |column: &usize| self.0.iter().all(|row| row.pivot != *column);
        let Some(open) = (0..dimension).find(is_open) else {
            unreachable!("fewer independent rows than columns leave a column without a pivot");
        };
        let mut vector = vec![Rational::ZERO; dimension];
        vector[open] = Rational::ONE;
        for Row { pivot, entries } in self.0.iter().rev().map(Rc::as_ref) {
            let rest = entries
                .iter()
                .zip(&vector)
                .fold(Rational::ZERO, |sum, (c, x)| sum + x * c);
            vector[*pivot] = -rest / &entries[*pivot];
        }
        vector
    }
}

//! An orthogonal basis of columns. The basis is used to compute the part of a column that the other columns do not
//! explain.

/// If a column is a linear combination of other columns, its remainder consists of rounding errors. The squared length of the remainder is then at
/// most this fraction of the squared length of the column.
const ROUNDING: f64 = 1e-12;

/// A set of orthogonal columns.
#[derive(Default)]
pub(super) struct Basis {
    columns: Vec<Vec<f64>>,
}

impl Basis {
    /// Returns the number of columns in the basis.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Adds the part of a column that is orthogonal to the basis. If the basis determines the column, nothing is added.
    pub fn add(&mut self, column: Vec<f64>) {
        let size = dot(&column, &column);
        // The projections are subtracted twice. After one pass, the remainder of a nearly dependent column is not orthogonal to the basis.
        let rest = self.rest(self.rest(column));
        if dot(&rest, &rest) > ROUNDING * size {
            self.columns.push(rest);
        }
    }

    /// Returns the part of a column that is orthogonal to the basis.
    pub fn rest(&self, mut column: Vec<f64>) -> Vec<f64> {
        for other in &self.columns {
            let factor = dot(&column, other) / dot(other, other);
            column
                .iter_mut()
                .zip(other)
                .for_each(|(value, other)| *value -= factor * other);
        }
        column
    }
}

/// Returns the inner product of two columns.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

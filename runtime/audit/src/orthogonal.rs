//! An orthogonal basis of columns, for computing the component of a column that other columns do not explain.

/// If a column is a linear combination of other columns, its remainder consists of rounding errors. The squared length of this remainder is at most
/// this fraction of the squared length of the column.
const ROUNDING: f64 = 1e-12;

/// Orthogonal columns.
#[derive(Default)]
pub(super) struct Basis {
    columns: Vec<Vec<f64>>,
}

impl Basis {
    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Adds the part of a column that is orthogonal to the other columns, unless these determine the column.
    pub fn add(&mut self, column: Vec<f64>) {
        let size = dot(&column, &column);
        // The projections are subtracted in two passes, because the remainder of nearly dependent columns is not
        // orthogonal after one pass.
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

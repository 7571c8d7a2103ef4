//! Computes the eigenvalues of a curvature relative to a prior. They make the search for a factor on the prior precision cheap.

use super::kronecker::Coordinates;
use super::spectrum::{eigenvalues, eigenvalues_of_semidefinite};
use super::whole;
use crate::curvature::{Curvature, KroneckerBlock, NotPositive, Prior, PriorRoot};
use crate::matrix::Matrix;
use bnnc_kernels::pool::Pool;

/// Returns the eigenvalues `mu` of `P0^-1/2 H P0^-1/2`. This matrix is the curvature `H` in coordinates that make the prior standard normal. At
/// the temperature `T`, with the prior precision multiplied by `t`, the posterior precision in these coordinates has the eigenvalues
/// `mu / T + t`. The eigenvalues are not sorted, and eigenvalues of zero may be left out.
///
/// # Errors
/// Fails if the prior is not positive definite.
pub fn whitened(curvature: &Curvature, prior: &Prior, pool: &Pool) -> Result<Vec<f64>, NotPositive> {
    if let Some((gram, prior)) = whole(curvature, prior, pool) {
        return whitened(&Curvature::Full(gram), &prior, pool);
    }
    match curvature {
        Curvature::Full(matrix) => eigenvalues(&between(&prior.root(pool)?, matrix, pool)),
        Curvature::Diagonal(values) => {
            NotPositive::check(&prior.precision)?;
            let pairs = values.iter().zip(&prior.precision);
            Ok(pairs.map(|(value, prior)| value / prior).collect())
        }
        Curvature::Kronecker { blocks, .. } => of_blocks(blocks, prior, pool),
        Curvature::LowRank(pairs) => of_rows(&pairs.finite_rows()?, prior, pool),
        Curvature::Functional(rows) => of_rows(rows, prior, pool),
    }
}

/// Returns `R' H R`, where `R` is the root of the prior covariance.
fn between(root: &PriorRoot, matrix: &Matrix, pool: &Pool) -> Matrix {
    let mut whitened = matrix.clone();
    root.forward(&mut whitened, pool);
    whitened = whitened.transposed();
    root.forward(&mut whitened, pool);
    whitened
}

fn of_blocks(blocks: &[KroneckerBlock], prior: &Prior, pool: &Pool) -> Result<Vec<f64>, NotPositive> {
    NotPositive::check(&prior.precision)?;
    let mut values = Vec::with_capacity(prior.precision.len());
    for block in blocks {
        let Coordinates { curvature, prior, .. } = Coordinates::new(block, prior, pool)?;
        let pairs = curvature.iter().zip(&prior);
        values.extend(pairs.map(|(curvature, prior)| curvature / prior));
    }
    Ok(values)
}

/// Returns the eigenvalues of `A'A` for `A = G P0^-1/2`. The eigenvalues are computed from the product `A A'`.
fn of_rows(rows: &Matrix, prior: &Prior, pool: &Pool) -> Result<Vec<f64>, NotPositive> {
    NotPositive::check(&prior.precision)?;
    eigenvalues_of_semidefinite(&rows.scaled_outer(&prior.scales(), pool))
}

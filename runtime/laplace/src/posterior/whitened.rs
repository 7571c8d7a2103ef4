//! One curvature under all multiples of a prior: an eigendecomposition that makes the search for a factor cheap.

use super::kronecker::{Coordinates, Kronecker};
use super::spectrum::{Spectrum, eigenvalues};
use super::{Root, products_within, whole};
use crate::curvature::{Block, Curvature, NotPositive, Prior, PriorRoot};
use crate::matrix::Matrix;
use bnnc_kernels::pool::Pool;

/// The curvature in coordinates in which the prior is standard, `P0^-1/2 H P0^-1/2`, by its eigenpairs. With a factor `t` on the precision
/// of the prior and a temperature `T`, the precision there is diagonal: `mu / T + t`.
pub struct Whitened {
    /// The eigenvalues `mu`; those of the other [`Whitened::elements`] are zero. Not sorted.
    pub values: Vec<f64>,
    /// `D`.
    pub elements: usize,
    basis: Basis,
}

/// How Jacobians get into the coordinates of the eigenvalues.
enum Basis {
    /// First that of the prior, then eigenvectors, one in each row: as many as elements, or the others have zero eigenvalues.
    Vectors(PriorRoot, Matrix),
    /// Standard deviations of the prior.
    Diagonal(Vec<f64>),
    /// Blocks with the standard deviations of the prior.
    Kronecker(Kronecker),
}

/// Jacobians in the coordinates of a [`Whitened`].
#[derive(Clone, Debug, PartialEq)]
pub struct Rotated {
    /// `[rows * columns, values]`.
    coordinates: Matrix,
    columns: usize,
    /// Products within rows `[rows, columns, columns]` of what no coordinate has, where there are fewer coordinates than elements.
    rest: Option<Vec<f64>>,
}

impl Whitened {
    /// See [`Curvature::whitened`].
    pub(crate) fn new(curvature: &Curvature, prior: &Prior, pool: &Pool) -> Result<Whitened, NotPositive> {
        if let Some((gram, prior)) = whole(curvature, prior, pool) {
            return Whitened::new(&Curvature::Full(gram), &prior, pool);
        }
        let elements = curvature.elements();
        let (values, basis) = match curvature {
            Curvature::Full(matrix) => {
                let root = prior.root(pool)?;
                let Spectrum { values, vectors } = Spectrum::new(&between(&root, matrix, pool))?;
                (values, Basis::Vectors(root, vectors))
            }
            Curvature::Diagonal(values) => {
                NotPositive::check(&prior.precision)?;
                let pairs = values.iter().zip(&prior.precision);
                (
                    pairs.map(|(value, prior)| value / prior).collect(),
                    Basis::Diagonal(prior.scales()),
                )
            }
            Curvature::Kronecker { blocks, .. } => kronecker(blocks, prior, pool)?,
            Curvature::LowRank(pairs) => of_rows(pairs.finite_rows()?, prior, pool)?,
            Curvature::Functional(rows) => of_rows(rows.clone(), prior, pool)?,
        };
        Ok(Whitened {
            values,
            elements,
            basis,
        })
    }

    /// The eigenvalues alone, which cost a fraction of the eigenvectors of a full curvature.
    ///
    /// # Errors
    /// Where the prior is not positive definite.
    pub fn values_of(curvature: &Curvature, prior: &Prior, pool: &Pool) -> Result<Vec<f64>, NotPositive> {
        if let Some((gram, prior)) = whole(curvature, prior, pool) {
            return Whitened::values_of(&Curvature::Full(gram), &prior, pool);
        }
        match curvature {
            Curvature::Full(matrix) => eigenvalues(&between(&prior.root(pool)?, matrix, pool)),
            _ => Ok(Whitened::new(curvature, prior, pool)?.values),
        }
    }

    /// The log determinant of `P` over that of the precision of the prior, with a factor on that.
    ///
    /// # Errors
    /// Where `P` is not positive definite.
    pub fn log_determinant_ratio(&self, factor: f64, temperature: f64) -> Result<f64, NotPositive> {
        self.check(factor, temperature)?;
        let ratios = self
            .values
            .iter()
            .map(|value| (value / (temperature * factor)).ln_1p());
        Ok(ratios.sum())
    }

    /// Brings Jacobians `[rows * columns, D]` into the coordinates.
    pub fn rotate(&self, jacobian: &Matrix, columns: usize, pool: &Pool) -> Rotated {
        let mut rows = jacobian.clone();
        let mut rest = None;
        let coordinates = match &self.basis {
            Basis::Vectors(root, vectors) => {
                root.forward(&mut rows, pool);
                let coordinates = rows.product_transposed(vectors, pool);
                if vectors.rows < self.elements {
                    let within = coordinates.product(vectors, pool);
                    rows.values
                        .iter_mut()
                        .zip(&within.values)
                        .for_each(|(x, y)| *x -= y);
                    rest = Some(products_within(&rows, columns, |_| 1.0));
                }
                coordinates
            }
            Basis::Diagonal(scales) => {
                rows.scale_columns(scales);
                rows
            }
            Basis::Kronecker(blocks) => blocks.forward(rows, pool),
        };
        Rotated {
            coordinates,
            columns,
            rest,
        }
    }

    /// The covariances `[rows, columns, columns]` of functions, with a factor on the precision of the prior.
    ///
    /// # Errors
    /// Where `P` is not positive definite.
    pub fn covariance(
        &self,
        rotated: &Rotated,
        factor: f64,
        temperature: f64,
    ) -> Result<Vec<f64>, NotPositive> {
        self.check(factor, temperature)?;
        let weights: Vec<f64> = self
            .values
            .iter()
            .map(|value| 1.0 / (value / temperature + factor))
            .collect();
        let mut covariance = products_within(&rotated.coordinates, rotated.columns, |at| weights[at]);
        if let Some(rest) = &rotated.rest {
            covariance
                .iter_mut()
                .zip(rest)
                .for_each(|(sum, rest)| *sum += rest / factor);
        }
        Ok(covariance)
    }

    fn check(&self, factor: f64, temperature: f64) -> Result<(), NotPositive> {
        let least = self.values.iter().fold(f64::INFINITY, |least, value| {
            least.min(value / temperature + factor)
        });
        match least > 0.0 && factor > 0.0 {
            true => Ok(()),
            false => Err(NotPositive {
                element: None,
                value: least.min(factor),
            }),
        }
    }
}

/// `R' H R` for the root `R` of the covariance of the prior.
fn between(root: &PriorRoot, matrix: &Matrix, pool: &Pool) -> Matrix {
    let mut whitened = matrix.clone();
    root.forward(&mut whitened, pool);
    whitened = whitened.transposed();
    root.forward(&mut whitened, pool);
    whitened
}

fn kronecker(blocks: &[Block], prior: &Prior, pool: &Pool) -> Result<(Vec<f64>, Basis), NotPositive> {
    NotPositive::check(&prior.precision)?;
    let mut values = vec![0.0; prior.precision.len()];
    let mut others = prior.scales();
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let Coordinates {
            block: mut part,
            curvature,
            prior,
        } = Coordinates::new(block, prior, pool)?;
        let range = part.start..part.start + part.elements();
        let ratios = curvature
            .iter()
            .zip(&prior)
            .map(|(curvature, prior)| curvature / prior);
        values[range.clone()]
            .iter_mut()
            .zip(ratios)
            .for_each(|(value, ratio)| *value = ratio);
        part.deviations = prior.iter().map(|prior| 1.0 / prior.sqrt()).collect();
        others[range].fill(1.0);
        parts.push(part);
    }
    Ok((
        values,
        Basis::Kronecker(Kronecker {
            others,
            blocks: parts,
        }),
    ))
}

/// The eigenpairs of `A'A` with `A = G P0^-1/2`, by those of `A A'`; the others are zero.
fn of_rows(mut rows: Matrix, prior: &Prior, pool: &Pool) -> Result<(Vec<f64>, Basis), NotPositive> {
    NotPositive::check(&prior.precision)?;
    let scales = prior.scales();
    rows.scale_columns(&scales);
    let spectrum = Spectrum::of_semidefinite(&rows.outer(pool))?;
    let first = spectrum.values.partition_point(|value| *value == 0.0);
    let values = spectrum.values[first..].to_vec();
    let mut vectors = spectrum.vectors.rows_in(first..rows.rows).product(&rows, pool);
    for (row, value) in values.iter().enumerate() {
        let norm = value.sqrt();
        vectors
            .row_mut(row)
            .iter_mut()
            .for_each(|element| *element /= norm);
    }
    Ok((values, Basis::Vectors(PriorRoot::Diagonal(scales), vectors)))
}

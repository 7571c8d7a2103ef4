//! Posteriors whose precision is block-diagonal. Each block is a Kronecker product plus the precision of the prior.
//!
//! Note [Priors in an eigenbasis]. A block has the factors `A = U a U'` and `B = V b V'`. If the prior precision `d` is constant within the block,
//! the block has the precision `(U x V) (a x b / T + d) (U x V)'` (Immer et al. 2021, section 4.2, without damping of factors). If the prior
//! precision varies within the block, `d` is replaced by one value for each eigenvector: the mean of the precisions, weighted by the squared
//! elements of the eigenvector. These values are the diagonal of the prior precision in the eigenbasis.

use super::spectrum::Spectrum;
use super::{Form, GaussianPosterior, Root, RotatedBlock};
use crate::curvature::{KroneckerBlock, NotPositive, Prior};
use crate::matrix::Matrix;
use bnnc_kernels::pool::Pool;

/// A Kronecker-factored posterior. The root `R` of this posterior maps a block to its eigenbasis, and divides each coordinate by the square root
/// of the coordinate's precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Kronecker {
    /// For each element outside all blocks, its prior standard deviation; for each element of a block, the number 1.
    pub others: Vec<f64>,
    pub blocks: Vec<EigenBlock>,
}

/// A block in its eigenbasis. The coordinate with the index `b * first + a` belongs to the Kronecker product of row `a` of `first` and row `b` of
/// `second`. In the formula for the index, `first` means the number of rows of this matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenBlock {
    pub start: usize,
    pub first: Matrix,
    pub second: Matrix,
    /// The posterior standard deviations of the coordinates, `[second, first]`.
    pub deviations: Vec<f64>,
}

/// A block with two values for each coordinate: the eigenvalue of the curvature, and the precision of the prior.
pub struct Coordinates {
    pub block: EigenBlock,
    pub curvature: Vec<f64>,
    pub prior: Vec<f64>,
}

impl Coordinates {
    pub fn new(block: &KroneckerBlock, prior: &Prior, pool: &Pool) -> Result<Coordinates, NotPositive> {
        let [first, second] = block.factors();
        let first = Spectrum::of_semidefinite(first)?;
        let second = Spectrum::of_semidefinite(second)?;
        let products = second
            .values
            .iter()
            .flat_map(|b| first.values.iter().map(move |a| a * b));
        let precision = &prior.precision[block.start..block.start + block.elements()];
        let curvature = products.collect();
        let block = EigenBlock {
            start: block.start,
            first: first.vectors,
            second: second.vectors,
            deviations: Vec::new(),
        };
        let prior = match precision.iter().all(|value| *value == precision[0]) {
            true => precision.to_vec(),
            false => block.mean_prior(precision, pool),
        };
        Ok(Coordinates {
            block,
            curvature,
            prior,
        })
    }
}

impl Kronecker {
    pub fn posterior(
        blocks: &[KroneckerBlock],
        prior: &Prior,
        temperature: f64,
        pool: &Pool,
    ) -> Result<GaussianPosterior, NotPositive> {
        let mut others = prior.scales();
        let mut rest = prior.precision.clone();
        let (mut log_determinant, mut prior_log_determinant) = (0.0, 0.0);
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let range = block.start..block.start + block.elements();
            let Coordinates {
                block: mut part,
                curvature,
                prior,
            } = Coordinates::new(block, prior, pool)?;
            let sums = curvature
                .iter()
                .zip(&prior)
                .map(|(curvature, prior)| curvature / temperature + prior);
            let precision: Vec<f64> = sums.collect();
            if let Err(fault) = NotPositive::check(&precision) {
                return Err(NotPositive {
                    element: None,
                    ..fault
                });
            }
            log_determinant += precision.iter().map(|value| value.ln()).sum::<f64>();
            prior_log_determinant += prior.iter().map(|value| value.ln()).sum::<f64>();
            part.deviations = precision.iter().map(|value| 1.0 / value.sqrt()).collect();
            others[range.clone()].fill(1.0);
            rest[range].fill(1.0);
            parts.push(part);
        }
        NotPositive::check(&rest)?;
        let rest: f64 = rest.iter().map(|value| value.ln()).sum();
        Ok(GaussianPosterior {
            form: Form::Kronecker(Kronecker {
                others,
                blocks: parts,
            }),
            log_determinant: log_determinant + rest,
            prior_log_determinant: prior_log_determinant + rest,
        })
    }
}

impl EigenBlock {
    pub fn elements(&self) -> usize {
        self.first.rows * self.second.rows
    }

    /// Returns the block in its eigenbasis, with variances in the order of the elements.
    pub fn rotated(&self) -> RotatedBlock<'_> {
        let variances = self
            .deviations
            .iter()
            .map(|deviation| deviation * deviation)
            .collect();
        let coordinates = Matrix::new(self.second.rows, self.first.rows, variances);
        RotatedBlock {
            first: &self.first,
            second: &self.second,
            variances: coordinates.transposed().values,
        }
    }

    /// Transforms the diagonal matrix `precision` to the eigenbasis of the block. Returns the diagonal of the result.
    fn mean_prior(&self, precision: &[f64], pool: &Pool) -> Vec<f64> {
        let [first, second] = [&self.first, &self.second].map(squares);
        let elements = Matrix::new(first.rows, second.rows, precision.to_vec());
        // The product [first, second] times second' has the shape [first, b]. Its transpose times first' has the shape [b, a], which is the order
        // of the coordinates.
        let half = elements.product_transposed(&second, pool).transposed();
        half.product_transposed(&first, pool).values
    }

    /// Returns the variances of the elements. Each variance is a sum over the coordinates: the squared element of the eigenvector times the
    /// variance of the coordinate.
    fn variances(&self, pool: &Pool) -> Vec<f64> {
        let [first, second] = [&self.first, &self.second].map(squares);
        let variances = self.deviations.iter().map(|deviation| deviation * deviation);
        let coordinates = Matrix::new(second.rows, first.rows, variances.collect());
        let half = coordinates.product(&first, pool).transposed();
        half.product(&second, pool).values
    }

    /// Maps rows of elements to rows of coordinates. The coordinates are not scaled.
    fn rotate(&self, elements: Matrix, pool: &Pool) -> Matrix {
        let (rows, [first, second]) = (elements.rows, [self.first.rows, self.second.rows]);
        let half = Matrix::new(rows * first, second, elements.values).product_transposed(&self.second, pool);
        let transposed = turn(&half.values, first, second);
        let whole = Matrix::new(rows * second, first, transposed).product_transposed(&self.first, pool);
        Matrix::new(rows, first * second, whole.values)
    }

    /// Maps rows of coordinates back to rows of elements.
    fn rotate_back(&self, coordinates: Matrix, pool: &Pool) -> Matrix {
        let (rows, [first, second]) = (coordinates.rows, [self.first.rows, self.second.rows]);
        let half = Matrix::new(rows * second, first, coordinates.values).product(&self.first, pool);
        let transposed = turn(&half.values, second, first);
        let whole = Matrix::new(rows * first, second, transposed).product(&self.second, pool);
        Matrix::new(rows, first * second, whole.values)
    }
}

/// Returns the transposes of consecutive matrices, each of shape `[rows, columns]`.
fn turn(values: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut transposed = Vec::with_capacity(values.len());
    for matrix in values.chunks_exact(rows * columns) {
        (0..columns)
            .for_each(|column| transposed.extend((0..rows).map(|row| matrix[row * columns + column])));
    }
    transposed
}

fn squares(matrix: &Matrix) -> Matrix {
    let values = matrix.values.iter().map(|value| value * value).collect();
    Matrix::new(matrix.rows, matrix.columns, values)
}

impl Kronecker {
    /// Applies `map` to the columns of each block in all rows, and replaces these columns by the result.
    fn map_blocks(&self, rows: &mut Matrix, map: impl Fn(&EigenBlock, Matrix) -> Matrix) {
        for block in &self.blocks {
            let range = block.start..block.start + block.elements();
            let values = rows.each_row().flat_map(|row| &row[range.clone()]).copied();
            let part = map(block, Matrix::new(rows.rows, range.len(), values.collect()));
            for row in 0..rows.rows {
                rows.row_mut(row)[range.clone()].copy_from_slice(part.row(row));
            }
        }
    }
}

impl Root for Kronecker {
    fn elements(&self) -> usize {
        self.others.len()
    }

    fn noise(&self) -> usize {
        self.others.len()
    }

    fn forward(&self, mut rows: Matrix, pool: &Pool) -> Matrix {
        rows.scale_columns(&self.others);
        self.map_blocks(&mut rows, |block, elements| {
            let mut coordinates = block.rotate(elements, pool);
            coordinates.scale_columns(&block.deviations);
            coordinates
        });
        rows
    }

    fn backward(&self, mut noise: Matrix, pool: &Pool) -> Matrix {
        noise.scale_columns(&self.others);
        self.map_blocks(&mut noise, |block, mut coordinates| {
            coordinates.scale_columns(&block.deviations);
            block.rotate_back(coordinates, pool)
        });
        noise
    }

    fn variances(&self, pool: &Pool) -> Vec<f64> {
        let mut variances: Vec<f64> = self
            .others
            .iter()
            .map(|deviation| deviation * deviation)
            .collect();
        for block in &self.blocks {
            let range = block.start..block.start + block.elements();
            variances[range].copy_from_slice(&block.variances(pool));
        }
        variances
    }
}

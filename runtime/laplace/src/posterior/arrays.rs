//! Represents posteriors by named arrays. The arrays can be stored in files, and the posterior can be rebuilt from
//! them bit for bit.

use super::diagonal::Diagonal;
use super::full::Full;
use super::kronecker::{EigenBlock, Kronecker};
use super::woodbury::Woodbury;
use super::{Cholesky, Form, GaussianPosterior};
use crate::matrix::Matrix;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A named array: its name, its shape, and its elements in row-major order. The elements may be borrowed from a
/// posterior.
pub type PosteriorArray<'a> = (String, Vec<usize>, Cow<'a, [f64]>);

/// The error for arrays that are not a valid posterior, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "not a posterior: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

fn vector<'a>(name: impl Into<String>, values: impl Into<Cow<'a, [f64]>>) -> PosteriorArray<'a> {
    let values = values.into();
    (name.into(), vec![values.len()], values)
}

fn matrix(name: impl Into<String>, matrix: &Matrix) -> PosteriorArray<'_> {
    let shape = vec![matrix.rows, matrix.columns];
    (name.into(), shape, Cow::from(&matrix.values))
}

impl GaussianPosterior {
    /// Returns arrays that represent the whole posterior. The name of each array begins with the name of the form,
    /// except for `log_determinants`.
    pub fn arrays(&self) -> Vec<PosteriorArray<'_>> {
        let mut arrays = match &self.form {
            Form::Full(full) => vec![matrix("full/upper", &full.factor.upper)],
            Form::Diagonal(diagonal) => vec![vector("diagonal/deviations", &diagonal.deviations)],
            Form::Kronecker(kronecker) => {
                let mut arrays = vec![vector("kronecker/others", &kronecker.others)];
                for (number, block) in kronecker.blocks.iter().enumerate() {
                    let name = |part: &str| format!("kronecker/{number}/{part}");
                    arrays.push(vector(name("start"), vec![block.start as f64]));
                    arrays.push(matrix(name("first"), &block.first));
                    arrays.push(matrix(name("second"), &block.second));
                    arrays.push(vector(name("deviations"), &block.deviations));
                }
                arrays
            }
            Form::Woodbury(woodbury) => vec![
                vector("woodbury/scales", &woodbury.scales),
                matrix("woodbury/jacobian", &woodbury.rows),
                matrix("woodbury/upper", &woodbury.factor.upper),
                vector("woodbury/temperature", vec![woodbury.temperature]),
            ],
        };
        let determinants = vec![self.log_determinant, self.prior_log_determinant];
        arrays.push(vector("log_determinants", determinants));
        arrays
    }

    /// Rebuilds a posterior from the arrays that [`GaussianPosterior::arrays`] returned. The arrays may be in any
    /// order, and arrays with other names are ignored.
    ///
    /// # Errors
    /// Fails if an array is missing or has a wrong shape.
    pub fn from_arrays(arrays: &[PosteriorArray<'_>]) -> Result<GaussianPosterior, Malformed> {
        let stored = Stored { arrays };
        let form = if stored.find("full/upper").is_some() {
            let upper = stored.square("full/upper", None)?;
            Form::Full(Full {
                factor: Cholesky::from_upper(upper),
            })
        } else if stored.find("diagonal/deviations").is_some() {
            Form::Diagonal(Diagonal {
                deviations: stored.vector("diagonal/deviations", None)?,
            })
        } else if stored.find("kronecker/others").is_some() {
            Form::Kronecker(stored.kronecker()?)
        } else if stored.find("woodbury/scales").is_some() {
            Form::Woodbury(stored.woodbury()?)
        } else {
            return Err(Malformed("no form is among the names of the arrays".to_owned()));
        };
        let determinants = stored.vector("log_determinants", Some(2))?;
        Ok(GaussianPosterior {
            form,
            log_determinant: determinants[0],
            prior_log_determinant: determinants[1],
        })
    }
}

struct Stored<'a> {
    arrays: &'a [PosteriorArray<'a>],
}

impl Stored<'_> {
    fn find(&self, name: &str) -> Option<&PosteriorArray<'_>> {
        self.arrays.iter().find(|array| array.0 == name)
    }

    /// Returns the array with this name. The shape of the array must be `sizes`, where `None` stands for any size.
    fn array(&self, name: &str, sizes: &[Option<usize>]) -> Result<&PosteriorArray<'_>, Malformed> {
        let array = self
            .find(name)
            .ok_or_else(|| Malformed(format!("`{name}` is missing")))?;
        let (_, shape, values) = array;
        let fits = shape.len() == sizes.len()
            && shape
                .iter()
                .zip(sizes)
                .all(|(size, wanted)| wanted.is_none_or(|wanted| wanted == *size))
            && shape
                .iter()
                .try_fold(1usize, |count, size| count.checked_mul(*size))
                == Some(values.len());
        match fits {
            true => Ok(array),
            false => Err(Malformed(format!(
                "`{name}` has the shape {shape:?} and {} elements",
                values.len()
            ))),
        }
    }

    fn vector(&self, name: &str, size: Option<usize>) -> Result<Vec<f64>, Malformed> {
        Ok(self.array(name, &[size])?.2.to_vec())
    }

    fn matrix(&self, name: &str, sizes: [Option<usize>; 2]) -> Result<Matrix, Malformed> {
        let (_, shape, values) = self.array(name, &sizes)?;
        Ok(Matrix::new(shape[0], shape[1], values.to_vec()))
    }

    fn square(&self, name: &str, size: Option<usize>) -> Result<Matrix, Malformed> {
        let matrix = self.matrix(name, [size, size])?;
        match matrix.rows == matrix.columns {
            true => Ok(matrix),
            false => Err(Malformed(format!("`{name}` is not square"))),
        }
    }

    fn kronecker(&self) -> Result<Kronecker, Malformed> {
        let others = self.vector("kronecker/others", None)?;
        let mut blocks = Vec::new();
        while self.find(&format!("kronecker/{}/start", blocks.len())).is_some() {
            let name = |part: &str| format!("kronecker/{}/{part}", blocks.len());
            let start = self.vector(&name("start"), Some(1))?[0];
            let first = self.square(&name("first"), None)?;
            let second = self.square(&name("second"), None)?;
            let size = first.rows.saturating_mul(second.rows);
            let deviations = self.vector(&name("deviations"), Some(size))?;
            if !(start >= 0.0 && start.fract() == 0.0 && start + size as f64 <= others.len() as f64) {
                return Err(Malformed(format!("`{}` is {start}", name("start"))));
            }
            blocks.push(EigenBlock {
                start: start as usize,
                first,
                second,
                deviations,
            });
        }
        Ok(Kronecker { others, blocks })
    }

    fn woodbury(&self) -> Result<Woodbury, Malformed> {
        let scales = self.vector("woodbury/scales", None)?;
        let rows = self.matrix("woodbury/jacobian", [None, Some(scales.len())])?;
        let upper = self.square("woodbury/upper", Some(rows.rows))?;
        Ok(Woodbury {
            scales,
            rows: Arc::new(rows),
            factor: Cholesky::from_upper(upper),
            temperature: self.vector("woodbury/temperature", Some(1))?[0],
        })
    }
}

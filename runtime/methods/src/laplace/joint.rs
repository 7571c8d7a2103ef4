//! The joint covariance of the outputs of several rows. The weights have a Gaussian distribution,
//! or a mixture of Gaussians.
//!
//! Note [Total covariance]. The covariance of a mixture with equal weights is the sum of two matrices. One is
//! the mean of the covariances of the members, and the other is the covariance of the means of the members. The
//! second matrix is summed member by member: member `m` adds `(m - 1) / m` times the outer product
//! of a vector with itself. The vector is the mean of this member minus the average over the
//! members before it (Welford 1962).

use crate::laplace::gaussian::Gaussian;
use crate::laplace::jacobians::Jacobians;
use crate::laplace::machines::{Evaluator, Pulled};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::Laplace;
use bnnc_core::context::{Context, Stop};
use bnnc_data::{Dataset, Rows};
use bnnc_laplace::matrix::Matrix;

/// Returns the covariance `J P^-1 J'` of the outputs without noise:
/// `[rows * outputs, rows * outputs]`. For a mixture, returns the total covariance.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn covariance(
    members: &[Gaussian],
    programs: (&InferenceBlock, &Laplace),
    rows: &Rows,
    dataset: &Dataset,
    context: &Context,
) -> Result<Matrix, Stop> {
    let mut means = Mean::default();
    let mut total: Option<Matrix> = None;
    for member in members {
        let evaluation = Evaluator::new(programs, &member.values, (rows, false), dataset, context)?;
        let (outputs, own) = of_one(&evaluation, member)?;
        let (away, share) = means.add(&outputs);
        match &mut total {
            None => total = Some(own),
            Some(total) => {
                for (at, from) in away.iter().enumerate() {
                    let sums = total.row_mut(at).iter_mut().zip(own.row(at)).zip(&away);
                    sums.for_each(|((sum, own), away)| *sum += own + share * from * away);
                }
            }
        }
    }
    let mut total = total.unwrap_or_else(|| Matrix::zeros(0, 0));
    total.values.iter_mut().for_each(|sum| *sum /= means.count);
    Ok(total)
}

/// Returns the outputs at the maximum of one member, and the covariance of these outputs.
fn of_one(evaluation: &Evaluator, member: &Gaussian) -> Result<(Vec<f64>, Matrix), Stop> {
    let mut jacobians = Jacobians::new(evaluation, member.which(), Pulled::Identity)?;
    let mut all = Matrix::zeros(0, member.posterior.elements());
    let count = evaluation.rows() * evaluation.outputs();
    all.values.reserve_exact(count * all.columns);
    let mut outputs = Vec::with_capacity(count);
    while let Some(pulls) = jacobians.advance()? {
        outputs.extend(&pulls.block.outputs);
        all.append(pulls.jacobian);
    }
    Ok((outputs, member.posterior.joint(&all, &evaluation.context.pool)))
}

/// The mean of the vectors that have been added so far.
#[derive(Clone, Debug, Default)]
pub struct Mean {
    /// The number of vectors added so far.
    pub count: f64,
    values: Vec<f64>,
}

impl Mean {
    /// Adds a vector to the mean. Returns the difference between the vector and the mean of the
    /// earlier vectors. Also returns a factor: the sum of squares around the new mean grows by this
    /// factor times the squared difference.
    pub fn add(&mut self, values: &[f64]) -> (Vec<f64>, f64) {
        if self.count == 0.0 {
            self.values = values.to_vec();
        }
        let before = self.count;
        self.count += 1.0;
        let away = values.iter().zip(&self.values).map(|(value, mean)| value - mean);
        let away: Vec<f64> = away.collect();
        let means = self.values.iter_mut().zip(&away);
        means.for_each(|(mean, away)| *mean += away / self.count);
        (away, before / self.count)
    }
}

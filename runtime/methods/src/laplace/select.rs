//! The choice of the weights of a subnetwork.

use crate::laplace::curve::{self, Curved};
use crate::laplace::diagnostics::{not_positive, too_few_weights};
use crate::laplace::gaussian::weights;
use crate::laplace::jacobians::{self, Which};
use crate::laplace::machines::Evaluator;
use bnnc_abi::methods::laplace::{Over, Score};
use bnnc_core::context::Stop;
use bnnc_core::diagnostics;
use bnnc_laplace::curvature::Prior;
use bnnc_laplace::posterior::GaussianPosterior;
use bnnc_laplace::select;
use bnnc_math::philox;

/// A function that takes the name of an earlier inference block, and returns the variances of the
/// weights under the posterior of this block.
pub type EarlierVariances<'a> = &'a dyn Fn(&str) -> Result<Vec<f64>, Stop>;

/// The weights that were chosen for a subnetwork.
pub struct Subnetwork {
    /// The indices of the weights of the subnetwork, in ascending order.
    pub index: Vec<usize>,
    /// The Gaussian of all weights, if it was computed to choose the subnetwork.
    pub full: Option<GaussianPosterior>,
}

/// Chooses the random weights. Returns `None` if all weights are random.
///
/// # Errors
/// Fails if the option requests more weights than affect an output, or if a precision that the
/// score needs is not positive definite.
pub fn subnetwork(
    evaluation: &Evaluator,
    prior: &Prior,
    earlier: EarlierVariances<'_>,
) -> Result<Option<Subnetwork>, Stop> {
    let Over::Subnetwork { size, by } = &evaluation.laplace.options.over else {
        return Ok(None);
    };
    let all = jacobians::weights(evaluation);
    let wanted = select::size(*size, all);
    let (alive, _) = jacobians::squares(evaluation, curve::pulled(evaluation))?;
    let temperature = evaluation.laplace.options.temperature;
    let name = &evaluation.infer.name;
    let mut full = None;
    let scores = match by {
        Score::Diagonal => select::diagonal_variances(&alive, &prior.precision, temperature),
        Score::Marginal => {
            let posterior = whole(evaluation, prior)?;
            let variances = posterior.variances(&evaluation.context.pool);
            full = Some(posterior);
            variances
        }
        Score::Magnitude => select::magnitudes(&weights(evaluation.laplace, evaluation.values)),
        Score::Random => {
            let key = philox::key(evaluation.context.seed, &format!("subnetwork/{name}"));
            select::random(key, all)
        }
        Score::Infer(infer) => {
            let variances = earlier(infer)?;
            if variances.len() != all {
                return Err(diagnostics::no_variances(name, infer).into());
            }
            variances
        }
    };
    let index = select::highest(&scores, &alive, wanted);
    let index = index.map_err(|few| too_few_weights(name, few.wanted, few.alive, few.parameters))?;
    Ok(Some(Subnetwork { index, full }))
}

/// Returns the Gaussian of all weights with a full precision matrix.
fn whole(evaluation: &Evaluator, prior: &Prior) -> Result<GaussianPosterior, Stop> {
    let pool = &evaluation.context.pool;
    let Curved { curvature, .. } = curve::full(evaluation, Which::All)?;
    let temperature = evaluation.laplace.options.temperature;
    let posterior = curvature.posterior(prior, temperature, pool);
    posterior.map_err(|failure| not_positive(&evaluation.infer.name, &failure).into())
}

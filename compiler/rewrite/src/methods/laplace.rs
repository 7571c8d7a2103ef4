//! `approximation`: the functions of the weights that a Laplace approximation needs.
//!
//! The outputs `f` are some arguments of the observed distributions: those that depend on the row
//! and on at least one moving site (a site that is not fixed), and those that share a moving site
//! with an argument in `f`. If no argument depends on the row, `f` consists of all arguments that
//! depend on a moving site. Each of these arguments is transformed onto the reals by the bijection of its support. All arguments are then concatenated
//! into one vector. The weights are the sites that affect `f`. All other sites keep their values at
//! the maximum.

pub mod choice;
mod columns;
mod gradient;
mod inputs;
mod jacobian;
pub(super) mod known;
mod kronecker;
pub mod likelihood;
mod lookups;
pub(super) mod outputs;
mod prior;
mod products;
mod rotated;

use super::plan::{self, InferenceProblem, SitePlan};
use super::sample;
use super::task::RewriteError;
use crate::pass::PassContext;
use crate::{kl, pipeline, pipelines};
use bnnc_abi::methods::laplace::{Likelihood, WeightBlock, Weights};
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::dist::Support;
use bnnc_graph::function::Function;
use choice::OverWeights;
use likelihood::ZeroDerivative;
use outputs::LaplaceParts;
use std::sync::Arc;

/// The axis of rows.
const ROWS: Dim = Dim::Symbol(Symbol::Batch);

/// The axis of the cotangents of a row.
const COLUMNS: Dim = Dim::Symbol(Symbol::Columns);

/// Selects the optional programs. They are built in addition to the programs that every
/// approximation needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalPrograms {
    /// Builds Jacobians of all weights.
    pub jacobian: bool,
    /// Builds Jacobians of selected weights.
    pub selected: bool,
    /// Builds the diagonals of `J' J` for the Jacobians `J`.
    pub squares: bool,
    /// Builds the products `J V J'` of the Jacobians `J` with a diagonal matrix `V`.
    pub spread: bool,
    /// Builds Kronecker factors.
    pub factors: bool,
    /// Builds products of vectors with the second derivatives of the likelihood and the prior.
    pub products: bool,
    /// Builds the programs for a run with less memory.
    pub smaller: bool,
}

/// Programs that never store a whole Jacobian. They are used for diagonal precisions, and for
/// subnetworks, whose weights are chosen among all weights.
#[derive(Clone, Debug)]
pub struct SmallerPrograms {
    /// The weights from which a subnetwork is chosen.
    pub weights: Vec<Weights>,
    /// Jacobians of selected weights.
    pub selected: Function,
    /// The diagonals of `J' J`, where `J` is the Jacobian with respect to these weights.
    pub squares: Function,
    /// The diagonals of `J' J`, where `J` is the Jacobian with respect to the weights in the approximation.
    pub diagonal: Function,
    /// The products `J V J'`, where `J` is the Jacobian with respect to the weights in the approximation and `V` is
    /// a diagonal matrix.
    pub spread: Function,
    /// Products of vectors with the second derivative of the likelihood.
    pub products: Option<Function>,
    /// Predictions from draws of the weights.
    pub predict: Function,
    /// The values of the sites, at draws of the weights.
    pub sites: Function,
}

/// The programs of one Laplace approximation. The programs have the ports that
/// `bnnc_abi::methods::laplace::Laplace` declares.
#[derive(Clone, Debug)]
pub struct Approximation {
    /// The approximated weights.
    pub weights: Vec<Weights>,
    /// For each site in `weights`, the arguments of the observed distributions that the site
    /// affects. The names of the arguments have the same form as in `flat`.
    pub moved: Vec<Vec<Arc<str>>>,
    /// The moving states that do not affect `f`, but affect the likelihood of a row directly.
    pub noise: Vec<String>,
    /// A moving site that is linked to a weight by a prior but is not a weight itself.
    /// Either the prior of the weight depends on the site, or the prior of the site depends on the
    /// weight.
    pub tied: Option<Arc<str>>,
    /// The number of scalar parameters that affect `f`.
    pub parameters: usize,
    /// The number of elements of `f`.
    pub outputs: usize,
    /// The form of the likelihood.
    pub likelihood: Likelihood,
    /// The arguments of the observed distributions for which the derivative of the log-likelihood
    /// is zero. The name `0/loc` stands for the argument `loc` of the first distribution.
    pub flat: Vec<(Arc<str>, ZeroDerivative)>,
    /// True if the elements of the weights are independent under the prior.
    pub independent: bool,
    /// The blocks of weights for which `factors` computes Kronecker factors.
    pub blocks: Vec<WeightBlock>,
    /// Computes `f`, the log-likelihood of a row as a function of `f`, and the derivatives of this
    /// log-likelihood.
    pub rows: Function,
    /// The gradient of the log-likelihood.
    pub gradient: Function,
    /// Jacobians of all weights.
    pub jacobian: Option<Function>,
    /// Jacobians of selected weights.
    pub selected: Option<Function>,
    /// The diagonals of `J' J` for the Jacobians `J`.
    pub squares: Option<Function>,
    /// The products `J V J'` of the Jacobians `J` with a diagonal matrix `V`.
    pub spread: Option<Function>,
    /// Kronecker factors.
    pub factors: Option<Function>,
    /// The products `J M J'`, where `J` is the Jacobian and the matrix `M` is diagonal in the
    /// eigenbases of the Kronecker factors.
    pub rotated: Option<Function>,
    /// Products of vectors with the second derivative of the likelihood.
    pub products: Option<Function>,
    /// The log prior and its derivatives.
    pub prior: Function,
    /// Products of vectors with the second derivative of the prior.
    pub prior_products: Option<Function>,
    /// Predictions from `f`.
    pub functions: Function,
    /// Derivatives, with respect to the inputs of a row, of `f` and of its covariance.
    pub inputs: Function,
    /// Predictions from draws of the weights.
    pub predict: Function,
    /// The values of the sites, at draws of the weights.
    pub sites: Function,
    /// The programs for a run with less memory.
    pub smaller: Option<SmallerPrograms>,
}

/// Returns the programs that approximate the posterior of `model`. In `posterior`, every site of
/// the model is a point. The point is either optimised or fixed.
///
/// # Errors
/// Fails if an observation lies inside a loop, if a name is unknown, if an op does not have a
/// derivative, or if none of the sites affects the outputs.
pub fn approximation(
    problem: InferenceProblem<'_>,
    (over, wanted): (OverWeights<'_>, OptionalPrograms),
    context: &mut PassContext,
) -> Result<Approximation, RewriteError> {
    let plans = plan::plans(problem, kl::KlOptions::default(), context)?;
    let all = LaplaceParts::new(problem, &plans)?;
    let parameters = all.weights.iter().map(|plan| plan.elements()).sum();
    let chosen = choice::chosen(&all, over)?;
    let flat = likelihood::flat(&all, context)?;
    let noise = likelihood::noise(&all);
    let parts = LaplaceParts {
        weights: chosen,
        ..all.clone()
    };
    let mut smaller = None;
    if wanted.smaller {
        let network = LaplaceParts {
            weights: choice::chosen(&all, OverWeights::Network)?,
            ..all.clone()
        };
        smaller = Some(self::smaller((&network, &parts), wanted, context)?);
    }
    let drawn: Vec<Arc<str>> = parts.weights.iter().map(|plan| plan.state().into()).collect();
    let (mut blocks, mut factors, mut rotated) = (Vec::new(), None, None);
    if wanted.factors {
        let (found, function) = kronecker::factors(&parts)?;
        rotated = Some(rotated::rotated(&parts, &found)?);
        (blocks, factors) = (found, Some(function));
    }
    let (predict, sites) = sample::at_draws(problem, &plans, &drawn, context)?;
    let mut lowered = |function: Derived<'_>| lowered(function, context);
    let mut some = |wanted: bool, function: Derived<'_>| wanted.then(|| lowered(function)).transpose();
    Ok(Approximation {
        weights: parts.weights.iter().map(|plan| weights(plan)).collect(),
        moved: parts.weights.iter().map(|plan| parts.moved_by(plan)).collect(),
        noise,
        tied: prior::tied(&parts),
        parameters,
        outputs: parts.size,
        likelihood: parts.likelihood(),
        flat,
        independent: prior::independent(&parts),
        blocks,
        jacobian: some(wanted.jacobian, &|| jacobian::jacobian(&parts))?,
        selected: some(wanted.selected, &|| columns::selected(&parts))?,
        squares: some(wanted.squares, &|| columns::squares(&parts))?,
        spread: some(wanted.spread, &|| columns::spread(&parts))?,
        products: some(wanted.products, &|| products::products(&parts))?,
        prior_products: some(!prior::independent(&parts), &|| products::prior_products(&parts))?,
        factors: factors
            .map(|function| lowered(&|| Ok(function.clone())))
            .transpose()?,
        rotated: rotated
            .map(|function| lowered(&|| Ok(function.clone())))
            .transpose()?,
        functions: lowered(&|| Ok(likelihood::functions(&parts)))?,
        inputs: lowered(&|| inputs::inputs(&parts))?,
        rows: lowered(&|| likelihood::rows(&parts))?,
        gradient: lowered(&|| gradient::gradient(&parts))?,
        prior: lowered(&|| prior::prior(&parts))?,
        predict,
        sites,
        smaller,
    })
}

/// A function that builds a program of derivatives.
type Derived<'a> = &'a dyn Fn() -> Result<Function, RewriteError>;

/// Builds one program of derivatives and prepares it for lowering.
fn lowered(function: Derived<'_>, context: &mut PassContext) -> Result<Function, RewriteError> {
    let function = pipeline::step(&pipelines::CURVATURE, context, |_| function())?;
    Ok(pipeline::run(&function, pipelines::BEFORE_LOWERING, context)?)
}

/// Returns `(states.., shared..) -> log_prior`: the log prior of the sites that are weights, plus
/// the log determinants of the Jacobians of their bijections.
///
/// # Errors
/// Returns the errors of [`approximation`].
pub fn log_prior(
    problem: InferenceProblem<'_>,
    over: OverWeights<'_>,
    context: &mut PassContext,
) -> Result<Function, RewriteError> {
    let plans = plan::plans(problem, kl::KlOptions::default(), context)?;
    let all = LaplaceParts::new(problem, &plans)?;
    let weights = choice::chosen(&all, over)?;
    pipeline::step(&pipelines::SCALED_PRIOR, context, |_| {
        Ok(prior::log_prior(&LaplaceParts { weights, ..all }))
    })
}

/// Returns the programs that never store the gradient of a whole row. Some of them cover all weights from which a subnetwork is chosen. The
/// others cover only the weights in the approximation.
fn smaller(
    (all, chosen): (&LaplaceParts<'_>, &LaplaceParts<'_>),
    wanted: OptionalPrograms,
    context: &mut PassContext,
) -> Result<SmallerPrograms, RewriteError> {
    let drawn: Vec<Arc<str>> = all.weights.iter().map(|plan| plan.state().into()).collect();
    let (predict, sites) = sample::at_draws(all.problem, all.plans, &drawn, context)?;
    let mut lowered = |function: Derived<'_>| lowered(function, context);
    Ok(SmallerPrograms {
        weights: all.weights.iter().map(|plan| weights(plan)).collect(),
        selected: lowered(&|| columns::selected(all))?,
        squares: lowered(&|| columns::squares(all))?,
        diagonal: lowered(&|| columns::squares(chosen))?,
        spread: lowered(&|| columns::spread(chosen))?,
        products: (wanted.products)
            .then(|| lowered(&|| products::products(all)))
            .transpose()?,
        predict,
        sites,
    })
}

pub(super) fn weights(plan: &SitePlan<'_>) -> Weights {
    Weights {
        state: plan.state(),
        site: plan.site.name.to_string(),
        elements: plan.elements(),
        real: plan.site.support == Support::Real,
    }
}

//! The passes, and the lists of passes that prepare every function.

use crate::pass::{Pass, PassContext, PassRun};
use crate::{rules, simplify, unroll};
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::spec::{LOWERED, PROBABILISTIC};

/// Expands every `map`, so that all its positions are computed at once.
pub static EXPAND_MAPS: Pass = Pass {
    run: PassRun::Function(|function, _| Ok(unroll::expand_maps(function))),
    ..Pass::required("expand-maps")
};

/// Replaces every `expect` by a mean along a new axis of draws.
pub static EXPAND_EXPECTATIONS: Pass = Pass {
    run: PassRun::Function(|function, _| Ok(unroll::expand_expectations(function))),
    ..Pass::required("expand-expectations")
};

/// Applies the rewrite rules until no rule matches. Also merges equal nodes and removes unused
/// nodes.
pub static SIMPLIFY: Pass = Pass {
    run: PassRun::Function(simplified),
    ..Pass::optional("simplify")
};

/// Replaces ops without kernels by ops with kernels.
pub static EXPAND: Pass = Pass {
    to: LOWERED,
    run: PassRun::Function(|function, _| Ok(simplify::expand(function))),
    ..Pass::required("expand")
};

/// Applies the rewrite rules again after the expansion.
pub static SIMPLIFY_KERNELS: Pass = Pass {
    from: LOWERED,
    to: LOWERED,
    run: PassRun::Function(simplified),
    ..Pass::optional("simplify-kernels")
};

fn simplified(function: &Function, context: &mut PassContext) -> Result<Function, Fault> {
    simplify::simplify_with(function, &context.without, context.trace.as_mut())
}

/// Splits a model into the densities of its parameters, the densities of its observations, and its
/// predictions.
pub static SPLIT: Pass = Pass {
    from: PROBABILISTIC,
    ..Pass::required("split")
};

/// Combines the parameters that share a joint family into one parameter.
pub static GROUP: Pass = Pass::required("group");

/// Computes the positions that rows select along axes. These positions are checked before a row is
/// used.
pub static POSITIONS: Pass = Pass::required("positions");

/// Creates predictions with parameters drawn from their priors.
pub static PRIOR: Pass = Pass::required("prior");

/// Puts random masks on the inputs of layers.
pub static DROPOUT: Pass = Pass::required("dropout");

/// Rewrites the log likelihood for layers with their own gradient estimator: local
/// reparameterisation, Flipout, or integration.
pub static ESTIMATORS: Pass = Pass::required("estimators");

/// Chooses how to compute the KL divergence from each prior: in closed form if a closed form
/// exists, otherwise from draws. `kl = monte_carlo` disables closed forms for one inference run.
pub static EXACT_KL: Pass = Pass::optional("exact-kl");

/// Adds up the KL divergences of all parameters.
pub static KL: Pass = Pass::required("kl");

/// Combines log likelihood and KL divergence into a loss.
pub static LOSS: Pass = Pass::required("loss");

/// Computes the log prior and the log likelihoods at a position. The parameters in `non_centered`
/// use the non-centred parameterisation.
pub static NONCENTRE: Pass = Pass::optional("noncentre");

/// Adds the log likelihood of all rows to the log prior.
pub static LOG_DENSITY: Pass = Pass::required("log-density");

/// Separates the values that stay constant while a sampler moves, so that they are computed only
/// once.
pub static HOIST: Pass = Pass::optional("hoist");

/// Differentiates a loss or a log density.
pub static GRADIENT: Pass = Pass::required("gradient");

/// Differentiates a loss, and updates the parameters of the loss by the optimiser.
pub static UPDATE: Pass = Pass::required("update");

/// Finds the kinks of a location. Between kinks, the location is affine in the chosen weights.
pub static KINKS: Pass = Pass::required("kinks");

/// Computes the location of each row between its kinks, and the slopes of the location with respect
/// to the chosen weights.
pub static COLLAPSE: Pass = Pass::required("collapse");

/// Computes the log prior of the weights. `prior_precision` multiplies this log prior.
pub static SCALED_PRIOR: Pass = Pass::required("scaled-prior");

/// Adds an axis of chains to the log density. The chains run in lockstep.
pub static LOCKSTEP: Pass = Pass::required("lockstep");

/// Computes the means over rows that replace the stored running means.
pub static RUNNING_MEANS: Pass = Pass::required("running-means");

/// Creates the derivatives that a Laplace approximation needs.
pub static CURVATURE: Pass = Pass::required("curvature");

/// Creates the moments of the weights, and predictions without pruned weights.
pub static PRUNE: Pass = Pass::required("prune");

/// Creates the predictions for rows.
pub static PREDICT: Pass = Pass::required("predict");

/// Creates draws of the parameters.
pub static SITES: Pass = Pass::required("sites");

/// All passes. The passes that rewrite one function come first. The passes of methods follow,
/// roughly in the order of their use.
pub static ALL: &[&Pass] = &[
    &EXPAND_MAPS,
    &EXPAND_EXPECTATIONS,
    &SIMPLIFY,
    &EXPAND,
    &SIMPLIFY_KERNELS,
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &DROPOUT,
    &SCALED_PRIOR,
    &ESTIMATORS,
    &EXACT_KL,
    &KL,
    &LOSS,
    &NONCENTRE,
    &LOG_DENSITY,
    &HOIST,
    &GRADIENT,
    &LOCKSTEP,
    &UPDATE,
    &RUNNING_MEANS,
    &KINKS,
    &COLLAPSE,
    &CURVATURE,
    &PRUNE,
    &PREDICT,
    &SITES,
];

/// Returns the names that `--without` accepts: the names of all rules, and of all passes on which
/// no later pass relies.
pub fn switchable() -> impl Iterator<Item = &'static str> {
    let passes = ALL.iter().filter(|pass| !pass.required).map(|pass| pass.name);
    passes.chain(rules::ALL.iter().map(|rule| rule.name))
}

/// Returns the pass with this name.
pub fn lookup(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().find(|pass| pass.name == name)
}

/// The passes that run before a function is differentiated. Loops are expanded first, so that the
/// rules match ops inside loops together with the ops around the loops. Rules run before
/// differentiation. The cotangents of a node would otherwise be added before a rule removes the
/// node.
pub static BEFORE_DERIVATIVE: &[&Pass] = &[&EXPAND_MAPS, &EXPAND_EXPECTATIONS, &SIMPLIFY];

/// The passes that run before a function is lowered. The rules first run on composite ops such as
/// softmax. Expansion then leaves only ops with kernels. The rules run again at the end, because
/// maxima and sums of broadcast operands appear only after expansion.
pub static BEFORE_LOWERING: &[&Pass] = &[
    &EXPAND_MAPS,
    &EXPAND_EXPECTATIONS,
    &SIMPLIFY,
    &EXPAND,
    &SIMPLIFY_KERNELS,
];

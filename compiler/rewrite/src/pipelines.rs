//! The passes, and the lists of passes that prepare every function.

use crate::pass::{Pass, PassContext, PassRun};
use crate::rules;
use crate::simplify;
use crate::unroll;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::spec::{LOWERED, PROBABILISTIC};

/// Computes every `map` for all its positions at once.
pub static EXPAND_MAPS: Pass = Pass {
    run: PassRun::Function(|function, _| Ok(unroll::expand_maps(function))),
    ..Pass::required("expand-maps")
};

/// Adds an axis for the draws of every `expect`, and takes the mean along it.
pub static EXPAND_EXPECTATIONS: Pass = Pass {
    run: PassRun::Function(|function, _| Ok(unroll::expand_expectations(function))),
    ..Pass::required("expand-expectations")
};

/// Applies the rewrite rules until none of them matches, merges equal nodes and removes unused ones.
pub static SIMPLIFY: Pass = Pass {
    run: PassRun::Function(simplified),
    ..Pass::optional("simplify")
};

/// Replaces operations that kernels cannot compute by operations that they can.
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

/// Splits a model into the densities of its parameters and observations, and its predictions.
pub static SPLIT: Pass = Pass {
    from: PROBABILISTIC,
    ..Pass::required("split")
};

/// Combines parameters that share a joint family into one.
pub static GROUP: Pass = Pass::required("group");

/// Computes the positions that rows select along axes; they are checked before a row is used.
pub static POSITIONS: Pass = Pass::required("positions");

/// Creates predictions with parameters drawn from their priors.
pub static PRIOR: Pass = Pass::required("prior");

/// Puts random masks on the inputs of layers.
pub static DROPOUT: Pass = Pass::required("dropout");

/// Rewrites the log likelihood for layers with their own gradient estimator: local, flipout, integrated.
pub static ESTIMATORS: Pass = Pass::required("estimators");

/// Chooses how to compute the KL divergence from each prior: in closed form if there is one, otherwise from draws.
/// `kl = monte_carlo` disables closed forms for one inference run.
pub static EXACT_KL: Pass = Pass::optional("exact-kl");

/// Adds up the KL divergences of all parameters.
pub static KL: Pass = Pass::required("kl");

/// Combines log likelihood and KL divergence into a loss.
pub static LOSS: Pass = Pass::required("loss");

/// Computes log prior and log likelihoods at a position, in the non-centred parameterisation for the parameters of `non_centered`.
pub static NONCENTRE: Pass = Pass::optional("noncentre");

/// Adds the log likelihood of all rows to the log prior.
pub static LOG_DENSITY: Pass = Pass::required("log-density");

/// Separates the values that stay the same while a sampler moves, to compute them once.
pub static HOIST: Pass = Pass::optional("hoist");

/// Differentiates a loss or a log density.
pub static GRADIENT: Pass = Pass::required("gradient");

/// Differentiates a loss, and updates its parameters by the optimiser.
pub static UPDATE: Pass = Pass::required("update");

/// Finds the kinks between which a location is affine in chosen weights.
pub static KINKS: Pass = Pass::required("kinks");

/// Computes the location of each row between its kinks, and the slopes of the location in chosen weights.
pub static COLLAPSE: Pass = Pass::required("collapse");

/// Computes the log prior of the weights, which `prior_precision` multiplies.
pub static SCALED_PRIOR: Pass = Pass::required("scaled-prior");

/// Adds an axis of chains to the log density, for chains that run in lockstep.
pub static LOCKSTEP: Pass = Pass::required("lockstep");

/// Creates the derivatives that a Laplace approximation needs.
pub static CURVATURE: Pass = Pass::required("curvature");

/// Creates moments of the weights, and predictions without the weights that are pruned.
pub static PRUNE: Pass = Pass::required("prune");

/// Creates the predictions for rows.
pub static PREDICT: Pass = Pass::required("predict");

/// Creates draws of the parameters.
pub static SITES: Pass = Pass::required("sites");

/// All passes: first the passes that rewrite one function, then the steps of methods, roughly in the order in which they run.
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
    &KINKS,
    &COLLAPSE,
    &CURVATURE,
    &PRUNE,
    &PREDICT,
    &SITES,
];

/// Returns the names that `--without` accepts: rules, and passes on which no other pass relies.
pub fn switchable() -> impl Iterator<Item = &'static str> {
    let passes = ALL.iter().filter(|pass| !pass.required).map(|pass| pass.name);
    passes.chain(rules::ALL.iter().map(|rule| rule.name))
}

/// Returns the pass with this name.
pub fn lookup(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().find(|pass| pass.name == name)
}

/// The passes that run before a function is differentiated. Loops are expanded first, so that the rules see the bodies of loops together with the ops
/// around them. Rules run before differentiation, because each node that they remove would otherwise add its cotangents.
pub static BEFORE_DERIVATIVE: &[&Pass] = &[&EXPAND_MAPS, &EXPAND_EXPECTATIONS, &SIMPLIFY];

/// The passes that run before a function is lowered. The rules first see composite ops such as softmax as a
/// whole. Expansion then leaves only ops with kernels. The rules then run again, because maxima and sums of
/// broadcast operands appear only after expansion.
pub static BEFORE_LOWERING: &[&Pass] = &[
    &EXPAND_MAPS,
    &EXPAND_EXPECTATIONS,
    &SIMPLIFY,
    &EXPAND,
    &SIMPLIFY_KERNELS,
];

//! The passes, the order in which each method runs them, and the reasons for this order.

use crate::pass::{Pass, PassRun};
use crate::rules;
use crate::simplify;
use crate::unroll;
use bnnc_graph::spec::{DENSITY, LOWERED, PROBABILISTIC};

/// Expands every `map` into batched ops.
pub static EXPAND_MAPS: Pass = Pass {
    name: "expand-maps",
    about: "Computes every `map` for all its positions at once.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Function(|function, _| Ok(unroll::expand_maps(function))),
};

/// Expands every `expect` into batched ops and a mean.
pub static EXPAND_EXPECTATIONS: Pass = Pass {
    name: "expand-expectations",
    about: "Adds an axis for the draws of every `expect`, and takes the mean along it.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Function(|function, _| Ok(unroll::expand_expectations(function))),
};

/// Applies the rewrite rules.
pub static SIMPLIFY: Pass = Pass {
    name: "simplify",
    about: "Applies the rewrite rules until none of them matches, merges equal nodes and removes unused ones.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Function(|function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    }),
};

/// Expands composite ops until only ops with kernels are left.
pub static EXPAND: Pass = Pass {
    name: "expand",
    about: "Replaces operations that kernels cannot compute by operations that they can.",
    from: DENSITY,
    to: LOWERED,
    required: true,
    run: PassRun::Function(|function, _| Ok(simplify::expand(function))),
};

/// Applies the rewrite rules again, after expansion.
pub static SIMPLIFY_KERNELS: Pass = Pass {
    name: "simplify-kernels",
    about: "Applies the rewrite rules again after the expansion.",
    from: LOWERED,
    to: LOWERED,
    required: false,
    run: PassRun::Function(|function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    }),
};

/// Splits a model into densities.
pub static SPLIT: Pass = Pass {
    name: "split",
    about: "Splits a model into the densities of its parameters and observations, and its predictions.",
    from: PROBABILISTIC,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Groups the parameters of joint families.
pub static GROUP: Pass = Pass {
    name: "group",
    about: "Combines parameters that share a joint family into one.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Computes the positions that are checked against the data.
pub static POSITIONS: Pass = Pass {
    name: "positions",
    about: "Computes the positions that rows select along axes; they are checked before a row is used.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the programs that predict from the prior.
pub static PRIOR: Pass = Pass {
    name: "prior",
    about: "Creates predictions with parameters drawn from their priors.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Puts dropout masks on the inputs of layers.
pub static DROPOUT: Pass = Pass {
    name: "dropout",
    about: "Puts random masks on the inputs of layers.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Applies the gradient estimators of layers.
pub static ESTIMATORS: Pass = Pass {
    name: "estimators",
    about: "Rewrites the log likelihood for layers with their own gradient estimator: local, flipout, integrated.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Chooses the computation of each KL divergence. `kl = monte_carlo` disables closed forms for one inference
/// run.
pub static EXACT_KL: Pass = Pass {
    name: "exact-kl",
    about: "Chooses how to compute the KL divergence from each prior: in closed form if there is one, otherwise from draws.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// Builds the KL divergence of a posterior.
pub static KL: Pass = Pass {
    name: "kl",
    about: "Adds up the KL divergences of all parameters.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the loss of a training.
pub static LOSS: Pass = Pass {
    name: "loss",
    about: "Combines log likelihood and KL divergence into a loss.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Applies the non-centred parameterisation to the sites for which the inference block requests it.
pub static NONCENTRE: Pass = Pass {
    name: "noncentre",
    about: "Computes log prior and log likelihoods at a position, in the non-centred parameterisation for the parameters of `non_centered`.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// Builds the log density for samplers.
pub static LOG_DENSITY: Pass = Pass {
    name: "log-density",
    about: "Adds the log likelihood of all rows to the log prior.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Moves constant computations out of the log density.
pub static HOIST: Pass = Pass {
    name: "hoist",
    about: "Separates the values that stay the same while a sampler moves, to compute them once.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// Differentiates a loss or a log density.
pub static GRADIENT: Pass = Pass {
    name: "gradient",
    about: "Differentiates a loss or a log density.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds one step of an optimiser.
pub static UPDATE: Pass = Pass {
    name: "update",
    about: "Differentiates a loss, and updates its parameters by the optimiser.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Finds the kinks of a piecewise affine location.
pub static KINKS: Pass = Pass {
    name: "kinks",
    about: "Finds the kinks between which a location is affine in chosen weights.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the program of collapsed inference.
pub static COLLAPSE: Pass = Pass {
    name: "collapse",
    about: "Computes the location of each row between its kinks, and the slopes of the location in chosen weights.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the log prior that a prior precision multiplies.
pub static SCALED_PRIOR: Pass = Pass {
    name: "scaled-prior",
    about: "Computes the log prior of the weights, which `prior_precision` multiplies.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Evaluates the log density at several positions at once.
pub static LOCKSTEP: Pass = Pass {
    name: "lockstep",
    about: "Adds an axis of chains to the log density, for chains that run in lockstep.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the programs of a Laplace approximation.
pub static CURVATURE: Pass = Pass {
    name: "curvature",
    about: "Creates the derivatives that a Laplace approximation needs.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the programs of a pruning table.
pub static PRUNE: Pass = Pass {
    name: "prune",
    about: "Creates moments of the weights, and predictions without the weights that are pruned.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds the predictions for rows.
pub static PREDICT: Pass = Pass {
    name: "predict",
    about: "Creates the predictions for rows.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Builds draws of the parameters on their declared scale.
pub static SITES: Pass = Pass {
    name: "sites",
    about: "Creates draws of the parameters.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

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

/// A pipeline: the passes that a method runs on its model. Between these passes, the method prepares
/// functions with [`BEFORE_DERIVATIVE`] and [`BEFORE_LOWERING`].
pub type Pipeline = &'static [&'static Pass];

/// The pipeline of variational inference, `map`, and training with dropout. Masks are added before the search for layers in the log-likelihood. The
/// loss is differentiated once both of its terms are known.
pub static TRAINING: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &DROPOUT,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
    &PREDICT,
    &SITES,
    &PRUNE,
];

/// The pipeline of the KL divergence alone.
pub static DIVERGENCE: Pipeline = &[&SPLIT, &GROUP, &EXACT_KL, &KL, &GRADIENT];

/// The pipeline of samplers. Constant computations are hoisted before differentiation, so that only the rest is differentiated.
pub static SAMPLING: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &NONCENTRE,
    &HOIST,
    &LOG_DENSITY,
    &GRADIENT,
    &PREDICT,
    &SITES,
    &LOCKSTEP,
];

/// The pipeline of ensembles and averages of iterates: the predictions at several positions, then the
/// training that finds the positions.
pub static ITERATES: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &PREDICT,
    &SITES,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
];

/// The pipeline of the Laplace approximation: a training, then derivatives at the optimum.
pub static LAPLACE: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &SCALED_PRIOR,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
    &PREDICT,
    &SITES,
    &CURVATURE,
];

/// The pipeline of collapsed inference. The kinks of the location are found before anything is trained.
pub static COLLAPSED: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &PREDICT,
    &SITES,
    &KINKS,
    &COLLAPSE,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
];

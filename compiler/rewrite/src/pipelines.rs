//! The passes, and the lists in which they run, with the reason for the order.

use crate::pass::{Pass, PassRun};
use crate::rules;
use crate::simplify;
use crate::unroll;
use bnnc_graph::spec::{DENSITY, LOWERED, PROBABILISTIC};

/// `map` becomes a batch.
pub static EXPAND_MAPS: Pass = Pass {
    name: "expand-maps",
    about: "Carries out every `map` for all its positions at once.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Function(|function, _| unroll::expand_maps(function)),
};

/// `expect` becomes a batch and a mean.
pub static EXPAND_EXPECTATIONS: Pass = Pass {
    name: "expand-expectations",
    about: "Makes the draws of every `expect` an axis and takes the mean along it.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Function(|function, _| unroll::expand_expectations(function)),
};

/// All rules until none fires.
pub static SIMPLIFY: Pass = Pass {
    name: "simplify",
    about: "Applies the rewrite rules until none fires; equal nodes merge and unused ones go.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Function(|function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    }),
};

/// Only kernels are left.
pub static EXPAND: Pass = Pass {
    name: "expand",
    about: "Replaces operations that no kernel computes by those that kernels do.",
    from: DENSITY,
    to: LOWERED,
    required: true,
    run: PassRun::Function(|function, _| simplify::expand(function)),
};

/// Rules again, on kernels.
pub static SIMPLIFY_KERNELS: Pass = Pass {
    name: "simplify-kernels",
    about: "Applies the rewrite rules to what expansion left.",
    from: LOWERED,
    to: LOWERED,
    required: false,
    run: PassRun::Function(|function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    }),
};

/// Densities of a model.
pub static SPLIT: Pass = Pass {
    name: "split",
    about: "Splits a model into the densities of its parameters and observations, and its predictions.",
    from: PROBABILISTIC,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Joint families.
pub static GROUP: Pass = Pass {
    name: "group",
    about: "Makes one parameter of those that share a joint family.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Checks of indices.
pub static POSITIONS: Pass = Pass {
    name: "positions",
    about: "Computes the positions that rows select along axes, which are checked before a row is used.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Predictions before any data.
pub static PRIOR: Pass = Pass {
    name: "prior",
    about: "Makes predictions with parameters drawn from their priors.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Masks.
pub static DROPOUT: Pass = Pass {
    name: "dropout",
    about: "Puts random masks on the inputs of layers.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Gradient estimators.
pub static ESTIMATORS: Pass = Pass {
    name: "estimators",
    about: "Rewrites the log likelihood for layers with a gradient estimator of their own: local, flipout, integrated.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// KL divergences; `kl = monte_carlo` declines closed forms for one inference.
pub static EXACT_KL: Pass = Pass {
    name: "exact-kl",
    about: "Finds how the KL divergence from each prior is computed: in closed form where there is one, from draws where not.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// The KL divergence of a posterior.
pub static KL: Pass = Pass {
    name: "kl",
    about: "Adds up the KL divergences of all parameters.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// The loss of a training.
pub static LOSS: Pass = Pass {
    name: "loss",
    about: "Puts log likelihood and KL divergence together as a loss.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Non-centred parameters, where the inference asks for them.
pub static NONCENTRE: Pass = Pass {
    name: "noncentre",
    about: "Writes log prior and log likelihoods at a position, which is the noise of the prior for parameters that ask for it.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// The log density that samplers move on.
pub static LOG_DENSITY: Pass = Pass {
    name: "log-density",
    about: "Adds the log likelihood of all rows to the log prior.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Computing once what does not change.
pub static HOIST: Pass = Pass {
    name: "hoist",
    about: "Takes out what does not change while a sampler moves, to compute it once.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: PassRun::Method,
};

/// Derivatives.
pub static GRADIENT: Pass = Pass {
    name: "gradient",
    about: "Differentiates a loss or a log density.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// A step of an optimiser.
pub static UPDATE: Pass = Pass {
    name: "update",
    about: "Differentiates a loss and moves its parameters by the optimiser.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// The pieces of a location.
pub static KINKS: Pass = Pass {
    name: "kinks",
    about: "Finds the kinks between which a location is affine in chosen weights.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Programs of the Laplace approximation.
pub static CURVATURE: Pass = Pass {
    name: "curvature",
    about: "Makes the derivatives that a Laplace approximation needs.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Programs of a pruning table.
pub static PRUNE: Pass = Pass {
    name: "prune",
    about: "Makes moments of the weights, and predictions without the smallest of them.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Predictions.
pub static PREDICT: Pass = Pass {
    name: "predict",
    about: "Makes predictions for rows.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Parameters on the declared scale.
pub static SITES: Pass = Pass {
    name: "sites",
    about: "Makes draws of the parameters.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: PassRun::Method,
};

/// Every pass: those of one function, then those of methods, in about the order in which they run.
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
    &ESTIMATORS,
    &EXACT_KL,
    &KL,
    &LOSS,
    &NONCENTRE,
    &LOG_DENSITY,
    &HOIST,
    &GRADIENT,
    &UPDATE,
    &KINKS,
    &CURVATURE,
    &PRUNE,
    &PREDICT,
    &SITES,
];

/// What `--without` takes: passes that nothing relies on, and rules.
pub fn switchable() -> impl Iterator<Item = &'static str> {
    let passes = ALL.iter().filter(|pass| !pass.required).map(|pass| pass.name);
    passes.chain(rules::ALL.iter().map(|rule| rule.name))
}

/// The pass with this name.
pub fn lookup(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().find(|pass| pass.name == name)
}

/// Before a function is differentiated. Loops over positions go first, because what they compute meets its neighbours only
/// then; rules run before the derivative, because every node that they remove would bring its cotangents along.
pub static BEFORE_DERIVATIVE: &[&Pass] = &[&EXPAND_MAPS, &EXPAND_EXPECTATIONS, &SIMPLIFY];

/// Before a function is lowered. Rules see softmax and its kin as wholes first; expansion then leaves kernels, on which the
/// rules run again, because maxima and sums of repeated operands appear only there.
pub static BEFORE_LOWERING: &[&Pass] = &[
    &EXPAND_MAPS,
    &EXPAND_EXPECTATIONS,
    &SIMPLIFY,
    &EXPAND,
    &SIMPLIFY_KERNELS,
];

/// A pipeline: the passes that a method runs on its model. Between them it brings functions into shape by [`BEFORE_DERIVATIVE`] and
/// [`BEFORE_LOWERING`].
pub type Pipeline = &'static [&'static Pass];

/// Variational inference, `map`, and the training under masks. Layers are looked for in the log likelihood after the masks are in it, and the
/// loss is differentiated after both of its terms are known.
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

/// The KL divergence alone.
pub static DIVERGENCE: Pipeline = &[&SPLIT, &GROUP, &EXACT_KL, &KL, &GRADIENT];

/// Samplers. What does not change is taken out before the derivative, which is then taken of the rest only.
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
];

/// Ensembles and averages of iterates: predictions at many positions, then a training that finds these.
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

/// The Laplace approximation: a training, then derivatives where it ended.
pub static LAPLACE: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
    &PREDICT,
    &SITES,
    &CURVATURE,
];

/// Collapsed inference. Whether a location has kinks is known before anything is trained.
pub static COLLAPSED: Pipeline = &[
    &SPLIT,
    &POSITIONS,
    &PRIOR,
    &GROUP,
    &PREDICT,
    &SITES,
    &KINKS,
    &ESTIMATORS,
    &EXACT_KL,
    &LOSS,
    &UPDATE,
    &GRADIENT,
];

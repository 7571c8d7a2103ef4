//! The passes, and the lists in which they run, with the reason for the order.

use crate::pass::Pass;
use crate::rules;
use crate::simplify;
use crate::unroll;
use bnnc_graph::spec::{DENSITY, LOWERED};

/// `map` becomes a batch.
pub static EXPAND_MAPS: Pass = Pass {
    name: "expand-maps",
    about: "Carries out every `map` for all its positions at once.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: |function, _| unroll::expand_maps(function),
};

/// `expect` becomes a batch and a mean.
pub static EXPAND_EXPECTATIONS: Pass = Pass {
    name: "expand-expectations",
    about: "Makes the draws of every `expect` an axis and takes the mean along it.",
    from: DENSITY,
    to: DENSITY,
    required: true,
    run: |function, _| unroll::expand_expectations(function),
};

/// All rules until none fires.
pub static SIMPLIFY: Pass = Pass {
    name: "simplify",
    about: "Applies the rewrite rules until none fires; equal nodes merge and unused ones go.",
    from: DENSITY,
    to: DENSITY,
    required: false,
    run: |function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    },
};

/// Only kernels are left.
pub static EXPAND: Pass = Pass {
    name: "expand",
    about: "Replaces operations that no kernel computes by those that kernels do.",
    from: DENSITY,
    to: LOWERED,
    required: true,
    run: |function, _| simplify::expand(function),
};

/// Rules again, on kernels.
pub static SIMPLIFY_KERNELS: Pass = Pass {
    name: "simplify-kernels",
    about: "Applies the rewrite rules to what expansion left.",
    from: LOWERED,
    to: LOWERED,
    required: false,
    run: |function, context| {
        let without = context.without.clone();
        simplify::simplify_with(function, &without, context.trace.as_mut())
    },
};

/// Every pass.
pub static ALL: &[&Pass] = &[
    &EXPAND_MAPS,
    &EXPAND_EXPECTATIONS,
    &SIMPLIFY,
    &EXPAND,
    &SIMPLIFY_KERNELS,
];

/// Closed forms of divergences; `kl = monte_carlo` declines them for one infer.
pub const EXACT_KL: &str = "exact-kl";

/// Sampling sites as the noise of their priors, where the infer asks for it.
pub const NONCENTRE: &str = "noncentre";

/// Computing once what does not change while a sampler moves.
pub const HOIST: &str = "hoist";

/// What `--without` takes: passes that nothing relies on, closed forms of divergences, and rules.
pub fn switchable() -> impl Iterator<Item = &'static str> {
    let passes = ALL.iter().filter(|pass| !pass.required).map(|pass| pass.name);
    passes
        .chain([EXACT_KL, NONCENTRE, HOIST])
        .chain(rules::ALL.iter().map(|rule| rule.name))
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

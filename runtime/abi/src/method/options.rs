//! Options that several methods have.

use super::{Finds, MethodDef, OptionDef, OptionKind, Phase, Takes};

/// The largest length of a run, number of rows and the like. Products of two of them stay below the largest integer.
pub const MOST: i64 = 1_000_000_000_000;
/// The most of what the run keeps, or computes anew, each on its own: chains, restarts, members.
const MANY: i64 = 10_000;
/// The most draws, and the most iterations per draw: a chain then has fewer iterations than an integer holds.
pub(super) const DRAWS: i64 = 1_000_000_000;
pub(super) const PER_DRAW: i64 = 1_000_000;

/// Integers from `least` on.
pub(crate) const fn from(least: i64) -> OptionKind {
    OptionKind::Int(least, MOST)
}

/// Integers from 1 of what a run has few of.
pub(super) const fn few() -> OptionKind {
    OptionKind::Int(1, MANY)
}

pub(super) const fn option(
    name: &'static str,
    doc: &'static str,
    kind: OptionKind,
    default: &'static str,
    phase: Phase,
) -> OptionDef {
    OptionDef {
        name,
        doc,
        kind,
        default,
        phase,
    }
}

macro_rules! training_options {
    ($($extra:expr),* $(,)?) => {
        training_options!(EPOCHS, RESTARTS, "cooldown", "f32"; $($extra),*)
    };
    ($epochs:expr, $restarts:expr, $schedule:literal, $precision:literal; $($extra:expr),* $(,)?) => {
        &[
            $epochs,
            run("steps", "Optimiser steps; the epoch in which they end is completed.", from(1), "20000"),
            $restarts,
            option("batch", "Rows per step; 0 takes all rows.", from(0), "128", Phase::Run),
            option("optimiser", "The optimiser and its arguments.", OptionKind::Optimiser, "Adam(5e-3)", Phase::Compile),
            option("schedule", "The learning rate over the run: `constant`, `cooldown` (constant for the first half, then to zero by a cosine), `cosine` (to zero), `linear` (to zero), or `step(fraction, factor)`.",
                OptionKind::Call, $schedule, Phase::Run),
            option("patience", "Stop after this many epochs without improvement on the validation rows; 0 never stops.",
                from(0), "0", Phase::Run),
            option("predictive_draws", "Posterior draws that predictions average over.", OptionKind::Int(1, DRAWS), "100", Phase::Run),
            option("start", "What the optimiser starts from: the values of an earlier infer, or `safetensors(\"FILE\")`, a file that holds sites by name.", OptionKind::Start, "", Phase::Run),
            option("precision", "The width of reals.", OptionKind::Word(&["f32", "f64"]), $precision, Phase::Compile),
            $($extra),*
        ]
    };
}

pub(super) const EPOCHS: OptionDef = option(
    "epochs",
    "Passes over the training rows; without a value, `steps` gives the length.",
    from(1),
    "",
    Phase::Run,
);

pub(super) const RESTARTS: OptionDef = run(
    "restarts",
    "Trainings from different random starts, of which the one with the lowest loss is kept.",
    few(),
    "1",
);

pub(super) const EPOCHS_OF_SEARCH: OptionDef = option(
    "epochs",
    "Passes over the training rows in search of the maximum; 0 takes the start for it. Without a value, `steps` gives the length, and with `start` nothing is searched.",
    from(0),
    "",
    Phase::Run,
);

pub(super) const WARMUP: OptionDef = run(
    "warmup",
    "Epochs before the first iterate is taken; without a value half of all epochs.",
    from(0),
    "",
);

pub(super) const EVERY: OptionDef = run(
    "every",
    "Epochs between iterates; without a value the fewest that leave at most 100 iterates.",
    from(1),
    "",
);

pub(super) const KEEP: OptionDef = run(
    "keep",
    "Only so many of the last iterates count; 0 takes all.",
    from(0),
    "0",
);

pub(super) const ITERATES: OptionDef = run(
    "iterates",
    "An earlier infer whose iterates are taken: `collapsed` or `swag` with `covariance = snapshots`, the members of an `ensemble`, or the \
     `predictive_draws` of chains; nothing is trained then.",
    OptionKind::Infer,
    "",
);

/// A run-time option.
pub(super) const fn run(
    name: &'static str,
    doc: &'static str,
    kind: OptionKind,
    default: &'static str,
) -> OptionDef {
    option(name, doc, kind, default, Phase::Run)
}

/// Positive numbers.
pub(super) const POSITIVE: OptionKind = OptionKind::Real(0.0, f64::INFINITY);

macro_rules! sampling_options {
    ($warmup:literal, $draws:literal, $($extra:expr),* $(,)?) => {
        &[
            run("chains", "Independent chains.", few(), "4"),
            run("warmup", "Iterations of each chain before draws are kept; step size and metric are adapted in them.",
                OptionKind::Int(0, DRAWS), $warmup),
            run("draws", "Draws kept of each chain.", OptionKind::Int(1, DRAWS), $draws),
            run("thin", "Iterations per draw that is kept.", OptionKind::Int(1, PER_DRAW), "1"),
            run("temperature", "What the log likelihood is divided by: 1 is the posterior, more is a tempered (safe) one.", POSITIVE, "1"),
            run("start", "What the chains start from: the values of an earlier infer, or `safetensors(\"FILE\")`, a file that holds sites by name.", OptionKind::Start, ""),
            run("jitter", "Chains start within plus and minus this of the start, on the unconstrained scale; without a value 2, and 0 \
                 with `start`.", OptionKind::AtLeast(0.0), ""),
            run("predictive_draws", "Posterior draws that predictions average over, evenly spaced over all chains.",
                OptionKind::Int(1, DRAWS), "1000"),
            run("report", "Sites whose every element is diagnosed; without names all sites of a small model, and predictions and the \
                 norm of each site of a large one.", OptionKind::Names, ""),
            run("loo", "Whether rows are left out one at a time by PSIS-LOO: `auto` where it takes few millions of likelihoods, \
                 `always`, or `never`; never for a tempered posterior. The draws are evenly spaced, all of them where that takes few millions, and no fewer than `predictive_draws`.", OptionKind::Word(&["auto", "always", "never"]), "auto"),
            run("store", "Where draws are kept until the end: in `memory`, or on `disk` alone, from where the draws of one site at a time are read.",
                OptionKind::Word(&["memory", "disk"]), "memory"),
            option("noncentre", "Sites that are sampled as their noise: the position is `(value - loc) / scale`.",
                OptionKind::Names, "", Phase::Compile),
            option("precision", "The width of reals.", OptionKind::Word(&["f32", "f64"]), "f64", Phase::Compile),
            $($extra),*
        ]
    };
}

pub(super) const STEP_SIZE: OptionDef = run(
    "step_size",
    "The step size; without a value it is adapted in the warm-up.",
    POSITIVE,
    "",
);

pub(super) const METRIC: OptionDef = run(
    "metric",
    "The metric that the warm-up finds: `diagonal`, or `dense` with correlations, from positions and the gradients of `nuts` and \
     `hmc`; `windowed` and `windowed_dense` from positions alone in the windows of Stan; `unit` is none. `automatic` is `dense` for \
     `nuts` and `hmc` of models without layers in at most 50 dimensions, else `diagonal`. A `dense` one is diagonal until a window has two \
     draws for each dimension, which a warm-up of 1000 has in up to 230 dimensions.",
    OptionKind::Word(&[
        "automatic",
        "diagonal",
        "dense",
        "windowed",
        "windowed_dense",
        "unit",
    ]),
    "automatic",
);

pub(super) const fn target_acceptance(default: &'static str) -> OptionDef {
    run(
        "target_acceptance",
        "The mean acceptance rate that the step size is adapted to.",
        OptionKind::Real(0.0, 1.0),
        default,
    )
}

pub(super) const BATCH_OF_GRADIENT: OptionDef =
    run("batch", "Rows per gradient; 0 takes all rows.", from(0), "128");

pub(super) const STEPS: OptionDef = run(
    "schedule",
    "The step size over the run: `constant`, `polynomial(b, gamma)` (times (1 + t / b)^-gamma in iteration t), or \
     `cyclical(cycles, exploration)` (a cosine to zero in each cycle, of whose first part no draws are kept).",
    OptionKind::Call,
    "constant",
);

pub(super) const fn given_step(default: &'static str) -> OptionDef {
    let doc = "The step size; stable below 2 over the largest curvature of the negative log density, which grows with the rows.";
    run("step_size", doc, POSITIVE, default)
}

pub(super) const fn sampler(
    name: &'static str,
    doc: &'static str,
    options: &'static [OptionDef],
) -> MethodDef {
    MethodDef {
        name,
        doc,
        options,
        takes: Takes::ModelOrFixed,
        finds: Finds::Chains,
    }
}

/// Several lists of options as one.
macro_rules! joined {
    ($($list:expr),+ $(,)?) => {{
        const LISTS: &[&[OptionDef]] = &[$($list),+];
        const ALL: [OptionDef; count(LISTS)] = join(LISTS);
        &ALL
    }};
}

pub(super) use joined;
pub(super) use sampling_options;
pub(super) use training_options;

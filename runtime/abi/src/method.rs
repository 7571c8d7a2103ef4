//! Method records: the option schemas that the checker, the cost report, the driver and the runtime read.

/// What an option's value must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// An integer of at least this.
    Int(i64),
    /// A real in this open interval.
    Real(f64, f64),
    /// A real of at least this.
    AtLeast(f64),
    /// True or false.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An optimiser of the library or the program with its arguments.
    Optimiser,
    /// The name of an earlier infer.
    Infer,
    /// Numbers from 0 to below 1 in brackets.
    Fractions,
    /// Names in brackets.
    Names,
    /// Anything the method itself understands (named in `doc`).
    Call,
}

/// When an option takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It changes the compiled program.
    Compile,
    /// It only steers the run.
    Run,
}

/// One option of a method.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// Its name.
    pub name: &'static str,
    /// What it does, with its unit.
    pub doc: &'static str,
    /// What its value must be.
    pub kind: OptionKind,
    /// The default, as it would be written; empty where there is none.
    pub default: &'static str,
    /// When it takes effect.
    pub phase: Phase,
    /// Whether this version acts on it; otherwise `check` names it as not built yet.
    pub built: bool,
}

/// One inference method.
#[derive(Clone, Copy, Debug)]
pub struct MethodDef {
    /// Its name in `infer x = NAME(..)`.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its options.
    pub options: &'static [OptionDef],
    /// Whether it takes a posterior (`vi`), a model (`map`), or either.
    pub takes: Takes,
    /// Whether this version can run it; otherwise `check` names it as not built yet.
    pub built: bool,
}

/// What the first argument of a method may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A posterior only.
    Posterior,
    /// A model only.
    Model,
    /// Either.
    Either,
    /// A model, or a posterior that fixes some of its sites to what another infer found.
    ModelOrFixed,
}

const fn option(
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
        built: true,
    }
}

macro_rules! training_options {
    ($($extra:expr),* $(,)?) => {
        &[
            option("epochs", "Passes over the training rows.", OptionKind::Int(1), "100", Phase::Run),
            option("batch", "Rows per step; 0 takes all rows.", OptionKind::Int(0), "128", Phase::Run),
            option("optimiser", "The optimiser and its arguments.", OptionKind::Optimiser, "Adam(1e-3)", Phase::Compile),
            option("schedule", "The learning rate over the run: `constant`, `cosine` (to zero), `linear` (to zero), or `step(fraction, factor)`.",
                OptionKind::Call, "constant", Phase::Run),
            option("patience", "Stop after this many epochs without improvement on the validation rows; 0 never stops.",
                OptionKind::Int(0), "0", Phase::Run),
            option("predictive_draws", "Posterior draws that predictions average over.", OptionKind::Int(1), "100", Phase::Run),
            option("start", "An earlier infer whose values the optimiser starts from.", OptionKind::Infer, "", Phase::Run),
            option("precision", "The width of reals.", OptionKind::Word(&["f32", "f64"]), "f32", Phase::Compile),
            $($extra),*
        ]
    };
}

/// A run-time option.
const fn run(name: &'static str, doc: &'static str, kind: OptionKind, default: &'static str) -> OptionDef {
    option(name, doc, kind, default, Phase::Run)
}

/// Positive numbers.
const POSITIVE: OptionKind = OptionKind::Real(0.0, f64::INFINITY);

macro_rules! sampling_options {
    ($warmup:literal, $draws:literal, $($extra:expr),* $(,)?) => {
        &[
            run("chains", "Independent chains.", OptionKind::Int(1), "4"),
            run("warmup", "Iterations of each chain before draws are kept; step size and metric are adapted in them.",
                OptionKind::Int(0), $warmup),
            run("draws", "Draws kept of each chain.", OptionKind::Int(1), $draws),
            run("thin", "Iterations per draw that is kept.", OptionKind::Int(1), "1"),
            run("temperature", "What the log likelihood is divided by: 1 is the posterior, more is a tempered (safe) one.", POSITIVE, "1"),
            run("start", "An earlier infer whose values the chains start from.", OptionKind::Infer, ""),
            run("jitter", "Chains start within plus and minus this of the start, on the unconstrained scale; without a value 2, and 0 \
                 with `start`.", OptionKind::AtLeast(0.0), ""),
            run("predictive_draws", "Posterior draws that predictions average over, evenly spaced over all chains.",
                OptionKind::Int(1), "1000"),
            run("report", "Sites whose every element is diagnosed; without names all sites of a small model, and predictions and the \
                 norm of each site of a large one.", OptionKind::Names, ""),
            run("loo", "Whether rows are left out one at a time by PSIS-LOO: `auto` where it takes few millions of likelihoods, \
                 `always`, or `never`; never for a tempered posterior.", OptionKind::Word(&["auto", "always", "never"]), "auto"),
            run("store", "Where draws are kept until the end: in `memory`, or on `disk` alone.",
                OptionKind::Word(&["memory", "disk"]), "memory"),
            option("noncentre", "Sites that are sampled as their noise: the position is `(value - loc) / scale`.",
                OptionKind::Names, "", Phase::Compile),
            option("precision", "The width of reals.", OptionKind::Word(&["f32", "f64"]), "f64", Phase::Compile),
            $($extra),*
        ]
    };
}

const STEP_SIZE: OptionDef = run(
    "step_size",
    "The step size; without a value it is adapted in the warm-up.",
    POSITIVE,
    "",
);

const METRIC: OptionDef = run(
    "metric",
    "The metric that the warm-up finds: `diagonal`, or `dense` with correlations, from positions and the gradients of `nuts` and \
     `hmc`; `windowed` and `windowed_dense` from positions alone in the windows of Stan; `unit` is none. `automatic` is `dense` for \
     `nuts` and `hmc` of models without layers in at most 50 dimensions, else `diagonal`.",
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

const fn target_acceptance(default: &'static str) -> OptionDef {
    run(
        "target_acceptance",
        "The mean acceptance rate that the step size is adapted to.",
        OptionKind::Real(0.0, 1.0),
        default,
    )
}

const BATCH_OF_GRADIENT: OptionDef = run(
    "batch",
    "Rows per gradient; 0 takes all rows.",
    OptionKind::Int(0),
    "128",
);

const STEPS: OptionDef = run(
    "schedule",
    "The step size over the run: `constant`, `polynomial(b, gamma)` (times (1 + t / b)^-gamma in iteration t), or \
     `cyclical(cycles, exploration)` (a cosine to zero in each cycle, of whose first part no draws are kept).",
    OptionKind::Call,
    "constant",
);

const fn given_step(default: &'static str) -> OptionDef {
    run("step_size", "The step size.", POSITIVE, default)
}

const fn sampler(name: &'static str, doc: &'static str, options: &'static [OptionDef]) -> MethodDef {
    MethodDef {
        name,
        doc,
        options,
        takes: Takes::ModelOrFixed,
        built: true,
    }
}

/// Sorted by name.
pub static ALL: &[MethodDef] = &[
    planned("collapsed", "Collapsed inference by weighted model integration."),
    sampler(
        "hmc",
        "Static Hamiltonian Monte Carlo.",
        sampling_options![
            "1000",
            "1000",
            run("steps", "Leapfrog steps per iteration.", OptionKind::Int(1), "16"),
            target_acceptance("0.8"),
            STEP_SIZE,
            METRIC,
        ],
    ),
    planned("laplace", "A Gaussian around the maximum of the posterior."),
    sampler(
        "mala",
        "Metropolis-adjusted Langevin sampling.",
        sampling_options!["1000", "1000", target_acceptance("0.574"), STEP_SIZE, METRIC],
    ),
    MethodDef {
        name: "map",
        doc: "The maximum of the posterior density, by gradient steps.",
        options: training_options![],
        takes: Takes::Either,
        built: true,
    },
    sampler(
        "nuts",
        "The no-U-turn sampler.",
        sampling_options![
            "1000",
            "1000",
            run(
                "max_depth",
                "The largest number of doublings of a trajectory.",
                OptionKind::Int(1),
                "10"
            ),
            target_acceptance("0.8"),
            STEP_SIZE,
            METRIC,
        ],
    ),
    sampler(
        "penalty",
        "Metropolis sampling on mini-batches with the penalty method.",
        sampling_options![
            "1000",
            "10000",
            run(
                "batch",
                "Rows per batch, over all files of the data; 0 takes all rows, which is exact.",
                OptionKind::Int(0),
                "100"
            ),
            run(
                "batches",
                "Batches per iteration, from which the variance of the loss difference is estimated.",
                OptionKind::Int(1),
                "10"
            ),
            run(
                "loss",
                "What the likelihood of a batch stands for: `data` (all rows: the ordinary posterior) or `batch` (itself: the \
                 posterior tempered by batch / rows).",
                OptionKind::Word(&["batch", "data"]),
                "batch"
            ),
            run(
                "estimator",
                "The loss difference: `mean` over all batches, or of a `single` one, with its variance from the others.",
                OptionKind::Word(&["mean", "single"]),
                "mean"
            ),
            run(
                "penalty",
                "What corrects for the noise of the difference: `plain` (half its variance), `corrected` (also for the noise \
                 of the variance) or `naive` (nothing).",
                OptionKind::Word(&["plain", "corrected", "naive"]),
                "plain"
            ),
            run(
                "proposal",
                "How states are proposed: `random_walk(step)` or `mala(step)`, whose gradient has a batch of its own.",
                OptionKind::Call,
                "random_walk(1e-3)"
            ),
            run(
                "gradient_batch",
                "Rows of the batch whose gradient proposes; 0 takes `batch`.",
                OptionKind::Int(0),
                "0"
            ),
            run(
                "replacement",
                "Whether a row may be in a batch more than once.",
                OptionKind::Bool,
                "false"
            ),
        ],
    ),
    sampler(
        "random_walk",
        "Random-walk Metropolis sampling.",
        sampling_options!["1000", "10000", target_acceptance("0.234"), STEP_SIZE, METRIC],
    ),
    sampler(
        "sghmc",
        "Stochastic-gradient Hamiltonian Monte Carlo.",
        sampling_options![
            "1000",
            "10000",
            BATCH_OF_GRADIENT,
            given_step("1e-5"),
            run(
                "friction",
                "The part of the momentum that is lost in an iteration.",
                OptionKind::Real(0.0, 1.0),
                "0.1"
            ),
            STEPS,
        ],
    ),
    sampler(
        "sgld",
        "Stochastic-gradient Langevin dynamics.",
        sampling_options!["1000", "10000", BATCH_OF_GRADIENT, given_step("1e-5"), STEPS],
    ),
    planned("swag", "A Gaussian fitted to the iterates of gradient descent."),
    MethodDef {
        name: "vi",
        doc: "Variational inference: the posterior family that maximises the evidence lower bound.",
        options: training_options![
            option(
                "samples",
                "Weight samples per step for the likelihood.",
                OptionKind::Int(1),
                "1",
                Phase::Run
            ),
            option(
                "draws",
                "Monte-Carlo draws per step for a KL that has no closed form; 0 takes the likelihood's weight samples.",
                OptionKind::Int(0),
                "0",
                Phase::Compile
            ),
            option(
                "kl",
                "`auto` takes the closed form where there is one, `monte_carlo` the best estimate by draws, `direct` the plain \
                 mean over draws.",
                OptionKind::Word(&["auto", "monte_carlo", "direct"]),
                "auto",
                Phase::Compile
            ),
            option(
                "kl_weight",
                "How the KL is spread over the batches of an epoch: `exact` (every step weighs it right for its rows), `graves` \
                 (the same share in every batch) or `blundell` (half of it in the first batch, then half of the rest).",
                OptionKind::Word(&["exact", "graves", "blundell"]),
                "exact",
                Phase::Run
            ),
            option(
                "statistics",
                "How a separated KL gets the means of its noise: `law` draws them from their own law where it is known, in a \
                 time that does not depend on `draws`; `sums` adds up the draws.",
                OptionKind::Word(&["law", "sums"]),
                "law",
                Phase::Compile
            ),
            option(
                "taylor",
                "The order of the Taylor series that replaces what of a KL does not separate (biased; checked against its \
                 radius of convergence); 0 takes no series.",
                OptionKind::Int(0),
                "0",
                Phase::Compile
            ),
            option(
                "local",
                "Layers or sites whose weights the likelihood treats by local reparameterisation: every example draws the outputs \
                 of the layer.",
                OptionKind::Names,
                "",
                Phase::Compile
            ),
            option(
                "flipout",
                "Layers or sites whose weights get signs of their own for every example.",
                OptionKind::Names,
                "",
                Phase::Compile
            ),
            option(
                "integrate",
                "Layers or sites over which the likelihood is integrated in closed form: it must be a polynomial in their \
                 outputs, or logistic.",
                OptionKind::Names,
                "",
                Phase::Compile
            ),
            option(
                "series",
                "The order of the Taylor series of a logistic likelihood that is integrated (biased).",
                OptionKind::Int(2),
                "4",
                Phase::Compile
            ),
            option(
                "prune",
                "Fractions of weights to remove by signal-to-noise for the pruning table, such as `[0, 0.5, 0.95]`.",
                OptionKind::Fractions,
                "",
                Phase::Compile
            ),
        ],
        takes: Takes::Posterior,
        built: true,
    },
];

const fn planned(name: &'static str, doc: &'static str) -> MethodDef {
    MethodDef {
        name,
        doc,
        options: &[],
        takes: Takes::Either,
        built: false,
    }
}

/// The method with this name.
pub fn lookup(name: &str) -> Option<&'static MethodDef> {
    ALL.iter().find(|method| method.name == name)
}

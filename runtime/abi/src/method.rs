//! Method records: the option schemas that the checker, the cost report, the driver and the runtime read.

/// What an option's value must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// An integer of at least this.
    Int(i64),
    /// A real in this open interval.
    Real(f64, f64),
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

/// Sorted by name.
pub static ALL: &[MethodDef] = &[
    planned("collapsed", "Collapsed inference by weighted model integration."),
    planned("hmc", "Static Hamiltonian Monte Carlo."),
    planned("laplace", "A Gaussian around the maximum of the posterior."),
    planned("mala", "Metropolis-adjusted Langevin sampling."),
    MethodDef {
        name: "map",
        doc: "The maximum of the posterior density, by gradient steps.",
        options: training_options![],
        takes: Takes::Either,
        built: true,
    },
    planned("nuts", "The no-U-turn sampler."),
    planned(
        "penalty",
        "Metropolis sampling on mini-batches with the penalty method.",
    ),
    planned("random_walk", "Random-walk Metropolis sampling."),
    planned("sghmc", "Stochastic-gradient Hamiltonian Monte Carlo."),
    planned("sgld", "Stochastic-gradient Langevin dynamics."),
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

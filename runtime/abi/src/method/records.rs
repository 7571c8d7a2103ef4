//! The record of every method.

use super::declare::{count, join};
use super::options::{
    BATCH_OF_GRADIENT, DRAWS, EPOCHS, EPOCHS_OF_SEARCH, EVERY, ITERATES, KEEP, METRIC, PER_DRAW, POSITIVE,
    RESTARTS, STEP_SIZE, STEPS, WARMUP, few, from, given_step, joined, option, run, sampler,
    sampling_options, target_acceptance, training_options,
};
use super::{Finds, MethodDef, OptionDef, OptionKind, Phase, Takes};
use crate::sampling::Penalty;

/// Sorted by name.
pub static ALL: &[MethodDef] = &[
    MethodDef {
        name: "collapsed",
        doc: "The iterates of gradient descent, with some weights integrated over a box that spans them, exactly.",
        options: training_options![EPOCHS, RESTARTS, "constant", "f64";
            WARMUP,
            EVERY,
            KEEP,
            ITERATES,
            option(
                "over",
                "The weights that may be integrated over: `last_layer`, layers and sites by name in brackets, or `all`.",
                OptionKind::Weights(&[]),
                "last_layer",
                Phase::Compile
            ),
            run(
                "weights",
                "How many of them are, in one row and output: those that move it most. 0 takes all; without a value all, and one per \
                 class for classes.",
                from(0),
                ""
            ),
            run(
                "always",
                "Layers or sites among those of `over` that are integrated over in every row, besides `weights` of the others.",
                OptionKind::Names,
                ""
            ),
            run(
                "units",
                "Only the weights that feed so many hidden units, those that move the outputs most (with `compat` the first): units of the first layer behind \
                 the weights; 0 asks for no units.",
                from(0),
                "0"
            ),
            run(
                "selection",
                "Whether each row has its own choice of weights (`row`), or all rows the one that is best on average over the training rows (`fixed`).",
                OptionKind::Word(&["row", "fixed"]),
                "row"
            ),
            run(
                "box",
                "The box of a weight: the `range` of its iterates, or their mean plus and minus the square root of 3 standard deviations (`moments`).",
                OptionKind::Word(&["range", "moments"]),
                "range"
            ),
            run(
                "noise",
                "The noise of a Normal likelihood: `normal` as it is, or `triangular`.",
                OptionKind::Word(&["normal", "triangular"]),
                "normal"
            ),
            run(
                "alpha",
                "The radius of a triangular noise in standard deviations: a number, `variance` (the square root of 6, which keeps the variance) or \
                 `l2` (2.2970, the closest in mean square). Without a value `variance`, and 2.45 with `compat`.",
                OptionKind::NumberOr(f64::MIN_POSITIVE, f64::MAX, &["variance", "l2"]),
                ""
            ),
            run(
                "floor",
                "The weight of the Normal that a triangular noise is mixed with, so that no observation is impossible.",
                OptionKind::AtLeast(0.0),
                "0.001"
            ),
            run(
                "compat",
                "`published` scores a Normal observation as the authors' code does, with a triangle cut to the range of the targets that are scored; only for \
                 comparison with their tables.",
                OptionKind::Word(&["none", "published"]),
                "none"
            ),
            run(
                "smoothing",
                "What `compat = published` adds to the density of a target before it is normalised, on the scale that the model is trained on; the \
                 authors publish no value.",
                OptionKind::AtLeast(0.0),
                "0.001"
            ),
            run(
                "sigmoid",
                "The probability of a class from its logit against the others: `exact`, or a `cubic` polynomial.",
                OptionKind::Word(&["exact", "cubic"]),
                "exact"
            ),
            run(
                "draws",
                "Draws from the box per iterate: where the integral has no exact form (10 without a value), and of single rows whose box has too \
                 many pieces (1000).",
                from(1),
                ""
            ),
        ],
        takes: Takes::ModelOrFixed,
        finds: Finds::Collapsed,
    },
    MethodDef {
        name: "dropout",
        doc: "The maximum of the posterior density under random masks on the inputs of layers, which predictions draw too.",
        options: training_options![
            option(
                "rate",
                "The probability that an input of a layer is dropped.",
                OptionKind::Real(0.0, 1.0),
                "0.1",
                Phase::Compile
            ),
            option(
                "layers",
                "The layers whose inputs are dropped; without names all but the first.",
                OptionKind::Names,
                "",
                Phase::Compile
            ),
        ],
        takes: Takes::Model,
        finds: Finds::Masked,
    },
    MethodDef {
        name: "ensemble",
        doc: "Several maxima of the posterior density, from different starts; predictions average over them.",
        options: training_options![run("members", "How many.", few(), "5")],
        takes: Takes::ModelOrFixed,
        finds: Finds::Ensemble,
    },
    sampler(
        "hmc",
        "Static Hamiltonian Monte Carlo.",
        sampling_options![
            "1000",
            "1000",
            run("steps", "Leapfrog steps per iteration.", from(1), "16"),
            target_acceptance("0.8"),
            STEP_SIZE,
            METRIC,
        ],
    ),
    MethodDef {
        name: "laplace",
        doc: "A Gaussian around the maximum of the posterior.",
        options: training_options![
            EPOCHS_OF_SEARCH, RESTARTS, "cooldown", "f64";
            option(
                "over",
                "Which weights are random: `all`, `last_layer`, layers or sites in brackets, or `subnetwork(size, by = score)` with a number of \
                 weights (or a fraction below 1) and a score: their variance under a `diagonal` approximation or under the exact `marginal`, \
                 their `magnitude`, a `random` number, or their variance under an earlier infer, by its name. The others stay at the maximum.",
                OptionKind::Weights(&["diagonal", "marginal", "magnitude", "random"]),
                "all",
                Phase::Compile
            ),
            option(
                "structure",
                "The form of the precision: `full`, `diagonal`, `kronecker` (a product of two factors per site), `low_rank(rank)` besides the prior, or \
                 `functional` (a kernel over all training rows) and `functional(rows)` (over rows chosen at random).",
                OptionKind::Call,
                "full",
                Phase::Compile
            ),
            option(
                "curvature",
                "What stands for the curvature of the log likelihood: `ggn` (generalised Gauss-Newton), `fisher` (empirical Fisher) or `hessian`.",
                OptionKind::Word(&["ggn", "fisher", "hessian"]),
                "ggn",
                Phase::Compile
            ),
            option(
                "link",
                "How predictions are made: `glm` linearises, in closed form for a Normal likelihood, by `probit` for classes and by `monte_carlo` \
                 over functions for others; `bridge` and `bridge_normalised` are the Laplace bridge; `weights` draws weights.",
                OptionKind::Word(&["glm", "probit", "bridge", "bridge_normalised", "monte_carlo", "weights"]),
                "glm",
                Phase::Compile
            ),
            run(
                "prior_precision",
                "A factor on the precision of the prior: a number, or tuned by `marginal_likelihood` or on the `validation` rows.",
                OptionKind::NumberOr(1e-8, 1e8, &["marginal_likelihood", "validation"]),
                "1"
            ),
            run(
                "prior_structure",
                "What has a factor of its own: all weights (`scalar`), each site (`layer`), or each weight (`diagonal`).",
                OptionKind::Word(&["scalar", "layer", "diagonal"]),
                "scalar"
            ),
            run(
                "scale_prior",
                "Whether the precision of the prior of S of D weights is multiplied by S / D; without a value it is for `subnetwork`.",
                OptionKind::Bool,
                ""
            ),
            option(
                "online",
                "Whether the factors on the precision of the prior, and a noise that is learned, are tuned by the marginal likelihood while the maximum is \
                 searched.",
                OptionKind::Bool,
                "false",
                Phase::Compile
            ),
            run(
                "temperature",
                "What the log likelihood is divided by: 1 is the posterior, more is a tempered (safe) one.",
                POSITIVE,
                "1"
            ),
        ],
        takes: Takes::ModelOrFixed,
        finds: Finds::Laplace,
    },
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
        finds: Finds::Training,
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
                OptionKind::Int(1, 30),
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
        joined![sampling_options!["1000", "10000",], Penalty::OPTIONS],
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
    MethodDef {
        name: "swag",
        doc: "A Gaussian fitted to the iterates of gradient descent.",
        options: training_options![EPOCHS, RESTARTS, "constant", "f32";
            WARMUP,
            EVERY,
            KEEP,
            ITERATES,
            run(
                "covariance",
                "The form of the covariance: `diagonal`, `low_rank(rank)` (half diagonal, half the last deviations), `point` (none: \
                 stochastic weight averaging), or `snapshots` (no Gaussian: the iterates themselves, a snapshot ensemble).",
                OptionKind::Call,
                "low_rank(20)"
            ),
            run("scale", "What the covariance is multiplied by.", POSITIVE, "1"),
        ],
        takes: Takes::ModelOrFixed,
        finds: Finds::Swag,
    },
    MethodDef {
        name: "vi",
        doc: "Variational inference: the posterior family that maximises the evidence lower bound.",
        options: training_options![
            option(
                "samples",
                "Weight samples per step for the likelihood.",
                from(1),
                "1",
                Phase::Compile
            ),
            option(
                "draws",
                "Monte-Carlo draws per step for a KL that has no closed form; 0 takes the likelihood's weight samples.",
                from(0),
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
                OptionKind::Int(0, 64),
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
                OptionKind::Int(2, 64),
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
        finds: Finds::Training,
    },
];

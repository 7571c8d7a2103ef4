//! The record of every method.

use super::declare::{OptionGroup, count, join};
use super::options::{from, listed, with_default, with_record};
use super::{Finds, MethodDef, OptionDef, Phase, Takes};
use crate::collapsed::CollapsedOptions;
use crate::dropout::DropoutOptions;
use crate::iterates::{EnsembleOptions, IterateOptions, SwagOptions};
use crate::laplace;
use crate::manifest::Training;
use crate::sampling::{
    Adaptation, ChainOptions, HmcOptions, NutsOptions, Penalty, Sampler, SghmcOptions, SgldOptions,
};
use crate::variational::ViOptions;

/// Sorted by name.
pub static ALL: &[MethodDef] = &[
    MethodDef {
        name: "collapsed",
        doc: "The iterates of gradient descent, with some weights integrated over a box that spans them, exactly.",
        options: listed![Training { schedule = "constant", precision = "f64" }, IterateOptions, CollapsedOptions],
        takes: Takes::ModelOrFixed,
        finds: Finds::Collapsed,
    },
    MethodDef {
        name: "dropout",
        doc: "The maximum of the posterior density under random masks on the inputs of layers, which predictions draw too.",
        options: listed![Training, DropoutOptions],
        takes: Takes::Model,
        finds: Finds::Masked,
    },
    MethodDef {
        name: "ensemble",
        doc: "Several maxima of the posterior density, from different starts; predictions average over them.",
        options: listed![Training, EnsembleOptions],
        takes: Takes::ModelOrFixed,
        finds: Finds::Ensemble,
    },
    sampler(
        "hmc",
        "Static Hamiltonian Monte Carlo.",
        Sampler::Hmc,
        listed![ChainOptions, HmcOptions],
    ),
    MethodDef {
        name: "laplace",
        doc: "A Gaussian around the maximum of the posterior.",
        options: {
            const ALL: &[OptionDef] = listed![Training { precision = "f64" }, laplace::Options];
            &with_record::<{ ALL.len() }>(join(&[ALL]), EPOCHS_OF_SEARCH)
        },
        takes: Takes::ModelOrFixed,
        finds: Finds::Laplace,
    },
    sampler(
        "mala",
        "Metropolis-adjusted Langevin sampling.",
        Sampler::Mala,
        listed![ChainOptions, Adaptation { target_acceptance = "0.574" }],
    ),
    MethodDef {
        name: "map",
        doc: "The maximum of the posterior density, by gradient steps.",
        options: listed![Training],
        takes: Takes::Either,
        finds: Finds::Training,
    },
    sampler(
        "nuts",
        "The no-U-turn sampler.",
        Sampler::Nuts,
        listed![ChainOptions, NutsOptions],
    ),
    sampler(
        "penalty",
        "Metropolis sampling on mini-batches with the penalty method.",
        Sampler::Penalty,
        listed![ChainOptions { draws = "10000" }, Penalty],
    ),
    sampler(
        "random_walk",
        "Random-walk Metropolis sampling.",
        Sampler::RandomWalk,
        listed![ChainOptions { draws = "10000" }, Adaptation { target_acceptance = "0.234" }],
    ),
    sampler(
        "sghmc",
        "Stochastic-gradient Hamiltonian Monte Carlo.",
        Sampler::Sghmc,
        listed![ChainOptions { draws = "10000" }, SghmcOptions],
    ),
    sampler(
        "sgld",
        "Stochastic-gradient Langevin dynamics.",
        Sampler::Sgld,
        listed![ChainOptions { draws = "10000" }, SgldOptions],
    ),
    MethodDef {
        name: "swag",
        doc: "A Gaussian fitted to the iterates of gradient descent.",
        options: listed![Training { schedule = "constant" }, IterateOptions, SwagOptions],
        takes: Takes::ModelOrFixed,
        finds: Finds::Swag,
    },
    MethodDef {
        name: "vi",
        doc: "Variational inference: the posterior family that maximises the evidence lower bound.",
        options: listed![Training, ViOptions],
        takes: Takes::Posterior,
        finds: Finds::Training,
    },
];

/// The length of a search for a maximum, which may be none.
const EPOCHS_OF_SEARCH: OptionDef = OptionDef {
    name: Training::epochs().as_str(),
    doc: "Passes over the training rows in search of the maximum; 0 takes the start for it. Without a value, `steps` gives the length, and with `start` nothing is searched.",
    kind: from(0),
    default: "",
    phase: Phase::Run,
    synonyms: <Training as OptionGroup>::OPTIONS[0].synonyms,
};

const fn sampler(
    name: &'static str,
    doc: &'static str,
    sampler: Sampler,
    options: &'static [OptionDef],
) -> MethodDef {
    MethodDef {
        name,
        doc,
        options,
        takes: Takes::ModelOrFixed,
        finds: Finds::Chains(sampler),
    }
}

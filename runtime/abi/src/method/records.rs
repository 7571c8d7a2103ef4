//! The list of the methods. The record of each method is defined next to its options.

use super::MethodDef;
use crate::sampling::samplers;
use crate::{collapsed, dropout, iterates, laplace, training, variational};

/// All methods, sorted by name.
pub static ALL: &[MethodDef] = &[
    collapsed::RECORD,
    dropout::RECORD,
    iterates::ENSEMBLE,
    samplers::hmc::RECORD,
    laplace::RECORD,
    samplers::mala::RECORD,
    training::MAP,
    samplers::nuts::RECORD,
    samplers::penalty::RECORD,
    samplers::random_walk::RECORD,
    samplers::sghmc::RECORD,
    samplers::sgld::RECORD,
    iterates::SWAG,
    variational::RECORD,
];

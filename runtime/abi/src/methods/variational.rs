//! The options of variational inference.

use crate::method::declare::{OptionName, options, words};
use crate::method::options::{from, listed};
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::methods::training::Training;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of `vi`.
pub(crate) const RECORD: MethodDef = MethodDef {
    name: "vi",
    doc: "Variational inference: the posterior family that maximises the evidence lower bound.",
    options: listed![Training, ViOptions],
    takes: Takes::Posterior,
    finds: Finds::Training,
};

options! {
    /// Options of `vi`.
    pub struct ViOptions {
        /// Weight samples per step for the likelihood.
        samples: usize { "1", from(1), Phase::Compile };
        /// Monte Carlo draws per step for a KL divergence without a closed form. With 0, the KL divergence uses the weight samples of the likelihood.
        draws: usize { "0", from(0), Phase::Compile, &["n_draws", "n_samples", "num_draws", "num_samples"] };
        /// The estimator of the KL divergence: `auto` uses the closed form if it exists, and otherwise the same as `monte_carlo`; `monte_carlo` uses
        /// the best estimate by draws; `direct` uses the plain mean over draws.
        estimator as "kl": KlEstimator { "auto", KlEstimator::KIND, Phase::Compile };
        /// The weight of the KL divergence in the batches of an epoch: `exact` (in proportion to the rows of each batch), `graves` (the same in every
        /// batch) or `blundell` (half of it in the first batch, and half of the remainder in each further batch).
        kl_weight: KlWeight { "exact", KlWeight::KIND, Phase::Run };
        /// How the means over noise in a factorised KL divergence are computed: `law` draws each mean directly from the distribution of the mean if
        /// this distribution is known, so that the time does not depend on `draws`; `sums` averages over `draws` draws of the noise.
        statistics: KlStatistics { "law", KlStatistics::KIND, Phase::Compile };
        /// The order of a Taylor series for those parts of a KL divergence that do not factorise; 0 uses no series. The series is biased; bnnc checks
        /// its radius of convergence.
        taylor: usize { "0", OptionKind::Int(0, 64), Phase::Compile };
        /// Layers or parameters with local reparameterisation: the outputs of the layer are drawn for each row, instead of the weights.
        local: Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
        /// Layers or parameters with flipout: all rows share one draw of the weights' deviations from their centre, and each row flips their signs at
        /// random.
        flipout: Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
        /// Layers or parameters over which the likelihood is integrated in closed form. The log likelihood must be a polynomial in the outputs of
        /// these layers, or logistic.
        integrate: Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
        /// The order of the Taylor series that replaces a logistic log likelihood under `integrate` (biased).
        series: usize { "4", OptionKind::Int(2, 64), Phase::Compile };
        /// Fractions of weights for the pruning table, such as `[0, 0.5, 0.95]`. For each fraction, the weights with the lowest signal-to-noise
        /// ratios are set to zero.
        prune: Vec<f64> { "", OptionKind::Fractions, Phase::Compile };
    }
}

impl ViOptions {
    /// Returns the options that draw separate weights for each row, if they name layers.
    pub fn rows_apart(&self) -> Vec<OptionName> {
        let lists = [
            (ViOptions::local(), &self.local),
            (ViOptions::flipout(), &self.flipout),
            (ViOptions::integrate(), &self.integrate),
        ];
        let named = lists.into_iter().filter(|(_, layers)| !layers.is_empty());
        named.map(|(option, _)| option).collect()
    }
}

/// The permitted estimators of the KL divergence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KlEstimator {
    #[default]
    /// The closed form is used if it exists. Otherwise, the best estimate from draws is used.
    Best,
    /// The best estimate from draws.
    Sampled,
    /// The plain mean over draws.
    Direct,
}

words!(KlEstimator { "auto" => Best, "monte_carlo" => Sampled, "direct" => Direct });

/// How averages over noise are computed in a factorised KL divergence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KlStatistics {
    #[default]
    /// Draws each mean directly from its distribution, if this distribution is known. The time then
    /// does not depend on the number of draws.
    Law,
    /// Sums over draws of the noise.
    Sums,
}

words!(KlStatistics { "law" => Law, "sums" => Sums });

/// The weight of the KL divergence in the batches of an epoch. `N` is the number of all rows, `M` the number of batches, and `n` the number of rows
/// in a batch.
///
/// A step minimises `kl_weight KL - N/n sum log p(row)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KlWeight {
    /// Weight 1: every step is an unbiased estimate of the negative evidence lower bound, for every batch size.
    #[default]
    Exact,
    /// Graves (2011): the objective of each batch is the sum of `1/M` of the KL divergence and the loss
    /// of the rows in the batch. The weight is therefore `N / (M n)`. The weight is 1 if all batches
    /// have the same size, and larger for a smaller last batch.
    Graves,
    /// Blundell et al. (2015), equation 9: the objective of batch `i`, counted from 1, contains the
    /// fraction `2^(M - i) / (2^M - 1)` of the KL divergence. The weight of the batch is this
    /// fraction times `N / n`. The sum of the objectives over an epoch is the bound, but a single
    /// objective is not: the first steps mostly follow the prior, and the last steps mostly follow
    /// the likelihood.
    Blundell,
}

words!(KlWeight { "exact" => Exact, "graves" => Graves, "blundell" => Blundell });

//! Posteriors that consist of the iterates of one training (averages) or of the results of several
//! trainings (ensembles).

use crate::code::Artifact;
use crate::method::conflict::OptionConflict;
use crate::method::declare::{OptionField, OptionGroup, OptionName, forms, options};
use crate::method::options::{POSITIVE, few, from, listed};
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::methods::training::{Train, Training};
use crate::part::{DataExtent, MethodPart};
use crate::site_report::SiteReport;
use serde::{Deserialize, Serialize};

/// The record of `ensemble`.
pub(crate) const ENSEMBLE: MethodDef = MethodDef {
    name: "ensemble",
    doc: "Several maxima of the posterior density, from different starts; predictions average over these maxima.",
    options: listed![Training, EnsembleOptions],
    takes: Takes::ModelOrFixed,
    finds: Finds::Ensemble,
};

/// The record of `swag`.
pub(crate) const SWAG: MethodDef = MethodDef {
    name: "swag",
    doc: "A Gaussian fitted to the iterates of gradient descent.",
    options: listed![Training { schedule = "constant" }, IterateOptions, SwagOptions],
    takes: Takes::ModelOrFixed,
    finds: Finds::Swag,
};

/// The part of an inference block that fits a Gaussian to the iterates of gradient descent (Maddox et al. 2019).
///
/// For each state in `moved`, [`crate::manifest::InferenceBlock::predict`] and [`crate::manifest::InferenceBlock::sites`] take an array of shape
/// `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Swag {
    /// The training that produces the iterates.
    pub train: Train,
    /// The states that differ between draws: the trained states, which the Gaussian covers, and the running means. All other states keep their values
    /// from the end of the training: after the last epoch or, with early stopping, after the best epoch.
    pub moved: Vec<String>,
    /// The program that returns `NAME/mean..`: the means over the rows of a call. It has the data ports of a
    /// training step. Absent if the model has no running
    /// means. This program recomputes the running means for weights that did not occur in a training
    /// step: the average of the iterates, and the draws.
    pub means: Option<Artifact>,
    /// The selection of the iterates.
    pub options: IterateOptions,
    /// The form of the Gaussian.
    pub gaussian: SwagOptions,
}

options! {
    /// Options that select the iterates of a training.
    pub struct IterateOptions {
        /// Epochs before the first iterate is taken. Without a value, the number is half of all epochs.
        warmup: Option<usize> { "", from(0), Phase::Run, &["burn", "burn_in", "burnin", "num_warmup", "tune"] };
        /// Epochs between iterates. Without a value, bnnc uses the smallest number that gives at most 100 iterates.
        every: Option<usize> { "", from(1), Phase::Run };
        /// The number of iterates to keep, counted from the last one; 0 keeps all.
        keep: usize { "0", from(0), Phase::Run };
        /// An earlier inference block that provides the iterates, so that no training is needed. The results of this block may be the iterates of
        /// `collapsed` or of `swag` with `covariance = snapshots`, the members of an `ensemble`, or the `predictive_draws` of chains.
        iterates: Option<String> { "", OptionKind::Infer, Phase::Run };
    }
}

options! {
    /// Options of `swag`.
    #[derive(Copy)]
    pub struct SwagOptions {
        /// The form of the covariance: `diagonal` (variances only); `low_rank(rank)` (one half of the variances plus one half of the covariance of
        /// the last `rank` deviations from the mean); `point` (no covariance: plain stochastic weight averaging); or `snapshots` (the iterates
        /// themselves instead of a Gaussian: a snapshot ensemble).
        covariance: Covariance { "low_rank(20)", Covariance::KIND, Phase::Run };
        /// A factor on the covariance.
        scale: f64 { "1", POSITIVE, Phase::Run };
    }
}

options! {
    /// Options of `ensemble`.
    #[derive(Copy)]
    pub struct EnsembleOptions {
        /// The number of members.
        members: usize { "5", few(), Phase::Run };
    }
}

/// The largest number of iterates if the option `every` is not set. This limit keeps predictions
/// and integrals fast: their cost is proportional to the number of iterates.
const MOST_ITERATES: usize = 100;

impl Swag {
    /// Returns the number of epochs before the first iterate of a training of `epochs` epochs.
    pub(crate) fn warmup_of(&self, epochs: usize) -> usize {
        self.options.warmup.unwrap_or(epochs / 2)
    }

    /// Returns the number of epochs between two iterates, for a training of `epochs` epochs. The
    /// number is at least 1.
    pub(crate) fn every_of(&self, epochs: usize) -> usize {
        let taking = epochs.saturating_sub(self.warmup_of(epochs));
        self.options
            .every
            .unwrap_or(taking.div_ceil(MOST_ITERATES))
            .max(1)
    }

    /// Returns whether a training of `epochs` epochs takes an iterate at the end of epoch `epoch`,
    /// counted from 1.
    pub fn takes(&self, epoch: usize, epochs: usize) -> bool {
        let warmup = self.warmup_of(epochs);
        epoch > warmup && (epoch - warmup).is_multiple_of(self.every_of(epochs))
    }

    /// Returns the number of iterates that a training of `epochs` epochs keeps if it does not stop
    /// early.
    pub fn planned(&self, epochs: usize) -> usize {
        let taken = epochs.saturating_sub(self.warmup_of(epochs)) / self.every_of(epochs);
        match self.options.keep {
            0 => taken,
            keep => taken.min(keep),
        }
    }

    /// Returns the smallest number of iterates from which this form of covariance can be computed.
    pub fn least(&self) -> usize {
        match self.gaussian.covariance {
            Covariance::Point | Covariance::Snapshots => 1,
            Covariance::Diagonal | Covariance::LowRank(_) => 2,
        }
    }
}

/// The form of the covariance of a Gaussian over iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Covariance {
    /// The mean alone, without a covariance (stochastic weight averaging).
    Point,
    /// The variances alone (a diagonal covariance).
    Diagonal,
    /// Half the variances plus half the covariance of the last deviations. The covariance in this
    /// sum is the sum of the outer products of the last deviations, divided by their number minus
    /// one. The argument of the variant is the number of deviations. The deviation of an iterate is
    /// its difference from the mean of all iterates up to and including this iterate.
    LowRank(usize),
    /// The iterates themselves in place of a Gaussian, with equal weights (a snapshot ensemble, Huang et al. 2017).
    Snapshots,
}

forms!(Covariance {
    "diagonal" => Covariance::Diagonal,
    "low_rank"(rank) => Covariance::LowRank(rank.round() as usize),
    "point" => Covariance::Point,
    "snapshots" => Covariance::Snapshots,
});

/// The part of an inference block that trains several times from different starts (Lakshminarayanan et al. 2017). Predictions average over the
/// members.
///
/// For each state in `moved`, [`crate::manifest::InferenceBlock::predict`] and [`crate::manifest::InferenceBlock::sites`] take an array of shape
/// `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ensemble {
    /// The training of one member.
    pub train: Train,
    /// The states in which members differ: the trained states and the running means.
    pub moved: Vec<String>,
    /// The number of members.
    pub options: EnsembleOptions,
}

/// The options of [`Swag`] that apply to its training. These options do not have an effect if the iterates come from an earlier inference
/// block.
const OF_TRAINING: [OptionName; 12] = [
    Training::epochs(),
    Training::steps(),
    Training::restarts(),
    IterateOptions::warmup(),
    IterateOptions::every(),
    Training::batch(),
    Training::optimiser(),
    Training::schedule(),
    Training::clip(),
    Training::augment(),
    Training::patience(),
    Training::start(),
];

impl Swag {
    /// Checks that these options are not set if the iterates come from an earlier inference block.
    ///
    /// # Errors
    /// Returns the first option that is set.
    pub fn check_training(&self, is_set: impl Fn(OptionName) -> bool) -> Result<(), OptionConflict> {
        let option = OF_TRAINING.into_iter().find(|option| is_set(*option));
        match option.filter(|_| self.options.iterates.is_some()) {
            None => Ok(()),
            Some(option) => OptionConflict::new(
                option,
                format!(
                    "`{option}` is an option of a training, but `iterates` uses the iterates of an earlier inference instead of a training"
                ),
                "leave this option or `iterates` out",
            ),
        }
    }

    /// Checks that a training on this number of rows produces as many iterates as the covariance needs.
    ///
    /// # Errors
    /// Fails if `keep` is too small, or if the training produces fewer iterates.
    fn check_iterates(&self, rows: usize) -> Result<(), OptionConflict> {
        let epochs = self.train.options.epochs_of(rows);
        let (planned, least) = (self.planned(epochs), self.least());
        let keep = self.options.keep;
        if keep > 0 && keep < least {
            return OptionConflict::new(
                IterateOptions::keep(),
                format!("`keep` leaves {keep} iterates, but this covariance needs {least}"),
                "raise `keep`, or write `covariance = point`",
            );
        }
        if planned < least && self.options.iterates.is_none() {
            return OptionConflict::new(
                IterateOptions::warmup(),
                format!(
                    "{epochs} epochs with a warm-up of {} and one iterate every {} give {planned} iterates, but this covariance needs {least}",
                    self.warmup_of(epochs),
                    self.every_of(epochs)
                ),
                "raise `epochs`, or lower `warmup` or `every`",
            );
        }
        Ok(())
    }
}

impl MethodPart for Swag {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let mut all = self.train.artifacts();
        all.extend(&mut self.means);
        all
    }

    fn predictive_draws(&self) -> usize {
        self.train.predictive_draws()
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        let own = self.gaussian.place(option);
        own.or_else(|| self.options.place(option))
            .or_else(|| self.train.place(option))
    }

    fn check(&self, extent: DataExtent<'_>) -> Result<(), OptionConflict> {
        self.check_iterates(extent.examples)
    }

    fn check_applies(&self, option: &str) -> Result<(), OptionConflict> {
        self.check_training(|of_training| of_training.as_str() == option)
    }

    fn training(&self) -> Option<&Train> {
        Some(&self.train)
    }

    fn training_mut(&mut self) -> Option<&mut Train> {
        Some(&mut self.train)
    }

    fn iterated(&self) -> Option<&Swag> {
        Some(self)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.moved.iter().map(String::as_str).collect()
    }

    fn held(&self) -> Option<&[String]> {
        (self.gaussian.covariance == Covariance::Snapshots).then_some(&self.moved)
    }

    fn needs(&self) -> Option<&str> {
        self.options.iterates.as_deref()
    }

    fn has_spread(&self, _: &[SiteReport]) -> bool {
        self.gaussian.covariance != Covariance::Point
    }
}

impl MethodPart for Ensemble {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        self.train.artifacts()
    }

    fn predictive_draws(&self) -> usize {
        self.train.predictive_draws()
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        let own = self.options.place(option);
        own.or_else(|| self.train.place(option))
    }

    fn training(&self) -> Option<&Train> {
        Some(&self.train)
    }

    fn training_mut(&mut self) -> Option<&mut Train> {
        Some(&mut self.train)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.moved.iter().map(String::as_str).collect()
    }

    fn held(&self) -> Option<&[String]> {
        Some(&self.moved)
    }
}

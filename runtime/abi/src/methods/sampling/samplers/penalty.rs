//! Metropolis sampling on mini-batches with the penalty method. This module contains the options,
//! the checks of the options, and the power of the likelihood in the target distribution.

use super::{EvaluationRows, SamplerKind, SamplerPart, batch, sampler, stan};
use crate::method::conflict::OptionConflict;
use crate::method::declare::{forms, options, words};
use crate::method::options::{from, listed};
use crate::method::{MethodDef, OptionKind, Phase};
use crate::methods::sampling::ChainOptions;
use serde::{Deserialize, Serialize};

/// The record of `penalty`.
pub(crate) const RECORD: MethodDef = sampler(
    "penalty",
    "Metropolis sampling on mini-batches with the penalty method.",
    SamplerKind::Penalty,
    listed![ChainOptions { draws = "10000" }, Penalty],
);

options! {
    /// Options of the penalty method.
    #[derive(Copy)]
    pub struct Penalty {
        /// Rows per batch, over all files of the data. With 0, a batch has all rows, and the method is exact.
        batch: usize { "100", from(0), Phase::Run, &["batch_size"] };
        /// Batches per iteration. The variance of the loss difference is estimated from these batches.
        batches: usize { "10", from(1), Phase::Run };
        /// Which rows the likelihood of a batch stands for. `data`: all rows; this gives the ordinary posterior. `batch`: only the rows of the batch;
        /// this gives a tempered posterior (the log likelihood is multiplied by batch / rows).
        loss: Loss { "batch", Loss::KIND, Phase::Run };
        /// The estimator of the loss difference: the `mean` over all batches, or the difference on a `single` batch. With `single`, the other batches
        /// are used to estimate the variance.
        estimator: Estimator { "mean", Estimator::KIND, Phase::Run };
        /// The correction for the noise of the loss difference: `plain` (subtracts half of its variance), `corrected` (also corrects for the noise of
        /// the estimated variance) or `naive` (no correction).
        correction as "penalty": Correction { "plain", Correction::KIND, Phase::Run };
        /// The proposal: `random_walk(step)` or `mala(step)`. The gradient of `mala` is computed on a separate batch.
        proposal: Proposal { "random_walk(1e-3)", Proposal::KIND, Phase::Run };
        /// Rows of the batch on which the gradient of the proposal is computed; 0 means the value of `batch`.
        gradient_batch: usize { "0", from(0), Phase::Run };
        /// Allows a row to be in a batch more than once.
        replacement: bool { "false", OptionKind::Bool, Phase::Run };
    }
}

words!(Loss { "batch" => Batch, "data" => Data });

words!(Estimator { "mean" => Mean, "single" => Single });

words!(Correction { "plain" => Plain, "corrected" => Corrected, "naive" => Naive });

forms!(Proposal {
    "random_walk"(step) => Proposal::RandomWalk { step },
    "mala"(step) => Proposal::Langevin { step },
});

/// The rows whose likelihood a batch stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// The batch stands for itself: the log likelihood in the target is multiplied by batch / rows.
    Batch,
    /// The batch stands for all rows: the target is the ordinary posterior.
    Data,
}

/// The estimator of the difference between the losses at the proposal and at the current position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimator {
    /// The difference on one batch. The variance of this difference is estimated from further
    /// batches.
    Single,
    /// The mean of the differences on all batches. The variance of this mean is estimated from the
    /// same batches.
    Mean,
}

/// How the acceptance test is corrected for the noise of the estimated loss difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Correction {
    /// The test is not corrected (the naive acceptance test, for comparison).
    Naive,
    /// Half the estimated variance is subtracted (Ceperley and Dewing 1999, equation 15).
    Plain,
    /// Half the estimated variance is subtracted, and the noise of this estimate is corrected for
    /// too (equations 47 and following of the same paper).
    Corrected,
}

/// The proposal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Proposal {
    /// `theta' = theta + sqrt(2 eta) noise`.
    RandomWalk {
        /// The step size `eta` of the proposal.
        step: f64,
    },
    /// `theta' = theta - eta g(theta) + sqrt(2 eta) noise`. `g` is the gradient of the negative log density on a separate batch.
    Langevin {
        /// The step size `eta` of the proposal.
        step: f64,
    },
}

impl Penalty {
    /// Returns whether a batch contains all `rows` rows. The losses of such a batch are exact, so
    /// they do not need a correction.
    pub fn takes_all(&self, rows: usize) -> bool {
        self.batch == 0 || self.batch >= rows
    }

    /// Returns the power of the likelihood in the target at temperature 1: `batch / rows` with
    /// `loss = batch`, otherwise 1.
    pub fn share(&self, rows: usize) -> f64 {
        match self.loss {
            Loss::Batch if !self.takes_all(rows) => self.batch as f64 / rows as f64,
            Loss::Batch | Loss::Data => 1.0,
        }
    }
}

impl SamplerPart for Penalty {
    fn evaluation(&self, rows: usize) -> EvaluationRows {
        let gradient = match self.gradient_batch {
            0 => self.batch,
            given => given,
        };
        EvaluationRows {
            gradient: batch(gradient, rows),
            // With `estimator = single`, one batch yields the difference, and `batches` further
            // batches yield its variance.
            differences: match self.takes_all(rows) {
                true => rows,
                false => batch(self.batch, rows) * (self.batches + 1),
            },
        }
    }

    fn reads_all(&self) -> bool {
        false
    }

    fn likelihood_power(&self, rows: usize) -> Option<f64> {
        let is_corrected = self.correction != Correction::Naive || self.takes_all(rows);
        is_corrected.then(|| self.share(rows))
    }

    fn penalty(&self) -> Option<&Penalty> {
        Some(self)
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        let options = [
            ("batch", self.batch.to_string()),
            ("batches", self.batches.to_string()),
        ];
        stan::plain("penalty", &options)
    }

    fn check(&self, rows: usize, _: &ChainOptions) -> Result<(), OptionConflict> {
        let step = match self.proposal {
            Proposal::RandomWalk { step } | Proposal::Langevin { step } => step,
        };
        if !(step > 0.0 && step.is_finite()) {
            return OptionConflict::new(
                Penalty::proposal(),
                format!("the step of a proposal must be a positive number, not {step}"),
                "start with 1e-3 and raise it while acceptance stays above 0.3",
            );
        }
        if matches!(self.proposal, Proposal::RandomWalk { .. }) && self.gradient_batch != 0 {
            return OptionConflict::new(
                Penalty::gradient_batch(),
                "`gradient_batch` has no effect: a random walk needs no gradient",
                "remove it, or write `proposal = mala(step)`",
            );
        }
        let least = match self.correction {
            Correction::Naive => 1,
            Correction::Plain => 2,
            Correction::Corrected => 4,
        };
        if !self.takes_all(rows) && self.batches < least {
            let (batches, correction) = (self.batches, self.correction.word());
            return OptionConflict::new(
                Penalty::batches(),
                format!("`penalty = {correction}` needs `batches` of at least {least}, not {batches}"),
                "the variance of the loss difference is estimated from the batches; `batch = 0` uses all rows and needs no estimate",
            );
        }
        Ok(())
    }

    // Every batch contains rows of each non-empty file.
    fn check_shards(&self, shards: &[usize]) -> Result<(), OptionConflict> {
        let files = shards.iter().filter(|rows| **rows > 0).count();
        let gradients = if self.gradient_batch == 0 {
            self.batch
        } else {
            self.gradient_batch
        };
        for (option, batch) in [
            (Penalty::batch(), self.batch),
            (Penalty::gradient_batch(), gradients),
        ] {
            if batch != 0 && batch < files {
                return OptionConflict::new(
                    option,
                    format!("`{option} = {batch}` is less than the {files} files of the data"),
                    format!("each batch has rows of every file: use at least {files}"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::method::declare::OptionField;
    use crate::method::declare::{Mismatch, OptionGroup, OptionSource, RawOption};
    use crate::methods::sampling::samplers::penalty::Estimator;

    fn read<'a>(given: &'a dyn Fn(&str) -> Option<RawOption<'a>>) -> Result<Penalty, Mismatch> {
        let records = Penalty::OPTIONS;
        <Penalty as OptionGroup>::read(&OptionSource { records, given })
    }

    fn chains() -> ChainOptions {
        ChainOptions::defaults().unwrap()
    }

    fn plain() -> Penalty {
        Penalty {
            batch: 5,
            batches: 5,
            loss: Loss::Batch,
            estimator: Estimator::Mean,
            correction: Correction::Plain,
            proposal: Proposal::RandomWalk { step: 1e-3 },
            gradient_batch: 0,
            replacement: false,
        }
    }

    #[test]
    fn options_are_read_from_their_declaration() {
        let defaults = Penalty::defaults().unwrap();
        let expected = Penalty {
            batch: 100,
            batches: 10,
            loss: Loss::Batch,
            estimator: Estimator::Mean,
            correction: Correction::Plain,
            proposal: Proposal::RandomWalk { step: 1e-3 },
            gradient_batch: 0,
            replacement: false,
        };
        assert_eq!(defaults, expected);
        let given = |name: &str| match name {
            "batch" => Some(RawOption::Int(7)),
            "penalty" => Some(RawOption::Call("naive", &[])),
            "proposal" => Some(RawOption::Call("mala", &[0.5])),
            "replacement" => Some(RawOption::Bool(true)),
            _ => None,
        };
        let changed_by = read(&given).unwrap();
        let changed = Penalty {
            batch: 7,
            correction: Correction::Naive,
            proposal: Proposal::Langevin { step: 0.5 },
            replacement: true,
            ..expected
        };
        assert_eq!(changed_by, changed);
        let wrong = |option: &'static str, given: RawOption<'static>| {
            read(&|name| (name == option).then_some(given)).unwrap_err().0
        };
        assert_eq!(wrong("penalty", RawOption::Call("none", &[])), "penalty");
        assert_eq!(wrong("proposal", RawOption::Call("walk", &[0.5])), "proposal");
        assert_eq!(wrong("batches", RawOption::Int(-1)), "batches");
        assert_eq!(wrong("replacement", RawOption::Int(1)), "replacement");
    }

    #[test]
    fn numbers_are_set_where_they_are_declared() {
        let mut options = plain();
        for name in ["batch", "batches", "gradient_batch"] {
            assert!(
                matches!(
                    OptionGroup::place(&mut options, name),
                    Some(OptionField::Count(_))
                ),
                "{name}"
            );
        }
        for name in ["loss", "penalty", "proposal", "replacement", "chains"] {
            assert!(OptionGroup::place(&mut options, name).is_none(), "{name}");
        }
    }

    #[test]
    fn corrections_need_batches() {
        for (correction, least) in [
            (Correction::Naive, 1),
            (Correction::Plain, 2),
            (Correction::Corrected, 4),
        ] {
            let of = |batches| Penalty {
                batches,
                correction,
                ..plain()
            };
            assert_eq!(of(least).check(100, &chains()), Ok(()));
            let rejection = of(least - 1).check(100, &chains()).unwrap_err();
            assert!(
                rejection
                    .message
                    .contains(&format!("at least {least}, not {}", least - 1))
            );
            // A batch that contains all rows is exact, so the check allows any number of batches.
            assert_eq!(of(least - 1).check(5, &chains()), Ok(()));
            assert_eq!(of(least - 1).check(6, &chains()), Err(rejection));
            assert_eq!(
                Penalty {
                    batch: 0,
                    ..of(least - 1)
                }
                .check(100, &chains()),
                Ok(())
            );
        }
    }

    #[test]
    fn steps_are_positive() {
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let options = Penalty {
                proposal: Proposal::Langevin { step },
                ..plain()
            };
            assert!(
                options
                    .check(100, &chains())
                    .unwrap_err()
                    .message
                    .contains("positive")
            );
        }
    }

    #[test]
    fn random_walks_take_no_gradient() {
        let options = Penalty {
            gradient_batch: 3,
            ..plain()
        };
        assert!(
            options
                .check(100, &chains())
                .unwrap_err()
                .message
                .contains("gradient_batch")
        );
        let proposal = Proposal::Langevin { step: 0.1 };
        assert_eq!(Penalty { proposal, ..options }.check(100, &chains()), Ok(()));
    }

    #[test]
    fn every_file_gives_rows() {
        assert_eq!(plain().check_shards(&[4, 0, 7, 9, 3, 2]), Ok(()));
        let rejection = plain().check_shards(&[4, 1, 7, 9, 3, 2]).unwrap_err();
        assert!(rejection.message.contains("6 files"));
        assert_eq!(
            Penalty { batch: 0, ..plain() }.check_shards(&[4, 1, 7, 9, 3, 2]),
            Ok(())
        );
    }
}

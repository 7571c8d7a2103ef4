//! Which options of the penalty method go together, and what they say about the target.

use crate::sampling::{Correction, Loss, Penalty, Proposal};
use crate::steering::Refusal;

impl Penalty {
    /// Returns whether a batch holds all `rows` rows, so that its losses are exact and need no penalty.
    pub fn takes_all(&self, rows: usize) -> bool {
        self.batch == 0 || self.batch >= rows
    }

    /// The power of the likelihood in the target at temperature 1: batch / rows where the loss of a batch counts as it is, else 1.
    pub fn share(&self, rows: usize) -> f64 {
        match self.loss {
            Loss::Batch if !self.takes_all(rows) => self.batch as f64 / rows as f64,
            Loss::Batch | Loss::Data => 1.0,
        }
    }

    /// Checks that the options go together on data with this number of rows.
    ///
    /// # Errors
    /// Too few batches for the correction, a step that is no positive number, options without effect.
    pub fn check(&self, rows: usize) -> Result<(), Refusal> {
        let step = match self.proposal {
            Proposal::RandomWalk { step } | Proposal::Langevin { step } => step,
        };
        if !(step > 0.0 && step.is_finite()) {
            return Refusal::new(
                Penalty::proposal(),
                format!("the step of a proposal must be a positive number, not {step}"),
                "start with 1e-3 and raise it while acceptance stays above 0.3",
            );
        }
        if matches!(self.proposal, Proposal::RandomWalk { .. }) && self.gradient_batch != 0 {
            return Refusal::new(
                Penalty::gradient_batch(),
                "`gradient_batch` has no effect: a random walk takes no gradient",
                "remove it, or propose with `mala(step)`",
            );
        }
        let least = match self.correction {
            Correction::Naive => 1,
            Correction::Plain => 2,
            Correction::Corrected => 4,
        };
        if !self.takes_all(rows) && self.batches < least {
            let (batches, correction) = (self.batches, self.correction.word());
            return Refusal::new(
                Penalty::batches(),
                format!("`penalty = {correction}` needs `batches` of at least {least}, not {batches}"),
                "the variance of the loss difference is estimated from the batches; `batch = 0` takes all rows and needs none",
            );
        }
        Ok(())
    }

    /// Checks that the options suit data with these rows in each file.
    ///
    /// # Errors
    /// A batch with fewer rows than there are files with rows: each gives its rows to every batch.
    pub fn check_shards(&self, shards: &[usize]) -> Result<(), Refusal> {
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
                return Refusal::new(
                    option,
                    format!("`{option} = {batch}` is less than the {files} files of the data"),
                    format!("every file gives rows to each batch: take at least {files}"),
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
    use crate::method::declare::{Given, Mismatch, OptionGroup, Source};
    use crate::sampling::Estimator;
    use crate::steering::Place;

    fn read<'a>(given: &'a dyn Fn(&str) -> Option<Given<'a>>) -> Result<Penalty, Mismatch> {
        let records = Penalty::OPTIONS;
        Penalty::read(&Source { records, given })
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
            "batch" => Some(Given::Int(7)),
            "penalty" => Some(Given::Call("naive", &[])),
            "proposal" => Some(Given::Call("mala", &[0.5])),
            "replacement" => Some(Given::Bool(true)),
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
        let wrong = |option: &'static str, given: Given<'static>| {
            read(&|name| (name == option).then_some(given)).unwrap_err().0
        };
        assert_eq!(wrong("penalty", Given::Call("none", &[])), "penalty");
        assert_eq!(wrong("proposal", Given::Call("walk", &[0.5])), "proposal");
        assert_eq!(wrong("batches", Given::Int(-1)), "batches");
        assert_eq!(wrong("replacement", Given::Int(1)), "replacement");
    }

    #[test]
    fn numbers_are_set_where_they_are_declared() {
        let mut options = plain();
        for name in ["batch", "batches", "gradient_batch"] {
            assert!(matches!(options.place(name), Some(Place::Count(_))), "{name}");
        }
        for name in ["loss", "penalty", "proposal", "replacement", "chains"] {
            assert!(options.place(name).is_none(), "{name}");
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
            assert_eq!(of(least).check(100), Ok(()));
            let refusal = of(least - 1).check(100).unwrap_err();
            assert!(
                refusal
                    .message
                    .contains(&format!("at least {least}, not {}", least - 1))
            );
            // All rows are exact, whatever the number of batches.
            assert_eq!(of(least - 1).check(5), Ok(()));
            assert_eq!(of(least - 1).check(6), Err(refusal));
            assert_eq!(
                Penalty {
                    batch: 0,
                    ..of(least - 1)
                }
                .check(100),
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
            assert!(options.check(100).unwrap_err().message.contains("positive"));
        }
    }

    #[test]
    fn random_walks_take_no_gradient() {
        let options = Penalty {
            gradient_batch: 3,
            ..plain()
        };
        assert!(options.check(100).unwrap_err().message.contains("gradient_batch"));
        let proposal = Proposal::Langevin { step: 0.1 };
        assert_eq!(Penalty { proposal, ..options }.check(100), Ok(()));
    }

    #[test]
    fn every_file_gives_rows() {
        assert_eq!(plain().check_shards(&[4, 0, 7, 9, 3, 2]), Ok(()));
        let refusal = plain().check_shards(&[4, 1, 7, 9, 3, 2]).unwrap_err();
        assert!(refusal.message.contains("6 files"));
        assert_eq!(
            Penalty { batch: 0, ..plain() }.check_shards(&[4, 1, 7, 9, 3, 2]),
            Ok(())
        );
    }
}

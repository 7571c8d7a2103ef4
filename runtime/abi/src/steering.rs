//! Options that steer a run and change no code: where a manifest keeps them, and which of them go together.
//!
//! A built executable sets them as the compiler does; what a method's options are is in [`crate::method`].

use crate::data::Schema;
use crate::iterates::{IterateOptions, Swag};
use crate::laplace;
use crate::manifest::{Infer, Training, Work};
use crate::method::declare::{OptionGroup, OptionName};
use crate::method::{self, Phase};
use crate::sampling::{ChainOptions, SgldOptions, Steps, Transition};

/// Options that cannot run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The option to point at.
    pub option: OptionName,
    /// What is wrong.
    pub message: String,
    /// What can be done.
    pub help: String,
}

impl Refusal {
    pub(crate) fn new(
        option: OptionName,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<(), Refusal> {
        Err(Refusal {
            option,
            message: message.into(),
            help: help.into(),
        })
    }
}

/// Where a manifest keeps an option.
pub enum Place<'a> {
    /// A count.
    Count(&'a mut usize),
    /// A count that may be left out.
    ChosenCount(&'a mut Option<usize>),
    /// A real.
    Real(&'a mut f64),
    /// A real that may be left out.
    Chosen(&'a mut Option<f64>),
}

impl Place<'_> {
    fn set(self, number: f64) {
        match self {
            Place::Count(count) => *count = number as usize,
            Place::ChosenCount(count) => *count = Some(number as usize),
            Place::Real(real) => *real = number,
            Place::Chosen(chosen) => *chosen = Some(number),
        }
    }
}

impl Infer {
    /// Sets an option to a number that its record allows. Returns false, having done nothing, where the number is compiled into the code, or is none
    /// to the compiler.
    pub fn steer(&mut self, option: &str, number: f64) -> bool {
        let record = method::lookup(self.method).and_then(|method| method.option(option));
        if record.is_none_or(|record| record.phase == Phase::Compile) {
            return false;
        }
        let Some(place) = self.place(option) else {
            return false;
        };
        place.set(number);
        self.steered(option);
        true
    }

    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match &mut self.work {
            Work::Train(train) => train.options.place(option),
            Work::Sample(sampling) => {
                let of_chains = sampling.options.place(option);
                of_chains.or_else(|| sampling.transition.place(option))
            }
            Work::Laplace(laplace) => {
                let own = laplace.options.place(option);
                own.or_else(|| laplace.train.options.place(option))
            }
            Work::Swag(swag) => {
                let own = swag.gaussian.place(option);
                own.or_else(|| swag.options.place(option))
                    .or_else(|| swag.train.options.place(option))
            }
            Work::Ensemble(ensemble) => {
                let own = ensemble.options.place(option);
                own.or_else(|| ensemble.train.options.place(option))
            }
            Work::Collapsed(collapsed) => {
                let iterates = &mut collapsed.iterates;
                let own = iterates.options.place(option);
                own.or_else(|| iterates.train.options.place(option))
            }
        }
    }

    /// What follows from an option that was set for others: of two lengths the last one counts.
    fn steered(&mut self, option: &str) {
        let is_steps = option == Training::steps().as_str();
        if !is_steps && option != Training::epochs().as_str() {
            return;
        }
        if let Some(train) = self.training_mut()
            && is_steps
        {
            train.options.epochs = None;
        }
        if let Work::Laplace(laplace) = &mut self.work {
            laplace.search = laplace.train.options.epochs != Some(0);
        }
    }

    /// Whether the options go together on these data. Those that change code were looked at when it was made.
    ///
    /// # Errors
    /// The first that do not.
    pub fn check(&self, schema: &Schema) -> Result<(), Refusal> {
        let training = self.training().map(|train| &train.options);
        let patience = training.map_or(0, |training| training.patience);
        watches(patience, schema.validation, &self.data)?;
        match &self.work {
            Work::Train(_) | Work::Ensemble(_) => Ok(()),
            Work::Sample(sampling) => sampling.transition.check(schema.train, &sampling.options),
            Work::Laplace(laplace) => laplace
                .options
                .check_search(laplace.search, !laplace.noise.is_empty()),
            Work::Swag(swag) => swag.check(self.examples(schema.train)),
            Work::Collapsed(collapsed) => collapsed.iterates.check(self.examples(schema.train)),
        }
    }

    /// Why an option has nothing to say to this infer, if so.
    ///
    /// # Errors
    /// It has none.
    pub fn hears(&self, option: &str) -> Result<(), Refusal> {
        let is_it = |of_training: OptionName| of_training.as_str() == option;
        match &self.work {
            Work::Swag(swag) => swag.hears(is_it),
            Work::Collapsed(collapsed) => collapsed.iterates.hears(is_it),
            Work::Train(_) | Work::Sample(_) | Work::Laplace(_) | Work::Ensemble(_) => Ok(()),
        }
    }
}

/// Patience needs validation rows: without them it would be a dead option. `data` is the name of the data item.
///
/// # Errors
/// There are none.
pub fn watches(patience: usize, validation: usize, data: &str) -> Result<(), Refusal> {
    if patience == 0 || validation > 0 {
        return Ok(());
    }
    Refusal::new(
        Training::patience(),
        format!("`patience` watches validation rows, but `{data}` holds none out"),
        format!("write `validation = 0.1` in the options of `{data}`"),
    )
}

impl laplace::Options {
    /// Whether what happens during the search of the maximum can happen, and whether a noise level moves in it.
    ///
    /// # Errors
    /// `online`, but nothing is searched, or a noise level has the say of a temperature.
    pub fn check_search(&self, searches: bool, learns_noise: bool) -> Result<(), Refusal> {
        if self.online && !searches {
            return Refusal::new(
                laplace::Options::online(),
                "`online` tunes while the maximum is searched, but the start is taken for it",
                "set `epochs`",
            );
        }
        if self.online && learns_noise && self.temperature != 1.0 {
            return Refusal::new(
                laplace::Options::temperature(),
                "`online` learns the noise by the marginal likelihood, but a likelihood that is divided by a temperature has no normaliser",
                "leave `temperature` out, or `online`; or fix the noise in a posterior",
            );
        }
        Ok(())
    }
}

/// The options of [`Swag`] that are of its training.
const OF_TRAINING: [OptionName; 10] = [
    Training::epochs(),
    Training::steps(),
    Training::restarts(),
    IterateOptions::warmup(),
    IterateOptions::every(),
    Training::batch(),
    Training::optimiser(),
    Training::schedule(),
    Training::patience(),
    Training::start(),
];

impl Swag {
    /// Whether options of a training are set where there is none.
    ///
    /// # Errors
    /// The first of them.
    pub fn hears(&self, is_set: impl Fn(OptionName) -> bool) -> Result<(), Refusal> {
        let option = OF_TRAINING.into_iter().find(|option| is_set(*option));
        match option.filter(|_| self.options.iterates.is_some()) {
            None => Ok(()),
            Some(option) => Refusal::new(
                option,
                format!("`{option}` is of a training, but the iterates are those of an earlier infer"),
                "leave it out, or leave out `iterates`",
            ),
        }
    }

    /// Whether there will be as many iterates as the covariance needs, of a training on so many rows.
    ///
    /// # Errors
    /// Fewer.
    pub fn check(&self, rows: usize) -> Result<(), Refusal> {
        let epochs = self.train.options.epochs_of(rows);
        let (planned, least) = (self.planned(epochs), self.least());
        let keep = self.options.keep;
        if keep > 0 && keep < least {
            return Refusal::new(
                IterateOptions::keep(),
                format!("`keep` leaves {keep} iterates, but this covariance needs {least}"),
                "raise `keep`, or take `covariance = point`",
            );
        }
        if planned < least && self.options.iterates.is_none() {
            return Refusal::new(
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

impl ChainOptions {
    /// Whether a schedule leaves any of the draws.
    fn leave_draws(&self, steps: Steps) -> bool {
        let (warmup, thin) = (self.warmup, self.thin);
        let cycle = steps.cycle(self.iterations()) as u64;
        let mut last = (1..=self.draws).map(|draw| warmup.saturating_add(draw.saturating_mul(thin)) - 1);
        last.any(|iteration| !steps.explores(iteration as u64, cycle))
    }
}

impl Transition {
    /// Whether the options of a transition go together on so many rows.
    ///
    /// # Errors
    /// The first that do not.
    pub fn check(&self, rows: usize, chains: &ChainOptions) -> Result<(), Refusal> {
        match self {
            Transition::Sgld(_) | Transition::Sghmc(_) => self.schedule().check(chains),
            Transition::Penalty(penalty) => penalty.check(rows),
            Transition::Nuts(_) | Transition::Hmc(_) | Transition::Mala(_) | Transition::RandomWalk(_) => {
                Ok(())
            }
        }
    }
}

impl Steps {
    /// Whether the schedule is one, and leaves draws.
    fn check(self, chains: &ChainOptions) -> Result<(), Refusal> {
        match self {
            Steps::Polynomial { b, gamma } if !(b > 0.0 && gamma > 0.0) => Refusal::new(
                SgldOptions::schedule(),
                format!("`polynomial({b}, {gamma})` needs two positive numbers"),
                "the steps shrink as `(1 + t / b)^-gamma`, such as `polynomial(1000, 0.55)`",
            ),
            Steps::Cyclical { cycles, exploration } if cycles == 0 || !(0.0..1.0).contains(&exploration) => {
                Refusal::new(
                    SgldOptions::schedule(),
                    format!(
                        "`cyclical({cycles}, {exploration})` needs at least one cycle and a fraction from 0 to below 1"
                    ),
                    "such as `cyclical(4, 0.5)`, which explores in the first half of each of four cycles",
                )
            }
            Steps::Cyclical { .. } if !chains.leave_draws(self) => Refusal::new(
                SgldOptions::schedule(),
                "no draw would be kept: every iteration that could be one only explores",
                "take fewer cycles, a smaller fraction, or more `draws`",
            ),
            Steps::Constant | Steps::Polynomial { .. } | Steps::Cyclical { .. } => Ok(()),
        }
    }
}

//! Options that steer a run and change no code: where a manifest keeps them, and which of them go together.
//!
//! A built executable sets them as the compiler does; what a method's options are is in [`crate::method`].

use crate::data::Schema;
use crate::iterates::Swag;
use crate::laplace;
use crate::manifest::{Infer, Length, Training, Work};
use crate::sampling::{Adaptation, Sampling, Steps, Transition};

/// Options that cannot run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The option to point at.
    pub option: &'static str,
    /// What is wrong.
    pub message: String,
    /// What can be done.
    pub help: String,
}

impl Refusal {
    pub(crate) fn new(
        option: &'static str,
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
    /// The length, by the kind of number that the option is.
    Length(&'a mut Length, fn(usize) -> Length),
    /// A real.
    Real(&'a mut f64),
    /// A real that may be left out.
    Chosen(&'a mut Option<f64>),
}

impl Infer {
    /// Sets an option to a number that its record allows. Returns false, having done nothing, where the number is compiled into the code, or is none
    /// to the compiler.
    pub fn steer(&mut self, option: &str, number: f64) -> bool {
        match self.place(option) {
            Some(Place::Count(count)) => *count = number as usize,
            Some(Place::ChosenCount(count)) => *count = Some(number as usize),
            Some(Place::Length(length, of)) => *length = of(number as usize),
            Some(Place::Real(real)) => *real = number,
            Some(Place::Chosen(chosen)) => *chosen = Some(number),
            None => return false,
        }
        if let (Work::Laplace(laplace), "epochs" | "steps") = (&mut self.work, option) {
            laplace.search = number > 0.0;
        }
        true
    }

    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        if option == "predictive_draws" {
            return Some(Place::Count(&mut self.predictive_draws));
        }
        match &mut self.work {
            Work::Train(train) => train.options.place(option),
            Work::Sample(sampling) => sampling.place(option),
            Work::Laplace(laplace) => match option {
                "temperature" => Some(Place::Real(&mut laplace.options.temperature)),
                _ => laplace.train.options.place(option),
            },
            Work::Swag(swag) => swag.place(option),
            Work::Ensemble(ensemble) => match option {
                "members" => Some(Place::Count(&mut ensemble.members)),
                _ => ensemble.train.options.place(option),
            },
            Work::Collapsed(collapsed) => collapsed.iterates.place(option),
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
            Work::Sample(sampling) => sampling.transition.check(schema.train, sampling.parts()),
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
        match &self.work {
            Work::Swag(swag) => swag.hears(|of_training| of_training == option),
            Work::Collapsed(collapsed) => collapsed.iterates.hears(|of_training| of_training == option),
            Work::Train(_) | Work::Sample(_) | Work::Laplace(_) | Work::Ensemble(_) => Ok(()),
        }
    }
}

impl Training {
    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match option {
            "epochs" => Some(Place::Length(&mut self.length, Length::Epochs)),
            "steps" => Some(Place::Length(&mut self.length, Length::Steps)),
            "restarts" => Some(Place::Count(&mut self.restarts)),
            "batch" => Some(Place::Count(&mut self.batch)),
            "patience" => Some(Place::Count(&mut self.patience)),
            _ => None,
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
        "patience",
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
                "online",
                "`online` tunes while the maximum is searched, but the start is taken for it",
                "set `epochs`",
            );
        }
        if self.online && learns_noise && self.temperature != 1.0 {
            return Refusal::new(
                "temperature",
                "`online` learns the noise by the marginal likelihood, but a likelihood that is divided by a temperature has no normaliser",
                "leave `temperature` out, or `online`; or fix the noise in a posterior",
            );
        }
        Ok(())
    }
}

/// The options of [`Swag`] that are of its training.
const OF_TRAINING: [&str; 10] = [
    "epochs",
    "steps",
    "restarts",
    "warmup",
    "every",
    "batch",
    "optimiser",
    "schedule",
    "patience",
    "start",
];

impl Swag {
    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match option {
            "warmup" => Some(Place::ChosenCount(&mut self.warmup)),
            "every" => Some(Place::ChosenCount(&mut self.every)),
            "keep" => Some(Place::Count(&mut self.keep)),
            "scale" => Some(Place::Real(&mut self.scale)),
            _ => self.train.options.place(option),
        }
    }

    /// Whether options of a training are set where there is none.
    ///
    /// # Errors
    /// The first of them.
    pub fn hears(&self, is_set: impl Fn(&str) -> bool) -> Result<(), Refusal> {
        let option = OF_TRAINING.into_iter().find(|option| is_set(option));
        match option.filter(|_| self.from.is_some()) {
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
        let epochs = self.train.options.epochs(rows);
        let (planned, least) = (self.planned(epochs), self.least());
        if self.keep > 0 && self.keep < least {
            return Refusal::new(
                "keep",
                format!(
                    "`keep` leaves {} iterates, but this covariance needs {least}",
                    self.keep
                ),
                "raise `keep`, or take `covariance = point`",
            );
        }
        if planned < least && self.from.is_none() {
            return Refusal::new(
                "warmup",
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

/// The iterations of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Before draws are kept.
    pub warmup: usize,
    /// Draws that are kept.
    pub draws: usize,
    /// Iterations per draw.
    pub thin: usize,
}

impl Iterations {
    /// Whether a schedule leaves any of the draws.
    fn leave_draws(self, steps: Steps) -> bool {
        let Iterations { warmup, draws, thin } = self;
        let iterations = warmup.saturating_add(draws.saturating_mul(thin));
        let cycle = steps.cycle(iterations) as u64;
        let mut last = (1..=draws).map(|draw| warmup.saturating_add(draw.saturating_mul(thin)) - 1);
        last.any(|iteration| !steps.explores(iteration as u64, cycle))
    }
}

impl Sampling {
    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match option {
            "chains" => Some(Place::Count(&mut self.chains)),
            "warmup" => Some(Place::Count(&mut self.warmup)),
            "draws" => Some(Place::Count(&mut self.draws)),
            "thin" => Some(Place::Count(&mut self.thin)),
            "temperature" => Some(Place::Real(&mut self.temperature)),
            "jitter" => Some(Place::Real(&mut self.jitter)),
            _ => self.transition.place(option),
        }
    }

    /// The iterations of a chain.
    fn parts(&self) -> Iterations {
        Iterations {
            warmup: self.warmup,
            draws: self.draws,
            thin: self.thin,
        }
    }
}

impl Transition {
    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match (self, option) {
            (Transition::Nuts { max_depth, .. }, "max_depth") => Some(Place::Count(max_depth)),
            (Transition::Hmc { steps, .. }, "steps") => Some(Place::Count(steps)),
            (
                Transition::Nuts { adaptation, .. }
                | Transition::Hmc { adaptation, .. }
                | Transition::Mala { adaptation }
                | Transition::RandomWalk { adaptation },
                option,
            ) => adaptation.place(option),
            (Transition::Sghmc { friction, .. }, "friction") => Some(Place::Real(friction)),
            (
                Transition::Sgld { batch, step_size, .. } | Transition::Sghmc { batch, step_size, .. },
                option,
            ) => match option {
                "batch" => Some(Place::Count(batch)),
                "step_size" => Some(Place::Real(step_size)),
                _ => None,
            },
            (Transition::Penalty(penalty), option) => penalty.place(option),
        }
    }

    /// Whether the options of a transition go together on so many rows.
    ///
    /// # Errors
    /// The first that do not.
    pub fn check(&self, rows: usize, iterations: Iterations) -> Result<(), Refusal> {
        match self {
            Transition::Sgld { schedule, .. } | Transition::Sghmc { schedule, .. } => {
                schedule.check(iterations)
            }
            Transition::Penalty(penalty) => penalty.check(rows),
            Transition::Nuts { .. }
            | Transition::Hmc { .. }
            | Transition::Mala { .. }
            | Transition::RandomWalk { .. } => Ok(()),
        }
    }
}

impl Adaptation {
    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match option {
            "step_size" => Some(Place::Chosen(&mut self.step_size)),
            "target_acceptance" => Some(Place::Real(&mut self.target_acceptance)),
            _ => None,
        }
    }
}

impl Steps {
    /// Whether the schedule is one, and leaves draws.
    fn check(self, iterations: Iterations) -> Result<(), Refusal> {
        match self {
            Steps::Polynomial { b, gamma } if !(b > 0.0 && gamma > 0.0) => Refusal::new(
                "schedule",
                format!("`polynomial({b}, {gamma})` needs two positive numbers"),
                "the steps shrink as `(1 + t / b)^-gamma`, such as `polynomial(1000, 0.55)`",
            ),
            Steps::Cyclical { cycles, exploration } if cycles == 0 || !(0.0..1.0).contains(&exploration) => {
                Refusal::new(
                    "schedule",
                    format!(
                        "`cyclical({cycles}, {exploration})` needs at least one cycle and a fraction from 0 to below 1"
                    ),
                    "such as `cyclical(4, 0.5)`, which explores in the first half of each of four cycles",
                )
            }
            Steps::Cyclical { .. } if !iterations.leave_draws(self) => Refusal::new(
                "schedule",
                "no draw would be kept: every iteration that could be one only explores",
                "take fewer cycles, a smaller fraction, or more `draws`",
            ),
            Steps::Constant | Steps::Polynomial { .. } | Steps::Cyclical { .. } => Ok(()),
        }
    }
}

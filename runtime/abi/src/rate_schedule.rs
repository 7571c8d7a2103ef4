//! Schedules of the learning rate.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A form in which programs write a schedule: a word, or a call with these arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleForm {
    /// The word, or the name of the call.
    pub word: &'static str,
    /// The names and kinds of the arguments, in order.
    pub arguments: &'static [(&'static str, ScheduleArgument)],
    /// The factor on the learning rate, in Markdown: `t` is the time since the start of the training run as a fraction of its length, and `e` is the
    /// same time in epochs or steps.
    pub factor: &'static str,
}

impl ScheduleForm {
    /// Returns the form as programs write it, with the names of the arguments.
    pub fn source(&self) -> String {
        let argument = |(name, kind): &(&str, ScheduleArgument)| match kind {
            ScheduleArgument::Times => "[m1, m2, ..]".to_owned(),
            _ => (*name).to_owned(),
        };
        let arguments: Vec<String> = self.arguments.iter().map(argument).collect();
        match arguments.is_empty() {
            true => self.word.to_owned(),
            false => format!("{}({})", self.word, arguments.join(", ")),
        }
    }
}

/// The kind of an argument of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleArgument {
    /// A number from 0 to 1.
    Fraction,
    /// A number of at least 0.
    Factor,
    /// A positive time in the unit of the length of the training.
    Time,
    /// Increasing positive times in brackets.
    Times,
    /// Another schedule.
    Schedule,
}

impl ScheduleArgument {
    /// Returns the condition on an argument as a predicate.
    pub fn expected(self) -> &'static str {
        match self {
            ScheduleArgument::Fraction => "is a number from 0 to 1",
            ScheduleArgument::Factor => "is a number of at least 0",
            ScheduleArgument::Time => "is a positive number of epochs or steps",
            ScheduleArgument::Times => "are increasing positive numbers in brackets, such as `[150, 225]`",
            ScheduleArgument::Schedule => "is a schedule",
        }
    }

    /// Returns whether the argument is a time, or several times.
    fn is_time(self) -> bool {
        matches!(self, ScheduleArgument::Time | ScheduleArgument::Times)
    }

    /// Returns whether the numbers of an argument satisfy its condition. An argument that is a schedule does not
    /// have numbers.
    pub fn allows(self, numbers: &[f64]) -> bool {
        let all = |allowed: fn(f64) -> bool| {
            numbers
                .iter()
                .all(|number| number.is_finite() && allowed(*number))
        };
        match self {
            ScheduleArgument::Fraction => all(|number| (0.0..=1.0).contains(&number)),
            ScheduleArgument::Factor => all(|number| number >= 0.0),
            ScheduleArgument::Time => all(|number| number > 0.0),
            ScheduleArgument::Times => {
                !numbers.is_empty() && all(|number| number > 0.0) && numbers.is_sorted_by(|a, b| a < b)
            }
            ScheduleArgument::Schedule => numbers.is_empty(),
        }
    }
}

/// The value of an argument of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleValue {
    /// A number.
    Number(f64),
    /// Numbers in brackets.
    Numbers(Vec<f64>),
    /// Another schedule.
    Schedule(RateSchedule),
}

impl fmt::Display for ScheduleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleValue::Number(number) => write!(f, "{number}"),
            ScheduleValue::Numbers(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
                write!(f, "[{}]", numbers.join(", "))
            }
            ScheduleValue::Schedule(schedule) => write!(f, "{schedule}"),
        }
    }
}

/// A type that a field can have if the field stores the argument of a schedule.
trait ScheduleField: Sized {
    /// Converts the value of an argument; returns `None` if the value does not have this type.
    fn of(value: &ScheduleValue) -> Option<Self>;

    /// Returns the value of the argument.
    fn value(&self) -> ScheduleValue;
}

impl ScheduleField for f64 {
    fn of(value: &ScheduleValue) -> Option<f64> {
        match value {
            ScheduleValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn value(&self) -> ScheduleValue {
        ScheduleValue::Number(*self)
    }
}

impl ScheduleField for Vec<f64> {
    fn of(value: &ScheduleValue) -> Option<Vec<f64>> {
        match value {
            ScheduleValue::Numbers(numbers) => Some(numbers.clone()),
            _ => None,
        }
    }

    fn value(&self) -> ScheduleValue {
        ScheduleValue::Numbers(self.clone())
    }
}

impl ScheduleField for Box<RateSchedule> {
    fn of(value: &ScheduleValue) -> Option<Box<RateSchedule>> {
        match value {
            ScheduleValue::Schedule(schedule) => Some(Box::new(schedule.clone())),
            _ => None,
        }
    }

    fn value(&self) -> ScheduleValue {
        ScheduleValue::Schedule((**self).clone())
    }
}

/// Declares the schedules in the order of the manual. Each declaration has the variant, the word that programs write, the factor on the rate and, in
/// brackets, the fields of the variant in the order of the arguments: the name of the argument, its kind, and the name and type of
/// the field.
macro_rules! schedules {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $word:literal, $factor:literal $([$(
            $(#[$field_doc:meta])*
            $argument:literal $kind:ident => $field:ident: $type:ty,
        )+])?;
    )+) => {
        /// The schedule of the learning rate over a training run. Milestones are in the unit of the length of the training: see [`RatePlan`].
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum RateSchedule {
            $( $(#[$doc])* $variant $({ $( $(#[$field_doc])* $field: $type, )+ })?, )+
        }

        impl RateSchedule {
            /// The forms, in the order of the manual.
            pub const FORMS: &'static [ScheduleForm] = &[$( ScheduleForm {
                word: $word,
                arguments: &[$($( ($argument, ScheduleArgument::$kind), )+)?],
                factor: $factor,
            }, )+];

            /// Returns the schedule of a form with these arguments, which are in the order of the form.
            /// Returns `None` if the form has other arguments.
            pub fn of(word: &str, arguments: &[ScheduleValue]) -> Option<RateSchedule> {
                let mut arguments = arguments.iter();
                let schedule = match word {
                    $( $word => RateSchedule::$variant $({ $( $field: <$type as ScheduleField>::of(arguments.next()?)?, )+ })?, )+
                    _ => return None,
                };
                arguments.next().is_none().then_some(schedule)
            }

            /// Returns the word of the schedule, and the kinds and values of its arguments in the order of the form.
            fn written(&self) -> (&'static str, Vec<(ScheduleArgument, ScheduleValue)>) {
                match self {
                    $( RateSchedule::$variant $({ $( $field, )+ })? => {
                        ($word, vec![$($( (ScheduleArgument::$kind, ScheduleField::value($field)), )+)?])
                    } )+
                }
            }
        }
    };
}

schedules! {
    /// A constant rate.
    Constant = "constant", "1";
    /// The rate is constant in the first half, and then falls to zero along half a cosine.
    Cooldown = "cooldown", "1 in the first half, then `(1 + cos(pi (2 t - 1))) / 2`";
    /// Half a cosine, to zero.
    Cosine = "cosine", "`(1 + cos(pi t)) / 2`";
    /// Linear, to zero.
    Linear = "linear", "`1 - t`";
    /// The rate is multiplied by `factor` after this fraction of the epochs.
    Step = "step", "1 while `t < fraction`, then `factor`" [
        /// The fraction of all epochs.
        "fraction" Fraction => fraction: f64,
        /// The factor on the rate.
        "factor" Factor => factor: f64,
    ];
    /// Multiplied by `factor` at each milestone.
    Steps = "steps", "`factor ^ k` after `k` of the milestones `m1 < m2 < ..`" [
        /// The milestones, increasing.
        "milestones" Times => milestones: Vec<f64>,
        /// The factor on the rate.
        "factor" Factor => factor: f64,
    ];
    /// The schedule of Maddox et al. (2019) for averages over iterates from `start` on. The rate is constant until half of `start`. It then falls
    /// linearly to `last` at nine tenths of `start`, and stays at `last`.
    Swa = "swa", "1 until `e = 0.5 start`, then linear in `e` to `final` at `e = 0.9 start`, then `final`" [
        /// The time from which iterates are averaged.
        "start" Time => start: f64,
        /// The factor on the rate at the end.
        "final" Factor => last: f64,
    ];
    /// Another schedule, multiplied by a warm-up factor that rises linearly from 0 to 1.
    Warmup = "warmup", "`min(e / length, 1)` times the factor of `schedule`" [
        /// The time at which the warm-up factor reaches 1.
        "length" Time => length: f64,
        /// The other schedule.
        "schedule" Schedule => then: Box<RateSchedule>,
    ];
}

impl RateSchedule {
    /// Returns whether the rate is zero at the end.
    pub fn ends_at_zero(&self) -> bool {
        match self {
            RateSchedule::Cosine | RateSchedule::Cooldown | RateSchedule::Linear => true,
            RateSchedule::Constant | RateSchedule::Step { .. } | RateSchedule::Steps { .. } => false,
            RateSchedule::Swa { last, .. } => *last == 0.0,
            RateSchedule::Warmup { then, .. } => then.ends_at_zero(),
        }
    }

    /// Returns whether the schedule has times in the unit of the length of the training.
    pub fn has_times(&self) -> bool {
        let (_, arguments) = self.written();
        arguments.iter().any(|(kind, value)| match value {
            ScheduleValue::Schedule(then) => then.has_times(),
            ScheduleValue::Number(_) | ScheduleValue::Numbers(_) => kind.is_time(),
        })
    }

    /// Returns the first time argument that a training run of this length does not reach. The rate changes at the milestones themselves, so a
    /// milestone at the end has no effect. If there are several milestones, the last of them is tested.
    pub fn unreached(&self, length: f64) -> Option<f64> {
        // The rate of `swa` stops falling at nine tenths of its `start`.
        let part = match self {
            RateSchedule::Swa { .. } => 0.9,
            _ => 1.0,
        };
        let (_, arguments) = self.written();
        arguments.iter().find_map(|(kind, value)| match value {
            ScheduleValue::Schedule(then) => then.unreached(length),
            ScheduleValue::Number(time) => (kind.is_time() && part * time > length).then_some(*time),
            ScheduleValue::Numbers(times) => {
                let last = times.last().copied();
                last.filter(|last| kind.is_time() && part * last >= length)
            }
        })
    }

    /// Returns the factor on the learning rate after a fraction `done` of a training run of this length.
    fn factor(&self, done: f64, length: f64) -> f64 {
        let cosine = |done: f64| 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        // Rounding must not put a step that begins at a milestone before it: `15 / 22 * 22` is below 15.
        let time = done * length * (1.0 + 4.0 * f64::EPSILON);
        match self {
            RateSchedule::Constant => 1.0,
            RateSchedule::Cosine => cosine(done),
            RateSchedule::Cooldown => cosine((2.0 * done - 1.0).max(0.0)),
            RateSchedule::Linear => 1.0 - done,
            RateSchedule::Step { fraction, factor } => match done < *fraction {
                true => 1.0,
                false => *factor,
            },
            RateSchedule::Steps { milestones, factor } => {
                let passed = milestones.iter().filter(|milestone| **milestone <= time).count();
                factor.powi(passed as i32)
            }
            RateSchedule::Swa { start, last } => {
                let fallen = ((time / start - 0.5) / 0.4).clamp(0.0, 1.0);
                1.0 - (1.0 - last) * fallen
            }
            RateSchedule::Warmup { length: rise, then } => (time / rise).min(1.0) * then.factor(done, length),
        }
    }
}

impl fmt::Display for RateSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            (word, arguments) if arguments.is_empty() => f.write_str(word),
            (word, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|(_, value)| value.to_string()).collect();
                write!(f, "{word}({})", arguments.join(", "))
            }
        }
    }
}

/// The learning rates of one training run. If the program sets the length in epochs, the milestones of the schedule are epochs. Otherwise, they are
/// steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePlan<'a> {
    schedule: &'a RateSchedule,
    length: f64,
}

impl<'a> RatePlan<'a> {
    /// Returns the rates of a training run of this length, in the unit of the milestones.
    pub const fn new(schedule: &'a RateSchedule, length: f64) -> RatePlan<'a> {
        RatePlan { schedule, length }
    }

    /// Returns the last time of the schedule if the training run ends before it.
    pub fn unreached(self) -> Option<f64> {
        self.schedule.unreached(self.length)
    }

    /// Returns the factor on the learning rate after a fraction `done` of the steps.
    pub fn factor(self, done: f64) -> f64 {
        self.schedule.factor(done, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::declare::OptionGroup;
    use crate::methods::training::Training;

    /// Returns the factors at these times of a training run of 300 epochs.
    fn factors<const N: usize>(schedule: &RateSchedule, times: [f64; N]) -> [f64; N] {
        let plan = RatePlan::new(schedule, 300.0);
        times.map(|time| plan.factor(time / 300.0))
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn each_milestone_multiplies_the_rate() {
        let schedule = RateSchedule::Steps {
            milestones: vec![150.0, 225.0],
            factor: 0.1,
        };
        let found = factors(&schedule, [0.0, 149.0, 150.0, 224.0, 225.0, 299.0]);
        close(&found, &[1.0, 1.0, 0.1, 0.1, 0.01, 0.01]);
    }

    #[test]
    fn times_after_the_end_are_found() {
        let steps = |milestones: &[f64]| RateSchedule::Steps {
            milestones: milestones.to_vec(),
            factor: 0.1,
        };
        let warmup = |length, then: RateSchedule| RateSchedule::Warmup {
            length,
            then: Box::new(then),
        };
        let swa = |start| RateSchedule::Swa { start, last: 0.2 };
        for (schedule, expected) in [
            (steps(&[150.0, 299.0]), None),
            (steps(&[150.0, 300.0]), Some(300.0)),
            (warmup(300.0, RateSchedule::Constant), None),
            (warmup(301.0, RateSchedule::Constant), Some(301.0)),
            (warmup(5.0, steps(&[400.0])), Some(400.0)),
            (swa(330.0), None),
            (swa(340.0), Some(340.0)),
            (RateSchedule::Cosine, None),
        ] {
            assert_eq!(schedule.unreached(300.0), expected, "{schedule}");
        }
    }

    /// Each time argument of each form is set to a time after the end, while the other arguments have values that the training reaches.
    #[test]
    fn every_time_argument_can_be_after_the_end() {
        let value = |kind: ScheduleArgument, time: f64| match kind {
            ScheduleArgument::Fraction | ScheduleArgument::Factor => ScheduleValue::Number(0.5),
            ScheduleArgument::Time => ScheduleValue::Number(time),
            ScheduleArgument::Times => ScheduleValue::Numbers(vec![0.5, time]),
            ScheduleArgument::Schedule => ScheduleValue::Schedule(RateSchedule::Constant),
        };
        for form in RateSchedule::FORMS {
            for (at, (name, late)) in form.arguments.iter().enumerate() {
                let time = |other: usize| if other == at { 400.0 } else { 1.0 };
                let arguments = form.arguments.iter().enumerate();
                let arguments: Vec<_> = arguments
                    .map(|(other, (_, kind))| value(*kind, time(other)))
                    .collect();
                let Some(schedule) = RateSchedule::of(form.word, &arguments) else {
                    panic!("`{}` has other arguments", form.word);
                };
                let expected = late.is_time().then_some(400.0);
                assert_eq!(schedule.unreached(300.0), expected, "{name} of {schedule}");
            }
        }
    }

    /// In double precision, `15 / 22 * 22` is below 15.
    #[test]
    fn the_step_at_a_milestone_has_the_new_rate_for_every_length() {
        for total in 2..400_u32 {
            for milestone in 1..total {
                let schedule = RateSchedule::Steps {
                    milestones: vec![f64::from(milestone)],
                    factor: 0.5,
                };
                let plan = RatePlan::new(&schedule, f64::from(total));
                let at = |step: u32| plan.factor(f64::from(step) / f64::from(total));
                assert_eq!(
                    [at(milestone - 1), at(milestone)],
                    [1.0, 0.5],
                    "{milestone} of {total}"
                );
            }
        }
    }

    /// The expected values come from `adjust_learning_rate` in the code of Maddox et al. with `swa_start = 161`, `lr_init = 0.05` and
    /// `swa_lr = 0.01`.
    #[test]
    fn the_schedule_of_swa_falls_between_half_and_nine_tenths_of_its_start() {
        let schedule = RateSchedule::Swa {
            start: 161.0,
            last: 0.2,
        };
        let found = factors(&schedule, [0.0, 80.0, 100.0, 120.0, 144.0, 145.0, 161.0, 300.0]);
        let expected = [
            1.0,
            1.0,
            0.757_763_975_155_279_6,
            0.509_316_770_186_335_4,
            0.211_180_124_223_602_44,
            0.2,
            0.2,
            0.2,
        ];
        close(&found, &expected);
    }

    #[test]
    fn a_warm_up_multiplies_another_schedule() {
        let warmup = |then: RateSchedule| RateSchedule::Warmup {
            length: 5.0,
            then: Box::new(then),
        };
        let found = factors(&warmup(RateSchedule::Constant), [0.0, 1.0, 4.0, 5.0, 6.0]);
        close(&found, &[0.0, 0.2, 0.8, 1.0, 1.0]);
        // At a third of the training, the cosine has the value (1 + cos(60 degrees)) / 2.
        let found = factors(&warmup(RateSchedule::Cosine), [100.0, 150.0, 300.0]);
        close(&found, &[0.75, 0.5, 0.0]);
    }

    #[test]
    fn the_text_of_a_schedule_is_how_programs_write_it() {
        let schedule = RateSchedule::Warmup {
            length: 5.0,
            then: Box::new(RateSchedule::Steps {
                milestones: vec![150.0, 225.0],
                factor: 0.1,
            }),
        };
        assert_eq!(schedule.to_string(), "warmup(5, steps([150, 225], 0.1))");
        assert!(!schedule.ends_at_zero() && schedule.has_times());
    }

    #[test]
    fn milestones_must_increase() {
        use ScheduleArgument::{Factor, Fraction, Time, Times};
        assert!(Times.allows(&[1.0, 2.0]) && !Times.allows(&[2.0, 2.0]) && !Times.allows(&[]));
        assert!(!Times.allows(&[0.0, 2.0]) && !Time.allows(&[0.0]) && !Time.allows(&[f64::INFINITY]));
        assert!(Factor.allows(&[0.0]) && !Factor.allows(&[-0.1]) && !Fraction.allows(&[1.1]));
    }

    #[test]
    fn times_are_in_the_unit_of_the_length() {
        let steps = || RateSchedule::Steps {
            milestones: vec![150.0],
            factor: 0.1,
        };
        let options = |epochs: Option<usize>| {
            let defaults = Training::defaults().map(|defaults| Training {
                epochs,
                schedule: steps(),
                ..defaults
            });
            defaults.unwrap_or_else(|mismatch| panic!("{mismatch}"))
        };
        // Of 300 epochs, 150 are half.
        let of_epochs = options(Some(300));
        assert_eq!(
            [0.499, 0.5].map(|done| of_epochs.rates(1000).factor(done)),
            [1.0, 0.1]
        );
        // A thousand rows are eight batches of up to 128, so 20,000 steps are 2500 epochs.
        let of_steps = options(None);
        let at = |step: f64| of_steps.rates(1000).factor(step / 20_000.0);
        assert_eq!([149.0, 150.0].map(at), [1.0, 0.1]);
    }
}

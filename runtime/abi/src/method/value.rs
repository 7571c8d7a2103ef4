//! The values of options, in three forms: values that the checker passes on, texts of defaults in
//! records, and typed fields.

use super::OptionDef;
use crate::augmentation::Augmentation;
use crate::rate_schedule::RateSchedule;
use bnnc_base::dtype::Precision;
use std::fmt;
use std::sync::Arc;

/// The name of an option. Only declarations of options construct such a name. Code therefore cannot
/// refer to an option that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionName(&'static str);

impl OptionName {
    /// Returns the name of a declared option.
    pub(crate) const fn new(name: &'static str) -> OptionName {
        OptionName(name)
    }

    /// Returns the name as programs write it.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The error for a name that is not an option of the method, or for a value that does not have the
/// type of its option. Such an error is caused by a bug in the checker or in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch(pub &'static str);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value of `{}` is not of its type", self.0)
    }
}

impl std::error::Error for Mismatch {}

/// The value of an option, as the checker passes it on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawOption<'a> {
    /// An integer value.
    Int(i64),
    /// A real value.
    Real(f64),
    /// The value true or false.
    Bool(bool),
    /// A word, or a call with numbers as arguments: `diagonal`, `low_rank(20)`.
    Call(&'a str, &'a [f64]),
    /// A schedule of the learning rate.
    Schedule(&'a RateSchedule),
    /// Transformations of images in brackets.
    Augmentations(&'a [Augmentation]),
    /// A list of numbers in brackets.
    Reals(&'a [f64]),
    /// A list of names in brackets.
    Names(&'a [Arc<str>]),
    /// The name of an earlier inference block.
    Infer(&'a str),
    /// The path of a file.
    File(&'a str),
    /// An optimiser with its arguments. The compiler reads the arguments of the optimiser.
    Optimiser,
    /// `subnetwork(size, by = score)`.
    Subnetwork(f64, Ranking<'a>),
}

/// The score by which the weights of a subnetwork are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking<'a> {
    /// The word of a score that the method computes.
    Score(&'a str),
    /// The name of an earlier inference block, whose posterior variances are the scores.
    Infer(&'a str),
}

/// A mutable reference to the field of a manifest that stores an option.
pub enum OptionField<'a> {
    /// The option is a count.
    Count(&'a mut usize),
    /// The option is a count without a default.
    ChosenCount(&'a mut Option<usize>),
    /// The option is a real.
    Real(&'a mut f64),
    /// The option is a real without a default.
    Chosen(&'a mut Option<f64>),
}

impl OptionField<'_> {
    /// Stores a number in the field. Counts are rounded towards zero.
    pub(crate) fn set(self, number: f64) {
        match self {
            OptionField::Count(count) => *count = number as usize,
            OptionField::ChosenCount(count) => *count = Some(number as usize),
            OptionField::Real(real) => *real = number,
            OptionField::Chosen(chosen) => *chosen = Some(number),
        }
    }
}

/// A type of option values.
pub trait OptionValue: Sized {
    /// Converts a value that the checker passed on; returns `None` if the value does not have this
    /// type.
    fn read(given: RawOption<'_>) -> Option<Self>;

    /// Returns the value of an option that the program omits and that does not have a default;
    /// `None` if the program must give a value.
    fn absent() -> Option<Self> {
        None
    }

    /// Returns the field of a manifest that stores the value. Returns `None` if the value is not a
    /// number, or if it cannot be set at run time.
    fn place(&mut self) -> Option<OptionField<'_>> {
        None
    }

    /// Returns the field of a manifest that stores an optional value of this type; `None` if the value cannot be set at run time.
    fn chosen(_: &mut Option<Self>) -> Option<OptionField<'_>> {
        None
    }
}

impl OptionValue for RateSchedule {
    fn read(given: RawOption<'_>) -> Option<RateSchedule> {
        match given {
            RawOption::Schedule(schedule) => Some(schedule.clone()),
            RawOption::Call(word, []) => RateSchedule::of(word, &[]),
            _ => None,
        }
    }
}

/// A list of transformations, in the order in which they are applied.
impl OptionValue for Vec<Augmentation> {
    fn read(given: RawOption<'_>) -> Option<Vec<Augmentation>> {
        match given {
            RawOption::Augmentations(list) => Some(list.to_vec()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<Augmentation>> {
        Some(Vec::new())
    }
}

impl OptionValue for usize {
    fn read(given: RawOption<'_>) -> Option<usize> {
        match given {
            RawOption::Int(value) => usize::try_from(value).ok(),
            _ => None,
        }
    }

    fn place(&mut self) -> Option<OptionField<'_>> {
        Some(OptionField::Count(self))
    }

    fn chosen(value: &mut Option<usize>) -> Option<OptionField<'_>> {
        Some(OptionField::ChosenCount(value))
    }
}

impl OptionValue for f64 {
    fn read(given: RawOption<'_>) -> Option<f64> {
        match given {
            RawOption::Int(value) => Some(value as f64),
            RawOption::Real(value) => Some(value),
            _ => None,
        }
    }

    fn place(&mut self) -> Option<OptionField<'_>> {
        Some(OptionField::Real(self))
    }

    fn chosen(value: &mut Option<f64>) -> Option<OptionField<'_>> {
        Some(OptionField::Chosen(value))
    }
}

impl OptionValue for bool {
    fn read(given: RawOption<'_>) -> Option<bool> {
        match given {
            RawOption::Bool(value) => Some(value),
            _ => None,
        }
    }
}

impl OptionValue for Precision {
    fn read(given: RawOption<'_>) -> Option<Precision> {
        match given {
            RawOption::Call("f32", []) => Some(Precision::F32),
            RawOption::Call("f64", []) => Some(Precision::F64),
            _ => None,
        }
    }
}

/// The words of [`Precision`].
pub(crate) const PRECISIONS: &[&str] = &["f32", "f64"];

/// A list of names.
impl OptionValue for Vec<Arc<str>> {
    fn read(given: RawOption<'_>) -> Option<Vec<Arc<str>>> {
        match given {
            RawOption::Names(names) => Some(names.to_vec()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<Arc<str>>> {
        Some(Vec::new())
    }
}

/// A list of fractions.
impl OptionValue for Vec<f64> {
    fn read(given: RawOption<'_>) -> Option<Vec<f64>> {
        match given {
            RawOption::Reals(values) => Some(values.to_vec()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<f64>> {
        Some(Vec::new())
    }
}

/// The name of an earlier inference block.
impl OptionValue for String {
    fn read(given: RawOption<'_>) -> Option<String> {
        match given {
            RawOption::Infer(name) => Some(name.to_owned()),
            _ => None,
        }
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn read(given: RawOption<'_>) -> Option<Option<T>> {
        T::read(given).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn place(&mut self) -> Option<OptionField<'_>> {
        T::chosen(self)
    }
}

/// The source from which the option values of one inference block are read.
pub struct OptionSource<'a> {
    /// The records of the method's options, with their defaults.
    pub records: &'static [OptionDef],
    /// Returns the value that the program gives to an option; `None` if the program omits the
    /// option.
    pub given: &'a dyn Fn(&str) -> Option<RawOption<'a>>,
}

impl OptionSource<'_> {
    /// Returns the value that the program gives to the option or, if the program omits it, the
    /// default.
    ///
    /// # Errors
    /// Fails if the method does not have the option, or if the value is not of the option's type.
    pub fn value<T: OptionValue>(&self, name: OptionName) -> Result<T, Mismatch> {
        let mut records = self.records.iter();
        let def = records.find(|def| def.name == name.0).ok_or(Mismatch(name.0))?;
        let value = match (self.given)(def.name) {
            Some(given) => T::read(given),
            None => written(def.default),
        };
        value.ok_or(Mismatch(def.name))
    }
}

/// Parses the text of a default, which has the syntax of programs.
fn written<T: OptionValue>(text: &str) -> Option<T> {
    if text.is_empty() {
        return T::absent();
    }
    let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
    if let Some((name, numbers)) = parts {
        let numbers: Result<Vec<f64>, _> = numbers.split(',').map(|number| number.trim().parse()).collect();
        return T::read(RawOption::Call(name, &numbers.ok()?));
    }
    if let Ok(value) = text.parse() {
        return T::read(RawOption::Int(value));
    }
    if let Ok(value) = text.parse() {
        return T::read(RawOption::Real(value));
    }
    match text.parse() {
        Ok(value) => T::read(RawOption::Bool(value)),
        Err(_) => T::read(RawOption::Call(text, &[])),
    }
}

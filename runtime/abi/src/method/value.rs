//! The values of options: as the checker leaves them, as the defaults of records, and as typed fields.

use super::OptionDef;
use crate::steering::Place;
use bnnc_base::dtype::Precision;
use std::fmt;
use std::sync::Arc;

/// The name of an option. Declarations alone make one, so that no code refers to an option that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionName(&'static str);

impl OptionName {
    /// The name of a declared option.
    pub(crate) const fn new(name: &'static str) -> OptionName {
        OptionName(name)
    }

    /// As programs write it.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A value that is not of the type of its option, or an option that its method lacks: a bug of the checker or of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch(pub &'static str);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value of `{}` is not of its type", self.0)
    }
}

impl std::error::Error for Mismatch {}

/// The value of an option as the checker leaves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given<'a> {
    /// An integer.
    Int(i64),
    /// A real.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// A word, or a call with its numbers: `constant`, `step(0.5, 0.1)`.
    Call(&'a str, &'a [f64]),
    /// Numbers in brackets.
    Reals(&'a [f64]),
    /// Names in brackets.
    Names(&'a [Arc<str>]),
    /// The name of an earlier infer.
    Infer(&'a str),
    /// The path of a file.
    File(&'a str),
    /// An optimiser with its arguments, which the compiler reads.
    Optimiser,
    /// `subnetwork(size, by = score)`.
    Subnetwork(f64, Ranking<'a>),
}

/// The ranking of the weights of a subnetwork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking<'a> {
    /// A score of the method.
    Score(&'a str),
    /// An earlier infer.
    Infer(&'a str),
}

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// The value, if it is of this type.
    fn read(given: Given<'_>) -> Option<Self>;

    /// The value where a program gives none and the record has no default.
    fn absent() -> Option<Self> {
        None
    }

    /// Where a manifest keeps it, if it is a number that can be set at run time.
    fn place(&mut self) -> Option<Place<'_>> {
        None
    }

    /// The same for a value that may be left out.
    fn chosen(_: &mut Option<Self>) -> Option<Place<'_>> {
        None
    }
}

impl OptionValue for usize {
    fn read(given: Given<'_>) -> Option<usize> {
        match given {
            Given::Int(value) => usize::try_from(value).ok(),
            _ => None,
        }
    }

    fn place(&mut self) -> Option<Place<'_>> {
        Some(Place::Count(self))
    }

    fn chosen(value: &mut Option<usize>) -> Option<Place<'_>> {
        Some(Place::ChosenCount(value))
    }
}

impl OptionValue for f64 {
    fn read(given: Given<'_>) -> Option<f64> {
        match given {
            Given::Int(value) => Some(value as f64),
            Given::Real(value) => Some(value),
            _ => None,
        }
    }

    fn place(&mut self) -> Option<Place<'_>> {
        Some(Place::Real(self))
    }

    fn chosen(value: &mut Option<f64>) -> Option<Place<'_>> {
        Some(Place::Chosen(value))
    }
}

impl OptionValue for bool {
    fn read(given: Given<'_>) -> Option<bool> {
        match given {
            Given::Bool(value) => Some(value),
            _ => None,
        }
    }
}

impl OptionValue for Precision {
    fn read(given: Given<'_>) -> Option<Precision> {
        match given {
            Given::Call("f32", []) => Some(Precision::F32),
            Given::Call("f64", []) => Some(Precision::F64),
            _ => None,
        }
    }
}

/// The words of [`Precision`].
pub(crate) const PRECISIONS: &[&str] = &["f32", "f64"];

/// Names.
impl OptionValue for Vec<Arc<str>> {
    fn read(given: Given<'_>) -> Option<Vec<Arc<str>>> {
        match given {
            Given::Names(names) => Some(names.to_vec()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<Arc<str>>> {
        Some(Vec::new())
    }
}

/// Fractions.
impl OptionValue for Vec<f64> {
    fn read(given: Given<'_>) -> Option<Vec<f64>> {
        match given {
            Given::Reals(values) => Some(values.to_vec()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<f64>> {
        Some(Vec::new())
    }
}

/// An earlier infer.
impl OptionValue for String {
    fn read(given: Given<'_>) -> Option<String> {
        match given {
            Given::Infer(name) => Some(name.to_owned()),
            _ => None,
        }
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn read(given: Given<'_>) -> Option<Option<T>> {
        T::read(given).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn place(&mut self) -> Option<Place<'_>> {
        T::chosen(self)
    }
}

/// Where the values of options come from.
pub struct Source<'a> {
    /// The records of the method, which hold its defaults.
    pub records: &'static [OptionDef],
    /// The value of each option that a program gives.
    pub given: &'a dyn Fn(&str) -> Option<Given<'a>>,
}

impl Source<'_> {
    /// The value that a program gives, or the default.
    ///
    /// # Errors
    /// The checker and the record do not agree.
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

/// A default, which is declared as a program would write it.
fn written<T: OptionValue>(text: &str) -> Option<T> {
    if text.is_empty() {
        return T::absent();
    }
    let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
    if let Some((name, numbers)) = parts {
        let numbers: Result<Vec<f64>, _> = numbers.split(',').map(|number| number.trim().parse()).collect();
        return T::read(Given::Call(name, &numbers.ok()?));
    }
    if let Ok(value) = text.parse() {
        return T::read(Given::Int(value));
    }
    if let Ok(value) = text.parse() {
        return T::read(Given::Real(value));
    }
    match text.parse() {
        Ok(value) => T::read(Given::Bool(value)),
        Err(_) => T::read(Given::Call(text, &[])),
    }
}

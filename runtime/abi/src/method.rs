//! Method records: the option schemas that the checker, the cost report, the driver and the runtime read.

pub mod conflict;
pub mod declare;
pub(crate) mod options;
mod value;

use crate::augmentation::Augmentation;
pub use crate::methods::{ALL, Finds};
use crate::rate_schedule::RateSchedule;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted_with;
use bnnc_base::spellings;
use declare::OptionGroup;
pub use options::MOST;
use serde::{Deserialize, Deserializer, de};

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// An integer between these bounds; both bounds are allowed.
    Int(i64, i64),
    /// A real in this open interval.
    Real(f64, f64),
    /// A finite real of at least this bound.
    AtLeast(f64),
    /// The value true or false.
    Bool,
    /// One word from this list.
    Word(&'static [&'static str]),
    /// An optimiser, with its arguments, from the library or the program.
    Optimiser,
    /// The name of an earlier inference block.
    Infer,
    /// Numbers in brackets; each is at least 0 and below 1.
    Fractions,
    /// A list of names in brackets.
    Names,
    /// The name of an earlier inference block, or `safetensors("FILE")`.
    Start,
    /// A number between the two bounds, or a word from this list.
    NumberOr(f64, f64, &'static [&'static str]),
    /// The random weights: `all`, `last_layer`, names in brackets, or
    /// `subnetwork(size, by = WORD)`. `WORD` is a score from this list, or the name of an earlier
    /// inference block.
    Weights(&'static [&'static str]),
    /// A value in a form from this list: a word, or a call whose arguments are numbers.
    Call(&'static [CallForm]),
    /// A schedule of the learning rate, in one of the forms of [`crate::rate_schedule::RateSchedule::FORMS`].
    Schedule,
    /// Transformations of images in brackets, in the forms of [`Augmentation::FORMS`].
    Augmentations,
}

/// A form of [`OptionKind::Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallForm {
    /// The word, or the name of the call.
    pub word: &'static str,
    /// The number of arguments of the call; 0 for a word.
    pub numbers: usize,
}

impl OptionKind {
    /// Returns the values of the option as text for the manual.
    pub fn values(self) -> String {
        match self {
            OptionKind::Int(least, MOST) => format!("an integer from {least}"),
            OptionKind::Int(least, most) => format!("an integer from {least} to {most}"),
            OptionKind::Real(low, high) => format!("a real between {low} and {high}"),
            OptionKind::AtLeast(least) => format!("a real from {least}"),
            OptionKind::Bool => "`true` or `false`".to_owned(),
            OptionKind::Word(words) => quoted_with(" or ", words),
            OptionKind::Optimiser => "an optimiser".to_owned(),
            OptionKind::Infer => "an inference block".to_owned(),
            OptionKind::Fractions => "fractions in brackets".to_owned(),
            OptionKind::Names => "names in brackets".to_owned(),
            OptionKind::Call(_) | OptionKind::Schedule => "a word or a call".to_owned(),
            OptionKind::Augmentations => "transformations in brackets".to_owned(),
            OptionKind::Start => "an inference block or a file".to_owned(),
            OptionKind::NumberOr(low, high, words) => {
                format!("{} or {}", range(low, high), quoted_with(" or ", words))
            }
            OptionKind::Weights(_) => "which weights".to_owned(),
        }
    }

    /// Returns the words and the names of calls that the option takes, apart from names of the program and the library.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            OptionKind::Word(words) | OptionKind::NumberOr(_, _, words) => words.to_vec(),
            OptionKind::Weights([]) => vec!["all", "last_layer"],
            OptionKind::Weights(scores) => [&["all", "last_layer", "subnetwork"], scores].concat(),
            OptionKind::Call(forms) => forms.iter().map(|form| form.word).collect(),
            OptionKind::Schedule => RateSchedule::FORMS.iter().map(|form| form.word).collect(),
            OptionKind::Augmentations => Augmentation::FORMS.iter().map(|form| form.word).collect(),
            OptionKind::Start => vec!["safetensors"],
            OptionKind::Int(..)
            | OptionKind::Real(..)
            | OptionKind::AtLeast(_)
            | OptionKind::Bool
            | OptionKind::Optimiser
            | OptionKind::Infer
            | OptionKind::Fractions
            | OptionKind::Names => Vec::new(),
        }
    }

    /// Returns the condition that a number must meet, in words and as a predicate. Only the kinds
    /// [`OptionKind::Int`], [`OptionKind::Real`] and [`OptionKind::AtLeast`] have such a condition.
    pub fn number(self) -> Option<(String, Allows)> {
        match self {
            OptionKind::Int(least, most) => Some((
                format!("an integer from {least} to {most}"),
                Box::new(move |number| {
                    number.fract() == 0.0 && (least as f64..=most as f64).contains(&number)
                }),
            )),
            OptionKind::Real(low, high) => Some((
                match high.is_finite() {
                    true => format!("a number between {low} and {high}"),
                    false => format!("a number above {low}"),
                },
                Box::new(move |number| low < number && number < high),
            )),
            OptionKind::AtLeast(least) => Some((
                format!("a number of at least {least}"),
                Box::new(move |number| least <= number && number.is_finite()),
            )),
            OptionKind::Bool
            | OptionKind::Word(_)
            | OptionKind::Optimiser
            | OptionKind::Infer
            | OptionKind::Fractions
            | OptionKind::Names
            | OptionKind::Start
            | OptionKind::NumberOr(..)
            | OptionKind::Weights(_)
            | OptionKind::Call(_)
            | OptionKind::Schedule
            | OptionKind::Augmentations => None,
        }
    }
}

/// Returns the interval of [`OptionKind::NumberOr`] in words.
pub fn range(low: f64, high: f64) -> String {
    match (low, high) == (f64::MIN_POSITIVE, f64::MAX) {
        true => "a positive number".to_owned(),
        false => format!("a number from {low:e} to {high:e}"),
    }
}

/// A predicate that is true for the numbers that an option accepts.
pub type Allows = Box<dyn Fn(f64) -> bool>;

/// The phase in which an option takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The option changes the compiled program.
    Compile,
    /// The option affects the run only.
    Run,
    /// The option affects the run only, and its value may be raised when the run is resumed.
    Resume,
}

/// One option of a method.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// The name of the option.
    pub name: &'static str,
    /// The description of the effect of the option, with the unit of its value.
    pub doc: &'static str,
    /// The kind of the value.
    pub kind: OptionKind,
    /// The default, as a program would write it; empty if the option does not have a default.
    pub default: &'static str,
    /// The phase in which the option takes effect.
    pub phase: Phase,
    /// The names of the option in other tools, in lower case.
    pub synonyms: &'static [&'static str],
}

/// One inference method.
#[derive(Clone, Copy, Debug)]
pub struct MethodDef {
    /// The name of the method in `infer x = NAME(..)`.
    pub name: &'static str,
    /// One sentence that describes the method.
    pub doc: &'static str,
    /// The options of the method.
    pub options: &'static [OptionDef],
    /// The items that the first argument of the method may name: a posterior (`vi`), a model, or either (`map`).
    pub takes: Takes,
    /// The kind of computation that finds the posterior.
    pub finds: Finds,
}

impl MethodDef {
    /// Returns the record of the option with this name, which may have any accepted spelling.
    pub fn option(&self, name: &str) -> Option<&'static OptionDef> {
        let name = spellings::word(name);
        self.options.iter().find(|option| option.name == name)
    }

    /// Returns whether the method has all options of a group.
    pub fn has<T: OptionGroup>(&self) -> bool {
        T::OPTIONS.iter().all(|option| self.option(option.name).is_some())
    }

    /// Adds the help `did you mean ..?` if `wrong` is what another tool calls an option, or is
    /// similar to the name of an option.
    pub fn suggest(&self, diagnostic: Diagnostic, wrong: &str) -> Diagnostic {
        match self.synonym(wrong) {
            Some(option) if option.kind == OptionKind::Optimiser => diagnostic.help(format!(
                "the rate is an argument of the optimiser: `{} = {}`",
                option.name, option.default
            )),
            Some(option) => diagnostic.help(format!("did you mean `{}`?", option.name)),
            None => diagnostic.suggest(wrong, self.options.iter().map(|option| option.name)),
        }
    }

    /// Returns the option of the method that other tools call `word`.
    pub fn synonym(&self, word: &str) -> Option<&'static OptionDef> {
        let word = word.to_lowercase();
        let mut options = self.options.iter();
        options.find(|option| option.synonyms.contains(&&*word))
    }

    /// Returns whether the method maximises an evidence lower bound over a family that the program specifies.
    pub fn maximises_bound(&self) -> bool {
        self.finds == Finds::Training && self.takes == Takes::Posterior
    }

    /// Returns whether the method finds a single point.
    pub fn finds_point(&self) -> bool {
        self.finds == Finds::Training && self.takes != Takes::Posterior
    }
}

/// The items that the first argument of a method may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The argument names a posterior.
    Posterior,
    /// The argument names a model.
    Model,
    /// A posterior or a model.
    Either,
    /// A model, or a posterior that fixes some of its sites to the values of an earlier inference run.
    ModelOrFixed,
}

/// Returns the method with this name.
pub fn lookup(name: &str) -> Option<&'static MethodDef> {
    ALL.iter().find(|method| method.name == name)
}

/// The name of a method of [`ALL`].
pub type MethodName = &'static str;

/// Reads the name of a method, and returns the name in its record.
///
/// # Errors
/// Fails if no method has this name.
pub fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MethodName, D::Error> {
    let name = String::deserialize(deserializer)?;
    let method = lookup(&name).ok_or_else(|| de::Error::custom(format!("there is no method `{name}`")))?;
    Ok(method.name)
}

//! Options that are declared once. From one line come the field of a typed struct, the record (which the checker, the reference manual and
//! the command line read), the value that a program gives or the default, and the place that `--set` changes in a built executable.
//!
//! ```text
//! options! {
//!     /// Options of the method.
//!     pub struct Example {
//!         /// The row of the manual.
//!         field: usize = "100", from(0), Phase::Run;
//!         /// An option whose name is not that of its field.
//!         other as "option": Choice = "one", OptionKind::Word(Choice::WORDS), Phase::Run;
//!     }
//! }
//! ```

use super::OptionDef;
use crate::steering::Place;

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
}

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// The value, if it is of this type.
    fn read(given: Given<'_>) -> Option<Self>;

    /// Where a manifest keeps it, if it is a number that can be set at run time.
    fn place(&mut self) -> Option<Place<'_>> {
        None
    }
}

impl OptionValue for usize {
    fn read(given: Given<'_>) -> Option<usize> {
        match given {
            Given::Int(value) => usize::try_from(value).ok(),
            Given::Real(_) | Given::Bool(_) | Given::Call(..) => None,
        }
    }

    fn place(&mut self) -> Option<Place<'_>> {
        Some(Place::Count(self))
    }
}

impl OptionValue for f64 {
    fn read(given: Given<'_>) -> Option<f64> {
        match given {
            Given::Int(value) => Some(value as f64),
            Given::Real(value) => Some(value),
            Given::Bool(_) | Given::Call(..) => None,
        }
    }

    fn place(&mut self) -> Option<Place<'_>> {
        Some(Place::Real(self))
    }
}

impl OptionValue for bool {
    fn read(given: Given<'_>) -> Option<bool> {
        match given {
            Given::Bool(value) => Some(value),
            Given::Int(_) | Given::Real(_) | Given::Call(..) => None,
        }
    }
}

/// The value that a program gives, or the default.
///
/// # Errors
/// The name of the option, where the value is not of its type: the checker and the record do not agree.
pub fn read<T: OptionValue>(def: &OptionDef, given: Option<Given<'_>>) -> Result<T, &'static str> {
    let value = match given {
        Some(given) => T::read(given),
        None => written(def.default),
    };
    value.ok_or(def.name)
}

/// A default, which is declared as a program would write it.
fn written<T: OptionValue>(text: &str) -> Option<T> {
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

/// The text of doc comments, whose lines begin with a blank.
pub(crate) const fn trimmed(text: &'static str) -> &'static str {
    text.split_at(1).1
}

/// The number of options in several lists.
pub(crate) const fn count(lists: &[&[OptionDef]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < lists.len() {
        count += lists[at].len();
        at += 1;
    }
    count
}

/// Several lists of options as one.
pub(crate) const fn join<const N: usize>(lists: &[&[OptionDef]]) -> [OptionDef; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut to) = (0, 0);
    while list < lists.len() {
        let mut from = 0;
        while from < lists[list].len() {
            all[to] = lists[list][from];
            from += 1;
            to += 1;
        }
        list += 1;
    }
    all
}

/// Declares the options of a method: see [`crate::method::declare`].
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $option:literal)?: $ty:ty = $default:literal, $kind:expr, $phase:expr;
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )+
        }

        impl $name {
            /// The records.
            pub const OPTIONS: &'static [$crate::method::OptionDef] = &[
                $( $crate::method::OptionDef {
                    name: $crate::method::declare::option_name!($field $($option)?),
                    doc: $crate::method::declare::trimmed(concat!($($doc),+)),
                    kind: $kind,
                    default: $default,
                    phase: $phase,
                }, )+
            ];

            /// What a program gives, and defaults for the rest.
            ///
            /// # Errors
            /// The option whose value is not of its type: a bug of the checker or of a record.
            pub fn read<'a>(
                given: impl Fn(&str) -> Option<$crate::method::declare::Given<'a>>,
            ) -> Result<$name, &'static str> {
                let mut records = Self::OPTIONS.iter();
                Ok($name {
                    $( $field: match records.next() {
                        Some(def) => $crate::method::declare::read(def, given(def.name))?,
                        None => return Err(stringify!($field)),
                    }, )+
                })
            }

            /// Where the number of an option is kept that can be set at run time.
            pub(crate) fn place(&mut self, option: &str) -> Option<$crate::steering::Place<'_>> {
                let def = Self::OPTIONS.iter().find(|def| def.name == option)?;
                if def.phase == $crate::method::Phase::Compile {
                    return None;
                }
                $( if option == $crate::method::declare::option_name!($field $($option)?) {
                    return $crate::method::declare::OptionValue::place(&mut self.$field);
                } )+
                None
            }
        }
    };
}

/// The name of an option: that of its field, or its own.
macro_rules! option_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $option:literal) => {
        $option
    };
}

/// Gives the variants of an enum their words in programs.
macro_rules! words {
    ($name:ident { $first:literal => $variant:ident $(, $word:literal => $other:ident)* $(,)? }) => {
        impl $name {
            /// The words, as the manual lists them.
            pub const WORDS: &'static [&'static str] = &[$first $(, $word)*];

            /// Its word in programs.
            pub fn word(self) -> &'static str {
                match self {
                    $name::$variant => $first,
                    $( $name::$other => $word, )*
                }
            }
        }

        impl $crate::method::declare::OptionValue for $name {
            fn read(given: $crate::method::declare::Given<'_>) -> Option<$name> {
                match given {
                    $crate::method::declare::Given::Call($first, []) => Some($name::$variant),
                    $( $crate::method::declare::Given::Call($word, []) => Some($name::$other), )*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {option_name, options, words};

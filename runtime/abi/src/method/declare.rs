//! The declaration of options: each option is declared in one place.
//!
//! One line of `options!` declares all aspects of an option. The aspects are the field of a typed
//! struct, the record, the default, the name by which code refers to the option, and the number
//! that `--set` changes in a built executable. The checker, the reference manual and the command
//! line read the record.
//!
//! ```text
//! options! {
//!     /// Options of the method.
//!     pub struct Example {
//!         ..shared: Group;
//!         /// The row of the manual.
//!         field: usize { "100", from(0), Phase::Run };
//!         /// An option whose name is not that of its field.
//!         other as "option": Choice { "one", Choice::KIND, Phase::Run };
//!         /// An option that another struct declares.
//!         same: usize { like Other };
//!     }
//! }
//! ```
//!
//! Groups of options that other structs declare stand before or after the fields. The options of a
//! method come from one or several structs. The method may replace their defaults.

use super::OptionDef;
pub(crate) use super::value::PRECISIONS;
pub use super::value::{Mismatch, OptionField, OptionName, OptionSource, OptionValue, Ranking, RawOption};

/// Options that one struct declares together.
pub trait OptionGroup: Sized {
    /// The records of the options, in the order in which the manual lists them.
    const OPTIONS: &'static [OptionDef];

    /// Reads the values that the program gives to the options. Options that the program omits get
    /// their defaults.
    ///
    /// # Errors
    /// Fails if a value does not have the type of its option, which is a bug of the checker or of a
    /// record.
    fn read(source: &OptionSource<'_>) -> Result<Self, Mismatch>;

    /// Returns the defaults of all options.
    ///
    /// # Errors
    /// Fails if a default does not have the type of its option, which is a bug of the record.
    fn defaults() -> Result<Self, Mismatch> {
        Self::read(&OptionSource {
            records: Self::OPTIONS,
            given: &|_| None,
        })
    }

    /// Returns the field that stores the number of an option; `None` if the option cannot be set to a number at run time.
    fn place(&mut self, option: &str) -> Option<OptionField<'_>>;

    /// Returns the record of an option.
    fn record(option: &str) -> Option<&'static OptionDef> {
        Self::OPTIONS.iter().find(|def| def.name == option)
    }
}

/// Returns the text of a doc comment without the blank at its start.
pub(crate) const fn trimmed(text: &'static str) -> &'static str {
    text.split_at(1).1
}

/// Returns the total number of options in several lists.
pub(crate) const fn count(lists: &[&[OptionDef]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < lists.len() {
        count += lists[at].len();
        at += 1;
    }
    count
}

/// Concatenates several lists of options. At least one list must not be empty.
pub(crate) const fn join<const N: usize>(lists: &[&[OptionDef]]) -> [OptionDef; N] {
    let mut first = 0;
    while lists[first].is_empty() {
        first += 1;
    }
    let mut all = [lists[first][0]; N];
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

/// Returns the position of the option with this name in the list. If the list does not contain the
/// option, the evaluation of the constant fails.
pub(crate) const fn find(list: &[OptionDef], name: OptionName) -> usize {
    let mut at = 0;
    while !is_same(list[at].name.as_bytes(), name.as_str().as_bytes()) {
        at += 1;
    }
    at
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Declares options: see [`crate::method::declare`].
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $( ..$before:ident: $Before:ty; )*
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $option:literal)?: $ty:ty { $($record:tt)+ };
            )+
            $( ..$after:ident: $After:ty; )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $( #[doc = concat!("See [`", stringify!($Before), "`].")] pub $before: $Before, )*
            $( $(#[doc = $doc])+ pub $field: $ty, )+
            $( #[doc = concat!("See [`", stringify!($After), "`].")] pub $after: $After, )*
        }

        impl $name {
            $(
                #[doc = concat!("The name of the option that [`", stringify!($name), "`] keeps as `", stringify!($field), "`.")]
                pub const fn $field() -> $crate::method::declare::OptionName {
                    $crate::method::declare::OptionName::new($crate::method::declare::option_name!($field $($option)?))
                }
            )+
        }

        impl $crate::method::declare::OptionGroup for $name {
            const OPTIONS: &'static [$crate::method::OptionDef] = {
                const LISTS: &[&[$crate::method::OptionDef]] = &[
                    $( <$Before as $crate::method::declare::OptionGroup>::OPTIONS, )*
                    &[$( $crate::method::declare::record!(
                        $name::$field(), concat!($($doc),+), $($record)+
                    ), )+],
                    $( <$After as $crate::method::declare::OptionGroup>::OPTIONS, )*
                ];
                const ALL: [$crate::method::OptionDef; $crate::method::declare::count(LISTS)] =
                    $crate::method::declare::join(LISTS);
                &ALL
            };

            fn read(
                source: &$crate::method::declare::OptionSource<'_>,
            ) -> Result<$name, $crate::method::declare::Mismatch> {
                Ok($name {
                    $( $before: <$Before as $crate::method::declare::OptionGroup>::read(source)?, )*
                    $( $field: source.value($name::$field())?, )+
                    $( $after: <$After as $crate::method::declare::OptionGroup>::read(source)?, )*
                })
            }

            fn place(&mut self, option: &str) -> Option<$crate::method::declare::OptionField<'_>> {
                $( if let Some(place) = $crate::method::declare::OptionGroup::place(&mut self.$before, option) {
                    return Some(place);
                } )*
                $( if option == $name::$field().as_str() {
                    return $crate::method::declare::OptionValue::place(&mut self.$field);
                } )+
                $( if let Some(place) = $crate::method::declare::OptionGroup::place(&mut self.$after, option) {
                    return Some(place);
                } )*
                None
            }
        }
    };
}

/// Expands to the name of an option: the name after `as` or, without `as`, the name of the field.
macro_rules! option_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $option:literal) => {
        $option
    };
}

/// Expands to the record of an option, from its default, kind, phase and synonyms in other tools.
/// After `like`, it expands to the record that another struct declares.
macro_rules! record {
    ($name:expr, $doc:expr, like $other:ty) => {
        <$other as $crate::method::declare::OptionGroup>::OPTIONS
            [$crate::method::declare::find(<$other as $crate::method::declare::OptionGroup>::OPTIONS, $name)]
    };
    ($name:expr, $doc:expr, $default:literal, $kind:expr, $phase:expr) => {
        $crate::method::declare::record!($name, $doc, $default, $kind, $phase, &[])
    };
    ($name:expr, $doc:expr, $default:literal, $kind:expr, $phase:expr, $synonyms:expr) => {
        $crate::method::OptionDef {
            name: $name.as_str(),
            doc: $crate::method::declare::trimmed($doc),
            kind: $kind,
            default: $default,
            phase: $phase,
            synonyms: $synonyms,
        }
    };
}

/// Declares the words that programs write for the variants of an enum.
macro_rules! words {
    ($name:ident { $($word:literal => $variant:ident),+ $(,)? }) => {
        impl $name {
            /// The words, in the order in which the manual lists them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The kind of an option that takes one of the words.
            pub const KIND: $crate::method::OptionKind = $crate::method::OptionKind::Word(Self::WORDS);

            /// Returns the word that programs use for this variant.
            pub fn word(self) -> &'static str {
                match self {
                    $( $name::$variant => $word, )+
                }
            }
        }

        impl $crate::method::declare::OptionValue for $name {
            fn read(given: $crate::method::declare::RawOption<'_>) -> Option<$name> {
                match given {
                    $( $crate::method::declare::RawOption::Call($word, []) => Some($name::$variant), )+
                    _ => None,
                }
            }
        }
    };
}

/// Declares the forms that programs write for the values of an enum: words, and calls with numbers.
macro_rules! forms {
    ($name:ident { $($word:literal $(($($number:ident),+))? => $value:expr),+ $(,)? }) => {
        impl $name {
            /// The kind of an option that takes one of the forms.
            pub(crate) const KIND: $crate::method::OptionKind = $crate::method::OptionKind::Call(&[
                $( $crate::method::CallForm { word: $word, numbers: $crate::method::declare::numbers(&[$($(stringify!($number)),+)?]) }, )+
            ]);
        }

        impl $crate::method::declare::OptionValue for $name {
            fn read(given: $crate::method::declare::RawOption<'_>) -> Option<$name> {
                match given {
                    $( $crate::method::declare::RawOption::Call($word, &[$($($number),+)?]) => Some($value), )+
                    _ => None,
                }
            }
        }
    };
}

/// Returns the number of arguments in a form.
pub(crate) const fn numbers(names: &[&str]) -> usize {
    names.len()
}

pub(crate) use {forms, option_name, options, record, words};

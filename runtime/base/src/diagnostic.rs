//! Messages for the user. The code that detects a mistake builds the message, and the command line
//! renders it.

use crate::source::Span;
use std::path::{Path, PathBuf};

/// A kind of problem, with a stable identifier and a long explanation, which `bnnc explain E0201`
/// prints.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// The identifier, such as `E0201`. The first pair of digits names the area: 01 syntax, 02
    /// checking, 03 rewriting, 04 data, 05 inference, 06 command line and building, 07
    /// piecewise-linear integrals, 08 CUDA, 09 limits of bnnc and of the machine.
    pub id: &'static str,
    /// The title of the problem, in a few words.
    pub title: &'static str,
    /// The explanation in Markdown. The text describes the meaning, and shows a wrong example and a
    /// right example.
    pub explain: &'static str,
}

/// Declares the codes of a module, each with its identifier, title and explanation, and `CODES`, the
/// list of them.
///
/// ```
/// bnnc_base::codes! {
///     /// A file without rows.
///     pub NO_ROWS = "E0405", "a file has no rows":
///         "A table needs at least one row below its header.";
/// }
/// assert_eq!(CODES[0].id, "E0405");
/// ```
#[macro_export]
macro_rules! codes {
    ($($(#[$about:meta])* $shown:vis $name:ident = $id:literal, $title:literal: $explain:expr;)+) => {
        /// The codes that this module declares, sorted by their identifiers.
        pub static CODES: &[&$crate::diagnostic::Code] = &[$(&$name),+];

        $(
            $(#[$about])*
            $shown static $name: $crate::diagnostic::Code = $crate::diagnostic::Code {
                id: $id,
                title: $title,
                explain: $explain,
            };
        )+
    };
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The message is only for information.
    Note,
    /// The message reports a possible problem, but the run continues.
    Warning,
    /// The message reports a mistake, and the program cannot run.
    Error,
}

/// The part of the input that is wrong, which determines the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultyInput {
    /// The program is wrong. The exit status is 1.
    Program,
    /// The command line is wrong. The exit status is 2.
    Usage,
    /// The data are wrong. The exit status is 3.
    Data,
}

/// The place to which a message refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A range of bytes in the text of a program.
    Span(Span),
    /// A place in a data file.
    File {
        /// The path of the file, as the user wrote it.
        path: PathBuf,
        /// The row, counted from 1 (the header is row 1), or 0 for the whole file.
        row: usize,
        /// The column, counted from 1, or 0 for the whole row.
        column: usize,
    },
    /// The message does not refer to a place, for example because it is about the command line.
    Nowhere,
}

impl From<&Path> for Place {
    /// Returns the place of a whole file.
    fn from(path: &Path) -> Place {
        Place::File {
            path: path.to_owned(),
            row: 0,
            column: 0,
        }
    }
}

/// A second place, which helps to explain the main place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The second place, as a range of bytes in a text.
    pub span: Span,
    /// The text that is shown at this place.
    pub message: String,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code of the problem.
    pub code: &'static Code,
    /// The severity of the message.
    pub severity: Severity,
    /// The part of the input that is wrong, which determines the exit status.
    pub fault: FaultyInput,
    /// The mistake, as one sentence without a full stop. The expected value comes before the actual
    /// value.
    pub message: String,
    /// The main place to which the message refers.
    pub at: Place,
    /// The text that is shown at the main place, or an empty text.
    pub label: String,
    /// Further places, each with its text.
    pub labels: Vec<Label>,
    /// Further facts that help to understand the mistake.
    pub notes: Vec<String>,
    /// Advice on how to correct the mistake.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Builds the error that reports a mistake in the program at `span`.
    pub fn error(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::program_at(code, Place::Span(span), message)
    }

    /// Builds the error that reports a mistake in the program at any kind of place.
    pub fn program_at(code: &'static Code, at: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            at,
            ..Diagnostic::of_program(code, message)
        }
    }

    /// Builds a warning that refers to the program at `span`.
    pub fn warning(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, span, message).as_warning()
    }

    /// Builds the error that reports a problem at a place in a data file.
    pub fn data(code: &'static Code, at: impl Into<Place>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            at: at.into(),
            ..Diagnostic::of_data(code, message)
        }
    }

    /// Builds the error that reports a mistake in the command line.
    pub fn usage(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            fault: FaultyInput::Usage,
            message: message.into(),
            at: Place::Nowhere,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Builds an error about the program as a whole, or about the limit that a valid program exceeds. The
    /// error does not refer to a place.
    pub fn of_program(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            fault: FaultyInput::Program,
            ..Diagnostic::usage(code, message)
        }
    }

    /// Builds a warning about the program as a whole. The warning does not refer to a place.
    pub fn program_warning(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::of_program(code, message).as_warning()
    }

    /// Builds an error about the data or the files of a run. The error does not refer to a place.
    pub fn of_data(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            fault: FaultyInput::Data,
            ..Diagnostic::usage(code, message)
        }
    }

    /// Builds a warning about the data or the results of a run. The warning does not refer to a place.
    pub fn data_warning(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::of_data(code, message).as_warning()
    }

    /// Turns the error into a warning, so that the run continues.
    pub fn as_warning(self) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..self
        }
    }

    /// Turns the error into information, so that the run continues.
    pub fn as_note(self) -> Diagnostic {
        Diagnostic {
            severity: Severity::Note,
            ..self
        }
    }

    /// Sets the text that is shown at the main place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.label = text.into();
        self
    }

    /// Adds a second place with its text.
    pub fn also(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    /// Adds a fact as a note.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds several facts as notes.
    pub fn notes(mut self, texts: impl IntoIterator<Item = impl Into<String>>) -> Diagnostic {
        self.notes.extend(texts.into_iter().map(Into::into));
        self
    }

    /// Adds advice as a help line.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Adds advice as a help line, if there is any.
    pub fn help_if(self, text: Option<impl Into<String>>) -> Diagnostic {
        self.helps(text)
    }

    /// Adds several pieces of advice as help lines.
    pub fn helps(mut self, texts: impl IntoIterator<Item = impl Into<String>>) -> Diagnostic {
        self.help.extend(texts.into_iter().map(Into::into));
        self
    }

    /// Adds a second place with its text, if the place is known.
    pub fn also_if(self, span: Option<Span>, message: impl Into<String>) -> Diagnostic {
        match span {
            Some(span) => self.also(span, message),
            None => self,
        }
    }

    /// Adds the advice `did you mean ..?` if one of `names` replaces `wrong`. A name can replace
    /// `wrong` if `wrong` is the word of another tool for the same thing, or if both are spelt
    /// similarly. If no name can replace `wrong`, adds the advice about `wrong` from the table of
    /// other tools' words, if the table contains such advice.
    pub fn suggest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let names: Vec<&str> = names.into_iter().collect();
        let known = crate::synonyms::synonym(wrong, names.iter().copied());
        match (
            known.or_else(|| crate::nearest::nearest(wrong, names)),
            crate::synonyms::instead(wrong),
        ) {
            (Some(name), _) => self.help(format!("did you mean `{name}`?")),
            (None, Some(advice)) => self.help(advice),
            (None, None) => self,
        }
    }

    /// Adds the same advice as [`suggest`](Self::suggest), but `names` are names of the language. Advice
    /// about a word of another tool takes precedence over a name with a similar spelling. For
    /// example, `log10` must not be replaced by `log1p`.
    pub fn suggest_word<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let names: Vec<&str> = names.into_iter().collect();
        let known = crate::synonyms::synonym(wrong, names.iter().copied());
        match crate::synonyms::instead(wrong) {
            Some(advice) if known.is_none() => self.help(advice),
            _ => self.suggest(wrong, names),
        }
    }

    /// Adds the advice `did you mean ..?` for the most similar of `names`. The names in `names` are
    /// chosen by the user, such as names of columns. The words of other tools do not apply to such
    /// names.
    pub fn suggest_near<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match crate::nearest::nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns whether the diagnostic is an error. An error stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Declares public functions that build diagnostics. A declaration has the form
/// `fn name(parameters) = kind(CODE, place, text).part(..).part(..);`. The kind is a constructor of
/// [`Diagnostic`], such as `error`. Constructors such as `usage` and `of_program` have no place. The parts
/// are methods of [`Diagnostic`]. All texts are format strings, which may name the parameters, and the
/// variables of `let` statements between the parameters and the `=`.
#[macro_export]
macro_rules! reports {
    (@ also in $found:ident, $span:expr, $text:literal $(, $arg:expr)*) => {
        $found.also($span, format!($text $(, $arg)*))
    };
    (@ $part:ident in $found:ident, $text:literal $(, $arg:expr)*) => {
        $found.$part(format!($text $(, $arg)*))
    };
    (@ $part:ident in $found:ident, $($arg:expr),*) => {
        $found.$part($($arg),*)
    };
    (@ $kind:ident $code:path, $text:literal $(, $arg:expr)*) => {
        $crate::diagnostic::Diagnostic::$kind(&$code, format!($text $(, $arg)*))
    };
    (@ $kind:ident $code:path, $at:expr, $text:literal $(, $arg:expr)*) => {
        $crate::diagnostic::Diagnostic::$kind(&$code, $at, format!($text $(, $arg)*))
    };
    ($(
        $(#[$doc:meta])*
        fn $name:ident$(<$life:lifetime>)?($($param:ident: $ty:ty),*)
            $(let $local:pat = $value:expr;)*
            = $kind:ident($($first:tt)*) $(.$part:ident($($rest:tt)*))*;
    )*) => {$(
        $(#[$doc])*
        pub fn $name$(<$life>)?($($param: $ty),*) -> $crate::diagnostic::Diagnostic {
            $(let $local = $value;)*
            let found = $crate::reports!(@ $kind $($first)*);
            $(let found = $crate::reports!(@ $part in found, $($rest)*);)*
            found
        }
    )*};
}

/// Declares enumerations of reasons that messages quote, and implements their `Display`. The text of a variant is
/// a format string, which must name all fields of the variant.
///
/// ```
/// bnnc_base::reasons! {
///     /// The reason why a file cannot be read.
///     pub enum Unreadable {
///         /// The file has no rows.
///         Empty = "it has no rows";
///         /// The file has a row that is too long. The field is the number of this row.
///         Long(row: usize) = "row {row} is too long";
///     }
/// }
/// assert_eq!(Unreadable::Long(3).to_string(), "row 3 is too long");
/// ```
#[macro_export]
macro_rules! reasons {
    ($(
        $(#[$about:meta])*
        $shown:vis enum $name:ident {$(
            $(#[$doc:meta])*
            $variant:ident
                $(($($place:ident: $place_ty:ty),+))?
                $({$($(#[$field_doc:meta])* $field:ident: $field_ty:ty),+ $(,)?})?
                = $text:literal;
        )+}
    )+) => {$(
        $(#[$about])*
        $shown enum $name {$(
            $(#[$doc])*
            $variant $(($($place_ty),+))? $({$($(#[$field_doc])* $field: $field_ty),+})?,
        )+}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {$(
                    $name::$variant $(($($place),+))? $({$($field),+})? => write!(f, $text),
                )+}
            }
        }
    )+};
}

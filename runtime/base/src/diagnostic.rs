//! Messages for the user: one struct, built at the place that detects the mistake and rendered by the command line.

use crate::source::Span;
use std::path::PathBuf;

/// A stable identifier of one kind of problem, with its long explanation (`bnnc explain E0201`).
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `E0201`. The first pair of digits names the area: 01 syntax, 02 checking, 03 rewriting, 04 data, 05 inference, 06 command line and
    /// building, 07 piecewise-linear integrals, 08 CUDA, 09 limits of bnnc and of the machine.
    pub id: &'static str,
    /// The title, in a few words.
    pub title: &'static str,
    /// The explanation in Markdown: the meaning, a wrong example and a right one.
    pub explain: &'static str,
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information; nothing needs to change.
    Note,
    /// The run continues.
    Warning,
    /// The run does not start.
    Error,
}

/// The part of the input that is wrong, which determines the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultyInput {
    /// The program: exit status 1.
    Program,
    /// The command line: exit status 2.
    Usage,
    /// The data: exit status 3.
    Data,
}

/// The place of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A place in the text of a program.
    Span(Span),
    /// A place in a data file. Row and column count from 1, and the header is row 1; 0 stands for the whole file or row.
    File {
        /// The file as the user named it.
        path: PathBuf,
        /// 1-based row, or 0.
        row: usize,
        /// 1-based column, or 0.
        column: usize,
    },
    /// No place, as for the command line.
    Nowhere,
}

/// A second place that explains the main place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The text at this place.
    pub message: String,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code of the problem.
    pub code: &'static Code,
    /// The severity.
    pub severity: Severity,
    /// The part of the input that is wrong.
    pub fault: FaultyInput,
    /// The mistake: one sentence without a full stop, with the expected value before the actual one.
    pub message: String,
    /// The main place.
    pub at: Place,
    /// The text at the main place; may be empty.
    pub label: String,
    /// Other places, with their texts.
    pub labels: Vec<Label>,
    /// Further facts.
    pub notes: Vec<String>,
    /// Advice.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Builds an error in the program at `span`.
    pub fn error(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Error,
            FaultyInput::Program,
            Place::Span(span),
            message.into(),
        )
    }

    /// Builds a warning about the program at `span`.
    pub fn warning(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Warning,
            FaultyInput::Program,
            Place::Span(span),
            message.into(),
        )
    }

    /// Builds an error in a data file; `row` and `column` as in [`Place::File`].
    pub fn data(
        code: &'static Code,
        path: impl Into<PathBuf>,
        row: usize,
        column: usize,
        message: impl Into<String>,
    ) -> Diagnostic {
        let at = Place::File {
            path: path.into(),
            row,
            column,
        };
        Diagnostic::new(code, Severity::Error, FaultyInput::Data, at, message.into())
    }

    /// Builds an error in the command line.
    pub fn usage(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Error,
            FaultyInput::Usage,
            Place::Nowhere,
            message.into(),
        )
    }

    /// Builds an error about a limit that a valid program exceeds. It does not have a place.
    pub fn of_limit(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Error,
            FaultyInput::Program,
            Place::Nowhere,
            message.into(),
        )
    }

    fn new(
        code: &'static Code,
        severity: Severity,
        fault: FaultyInput,
        at: Place,
        message: String,
    ) -> Diagnostic {
        let (label, labels, notes, help) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Diagnostic {
            code,
            severity,
            fault,
            message,
            at,
            label,
            labels,
            notes,
            help,
        }
    }

    /// Sets the text shown at the main place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.label = text.into();
        self
    }

    /// Adds a second place.
    pub fn also(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Adds `did you mean ..?` if `wrong` is the word of another tool for one of `names`, or is spelt similarly to one; otherwise adds the advice about
    /// `wrong`, if there is any.
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

    /// Adds the same advice as [`suggest`](Self::suggest), for names of the language. The advice about a word of another tool takes precedence over a
    /// name with a similar spelling, since `log10` does not mean `log1p`.
    pub fn suggest_word<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let names: Vec<&str> = names.into_iter().collect();
        let known = crate::synonyms::synonym(wrong, names.iter().copied());
        match crate::synonyms::instead(wrong) {
            Some(advice) if known.is_none() => self.help(advice),
            _ => self.suggest(wrong, names),
        }
    }

    /// Adds `did you mean ..?` for the most similar of names that the user chose, such as the names of columns. The words of other tools do not apply
    /// to such names.
    pub fn suggest_near<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match crate::nearest::nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns whether the severity is an error, which stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

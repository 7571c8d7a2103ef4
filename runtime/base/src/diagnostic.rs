//! Messages for the user: one struct, built where the mistake is found, rendered at the edge.

use crate::source::Span;
use std::path::PathBuf;

/// A stable name for one kind of problem, with its long text (`bnnc explain E0201`).
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `E0201`; the first digit pair names the crate: 01 grammar, 02 hir, 03 rewrite, 04 data, 05 run, 06 cli, 07 wmi,
    /// 08 cuda.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// Markdown: what it means, a wrong example, a right one.
    pub explain: &'static str,
}

/// How serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing needs to change.
    Note,
    /// The run goes on.
    Warning,
    /// The run does not start.
    Error,
}

/// Whose fault it is, which decides the exit status (DESIGN section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Exit status 1.
    Program,
    /// Exit status 2.
    Usage,
    /// Exit status 3.
    Data,
}

/// Where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a program text.
    Span(Span),
    /// In a data file; row and column count from 1, the header is row 1; 0 means the whole file or row.
    File {
        /// The file as the user named it.
        path: PathBuf,
        /// 1-based row, or 0.
        row: usize,
        /// 1-based column, or 0.
        column: usize,
    },
    /// Nowhere in particular (a command line, for example).
    Nowhere,
}

/// A second place that explains the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// The text at this place.
    pub message: String,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: &'static Code,
    /// How serious it is.
    pub severity: Severity,
    /// Whose fault it is.
    pub fault: Fault,
    /// The mistake, expected before actual, one sentence without a full stop.
    pub message: String,
    /// Where it is.
    pub at: Place,
    /// The text at `at` (may be empty).
    pub label: String,
    /// Other places.
    pub labels: Vec<Label>,
    /// Facts.
    pub notes: Vec<String>,
    /// The advice.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error in the program at `span`.
    pub fn error(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Error,
            Fault::Program,
            Place::Span(span),
            message.into(),
        )
    }

    /// A warning about the program at `span`.
    pub fn warning(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Warning,
            Fault::Program,
            Place::Span(span),
            message.into(),
        )
    }

    /// An error in a data file; `row` and `column` as in [`Place::File`].
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
        Diagnostic::new(code, Severity::Error, Fault::Data, at, message.into())
    }

    /// An error in the command line.
    pub fn usage(code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(
            code,
            Severity::Error,
            Fault::Usage,
            Place::Nowhere,
            message.into(),
        )
    }

    fn new(code: &'static Code, severity: Severity, fault: Fault, at: Place, message: String) -> Diagnostic {
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

    /// Adds `did you mean ..?` where `wrong` is another tool's word for one of `names`, or near one; else the advice about the word.
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

    /// Adds advice as [`suggest`](Self::suggest) does, for names of the language: the advice about a word of another tool goes before a name that is
    /// spelt like it, since `log10` is not `log1p`.
    pub fn suggest_word<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let names: Vec<&str> = names.into_iter().collect();
        let known = crate::synonyms::synonym(wrong, names.iter().copied());
        match crate::synonyms::instead(wrong) {
            Some(advice) if known.is_none() => self.help(advice),
            _ => self.suggest(wrong, names),
        }
    }

    /// Adds `did you mean ..?` for the nearest of names that the user gave, such as those of columns: words of other tools mean nothing among them.
    pub fn suggest_near<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match crate::nearest::nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns whether it stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

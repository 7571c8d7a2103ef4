//! Failures that can occur after a program has been checked. A failure is caused by a bug in bnnc,
//! or by a limit of bnnc or of the machine, or is an error with a code.

use crate::diagnostic::{Code, Diagnostic};
use std::fmt;

/// A failure that the checks of the program cannot exclude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant of the compiler does not hold. The exit status is 101.
    Bug(String),
    /// The program is valid, but exceeds a limit of bnnc or of the machine. The exit status is 1.
    Limit(ReachedLimit),
    /// A diagnostic with a code, which is reported like any other diagnostic.
    Reported(Box<Diagnostic>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Bug(text) => write!(f, "bug in bnnc: {text}"),
            Fault::Limit(limit) => write!(f, "limit of bnnc: {}", limit.text),
            Fault::Reported(diagnostic) => f.write_str(&diagnostic.message),
        }
    }
}

impl std::error::Error for Fault {}

/// A limit that a valid program exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedLimit {
    /// The code of the limit.
    pub code: &'static Code,
    /// A text that states the limit and the part that exceeds it.
    pub text: String,
}

impl Fault {
    /// Creates the error for a program that exceeds a limit.
    pub fn limit(code: &'static Code, text: impl Into<String>) -> Fault {
        let text = text.into();
        Fault::Limit(ReachedLimit { code, text })
    }

    /// Returns the diagnostic that describes a limit or an error, or `None` for a bug.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            Fault::Bug(_) => None,
            Fault::Limit(limit) => Some(Diagnostic::of_program(limit.code, &limit.text)),
            Fault::Reported(diagnostic) => Some((**diagnostic).clone()),
        }
    }
}

/// A broken invariant of bnnc, with its description and place. The check that detects the bug
/// converts it to a [`Fault::Bug`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug(pub String);

impl Bug {
    /// Adds the name of the part in which the bug occurred.
    pub fn at(self, place: impl fmt::Display) -> Bug {
        Bug(format!("{place}: {}", self.0))
    }
}

impl From<Bug> for Fault {
    fn from(bug: Bug) -> Fault {
        Fault::Bug(bug.0)
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Fault {
        Fault::Reported(Box::new(diagnostic))
    }
}

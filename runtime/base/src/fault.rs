//! Failures that remain possible after checking: a bug of bnnc, a limit of bnnc or of the machine, or an error with a code.

use crate::diagnostic::Diagnostic;
use std::fmt;

/// A failure that is not caused by a mistake in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant of the compiler does not hold: exit status 101.
    Bug(String),
    /// The program is valid, but exceeds a limit of this compiler: exit status 1, with the reason.
    Limit(String),
    /// A diagnostic with a code, which is reported like any other.
    Told(Box<Diagnostic>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Bug(text) => write!(f, "bug in bnnc: {text}"),
            Fault::Limit(text) => write!(f, "limit of bnnc: {text}"),
            Fault::Told(diagnostic) => f.write_str(&diagnostic.message),
        }
    }
}

impl std::error::Error for Fault {}

/// A broken invariant of bnnc: which one, and where. The check that detects the bug converts it to a [`Fault::Bug`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug(pub String);

impl Bug {
    /// Names the part that contains the place of the bug.
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
        Fault::Told(Box::new(diagnostic))
    }
}

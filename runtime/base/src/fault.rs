//! Failures that remain possible after checking: a bug of ours, a limit of ours, or something that the machine lacks.

use crate::diagnostic::Diagnostic;
use std::fmt;

/// Not the fault of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant of the compiler does not hold: exit status 101.
    Bug(String),
    /// Legal, but more than this compiler does: exit status 1, with the reason.
    Limit(String),
    /// A diagnostic with a code, to be reported like every other one.
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

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Fault {
        Fault::Told(Box::new(diagnostic))
    }
}

//! What may still go wrong after checking: a bug of ours, or a limit of ours.

use std::fmt;

/// Not the user's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant of the compiler does not hold: exit status 101.
    Bug(String),
    /// Legal, but more than this compiler does: exit status 1, with the reason.
    Limit(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Bug(text) => write!(f, "bug in bnnc: {text}"),
            Fault::Limit(text) => write!(f, "limit of bnnc: {text}"),
        }
    }
}

impl std::error::Error for Fault {}

//! The diagnostics of the training crate.

pub mod iterates;
pub mod losses;
pub mod schedule;

use bnnc_base::diagnostic::Code;

/// The codes of this crate, one list for each module.
pub static CODES: &[&[&Code]] = &[iterates::CODES, losses::CODES, schedule::CODES];

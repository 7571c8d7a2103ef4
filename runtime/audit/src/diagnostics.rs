//! The diagnostics that the checks of data and of results report.

pub mod data;
pub mod results;
pub mod scales;

use bnnc_base::diagnostic::Code;

/// The codes of this crate, one list for each module.
pub static CODES: &[&[&Code]] = &[data::CODES, results::CODES, scales::CODES];

//! The diagnostics of the training crate.

pub mod iterates;
pub mod losses;
pub mod schedule;

use bnnc_base::diagnostic::Code;

/// All codes of this crate, sorted.
pub static CODES: &[&Code] = &[
    &iterates::TOO_FEW_ITERATES,
    &iterates::ITERATES_ASTRAY,
    &losses::NOT_CONVERGED,
    &losses::WORSENED,
    &losses::RESTARTS_DIFFER,
    &losses::SINGLE_ROW,
    &losses::UNBOUNDED_DENSITY,
    &iterates::STILL_ITERATES,
    &iterates::OTHER_BREADTH,
    &losses::NO_STREAM,
    &iterates::AGREEING_MEMBERS,
    &losses::AT_SADDLE,
    &schedule::UNREACHED,
];

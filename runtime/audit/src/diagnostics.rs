//! The diagnostics that the checks of data and of results report.

pub mod data;
pub mod results;
pub mod scales;

use bnnc_base::diagnostic::Code;

/// All codes of this crate, in sorted order.
pub static CODES: &[&Code] = &[
    &scales::INPUT_SCALES,
    &data::NOTHING_TO_LEARN,
    &data::LEAK,
    &data::REPEATED_ROWS,
    &data::EXTRAPOLATION,
    &data::ORDERED_ROWS,
    &data::MISSING_AS_NUMBER,
    &data::UNTRAINED_LEVEL,
    &data::UNORDERED_SERIES,
    &results::INTERVALS,
    &results::MAJORITY,
    &data::DATES,
    &data::SAME_LEVELS,
    &data::TWO_VALUES,
    &data::REDUNDANT,
    &data::IDENTIFIER,
    &data::REPEATED_TRAINING_ROWS,
    &results::PRIOR_CONFLICT,
    &results::NO_FINITE_MAXIMUM,
    &results::BIASED,
    &data::CUT_OFF,
    &data::SORTED_ROWS,
    &scales::FAR_FROM_ZERO,
    &results::IGNORED_INPUTS,
    &results::WORSE_THAN_CENTRE,
    &data::OUT_OF_REACH,
    &results::COLLAPSED,
    &scales::CORRELATED,
];

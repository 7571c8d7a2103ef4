//! The error for options that are incompatible with each other or with the data.

use super::value::OptionName;

/// An error: some options are incompatible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionConflict {
    /// The option to which the diagnostic points.
    pub option: OptionName,
    /// A sentence that describes the mistake.
    pub message: String,
    /// A sentence that advises how to correct the mistake.
    pub help: String,
}

impl OptionConflict {
    pub(crate) fn new(
        option: OptionName,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<(), OptionConflict> {
        Err(OptionConflict {
            option,
            message: message.into(),
            help: help.into(),
        })
    }
}

//! The diagnostics of this crate. Each diagnostic has a code and a small function that creates it.

use bnnc_base::diagnostic::Code;

/// Declares a [`Code`]. The long explanation of the code ends with a wrong program and the
/// corrected program.
macro_rules! code {
    ($name:ident, $id:literal, $title:literal, $what:literal, $wrong:literal, $right:literal) => {
        #[doc = concat!("`", $id, "`: ", $title, ".")]
        pub static $name: bnnc_base::diagnostic::Code = bnnc_base::diagnostic::Code {
            id: $id,
            title: $title,
            explain: concat!(
                $what,
                "\n\nWrong:\n\n```bnn\n",
                $wrong,
                "\n```\n\nRight:\n\n```bnn\n",
                $right,
                "\n```\n"
            ),
        };
    };
}

pub mod bind;
pub mod elaborate;
pub mod infer;
pub mod model;
pub mod names;
pub mod running;
pub mod statements;
pub mod types;

/// The codes of the elaboration, in order. The elaboration needs the data.
pub static ELABORATE: &[&Code] = &[
    &bind::UNUSED_POSITION,
    &bind::WHOLE_COLUMNS,
    &bind::SEVERAL_ENTRIES,
    &running::MEAN_OF_SEVERAL,
    &elaborate::OPEN_ARRAY,
    &elaborate::NO_SIZE,
    &elaborate::LIMIT,
    &bind::NO_COLUMN,
    &bind::WRONG_COLUMN,
    &elaborate::NO_PART,
    &elaborate::TOO_LARGE,
];

/// The codes of the check of programs, in order.
pub static CODES: &[&Code] = &[
    &names::DUPLICATE_ITEM,
    &names::UNKNOWN_NAME,
    &names::UNKNOWN_IMPORT,
    &names::WRONG_KIND,
    &names::CYCLE,
    &names::REBOUND,
    &names::UNUSED,
    &names::UNKNOWN_TYPE,
    &names::UNKNOWN_DIM,
    &names::OUT_OF_PLACE,
    &types::MISMATCH,
    &types::DIMS,
    &types::MATRIX_PRODUCT,
    &types::SUPPORT,
    &types::ARGUMENT_COUNT,
    &types::UNKNOWN_ARGUMENT,
    &types::ARGUMENT_TWICE,
    &types::NOT_CALLABLE,
    &types::DOES_NOT_LIFT,
    &types::INDEX,
    &types::NOT_STATIC,
    &types::DIM_UNSOLVED,
    &types::UNKNOWN_PART,
    &types::NOISE,
    &types::TOO_DEEP,
    &types::NOT_CONSTANT,
    &types::WINDOW,
    &types::RESHAPE,
    &running::UNNAMED_MEAN,
    &statements::WRONG_PLACE,
    &statements::NO_RETURN,
    &statements::AFTER_RETURN,
    &statements::TARGET,
    &statements::UNKNOWN_DEFINITION,
    &statements::DEFINITION_TWICE,
    &statements::DEFINITION_MISSING,
    &statements::NOT_ELEMENTWISE,
    &model::GLOBAL_DEPENDS,
    &model::DISCRETE_LATENT,
    &model::NOT_OBSERVED,
    &model::OBSERVED_TWICE,
    &model::WIDER,
    &model::UNNAMED_LAYER,
    &model::NEVER_CALLED,
    &model::CALLED_DIFFERENTLY,
    &model::SITE_IN_FOR,
    &infer::UNKNOWN_SITE,
    &infer::SITE_TWICE,
    &infer::SITES_MISSING,
    &infer::UNKNOWN_METHOD,
    &infer::WRONG_TARGET,
    &infer::UNKNOWN_OPTION,
    &infer::OPTION_VALUE,
    &infer::OPTION_TWICE,
    &infer::UNKNOWN_OVERRIDE,
    &infer::UNKNOWN_FORMAT,
    &infer::COLUMN,
    &infer::UNKNOWN_METRIC,
    &types::APPLIED_TWICE,
    &types::EITHER_SIGN,
    &types::MIXED_PARAMETERS,
    &model::DEPENDS_ON_ITSELF,
    &types::SQUARED_DEVIATION,
    &model::NO_ACTIVATION,
    &model::BOTH_NEIGHBOURS,
];

/// Formats a count with its noun: `1 argument`, `2 arguments`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// Formats names as "`a`, `b`".
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

//! The options of data items, with their descriptions in the manual.

pub use super::columns::FUNCTIONS as COLUMN_FUNCTIONS;
use super::columns::column;
use super::{Reading, inputs, integer, source, split, standardise, test, unlike, word};
use bnnc_abi::data::{Divisor, Test};
use bnnc_grammar::ast;

/// An option of data items.
pub struct DataOption {
    /// The name of the option.
    pub name: &'static str,
    /// The values that the option takes, in Markdown.
    pub values: &'static str,
    /// The effect of the option and its default, in Markdown.
    pub doc: &'static str,
    /// Reads the value of the option into the specification.
    pub(super) read: fn(&mut Reading<'_, '_>, &ast::Expr),
}

/// Returns the names of all options of data items.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    OPTIONS.iter().map(|option| option.name)
}

/// Returns the option of data items with this name.
pub fn lookup(name: &str) -> Option<&'static DataOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

const fn option(
    name: &'static str,
    values: &'static str,
    doc: &'static str,
    read: fn(&mut Reading<'_, '_>, &ast::Expr),
) -> DataOption {
    DataOption {
        name,
        values,
        doc,
        read,
    }
}

/// Every option of data items, in the order of the manual.
pub static OPTIONS: &[DataOption] = &[
    option(
        "inputs",
        "columns in brackets, `name = column`",
        "the inputs, in order. Default: every column except the target, in the order of the file",
        inputs,
    ),
    option(
        "target",
        "a column",
        "the target. Default: the last column, or the second file",
        |to, written| to.spec.target = column(to.session, written),
    ),
    option(
        "test",
        "`splits(\"file\")`, `fraction(p)`, or files of the same format",
        "the test rows: those of a file of splits, a random fraction, or other files. Default: no test rows",
        |to, written| to.spec.test = test(to.session, written, to.spec.format).unwrap_or(Test::None),
    ),
    option(
        "split",
        "an integer or `all`",
        "the number of the split to run, counted from 0, or all splits (default): metrics are then means over the splits, with standard errors",
        |to, written| *to.split = split(to.session, written).map(|split| (split, written.span)),
    ),
    option(
        "validation",
        "a fraction of the training rows",
        "held out for early stopping (`patience`) and for `prior_precision = validation`. Default: 0",
        |to, written| {
            let is_fraction = |value: f64| (0.0..1.0).contains(&value);
            if let Some(value) = to.number(written, ["a fraction below 1"; 2], is_fraction) {
                to.spec.validation = value;
            }
        },
    ),
    option(
        "standardise",
        "`inputs`, `target`, `[inputs, target]`",
        "what to standardise, with the mean and the standard deviation of the training rows. A constant column is only centred. Metrics stay in original units",
        |to, written| standardise(to.session, written, to.spec),
    ),
    option(
        "normalise",
        "`channels`",
        "subtracts from each channel of an image its mean and divides by its standard deviation, over all pixels of the training rows. The first of three or more axes counts the channels; an image with two axes has one channel",
        |to, written| {
            to.spec.normalise_channels = word(to, written, &[("channels", true)]).unwrap_or_default();
        },
    ),
    option(
        "sd",
        "`population` or `sample`",
        "the divisor of standard deviations in `normalise`, `standardise` and `zscore`: n (default), or n - 1 as in R and Stan",
        |to, written| {
            const DIVISORS: &[(&str, Divisor)] =
                &[("population", Divisor::Count), ("sample", Divisor::CountLessOne)];
            to.spec.divisor = word(to, written, DIVISORS).unwrap_or_default()
        },
    ),
    option(
        "scale",
        "a number",
        "multiplies every input: `1 / 126` for bytes",
        |to, written| {
            let is_scale = |value: f64| value.is_finite() && value != 0.0;
            if let Some(value) = to.number(written, ["a number", "finite and not zero"], is_scale) {
                to.spec.scale = value;
            }
        },
    ),
    option(
        "limit",
        "an integer",
        "use only the first *n* training rows",
        |to, written| to.spec.limit = integer(to.session, to.name, written, 1),
    ),
    option(
        "rotate",
        "degrees, such as `45` or `[0, 45, 90]`",
        "rotates the images of the test rows counter-clockwise about their centre",
        |to, written| to.spec.rotate = unlike::degrees(to.session, written),
    ),
    option(
        "shifts",
        "`all`, or corruptions in brackets, such as `[fog(3), jpeg]`",
        "computes the metrics of the test rows also with corrupted images. A corruption without a severity from 1 to 5 stands for all five",
        |to, written| to.spec.shifts = unlike::shifts(to.session, written),
    ),
    option(
        "outliers",
        "a file of inputs in the format of the data, such as `csv(\"far.csv\")` or `idx(\"file\")`; or `shuffled(pixels)`",
        "rows on which a classifier should be unsure",
        |to, written| to.spec.outliers = unlike::outliers(to.session, written, to.spec.format),
    ),
    option(
        "shared",
        "a source such as `csv(\"file\")`",
        "a table shared by all examples; its columns feed the first parameter list of the model",
        |to, written| {
            let given = source(to.session, written);
            to.spec.shared = given.and_then(|(format, files)| Some((format, files.into_iter().next()?)));
        },
    ),
];

//! Errors and warnings about values that a column contains.

use super::{At, codes, shown};
use bnnc_base::number::rounded;
use bnnc_base::reports;
use std::path::Path;

reports! {
    /// An error: a value is outside its declared type.
    fn outside_type(at: At<'_>, name: &str, value: f64, expected: &str)
        = data(codes::OUTSIDE_TYPE, at, "`{}` holds {value}, but the model declares it {expected}", shown(name))
        .help("correct the row, or declare a type that includes the value");

    /// An error: a value is outside its declared type only because the data item standardises its column. `values` are the value in the file and the
    /// standardised value.
    fn standardised_outside_type(at: At<'_>, name: &str, values: [f64; 2], expected: &str)
        let name = shown(name);
        let [value, standardised] = values.map(|value| rounded(value, 4));
        = data(codes::OUTSIDE_TYPE, at, "`{name}` holds {value}, which `standardise` turns into {standardised}, but the model declares it {expected}")
        .help("standardise only the other columns: leave out `standardise`, and write `inputs = [zscore(..), {name}, ..]`");

    /// A warning: a column contains two spellings of the same integer.
    fn two_spellings(path: &Path, name: &str, spellings: &[String; 2])
        let [one, other] = spellings;
        = data(codes::TWO_SPELLINGS, path, "`{}` contains `{one}` and `{other}`, which are the same number", shown(name))
        .help("if the column holds names, put a letter in front of them, so that the column is text")
        .as_warning();
}

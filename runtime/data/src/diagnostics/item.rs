//! Errors and warnings about a data item: its files, columns, expressions, splits and options.

use super::{At, codes, short, shown, shown_long};
use bnnc_abi::data::LARGEST_INTEGER;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::nearest::nearest;
use bnnc_base::number::rounded;
use bnnc_base::quoted::first_quoted;
use bnnc_base::reports;
use bnnc_base::source::Span;
use std::path::Path;

reports! {
    /// An error: the format does not allow this number of files.
    fn file_count(path: &Path, format: &str, actual: usize)
        = data(codes::FILE_COUNT, path, "`{format}` data need pairs of files, found {actual} file{}",
            if actual == 1 { "" } else { "s" })
        .help("name a file of inputs, then a file of targets");

    /// An error: the files are given by a pattern, although the files of this format come in pairs.
    fn pattern_of_pairs(path: &Path, format: &str)
        = data(codes::FILE_COUNT, path, "a pattern cannot stand for the files of `{format}` data, which come in pairs")
        .help("name every pair: `{format}(\"x1\", \"y1\", \"x2\", \"y2\")`");

    /// An error: the numbers of rows in the file of inputs and in the file of targets are different.
    fn row_counts(inputs: (&Path, usize), targets: (&Path, usize))
        = data(codes::ROW_COUNTS, targets.0, "expected {} rows as in `{}`, found {}",
            inputs.1, short(inputs.0), targets.1)
        .help("inputs and targets must belong together, row by row");

    /// An error: a column of the first file is missing in another file.
    fn missing_column(there: &Path, name: &str, here: &Path)
        = data(codes::COLUMNS_DIFFER, At::row(there, 1), "`{}` has a column `{}`, but `{}` does not",
            short(here), shown(name), short(there))
        .help("all files of a data item need the same columns");

    /// An error: a column of another file is missing in the first file.
    fn extra_column(there: &Path, name: &str, here: &Path)
        = data(codes::COLUMNS_DIFFER, At::row(there, 1), "`{}` has a column `{}`, but `{}` does not",
            short(there), shown(name), short(here))
        .help("all files of a data item need the same columns");

    /// An error: the kind or the shape of a column differs between files.
    fn column_differs(there: &Path, name: &str, expected: &str, actual: &str, here: &Path)
        = data(codes::COLUMNS_DIFFER, there, "expected {expected} in `{}` as in `{}`, found {actual}",
            shown(name), short(here))
        .help("all files of a data item need the same columns");

    /// An error: the files of one data item contain records of different kinds, such as CIFAR-10 and
    /// CIFAR-100.
    fn records_differ(there: &Path, expected: &str, actual: &str, here: &Path)
        = data(codes::COLUMNS_DIFFER, there, "expected {expected} as in `{}`, found {actual}", short(here))
        .help("name the files of one data set only: a pattern such as `*.bin` can match both");

    /// An error: an array that all examples share differs between files.
    fn shared_differs(there: &Path, name: &str, here: &Path)
        = data(codes::COLUMNS_DIFFER, there, "expected the same `{}` as in `{}`, found another value",
            shown(name), short(here))
        .help("values that all examples share must agree between files");

    /// An error: an array of new rows has a different number of elements per row than in training.
    fn other_width(path: &Path, name: &str, expected: usize, actual: usize)
        = data(codes::CHANGED, path, "`{}` has {expected} elements per row in the training data, found {actual}",
            shown(name))
        .help("the new rows need the same inputs as the training rows");

    /// An error: an array in the new rows does not have the same axes as in training. This is an error
    /// even if the number of elements is the same.
    fn other_axes(path: &Path, name: &str, expected: &[usize], actual: &[usize])
        let text = |axes: &[usize]| match axes {
            [] => "one number".to_owned(),
            [count] => format!("{count} numbers"),
            _ => axes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
        };
        = data(codes::CHANGED, path, "`{}` has {} in each row of the training data, found {}",
            shown(name), text(expected), text(actual))
        .help("give each new row an array of the shape that the training rows have");

    /// An error: new rows have a different number of inputs than the training rows.
    fn other_inputs(path: &Path, expected: usize, actual: usize)
        = data(codes::CHANGED, path, "expected {expected} input columns as in the training data, found {actual}")
        .help("the new rows need the same inputs as the training rows");
}

/// An error: the program names a column that the files do not have.
pub fn unknown_column<'a>(
    path: &Path,
    name: &str,
    span: Option<Span>,
    names: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    let text = format!("unknown column `{}`", shown(name));
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the columns are {}", shown_long(&names.join(", "))),
    };
    Diagnostic::data(&codes::UNKNOWN_COLUMN, At::row(path, 1), text)
        .help(help)
        .also_if(span, "named here")
}

reports! {
    /// An error: new rows do not have the column of an output, although other outputs depend on this output.
    fn absent_output(path: &Path, name: &str)
        let name = shown(name);
        = data(codes::UNKNOWN_COLUMN, At::row(path, 1), "the column `{name}` is missing")
        .note("`{name}` is an output of the model, and other outputs depend on its values")
        .help("give the new rows a column `{name}` with known values");

    /// An error: a column has text where the program needs numbers.
    fn text_column(path: &Path, name: &str, span: Option<Span>)
        = data(codes::TEXT_COLUMN, path, "expected numbers in column `{}`, found text", shown(name))
        .help("leave it out of `inputs`, or declare an input of this name in the model, with the type `index(k)`")
        .also_if(span, "named here");

    /// An error: the program uses an array where it needs a column.
    fn not_a_column(path: &Path, name: &str, why: &str, span: Option<Span>)
        = data(codes::NOT_A_COLUMN, path, "`{}` cannot be used as a column: {why}", shown(name))
        .help("expressions need columns with one number per example")
        .also_if(span, "named here");

    /// An error: an array that all rows share cannot be used as a column.
    fn shared_by_rows(path: &Path, name: &str, why: &str, span: Option<Span>)
        let shown = shown(name);
        = data(codes::NOT_A_COLUMN, path, "`{shown}` cannot be used as a column: {why}")
        .help("expressions need columns with one number per example")
        .help("leave `{shown}` out here: all rows share it, and a model reads it with `{shown}: real[n]`")
        .help("or write it to a file of its own, `shared = json(\"shared.json\")`, and declare it in the first of two parameter lists: `({shown}: real[n])(..)`")
        .also_if(span, "named here");

    /// An error: a column expression has an unknown function or a wrong number of arguments.
    fn bad_function(path: &Path, message: String, span: Span)
        = data(codes::BAD_FUNCTION, path, "{message}")
        .help("the functions of columns are log, exp, sqrt, abs, zscore, neg, add, sub, mul, div, pow and eq")
        .also(span, "named here");

    /// An error: a target expression calls `zscore`. This would scale the target by its own mean and
    /// standard deviation.
    fn scored_target(path: &Path, span: Span)
        = data(codes::BAD_FUNCTION, path, "a target cannot use `zscore`")
        .help("write `standardise = [target]`: predictions are then in the units of the file")
        .also(span, "named here");

    /// An error: a function is evaluated outside its domain.
    fn domain(at: At<'_>, call: &str, span: Span)
        = data(codes::DOMAIN, at, "`{call}` is not a finite number")
        .help("change the expression or drop the row")
        .also(span, "computed here");

    /// An error: a split file does not have the expected form.
    fn bad_split_file(path: &Path, detail: &str)
        = data(codes::BAD_SPLITS, path, "not a valid split file: {}", shown_long(detail))
        .help("expected {{\"kind\", \"n_rows\", \"index_base\", \"n_splits\", \"test\": [[..], ..]}}");

    /// An error: a split file was made for another table.
    fn split_rows(path: &Path, expected: usize, actual: usize)
        = data(codes::BAD_SPLITS, path, "expected splits of {expected} rows, found splits of {actual}")
        .help("use the split file that belongs to the data file");

    /// An error: the split file does not have the requested split.
    fn no_such_split(path: &Path, wanted: usize, count: usize)
        = data(codes::NO_SUCH_SPLIT, path, "expected a split below {count}, found {wanted}")
        .help("splits are numbered from 0");

    /// An error: a row index is outside the table, or occurs twice.
    fn split_index(path: &Path, split: usize, message: &str)
        = data(codes::BAD_SPLITS, path, "split {split}: {message}")
        .help("every test row must exist and occur once");

    /// An error: a numeric option is outside its permitted range.
    fn bad_option(path: &Path, option: &str, expected: &str, actual: f64)
        = data(codes::BAD_OPTION, path, "expected `{option}` {expected}, found {actual}")
        .help("change `{option}` in the data item");

    /// An error: the program rotates, shuffles or corrupts images, but the inputs are not images.
    fn no_images(path: &Path, axes: &[usize])
        = data(codes::NO_IMAGES, path, "only images can be rotated, shuffled or corrupted, but the inputs have the shape {axes:?}")
        .help("the input file needs two or more axes for each example, and `inputs` must not select a part of them");

    /// An error: the program corrupts images, but they are neither grey nor RGB.
    fn other_channels(path: &Path, axes: &[usize])
        = data(codes::NO_IMAGES, path, "`shifts` needs images with one channel or three, but the inputs have the shape {axes:?}")
        .help("leave out `shifts`, or use grey images or images with red, green and blue");

    /// An error: the program corrupts images, but a pixel of the test rows has another range.
    fn not_pixels(path: &Path, value: f64)
        = data(codes::NO_IMAGES, path, "`shifts` needs pixels from 0 to 1 or from 0 to 255, but a test image has the value {}", rounded(value, 4))
        .help("store the pixels as they are, and standardise them with `normalise = channels` in the data item");

    /// An error: the data item normalises the channels of inputs that are not images.
    fn no_channels(path: &Path, axes: &[usize])
        let found = match axes {
            [] => "columns".to_owned(),
            [numbers] => format!("{numbers} numbers in each row"),
            _ => format!("arrays of shape {axes:?}"),
        };
        = data(codes::NO_IMAGES, path, "only the channels of images can be normalised, but the inputs are {found}")
        .help("the input file needs two or more axes for each example; write `standardise = inputs` for columns");

    /// An error: the squares that should be shuffled are so large that an image contains fewer than two of them.
    fn large_squares(path: &Path, side: usize, axes: &[usize])
        = data(codes::BAD_OPTION, path, "images of the shape {axes:?} hold fewer than two squares with a side of {side} pixels")
        .help("use smaller squares in the option `shuffled`");

    /// An error: a split does not have training rows, or does not have test rows.
    fn too_few_rows(path: &Path, kind: &str, rows: usize)
        = data(codes::TOO_FEW_ROWS, path, "the table has {rows} rows, and no {kind} rows are left")
        .help("change `test`, `validation` or `limit` in the data item");

    /// An error: a level does not occur in the training rows.
    fn unseen_level(at: At<'_>, name: &str, level: &str, kind: &str, limit: Option<usize>)
        let of_limit = limit.map(|limit| format!("the training rows are the first {limit} rows: raise `limit`, or shuffle the rows"));
        = data(codes::UNSEEN_LEVEL, at, "the level `{}` occurs in the {kind} rows but not in the training rows",
            shown(level))
        .label("column `{name}`")
        .help(match kind {
            "new" => "leave the row out, or draw the parameters of new levels from their prior: `--new-levels prior`",
            _ => "choose other test rows, or merge rare levels",
        })
        .help_if(of_limit);

    /// An error: a position that was computed from columns is outside its axis.
    fn selected(at: At<'_>, columns: &[&str], position: f64, size: usize)
        = data(codes::OUTSIDE, at, "{}", gives(columns, position, size))
        .help("positions count from 0");

    /// An error: a position that was computed from parameters is outside its axis. `at` is the row, if
    /// the position depends on a row.
    fn reached(at: Option<At<'_>>, names: &[&str], position: f64, size: usize)
        let at = at.map_or(Place::Nowhere, Place::from);
        = program_at(codes::REACHED, at, "{}", gives(names, position, size))
        .help("positions count from 0 and must stay inside the axis for every value of the parameters");

    /// An error: in one training step, a position was outside its axis. The parameters that the
    /// training returns give positions inside the axis.
    fn reached_in_step(infer: &str, names: &[&str], step: u64, size: usize)
        = of_program(codes::REACHED, "{} gave a position outside an axis of size {size} in step {step} of `{infer}`",
            columns(names))
        .help("positions count from 0 and must stay inside the axis for every value of the parameters");
}

fn gives(names: &[&str], position: f64, size: usize) -> String {
    let what = match names {
        [] => "a counter".to_owned(),
        _ => columns(names),
    };
    format!("{what} gives the position {position}, which is outside an axis of size {size}")
}

fn columns(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{}`", shown(name)));
    names.collect::<Vec<_>>().join(" with ")
}

reports! {
    /// An error: a position is outside its axis.
    fn outside(at: At<'_>, name: &str, value: i64, size: usize)
        = data(codes::OUTSIDE, at, "`{}` holds {value}, which is outside an axis of size {size}", shown(name))
        .help("positions count from 0");

    /// An error: the program requests standardisation of a class target.
    fn standardised_class(path: &Path, name: &str, span: Span)
        = data(codes::STANDARDISED_CLASS, path, "the target `{}` holds classes and cannot be standardised",
            shown(name))
        .help("write `standardise = [inputs]`")
        .also(span, "standardised here");

    /// An error: an integer is too large for an index.
    fn large_integer(at: At<'_>, name: &str, value: i64)
        = data(codes::LARGE_INTEGER, at, "expected an integer of at most {LARGEST_INTEGER} in `{}`, found {value}",
            shown(name))
        .help("declare the input as `real`, or subtract a constant from the column in the file");

    /// An error: a number is not an integer, although an index or a count is needed.
    fn not_an_integer(at: At<'_>, name: &str, value: f64)
        = data(codes::LARGE_INTEGER, at, "expected an integer in `{}`, found {value}", shown(name))
        .help("counts, classes and indices are whole numbers");

    /// A warning: some columns are constant over the training rows.
    fn constant_columns(path: &Path, names: &[String])
        let listed = first_quoted(names.iter().map(|name| shown(name)), 5);
        = data(codes::CONSTANT_COLUMN, path, "columns that are constant over the training rows are centred but not scaled: {listed}")
        .help("leave constant columns out of `inputs`: the model sees only zeros in them")
        .as_warning();

    /// An error: a data item does not name any files.
    fn no_files(name: &str)
        = data(codes::FILE_COUNT, Path::new(""), "the data item `{name}` names no file")
        .help("name at least one file");
}

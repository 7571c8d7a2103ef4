//! Diagnostics about data: leaks, copied rows, and columns that do not contain measurements.

use bnnc_base::quoted::{first_quoted, quoted};
use bnnc_base::{codes, reports};

codes! {
    pub(super) NOTHING_TO_LEARN = "E0554", "a target without variation":
        "All training rows have the same target, or some classes of the output never occur in the training rows. From such rows, the model cannot \
         learn what distinguishes one value of the output from another. Predictions of values that do not occur come from the prior alone.\n\n\
         Wrong: `-> y: index(5)` where `y` is 0, 1 or 2 in all training rows, or a file that was filtered to one class.\n\nRight: declare only \
         the classes that occur, with `-> y: index(3)`, or add training rows of the missing classes.";

    pub(super) LEAK = "E0555", "an input that determines the target":
        "bnnc reports three relations. First, one input (or its logarithm) is an exact linear function of the target (or its logarithm) \
         in all training rows. Second, the target is a linear function of inputs, except for rounding errors of at most 0.1 % of \
         the target's standard deviation. Third, the levels of an input correspond one to one to the classes, \
         with at least 10 rows for each class: the input is a code of the class. Such a column is usually the \
         target itself, the target in other units, or a value that was computed from the \
         target. A model with this input learns only this relation. It cannot predict the target of a row in which this column is not \
         known yet.\n\n\
         Wrong: `inputs = [celsius, fahrenheit], target = celsius`.\n\n\
         Right: `inputs` without the columns that are made from the target.";

    pub(super) REPEATED_ROWS = "E0556", "test rows that are training rows":
        "At least a tenth of the test rows occur in the training rows with the same inputs and the same target, although chance does not explain this: an input or the target is continuous, \
         or the inputs are images or arrays of more than 500 numbers. Metrics of the test rows then measure how well the model has memorised the training rows.\n\n\
         Wrong: `csv(\"all.csv\") { test = csv(\"all.csv\") }`; rows that were copied before the split.\n\nRight: one copy of every row, and test rows of their own: `test = fraction(0.2)`.";

    pub(super) EXTRAPOLATION = "E0557", "rows outside the range of the training rows":
        "An input is far outside the range of the training rows: it exceeds the range by more than half the width of that range. This is the case \
         in at least a fifth of the test rows, or in a new row of `bnnc predict`. Predictions there are extrapolations: they depend on the form of \
         the model and on its prior. Often, the two sets of rows give the column in different units.\n\n\
         Wrong: heights in centimetres in the training file and in metres in the test file.\n\n\
         Right: the same units in both, or training rows that cover the range to be predicted.";

    pub(super) ORDERED_ROWS = "E0558", "a random split of ordered rows":
        "An input rises or falls by the same step from each row of the file to the next: it is a time or a row number. A random split puts \
         test rows between training rows, so a model can predict them by interpolation. The metrics then do not measure how well the model predicts \
         the future. A row number is not a property of an example and should not be an input.\n\nWrong: `test = fraction(0.2)` with an input \
         `month` that counts the rows.\n\n Right: write the last rows to a test file, `test = csv(\"last.csv\")`, or, for a row number, leave the \
         column out of `inputs = [..]`.";

    pub(super) MISSING_AS_NUMBER = "E0559", "a number or a level that stands for a missing value":
        "A column holds -99, -999, 999 or the like in several rows, far away from all its other values. Many tables mark missing values \
         by such a number. If such a number is used as a measurement, it dominates every mean and slope. In a column of text, marks \
         such as `?` and `NA` become levels, each with its own parameters.\n\n\
         Wrong: an age of -999.\n\n\
         Right: leave these rows out of the file, or fill them with a value and add a column that marks them.";

    pub(super) UNTRAINED_LEVEL = "E0575", "a level without training rows":
        "A test row selects an element that no training row selects. The element has parameters, because the program fixes the size of the axis, \
         but the posterior of these parameters equals their prior.\n\nWrong: `month: index(12)` where the training rows are from January to June, \
         and the test rows are from July.\n\nRight: training rows of every level that is tested.";

    pub(super) UNORDERED_SERIES = "E0583", "a series that is not in time order":
        "If the elements of an output depend on each other, the model uses the rows of the file as a series, in the order of the file. Here one of \
         the columns that are not inputs contains dates or the values of a regular grid. Each value \
         occurs once, but the values are not in order: the rows were shuffled, and the model sees a different \
         series.\n\n\
         Wrong: `y[t] ~ Normal(b * y[t - 1], s)` and a file whose months are 7, 2, 11, ..\n\n\
         Right: the same file, sorted by month.";

    pub(super) DATES = "E0588", "dates as numbers":
        "A column holds dates that are written as whole numbers of year, month and day, such as 20240131. Differences of these numbers are not \
         times: 20240131 and 20240201 are one day apart, but the numbers differ by 70.\n\nWrong: a column `date` of 20240131, 20240201, ..\n\n\
         Right: days since a first day, or separate columns for the year and the day of the year.";

    pub(super) SAME_LEVELS = "E0589", "levels that differ only in upper and lower case":
        "A column of text has levels that differ only in upper and lower case. Each level is a separate group or class, with separate \
         parameters.\n\n\
         Wrong: `yes`, `Yes` and `no` in a column with two possible answers.\n\nRight: `yes` and `no`.";

    pub(super) TWO_VALUES = "E0641", "a real output with two values":
        "An output that the model declares `real` has only two values in the training rows. A normal likelihood predicts values between and beyond them, so its \
         intervals and densities are meaningless.\n\nWrong: `-> bought: real` where `bought` is 0 or 1.\n\nRight: `-> bought: bool` and `bought ~ Bernoulli(..)`.";

    pub(super) REDUNDANT = "E0642", "collinear inputs":
        "The model adds up columns that are multiplied by coefficients, and some of these columns are collinear. Two columns are reported if a linear function of \
         one explains more than 99.99 % of the variance of the other: one is a copy of the other, or the same quantity in another unit. \
         Several columns are reported if they add up exactly to a constant or to zero, as the indicators of all levels do. An input \
         that is the same in all rows is a multiple of the intercept. The data do not identify the coefficients of such columns: only \
         the priors determine how the columns share the effect, and samplers are slow. bnnc compares only columns whose coefficients \
         enter the model linearly. `a * metres` beside `exp(b * feet)` is not reported, because the data identify both coefficients. \
         Products such as `d1 * x` and `d2 * x` with the indicators `d1` and `d2` of two groups are not reported \
         either if the model does not contain `x` itself.\n\n\
         Wrong: `inputs = [metres, feet]`, or a column of ones in `a + dot(w, x)`.\n\n\
         Right: use only one of them: `dot(w, x)` with the column of ones, or `a + dot(w, x)` without it.";

    pub(super) IDENTIFIER = "E0643", "a row number as an input":
        "The values of an input are consecutive whole numbers, one for each row, but not in order: they are row numbers, or times of rows that were shuffled. A \
         row number is not a property of an example. If the values are times, the shuffled test rows lie between training rows that are close in time, \
         so that a model can predict them by interpolation.\n\nWrong: `inputs = [id, age]`.\n\nRight: `inputs = [age]`. If the column is a time, sort the rows by \
         it, and test on the last rows.";

    pub(super) REPEATED_TRAINING_ROWS = "E0644", "training rows that repeat":
        "At least a third of the training rows repeat an earlier row, inputs and target, and chance does not explain this, as it does for rounded or capped targets of a design with replicates; or at least a tenth of the \
         rows of images or arrays of more than 500 numbers do. Copies are not new observations: \
         standard deviations come out too small, by the square root of the number of copies.\n\n\
         Wrong: a table that was appended to itself, a join that repeats rows, or the same images in two shards.\n\nRight: every row once.";

    pub(super) CUT_OFF = "E0648", "a target that seems to be censored":
        "At least five training rows, and at least one in thirty, have exactly the smallest (or exactly the largest) value of the target, although \
         the other values of the target hardly ever occur twice. One cause is censoring: for example, an instrument cannot measure beyond the end \
         of its scale, incomes are reported only up to a limit, or a study ended. Another cause is that zeros and other values arise for \
         different reasons. A normal likelihood treats these values as exact measurements.\n\n\
         Wrong: `y ~ Normal(f, sigma)` for prices that are reported as at most 50.\n\n\
         Right: `dist Censored(loc: real, scale: positive) on real { log_density(x) = if x >= 50 { Normal(loc, \
         scale).log_survival(50) } else { Normal(loc, scale).log_density(x) } }`, or an input that marks these rows.";

    pub(super) SORTED_ROWS = "E0649", "the first rows of a sorted file":
        "`limit` trains on the first rows of a file. If the file is sorted by the target, these rows have only the smallest or largest values of the target, \
         and the model never sees the other values.\n\nWrong: `limit = 100` in a file that is sorted by price.\n\nRight: a file whose rows are in random order.";

    pub(super) OUT_OF_REACH = "E0655", "targets outside the range of an output's mean":
        "The last function of the model bounds the mean of an output, but at least a fifth of the training rows have targets beyond this \
         bound. The distance from the bound is larger than the noise of rows with similar inputs. The model cannot fit these rows with any \
         parameters, and the \
         estimated noise includes the misfit.\n\n\
         Wrong: `y ~ Normal(tanh(out(h)[0]), sigma)` for targets from 20 to 80, or `relu(..)` for standardised targets, of which half are negative.\n\n\
         Right: `y ~ Normal(out(h)[0], sigma)`: a regression ends in a linear layer. With `standardise = [inputs]`, positive targets stay positive, and \
         `softplus(..)` or `exp(..)` fits them.";
}

/// A column that is multiplied by a coefficient. The column is an input, or an expression of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnTerm {
    /// The expression, as it is written in the program.
    pub text: String,
    /// True if the column is an input and not an expression.
    pub is_input: bool,
}

reports! {
    /// Returns the warning that a target is the same in all training rows.
    fn constant_target(output: &str, value: f64, rows: usize)
        = data_warning(NOTHING_TO_LEARN, "`{output}` is {value} in all {rows} training rows")
        .help("check that this is the right column, and that the file has all rows");

    /// Returns the warning that some classes do not occur in the training rows.
    fn absent_classes(output: &str, found: usize, classes: usize)
        = data_warning(NOTHING_TO_LEARN, "only {found} of the {classes} classes of `{output}` occur in the training rows")
        .note("the probabilities of the other classes come from the prior alone")
        .help("declare only the classes that occur, `index({found})`, or add rows of the other classes");

    /// Returns the warning that all rows have the same class.
    fn one_class(output: &str, class: &str)
        = data_warning(NOTHING_TO_LEARN, "all rows have the class `{class}` of `{output}`")
        .help("check that this is the right column, and that the data have all classes");

    /// Returns the warning that some classes do not occur in the training rows.
    fn absent_levels(output: &str, absent: &[&str], limit: Option<usize>)
        let listed = first_quoted(absent, 3);
        let help = match limit {
            Some(limit) => format!("the training rows are the first {limit} rows: raise `limit`, or shuffle the rows"),
            None => "choose other test rows, so that every class occurs in the training rows".to_owned(),
        };
        = data_warning(NOTHING_TO_LEARN, "these classes of `{output}` do not occur in the training rows: {listed}")
        .note("their probabilities come from the prior alone")
        .help("{help}");

    /// Returns the warning that inputs determine the target.
    fn leak(columns: &[&str], output: &str, relation: &str)
        let listed = quoted(columns);
        let what = match columns {
            [_] => format!("the input {listed} determines"),
            _ => format!("the inputs {listed} determine"),
        };
        = data_warning(LEAK, "{what} `{output}`: {relation}")
        .help(match columns {
            [_] => format!("leave it out: `inputs = [..]` without {listed}"),
            _ => format!("leave out the inputs that are computed from `{output}`: `inputs = [..]` without them"),
        });

    /// Returns the warning that test rows are also training rows.
    fn repeated_rows(repeated: usize, test: usize, example: &str)
        = data_warning(REPEATED_ROWS, "{repeated} of {test} test rows are also training rows")
        .note("for instance {example}")
        .help("remove the copies before you split the rows");

    /// Returns the warning that test rows or new rows are outside the range of the training rows. The warning shows the
    /// number of these rows, the number of all rows, and the two ranges.
    fn extrapolation(column: &str, outside: usize, all: usize, ranges: [(f64, f64); 2], kind: &str)
        let [train, of_rows] = ranges.map(|(low, high)| format!("{low:.4} to {high:.4}"));
        = data_warning(EXTRAPOLATION, "`{column}` is far outside its training range in {outside} of {all} {kind} rows")
        .note("training rows: {train}, {kind} rows: {of_rows}")
        .help("use the same units in both, or add training rows that cover the range of the {kind} rows");

    /// Returns the warning that test rows are chosen at random although the rows are ordered by a column.
    fn ordered_rows(column: &str)
        = data_warning(ORDERED_ROWS, "the rows are in the order of `{column}`, but the test rows are chosen at random")
        .help("if it is a time, test on the last rows, in a separate file: `test = csv(\"last.csv\")`")
        .help("if it is a row number, leave it out: `inputs = [..]` without `{column}`");

    /// Returns the warning that a level occurs in test rows but not in training rows.
    fn untrained_level(column: &str, level: i32, rows: usize)
        = data_warning(UNTRAINED_LEVEL, "`{column}` is {level} in {rows} test rows and in no training row")
        .note("the posterior of the parameters of this level is their prior")
        .help("choose test rows whose levels also occur in training rows");

    /// Returns the warning that a number in a column probably stands for missing values.
    fn missing_as_number(column: &str, value: f64, rows: usize)
        = data_warning(MISSING_AS_NUMBER, "`{column}` is {value} in {rows} rows, far from its other values")
        .note("it looks like a code for a missing value")
        .help("leave these rows out, or fill in another value and add a 0/1 column that marks these rows");

    /// Returns the warning that a level of a column probably marks missing values.
    fn missing_as_level(column: &str, level: &str)
        = data_warning(MISSING_AS_NUMBER, "the level `{level}` of `{column}` looks like a mark for missing values, but is treated like any other level")
        .help("leave the rows with this level out; if it is a real level and not a missing value, give it another name");

    /// Returns the warning that many rows have the smallest or the largest value of a target, which is a sign of
    /// censoring.
    fn cut_off(target: &str, end: f64, which: &str, rows: usize, all: usize)
        let beyond = if which == "least" { "log_cdf" } else { "log_survival" };
        = data_warning(CUT_OFF, "{rows} of {all} training rows have the {which} value of `{target}`, {end}")
        .note("values beyond it seem to have been recorded as this value (censored); a likelihood that treats them as exact measurements biases the estimates")
        .help("write a `dist` whose density at `y == {end}` is the probability of all values beyond it: `{beyond}`");

    /// Returns the warning that `limit` takes the first rows of a file that is sorted by the target.
    fn sorted_by_target(target: &str, limit: usize)
        = data_warning(SORTED_ROWS, "the {limit} training rows that `limit` selects are sorted by `{target}`")
        .note("the first rows of a file that is sorted by the target are not like its other rows")
        .help("shuffle the rows of the file before you use `limit`");

    /// Returns the warning that the rows of a series are not in the order of a time column.
    fn unordered_series(output: &str, time: &str)
        = data_warning(UNORDERED_SERIES, "`{output}` is a series, but the rows are not in the order of `{time}`")
        .help("sort the file by `{time}`");

    /// Returns the warning that a column holds dates that are written as whole numbers.
    fn dates(column: &str, example: f64)
        = data_warning(DATES, "`{column}` holds dates as numbers, such as {example}")
        .help("convert the dates to the number of days since the first date");

    /// Returns the warning that two levels of a column differ only in case.
    fn same_levels(column: &str, first: &str, second: &str)
        = data_warning(SAME_LEVELS, "the levels `{first}` and `{second}` of `{column}` differ only in upper and lower case")
        .help("if both mean the same level, spell them alike in the file");

    /// Returns the warning that a real output has only two values.
    fn two_values(output: &str, low: f64, high: f64)
        = data_warning(TWO_VALUES, "`{output}` is declared `real`, but is {low} or {high} in all training rows")
        .help("declare `{output}: bool`, with the values 0 and 1, and `{output} ~ Bernoulli(..)`");

    /// Returns the warning that one of two columns determines the other. `rest` is the fraction of the variance that remains
    /// unexplained.
    fn redundant(first: &ColumnTerm, second: &ColumnTerm, rest: f64)
        let kind = kind([first, second]);
        let nearly = if rest < 1e-9 { "" } else { "nearly " };
        let [first, second] = [&first.text, &second.text];
        = data_warning(REDUNDANT, "the {kind} `{first}` and `{second}` are {nearly}linear functions of each other")
        .note("the data do not identify their coefficients")
        .help(match kind {
            "inputs" => format!("leave one out: `inputs = [..]` without `{second}`"),
            _ => format!("leave one out of the sum: `{second}`"),
        });
}

/// Returns a noun for some columns: "inputs" if all of them are inputs, and "terms" otherwise.
fn kind<'a>(terms: impl IntoIterator<Item = &'a ColumnTerm>) -> &'static str {
    match terms.into_iter().all(|term| term.is_input) {
        true => "inputs",
        false => "terms",
    }
}

reports! {
    /// Returns the warning that an input is the same in all rows of a model with an intercept.
    fn constant_input(column: &str, value: f64, intercept: &str)
        = data_warning(REDUNDANT, "the input `{column}` is {value} in all training rows, so it duplicates the intercept `{intercept}`")
        .note("the data do not identify their coefficients")
        .help("leave one out: `inputs = [..]` without `{column}`");

    /// Returns the warning that one of several columns is a linear combination of the others, and of the intercept if the
    /// model has one.
    fn combined_inputs(terms: &[ColumnTerm], intercept: Option<&str>)
        let kind = kind(terms);
        let listed = quoted(terms.iter().map(|term| &term.text));
        let constant = match intercept {
            Some(intercept) => format!("is the same in all training rows, so it duplicates the intercept `{intercept}`"),
            None => "is zero in all training rows".to_owned(),
        };
        let last = terms.last().map_or("", |term| &*term.text);
        let without = match kind {
            "inputs" => format!("leave out one of them (`inputs = [..]` without `{last}`)"),
            _ => format!("leave out one of these terms, such as `{last}`"),
        };
        let other = intercept.map_or("", |_| " or the intercept");
        = data_warning(REDUNDANT, "a linear combination of the {kind} {listed} {constant}")
        .note("the data do not identify their coefficients: only the priors do")
        .help("{without}{other}; if the columns indicate the levels of one factor, replace them by a single input, `g: index(k)`");

    /// Returns the warning that many targets are outside the range that the mean of the output can have.
    fn out_of_reach(output: &str, beyond: usize, rows: usize, reach: [f64; 2], is_standardised: bool)
        let [low, high] = reach.map(|end| {
            let end = format!("{end:.4}");
            end.trim_end_matches('0').trim_end_matches('.').to_owned()
        });
        let bounds = match reach.map(f64::is_finite) {
            [true, true] => format!("between {low} and {high}"),
            [true, false] => format!("above {low}"),
            [false, _] => format!("below {high}"),
        };
        = data_warning(OUT_OF_REACH, "the mean of `{output}` is always {bounds}, but the targets of {beyond} of {rows} training rows are not")
        .note("the model cannot fit these rows, and noise does not explain the difference")
        .help_if(is_standardised.then_some("write `standardise = [inputs]`: about half of the values of a standardised target are negative"))
        .help("leave out the function that bounds the mean, such as `tanh`, `sigmoid`, `relu` or `^ 2` after the last layer");

    /// Returns the warning that the values of an input are row numbers.
    fn identifier(column: &str, rows: usize)
        = data_warning(IDENTIFIER, "the input `{column}` holds {rows} consecutive integers, one for each row, but not in order")
        .help("leave it out: `inputs = [..]` without `{column}`")
        .help("if it is a time, sort the rows by it and test on the last rows");

    /// Returns the warning that training rows repeat earlier rows. `example` is the place of one of them.
    fn repeated_training_rows(repeated: usize, rows: usize, example: Option<&str>)
        = data_warning(REPEATED_TRAINING_ROWS, "{repeated} of {rows} training rows repeat an earlier row")
        .notes(example.map(|example| format!("for instance {example}")))
        .note("copies are not new observations: standard deviations come out too small")
        .help("remove the copies");
}

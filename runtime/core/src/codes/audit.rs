//! Diagnostics of data and settings that do not support the conclusions that a run would suggest.

use super::error;
use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Severity};
use bnnc_base::number::{exact, rounded};

pub(super) static NOTHING_TO_LEARN: Code = Code {
    id: "E0554",
    title: "a target without variation",
    explain: "The training rows have the same target everywhere, or some classes of the output never occur in them. The data say nothing about what \
              tells these values apart, and predictions for them come from the prior alone.\n\nWrong: `-> y: index(5)` where `y` is 0, 1 or 2 in all \
              training rows; a file that was filtered to one class.\n\nRight: `-> y: index(3)`; rows of every class in the training rows.",
};

pub(super) static UNTRAINED_LEVEL: Code = Code {
    id: "E0575",
    title: "a level without training rows",
    explain: "A test row selects an element of an axis whose size the program fixes, and no training row selects it. The parameters of this element are known from their \
              prior alone.\n\nWrong: `month: index(12)` where the training rows are of January to June and the test rows of July.\n\nRight: training rows of every \
              level that is tested.",
};

pub(super) static LEAK: Code = Code {
    id: "E0555",
    title: "an input that determines the target",
    explain: "One input, or its logarithm, is an exact linear function of the target (or of its logarithm) in every training row, or the target is a \
              linear function of inputs up to 0.1 % of its standard deviation, as rounding leaves. Or each level of an input goes with one class of \
              at least 10 rows, and each class with one level: a code of the class. Such a column is \
              usually the target itself, the target in other units, or something computed from it later. A model that is given it learns nothing \
              else, and has nothing to say where the column is not known yet.\n\nWrong: `inputs = [celsius, fahrenheit], target = celsius`.\n\nRight: \
              `inputs` without the columns that are made from the target.",
};

pub(super) static REPEATED_ROWS: Code = Code {
    id: "E0556",
    title: "test rows that are training rows",
    explain: "At least a tenth of the test rows occur in the training rows with the same inputs and the same target, although these are continuous. \
              Metrics of the test rows then measure how well the training rows are remembered.\n\nWrong: `csv(\"all.csv\") { test = csv(\"all.csv\") }`; \
              rows that were copied before the split.\n\nRight: one copy of every row, and test rows of their own: `test = fraction(0.2)`.",
};

pub(super) static EXTRAPOLATION: Code = Code {
    id: "E0557",
    title: "rows outside the range of the training rows",
    explain: "In at least a fifth of the test rows, or in a row that `bnnc predict` predicts for, an input lies further beyond the values of the training rows than half their range. Predictions there \
              are extrapolations, which depend on the form of the model and on its prior; often the column is in another unit.\n\nWrong: heights in \
              centimetres in the training file and in metres in the test file.\n\nRight: the same units in both, or training rows that \
              cover what is to be predicted.",
};

pub(super) static ORDERED_ROWS: Code = Code {
    id: "E0558",
    title: "a random split of ordered rows",
    explain: "An input rises or falls by the same step from each row of the file to the next: a time, or the number of the row. A random split \
              puts test rows between training rows, where interpolation predicts them; of the future it says nothing. A number of the row is \
              no property of an example and should not be an input.\n\nWrong: `test = fraction(0.2)` with an input `month` that counts the rows.\n\nRight: \
              the last rows as a test file, `test = csv(\"last.csv\")`; `inputs = [..]` without the number of the row.",
};

pub(super) static MISSING_AS_NUMBER: Code = Code {
    id: "E0559",
    title: "a number or a level that stands for a missing value",
    explain: "A column holds -99, -999, 999 or the like in several rows, far away from all its other values. Many tables write a missing value so; \
              taken as a measurement it dominates every mean and slope. In a column of text, marks such as `?` and `NA` become a level like any \
              other, with parameters of its own.\n\nWrong: an age of -999.\n\nRight: leave these rows out of the file, or \
              fill them with a value and add a column that marks them.",
};

pub(super) static ONE_CHAIN: Code = Code {
    id: "E0580",
    title: "a single chain",
    explain: "Convergence is judged by comparing chains that started in different places. One chain is compared with itself, half against half: a chain \
              that stays at one mode of several looks converged.\n\nWrong: `nuts(Model, data) { chains = 1 }`.\n\nRight: `chains = 4`.",
};

pub(super) static ONE_START: Code = Code {
    id: "E0651",
    title: "chains that start at one point",
    explain: "R-hat shows that chains disagree, and they can only disagree about what they have seen. Chains that all start at the same point, such as the maximum \
              that `map` found, stay together where the posterior has another mode or a part that is hard to reach from there: R-hat is 1 and a part of the posterior is \
              missing. Starts that lie further apart than the posterior is wide show it (Gelman and Rubin 1992). `start` alone starts every chain at that \
              point, and so does `jitter = 0`; `jitter` moves each by up to its value, on the unconstrained scale. One that is below a thousandth of every posterior standard \
              deviation does not move them apart.\n\nWrong: `nuts(Model, data) { start = best }`.\n\nRight: `nuts(Model, data) { start = \
              best, jitter = 0.5 }`, or no `start`, which is `jitter = 2` around zero.",
};

pub(super) static FEW_PREDICTIVE_DRAWS: Code = Code {
    id: "E0581",
    title: "too few draws for the quantiles",
    explain: "The 5 % and 95 % quantiles of predictions, and the coverage and CRPS that follow from them, are those of `predictive_draws` draws. Of \
              fewer than 20 draws the outermost quantiles are the smallest and the largest draw, and a central interval of 90 % holds less than \
              that.\n\nWrong: `predictive_draws = 10`.\n\nRight: `predictive_draws = 100` or more.",
};

pub(super) static ONE_MEMBER: Code = Code {
    id: "E0584",
    title: "an ensemble of one member",
    explain: "The spread of the members is what an ensemble knows about its uncertainty. One member has none: its predictions are those of \
              `map`.\n\nWrong: `ensemble(Model, data) { members = 1 }`.\n\nRight: `members = 5`.",
};

pub(super) static NO_STAN_CSV: Code = Code {
    id: "E0585",
    title: "draws that are not written as Stan CSV",
    explain: "`--out DIR` writes the draws of each chain as `stan/INFER_CHAIN.csv`, with one column per element of each parameter, but not above \
              16,384 elements: few tools read lines of that length. `posterior.zarr` in the same folder holds all draws.\n\nWrong: looking \
              for `stan/fit_1.csv` of a network with 79,510 weights.\n\nRight: `arviz` or `xarray` on `posterior.zarr`.",
};

pub(super) static UNORDERED_SERIES: Code = Code {
    id: "E0583",
    title: "a series that is not in the order of time",
    explain: "A model in which the elements of an output depend on each other takes the rows of the file in their order. Here a column that the model does \
              not read holds dates, or the values of a regular grid, once each and in no order: the rows were shuffled, and the model sees \
              another series.\n\nWrong: `y[t] ~ Normal(b * y[t - 1], s)` and a file whose months are 7, 2, 11, ..\n\nRight: the same file, sorted by month.",
};

pub(super) static DATES: Code = Code {
    id: "E0588",
    title: "dates as numbers",
    explain: "A column holds dates that are written as whole numbers, year, month and day: 20240131. As numbers they do not measure time: from 20240131 to \
              20240201 it is one day, and the numbers differ by 70.\n\nWrong: a column `date` of 20240131, 20240201, ..\n\nRight: days since a first \
              day, or year and day of the year in columns of their own.",
};

pub(super) static SAME_LEVELS: Code = Code {
    id: "E0589",
    title: "levels that differ in case alone",
    explain: "A column of text has levels that differ in upper and lower case only. Each level is a group or class of its own, with parameters of its \
              own.\n\nWrong: `yes`, `Yes` and `no` in a column of two answers.\n\nRight: `yes` and `no`.",
};

pub(super) static TWO_VALUES: Code = Code {
    id: "E0641",
    title: "a real output with two values",
    explain: "An output that the model declares `real` has two values only in all training rows. A normal likelihood predicts values between and beyond \
              them; its intervals and densities mean nothing.\n\nWrong: `-> bought: real` where `bought` is 0 or 1.\n\nRight: `-> bought: bool` and \
              `bought ~ Bernoulli(..)`.",
};

pub(super) static REDUNDANT: Code = Code {
    id: "E0642",
    title: "an input that others determine",
    explain: "The model adds parameters times columns, and the columns depend on each other: a linear function of one leaves less than 0.01 % of the variance of another (a copied \
              column, or the same in another unit), or several add up to a constant or to zero exactly, as the indicators of all levels do. An input that is the same in all rows is a \
              multiple of the intercept. The data do not tell the coefficients of such columns apart; how they share the effect is decided by the priors alone, and samplers \
              are slow. Columns are compared where the model is linear in their coefficients: `a * metres` beside `exp(b * feet)` is determined, and so are `d1 * x` and `d2 * x` without \
              `x`.\n\nWrong: `inputs = [metres, feet]`, or a column of ones in `a + dot(w, x)`.\n\nRight: one of \
              them; `dot(w, x)` with the column of ones, or `a + dot(w, x)` without it.",
};

pub(super) static IDENTIFIER: Code = Code {
    id: "E0643",
    title: "a number of the row as an input",
    explain: "An input holds each of as many consecutive whole numbers as there are rows, once, in no order: the number of a row, or a time whose rows were \
              shuffled. The number of a row is not a property of an example. Rows that were shuffled hide that neighbours in time are alike, \
              so that test rows are predicted by interpolation.\n\nWrong: `inputs = [id, age]`.\n\nRight: `inputs = [age]`; for a time, rows in its order, \
              and the last rows as the test rows.",
};

pub(super) static REPEATED_TRAINING_ROWS: Code = Code {
    id: "E0644",
    title: "training rows that repeat",
    explain: "At least a third of the training rows repeat an earlier row, inputs and target, although the target is continuous. Copies are no \
              new observations: standard deviations come out too small, by the square root of the number of copies.\n\nWrong: a table that was \
              appended to itself, or a join that repeats rows.\n\nRight: every row once.",
};

pub(super) static OUT_OF_REACH: Code = Code {
    id: "E0655",
    title: "targets that the mean of an output cannot reach",
    explain: "The last function of the model bounds the mean of an output, and at least a fifth of the training rows have targets beyond the bound, by more than \
              the noise that rows with like inputs show: no parameters fit them, and the noise is estimated as large as what is left.\n\nWrong: `y ~ \
              Normal(tanh(out(h)[0]), sigma)` for targets from 20 to 80, or `relu(..)` for standardised targets, of which half are \
              negative.\n\nRight: `y ~ Normal(out(h)[0], sigma)`: a regression ends in a linear layer. With `standardise = [inputs]`, positive targets stay \
              positive, and `softplus(..)` or `exp(..)` fits them.",
};

pub(super) static CUT_OFF: Code = Code {
    id: "E0648",
    title: "a target that is cut off",
    explain: "At least five training rows, and one in thirty, have the least or the largest value of a target whose other values hardly repeat: \
              an instrument that ends there, incomes that are reported up to a limit, a study that ended (censoring), or zeros of another \
              kind than the other values. A normal likelihood takes them as measured.\n\nWrong: `y ~ Normal(f, sigma)` for prices that are \
              reported as at most 50.\n\nRight: `dist Censored(loc: real, scale: positive) on real { log_density(x) = if x >= 50 { \
              Normal(loc, scale).log_survival(50) } else { Normal(loc, scale).log_density(x) } }`, or an input that marks these rows.",
};

pub(super) static SORTED_ROWS: Code = Code {
    id: "E0649",
    title: "the first rows of a sorted file",
    explain: "`limit` trains on the first rows of a file. Where the file is sorted by the target these have its least or largest values only: the model \
              never sees the others.\n\nWrong: `limit = 100` in a file that is sorted by price.\n\nRight: a file whose rows are in random order.",
};

/// A column that a coefficient multiplies: an input, or an expression of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnTerm {
    /// The expression as written in the language.
    pub text: String,
    /// True if the column is an input and not an expression.
    pub is_input: bool,
}

fn warn(code: &'static Code, text: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..error(code, Fault::Data, text)
    }
}

/// A target that is the same in all training rows.
pub fn constant_target(output: &str, value: f64, rows: usize) -> Diagnostic {
    let text = format!("`{output}` is {value} in all {rows} training rows");
    warn(&NOTHING_TO_LEARN, text).help("check the column and the rows that were chosen")
}

/// Classes that do not occur in the training rows.
pub fn absent_classes(output: &str, found: usize, classes: usize) -> Diagnostic {
    let text = format!("only {found} of the {classes} classes of `{output}` occur in the training rows");
    warn(&NOTHING_TO_LEARN, text)
        .note("the probabilities of the others come from the prior alone")
        .help(format!(
            "declare as many classes as there are, `index({found})`, or add rows of the others"
        ))
}

/// Inputs that determine the target.
pub fn leak(columns: &[&str], output: &str, relation: &str) -> Diagnostic {
    let quoted: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
    let listed = quoted.join(", ");
    let (what, advice) = match columns {
        [_] => (
            format!("the input {listed} determines"),
            format!("leave it out: `inputs = [..]` without {listed}"),
        ),
        _ => (
            format!("the inputs {listed} determine"),
            format!("leave out those that are computed from `{output}`: `inputs = [..]` without them"),
        ),
    };
    warn(&LEAK, format!("{what} `{output}`: {relation}")).help(advice)
}

/// Test rows that are also training rows.
pub fn repeated_rows(repeated: usize, test: usize, example: &str) -> Diagnostic {
    let text = format!("{repeated} of {test} test rows are training rows too");
    warn(&REPEATED_ROWS, text)
        .note(format!("for instance {example}"))
        .help("remove the copies before the rows are split")
}

/// Test or new rows outside the range of the training rows: the number of such rows and of all rows, and the two ranges.
pub fn extrapolation(
    column: &str,
    (outside, all): (usize, usize),
    ranges: [(f64, f64); 2],
    kind: &str,
) -> Diagnostic {
    let [train, of_rows] = ranges.map(|(low, high)| format!("{low:.4} to {high:.4}"));
    let text = format!("`{column}` is far outside its training range in {outside} of {all} {kind} rows");
    warn(&EXTRAPOLATION, text)
        .note(format!("training rows: {train}, {kind} rows: {of_rows}"))
        .help(format!(
            "use the same units in both, or training rows that cover the {kind} rows"
        ))
}

/// Test rows that are chosen at random, although the rows are in the order of a column.
pub fn ordered_rows(column: &str) -> Diagnostic {
    let text = format!("the rows are in the order of `{column}`, but the test rows are chosen at random");
    warn(&ORDERED_ROWS, text)
        .help("for a time, test on the last rows: `test = csv(..)` with a file of them")
        .help(format!(
            "for the number of a row, leave it out: `inputs = [..]` without `{column}`"
        ))
}

/// A level that test rows have, but no training row.
pub fn untrained_level(column: &str, level: i32, rows: usize) -> Diagnostic {
    let text = format!("`{column}` is {level} in {rows} test rows and in no training row");
    warn(&UNTRAINED_LEVEL, text)
        .note("its parameters are known from their prior alone")
        .help("choose test rows whose levels have training rows")
}

/// A code for a missing value among the values of a column.
pub fn missing_as_number(column: &str, value: f64, rows: usize) -> Diagnostic {
    let text = format!("`{column}` is {value} in {rows} rows, far from its other values");
    warn(&MISSING_AS_NUMBER, text)
        .note("it looks like a code for a missing value")
        .help("leave these rows out, or fill them and mark them by a column of their own")
}

/// A level that marks missing values.
pub fn missing_as_level(column: &str, level: &str) -> Diagnostic {
    let text = format!(
        "`{level}` is a level of `{column}` like any other, but it looks like a mark for missing values"
    );
    warn(&MISSING_AS_NUMBER, text).help("leave its rows out, or give the level a name if it is one")
}

/// A target that has its smallest or its largest value in many rows.
pub fn cut_off(target: &str, (end, which): (f64, &str), (rows, all): (usize, usize)) -> Diagnostic {
    let text = format!("{rows} of {all} training rows have the {which} value of `{target}`, {end}");
    let beyond = match which {
        "least" => "log_cdf",
        _ => "log_survival",
    };
    warn(&CUT_OFF, text)
        .note("values beyond seem to be cut off: a likelihood that takes them as measured is biased towards this end")
        .help(format!("give rows at the end the probability of everything beyond, `{beyond}`, in a `dist` with `if y == {end}`"))
}

/// A `limit` that takes the first rows of a file sorted by the target.
pub fn sorted_by_target(target: &str, limit: usize) -> Diagnostic {
    let text = format!("the {limit} training rows that `limit` leaves are sorted by `{target}`");
    warn(&SORTED_ROWS, text)
        .note("the first rows of a file that is sorted by the target are not like its other rows")
        .help("shuffle the file before rows are taken from its beginning")
}

/// A series whose rows are not in the order of a column of times.
pub fn unordered_series(output: &str, time: &str) -> Diagnostic {
    let text = format!("`{output}` is a series, but the rows are not in the order of `{time}`");
    warn(&UNORDERED_SERIES, text).help(format!("sort the file by `{time}`"))
}

/// A column that holds dates as whole numbers.
pub fn dates(column: &str, example: f64) -> Diagnostic {
    let text = format!("`{column}` holds dates as numbers, such as {example}");
    warn(&DATES, text).help("make it a time: days since the first day")
}

/// Two levels that differ in case.
pub fn same_levels(column: &str, first: &str, second: &str) -> Diagnostic {
    let text =
        format!("the levels `{first}` and `{second}` of `{column}` differ in upper and lower case only");
    warn(&SAME_LEVELS, text).help("write them alike in the file: they are taken for two levels")
}

/// A real output with two values.
pub fn two_values(output: &str, low: f64, high: f64) -> Diagnostic {
    let text = format!("`{output}` is declared `real`, but is {low} or {high} in all training rows");
    warn(&TWO_VALUES, text).help(format!(
        "declare `{output}: bool`, with the values 0 and 1, and `{output} ~ Bernoulli(..)`"
    ))
}

/// Two columns of which one determines the other; `rest` is the unexplained share of the variance.
pub fn redundant(first: &ColumnTerm, second: &ColumnTerm, rest: f64) -> Diagnostic {
    let kind = kind(&[first, second]);
    let nearly = if rest < 1e-9 { "" } else { "nearly " };
    let text = format!(
        "the {kind} `{}` and `{}` are {nearly}linear functions of each other",
        first.text, second.text
    );
    warn(&REDUNDANT, text)
        .note("the data do not identify their coefficients")
        .help(match kind {
            "inputs" => format!("leave one out: `inputs = [..]` without `{}`", second.text),
            _ => format!("leave one out of the sum: `{}`", second.text),
        })
}

/// The common name of some columns.
fn kind(terms: &[&ColumnTerm]) -> &'static str {
    match terms.iter().all(|term| term.is_input) {
        true => "inputs",
        false => "terms",
    }
}

/// An input that is the same in all rows, in a model with an intercept.
pub fn constant_input(column: &str, value: f64, intercept: &str) -> Diagnostic {
    let text =
        format!("the input `{column}` is {value} in all training rows, beside the intercept `{intercept}`");
    warn(&REDUNDANT, text)
        .note("the data do not identify their coefficients")
        .help(format!("leave one out: `inputs = [..]` without `{column}`"))
}

/// Columns of which one is a linear combination of the others, and of an intercept if there is one.
pub fn combined_inputs(terms: &[ColumnTerm], intercept: Option<&str>) -> Diagnostic {
    let kind = kind(&terms.iter().collect::<Vec<&ColumnTerm>>());
    let quoted: Vec<String> = terms.iter().map(|term| format!("`{}`", term.text)).collect();
    let sum = format!("a sum of multiples of the {kind} {}", quoted.join(", "));
    let text = match intercept {
        Some(intercept) => {
            format!("{sum} is the same in all training rows, beside the intercept `{intercept}`")
        }
        None => format!("{sum} is zero in all training rows"),
    };
    let last = terms.last().map_or("", |term| &*term.text);
    let without = match kind {
        "inputs" => format!("leave one out, `inputs = [..]` without `{last}`"),
        _ => format!("leave one out of the sum, `{last}`"),
    };
    let other = match intercept {
        Some(_) => ", or the intercept",
        None => "",
    };
    warn(&REDUNDANT, text)
        .note("the data do not tell their coefficients apart: the priors alone do")
        .help(format!(
            "{without}{other}; levels of one property are better one input, `g: index(k)`"
        ))
}

/// Targets beyond the bounds of an output's mean.
pub fn out_of_reach(
    output: &str,
    (beyond, rows): (usize, usize),
    (low, high): (f64, f64),
    is_standardised: bool,
) -> Diagnostic {
    let end = |value: f64| {
        format!("{:.4}", value)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    };
    let bounds = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("between {} and {}", end(low), end(high)),
        (true, false) => format!("above {}", end(low)),
        (false, _) => format!("below {}", end(high)),
    };
    let text = format!("the mean of `{output}` is {bounds}, but {beyond} of {rows} training rows are not");
    let mut diagnostic =
        warn(&OUT_OF_REACH, text).note("no parameters fit these rows, and noise does not explain them");
    if is_standardised {
        diagnostic = diagnostic.help(
            "write `standardise = [inputs]`: about half of the values of a standardised target are negative",
        );
    }
    diagnostic.help(
        "leave out the function that bounds the mean, such as `tanh`, `sigmoid`, `relu` or `^ 2` after the last layer",
    )
}

/// An input whose values number the rows.
pub fn identifier(column: &str, rows: usize) -> Diagnostic {
    let text = format!("the input `{column}` numbers the {rows} rows, in no order");
    warn(&IDENTIFIER, text)
        .help(format!("leave it out: `inputs = [..]` without `{column}`"))
        .help("for a time, sort the rows and test on the last ones")
}

/// Training rows that repeat earlier rows.
pub fn repeated_training_rows(repeated: usize, rows: usize) -> Diagnostic {
    let text = format!("{repeated} of {rows} training rows repeat an earlier row");
    warn(&REPEATED_TRAINING_ROWS, text)
        .note("copies are not new observations: standard deviations come out too small")
        .help("remove the copies")
}

/// A run with a single chain.
pub fn one_chain(infer: &str) -> Diagnostic {
    let text = format!("`{infer}` has one chain: convergence cannot be judged from it");
    warn(&ONE_CHAIN, text).help("run several: `chains = 4`")
}

/// Chains that start at the same point, `from` an earlier inference block or a file.
pub fn one_start(infer: &str, chains: usize, from: &str) -> Diagnostic {
    let text = format!(
        "the {chains} chains of `{infer}` start at one point, {from}: R-hat cannot show what none of them has reached"
    );
    warn(&ONE_START, text).help("start them apart: `jitter = 0.5`, or leave `start` and `jitter` out")
}

/// Chains whose starts are too close together for the width of the posterior: `jitter`, and the smallest posterior standard deviation on the
/// unconstrained scale.
pub fn close_starts(infer: &str, chains: usize, (jitter, sd): (f64, f64)) -> Diagnostic {
    let text = format!(
        "the {chains} chains of `{infer}` start within {} of one point, less than a thousandth of every posterior standard deviation (at least {}): \
         R-hat cannot show what none of them has reached",
        exact(jitter),
        rounded(sd, 3)
    );
    warn(&ONE_START, text).help("start them apart: `jitter = 0.5`")
}

/// Quantiles that are estimated from too few draws.
pub fn few_predictive_draws(infer: &str, draws: usize) -> Diagnostic {
    let text = format!("the 5 % and 95 % quantiles of `{infer}` are those of {draws} draws");
    warn(&FEW_PREDICTIVE_DRAWS, text).help("take more: `predictive_draws = 100`")
}

/// An ensemble without spread.
pub fn one_member(infer: &str) -> Diagnostic {
    let text = format!("`{infer}` is an ensemble of one member: its predictions have no spread");
    warn(&ONE_MEMBER, text).help("train several: `members = 5`")
}

/// A posterior with too many elements for Stan CSV.
pub fn no_stan_csv(infer: &str, elements: usize) -> Diagnostic {
    let text = format!("no Stan CSV is written for `{infer}`: its {elements} elements are above 16384");
    warn(&NO_STAN_CSV, text).help("read the draws from `posterior.zarr`")
}

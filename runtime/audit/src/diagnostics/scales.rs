//! Diagnostics about the scales of columns.

use super::data::ColumnTerm;
use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    rounded(value, 3)
}

codes! {
    pub(super) INPUT_SCALES = "E0536", "inputs or outputs of very different or very large scale":
        "Priors such as `Normal(0, 1)`, random starts, and the steps of optimisers and samplers suit parameters of size one. This \
         warning appears if the standard deviations of a model's inputs differ by more than a factor of 100, or if the root mean square \
         of an input is above 100. The best weights then differ by similar factors, and training and sampling are slow or end in a bad \
         optimum. If all values of an input are below 0.001, such priors leave the input without an effect. Chains that start too far \
         from the posterior get stuck and disagree. If chains are stuck, bnnc also checks inputs that are declared by name, such as \
         `height: real`, and outputs above a million. bnnc does not check a column in which nine of ten rows have the smallest value, \
         or nine of ten rows have the largest value.\n\n\
         Wrong: `data d = csv(\"d.csv\")` with a column in millimetres beside one in kilometres.\n\n\
         Right: `data d = csv(\"d.csv\") { standardise = [inputs] }`, or `normalise = channels` for images.";

    pub(super) FAR_FROM_ZERO = "E0650", "a factorised family ignores the correlation of an intercept and a weight":
        "If an input is far from zero relative to its spread, its weight and the intercept are strongly correlated in the posterior. A \
         variational family with independent elements cannot represent this correlation. The standard deviations of both come out too small. The \
         factor is the ratio of the input's root mean square to the input's standard deviation.\n\nWrong: `a + b * year` with years around 2010 and \
         `a, b ~ \
         Normal()`.\n\nRight: `standardise = [inputs]`, or one family for both, `a, b ~ FullRankNormal()`.";

    pub(super) CORRELATED = "E0674", "a factorised family ignores the correlation of coefficients":
        "If columns of a linear predictor are correlated, their coefficients are correlated in the posterior. A variational \
         family with independent elements cannot represent that, so the standard deviations of the coefficients come out \
         too small. The number in the message is the square root of the variance inflation factor, which bnnc computes from \
         the columns, from the standard deviations of the priors, and from an estimate of the noise. It is exact for normal \
         priors and a Normal likelihood. The means are not affected. In `mu + a[g]`, the data determine only the sums: `mu` can rise while \
         all elements of `a` fall. With `Categorical`, the logits of all classes can rise together. In such directions, only the priors \
         bound the posterior.\n\n\
         Wrong: `k + p * height + q * weight` and `k, p, q ~ Normal()`, with heights and weights that rise together.\n\n\
         Right: use one family for the coefficients, `p, q ~ FullRankNormal()`, or use `nuts`.";
}

reports! {
    /// Returns the warning that the mean of an input is `ratio` standard deviations from zero, and that the intercept and the weights are independent
    /// in the variational family.
    fn far_from_zero(data: &str, column: &str, intercept: &str, ratio: f64)
        = program_warning(FAR_FROM_ZERO, "`vi` treats `{intercept}` and the weight of `{column}` as independent, but they are correlated")
        .note("the mean of `{column}` is {0} standard deviations from zero: the posterior standard deviations of both parameters are about {0} times too small",
            short(ratio))
        .help(standardise(data))
        .help("or give both one family: `{intercept}, .. ~ FullRankNormal()`");

    /// Returns the warning that intercepts and effects are correlated, so that the variational family makes the standard deviation of the parameter
    /// `name` up to `factor` times too small. `all` are the parameters, including `name`.
    fn correlated_effects(all: &[&str], name: &str, factor: f64)
        let effects = match all {
            [one, other] => format!("`{one}` and `{other}`"),
            _ => format!("the elements of `{}`", all.join("`, `")),
        };
        = program_warning(CORRELATED, "`vi` treats {effects} as independent, but the data mainly determine their sums")
        .note("the standard deviation of `{name}` is about {} times too small", short(factor))
        .help("use a family with correlations: `{} ~ FullRankNormal()`", all.join(", "))
        .help("or use `nuts`");

    /// Returns the warning that the coefficients of different classes are correlated, so that the variational family makes their standard deviations up to
    /// `factor` times too small.
    fn correlated_classes(name: &str, factor: f64)
        = program_warning(CORRELATED, "`vi` treats the elements of `{name}` for different classes as independent, but the data determine only their differences")
        .note("the standard deviations of `{name}` are about {} times too small; those of the differences are not",
            short(factor))
        .help("use a family with correlations: `{name} ~ FullRankNormal()`")
        .help("or use `nuts`");

    /// Returns the warning that the column of a coefficient is correlated with another column. The variational family then makes the standard
    /// deviation of the coefficient up to `factor` times too small. `parameters` are the names of the parameters of the two columns.
    fn correlated(columns: &[ColumnTerm; 2], parameters: [&str; 2], factor: f64)
        let [column, other] = columns.each_ref().map(|term| &term.text);
        let names = match parameters {
            [first, second] if first == second => first.to_owned(),
            [first, second] => format!("{first}, {second}"),
        };
        = program_warning(CORRELATED, "`vi` treats the coefficients of `{column}` and `{other}` as independent, but the columns are correlated")
        .note("the standard deviation of the coefficient of `{column}` is about {} times too small", short(factor))
        .help("use a family with correlations: `{names} ~ FullRankNormal()`")
        .help("or use `nuts`");

    /// Returns the warning that the smallest and the largest standard deviation among the inputs of a data item are very different.
    fn scales_differ(data: &str, ends: &[(String, f64); 2])
        let [narrow, wide] = ends;
        = program_warning(INPUT_SCALES, "the inputs of `{data}` have standard deviations from {} (`{}`) to {} (`{}`)",
            short(narrow.1), narrow.0, short(wide.1), wide.0)
        .help(standardise(data));

    /// Returns the warning that the root mean square of an input is large.
    fn large_input(data: &str, column: &str, size: f64)
        = program_warning(INPUT_SCALES, "the input `{column}` of `{data}` is large: its root mean square is {}",
            short(size))
        .help(standardise(data));

    /// Returns the warning that the largest root mean square of a pixel is large or small.
    fn pixels(data: &str, size: f64)
        = program_warning(INPUT_SCALES, "the pixels of `{data}` are {}: the largest root mean square is {}",
            if size > 1.0 { "large" } else { "small" }, short(size))
        .help("write `normalise = channels` in the options of `{data}`");

    /// Returns the warning that the root mean square of an input is small.
    fn small_input(data: &str, column: &str, size: f64)
        = program_warning(INPUT_SCALES, "the input `{column}` of `{data}` is small: its root mean square is {}",
            short(size))
        .help(standardise(data));

    /// Returns the warning that chains are stuck, and that the likely cause is an input with a large root mean square.
    fn stuck_by_input(infer: &str, data: &str, column: &str, size: f64)
        = program_warning(INPUT_SCALES, "the chains of `{infer}` are stuck, and the input `{column}` of `{data}` is large: its root mean square is {}",
            short(size))
        .note("chains start at parameter values of about 1, far from the values that such a large input needs")
        .help(standardise(data))
        .help("or start from a point estimate: `infer best = map(..)` and `start = best, jitter = 0.1`");

    /// Returns the warning that chains are stuck, and that the likely cause is an output with a large root mean square.
    fn stuck_by_output(infer: &str, data: &str, output: &str, size: f64)
        = program_warning(INPUT_SCALES, "the chains of `{infer}` are stuck, and the output `{output}` of `{data}` is large: its root mean square is {}",
            short(size))
        .note("chains start at parameter values of about 1, far from the values that such a large output needs")
        .help("write `standardise = [inputs, target]` in the options of `{data}`");
}

fn standardise(data: &str) -> String {
    format!("write `standardise = [inputs]` in the options of `{data}`")
}

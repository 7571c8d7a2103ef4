//! Diagnostics about comparisons, and about settings that all inference methods have.

use bnnc_abi::metrics::ComparedMetric;
use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    /// The code of a warning: a metric of a comparison was not computed.
    pub NOT_COMPUTED = "E0567", "a metric that was not computed":
        "The predictions of the inference lack a quantity that a metric of the comparison needs. For example, if the \
         first elements of a series are given, only the other elements have predictions. `elpd_loo` needs at least two \
         rows, and draws that differ.\n\n\
         Wrong: `compare fit by elpd_loo` where all families of the posterior are `Point`, so that all draws are \
         equal.\n\n\
         Right: `compare fit by log_likelihood` on test rows.";

    /// The code of a warning: inference blocks observed different values.
    pub OTHER_OBSERVATIONS = "E0568", "inferences on different observations":
        "`elpd_loo` is a sum over observations. A difference is meaningful only if both inferences observed the same \
         values in the same rows. The observations differ if only one target is transformed (`target = log(y)`), or if \
         the training rows differ.\n\n\
         Wrong: `compare a, b by elpd_loo` with `target = y` in the data of `a` and `target = log(y)` in the data of \
         `b`.\n\n\
         Right: the same data item for both.";

    /// The code of a warning: leave-one-out estimates are computed for an inference block that has point estimates of some parameters.
    pub HELD = "E0571", "leave-one-out estimates with parameters fitted to all rows":
        "`elpd_loo` needs the posterior without each row. To estimate it, bnnc weights the draws of the posterior that was fitted to all rows. \
         Some parameters, such as the noise level of a `laplace` inference, have the same value in all draws. They keep the value that fits \
         all rows best, including the row that is left out. Weighting \
         the draws cannot remove the influence of that row. The estimate is too high by about one nat for each such \
         number that the data determine.\n\n\
         Wrong: `compare a, b by elpd_loo` where `b` is `laplace` under a learned `sigma`, and `a` is `nuts`.\n\n\
         Right: use `nuts` or `vi`, whose posterior includes `sigma`, or compare the `log_likelihood` of test rows (`test = fraction(0.2)`).";

    /// The code of a warning: the draws hardly differ, so the likelihood of each row is nearly the same under all draws.
    pub NO_SPREAD = "E0572", "leave-one-out estimates from draws without spread":
        "If each row is left out in turn, the log likelihood of the rows falls. The amount of this fall is the effective number of parameters, \
         `p_loo`. `p_loo` is about the number of parameters that the data determine. Here `p_loo` is below \
         a twentieth of the number of parameters whose posteriors are narrower than their priors. The likelihood of \
         each row is then nearly the same under every draw: the approximation is much narrower than the posterior, and \
         `elpd_loo` is the log likelihood of rows that were fitted.\n\n\
         Wrong: `compare a by elpd_loo` where `a` is `swag` with batches of all rows, or with a learning rate that \
         falls to zero.\n\n\
         Right: `nuts`, `laplace` or `vi`, or `swag` with small batches at a constant rate.";

    /// The code of a warning: the metrics in a table are computed on different rows or from different targets.
    pub OTHER_ROWS = "E0577", "metrics of different observations":
        "Metrics can only be compared if they score the same values in the same rows. For example, the `rmse` of `y` \
         and the `rmse` of `log(y)` have different units, and their mean `log_likelihood` per row differs by the mean \
         of `log(y)`. Some rows are easier to predict than others, so both inferences must have the same test rows. \
         With `fraction(0.3)`, each data item draws its own test rows, even if two data items read the same file. The \
         log density of a real output and the log probability of a count or a class cannot be compared either, \
         even if the column holds integers.\n\n\
         Wrong: `compare a, b by rmse` with `test = fraction(0.3)` in the data items of both.\n\n\
         Right: use one data item. Each model chooses its inputs by their names (`model A(age: real)`, `model B(age: real, city: index(J))`). \
         Alternatively, write `test = splits(\"splits.json\")` in both data items.";

    FEW_PREDICTIVE_DRAWS = "E0581", "too few draws for the quantiles":
        "The 5 % and 95 % quantiles of predictions, and the coverage and CRPS that follow from them, are estimated from `predictive_draws` draws. With fewer \
         than 20 draws, the outermost quantiles are the smallest and the largest draw, and the interval between them contains less than 90 % of the \
         distribution.\n\nWrong: `predictive_draws = 10`.\n\nRight: `predictive_draws = 100` or more.";
}

reports! {
    /// Returns the warning that an inference block with leave-one-out estimates has parameters that are fixed at values which were fitted to
    /// all rows. `names` and `count` describe these parameters.
    fn held(infer: &str, names: &str, count: usize)
        = program_warning(HELD, "`elpd_loo` of `{infer}` is too high: every draw has the value of {names} that fits all rows best, including the row that is left out")
        .note("each of these numbers that the data determine raises `elpd_loo` by about one nat, so the total is too high by \
                       at most about {count}")
        .help("use `nuts` or `vi`, which have a posterior of all parameters, or compare on test rows: `test = fraction(0.2)`");

    /// Returns the warning that an inference block with leave-one-out estimates has nearly no effective parameters.
    fn no_spread(infer: &str, p: f64, informed: f64, parameters: usize)
        = program_warning(NO_SPREAD, "`elpd_loo` of `{infer}` treats the posterior as a single point: the effective number of parameters is {} of \
         {parameters}",
            rounded(p, 2))
        .note("the draws vary too little: about {} parameters have posteriors that are narrower than their priors",
            rounded(informed, 2))
        .help("use `nuts`, or compare on test rows: `test = fraction(0.2)`");

    /// Returns the diagnostic that reports that a metric of a comparison was not computed.
    fn not_computed(measure: &ComparedMetric, infer: &str)
        = warning(NOT_COMPUTED, measure.span, "`{}` of `{infer}` was not computed", measure.label())
        .help("compare by another metric; `bnnc explain E0567` lists the reasons");

    /// Returns the warning that the metrics of two inference blocks are computed on different rows or from different targets. `first` is the
    /// first inference block of the table.
    fn other_rows(infer: &str, first: &str, of: &str)
        = program_warning(OTHER_ROWS, "the metrics of `{infer}` and `{first}` score {of}")
        .help("use one data item for both, or list the test rows in a file: `test = splits(\"splits.json\")`");

    /// Returns the warning that two inference blocks cannot be compared by a metric of log densities. One block assigns a density to the values,
    /// and the other assigns probabilities.
    fn other_measure(measure: &ComparedMetric, density: &str, probability: &str)
        = warning(OTHER_ROWS, measure.span, "`{}` of `{density}` is a log density, and that of `{probability}` is a log probability",
            measure.label())
        .note("the density of integers depends on their unit, so the difference between the two scores has no meaning")
        .help("compare by `rmse`, `crps` or `coverage(0.9)`, or give both outputs the type `count`");

    /// Returns the warning that the `elpd_loo` of two inference blocks cannot be compared.
    fn other_observations(infer: &str, best: &str)
        = program_warning(OTHER_OBSERVATIONS, "`{infer}` and `{best}` observed different values, so their `elpd_loo` cannot be compared")
        .help("compare inferences on the same rows with the same target");

    /// Returns the warning that quantiles are estimated from too few draws.
    fn few_predictive_draws(infer: &str, draws: usize)
        = data_warning(FEW_PREDICTIVE_DRAWS, "the 5 % and 95 % quantiles of `{infer}` are computed from only {draws} draws")
        .help("use more draws: `predictive_draws = 100`");
}

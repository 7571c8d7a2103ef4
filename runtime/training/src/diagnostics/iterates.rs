//! Diagnostics of the iterates that make up a posterior.

use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    /// A training stopped before it had enough iterates for a posterior.
    pub(super) TOO_FEW_ITERATES = "E0531", "too few iterates":
        "`swag` fits a Gaussian to iterates, which are the weights at the end of every `every`-th epoch after `warmup`. `patience` stopped the training before the second iterate, but a covariance needs at least two (`covariance = point` \
         needs one).\n\n\
         Right: a shorter `warmup`, or a longer `patience` or no `patience`.";

    /// The loss was far higher at the end of a training run than at its start, so the iterates are not
    /// near an optimum.
    pub(super) ITERATES_DIVERGED = "E0532", "the optimiser diverged":
        "The iterates of this training run should represent the posterior, but the loss per row was higher in the last epoch than in the first, by \
         more than 1. The steps are too large, and the iterates do not represent the \
         posterior.\n\n\
         Wrong: `optimiser = SGD(10)`.\n\n\
         Right: a smaller learning rate, for example ten times smaller, with which the loss does not rise.";

    pub(super) STILL_ITERATES = "E0569", "iterates without noise":
        "`swag` approximates the posterior by the scatter of the training iterates (Maddox et al. 2019). Iterates scatter \
         because every step uses a different batch of rows. If each batch holds all rows, this noise is missing. The iterates then converge to \
         one point, and the intervals are too narrow by a factor of a thousand or more. A learning rate that falls while iterates are taken \
         has the same effect: the scatter is proportional to the rate, so late iterates lie closer and closer together.\n\n\
         Wrong: `schedule = cosine`, or `swag(M, d)` with 40 rows: by default, all rows are then in one batch.\n\n\
         Right: use `swag(M, d) { batch = 4, schedule = constant }`. You can also use `laplace`, `vi` or `nuts`: their intervals do not depend \
         on the optimiser.";

    pub(super) OTHER_BREADTH = "E0573", "iterates whose scatter is not that of the posterior":
        "`swag` approximates the posterior by the scatter of the training iterates (Maddox et al. 2019). The amount of scatter depends on \
         the learning rate, the size of the batches and the optimiser. Only one learning rate gives the scatter of the posterior \
         (Mandt, Hoffman and Blei 2017). For draws of a Gaussian posterior, the loss (the negative log posterior) exceeds its minimum \
         on average by half the number of parameters. Here the mean rise differs from this value by a factor of more than 25, so \
         standard deviations are wrong by a factor of more than five. `breadth` in the diagnostics is the observed mean rise divided by \
         the expected mean rise. To correct the covariance, divide `scale` by `breadth`. A single parameter is reported if its variance \
         is below a 25th of its conditional variance given all other parameters. The conditional variance is a lower bound for the \
         posterior variance.\n\n\
         Wrong: `swag(M, d)` for a line through 1000 points: the steps, of 0.005, are far too short.\n\n\
         Right: use one of these: `swag(M, d) { scale = 170 }` with the number that the warning names, another rate, or `laplace`, `vi` or \
         `nuts`.";

    pub(super) AGREEING_MEMBERS = "E0672", "members of an ensemble that agree":
        "The members of an ensemble are training runs with different random starts. Their spread represents uncertainty \
         only if the objective has several optima, as the objective of a network does (Lakshminarayanan, Pritzel and \
         Blundell 2017). Here all members ended in the same optimum; a linear model, for example, has only one. bnnc \
         computes a standard deviation of each element, given all other parameters, from the curvature of the log \
         posterior. On average over the elements of every parameter, the members scatter by less than a fifth of this \
         standard deviation. This scatter only shows how precisely each training run found the optimum. The printed \
         standard deviations, and the intervals of predictions, contain the noise of the likelihood but not the \
         uncertainty of the parameters.\n\n\
         Wrong: `ensemble(Line, d)` for `y ~ Normal(a + b * x, sigma)`.\n\n\
         Right: `laplace(Line, d)`, `vi(Line, d)` or `nuts(Line, d)`.";
}

reports! {
    /// An error: a training run has too few iterates for a posterior.
    fn too_few_iterates(infer: &str, found: usize, least: usize)
        = of_program(TOO_FEW_ITERATES, "`{infer}` stopped after {found} iterates, but needs {least}")
        .help("lower `warmup` or `every`, or raise `patience`");

    /// A warning: during the training, the loss per row rose by `rise` nats.
    fn iterates_diverged(infer: &str, rise: f64)
        = program_warning(ITERATES_DIVERGED, "the loss per row of `{infer}` rose by {rise:.1} from the first epoch to the last: the optimiser diverged")
        .help("use a tenth of the learning rate in `optimiser = SGD(..)`");

    /// A warning: each batch contains all rows, so the iterates of `swag` do not scatter.
    fn still_iterates(infer: &str, rows: usize)
        let batch = (rows / 10).max(1);
        = program_warning(STILL_ITERATES, "the intervals of `{infer}` are too narrow: each batch holds all {rows} rows, so the iterates do not scatter")
        .help("use smaller batches at a constant rate: `batch = {batch}, schedule = constant`; or use `laplace`, `vi` or `nuts`");

    /// A warning: all members of an ensemble ended near one optimum. For each parameter, the variance
    /// between the members is divided by the posterior variance. `ratio` is the largest of these ratios.
    fn agreeing_members(infer: &str, ratio: f64)
        let factor = ratio.max(0.0).sqrt().recip();
        let times = match factor < 1e3 {
            true => format!("{:.0}", factor.floor()),
            false => "1000".to_owned(),
        };
        = program_warning(AGREEING_MEMBERS, "the members of `{infer}` agree: their standard deviations are at least {times} times too small for the posterior")
        .note("all members ended in the same optimum: their spread only shows how precisely each training found this optimum")
        .help("use `laplace`, `vi` or `nuts`, whose spread is that of the posterior");

    /// A warning: the learning rate decreases by the factor `fall` while iterates are collected.
    fn falling_rate(infer: &str, fall: f64)
        let how = match fall < 1e6 {
            true => format!("by a factor of {}", rounded(fall, 4)),
            false => "to zero".to_owned(),
        };
        = program_warning(STILL_ITERATES, "the intervals of `{infer}` are too narrow: its learning rate falls {how} while iterates are taken, and the scatter \
         of the iterates falls with the rate")
        .help("keep the learning rate constant while iterates are taken: `schedule = constant`, or `schedule = step(0.5, 0.1)`, which lowers the rate only once: at half of the training, when the default `warmup` ends; or use `laplace`, `vi` or `nuts`");

    /// A warning: the Gaussian over iterates is too broad or too narrow. After multiplication by
    /// `scale`, the variances of the Gaussian are `breadth` times the posterior variances. Far from the
    /// optimum, no other `scale` is recommended: draws from a wider Gaussian would be worse.
    fn other_breadth(infer: &str, breadth: f64, scale: f64, is_converged: bool)
        let (factor, which) = match breadth < 1.0 {
            true => (breadth.max(0.0).sqrt().recip(), "narrow"),
            false => (breadth.sqrt(), "wide"),
        };
        let text = match factor.is_finite() {
            true => format!("the standard deviations of `{infer}` are about {factor:.0} times"),
            false => format!("the draws of `{infer}` are far"),
        };
        let right = scale / breadth;
        let other = match (is_converged, right.is_finite() && right > 0.0) {
            (false, _) => "train longer first: the iterates do not scatter around an optimum".to_owned(),
            (true, true) => format!("multiply the covariance: `scale = {}`", rounded(right, 3)),
            (true, false) => "use another learning rate".to_owned(),
        };
        = program_warning(OTHER_BREADTH, "{text} too {which} for the posterior")
        .help("{other}; or use `laplace`, `vi` or `nuts`, whose intervals do not depend on the optimiser");

    /// A warning: the Gaussian over iterates is too narrow in one parameter. The variance of the
    /// Gaussian there is at most `breadth` times the posterior variance. If the data are not
    /// standardised, `raw` contains the options of the data item that would standardise them.
    fn narrow_parameter(infer: &str, parameter: &str, breadth: f64, raw: Option<&str>)
        let factor = breadth.max(0.0).sqrt().recip();
        let text = match factor.is_finite() {
            true => format!("the standard deviation of `{parameter}` in `{infer}` is about {factor:.0} times"),
            false => format!("the draws of `{parameter}` in `{infer}` are far"),
        };
        = program_warning(OTHER_BREADTH, "{text} too narrow for the posterior")
        .note("no single factor on the covariance is right for all parameters: the posterior of this one is too narrow by a larger factor than others")
        .help_if(raw.map(|options| format!("standardise the data (`{options}`), so that one learning rate suits all parameters")))
        .help("use `laplace`, `vi` or `nuts`, whose intervals do not depend on the optimiser");
}

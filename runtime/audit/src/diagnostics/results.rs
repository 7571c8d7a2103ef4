//! Diagnostics about results that contradict the assumptions of the model.

use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_abi::methods::laplace::{Laplace, Likelihood, Link};
use bnnc_base::number::rounded;
use bnnc_base::quoted::first_quoted;
use bnnc_base::{codes, reports};
use bnnc_core::diagnostics::{average, milder};

codes! {
    pub(super) INTERVALS = "E0586", "predictive intervals that do not fit":
        "bnnc reports two cases. Either fewer than half of the values lie in their 90 % predictive intervals (for 20 or more values), or all values \
         lie in their 50 % intervals (for 50 or more values). Chance does not explain these cases: the noise of the model is too \
         small or too large, the tails of the likelihood do not fit the data, or the model has memorised the training \
         rows.\n\n\
         Wrong: `y ~ Normal(f, 1)` where `y` is 50 away from every possible `f`.\n\n\
         Right: estimate the scale with `sigma: positive ~ HalfNormal(50)` and `y ~ Normal(f, sigma)`. Use `StudentT` for outliers, and \
         `NegativeBinomial` for counts that vary more than `Poisson` allows.";

    pub(super) MAJORITY = "E0587", "an accuracy no better than always predicting the most frequent class":
        "At least 80 % of the rows belong to one class, and the accuracy does not exceed the share of this class. Always predicting this class \
         would be as accurate. Such an accuracy is not evidence for the model.\n\n\
         Wrong: \"95 % accuracy\" for a disease, if 95 % of the rows do not have the disease.\n\n\
         Right: compare by `log_likelihood`, `nll` or `brier`, which judge probabilities.";

    pub(super) PRIOR_CONFLICT = "E0645", "a posterior outside its prior":
        "At the posterior mean, the prior density of a parameter is less than exp(-12) times the prior density at the mean of the prior. For a \
         normal prior, the posterior mean is then more than 4.9 standard deviations away from the \
         mean of the prior. Prior and data contradict each other. Often the data are not in the unit that the prior was \
         written for, or should have been standardised.\n\n\
         Wrong: `intercept ~ Normal(0, 1)` and `sigma ~ HalfNormal(1)` for incomes around 30,000.\n\n\
         Right: `standardise = [inputs, target]` in the data item, or priors in the unit of the data, for example `sigma ~ HalfNormal(10000)`.";

    pub(super) NO_FINITE_MAXIMUM = "E0646", "a maximum that is missing or depends only on wide priors":
        "`map` and `laplace` look for the maximum of the posterior. If parameters have the prior `Flat`, and the likelihood does \
         not fall when all of them, or one of their elements, are made ten and a hundred times as large, a maximum does not exist. The estimate is merely the \
         point where the training stopped, and standard deviations are meaningless. With a very wide proper prior, a maximum exists, but \
         its position depends only on the width of the prior. The posterior is then many times wider than the curvature at the maximum \
         suggests. The usual reason is that the inputs separate the classes (complete or quasi-complete separation), that all rows of a group belong to one class, or that all counts of a group are zero.\n\n\
         Wrong: `b ~ Flat` or `b ~ Normal(0, 1000)`, and `y ~ Bernoulli(b * x)` where `y` is true exactly if `x` is \
         positive.\n\n\
         Right: `b ~ Normal(0, 2.5)`.";

    pub(super) BIASED = "E0647", "predictions that are off on average":
        "The mean of the errors (observed minus predicted values) is larger than their scatter, and larger than a tenth \
         of the scatter of the target. In twenty rows or more, such a mean does not occur by chance: an intercept is \
         missing, a prior keeps the intercept too small, or the scored rows are not like the training rows.\n\n\
         Wrong: `y ~ Normal(b * x, sigma)` for a target around 100.\n\n\
         Right: `y ~ Normal(a + b * x, sigma)`, or `standardise = [inputs, target]`.";

    pub(super) IGNORED_INPUTS = "E0652", "a network that ignores its inputs":
        "The predictions are the same in all training rows. In two or more weight matrices, every element differs from the mean of its prior by \
         less than a hundredth of the prior's standard deviation. The density of a prior over many weights is highest at its mean, although hardly \
         any of its mass is there. If narrow priors of several layers outweigh the data, the posterior is highest at the \
         constant function. `map`, `dropout`, `ensemble` and `laplace` search for a maximum, so in this case they learn nothing from the data.\n\nWrong: \
         `Dense(40, prior = Normal(0, 0.2))` twice, `map`, and 160 rows.\n\nRight: `prior = Normal(0, 1)`. With a narrow prior neither fewer units nor `nuts` helps, \
         because nearly all functions under the posterior are constant. With a wide prior, `nuts` averages over the weights instead of maximising.";

    pub(super) WORSE_THAN_CENTRE = "E0653", "an approximation that predicts worse than its centre":
        "The approximation gives the scored rows a lower log predictive density than its centre alone, by more than 0.05 per row and by \
         more than four standard errors of the paired differences. (On training rows, a further half a nat per parameter is allowed, \
         because even a correct posterior may lose this much there.) The Gaussian is wider than the posterior. With a wide prior and \
         probabilities near 0 and 1, the curvature at the maximum is small. The linearised logits then have a large variance, so the \
         probabilities are far too even. `link = bridge` matches a Dirichlet distribution to the logits of a `Categorical`. \
         With this link, predictions suffer least, except if `structure = diagonal` ignores the correlations of the weights. Other \
         likelihoods do not have such a link. For them, use `nuts` or `vi`, which average over the weights and do not need the \
         curvature at a maximum. It does not help to choose a factor on the prior by validation rows: such a factor narrows the \
         Gaussian until only the centre is left.\n\n\
         Wrong: `laplace(Net, images) { start = best, over = last_layer }` with an `nll` of 0.49 where `best` has \
         0.19.\n\n\
         Right: for classes, use `laplace(Net, images) { start = best, over = last_layer, link = bridge }`. For other likelihoods, use \
         `nuts(Net, rows)`. You can also use `best` itself.";

    pub(super) COLLAPSED = "E0657", "a variational posterior that fell back to the prior":
        "`vi` has left most weights of a network at their prior, and the mean prediction is the same in all training \
         rows, although rows with similar inputs have similar targets. With an independent distribution for every \
         weight, the noise of many hidden units lowers the likelihood more than a dependence on the inputs raises it. \
         The evidence lower bound of a wide network therefore has its maximum, or a local maximum, at a constant \
         function (Trippe and Turner 2018; Coker et al. 2022). Longer training does not get away from that \
         maximum.\n\n\
         Wrong: two layers `Dense(40)` and `vi` for 160 rows, or `Normal(scale = 1)` as the start of the posterior.\n\n\
         Right: use `nuts`, or `laplace` around a `map`. Alternatively, use fewer units, such as `Dense(10)`, and a narrow start, \
         `Normal(scale = 0.05)`. Add `restarts = 4`, because narrow networks have several optima.";
}

/// The facts about a variational posterior that has collapsed to the prior.
pub struct PriorFallback<'a> {
    /// The name of the output.
    pub output: &'a str,
    /// The fraction of the weights whose posterior equals the prior.
    pub at_prior: f64,
    /// The standard deviation of the mean prediction over the training rows. If the output is a class,
    /// the standard deviation of a class probability.
    pub variation: f64,
    /// The standard deviation of the target. `None` if the output is a class.
    pub target: Option<f64>,
    /// The mean squared difference between the targets of neighbouring rows, divided by the same mean over random pairs of rows. For classes, the
    /// fraction of pairs of neighbouring rows whose classes differ, divided by the same fraction for random pairs of rows.
    pub likeness: f64,
}

reports! {
    /// Returns the warning that the predictions of a variational posterior do not depend on the inputs.
    fn collapsed(infer: &str, collapse: &PriorFallback<'_>)
        let (output, variation) = (collapse.output, rounded(collapse.variation, 2));
        let what = match collapse.target {
            Some(target) => format!("mean prediction of `{output}` has a standard deviation of {variation} over the training rows, but the target has a standard deviation of {}", rounded(target, 2)),
            None => format!("probabilities of `{output}` have a standard deviation of at most {variation} over the training rows"),
        };
        let likeness = percent(collapse.likeness);
        let nearby = match collapse.target {
            Some(_) => format!("the mean squared difference of targets is only {likeness} as large between rows with similar inputs as between random rows"),
            None => format!("rows with similar inputs have different classes only {likeness} as often as random rows"),
        };
        = data_warning(COLLAPSED, "`{infer}` fell back to the prior: its {what}")
        .note("the posterior of {} of the weights equals their prior, although the inputs do inform the target: {nearby}",
            percent(collapse.at_prior))
        .help("use `laplace` around a `map`, or `nuts`, which do not assume independent weights")
        .help("or use fewer units (such as `Dense(10)`) together with a narrow start (`Normal(scale = 0.05)`) and `restarts = 4`");

    /// Returns the warning that the predictions at a maximum do not depend on the inputs. `weights` lists the weights that are at the mean of their
    /// prior, each with its prior standard deviation. `parameters` is the number of parameters.
    fn ignored_inputs(infer: &str, output: &str, rows: usize, weights: &[(&str, f64)], parameters: usize)
        let narrow = weights.iter().filter(|(_, sd)| *sd < WIDE);
        let narrowest = narrow.min_by(|(_, one), (_, other)| one.total_cmp(other));
        = data_warning(IGNORED_INPUTS, "`{infer}` ignores the inputs: its prediction of `{output}` is the same in all {rows} training rows")
        .note("{} are at the mean of their prior: with {parameters} parameters the density is highest there, although the prior has almost no mass there",
            first_quoted(weights.iter().map(|(name, _)| name), 3))
        // Under a narrow prior, the predictions of the exact posterior are nearly constant too. Another method or a smaller
        // network would therefore not help.
        .helps(match narrowest {
            Some((name, sd)) => vec![format!("widen the priors of the weights: `prior = Normal(0, {WIDE})`; the prior of `{name}` now has a standard deviation of only {}", rounded(*sd, 3))],
            None => vec![
                "use `nuts`, which averages over the weights instead of maximising".to_owned(),
                "or use fewer layers or units".to_owned(),
            ],
        });
}

/// A prior counts as narrow if the prior standard deviation of a weight is below this value.
const WIDE: f64 = 1.0;

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

reports! {
    /// Returns the warning that the 90 % intervals contain too small a fraction of the rows. `held` is this fraction.
    fn narrow_intervals(infer: &str, output: &Output, held: f64, fitted: IntervalRows<'_>)
        let IntervalRows { rows, is_point } = fitted;
        let is_count = output.kind == OutputKind::Count;
        let is_test = rows == "test";
        let noise = match output.fixed_variance {
            true => ESTIMATE,
            false => "check that the prior of the noise allows values as large as the errors",
        };
        let (heavier, help) = match is_count {
            true => ("NegativeBinomial", "use `NegativeBinomial` if the variance of the counts is larger than their mean"),
            false => ("StudentT", "use `StudentT` if there are outliers"),
        };
        let is_heavy = output.family.as_deref() == Some(heavier);
        = data_warning(INTERVALS, "the 90 % intervals of `{}` in `{infer}` hold {} of the {rows} rows", output.name, percent(held))
        .help_if((!is_count).then_some(noise))
        .help_if((is_test && is_point).then_some("average over the parameters by `nuts` or `vi`: away from the training rows, a point estimate ignores the uncertainty of the parameters"))
        .help_if(match is_test {
            true => Some("if the intervals hold a larger share of the training rows, the model overfits: use a smaller model or narrower priors"),
            false => (!is_heavy).then_some(help),
        });

    /// Returns the warning that the 50 % intervals contain all rows.
    fn wide_intervals(infer: &str, output: &Output, rows: &str)
        = data_warning(INTERVALS, "the 50 % intervals of `{}` in `{infer}` hold all {rows} rows", output.name)
        .help(match output.fixed_variance {
            true => ESTIMATE,
            false => "check that the prior of the noise allows values as small as the errors",
        });
}

/// The advice for a program whose noise level is a fixed number.
const ESTIMATE: &str = "estimate the noise: `sigma: positive ~ HalfNormal(..)`";

/// The kind of rows on which intervals are evaluated, and the kind of posterior.
#[derive(Clone, Copy, Debug)]
pub struct IntervalRows<'a> {
    /// The kind of rows: `test` or `training`.
    pub rows: &'a str,
    /// True if the posterior is a single point.
    pub is_point: bool,
}

reports! {
    /// Returns the warning that the mean error of predictions is larger than the scatter of the errors.
    ///
    /// If the training has not converged, this is the likely reason for the error.
    fn biased(infer: &str, output: &str, mean: f64, sd: f64, rows: &str, is_converged: bool)
        let direction = if mean > 0.0 { "below" } else { "above" };
        = data_warning(BIASED, "the predictions of `{output}` in `{infer}` are on average {} {direction} the values observed in the {rows} rows",
            number(mean.abs()))
        .note("the standard deviation of the errors is only {}", number(sd))
        .help(match rows {
            _ if !is_converged => format!("`{infer}` has not converged (E0533), which is the likely cause: follow the advice of that warning first"),
            "test" => "check that the test rows are like the training rows".to_owned(),
            _ => "add an intercept, `a + ..`, whose prior is as wide as the spread of the target, or set `standardise = [inputs, target]`".to_owned(),
        });

    /// Returns the warning that the accuracy is not higher than the relative frequency of the most frequent class.
    fn majority(infer: &str, output: &str, accuracy: f64, share: f64, class: &str, rows: &str)
        = data_warning(MAJORITY, "the accuracy of `{infer}`, {}, is not better than always predicting `{output}` = {class}, the class of {} of the {rows} rows",
            percent(accuracy), percent(share))
        .help("compare by metrics of the probabilities: `compare .. by log_likelihood, brier`");

    /// Returns the warning that a posterior mean is outside the range of plausible values under the prior.
    fn prior_conflict(infer: &str, parameter: &str, mean: f64, low: f64, high: f64)
        = data_warning(PRIOR_CONFLICT, "the posterior mean of `{parameter}` in `{infer}` is {}, where the prior has almost no mass",
            number(mean))
        .note("values from {} to {} are plausible under the prior", number(low), number(high))
        .help("standardise the data (`standardise = [inputs, target]`), or write the prior in the unit of the data");
}

/// Formats a number with four significant digits.
fn number(value: f64) -> String {
    rounded(value, 4)
}

reports! {
    /// Returns the warning that the likelihood does not have a finite maximum. There is a direction in the space of the parameters with flat priors
    /// in which the likelihood does not decrease.
    fn no_finite_maximum(infer: &str, parameters: &[String])
        = data_warning(NO_FINITE_MAXIMUM, "`{infer}` has no maximum: its likelihood does not fall, however large the values of {} become",
            first_quoted(parameters, 3))
        .note("estimates and standard deviations only describe the point where the training stopped")
        .help("give these parameters proper priors, such as `Normal(0, 2.5)`");

    /// Returns the warning that the likelihood does not decrease even if the values of some parameters become very large, and that the priors of these
    /// parameters are too wide to bound them.
    fn bounded_by_wide_priors(infer: &str, elements: &[String])
        = data_warning(NO_FINITE_MAXIMUM, "the maximum of `{infer}` depends only on its wide priors: the likelihood does not fall, however large the values of {} become",
            first_quoted(elements, 3))
        .note("the posterior is many times wider than the curvature at the maximum suggests")
        .help("use narrower priors, such as `Normal(0, 2.5)` for standardised inputs")
        .help("or use `nuts`, which does not need a maximum");

    /// Returns the warning that an approximation predicts worse than its centre. The two numbers are mean log predictive densities of the rows of this
    /// `kind`. The first number is computed at the centre, and the second under the approximation.
    fn worse_than_centre(infer: &str, densities: [f64; 2], kind: &str, laplace: &Laplace)
        let [centre, own] = densities.map(|density| rounded(density, 4));
        let is_linearised = laplace.options.link != Link::Weights || laplace.likelihood != Likelihood::Normal;
        let milder = milder(laplace).map(|options| format!("use options that keep the class probabilities close to those of the centre: {options}"));
        = program_warning(WORSE_THAN_CENTRE, "`{infer}` predicts worse than its own centre: the mean log predictive density of the {kind} rows is {own}, but {centre} under the centre alone")
        .note("the Gaussian is wider than the posterior")
        .help_if(milder.or_else(|| (!is_linearised).then(|| "linearise the predictions: leave `link = weights` out".to_owned())))
        .help(average(laplace))
        .help(match laplace.search {
            true => "or use the centre alone: `map` with the same search options",
            false => "or use the centre alone: the inference that it starts from",
        });
}

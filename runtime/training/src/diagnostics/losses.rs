//! Diagnostics of training runs and of their losses.

use crate::maximum::Runaway;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    pub(super) NOT_CONVERGED = "E0533", "the training has not converged":
        "At the end of the training, the loss (the negative log posterior or the negative evidence lower bound of all rows) still falls \
         by more than its noise, or the noise is so large that it would hide a fall. Estimates, standard deviations and predictions \
         come from parameters that were still moving. The reported fall is an extrapolation from the last fifth of the training: it is the \
         fall to expect if the training ran again for the same number of steps. The extrapolation weights each step by its learning \
         rate. Falls below one nat, or below 0.02 per row, are not reported. A training run has diverged if its \
         loss per row rises by more than 10 nats or ends above 1e8. If the loss does not have noise, as for \
         `map`, and is cheap to compute, bnnc continues from the end of the training with a descent in double \
         precision. The warning then reports the amount by which this descent lowered the \
         loss, if the amount is more than 0.1 nats for each weight and more than 0.001 per row. This descent also detects plateaus. The \
         loss of `vi` and `dropout` has noise. For these methods, the descent minimises the mean loss over fixed \
         draws of the noise, and its gain is measured over other draws. The gain is reported only if it exceeds \
         the threshold by three standard errors. For `vi`, the gain is a KL divergence, so the threshold does not \
         depend on the number of rows. It is 0.1 nats for each weight, or 0.05 nats if there are at \
         least ten rows for each weight. As an example, a posterior scale that is 22 % too small costs 0.05 nats. If the descent does not \
         lower the loss, the training continues for a few hundred steps with a learning rate that rises again and then falls to zero. These \
         steps recover only a part of the remaining fall, so a fifth of the threshold applies.\n\n\
         Wrong: `infer fit = vi(Q, data) { steps = 200, optimiser = Adam(1e-3) }`, which moves no parameter by more \
         than 0.2.\n\n\
         Right: use one of these: the default length, as in `infer fit = vi(Q, data)`, more `steps` or `epochs`, or a larger rate, such as \
         `optimiser = Adam(1e-2)`. It also helps to standardise the inputs and the target, because good parameters then have a size of about 1.";

    pub(super) WORSENED = "E0534", "the training ended with a higher loss than before":
        "The mean loss of the last twentieth of the training was above the mean loss of an earlier twentieth, by more than three \
         standard errors and by more than 0.02 per row. bnnc then returns the parameters from the end of the twentieth with the lowest mean \
         loss. The usual cause \
         is a learning rate that is still too large at the end of the training.\n\n\
         Wrong: `optimiser = Adam(0.1), schedule = constant`.\n\n\
         Right: a smaller rate, or a schedule that lets the rate fall to zero: `schedule = cooldown` or `cosine`.";

    pub(super) RESTARTS_DIFFER = "E0535", "restarts end at different losses":
        "With `restarts = n` a method trains from n random starts and keeps the training run with the lowest final loss. Here the losses of the \
         best and the worst restart differ by more than three standard errors, and by more than one nat and 0.02 per row. This means that there are \
         several optima, and that a training run from one start may end in a bad one. The message counts the restarts that end near the \
         lowest loss. If only one restart ends there, further restarts may find a still lower loss. If all restarts end in the same \
         optimum, they cannot show whether a better optimum exists.\n\n\
         Wrong: `restarts = 1` for such a model.\n\n\
         Right: use more restarts, until several of them end near the best loss, or use `ensemble`, which combines its members.";

    pub(super) UNBOUNDED_DENSITY = "E0537", "the posterior density has no maximum":
        "A method that maximises the posterior density moved a parameter towards an end of its range. The density keeps rising towards this \
         end. The usual cause is a scale in the prior of other parameters: as `tau` goes to zero and every `theta` \
         goes to `mu`, the density of `theta ~ Normal(mu, tau)` grows without bound, although hardly any of the \
         posterior probability is there. The estimates are meaningless: the effects of all groups are equal.\n\n\
         Wrong: `theta: real[J] ~ Normal(mu, tau)` with `tau ~ HalfNormal(5)` and `map`.\n\n\
         Right: `nuts` or `vi`, which average over `tau`. If you need a maximum, give the parameter a fixed value, or a \
         prior that keeps it away from the end of its range, such as `InverseGamma(3, 20)`. `LogNormal(0, 1)` bounds \
         the density too, but its maximum can still be far below every plausible scale. A log scale, as in `lt ~ \
         Normal(0, 2)` and `theta ~ Normal(mu, exp(lt))`, falls in the same way. The prior of `lt` stops it only at a scale such as `exp(-30)`. A \
         non-centred parameterisation, `z: real[J] ~ Normal(0, 1)` and `theta = mu + exp(lt) * z`, has a bounded density.";

    pub(super) SINGLE_ROW = "E0538", "a training step with a single row":
        "A model with running means, such as a model with `BatchNorm`, normalises the rows of a training step together. The variance over a \
         single row is zero or misleading, so every step needs at least two rows. This includes the last step of an epoch. If the inputs and \
         outputs of a model are whole columns, all rows of the file form a single example.\n\n\
         Wrong: `batch = 32` with 65 training rows, because the last step of an epoch has one row.\n\n\
         Right: use a batch size that does not leave a step of one row, for example `batch = 33`, or `batch = 0`, which uses all rows in each step.";

    pub(super) NO_STREAM = "E0590", "an inference that cannot learn from arriving rows":
        "Inference can learn from rows that arrive one by one only if the model has no columns that all examples share. Such columns would have to \
         arrive before the first row. The option `kl_weight` must be `exact`, because arriving rows do not have epochs over \
         which the KL divergence could be spread.\n\nRight: leave `kl_weight` out.";

    pub(super) AT_SADDLE = "E0673", "the training ended at a saddle":
        "The slope of the loss is zero at the end of the training, but the loss is not at a minimum: a descent from a point about 0.001 away from \
         the final parameters ends at a much lower loss. A training run ends at a saddle if the model is symmetric in a parameter and \
         training starts at the centre of the symmetry. Examples are `b = 0` for `b * b`, and `b = c = 0` for `b * c`. Every step then \
         leaves the parameter where it is. Its estimate is merely the start, and the standard deviation of `laplace` is the standard \
         deviation of the prior.\n\n\
         Wrong: `b ~ Normal(0, 5)`, `y ~ Normal(a + b * b * x, sigma)` and `map(M, d)`.\n\n\
         Right: use `map(M, d) { restarts = 4 }`: the further training runs have random starts. You can also use a model without the symmetry, \
         such as `slope: positive` and `a + slope * x`.";
}

reports! {
    /// A step of a training run has only a single row, although the model normalises the rows of a step
    /// together.
    fn single_row(infer: &str, rows: usize, batch: usize)
        let found = match rows {
            1 => "the data have one training row".to_owned(),
            _ => format!("{rows} rows in steps of {batch} leave a step of one row"),
        };
        let better = (2..=rows).find(|size| *size > batch && rows % size != 1);
        = of_program(SINGLE_ROW, "`{infer}` normalises the rows of a step together, but {found}")
        .help(better.map_or("use more training rows".to_owned(), |size| format!("use another batch size: `batch = {size}`")));

    /// A model normalises rows together, although its inputs are whole columns. All rows then form one example.
    fn single_example(infer: &str)
        = of_program(SINGLE_ROW, "`{infer}` normalises the rows of a step together, but its model takes whole columns")
        .note("a model of whole columns describes all rows at once, so each step has a single example")
        .help("write the model for one row, such as `model M(x: real[d]) -> y: real`")
        .help("or use a normalisation within an example, such as `LayerNorm`");

    /// An error: an inference block cannot learn from rows that arrive one by one. `why` is the reason.
    fn no_stream(infer: &str, why: &str)
        = of_program(NO_STREAM, "`{infer}` {why}");
}

/// Returns whether a warning reports that training has not converged.
pub fn is_not_converged(warning: &Diagnostic) -> bool {
    std::ptr::eq(warning.code, &NOT_CONVERGED)
}

fn per_row(loss: f64, rows: usize) -> f64 {
    loss / rows.max(1) as f64
}

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    rounded(value, 3)
}

/// The maximum number of parameters that one warning names.
const LISTED: usize = 3;

/// The training run that a warning is about, with options that would improve it.
#[derive(Clone, Copy)]
pub struct WarnedTraining<'a> {
    /// The name of the inference block.
    pub infer: &'a str,
    /// The text of an option that makes the training longer, such as `epochs = 200`.
    pub longer: &'a str,
    /// True if the learning rate has decreased to zero at the end of the training.
    pub ends_at_zero: bool,
    /// The largest allowed norm of the gradient, or `None` if the norm is not limited.
    pub clip: Option<f64>,
    /// The advice to use a larger learning rate, if the present rate is small.
    pub faster: Option<&'a str>,
    /// The options of the data item that would standardise the data, or `None` if the data are already standardised.
    pub raw: Option<&'a str>,
    /// True if the method draws from a variational posterior. The width of this posterior and the
    /// number of samples determine the noise of the loss.
    pub maximises_bound: bool,
    /// The order of the Taylor series that replaces a logistic likelihood, if the training uses one.
    pub series: Option<usize>,
}

impl WarnedTraining<'_> {
    /// Returns the advice to raise the limit on the norm of the gradient, or `None` if the norm is not limited.
    fn unclipped(&self) -> Option<String> {
        self.clip
            .map(|clip| format!("raise `clip = {clip:?}`, or leave it out: it shortens the steps"))
    }

    /// Returns the advice to train for longer, after the advice to use another series, if the series does not have an upper bound.
    fn train_longer(&self) -> impl Iterator<Item = String> {
        let longer = format!("train for longer: `{}`", self.longer);
        self.bounded_series().into_iter().chain([longer])
    }

    /// Returns the advice to use another order of the series, if the series has no upper bound. The leading coefficient of `ln sigmoid(x)` is positive
    /// for the orders 4, 8, .., so that the loss falls forever in the direction of large weights.
    fn bounded_series(&self) -> Option<String> {
        let order = self.series.filter(|order| order / 2 % 2 == 0)?;
        Some(format!(
            "use `series = {}`: the series of order {order} grows without bound for large weights, so the loss may have no minimum",
            order / 2 * 2 + 2
        ))
    }

    /// Returns the advice to standardise the data, or `None` if they are standardised already.
    fn standardise(&self) -> Option<String> {
        self.raw
            .map(|options| format!("standardise the data: `{options}`"))
    }
}

reports! {
    /// A warning: the loss of a training run was still falling at its end.
    fn not_converged(trained: WarnedTraining<'_>, fall: f64, rows: usize)
        = program_warning(NOT_CONVERGED, "`{}` has not converged: another training of this length would lower its loss by about {} ({} per row)",
            trained.infer, short(fall), short(per_row(fall, rows)))
        .helps(trained.train_longer())
        .help_if(trained.unclipped())
        .help_if(trained.faster)
        .help_if(trained.standardise());

    /// A warning: a descent that starts at the end of the training lowers the loss by `fall` nats.
    fn not_at_minimum(trained: WarnedTraining<'_>, fall: f64, rows: usize)
        let rate = match trained.ends_at_zero {
            true => trained.faster,
            false => Some("let the rate fall to zero: `schedule = cooldown`"),
        };
        = program_warning(NOT_CONVERGED, "`{}` has not converged: a descent from its result lowers the loss by {} ({} per row)",
            trained.infer, short(fall), short(per_row(fall, rows)))
        .helps(trained.train_longer())
        .help_if(trained.unclipped())
        .help_if(rate)
        .help_if(trained.standardise());

    /// A warning: constrained parameters of an inference block diverge, while the density rises by `rise`
    /// nats. `runaways` contains the name of each such parameter, with its values before and after
    /// the descent. `log` is the name of one of these parameters, if it is the logarithm of a scale.
    fn unbounded_density(infer: &str, runaways: &[Runaway], rise: f64)
        let one = |Runaway { name, from, to, .. }: &Runaway| {
            let verb = if to < from { "falls" } else { "rises" };
            format!("`{name}` {verb} from {} to {}", short(*from), short(*to))
        };
        let more = runaways.len().saturating_sub(LISTED);
        let others = (more > 0).then(|| format!("{more} other parameters move in the same way"));
        let lines = runaways.iter().take(LISTED).map(one).chain(others).collect::<Vec<_>>();
        // The normal prior of a log scale bounds the density, but only at a scale that is zero in practice.
        let log = runaways.iter().find(|runaway| runaway.is_log).map(|runaway| &runaway.name);
        let place = log.map_or("", |_| " at a plausible scale");
        let names = match runaways {
            [only] => format!("`{}`", only.name),
            _ => "such parameters".to_owned(),
        };
        = program_warning(UNBOUNDED_DENSITY, "`{infer}` has no maximum{place}: its log density still rises by {} while {}",
            short(rise), lines.join(" and "))
        .help("use `nuts` or `vi`, which average over {names}")
        .help(match log {
            Some(log) => format!("or write the parameters with the scale `exp({log})` in their non-centred form, which has a bounded density: their mean plus `exp({log}) * z`, with `z ~ Normal(0, 1)`"),
            None => format!("or use a prior that keeps {names} away from the end of the range, such as `InverseGamma(3, 20)` for a scale"),
        });

    /// A warning: a training run ended at a saddle. A descent from a nearby point ends `fall` nats
    /// below the saddle.
    fn at_saddle(infer: &str, fall: f64, rows: usize)
        = program_warning(AT_SADDLE, "`{infer}` ended at a saddle, not at a maximum: from a point nearby, a descent lowers the loss by {} ({} per row)",
            short(fall), short(per_row(fall, rows)))
        .note("the slope is zero there, for instance because the model is symmetric in a parameter that starts at zero: its estimate is merely its start")
        .help("use several random starts: `restarts = 4`")
        .help("or write the model without the symmetry");

    /// A warning: the loss of a training run is so noisy that a fall would not be visible.
    fn noisy_loss(trained: WarnedTraining<'_>, noise: f64, rows: usize)
        let narrower = "start with narrower posteriors (`Normal(scale = 0.1)`), or use more `samples`";
        = program_warning(NOT_CONVERGED, "bnnc cannot tell whether `{}` has converged: the noise of its loss hides changes of {} per row",
            trained.infer, short(per_row(noise, rows)))
        .helps(trained.train_longer())
        .help_if(trained.maximises_bound.then_some(narrower))
        .help_if(trained.standardise());

    /// A warning: the loss of a training run rose from `first` to `last`, because the steps are too long.
    fn diverged(infer: &str, first: f64, last: f64, rows: usize)
        = program_warning(NOT_CONVERGED, "`{infer}` diverged: its loss is {} per row at the end, and was {} at the start",
            short(per_row(last, rows)), short(per_row(first, rows)))
        .help("lower the rate of the `optimiser`, for instance to a tenth")
        .help("or limit the norm of the gradient: `clip = 1`");

    /// A warning: the loss of a training rose from `best` to `last`. The parameters of epoch `epoch`,
    /// where the loss was `best`, were kept.
    fn worsened(trained: WarnedTraining<'_>, best: f64, last: f64, epoch: usize, rows: usize)
        = program_warning(WORSENED, "the loss of `{}` is {} per row at the end, but was {} around epoch {epoch}: the parameters of that epoch were kept",
            trained.infer, short(per_row(last, rows)), short(per_row(best, rows)))
        .help(match trained.ends_at_zero {
            true => "lower the rate of the `optimiser`",
            false => "lower the rate of the `optimiser`, or let it fall to zero: `schedule = cooldown`",
        });
}

/// The losses of several restarts.
#[derive(Clone, Copy, Debug)]
pub struct RestartLosses {
    /// The number of restarts.
    pub count: usize,
    /// The number of restarts that end near the lowest loss. The restart with the lowest loss is
    /// included.
    pub near: usize,
    /// The lowest loss.
    pub best: f64,
    /// The highest loss.
    pub worst: f64,
}

reports! {
    /// A warning: several restarts of a training run end at different losses.
    fn restarts_differ(infer: &str, losses: RestartLosses, rows: usize)
        let RestartLosses { count, near, best, worst } = losses;
        let ends = if near == 1 { "ends" } else { "end" };
        // The probability that one more start ends in a new optimum is about the number of optima
        // that were found only once, divided by the number of starts (Good 1953).
        let reason = match near {
            1 => ": an optimum that only one restart has found may not be the best",
            _ => " if this is a small share",
        };
        = program_warning(RESTARTS_DIFFER, "the {count} restarts of `{infer}` end at losses from {} to {} per row: there are several optima",
            short(per_row(best, rows)), short(per_row(worst, rows)))
        .note("{near} of {count} restarts {ends} near the lowest loss")
        .help("try `restarts = {}`{reason}", 2 * count);
}

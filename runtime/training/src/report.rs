//! Returns the warnings about a training run. Also writes the results of the training to the result
//! object and to the printed table.

use super::convergence::{TrainingSize, Unfinished, material, unfinished};
use super::maximum::{Descent, Runaway};
use super::windows::{LossEstimate, Worsened};
use super::{TrainingResult, restarts};
use crate::diagnostics::losses::{self, RestartLosses, WarnedTraining};
use crate::diagnostics::schedule;
use bnnc_abi::manifest::{
    InferenceBlock, KlWeight, Length, OptimiserChoice, Output, OutputKind, Train, Training,
};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::number::rounded;
use bnnc_base::shape::Sizes;
use bnnc_core::diagnostics::bound::maximum_at_bound;
use bnnc_core::feed::examples;
use bnnc_core::number::{finite, number, table_line};
use bnnc_data::{Dataset, Standardisation};
use serde_json::{Value, json};

/// If a training run has at least this number of rows per weight, the parameters at its maximum do
/// not overfit. Early stopping is then not needed.
pub(super) const ROWS_PER_WEIGHT: usize = 10;

/// Returns whether early stopping ended a training run that was expected to reach its optimum. This
/// is expected in three cases. In the first case, the posterior is variational: its standard
/// deviations would otherwise stay close to their starts. In the second case, the model has few
/// parameters: it does not overfit at its maximum. In the third case, iterates are collected: they
/// scatter around the optimum only after the training has reached it.
pub(super) fn is_cut_off(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> bool {
    let is_stopped = fitted.epochs < fitted.planned && !fitted.interrupted;
    let is_small = ROWS_PER_WEIGHT.saturating_mul(infer.cost.parameters) <= rows;
    is_stopped && (infer.maximises_bound() || is_small || infer.iterated().is_some())
}

/// Returns the text of an option that makes the training longer, such as `epochs = 200`. If
/// `is_cut_off` is true, early stopping ended the training.
pub fn longer(options: &Training, is_cut_off: bool) -> String {
    if is_cut_off {
        return format!("patience = {}", options.patience.saturating_mul(4));
    }
    match options.length() {
        Length::Epochs(epochs) => format!("epochs = {}", epochs.saturating_mul(2)),
        Length::Steps(steps) => format!("steps = {}", steps.saturating_mul(2)),
    }
}

/// A larger learning rate is recommended only if the rate is below this value. With a rate that is
/// a few times larger than this value, some training runs in the book diverge or scatter.
const LARGE: f64 = 1e-2;

/// Returns the advice to use a larger learning rate, or `None` if the rate is not small.
fn faster(train: &Train) -> Option<String> {
    if train.rate >= LARGE {
        return None;
    }
    Some(match &train.options.optimiser {
        OptimiserChoice::Default(name, _) => format!("use a larger rate: `optimiser = {name}({LARGE})`"),
        OptimiserChoice::Given => format!("use a larger rate in `optimiser` than {}", rounded(train.rate, 4)),
    })
}

/// Some parts of the data may not be standardised yet. Returns the options of the data item that would standardise
/// them, such as `standardise = [inputs]`. Returns `None` if all parts are standardised. Images are normalised by
/// channel, because pixels at the edge hardly vary.
pub fn raw(infer: &InferenceBlock, dataset: &Dataset) -> Option<String> {
    let preparation = &dataset.preparation;
    let named = preparation.named.iter().flat_map(|(_, maps)| maps);
    let mut inputs = preparation.inputs.iter().chain(named).peekable();
    let is_raw = inputs.peek().is_some() && inputs.all(|map| *map == Standardisation::IDENTITY);
    // A call such as `zscore(x)` in `inputs` standardises too, so inputs with such a call are not
    // raw.
    let has_raw = is_raw && preparation.zscores.is_empty();
    let is_real = |output: &Output| output.kind == OutputKind::Real;
    let is_target = infer.only_output().is_some_and(is_real);
    let has_raw_target = is_target && preparation.target == Standardisation::IDENTITY;
    let has_images = preparation.has_images();
    let parts = [("inputs", has_raw && !has_images), ("target", has_raw_target)];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter_map(|(part, is_raw)| is_raw.then_some(part))
        .collect();
    let channels = (has_raw && has_images).then(|| "normalise = channels".to_owned());
    let others = (!parts.is_empty()).then(|| format!("standardise = [{}]", parts.join(", ")));
    let options: Vec<String> = channels.into_iter().chain(others).collect();
    (!options.is_empty()).then(|| options.join(", "))
}

/// The maximum number of points of a curve in the result object.
const POINTS: usize = 200;

/// A training run whose loss rises by more than this number of nats per row has diverged. If iterates scatter around an optimum, the loss rises
/// by much less.
const RISE: f64 = 10.0;

/// If the last loss of a training run is above this number of nats per row, the training has diverged, even if
/// the first loss was just as high.
const HUGE: f64 = 1e8;

/// Returns pairs `[epoch, loss]` for the losses per row during the training. If there are
/// validation rows, also returns such pairs for their losses.
pub fn learning(fitted: &TrainingResult, rows: usize) -> Value {
    let every = fitted.history.means().len().div_ceil(POINTS).max(1);
    let each = fitted.history.epochs_each() * every as f64;
    let training = fitted
        .history
        .means()
        .chunks(every)
        .enumerate()
        .map(|(at, losses)| {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            json!([(at as f64 + 0.5) * each, finite(mean / rows.max(1) as f64)])
        });
    let mut value = json!({ "training": training.collect::<Vec<_>>() });
    if let Some(curve) = &fitted.validation {
        let points = curve.points();
        let every = points.len().div_ceil(POINTS).max(1);
        let points = points
            .iter()
            .step_by(every)
            .map(|(epoch, loss)| json!([epoch, finite(*loss)]));
        value["validation"] = points.collect();
    }
    value
}

/// Returns the number of parameters that the optimiser moves.
fn moved(infer: &InferenceBlock) -> usize {
    let parameters = infer.states.iter();
    let parameters = parameters.filter(|state| state.parameter && !state.is_running_mean);
    parameters.map(|state| state.shape.count(&Sizes::default())).sum()
}

/// A reason why the parameters of a training run may be wrong.
#[derive(Clone, Copy, Debug)]
pub enum Doubt<'a> {
    /// The loss rose from the first number to the second number.
    Diverged(f64, f64),
    /// Some parameters do not have a maximum. They diverged, and the loss decreased by this number
    /// of nats.
    Unbounded(&'a [Runaway], f64),
    /// The last parameters had a higher loss than earlier parameters, so the earlier ones were
    /// kept.
    Worsened(&'a Worsened),
    /// A descent from the parameters lowers the loss by this number of nats.
    Above(f64),
    /// The parameters are a saddle. A descent from a nearby point ends below the saddle by this
    /// number of nats.
    Saddle(f64),
    /// The losses show that the training has not converged.
    Unfinished(Unfinished),
}

/// Returns the first and the last loss of a training run that diverged. If the weight of the KL divergence changes, the losses cannot be
/// compared.
fn diverged(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> Option<(f64, f64)> {
    let losses = fitted.history.means();
    let (first, last) = (*losses.first()?, *losses.last()?);
    let rows = rows.max(1) as f64;
    let is_comparable = infer.training()?.kl_weight() == KlWeight::Exact;
    let rose = is_comparable && losses.len() > 1 && last - first > RISE * rows;
    (rose || last > HUGE * rows).then_some((first, last))
}

/// Returns the most serious doubt about a training run. Convergence is not tested if the user or
/// the validation rows stopped the training. After early stopping, convergence is still tested if
/// the training was expected to reach its optimum.
pub fn doubt<'a>(infer: &InferenceBlock, fitted: &'a TrainingResult, rows: usize) -> Option<Doubt<'a>> {
    let options = &infer.training()?.options;
    // If every parameter of a family is fixed, the losses are only noise.
    if infer.maximises_bound() && infer.cost.variational_parameters == 0 {
        return None;
    }
    // Iterates that are averaged should scatter around the optimum, so a loss above the minimum is
    // not a reason for doubt.
    let is_point = infer.iterated().is_none();
    // Iterates that diverge are reported together with the posterior that is computed from them.
    if is_point && let Some((first, last)) = diverged(infer, fitted, rows) {
        return Some(Doubt::Diverged(first, last));
    }
    if let Some(descent) = fitted
        .descent
        .as_ref()
        .filter(|descent| !descent.runaways.is_empty())
    {
        return Some(Doubt::Unbounded(&descent.runaways, descent.fall));
    }
    if let Some(worsened) = &fitted.worsened {
        return Some(Doubt::Worsened(worsened));
    }
    if !is_judged(infer, fitted, rows) {
        return None;
    }
    match fitted.descent.as_ref().filter(|_| is_point) {
        Some(descent) if descent.is_short => return Some(Doubt::Above(descent.fall)),
        Some(Descent {
            saddle: Some(fall), ..
        }) => return Some(Doubt::Saddle(*fall)),
        // If the loss is at its minimum, it cannot decrease further. The training then does not
        // count as unfinished, even if the loss has noise.
        Some(descent) if descent.is_settled => return None,
        Some(_) | None => {}
    }
    let size = TrainingSize {
        weights: infer.cost.parameters,
        moved: moved(infer),
        rows,
    };
    unfinished(&fitted.history, options.rates(rows), size).map(Doubt::Unfinished)
}

/// Returns whether the losses of a training run can show that it has converged. The training of an
/// ensemble counts as complete if at least one member was trained to the end.
fn is_judged(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> bool {
    let is_whole = fitted.epochs == fitted.planned && !fitted.interrupted;
    (is_whole || is_cut_off(infer, fitted, rows)) && fitted.loss.is_finite()
}

/// Returns the warning that the training diverged, or `None` if it did not. After a divergence, the parameters
/// are arbitrary, and other warnings about them would only describe consequences. `rows` is the number
/// of training rows.
pub fn divergence(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> Option<Diagnostic> {
    let (first, last) = diverged(infer, fitted, rows)?;
    Some(losses::diverged(&infer.name, first, last, rows))
}

/// Returns the warning that the density does not have a maximum, or that the training ended at a
/// saddle. Methods that test in their own way whether a point is a maximum use this warning. `rows` is the number of training
/// rows.
pub fn no_maximum(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> Option<Diagnostic> {
    let descent = fitted.descent.as_ref()?;
    match (&descent.runaways[..], descent.saddle) {
        ([], saddle) => saddle.map(|fall| losses::at_saddle(&infer.name, fall, rows)),
        (runaways, _) => Some(losses::unbounded_density(&infer.name, runaways, descent.fall)),
    }
}

/// Returns the warnings about parameters whose maximum is at an end of their range.
pub fn at_ends<'a>(
    infer: &'a InferenceBlock,
    fitted: &'a TrainingResult,
) -> impl Iterator<Item = Diagnostic> + 'a {
    let all = fitted.descent.iter().flat_map(|descent| &descent.at_ends);
    all.map(|found| maximum_at_bound(&infer.name, &found.name, found.end))
}

/// Returns the warning that the training of an inference block on `rows` rows ends before its schedule.
pub fn unreached(infer: &InferenceBlock, rows: usize) -> Option<Diagnostic> {
    let options = &infer.training()?.options;
    let time = options.rates(rows).unreached()?;
    let schedule = options.schedule.to_string();
    Some(schedule::unreached(
        &infer.name,
        &schedule,
        time,
        options.length(),
    ))
}

/// Returns the warnings about the training of an inference block.
pub fn warnings(infer: &InferenceBlock, fitted: &TrainingResult, dataset: &Dataset) -> Vec<Diagnostic> {
    let Some(train) = infer.training() else {
        return Vec::new();
    };
    let rows = examples(&infer.bindings, &dataset.train);
    let longer = longer(&train.options, is_cut_off(infer, fitted, rows));
    let (faster, raw) = (faster(train), raw(infer, dataset));
    let trained = WarnedTraining {
        infer: &infer.name,
        longer: &longer,
        ends_at_zero: train.options.schedule.ends_at_zero(),
        clip: train.options.clip,
        faster: faster.as_deref(),
        raw: raw.as_deref(),
        maximises_bound: infer.maximises_bound(),
        series: series(infer),
    };
    let doubt = doubt(infer, fitted, rows).map(|doubt| match doubt {
        Doubt::Diverged(first, last) => losses::diverged(&infer.name, first, last, rows),
        Doubt::Unbounded(runaways, rise) => losses::unbounded_density(&infer.name, runaways, rise),
        Doubt::Worsened(Worsened { best, last }) => {
            losses::worsened(trained, best.estimate.loss, last.loss, best.epoch, rows)
        }
        Doubt::Above(fall) => losses::not_at_minimum(trained, fall, rows),
        Doubt::Saddle(fall) => losses::at_saddle(&infer.name, fall, rows),
        Doubt::Unfinished(Unfinished::Falling(fall)) => losses::not_converged(trained, fall, rows),
        Doubt::Unfinished(Unfinished::Noisy(error)) => losses::noisy_loss(trained, error, rows),
    });
    let mut warnings: Vec<Diagnostic> = doubt.into_iter().collect();
    // If a training run has few and noisy losses, the lowest loss may be low by chance. The kept
    // parameters may then come from an early epoch.
    if let (Some(_), Some(descent)) = (&fitted.worsened, &fitted.descent)
        && train.has_noise
        && descent.is_short
    {
        warnings.push(losses::not_at_minimum(trained, descent.fall, rows));
    }
    warnings.extend(at_ends(infer, fitted));
    let least = material(infer.cost.parameters, rows);
    if let Some((best, worst)) = spread(fitted)
        && worst.is_above(best, least)
    {
        let settled = fitted.restarts.iter().map(|restart| restart.settled);
        let losses = RestartLosses {
            count: fitted.restarts.len(),
            near: settled.filter(|settled| !settled.is_above(best, least)).count(),
            best: best.loss,
            worst: worst.loss,
        };
        warnings.push(losses::restarts_differ(&infer.name, losses, rows));
    }
    warnings
}

/// Returns the order of the Taylor series that replaces a logistic likelihood under `integrate`.
fn series(infer: &InferenceBlock) -> Option<usize> {
    let vi = infer.training()?.vi.as_ref()?;
    let is_logistic = |output: &Output| matches!(output.kind, OutputKind::Bool | OutputKind::Classes(_));
    let is_used = !vi.integrate.is_empty() && infer.outputs.iter().any(is_logistic);
    is_used.then_some(vi.series)
}

/// Returns the best and the worst loss of several restarts.
fn spread(fitted: &TrainingResult) -> Option<(LossEstimate, LossEstimate)> {
    let settled = || fitted.restarts.iter().map(|restart| restart.settled);
    let best = settled().min_by(|a, b| a.loss.total_cmp(&b.loss))?;
    let worst = settled().max_by(|a, b| a.loss.total_cmp(&b.loss))?;
    Some((best, worst))
}

/// Adds the convergence and the restarts to the diagnostics of an inference block. If the
/// validation rows ended a training run that need not reach its optimum, or if no descent can test the result because of running means or augmentation,
/// the field for the convergence is null.
pub fn diagnostics(value: &mut Value, infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) {
    if fitted.steps == 0 {
        return;
    }
    value["converged"] = match doubt(infer, fitted, rows) {
        _ if fitted.interrupted => json!(false),
        Some(_) => json!(false),
        // With running means or augmentation, no descent continues the training. The loss may then still fall unnoticed.
        None if fitted.descent.is_none() && lacks_descent(infer) => Value::Null,
        None if is_judged(infer, fitted, rows) => json!(true),
        None => Value::Null,
    };
    if !fitted.restarts.is_empty() {
        let one = |restart: &restarts::Restart| {
            json!({
                "seed": restart.seed,
                "loss": finite(restart.settled.loss),
                "loss_se": finite(restart.settled.error),
            })
        };
        value["restarts"] = fitted.restarts.iter().map(one).collect();
    }
}

/// Returns whether a descent cannot test the end of the training: the model has running means, or its inputs change at random.
fn lacks_descent(infer: &InferenceBlock) -> bool {
    let is_augmented = infer
        .training()
        .is_some_and(|train| !train.options.augment.is_empty());
    is_augmented || infer.states.iter().any(|state| state.is_running_mean)
}

/// Returns the line of the printed table that shows the range of the losses of several restarts.
pub fn table(fitted: &TrainingResult, rows: usize) -> String {
    match spread(fitted) {
        Some((best, worst)) => {
            let range = format!("{} to {}", per_row(worst.loss, rows), per_row(best.loss, rows));
            let count = fitted.restarts.len();
            let name = format!("of {count} restarts");
            format!("  {name:<21} {range:>10}, means of the last epochs\n")
        }
        None => String::new(),
    }
}

/// Adds the losses of a training run to the diagnostics of an inference block.
pub fn losses(value: &mut Value, infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) {
    value["loss"] = finite(fitted.loss);
    value["loss_per_row"] = finite(fitted.loss / rows.max(1) as f64);
    value["epochs"] = json!(fitted.epochs);
    value["steps"] = json!(fitted.steps);
    diagnostics(value, infer, fitted, infer.examples(rows));
}

/// Computes the log density per row from the loss of all rows, and formats it.
pub fn per_row(loss: f64, rows: usize) -> String {
    number(-loss / rows.max(1) as f64)
}

/// Returns the first lines of the printed table: the log posterior, or the origin of the iterates.
pub fn head(infer: &InferenceBlock, fitted: &TrainingResult, rows: usize) -> String {
    let from = infer.iterated().and_then(|swag| swag.options.iterates.as_ref());
    let mut text = match from {
        Some(name) => table_line("iterates of", name),
        None => table_line("log posterior / row", per_row(fitted.loss, rows)),
    };
    text.push_str(&table(fitted, rows));
    text
}

//! Prior and posterior predictive checks. A model predicts data sets for the training rows, before and after the fit. These data sets are compared
//! with the observed data.

use crate::export::chosen;
use bnnc_abi::manifest::{InferenceBlock, NoPrior, Output};
use bnnc_abi::plan::Plan;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::number::finite;
use bnnc_core::predict::{Predictive, Predictor};
use bnnc_core::score::{classes, probabilities, targets};
use bnnc_core::states::StateValues;
use bnnc_core::thinned::thinned;
use bnnc_data::Rows;
use bnnc_data::metrics::{quantile, sorted};
use bnnc_inference::draws::StateDraws;
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_math::philox;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The number of replicated data sets.
const REPLICATES: usize = 40;

/// A replicated data set has at most this number of rows.
const ROWS: usize = 2000;
/// A replicated data set has at least this number of rows, even if the network is large.
const FEWEST: usize = 100;

/// With this number of floating-point operations, the replicates take about a second on one thread.
const WORK: u64 = 1 << 33;

/// The name of a statistic, and the function that computes it for a data set.
type Statistic = (&'static str, fn(&[f64]) -> f64);

const STATISTICS: [Statistic; 4] = [
    ("mean", mean),
    ("sd", sd),
    ("min", |values| {
        values.iter().copied().fold(f64::INFINITY, f64::min)
    }),
    ("max", |values| {
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }),
];

/// An output of a model, with its observed values and the data sets that the model predicts.
#[derive(Clone, Debug)]
pub struct PredictiveCheck {
    /// The name of the output's column.
    pub column: String,
    /// The names of the classes. `None` if the output is a number.
    pub classes: Option<Vec<String>>,
    /// The observed values of the output, or the observed classes.
    pub observed: Vec<f64>,
    /// True if all posterior predictive data sets are drawn with the same parameter values.
    pub is_point: bool,
    /// The posterior predictive data sets. The vector is empty if draws of the output cannot be made.
    pub posterior: Vec<Vec<f64>>,
    /// The prior predictive data sets, or the reason why they cannot be drawn.
    pub prior: Result<Vec<Vec<f64>>, NoPrior>,
}

/// Returns the predictive checks of those outputs that have one number or one class per row.
///
/// # Errors
/// Fails if there is too little memory, or if some columns do not fit the program.
pub fn checks(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Vec<PredictiveCheck>, Stop> {
    let dataset = &outcome.dataset;
    let train = &dataset.train;
    let is_whole = examples(&infer.bindings, train) != train.count;
    if train.count == 0 || is_whole {
        return Ok(Vec::new());
    }
    let rows = thinned(train, train.count.div_ceil(replicated(&infer.predict.plan)));
    let posterior = posterior(infer, outcome, &rows, context)?;
    let prior = prior(infer, outcome, &rows, context)?;
    let single = |output: &&Output| output.elements() == 1;
    let outputs = infer
        .outputs
        .iter()
        .enumerate()
        .filter(|(_, output)| single(output));
    let mut all = Vec::new();
    for (place, output) in outputs {
        let column = infer.column(output);
        let classes_of = output.kind.classes();
        let names = classes_of.map(|count| names(infer, output, count));
        let observed = match names {
            Some(_) => classes(&rows, dataset, column)?
                .into_iter()
                .map(f64::from)
                .collect(),
            None => targets(&rows, dataset, column)?,
        };
        let of_output = |sets: &Vec<Vec<Vec<f64>>>| -> Vec<Vec<f64>> {
            let is_whole =
                |set: &&Vec<f64>| set.len() == rows.count && set.iter().all(|value| value.is_finite());
            sets.get(place)
                .into_iter()
                .flatten()
                .filter(is_whole)
                .cloned()
                .collect()
        };
        all.push(PredictiveCheck {
            column: column.to_owned(),
            classes: names,
            observed,
            is_point: infer.finds_point(),
            posterior: of_output(&posterior),
            prior: match &prior {
                Ok(sets) => match of_output(sets) {
                    sets if sets.is_empty() => {
                        let why = "its draws are not finite, or it has no sampler";
                        Err(NoPrior(why.to_owned()))
                    }
                    sets => Ok(sets),
                },
                Err(why) => Err(why.clone()),
            },
        });
    }
    Ok(all)
}

/// Returns the largest number of rows of a replicated data set. More rows would make the
/// predictions by `plan` too slow.
fn replicated(plan: &Plan) -> usize {
    let flops = |rows: usize| plan.flops(&Sizes::default().with(Symbol::Batch, rows));
    // All rows share the draws of the parameters.
    let of_row = flops(2).saturating_sub(flops(1)).max(1);
    let most = WORK / of_row.saturating_mul(REPLICATES as u64);
    usize::try_from(most).unwrap_or(ROWS).clamp(FEWEST, ROWS)
}

/// Returns the names of the classes of an output. If the classes do not have names, returns their indices as text.
fn names(infer: &InferenceBlock, output: &Output, count: usize) -> Vec<String> {
    match infer.names.classes(&output.name, count) {
        Some(names) => names.to_vec(),
        None => (0..count).map(|class| class.to_string()).collect(),
    }
}

/// The first index selects the output, and the second index selects the data set.
type Sets = Vec<Vec<Vec<f64>>>;

/// Returns the posterior predictive data sets of each output. The result is empty if predictions integrate over some weights.
fn posterior(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    rows: &Rows,
    context: &Context,
) -> Result<Sets, Stop> {
    let Some(last) = outcome.splits.last() else {
        return Ok(Vec::new());
    };
    let values: Arc<StateValues> = match (
        last.found.sampled(),
        last.found.draws(infer, REPLICATES, context)?,
    ) {
        (Some(sampled), _) => sampled.values.clone(),
        (None, Some(StateDraws { values, .. })) => values,
        (None, None) => return Ok(Vec::new()),
    };
    let mut predictor = Predictor::new(infer, rows, &outcome.dataset, REPLICATES, context)?;
    predictor.set_parameters(&values)?;
    sets((infer, "posterior"), outcome, &mut predictor, context)
}

/// Returns the prior predictive data sets of each output, or the reason why they cannot be drawn.
fn prior(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    rows: &Rows,
    context: &Context,
) -> Result<Result<Sets, NoPrior>, Stop> {
    let program = match &infer.prior {
        Ok(program) => program.clone(),
        Err(why) => return Ok(Err(why.clone())),
    };
    let before = InferenceBlock {
        predict: program,
        states: Vec::new(),
        ..infer.clone()
    };
    let mut predictor = Predictor::new(&before, rows, &outcome.dataset, REPLICATES, context)?;
    sets((infer, "prior"), outcome, &mut predictor, context).map(Ok)
}

/// Draws data sets for each output. The data sets consist of the draws of the predictor. For class outputs, classes are drawn from their
/// probabilities instead.
fn sets(
    (infer, stage): (&InferenceBlock, &str),
    outcome: &InferenceOutcome,
    predictor: &mut Predictor,
    context: &Context,
) -> Result<Sets, Stop> {
    let mut all: Sets = vec![vec![Vec::new(); REPLICATES]; infer.outputs.len()];
    predictor.run(|range, block| {
        block.undo(infer, &outcome.dataset.preparation);
        for ((output, prediction), sets) in infer.outputs.iter().zip(block.each()).zip(&mut all) {
            let stream = infer.quantity_name(output, &format!("{stage}/{}", infer.name));
            let key = philox::key(context.seed, &stream);
            let drawn = match prediction.draw.is_empty() {
                true => &drawn(output, prediction, (key, range.start)),
                false => &prediction.draw,
            };
            let each = drawn.chunks_exact(prediction.rows.max(1));
            sets.iter_mut()
                .zip(each)
                .for_each(|(set, drawn)| set.extend(drawn));
        }
    })?;
    Ok(all)
}

/// Draws classes from their probabilities, `[draws, rows]`. The result is empty for outputs that are numbers. `first` is the index of the first row.
fn drawn(output: &Output, prediction: &Predictive, (key, first): (u64, usize)) -> Vec<f64> {
    let Some(classes) = output.kind.classes() else {
        return Vec::new();
    };
    let all = probabilities(prediction, output);
    let draw = |(at, row): (usize, &[f64])| {
        let (draw, number) = (at / prediction.rows.max(1), first + at % prediction.rows.max(1));
        chosen(row, philox::uniform(key, [0, 0, draw as u32], number as u64)) as f64
    };
    all.chunks_exact(classes.max(1)).enumerate().map(draw).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn sd(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// Returns the relative frequency of each class among the values.
pub fn shares(values: &[f64], classes: usize) -> Vec<f64> {
    let share = |class: usize| {
        let own = values.iter().filter(|value| **value == class as f64);
        own.count() as f64 / values.len().max(1) as f64
    };
    (0..classes).map(share).collect()
}

/// Returns the mean of a statistic over data sets, and the interval that contains the central 90 % of its values.
pub fn spread(values: &[f64]) -> (f64, f64, f64) {
    let sorted = sorted(values.iter().copied());
    (mean(values), quantile(&sorted, 0.05), quantile(&sorted, 0.95))
}

impl PredictiveCheck {
    /// Returns the check as a part of `result.json`: statistics of the observed values and of the predicted data sets.
    pub fn json(&self) -> Value {
        let of = |sets: &[Vec<f64>]| match &self.classes {
            Some(names) => {
                let all: Vec<Vec<f64>> = sets.iter().map(|set| shares(set, names.len())).collect();
                let share = |class: usize| all.iter().map(|shares| shares[class]).collect::<Vec<f64>>();
                let each = names.iter().enumerate();
                each.map(|(class, name)| (name.clone(), summary(&share(class))))
                    .collect()
            }
            None => {
                let of = |statistic: fn(&[f64]) -> f64| {
                    sets.iter().map(|set| statistic(set)).collect::<Vec<f64>>()
                };
                let each = STATISTICS.iter();
                each.map(|(name, statistic)| ((*name).to_owned(), summary(&of(*statistic))))
                    .collect::<Map<_, _>>()
            }
        };
        let observed: Map<String, Value> = match &self.classes {
            Some(names) => {
                let shares = shares(&self.observed, names.len());
                names
                    .iter()
                    .cloned()
                    .zip(shares.into_iter().map(finite))
                    .collect()
            }
            None => {
                let each = STATISTICS.iter();
                each.map(|(name, of)| ((*name).to_owned(), finite(of(&self.observed))))
                    .collect()
            }
        };
        let mut value = json!({ "observed": observed });
        if !self.posterior.is_empty() {
            value["posterior"] = Value::Object(of(&self.posterior));
        }
        match &self.prior {
            Ok(sets) => value["prior"] = Value::Object(of(sets)),
            Err(NoPrior(why)) => value["no_prior"] = json!(why),
        }
        value
    }
}

fn summary(values: &[f64]) -> Value {
    let (mean, low, high) = spread(values);
    json!({ "mean": finite(mean), "q05": finite(low), "q95": finite(high) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::plan::{Amount, Extent, Launch, PlanStep};
    use bnnc_base::arena::Arena;
    use bnnc_base::dtype::Precision;
    use bnnc_base::shape::Dim;

    #[test]
    fn shares_and_statistics_match_the_values() {
        assert_eq!(shares(&[0.0, 2.0, 2.0, 0.0, 0.0], 3), [0.6, 0.0, 0.4]);
        assert_eq!(sd(&[1.0, 3.0]), 1.0);
        assert_eq!(spread(&[2.0, 2.0]), (2.0, 2.0, 2.0));
    }

    #[test]
    fn costly_predictions_have_fewer_rows() {
        let plan = |flops: i64| Plan {
            name: "predict".to_owned(),
            precision: Precision::F32,
            buffers: Arena::default(),
            steps: vec![PlanStep::Launch(Launch {
                kernel: 0,
                buffers: Vec::new(),
                ints: Vec::new(),
                outer: Amount::one(Extent::of(Dim::Symbol(Symbol::Batch))),
                work: Amount::one(Extent::fixed(flops)),
                reduces: Vec::new(),
            })],
            kernels: 1,
        };
        // 40 data sets of 500 rows with 429,496 operations each have 2^33 operations, up to rounding.
        assert_eq!(replicated(&plan(429_496)), 500);
        assert_eq!(
            [1, 1_000_000_000].map(|flops| replicated(&plan(flops))),
            [ROWS, FEWEST]
        );
    }
}

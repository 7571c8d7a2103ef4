//! The predictive distributions that the plots of real outputs show. These are intervals and ranks for
//! rows, and a curve that is a function of one input.

use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, Output, OutputKind};
use bnnc_core::context::{Context, Stop};
use bnnc_core::score::targets;
use bnnc_core::thinned::thinned;
use bnnc_data::metrics::{DrawMatrix, extent, quantile, sorted};
use bnnc_data::table::ArrayValues;
use bnnc_data::{Dataset, InputValues, Rows, Standardisation, expression};
use bnnc_inference::outcome::InferenceOutcome;

/// A plot shows at most this number of rows.
const ROWS: usize = 2000;

/// A curve has this number of points.
const POINTS: usize = 241;

/// A curve is computed from at most this number of draws.
const CURVE_DRAWS: usize = 4000;

/// The draws of the weights from which a curve is computed contain at most this number of reals.
const WEIGHTS: usize = 1 << 26;

/// Predictions for some rows, in original units.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// True if the quantiles are those of the mean instead of the target, because the distribution of the target does not have a sampler.
    pub of_mean: bool,
    /// The predictive mean of each row.
    pub mean: Vec<f64>,
    /// The 5 %, 25 %, 75 % and 95 % quantiles of each row.
    pub quantiles: [Vec<f64>; 4],
    /// The observed targets of the rows whose target is known.
    pub observed: Vec<f64>,
    /// For each observed target, two fractions: the fraction of draws that are below the target, and the fraction of draws that are not above
    /// it. If the model is calibrated, a random
    /// point between the two fractions has a uniform distribution (Czado, Gneiting and Held 2009, Biometrics 65: 1254).
    pub ranks: Vec<[f64; 2]>,
}

impl Forecast {
    /// Returns the fraction of ranks inside the central interval of this level. A rank is the range between two fractions. If only a part of
    /// this range is inside the interval, only this part counts.
    pub fn coverage(&self, level: f64) -> f64 {
        let [low, high] = [0.5 - 0.5 * level, 0.5 + 0.5 * level];
        let inside = |[below, not_above]: &[f64; 2]| {
            // If the distribution is continuous, the two fractions differ by at most one draw.
            match not_above - below < 1e-3 {
                true => f64::from(u8::from((below + not_above - 1.0).abs() <= level + 1e-12)),
                false => (not_above.min(high) - below.max(low)).max(0.0) / (not_above - below),
            }
        };
        self.ranks.iter().map(inside).sum::<f64>() / self.ranks.len().max(1) as f64
    }
}

/// Predictions on a grid of values of the only input.
#[derive(Clone, Debug)]
pub struct ForecastCurve {
    /// The name of the input.
    pub name: String,
    /// The values of the input on the grid, in original units.
    pub x: Vec<f64>,
    /// The predictions on the grid.
    pub forecast: Forecast,
    /// The training rows, as points of an input and a target.
    pub points: Vec<(f64, f64)>,
}

/// Returns predictions for the scored rows of the last split. They belong to the output at index
/// `place`. Returns `None` if the output is not a single
/// number.
///
/// # Errors
/// Fails if there is too little memory.
pub fn of_rows(
    (infer, place): (&InferenceBlock, usize),
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Option<Forecast>, Stop> {
    let output = &infer.outputs[place];
    if !is_number(output) {
        return Ok(None);
    }
    let (all, _) = outcome.scored();
    let rows = thinned(all, all.count.div_ceil(ROWS));
    let observed = targets(&rows, &outcome.dataset, infer.column(output))?;
    let draws = infer.predictive_draws();
    forecast(
        (infer, place),
        outcome,
        &rows,
        &outcome.dataset,
        observed,
        (draws, context),
    )
}

/// Returns the curve of an output as a function of the only input. Returns `None` if the model does not have exactly one input, the input is not
/// a real number, or the distribution of an output depends on another output.
///
/// # Errors
/// Fails if there is too little memory.
pub fn curve(
    (infer, place): (&InferenceBlock, usize),
    outcome: &InferenceOutcome,
    spec: &DataSpec,
    context: &Context,
) -> Result<Option<ForecastCurve>, Stop> {
    let dataset = &outcome.dataset;
    let output = &infer.outputs[place];
    let is_drawn = is_number(output) && infer.outputs.iter().all(|output| !output.given);
    let Some(input) = only_input(infer, dataset, spec).filter(|_| is_drawn) else {
        return Ok(None);
    };
    let seen = &input.values;
    let (low, high) = extent(seen.iter().copied());
    if low >= high {
        return Ok(None);
    }
    let room = 0.15 * (high - low);
    let step = (high - low + 2.0 * room) / (POINTS - 1) as f64;
    let x: Vec<f64> = (0..POINTS).map(|at| low - room + step * at as f64).collect();
    let rows = input.rows(&dataset.train, &x);
    let draws = infer
        .predictive_draws()
        .max(CURVE_DRAWS.min(WEIGHTS / infer.cost.parameters.max(1)));
    let found = forecast(
        (infer, place),
        outcome,
        &rows,
        dataset,
        Vec::new(),
        (draws, context),
    )?;
    let y = targets(&dataset.train, dataset, infer.column(output))?;
    Ok(found.map(|forecast| ForecastCurve {
        name: input.name.clone(),
        points: seen.iter().copied().zip(y).collect(),
        x,
        forecast,
    }))
}

fn is_number(output: &Output) -> bool {
    output.elements() == 1 && matches!(output.kind, OutputKind::Real | OutputKind::Count)
}

fn forecast(
    (infer, place): (&InferenceBlock, usize),
    outcome: &InferenceOutcome,
    rows: &Rows,
    dataset: &Dataset,
    observed: Vec<f64>,
    (draws, context): (usize, &Context),
) -> Result<Option<Forecast>, Stop> {
    let Some(last) = outcome.splits.last() else {
        return Ok(None);
    };
    let mut predictor = last
        .found
        .forecaster(infer, (rows, false), dataset, (draws, context))?;
    let mut found = Forecast {
        observed,
        ..Forecast::default()
    };
    predictor.run(&mut |range, block| {
        block.undo(infer, &dataset.preparation);
        let block = &block.each()[place];
        let size = block.rows * block.draws;
        let (mean, draw) = (&block.mean, &block.draw);
        found.of_mean = draw.len() != size;
        let spread = if found.of_mean { mean } else { draw };
        if spread.len() != size {
            return;
        }
        for (at, row) in range.enumerate() {
            let draws = sorted(DrawMatrix::new(spread, block.rows).of_row(at));
            let count = draws.len() as f64;
            let sum: f64 = match mean.len() == size {
                true => DrawMatrix::new(mean, block.rows).of_row(at).sum(),
                false => draws.iter().sum(),
            };
            found.mean.push(sum / count);
            for (column, p) in found.quantiles.iter_mut().zip([0.05, 0.25, 0.75, 0.95]) {
                column.push(quantile(&draws, p));
            }
            if let Some(y) = found.observed.get(row).filter(|_| !found.of_mean) {
                let below = draws.partition_point(|x| x < y) as f64;
                let not_above = draws.partition_point(|x| x <= y) as f64;
                found.ranks.push([below / count, not_above / count]);
            }
        }
    })?;
    Ok((!found.mean.is_empty()).then_some(found))
}

/// The only input of a model.
struct Only {
    name: String,
    /// The values of the input in the training rows, in original units.
    values: Vec<f64>,
    /// The scale and the standardisation of the input column. `None` if the input is a separate field.
    column: Option<(f64, Standardisation)>,
}

fn only_input(infer: &InferenceBlock, dataset: &Dataset, spec: &DataSpec) -> Option<Only> {
    let rows = &dataset.train;
    let is_output = |binding: &&Binding| infer.outputs.iter().any(|output| output.name == binding.port);
    let mut inputs = infer.bindings.iter().filter(|binding| !is_output(binding));
    let (input, None) = (inputs.next()?, inputs.next()) else {
        return None;
    };
    match &input.from {
        DataSource::Inputs if rows.width == 1 => {
            let map = *dataset.preparation.inputs.first()?;
            let undo = |z: &f64| map.undo(*z) / spec.scale;
            Some(Only {
                name: column_name(spec, rows, infer).unwrap_or_else(|| input.port.clone()),
                values: rows.inputs.reals().iter().map(undo).collect(),
                column: Some((spec.scale, map)),
            })
        }
        DataSource::Field(name) => match &rows.field(name)?.values {
            ArrayValues::Real(values) if values.len() == rows.count => Some(Only {
                name: name.clone(),
                values: values.clone(),
                column: None,
            }),
            ArrayValues::Real(_) | ArrayValues::Byte(_) | ArrayValues::Int(_) | ArrayValues::Level { .. } => {
                None
            }
        },
        DataSource::Inputs
        | DataSource::Input(_)
        | DataSource::Row
        | DataSource::Whole(_)
        | DataSource::Shared(_) => None,
    }
}

/// Returns the name of the only input column. The only column is the column in the program, or the only field that is not a target.
fn column_name(spec: &DataSpec, rows: &Rows, infer: &InferenceBlock) -> Option<String> {
    if let [column] = &spec.inputs[..] {
        return Some(expression::text(column));
    }
    let is_target = |name: &str| infer.outputs.iter().any(|output| infer.column(output) == name);
    let mut others = rows.fields.iter().filter(|field| !is_target(&field.name));
    match (others.next(), others.next()) {
        (Some(field), None) => Some(field.name.clone()),
        _ => None,
    }
}

impl Only {
    /// Returns rows whose input has the values `x`.
    fn rows(&self, like: &Rows, x: &[f64]) -> Rows {
        let mut rows = like.clone();
        rows.count = x.len();
        rows.index = (0..x.len()).collect();
        match self.column {
            Some((scale, map)) => {
                rows.inputs = InputValues::Real(x.iter().map(|x| map.apply(x * scale)).collect());
                rows.fields.clear();
            }
            None => {
                rows.inputs = InputValues::Real(Vec::new());
                rows.width = 0;
                rows.fields.retain(|field| field.name == self.name);
                rows.fields
                    .iter_mut()
                    .for_each(|field| field.values = ArrayValues::Real(x.to_vec()));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ranks(ranks: Vec<[f64; 2]>) -> Forecast {
        Forecast {
            ranks,
            ..Forecast::default()
        }
    }

    #[test]
    fn coverage_counts_central_ranks() {
        let forecast = of_ranks([0.01, 0.2, 0.5, 0.7, 0.97].map(|rank| [rank, rank]).to_vec());
        assert_eq!(forecast.coverage(0.0), 0.2);
        assert_eq!(forecast.coverage(0.5), 0.4);
        assert_eq!(forecast.coverage(0.9), 0.6);
        assert_eq!(forecast.coverage(1.0), 1.0);
    }

    /// The model is calibrated. The target is a Poisson variable with mean 1.3. The frequency of each value equals the probability of this value.
    #[test]
    fn counts_of_a_calibrated_model_are_covered_as_often_as_their_level() {
        let (mut below, mut probability) = (0.0, (-1.3f64).exp());
        let mut values: Vec<([f64; 2], f64)> = Vec::new();
        for value in 1..40 {
            values.push(([below, below + probability], probability));
            below += probability;
            probability *= 1.3 / f64::from(value);
        }
        for level in [0.05, 0.3, 0.5, 0.9] {
            let covered = values
                .iter()
                .map(|(rank, p)| p * of_ranks(vec![*rank]).coverage(level))
                .sum::<f64>();
            assert!((covered - level).abs() < 2e-3, "{level}: {covered}");
        }
    }
}

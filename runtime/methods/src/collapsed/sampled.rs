//! Predictions from draws from the box. Such draws are used if the integral does not have an exact
//! form, or if the exact form is too expensive for a row.

use crate::collapsed::boxes::{BoxedWeight, Boxes};
use crate::collapsed::errors::{self, Error};
use crate::collapsed::local::LocalProgram;
use crate::collapsed::pieces::RowPlace;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::Collapsed;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::{Forecaster, Take};
use bnnc_core::predict::{IntegralResults, Predictive, Predictor};
use bnnc_core::states::StateValues;
use bnnc_core::tally::Tally;
use bnnc_data::metrics::log_mean_exp;
use bnnc_data::{Dataset, Rows};
use bnnc_math::philox;

/// Predictions from draws from the box, with standard errors.
pub struct SampledPredictions {
    predictor: Predictor,
    strata: Strata,
    is_known: bool,
    tally: Tally,
}

/// The draws, grouped by iterate.
#[derive(Clone, Copy, Debug)]
struct Strata {
    iterates: usize,
    /// The number of draws from the box around each iterate.
    each: usize,
    /// The number of predictive draws. The draws are chosen among the draws from the box. They are
    /// all of these draws, an evenly spaced subset, or several copies of each draw.
    draws: usize,
}

impl SampledPredictions {
    /// Prepares predictions with `draws` draws. The targets of the rows may be unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(
        (infer, collapsed): (&InferenceBlock, &Collapsed),
        (values, boxes): (&StateValues, &Boxes),
        (rows, is_known): (&Rows, bool),
        dataset: &Dataset,
        (draws, context): (usize, &Context),
    ) -> Result<SampledPredictions, Stop> {
        let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, is_known), context)?;
        predictor.set_parameters(&drawn((infer, collapsed), (values, boxes), context))?;
        Ok(SampledPredictions {
            predictor,
            strata: Strata {
                iterates: boxes.iterates,
                each: collapsed.options.draws.max(1),
                draws,
            },
            is_known,
            tally: Tally::of(boxes.columns.len()),
        })
    }
}

impl Forecaster for SampledPredictions {
    fn tally(&self) -> Option<&Tally> {
        Some(&self.tally)
    }

    fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop> {
        self.is_known = false;
        self.predictor.replace_rows(infer, rows, dataset)
    }

    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop> {
        let (strata, is_known, tally) = (self.strata, self.is_known, &mut self.tally);
        self.predictor.run(|range, block| {
            for predictive in block.each_mut() {
                let is_known = is_known && !predictive.log_likelihood.is_empty();
                predictive.integrated = strata.results(predictive, is_known);
            }
            take(range, block);
            // `take` has converted the block to original units, so the tally is in original units
            // too.
            tally.note(block);
            tally.drawn_rows += block.rows as u64;
        })
    }
}

impl Strata {
    /// Splits one column of `[draws, width]` by iterate. Draws that are copies of the previous draw
    /// are left out.
    fn split<'v>(
        self,
        values: &'v [f64],
        (column, width): (usize, usize),
    ) -> impl Iterator<Item = impl Iterator<Item = f64> + Clone + 'v> {
        let held = self.iterates * self.each;
        let position = move |draw: usize| draw * held / self.draws.max(1);
        let first = move |iterate: usize| (iterate * self.each * self.draws).div_ceil(held.max(1));
        let is_new = move |draw: &usize| *draw == 0 || position(*draw) != position(*draw - 1);
        (0..self.iterates).map(move |iterate| {
            let draws = first(iterate)..first(iterate + 1);
            draws
                .filter(is_new)
                .map(move |draw| values[draw * width + column])
        })
    }

    /// For each column of `[draws, width]`, returns the standard error of the mean.
    fn errors(self, values: &[f64], width: usize) -> Vec<f64> {
        let share = 1.0 / self.iterates.max(1) as f64;
        let of = |column: usize| {
            let parts = self.split(values, (column, width)).map(errors::of_draws);
            let all = parts.fold(Error::default(), |all, part| all.plus(part.times(share)));
            all.total()
        };
        (0..width).map(of).collect()
    }

    fn results(self, block: &Predictive, is_known: bool) -> IntegralResults {
        let rows = block.rows.max(1);
        let width = |values: &[f64]| values.len() / block.draws.max(1);
        let of = |values: &[f64]| self.errors(values, width(values));
        let error = match block.probabilities.is_empty() {
            true => of(&block.mean),
            false => {
                let all = of(&block.probabilities);
                let classes = all.chunks((all.len() / rows).max(1));
                classes
                    .map(|row| row.iter().copied().fold(0.0, f64::max))
                    .collect()
            }
        };
        let mut results = IntegralResults {
            error,
            ..IntegralResults::default()
        };
        if is_known {
            for row in 0..block.rows {
                let parts = self.split(&block.log_likelihood, (row, block.rows));
                let (logs, errors): (Vec<f64>, Vec<Error>) = parts.map(errors::of_log_densities).unzip();
                results.log_density.push(log_mean_exp(logs.iter().copied()));
                results.log_density_error.push(errors::of_mixture(&logs, &errors));
            }
        }
        results
    }
}

/// Returns states `[iterates * draws, ..]`. For each iterate, they contain `draws` draws from the
/// box. A weight outside the box has its value at the iterate.
pub fn drawn(
    (infer, collapsed): (&InferenceBlock, &Collapsed),
    (values, boxes): (&StateValues, &Boxes),
    context: &Context,
) -> StateValues {
    let key = philox::key(context.seed, &format!("box/{}", infer.name));
    let draws = collapsed.options.draws.max(1);
    let mut drawn = values.clone();
    for name in &collapsed.iterates.moved {
        let Some(own) = values.get(name) else { continue };
        let size = own.len() / boxes.iterates.max(1);
        let mut all = Vec::with_capacity(own.len() * draws);
        for iterate in own.chunks_exact(size.max(1)) {
            (0..draws).for_each(|_| all.extend_from_slice(iterate));
        }
        let is_here = |site: usize| collapsed.weights[site].state == *name;
        for column in boxes.columns.iter().filter(|column| is_here(column.site)) {
            for (number, position) in all.chunks_exact_mut(size.max(1)).enumerate() {
                let uniform = philox::uniform(key, [number as u32, 0, 0], u64::from(column.number));
                position[column.element] = column.lower + uniform * column.width();
            }
        }
        drawn.insert(name.clone(), all);
    }
    drawn
}

/// Returns the location of one output of one row at each draw of the weights. Draws are used if the
/// box of the row has too many pieces.
///
/// # Errors
/// Fails only if the machine has a bug.
pub fn locations(
    place: &RowPlace<'_>,
    local: &mut LocalProgram<'_>,
    (draws, outputs): (usize, usize),
    key: u64,
) -> Result<Vec<f64>, Fault> {
    let columns: Vec<BoxedWeight> = place.places.iter().map(|at| place.boxes.columns[*at]).collect();
    let values = place.boxes.at(place.iterate);
    let before = local.select(columns.clone());
    let (mut all, mut moves) = (Vec::with_capacity(draws * outputs), Vec::new());
    let each = local.places_per_call();
    for first in (0..draws).step_by(each) {
        moves.clear();
        for draw in first..draws.min(first + each) {
            let coordinates = [draw, place.row, place.iterate].map(|at| at as u32);
            for (column, at) in columns.iter().zip(place.places) {
                let uniform = philox::uniform(key, coordinates, u64::from(column.number));
                moves.push(column.lower + uniform * column.width() - values[*at]);
            }
        }
        all.extend(local.locations((place.iterate, place.row), &moves)?);
    }
    local.select(before);
    Ok(all
        .into_iter()
        .skip(place.output)
        .step_by(outputs.max(1))
        .collect())
}

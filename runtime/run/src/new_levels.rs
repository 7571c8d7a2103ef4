//! Predictions for rows with levels that do not occur in the training rows. These predictions are computed from draws of a posterior.

use super::saved::{checked, draws_in, table};
use bnnc_abi::manifest::{Codes, DataSource, InferenceBlock};
use bnnc_abi::schema::Elements;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_core::context::{Context, Stop};
use bnnc_core::predict::{Predictor, held};
use bnnc_core::states::StateValues;
use bnnc_data::metrics::{DrawSummary, sorted};
use bnnc_data::table::ArrayValues;
use bnnc_data::write::ResultColumn;
use bnnc_data::{Preparation, Rows};
use bnnc_inference::draws::StateDraws;
use bnnc_inference::{outcome, positions};
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// Adds new levels in `rows` to the codes of the inputs `ports`. All of these inputs index the same axis. New levels are added in the order of their
/// appearance. Returns the number of new levels.
pub fn extend(infer: &mut InferenceBlock, preparation: &Preparation, rows: &Rows, ports: &[String]) -> usize {
    let all = infer.bindings.iter().enumerate();
    let own = all.filter(|(_, binding)| ports.contains(&binding.port));
    let own: Vec<usize> = own.map(|(at, _)| at).collect();
    let Some(first) = own.first().map(|at| &infer.bindings[*at]) else {
        return 0;
    };
    let Elements::Index(size) = first.elements else {
        return 0;
    };
    let columns: Vec<&ArrayValues> = own
        .iter()
        .filter_map(|at| match &infer.bindings[*at].from {
            DataSource::Field(name) => rows.field(name).map(|field| &field.values),
            _ => None,
        })
        .collect();
    let codes = match (&first.codes, &first.from) {
        (Codes::Ids(ids), _) => Codes::Ids(with_new(ids, columns.iter().copied().flat_map(integers))),
        (Codes::Texts(texts), _) => Codes::Texts(with_new(texts, columns.iter().copied().flat_map(texts_of))),
        (Codes::Positions, DataSource::Field(name)) => {
            let levels = preparation.levels.iter().find(|(known, _)| known == name);
            match levels {
                Some((_, levels)) => {
                    Codes::Texts(with_new(levels, columns.iter().copied().flat_map(texts_of)))
                }
                None => return 0,
            }
        }
        (Codes::Positions, _) => return 0,
    };
    let grown = match &codes {
        Codes::Ids(ids) => ids.len(),
        Codes::Texts(texts) => texts.len(),
        Codes::Positions => size,
    };
    for at in own {
        infer.bindings[at].codes = codes.clone();
        infer.bindings[at].elements = Elements::Index(grown);
    }
    grown.saturating_sub(size)
}

/// Returns the known levels, followed by those levels in `found` that are not known. Each level occurs only
/// once.
fn with_new<T: Clone + Eq + Hash>(known: &[T], found: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = known.to_vec();
    let mut seen: HashSet<T> = known.iter().cloned().collect();
    all.extend(found.filter(|level| seen.insert(level.clone())));
    all
}

fn integers(column: &ArrayValues) -> impl Iterator<Item = i64> + '_ {
    (0..column.len()).filter_map(|at| column.int(at))
}

fn texts_of(column: &ArrayValues) -> impl Iterator<Item = String> + '_ {
    let all = match column {
        ArrayValues::Level { codes, levels } => Some((codes, levels)),
        ArrayValues::Byte(_) | ArrayValues::Int(_) | ArrayValues::Real(_) => None,
    };
    all.into_iter()
        .flat_map(|(codes, levels)| codes.iter().map(|code| levels[*code as usize].clone()))
}

/// Makes the same predictions as [`super::predict()`], but with the programs of `grown`. The block `grown` has more levels than `infer`. `values`
/// are the states from the run of `infer`.
///
/// # Errors
/// Fails in the same cases as [`super::predict()`].
pub fn predict(
    (infer, grown): (&InferenceBlock, &InferenceBlock),
    preparation: &Preparation,
    values: &StateValues,
    rows: Rows,
    context: &Context,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let dataset = checked(grown, preparation, rows)?;
    positions::check(grown, (&dataset.test, false), &dataset, &context.pool)?;
    let draws = draws_in(infer, values);
    let sites = sites((infer, grown), values, context)?;
    let mut predictor = Predictor::with_target(grown, &dataset.test, &dataset, (draws, false), context)?;
    predictor.set_parameters(&sites)?;
    let mut columns = table(grown, preparation, &dataset, |take| predictor.run(take))?;
    // The parameter is a scalar, so it does not have levels.
    let lowest = |parameter: &str| {
        let values = sites.get(parameter)?;
        Some(DrawSummary::of_sorted(&sorted(values.iter().copied())).q05)
    };
    for name in outcome::infinite(infer, lowest) {
        outcome::fill_infinite(&mut columns, &name);
    }
    Ok(columns)
}

/// Returns the values of all parameters at each draw, in the shapes that the parameters have in `grown`. Elements that belong to new levels are 0.
fn sites(
    (infer, grown): (&InferenceBlock, &InferenceBlock),
    values: &StateValues,
    context: &Context,
) -> Result<StateValues, Stop> {
    let count = match held(infer, values) {
        0 => infer.predictive_draws(),
        held => held,
    };
    let draws = StateDraws {
        values: Arc::new(values.clone()),
        count,
    };
    let is_site = |name: &str| grown.states.iter().any(|state| state.name == name);
    let wanted: Vec<usize> = (0..infer.reports.len())
        .filter(|at| is_site(&infer.reports[*at].name))
        .collect();
    let mut all = StateValues::default();
    draws.visit(infer, &wanted, context, &mut |site, values| {
        let report = &infer.reports[site];
        let state = grown.states.iter().find(|state| state.name == report.name);
        let sizes = |shape: &Shape| shape.resolve(&Sizes::default());
        let (from, to) = (sizes(&report.shape), state.map(|state| sizes(&state.shape)));
        let to = to.unwrap_or_else(|| from.clone());
        let of_site = all.entry(report.name.clone()).or_default();
        for draw in values.chunks_exact(from.iter().product::<usize>().max(1)) {
            widen(draw, (&from, &to), of_site);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Pads an array of shape `from` with zeros, so that it has the shape `to`. Appends the padded array to `into`.
fn widen(array: &[f64], (from, to): (&[usize], &[usize]), into: &mut Vec<f64>) {
    let start = into.len();
    into.resize(start + to.iter().product::<usize>(), 0.0);
    for (at, value) in array.iter().enumerate() {
        let (mut rest, mut stride, mut place) = (at, 1, 0);
        for (from, to) in from.iter().zip(to).rev() {
            place += rest % from * stride;
            stride *= to;
            rest /= from;
        }
        into[start + place] = *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_arrays_hold_elements_at_their_positions() {
        let mut all = Vec::new();
        widen(&[1.0, 2.0, 3.0, 4.0], (&[2, 2], &[3, 2]), &mut all);
        widen(&[1.0, 2.0, 3.0, 4.0], (&[2, 2], &[2, 3]), &mut all);
        assert_eq!(all[..6], [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]);
        assert_eq!(all[6..], [1.0, 2.0, 0.0, 3.0, 4.0, 0.0]);
    }

    #[test]
    fn new_levels_follow_known_ones_in_the_order_of_rows() {
        assert_eq!(with_new(&[10, 20], [7, 20, 5, 7].into_iter()), [10, 20, 7, 5]);
    }
}

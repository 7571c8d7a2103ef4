//! Draws from the box, where the integral has no exact form, or where that of a row would take too much work.

use crate::collapsed::boxes::{Boxes, Column};
use crate::collapsed::local::Local;
use crate::collapsed::pieces::Place;
use crate::fit::Context;
use crate::states::Values;
use bnnc_abi::collapsed::Collapsed;
use bnnc_abi::manifest::Infer;
use bnnc_base::fault::Fault;
use bnnc_base::philox;

/// The states with `draws` draws from the box for each iterate, `[iterates * draws, ..]`; the weights that are not in the box have the value of the
/// iterate.
pub fn drawn(
    (infer, collapsed): (&Infer, &Collapsed),
    (values, boxes): (&Values, &Boxes),
    context: &Context,
) -> Values {
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

/// The location of a row and output at draws of its weights, for a row whose box has too many pieces.
///
/// # Errors
/// A bug of the machine.
pub fn locations(
    place: &Place<'_>,
    local: &mut Local<'_>,
    (draws, outputs): (usize, usize),
    key: u64,
) -> Result<Vec<f64>, Fault> {
    let columns: Vec<Column> = place.places.iter().map(|at| place.boxes.columns[*at]).collect();
    let values = place.boxes.at(place.iterate);
    let before = local.select(columns.clone())?;
    let (mut all, mut moves) = (Vec::with_capacity(draws * outputs), Vec::new());
    let each = local.rows_per_call.max(1);
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
    local.select(before)?;
    Ok(all
        .into_iter()
        .skip(place.output)
        .step_by(outputs.max(1))
        .collect())
}

//! The distribution of a location whose kinks depend on each other or share weights. The
//! distribution is computed from the pieces of the box. The location is affine on each piece.

use crate::collapsed::boxes::Boxes;
use crate::collapsed::local::{LocalProgram, LocationBlock};
use crate::collapsed::moves::span;
use bnnc_abi::methods::collapsed::MOST_SIMPLICES;
use bnnc_base::fault::Fault;
use bnnc_piecewise::measure::Measure;
use bnnc_piecewise::twofold::Twofold;
use bnnc_piecewise::{Cells, NoCells};
use std::fmt;

/// The tolerance for the value of a kink, as a fraction of the tolerance for slopes.
const KINK: f64 = 0.01;

/// The largest number of weights that affect the location but none of the crossed kinks. Each of
/// these weights doubles the number of pieces of the distribution.
const MOST_APART: usize = 8;

/// Selects one output of the network for one row, near one iterate, and the weights that are integrated over.
#[derive(Clone, Copy, Debug)]
pub struct RowPlace<'a> {
    /// The box of the weights that may be integrated over.
    pub boxes: &'a Boxes,
    /// The weights that are integrated over, as indices into the box.
    pub places: &'a [usize],
    /// The number of the iterate.
    pub iterate: usize,
    /// The number of the row.
    pub row: usize,
    /// The index of the output.
    pub output: usize,
    /// True if some kinks depend on others.
    pub is_nested: bool,
    /// The largest rounding error of a slope, relative to the largest slope.
    pub tolerance: f64,
}

/// The reason why the distribution cannot be computed.
#[derive(Clone, Debug)]
pub enum NoLaw {
    /// The box would have to be cut into too many pieces.
    Cells(NoCells),
    /// Too many weights affect the location but none of the crossed kinks.
    Apart(usize),
}

impl fmt::Display for NoLaw {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NoLaw::Cells(why) => write!(out, "has kinks that depend on each other or share weights: {why}"),
            NoLaw::Apart(count) => write!(
                out,
                "has kinks that are not those of a ReLU, beside {count} weights without kinks"
            ),
        }
    }
}

/// Returns the distribution of the location. If the computation would take too much work, returns
/// the reason instead. `base` is the evaluation at the base of the box, and `at` is the index of
/// the row within this block.
///
/// # Errors
/// Fails only if the machine has a bug.
pub fn law(
    place: &RowPlace<'_>,
    local: &mut LocalProgram<'_>,
    (base, at): (&LocationBlock, usize),
) -> Result<Result<Measure, NoLaw>, Fault> {
    let boxes = place.boxes;
    let is_crossed = |(value, slope): &(f64, &[f64])| {
        let (low, high) = span(boxes, place.places, *value, slope);
        low < 0.0 && high > 0.0
    };
    let crossed: Vec<(f64, &[f64])> = base.kinks_of(at).filter(is_crossed).collect();
    // If the kinks are independent of each other, the pieces depend only on the weights that affect
    // a crossed kink.
    let is_bent = |at: &usize| place.is_nested || crossed.iter().any(|(_, slope)| slope[*at] != 0.0);
    let (bent, mut rest): (Vec<usize>, Vec<usize>) = place.places.iter().partition(|at| is_bent(at));
    let straight = base.slope_of(at, place.output);
    rest.retain(|at| straight[*at] != 0.0);
    if rest.len() > MOST_APART {
        return Ok(Err(NoLaw::Apart(rest.len())));
    }
    let values = boxes.at(place.iterate);
    let to_base = |at: &usize| boxes.columns[*at].base() - values[*at];
    let mut moves: Vec<f64> = place.places.iter().map(to_base).collect();
    // Until the previous columns are selected again, the program computes slopes only for the
    // weights of this output.
    let inside: Vec<usize> = (0..moves.len())
        .filter(|at| is_bent(&place.places[*at]))
        .collect();
    let before = local.select(place.places.iter().map(|at| boxes.columns[*at]).collect());
    let (mut block, mut fault) = (LocationBlock::default(), None);
    let mut function = |point: &[f64], found: &mut bnnc_piecewise::LocalAffine| {
        inside
            .iter()
            .zip(point)
            .for_each(|(&at, value)| moves[at] = value - values[place.places[at]]);
        let rows = place.row..place.row + 1;
        if let Err(error) = local.evaluate(place.iterate, &rows, Some(&moves), &mut block) {
            fault.get_or_insert(error);
            // After an error, each evaluation returns zeros. These zeros are not used.
            found.value = 0.0;
            found.slope.clear();
            found.slope.resize(bent.len(), 0.0);
            found.kinks.clear();
            return;
        }
        found.value = block.location.get(place.output).copied().unwrap_or(0.0);
        found.slope.clear();
        let slope = block.slope_of(0, place.output);
        found.slope.extend(inside.iter().map(|&at| slope[at]));
        found.kinks.clear();
        let picked = |slope: &[f64], at: &[usize]| at.iter().map(|&at| slope[at]).collect::<Vec<f64>>();
        match place.is_nested {
            true => found.kinks.extend(
                block
                    .kinks_of(0)
                    .map(|(value, slope)| (value, picked(slope, &inside))),
            ),
            // These kinks are affine on the whole box. The values of these kinks are computed from
            // the values at the base. The rounding errors far from the base are therefore not
            // larger than those at the base.
            false => found.kinks.extend(crossed.iter().map(|(value, slope)| {
                let moved = bent.iter().zip(point);
                let moved = moved.map(|(&at, point)| slope[at] * (point - boxes.columns[at].base()));
                (value + moved.sum::<f64>(), picked(slope, &bent))
            })),
        }
    };
    let ends = bent
        .iter()
        .map(|&at| (boxes.columns[at].lower, boxes.columns[at].upper));
    let (lower, upper): (Vec<f64>, Vec<f64>) = ends.unzip();
    let tolerance = KINK * place.tolerance;
    let cells = Cells::with_tolerance(&mut function, (&lower, &upper), MOST_SIMPLICES, tolerance);
    local.select(before);
    if let Some(fault) = fault {
        return Err(fault);
    }
    Ok(match cells {
        Ok(cells) => Ok(with_rest(cells.measure().clone(), boxes, &rest, straight)),
        Err(why) => Err(NoLaw::Cells(why)),
    })
}

/// Adds the terms of the weights that enter the location affinely. Weights that enter the location
/// affinely are independent of the other weights. `measure` was computed with these weights at
/// their values at the base of the box.
fn with_rest(measure: Measure, boxes: &Boxes, rest: &[usize], slope: &[f64]) -> Measure {
    rest.iter().fold(measure, |measure, &at| {
        let column = &boxes.columns[at];
        let (low, high) = (column.lower - column.base(), column.upper - column.base());
        let start = (slope[at] * low).min(slope[at] * high);
        let width = (slope[at] * column.width()).abs();
        measure.plus_uniform(width).shifted(Twofold::from(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::methods::collapsed::MOST_CUT;
    use bnnc_piecewise::cell::Cell;

    /// The compiler and the runtime must use the same limit on the number of weights whose box is
    /// cut.
    #[test]
    fn the_largest_box_that_is_cut_has_as_many_weights_as_the_compiler_assumes() {
        assert!(Cell::cube(MOST_CUT, MOST_SIMPLICES).is_some());
        assert!(Cell::cube(MOST_CUT + 1, MOST_SIMPLICES).is_none());
    }
}

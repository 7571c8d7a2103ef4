//! The points of the box where the location is evaluated.

use crate::collapsed::boxes::Boxes;
use crate::collapsed::local::LocationBlock;

/// For each row, the weights that are integrated over, as indices into the box.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    all: Vec<usize>,
    /// This list is empty if all rows integrate over the same weights.
    of_rows: Vec<Vec<usize>>,
}

impl Sets {
    /// Selects all weights of the box in every row.
    pub fn all(boxes: &Boxes) -> Sets {
        Sets::same((0..boxes.columns.len()).collect())
    }

    /// Selects the same weights in every row.
    pub fn same(places: Vec<usize>) -> Sets {
        Sets {
            all: places,
            of_rows: Vec::new(),
        }
    }

    /// Selects different weights for each row.
    pub fn of_rows(of_rows: Vec<Vec<usize>>) -> Sets {
        Sets {
            all: Vec::new(),
            of_rows,
        }
    }

    /// Returns the weights that are integrated over for a row, as indices into the box.
    pub fn of(&self, row: usize) -> &[usize] {
        self.of_rows.get(row).unwrap_or(&self.all)
    }
}

/// Returns the changes of the weights, `[rows, selected]`, that lead from an iterate to the base of
/// the box. Weights that are not in the sets do not move.
pub fn to_base(boxes: &Boxes, iterate: usize, sets: &Sets, rows: usize) -> Vec<f64> {
    let selected = boxes.columns.len().max(1);
    let mut moves = vec![0.0; rows * selected];
    let values = boxes.at(iterate);
    for (row, moves) in moves.chunks_exact_mut(selected).enumerate() {
        for &place in sets.of(row) {
            moves[place] = boxes.columns[place].base() - values[place];
        }
    }
    moves
}

/// Returns the changes of the weights, `[rows, selected]`, that lead from an iterate to a corner of
/// the box. At this corner, as many kinks as possible have the opposite of the sign that they have in the block. Each
/// weight is moved to flip a single kink: the kink that the weight affects most. The weight moves
/// to the end of its box that brings this kink closer to the opposite sign. Weights that are not in
/// the sets do not move.
pub fn across(boxes: &Boxes, iterate: usize, sets: &Sets, block: &LocationBlock) -> Vec<f64> {
    let mut moves = vec![0.0; block.rows * block.selected];
    let values = boxes.at(iterate);
    let mut strongest = vec![0.0; boxes.columns.len()];
    for (row, moves) in moves.chunks_exact_mut(block.selected).enumerate() {
        strongest.fill(0.0);
        for (value, slope) in block.kinks_of(row) {
            // A kink that does not cross the box keeps its sign everywhere in the box.
            let half: f64 = sets.of(row).iter().map(|&at| reach(boxes, slope, at)).sum();
            if value.abs() >= half {
                continue;
            }
            for &at in sets.of(row) {
                let push = -value.signum() * slope[at] * boxes.columns[at].width();
                if push.abs() > f64::abs(strongest[at]) {
                    strongest[at] = push;
                }
            }
        }
        for &at in sets.of(row) {
            let column = &boxes.columns[at];
            let goal = match strongest[at] {
                x if x > 0.0 => column.upper,
                x if x < 0.0 => column.lower,
                _ => column.base(),
            };
            moves[at] = goal - values[at];
        }
    }
    moves
}

/// Returns the largest change of a kink's value that one weight can cause, starting from the base.
fn reach(boxes: &Boxes, slope: &[f64], at: usize) -> f64 {
    let column = &boxes.columns[at];
    let base = column.base();
    slope[at].abs() * (column.upper - base).max(base - column.lower)
}

/// Returns the smallest and the largest value that a linear form has in the box. `value` is its
/// value at the base.
pub fn span(boxes: &Boxes, places: &[usize], value: f64, slope: &[f64]) -> (f64, f64) {
    places.iter().fold((value, value), |(low, high), &at| {
        let column = &boxes.columns[at];
        let (to_lower, to_upper) = (column.lower - column.base(), column.upper - column.base());
        let ends = (slope[at] * to_lower, slope[at] * to_upper);
        (low + ends.0.min(ends.1), high + ends.0.max(ends.1))
    })
}

//! Distributions of piecewise affine functions of a few uniforms. The box of the uniforms is cut into cells on which the function is affine.
//!
//! If the argument of a ReLU changes its sign on a cell, the function has a kink there, and the cell is cut in two along this kink.
//! Cells are cut until no argument changes its sign on any cell. Layers are processed in order. The arguments of a layer are affine on a cell
//! if no argument of an earlier layer changes its sign there. The cells are then triangulated, once for all evaluations of the distribution.

use super::cell::{Cell, Vertex};
use super::measure::Measure;
use super::unit::UniformSum;
use super::{UniformTerm, simplex};
use std::fmt;

/// The sum of all masses may differ from 1 by at most this number. If a hundred times the tolerance of kinks is larger than this, it is the
/// limit instead.
const LOST: f64 = 1e-9;

/// The affine form of a piecewise affine function near a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalAffine {
    /// The value of the function at the point.
    pub value: f64,
    /// The gradient of the function at the point.
    pub slope: Vec<f64>,
    /// The arguments of all ReLUs of the function, layer by layer. Each argument is represented by its value and its gradient at the point. The
    /// argument equals this affine function as long as all arguments of earlier layers keep their signs.
    pub kinks: Vec<(f64, Vec<f64>)>,
}

/// A continuous piecewise affine function. An example is the output of a ReLU network as a function of some of its weights, none of which is
/// multiplied by another.
pub trait PiecewiseAffine {
    /// Writes the affine form of the function near a point.
    fn at(&mut self, point: &[f64], local: &mut LocalAffine);
}

impl<F: FnMut(&[f64], &mut LocalAffine)> PiecewiseAffine for F {
    fn at(&mut self, point: &[f64], local: &mut LocalAffine) {
        self(point, local);
    }
}

/// The reason why the box could not be cut into cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoCells {
    /// The function needs more simplices than allowed, or its kinks depend on too many weights.
    TooMany {
        /// The maximum number of simplices.
        most: usize,
        /// The number of weights that are not constant.
        dimension: usize,
    },
    /// The cells do not fill the box. Some cuts were so near to corners of cells that rounding errors decided on which side of the cut a corner
    /// lies.
    Lost {
        /// The fraction of the box that the cells fill.
        mass: f64,
    },
}

impl fmt::Display for NoCells {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NoCells::TooMany { most, dimension } => write!(
                out,
                "the function of {dimension} weights has more than {most} affine pieces (simplices)"
            ),
            NoCells::Lost { mass } => write!(
                out,
                "the affine pieces fill {mass} of the box of weights: some kinks meet so closely that rounding errors decide where pieces end"
            ),
        }
    }
}

impl std::error::Error for NoCells {}

/// The distribution of a piecewise affine function of independent uniform variables.
#[derive(Clone, Debug)]
pub struct Cells {
    measure: Measure,
    /// The number of simplices. It is 1 if the function is affine on the whole box.
    pub(crate) count: usize,
}

impl Cells {
    /// Computes the distribution of the function if its arguments are uniform on the box between two corners. If a side of the box has length
    /// 0, its argument is constant. `tolerance` is a bound on the rounding error of a ReLU's argument, relative to the size of the argument's
    /// terms. Arguments below this bound are treated as 0, so that rounding errors do not cause cuts.
    ///
    /// # Errors
    /// Returns an error if the function needs more than `most` simplices, kinks depend on more than
    /// [`super::cell::MOST_DIMENSIONS`] weights, or the cells do not fill the box.
    pub fn with_tolerance(
        function: &mut dyn PiecewiseAffine,
        (lower, upper): (&[f64], &[f64]),
        most: usize,
        tolerance: f64,
    ) -> Result<Cells, NoCells> {
        let sides: Vec<usize> = (0..lower.len())
            .filter(|&index| lower[index] < upper[index])
            .collect();
        let middle: Vec<f64> = lower
            .iter()
            .zip(upper)
            .map(|(low, high)| 0.5 * (low + high))
            .collect();
        let mut local = LocalAffine::default();
        function.at(&middle, &mut local);
        if let Some(measure) = affine(&local, lower, upper, &middle) {
            return Ok(Cells { measure, count: 1 });
        }
        let error = NoCells::TooMany {
            most,
            dimension: sides.len(),
        };
        let cube = Cell::cube(sides.len(), most).ok_or(error)?;
        let mut cutter = Cutter {
            lower,
            upper,
            sides: &sides,
            function,
            local,
            tolerance,
        };
        let mut cells = Cells {
            measure: Measure::default(),
            count: 0,
        };
        cutter.cut_all(cube, most, &mut cells).ok_or(error)?;
        let mass = cells.measure.mass();
        // A point within the tolerance of a cut is treated as being on the cut. The sum of the masses may therefore differ slightly
        // from 1.
        let lost = (mass - 1.0).abs();
        if lost.is_nan() || lost > LOST.max(100.0 * tolerance) {
            return Err(NoCells::Lost { mass });
        }
        cells.measure = cells.measure.gathered().scaled(1.0 / mass);
        cells.measure.accuracy = lost;
        Ok(cells)
    }

    /// Returns the distribution of the values of the function.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }
}

/// If no argument of a ReLU changes its sign on the box, returns the distribution of the function. Otherwise, returns `None`.
fn affine(local: &LocalAffine, lower: &[f64], upper: &[f64], middle: &[f64]) -> Option<Measure> {
    let spread = |slope: &[f64]| -> f64 {
        slope
            .iter()
            .zip(lower.iter().zip(upper))
            .map(|(s, (low, high))| 0.5 * s.abs() * (high - low))
            .sum()
    };
    if local
        .kinks
        .iter()
        .any(|(value, slope)| value.abs() < spread(slope))
    {
        return None;
    }
    let ends = lower.iter().zip(upper).zip(middle);
    let terms = local
        .slope
        .iter()
        .zip(ends)
        .map(|(&slope, ((low, high), middle))| UniformTerm {
            slope,
            lower: low - middle,
            upper: high - middle,
        });
    let terms: Vec<UniformTerm> = terms.collect();
    Some(UniformSum::new(local.value, &terms, 1.0).measure(f64::NEG_INFINITY, f64::INFINITY))
}

/// The state of cutting the box into cells.
struct Cutter<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
    sides: &'a [usize],
    function: &'a mut dyn PiecewiseAffine,
    local: LocalAffine,
    /// The tolerance for arguments of ReLUs: see [`Cells::with_tolerance`].
    tolerance: f64,
}

impl Cutter<'_> {
    /// Cuts cells until the function is affine on every cell, and adds up the distributions that the function has on the cells. Returns `None`
    /// if there are more than `most` simplices.
    fn cut_all(&mut self, cube: Cell, most: usize, cells: &mut Cells) -> Option<()> {
        let mut open = vec![cube];
        while let Some(cell) = open.pop() {
            let centre = cell.centre();
            self.function.at(&self.weights(&centre), &mut self.local);
            if let Some(values) = self.first_kink(&cell, &centre) {
                open.extend(cell.cut(&values)?);
            } else {
                self.add(&cell, &centre, most, cells);
            }
            if cells.count + open.len() > most {
                return None;
            }
        }
        Some(())
    }

    /// Returns the values of the weights at a point of the unit cube.
    fn weights(&self, point: &[f64]) -> Vec<f64> {
        let mut weights = self.lower.to_vec();
        for (&side, part) in self.sides.iter().zip(point) {
            weights[side] = (1.0 - part) * self.lower[side] + part * self.upper[side];
        }
        weights
    }

    /// Evaluates an affine function at the vertices of a cell. `value` and `slope` are its value and its gradient at the centre of the cell.
    /// Also returns the size of the terms, to which rounding errors are relative.
    fn at_vertices(&self, value: f64, slope: &[f64], cell: &Cell, centre: &[f64]) -> (Vec<f64>, f64) {
        let steps: Vec<f64> = self
            .sides
            .iter()
            .map(|&side| slope[side] * (self.upper[side] - self.lower[side]))
            .collect();
        let at = |vertex: &Vertex| {
            let parts = vertex.point.iter().zip(centre).map(|(to, from)| to - from);
            steps
                .iter()
                .zip(parts)
                .fold(value, |sum, (step, part)| sum + step * part)
        };
        let size = value.abs() + steps.iter().map(|step| step.abs()).sum::<f64>();
        (cell.vertices.iter().map(at).collect(), size)
    }

    /// Finds the first argument of a ReLU that changes its sign on a cell. Returns its values at the vertices. Values within the tolerance are
    /// replaced by 0.
    fn first_kink(&self, cell: &Cell, centre: &[f64]) -> Option<Vec<f64>> {
        self.local.kinks.iter().find_map(|(value, slope)| {
            let (mut values, size) = self.at_vertices(*value, slope, cell, centre);
            values
                .iter_mut()
                .filter(|value| value.abs() <= self.tolerance * size)
                .for_each(|value| *value = 0.0);
            let both = values.iter().any(|&value| value > 0.0) && values.iter().any(|&value| value < 0.0);
            both.then_some(values)
        })
    }

    /// Adds the distribution of the function on one cell.
    fn add(&self, cell: &Cell, centre: &[f64], most: usize, cells: &mut Cells) {
        let (values, _) = self.at_vertices(self.local.value, &self.local.slope, cell, centre);
        let orders: f64 = (1..=self.sides.len()).map(|n| n as f64).product();
        for simplex in cell.simplices(most) {
            cells.count += 1;
            let mass = cell.determinant(&simplex) / orders;
            if mass > 0.0 {
                let mut values: Vec<f64> = simplex.iter().map(|&index| values[index]).collect();
                simplex::add(&mut values, mass, &mut cells.measure);
            }
        }
    }
}

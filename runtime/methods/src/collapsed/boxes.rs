//! The box of the weights that may be integrated over. The box is computed from the values of the
//! weights at the iterates.

use bnnc_abi::methods::collapsed::{BoxExtent, Collapsed};
use bnnc_core::states::StateValues;
use bnnc_data::metrics;
use std::ops::Range;

/// Half the width of the box around a bias whose value is the same at all iterates. The constant comes
/// from the published code.
const HALF_OF_POINT: f64 = 5e-5;

/// One weight whose box has a positive width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxedWeight {
    /// The position of the weight among the elements of all sites that may be collapsed.
    pub number: u32,
    /// The position of the weight's site among the sites that may be collapsed.
    pub site: usize,
    /// The index of the weight within its site.
    pub element: usize,
    /// The lower end of the box.
    pub lower: f64,
    /// The upper end of the box.
    pub upper: f64,
}

impl BoxedWeight {
    /// Returns the width of the box.
    pub fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// Returns the base of the box for this weight: a value near the middle of its range. The
    /// middle itself is avoided, because kinks often pass through it.
    pub fn base(&self) -> f64 {
        // The multiples of the golden ratio all have different fractional parts. Each weight
        // therefore gets a different offset from the middle.
        let apart = (f64::from(self.number) * 0.618_033_988_749_894_9).fract() - 0.5;
        self.lower + (0.5 + 0.02 * apart) * self.width()
    }
}

/// The box, and the values that its weights have at the iterates.
#[derive(Clone, Debug)]
pub struct Boxes {
    /// The weights that the box covers.
    pub columns: Vec<BoxedWeight>,
    /// The values of these weights at the iterates: `[iterates, weights]`.
    pub values: Vec<f64>,
    /// The number of iterates.
    pub iterates: usize,
}

impl Boxes {
    /// Builds the box from states of shape `[iterates, ..]`. A weight is left out if it has the
    /// same value at all iterates. With `compat = published`, however, such a weight gets a narrow
    /// box if it belongs to a site that is always integrated over.
    pub fn new(collapsed: &Collapsed, values: &StateValues, iterates: usize) -> Boxes {
        let mut columns = Vec::new();
        let mut first = 0;
        let options = &collapsed.options;
        for (site, weights) in collapsed.weights.iter().enumerate() {
            let is_widened = options.is_published() && options.always.contains(&site);
            let own = values.get(&weights.state).map_or(&[][..], Vec::as_slice);
            if own.len() == weights.elements * iterates {
                for element in 0..weights.elements {
                    let all = || own.iter().skip(element).step_by(weights.elements).copied();
                    let (lower, upper) = match ends(options.extent, all) {
                        (lower, upper) if lower == upper && is_widened => {
                            (lower - HALF_OF_POINT, upper + HALF_OF_POINT)
                        }
                        ends => ends,
                    };
                    if upper > lower {
                        let number = first + element as u32;
                        columns.push(BoxedWeight {
                            number,
                            site,
                            element,
                            lower,
                            upper,
                        });
                    }
                }
            }
            first += weights.elements as u32;
        }
        let mut boxes = Boxes {
            columns,
            values: Vec::new(),
            iterates,
        };
        boxes.read(collapsed, values);
        boxes
    }

    /// Keeps only the weights with the given indices. The indices are in ascending order. Indices
    /// of weights without a box are ignored.
    pub fn only(mut self, collapsed: &Collapsed, values: &StateValues, numbers: &[u32]) -> Boxes {
        self.columns
            .retain(|column| numbers.binary_search(&column.number).is_ok());
        self.read(collapsed, values);
        self
    }

    fn read(&mut self, collapsed: &Collapsed, values: &StateValues) {
        self.values.clear();
        for iterate in 0..self.iterates {
            let value = |column: &BoxedWeight| {
                let weights = &collapsed.weights[column.site];
                let own = values.get(&weights.state);
                own.map_or(0.0, |own| own[iterate * weights.elements + column.element])
            };
            self.values.extend(self.columns.iter().map(value));
        }
    }

    /// Returns the values, at one iterate, of the weights in the box: `[columns]`.
    pub fn at(&self, iterate: usize) -> &[f64] {
        &self.values[self.range(iterate)]
    }

    fn range(&self, iterate: usize) -> Range<usize> {
        let size = self.columns.len();
        iterate * size..(iterate + 1) * size
    }
}

/// Computes the ends of the box of one weight from its values at all iterates.
fn ends<I: Iterator<Item = f64>>(extent: BoxExtent, all: impl Fn() -> I) -> (f64, f64) {
    let range = metrics::extent(all());
    match extent {
        BoxExtent::Range => range,
        BoxExtent::Moments if range.0 >= range.1 => range,
        BoxExtent::Moments => {
            let count = all().count() as f64;
            let mean = all().sum::<f64>() / count;
            let variance = all().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            // The uniform distribution on mean ± half has the variance half² / 3.
            let half = (3.0 * variance).sqrt();
            (mean - half, mean + half)
        }
    }
}

//! The tails of a family and of a prior, as numbers for each element. The declarations of these
//! tails are in [`bnnc_graph::dist::Reach`].

use crate::kl::start::along;
use bnnc_base::shape::Sizes;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::dist::{self, Instance, Reach, Support, range};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;

/// The decay of a density towards an end. At an infinite end, `t` is the distance of a value from
/// zero. At a finite end, `t` is the inverse of the distance from that end. A number that depends
/// on unknown values is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DensityTail {
    /// The probability beyond `t` falls like `t ^ -index`.
    Power(f64),
    /// The log density falls like minus the square of `log t`.
    LogNormal,
    /// The log density falls like `-(rate t) ^ order`.
    Exponential { rate: f64, order: f64 },
    /// The log density falls like `-exp(rate t)`.
    DoubleExponential(f64),
}

/// One end of an interval of values with positive probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityEnd {
    /// The position of the end.
    pub at: f64,
    /// The decay of the density at this end. `None` if the distribution does not declare the decay.
    pub tail: Option<DensityTail>,
}

/// The interval of values with positive probability for one element, or for one component of a
/// mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SupportInterval {
    /// The lower end.
    pub low: DensityEnd,
    /// The upper end.
    pub high: DensityEnd,
}

impl SupportInterval {
    /// Returns whether the interval is the whole real line.
    pub fn is_line(&self) -> bool {
        self.low.at == f64::NEG_INFINITY && self.high.at == f64::INFINITY
    }

    /// Returns this interval with NaN in place of finite ends, indices and rates. It describes an
    /// element that cannot be identified.
    pub fn without_numbers(&self) -> SupportInterval {
        let of = |end: DensityEnd| DensityEnd {
            at: if end.at.is_finite() { f64::NAN } else { end.at },
            tail: end.tail.map(|tail| match tail {
                DensityTail::Power(_) => DensityTail::Power(f64::NAN),
                DensityTail::LogNormal => DensityTail::LogNormal,
                DensityTail::Exponential { order, .. } => DensityTail::Exponential {
                    rate: f64::NAN,
                    order,
                },
                DensityTail::DoubleExponential(_) => DensityTail::DoubleExponential(f64::NAN),
            }),
        };
        SupportInterval {
            low: of(self.low),
            high: of(self.high),
        }
    }
}

/// An array with more elements than this is not examined element by element.
const LARGE: usize = 1 << 20;

/// The known elements of a parameter.
#[derive(Clone, Debug)]
pub enum Known {
    /// All elements are this number.
    Number(f64),
    /// The elements may differ.
    Elements(Tensor),
}

impl Known {
    /// Returns the elements as an array with these sizes; `None` if the array would be too large.
    fn tensor(&self, sizes: Vec<usize>) -> Option<Tensor> {
        match self {
            Known::Elements(tensor) => Some(tensor.clone()),
            Known::Number(number) => is_small(&sizes).then(|| Tensor::from_fn(sizes, |_| *number)),
        }
    }
}

/// Returns whether an array has at most [`LARGE`] elements.
pub fn is_small(sizes: &[usize]) -> bool {
    let count = sizes
        .iter()
        .try_fold(1usize, |count, size| count.checked_mul(*size));
    count.is_some_and(|count| count <= LARGE)
}

/// The numbers that describe a [`Reach`]: one number per element, or one for all elements.
struct Numbers {
    at: [Vec<f64>; 2],
    tails: [Option<(dist::TailKind, Vec<Vec<f64>>)>; 2],
}

/// Returns the intervals of each element of a distribution. `values` are the parameters of the
/// distribution. An unknown parameter is `None`.
pub fn elements(instance: &Instance, values: &[Option<Known>]) -> Vec<Vec<SupportInterval>> {
    let numbers: Vec<Numbers> = instance
        .reach
        .iter()
        .map(|reach| of_reach(reach, values))
        .collect();
    let lengths = numbers.iter().flat_map(|numbers| {
        let tails = numbers.tails.iter().flatten().flat_map(|(_, numbers)| numbers);
        numbers.at.iter().chain(tails).map(Vec::len).collect::<Vec<_>>()
    });
    let count = lengths.max().unwrap_or(1);
    let inside = range(instance.support);
    let of_element = |element: usize| {
        numbers
            .iter()
            .map(|numbers| part(numbers, element, [inside.lo, inside.hi]))
            .collect()
    };
    (0..count).map(of_element).collect()
}

fn of_reach(reach: &Reach, values: &[Option<Known>]) -> Numbers {
    let own = range(reach.support);
    let of = |function: &Function| numbers(function, values);
    let at = |end: &dist::DeclaredEnd, own: f64| end.at.as_deref().map_or_else(|| vec![own], of);
    let tail = |end: &dist::DeclaredEnd| {
        let tail = end.tail.as_ref()?;
        Some((tail.kind, tail.numbers.iter().map(|number| of(number)).collect()))
    };
    let [low, high] = &reach.ends;
    Numbers {
        at: [at(low, own.lo), at(high, own.hi)],
        tails: [tail(low), tail(high)],
    }
}

/// Evaluates a function of the parameters. Returns NaN if the function depends on an unknown parameter.
fn numbers(function: &Function, values: &[Option<Known>]) -> Vec<f64> {
    let Some((_, result)) = function.results.first() else {
        return vec![f64::NAN];
    };
    let needed = needed_by(function, &[*result]);
    let mut known = Vec::new();
    for (param, value) in function.params.iter().zip(values) {
        match value {
            Some(value) if needed.contains(param) => known.push(value.clone()),
            None if needed.contains(param) => return vec![f64::NAN],
            _ => known.push(Known::Number(0.0)),
        }
    }
    let is_number = known.iter().all(|value| matches!(value, Known::Number(_)));
    let one = along(function, 1).filter(|_| is_number);
    let evaluated = one.as_ref().unwrap_or(function);
    let sizes = |param: &Value| evaluated.ty(*param).shape.resolve(&Sizes::default());
    let params = evaluated.params.iter().zip(&known);
    let inputs: Option<Vec<Tensor>> = params.map(|(param, value)| value.tensor(sizes(param))).collect();
    let found = inputs.and_then(|inputs| evaluate(evaluated, &inputs, &Sizes::default()).pop());
    found.map_or_else(|| vec![f64::NAN], |tensor| tensor.data)
}

/// Returns the interval of one element, intersected with `inside`.
fn part(numbers: &Numbers, element: usize, inside: [f64; 2]) -> SupportInterval {
    let pick = |numbers: &[f64]| match numbers {
        [only] => *only,
        all => all.get(element).copied().unwrap_or(f64::NAN),
    };
    let end = |side: usize| {
        let at = pick(&numbers.at[side]);
        let is_cut = match side {
            0 => inside[0] > at,
            _ => inside[1] < at,
        };
        if is_cut {
            // If the density is positive at the point of truncation, the probability of the values
            // within a distance of this point is proportional to the distance.
            return DensityEnd {
                at: inside[side],
                tail: Some(DensityTail::Power(1.0)),
            };
        }
        let tail = numbers.tails[side].as_ref().map(|(kind, arguments)| {
            let number = |at: usize| arguments.get(at).map_or(f64::NAN, |numbers| pick(numbers));
            match kind {
                dist::TailKind::Power => DensityTail::Power(number(0)),
                dist::TailKind::LogNormal => DensityTail::LogNormal,
                dist::TailKind::Exponential => DensityTail::Exponential {
                    rate: number(0),
                    order: number(1),
                },
                dist::TailKind::DoubleExponential => DensityTail::DoubleExponential(number(0)),
            }
        });
        DensityEnd { at, tail }
    };
    SupportInterval {
        low: end(0),
        high: end(1),
    }
}

/// Returns the interval in unconstrained space that a bijection transforms onto `support`.
pub fn free(part: SupportInterval, support: Support) -> SupportInterval {
    let line = |low: Option<DensityTail>, high: Option<DensityTail>| SupportInterval {
        low: DensityEnd {
            at: f64::NEG_INFINITY,
            tail: low,
        },
        high: DensityEnd {
            at: f64::INFINITY,
            tail: high,
        },
    };
    match support {
        Support::Real | Support::Integers(_) => part,
        Support::Simplex => line(part.low.tail.map(transformed), part.low.tail.map(transformed)),
        // The first element is not constrained. Each later element is its predecessor plus an exponential.
        Support::Ordered => line(
            Some(DensityTail::Exponential {
                rate: f64::NAN,
                order: 1.0,
            }),
            part.high.tail.map(transformed),
        ),
        Support::Interval(lo, hi) => {
            let of = |end: DensityEnd| DensityEnd {
                at: match (lo.is_finite(), hi.is_finite()) {
                    (true, false) => (end.at - lo).ln(),
                    (false, _) => (hi - end.at).ln(),
                    (true, true) => (end.at - lo).ln() - (hi - end.at).ln(),
                },
                tail: match end.at == lo || end.at == hi {
                    true => end.tail.map(transformed),
                    false => end.tail,
                },
            };
            match lo.is_finite() {
                true => SupportInterval {
                    low: of(part.low),
                    high: of(part.high),
                },
                false => SupportInterval {
                    low: of(part.high),
                    high: of(part.low),
                },
            }
        }
    }
}

/// Returns the decay of the density of `log t`, given the decay in `t`. This density includes the slope of
/// the bijection.
fn transformed(tail: DensityTail) -> DensityTail {
    match tail {
        DensityTail::Power(index) => DensityTail::Exponential {
            rate: index,
            order: 1.0,
        },
        DensityTail::LogNormal => DensityTail::Exponential {
            rate: f64::NAN,
            order: 2.0,
        },
        DensityTail::Exponential { order, .. } => DensityTail::DoubleExponential(order),
        DensityTail::DoubleExponential(_) => DensityTail::DoubleExponential(f64::INFINITY),
    }
}

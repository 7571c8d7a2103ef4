//! Integrates over a line, a ray or a segment, with an adaptive Gauss-Kronrod rule after a
//! double-exponential substitution.

use std::f64::consts::FRAC_PI_2;

/// The non-negative nodes of the 15-point Kronrod rule, outermost first. Every second node is also a node of the 7-point Gauss rule.
const NODES: [f64; 8] = [
    0.9914553711208126,
    0.9491079123427585,
    0.8648644233597691,
    0.7415311855993945,
    0.5860872354676911,
    0.4058451513773972,
    0.20778495500789848,
    0.0,
];

/// The weights of the Kronrod rule.
const KRONROD: [f64; 8] = [
    0.022935322010529224,
    0.06309209262997856,
    0.10479001032225019,
    0.14065325971552592,
    0.1690047266392679,
    0.19035057806478542,
    0.20443294007529889,
    0.20948214108472782,
];

/// The weights of the Gauss rule.
const GAUSS: [f64; 4] = [
    0.1294849661688697,
    0.27970539148927664,
    0.3818300505051189,
    0.4179591836734694,
];

/// The largest absolute value of the transformed coordinate. Points that are farther out overflow
/// double precision.
const REACH: f64 = 6.4;

/// A point whose transformed coordinate is beyond this value is more than about 1e50 widths away.
/// If such points still contribute to the integral, it is regarded as infinite.
const FAR: f64 = 5.0;

/// The initial number of intervals.
const INTERVALS: usize = 64;

/// The maximum number of rounds, in each of which intervals are halved.
const ROUNDS: usize = 60;

/// The number of evaluations after which no further round starts.
const MOST: usize = 300_000;

/// The required error, relative to one plus the absolute value of the integral.
const TOLERANCE: f64 = 1e-12;

/// The range of an integral. A substitution maps the reals to this range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IntegralRange {
    /// All reals. The numbers are the location and the width of the region that matters.
    Line(f64, f64),
    /// A ray. The numbers are its end and the width of the region that matters. If the width is
    /// negative, the ray goes downwards.
    Ray(f64, f64),
    /// The segment between two ends.
    Segment(f64, f64),
}

impl IntegralRange {
    /// Returns the point at the transformed coordinate `t`, and the derivative of the substitution
    /// at `t`.
    fn point(self, t: f64) -> (f64, f64) {
        let (u, slope) = (FRAC_PI_2 * t.sinh(), FRAC_PI_2 * t.cosh());
        match self {
            IntegralRange::Line(middle, width) => (middle + width * u.sinh(), width * u.cosh() * slope),
            IntegralRange::Ray(end, width) => (end + width * u.exp(), width.abs() * u.exp() * slope),
            IntegralRange::Segment(low, high) => {
                let share = 1.0 / (1.0 + (-2.0 * u).exp());
                let rest = 1.0 / (1.0 + (2.0 * u).exp());
                (
                    low + (high - low) * share,
                    (high - low) * 2.0 * share * rest * slope,
                )
            }
        }
    }

    /// Returns the transformed coordinate of a point.
    fn coordinate(self, x: f64) -> f64 {
        let u = match self {
            IntegralRange::Line(middle, width) => ((x - middle) / width).asinh(),
            IntegralRange::Ray(end, width) => ((x - end) / width).ln(),
            IntegralRange::Segment(low, high) => (2.0 * (x - low) / (high - low) - 1.0).atanh(),
        };
        (u / FRAC_PI_2).asinh()
    }
}

/// An integral with an estimate of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedIntegral {
    /// The value.
    pub value: f64,
    /// The estimated error: the difference between the Kronrod rule and the Gauss rule.
    pub error: f64,
}

#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
    value: f64,
    error: f64,
}

/// Returns points on both sides of the middle of a region that may be narrow. Their distances from
/// the middle are `width` times powers of two.
pub fn marks(middle: f64, width: f64) -> Vec<f64> {
    let distances = (-2..40).map(|power| width * 2f64.powi(power));
    distances
        .flat_map(|distance| [middle - distance, middle + distance])
        .collect()
}

/// Integrates a function over a range. `values` evaluates the function at many points at once. Between neighbouring `marks`, the function
/// must not have a narrow peak. Returns `None` if the integral is infinite or does not converge.
pub fn integrate(
    range: IntegralRange,
    marks: &[f64],
    values: &mut dyn FnMut(&[f64]) -> Vec<f64>,
) -> Option<BoundedIntegral> {
    let mut ends: Vec<f64> = marks.iter().map(|x| range.coordinate(*x)).collect();
    ends.extend((0..=INTERVALS).map(|at| REACH * (2.0 * at as f64 / INTERVALS as f64 - 1.0)));
    ends.retain(|t| t.abs() <= REACH);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let mut waiting: Vec<(f64, f64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let mut settled: Vec<Interval> = Vec::new();
    let mut evaluations = 0;
    for _ in 0..ROUNDS {
        evaluations += waiting.len() * 15;
        settled.extend(measured(range, &waiting, values)?);
        let value: f64 = settled.iter().map(|interval| interval.value).sum();
        let error: f64 = settled.iter().map(|interval| interval.error).sum();
        let allowed = TOLERANCE * (1.0 + value.abs());
        if error <= allowed || evaluations > MOST {
            break;
        }
        let share = allowed / settled.len() as f64;
        let (kept, halved): (Vec<Interval>, Vec<Interval>) =
            settled.into_iter().partition(|interval| interval.error <= share);
        settled = kept;
        let middle = |interval: &Interval| 0.5 * (interval.low + interval.high);
        waiting = halved
            .iter()
            .flat_map(|interval| {
                let middle = middle(interval);
                [(interval.low, middle), (middle, interval.high)]
            })
            .collect();
    }
    finished(&settled)
}

/// Returns the sum of the integrals over the intervals. Returns `None` if this sum has not
/// converged, or if intervals far out still contribute.
fn finished(intervals: &[Interval]) -> Option<BoundedIntegral> {
    let value: f64 = intervals.iter().map(|interval| interval.value).sum();
    let error: f64 = intervals.iter().map(|interval| interval.error).sum();
    let is_far = |interval: &&Interval| interval.low.abs().min(interval.high.abs()) > FAR - 1e-9;
    let tails: f64 = intervals
        .iter()
        .filter(is_far)
        .map(|interval| interval.value.abs())
        .sum();
    let small = 1e-7 * (1.0 + value.abs());
    (value.is_finite() && error <= small && tails <= small).then_some(BoundedIntegral { value, error })
}

/// Applies the Kronrod rule and the Gauss rule to each interval. Returns `None` if a value of the
/// function is infinite or NaN.
fn measured(
    range: IntegralRange,
    intervals: &[(f64, f64)],
    values: &mut dyn FnMut(&[f64]) -> Vec<f64>,
) -> Option<Vec<Interval>> {
    let mut points = Vec::with_capacity(15 * intervals.len());
    let mut slopes = Vec::with_capacity(points.capacity());
    for (low, high) in intervals {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        for at in 0..15 {
            let node = if at < 8 { -NODES[at] } else { NODES[14 - at] };
            let (x, slope) = range.point(middle + half * node);
            points.push(x);
            slopes.push(slope * half);
        }
    }
    let values = values(&points);
    let mut result = Vec::with_capacity(intervals.len());
    for (at, (low, high)) in intervals.iter().enumerate() {
        let (mut kronrod, mut gauss) = (0.0, 0.0);
        for node in 0..15 {
            let value = values[15 * at + node];
            // One factor may overflow where the other is zero. The product must then be zero and
            // not NaN.
            let slope = slopes[15 * at + node];
            let term = if value == 0.0 || slope == 0.0 {
                0.0
            } else {
                value * slope
            };
            let index = node.min(14 - node);
            kronrod += KRONROD[index] * term;
            if index % 2 == 1 {
                gauss += GAUSS[index / 2] * term;
            }
        }
        if !kronrod.is_finite() {
            return None;
        }
        let error = (kronrod - gauss).abs();
        result.push(Interval {
            low: *low,
            high: *high,
            value: kronrod,
            error,
        });
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(range: IntegralRange, marks: &[f64], f: impl Fn(f64) -> f64, want: f64) {
        let found = integrate(range, marks, &mut |points| points.iter().map(|x| f(*x)).collect());
        let found = found.expect("the integral exists").value;
        assert!(
            (found - want).abs() < 1e-10 * (1.0 + want.abs()),
            "{found} is not {want}"
        );
    }

    #[test]
    fn known_integrals_are_found() {
        let root = (2.0 * std::f64::consts::PI).sqrt();
        close(IntegralRange::Line(0.0, 1.0), &[], |x| (-0.5 * x * x).exp(), root);
        // The function is narrow, and its peak is far from the location of the range.
        close(
            IntegralRange::Line(0.0, 1.0),
            &marks(5.0, 1e-3),
            |x| (-0.5 * ((x - 5.0) / 1e-3).powi(2)).exp(),
            1e-3 * root,
        );
        // These functions have a kink, a jump, a tail that decays like a power, and a peak at an end.
        close(IntegralRange::Line(0.3, 0.7), &[], |x| (-x.abs()).exp(), 2.0);
        close(
            IntegralRange::Line(0.0, 1.0),
            &[],
            |x| if (0.2..0.7).contains(&x) { 1.0 } else { 0.0 },
            0.5,
        );
        close(IntegralRange::Ray(0.0, 1.0), &[], |x| (1.0 + x).powf(-1.5), 2.0);
        close(IntegralRange::Segment(0.0, 4.0), &[], |x| 0.5 / x.sqrt(), 2.0);
        close(IntegralRange::Ray(1.0, -2.0), &[], |x| (x - 1.0).exp(), 1.0);
    }

    /// The integral is the first absolute moment of a Cauchy distribution. It diverges as slowly as
    /// a logarithm.
    #[test]
    fn a_divergent_integral_has_no_value() {
        let mut f = |points: &[f64]| points.iter().map(|x| x.abs() / (1.0 + x * x)).collect();
        assert_eq!(integrate(IntegralRange::Line(0.0, 1.0), &[], &mut f), None);
    }
}

//! Means of sigmoids of linear forms with uniform weights. Such means are class probabilities.

use super::UniformTerm;
use super::bernstein::Piece;
use super::cumulant::Summands;
use super::measure::Measure;
use super::quadrature::rule;
use super::series::Series;
use super::shape::Representation;
use super::twofold::Twofold;
use super::unit::UniformSum;
use bnnc_math::special::{sigmoid, softplus};

/// The end `d` of the cubic surrogate of the logistic function. The cubic `p` satisfies `p(d) = 1` and `p'(d) = 0`. With this `d`, the cubic is
/// nearest to the logistic function in `L2`.
pub const CUBIC_END_L2: f64 = 3.522_769;
/// If the series is short, the exact spline is used only for at most this number of uniforms.
const MOST_EXACT: usize = 4;
/// A series is short if it has at most this number of terms.
const SHORT: usize = 2000;
/// If the series is long, the exact spline is used for up to this number of uniforms.
const MOST_EXACT_LONG: usize = 9;
/// If the integral over a distribution needs more panels than this, only the range where the logistic function is curved is integrated numerically.
const MOST_PANELS: f64 = 2000.0;
/// If a logit is above this value, its logistic function is 1 in `f64`.
const SATURATED: f64 = 38.0;
/// A logit is negligible if it is this far below the largest logit, or this far below saturation: in `f64`, it could change only a mean that is
/// itself below the smallest positive number.
const FADED: f64 = 800.0;

/// Computes `E sigma(offset + sum terms)`, where `sigma` is the logistic function. With one term, the form is uniform on an interval `[v, v + D]`,
/// and the mean has the closed form `log1p(expm1(D) sigma(v)) / D`, which is accurate up to rounding. With more terms, the logistic function times
/// the density of the form is integrated by a Gauss-Legendre rule on each panel. The relative error of the result is about
/// 1e-14 for up to eight terms, and 1e-12 for more terms.
pub fn mean_sigmoid(terms: &[UniformTerm], offset: f64) -> f64 {
    let form = UniformSum::new(offset, terms, 1.0);
    match form.widths[..] {
        [] => sigmoid(form.start.value()),
        [width] => mean_over_interval(form.start.value(), width),
        _ => tilted_mean(&form).unwrap_or_else(|| Form::new(&form).mean_sigmoid()),
    }
}

/// Computes `E p(offset + sum terms)`, where `p` is the cubic surrogate of the logistic function and `d` is `end`. On `[-d, d]`, `p(t)` is
/// `1/2 + 3 t / (4 d) - t^3 / (4 d^3)`. Below this interval, `p(t)` is 0. Above it, `p(t)` is 1. For up to eight terms, the integral is exact
/// except for rounding.
pub fn mean_sigmoid_cubic(terms: &[UniformTerm], offset: f64, end: f64) -> f64 {
    let cubic = |t: f64| {
        // The cubic is computed as (1 + s)^2 (2 - s) / 4 with s = t / d, because this form does not lose digits at the left end.
        let s = (t / end).clamp(-1.0, 1.0);
        0.25 * (1.0 + s) * (1.0 + s) * (2.0 - s)
    };
    let form = UniformSum::new(offset, terms, 1.0);
    if form.widths.is_empty() {
        return cubic(form.start.value());
    }
    let form = Form::new(&form);
    form.above(end) + form.integral(-end, end, 2.0 * end, cubic)
}

/// Computes the mean of the logistic function over the interval `[low, low + width]`.
fn mean_over_interval(low: f64, width: f64) -> f64 {
    if width < 1e-9 {
        return sigmoid(low + 0.5 * width);
    }
    if width > 700.0 || low > 30.0 {
        return (softplus(low + width) - softplus(low)) / width;
    }
    (width.exp_m1() * sigmoid(low)).ln_1p() / width
}

/// Computes the mean of the logistic function by a series for the distribution of the form. The distribution is tilted by a `theta` in `[0, 1]`, such
/// that its mean is as near to 0 as possible. For such `theta`, the logistic function times `exp(-theta x)` is bounded. Even very small results
/// therefore have a small relative error. Returns `None` if exact pieces are the better method.
fn tilted_mean(form: &UniformSum) -> Option<f64> {
    let halves: Vec<f64> = form.widths.iter().map(|width| 0.5 * width).collect();
    let summands = Summands {
        halves,
        ..Summands::default()
    };
    if form.widths.len() <= MOST_EXACT || Series::size_needed(&summands)?.0 > SHORT {
        return None;
    }
    let middle = form.moments().0;
    let theta = if middle >= 0.0 {
        0.0
    } else if middle + summands.slopes(1.0).0 <= 0.0 {
        1.0
    } else {
        summands.saddle(-middle)?.clamp(0.0, 1.0)
    };
    let series = Series::new(&summands, theta)?;
    let centre = middle + series.centre;
    let count = (series.period() / series.spread().min(2.0)).ceil();
    if count > MOST_PANELS {
        return None;
    }
    let panel = series.period() / count;
    let term = |x: f64| series.density(x) * (series.log_scale - theta * x).exp() * sigmoid(centre + x);
    let on = |index: usize| {
        let start = panel * index as f64 - series.below;
        rule(16)
            .iter()
            .map(|node| node.weight * term(start + panel * node.at))
            .sum::<f64>()
    };
    Some((panel * (0..count as usize).map(on).sum::<f64>()).min(1.0))
}

/// The distribution of a linear form with uniform weights.
struct Form {
    shape: Representation,
    low: f64,
    high: f64,
    sd: f64,
}

impl Form {
    fn new(form: &UniformSum) -> Form {
        let point = Measure::point(form.start);
        let shape = if form.widths.len() <= MOST_EXACT_LONG {
            Representation::Pieces(
                form.widths
                    .iter()
                    .fold(point, |sum, &width| sum.plus_uniform(width)),
                0.0,
            )
        } else {
            Representation::new(point, form.widths.clone(), 0.0)
        };
        Form {
            shape,
            low: form.start.value(),
            high: form.end(),
            sd: form.moments().1.sqrt(),
        }
    }

    /// Computes the probability that the form is above `bound`.
    fn above(&self, bound: f64) -> f64 {
        match &self.shape {
            Representation::Pieces(measure, _) => measure.above(Twofold::from(bound)),
            other => 1.0 - other.below(bound),
        }
    }

    /// Computes the mean of the logistic function. Where the logistic function is 1 in `f64`, the probability is added without integration.
    fn mean_sigmoid(&self) -> f64 {
        let saturated = if self.high > SATURATED {
            self.above(SATURATED)
        } else {
            0.0
        };
        let high = self.high.min(SATURATED);
        saturated + self.integral(self.low.max(high - FADED), high, 2.0, sigmoid)
    }

    /// Integrates the density times the function `of` over `[from, to]`. A panel is at most `longest` long.
    fn integral(&self, from: f64, to: f64, longest: f64, of: impl Fn(f64) -> f64) -> f64 {
        if let Representation::Pieces(measure, _) = &self.shape {
            return measure
                .pieces
                .iter()
                .map(|piece| on_piece(piece, from, to, longest, &of))
                .sum();
        }
        let (from, to) = (from.max(self.low), to.min(self.high));
        let whole = self.panels(from, to, longest, |x| self.shape.plain_density(x) * of(x));
        if whole > 1e-4 || to <= from {
            return whole;
        }
        self.panels(from, to, longest, |x| self.shape.density(x) * of(x))
    }

    /// Integrates the function `of` over `[from, to]`. Each panel is at most `longest` and at most `self.sd` long.
    fn panels(&self, from: f64, to: f64, longest: f64, of: impl Fn(f64) -> f64) -> f64 {
        if to <= from {
            return 0.0;
        }
        let count = ((to - from) / longest.min(self.sd)).ceil().max(1.0);
        let panel = (to - from) / count;
        let on = |index: usize| {
            let start = from + panel * index as f64;
            rule(16)
                .iter()
                .map(|node| node.weight * of(start + panel * node.at))
                .sum::<f64>()
        };
        panel * (0..count as usize).map(on).sum::<f64>()
    }
}

/// Integrates a piece times the function `of` over the part of the piece within `[from, to]`.
fn on_piece(piece: &Piece, from: f64, to: f64, longest: f64, of: &impl Fn(f64) -> f64) -> f64 {
    let origin = piece.start.value();
    let low = (Twofold::from(from) - piece.start).value().max(0.0);
    let high = (Twofold::from(to) - piece.start).value().min(piece.width);
    if high <= low {
        return 0.0;
    }
    let count = ((high - low) / longest).ceil();
    let panel = (high - low) / count;
    let rule = rule(piece.degree() / 2 + 12);
    let on = |index: usize| {
        let term = |at: f64| piece.at(at / piece.width, (1.0 - at / piece.width).max(0.0)) * of(origin + at);
        rule.iter()
            .map(|node| node.weight * term(low + panel * (index as f64 + node.at)))
            .sum::<f64>()
    };
    panel * (0..count as usize).map(on).sum::<f64>()
}

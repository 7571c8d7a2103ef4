//! Predictions of classes and Booleans. For each iterate, bnnc integrates a sigmoid over the
//! weights. The prediction is the average of these integrals over the iterates.
//!
//! Let `f` be the logit of a class, and `g` the log-sum-exp of the other logits. The probability of
//! the class is the mean of `sigmoid(f - g)`. The other logits keep their values at the
//! iterate. The probabilities of all classes therefore do not sum to one. They are normalised at
//! the end.

use crate::collapsed::around::Around;
use crate::collapsed::errors::{self, Error};
use crate::collapsed::function::LocationDist;
use bnnc_abi::methods::collapsed::Sigmoid;
use bnnc_core::predict::{IntegralResults, Predictive};
use bnnc_kernels::pool::Pool;
use bnnc_piecewise::{CUBIC_END_L2, Network, ObservationNoise, mean_sigmoid, mean_sigmoid_cubic};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

/// The largest number of times that one integration halves an interval.
const HALVINGS: usize = 1000;
/// The relative accuracy of an integral that does not have a closed form.
const ACCURACY: f64 = 1e-10;
/// The number of intervals (panels) at the start of an integration.
const PANELS: usize = 32;
/// An integral over a distribution leaves out the two tails. Each tail has at most this
/// probability.
const ALL: f64 = 1e-15;
/// The search for an end of a distribution tries at most this number of distances. The
/// first distance from the centre is one standard deviation. Each further distance is twice the
/// previous one.
const DOUBLINGS: u32 = 20;

/// The classification of a block of rows.
pub struct ScoredClasses<'a> {
    /// The number of classes.
    pub classes: usize,
    /// The sigmoid that is applied to the logits.
    pub sigmoid: Sigmoid,
    /// The true class of each row, if the true classes are known.
    pub right: Option<&'a [i32]>,
}

/// Writes the probabilities of the classes, and the log likelihood if the true classes are known.
/// Returns the sum of the unnormalised probabilities over all rows and classes.
pub fn write(all: &[Around], scored: &ScoredClasses<'_>, pool: &Pool, predictive: &mut Predictive) -> f64 {
    let ScoredClasses {
        classes,
        sigmoid,
        right,
    } = *scored;
    let rows = predictive.rows;
    let raw = each(rows, pool, &|row| match raw(all, (row, classes), sigmoid) {
        // The cubic sigmoid of a logit is 0 if the logit is far below the log-sum-exp of the other
        // logits. If very many logits are equal, all of their sigmoids are 0. The exact sigmoid is
        // then used instead.
        none if none.iter().sum::<f64>() == 0.0 => self::raw(all, (row, classes), Sigmoid::Exact),
        found => found,
    });
    predictive.draws = 1;
    predictive.mean.clear();
    predictive.draw.clear();
    predictive.probabilities.clear();
    predictive.log_likelihood.clear();
    let off = each(rows, pool, &|row| {
        let class = |class: usize| {
            let more = |around: &Around| -others(&around.location[row * classes..(row + 1) * classes], class);
            error(
                all,
                (row * classes + class, 1.0),
                &more,
                (sigmoid, raw[row][class]),
            )
        };
        (0..classes).map(class).collect::<Vec<f64>>()
    });
    let mut results = IntegralResults::default();
    let mut sum = 0.0;
    for (row, (raw, off)) in raw.iter().zip(&off).enumerate() {
        let total: f64 = raw.iter().sum();
        sum += total;
        predictive.probabilities.extend(raw.iter().map(|p| p / total));
        let class = right.and_then(|right| usize::try_from(right[row]).ok());
        let known = class.filter(|class| *class < classes);
        let log = known.map_or(f64::NAN, |class| raw[class].ln() - total.ln());
        predictive.log_likelihood.push(log);
        // The relative error of a quotient is at most the sum of the relative errors of its
        // numerator and its denominator. The errors may add up to this bound, because classes that
        // share weights also share draws.
        let of_total = off.iter().sum::<f64>() / total;
        let relative = |class: usize| off[class] / raw[class] + of_total;
        let absolute = |class: usize| off[class] / total + of_total * raw[class] / total;
        results.error.push((0..classes).map(absolute).fold(0.0, f64::max));
        if right.is_some() {
            results.log_density.push(log);
            results.log_density_error.push(known.map_or(f64::NAN, relative));
        }
    }
    predictive.integrated = results;
    sum
}

/// Returns the error of `sigmoid(sign * location[at] + more(iterate))`, averaged over the iterates.
fn error(
    all: &[Around],
    (at, sign): (usize, f64),
    more: &dyn Fn(&Around) -> f64,
    (sigmoid, mean): (Sigmoid, f64),
) -> f64 {
    let share = 1.0 / all.len().max(1) as f64;
    let of = |around: &Around| {
        let more = more(around);
        let value = move |location: f64| value(sigmoid, sign * location + more);
        errors::of_mean(&around.parts[at], &value, (mean, ACCURACY)).times(share)
    };
    all.iter().map(of).fold(Error::default(), Error::plus).total()
}

/// Writes the probability that the Boolean is true, and the log likelihood if the true value is
/// known.
pub fn truth(
    all: &[Around],
    (sigmoid, right): (Sigmoid, Option<&[i32]>),
    pool: &Pool,
    predictive: &mut Predictive,
) {
    let rows = predictive.rows;
    let both = each(rows, pool, &|row| {
        let mean = |sign: f64| {
            let each = all
                .iter()
                .map(|around| mean(&around.parts[row], (sign, 0.0), sigmoid));
            each.sum::<f64>() / all.len().max(1) as f64
        };
        vec![mean(-1.0), mean(1.0)]
    });
    predictive.draws = 1;
    predictive.draw.clear();
    predictive.probabilities.clear();
    predictive.mean = both.iter().map(|both| both[1]).collect();
    let log = |(row, both): (usize, &Vec<f64>)| {
        let value = right.map(|right| usize::from(right[row] != 0));
        value.map_or(f64::NAN, |value| both[value].ln())
    };
    predictive.log_likelihood = both.iter().enumerate().map(log).collect();
    let off = |row: usize| error(all, (row, 1.0), &|_| 0.0, (sigmoid, both[row][1]));
    predictive.integrated = IntegralResults {
        error: (0..rows).map(off).collect(),
        ..IntegralResults::default()
    };
    if let Some(right) = right {
        let results = &mut predictive.integrated;
        results.log_density = predictive.log_likelihood.clone();
        let relative = |(row, error): (usize, &f64)| error / both[row][usize::from(right[row] != 0)];
        results.log_density_error = results.error.iter().enumerate().map(relative).collect();
    }
}

/// Computes one vector for each row, on all threads.
pub fn each<T: Send + Sync>(rows: usize, pool: &Pool, of: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let found: Vec<OnceLock<T>> = (0..rows).map(|_| OnceLock::new()).collect();
    pool.run(rows, &|_, row| {
        let _ = found[row].set(of(row));
    });
    found.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// For each class, returns the mean of its sigmoid over the iterates. The probabilities of the
/// classes are not normalised.
fn raw(all: &[Around], (row, classes): (usize, usize), sigmoid: Sigmoid) -> Vec<f64> {
    let mut sums = vec![0.0; classes];
    for around in all {
        let logits = &around.location[row * classes..(row + 1) * classes];
        for (class, sum) in sums.iter_mut().enumerate() {
            let part = &around.parts[row * classes + class];
            *sum += mean(part, (1.0, -others(logits, class)), sigmoid);
        }
    }
    sums.iter().map(|sum| sum / all.len().max(1) as f64).collect()
}

/// Returns the log-sum-exp of all logits except one.
fn others(logits: &[f64], class: usize) -> f64 {
    let all = || {
        logits
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != class)
            .map(|(_, logit)| *logit)
    };
    let largest = all().fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + all().map(|logit| (logit - largest).exp()).sum::<f64>().ln(),
        false => largest,
    }
}

/// Returns the mean of `sigmoid(sign * f + more)`, where `part` is the distribution of `f`.
pub fn mean(part: &LocationDist, (sign, more): (f64, f64), sigmoid: Sigmoid) -> f64 {
    if let LocationDist::Network(Network { offset, terms, units }) = part
        && units.is_empty()
    {
        let mut terms = terms.clone();
        terms.iter_mut().for_each(|term| term.slope *= sign);
        let offset = sign * offset + more;
        return match sigmoid {
            Sigmoid::Exact => mean_sigmoid(&terms, offset),
            Sigmoid::Cubic => mean_sigmoid_cubic(&terms, offset, CUBIC_END_L2),
        };
    }
    if let LocationDist::Drawn(draws) = part {
        let values = draws.iter().map(|draw| value(sigmoid, sign * draw + more));
        return values.sum::<f64>() / draws.len().max(1) as f64;
    }
    let law = part.law(ObservationNoise::Normal { sd: 0.0 });
    let (low, high) = part.support();
    let spread = Spread {
        centre: sign * law.mean() + more,
        sd: law.variance().max(0.0).sqrt(),
        ends: match sign > 0.0 {
            true => (low + more, high + more),
            false => (more - high, more - low),
        },
    };
    match sign > 0.0 {
        true => mean_of_law(&|y| 1.0 - law.cdf(y - more), &spread, sigmoid),
        false => mean_of_law(&|y| law.cdf(more - y), &spread, sigmoid),
    }
}

/// The centre, the standard deviation and the ends of a distribution.
struct Spread {
    centre: f64,
    sd: f64,
    /// The ends of the support of the distribution.
    ends: (f64, f64),
}

/// Returns the mean of a sigmoid `s` of a random variable on `[a, b]`. The variable exceeds `y`
/// with the probability `above(y)`. The mean is `s(a)` plus the integral of `s'(y) above(y)` from
/// `a` to `b`. All terms are non-negative, so small means are as accurate as large means, in
/// relative terms.
fn mean_of_law(above: &dyn Fn(f64) -> f64, spread: &Spread, sigmoid: Sigmoid) -> f64 {
    let &Spread { centre, sd, ends } = spread;
    if sd == 0.0 {
        return value(sigmoid, centre);
    }
    // The support is often much wider than the range that contains nearly all of the probability.
    // If rounding errors hide an end of this range, the integral starts or stops at the end of the support instead.
    let end = |sign: f64, probability: f64, last: f64| {
        let places = (0..DOUBLINGS).map(|power| centre + sign * sd * f64::from(1_u32 << power));
        let mut inside = places.take_while(|y| (ends.0..=ends.1).contains(y));
        let reached = inside.find(|y| (above(*y) - probability).abs() <= ALL);
        reached.unwrap_or(last)
    };
    let (from, to) = (end(-1.0, 1.0, ends.0), end(1.0, 0.0, ends.1));
    let of = |y: f64| slope(sigmoid, y) * above(y);
    let least = value(sigmoid, from);
    let width = (to - from) / PANELS as f64;
    let panels = (0..PANELS).map(|at| {
        let (low, high) = (from + at as f64 * width, from + (at + 1) as f64 * width);
        Panel::new(&of, (low, high), [of(low), of(0.5 * (low + high)), of(high)])
    });
    least + integral(&of, panels.collect(), least)
}

/// Returns the value of a sigmoid.
fn value(sigmoid: Sigmoid, y: f64) -> f64 {
    match sigmoid {
        Sigmoid::Exact => mean_sigmoid(&[], y),
        Sigmoid::Cubic => mean_sigmoid_cubic(&[], y, CUBIC_END_L2),
    }
}

/// Returns the derivative of a sigmoid.
fn slope(sigmoid: Sigmoid, y: f64) -> f64 {
    match sigmoid {
        Sigmoid::Exact => {
            let small = (-y.abs()).exp();
            small / (1.0 + small).powi(2)
        }
        // The derivative of (1 + s)^2 (2 - s) / 4, where s = y / end.
        Sigmoid::Cubic => {
            let s = (y / CUBIC_END_L2).clamp(-1.0, 1.0);
            0.75 * (1.0 - s * s) / CUBIC_END_L2
        }
    }
}

/// An interval, and the values of a function at its ends, at its middle and at its quarters.
struct Panel {
    ends: (f64, f64),
    values: [f64; 5],
}

impl Panel {
    /// Builds a panel from the values of the function at both ends and in the middle.
    fn new(of: &dyn Fn(f64) -> f64, ends: (f64, f64), [first, middle, last]: [f64; 3]) -> Panel {
        let left = of(0.75 * ends.0 + 0.25 * ends.1);
        let right = of(0.25 * ends.0 + 0.75 * ends.1);
        Panel {
            ends,
            values: [first, left, middle, right, last],
        }
    }

    /// Returns the integral and an error estimate. The integral is the extrapolation of Simpson's
    /// rule on both halves. The error estimate is the difference between the rule on the halves and
    /// the rule on the whole interval. The estimate exceeds the error if the function is smooth. If
    /// the function jumps, as distribution functions may do, the estimated error is still about as
    /// large as the actual error.
    fn integral(&self) -> (f64, f64) {
        let width = self.ends.1 - self.ends.0;
        let [first, left, middle, right, last] = self.values;
        let whole = width * (first + 4.0 * middle + last) / 6.0;
        let halves = width * (first + 4.0 * left + 2.0 * middle + 4.0 * right + last) / 12.0;
        let error = halves - whole;
        (halves + error / 15.0, error.abs())
    }

    fn halves(&self, of: &dyn Fn(f64) -> f64) -> [Panel; 2] {
        let centre = 0.5 * (self.ends.0 + self.ends.1);
        let [first, left, middle, right, last] = self.values;
        [
            Panel::new(of, (self.ends.0, centre), [first, left, middle]),
            Panel::new(of, (centre, self.ends.1), [middle, right, last]),
        ]
    }
}

impl PartialEq for Panel {
    fn eq(&self, other: &Panel) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Panel {}

impl PartialOrd for Panel {
    fn partial_cmp(&self, other: &Panel) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Panels are ordered by their error, so that the heap returns the panel with the largest error
/// first.
impl Ord for Panel {
    fn cmp(&self, other: &Panel) -> Ordering {
        self.integral().1.total_cmp(&other.integral().1)
    }
}

/// Returns the integral of a function over panels. Repeatedly halves the panel with the largest
/// error. The loop ends when the sum of the errors is at most [`ACCURACY`] times the sum of the
/// integral and `least`. Rounding errors of the function may keep the sum above this limit. The
/// loop then ends after [`HALVINGS`] halvings.
fn integral(of: &dyn Fn(f64) -> f64, panels: BinaryHeap<Panel>, least: f64) -> f64 {
    let sums = |panels: &BinaryHeap<Panel>| {
        let integrals = panels.iter().map(Panel::integral);
        integrals.fold((0.0, 0.0), |sum, (value, error)| (sum.0 + value, sum.1 + error))
    };
    let mut panels = panels;
    let (mut value, mut error) = sums(&panels);
    for _ in 0..HALVINGS {
        if error <= ACCURACY * (least + value).max(f64::MIN_POSITIVE) {
            break;
        }
        let Some(worst) = panels.pop() else { break };
        let (old, wrong) = worst.integral();
        (value, error) = (value - old, error - wrong);
        for half in worst.halves(of) {
            let (new, wrong) = half.integral();
            (value, error) = (value + new, error + wrong);
            panels.push(half);
        }
    }
    sums(&panels).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox::{key, uniform};
    use bnnc_math::special::softplus;
    use bnnc_piecewise::{UniformTerm, Unit};

    /// The distribution of `outgoing * relu(w)`, where `w` is uniform on `[-1, 1]`. With a
    /// probability of one half, `relu(w)` is 0. Otherwise, it is uniform on `[0, 1]`.
    fn rectified(outgoing: f64) -> LocationDist {
        let terms = vec![UniformTerm {
            slope: 1.0,
            lower: -1.0,
            upper: 1.0,
        }];
        let units = vec![Unit {
            outgoing,
            bias: 0.0,
            terms,
        }];
        LocationDist::Network(Network {
            offset: 0.0,
            terms: Vec::new(),
            units,
        })
    }

    /// Returns the mean of the logistic function over `[low, high]`.
    fn between(low: f64, high: f64) -> f64 {
        (softplus(high) - softplus(low)) / (high - low)
    }

    #[test]
    fn the_mean_sigmoid_of_a_unit_matches_its_closed_form() {
        for (outgoing, more) in [(1.0, 0.0), (3.0, -2.0), (-2.0, 0.7), (40.0, -20.0)] {
            let want = 0.5 * bnnc_math::special::sigmoid(more)
                + 0.5 * between(more.min(more + outgoing), more.max(more + outgoing));
            let got = mean(&rectified(outgoing), (1.0, more), Sigmoid::Exact);
            assert!((got - want).abs() < 1e-9, "{got} is not {want}");
            let other = mean(&rectified(outgoing), (-1.0, -more), Sigmoid::Exact);
            assert!((got + other - 1.0).abs() < 1e-9, "{got} and {other}");
        }
    }

    /// Small probabilities need the same relative accuracy as large probabilities, because their
    /// logarithms are scored.
    #[test]
    fn a_unit_far_below_zero_keeps_relative_accuracy() {
        for more in [-25.0, -40.0, -300.0] {
            let want = 0.5 * bnnc_math::special::sigmoid(more) + 0.5 * between(more, more + 1.0);
            let got = mean(&rectified(1.0), (1.0, more), Sigmoid::Exact);
            assert!((got / want - 1.0).abs() < 1e-8, "{got} is not {want}");
        }
    }

    /// Each of the four units is 0 or uniform on `[0, 1]`. There is no closed form for the integral
    /// over the sum of the units.
    #[test]
    fn several_units_match_a_midpoint_rule() {
        let unit = |outgoing: f64| {
            let LocationDist::Network(network) = rectified(outgoing) else {
                unreachable!("a network")
            };
            network.units
        };
        let slopes = [1.0, -0.7, 0.4, 2.0];
        let part = LocationDist::Network(Network {
            offset: 0.0,
            terms: Vec::new(),
            units: slopes.into_iter().flat_map(unit).collect(),
        });
        // The reference value: a midpoint rule over all four weights. All negative values of a weight
        // give the same result, so they are represented by a single point with half of the mass.
        let points: Vec<(f64, f64)> = (0..40)
            .map(|at| ((f64::from(at) + 0.5) / 40.0, 0.5 / 40.0))
            .chain([(0.0, 0.5)])
            .collect();
        for (sign, more) in [(1.0, -9.0), (-1.0, 0.3)] {
            let mut want = 0.0;
            for a in &points {
                for b in &points {
                    for c in &points {
                        for d in &points {
                            let sum = slopes[0] * a.0 + slopes[1] * b.0 + slopes[2] * c.0 + slopes[3] * d.0;
                            want += a.1 * b.1 * c.1 * d.1 * bnnc_math::special::sigmoid(sign * sum + more);
                        }
                    }
                }
            }
            let got = mean(&part, (sign, more), Sigmoid::Exact);
            // The error bound of the midpoint rule. The bound is the squared step, times the sum of
            // the squared slopes, times the largest curvature, divided by 24.
            assert!((got / want - 1.0).abs() < 2e-4, "{got} is not {want}");
        }
    }

    /// Whatever the distribution of a number is, the mean sigmoid of the number and the mean sigmoid of
    /// its negative add up to 1. Each unit here has several weights, so its distribution function
    /// has rounding errors.
    #[test]
    fn the_probabilities_of_both_booleans_add_up_to_one() {
        for units in 1..6 {
            for seed in 0..8 {
                let draw = |at: usize| uniform(key(seed, "units"), [0; 3], at as u64);
                let unit = |number: usize| {
                    let at = 16 * number;
                    let terms = (0..3).map(|weight| {
                        let lower = 2.0 * draw(at + 2 * weight) - 1.5;
                        UniformTerm {
                            slope: 4.0 * draw(at + 8 + weight) - 2.0,
                            lower,
                            upper: lower + draw(at + 2 * weight + 1),
                        }
                    });
                    Unit {
                        outgoing: 3.0 * draw(at + 12) - 1.5,
                        bias: 2.0 * draw(at + 13) - 1.0,
                        terms: terms.collect(),
                    }
                };
                let part = LocationDist::Network(Network {
                    offset: 2.0 * draw(1000) - 1.0,
                    terms: Vec::new(),
                    units: (0..units).map(unit).collect(),
                });
                for sigmoid in [Sigmoid::Exact, Sigmoid::Cubic] {
                    let [yes, no] = [1.0, -1.0].map(|sign| mean(&part, (sign, 0.0), sigmoid));
                    assert!(
                        (yes + no - 1.0).abs() < 2e-10,
                        "{units} units, seed {seed}: {yes} and {no}"
                    );
                }
            }
        }
    }

    /// An integration ends even if halving panels does not reduce the error estimate.
    #[test]
    fn integrating_noise_ends() {
        let noisy = |x: f64| 1.0 + 1e-6 * (x * 1e9).sin();
        let panels = [Panel::new(
            &noisy,
            (0.0, 1.0),
            [noisy(0.0), noisy(0.5), noisy(1.0)],
        )];
        assert!((integral(&noisy, panels.into(), 0.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn slopes_match_differences_of_sigmoids() {
        for (sigmoid, y) in [
            (Sigmoid::Exact, 0.7),
            (Sigmoid::Exact, -3.0),
            (Sigmoid::Cubic, 1.1),
            (Sigmoid::Cubic, -2.0),
        ] {
            let difference = (value(sigmoid, y + 1e-5) - value(sigmoid, y - 1e-5)) / 2e-5;
            assert!((slope(sigmoid, y) - difference).abs() < 1e-9);
        }
        assert_eq!(slope(Sigmoid::Cubic, 9.0), 0.0);
    }

    /// Each of the equal logits is so far below the log-sum-exp of the others that its cubic
    /// sigmoid is 0.
    #[test]
    fn the_exact_sigmoid_replaces_a_cubic_without_any_probability() {
        let classes = 64;
        let around = Around {
            parts: vec![LocationDist::Network(Network::default()); classes],
            location: vec![0.0; classes],
            ..Around::default()
        };
        let mut predictive = Predictive {
            rows: 1,
            ..Predictive::default()
        };
        let right = [3];
        write(
            &[around],
            &ScoredClasses {
                classes,
                sigmoid: Sigmoid::Cubic,
                right: Some(&right),
            },
            &Pool::new(1),
            &mut predictive,
        );
        assert!((predictive.log_likelihood[0] + 64f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn the_mean_cubic_sigmoid_matches_a_midpoint_rule() {
        let cubic = |t: f64| {
            let s: f64 = (t / CUBIC_END_L2).clamp(-1.0, 1.0);
            0.25 * (1.0 + s).powi(2) * (2.0 - s)
        };
        let all = (0..200_000).map(|at| cubic(2.0 * (f64::from(at) + 0.5) / 200_000.0 - 0.3));
        let want = 0.5 * cubic(-0.3) + 0.5 * all.sum::<f64>() / 200_000.0;
        let got = mean(&rectified(2.0), (1.0, -0.3), Sigmoid::Cubic);
        assert!((got - want).abs() < 1e-9, "{got} is not {want}");
    }

    #[test]
    fn others_is_the_log_sum_exp_without_the_class() {
        let logits = [1.0, -2.0, 800.0];
        assert!((others(&logits, 2) - (1f64.exp() + (-2f64).exp()).ln()).abs() < 1e-12);
        assert!((others(&logits, 0) - 800.0).abs() < 1e-12);
    }
}

//! Decides exactly whether a polytope has an interior. Floating point is used only where its result is certain.

use super::ball::Ball;
use super::lp::{Deepest, deepest};
use crate::linear::{HalfSpace, Polytope};
use crate::rational::{Rational, from_f64};

/// The extent of a polytope: it has a volume, it has points but no volume, or it is empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Feasibility {
    /// The polytope has an interior. This point is in the interior.
    Interior(Vec<Rational>),
    /// The polytope has points, but does not have a volume.
    Flat,
    /// The polytope is empty.
    Empty,
}

/// Returns whether a non-empty polytope is bounded. A polytope is unbounded if it contains a ray.
pub fn is_bounded(polytope: &Polytope) -> bool {
    let mut cone = polytope.clone();
    cone.rows.iter_mut().for_each(|row| row.bound = Rational::ZERO);
    let dimension = polytope.dimension;
    let goes_on = |row: HalfSpace| feasible(&cone.cut(row)) != Feasibility::Empty;
    !(0..dimension).any(|variable| {
        goes_on(HalfSpace::lower(dimension, variable, Rational::ONE))
            || goes_on(HalfSpace::upper(dimension, variable, Rational::NEG_ONE))
    })
}

/// Decides exactly whether `polytope` has a volume.
///
/// First, the bounds of variables are tightened. Then a linear program in floating point proposes either a point in the interior, or a
/// combination of rows that contradict each other. The proposal is checked with rigorous bounds on every rounding error (Neumaier and
/// Shcherbina, Safe bounds in linear and mixed-integer linear programming, 2004). Cases that remain undecided, such as a polytope without
/// volume, are decided in rational arithmetic.
pub fn feasible(polytope: &Polytope) -> Feasibility {
    let mut rows = Vec::new();
    for row in &polytope.rows {
        if !row.is_constant() {
            rows.push(row);
        } else if row.bound < Rational::ZERO {
            return Feasibility::Empty;
        }
    }
    if rows.is_empty() {
        return Feasibility::Interior(vec![Rational::ZERO; polytope.dimension]);
    }
    let shadow: Vec<ShadowRow> = rows
        .iter()
        .map(|row| ShadowRow {
            coefficients: row.coefficients.iter().map(Ball::around).collect(),
            bound: Ball::around(&row.bound),
        })
        .collect();
    if let Some(answer) = in_floating_point(&shadow, polytope.dimension) {
        return answer;
    }
    let exact: Vec<(Vec<Rational>, Rational)> = rows
        .iter()
        .map(|row| (row.coefficients.clone(), row.bound.clone()))
        .collect();
    match deepest(&exact, polytope.dimension) {
        Some(found) if found.margin > Rational::ZERO => Feasibility::Interior(found.point),
        Some(found) if found.margin.is_zero() => Feasibility::Flat,
        Some(_) => Feasibility::Empty,
        None => unreachable!("the exact method ends, and the margin is at most one"),
    }
}

/// Returns the same result as [`feasible`], but first checks whether `guess` is in the interior. The caller should pass a point inside a
/// similar polytope.
pub fn feasible_near(polytope: &Polytope, guess: &[Rational]) -> Feasibility {
    if polytope.contains_inside(guess) {
        return Feasibility::Interior(guess.to_vec());
    }
    feasible(polytope)
}

/// A row in floating point, with bounds on the errors of its numbers.
struct ShadowRow {
    coefficients: Vec<Ball>,
    bound: Ball,
}

/// Decides in floating point. Returns `None` if rounding errors leave the result uncertain.
fn in_floating_point(rows: &[ShadowRow], dimension: usize) -> Option<Feasibility> {
    let Some(ranges) = tightened(rows, dimension) else {
        return Some(Feasibility::Empty);
    };
    let frame: Vec<(f64, f64)> = ranges
        .iter()
        .map(|&(lower, upper)| centre_and_scale(lower, upper))
        .collect();
    let mut sizes = Vec::with_capacity(rows.len());
    let mut scaled = Vec::with_capacity(rows.len());
    for row in rows {
        let columns = row.coefficients.iter().zip(&frame);
        let moved = columns.clone().fold(row.bound.value, |bound, (c, (centre, _))| {
            bound - c.value * centre
        });
        let coefficients: Vec<f64> = columns.map(|(c, (_, scale))| c.value * scale).collect();
        let size = coefficients.iter().fold(0.0, |size: f64, c| size.max(c.abs()));
        if !(size.is_normal() && moved.is_finite()) {
            return None;
        }
        scaled.push((coefficients.iter().map(|c| c / size).collect(), moved / size));
        sizes.push(size);
    }
    let Deepest {
        margin,
        point,
        multipliers,
    } = deepest(&scaled, dimension)?;
    if margin > 0.0 {
        let point: Vec<f64> = point
            .iter()
            .zip(&frame)
            .map(|(u, (centre, scale))| centre + scale * u)
            .collect();
        return certainly_inside(rows, &point);
    }
    let multipliers: Vec<f64> = multipliers
        .iter()
        .zip(&sizes)
        .map(|(m, size)| m.max(0.0) / size)
        .collect();
    contradictory(rows, &multipliers, &ranges).then_some(Feasibility::Empty)
}

/// Returns the bounds on each variable that follow from one row at a time. Returns `None` if bounds contradict each other.
fn tightened(rows: &[ShadowRow], dimension: usize) -> Option<Vec<(f64, f64)>> {
    let mut ranges = vec![(f64::NEG_INFINITY, f64::INFINITY); dimension];
    // The first sweep uses rows with a single variable. The second sweep uses rows with several variables, together with the bounds from
    // the first sweep.
    for _ in 0..2 {
        for row in rows {
            tighten(row, &mut ranges);
        }
    }
    ranges
        .iter()
        .all(|(lower, upper)| lower <= upper)
        .then_some(ranges)
}

fn tighten(row: &ShadowRow, ranges: &mut [(f64, f64)]) {
    let least = |(c, &(lower, upper)): (&Ball, &(f64, f64))| {
        if c.value > 0.0 {
            c.times(Ball::exactly(lower))
        } else {
            c.times(Ball::exactly(upper))
        }
    };
    let occurs = |(c, _): &(&Ball, &(f64, f64))| **c != Ball::ZERO;
    let open = row
        .coefficients
        .iter()
        .zip(&*ranges)
        .filter(occurs)
        .filter(|pair| !least(*pair).error.is_finite())
        .count();
    if open > 1 {
        return;
    }
    for place in 0..ranges.len() {
        let pivot = row.coefficients[place];
        if pivot == Ball::ZERO || (open == 1 && least((&pivot, &ranges[place])).error.is_finite()) {
            continue;
        }
        let others = row
            .coefficients
            .iter()
            .zip(&*ranges)
            .enumerate()
            .filter(|(other, _)| *other != place);
        let rest = others.map(|(_, pair)| pair).filter(occurs).map(least);
        let reach = rest
            .fold(row.bound, |bound, part| {
                bound.plus(Ball {
                    value: -part.value,
                    ..part
                })
            })
            .over(pivot);
        let (lower, upper) = &mut ranges[place];
        if !reach.error.is_finite() {
            continue;
        }
        if pivot.value > 0.0 {
            *upper = upper.min(reach.upper());
        } else {
            *lower = lower.max(reach.lower());
        }
    }
}

/// Returns the midpoint and the half-width of a range. If the range is unbounded on a side, returns substitutes for both numbers.
fn centre_and_scale(lower: f64, upper: f64) -> (f64, f64) {
    let scale = |size: f64| if size.is_normal() { size } else { 1.0 };
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => (lower + 0.5 * (upper - lower), scale(0.5 * (upper - lower))),
        (true, false) => (lower, scale(lower.abs())),
        (false, true) => (upper, scale(upper.abs())),
        (false, false) => (0.0, 1.0),
    }
}

/// Returns `point` as an interior point if it is inside the polytope whatever the rounding errors are.
fn certainly_inside(rows: &[ShadowRow], point: &[f64]) -> Option<Feasibility> {
    let inside = rows.iter().all(|row| {
        let products = row
            .coefficients
            .iter()
            .zip(point)
            .map(|(c, &x)| c.times(Ball::exactly(-x)));
        products.fold(row.bound, Ball::plus).lower() > 0.0
    });
    if !inside {
        return None;
    }
    point
        .iter()
        .map(|&x| from_f64(x))
        .collect::<Option<Vec<_>>>()
        .map(Feasibility::Interior)
}

/// Multiplies each row by its multiplier, and adds the results. Returns whether the resulting inequality is certainly false at all points
/// within `ranges`.
fn contradictory(rows: &[ShadowRow], multipliers: &[f64], ranges: &[(f64, f64)]) -> bool {
    let combined = |entry: &dyn Fn(&ShadowRow) -> Ball| {
        let parts = rows.iter().zip(multipliers).filter(|(_, m)| **m > 0.0);
        parts.fold(Ball::ZERO, |sum, (row, &m)| {
            sum.plus(entry(row).times(Ball::exactly(m)))
        })
    };
    let bound = combined(&|row| row.bound);
    let mut least = Ball {
        value: -bound.value,
        ..bound
    };
    for (variable, &(lower, upper)) in ranges.iter().enumerate() {
        let coefficient = combined(&|row| row.coefficients[variable]);
        if coefficient == Ball::ZERO {
            continue;
        }
        let mut smallest = f64::INFINITY;
        for (matters, end) in [
            (coefficient.upper() > 0.0, lower),
            (coefficient.lower() < 0.0, upper),
        ] {
            let product = coefficient.times(Ball::exactly(end));
            if matters {
                if !product.error.is_finite() {
                    return false;
                }
                smallest = smallest.min(product.lower());
            }
        }
        least = least.plus(Ball::exactly(smallest));
    }
    least.lower() > 0.0
}

//! Minimises functions by L-BFGS (Liu and Nocedal 1989). A short descent is used to test whether a point is a minimum.
//!
//! The direction of a step is the negative gradient, scaled by the curvature along the previous steps. If
//! necessary, the step is shortened until the decrease of the value is large enough for the length of the step
//! (Armijo 1966). L-BFGS stores pairs: a step, and the change of the gradient along this step. A pair without
//! positive curvature is left out. A step changes each argument by at most `LONGEST`, so that the descent
//! stays in the basin where it began.

use bnnc_core::context::Stop;

/// The number of stored pairs of a step and a gradient change. The curvature is estimated from
/// these pairs.
const PAIRS: usize = 20;

/// The length of the first step. This step goes along the negative gradient. The length of a step is
/// the largest change among the arguments. As long as no pair with positive curvature is stored, the
/// length doubles with each step.
const FIRST: f64 = 1e-3;
/// The maximum length of a step.
const LONGEST: f64 = 1.0;

/// A step is accepted only if the value decreases by at least this fraction of the decrease that
/// the slope predicts.
const ARMIJO: f64 = 1e-4;
/// A step that is not accepted is shortened by this factor.
const SHORTER: f64 = 0.3;

/// A descent counts as settled if the value has decreased by less than the tolerance over this
/// number of steps. The slope must also predict a decrease below the tolerance, even for a step of
/// the largest length. The second condition is needed because steps are short in a narrow valley,
/// even where the gradient is large.
const SETTLED: usize = 10;

/// A pair is left out if the angle between the step and the change of the gradient has a cosine
/// below this value.
const CURVED: f64 = 1e-10;

/// Returns the number of reals that a descent allocates if it has this number of arguments.
pub const fn numbers(arguments: usize) -> usize {
    (2 * PAIRS + 8) * arguments
}

/// A function that computes a value and its gradient: `(point, gradient) -> value`.
pub type ObjectiveFn<'a> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64, Stop> + 'a;

/// The result of a descent.
#[derive(Clone, Debug)]
pub struct End {
    /// The arguments at the end of the descent.
    pub point: Vec<f64>,
    /// The decrease of the value from the start to the end.
    pub fall: f64,
    /// True if the descent has settled, so that the value cannot decrease by more than the
    /// tolerance.
    pub is_settled: bool,
}

/// Descends from a point until the descent has settled, with at most `evaluations` evaluations of
/// the function. The descent has settled if the value decreased by less than `tolerance` over ten
/// steps, and if the slope in each argument is below `tolerance`. Returns `None` if the value or
/// the gradient at the start is not finite. A step does not allocate memory.
///
/// # Errors
/// Fails with any error that the function returns.
pub fn descend(
    function: &mut ObjectiveFn<'_>,
    start: &[f64],
    (evaluations, tolerance): (usize, f64),
) -> Result<Option<End>, Stop> {
    let mut at = At::new(start.to_vec());
    at.evaluate(function)?;
    if !at.is_finite() {
        return Ok(None);
    }
    let first = at.value;
    let mut next = At::new(start.to_vec());
    let mut pairs = Pairs::new(start.len());
    let mut step = vec![0.0; start.len()];
    let (mut left, mut bare) = (evaluations.saturating_sub(1), FIRST);
    // A ring buffer that contains the value of the function before each of the last `SETTLED` steps.
    let (mut values, mut steps) = ([f64::INFINITY; SETTLED], 0);
    let mut is_settled = largest(&at.gradient) == 0.0;
    while left > 0 && !is_settled {
        pairs.direction(&at.gradient, bare, &mut step);
        let is_flat = largest(&at.gradient) * LONGEST < tolerance;
        if search(function, (&at, &mut next), &step, &mut left)? {
            pairs.remember(&at, &next);
            if pairs.count == 0 {
                bare = (2.0 * bare).min(LONGEST);
            }
            std::mem::swap(&mut at, &mut next);
            let before = std::mem::replace(&mut values[steps % SETTLED], next.value);
            steps += 1;
            is_settled = is_flat && before - at.value < tolerance;
        } else if pairs.count > 0 {
            // The stored curvature comes from earlier points, and may be wrong here. All pairs are
            // deleted, and one step along the gradient is tried.
            (pairs.count, bare) = (0, FIRST);
        } else {
            // Rounding errors prevent any further decrease. The last point counts as a minimum if
            // even the longest step has a predicted decrease below the tolerance.
            is_settled = is_flat;
            break;
        }
    }
    Ok(Some(End {
        fall: first - at.value,
        point: at.point,
        is_settled,
    }))
}

/// A point of a descent, with its value and its gradient.
struct At {
    point: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

impl At {
    fn new(point: Vec<f64>) -> At {
        At {
            gradient: vec![0.0; point.len()],
            point,
            value: f64::NAN,
        }
    }

    fn evaluate(&mut self, function: &mut ObjectiveFn<'_>) -> Result<(), Stop> {
        self.value = function(&self.point, &mut self.gradient)?;
        Ok(())
    }

    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient.iter().all(|slope| slope.is_finite())
    }
}

/// Shortens a step until the value at its end is low enough. Returns false if the step becomes too
/// short before this happens, or if all evaluations have been used.
fn search(
    function: &mut ObjectiveFn<'_>,
    (at, next): (&At, &mut At),
    step: &[f64],
    left: &mut usize,
) -> Result<bool, Stop> {
    let slope = dot(step, &at.gradient);
    let mut length = 1.0;
    while slope < 0.0 && *left > 0 && length > f64::EPSILON {
        *left -= 1;
        next.point.copy_from_slice(&at.point);
        add(&mut next.point, length, step);
        next.evaluate(function)?;
        let is_lower = next.value < at.value && next.value <= at.value + ARMIJO * length * slope;
        if is_lower && next.is_finite() {
            return Ok(true);
        }
        length *= SHORTER;
    }
    Ok(false)
}

/// A ring buffer of the last steps, with the change of the gradient along each step.
struct Pairs {
    steps: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
    /// For each pair, the inner product of the step and the gradient change.
    curvatures: [f64; PAIRS],
    /// The number of pairs, and the index of the next stored pair.
    count: usize,
    next: usize,
}

impl Pairs {
    fn new(arguments: usize) -> Pairs {
        Pairs {
            steps: vec![vec![0.0; arguments]; PAIRS],
            changes: vec![vec![0.0; arguments]; PAIRS],
            curvatures: [0.0; PAIRS],
            count: 0,
            next: 0,
        }
    }

    /// Returns the index of a pair. `back` counts from the last pair. The last pair has the number
    /// 0.
    fn place(&self, back: usize) -> usize {
        (self.next + PAIRS - 1 - back) % PAIRS
    }

    /// Computes the next step, before it is shortened, by the two-loop recursion over the pairs.
    /// Without pairs, the step goes along the negative gradient and has the length `bare`.
    fn direction(&self, gradient: &[f64], bare: f64, step: &mut [f64]) {
        step.iter_mut()
            .zip(gradient)
            .for_each(|(step, slope)| *step = -slope);
        let mut shares = [0.0; PAIRS];
        for back in 0..self.count {
            let at = self.place(back);
            shares[at] = dot(&self.steps[at], step) / self.curvatures[at];
            add(step, -shares[at], &self.changes[at]);
        }
        let last = self.place(0);
        let scale = match self.count {
            0 => bare / largest(gradient),
            _ => self.curvatures[last] / dot(&self.changes[last], &self.changes[last]),
        };
        step.iter_mut().for_each(|value| *value *= scale);
        for back in (0..self.count).rev() {
            let at = self.place(back);
            let other = dot(&self.changes[at], step) / self.curvatures[at];
            add(step, shares[at] - other, &self.steps[at]);
        }
        let size = largest(step);
        if size > LONGEST {
            step.iter_mut().for_each(|value| *value *= LONGEST / size);
        }
    }

    /// Stores a pair if its curvature is positive. The pair is the step between two consecutive
    /// points, and the change of the gradient along this step.
    fn remember(&mut self, from: &At, to: &At) {
        let at = self.next;
        subtract(&to.point, &from.point, &mut self.steps[at]);
        subtract(&to.gradient, &from.gradient, &mut self.changes[at]);
        let (step, change) = (&self.steps[at], &self.changes[at]);
        let curvature = dot(step, change);
        if curvature > CURVED * (dot(step, step) * dot(change, change)).sqrt() {
            self.curvatures[at] = curvature;
            self.next = (at + 1) % PAIRS;
            self.count = (self.count + 1).min(PAIRS);
        } else if self.count == PAIRS {
            // The new pair has overwritten the oldest pair, but is not kept. Therefore, one pair fewer is left.
            self.count -= 1;
        }
    }
}

/// Returns the scalar product of two vectors.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], times: f64, vector: &[f64]) {
    to.iter_mut()
        .zip(vector)
        .for_each(|(to, value)| *to += times * value);
}

fn subtract(a: &[f64], b: &[f64], to: &mut [f64]) {
    let differences = a.iter().zip(b).map(|(a, b)| a - b);
    to.iter_mut().zip(differences).for_each(|(to, value)| *to = value);
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(start: &[f64], limits: (usize, f64), of: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> End {
        let mut function = |point: &[f64], gradient: &mut [f64]| {
            let (value, slope) = of(point);
            gradient.copy_from_slice(&slope);
            Ok(value)
        };
        descend(&mut function, start, limits)
            .ok()
            .flatten()
            .expect("the start has a value")
    }

    #[test]
    fn the_minimum_of_a_narrow_valley_is_found() {
        // The minimum of Rosenbrock's function is 0 at (1, 1), at the end of a curved valley.
        let found = end(&[-1.2, 1.0], (200, 1e-12), |p| {
            let (a, b) = (1.0 - p[0], p[1] - p[0] * p[0]);
            let slope = vec![-2.0 * a - 400.0 * p[0] * b, 200.0 * b];
            (a * a + 100.0 * b * b, slope)
        });
        assert!(found.is_settled, "{found:?}");
        // The value at the start (-1.2, 1) is 2.2^2 + 100 0.44^2 = 24.2.
        assert!((found.fall - 24.2).abs() < 1e-9, "{found:?}");
        assert!((found.point[0] - 1.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn a_value_without_a_minimum_falls_until_the_end() {
        // Three normal values have the scale e^u. The joint density of u and these values grows
        // without bound for u -> -inf.
        let found = end(&[-3.0, 0.01, -0.02, 0.03], (200, 1e-3), |p| {
            let precision = (-2.0 * p[0]).exp();
            let squares: f64 = p[1..].iter().map(|x| x * x * precision).sum();
            let others = p[1..].iter().map(|x| x * precision);
            let slope = std::iter::once(3.0 - squares).chain(others).collect();
            (0.5 * squares + 3.0 * p[0], slope)
        });
        assert!(!found.is_settled && found.point[0] < -10.0, "{found:?}");
    }

    #[test]
    fn a_minimum_settles_at_once_and_a_start_without_a_value_has_no_end() {
        let found = end(&[0.0], (200, 1e-3), |p| (p[0] * p[0], vec![2.0 * p[0]]));
        assert!(found.is_settled && found.fall == 0.0, "{found:?}");
        let nowhere = descend(&mut |_, _| Ok(f64::NAN), &[0.0], (9, 1e-3));
        assert!(matches!(nowhere, Ok(None)));
    }
}

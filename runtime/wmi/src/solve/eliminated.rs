//! Variables that were integrated out.

use super::amount::Part;
use super::state::State;
use crate::problem::form::LinearForm;
use crate::rational::Rational;

/// A state without one of its variables.
pub(super) struct Smaller {
    pub state: State,
    pub of: Eliminated,
}

/// A variable that was integrated out, and what bounded it.
pub(super) struct Eliminated {
    pub real: usize,
    pub lower: LinearForm,
    pub upper: LinearForm,
}

impl Eliminated {
    /// A direction without the variable becomes one with it, which keeps between the bounds.
    pub(super) fn lifted(&self, part: Part) -> Part {
        let Part::Unbounded(mut direction) = part else {
            return part;
        };
        let along = |form: &LinearForm| {
            let mut sum = Rational::ZERO;
            for (variable, coefficient) in &form.coefficients {
                let step = direction.iter().find(|(other, _)| other == variable);
                sum += step.map_or(Rational::ZERO, |(_, step)| coefficient * step);
            }
            sum
        };
        let step = along(&self.lower).max(Rational::ZERO).min(along(&self.upper));
        if !step.is_zero() {
            direction.push((self.real, step));
            direction.sort_unstable_by_key(|(real, _)| *real);
        }
        Part::Unbounded(direction)
    }
}

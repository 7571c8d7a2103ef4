//! The results of parts of a problem, and their combination.

use crate::integral::Integral;
use crate::rational::Rational;

/// The result of a part of a problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// The part has no volume or no weight.
    Nothing,
    /// The part has this integral.
    Number(Integral),
    /// The part is unbounded in a direction in which the weight is not zero. The direction is given variable by variable.
    Unbounded(Vec<(usize, Rational)>),
}

/// Adds parts.
pub(super) fn sum(parts: Vec<Part>) -> Part {
    let mut numbers = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Nothing => {}
            Part::Number(number) => numbers.push(number),
            Part::Unbounded(_) => return part,
        }
    }
    match numbers.len() {
        0 => Part::Nothing,
        _ => Part::Number(Integral::sum(&numbers)),
    }
}

/// Multiplies parts. The product is [`Part::Nothing`] if any part is `Nothing`.
pub(super) fn product(parts: Vec<Part>) -> Part {
    let mut numbers = Vec::with_capacity(parts.len());
    let mut unbounded = None;
    for part in parts {
        match part {
            Part::Nothing => return Part::Nothing,
            Part::Unbounded(_) => unbounded = Some(part),
            Part::Number(number) => numbers.push(number),
        }
    }
    unbounded.unwrap_or_else(|| Part::Number(Integral::product(&numbers)))
}

/// Multiplies a part by a number.
pub(super) fn scaled(factor: &Rational, part: Part) -> Part {
    match part {
        Part::Number(number) if !factor.is_one() => Part::Number(number.scaled(factor)),
        part => part,
    }
}

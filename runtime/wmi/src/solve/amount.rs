//! The results of parts of a problem, and their combination.

use crate::integral::Integral;
use crate::rational::Rational;

/// The result of a part of a problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// It has no volume, or no weight.
    Nothing,
    /// Its integral.
    Number(Integral),
    /// It reaches to infinity in this direction, variable by variable, where the weight is not zero.
    Unbounded(Vec<(usize, Rational)>),
}

/// The sum of parts.
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

/// The product of parts: nothing where one of them is nothing, whatever the others are.
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

/// A multiple of a part.
pub(super) fn scaled(factor: &Rational, part: Part) -> Part {
    match part {
        Part::Number(number) if !factor.is_one() => Part::Number(number.scaled(factor)),
        part => part,
    }
}

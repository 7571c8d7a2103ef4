//! The results of parts of a problem, and functions that combine them.

use crate::integral::Integral;
use crate::rational::Rational;

/// The result of a part of a problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// The part has volume zero, or its weight is zero.
    Nothing,
    /// The integral over the part is this number.
    Number(Integral),
    /// The part is unbounded in a direction, and the weight is not zero there. The direction is a list of variables with
    /// their steps.
    Unbounded(Vec<(usize, Rational)>),
}

/// Adds the results of parts.
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

/// Multiplies the results of parts. If any part is [`Part::Nothing`], the product is [`Part::Nothing`].
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

/// Multiplies the result of a part by a number.
pub(super) fn scaled(factor: &Rational, part: Part) -> Part {
    match part {
        Part::Number(number) if !factor.is_one() => Part::Number(number.scaled(factor)),
        part => part,
    }
}

//! Integrates a weight that depends only on the distance from a plane. The region is a box, or the part of a box between two planes that are
//! parallel to this plane. Such integrals arise for sums of independent uniform variables.
//!
//! The volume of the box per unit of `s = a . x` is `1 / prod |a_i| * sum over corners of (-1)^k (s - c)_+^(n-1) / (n-1)!` (Curry and Schoenberg, On
//! Polya frequency functions IV, 1966). In this sum, `c` is the value of `s` at the corner, and `k` is the number of coordinates in which the corner
//! differs from the corner with the lowest `s`. Cancellation between the terms does not lose accuracy, because they are computed as integers.

use super::ranges::{Range, Rows};
use super::sparse::Sparse;
use super::state::State;
use crate::problem::form::{LinearDirection, LinearForm};
use crate::problem::store::{RealTerm, TermId, TermStore};
use crate::rational::{Rational, common_denominator};
use dashu_base::{Abs, Signed};
use dashu_int::{IBig, UBig};
use std::collections::BTreeMap;

/// The method is not used if the degree of the weight is above this value.
const MOST_DEGREE: u64 = 512;

/// The method is not used if `s` has more than this number of different values at the corners.
const MOST_CORNERS: usize = 1 << 17;

/// The method is not used if all corners together would take more than this number of multiplications by coefficients of the weight.
const MOST_PRODUCTS: usize = 100_000_000;

/// Computes the integral of a state. Returns `None` if the state does not have the form that this method needs, or if the work would be too large.
pub(super) fn integral(state: &State, store: &TermStore, rows: &Rows) -> Option<Rational> {
    if store.degree(state.weight) > MOST_DEGREE {
        return None;
    }
    let slab = Slab::of(state, store, rows)?;
    let weight = unexpanded(store, state.weight, &slab.row)
        .or_else(|| along(&Sparse::of(store, state.weight)?, &slab.row))?;
    slab.integral(&weight)
}

/// The region `lower <= row <= upper` within a box.
struct Slab {
    row: LinearDirection,
    /// The smallest value of `row` in the box.
    start: Rational,
    /// For each coordinate, the width of its interval times the magnitude of its coefficient.
    widths: Vec<Rational>,
    lower: Rational,
    upper: Rational,
}

impl Slab {
    fn of(state: &State, store: &TermStore, rows: &Rows) -> Option<Slab> {
        let mut longer = state
            .ranges
            .iter()
            .filter(|(id, _)| rows.row(*id).as_variable().is_none());
        let (row, range) = match (longer.next(), longer.next()) {
            (Some((id, range)), None) => (rows.row(id).clone(), range.clone()),
            // If no constraint has several variables, the region is the whole box, and the row is chosen from the weight.
            (None, _) => (first_row(store, state.weight)?, Range::default()),
            (Some(_), Some(_)) => return None,
        };
        if row.entries().len() != state.reals.len() || row.as_variable().is_some() {
            return None;
        }
        let (mut start, mut widths) = (Rational::ZERO, Vec::new());
        for (variable, coefficient) in row.entries() {
            let side = state.ranges.of_variable(rows, *variable)?;
            let (lower, upper) = (side.lower.as_ref()?, side.upper.as_ref()?);
            start += coefficient * if coefficient.is_positive() { lower } else { upper };
            widths.push((upper - lower) * coefficient.clone().abs());
        }
        let end = widths.iter().fold(start.clone(), |sum, width| sum + width);
        let lower = range
            .lower
            .clone()
            .unwrap_or_else(|| start.clone())
            .max(start.clone());
        let upper = range.upper.clone().unwrap_or_else(|| end.clone()).min(end);
        Some(Slab {
            row,
            start,
            widths,
            lower,
            upper,
        })
    }

    /// Integrates a polynomial in the value of the row over the slab. `weight` holds the coefficients of the polynomial, beginning with the
    /// constant.
    fn integral(&self, weight: &[Rational]) -> Option<Rational> {
        let numbers = self.widths.iter().chain([&self.start, &self.lower, &self.upper]);
        let scale = common_denominator(numbers);
        let whole = |number: &Rational| number.numerator() * (&scale / number.denominator());
        let (lower, upper) = (whole(&self.lower), whole(&self.upper));
        let corners = corners(whole(&self.start), self.widths.iter().map(whole), &upper)?;
        let products = weight.len().saturating_pow(2).saturating_mul(corners.len());
        if products > MOST_PRODUCTS {
            return None;
        }
        let count = self.widths.len();
        // The value of the row is measured in units of 1 / scale, so each coefficient is divided by a power of `scale`.
        let falling =
            |(power, coefficient): (usize, &Rational)| coefficient / Rational::from(scale.pow(power));
        let weight: Vec<Rational> = weight.iter().enumerate().map(falling).collect();
        let denominator = common_denominator(weight.iter());
        let weight: Vec<IBig> = weight
            .iter()
            .map(|number| number.numerator() * (&denominator / number.denominator()))
            .collect();
        let powers = count..count + weight.len();
        let multiple = powers.fold(UBig::ONE, |product, power| product * UBig::from(power));
        let mut sum = IBig::ZERO;
        for (corner, sign) in corners {
            let above = &upper - &corner;
            let below = (&lower - &corner).max(IBig::ZERO);
            for (power, coefficient) in around(&weight, &corner).into_iter().enumerate() {
                let step = above.pow(count + power) - below.pow(count + power);
                sum += &sign * coefficient * step * IBig::from(&multiple / UBig::from(count + power));
            }
        }
        let factorial = (1..count).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
        let sizes = self.row.entries().iter().map(|entry| entry.1.clone().abs());
        let jacobian = sizes.fold(Rational::ONE, |product, size| product * size);
        let below = multiple * factorial * denominator * scale.pow(count);
        Some(Rational::from_parts(sum, below) / jacobian)
    }
}

/// Collects the values that the row has at the corners. Each value is mapped to the sum of the signs of all corners where the row has this value.
/// Only values below `upper` are included. Returns `None` if there are too many values.
fn corners(start: IBig, widths: impl Iterator<Item = IBig>, upper: &IBig) -> Option<BTreeMap<IBig, IBig>> {
    let mut corners = BTreeMap::from([(start, IBig::ONE)]);
    for width in widths {
        let moved: Vec<(IBig, IBig)> = corners
            .iter()
            .map(|(corner, sign)| (corner + &width, -sign))
            .collect();
        for (corner, sign) in moved.into_iter().filter(|(corner, _)| corner < upper) {
            *corners.entry(corner).or_default() += sign;
        }
        corners.retain(|_, sign| !sign.is_zero());
        if corners.len() > MOST_CORNERS {
            return None;
        }
    }
    Some(corners)
}

/// Rewrites a polynomial in powers of `x - centre`, by repeated application of Horner's scheme. Returns its coefficients.
fn around(polynomial: &[IBig], centre: &IBig) -> Vec<IBig> {
    let mut shifted = polynomial.to_vec();
    for start in 0..shifted.len() {
        for at in (start..shifted.len() - 1).rev() {
            let shift = &shifted[at + 1] * centre;
            shifted[at] += shift;
        }
    }
    shifted
}

/// Returns the direction of the first linear form in a term.
fn first_row(store: &TermStore, id: TermId) -> Option<LinearDirection> {
    match store.term(id) {
        RealTerm::Linear(form) => LinearDirection::of(form).map(|(row, _)| row),
        RealTerm::Sum(form, rest) => match LinearDirection::of(form) {
            Some((row, _)) => Some(row),
            None => rest.iter().find_map(|(_, part)| first_row(store, *part)),
        },
        RealTerm::Product(parts) => parts.iter().find_map(|(part, _)| first_row(store, *part)),
        RealTerm::Choice(..) => None,
    }
}

/// If a weight is written as a polynomial in the value of a row, returns this polynomial.
fn unexpanded(store: &TermStore, id: TermId, row: &LinearDirection) -> Option<Vec<Rational>> {
    let linear = |form: &LinearForm| match LinearDirection::of(form) {
        None => Some(vec![form.constant.clone()]),
        Some((own, factor)) => (own == *row).then(|| vec![form.constant.clone(), factor]),
    };
    match store.term(id) {
        RealTerm::Linear(form) => linear(form),
        RealTerm::Sum(form, rest) => rest.iter().try_fold(linear(form)?, |mut sum, (factor, part)| {
            let part = unexpanded(store, *part, row)?;
            sum.resize(sum.len().max(part.len()), Rational::ZERO);
            let sums = sum.iter_mut().zip(&part);
            sums.for_each(|(sum, value)| *sum += factor * value);
            Some(sum)
        }),
        RealTerm::Product(parts) => {
            let one = vec![Rational::ONE];
            parts.iter().try_fold(one, |product, (part, power)| {
                let part = unexpanded(store, *part, row)?;
                Some((0..*power).fold(product, |product, _| times(&product, &part)))
            })
        }
        RealTerm::Choice(..) => None,
    }
}

/// Multiplies two polynomials.
fn times(one: &[Rational], other: &[Rational]) -> Vec<Rational> {
    let mut product = vec![Rational::ZERO; one.len() + other.len() - 1];
    for (at, left) in one.iter().enumerate() {
        for (sum, right) in product[at..].iter_mut().zip(other) {
            *sum += left * right;
        }
    }
    product
}

/// If a weight, once expanded, equals a polynomial in the value of a row, returns this polynomial.
fn along(weight: &Sparse, row: &LinearDirection) -> Option<Vec<Rational>> {
    let (variable, coefficient) = row.entries().first()?;
    let coefficients = weight.on_axis(*variable);
    if !weight.may_be_along(coefficients.len().saturating_sub(1), row.entries().len()) {
        return None;
    }
    let scaled = coefficients.iter().enumerate();
    let polynomial: Vec<Rational> = scaled
        .map(|(power, value)| value / coefficient.pow(power as isize))
        .collect();
    let form = Sparse::linear(&LinearForm {
        constant: Rational::ZERO,
        coefficients: row.entries().to_vec(),
    });
    let mut composed = Sparse::default();
    for value in polynomial.iter().rev() {
        composed = composed.times(&form)?;
        composed.add(value, &Sparse::one());
    }
    (composed == *weight).then_some(polynomial)
}

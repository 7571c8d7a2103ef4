//! Coordinates in which a polytope is near the origin and about one unit wide.

use super::budget::Spent;
use super::skeleton::Skeleton;
use crate::polynomial::Polynomial;
use crate::rational::{Rational, make_primitive, to_f64};
use dashu_int::IBig;

/// The work on a region is abandoned if its weight has more monomials than this in the new coordinates. A monomial takes about 200 bytes.
const MOST_MONOMIALS: u64 = 1 << 20;

/// New coordinates `(x - origin) / scale`. Each variable has its own origin and scale. The scales are powers of two.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    origin: Vec<Rational>,
    scale: Vec<Rational>,
}

impl Frame {
    /// Chooses new coordinates. The origin is the point of the bounding box that is closest to 0. With this origin, each monomial has the
    /// same sign everywhere in the polytope, so products of powers do not cancel.
    pub fn around(skeleton: &Skeleton) -> Frame {
        let points: Vec<Vec<Rational>> = (0..skeleton.vertices.len())
            .map(|corner| skeleton.point(corner))
            .collect();
        let mut frame = Frame {
            origin: Vec::new(),
            scale: Vec::new(),
        };
        for variable in 0..skeleton.dimension {
            let entries = || points.iter().map(|point| &point[variable]);
            let (Some(lower), Some(upper)) = (entries().min(), entries().max()) else {
                unreachable!("a bounded polytope has corners");
            };
            let origin = Rational::ZERO.clamp(lower.clone(), upper.clone());
            let reach = (upper - &origin).max(&origin - lower);
            frame.origin.push(origin);
            frame.scale.push(power_of_two(&reach));
        }
        frame
    }

    /// Transforms the corners and facets of a polytope to the new coordinates.
    pub fn apply(&self, skeleton: &mut Skeleton) {
        for (variable, (origin, scale)) in self.origin.iter().zip(&self.scale).enumerate() {
            if origin.is_zero() && scale.is_one() {
                continue;
            }
            for vertex in &mut skeleton.vertices {
                // For a point, the coordinate x becomes (x - origin) / scale.
                change(
                    vertex,
                    variable + 1,
                    &(Rational::ONE / scale),
                    &(-(origin / scale)),
                    Moves::Entry,
                );
            }
            for facet in &mut skeleton.facets {
                // For a row, the term c x becomes c scale u + c origin, where u is the new coordinate.
                change(facet, variable + 1, scale, origin, Moves::First);
            }
        }
        skeleton
            .vertices
            .iter_mut()
            .for_each(|vertex| make_primitive(vertex));
        skeleton.facets.iter_mut().for_each(|facet| make_primitive(facet));
    }

    /// Returns the volume of a cube with side 1 in the new coordinates.
    pub fn unit(&self) -> Rational {
        self.scale.iter().fold(Rational::ONE, |unit, scale| unit * scale)
    }

    /// Replaces `variables` in a polynomial by the new coordinates. Other variables stay the same. Returns an error if the result has too
    /// many terms.
    pub fn moved(&self, polynomial: &Polynomial, variables: &[usize]) -> Result<Polynomial, Spent> {
        let mut moved = polynomial.clone();
        for ((&variable, origin), scale) in variables.iter().zip(&self.origin).zip(&self.scale) {
            if !moved.mentions(variable) || (origin.is_zero() && scale.is_one()) {
                continue;
            }
            let expanded = |exponents: &Vec<u32>| u64::from(exponents[variable]) + 1;
            if !origin.is_zero() && moved.terms.keys().map(expanded).sum::<u64>() > MOST_MONOMIALS {
                return Err(Spent::Steps);
            }
            let form = Polynomial::variable(polynomial.variables, variable).scaled(scale);
            let form = &form + &Polynomial::constant(polynomial.variables, origin.clone());
            moved = moved.substitute(variable, &form);
        }
        Ok(moved)
    }
}

/// Selects the entry that a translation changes: the coordinate of a point, or the constant of a row.
enum Moves {
    Entry,
    First,
}

/// Multiplies the entry at `place` by `scale`. Then adds either `shift` times the first entry to this entry, or `shift` times the old value
/// of this entry to the first entry. All entries are also multiplied by a common positive factor, so that they remain integers.
fn change(entries: &mut [IBig], place: usize, scale: &Rational, shift: &Rational, moves: Moves) {
    let common = IBig::from(scale.denominator() * shift.denominator());
    let (first, old) = (entries[0].clone(), entries[place].clone());
    entries.iter_mut().for_each(|entry| *entry *= &common);
    entries[place] = &old * scale.numerator() * shift.denominator();
    let shift = shift.numerator() * scale.denominator();
    match moves {
        Moves::Entry => entries[place] += shift * first,
        Moves::First => entries[0] += shift * old,
    }
}

/// Returns a power of two that differs from a positive number by at most a factor of two.
pub(crate) fn power_of_two(number: &Rational) -> Rational {
    let approximate = to_f64(number);
    let power = if approximate.is_normal() {
        2f64.powi(approximate.log2().ceil() as i32)
    } else {
        1.0
    };
    Rational::try_from(power).unwrap_or(Rational::ONE)
}

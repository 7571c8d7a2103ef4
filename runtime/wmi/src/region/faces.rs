//! Moments of a polytope, face by face.

use super::ball::Ball;
use super::bits::Bits;
use super::budget::{Budget, Spent};
use super::echelon::Echelon;
use super::exponents::{Exponents, Shift};
use super::skeleton::Skeleton;
use crate::rational::Rational;
use std::collections::HashMap;
use std::rc::Rc;

/// What moments are computed in.
pub(crate) trait Number: Clone + PartialEq {
    /// How many steps of a budget one product and one sum are.
    const STEPS: u64;

    fn zero() -> Self;
    fn of(number: &Rational) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
}

impl Number for Ball {
    const STEPS: u64 = 1;

    fn zero() -> Ball {
        Ball::ZERO
    }

    fn of(number: &Rational) -> Ball {
        Ball::around(number)
    }

    fn plus(&self, other: &Ball) -> Ball {
        Ball::plus(*self, *other)
    }

    fn times(&self, other: &Ball) -> Ball {
        Ball::times(*self, *other)
    }
}

impl Number for Rational {
    const STEPS: u64 = 32;

    fn zero() -> Rational {
        Rational::ZERO
    }

    fn of(number: &Rational) -> Rational {
        number.clone()
    }

    fn plus(&self, other: &Rational) -> Rational {
        self + other
    }

    fn times(&self, other: &Rational) -> Rational {
        self * other
    }
}

/// The integrals over the polytope of all monomials in `exponents`, in their order.
///
/// A face of dimension k is the union of the cones from its first corner v to its facets G without v; over
/// such a cone, x = (1 - t) v + t y with y in G and dx = h t^(k-1) dt dy, so
///
/// `int x^a dx = sum over b <= a of C(a, b) B(k + |b|, |a - b| + 1) v^(a-b) h int_G y^b dy`.
///
/// This is the recursion of Lasserre, An analytical expression and an algorithm for the volume of a convex
/// polyhedron in R^n, J. Optim. Theory Appl. 39, 1983, with a corner of each face as its origin, as in the
/// triangulation of Cohen and Hickey (Two algorithms for determining volumes of convex polyhedra, JACM 26,
/// 1979); integrals over faces are kept, as Bueler, Enge and Fukuda do in Exact volume computation for
/// polytopes, 2000. All terms of a volume are positive. Areas of faces are measured in the coordinates that
/// are no first entries of the echelon form of their equations; which these are depends on the face only, and
/// h is the slack of v in the row of G over the first entry of that row, reduced by the equations of the
/// face. Faces and terms may be many: an error where they are more than `budget` allows.
pub(crate) fn moments<T: Number>(
    skeleton: &Skeleton,
    exponents: &Exponents,
    budget: &mut Budget,
) -> Result<Vec<T>, Spent> {
    let everywhere = Bits::all(skeleton.vertices.len());
    let mut faces = Faces {
        skeleton,
        exponents,
        pascal: exponents.pascal(),
        shifts: vec![None; exponents.len()],
        beta: vec![None; skeleton.dimension + 1],
        powers: vec![None; skeleton.vertices.len()],
        known: HashMap::new(),
        budget,
    };
    let face = Face {
        corners: everywhere,
        facets: Bits::none(skeleton.facets.len()),
        dimension: skeleton.dimension,
    };
    Ok(faces.integrals(&face, &Echelon::default())?.to_vec())
}

struct Face {
    corners: Bits,
    /// All facets of the polytope that it is on.
    facets: Bits,
    dimension: usize,
}

struct Faces<'a, T> {
    skeleton: &'a Skeleton,
    exponents: &'a Exponents,
    pascal: Vec<Vec<T>>,
    /// The terms of the expansions of all monomials, by the monomial in the coordinates of the corner. This
    /// and the next two are filled as needed.
    shifts: Vec<Option<Rc<[Shift<T>]>>>,
    /// Beta functions by the dimension of a face.
    beta: Vec<Option<Rc<[Vec<T>]>>>,
    /// The monomials at each corner.
    powers: Vec<Option<Rc<[T]>>>,
    /// The integrals over faces, by the facets that they are on.
    known: HashMap<Bits, Rc<[T]>>,
    budget: &'a mut Budget,
}

impl<T: Number> Faces<'_, T> {
    /// The integrals over a face whose equations are `equations`.
    fn integrals(&mut self, face: &Face, equations: &Echelon) -> Result<Rc<[T]>, Spent> {
        let Some(apex) = face.corners.first() else {
            unreachable!("a face has corners")
        };
        if face.dimension == 0 {
            return Ok(self.powers_at(apex));
        }
        let mut base = vec![T::zero(); self.exponents.len()];
        for (row, facet) in self.facets_without(face, apex)? {
            self.budget.spend(base.len() as u64 * T::STEPS)?;
            let Some(reduced) = equations.reduce(&self.skeleton.facets[row][1..]) else {
                unreachable!("the row of a facet is independent of the equations of the face");
            };
            let height = T::of(&(self.skeleton.slack(row, apex) / reduced.leading()));
            let integrals = match self.known.get(&facet.facets) {
                Some(known) => known.clone(),
                None => {
                    let integrals = self.integrals(&facet, &equations.with(reduced))?;
                    self.known.insert(facet.facets, integrals.clone());
                    integrals
                }
            };
            for (sum, part) in base.iter_mut().zip(integrals.iter()) {
                *sum = sum.plus(&height.times(part));
            }
        }
        self.cone(face.dimension, apex, &base)
    }

    /// The facets of a face that do not have the corner `apex`, each with a row of the polytope that makes
    /// it.
    fn facets_without(&mut self, face: &Face, apex: usize) -> Result<Vec<(usize, Face)>, Spent> {
        let rows = (0..self.skeleton.facets.len()).filter(|&row| !face.facets.contains(row));
        let cuts: Vec<(usize, Bits)> = rows
            .map(|row| (row, face.corners.and(&self.skeleton.corners_of[row])))
            .filter(|(_, corners)| !corners.is_empty())
            .collect();
        self.budget.spend(cuts.len() as u64 * cuts.len() as u64)?;
        let mut found: Vec<(usize, Face)> = Vec::new();
        for (place, (row, corners)) in cuts.iter().enumerate() {
            if corners.contains(apex) {
                continue;
            }
            let facets = self.facets_through(corners);
            let within = |(other, (_, set)): (usize, &(usize, Bits))| {
                other != place && corners.within(set) && (other < place || corners != set)
            };
            // One more row is one dimension less; more of them may be one face twice, or too small a face.
            let single = facets.len() == face.facets.len() + 1;
            if single || !cuts.iter().enumerate().any(within) {
                let corners = corners.clone();
                found.push((
                    *row,
                    Face {
                        corners,
                        facets,
                        dimension: face.dimension - 1,
                    },
                ));
            }
        }
        Ok(found)
    }

    fn facets_through(&self, corners: &Bits) -> Bits {
        let mut facets = Bits::all(self.skeleton.facets.len());
        corners
            .members()
            .for_each(|corner| facets.keep(&self.skeleton.facets_of[corner]));
        facets
    }

    /// The integrals over the cones from `apex`, from those over their bases times their heights.
    fn cone(&mut self, dimension: usize, apex: usize, base: &[T]) -> Result<Rc<[T]>, Spent> {
        let exponents = self.exponents;
        let powers = self.powers_at(apex);
        let beta = self.beta[dimension]
            .get_or_insert_with(|| exponents.beta(dimension))
            .clone();
        let mut integrals = vec![T::zero(); base.len()];
        let zero = T::zero();
        for (rest, power) in powers.iter().enumerate().filter(|(_, power)| **power != zero) {
            // Finding the terms is as long as the list, adding them up as long as they are many.
            let is_new = self.shifts[rest].is_none();
            let shifts = self.shifts[rest].get_or_insert_with(|| exponents.shifts(rest, &self.pascal));
            self.budget
                .spend(shifts.len() as u64 * T::STEPS + if is_new { base.len() as u64 } else { 0 })?;
            for Shift {
                whole,
                part,
                binomial,
            } in shifts.iter().filter(|shift| base[shift.part] != zero)
            {
                let weight = binomial.times(&beta[exponents.degree(*part)][exponents.degree(rest)]);
                let term = weight.times(power).times(&base[*part]);
                integrals[*whole] = integrals[*whole].plus(&term);
            }
        }
        Ok(integrals.into())
    }

    fn powers_at(&mut self, corner: usize) -> Rc<[T]> {
        let (skeleton, exponents) = (self.skeleton, self.exponents);
        self.powers[corner]
            .get_or_insert_with(|| exponents.powers(&skeleton.point(corner)))
            .clone()
    }
}

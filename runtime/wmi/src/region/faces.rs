//! Moments of a polytope, face by face.

use super::ball::Ball;
use super::bits::Bits;
use super::budget::{Budget, Spent};
use super::echelon::Echelon;
use super::exponents::Exponents;
use super::frame::power_of_two;
use super::skeleton::Skeleton;
use crate::rational::{Rational, bits, common_denominator};
use dashu_base::Abs;
use dashu_int::IBig;
use std::collections::HashMap;
use std::rc::Rc;

/// The numbers in which moments are computed.
pub(crate) trait Number: Clone + PartialEq {
    /// How many steps of a budget one product and one sum are, of numbers that take so many bits where they are exact.
    fn steps(bits: u64) -> u64;

    fn zero() -> Self;
    fn of(number: &Rational) -> Self;
    /// In units of this, products of powers of `numbers` are easily calculated with.
    fn unit<'a>(numbers: impl Iterator<Item = &'a Rational>) -> Rational;
    fn plus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
}

impl Number for Ball {
    fn steps(_: u64) -> u64 {
        1
    }

    fn zero() -> Ball {
        Ball::ZERO
    }

    fn of(number: &Rational) -> Ball {
        Ball::around(number)
    }

    /// One that none of them is much larger than, so that powers do not overflow.
    fn unit<'a>(numbers: impl Iterator<Item = &'a Rational>) -> Rational {
        power_of_two(
            &numbers
                .map(|number| number.clone().abs())
                .max()
                .unwrap_or_default(),
        )
    }

    fn plus(&self, other: &Ball) -> Ball {
        Ball::plus(*self, *other)
    }

    fn times(&self, other: &Ball) -> Ball {
        Ball::times(*self, *other)
    }
}

impl Number for Rational {
    /// Long fractions are reduced in a time that grows with the square of their length.
    fn steps(bits: u64) -> u64 {
        let lengths = bits / 1024;
        lengths
            .saturating_mul(lengths)
            .saturating_div(8)
            .saturating_add(lengths + 1)
            .saturating_mul(32)
    }

    fn zero() -> Rational {
        Rational::ZERO
    }

    fn of(number: &Rational) -> Rational {
        number.clone()
    }

    /// One that makes all of them whole, so that products have no fractions to be reduced.
    fn unit<'a>(numbers: impl Iterator<Item = &'a Rational>) -> Rational {
        Rational::from_parts(IBig::ONE, common_denominator(numbers))
    }

    fn plus(&self, other: &Rational) -> Rational {
        self + other
    }

    fn times(&self, other: &Rational) -> Rational {
        self * other
    }
}

/// The cost of a number that is kept, in terms of a budget: a step takes little memory, so that a billion of
/// them take no more than some gigabytes.
const KEPT: u64 = 8;

/// The bytes that the allocator adds to two small pieces of memory, with the counts of references in one of them.
const ALLOCATIONS: usize = 48;

/// The moments of the polytope in some affine forms `l`, whose values at the corners are `values`: of each
/// monomial `l^a` in `exponents`, in their order,
///
/// `M(a) = (d + |a|)! / a! int l^a`,
///
/// where `d` is the dimension and `a!` the product of the factorials of the exponents.
///
/// A face of dimension k is the union of the cones from its first corner v to its facets G without v; over
/// such a cone, x = (1 - t) v + t y with y in G and dx = h t^(k-1) dt dy, so that the moments of the face are
/// the coefficients of the series `sum over G of h M_G / (1 - l(v) . t)`:
///
/// `M(a) = sum over G of h M_G(a) + sum over j of l_j(v) M(a - e_j)`.
///
/// For one simplex this is the series of Baldoni, Berline, De Loera, Koeppe and Vergne, How to integrate a
/// polynomial over a simplex, Math. Comp. 80, 2011; a power of a form is never expanded, and where
/// the forms are positive nothing cancels. The faces are those of Lasserre, An analytical expression and an
/// algorithm for the volume of a convex polyhedron in R^n, J. Optim. Theory Appl. 39, 1983, with a corner of
/// each face as its origin, as in the triangulation of Cohen and Hickey (Two algorithms for determining volumes
/// of convex polyhedra, JACM 26, 1979); moments of faces are kept, as Bueler, Enge and Fukuda do in Exact volume
/// computation for polytopes, 2000. Areas of faces are measured in the coordinates that are no first entries of
/// the echelon form of their equations; which these are depends on the face only, and h is the slack of v in the
/// row of G over the first entry of that row, reduced by the equations of the face. Faces and terms may be many:
/// an error where they are more than `budget` allows.
pub(crate) fn moments<T: Number>(
    skeleton: &Skeleton,
    values: &[Vec<Rational>],
    exponents: &Exponents,
    budget: &mut Budget,
) -> Result<Vec<T>, Spent> {
    let everywhere = Bits::all(skeleton.vertices.len());
    let longest = values.iter().flatten().map(bits).max().unwrap_or(0);
    let mut faces = Faces {
        skeleton,
        exponents,
        values: values.iter().map(|at| at.iter().map(T::of).collect()).collect(),
        known: HashMap::new(),
        steps: T::steps(exponents.degree().saturating_mul(longest)),
        budget,
    };
    let face = Face {
        corners: everywhere,
        facets: Bits::none(skeleton.facets.len()),
        dimension: skeleton.dimension,
    };
    Ok(faces.moments(&face, &Echelon::default())?.to_vec())
}

struct Face {
    corners: Bits,
    /// All facets of the polytope that it is on.
    facets: Bits,
    dimension: usize,
}

impl Face {
    /// The bytes that the face takes while its moments are made.
    fn bytes(&self) -> usize {
        size_of::<Face>() + self.corners.bytes() + self.facets.bytes()
    }
}

struct Faces<'a, T> {
    skeleton: &'a Skeleton,
    exponents: &'a Exponents,
    /// The forms at each corner.
    values: Vec<Vec<T>>,
    /// The moments of faces, by the facets that they are on.
    known: HashMap<Bits, Rc<[T]>>,
    /// The cost of a product and a sum.
    steps: u64,
    budget: &'a mut Budget,
}

impl<T: Number> Faces<'_, T> {
    /// The moments of a face whose equations are `equations`.
    fn moments(&mut self, face: &Face, equations: &Echelon) -> Result<Rc<[T]>, Spent> {
        let Some(apex) = face.corners.first() else {
            unreachable!("a face has corners")
        };
        let count = self.exponents.len();
        self.budget
            .spend((count as u64 * KEPT).saturating_mul(self.steps))?;
        self.budget.keep(face.bytes())?;
        let mut moments = vec![T::zero(); count];
        if face.dimension == 0 {
            // 1 is the first monomial.
            moments[0] = T::of(&Rational::ONE);
        }
        for (row, facet) in self.facets_without(face, apex)? {
            self.budget.spend((count as u64).saturating_mul(self.steps))?;
            let Some(reduced) = equations.reduce(&self.skeleton.facets[row][1..]) else {
                unreachable!("the row of a facet is independent of the equations of the face");
            };
            let height = T::of(&(self.skeleton.slack(row, apex) / reduced.leading()));
            let base = match self.known.get(&facet.facets) {
                Some(known) => known.clone(),
                None => {
                    let base = self.moments(&facet, &equations.with(reduced))?;
                    // The table grows by doubling, so that its entries take up to twice their own room.
                    let entry = size_of::<(Bits, Rc<[T]>)>() * 2 + facet.facets.bytes();
                    self.budget.keep(entry + count * size_of::<T>() + ALLOCATIONS)?;
                    self.known.insert(facet.facets, base.clone());
                    base
                }
            };
            for (sum, part) in moments.iter_mut().zip(base.iter()) {
                *sum = sum.plus(&height.times(part));
            }
        }
        self.budget
            .spend(self.exponents.links().saturating_mul(self.steps))?;
        let (values, zero) = (&self.values[apex], T::zero());
        for (place, quotients) in self.exponents.quotients().enumerate() {
            for (form, quotient) in quotients {
                if values[*form] != zero && moments[*quotient] != zero {
                    moments[place] = moments[place].plus(&values[*form].times(&moments[*quotient]));
                }
            }
        }
        self.budget.release(face.bytes());
        Ok(moments.into())
    }

    /// The facets of a face that do not have the corner `apex`, each with a row of the polytope that makes
    /// it.
    fn facets_without(&mut self, face: &Face, apex: usize) -> Result<Vec<(usize, Face)>, Spent> {
        if face.dimension == 0 {
            return Ok(Vec::new());
        }
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
}

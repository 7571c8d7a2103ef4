//! Computes the moments of a polytope, face by face.

use super::ball::Ball;
use super::budget::{Budget, Spent, bytes_of};
use super::echelon::Echelon;
use super::exponents::Exponents;
use super::frame::power_of_two;
use super::skeleton::Skeleton;
use crate::rational::{Rational, bits, common_denominator};
use dashu_base::Abs;
use dashu_int::IBig;
use fixedbitset::FixedBitSet;
use std::collections::HashMap;
use std::rc::Rc;

/// A number type for computing moments.
pub(crate) trait Number: Clone + PartialEq {
    /// Returns the cost of one multiplication and one addition, in steps of a budget. If the numbers are exact, `bits` is their length.
    fn steps(bits: u64) -> u64;

    fn zero() -> Self;
    fn of(number: &Rational) -> Self;
    /// Returns a unit for the given `numbers`. After the numbers are divided by it, products of their powers are easy to compute.
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

    /// Returns a unit that is about as large as the largest number, so that powers of the numbers divided by this unit do not overflow.
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
    /// The time for reducing a long fraction grows with the square of its length.
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

    /// Returns a unit such that all numbers divided by it are integers, because products of integers need not be reduced to lowest terms.
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

/// The number of steps that storing one number costs. With this cost, a billion steps need at most a few gigabytes of memory.
const KEPT: u64 = 8;

/// The number of bytes that two small allocations need in addition to their contents: the overhead of the allocator, and the reference counts
/// in one of them.
const ALLOCATIONS: usize = 48;

/// Computes moments of a polytope for products of powers of affine forms `l`. `values` holds the values of the forms at the corners. The result
/// has one moment for each monomial `l^a` in `exponents`, in their order. The moment is
///
/// `M(a) = (d + |a|)! / a! int l^a`,
///
/// where `d` is the dimension and `a!` is the product of the factorials of the exponents.
///
/// A face of dimension k is divided into cones. Each cone has its apex at the first corner v of the face, and its base is a facet G of the face
/// that does not contain v. A point of the cone is x = (1 - t) v + t y with y in G, and dx = h t^(k-1) dt dy. The moments of the face are
/// therefore the coefficients of the series `sum over G of h M_G / (1 - l(v) . t)`:
///
/// `M(a) = sum over G of h M_G(a) + sum over j of l_j(v) M(a - e_j)`.
///
/// For one simplex, this is the series of Baldoni, Berline, De Loera, Koeppe and Vergne, How to integrate a polynomial over a simplex, Math.
/// Comp. 80, 2011. Powers of forms are never expanded. If the forms are positive, all terms are positive and nothing cancels. The recursion
/// over faces is from Lasserre, An analytical expression and an algorithm for the volume of a convex polyhedron in R^n, J. Optim. Theory Appl.
/// 39, 1983. The origin of each face is one of its corners, as in the triangulation of Cohen and Hickey, Two algorithms for determining volumes
/// of convex polyhedra, JACM 26, 1979. Moments of faces are stored, as in Bueler, Enge and Fukuda, Exact volume computation for polytopes,
/// 2000. The equations of a face are brought to echelon form. The area of the face is measured in the coordinates that are not pivots of this
///       echelon form, which depend only on the face. The row of G is reduced by the equations of the face. Then h is the slack of
///       v in this row, divided by the pivot of the row. Returns an error if the work exceeds `budget`.
pub(crate) fn moments<T: Number>(
    skeleton: &Skeleton,
    values: &[Vec<Rational>],
    exponents: &Exponents,
    budget: &mut Budget,
) -> Result<Vec<T>, Spent> {
    let mut everywhere = FixedBitSet::with_capacity(skeleton.vertices.len());
    everywhere.insert_range(..);
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
        facets: FixedBitSet::with_capacity(skeleton.facets.len()),
        dimension: skeleton.dimension,
    };
    Ok(faces.moments(&face, &Echelon::default())?.to_vec())
}

struct Face {
    corners: FixedBitSet,
    /// All facets of the polytope that contain this face.
    facets: FixedBitSet,
    dimension: usize,
}

impl Face {
    /// Returns the number of bytes that the face takes while its moments are computed.
    fn bytes(&self) -> usize {
        size_of::<Face>() + bytes_of(&self.corners) + bytes_of(&self.facets)
    }
}

struct Faces<'a, T> {
    skeleton: &'a Skeleton,
    exponents: &'a Exponents,
    /// The values of the forms at each corner.
    values: Vec<Vec<T>>,
    /// The moments of the faces that are already computed. The key of a face is the set of facets that contain it.
    known: HashMap<FixedBitSet, Rc<[T]>>,
    /// The cost of one multiplication and one addition, in steps of the budget.
    steps: u64,
    budget: &'a mut Budget,
}

impl<T: Number> Faces<'_, T> {
    /// Returns the moments of a face. `equations` are the equations that hold on the face.
    fn moments(&mut self, face: &Face, equations: &Echelon) -> Result<Rc<[T]>, Spent> {
        let Some(apex) = face.corners.minimum() else {
            unreachable!("a face has corners")
        };
        let count = self.exponents.len();
        self.budget
            .spend((count as u64 * KEPT).saturating_mul(self.steps))?;
        self.budget.keep(face.bytes())?;
        let mut moments = vec![T::zero(); count];
        if face.dimension == 0 {
            // The first monomial is 1.
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
                    // The hash table grows by doubling its capacity, so an entry occupies up to twice its own size.
                    let entry = size_of::<(FixedBitSet, Rc<[T]>)>() * 2 + bytes_of(&facet.facets);
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

    /// Returns the facets of a face that do not contain the corner `apex`. Each facet comes with a row of the polytope that defines it.
    fn facets_without(&mut self, face: &Face, apex: usize) -> Result<Vec<(usize, Face)>, Spent> {
        if face.dimension == 0 {
            return Ok(Vec::new());
        }
        let rows = (0..self.skeleton.facets.len()).filter(|&row| !face.facets.contains(row));
        let cuts: Vec<(usize, FixedBitSet)> = rows
            .map(|row| (row, &face.corners & &self.skeleton.corners_of[row]))
            .filter(|(_, corners)| !corners.is_clear())
            .collect();
        self.budget.spend(cuts.len() as u64 * cuts.len() as u64)?;
        let mut found: Vec<(usize, Face)> = Vec::new();
        for (place, (row, corners)) in cuts.iter().enumerate() {
            if corners.contains(apex) {
                continue;
            }
            let facets = self.facets_through(corners);
            let within = |(other, (_, set)): (usize, &(usize, FixedBitSet))| {
                other != place && corners.is_subset(set) && (other < place || corners != set)
            };
            // Each facet of the face satisfies one more row with equality. If several more rows hold with equality, the result may be a facet
            // that was found before, or a face of lower dimension.
            let single = facets.count_ones(..) == face.facets.count_ones(..) + 1;
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

    fn facets_through(&self, corners: &FixedBitSet) -> FixedBitSet {
        let mut facets = FixedBitSet::with_capacity(self.skeleton.facets.len());
        facets.insert_range(..);
        corners
            .ones()
            .for_each(|corner| facets.intersect_with(&self.skeleton.facets_of[corner]));
        facets
    }
}

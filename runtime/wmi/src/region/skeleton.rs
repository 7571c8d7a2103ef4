//! Computes the corners of a polytope, and the facets that contain each corner. The computation is exact.

use super::budget::{Budget, Spent};
use super::cone::{Ray, dot, extreme_rays};
use super::echelon::Echelon;
use crate::linear::{HalfSpace, Polytope};
use crate::rational::{Rational, primitive_integers};
use dashu_int::IBig;
use fixedbitset::FixedBitSet;

/// A bounded polytope with a volume, represented by its corners and facets in homogeneous coordinates. The position of a corner is given by its
/// other coordinates, divided by its first coordinate. A facet is the vector `(bound, -coefficients)`. The slack of a corner at a facet is the
/// scalar product of both vectors, divided by the first coordinate of the corner.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    pub dimension: usize,
    /// The corners. A corner that lies on more facets comes first.
    pub vertices: Vec<Vec<IBig>>,
    /// The rows that are facets. Duplicate and redundant rows are left out.
    pub facets: Vec<Vec<IBig>>,
    /// The facets that contain each corner, one set per corner.
    pub facets_of: Vec<FixedBitSet>,
    /// The corners of each facet, one set per facet.
    pub corners_of: Vec<FixedBitSet>,
}

impl Skeleton {
    /// Returns the coordinates of a corner as rational numbers.
    pub fn point(&self, corner: usize) -> Vec<Rational> {
        let (scale, entries) = (&self.vertices[corner][0], &self.vertices[corner][1..]);
        entries
            .iter()
            .map(|entry| Rational::from_parts_signed(entry.clone(), scale.clone()))
            .collect()
    }

    /// Returns the slack of a corner at a facet. The slack is proportional to the distance of the corner from the facet. Its unit depends on the
    /// row of the facet.
    pub fn slack(&self, facet: usize, corner: usize) -> Rational {
        let vertex = &self.vertices[corner];
        Rational::from_parts_signed(dot(&self.facets[facet], vertex), vertex[0].clone())
    }
}

/// The reason why the skeleton of a polytope does not exist.
pub(crate) enum Obstacle {
    /// The polytope is unbounded in this direction.
    Unbounded(Vec<Rational>),
    /// The computation would exceed a limit, for example because the polytope has too many corners.
    Spent(Spent),
}

impl From<Spent> for Obstacle {
    fn from(spent: Spent) -> Obstacle {
        Obstacle::Spent(spent)
    }
}

/// Computes the corners and facets of a polytope with a volume.
pub(crate) fn skeleton(polytope: &Polytope, budget: &mut Budget) -> Result<Skeleton, Obstacle> {
    let dimension = polytope.dimension;
    let infinity: Vec<IBig> = (0..=dimension)
        .map(|place| IBig::from(u8::from(place == 0)))
        .collect();
    let cone: Vec<Vec<IBig>> = std::iter::once(infinity)
        .chain(polytope.rows.iter().map(homogeneous))
        .collect();
    let Some(mut rays) = extreme_rays(&cone, budget)? else {
        return Err(Obstacle::Unbounded(line_within(&cone, dimension)));
    };
    if let Some(ray) = rays.iter().find(|ray| ray.direction[0].is_zero()) {
        let direction = ray.direction[1..].iter();
        let direction = direction.map(|entry| Rational::from(entry.clone())).collect();
        return Err(Obstacle::Unbounded(direction));
    }
    // The first corner of a face is the origin of its cones. A corner on many facets is a good origin, because few facets do not contain it.
    rays.sort_by(|a, b| {
        b.tight
            .count_ones(..)
            .cmp(&a.tight.count_ones(..))
            .then_with(|| a.direction.cmp(&b.direction))
    });
    Ok(assemble(dimension, &cone, rays))
}

/// Returns `(bound, -coefficients)` as integers without a common factor.
fn homogeneous(row: &HalfSpace) -> Vec<IBig> {
    let mut integers = primitive_integers(std::iter::once(&row.bound).chain(&row.coefficients));
    integers[1..].iter_mut().for_each(|entry| *entry = -&*entry);
    integers
}

/// Builds the skeleton from the rows and the corners. Drops rows that are not facets: a row is not a facet if another row contains all of its
/// corners.
fn assemble(dimension: usize, rows: &[Vec<IBig>], corners: Vec<Ray>) -> Skeleton {
    let on_row = |row: usize| {
        let mut on = FixedBitSet::with_capacity(corners.len());
        let corners = corners.iter().enumerate();
        corners
            .filter(|(_, corner)| corner.tight.contains(row))
            .for_each(|(place, _)| on.insert(place));
        on
    };
    let on_rows: Vec<FixedBitSet> = (0..rows.len()).map(on_row).collect();
    let is_facet = |row: &usize| {
        let on = &on_rows[*row];
        let repeated =
            |other: usize| on.is_subset(&on_rows[other]) && (other < *row || *on != on_rows[other]);
        !on.is_clear() && !(0..on_rows.len()).any(|other| other != *row && repeated(other))
    };
    let kept: Vec<usize> = (0..on_rows.len()).filter(is_facet).collect();
    let facets_of = (0..corners.len()).map(|corner| {
        let mut facets = FixedBitSet::with_capacity(kept.len());
        let on = kept
            .iter()
            .enumerate()
            .filter(|(_, row)| on_rows[**row].contains(corner));
        on.for_each(|(facet, _)| facets.insert(facet));
        facets
    });
    Skeleton {
        dimension,
        facets_of: facets_of.collect(),
        corners_of: kept.iter().map(|&row| on_rows[row].clone()).collect(),
        facets: kept.iter().map(|&row| rows[row].clone()).collect(),
        vertices: corners.into_iter().map(|corner| corner.direction).collect(),
    }
}

/// Returns a direction that is orthogonal to all rows. The rows must not span the whole space.
fn line_within(rows: &[Vec<IBig>], dimension: usize) -> Vec<Rational> {
    let extend = |echelon: Echelon, row: &Vec<IBig>| match echelon.reduce(&row[1..]) {
        Some(reduced) => echelon.with(reduced),
        None => echelon,
    };
    rows.iter()
        .fold(Echelon::default(), extend)
        .kernel_vector(dimension)
}

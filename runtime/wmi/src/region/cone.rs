//! Computes the extreme rays of a cone exactly, by the double description method.

use super::budget::{Budget, Spent, bytes_of};
use crate::rational::make_primitive;
use dashu_base::Signed;
use dashu_int::IBig;
use fixedbitset::FixedBitSet;

/// An extreme ray of a cone.
#[derive(Clone, Debug)]
pub(crate) struct Ray {
    /// The direction of the ray, as integers without a common factor.
    pub direction: Vec<IBig>,
    /// The rows whose scalar product with the ray is zero.
    pub tight: FixedBitSet,
}

/// Computes the extreme rays of the cone `{z : row . z >= 0 for all rows}`. Returns `None` if the cone contains a line. The number of rays may grow
/// exponentially with the number of rows (McMullen, The maximum numbers of faces of a convex polytope, 1970). Every comparison of two rays, and every
/// comparison of a pair of rays with a third ray, takes one step of `budget`.
///
/// The method comes from Motzkin, Raiffa, Thompson and Thrall, The double description method, 1953. Adjacent rays are found by the combinatorial test
/// of Fukuda and Prodon, Double description method revisited, 1996, proposition 7. The test takes the rows that are zero on both rays. The two rays
/// span a face of dimension two, unless all of these rows are also zero on a third ray.
pub(crate) fn extreme_rays(rows: &[Vec<IBig>], budget: &mut Budget) -> Result<Option<Vec<Ray>>, Spent> {
    let Some((mut rays, first)) = simplicial_start(rows) else {
        return Ok(None);
    };
    for (row, normal) in rows.iter().enumerate().filter(|(row, _)| !first.contains(row)) {
        rays = cut(rays, row, normal, budget)?;
    }
    Ok(Some(rays))
}

impl Ray {
    /// Returns the number of bytes that a ray and the corner that it becomes occupy together. Since the coordinates of the corner are fractions, it
    /// has twice as many integers as the ray. Integers of at most two words do not need separate memory, and few integers are longer.
    fn bytes(&self) -> usize {
        3 * self.direction.len() * size_of::<IBig>() + 2 * bytes_of(&self.tight) + size_of::<Ray>()
    }
}

/// Goes through the rows, and chooses each that is linearly independent of those chosen before. Returns the extreme rays of the cone that the chosen
/// rows define, and the indices of these rows.
fn simplicial_start(rows: &[Vec<IBig>]) -> Option<(Vec<Ray>, Vec<usize>)> {
    let dimension = rows.first().map_or(0, Vec::len);
    // Gauss-Jordan elimination on columns. `basis` always spans all of space. Each chosen row is zero on all vectors of the basis except one.
    let mut basis: Vec<Vec<IBig>> = (0..dimension).map(|one| unit(dimension, one)).collect();
    let mut chosen = Vec::new();
    for (row, normal) in rows.iter().enumerate() {
        let mut values: Vec<IBig> = basis.iter().map(|vector| dot(normal, vector)).collect();
        let Some(pivot) = (chosen.len()..dimension).find(|&place| !values[place].is_zero()) else {
            continue;
        };
        basis.swap(chosen.len(), pivot);
        values.swap(chosen.len(), pivot);
        eliminate(&mut basis, &values, chosen.len());
        chosen.push(row);
        if chosen.len() == dimension {
            break;
        }
    }
    if chosen.len() < dimension {
        return None;
    }
    let rays = basis.into_iter().enumerate().map(|(place, direction)| {
        let mut tight = FixedBitSet::with_capacity(rows.len());
        chosen
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != place)
            .for_each(|(_, &row)| tight.insert(row));
        Ray { direction, tight }
    });
    Some((rays.collect(), chosen))
}

/// Changes the basis such that a row is positive on the vector at `pivot` and zero on all other vectors. `values` holds the values of the row on the
/// old vectors.
fn eliminate(basis: &mut [Vec<IBig>], values: &[IBig], pivot: usize) {
    let mut leading = basis[pivot].clone();
    let mut size = values[pivot].clone();
    if size.is_negative() {
        leading.iter_mut().for_each(|entry| *entry = -&*entry);
        size = -size;
    }
    for (vector, value) in basis.iter_mut().zip(values).filter(|(_, value)| !value.is_zero()) {
        *vector = combination(&size, vector, value, &leading);
    }
    basis[pivot] = leading;
}

/// Adds one more row to the cone. Returns the extreme rays of the new cone.
fn cut(mut rays: Vec<Ray>, row: usize, normal: &[IBig], budget: &mut Budget) -> Result<Vec<Ray>, Spent> {
    let values: Vec<IBig> = rays.iter().map(|ray| dot(normal, &ray.direction)).collect();
    let mut above = Vec::new();
    let mut below = Vec::new();
    for (place, value) in values.iter().enumerate() {
        match (value.is_zero(), value.is_negative()) {
            (true, _) => rays[place].tight.insert(row),
            (_, true) => below.push(place),
            _ => above.push(place),
        }
    }
    if below.is_empty() {
        return Ok(rays);
    }
    budget.spend(above.len() as u64 * below.len() as u64)?;
    let mut new = Vec::new();
    for &inside in &above {
        budget.in_time()?;
        for &outside in &below {
            if adjacent(&rays, inside, outside, budget)? {
                let mut tight = &rays[inside].tight & &rays[outside].tight;
                tight.insert(row);
                // Both coefficients are positive, because the row is negative on the ray outside the cone.
                let direction = combination(
                    &values[inside],
                    &rays[outside].direction,
                    &values[outside],
                    &rays[inside].direction,
                );
                let ray = Ray { direction, tight };
                budget.keep(ray.bytes())?;
                new.push(ray);
            }
        }
    }
    below
        .iter()
        .for_each(|&place| budget.release(rays[place].bytes()));
    let mut values = values.into_iter();
    rays.retain(|_| values.next().is_some_and(|value| !value.is_negative()));
    rays.extend(new);
    Ok(rays)
}

/// Returns whether two rays span a face of dimension two.
fn adjacent(rays: &[Ray], one: usize, other: usize, budget: &mut Budget) -> Result<bool, Spent> {
    let (a, b) = (&rays[one], &rays[other]);
    let dimension = a.direction.len();
    let shared = a.tight.intersection_count(&b.tight);
    if shared + 2 < dimension {
        return Ok(false);
    }
    // Suppose that exactly `dimension - 1` rows are zero on a ray. These rows are then linearly independent, so any `dimension - 2` of them define a
    // face of dimension two.
    if shared + 2 == dimension && [a, b].iter().any(|ray| ray.tight.count_ones(..) + 1 == dimension) {
        return Ok(true);
    }
    budget.spend(rays.len() as u64)?;
    let common = &a.tight & &b.tight;
    let third = |(place, ray): (usize, &Ray)| place != one && place != other && common.is_subset(&ray.tight);
    Ok(!rays.iter().enumerate().any(third))
}

/// Returns `a x - b y`, divided by the greatest common divisor of its entries.
fn combination(a: &IBig, x: &[IBig], b: &IBig, y: &[IBig]) -> Vec<IBig> {
    let mut result: Vec<IBig> = x.iter().zip(y).map(|(x, y)| a * x - b * y).collect();
    make_primitive(&mut result);
    result
}

/// Returns the scalar product of two vectors.
pub(crate) fn dot(a: &[IBig], b: &[IBig]) -> IBig {
    let products = a.iter().zip(b).filter(|(x, y)| !x.is_zero() && !y.is_zero());
    products.fold(IBig::ZERO, |sum, (x, y)| sum + x * y)
}

fn unit(dimension: usize, one: usize) -> Vec<IBig> {
    (0..dimension)
        .map(|place| IBig::from(u8::from(place == one)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integral::{IntegrationLimits, Limit};

    fn budget(steps: u64) -> Budget {
        Budget::of(&IntegrationLimits {
            steps,
            ..IntegrationLimits::default()
        })
    }

    fn rows(rows: &[&[i64]]) -> Vec<Vec<IBig>> {
        rows.iter()
            .map(|row| row.iter().map(|&entry| IBig::from(entry)).collect())
            .collect()
    }

    fn all_rays(rows: &[Vec<IBig>]) -> Option<Vec<Ray>> {
        extreme_rays(rows, &mut budget(u64::MAX)).ok().flatten()
    }

    #[test]
    fn a_square_pyramid_has_four_rays() {
        // The cone is z >= |x|, z >= |y|. Its four extreme rays go through the corners of a square.
        let cone = rows(&[&[1, 0, 1], &[-1, 0, 1], &[0, 1, 1], &[0, -1, 1], &[0, 0, 1]]);
        let mut found: Vec<Vec<IBig>> = all_rays(&cone)
            .into_iter()
            .flatten()
            .map(|ray| ray.direction)
            .collect();
        found.sort();
        assert_eq!(found, rows(&[&[-1, -1, 1], &[-1, 1, 1], &[1, -1, 1], &[1, 1, 1]]));
    }

    #[test]
    fn a_cone_with_a_line_has_no_rays() {
        assert!(all_rays(&rows(&[&[1, 0, 0], &[0, 1, 0], &[1, 1, 0]])).is_none());
    }

    #[test]
    fn cyclic_polytopes_have_the_numbers_of_gale() {
        // The cone over the dual of a cyclic polytope. The cyclic polytope has 8 corners in dimension 4, and its 20 facets become 20 rays
        // (Ziegler, Lectures on Polytopes, theorem 0.7 and corollary 0.8: n (n - 3) / 2 facets).
        let moment: Vec<Vec<IBig>> = (0..8)
            .map(|t: i64| (0..5).map(|power| IBig::from((2 * t - 7).pow(power))).collect())
            .collect();
        assert_eq!(all_rays(&moment).map(|rays| rays.len()), Some(20));
        assert!(extreme_rays(&moment, &mut budget(50)).is_err());
        let little = IntegrationLimits {
            memory: 2_000,
            ..IntegrationLimits::default()
        };
        let found = extreme_rays(&moment, &mut Budget::of(&little));
        assert_eq!(found.map(|_| ()), Err(Limit::Memory));
    }
}

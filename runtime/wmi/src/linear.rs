//! Linear constraints on real variables.

use crate::rational::Rational;
use dashu_base::Abs;

/// The half-space `coefficients . x <= bound`. Since half-spaces only bound the regions of integrals, it does not matter whether the boundary
/// belongs to a half-space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HalfSpace {
    /// The coefficients of the variables, one for each variable.
    pub coefficients: Vec<Rational>,
    /// The right-hand side of the inequality.
    pub bound: Rational,
}

/// A polytope: the intersection of half-spaces in `dimension` variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Polytope {
    /// The number of variables.
    pub dimension: usize,
    /// The half-spaces whose intersection is the polytope.
    pub rows: Vec<HalfSpace>,
}

impl HalfSpace {
    /// Creates the half-space `coefficients . x <= bound`.
    pub fn new(coefficients: Vec<Rational>, bound: Rational) -> HalfSpace {
        HalfSpace { coefficients, bound }
    }

    /// Creates the half-space `x[variable] <= bound` in `dimension` variables.
    pub fn upper(dimension: usize, variable: usize, bound: Rational) -> HalfSpace {
        HalfSpace {
            coefficients: unit(dimension, variable, Rational::ONE),
            bound,
        }
    }

    /// Creates the half-space `x[variable] >= bound` in `dimension` variables.
    pub fn lower(dimension: usize, variable: usize, bound: Rational) -> HalfSpace {
        HalfSpace {
            coefficients: unit(dimension, variable, Rational::NEG_ONE),
            bound: -bound,
        }
    }

    /// Returns the half-space on the other side of the boundary.
    pub fn complement(&self) -> HalfSpace {
        HalfSpace {
            coefficients: self.coefficients.iter().map(|c| -c).collect(),
            bound: -&self.bound,
        }
    }

    /// Returns whether all coefficients are zero. A half-space without variables is either all of space or empty.
    pub fn is_constant(&self) -> bool {
        self.coefficients.iter().all(Rational::is_zero)
    }

    /// Scales this row by a positive factor, such that its first non-zero coefficient is 1 or -1. After this, rows that bound the same linear form
    /// have the same coefficients.
    pub(crate) fn monic(&self) -> HalfSpace {
        match self.coefficients.iter().find(|c| !c.is_zero()) {
            Some(leading) if !leading.numerator().is_one() || !leading.is_int() => {
                let size = leading.clone().abs();
                HalfSpace {
                    coefficients: self.coefficients.iter().map(|c| c / &size).collect(),
                    bound: &self.bound / &size,
                }
            }
            _ => self.clone(),
        }
    }

    /// Returns `bound - coefficients . point`. The result is positive or zero if the point is in the half-space.
    pub fn slack(&self, point: &[Rational]) -> Rational {
        let products = self
            .coefficients
            .iter()
            .zip(point)
            .filter(|(c, x)| !c.is_zero() && !x.is_zero());
        products.fold(self.bound.clone(), |slack, (c, x)| slack - c * x)
    }

    /// Returns the variables whose coefficients are not zero, in increasing order.
    pub fn support(&self) -> impl Iterator<Item = usize> + '_ {
        self.coefficients
            .iter()
            .enumerate()
            .filter(|(_, c)| !c.is_zero())
            .map(|(variable, _)| variable)
    }
}

impl Polytope {
    /// Creates a polytope without rows, which is all of space.
    pub fn whole(dimension: usize) -> Polytope {
        Polytope {
            dimension,
            rows: Vec::new(),
        }
    }

    /// Creates the box with `lower <= x <= upper` for each variable `x`. On a side with the bound `None`, the box is unbounded.
    pub fn boxed(bounds: &[(Option<Rational>, Option<Rational>)]) -> Polytope {
        let mut polytope = Polytope::whole(bounds.len());
        for (variable, (lower, upper)) in bounds.iter().enumerate() {
            let lower = lower
                .iter()
                .map(|bound| HalfSpace::lower(bounds.len(), variable, bound.clone()));
            let upper = upper
                .iter()
                .map(|bound| HalfSpace::upper(bounds.len(), variable, bound.clone()));
            polytope.rows.extend(lower.chain(upper));
        }
        polytope
    }

    /// Returns the intersection of the polytope with one more half-space.
    pub fn cut(&self, row: HalfSpace) -> Polytope {
        let mut cut = self.clone();
        cut.rows.push(row);
        cut
    }

    /// Returns whether `point` is in the interior of the polytope. A row of zero coefficients with the bound 0 makes the interior empty.
    pub fn contains_inside(&self, point: &[Rational]) -> bool {
        self.rows.iter().all(|row| row.slack(point) > Rational::ZERO)
    }

    /// Divides the variables into groups. Two variables are in the same group if a row or one of the sets in `together` contains both. The groups
    /// are in the order of their first variables. A variable that is not mentioned anywhere forms a group by itself.
    pub fn blocks(&self, together: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let mut group: Vec<usize> = (0..self.dimension).collect();
        let rows = self.rows.iter().map(|row| row.support().collect());
        for set in rows.chain(together.iter().cloned()) {
            let set: Vec<usize> = set;
            let members: Vec<usize> = set.iter().map(|&variable| group[variable]).collect();
            if let Some(&first) = members.iter().min() {
                group
                    .iter_mut()
                    .filter(|label| members.contains(label))
                    .for_each(|label| *label = first);
            }
        }
        let labels = (0..self.dimension).filter(|&variable| group[variable] == variable);
        labels
            .map(|label| {
                (0..self.dimension)
                    .filter(|&variable| group[variable] == label)
                    .collect()
            })
            .collect()
    }
}

fn unit(dimension: usize, variable: usize, entry: Rational) -> Vec<Rational> {
    (0..dimension)
        .map(|column| {
            if column == variable {
                entry.clone()
            } else {
                Rational::ZERO
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rational::parse;

    fn row(coefficients: &[&str], bound: &str) -> HalfSpace {
        HalfSpace::new(
            coefficients.iter().map(|c| parse(c).unwrap()).collect(),
            parse(bound).unwrap(),
        )
    }

    #[test]
    fn complements_share_only_the_boundary() {
        let half = row(&["1", "2"], "3");
        for (point, inside, outside) in [
            (["0", "0"], true, false),
            (["1", "1"], true, true),
            (["2", "1"], false, true),
        ] {
            let point: Vec<Rational> = point.iter().map(|x| parse(x).unwrap()).collect();
            assert_eq!(half.slack(&point) >= Rational::ZERO, inside);
            assert_eq!(half.complement().slack(&point) >= Rational::ZERO, outside);
        }
    }

    #[test]
    fn blocks_follow_shared_rows_transitively() {
        let rows = vec![
            row(&["1", "0", "0", "1", "0"], "1"),
            row(&["0", "1", "0", "1", "0"], "1"),
            row(&["0", "0", "2", "0", "0"], "1"),
        ];
        assert_eq!(
            Polytope { dimension: 5, rows }.blocks(&[]),
            vec![vec![0, 1, 3], vec![2], vec![4]]
        );
    }
}

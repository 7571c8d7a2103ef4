//! Integrates a weight over a polytope.

use super::ball::Ball;
use super::budget::{Budget, Spent};
use super::exponents::Exponents;
use super::faces::{Number, moments};
use super::feasible::{Feasibility, feasible};
use super::frame::Frame;
use super::skeleton::{Obstacle, Skeleton, skeleton};
use crate::integral::{Integral, IntegrationLimits, RegionIntegral};
use crate::linear::{HalfSpace, Polytope};
use crate::polynomial::Polynomial;
use crate::rational::Rational;
use dashu_int::UBig;
use std::collections::{BTreeSet, HashMap};

/// If new coordinates may expand one monomial into more monomials than this, powers of variables are not expanded.
const MOST_EXPANDED: usize = 256;

/// Computes the integral of `weight` over `polytope`. The variables of the weight are the variables of the polytope, followed by the `forms`. A
/// form is a polynomial of degree one in the variables of the polytope. For example, `(x + y)^60` is a power of the form `x + y`, and is not
/// expanded. A polytope without variables is a single point with the volume 1.
///
/// Corners, facets and heights are computed exactly. Only sums and products of these numbers are rounded, and their errors are bounded. If the
/// error bound exceeds the tolerance of `effort`, or if `effort.exact` is set, the sums and products are computed exactly too. If the exact
/// sums would take more steps than `effort` allows and `effort.exact` is not set, the rounded result is returned although its error bound
/// exceeds the tolerance.
pub fn integrate(
    polytope: &Polytope,
    weight: &Polynomial,
    forms: &[Polynomial],
    effort: &IntegrationLimits,
) -> RegionIntegral {
    debug_assert_eq!(polytope.dimension + forms.len(), weight.variables);
    debug_assert!(forms.iter().all(|form| !support(form).is_empty()));
    match feasible(polytope) {
        Feasibility::Empty => return RegionIntegral::Empty,
        Feasibility::Flat => return RegionIntegral::Degenerate,
        Feasibility::Interior(_) => {}
    }
    if weight.is_zero() {
        return RegionIntegral::Integral(Integral::zero());
    }
    let polytope = without_repetition(polytope);
    let supports: Vec<Vec<usize>> = forms.iter().map(support).collect();
    let mut blocks = Vec::new();
    let mut budget = Budget::of(effort);
    for variables in polytope.blocks(&supports) {
        let skeleton = match skeleton(&restricted(&polytope, &variables), &mut budget) {
            Ok(skeleton) => skeleton,
            Err(Obstacle::Unbounded(direction)) => {
                return RegionIntegral::Unbounded(extended(&direction, &variables, polytope.dimension));
            }
            Err(Obstacle::Spent(limit)) => return RegionIntegral::GaveUp(limit),
        };
        let within = |support: &Vec<usize>| support.first().is_some_and(|first| variables.contains(first));
        let own = (0..forms.len()).filter(|&form| within(&supports[form]));
        blocks.push(Block {
            places: variables
                .iter()
                .copied()
                .chain(own.map(|form| polytope.dimension + form))
                .collect(),
            variables,
            values: Vec::new(),
            skeleton,
        });
    }
    match integral_over(blocks, weight, forms, (effort, budget)) {
        Ok(integral) => RegionIntegral::Integral(integral),
        Err(limit) => RegionIntegral::GaveUp(limit),
    }
}

/// Returns the variables that occur in a form.
fn support(form: &Polynomial) -> Vec<usize> {
    (0..form.variables)
        .filter(|&variable| form.mentions(variable))
        .collect()
}

/// A set of variables, and the polytope in these variables. A row or form that contains one of these variables does not contain variables of
/// other blocks.
struct Block {
    variables: Vec<usize>,
    /// Those variables of the weight that belong to the block: variables of the polytope, or forms in them.
    places: Vec<usize>,
    /// The values of the variables in `places` at each corner.
    values: Vec<Vec<Rational>>,
    skeleton: Skeleton,
}

/// If several rows bound the same form, keeps only the tightest of these rows. Drops rows without variables.
fn without_repetition(polytope: &Polytope) -> Polytope {
    let mut tightest: HashMap<Vec<Rational>, usize> = HashMap::new();
    let mut rows: Vec<HalfSpace> = Vec::new();
    for row in polytope.rows.iter().filter(|row| !row.is_constant()) {
        let row = row.monic();
        match tightest.get(&row.coefficients) {
            Some(&place) if rows[place].bound <= row.bound => {}
            Some(&place) => rows[place] = row,
            None => {
                tightest.insert(row.coefficients.clone(), rows.len());
                rows.push(row);
            }
        }
    }
    Polytope {
        dimension: polytope.dimension,
        rows,
    }
}

/// Returns the rows that mention `variables`, as a polytope in only these variables.
fn restricted(polytope: &Polytope, variables: &[usize]) -> Polytope {
    let concerns = |row: &&HalfSpace| row.support().any(|variable| variables.contains(&variable));
    let rows = polytope.rows.iter().filter(concerns).map(|row| HalfSpace {
        coefficients: variables
            .iter()
            .map(|&variable| row.coefficients[variable].clone())
            .collect(),
        bound: row.bound.clone(),
    });
    Polytope {
        dimension: variables.len(),
        rows: rows.collect(),
    }
}

fn extended(direction: &[Rational], variables: &[usize], dimension: usize) -> Vec<Rational> {
    let mut all = vec![Rational::ZERO; dimension];
    variables
        .iter()
        .zip(direction)
        .for_each(|(&variable, entry)| all[variable] = entry.clone());
    all
}

fn integral_over(
    mut blocks: Vec<Block>,
    weight: &Polynomial,
    forms: &[Polynomial],
    (effort, budget): (&IntegrationLimits, Budget),
) -> Result<Integral, Spent> {
    let (mut weight, mut unit) = (weight.clone(), Rational::ONE);
    let (mut forms, mut wanted) = (forms.to_vec(), Vec::with_capacity(blocks.len()));
    for block in &mut blocks {
        if expands(&weight, &block.variables)? {
            make_forms(block, &mut weight, &mut forms);
        }
        // The only monomials that the new coordinates add are divisors of existing monomials.
        wanted.push(monomials(&weight, &block.places)?);
        let frame = Frame::around(&block.skeleton);
        frame.apply(&mut block.skeleton);
        weight = frame.moved(&weight, &block.variables)?;
        unit *= frame.unit();
        let dimension = block.variables.len();
        let corners = 0..block.skeleton.vertices.len();
        block.values = corners.map(|corner| block.skeleton.point(corner)).collect();
        for &place in &block.places[dimension..] {
            let form = frame.moved(&forms[place - (weight.variables - forms.len())], &block.variables)?;
            for point in &mut block.values {
                let coordinates = extended(&point[..dimension], &block.variables, form.variables);
                point.push(form.evaluate(&coordinates));
            }
        }
    }
    let weight = weight.scaled(&unit);
    // The corners stay in memory while the sums are computed, so their bytes are not returned to the budget. The sums have a separate step
    // budget.
    let total_budget = || budget.again(effort.steps);
    if effort.exact {
        return total(&blocks, &wanted, &weight, total_budget()).map(Integral::exactly);
    }
    let ball: Ball = total(&blocks, &wanted, &weight, total_budget())?;
    if ball.is_within(effort.tolerance) {
        return Ok(ball.into());
    }
    let exact = total(&blocks, &wanted, &weight, total_budget());
    Ok(exact.map_or(ball.into(), Integral::exactly))
}

/// Returns whether new coordinates of `variables` may expand a few monomials into many.
fn expands(weight: &Polynomial, variables: &[usize]) -> Result<bool, Spent> {
    let most = MOST_EXPANDED.saturating_mul(weight.terms.len());
    let of_one = |exponents: &Vec<u32>| {
        let counts = part(exponents, variables).into_iter();
        counts.fold(1usize, |count, exponent| {
            count.saturating_mul(exponent as usize + 1)
        })
    };
    let together = weight.terms.keys().map(of_one).fold(0, usize::saturating_add);
    Ok(together > most && monomials(weight, variables)?.len() > most)
}

/// Replaces the variables of a block by forms. Forms are evaluated at the corners, and powers of forms are not expanded.
fn make_forms(block: &mut Block, weight: &mut Polynomial, forms: &mut Vec<Polynomial>) {
    let (dimension, all) = (weight.variables - forms.len(), weight.variables);
    let mut places: Vec<usize> = (0..all).collect();
    for (at, &variable) in block.variables.iter().enumerate() {
        places[variable] = all + at;
        block.places.push(all + at);
        forms.push(Polynomial::variable(dimension, variable));
    }
    *weight = weight.renamed(&places, all + block.variables.len());
}

/// Splits the weight's monomials into their variables. Returns the parts with the variables in `places`, and all
/// divisors of these parts.
fn monomials(weight: &Polynomial, places: &[usize]) -> Result<Exponents, Spent> {
    let parts: BTreeSet<Vec<u32>> = weight
        .terms
        .keys()
        .map(|exponents| part(exponents, places))
        .collect();
    Exponents::dividing(parts.iter().map(Vec::as_slice), places.len())
}

fn part(exponents: &[u32], places: &[usize]) -> Vec<u32> {
    places.iter().map(|&place| exponents[place]).collect()
}

/// For each term of the weight, multiplies the integrals over the blocks. Returns the sum of these products over all terms.
fn total<T: Number>(
    blocks: &[Block],
    wanted: &[Exponents],
    weight: &Polynomial,
    mut budget: Budget,
) -> Result<T, Spent> {
    let mut weight = weight.clone();
    let mut all: Vec<Vec<T>> = Vec::with_capacity(blocks.len());
    for (block, exponents) in blocks.iter().zip(wanted) {
        let mut values = block.values.clone();
        for (at, &place) in block.places.iter().enumerate() {
            let unit = T::unit(values.iter().map(|point| &point[at]));
            if !unit.is_one() {
                values.iter_mut().for_each(|point| point[at] /= &unit);
                weight = weight.stretched(place, &unit);
            }
        }
        all.push(moments(&block.skeleton, &values, exponents, &mut budget)?);
    }
    let degrees = wanted.iter().map(|exponents| exponents.degree() as usize);
    let sizes = blocks.iter().map(|block| block.variables.len());
    let factorials = factorials(
        degrees
            .zip(sizes)
            .map(|(degree, size)| degree + size)
            .max()
            .unwrap_or(0),
    );
    let mut sum = T::zero();
    for (exponents, coefficient) in &weight.terms {
        budget.in_time()?;
        let (mut factor, mut product) = (coefficient.clone(), T::of(&Rational::ONE));
        for ((block, wanted), moments) in blocks.iter().zip(wanted).zip(&all) {
            let part = part(exponents, &block.places);
            let Some(place) = wanted.place(&part) else {
                unreachable!("the monomials of the weight are among the wanted ones");
            };
            factor *= of_moment(&part, block.variables.len(), &factorials);
            product = product.times(&moments[place]);
        }
        sum = sum.plus(&T::of(&factor).times(&product));
    }
    Ok(sum)
}

/// Returns `a! / (dimension + |a|)!`, computed from the given factorials. The moment of a monomial times this number is its integral.
fn of_moment(exponents: &[u32], dimension: usize, factorials: &[UBig]) -> Rational {
    let above = exponents.iter().fold(UBig::ONE, |product, &exponent| {
        product * &factorials[exponent as usize]
    });
    let sum: usize = exponents.iter().map(|&exponent| exponent as usize).sum();
    Rational::from_parts(above.into(), factorials[dimension + sum].clone())
}

/// Returns the factorials of the integers from 0 to `most`.
fn factorials(most: usize) -> Vec<UBig> {
    let mut last = UBig::ONE;
    let rest = (1..=most).map(|factor| {
        last *= UBig::from(factor);
        last.clone()
    });
    std::iter::once(UBig::ONE)
        .chain(rest.collect::<Vec<_>>())
        .collect()
}

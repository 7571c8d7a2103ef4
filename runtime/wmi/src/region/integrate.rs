//! From a polytope and a weight to the integral.

use super::ball::Ball;
use super::budget::{Budget, Spent};
use super::exponents::Exponents;
use super::faces::{Number, moments};
use super::feasible::{Feasibility, feasible};
use super::frame::Frame;
use super::skeleton::{Obstacle, Skeleton, skeleton};
use crate::integral::{Effort, Integral, Outcome};
use crate::linear::{HalfSpace, Polytope};
use crate::polynomial::Polynomial;
use crate::rational::Rational;
use std::collections::{BTreeSet, HashMap};

/// The integral of `weight` over `polytope`, whose number of variables it shares. In no variables the
/// polytope is one point, which counts once.
///
/// Corners, facets and heights are exact; only sums and products of them are rounded, and their errors
/// are bounded. Where the bound is above the tolerance of `effort`, or where it asks for rationals, the
/// sums are exact too; unless that takes more steps than `effort` allows and rationals are not asked for:
/// then the bound is above the tolerance.
pub fn integrate(polytope: &Polytope, weight: &Polynomial, effort: &Effort) -> Outcome {
    debug_assert_eq!(polytope.dimension, weight.variables);
    match feasible(polytope) {
        Feasibility::Empty => return Outcome::Empty,
        Feasibility::Flat => return Outcome::Degenerate,
        Feasibility::Interior(_) => {}
    }
    if weight.is_zero() {
        return Outcome::Integral(Integral::zero());
    }
    let polytope = without_repetition(polytope);
    let mut blocks = Vec::new();
    let mut budget = Budget::of(effort.steps);
    for variables in polytope.blocks() {
        match skeleton(&restricted(&polytope, &variables), &mut budget) {
            Ok(skeleton) => blocks.push(Block { variables, skeleton }),
            Err(Obstacle::Unbounded(direction)) => {
                return Outcome::Unbounded(extended(&direction, &variables, polytope.dimension));
            }
            Err(Obstacle::Spent) => return Outcome::GaveUp,
        }
    }
    match integral_over(blocks, weight, effort) {
        Ok(integral) => Outcome::Integral(integral),
        Err(Spent) => Outcome::GaveUp,
    }
}

/// Variables that share no row with others, and the polytope in these.
struct Block {
    variables: Vec<usize>,
    skeleton: Skeleton,
}

/// Keeps one of the rows that bound the same form, the tightest, and none without variables.
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

/// The rows on `variables` only, in these alone.
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

fn integral_over(mut blocks: Vec<Block>, weight: &Polynomial, effort: &Effort) -> Result<Integral, Spent> {
    let mut weight = weight.clone();
    for block in &mut blocks {
        let frame = Frame::around(&block.skeleton);
        weight = frame.weight(&weight, &block.variables)?;
        frame.apply(&mut block.skeleton);
    }
    let wanted: Vec<Exponents> = blocks
        .iter()
        .map(|block| wanted(&weight, &block.variables))
        .collect::<Result<_, Spent>>()?;
    if effort.exact {
        return total(&blocks, &wanted, &weight, effort.steps).map(Integral::exactly);
    }
    let ball: Ball = total(&blocks, &wanted, &weight, effort.steps)?;
    if ball.is_within(effort.tolerance) {
        return Ok(ball.into());
    }
    let exact = total(&blocks, &wanted, &weight, effort.steps);
    Ok(exact.map_or(ball.into(), Integral::exactly))
}

/// The monomials in `variables` that occur in the terms of `weight`, and their divisors.
fn wanted(weight: &Polynomial, variables: &[usize]) -> Result<Exponents, Spent> {
    let parts: BTreeSet<Vec<u32>> = weight
        .terms
        .keys()
        .map(|exponents| part(exponents, variables))
        .collect();
    Exponents::dividing(parts.iter().map(Vec::as_slice), variables.len())
}

fn part(exponents: &[u32], variables: &[usize]) -> Vec<u32> {
    variables.iter().map(|&variable| exponents[variable]).collect()
}

/// The sum over the terms of the weight of products of integrals over the blocks.
fn total<T: Number>(
    blocks: &[Block],
    wanted: &[Exponents],
    weight: &Polynomial,
    steps: u64,
) -> Result<T, Spent> {
    let mut budget = Budget::of(steps);
    let integrals: Vec<Vec<T>> = blocks
        .iter()
        .zip(wanted)
        .map(|(block, exponents)| moments(&block.skeleton, exponents, &mut budget))
        .collect::<Result<_, Spent>>()?;
    let mut sum = T::zero();
    for (exponents, coefficient) in &weight.terms {
        let mut term = T::of(coefficient);
        for ((block, wanted), integrals) in blocks.iter().zip(wanted).zip(&integrals) {
            let Some(place) = wanted.place(&part(exponents, &block.variables)) else {
                unreachable!("the monomials of the weight are among the wanted ones");
            };
            term = term.times(&integrals[place]);
        }
        sum = sum.plus(&term);
    }
    Ok(sum)
}

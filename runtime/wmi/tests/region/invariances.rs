//! Tests transformations and divisions of a region that determine how its integral changes.

use crate::{Draws, EXACT, ROUNDED, check, exactly, integrate, monomial, number, row, value};
use bnnc_wmi::integral::Integral;
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::rational::{Rational, to_f64};

/// Returns eight polytopes in two to four variables, each with a weight.
fn samples(seed: u64) -> Vec<(Polytope, Polynomial)> {
    let mut draws = Draws(seed);
    let shapes = [(2, 3), (2, 6), (3, 2), (3, 4), (3, 7), (4, 1), (4, 3), (2, 1)];
    shapes
        .map(|(dimension, cuts)| (draws.polytope(dimension, cuts), draws.polynomial(dimension)))
        .into()
}

/// Substitutes `value` for `variable` in all rows of the polytope. `value` is an affine form in the same variables.
fn mapped(polytope: &Polytope, variable: usize, value: &Polynomial) -> Polytope {
    let map = |row: &HalfSpace| {
        let mut form = Polynomial::constant(polytope.dimension, -&row.bound);
        for (column, c) in row.coefficients.iter().enumerate() {
            form = &form + &Polynomial::variable(polytope.dimension, column).scaled(c);
        }
        let (coefficients, constant) = form.substitute(variable, value).affine().unwrap();
        HalfSpace::new(coefficients, -constant)
    };
    Polytope {
        dimension: polytope.dimension,
        rows: polytope.rows.iter().map(map).collect(),
    }
}

#[test]
fn rounded_integrals_are_within_their_bounds() {
    for (polytope, weight) in samples(1).into_iter().chain(samples(2)) {
        let expected = exactly(&polytope, &weight);
        check("random", &polytope, &weight, &expected);
    }
}

#[test]
fn integrals_are_invariant_under_shears_and_translations_and_scale_with_their_factor() {
    let mut draws = Draws(3);
    for (mut polytope, mut weight) in samples(4) {
        let expected = exactly(&polytope, &weight);
        let n = polytope.dimension;
        for step in 0..3 {
            let (to, from) = (step % n, (step + 1) % n);
            let shear = Polynomial::variable(n, from).scaled(&Rational::from(draws.integer(3)));
            let shift = Polynomial::constant(n, draws.number());
            let value = &(&Polynomial::variable(n, to) + &shear) + &shift;
            (polytope, weight) = (mapped(&polytope, to, &value), weight.substitute(to, &value));
        }
        assert_eq!(exactly(&polytope, &weight), expected);
        let value = Polynomial::variable(n, 0).scaled(&number("-2/7"));
        let (polytope, weight) = (mapped(&polytope, 0, &value), weight.substitute(0, &value));
        assert_eq!(exactly(&polytope, &weight) * number("2/7"), expected);
    }
}

#[test]
fn the_order_of_variables_and_rows_does_not_matter() {
    for (polytope, weight) in samples(5) {
        let n = polytope.dimension;
        let places: Vec<usize> = (0..n).map(|variable| (variable + 1) % n).collect();
        let turn = |row: &HalfSpace| {
            let mut permuted = row.clone();
            places
                .iter()
                .zip(&row.coefficients)
                .for_each(|(&place, c)| permuted.coefficients[place] = c.clone());
            permuted
        };
        let mut rows: Vec<HalfSpace> = polytope.rows.iter().map(turn).collect();
        rows.reverse();
        // The test adds three redundant rows: a repeated row, a weaker row, and a row that every point satisfies.
        rows.push(rows[0].clone());
        rows.push(HalfSpace::new(
            rows[1].coefficients.clone(),
            &rows[1].bound + Rational::ONE,
        ));
        rows.push(HalfSpace::new(vec![Rational::ZERO; n], Rational::ZERO));
        let permuted = Polytope { dimension: n, rows };
        assert_eq!(
            exactly(&permuted, &weight.renamed(&places, n)),
            exactly(&polytope, &weight)
        );
    }
}

#[test]
fn two_sides_of_a_cut_add_up() {
    let mut draws = Draws(6);
    for (polytope, weight) in samples(7) {
        let bound = Rational::from(draws.integer(2)) / Rational::from(3);
        let cut = draws.row(polytope.dimension, bound);
        if cut.is_constant() {
            continue;
        }
        let sides = [polytope.cut(cut.clone()), polytope.cut(cut.complement())];
        let exact = sides.iter().map(|side| value(integrate(side, &weight, &EXACT)));
        assert_eq!(Integral::sum(exact).exact, Some(exactly(&polytope, &weight)));
        let rounded = Integral::sum(sides.iter().map(|side| value(integrate(side, &weight, &ROUNDED))));
        let difference = Rational::try_from(rounded.value).unwrap() - exactly(&polytope, &weight);
        assert!(to_f64(&difference).abs() <= rounded.error_bound, "{rounded:?}");
    }
}

#[test]
fn independent_blocks_multiply() {
    // The polytope is the product of three polytopes: a triangle in x0 and x2, an interval in x1, and a square in x3 and x4 whose rows
    // mention both variables.
    let mut polytope = Polytope::whole(5);
    polytope.rows = vec![
        row(&["-1", "0", "0", "0", "0"], "0"),
        row(&["0", "0", "-1", "0", "0"], "0"),
        row(&["1", "0", "1", "0", "0"], "1"),
        row(&["0", "1", "0", "0", "0"], "3"),
        row(&["0", "-1", "0", "0", "0"], "-1"),
        row(&["0", "0", "0", "1", "1"], "1"),
        row(&["0", "0", "0", "-1", "-1"], "1"),
        row(&["0", "0", "0", "1", "-1"], "1"),
        row(&["0", "0", "0", "-1", "1"], "1"),
    ];
    // The term x0 x2 * x1 contributes 1/24 * (9 - 1)/2 * 2 to the integral. The term x3^2 contributes 1/2 * 2 * 1/3.
    let weight = &monomial(&[1, 1, 1, 0, 0]) + &monomial(&[0, 0, 0, 2, 0]);
    check("blocks", &polytope, &weight, &number("2/3"));
}

//! Integrals over single polytopes agree with closed forms and with each other.

#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::{Integral, IntegrationLimits, Limit, RegionIntegral};
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::rational::{Rational, parse, to_f64};
use bnnc_wmi::region::{self, Feasibility, feasible};

const EXACT: IntegrationLimits = IntegrationLimits {
    tolerance: 0.0,
    exact: true,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};
/// Limits with an infinite tolerance. Results are therefore never computed again in rational arithmetic, and the tests check the error bounds
/// of floating-point results.
const ROUNDED: IntegrationLimits = IntegrationLimits {
    tolerance: f64::INFINITY,
    exact: false,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};
const USUAL: IntegrationLimits = IntegrationLimits {
    tolerance: 1e-12,
    exact: false,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};

fn integrate(polytope: &Polytope, weight: &Polynomial, effort: &IntegrationLimits) -> RegionIntegral {
    region::integrate(polytope, weight, &[], effort)
}

fn number(text: &str) -> Rational {
    parse(text).unwrap()
}

fn row(coefficients: &[&str], bound: &str) -> HalfSpace {
    HalfSpace::new(coefficients.iter().map(|c| number(c)).collect(), number(bound))
}

fn one(variables: usize) -> Polynomial {
    Polynomial::constant(variables, Rational::ONE)
}

fn monomial(exponents: &[u32]) -> Polynomial {
    Polynomial::monomial(exponents.to_vec(), Rational::ONE)
}

fn cube(dimension: usize, lower: &str, upper: &str) -> Polytope {
    Polytope::boxed(&vec![(Some(number(lower)), Some(number(upper))); dimension])
}

fn value(outcome: RegionIntegral) -> Integral {
    match outcome {
        RegionIntegral::Integral(integral) => integral,
        other => panic!("expected an integral, got {other:?}"),
    }
}

fn exactly(polytope: &Polytope, weight: &Polynomial) -> Rational {
    value(integrate(polytope, weight, &EXACT)).exact.unwrap()
}

/// Computes an integral exactly, in floating point, and with the default limits. Checks that all results agree with `expected` within their
/// error bounds.
fn check(name: &str, polytope: &Polytope, weight: &Polynomial, expected: &Rational) {
    assert_eq!(exactly(polytope, weight), *expected, "{name}");
    let rounded = value(integrate(polytope, weight, &ROUNDED));
    let distance = |integral: &Integral| {
        let difference = Rational::try_from(integral.value).unwrap() - expected;
        to_f64(&difference).abs()
    };
    assert!(
        distance(&rounded) <= rounded.error_bound,
        "{name}: {rounded:?} {expected}"
    );
    let usual = value(integrate(polytope, weight, &USUAL));
    assert!(
        distance(&usual) <= usual.error_bound,
        "{name}: {usual:?} {expected}"
    );
    assert!(
        usual.error_bound <= 1e-12 * to_f64(expected).abs(),
        "{name}: {usual:?} {expected}"
    );
}

fn factorial(n: u32) -> Rational {
    (1..=n).fold(Rational::ONE, |product, k| product * Rational::from(k))
}

fn simplex(dimension: usize) -> Polytope {
    cube(dimension, "0", "1").cut(row(&vec!["1"; dimension], "1"))
}

/// Returns the cross polytope, where `+-x0 +- .. <= 1` for all combinations of signs.
fn cross(dimension: usize) -> Polytope {
    let mut polytope = cube(dimension, "-1", "1");
    for signs in 0..1usize << dimension {
        let coefficients: Vec<&str> = (0..dimension)
            .map(|k| if signs >> k & 1 == 1 { "-1" } else { "1" })
            .collect();
        polytope.rows.push(row(&coefficients, "1"));
    }
    polytope
}

#[test]
fn simplices_have_the_moments_of_dirichlet() {
    for dimension in 1..=7u32 {
        let polytope = simplex(dimension as usize);
        check(
            "volume",
            &polytope,
            &one(dimension as usize),
            &(Rational::ONE / factorial(dimension)),
        );
    }
    for exponents in [
        vec![2, 0, 1],
        vec![1, 3, 2],
        vec![5, 0, 4],
        vec![1, 1, 1, 1],
        vec![2, 1, 0, 0, 1],
    ] {
        let above = exponents
            .iter()
            .fold(Rational::ONE, |product, &e| product * factorial(e));
        let below = factorial(exponents.iter().sum::<u32>() + exponents.len() as u32);
        check(
            "moment",
            &simplex(exponents.len()),
            &monomial(&exponents),
            &(above / below),
        );
    }
}

#[test]
fn a_high_degree_keeps_its_relative_accuracy() {
    check(
        "highdeg_tri",
        &simplex(2),
        &monomial(&[20, 20]),
        &number("1/237371722628040"),
    );
}

#[test]
fn cross_polytopes_have_known_moments() {
    for dimension in 1..=5u32 {
        let expected = Rational::from(1u32 << dimension) / factorial(dimension);
        check(
            "volume",
            &cross(dimension as usize),
            &one(dimension as usize),
            &expected,
        );
    }
    check("cross3", &cross(3), &monomial(&[2, 0, 0]), &number("2/15"));
}

/// Returns `P(U_1 + .. + U_n <= x)` for independent uniform variables (the Irwin-Hall distribution).
fn irwin_hall(n: u32, x: &Rational) -> Rational {
    let mut sum = Rational::ZERO;
    for k in (0..=n).filter(|&k| Rational::from(k) < *x) {
        let binomial = factorial(n) / factorial(k) / factorial(n - k);
        let term = binomial * (x - Rational::from(k)).pow(n as isize);
        sum += if k % 2 == 0 { term } else { -term };
    }
    sum / factorial(n)
}

#[test]
fn cut_cubes_follow_irwin_and_hall() {
    for (dimension, cut) in [
        (2, "0.7"),
        (3, "1.5"),
        (4, "1.7"),
        (5, "22/7"),
        (6, "2"),
        (7, "3.3"),
    ] {
        let polytope = cube(dimension, "0", "1").cut(row(&vec!["1"; dimension], cut));
        check(
            "cut cube",
            &polytope,
            &one(dimension),
            &irwin_hall(dimension as u32, &number(cut)),
        );
    }
    assert_eq!(irwin_hall(4, &number("1.7")), number("24639/80000"));
}

#[test]
fn order_polytopes_are_order_statistics() {
    let mut polytope = cube(4, "0", "1");
    for k in 0..3 {
        let mut coefficients = vec!["0"; 4];
        (coefficients[k], coefficients[k + 1]) = ("1", "-1");
        polytope.rows.push(row(&coefficients, "0"));
    }
    check(
        "order_poly4",
        &polytope,
        &monomial(&[1, 0, 0, 1]),
        &number("1/144"),
    );
    check("order_poly4", &polytope, &one(4), &number("1/24"));
}

#[test]
fn slivers_and_mixed_scales_are_exact() {
    let strip = Polytope::boxed(&[
        (Some(number("0")), Some(number("1"))),
        (Some(number("0")), Some(number("2"))),
    ])
    .cut(row(&["1", "-1"], "0"))
    .cut(row(&["-1", "1"], "1e-9"));
    check("sliver_strip", &strip, &one(2), &number("1e-9"));
    // The wedge is the set with x <= y <= x (1 + e), where x is in the unit interval.
    let wedge = Polytope::boxed(&[
        (Some(number("0")), Some(number("1"))),
        (Some(number("0")), Some(number("2"))),
    ])
    .cut(row(&["1", "-1"], "0"))
    .cut(row(&["-1.000000000001", "1"], "0"));
    check("sliver_wedge", &wedge, &one(2), &number("5e-13"));
    let mixed = Polytope::boxed(&[
        (Some(number("0")), Some(number("1e-6"))),
        (Some(number("0")), Some(number("1e6"))),
    ])
    .cut(row(&["1e6", "1e-6"], "1"));
    check("scales_mixed", &mixed, &monomial(&[1, 1]), &number("1/24"));
    // The region is a slab around a diagonal plane of a cube. The slab is thinner than the distance between neighbouring floating-point
    // numbers.
    let slab = cube(3, "0", "1")
        .cut(row(&["1", "1", "1"], "1.50000000000000000001"))
        .cut(row(&["-1", "-1", "-1"], "-1.5"));
    let expected = irwin_hall(3, &number("1.50000000000000000001")) - irwin_hall(3, &number("1.5"));
    check("slab", &slab, &one(3), &expected);
}

#[test]
fn no_variables_are_one_point() {
    let three = Polynomial::constant(0, number("3"));
    check("point", &Polytope::whole(0), &three, &number("3"));
    let impossible = Polytope {
        dimension: 0,
        rows: vec![row(&[], "-1")],
    };
    assert_eq!(integrate(&impossible, &three, &USUAL), RegionIntegral::Empty);
    let possible = Polytope {
        dimension: 0,
        rows: vec![row(&[], "0")],
    };
    check("point", &possible, &three, &number("3"));
}

#[test]
fn signed_weights_cancel_exactly() {
    let weight = &monomial(&[1, 1]) - &one(2);
    check("weight_negative", &cube(2, "0", "1"), &weight, &number("-3/4"));
    // The integral of (x - 1000)^6 over [1000, 1001] is 1/7. If the power were expanded, all digits would cancel in the sum of its terms.
    let far = (&monomial(&[1]) - &Polynomial::constant(1, number("1000"))).power(6);
    check("far", &cube(1, "1000", "1001"), &far, &number("1/7"));
    // The weight is an odd function, so the integral is zero. A rounded sum cannot prove that it is exactly zero.
    assert_eq!(
        value(integrate(&cross(3), &monomial(&[1, 0, 0]), &USUAL)).exact,
        Some(Rational::ZERO)
    );
}

#[test]
fn empty_flat_and_unbounded_regions_are_distinguished() {
    let interval = Polytope {
        dimension: 1,
        rows: vec![row(&["-1"], "-1"), row(&["1"], "0")],
    };
    assert_eq!(integrate(&interval, &one(1), &USUAL), RegionIntegral::Empty);
    let cyclic = cube(3, "0", "1")
        .cut(row(&["-1", "1", "0"], "-0.4"))
        .cut(row(&["0", "-1", "1"], "-0.4"))
        .cut(row(&["1", "0", "-1"], "0.7"));
    assert_eq!(integrate(&cyclic, &one(3), &USUAL), RegionIntegral::Empty);
    let corner = cube(3, "0", "1").cut(row(&["-1", "-1", "-1"], "-3"));
    assert_eq!(integrate(&corner, &one(3), &USUAL), RegionIntegral::Degenerate);
    let diagonal = cube(2, "0", "1")
        .cut(row(&["1", "1"], "1"))
        .cut(row(&["-1", "-1"], "-1"));
    assert_eq!(integrate(&diagonal, &one(2), &USUAL), RegionIntegral::Degenerate);
    // If a polytope is both flat and unbounded, it is reported as degenerate.
    let line = Polytope {
        dimension: 2,
        rows: vec![row(&["1", "0"], "1"), row(&["-1", "0"], "-1")],
    };
    assert_eq!(integrate(&line, &one(2), &USUAL), RegionIntegral::Degenerate);
}

#[test]
fn unbounded_regions_name_their_direction() {
    let half_line = Polytope {
        dimension: 1,
        rows: vec![row(&["-1"], "0")],
    };
    assert_eq!(
        integrate(&half_line, &one(1), &USUAL),
        RegionIntegral::Unbounded(vec![Rational::ONE])
    );
    assert_eq!(
        value(integrate(&half_line, &Polynomial::zero(1), &USUAL)),
        Integral::zero()
    );
    let slanted = Polytope {
        dimension: 3,
        rows: vec![
            row(&["1", "1", "0"], "1"),
            row(&["-1", "-1", "0"], "1"),
            row(&["0", "0", "1"], "1"),
            row(&["0", "0", "-1"], "1"),
        ],
    };
    let wedge = Polytope {
        dimension: 2,
        rows: vec![
            row(&["-2", "1"], "0"),
            row(&["1", "-2"], "0"),
            row(&["-1", "-1"], "-1"),
        ],
    };
    for polytope in [slanted, wedge, Polytope::whole(2)] {
        let RegionIntegral::Unbounded(direction) = integrate(&polytope, &one(polytope.dimension), &USUAL)
        else {
            panic!()
        };
        assert!(direction.iter().any(|entry| !entry.is_zero()));
        for row in &polytope.rows {
            assert!(row.slack(&direction) >= row.bound, "{direction:?}");
        }
    }
}

/// A linear congruential generator (Knuth, MMIX). It returns integers from -bound to bound.
struct Draws(u64);

impl Draws {
    fn integer(&mut self, bound: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as i64 % (2 * bound + 1) - bound
    }

    fn number(&mut self) -> Rational {
        Rational::from(self.integer(100)) / Rational::from(self.integer(3) + 4)
    }

    fn row(&mut self, dimension: usize, bound: Rational) -> HalfSpace {
        HalfSpace::new(
            (0..dimension).map(|_| Rational::from(self.integer(4))).collect(),
            bound,
        )
    }

    /// Returns the intersection of a box around the origin with half-spaces that all contain the origin.
    fn polytope(&mut self, dimension: usize, cuts: usize) -> Polytope {
        let mut polytope = cube(dimension, "-3", "3.5");
        for _ in 0..cuts {
            let bound = Rational::from(self.integer(3) + 5) / Rational::from(2);
            polytope.rows.push(self.row(dimension, bound));
        }
        polytope
    }

    fn polynomial(&mut self, variables: usize) -> Polynomial {
        let mut polynomial = Polynomial::constant(variables, self.number());
        for _ in 0..3 {
            let mut term = Polynomial::constant(variables, self.number());
            for _ in 0..2 {
                let variable = self.integer(1000).unsigned_abs() as usize % variables;
                term = &term * &Polynomial::variable(variables, variable);
            }
            polynomial = &polynomial + &term;
        }
        polynomial
    }
}

/// Returns eight polytopes in two to four variables, each with a weight.
fn samples(seed: u64) -> Vec<(Polytope, Polynomial)> {
    let mut draws = Draws(seed);
    let shapes = [(2, 3), (2, 6), (3, 2), (3, 4), (3, 7), (4, 1), (4, 3), (2, 1)];
    shapes
        .map(|(dimension, cuts)| (draws.polytope(dimension, cuts), draws.polynomial(dimension)))
        .into()
}

/// Among all polytopes with n rows, the dual of a cyclic polytope has the largest number of corners (McMullen 1970). In four dimensions, this
/// number is n (n - 3) / 2 (Ziegler, Lectures on Polytopes, theorem 8.23). The integral is computed if the limits allow enough steps, and is
/// abandoned otherwise.
#[test]
fn work_beyond_the_allowed_steps_is_given_up() {
    let rows = (-6..=6).map(|t: i64| {
        let powers = (1..=4).map(|power| Rational::from(t.pow(power)));
        // Over the integers from -6 to 6, the means of the first four powers are 0, 14, 0 and 350. Subtracting these means from the points
        // places the origin inside the polytope.
        let centre = [0, 14, 0, 350].map(Rational::from);
        let coefficients = powers.zip(centre).map(|(power, centre)| power - centre).collect();
        HalfSpace::new(coefficients, Rational::ONE)
    });
    let polytope = Polytope {
        dimension: 4,
        rows: rows.collect(),
    };
    let limited = |steps| integrate(&polytope, &one(4), &IntegrationLimits { steps, ..USUAL });
    assert!(matches!(limited(100_000_000), RegionIntegral::Integral(_)));
    for steps in [0, 100, 1_000] {
        assert_eq!(limited(steps), RegionIntegral::GaveUp(Limit::Steps), "{steps}");
    }
    let with = |memory| integrate(&polytope, &one(4), &IntegrationLimits { memory, ..USUAL });
    assert!(matches!(with(1 << 20), RegionIntegral::Integral(_)));
    assert_eq!(with(10_000), RegionIntegral::GaveUp(Limit::Memory));
    let late = IntegrationLimits {
        deadline: Some(std::time::Instant::now()),
        ..USUAL
    };
    assert_eq!(
        integrate(&polytope, &one(4), &late),
        RegionIntegral::GaveUp(Limit::Seconds)
    );
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

/// Returns the corners of a polygon in order. The polygon begins as a square, from which the half-spaces of the polytope cut off parts.
fn polygon(polytope: &Polytope) -> Vec<[Rational; 2]> {
    let square = [("-9", "-9"), ("9", "-9"), ("9", "9"), ("-9", "9")];
    let mut corners: Vec<[Rational; 2]> = square.map(|(x, y)| [number(x), number(y)]).into();
    for row in &polytope.rows {
        let mut kept = Vec::new();
        for (place, end) in corners.iter().enumerate() {
            let start = &corners[(place + corners.len() - 1) % corners.len()];
            let (s, e) = (row.slack(start), row.slack(end));
            if (s < Rational::ZERO && e > Rational::ZERO) || (s > Rational::ZERO && e < Rational::ZERO) {
                let t = &s / (&s - &e);
                kept.push([0, 1].map(|k| &start[k] + &t * (&end[k] - &start[k])));
            }
            if e >= Rational::ZERO {
                kept.push(end.clone());
            }
        }
        corners = kept;
    }
    corners
}

#[test]
fn polygons_follow_green() {
    let mut draws = Draws(8);
    for cuts in [1, 3, 5, 9, 14] {
        let polytope = draws.polytope(2, cuts);
        let corners = polygon(&polytope);
        let (mut area, mut moment) = (Rational::ZERO, Rational::ZERO);
        for (place, [x1, y1]) in corners.iter().enumerate() {
            let [x2, y2] = &corners[(place + 1) % corners.len()];
            let cross = x1 * y2 - x2 * y1;
            area += &cross / number("2");
            // The integral of x y over the polygon follows from the formula of Steger, On the calculation of arbitrary moments of polygons,
            // 1996.
            moment +=
                cross * (x1 * y2 + number("2") * x1 * y1 + number("2") * x2 * y2 + x2 * y1) / number("24");
        }
        check("area", &polytope, &one(2), &area);
        assert_eq!(exactly(&polytope, &monomial(&[1, 1])), moment);
    }
}

#[test]
fn a_polygon_of_ninety_tangents_matches_its_exact_area() {
    let mut polytope = cube(2, "-2", "2");
    for step in -45..45 {
        // Each step takes a rational point on the circle, and adds the tangent at this point as a row.
        let t = Rational::from(2 * step + 1) / Rational::from(17);
        let below = Rational::ONE + &t * &t;
        let tangent = vec![(Rational::ONE - &t * &t) / &below, number("2") * &t / &below];
        polytope.rows.push(HalfSpace::new(tangent, Rational::ONE));
    }
    let corners = polygon(&polytope);
    let crosses = corners.iter().enumerate().map(|(place, [x1, y1])| {
        let [x2, y2] = &corners[(place + 1) % corners.len()];
        x1 * y2 - x2 * y1
    });
    let area = crosses.fold(Rational::ZERO, |sum, cross| sum + cross) / number("2");
    assert!(to_f64(&area) > std::f64::consts::PI && to_f64(&area) < 3.3);
    check("tangents", &polytope, &one(2), &area);
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

#[test]
fn feasibility_of_constructed_systems_is_exact() {
    let mut draws = Draws(9);
    for dimension in 1..=6 {
        for round in 0..40 {
            let point: Vec<Rational> = (0..dimension).map(|_| draws.number()).collect();
            let mut polytope = Polytope::whole(dimension);
            let mut sum = vec![Rational::ZERO; dimension];
            for _ in 0..dimension + round % 5 {
                let mut row = draws.row(dimension, Rational::ZERO);
                sum.iter_mut()
                    .zip(&row.coefficients)
                    .for_each(|(sum, c)| *sum -= c);
                row.bound = -row.slack(&point);
                polytope.rows.push(row);
            }
            // The last row is minus the sum of the other rows. All rows hold with equality at `point`.
            let bound = -HalfSpace::new(sum.clone(), Rational::ZERO).slack(&point);
            polytope.rows.push(HalfSpace::new(sum, bound));
            let by = |slack: Rational| {
                let mut moved = polytope.clone();
                moved.rows.iter_mut().for_each(|row| row.bound += &slack);
                feasible(&moved)
            };
            assert!(
                matches!(by(number("1e-15")), Feasibility::Interior(_)),
                "{polytope:?}"
            );
            assert_eq!(by(number("-1e-15")), Feasibility::Empty, "{polytope:?}");
            assert_eq!(by(number("-3")), Feasibility::Empty, "{polytope:?}");
            let rows_without_variables = polytope.rows.iter().all(HalfSpace::is_constant);
            if !rows_without_variables {
                assert_eq!(by(Rational::ZERO), Feasibility::Flat, "{polytope:?}");
            }
            if let Feasibility::Interior(inside) = by(number("1/3")) {
                assert!(
                    polytope
                        .rows
                        .iter()
                        .all(|row| row.slack(&inside) > number("-1/3"))
                );
            }
        }
    }
}

//! Compares integrals with closed forms.

use crate::{Draws, USUAL, check, cube, exactly, integrate, monomial, number, one, row, value};
use bnnc_wmi::integral::RegionIntegral;
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::rational::{Rational, to_f64};

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

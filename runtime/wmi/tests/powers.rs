//! Integrals of powers of linear forms, and of sums of rectified forms, agree with closed formulas. These formulas do not expand the powers and do
//! not cut the region.

#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::{IntegrationLimits, RegionIntegral};
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::problem::read;
use bnnc_wmi::rational::{Rational, parse, to_f64};
use bnnc_wmi::region::integrate;
use bnnc_wmi::solve::{Solution, Status, solve};

fn number(text: &str) -> Rational {
    parse(text).unwrap()
}

fn whole(number: i64) -> Rational {
    Rational::from(number)
}

fn factorial(n: u32) -> Rational {
    (1..=n).fold(Rational::ONE, |product, k| product * Rational::from(k))
}

/// Returns the linear form `constant + coefficients . x`.
fn form(coefficients: &[Rational], constant: &Rational) -> Polynomial {
    let start = Polynomial::constant(coefficients.len(), constant.clone());
    coefficients.iter().enumerate().fold(start, |sum, (at, factor)| {
        &sum + &Polynomial::variable(coefficients.len(), at).scaled(factor)
    })
}

/// Returns the product of powers of two linear forms as a weight. The weight has `dimension` variables and the two forms.
fn powers(dimension: usize, exponents: [u32; 2]) -> Polynomial {
    Polynomial::monomial([vec![0; dimension], exponents.to_vec()].concat(), Rational::ONE)
}

fn exactly(polytope: &Polytope, weight: &Polynomial, forms: &[Polynomial]) -> Rational {
    let effort = IntegrationLimits {
        exact: true,
        ..IntegrationLimits::default()
    };
    let RegionIntegral::Integral(integral) = integrate(polytope, weight, forms, &effort) else {
        panic!("no integral");
    };
    // The error of the rounded value is within its bound. If the form is positive, the bound is so small that rational arithmetic is not needed.
    let RegionIntegral::Integral(rounded) = integrate(polytope, weight, forms, &IntegrationLimits::default())
    else {
        panic!("no integral");
    };
    let exact = integral.exact.unwrap();
    let error = Rational::try_from(rounded.value).unwrap() - &exact;
    assert!(to_f64(&error).abs() <= rounded.error_bound, "{rounded:?}");
    assert!(rounded.error_bound <= 1e-12 * to_f64(&exact).abs(), "{rounded:?}");
    exact
}

fn solved(reals: &[(Rational, Rational)], formula: &str, weight: &str) -> Solution {
    let real =
        |(at, (lower, upper)): (usize, &(Rational, Rational))| format!(r#"["x{at}", "{lower}", "{upper}"]"#);
    let reals: Vec<String> = reals.iter().enumerate().map(real).collect();
    let text = format!(
        r#"{{"reals": [{}], "formula": {formula}, "weight": {weight}}}"#,
        reals.join(", ")
    );
    solve(&read("problem", &text).unwrap()[0], &IntegrationLimits::default())
}

/// A random number generator with a fixed seed, so that every run tests the same problems.
struct Numbers(u64);

impl Numbers {
    /// Returns an integer from `-size` to `size`.
    fn next(&mut self, size: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % (2 * size + 1) - size
    }

    fn not_zero(&mut self, size: i64) -> i64 {
        match self.next(size) {
            0 => size,
            number => number,
        }
    }
}

/// Returns the simplex `x + y + .. <= 1` with non-negative coordinates.
fn simplex(dimension: usize) -> Polytope {
    let sides = vec![(Some(Rational::ZERO), None); dimension];
    Polytope::boxed(&sides).cut(HalfSpace::new(vec![Rational::ONE; dimension], Rational::ONE))
}

/// The test uses Brion's formula for a simplex of volume 1 / d!:
/// `int l^m = m! / (m + d)! sum over corners v of l(v)^(m + d) / prod over other corners w of (l(v) - l(w))`.
#[test]
fn powers_over_a_simplex_follow_brion() {
    for (coefficients, constant) in [
        (["2", "3", "5"], "1/7"),
        // If the values at the corners are nearly equal, terms cancel in Brion's formula, but not in the series.
        (["1", "1.000000001", "0.999999998"], "3"),
        (["-1", "4", "1/3"], "-2/5"),
    ] {
        let coefficients = coefficients.map(number);
        let constant = number(constant);
        let mut values = vec![constant.clone()];
        values.extend(coefficients.iter().map(|factor| factor + &constant));
        for power in [1, 2, 17, 60, 200] {
            let mut sum = Rational::ZERO;
            for (at, value) in values.iter().enumerate() {
                let others = values.iter().enumerate().filter(|(other, _)| *other != at);
                let below = others.fold(Rational::ONE, |product, (_, other)| product * (value - other));
                sum += value.pow(power as isize + 3) / below;
            }
            let expected = sum * factorial(power) / factorial(power + 3);
            let forms = [
                form(&coefficients, &constant),
                form(&[whole(1), whole(1), whole(1)], &whole(1)),
            ];
            assert_eq!(
                exactly(&simplex(3), &powers(3, [power, 0]), &forms),
                expected,
                "{power}"
            );
        }
    }
    // Brion's formula does not apply if two corners have equal values. The test therefore uses the density s^2 / 2 of the sum s of the coordinates.
    let sum = form(&[whole(1), whole(1), whole(1)], &Rational::ZERO);
    let forms = [sum.clone(), sum];
    assert_eq!(
        exactly(&simplex(3), &powers(3, [60, 41]), &forms),
        number("1/208")
    );
}

/// The region is a box that is cut by half-spaces. Integrals of products of powers of two forms are equal to the integrals of the expanded
/// polynomials.
#[test]
fn products_of_powers_equal_their_expansion() {
    let mut numbers = Numbers(7);
    for round in 0..40 {
        let dimension = 2 + round % 3;
        let mut polytope = Polytope::boxed(&vec![(Some(whole(-1)), Some(whole(2))); dimension]);
        let mut drawn =
            |size| -> Vec<Rational> { (0..dimension).map(|_| whole(numbers.not_zero(size))).collect() };
        // Every cut keeps the origin inside the polytope.
        for _ in 0..2 {
            polytope.rows.push(HalfSpace::new(drawn(4), whole(2)));
        }
        let forms = [form(&drawn(5), &number("1/3")), form(&drawn(3), &whole(2))];
        let exponents = [3 + round as u32 % 4, 2];
        let expanded = &forms[0].power(exponents[0]) * &forms[1].power(exponents[1]);
        assert_eq!(
            exactly(&polytope, &powers(dimension, exponents), &forms),
            exactly(&polytope, &expanded, &[]),
            "{round}"
        );
    }
}

/// Computes `int over a box of (c + a . x)_+^m` from the values at the corners: `m! / (m + n)! / prod a * sum of +- (corner)_+^(m + n)`. The sign is
/// positive if an even number of coordinates are at their lower ends.
fn by_corners(
    reals: &[(Rational, Rational)],
    slopes: &[Rational],
    constant: &Rational,
    power: u32,
) -> Rational {
    let count = reals.len();
    let mut sum = Rational::ZERO;
    for corner in 0..1usize << count {
        let (mut value, mut sign) = (constant.clone(), Rational::ONE);
        for (at, (lower, upper)) in reals.iter().enumerate() {
            let is_upper = corner >> at & 1 == 1;
            value += &slopes[at] * if is_upper { upper } else { lower };
            sign = if is_upper { sign } else { -sign };
        }
        if value > Rational::ZERO {
            sum += sign * value.pow((power as usize + count) as isize);
        }
    }
    let slopes = slopes
        .iter()
        .fold(Rational::ONE, |product, slope| product * slope);
    sum * factorial(power) / factorial(power + count as u32) / slopes
}

fn assert_near(solution: &Solution, expected: &Rational) {
    assert_eq!(solution.status, Status::Ok, "{solution:?}");
    let truth = to_f64(expected);
    let error = (solution.value - truth).abs();
    assert!(
        error <= solution.error_bound + f64::EPSILON * truth.abs(),
        "{truth} {solution:?}"
    );
    assert!(
        solution.error_bound <= 1e-12 * truth.abs(),
        "{truth} {solution:?}"
    );
}

/// The integral of a high power of a linear form over a box agrees with the sum over the corners of the box (`by_corners`). So does the sum of the
/// integrals over the four parts into which two other planes cut the box.
#[test]
fn high_powers_over_boxes_match_their_corners() {
    for (count, power) in [(1, 4096), (2, 2000), (4, 60), (4, 512), (8, 60), (12, 60)] {
        let reals: Vec<(Rational, Rational)> = (1..=count)
            .map(|at| (Rational::ZERO, Rational::ONE / whole(at)))
            .collect();
        let slopes = vec![number("3/4"); reals.len()];
        let terms: Vec<String> = (0..count).map(|at| format!(r#""x{at}""#)).collect();
        let weight = format!(
            r#"["^", ["*", "3/4", ["+", "1/3", {}]], "{power}"]"#,
            terms.join(", ")
        );
        let expected = by_corners(&reals, &slopes, &number("1/4"), power);
        assert_near(&solved(&reals, "true", &weight), &expected);
        if count == 4 {
            let plane = r#"["+", "x0", ["*", "3", "x1"], ["*", "-2", "x2"]], "1/2"]"#;
            let other = r#"["+", "x3", "x2", ["*", "-5", "x1"]], "1/9"]"#;
            let sides = ["<=", ">="].map(|one| {
                let parts = ["<=", ">="].map(|two| {
                    let formula = format!(r#"["and", ["{one}", {plane}, ["{two}", {other}]"#);
                    let part = solved(&reals, &formula, &weight);
                    assert_eq!(part.status, Status::Ok, "{part:?}");
                    (part.value, part.error_bound)
                });
                (parts[0].0 + parts[1].0, parts[0].1 + parts[1].1)
            });
            let (value, bound) = (sides[0].0 + sides[1].0, sides[0].1 + sides[1].1);
            let truth = to_f64(&expected);
            assert!((value - truth).abs() <= bound + 4.0 * f64::EPSILON * truth && bound < 1e-11 * truth);
        }
    }
}

/// Integrals of high powers agree with closed forms for beta functions and for the maximum of two uniform variables.
#[test]
fn high_powers_match_beta_functions_and_maxima() {
    let unit = vec![(Rational::ZERO, Rational::ONE); 2];
    // The larger of two uniform variables has the density 2 m.
    let maximum = r#"["^", ["+", "x0", ["relu", ["-", "x1", "x0"]]], "4096"]"#;
    assert_near(&solved(&unit, "true", maximum), &number("1/2049"));
    // The integral is B(a + 2, b + 1) / (a + 1), which is smaller than the smallest positive number of double precision.
    let (a, b) = (2000, 1500);
    let weight = format!(r#"["*", ["^", "x0", "{a}"], ["^", ["-", "1", "x1"], "{b}"]]"#);
    let solution = solved(&unit, r#"["<=", "x0", "x1"]"#, &weight);
    let expected = factorial(a + 1) * factorial(b) / factorial(a + b + 2) / Rational::from(a + 1);
    assert_eq!((solution.value, solution.exact.as_ref()), (0.0, Some(&expected)));
    // Stirling's formula ln n! = (n + 1/2) ln n - n + ln(2 pi) / 2 + 1 / (12 n) has an error below 1e-10.
    let stirling = |n: u32| {
        let n = f64::from(n);
        (n + 0.5) * n.ln() - n + std::f64::consts::TAU.ln() / 2.0 + 1.0 / (12.0 * n)
    };
    let logarithm = stirling(a + 1) + stirling(b) - stirling(a + b + 2) - f64::from(a + 1).ln();
    let found = solution.log_value().unwrap();
    assert!((found - logarithm).abs() < 1e-8, "{found} {logarithm}");
}

/// If a weight has too many monomials and is not a power of a linear form, its integral is abandoned. The error bound is still valid.
#[test]
fn powers_of_other_sums_are_given_up() {
    let unit = vec![(Rational::ZERO, Rational::ONE); 2];
    let weight = r#"["^", ["*", "1/3", ["+", ["^", "x0", "2"], "x1", "1"]], "1000"]"#;
    let solution = solved(&unit, "true", weight);
    let Status::GaveUp(reason) = &solution.status else {
        panic!("not given up: {solution:?}");
    };
    assert!(reason.contains("monomials"), "{reason}");
    assert!(
        solution.value == 0.0 && solution.error_bound < 1.0 + 1e-9,
        "{solution:?}"
    );
}

/// Integrating a sum of `n` rectified forms takes only `2 n` cells instead of `2^n`.
#[test]
fn sums_of_rectified_forms_take_two_cells_each() {
    let mut numbers = Numbers(11);
    for (dimension, count) in [(2, 3), (3, 30), (8, 40)] {
        let reals = vec![(whole(-1), whole(1)); dimension];
        let (mut parts, mut expected) = (Vec::new(), Rational::ZERO);
        for _ in 0..count {
            let slopes: Vec<Rational> = (0..dimension).map(|_| whole(numbers.not_zero(9))).collect();
            let (bias, outgoing) = (whole(numbers.next(3)), whole(numbers.next(5)));
            let terms: Vec<String> = slopes
                .iter()
                .enumerate()
                .map(|(at, slope)| format!(r#"["*", "{slope}", "x{at}"]"#))
                .collect();
            parts.push(format!(
                r#"["*", "{outgoing}", ["relu", ["+", "{bias}", {}]]]"#,
                terms.join(", ")
            ));
            expected += outgoing * by_corners(&reals, &slopes, &bias, 1);
        }
        // The weight also has a term without a choice, the square of a variable. The integral of this term over the box is 1/3 of the volume.
        let weight = format!(r#"["+", ["^", "x0", "2"], {}]"#, parts.join(", "));
        expected += whole(2).pow(dimension as isize) / whole(3);
        let solution = solved(&reals, "true", &weight);
        assert_near(&solution, &expected);
        assert!(solution.regions <= 2 * count + 1, "{solution:?}");
    }
}

/// The square of a sum is integrated pair by pair if this takes fewer cells. The result agrees with the identity `(relu(a) + relu(-a))^2 = a^2`.
#[test]
fn squares_of_sums_are_integrated_pair_by_pair() {
    let mut numbers = Numbers(3);
    let dimension = 7;
    let reals = vec![(whole(-1), whole(1)); dimension];
    let (mut parts, mut slopes) = (Vec::new(), vec![Rational::ZERO; dimension]);
    for at in 0..dimension {
        let own: Vec<i64> = (0..dimension).map(|_| numbers.not_zero(4)).collect();
        let terms: Vec<String> = own
            .iter()
            .enumerate()
            .map(|(at, slope)| format!(r#"["*", "{slope}", "x{at}"]"#))
            .collect();
        let form = format!(r#"["+", {}]"#, terms.join(", "));
        // Each pair of parts adds up to its form: relu(f) - relu(-f) = f.
        parts.push(format!(r#"["relu", {form}]"#));
        parts.push(format!(r#"["neg", ["relu", ["neg", {form}]]]"#));
        own.iter()
            .zip(&mut slopes)
            .for_each(|(own, sum)| *sum += whole(*own));
        if at == 3 {
            parts.push(r#""1/2""#.to_owned());
        }
    }
    // The integral is the mean of (1/2 + a . x)^2. This mean is 1/4 + |a|^2 / 3.
    let weight = format!(r#"["^", ["+", {}], "2"]"#, parts.join(", "));
    let squares = slopes
        .iter()
        .fold(Rational::ZERO, |sum, slope| sum + slope * slope);
    let expected = whole(2).pow(dimension as isize) * (number("1/4") + squares / whole(3));
    let solution = solved(&reals, "true", &weight);
    assert_near(&solution, &expected);
}

/// A sum may be split into terms only if the integrals of all terms are finite.
#[test]
fn unbounded_sums_are_not_split() {
    let relu = |slope: &str| format!(r#"["relu", ["+", "x0", ["*", "{slope}", "x1"]]]"#);
    let slopes = ["1", "2", "3", "-1", "-2"].map(relu).join(", ");
    let text = format!(
        r#"{{"reals": [["x0", "0", null], ["x1", "-1", "1"]], "formula": true, "weight": ["+", {slopes}]}}"#
    );
    let solution = solve(&read("problem", &text).unwrap()[0], &IntegrationLimits::default());
    assert!(matches!(solution.status, Status::Unbounded(_)), "{solution:?}");
}

/// The limit on the work applies to all terms of a sum together. The error bound is valid for the whole sum.
#[test]
fn bounds_hold_for_unfinished_sums() {
    let terms: Vec<String> = (1..=9)
        .map(|at| format!(r#"["relu", ["-", ["*", "{at}", "x0"], ["+", "x1", ["*", "{at}", "x2"], "x3"]]]"#))
        .collect();
    let weight = terms.join(", ");
    let text = format!(
        r#"{{"reals": [["x0", "0", "1"], ["x1", "0", "1"], ["x2", "0", "1"], ["x3", "0", "1"]],
            "formula": true, "weight": ["+", {weight}]}}"#
    );
    let problem = read("problem", &text).unwrap().remove(0);
    let truth = solve(&problem, &IntegrationLimits::default());
    assert_eq!(truth.status, Status::Ok);
    for regions in [1, 3, 8] {
        let effort = IntegrationLimits {
            regions,
            ..IntegrationLimits::default()
        };
        let part = solve(&problem, &effort);
        assert!(matches!(part.status, Status::GaveUp(_)), "{regions}: {part:?}");
        assert!(part.regions <= regions && part.error_bound.is_finite());
        assert!(
            (part.value - truth.value).abs() <= part.error_bound,
            "{regions}: {part:?}"
        );
    }
}

/// The triangles `x + y <= 1` do not have common variables, and stay separate blocks even if the weight is a power of a form in all variables. If
/// `s` is the sum of the coordinates of a triangle, the integrals `int 1`, `int s` and `int s^2` over the triangle are 1/2, 1/3 and 1/4.
#[test]
fn a_form_in_all_variables_keeps_blocks_separate() {
    let sides = vec![(whole(0), whole(1)); 16];
    let rows: Vec<String> = (0..8)
        .map(|at| format!(r#"["<=", ["+", "x{}", "x{}"], "1"]"#, 2 * at, 2 * at + 1))
        .collect();
    let formula = format!(r#"["and", {}]"#, rows.join(", "));
    let all: Vec<String> = (0..16).map(|at| format!(r#""x{at}""#)).collect();
    let weight = format!(r#"["^", ["+", {}], "2"]"#, all.join(", "));
    let solution = solved(&sides, &formula, &weight);
    // The weight is the square of the sum of eight `s`. The integral of this weight is 8 * 1/4 * (1/2)^7 + 56 * (1/3)^2 * (1/2)^6.
    assert_near(&solution, &number("65/576"));
}

/// The region is the triangle `x + y <= 1`. For `s = x + y` and `t = x - y`, `int s^a t^b = 1 / ((b + 1) (a + b + 2))` if b is even.
#[test]
fn high_powers_of_forms_without_a_constant() {
    let sides = vec![(whole(0), whole(1)); 2];
    let formula = r#"["<=", ["+", "x0", "x1"], "1"]"#;
    for (a, b) in [(2000, 0), (3001, 0), (60, 60), (200, 300), (4000, 2)] {
        let weight = format!(r#"["*", ["^", ["+", "x0", "x1"], "{a}"], ["^", ["-", "x0", "x1"], "{b}"]]"#);
        let solution = solved(&sides, formula, &weight);
        assert_near(&solution, &(Rational::ONE / whole((b + 1) * (a + b + 2))));
    }
}

/// An exact moment of this form has about a hundred thousand bits. Since computing the moments of all faces would take too much work, the integral
/// is abandoned before the work begins.
#[test]
fn numbers_that_would_be_too_long_are_given_up() {
    let mut numbers = Numbers(7);
    let mut long = || format!("{}/1000000000000000", numbers.not_zero(1_000_000_000_000_000));
    let mut form = || {
        let parts: Vec<String> = (0..4)
            .map(|at| format!(r#"["*", "{}", "x{at}"]"#, long()))
            .collect();
        format!(r#"["+", {}, "{}"]"#, parts.join(", "), long())
    };
    let rows: Vec<String> = (0..6).map(|_| format!(r#"["<=", {}, "1"]"#, form())).collect();
    let formula = format!(r#"["and", {}]"#, rows.join(", "));
    let weight = format!(r#"["^", {}, "4095"]"#, form());
    let solution = solved(&vec![(whole(-1), whole(1)); 4], &formula, &weight);
    assert!(matches!(solution.status, Status::GaveUp(_)), "{solution:?}");
    assert!(solution.error_bound.is_infinite() && solution.exact.is_none());
}

/// Products of high powers are not expanded when the origin of the coordinates moves. The test integrates `x^n y^m` over the square from 1 to 2
/// without the corner beyond the line `x + y = s`, for two values of `s`. The integral over the corner is
/// `int x^n ((s - x)^(m+1) - end^(m+1)) / (m + 1)`. It is computed by the binomial theorem.
#[test]
fn products_of_powers_far_from_the_origin() {
    let (low, high) = (number("5/2"), number("7/2"));
    let between = |n: u32, from: &Rational, to: &Rational| {
        (to.pow(n as isize + 1) - from.pow(n as isize + 1)) / whole(i64::from(n) + 1)
    };
    let reals = vec![(whole(1), whole(2)); 2];
    for (n, m) in [(3, 4), (20, 0), (120, 150), (300, 300)] {
        let corner = |s: &Rational, from: &Rational, to: &Rational, end: &Rational| {
            let mut sum = -(end.pow(m as isize + 1) * between(n, from, to));
            let mut binomial = Rational::ONE;
            for k in 0..=m + 1 {
                let sign = if k % 2 == 0 {
                    Rational::ONE
                } else {
                    Rational::NEG_ONE
                };
                sum += sign * &binomial * s.pow((m + 1 - k) as isize) * between(n + k, from, to);
                binomial = binomial * whole(i64::from(m + 1 - k)) / whole(i64::from(k) + 1);
            }
            sum / whole(i64::from(m) + 1)
        };
        let square = between(n, &whole(1), &whole(2)) * between(m, &whole(1), &whole(2));
        let below = corner(&low, &whole(1), &number("3/2"), &whole(1));
        let above = corner(&high, &number("3/2"), &whole(2), &whole(2));
        let formula = r#"["and", ["<=", ["+", "x0", "x1"], "7/2"], [">=", ["+", "x0", "x1"], "5/2"]]"#;
        let weight = format!(r#"["*", ["^", "x0", "{n}"], ["^", "x1", "{m}"]]"#);
        assert_near(&solved(&reals, formula, &weight), &(square - below + above));
    }
}

/// If a weight has more monomials than the limit, its integral is abandoned before any work begins.
#[test]
fn products_of_powers_that_are_too_high_are_given_up() {
    let reals = vec![(whole(1), whole(2)); 2];
    let formula = r#"["and", ["<=", ["+", "x0", "x1"], "7/2"], [">=", ["+", "x0", "x1"], "5/2"]]"#;
    let weight = r#"["*", ["^", "x0", "1000"], ["^", "x1", "1000"]]"#;
    let solution = solved(&reals, formula, weight);
    let Status::GaveUp(reason) = &solution.status else {
        panic!("not given up: {solution:?}");
    };
    assert!(reason.contains("monomials"), "{reason}");
}

//! Tests empty, flat and unbounded regions, and work beyond the limit.

use crate::{Draws, USUAL, cube, integrate, number, one, row, value};
use bnnc_wmi::integral::{Integral, IntegrationLimits, Limit, RegionIntegral};
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::rational::Rational;
use bnnc_wmi::region::{Feasibility, feasible};

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

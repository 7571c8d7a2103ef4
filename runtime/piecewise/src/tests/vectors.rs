//! Sums of uniforms and a Normal agree with reference values. Most reference values are sums of iterated normal integrals over the corners of the
//! box, computed with hundreds of digits. For very many widths, the reference values are contour integrals, computed with forty digits.

use super::{affine, close, term};
use crate::{Law, ObservationNoise, UniformTerm};

/// The columns of a case are: name, widths with their counts, start, standard deviation, y, log density at y, and the probability of a value of at
/// most y.
const CASES: &str = include_str!("vectors.txt");

struct Case<'a> {
    name: &'a str,
    terms: Vec<UniformTerm>,
    start: f64,
    sd: f64,
    y: f64,
    log_density: f64,
    below: f64,
}

fn cases() -> Vec<Case<'static>> {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let case = |line: &'static str| {
        let fields: Vec<&str> = line.split('|').collect();
        let terms = fields[1].split(',').flat_map(|group| {
            let (width, count) = group.split_once('x').unwrap();
            vec![term(1.0, 0.0, number(width)); count.parse().unwrap()]
        });
        Case {
            name: fields[0],
            terms: terms.collect(),
            start: number(fields[2]),
            sd: number(fields[3]),
            y: number(fields[4]),
            log_density: number(fields[5]),
            below: number(fields[6]),
        }
    };
    CASES.lines().map(case).collect()
}

/// The widths are between 1e-8 and 1. Log densities down to -690 have an absolute error below 1e-9, so the densities have a relative error below
/// 1e-9.
#[test]
fn densities_and_their_tails() {
    for case in cases() {
        let law = Law::new(
            &affine(case.start, &case.terms),
            ObservationNoise::Normal { sd: case.sd },
        );
        let got = law.log_density(case.y);
        let off = (got - case.log_density).abs();
        assert!(
            off < 3e-12 + (3e-14 + 1e-16 * case.terms.len() as f64) * case.log_density.abs(),
            "{} at {}: {got}, off by {off:e}",
            case.name,
            case.y
        );
        close(law.density(case.y), case.log_density.exp(), 1e-10);
        let (value, bound) = law.density_with_error(case.y);
        let error = (value - case.log_density.exp()).abs();
        assert!(
            error <= bound,
            "{} at {}: error {error:e}, bound {bound:e}",
            case.name,
            case.y
        );
    }
}

#[test]
fn probabilities() {
    for case in cases().into_iter().filter(|case| !case.below.is_nan()) {
        let law = Law::new(
            &affine(case.start, &case.terms),
            ObservationNoise::Normal { sd: case.sd },
        );
        let got = law.cdf(case.y);
        assert!(
            (got - case.below).abs() < 2e-14,
            "{} at {}: {got} is not {}",
            case.name,
            case.y,
            case.below
        );
    }
}

/// The distribution is symmetric. It does not depend on the order of a weight's two bounds, or on the sign of the slope.
#[test]
fn distributions_are_symmetric() {
    for case in cases() {
        let noise = ObservationNoise::Normal { sd: case.sd };
        let law = Law::new(&affine(case.start, &case.terms), noise);
        let flipped: Vec<UniformTerm> = case.terms.iter().map(|t| term(-1.0, 0.0, t.upper)).collect();
        let mirrored = Law::new(&affine(-case.start, &flipped), noise);
        let (a, b) = (law.log_density(case.y), mirrored.log_density(-case.y));
        assert!(
            (a - b).abs() <= 1e-11 * (1.0 + a.abs()),
            "{}: {a} against {b}",
            case.name
        );
    }
}

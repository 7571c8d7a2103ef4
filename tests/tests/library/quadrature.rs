//! Integrals by double-exponential quadrature. The range is divided at the points where a density
//! may have a break.

use std::f64::consts::FRAC_PI_2;

const STEP: f64 = 1.0 / 64.0;

/// The points of a quadrature rule, and their weights. The integral of `f` is the sum over the
/// points of `weight * f(point)`.
#[derive(Default)]
pub struct Rule {
    pub points: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Rule {
    /// Returns the rule for an interval. The break points lie inside the interval. The bounds of
    /// the interval may be infinite.
    pub fn new((low, high): (f64, f64), breaks: &[f64]) -> Rule {
        let mut ends: Vec<f64> = breaks
            .iter()
            .copied()
            .filter(|at| low < *at && *at < high)
            .collect();
        ends.extend([low, high]);
        if low == f64::NEG_INFINITY && high == f64::INFINITY && ends.len() == 2 {
            ends.push(0.0);
        }
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let mut rule = Rule::default();
        for pair in ends.windows(2) {
            rule.piece(pair[0], pair[1]);
        }
        rule
    }

    fn piece(&mut self, low: f64, high: f64) {
        if low.is_finite() && high.is_finite() {
            // The tanh-sinh rule, for a finite interval.
            self.nodes(3.0, |t| {
                let share = 1.0 / (1.0 + (-2.0 * FRAC_PI_2 * t.sinh()).exp());
                let slope = 2.0 * FRAC_PI_2 * t.cosh() * share * (1.0 - share);
                (low + (high - low) * share, (high - low) * slope)
            });
        } else {
            // The exp-sinh rule, for an interval with one finite bound.
            let (end, sign) = if low.is_finite() { (low, 1.0) } else { (high, -1.0) };
            self.nodes(4.0, |t| {
                let distance = (FRAC_PI_2 * t.sinh()).exp();
                (end + sign * distance, distance * FRAC_PI_2 * t.cosh())
            });
        }
    }

    fn nodes(&mut self, reach: f64, node: impl Fn(f64) -> (f64, f64)) {
        let count = (reach / STEP) as i64;
        for at in -count..=count {
            let (point, slope) = node(at as f64 * STEP);
            self.points.push(point);
            self.weights.push(slope * STEP);
        }
    }

    /// Returns the integral of `value` by this rule.
    pub fn sum(&self, value: impl Fn(usize, f64) -> f64) -> f64 {
        let terms = self.points.iter().zip(&self.weights).enumerate();
        terms
            .map(|(at, (point, weight))| weight * value(at, *point))
            .sum()
    }
}

/// The rule gives the known integrals of the standard normal density and of a density with an
/// infinite peak.
#[test]
fn known_integrals_are_accurate() {
    let rule = Rule::new((f64::NEG_INFINITY, f64::INFINITY), &[0.7]);
    let normal = rule.sum(|_, x| (-0.5 * x * x).exp());
    assert!((normal - (4.0 * FRAC_PI_2).sqrt()).abs() < 1e-9, "{normal}");
    let root = Rule::new((0.0, 4.0), &[]).sum(|_, x| 0.5 / x.sqrt());
    assert!((root - 2.0).abs() < 1e-6, "{root}");
}

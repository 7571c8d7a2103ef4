//! Gauss-Legendre quadrature rules on `[0, 1]`.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// The maximum number of nodes of a quadrature rule.
pub const MOST_NODES: usize = 48;

/// A node of a quadrature rule, with its weight.
#[derive(Clone, Copy, Debug)]
pub struct RuleNode {
    /// The position of the node, in `(0, 1)`.
    pub at: f64,
    /// The weight of the node. It is positive. The weights of a rule add up to 1.
    pub weight: f64,
}

/// Returns the quadrature rule with `count` nodes. It is exact for polynomials up to degree `2 count - 1`. `count` is
/// clamped to `1..=MOST_NODES`.
pub fn rule(count: usize) -> &'static [RuleNode] {
    static RULES: OnceLock<Vec<Vec<RuleNode>>> = OnceLock::new();
    let rules = RULES.get_or_init(|| (1..=MOST_NODES).map(legendre).collect());
    &rules[count.clamp(1, MOST_NODES) - 1]
}

/// Returns the smallest number of nodes for which the quadrature rule is exact for polynomials of this degree.
pub fn nodes_for_degree(degree: usize) -> usize {
    degree / 2 + 1
}

/// Computes the nodes and weights of a rule. The nodes are found by Newton's method on the Legendre polynomial, beginning
/// with the usual asymptotic approximation.
fn legendre(count: usize) -> Vec<RuleNode> {
    let n = count as f64;
    (0..count)
        .map(|index| {
            let mut x = (PI * (index as f64 + 0.75) / (n + 0.5)).cos();
            for _ in 0..6 {
                let (value, derivative) = legendre_at(count, x);
                x -= value / derivative;
            }
            let slope = legendre_at(count, x).1;
            RuleNode {
                at: 0.5 * (1.0 - x),
                weight: 1.0 / ((1.0 - x * x) * slope * slope),
            }
        })
        .collect()
}

/// Evaluates the Legendre polynomial of degree `count` and its derivative.
fn legendre_at(count: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=count {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, count as f64 * (x * value - before) / (x * x - 1.0))
}

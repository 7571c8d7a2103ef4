//! Compares the log determinants of bijections' Jacobians with finite differences, and inverses
//! with the forward maps.

use super::inputs::evaluate;
use crate::constrain::{constrain, free, inverse_parameter, parameter};
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Support, unconstrained};
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

const INFINITY: f64 = f64::INFINITY;

const SUPPORTS: [Support; 8] = [
    Support::Real,
    Support::Interval(-INFINITY, INFINITY),
    Support::Interval(0.0, INFINITY),
    Support::Interval(0.0, 1.0),
    Support::Interval(-2.0, 5.0),
    Support::Interval(-INFINITY, 3.0),
    Support::Simplex,
    Support::Ordered,
];

fn forward(support: Support, count: usize) -> Function {
    let mut b = Builder::new("forward");
    let ty = unconstrained(support, &Type::real(Shape::fixed(&[count])));
    let z = b.param("z", ty);
    let (value, log_jacobian) = constrain(&mut b, support, z).unwrap();
    let optimised = parameter(&mut b, support, z).unwrap();
    let back = free(&mut b, support, value).unwrap_or(z);
    b.finish(vec![
        ("value".into(), value),
        ("log_jacobian".into(), log_jacobian),
        ("parameter".into(), optimised),
        ("back".into(), back),
    ])
}

fn contains(support: Support, w: &[f64]) -> bool {
    match support {
        Support::Real => true,
        Support::Interval(lo, hi) => w.iter().all(|x| lo < *x && *x < hi),
        Support::Simplex => w.iter().all(|x| *x > 0.0) && (w.iter().sum::<f64>() - 1.0).abs() < 1e-12,
        Support::Ordered => w.windows(2).all(|pair| pair[0] < pair[1]),
        Support::Integers(_) => false,
    }
}

/// Returns the logarithm of the absolute determinant, computed by elimination with row exchanges.
fn log_determinant(mut rows: Vec<Vec<f64>>) -> f64 {
    let mut sum = 0.0;
    for at in 0..rows.len() {
        let best = (at..rows.len())
            .max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))
            .unwrap();
        rows.swap(at, best);
        sum += rows[at][at].abs().ln();
        for below in at + 1..rows.len() {
            let factor = rows[below][at] / rows[at][at];
            let pivot = rows[at].clone();
            rows[below]
                .iter_mut()
                .zip(&pivot)
                .skip(at)
                .for_each(|(entry, p)| *entry -= factor * p);
        }
    }
    sum
}

#[test]
fn values_lie_in_the_support_and_invert() {
    let z = [0.4, -1.3, 0.9, 2.1];
    for support in SUPPORTS {
        let function = forward(support, 4);
        let free = if support == Support::Simplex { 3 } else { 4 };
        let results = evaluate(&function, &[Tensor::new(vec![free], z[..free].to_vec())]);
        assert!(
            contains(support, &results[0].data),
            "{support:?}: {:?}",
            results[0].data
        );
        assert!(
            contains(support, &results[2].data),
            "{support:?}: {:?}",
            results[2].data
        );
        let back = support.inverse(4, &results[0].data);
        let back_parameter = inverse_parameter(support, 4, &results[2].data);
        for at in 0..free {
            assert!((back[at] - z[at]).abs() < 1e-12, "{support:?}: {back:?}");
            assert!((results[3].data[at] - z[at]).abs() < 1e-12, "{support:?}");
            assert!(
                (back_parameter[at] - z[at]).abs() < 1e-12,
                "{support:?}: {back_parameter:?}"
            );
        }
    }
}

/// The free coordinates of a simplex are all coordinates except the last. For other supports, all coordinates
/// are free.
#[test]
fn log_jacobians_agree_with_finite_differences() {
    let z = [0.4, -1.3, 0.9, 2.1];
    for support in SUPPORTS {
        let function = forward(support, 4);
        let free = if support == Support::Simplex { 3 } else { 4 };
        let at = |z: &[f64]| evaluate(&function, &[Tensor::new(vec![free], z.to_vec())]);
        let log_jacobian = at(&z[..free])[1].data[0];
        let mut rows = vec![vec![0.0; free]; free];
        for column in 0..free {
            let moved = |by: f64| {
                let mut z = z[..free].to_vec();
                z[column] += by;
                at(&z)[0].data.clone()
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            for (row, entries) in rows.iter_mut().enumerate() {
                entries[column] = (up[row] - down[row]) / 2e-5;
            }
        }
        let wanted = log_determinant(rows);
        assert!(
            (log_jacobian - wanted).abs() < 1e-7,
            "{support:?}: {log_jacobian} {wanted}"
        );
    }
}

#[test]
fn integers_have_no_bijection() {
    let mut b = Builder::new("none");
    let z = b.param("z", Type::scalar());
    assert!(constrain(&mut b, Support::Integers(3), z).is_none());
}

//! Compares ops at the edges of their domains with closed forms.
#![allow(clippy::unwrap_used)]

use bnnc_base::shape::{Dim, Shape, Sizes};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Value;
use bnnc_graph::op::{Lower, Op, OpCall, Vjp};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

/// Evaluates the value that `build` builds, in a graph without inputs.
fn value_of(build: impl FnOnce(&mut Builder) -> Value) -> Tensor {
    let mut builder = Builder::new("edge");
    let value = build(&mut builder);
    let function = builder.finish(vec![("y".into(), value)]);
    evaluate(&function, &[], &Sizes::default()).remove(0)
}

/// Returns the cotangents of a node's operands. All elements of the cotangent of the node itself
/// are 1.
fn cotangents(b: &mut Builder, out: Value) -> Vec<Option<Value>> {
    let op: Op = b.function().op(out).expect("not a parameter");
    let args = b.function().args(out).to_vec();
    let attrs = match &b.node(out).kind {
        bnnc_graph::function::NodeKind::Apply { attrs, .. } => attrs.clone(),
        bnnc_graph::function::NodeKind::Param(_) => Vec::new(),
    };
    let Vjp::Rule(rule) = op.vjp else {
        panic!("`{}` has a derivative", op.name)
    };
    let ones = b.like(1.0, out);
    rule(
        b,
        &OpCall {
            args: &args,
            attrs: &attrs,
            out: Some(out),
        },
        ones,
    )
}

fn cotangent_of(at: usize, build: impl FnOnce(&mut Builder) -> Value) -> Vec<f64> {
    value_of(|b| {
        let out = build(b);
        cotangents(b, out)[at].expect("a real operand")
    })
    .data
}

const INF: f64 = f64::INFINITY;

#[test]
fn logsumexp_of_nothing_is_minus_infinity() {
    let rows = |b: &mut Builder| b.literal(&[3, 2], &[-INF, -INF, 0.0, -INF, 1000.0, 1000.0]);
    let total = value_of(|b| {
        let x = rows(b);
        b.logsumexp(x, 1)
    });
    assert_eq!(total.data, [-INF, 0.0, 1000.0 + 2f64.ln()]);
    let gradient = cotangent_of(0, |b| {
        let x = rows(b);
        b.logsumexp(x, 1)
    });
    let want = [0.0, 0.0, 1.0, 0.0, 0.5, 0.5];
    assert!(
        gradient.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12),
        "{gradient:?}"
    );
}

#[test]
fn logsumexp_expansion_is_stable() {
    let Lower::Expand(expand) = ops::logsumexp::LOGSUMEXP.lower else {
        unreachable!("it expands")
    };
    let total = value_of(|b| {
        let x = b.literal(&[3, 2], &[-INF, -INF, 1000.0, 1000.0, INF, 0.0]);
        expand(
            b,
            &OpCall {
                args: &[x],
                attrs: &[Attr::Int(1)],
                out: None,
            },
        )
    });
    assert_eq!(total.data, [-INF, 1000.0 + 2f64.ln(), INF]);
}

/// In each row, two large numbers differ by exactly 1. The expected values therefore depend only on
/// `log(1 + 1/e)` and `1 / (1 + e)`.
#[test]
fn weights_of_large_numbers_keep_their_precision() {
    let rows = |b: &mut Builder| b.literal(&[2, 2], &[1e12, 1e12 - 1.0, 1.0 - 1e12, -1e12]);
    let log = (-1f64).exp().ln_1p();
    let small = 1.0 / (1.0 + 1f64.exp());
    let close = |got: &[f64], want: [f64; 4]| {
        assert!(
            got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-15),
            "{got:?}"
        );
    };
    let Lower::Expand(expand) = ops::log_softmax::LOG_SOFTMAX.lower else {
        unreachable!("it expands")
    };
    let expanded = value_of(|b| {
        let x = rows(b);
        let (args, attrs) = ([x], [Attr::Int(1)]);
        expand(
            b,
            &OpCall {
                args: &args,
                attrs: &attrs,
                out: None,
            },
        )
    });
    close(&expanded.data, [-log, -1.0 - log, -log, -1.0 - log]);
    let evaluated = value_of(|b| {
        let x = rows(b);
        b.log_softmax(x, 1)
    });
    close(&evaluated.data, [-log, -1.0 - log, -log, -1.0 - log]);
    let gradient = cotangent_of(0, |b| {
        let x = rows(b);
        b.logsumexp(x, 1)
    });
    close(&gradient, [1.0 - small, small, 1.0 - small, small]);
}

#[test]
fn derivatives_at_ties_are_as_documented() {
    let pair = |b: &mut Builder| {
        (
            b.literal(&[3], &[1.0, 2.0, 3.0]),
            b.literal(&[3], &[2.0, 2.0, 2.0]),
        )
    };
    let both = |at: usize, larger: bool| {
        cotangent_of(at, |b| {
            let (x, y) = pair(b);
            if larger { b.max(x, y) } else { b.min(x, y) }
        })
    };
    assert_eq!(both(0, true), [0.0, 1.0, 1.0]);
    assert_eq!(both(1, true), [1.0, 0.0, 0.0]);
    assert_eq!(both(0, false), [1.0, 1.0, 0.0]);
    assert_eq!(both(1, false), [0.0, 0.0, 1.0]);
    let shared = cotangent_of(0, |b| {
        let x = b.literal(&[4], &[3.0, 1.0, 3.0, 0.0]);
        b.reduce_max(x, &[0])
    });
    assert_eq!(shared, [0.5, 0.0, 0.5, 0.0]);
}

#[test]
fn powers_of_zero_and_below_have_finite_derivatives() {
    let build = |b: &mut Builder| {
        let (x, y) = (
            b.literal(&[4], &[0.0, 0.0, -2.0, 0.0]),
            b.literal(&[4], &[0.0, 2.0, 3.0, 1.0]),
        );
        b.pow(x, y)
    };
    assert_eq!(cotangent_of(0, build), [0.0, 0.0, 12.0, 1.0]);
    assert_eq!(cotangent_of(1, build), [0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn positions_outside_are_clamped() {
    let picked = value_of(|b| {
        let x = b.literal(&[3], &[10.0, 20.0, 30.0]);
        let (line, two) = (b.iota(Dim::Fixed(5)), b.int(1));
        let two = b.broadcast_leading(two, Dim::Fixed(5));
        let index = b.sub(line, two);
        b.gather(x, index, 0)
    });
    assert_eq!(picked.data, [10.0, 10.0, 20.0, 30.0, 30.0]);
    let added = value_of(|b| {
        let updates = b.splat(1.0, &Shape::fixed(&[5]));
        let index = b.iota(Dim::Fixed(5));
        b.scatter_add(index, updates, 0, Dim::Fixed(3))
    });
    assert_eq!(added.data, [1.0, 1.0, 3.0]);
}

/// The matrix is the textbook example [[4, 12, -16], [12, 37, -43], [-16, -43, 98]], whose factor is
/// known. The upper triangle is never read.
#[test]
fn cholesky_of_a_textbook_matrix_reads_the_lower_triangle() {
    let nan = f64::NAN;
    let a = [4.0, nan, nan, 12.0, 37.0, nan, -16.0, -43.0, 98.0];
    let factor = value_of(|b| {
        let a = b.literal(&[3, 3], &a);
        b.cholesky(a)
    });
    assert_eq!(factor.data, [2.0, 0.0, 0.0, 6.0, 1.0, 0.0, -8.0, 5.0, 3.0]);
    let solved = value_of(|b| {
        let a = b.literal(&[3, 3], &a);
        let right = b.literal(&[3, 1], &[2.0, 7.0, 0.0]);
        let l = b.cholesky(a);
        b.triangular_solve(l, right, false)
    });
    assert_eq!(solved.data, [1.0, 1.0, 1.0]);
    let indefinite = value_of(|b| {
        let a = b.literal(&[1, 1], &[-1.0]);
        b.cholesky(a)
    });
    assert!(indefinite.data[0].is_nan());
}

/// The derivative of the log determinant, computed through the factor, is the inverse matrix. For [[4, 2],
/// [2, 3]], the inverse is [[3, -2], [-2, 4]] / 8. The lower off-diagonal element stands for both
/// off-diagonal elements, so its derivative is twice -2/8.
#[test]
fn the_derivative_of_log_det_through_cholesky_is_the_inverse() {
    let gradient = value_of(|b| {
        let a = b.literal(&[2, 2], &[4.0, 2.0, 2.0, 3.0]);
        let l = b.cholesky(a);
        let diagonal = [2.0, 2f64.sqrt()];
        let dl = b.literal(&[2, 2], &[2.0 / diagonal[0], 99.0, 0.0, 2.0 / diagonal[1]]);
        let args = [a];
        let Vjp::Rule(rule) = ops::cholesky::CHOLESKY.vjp else {
            unreachable!("it has one")
        };
        rule(
            b,
            &OpCall {
                args: &args,
                attrs: &[],
                out: Some(l),
            },
            dl,
        )[0]
        .unwrap()
    });
    let want = [3.0 / 8.0, 0.0, -4.0 / 8.0, 4.0 / 8.0];
    assert!(
        gradient.data.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-14),
        "{:?}",
        gradient.data
    );
}

#[test]
fn strided_windows_and_padding_have_the_expected_elements() {
    let window = value_of(|b| {
        let line = b.iota(Dim::Fixed(10));
        b.slice(
            line,
            Window {
                starts: vec![1],
                limits: vec![-1],
                strides: vec![4],
            },
        )
    });
    assert_eq!(window.data, [1.0, 5.0, 9.0]);
    let padded = value_of(|b| {
        let x = b.literal(&[2], &[1.0, 2.0]);
        b.pad(x, &[1], &[0], &[2])
    });
    assert_eq!(padded.data, [0.0, 1.0, 0.0, 0.0, 2.0]);
}

//! `triangular_solve l, b, transposed`: solves with a lower-triangular matrix.

use super::cholesky::{expect_square, lower_part, matrix_product};
use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;

attributes! { transposed: Int }

/// Solves with a lower-triangular matrix.
pub static TRIANGULAR_SOLVE: OpDef = OpDef {
    name: "triangular_solve",
    doc: "Solves `l x = b`, or `l^T x = b` if `transposed` is 1, for `x`, in the last two axes. Reads only the lower triangle of `l`.",
    arity: Arity::Exactly(2),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Elementwise,
    range: |_, _| Interval::REALS,
    lower: Lower::Kernel(KernelKind::TriangularSolve),
    examples,
};

fn infer(types: &[&Type], _: &[Attr]) -> Inferred {
    expect_square(types)?;
    infer::expect_dtype(types, 1, &[DType::Real])?;
    let (l, b) = (types[0], types[1]);
    let rows = l.rank() - 1;
    if b.rank() != l.rank() || b.dims()[..rows] != l.dims()[..rows] {
        return Err(CallError::Type {
            expected: format!("a right side with the axes of {l} up to the last"),
            found: b.clone(),
        });
    }
    Ok(b.clone())
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let transposed = transposed(attrs) != 0;
    let rank = x[1].shape.len();
    let (n, m) = (x[1].shape[rank - 2], x[1].shape[rank - 1]);
    let mut result = x[1].clone();
    for (l, rows) in x[0].data.chunks(n * n).zip(result.data.chunks_mut(n * m)) {
        let entry = |i: usize, k: usize| if transposed { l[k * n + i] } else { l[i * n + k] };
        for step in 0..n {
            let i = if transposed { n - 1 - step } else { step };
            let known = if transposed { i + 1..n } else { 0..i };
            for column in 0..m {
                let dot: f64 = known.clone().map(|k| entry(i, k) * rows[k * m + column]).sum();
                rows[i * m + column] = (rows[i * m + column] - dot) / entry(i, i);
            }
        }
    }
    result
}

/// The cotangent of `b` is `db = l^-T dx`, and the cotangent of `l` is the lower triangle of
/// `-db x^T`. If `transposed` is true, they are `db = l^-1 dx` and the lower triangle of `-x db^T`.
fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let transposed = transposed(site.attrs) != 0;
    let db = b.triangular_solve(site.args[0], dy, !transposed);
    let (rows, columns) = if transposed {
        (site.result(), db)
    } else {
        (db, site.result())
    };
    let product = matrix_product(b, rows, columns, "im,jm->ij");
    let lower = lower_part(b, product, 1.0);
    vec![Some(b.neg(lower)), Some(db)]
}

fn examples() -> Vec<Example> {
    let of = |left: &[usize], right: &[usize], transposed: i64| {
        let operands = vec![example::real(left, -1.0, 1.0), example::real(right, -2.0, 2.0)];
        Example {
            diagonal: 3.0,
            ..example::call(operands, vec![Attr::Int(transposed)])
        }
    };
    vec![
        of(&[2, 2], &[2, 1], 0),
        of(&[3, 3], &[3, 2], 1),
        of(&[2, 2, 2], &[2, 2, 3], 0),
        of(&[2, 2, 2], &[2, 2, 1], 1),
    ]
}

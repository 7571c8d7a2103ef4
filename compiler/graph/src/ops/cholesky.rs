//! `cholesky a`: lower-triangular Cholesky factors of the last two axes.

use crate::attr::Attr;
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::labels::ContractionLabels;
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;

/// Lower-triangular Cholesky factors of the last two axes.
pub static CHOLESKY: OpDef = OpDef {
    name: "cholesky",
    doc: "Lower-triangular Cholesky factors of the matrices in the last two axes. Reads only their lower triangles. A matrix that is not positive definite gives NaN.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer,
    eval: Some(|x, _| eval(x[0])),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Elementwise,
    range: |_, _| Interval::REALS,
    lower: Lower::Kernel(KernelKind::Cholesky),
    examples,
};

/// Checks that the first operand is a stack of square matrices.
pub(super) fn expect_square(types: &[&Type]) -> Result<(), CallError> {
    infer::expect_dtype(types, 0, &[DType::Real])?;
    infer::expect_rank(types, 0, 2)?;
    let dims = types[0].dims();
    match dims[dims.len() - 1] == dims[dims.len() - 2] {
        true => Ok(()),
        false => Err(CallError::Type {
            expected: "the last two axes of operand 1 to be equal".to_owned(),
            found: types[0].clone(),
        }),
    }
}

fn infer(types: &[&Type], _: &[Attr]) -> Inferred {
    expect_square(types)?;
    Ok(types[0].clone())
}

fn eval(a: &Tensor) -> Tensor {
    let n = a.shape[a.shape.len() - 1];
    let mut l = Tensor::zeros(a.shape.clone());
    for (source, factor) in a.data.chunks(n * n).zip(l.data.chunks_mut(n * n)) {
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| factor[i * n + k] * factor[j * n + k]).sum();
                let rest = source[i * n + j] - dot;
                factor[i * n + j] = if i == j {
                    rest.sqrt()
                } else {
                    rest / factor[j * n + j]
                };
            }
        }
    }
    l
}

/// Multiplies the matrices in the last two axes of `x` and `y`. In `labels`, only these two axes of
/// each operand have letters, as in `ki,kj->ij`.
pub(super) fn matrix_product(b: &mut Builder, x: Value, y: Value, labels: &str) -> Value {
    let inner = ContractionLabels::checked(labels);
    let leading: Vec<char> = ('A'..='Z').take(b.rank(x) - 2).collect();
    let stacked = |letters: &[char]| leading.iter().chain(letters).copied().collect();
    let labels = ContractionLabels {
        left: stacked(&inner.left),
        right: stacked(&inner.right),
        result: stacked(&inner.result),
    };
    b.contract(x, y, &labels.to_string())
}

/// Returns the lower triangles of the matrices in the last two axes. The elements of the diagonals
/// are multiplied by `diagonal`.
pub(super) fn lower_part(b: &mut Builder, x: Value, diagonal: f64) -> Value {
    let shape = b.shape(x);
    let (rank, dim) = (shape.rank(), shape.dims()[shape.rank() - 1]);
    let line = b.iota(dim);
    let square = Shape(vec![dim, dim]);
    let (rows, columns) = (b.broadcast(line, &square, &[0]), b.broadcast(line, &square, &[1]));
    let (below, equal) = (b.lt(columns, rows), b.eq(columns, rows));
    let axes = [rank - 2, rank - 1];
    let (below, equal) = (
        b.broadcast(below, &shape, &axes),
        b.broadcast(equal, &shape, &axes),
    );
    let (scaled, zero) = (b.scale(x, diagonal), b.like(0.0, x));
    let rest = b.select(equal, scaled, zero);
    b.select(below, x, rest)
}

/// Implements equation 10 of Murray (2016), "Differentiation of the Cholesky decomposition". Let
/// `dl` be the cotangent of the factor `l`. Let `P` be the lower triangle of `l^T dl`, with the
/// diagonal divided by two. The symmetric cotangent is then the symmetric part of
/// `S = l^-T P l^-1`. Since only the lower triangle of `a` is read, the cotangent of `a` is the
/// lower triangle of `S + S^T`, except that its diagonal is that of `S`.
fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let l = site.result();
    let rank = b.rank(l);
    let dl = lower_part(b, dy, 1.0);
    let product = matrix_product(b, l, dl, "ki,kj->ij");
    let p = lower_part(b, product, 0.5);
    let left = b.triangular_solve(l, p, true);
    let flipped = b.move_axis(left, rank - 1, rank - 2);
    // l^-T left^T = (left l^-1)^T = S^T.
    let s_transposed = b.triangular_solve(l, flipped, true);
    let s = b.move_axis(s_transposed, rank - 1, rank - 2);
    let both = b.add(s, s_transposed);
    vec![Some(lower_part(b, both, 0.5))]
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize]| Example {
        diagonal: 4.0,
        ..example::call(vec![example::real(sizes, -1.0, 1.0)], Vec::new())
    };
    vec![of(&[1, 1]), of(&[3, 3]), of(&[2, 2, 2])]
}

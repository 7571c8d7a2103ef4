//! `select c, x, y`: `x` where the Boolean `c` is true, otherwise `y`.

use crate::attr::Attr;
use crate::example;
use crate::infer::{self, Inferred};
use crate::op::{Example, Interval, OpDef, Vjp};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

/// `x` where `c` is true, otherwise `y`.
pub static SELECT: OpDef = OpDef {
    doc: "`x` where the Boolean `c` is true, otherwise `y`. Both are real or both are integers.",
    infer,
    vjp: Vjp::Rule(|b, site, dy| {
        let zero = b.like(0.0, dy);
        let (taken, left) = (b.select(site.args[0], dy, zero), b.select(site.args[0], zero, dy));
        vec![None, Some(taken), Some(left)]
    }),
    range: |x, _| Interval::union(&x[1..]),
    examples,
    ..OpDef::scalar(Scalar::Select)
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Bool])?;
    infer::expect_equal_shapes(types)?;
    infer::numbers(&types[1..], attrs)
}

fn examples() -> Vec<Example> {
    let reals = |sizes: &[usize]| {
        let branch = example::real(sizes, -3.0, 3.0);
        example::call(vec![example::truth(sizes), branch.clone(), branch], Vec::new())
    };
    let branch = example::int(&[3], -3, 4);
    let ints = example::call(vec![example::truth(&[3]), branch.clone(), branch], Vec::new());
    vec![reals(&[]), reals(&[4]), reals(&[2, 3]), ints]
}

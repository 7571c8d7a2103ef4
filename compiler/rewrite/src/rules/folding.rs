//! Constants are computed by the compiler.

use crate::nodes::constant_of;
use crate::rule::Rule;
use crate::rules::arithmetic::of_one;
use bnnc_base::dtype::DType;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// Elementwise operations on constants are constants.
pub static CONSTANT_FOLDING: Rule = Rule {
    name: "constant-folding",
    about: "An elementwise operation on constants is a constant.",
    apply: |builder, call| {
        if !call.op.is_elementwise() || call.args.is_empty() {
            return None;
        }
        let numbers: Option<Vec<f64>> = call.args.iter().map(|arg| constant_of(builder, *arg)).collect();
        let operands: Vec<Tensor> = numbers?.into_iter().map(Tensor::scalar).collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        let types: Vec<&Type> = call.args.iter().map(|arg| builder.ty(*arg)).collect();
        let ty = (call.op.infer)(&types, call.attrs).ok()?;
        let folded = (call.op.eval)(&operands, call.attrs).data[0];
        Some(builder.constant(&ty, folded))
    },
    examples: || {
        vec![of_one(|b, x| {
            let (two, three) = (b.like(2.0, x), b.like(3.0, x));
            let sum = b.pow(two, three);
            b.mul(x, sum)
        })]
    },
};

/// A selection whose condition is known is one of its branches.
pub static SELECT_OF_CONSTANT: Rule = Rule {
    name: "select-of-constant",
    about: "A selection whose condition is known, or whose branches are the same, is a branch.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::select::SELECT) {
            return None;
        }
        let [condition, yes, no] = call.args else {
            return None;
        };
        if yes == no {
            return Some(*yes);
        }
        let known = constant_of(builder, *condition)?;
        Some(if known == 0.0 { *no } else { *yes })
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let truth = b.ty(x).shape.clone();
                let condition = b.constant(&Type::new(DType::Bool, truth), 1.0);
                let e = b.exp(x);
                b.select(condition, e, x)
            }),
            of_one(|b, x| {
                let zero = b.zeros_like(x);
                let condition = b.lt(zero, x);
                b.select(condition, x, x)
            }),
        ]
    },
};

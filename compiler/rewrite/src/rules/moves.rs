//! Permutations and reshapes merge.

use crate::nodes::{application, constant_of, operand};
use crate::rule::Rule;
use crate::rules::arithmetic::of_one;
use crate::rules::broadcast::positions;
use bnnc_base::shape::Shape;
use bnnc_graph::attr;
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// Two permutations are one.
pub static TRANSPOSE_OF_TRANSPOSE: Rule = Rule {
    name: "transpose-of-transpose",
    about: "Two permutations of axes are one, or none.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::transpose::TRANSPOSE) {
            return None;
        }
        let (args, attrs) = application(builder, call.args[0], &ops::transpose::TRANSPOSE)?;
        let (source, inner) = (args[0], positions(attr::ints(attrs, 0)));
        let axes: Vec<usize> = attr::ints(call.attrs, 0)
            .iter()
            .map(|axis| inner[*axis as usize])
            .collect();
        Some(builder.transpose(source, &axes))
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let turned = b.transpose(x, &[1, 0]);
                b.transpose(turned, &[1, 0])
            }),
            of_one(|b, x| {
                let cube = b.broadcast(x, &Shape::fixed(&[4, 2, 3]), &[1, 2]);
                let once = b.transpose(cube, &[1, 2, 0]);
                b.transpose(once, &[1, 2, 0])
            }),
        ]
    },
};

/// Two reshapes are one.
pub static RESHAPE_OF_RESHAPE: Rule = Rule {
    name: "reshape-of-reshape",
    about: "Only the last of several shapes matters.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::reshape::RESHAPE) {
            return None;
        }
        let source = operand(builder, call.args[0], &ops::reshape::RESHAPE)?;
        let shape = attr::shape(call.attrs, 0).clone();
        Some(builder.reshape(source, &shape))
    },
    examples: || {
        vec![of_one(|b, x| {
            let flat = b.reshape(x, &Shape::fixed(&[6]));
            b.reshape(flat, &Shape::fixed(&[3, 2]))
        })]
    },
};

/// Moving the elements of a constant changes nothing but the shape.
pub static MOVE_OF_CONSTANT: Rule = Rule {
    name: "move-of-constant",
    about: "A permuted, reshaped or cut constant is a constant.",
    apply: |builder, call| {
        let moves = [
            &ops::transpose::TRANSPOSE,
            &ops::reshape::RESHAPE,
            &ops::slice::SLICE,
            &ops::patches::PATCHES,
        ];
        if !moves.iter().any(|op| std::ptr::eq(*op, call.op.0)) {
            return None;
        }
        let number = constant_of(builder, call.args[0])?;
        let types: Vec<&Type> = call.args.iter().map(|arg| builder.ty(*arg)).collect();
        let ty = (call.op.infer)(&types, call.attrs).ok()?;
        Some(builder.constant(&ty, number))
    },
    examples: || {
        vec![of_one(|b, x| {
            let twos = b.splat(2.0, &Shape::fixed(&[3, 2]));
            let turned = b.transpose(twos, &[1, 0]);
            b.mul(x, turned)
        })]
    },
};

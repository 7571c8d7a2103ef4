//! Rules that absorb broadcasts and permutations into the labels of contractions.

use crate::nodes::application;
use crate::rule::{PendingNode, Rule, computed};
use crate::rules::broadcast::repetition;
use crate::term::{Bindings, X, Y, broadcast, contract, example, on, transpose};
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::positions;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use bnnc_graph::ops::contract::CONTRACT;
use bnnc_graph::ops::transpose::TRANSPOSE;

/// The rules, in order.
pub static RULES: &[Rule] = &[
    Rule {
        name: "contract-of-broadcast",
        about: "A contraction with a repeated operand contracts the operand before its repetition.",
        cases: || vec![computed(on(&CONTRACT, [X, Y]), of_repetition)],
        examples: || {
            let cube = |size| broadcast(X, &[size, 2, 3], &[1, 2]);
            let left = contract(cube(2), Y, "aij,aj->ai");
            let right = ["kj,aij->aik", "kj,aij->ik"].map(|labels| contract(Y, cube(4), labels));
            [left].into_iter().chain(right).map(example).collect()
        },
    },
    Rule {
        name: "contract-of-transpose",
        about: "A contraction with a permuted operand permutes its labels instead.",
        cases: || vec![computed(on(&CONTRACT, [X, Y]), of_permutation)],
        examples: || vec![example(contract(transpose(X, &[1, 0]), Y, "ji,bj->bi"))],
    },
];

fn of_repetition(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let labels = labels(call);
    without_repetition(builder, call, &labels, 0).or_else(|| without_repetition(builder, call, &labels, 1))
}

fn of_permutation(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let mut labels = labels(call);
    let mut args = [call.args[0], call.args[1]];
    let mut found = false;
    for (arg, letters) in args.iter_mut().zip([&mut labels.left, &mut labels.right]) {
        let Some((operands, attrs)) = application(builder, *arg, &TRANSPOSE) else {
            continue;
        };
        let axes = positions(ops::transpose::axes(attrs));
        let mut permuted = letters.clone();
        for (at, axis) in axes.iter().enumerate() {
            permuted[*axis] = letters[at];
        }
        *letters = permuted;
        *arg = operands[0];
        found = true;
    }
    found.then(|| builder.contract(args[0], args[1], &labels.to_string()))
}

fn labels(call: &PendingNode<'_>) -> ContractionLabels {
    ops::contract::parsed(call.attrs)
}

/// Returns the contraction in which the broadcast operand `at` is replaced by the source of the broadcast.
fn without_repetition(
    builder: &mut Builder,
    call: &PendingNode<'_>,
    labels: &ContractionLabels,
    at: usize,
) -> Option<Value> {
    let (source, axes) = repetition(builder, call.args[at])?;
    let (letters, others) = if at == 0 {
        (&labels.left, &labels.right)
    } else {
        (&labels.right, &labels.left)
    };
    if axes.is_empty() {
        return None;
    }
    let dims = builder.ty(call.args[at]).dims().to_vec();
    let mut factor = 1;
    let mut restored: Vec<char> = Vec::new();
    for (axis, letter) in letters
        .iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
    {
        if others.contains(letter) {
            continue;
        }
        match labels.result.contains(letter) {
            true => restored.push(*letter),
            false => factor *= dims[axis].fixed()?,
        }
    }
    let kept: Vec<char> = axes.iter().map(|axis| letters[*axis]).collect();
    let result: Vec<char> = labels
        .result
        .iter()
        .copied()
        .filter(|l| !restored.contains(l))
        .collect();
    let (left, right) = if at == 0 {
        (kept, others.clone())
    } else {
        (others.clone(), kept)
    };
    let smaller = ContractionLabels { left, right, result };
    let mut args = [call.args[0], call.args[1]];
    args[at] = source;
    let shape = result_shape(builder, call, labels);
    let product = builder.contract(args[0], args[1], &smaller.to_string());
    let product = if factor == 1 {
        product
    } else {
        builder.scale(product, factor as f64)
    };
    let places: Vec<usize> = (0..labels.result.len())
        .filter(|axis| !restored.contains(&labels.result[*axis]))
        .collect();
    Some(builder.broadcast(product, &shape, &places))
}

fn result_shape(builder: &Builder, call: &PendingNode<'_>, labels: &ContractionLabels) -> Shape {
    let dim = |letter: &char| -> Dim {
        let find = |letters: &[char], arg: Value| {
            letters
                .iter()
                .position(|l| l == letter)
                .map(|axis| builder.ty(arg).dims()[axis])
        };
        find(&labels.left, call.args[0])
            .or_else(|| find(&labels.right, call.args[1]))
            .unwrap_or_else(|| unreachable!("a letter of the result occurs in an operand"))
    };
    Shape(labels.result.iter().map(dim).collect())
}

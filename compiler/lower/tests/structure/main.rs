//! Tests the kernels that fusion builds from typical training programs.

#[path = "../executor/mod.rs"]
mod executor;

mod buffers;
mod convolutions;
mod training;

use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::{OpCall, Vjp};
use bnnc_graph::types::Type;
use bnnc_loops::ir::LoopProgram;
use std::collections::HashMap;

const BATCH: Dim = Dim::Symbol(Symbol::Batch);
const DRAWS: Dim = Dim::Symbol(Symbol::Draws);

fn real(sizes: &[usize]) -> Type {
    Type::real(Shape::fixed(sizes))
}

fn batched(sizes: &[usize]) -> Type {
    let shape = Shape::fixed(sizes);
    Type::real(shape.prepend(BATCH))
}

/// Compares a function with the reference on random inputs. Returns the program of the function.
fn check(function: &Function, states: &[&str]) -> LoopProgram {
    let sizes = Sizes::default().with(Symbol::Batch, 3).with(Symbol::Draws, 2);
    let input = |(at, param): (usize, &Value)| {
        let ty = function.ty(*param);
        executor::numbers(ty, (0.1, 0.9), at as u32, &sizes)
    };
    let inputs: Vec<_> = function.params.iter().enumerate().map(input).collect();
    executor::check(function, states, &sizes, &inputs, 1e-11)
}

/// Returns the cotangents of the values in `wanted`, computed by the reverse rules of the ops.
fn gradients(b: &mut Builder, loss: Value, wanted: &[Value]) -> Vec<Value> {
    let nodes: Vec<_> = b
        .function()
        .nodes
        .ids()
        .map(|id| (id, b.node(id).kind.clone()))
        .collect();
    let mut cotangents: HashMap<Value, Value> = HashMap::new();
    let one = b.real(1.0);
    cotangents.insert(loss, one);
    for (id, kind) in nodes.into_iter().rev() {
        let (NodeKind::Apply { op, args, attrs }, Some(dy)) = (kind, cotangents.get(&id).copied()) else {
            continue;
        };
        let Vjp::Rule(rule) = &op.vjp else { continue };
        let site = OpCall {
            args: &args,
            attrs: &attrs,
            out: Some(id),
        };
        let parts = rule(b, &site, dy);
        for (arg, part) in args.iter().zip(parts) {
            let Some(part) = part else { continue };
            let sum = cotangents
                .get(arg)
                .copied()
                .map_or(part, |known| b.add(known, part));
            cotangents.insert(*arg, sum);
        }
    }
    wanted.iter().map(|value| cotangents[value]).collect()
}

fn relu(b: &mut Builder, x: Value) -> Value {
    let zero = b.like(0.0, x);
    b.max(x, zero)
}

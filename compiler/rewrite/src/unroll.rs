//! Expands `map` and `expect` into batched ops that compute all positions or draws at once.

use crate::batch::inline_batched;
use crate::nodes;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Function;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// Expands every `map`, including maps in functions that are attributes of nodes.
pub fn expand_maps(function: &Function) -> Function {
    expand(function, &[&ops::map::MAP])
}

/// Expands every `expect` to a mean along a new axis of draws.
pub fn expand_expectations(function: &Function) -> Function {
    expand(function, &[&ops::expect::EXPECT])
}

/// Expands every `map` and every `expect`.
pub fn expand_loops(function: &Function) -> Function {
    expand_expectations(&expand_maps(function))
}

fn expand(function: &Function, which: &[&'static OpDef]) -> Function {
    function.rebuild(|builder, call, args| {
        let attrs = nodes::with_functions(call.attrs, |inner| expand(inner, which));
        if call.op.is_one_of(which) {
            let types: Vec<Type> = args.iter().map(|arg| builder.ty(*arg).clone()).collect();
            // Batching an inner loop can produce loops again, so the result is expanded too.
            let carried_out = expand(&carried_out(call.op.0, &types, &attrs), which);
            builder.inline(&carried_out, args)[0]
        } else {
            builder.apply(call.op.0, args, attrs)
        }
    })
}

/// Like [`carried_out`], but also expands inner loops.
pub fn unrolled(op: &'static OpDef, types: &[Type], attrs: &[Attr]) -> Function {
    let loops = [&ops::map::MAP, &ops::expect::EXPECT];
    let attrs = nodes::with_functions(attrs, |inner| expand(inner, &loops));
    expand(&carried_out(op, types, &attrs), &loops)
}

/// Returns a function that computes a `map` or an `expect` from its operands.
pub fn carried_out(op: &'static OpDef, types: &[Type], attrs: &[Attr]) -> Function {
    let mut builder = Builder::new(op.name);
    let mut args = nodes::numbered_params(&mut builder, types);
    let function = ops::map::function(attrs);
    let value = if op.is(&ops::map::MAP) {
        let count = ops::map::mapped(attrs) as usize;
        let mapped: Vec<bool> = (0..args.len()).map(|at| at < count).collect();
        let dim = types[0].dims()[0];
        inline_batched(&mut builder, function, &args, &mapped, dim)[0].repeated(&mut builder, dim)
    } else {
        let dim = ops::expect::draws(attrs);
        args.insert(0, builder.iota(dim));
        let mapped: Vec<bool> = (0..args.len()).map(|at| at == 0).collect();
        inline_batched(&mut builder, function, &args, &mapped, dim)[0].mean(&mut builder)
    };
    builder.finish(vec![("value".into(), value)])
}

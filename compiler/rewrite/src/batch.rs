//! `batch`: turns a function of one example, draw or chain into a function of many examples, draws
//! or chains.

use crate::nodes;
use bnnc_base::shape::Dim;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Batch, Lower, Op, OpCall};
use bnnc_graph::types::Type;

/// Returns `function` with a new axis 0 of size `dim` on the parameters that are marked in
/// `mapped`, and on all results. A result that does not depend on a marked parameter is repeated
/// along the new axis.
pub fn batch(function: &Function, mapped: &[bool], dim: Dim) -> Function {
    let mut builder = Builder::new(&function.name);
    let mut args = Vec::new();
    for (param, is_mapped) in function.params.iter().zip(mapped) {
        let ty = function.ty(*param);
        let ty = if *is_mapped {
            ty.with_shape(ty.shape.prepend(dim))
        } else {
            ty.clone()
        };
        let name = function.param_name(*param).map_or("", |name| name);
        args.push(builder.param(name, ty));
    }
    let results = inline_batched(&mut builder, function, &args, mapped, dim);
    let repeated: Vec<Value> = results
        .into_iter()
        .map(|(value, is_mapped)| {
            if is_mapped {
                value
            } else {
                builder.broadcast_leading(value, dim)
            }
        })
        .collect();
    let named = nodes::named(function, &repeated);
    builder.finish(named)
}

/// Inlines `function` along a new axis 0. Returns each result with a flag. The flag is true if the
/// result has the new axis.
pub fn inline_batched(
    builder: &mut Builder,
    function: &Function,
    args: &[Value],
    mapped: &[bool],
    dim: Dim,
) -> Vec<(Value, bool)> {
    let params = args.iter().copied().zip(mapped.iter().copied());
    let copies = function.map_nodes(params, |node, copies| {
        let call = Call {
            op: node.op,
            attrs: node.attrs,
            types: node.args.iter().map(|arg| function.ty(*arg).clone()).collect(),
        };
        let copy = apply_batched(builder, &call, &copies.of(node.args), dim);
        builder.label_as(copy.0, node.label);
        copy
    });
    function.results.iter().map(|(_, value)| copies[*value]).collect()
}

/// A node of the batched function: its op, its attributes, and the types of its operands before
/// batching.
struct Call<'a> {
    op: Op,
    attrs: &'a [Attr],
    types: Vec<Type>,
}

fn apply_batched(
    builder: &mut Builder,
    call: &Call<'_>,
    operands: &[(Value, bool)],
    dim: Dim,
) -> (Value, bool) {
    let args: Vec<Value> = operands.iter().map(|(value, _)| *value).collect();
    let mapped: Vec<bool> = operands.iter().map(|(_, is_mapped)| *is_mapped).collect();
    if !mapped.contains(&true) {
        return (builder.apply(call.op.0, &args, call.attrs.to_vec()), false);
    }
    let value = match call.op.batch {
        Batch::Elementwise => {
            let repeated: Vec<Value> = operands
                .iter()
                .map(|(value, is_mapped)| {
                    if *is_mapped {
                        *value
                    } else {
                        builder.broadcast_leading(*value, dim)
                    }
                })
                .collect();
            builder.apply(call.op.0, &repeated, call.attrs.to_vec())
        }
        Batch::Rule(rule) => {
            let site = OpCall {
                args: &args,
                attrs: call.attrs,
                out: None,
            };
            rule(builder, &site, &mapped, dim)
        }
        Batch::Expand => {
            let expansion = expansion_of(call.op, call.attrs, call.types.clone());
            return inline_batched(builder, &expansion, &args, &mapped, dim)[0];
        }
    };
    (value, true)
}

/// Returns the expansion of an op as a function. The parameters of this function have the given
/// types.
pub(crate) fn expansion_of(op: Op, attrs: &[Attr], types: Vec<Type>) -> Function {
    let Lower::Expand(expand) = &op.lower else {
        unreachable!("`{}` is asked for its expansion but has none", op.name);
    };
    let mut builder = Builder::new(op.name);
    let param = |(at, ty): (usize, Type)| builder.param(&at.to_string(), ty);
    let params: Vec<Value> = types.into_iter().enumerate().map(param).collect();
    let site = OpCall {
        args: &params,
        attrs,
        out: None,
    };
    let value = expand(&mut builder, &site);
    builder.finish(vec![("value".into(), value)])
}

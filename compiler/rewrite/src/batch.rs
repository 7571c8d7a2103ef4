//! `batch`: turns a function of one example, draw or chain into a function of many examples, draws
//! or chains.

use crate::nodes;
use bnnc_base::shape::Dim;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::map::Application;
use bnnc_graph::op::{Batch, Lower, Op, OpCall};
use bnnc_graph::types::Type;

/// Returns `function` in which the parameters marked in `mapped` and all results have a new axis 0
/// of size `dim`. A result that does not depend on a marked parameter is repeated
/// along the new axis.
pub fn batch(function: &Function, mapped: &[bool], dim: Dim) -> Function {
    let mut builder = Builder::new(&function.name);
    let mut args = Vec::new();
    for (param, is_mapped) in function.params.iter().zip(mapped) {
        let ty = function.ty(*param);
        let ty = match is_mapped {
            true => ty.with_shape(ty.shape.prepend(dim)),
            false => ty.clone(),
        };
        args.push(builder.param(nodes::param_name(function, *param), ty));
    }
    let results = inline_batched(&mut builder, function, &args, mapped, dim);
    let repeated: Vec<Value> = results
        .into_iter()
        .map(|result| result.repeated(&mut builder, dim))
        .collect();
    let named = nodes::named(function, &repeated);
    builder.finish(named)
}

/// Returns `function` with a new axis 0 of size `dim` on all results, and on the parameters whose
/// name satisfies `has_axis`.
pub fn batch_named(function: &Function, dim: Dim, has_axis: impl Fn(&str) -> bool) -> Function {
    batch(function, &nodes::named_params(function, has_axis), dim)
}

/// A value of a function that is inlined along a new axis 0.
#[derive(Clone, Copy, Debug)]
pub struct Batched {
    /// The value.
    pub value: Value,
    /// True if the value has the new axis. Otherwise, it is the same at all positions.
    pub has_axis: bool,
}

impl Batched {
    /// Returns the value with the new axis, which has the size `dim`.
    pub fn repeated(self, builder: &mut Builder, dim: Dim) -> Value {
        match self.has_axis {
            true => self.value,
            false => builder.broadcast_leading(self.value, dim),
        }
    }

    /// Returns the mean along the new axis.
    pub fn mean(self, builder: &mut Builder) -> Value {
        match self.has_axis {
            true => nodes::mean_leading(builder, self.value),
            false => self.value,
        }
    }
}

/// Inlines `function` along a new axis 0. The arguments that are marked in `mapped` have this axis.
/// Returns the results.
pub fn inline_batched(
    builder: &mut Builder,
    function: &Function,
    args: &[Value],
    mapped: &[bool],
    dim: Dim,
) -> Vec<Batched> {
    let params = args.iter().zip(mapped).map(|(value, has_axis)| Batched {
        value: *value,
        has_axis: *has_axis,
    });
    let copies = function.map_nodes(params, |node, copies| {
        let copy = apply_batched(builder, function, &node, &copies.of(node.args), dim);
        builder.label_as(copy.value, node.label);
        copy
    });
    function.results.iter().map(|(_, value)| copies[*value]).collect()
}

/// Applies the op of a node of `function` to batched operands.
fn apply_batched(
    builder: &mut Builder,
    function: &Function,
    node: &Application<'_>,
    operands: &[Batched],
    dim: Dim,
) -> Batched {
    let args: Vec<Value> = operands.iter().map(|operand| operand.value).collect();
    let mapped: Vec<bool> = operands.iter().map(|operand| operand.has_axis).collect();
    if !mapped.contains(&true) {
        let value = builder.apply(node.op.0, &args, node.attrs.to_vec());
        return Batched {
            value,
            has_axis: false,
        };
    }
    let value = match node.op.batch {
        Batch::Elementwise => {
            let repeated = operands.iter().map(|operand| operand.repeated(builder, dim));
            let repeated: Vec<Value> = repeated.collect();
            builder.apply(node.op.0, &repeated, node.attrs.to_vec())
        }
        Batch::Rule(rule) => {
            let site = OpCall {
                args: &args,
                attrs: node.attrs,
                out: None,
            };
            rule(builder, &site, &mapped, dim)
        }
        Batch::Expand => {
            let types = node.args.iter().map(|arg| function.ty(*arg).clone()).collect();
            let expansion = expansion_of(node.op, node.attrs, types);
            return inline_batched(builder, &expansion, &args, &mapped, dim)[0];
        }
    };
    Batched {
        value,
        has_axis: true,
    }
}

/// Returns the expansion of an op as a function. The parameters of this function have the types
/// `types`.
pub(crate) fn expansion_of(op: Op, attrs: &[Attr], types: Vec<Type>) -> Function {
    let Lower::Expand(expand) = &op.lower else {
        unreachable!("`{}` is asked for its expansion but has none", op.name);
    };
    let mut builder = Builder::new(op.name);
    let params = nodes::numbered_params(&mut builder, &types);
    let site = OpCall {
        args: &params,
        attrs,
        out: None,
    };
    let value = expand(&mut builder, &site);
    builder.finish(vec![("value".into(), value)])
}

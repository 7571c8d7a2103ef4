//! Rewrite rules: named, directional, watched; and the driver that applies them until none fires.

use crate::nodes;
use bnnc_base::arena::Id;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Op;
use std::sync::Arc;

/// A node about to be built: its operands are already rewritten.
pub struct Call<'a> {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: &'a [Value],
    /// The attributes.
    pub attrs: &'a [Attr],
}

/// An algebraic rewrite.
pub struct Rule {
    /// An adjective and a noun: `log-of-exp`.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The value that stands for the call, or `None` where the rule does not apply. It must never make things worse.
    pub apply: fn(&mut Builder, &Call<'_>) -> Option<Value>,
    /// Functions in which it fires, for the tests.
    pub examples: fn() -> Vec<Function>,
}

/// One application of a rule, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The rule.
    pub rule: &'static str,
    /// What stood there.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

/// How often all nodes are visited before the driver gives up on a fixpoint.
const ROUNDS: usize = 12;

/// Applies `rules` until none fires, records each firing in `trace` and removes what nothing uses any more.
pub fn rewrite(function: &Function, rules: &[&Rule], mut trace: Option<&mut Vec<Firing>>) -> Function {
    let mut current = remove_dead(function);
    for _ in 0..ROUNDS {
        let (next, fired) = rewrite_once(&current, rules, trace.as_deref_mut());
        current = remove_dead(&next);
        if !fired {
            break;
        }
    }
    current
}

fn rewrite_once(
    function: &Function,
    rules: &[&Rule],
    mut trace: Option<&mut Vec<Firing>>,
) -> (Function, bool) {
    let mut fired = false;
    let rewritten = function.rebuild(|builder, node, args| {
        let attrs = nodes::with_functions(node.attrs, |inner| {
            let (inner, inner_fired) = rewrite_once(inner, rules, trace.as_deref_mut());
            fired |= inner_fired;
            remove_dead(&inner)
        });
        let call = Call {
            op: node.op,
            args,
            attrs: &attrs,
        };
        let hit = rules
            .iter()
            .find_map(|rule| Some((rule, (rule.apply)(builder, &call)?)));
        let Some((rule, value)) = hit else {
            return builder.apply(node.op.0, args, attrs);
        };
        fired = true;
        debug_assert_eq!(
            builder.ty(value),
            function.ty(node.value),
            "rule `{}` changes a type",
            rule.name
        );
        if let Some(trace) = trace.as_deref_mut() {
            trace.push(Firing {
                rule: rule.name,
                before: nodes::describe_call(builder.function(), &call),
                after: nodes::describe(builder.function(), value),
            });
        }
        value
    });
    (rewritten, fired)
}

/// `function` without the nodes that no result needs; parameters stay, in order.
pub fn remove_dead(function: &Function) -> Function {
    let mut live = vec![false; function.nodes.len()];
    for (_, value) in &function.results {
        live[value.index()] = true;
    }
    for value in function.nodes.ids().rev() {
        if live[value.index()] {
            for arg in function.args(value) {
                live[arg.index()] = true;
            }
        }
    }
    let mut builder = Builder::new(&function.name);
    // Every parameter, in order: they are the signature.
    let params: Vec<Option<Value>> = (function.params.iter())
        .map(|param| Some(builder.param_like(function, *param)))
        .collect();
    let copies = function.map_nodes(params, |call, copies| {
        let args: Vec<Value> = copies.of(call.args).into_iter().flatten().collect();
        live[call.value.index()].then(|| {
            let copy = builder.apply(call.op.0, &args, call.attrs.to_vec());
            builder.label_as(copy, call.label);
            copy
        })
    });
    let result = |(name, value): &(Arc<str>, Value)| Some((name.clone(), copies[*value]?));
    let results = function.results.iter().filter_map(result).collect();
    builder.finish(results)
}

//! Rewrite rules: named, directional, watched; and the driver that applies them until none fires.

use crate::nodes;
use bnnc_base::arena::Id;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::Op;

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
    let mut builder = Builder::new(&function.name);
    let mut fired = false;
    let mut copies = vec![Value(0); function.nodes.len()];
    for value in function.nodes.ids() {
        let node = &function.nodes[value];
        copies[value.index()] = match &node.kind {
            NodeKind::Param(name) => builder.param(name, node.ty.clone()),
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<Value> = args.iter().map(|arg| copies[arg.index()]).collect();
                let attrs = nodes::with_functions(attrs, |inner| {
                    let (inner, inner_fired) = rewrite_once(inner, rules, trace.as_deref_mut());
                    fired |= inner_fired;
                    remove_dead(&inner)
                });
                let call = Call {
                    op: *op,
                    args: &args,
                    attrs: &attrs,
                };
                let hit = rules
                    .iter()
                    .find_map(|rule| Some((rule, (rule.apply)(&mut builder, &call)?)));
                match hit {
                    Some((rule, value)) => {
                        fired = true;
                        debug_assert_eq!(builder.ty(value), &node.ty, "rule `{}` changes a type", rule.name);
                        if let Some(trace) = trace.as_deref_mut() {
                            let before = nodes::describe_call(builder.function(), &call);
                            let after = nodes::describe(builder.function(), value);
                            trace.push(Firing {
                                rule: rule.name,
                                before,
                                after,
                            });
                        }
                        value
                    }
                    None => builder.apply(op.0, &args, attrs),
                }
            }
        };
        if let Some(label) = &node.label {
            builder.label(copies[value.index()], label);
        }
    }
    let results = function
        .results
        .iter()
        .map(|(name, value)| (name.clone(), copies[value.index()]))
        .collect();
    (builder.finish(results), fired)
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
    let mut copies = vec![Value(0); function.nodes.len()];
    // Parameters first: their order is the signature, whatever the order of the nodes.
    for param in &function.params {
        let name = function.param_name(*param).map_or("", |name| name);
        copies[param.index()] = builder.param(name, function.ty(*param).clone());
    }
    for value in function.nodes.ids().filter(|value| live[value.index()]) {
        let node = &function.nodes[value];
        if let NodeKind::Apply { op, args, attrs } = &node.kind {
            let args: Vec<Value> = args.iter().map(|arg| copies[arg.index()]).collect();
            copies[value.index()] = builder.apply(op.0, &args, attrs.clone());
        }
        if let Some(label) = &node.label {
            builder.label(copies[value.index()], label);
        }
    }
    let results = function
        .results
        .iter()
        .map(|(name, value)| (name.clone(), copies[value.index()]))
        .collect();
    builder.finish(results)
}

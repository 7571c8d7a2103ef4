//! `simplify`, `cse`, `dead-code` and `expand`: passes that reduce the work of a function without changing
//! its results.

use crate::nodes;
use crate::rule::{self, Firing, Rule, RuleSet};
use crate::rules;
use bnnc_graph::function::Function;
use bnnc_graph::op::{Lower, OpCall};
use bnnc_graph::verify::function_attrs;

/// Returns `function` after all rules were applied.
pub fn simplify(function: &Function) -> Function {
    rule::rewrite(function, &rules::SET, None)
}

/// Returns `function` after all rules were applied, except the rules named in `without`. Records each firing
/// in `trace`.
pub fn simplify_with(function: &Function, without: &[String], trace: Option<&mut Vec<Firing>>) -> Function {
    let is_kept = |rule: &&Rule| !without.iter().any(|name| name == rule.name);
    if rules::ALL.iter().copied().all(|rule| is_kept(&rule)) {
        return rule::rewrite(function, &rules::SET, trace);
    }
    let kept = RuleSet::new(rules::ALL.iter().copied().filter(is_kept));
    rule::rewrite(function, &kept, trace)
}

/// Returns `function`, in which equal nodes are merged. The builder merges equal nodes, so it is enough to
/// rebuild the function.
pub fn cse(function: &Function) -> Function {
    rule::rewrite(function, &RuleSet::default(), None)
}

/// Expands ops until only ops with kernels are left.
pub fn expand(function: &Function) -> Function {
    let mut current = expand_once(function);
    while has_expansions(&current) {
        current = expand_once(&current);
    }
    rule::remove_dead(&current)
}

fn has_expansions(function: &Function) -> bool {
    let expands = |value| {
        let is_expansion = function
            .op(value)
            .is_some_and(|op| matches!(op.lower, Lower::Expand(_)));
        is_expansion || function_attrs(function, value).any(has_expansions)
    };
    function.nodes.ids().any(expands)
}

fn expand_once(function: &Function) -> Function {
    let expanded = function.rebuild(|builder, call, args| {
        let attrs = nodes::with_functions(call.attrs, expand_once);
        match &call.op.lower {
            Lower::Expand(rule) => rule(
                builder,
                &OpCall {
                    args,
                    attrs: &attrs,
                    out: None,
                },
            ),
            Lower::Scalar(_) | Lower::Kernel(_) | Lower::Removed(_) => builder.apply(call.op.0, args, attrs),
        }
    });
    rule::remove_dead(&expanded)
}

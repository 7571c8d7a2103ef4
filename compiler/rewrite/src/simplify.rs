//! `simplify` and `expand`: passes that change how a function computes its results, but do not
//! change the results.

use crate::nodes;
use crate::rule::{self, Firing, Rule, RuleSet};
use crate::rules;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::op::{Lower, OpCall};
use bnnc_graph::verify::function_attrs;

/// Applies all rules to `function`, and returns the result.
///
/// # Errors
/// Fails if the rules do not stop firing. In this case, they have a bug.
pub fn simplify(function: &Function) -> Result<Function, Fault> {
    rule::rewrite(function, &rules::SET, None)
}

/// Applies all rules to `function`, except the rules named in `without`, and returns the result.
/// Records each firing in `trace`.
///
/// # Errors
/// Fails if the rules do not stop firing. In this case, they have a bug.
pub fn simplify_with(
    function: &Function,
    without: &[String],
    trace: Option<&mut Vec<Firing>>,
) -> Result<Function, Fault> {
    let is_kept = |rule: &&Rule| !without.iter().any(|name| name == rule.name);
    if rules::ALL.iter().copied().all(|rule| is_kept(&rule)) {
        return rule::rewrite(function, &rules::SET, trace);
    }
    let kept = RuleSet::new(rules::ALL.iter().copied().filter(is_kept));
    rule::rewrite(function, &kept, trace)
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

//! Which values observations depend on, and which values are constant.

use bnnc_base::arena::Id;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;

/// Returns, for each value, whether an observation depends on the value. `false` means that only the parameters of priors depend on it.
pub(super) fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.nodes.len()];
    let ids: Vec<Value> = function.nodes.ids().collect();
    for value in ids.into_iter().rev() {
        let op = function.op(value);
        let is_observed = op.is_some_and(|op| op.is(&ops::observe::OBSERVE));
        used[value.index()] |= is_observed;
        if used[value.index()] && !op.is_some_and(|op| op.is(&ops::sample::SAMPLE)) {
            for arg in function.args(value) {
                used[arg.index()] = true;
            }
        }
    }
    used
}

/// Returns, for each value, whether it is independent of data and of parameters.
pub(super) fn constants(function: &Function) -> Vec<bool> {
    let mut is_constant = vec![false; function.nodes.len()];
    for value in function.nodes.ids() {
        let op = function.op(value);
        is_constant[value.index()] = op.is_some_and(|op| !op.is(&ops::sample::SAMPLE))
            && function.args(value).iter().all(|arg| is_constant[arg.index()]);
    }
    is_constant
}

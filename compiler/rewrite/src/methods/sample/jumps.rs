//! Finds sites that may make a likelihood discontinuous.

use crate::density::Densities;
use bnnc_base::dtype::DType;
use bnnc_graph::analysis::dataflow;
use bnnc_graph::function::Function;
use bnnc_graph::op::Vjp;
use bnnc_graph::ops;

/// Returns whether the arguments of the observed distributions are computed with a comparison or
/// rounding of a value that depends on the site. The result is also true for functions that are
/// continuous despite a comparison, such as `if x > 0 { x } else { 0 }`.
pub fn may_jump(densities: &Densities, site: &str) -> bool {
    let function = &densities.likelihood_arguments;
    let Some(param) = function.param(site) else {
        return false;
    };
    let needed = dataflow::reachable(function);
    let mut moved = dataflow::dependents(function, &[param]).into_iter();
    moved.any(|value| needed.contains(&value) && value != param && is_constant_in_pieces(function, value))
}

/// Returns whether a value is piecewise constant.
fn is_constant_in_pieces(function: &Function, value: bnnc_graph::function::Value) -> bool {
    let Some(op) = function.op(value) else {
        return false;
    };
    let is_stopped = op.is(&ops::stop_gradient::STOP_GRADIENT);
    let is_truth = function.ty(value).dtype == DType::Bool;
    (is_truth || matches!(op.vjp, Vjp::Zero(_))) && !is_stopped
}

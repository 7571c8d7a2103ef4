//! Computes bounds of all values of a function from the bounds of its parameters. Each op has a
//! rule for the bounds of its result.

use crate::function::{Function, NodeKind, Value};
use crate::op::Interval;
use bnnc_base::arena::Id;

/// Returns bounds of the elements of each value. `params` lists the bounds of the parameters, in
/// order. If the list is too short, the remaining parameters are unbounded.
pub fn ranges(function: &Function, params: &[Interval]) -> Vec<Interval> {
    refined_ranges(function, params, |_, range, _| range)
}

/// Like [`ranges`], but `refine` narrows the range of each op's result. The arguments of `refine`
/// are the value, the range according to its op's rule, and the ranges of all earlier values.
pub fn refined_ranges(
    function: &Function,
    params: &[Interval],
    refine: impl Fn(Value, Interval, &[Interval]) -> Interval,
) -> Vec<Interval> {
    let mut ranges: Vec<Interval> = Vec::with_capacity(function.nodes.len());
    for value in function.nodes.ids() {
        let range = match &function.nodes[value].kind {
            NodeKind::Param(_) => {
                let at = function.params.iter().position(|param| *param == value);
                at.and_then(|at| params.get(at))
                    .copied()
                    .unwrap_or(Interval::REALS)
            }
            NodeKind::Apply { op, args, attrs } => {
                let operands: Vec<Interval> = args.iter().map(|arg| ranges[arg.index()]).collect();
                refine(value, (op.range)(&operands, attrs), &ranges)
            }
        };
        ranges.push(range);
    }
    ranges
}

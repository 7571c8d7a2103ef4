//! Finds those axes of parameters along which the positions correspond to the elements of an input
//! or the classes of an output. Such an axis is contracted with the input, is indexed by the input,
//! or becomes the axis of the class scores.

use bnnc_base::shape::Dim;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::ops;
use std::sync::Arc;

/// An axis of a parameter. The positions along the axis correspond to the elements of an input or
/// to the classes of an output.
pub struct Met {
    /// The parameter.
    pub site: Arc<str>,
    /// The number of axes of the parameter.
    pub rank: usize,
    /// The index of the axis.
    pub axis: usize,
    /// The size of the axis.
    pub size: Dim,
    /// The name of the input or output.
    pub port: Arc<str>,
}

/// Returns the axes of parameters that are contracted with an input, are directly indexed by an
/// input, or correspond to classes.
pub fn met(function: &Function) -> Vec<Met> {
    let mut found = Vec::new();
    for value in function.nodes.ids() {
        let NodeKind::Apply { op, args, attrs } = &function.nodes[value].kind else {
            continue;
        };
        if op.is(&ops::contract::CONTRACT) {
            let labels = ops::contract::parsed(attrs);
            let sides = [(args[0], &labels.left), (args[1], &labels.right)];
            for (own, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
                let axis = |letter: &char| own.1.iter().position(|known| known == letter);
                let summed = other.1.iter().filter(|letter| !labels.result.contains(letter));
                found.extend(
                    summed
                        .filter_map(axis)
                        .filter_map(|axis| meeting(function, own.0, axis, other.0)),
                );
            }
        }
        if op.is(&ops::gather::GATHER) {
            let axis = usize::try_from(ops::gather::axis(attrs)).unwrap_or_default();
            found.extend(meeting(function, args[0], axis, args[1]));
        }
        if op.is(&ops::observe::OBSERVE)
            && let Some((output, params)) = args.split_last()
        {
            let vectors = params.iter().filter(|param| function.ty(**param).rank() == 1);
            vectors.for_each(|param| classes(function, *param, *output, &mut found));
        }
    }
    found
}

/// Adds each axis of a parameter that becomes the axis of a vector of class scores.
fn classes(function: &Function, scores: Value, output: Value, found: &mut Vec<Met>) {
    found.extend(meeting(function, scores, 0, output));
    let NodeKind::Apply { op, args, attrs } = &function.nodes[scores].kind else {
        return;
    };
    if op.is_elementwise() {
        args.iter().for_each(|arg| classes(function, *arg, output, found));
    }
    if op.is(&ops::contract::CONTRACT) {
        let labels = ops::contract::parsed(attrs);
        for (operand, letters) in args.iter().zip([&labels.left, &labels.right]) {
            let axis = letters
                .iter()
                .position(|letter| labels.result.first() == Some(letter));
            found.extend(axis.and_then(|axis| meeting(function, *operand, axis, output)));
        }
    }
}

/// Pairs an axis of `site` with the input or output `port`. Returns `None` if `site` is
/// not a parameter of the model, or if `port` is not an input or output.
fn meeting(function: &Function, site: Value, axis: usize, port: Value) -> Option<Met> {
    let NodeKind::Apply { op, attrs, .. } = &function.nodes[site].kind else {
        return None;
    };
    let name = op
        .is(&ops::sample::SAMPLE)
        .then(|| ops::sample::site(attrs).clone())?;
    Some(Met {
        site: name,
        rank: function.ty(site).rank(),
        axis,
        size: *function.ty(site).dims().get(axis)?,
        port: function.param_name(port)?.clone(),
    })
}

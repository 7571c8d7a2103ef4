//! Finds the link of a linear predictor: the scale, such as the logarithm of the output, on which its terms
//! are added.

use super::Linear;
use bnnc_abi::design::PredictorLink;
use bnnc_base::arena::Id;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::Value;
use bnnc_graph::ops;

/// Returns the link of a root. Returns `None` if observations depend on the root through an operation that also depends on
/// other parameters.
pub(super) fn link(found: &Linear<'_>, root: Value) -> Option<PredictorLink> {
    let mut links: Vec<Option<PredictorLink>> = vec![None; found.function.nodes.len()];
    links[root.index()] = Some(PredictorLink::Identity);
    let mut observed: Vec<PredictorLink> = Vec::new();
    for user in found.function.nodes.ids().filter(|user| found.used[user.index()]) {
        let args = found.function.args(user);
        let of_args = args.iter().enumerate();
        let reached: Vec<(usize, PredictorLink)> = of_args
            .filter_map(|(at, arg)| Some((at, links[arg.index()]?)))
            .collect();
        if reached.is_empty() {
            continue;
        }
        if found.is(user, &[&ops::observe::OBSERVE]) {
            let dist = ops::observe::dist(found.attrs(user));
            observed.extend(reached.iter().map(|(at, link)| of_parameter(dist, *at, *link)));
            continue;
        }
        let is_reached = |arg: &Value| links[arg.index()].is_some();
        if args.iter().any(|arg| found.depends(*arg) && !is_reached(arg)) {
            return None;
        }
        links[user.index()] = Some(match reached[..] {
            [(at, link)] => after(found, (user, at), link),
            _ => PredictorLink::Other,
        });
    }
    let is_same = observed.windows(2).all(|pair| pair[0] == pair[1]);
    Some(match observed.first() {
        Some(first) if is_same => *first,
        _ => PredictorLink::Other,
    })
}

/// Returns the link of an operation's result. Only the operand `at` of this operation has a link.
fn after(found: &Linear<'_>, (user, at): (Value, usize), link: PredictorLink) -> PredictorLink {
    let is_exp = found.is(user, &[&ops::exp::EXP]) && link == PredictorLink::Identity;
    // The logarithm of a reciprocal is the negative logarithm.
    let is_reciprocal = found.is(user, &[&ops::div::DIV]) && link == PredictorLink::Log;
    if is_exp || is_reciprocal {
        PredictorLink::Log
    } else if found.is_linear_in(user, at) {
        link
    } else {
        PredictorLink::Other
    }
}

/// Returns the link of a predictor that is the parameter `at` of an output's distribution. If the distribution is one of positive numbers, a real
/// parameter such as the location of `LogNormal` acts on the logarithmic scale.
fn of_parameter(dist: &Instance, at: usize, link: PredictorLink) -> PredictorLink {
    let is_positive =
        matches!(dist.support, Support::Interval(low, high) if low == 0.0 && high == f64::INFINITY);
    match (link, dist.supports.get(at)) {
        (PredictorLink::Identity, Some(Support::Real)) if is_positive => PredictorLink::Log,
        (_, None) => PredictorLink::Other,
        _ => link,
    }
}

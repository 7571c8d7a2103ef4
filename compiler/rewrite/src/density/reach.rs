//! Finds outputs with a bounded mean.

use super::Densities;
use crate::nodes;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_graph::analysis::ranges::refined_ranges;
use bnnc_graph::dist::range;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::Model;
use bnnc_graph::op::Interval;
use bnnc_graph::ops;

impl Densities {
    /// Returns an interval that contains the mean of an output, for all possible values of
    /// parameters and data. The interval is computed op by op. For example, the
    /// mean of `Normal(tanh(f), s)` lies between -1 and 1. Returns `None` in three cases: the
    /// distribution does not define a mean, both ends of the interval are infinite, or the interval
    /// is a single point.
    pub fn mean_range(&self, output: &str, model: &Model) -> Option<(f64, f64)> {
        let own = PortName::Mean.of(output);
        let of_output = self.predictions.iter().filter(|found| *found.output == *output);
        let (function, mean) = of_output
            .filter_map(|found| {
                let mean = found.function.result(PortName::Mean.text());
                Some((&found.function, mean.or_else(|| found.function.result(&own))?))
            })
            .next()?;
        let data = model.shared.iter().chain(&model.inputs).chain(&model.outputs);
        let supports = data.map(|input| (&input.name, input.support));
        let supports: Vec<_> = supports
            .chain(model.sites.iter().map(|site| (&site.name, site.support)))
            .collect();
        let of_param = |name: &str| {
            let known = supports.iter().find(|(known, _)| ***known == *name);
            known.map_or(Interval::REALS, |(_, support)| range(*support))
        };
        let params = function.params.iter();
        let bounds: Vec<Interval> = params
            .map(|param| of_param(nodes::param_name(function, *param)))
            .collect();
        let bounds = *ranges_of_powers(function, &bounds).get(mean.index())?;
        let is_bounded = bounds.lo > f64::NEG_INFINITY || bounds.hi < f64::INFINITY;
        (is_bounded && bounds.lo < bounds.hi).then_some((bounds.lo, bounds.hi))
    }
}

/// The largest number of nodes that the search for the factors of a product visits. Without this
/// limit, repeated squaring would double the number of nodes at each level. If there are more
/// nodes, some factors stay products.
const MOST_FACTORS: usize = 64;

/// Computes bounds of every value with the rules of its op. For a product, bounds of the powers of
/// its factors are used, so `x * x` is never negative.
fn ranges_of_powers(function: &Function, params: &[Interval]) -> Vec<Interval> {
    refined_ranges(function, params, |value, range, before| {
        let NodeKind::Apply { op, args, attrs } = &function.nodes[value].kind else {
            return range;
        };
        if op.is(&ops::mul::MUL) {
            return range.clip(product(function, value, before));
        }
        let is_square = op.is(&ops::contract::CONTRACT) && args[0] == args[1] && {
            let labels = ops::contract::parsed(attrs);
            labels.left == labels.right
        };
        match is_square {
            true => range.clip(Interval::NON_NEGATIVE),
            false => range,
        }
    })
}

/// Computes the bounds of a product from bounds of each factor, raised to its power.
fn product(function: &Function, value: Value, ranges: &[Interval]) -> Interval {
    let mut factors: Vec<(Value, usize)> = Vec::new();
    let mut rest = vec![value];
    let mut count = 0;
    while let Some(factor) = rest.pop() {
        count += 1;
        if function.applies(factor, &[&ops::mul::MUL]) && count <= MOST_FACTORS {
            rest.extend(function.args(factor));
            continue;
        }
        match factors.iter_mut().find(|(known, _)| *known == factor) {
            Some((_, times)) => *times += 1,
            None => factors.push((factor, 1)),
        }
    }
    let power = |(factor, times): (Value, usize)| {
        // The bounds of a factor are known, because all factors come before the product. The
        // fallback, all reals, is valid for every value.
        let base = ranges.get(factor.index()).copied().unwrap_or(Interval::REALS);
        let ends = base.monotone(|end| end.powi(i32::try_from(times).unwrap_or(i32::MAX)));
        match times % 2 == 0 && base.contains(0.0) {
            true => Interval::new(0.0, ends.hi),
            false => ends,
        }
    };
    let one = Interval::point(1.0);
    factors
        .into_iter()
        .map(power)
        .fold(one, |product, power| product.times(power))
}

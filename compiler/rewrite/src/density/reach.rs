//! Outputs whose means are bounded.

use super::Densities;
use crate::nodes;
use bnnc_graph::analysis::ranges::ranges;
use bnnc_graph::dist::range;
use bnnc_graph::model::Model;
use bnnc_graph::op::Interval;

impl Densities {
    /// The interval in which the mean of an output lies for all values of parameters and data, as far as the operations bound it: `Normal(tanh(f), s)`
    /// has a mean between -1 and 1. `None` where it has no mean, no bound, or one value only.
    pub fn mean_range(&self, output: &str, model: &Model) -> Option<(f64, f64)> {
        let own = format!("{output}.mean");
        let of_output = self.predictions.iter().filter(|found| *found.output == *output);
        let (function, mean) = of_output
            .filter_map(|found| {
                let mean = found.function.result("mean");
                Some((&found.function, mean.or_else(|| found.function.result(&own))?))
            })
            .next()?;
        let data = model.shared.iter().chain(&model.inputs).chain(&model.outputs);
        let supports = data.map(|input| (&input.name, input.support));
        let supports: Vec<_> = supports
            .chain(model.sites.iter().map(|site| (&site.name, site.support)))
            .collect();
        let of_param = |name: &str| {
            let mut known = supports.iter().filter(|(known, _)| ***known == *name);
            known
                .next()
                .map_or(Interval::REALS, |(_, support)| range(*support))
        };
        let params = function.params.iter();
        let bounds: Vec<Interval> = params
            .map(|param| of_param(nodes::param_name(function, *param)))
            .collect();
        let bounds = *ranges(function, &bounds).get(bnnc_base::arena::Id::index(mean))?;
        let is_bounded = bounds.lo > f64::NEG_INFINITY || bounds.hi < f64::INFINITY;
        (is_bounded && bounds.lo < bounds.hi).then_some((bounds.lo, bounds.hi))
    }
}

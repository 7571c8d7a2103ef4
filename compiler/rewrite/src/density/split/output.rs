//! What the only observation of a whole output says of it: its mean, a draw, the probabilities of its classes.

use super::{Random, Split};
use crate::density::{coordinates, prefix_noise};
use crate::rule;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

impl Split {
    /// The only observation, where it covers one whole output.
    fn whole(&self) -> Option<&Random> {
        let [observation] = &self.observations[..] else {
            return None;
        };
        if !self.looped.is_empty() {
            return None;
        }
        observation
            .value
            .filter(|value| self.outputs.contains(value))
            .map(|_| observation)
    }

    pub(super) fn mean(&self) -> Option<Function> {
        let observation = self.whole()?;
        self.of_output("mean", observation.distribution.mean.as_ref()?, observation)
    }

    pub(super) fn probabilities(&self) -> Option<Function> {
        let observation = self.whole()?;
        let distribution = &observation.distribution;
        match (&distribution.probabilities, &distribution.mean) {
            (Some(probabilities), _) => self.of_output("probabilities", probabilities, observation),
            (None, Some(mean)) if distribution.support == Support::Integers(2) => {
                self.two_classes(mean, observation)
            }
            (None, _) => None,
        }
    }

    fn two_classes(&self, mean: &Function, observation: &Random) -> Option<Function> {
        if observation.distribution.value.rank() > 0 {
            return None;
        }
        let mut builder = self.fork();
        let yes = builder.inline(mean, &observation.params)[0];
        let value = two_classes(&mut builder, yes);
        Some(self.finish_all(builder, "probabilities", value))
    }

    /// What the only observation of a whole output says of it, from its arguments.
    pub(super) fn predictive(&self) -> Function {
        let mut builder = Builder::new("predictive");
        let mut results: Vec<(Arc<str>, Value)> = Vec::new();
        let Some(observation) = self.whole() else {
            return builder.finish(results);
        };
        let distribution = &observation.distribution;
        let named = distribution.params.iter();
        let params: Vec<Value> = named
            .map(|(name, ty)| builder.param(&format!("0/{name}"), ty.clone()))
            .collect();
        let parts = [
            ("mean", &distribution.mean),
            ("variance", &distribution.variance),
            ("probabilities", &distribution.probabilities),
        ];
        for (name, part) in parts {
            if let Some(part) = part {
                results.push((name.into(), builder.inline(part, &params)[0]));
            }
        }
        if let (None, Some(mean), Support::Integers(2), 0) = (
            &distribution.probabilities,
            &distribution.mean,
            distribution.support,
            distribution.value.rank(),
        ) {
            let yes = builder.inline(mean, &params)[0];
            results.push(("probabilities".into(), two_classes(&mut builder, yes)));
        }
        if let Some(sampler) = &distribution.draw {
            let coordinates = coordinates(&mut builder);
            let args: Vec<Value> = params.iter().copied().chain(coordinates).collect();
            let value = builder.inline(&prefix_noise(sampler, "predictive"), &args)[0];
            results.push(("draw".into(), value));
        }
        rule::remove_dead(&builder.finish(results))
    }

    fn of_output(&self, name: &str, function: &Function, observation: &Random) -> Option<Function> {
        let mut builder = self.fork();
        let value = builder.inline(function, &observation.params)[0];
        Some(self.finish_all(builder, name, value))
    }

    pub(super) fn draw(&self) -> Option<Function> {
        let observation = self.whole()?;
        let sampler = observation.distribution.draw.as_ref()?;
        let mut builder = self.fork();
        let coordinates = coordinates(&mut builder);
        let args: Vec<Value> = observation.params.iter().copied().chain(coordinates).collect();
        let value = builder.inline(&prefix_noise(sampler, "predictive"), &args)[0];
        Some(self.finish_all(builder, "draw", value))
    }
}

/// A truth value is one of two classes; its mean is the probability of the second.
fn two_classes(builder: &mut Builder, yes: Value) -> Value {
    let one = builder.like(1.0, yes);
    let no = builder.sub(one, yes);
    let single = Shape::fixed(&[1]);
    let parts = [no, yes].map(|part| builder.reshape(part, &single));
    builder.concat(&parts, 0)
}

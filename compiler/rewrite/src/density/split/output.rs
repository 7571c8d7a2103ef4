//! The predictive quantities of an output whose elements all belong to one observation. They are
//! its mean, a draw, class probabilities, and its log density.

use super::{Random, Split};
use crate::density::{Prediction, coordinates, prefix_noise};
use crate::rule;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

/// The name of the noise stream for drawing outputs.
const PREDICTIVE: &str = "predictive";

/// An output whose elements all belong to one observation.
struct Whole<'a> {
    name: &'a Arc<str>,
    value: Value,
    /// The index of the observation among all observations.
    at: usize,
    observation: &'a Random,
}

impl Split {
    /// Returns, in order, the outputs whose elements all belong to one observation.
    fn whole(&self) -> impl Iterator<Item = Whole<'_>> {
        self.outputs.iter().filter_map(|(name, value)| {
            let observations = self.observations.iter().enumerate();
            let mut of_it = observations.filter(|(_, observation)| observation.value == Some(*value));
            let (Some((at, observation)), None) = (of_it.next(), of_it.next()) else {
                return None;
            };
            Some(Whole {
                name,
                value: *value,
                at,
                observation,
            })
        })
    }

    /// Returns whether the model has several outputs. If it does, the name of each result begins
    /// with the name of its output.
    fn has_several(&self) -> bool {
        self.outputs.len() > 1
    }

    /// Returns the port of a predictive quantity of an output. If the model has several outputs,
    /// the name of the port begins with the output.
    fn port_of(&self, output: &str, port: PortName) -> Arc<str> {
        match self.has_several() {
            false => port.into(),
            true => port.of(output).into(),
        }
    }

    /// Returns the name of the noise stream of an output.
    fn stream_of(&self, output: &str) -> String {
        match self.has_several() {
            false => PREDICTIVE.to_owned(),
            true => format!("{output}.{PREDICTIVE}"),
        }
    }

    pub(super) fn predictions(&self) -> Vec<Prediction> {
        let of_output = |output: Whole<'_>| {
            let (observation, distribution) = (output.observation, &output.observation.distribution);
            let named = |port: PortName, (builder, value): (Builder, Value)| {
                let name = self.port_of(output.name, port);
                rule::remove_dead(&builder.finish(vec![(name, value)]))
            };
            let inlined = |function: &Function| {
                let mut builder = self.fork();
                let value = builder.inline(function, &observation.params)[0];
                (builder, value)
            };
            let log_likelihood = self.has_several().then(|| {
                let mut builder = self.fork();
                let value = observation.log_density(&mut builder, Some(output.value));
                named(PortName::LogLikelihood, (builder, value))
            });
            let mean = distribution
                .mean
                .as_ref()
                .map(|mean| named(PortName::Mean, inlined(mean)));
            let draw = distribution.draw.as_ref().map(|sampler| {
                let mut builder = self.fork();
                let coordinates = coordinates(&mut builder);
                let args: Vec<Value> = observation.params.iter().copied().chain(coordinates).collect();
                let stream = self.stream_of(output.name);
                let value = builder.inline(&prefix_noise(sampler, &stream), &args)[0];
                named(PortName::Draw, (builder, value))
            });
            let probabilities = match (&distribution.probabilities, observation.truth()) {
                (Some(probabilities), _) => Some(inlined(probabilities)),
                (None, Some(mean)) => {
                    let (mut builder, yes) = inlined(mean);
                    let value = two_classes(&mut builder, yes);
                    Some((builder, value))
                }
                (None, None) => None,
            };
            let probabilities = probabilities.map(|found| named(PortName::Probabilities, found));
            let name = output.name.clone();
            let all = [log_likelihood, mean, draw, probabilities];
            all.into_iter().flatten().map(move |function| Prediction {
                output: name.clone(),
                function,
            })
        };
        self.whole().flat_map(of_output).collect()
    }

    /// Returns the predictive quantities of all outputs that belong to one observation each, as
    /// functions of the arguments of their distributions.
    pub(super) fn predictive(&self) -> Function {
        let mut builder = Builder::new(PREDICTIVE);
        let mut results: Vec<(Arc<str>, Value)> = Vec::new();
        // All outputs use the same coordinates of a draw. Their noise still differs, because their streams
        // have different names.
        let mut shared = None;
        for output in self.whole() {
            let (observation, distribution) = (output.observation, &output.observation.distribution);
            let name = |port: PortName| self.port_of(output.name, port);
            let named = distribution.params.iter();
            let params: Vec<Value> = named
                .map(|(name, ty)| builder.param(&format!("{}/{name}", output.at), ty.clone()))
                .collect();
            if self.has_several() {
                let ty = self.builder.function().ty(output.value).clone();
                let observed = builder.param(output.name, ty);
                let args: Vec<Value> = params.iter().copied().chain([observed]).collect();
                let value = builder.inline(&distribution.log_density, &args)[0];
                results.push((name(PortName::LogLikelihood), value));
            }
            let parts = [
                (PortName::Mean, &distribution.mean),
                (PortName::Variance, &distribution.variance),
                (PortName::Probabilities, &distribution.probabilities),
            ];
            for (port, part) in parts {
                if let Some(part) = part {
                    results.push((name(port), builder.inline(part, &params)[0]));
                }
            }
            if let (None, Some(mean)) = (&distribution.probabilities, observation.truth()) {
                let yes = builder.inline(mean, &params)[0];
                results.push((name(PortName::Probabilities), two_classes(&mut builder, yes)));
            }
            if let Some(sampler) = &distribution.draw {
                let coordinates = *shared.get_or_insert_with(|| coordinates(&mut builder));
                let args: Vec<Value> = params.iter().copied().chain(coordinates).collect();
                let value = builder.inline(&prefix_noise(sampler, &self.stream_of(output.name)), &args)[0];
                results.push((name(PortName::Draw), value));
            }
        }
        rule::remove_dead(&builder.finish(results))
    }
}

impl Random {
    /// If the observed value is a single Boolean, returns its mean, which is the probability of
    /// `true`.
    fn truth(&self) -> Option<&Function> {
        let is_truth =
            self.distribution.support == Support::Integers(2) && self.distribution.value.rank() == 0;
        self.distribution.mean.as_deref().filter(|_| is_truth)
    }
}

/// Returns the probabilities of `false` and `true`. The mean of a Boolean is the probability of `true`.
fn two_classes(builder: &mut Builder, yes: Value) -> Value {
    let one = builder.like(1.0, yes);
    let no = builder.sub(one, yes);
    let single = Shape::fixed(&[1]);
    let parts = [no, yes].map(|part| builder.reshape(part, &single));
    builder.concat(&parts, 0)
}

//! The deterministic part of a model, and the functions that are built from it.

mod output;

use super::{Densities, SitePrior, is_random};
use crate::nodes::{self, Scope};
use crate::{rule, unroll};
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use bnnc_graph::verify::function_attrs;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A `sample` or `observe` node whose operands are values in [`Split::builder`].
struct Random {
    /// The name of the site that a `sample` node draws, or of the observation that an `observe`
    /// node makes.
    name: Arc<str>,
    distribution: Arc<Instance>,
    params: Vec<Value>,
    /// The observed value. `None` for a `sample` node.
    value: Option<Value>,
}

/// Where the value of a running mean comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// The stored mean, which is a parameter of the function.
    Stored,
    /// The mean over the rows that are computed together.
    OfRows,
}

/// The deterministic part of a model: sites are parameters, and random nodes are recorded.
pub(super) struct Split {
    builder: Builder,
    priors: Vec<Random>,
    observations: Vec<Random>,
    /// The log densities of observations inside loops.
    looped: Vec<Value>,
    outputs: Vec<(Arc<str>, Value)>,
    derived: Vec<(Arc<str>, Value)>,
    /// The value that each running mean averages, with the name of the mean.
    running: Vec<(Arc<str>, Value)>,
}

impl Split {
    pub(super) fn new(model: &Model, means: Means) -> Split {
        let mut builder = Builder::new(&model.name);
        let places: HashMap<&Arc<str>, usize> = (model.sites.iter().enumerate())
            .map(|(at, site)| (&site.name, at))
            .collect();
        let mut scope = Scope::default();
        for site in &model.sites {
            scope.param(&mut builder, &site.name, site.ty.clone());
        }
        if means == Means::Stored {
            for mean in &model.running {
                scope.param(&mut builder, &mean.name, mean.ty.clone());
            }
        }
        let params = nodes::params_of(&mut builder, &model.function);
        let mut split = Split {
            builder,
            priors: Vec::new(),
            observations: Vec::new(),
            looped: Vec::new(),
            outputs: Vec::new(),
            derived: Vec::new(),
            running: Vec::new(),
        };
        let copies = model.function.map_nodes(params, |call, copies| {
            let args = copies.of(call.args);
            if call.op.is(&ops::sample::SAMPLE) {
                let random = random(call.attrs, args, None);
                let site = scope.get(&random.name);
                split.priors.push(random);
                site
            } else if call.op.is(&ops::observe::OBSERVE) {
                split.observe(call.attrs, args)
            } else if call.op.is(&ops::running_mean::RUNNING_MEAN) && means == Means::Stored {
                scope.get(ops::running_mean::name(call.attrs))
            } else if function_attrs(&model.function, call.value).any(is_random) {
                split.observe_looped(&args, call.attrs)
            } else {
                if call.op.is(&ops::running_mean::RUNNING_MEAN) {
                    let name = ops::running_mean::name(call.attrs);
                    split.running.push((PortName::Mean.of(name).into(), args[0]));
                }
                let copy = split.builder.apply(call.op.0, &args, call.attrs.to_vec());
                split.builder.label_as(copy, call.label);
                copy
            }
        });
        split.outputs = model
            .outputs
            .iter()
            .filter_map(|output| Some((output.name.clone(), split.builder.function().param(&output.name)?)))
            .collect();
        let derived = model.derived.iter();
        split.derived = derived
            .map(|(name, value)| (name.clone(), copies[*value]))
            .collect();
        // The priors follow the order of the model's sites. The order of the nodes may differ.
        split.priors.sort_by_key(|prior| places.get(&prior.name).copied());
        split
    }

    /// Builds the functions of the model.
    pub(super) fn densities(&self, model: &Model) -> Densities {
        Densities {
            log_priors: self.log_priors(model),
            log_prior: self.log_prior(model),
            observations: self.observations.iter().map(|o| o.distribution.clone()).collect(),
            likelihood_arguments: self.likelihood_arguments(model),
            log_likelihood: self.log_likelihood(model),
            row_log_likelihood: self.row(&[]),
            training_row: None,
            predictions: self.predictions(),
            predictive: self.predictive(),
            priors: self.priors(model),
            derived: self.derived(model),
        }
    }

    /// Returns the named quantities of the model that do not depend on the example.
    fn derived(&self, model: &Model) -> Function {
        // A `map` takes every value in scope as an operand. Which of these values it uses is known
        // only after it is expanded.
        let all = unroll::expand_maps(&self.fork().finish(self.derived.clone()));
        let moving = nodes::dependents_of(&all, |name| {
            let mut inputs = model.inputs.iter().chain(&model.outputs);
            let mut means = model.running.iter();
            inputs.any(|input| *input.name == *name) || means.any(|mean| *mean.name == *name)
        });
        let is_global =
            |(_, value): &&(Arc<str>, Value)| all.ty(*value).dtype == DType::Real && !moving.contains(value);
        let results = all.results.iter().filter(is_global).cloned().collect();
        let global = Function {
            results,
            ..all.clone()
        };
        nodes::with_params(&rule::remove_dead(&global), &HashSet::new())
    }

    /// Records an observation. Returns the log density of the observation. It replaces the
    /// `observe` node.
    fn observe(&mut self, attrs: &[Attr], mut args: Vec<Value>) -> Value {
        let value = args.pop();
        let random = random(attrs, args, value);
        let log_density = random.log_density(&mut self.builder, value);
        self.observations.push(random);
        log_density
    }

    /// Records the observations of a `map`. The log densities of these observations are summed over
    /// the positions of the `map`. Returns the value of the `map` itself. This value does not
    /// depend on this sum.
    fn observe_looped(&mut self, args: &[Value], attrs: &[Attr]) -> Value {
        let own = nodes::with_functions(attrs, |function| observed(function).0);
        let terms = nodes::with_functions(attrs, |function| observed(function).1);
        let terms = self.builder.apply(&ops::map::MAP, args, terms);
        let total = self.builder.reduce_sum_all(terms);
        self.looped.push(total);
        self.builder.apply(&ops::map::MAP, args, own)
    }

    /// Names the results. Removes the parameters that no result needs, except those named in `keep`.
    fn finish(
        &self,
        mut builder: Builder,
        results: Vec<(Arc<str>, Value)>,
        keep: &HashSet<&str>,
    ) -> Function {
        for (name, value) in &results {
            builder.label(*value, name);
        }
        nodes::with_params(&rule::remove_dead(&builder.finish(results)), keep)
    }

    fn fork(&self) -> Builder {
        let function = self.builder.function();
        let mut builder = Builder::new(&function.name);
        // The nodes are already hash-consed, so inlining them into an empty builder gives the same
        // nodes with the same ids. The results are not copied.
        let params = nodes::params_of(&mut builder, function);
        debug_assert_eq!(params, function.params);
        builder.inline(function, &params);
        builder
    }

    fn priors(&self, model: &Model) -> Vec<SitePrior> {
        let sites: HashSet<&str> = model.sites.iter().map(|site| &*site.name).collect();
        let of = |prior: &Random| {
            let results = prior.named_params(&prior.name);
            let arguments = nodes::slice(self.builder.function(), &results);
            let mut needed = arguments
                .params
                .iter()
                .filter_map(|param| arguments.param_name(*param));
            SitePrior {
                members: Vec::new(),
                site: prior.name.clone(),
                distribution: prior.distribution.clone(),
                depends_on: needed.find(|name| sites.contains(&***name)).cloned(),
                arguments,
            }
        };
        self.priors.iter().map(of).collect()
    }

    fn log_priors(&self, model: &Model) -> Function {
        let mut builder = self.fork();
        let results = self.log_prior_of_each(&mut builder);
        self.finish(builder, results, &global_names(model))
    }

    fn log_prior(&self, model: &Model) -> Function {
        let mut builder = self.fork();
        let mut sum = builder.real(0.0);
        for (_, value) in self.log_prior_of_each(&mut builder) {
            sum = builder.add(sum, value);
        }
        self.finish(
            builder,
            vec![(PortName::LogPrior.into(), sum)],
            &global_names(model),
        )
    }

    fn log_prior_of_each(&self, builder: &mut Builder) -> Vec<(Arc<str>, Value)> {
        let params = nodes::params_by_name(builder.function());
        let of = |prior: &Random| {
            let site = params.get(&prior.name).copied();
            (prior.name.clone(), prior.log_density(builder, site))
        };
        self.priors.iter().map(of).collect()
    }

    fn likelihood_arguments(&self, model: &Model) -> Function {
        let named = |(at, observation): (usize, &Random)| observation.named_params(&at.to_string());
        let mut results: Vec<(Arc<str>, Value)> =
            self.observations.iter().enumerate().flat_map(named).collect();
        let looped = self.looped.iter().enumerate();
        results.extend(looped.map(|(at, value)| (format!("looped/{at}").into(), *value)));
        let mut keep = global_names(model);
        keep.extend(model.inputs.iter().map(|input| &*input.name));
        self.finish(self.fork(), results, &keep)
    }

    fn log_likelihood(&self, model: &Model) -> Function {
        let mut builder = self.fork();
        let mut keep: HashSet<String> = model
            .outputs
            .iter()
            .map(|output| output.name.to_string())
            .collect();
        let mut sum = builder.real(0.0);
        for (at, observation) in self.observations.iter().enumerate() {
            let mut params = Vec::new();
            for (name, ty) in &observation.distribution.params {
                let name = format!("{at}/{name}");
                params.push(builder.param(&name, ty.clone()));
                keep.insert(name);
            }
            params.extend(observation.value);
            let term = builder.inline(&observation.distribution.log_density, &params)[0];
            sum = builder.add(sum, term);
        }
        for at in 0..self.looped.len() {
            let term = builder.param(&format!("looped/{at}"), Type::scalar());
            sum = builder.add(sum, term);
        }
        let keep = keep.iter().map(String::as_str).collect();
        self.finish(builder, vec![(PortName::LogLikelihood.into(), sum)], &keep)
    }

    /// Returns a function that computes the log likelihood of one row, and the values that the running means
    /// average.
    pub(super) fn training_row(&self) -> Function {
        self.row(&self.running)
    }

    /// Returns a function that computes the log likelihood of one row and `others`. It keeps all parameters.
    fn row(&self, others: &[(Arc<str>, Value)]) -> Function {
        let mut builder = self.fork();
        let mut sum = builder.real(0.0);
        for observation in &self.observations {
            let term = observation.log_density(&mut builder, observation.value);
            sum = builder.add(sum, term);
        }
        for term in &self.looped {
            sum = builder.add(sum, *term);
        }
        let mut results = vec![(PortName::LogLikelihood.into(), sum)];
        results.extend(others.iter().cloned());
        rule::remove_dead(&builder.finish(results))
    }
}

impl Random {
    fn log_density(&self, builder: &mut Builder, value: Option<Value>) -> Value {
        let args: Vec<Value> = self.params.iter().copied().chain(value).collect();
        builder.inline(&self.distribution.log_density, &args)[0]
    }

    fn named_params(&self, prefix: &str) -> Vec<(Arc<str>, Value)> {
        let name = |name: &Arc<str>| format!("{prefix}/{name}").into();
        self.distribution
            .params
            .iter()
            .zip(&self.params)
            .map(|((n, _), value)| (name(n), *value))
            .collect()
    }
}

/// Returns two versions of a function that contains observations. In the first version, log
/// densities replace the observations. The only result of the second version is the sum of these
/// log densities.
fn observed(function: &Function) -> (Function, Function) {
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let mut sum = builder.real(0.0);
    let copies = function.map_nodes(params, |call, copies| {
        let mut args = copies.of(call.args);
        if call.op.is(&ops::observe::OBSERVE) {
            let observed = args.pop();
            let term = random(call.attrs, args, observed).log_density(&mut builder, observed);
            sum = builder.add(sum, term);
            term
        } else {
            builder.apply(call.op.0, &args, call.attrs.to_vec())
        }
    });
    let own = builder.finish(function.results_in(&copies));
    let mut terms = own.clone();
    terms.results = vec![(PortName::LogDensity.into(), sum)];
    (own, terms)
}

/// Reads the attributes of a `sample` or `observe` node.
fn random(attrs: &[Attr], params: Vec<Value>, value: Option<Value>) -> Random {
    let distribution = attrs.iter().find_map(|attr| match attr {
        Attr::Dist(instance) => Some(instance.clone()),
        _ => None,
    });
    let name = attrs.iter().find_map(|attr| match attr {
        Attr::Symbol(name) => Some(name.clone()),
        _ => None,
    });
    let Some(distribution) = distribution else {
        unreachable!("a random node names its distribution")
    };
    Random {
        name: name.unwrap_or_default(),
        distribution,
        params,
        value,
    }
}

/// Returns the names of sites and shared inputs.
fn global_names(model: &Model) -> HashSet<&str> {
    let mut names: HashSet<&str> = model.sites.iter().map(|site| &*site.name).collect();
    names.extend(model.shared.iter().map(|input| &*input.name));
    names
}

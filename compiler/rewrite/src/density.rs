//! `density`: splits a probabilistic model into the functions that inference methods need.

mod reach;
mod split;
mod variance;

use crate::diagnostics::{self, RewriteError};
use crate::nodes;
use crate::pipeline::StageFunctions;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Shape;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, MeasureKind};
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::{Model, Site};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use bnnc_graph::verify::function_attrs;
use split::{Means, Split};
use std::collections::HashSet;
use std::sync::Arc;

/// A model, split into functions. The parameters of these functions have the paths of sites and the
/// names of inputs and outputs.
#[derive(Clone, Debug)]
pub struct Densities {
    /// The prior of each site, in the order of the model's sites.
    pub priors: Vec<SitePrior>,
    /// `(sites.., shared..) -> one real[] per site`: the log prior of each site. Each result has the name of
    /// its site.
    pub log_priors: Function,
    /// `(sites.., shared..) -> real[]`: the sum of the log priors.
    pub log_prior: Function,
    /// The distributions of the observations, in order.
    pub observations: Vec<Arc<Instance>>,
    /// `(sites.., shared.., inputs..) -> one result per parameter`: the arguments of the
    /// observation densities. A result is named by the number of its observation and the name of
    /// its parameter (`0/loc`). `looped/0` is the log density of the observations inside a loop. If
    /// observations depend on each other, as in an autoregression, the outputs are parameters too.
    pub likelihood_arguments: Function,
    /// `(arguments.., outputs..) -> real[]`: the sum of the log-likelihoods of all observations.
    pub log_likelihood: Function,
    /// `(sites.., shared.., inputs.., outputs..) -> real[]`: the log-likelihood as a function of the sites.
    pub row_log_likelihood: Function,
    /// Like `row_log_likelihood`, but each running mean is replaced by the mean over the rows that are computed together. The value that is
    /// averaged is an additional result, `NAME/mean`. `None` if the model does not have running means.
    pub training_row: Option<Function>,
    /// The predictive quantities of each output whose elements all belong to one observation.
    pub predictions: Vec<Prediction>,
    /// `(arguments.., draw, example, step) -> mean, variance, draw, probabilities`, for each output
    /// whose elements all belong to one observation. The results have the same names as in
    /// [`Prediction::function`]. A result is absent if the distribution of the output does not
    /// define it. If the model has several outputs, each output also has a result `log_likelihood`,
    /// which is computed from `(arguments.., outputs..)`.
    pub predictive: Function,
    /// `(the sites and shared inputs that are needed..) -> one result per name`: the named
    /// quantities of the model. Only real quantities that do not depend on the example are
    /// included.
    pub derived: Function,
}

/// The prediction function of one output.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The output.
    pub output: Arc<str>,
    /// Returns the `mean`, `draw` or `probabilities` of the output. The parameters are those of
    /// `(sites.., shared.., inputs.., outputs.., draw, example, step)` on which the output depends.
    /// If the model has several outputs, the names of the results begin with the output
    /// (`NAME.mean`), and `NAME.log_likelihood` is another result.
    pub function: Function,
}

impl StageFunctions for Densities {
    fn functions(&self) -> Vec<&Function> {
        let whole = [
            &self.log_prior,
            &self.likelihood_arguments,
            &self.log_likelihood,
            &self.row_log_likelihood,
            &self.predictive,
            &self.derived,
        ];
        let predictions = self.predictions.iter().map(|prediction| &prediction.function);
        whole
            .into_iter()
            .chain(&self.training_row)
            .chain(predictions)
            .collect()
    }
}

impl Densities {
    /// Returns whether the prediction of another output depends on the output with this name.
    pub fn is_given(&self, output: &str) -> bool {
        let others = self
            .predictions
            .iter()
            .filter(|prediction| *prediction.output != *output);
        let mut results = others.flat_map(|prediction| {
            let names = prediction.function.results.iter().map(|(name, _)| name);
            names.map(|name| (&prediction.function, name))
        });
        results.any(|(function, name)| dependences(function, name).iter().any(|on| **on == *output))
    }
}

/// The prior of one site.
#[derive(Clone, Debug)]
pub struct SitePrior {
    /// The site.
    pub site: Arc<str>,
    /// The distribution of the site under the prior.
    pub distribution: Arc<Instance>,
    /// `(the sites and shared inputs that are needed..) -> one result per parameter of the distribution`,
    /// in order.
    pub arguments: Function,
    /// A site on which the parameters of the prior depend. `None` if the parameters do not depend
    /// on a site.
    pub depends_on: Option<Arc<str>>,
    /// The members of a group, each with its own prior. The list is empty for the prior of a single
    /// site.
    pub members: Vec<(Site, SitePrior)>,
}

/// Splits `model` into functions. Returns a diagnostic if a prior depends on an example, the model
/// has local sites, the model does not observe anything, or the model uses a distribution that puts
/// all probability at one point. Random quantities inside a loop that cannot be moved out of it are
/// reported as a bug.
pub fn density(model: &Model) -> Result<Densities, RewriteError> {
    check(model)?;
    let mut densities = Split::new(model, Means::Stored).densities(model);
    if !model.running.is_empty() {
        densities.training_row = Some(Split::new(model, Means::OfRows).training_row());
    }
    let names: HashSet<&str> = model
        .inputs
        .iter()
        .chain(&model.outputs)
        .map(|input| &*input.name)
        .collect();
    let of_rows = nodes::dependents_of(&densities.log_priors, |name| names.contains(name));
    let row_dependent: HashSet<&Arc<str>> = (densities.log_priors.results.iter())
        .filter(|(_, value)| of_rows.contains(value))
        .map(|(name, _)| name)
        .collect();
    let mut sites = densities.priors.iter().map(|prior| &prior.site);
    match sites.find(|site| row_dependent.contains(site)) {
        Some(site) => Err(bug(format!("the prior of `{site}` depends on one example"))),
        None => Ok(densities),
    }
}

/// Returns an error about a graph that the compiler cannot produce from a checked program.
fn bug(why: String) -> RewriteError {
    RewriteError::Fault(Fault::Bug(why))
}

fn check(model: &Model) -> Result<(), RewriteError> {
    let mut faults = Vec::new();
    let values: Vec<Value> = model.function.nodes.ids().collect();
    let local = model.sites.iter().filter(|site| site.local);
    faults.extend(local.map(|site| diagnostics::local_site(&site.name)));
    if values.iter().any(|value| !is_factored(&model.function, *value)) {
        return Err(bug(format!("`{}` draws or observes inside a loop", model.name)));
    }
    let observes = |function: &Function| contains(function, &ops::observe::OBSERVE);
    let observes_looped = |value: &Value| function_attrs(&model.function, *value).any(observes);
    if !observes(&model.function) && !values.iter().any(observes_looped) {
        faults.push(diagnostics::observes_nothing(&model.name));
    }
    let attrs = model.function.nodes.iter().flat_map(|node| match &node.kind {
        NodeKind::Apply { attrs, .. } => attrs.as_slice(),
        NodeKind::Param(_) => &[],
    });
    let mut points = attrs.filter_map(|attr| match attr {
        Attr::Dist(found) if found.measure == MeasureKind::Point => Some(found),
        _ => None,
    });
    let point = points.next();
    faults.extend(point.map(|point| diagnostics::point_in_model(&model.name, &point.name)));
    Ok(diagnostics::unless(faults, ())?)
}

/// Returns whether the functions in a node's attributes do not contain random quantities.
/// Observations in the function of a `map` are allowed.
fn is_factored(function: &Function, value: Value) -> bool {
    let is_map = function.applies(value, &[&ops::map::MAP]);
    function_attrs(function, value).all(|inner| {
        let is_flat = inner
            .nodes
            .ids()
            .all(|deeper| !function_attrs(inner, deeper).any(is_random));
        let observes = contains(inner, &ops::observe::OBSERVE);
        is_flat && !contains(inner, &ops::sample::SAMPLE) && (is_map || !observes)
    })
}

fn is_random(function: &Function) -> bool {
    contains(function, &ops::sample::SAMPLE)
        || contains(function, &ops::observe::OBSERVE)
        || function
            .nodes
            .ids()
            .any(|value| function_attrs(function, value).any(is_random))
}

/// Returns whether an op occurs in `function`. Nested functions are not searched.
fn contains(function: &Function, op: &'static OpDef) -> bool {
    function.nodes.ids().any(|value| function.applies(value, &[op]))
}

/// Returns the names of the parameters on which a result depends.
pub fn dependences(function: &Function, result: &str) -> Vec<Arc<str>> {
    let Some(value) = function.result(result) else {
        return Vec::new();
    };
    let needed = needed_by(function, &[value]);
    let params = function.params.iter().filter(|param| needed.contains(param));
    params
        .filter_map(|param| function.param_name(*param).cloned())
        .collect()
}

/// Adds the parameters `draw`, `example` and `step`.
pub fn coordinates(builder: &mut Builder) -> [Value; 3] {
    let int = Type::int(Shape::scalar());
    PortName::COORDINATES.map(|port| builder.param(port.text(), int.clone()))
}

/// Adds `prefix` at the front of the names of all noise streams in `function`.
pub fn prefix_noise(function: &Function, prefix: &str) -> Function {
    let mut function = function.clone();
    for value in function.nodes.ids() {
        let NodeKind::Apply { op, attrs, .. } = &mut function.nodes[value].kind else {
            continue;
        };
        let streams = [&ops::noise::NOISE, &ops::gamma_noise::GAMMA_NOISE];
        if !op.is_one_of(&streams) {
            continue;
        }
        for (attr, spec) in attrs.iter_mut().zip(op.attrs) {
            if let (Attr::Symbol(site), "site") = (attr, spec.name) {
                let name = if site.is_empty() {
                    prefix.to_owned()
                } else {
                    format!("{prefix}/{site}")
                };
                *site = name.into();
            }
        }
    }
    function
}

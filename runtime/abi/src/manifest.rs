//! Everything the runtime needs to run a compiled file: data, infers with their programs, comparisons.

mod training;

pub use crate::binding::{Binding, Check, Codes, DataSource, Positions};
use crate::code::Artifact;
use crate::collapsed::Collapsed;
use crate::cost::Cost;
use crate::data::{DataSpec, Schema};
use crate::design::Design;
use crate::iterates::{Ensemble, Swag};
use crate::laplace::Laplace;
use crate::method::{self, MethodDef, MethodName};
use crate::metrics::Measure;
use crate::names::Names;
use crate::sampling::Sampling;
pub use crate::variational::KlWeight;
pub use crate::work::Work;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Shape;
use bnnc_base::support::Support;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
pub(crate) use training::MAP;
pub use training::{Length, OptimiserChoice, Pruning, Schedule, StartFrom, Train, Training};

/// A compiled file.
#[derive(Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// The program's path or name.
    pub program: String,
    /// The seed of every random number.
    pub seed: u64,
    /// The backend's name.
    pub backend: String,
    /// The data items that infers use.
    pub data: Vec<DataSpec>,
    /// The infers, in an order in which each comes after those it starts from.
    pub infers: Vec<Infer>,
    /// The `compare` items.
    pub compares: Vec<Compare>,
    /// The schemas of the data of this run before they are read, by item.
    #[serde(skip)]
    pub schemas: HashMap<String, Schema>,
}

/// A `compare` item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// The infers in the rows.
    pub infers: Vec<String>,
    /// The metrics in the columns.
    pub metrics: Vec<Measure>,
}

/// How a state tensor starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// Every element this value.
    Constant(f64),
    /// Independent uniforms between the two ends.
    Uniform(f64, f64),
    /// Independent normals with this mean and standard deviation.
    Normal(f64, f64),
    /// These elements.
    Values(Vec<f64>),
}

/// One tensor that an optimiser moves or keeps: a variational parameter or an optimiser's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The buffer's name in the programs, for example `hidden.w/loc` or `hidden.w/loc/m`.
    pub name: String,
    /// Its shape (static).
    pub shape: Shape,
    /// How it starts.
    pub init: Init,
    /// Whether it is a parameter (saved, used by predictions) or the optimiser's own.
    pub parameter: bool,
    /// Another infer's site whose value this state takes and keeps: `(infer, state)`.
    pub from: Option<(String, String)>,
}

/// A site of the posterior, for reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteReport {
    /// `hidden.w`.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// The family: `Normal`.
    pub family: String,
    /// Whether the family puts all its mass at one value.
    pub is_point: bool,
    /// Whether its parameter `scale` is the standard deviation.
    pub has_deviation: bool,
    /// How its KL is computed, with the reason.
    pub kl: String,
    /// How the likelihood takes the expectation over it: by a shared draw, or as its layer is treated.
    pub likelihood: String,
    /// The prior that its posterior is judged by.
    pub prior: PriorReport,
}

/// The facts about the prior of a site that do not depend on the values of its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorReport {
    /// Where values lie, after truncation to the declared type.
    pub support: Support,
    /// Whether its density has no finite integral.
    pub is_improper: bool,
    /// The least and the largest value that it makes plausible: one pair per element, or one for all, or none where it is not known.
    pub plausible: Vec<(f64, f64)>,
}

impl PriorReport {
    /// A proper prior of which nothing but its support is known.
    pub fn of(support: Support) -> PriorReport {
        PriorReport {
            support,
            is_improper: false,
            plausible: Vec::new(),
        }
    }

    /// The mean and the standard deviation of an element, if its prior is normal; none where its plausible values are not known.
    pub fn normal(&self, at: usize) -> Option<(f64, f64)> {
        let at = if self.plausible.len() == 1 { 0 } else { at };
        let (low, high) = *self.plausible.get(at)?;
        Some((0.5 * (low + high), 0.5 * (high - low) / PLAUSIBLE_DEVIATIONS))
    }
}

/// Half the width of the plausible values of a normal prior, in standard deviations.
const PLAUSIBLE_DEVIATIONS: f64 = 4.9;

/// The type of the elements of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputKind {
    /// Real values (regression): rmse, log_likelihood, coverage, crps.
    Real,
    /// Counts.
    Count,
    /// One of so many classes: accuracy, nll, brier, ece.
    Classes(usize),
    /// True or false: as two classes.
    Bool,
}

/// An output of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The name of the program's input buffer that holds it.
    pub name: String,
    /// Axes of one example.
    pub shape: Shape,
    /// The type of its elements.
    pub kind: OutputKind,
    /// Whether what is said of another output of the same example depends on it: predictions need its values then.
    pub given: bool,
    /// Whether its elements depend on each other: the program reads it where it says how it is distributed.
    pub series: bool,
    /// True if its elements have one joint distribution, such as `MultivariateNormal`: given the parameters they depend on each other.
    #[serde(default)]
    pub joint: bool,
    /// Whether its distribution has an infinite variance, whatever the parameters: draws have a standard deviation that says nothing.
    #[serde(default)]
    pub infinite_variance: bool,
    /// A parameter and the value up to which it makes the variance infinite.
    #[serde(default)]
    pub infinite_below: Option<(String, f64)>,
    /// True if no parameter moves the variance of its distribution, as in `Normal(f, 0.1)`.
    #[serde(default)]
    pub fixed_variance: bool,
    /// The name of its distribution, for messages.
    #[serde(default)]
    pub family: Option<String>,
    /// The interval in which its mean lies whatever the parameters and the data, where that has an end.
    #[serde(default)]
    pub mean_range: Option<(f64, f64)>,
}

impl Output {
    /// The number of elements of one example.
    pub fn elements(&self) -> usize {
        let sizes = self.shape.static_sizes().unwrap_or_default();
        sizes.iter().product()
    }
}

/// One compiled infer.
///
/// Programs and their ports (besides data ports and states, by name):
/// - [`Train::step`]: inputs `iteration` (int, from 1), `step` (int, from 0), `rate` (real), `scale` (real: rows in the data over
///   rows in this step), `kl_weight` (real: [`KlWeight`]); output `loss` (real: negative elbo of all rows),
///   and `outside` (real: the number of positions that parameters select outside their axes) where there may be any.
/// - `predict`: inputs `draw0` (int: number of the first draw), `row0` (int: number of the first row, so that the noise of a
///   row does not depend on how rows are grouped), `step` (int); symbols `draws` and `batch`; outputs
///   `log_likelihood` `[draws, batch]`, `mean` `[draws, batch, ..]`, `draw` `[draws, batch, ..]`, and
///   `probabilities` `[draws, batch, classes]` for classes; those that do not exist are absent. Where the model has several
///   outputs, `log_likelihood` is of all of them, and each has the four for itself, named by [`Infer::said_of`]. The positions of
///   [`Infer::reached`] are outputs besides, named as in [`Positions`]. Where the infer
///   samples, the states that move are `[draws, ..]`: one position per draw.
/// - `sites`: inputs `draw0`, `step`; symbol `draws`; one output per site, `[draws, ..]`, on the declared scale.
#[derive(Clone, Serialize, Deserialize)]
pub struct Infer {
    /// Its name.
    pub name: String,
    /// The method's name.
    #[serde(deserialize_with = "method::read_name")]
    pub method: MethodName,
    /// The data item's name.
    pub data: String,
    /// The width of reals.
    pub precision: Precision,
    /// The part that belongs to the method.
    pub work: Work,
    /// Predictions for rows.
    pub predict: Artifact,
    /// Draws of the sites.
    pub sites: Artifact,
    /// Predictions for rows before any was seen, with the ports of `predict` but for the states; else the reason why there are none.
    pub prior: Result<Artifact, String>,
    /// Parameters and optimiser state.
    pub states: Vec<State>,
    /// The sites.
    pub reports: Vec<SiteReport>,
    /// Data inputs.
    pub bindings: Vec<Binding>,
    /// Positions to check before rows are used.
    pub positions: Option<Positions>,
    /// Positions that depend on parameters, which `predict` computes as `position/0` and so on.
    pub reached: Vec<Check>,
    /// The parameters in which the model is linear, with the columns that they multiply.
    pub design: Design,
    /// The model's outputs, in order; at least one.
    pub outputs: Vec<Output>,
    /// The names of the positions along axes, and of classes.
    pub names: Names,
    /// The start.
    pub start: Option<Start>,
    /// Its cost, for the report.
    pub cost: Cost,
    /// Seconds it took to compile.
    pub compile_seconds: f64,
}

impl Infer {
    /// Draws that predictions average over.
    pub fn predictive_draws(&self) -> usize {
        self.work.part().predictive_draws()
    }

    /// The temperature of a posterior that is not at temperature one: its spread is not that of the posterior.
    pub fn tempered(&self) -> Option<f64> {
        let temperature = self.work.part().temperature();
        (temperature != 1.0).then_some(temperature)
    }
}

/// The start of an inference run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Start {
    /// The values that an earlier inference run found.
    Infer(String),
    /// A safetensors file.
    File(StartFile),
}

/// A safetensors file that holds sites by name on the declared scale, or states as [`Infer::states`] names them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartFile {
    /// Where it is.
    pub path: PathBuf,
    /// The sites whose values it has to hold.
    pub sites: Vec<StartSite>,
}

/// A site whose value a state stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartSite {
    /// `hidden.w`.
    pub site: String,
    /// `hidden.w/loc`.
    pub state: String,
    /// The shape on the declared scale.
    pub shape: Shape,
    /// Where its values lie.
    pub support: Support,
    /// Whether the state moves; one that a posterior fixes keeps its value, and the file need not hold the site.
    pub moves: bool,
}

impl Manifest {
    /// Every program, in an order that depends on the manifest alone.
    pub fn artifacts(&mut self) -> Vec<&mut Artifact> {
        self.infers.iter_mut().flat_map(Infer::artifacts).collect()
    }

    /// Makes this what it would be with another seed. The code must be objects.
    pub fn reseed(&mut self, seed: u64) {
        let from = std::mem::replace(&mut self.seed, seed);
        self.artifacts()
            .into_iter()
            .for_each(|artifact| artifact.reseed(from, seed));
    }
}

impl Infer {
    /// The number of examples that `rows` rows are: one where the model sees the whole file as one example.
    pub fn examples(&self, rows: usize) -> usize {
        match self.bindings.iter().all(|binding| binding.from.is_shared()) {
            true => rows.min(1),
            false => rows,
        }
    }

    /// Every program, in an order that depends on the infer alone.
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let mut all = self.work.part_mut().artifacts();
        all.extend([&mut self.predict, &mut self.sites]);
        all.extend(&mut self.prior);
        all.extend(self.positions.as_mut().map(|positions| &mut positions.program));
        all
    }

    /// The infers whose results it starts from, takes sites or iterates from, or ranks weights by.
    pub fn needs(&self) -> Vec<&str> {
        let start = self.start.iter().filter_map(|start| match start {
            Start::Infer(name) => Some(name.as_str()),
            Start::File(_) => None,
        });
        let taken = self.states.iter().filter_map(|state| state.from.as_ref());
        let of_work = self.work.part().needs();
        start
            .chain(taken.map(|(infer, _)| infer.as_str()))
            .chain(of_work)
            .collect()
    }

    /// Returns whether its optimiser maximises an evidence lower bound; otherwise it maximises the log density of the posterior.
    pub fn maximises_bound(&self) -> bool {
        method::lookup(self.method).is_some_and(MethodDef::maximises_bound)
    }

    /// Returns whether it finds one value of each parameter.
    pub fn finds_point(&self) -> bool {
        method::lookup(self.method).is_some_and(MethodDef::finds_point)
    }

    /// Returns whether predictions are integrals over some weights, and not means over draws of all.
    pub fn integrates(&self) -> bool {
        self.work.part().integrates()
    }

    /// The output, where the model has no other.
    pub fn only_output(&self) -> Option<&Output> {
        match &self.outputs[..] {
            [output] => Some(output),
            _ => None,
        }
    }

    /// Returns the name of a quantity of an output in programs, tables and results: `mean`, and `y.mean` where the model has
    /// several outputs.
    pub fn said_of(&self, output: &Output, what: &str) -> String {
        match self.only_output() {
            Some(_) => what.to_owned(),
            None => format!("{}.{what}", output.name),
        }
    }

    /// The field of the data that holds an output.
    pub fn column<'a>(&'a self, output: &'a Output) -> &'a str {
        let binding = self.bindings.iter().find(|binding| binding.port == output.name);
        match binding.map(|binding| &binding.from) {
            Some(DataSource::Field(name) | DataSource::Whole(name) | DataSource::Shared(name)) => name,
            Some(DataSource::Inputs | DataSource::Input(_) | DataSource::Row) | None => &output.name,
        }
    }

    /// The part that trains, where an optimiser has a part in finding the posterior.
    pub fn training(&self) -> Option<&Train> {
        self.work.part().training()
    }

    /// How it takes iterates, where a posterior is made of them.
    pub fn iterated(&self) -> Option<&Swag> {
        self.work.part().iterated()
    }

    /// The part that trains several times, where the posterior is an ensemble.
    pub fn ensemble(&self) -> Option<&Ensemble> {
        match &self.work {
            Work::Ensemble(ensemble) => Some(ensemble),
            _ => None,
        }
    }

    /// The part that integrates over weights, where it does.
    pub fn collapsed(&self) -> Option<&Collapsed> {
        match &self.work {
            Work::Collapsed(collapsed) => Some(collapsed),
            _ => None,
        }
    }

    /// The part that approximates, if the posterior is Gaussian around a maximum.
    pub fn laplace(&self) -> Option<&Laplace> {
        match &self.work {
            Work::Laplace(laplace) => Some(laplace),
            _ => None,
        }
    }

    /// The part that samples, if Markov chains find the posterior.
    pub fn sampling(&self) -> Option<&Sampling> {
        match &self.work {
            Work::Sample(sampling) => Some(sampling),
            _ => None,
        }
    }

    /// The states that predictions take one value per draw of.
    pub fn per_draw(&self) -> Vec<&str> {
        self.work.part().per_draw()
    }
}

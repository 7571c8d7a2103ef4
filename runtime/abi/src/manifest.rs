//! All data that the runtime needs to run a compiled file: data items, inference blocks with their programs, and comparisons.

pub use crate::binding::{Binding, Codes, DataSource, PositionCheck, Positions};
use crate::code::Artifact;
use crate::cost::Cost;
use crate::data::DataSpec;
use crate::design::Design;
use crate::method::{self, Finds, MethodDef, MethodName};
pub use crate::methods::Work;
use crate::methods::collapsed::Collapsed;
use crate::methods::iterates::{Ensemble, Swag};
use crate::methods::laplace::Laplace;
use crate::methods::sampling::Sampling;
pub use crate::methods::training::{Length, OptimiserChoice, Pruning, StartFrom, Train, Training};
pub use crate::methods::variational::KlWeight;
use crate::metrics::ComparedMetric;
use crate::names::Names;
use crate::ports::PortName;
pub use crate::rate_schedule::{RatePlan, RateSchedule, ScheduleArgument, ScheduleForm, ScheduleValue};
use crate::schema::Schema;
pub use crate::site_report::{PriorReport, SiteReport};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_base::support::Support;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// All data of a compiled file.
#[derive(Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// The path of the program, or its name if it does not have a path.
    pub program: String,
    /// The seed from which every random number is computed.
    pub seed: u64,
    /// The name of the backend.
    pub backend: String,
    /// The data items that inference blocks use.
    pub data: Vec<DataSpec>,
    /// The inference blocks, in an order in which each block comes after the blocks that it needs.
    pub infers: Vec<InferenceBlock>,
    /// The `compare` items of the program.
    pub compares: Vec<CompareBlock>,
    /// For each data item, the schema of its data in this run. The schemas are known before the data are read.
    #[serde(skip)]
    pub schemas: HashMap<String, Schema>,
}

/// A `compare` item: a table that compares inference blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareBlock {
    /// The inference blocks, one per row of the table.
    pub infers: Vec<String>,
    /// The metrics, one per column of the table.
    pub metrics: Vec<ComparedMetric>,
}

/// The initial value of a state tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// Every element has this value.
    Constant(f64),
    /// The elements are independent and uniform between the two bounds.
    Uniform(f64, f64),
    /// The elements are independent and normal with this mean and standard deviation.
    Normal(f64, f64),
    /// The elements have the given values.
    Values(Vec<f64>),
}

/// One tensor that an optimiser updates. It is a variational parameter, or a part of the optimiser's own state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The buffer's name in the programs, for example `hidden.w/loc` or `hidden.w/loc/m`.
    pub name: String,
    /// The shape, which is static.
    pub shape: Shape,
    /// The initial value of the state.
    pub init: Init,
    /// True if the state is a parameter, which is saved and used by predictions; false if the state belongs to the optimiser alone.
    pub parameter: bool,
    /// True if the state is the running mean of a quantity. Training steps change it, but the optimiser does not.
    #[serde(default)]
    pub is_running_mean: bool,
    /// The source of the value if another inference block found the value. This state is then fixed. The source is the name of that block and the
    /// name of its state.
    pub from: Option<(String, String)>,
}

/// The type of the elements of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputKind {
    /// Real values (regression), with the metrics rmse, log_likelihood, coverage and crps.
    Real,
    /// Counts: integers from 0.
    Count,
    /// One of this number of classes, with the metrics accuracy, nll, brier and ece.
    Classes(usize),
    /// A Boolean, which predictions treat as two classes.
    Bool,
}

impl OutputKind {
    /// Returns the number of classes, or `None` if the output is a number.
    pub fn classes(&self) -> Option<usize> {
        match self {
            OutputKind::Classes(classes) => Some(*classes),
            OutputKind::Bool => Some(2),
            OutputKind::Real | OutputKind::Count => None,
        }
    }
}

/// An output of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The name of the program's input buffer for this output.
    pub name: String,
    /// The axes of one example.
    pub shape: Shape,
    /// The type of the elements.
    pub kind: OutputKind,
    /// True if the distribution of another output of the same example depends on this output. Predictions then need the observed values of this
    /// output.
    pub given: bool,
    /// True if the model reads this output, as in `y[t] ~ Normal(b * y[t - 1], s)`. The elements of the output then depend on each other.
    pub series: bool,
    /// True if the elements have one joint distribution, such as `MultivariateNormal`. The elements may then be dependent given the parameters.
    #[serde(default)]
    pub joint: bool,
    /// True if the variance of the distribution is infinite for all parameter values. The standard deviation of draws is then meaningless.
    #[serde(default)]
    pub infinite_variance: bool,
    /// The name of a parameter of the distribution, and a bound. The variance is finite only if the value of the parameter exceeds the bound.
    #[serde(default)]
    pub infinite_below: Option<(String, f64)>,
    /// True if the variance of the distribution does not depend on any parameter, as in `Normal(f, 0.1)`.
    #[serde(default)]
    pub fixed_variance: bool,
    /// The name of the distribution of the output, for messages.
    #[serde(default)]
    pub family: Option<String>,
    /// The interval that contains the mean of the distribution for all values of parameters and data; `None` if no such interval is known.
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

/// One compiled inference block.
///
/// The programs and their ports, by name, are listed below. Data ports and states are left out:
/// - [`Train::step`] takes `iteration` (int, from 1), `step` (int, from 0), `rate` (real), `scale`
///   (real) and `kl_weight` (real: [`KlWeight`]). The scale is the number of rows in the data
///   divided by the number of rows in this step. The output is `loss` (real: the negative ELBO of
///   all rows). If parameters may select positions outside their axes, a second output is `outside`
///   (real: the number of these positions).
/// - `predict` takes `draw0` (int), `row0` (int) and `step` (int): the numbers of the first draw,
///   of the first row, and of the step. Because of `row0`, the noise of a row does not depend on
///   the way in which rows are grouped. The symbols are `draws` and `batch`. The outputs are
///   `log_likelihood` `[draws, batch]`, `mean` `[draws, batch, ..]`, `draw` `[draws, batch, ..]`,
///   and `probabilities` `[draws, batch, classes]` for classes. Quantities that do not exist are
///   absent. If the model has several outputs, `log_likelihood` covers all of them. In addition,
///   each output then has its own four quantities, named by [`InferenceBlock::quantity_name`]. The
///   positions in [`InferenceBlock::reached`] are further outputs, with the names that
///   [`Positions`] describes. If the inference block samples, states that move have the shape
///   `[draws, ..]`, with one position per draw.
/// - `sites` takes `draw0` and `step`; its symbol is `draws`. It returns the values of each site on
///   the declared scale, `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct InferenceBlock {
    /// The name of the inference block.
    pub name: String,
    /// The name of the inference method.
    #[serde(deserialize_with = "method::read_name")]
    pub method: MethodName,
    /// The data item's name.
    pub data: String,
    /// The width of reals.
    pub precision: Precision,
    /// The part that belongs to the method.
    pub work: Work,
    /// The program of predictions for rows.
    pub predict: Artifact,
    /// The program that computes draws of the sites.
    pub sites: Artifact,
    /// The program of prior predictions, or the reason why it does not exist. This program has the ports of `predict`, except the states.
    pub prior: Result<Artifact, NoPrior>,
    /// The states: parameters and the optimiser's own tensors.
    pub states: Vec<State>,
    /// The sites of the posterior, for reports.
    pub reports: Vec<SiteReport>,
    /// The inputs that hold data.
    pub bindings: Vec<Binding>,
    /// The positions that are checked before rows are used.
    pub positions: Option<Positions>,
    /// The outputs of `predict`, such as `position/0`, for positions that depend on parameters.
    pub reached: Vec<PositionCheck>,
    /// The parameters in which the model is linear, with the columns that they multiply.
    pub design: Design,
    /// The model's outputs, in order; at least one.
    pub outputs: Vec<Output>,
    /// The names of the positions along axes and the names of classes.
    pub names: Names,
    /// The start of the inference run, if one is given.
    pub start: Option<Start>,
    /// The cost of the inference block, for the report.
    pub cost: Cost,
    /// The time that the compilation of the inference block took, in seconds. Machine code that is compiled in the background is not included.
    pub compile_seconds: f64,
}

/// The reason why a model cannot predict from its prior.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoPrior(pub String);

impl InferenceBlock {
    /// Returns the number of draws over which predictions average.
    pub fn predictive_draws(&self) -> usize {
        self.work.part().predictive_draws()
    }

    /// Returns the temperature, or `None` if it is 1. At another temperature, the spread of the draws differs from the spread of the posterior.
    pub fn tempered(&self) -> Option<f64> {
        let temperature = self.work.part().temperature();
        (temperature != 1.0).then_some(temperature)
    }
}

/// The source of the values from which an inference run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Start {
    /// The values that an earlier inference run found.
    Infer(String),
    /// The values in a safetensors file.
    File(StartFile),
}

/// A safetensors file. The file contains sites by name on the declared scale, or states under their names in [`InferenceBlock::states`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The sites whose values the file must hold.
    pub sites: Vec<StartSite>,
}

/// A site, and the state that holds its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartSite {
    /// The name of the site: `hidden.w`.
    pub site: String,
    /// The name of the state: `hidden.w/loc`.
    pub state: String,
    /// The shape on the declared scale.
    pub shape: Shape,
    /// The support of the values of the site.
    pub support: Support,
    /// True if the run may change the state. If a posterior fixes it, the file may omit its site.
    pub moves: bool,
}

impl Manifest {
    /// Returns every program, in an order that depends on the manifest alone.
    pub fn artifacts(&mut self) -> Vec<&mut Artifact> {
        self.infers
            .iter_mut()
            .flat_map(InferenceBlock::artifacts)
            .collect()
    }

    /// Changes the seed, and so the keys of all noise. The code of every program must be an object.
    pub fn reseed(&mut self, seed: u64) {
        let from = std::mem::replace(&mut self.seed, seed);
        self.artifacts()
            .into_iter()
            .for_each(|artifact| artifact.reseed(from, seed));
    }
}

impl InferenceBlock {
    /// Returns the number of examples in `rows` rows. If the model takes the whole file as one example, this is 1. It is 0 if the file does not have
    /// rows.
    pub fn examples(&self, rows: usize) -> usize {
        match self.bindings.iter().all(|binding| binding.from.is_shared()) {
            true => rows.min(1),
            false => rows,
        }
    }

    /// Returns every program, in an order that depends on the inference block alone.
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let mut all = self.work.part_mut().artifacts();
        all.extend([&mut self.predict, &mut self.sites]);
        all.extend(&mut self.prior);
        all.extend(self.positions.as_mut().map(|positions| &mut positions.program));
        all
    }

    /// Removes the inputs that the model declares but that no program reads.
    pub fn drop_unread(&mut self) {
        let read: HashSet<Arc<str>> = self
            .artifacts()
            .iter()
            .flat_map(|program| program.plan.read_ports())
            .collect();
        let outputs = &self.outputs;
        let is_output = |port: &str| outputs.iter().any(|output| output.name == port);
        self.bindings
            .retain(|binding| is_output(&binding.port) || read.contains(&*binding.port));
    }

    /// Returns the sources of the values that predictions read: inputs, and outputs on which other outputs depend.
    pub fn sources(&self) -> Vec<&DataSource> {
        let is_predicted = |port: &str| {
            let mut outputs = self.outputs.iter();
            outputs.any(|output| output.name == port && !output.given)
        };
        let bindings = self.bindings.iter();
        let read = bindings.filter(|binding| !is_predicted(&binding.port));
        read.map(|binding| &binding.from).collect()
    }

    /// Returns the inference blocks that must run before this block, because this block starts from their values, uses their sites or iterates, or
    /// ranks weights by their posterior.
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

    /// Returns whether the optimiser maximises an evidence lower bound. If it does not, it maximises the log density of the posterior.
    pub fn maximises_bound(&self) -> bool {
        method::lookup(self.method).is_some_and(MethodDef::maximises_bound)
    }

    /// Returns whether the method finds a single value of each parameter.
    pub fn finds_point(&self) -> bool {
        method::lookup(self.method).is_some_and(MethodDef::finds_point)
    }

    /// Returns whether the posterior of a training is a single value of each parameter. Predictions then do not differ between draws.
    pub fn is_point(&self) -> bool {
        let is_trained = method::lookup(self.method).is_some_and(|method| method.finds == Finds::Training);
        is_trained && self.reports.iter().all(|site| site.is_point)
    }

    /// Returns whether predictions are integrals over some weights instead of means over draws of all weights.
    pub fn integrates(&self) -> bool {
        self.work.part().integrates()
    }

    /// Returns the output if the model has only one.
    pub fn only_output(&self) -> Option<&Output> {
        match &self.outputs[..] {
            [output] => Some(output),
            _ => None,
        }
    }

    /// Returns the port by which prediction programs return a quantity of an output. The port name begins with the name of the output if the model
    /// has several outputs.
    pub fn port_of(&self, output: &Output, port: PortName) -> String {
        match self.only_output() {
            Some(_) => port.text().to_owned(),
            None => port.of(&output.name),
        }
    }

    /// Returns the name of a quantity of an output in tables and results: `mean`, or `y.mean` if the model has several outputs.
    pub fn quantity_name(&self, output: &Output, what: &str) -> String {
        match self.only_output() {
            Some(_) => what.to_owned(),
            None => format!("{}.{what}", output.name),
        }
    }

    /// Returns the name of the data field that contains the values of an output.
    pub fn column<'a>(&'a self, output: &'a Output) -> &'a str {
        self.column_of(&output.name)
    }

    /// Returns the name of the data field that contains the values of a port. If the values are not a field, returns
    /// the name of the port.
    pub fn column_of<'a>(&'a self, port: &'a str) -> &'a str {
        match self.binding(port).map(|binding| &binding.from) {
            Some(DataSource::Field(name) | DataSource::Whole(name) | DataSource::Shared(name)) => name,
            Some(DataSource::Inputs | DataSource::Input(_) | DataSource::Row) | None => port,
        }
    }

    /// Returns the binding of a port, if data are bound to the port.
    pub fn binding(&self, port: &str) -> Option<&Binding> {
        self.bindings.iter().find(|binding| binding.port == port)
    }

    /// Returns the report of a site.
    pub fn report(&self, site: &str) -> Option<&SiteReport> {
        self.reports.iter().find(|report| report.name == site)
    }

    /// Returns the part that trains; `None` if the posterior is found without an optimiser.
    pub fn training(&self) -> Option<&Train> {
        self.work.part().training()
    }

    /// Returns the options that select iterates; `None` for a posterior without iterates.
    pub fn iterated(&self) -> Option<&Swag> {
        self.work.part().iterated()
    }

    /// Returns the part that trains several times; `None` if the posterior is not an ensemble.
    pub fn ensemble(&self) -> Option<&Ensemble> {
        match &self.work {
            Work::Ensemble(ensemble) => Some(ensemble),
            _ => None,
        }
    }

    /// Returns the part that integrates over weights; `None` for other methods.
    pub fn collapsed(&self) -> Option<&Collapsed> {
        match &self.work {
            Work::Collapsed(collapsed) => Some(collapsed),
            _ => None,
        }
    }

    /// Returns the part that approximates the posterior by a Gaussian around a maximum; `None` for other methods.
    pub fn laplace(&self) -> Option<&Laplace> {
        match &self.work {
            Work::Laplace(laplace) => Some(laplace),
            _ => None,
        }
    }

    /// Returns the part that samples; `None` if the posterior is not found by Markov chains.
    pub fn sampling(&self) -> Option<&Sampling> {
        match &self.work {
            Work::Sampling(sampling) => Some(sampling),
            _ => None,
        }
    }

    /// Returns the program that processes all training rows, in steps or at once.
    pub fn step(&self) -> &Artifact {
        match (self.training(), self.sampling()) {
            (Some(train), _) => &train.step,
            (None, Some(sampling)) => &sampling.density,
            (None, None) => &self.predict,
        }
    }

    /// Returns the sizes of one step if there are `rows` training rows.
    pub fn step_sizes(&self, rows: usize) -> Sizes {
        match (self.training(), self.sampling()) {
            (Some(train), _) => train.sizes(rows),
            (None, Some(sampling)) => sampling.gradient_sizes(rows),
            (None, None) => Sizes::default().with(Symbol::Batch, rows),
        }
    }

    /// Returns the states for which prediction programs take one value per draw.
    pub fn per_draw(&self) -> Vec<&str> {
        self.work.part().per_draw()
    }
}

//! The programs of an inference block that samples, and the transitions that its chains make, with their options.

mod adaptation;
mod options;
pub mod samplers;
mod schedule;

use crate::code::Artifact;
use crate::method::conflict::OptionConflict;
use crate::method::declare::{OptionField, OptionGroup};
use crate::part::{DataExtent, MethodPart};
pub use adaptation::{Adaptation, MetricKind};
use bnnc_base::shape::{Sizes, Symbol};
pub use options::{ChainOptions, DiagnosedQuantities, DrawStorage, LooPolicy};
pub use samplers::{EvaluationRows, SamplerKind, SamplerPart, Transition};
pub use schedule::Steps;
use serde::{Deserialize, Serialize};

/// The part of an inference block that samples.
///
/// The programs and their ports are listed below. A position is one unconstrained tensor per site.
/// The position is stored in the states of the inference block:
/// - `density` takes the states, the data ports and `scale` (real); its symbol is `batch`. It
///   returns `log_density` (real) and `STATE/gradient` for each state that moves. The log density
///   is the log prior plus the log Jacobian plus `scale` times the sum over rows of `log p(row)`.
///   If [`Sampling::lanes`] is above 1, the states that move and all outputs have a leading axis
///   `draws`, with one entry per chain: `[draws, ..]`.
/// - `rows` takes the states and the data ports; its symbol is `batch`. It returns `log_prior`
///   (real: log prior plus log Jacobian) and `log_likelihood` `[batch]`.
/// - If there is a [`Prepare`], both `density` and `rows` take its columns as inputs. Data and
///   states that only the program of [`Prepare`] reads are then not inputs of `density` and `rows`.
/// - For each state that moves, [`crate::manifest::InferenceBlock::predict`] and
///   [`crate::manifest::InferenceBlock::sites`] take one position per draw, `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sampling {
    /// The program that computes, once before the chains start, the values that do not depend on
    /// the position.
    pub prepare: Option<Prepare>,
    /// The program that computes the log density and its gradient.
    pub density: Artifact,
    /// The number of chains whose positions one run of `density` evaluates in lockstep. Every run
    /// evaluates exactly this number of positions. Therefore, the results of a chain do not depend
    /// on the other chains.
    pub lanes: usize,
    /// The program that computes the log likelihood of each row.
    pub rows: Artifact,
    /// The sampled states. Concatenated in this order, they form a position. All other states keep
    /// their initial values.
    pub moved: Vec<String>,
    /// The sites in the non-centred parameterisation. Each site is given by its index in
    /// [`crate::manifest::InferenceBlock::reports`].
    pub noncentred: Vec<usize>,
    /// The sampled sites that the model compares or rounds. The likelihood may be a discontinuous
    /// function of them.
    #[serde(default)]
    pub jumps: Vec<String>,
    /// The sites in the centred parameterisation whose prior scale is itself a parameter.
    #[serde(default)]
    pub centred: Vec<String>,
    /// The options that all samplers share.
    pub options: ChainOptions,
    /// The transition that one iteration of a chain makes.
    pub transition: Transition,
}

/// The program that computes the values that depend only on data and on states that are not sampled.
#[derive(Clone, Serialize, Deserialize)]
pub struct Prepare {
    /// The program that computes the values. The inputs are the states that are not sampled and the
    /// data ports (symbol `batch`); the outputs are the columns.
    pub program: Artifact,
    /// The outputs of the program.
    pub columns: Vec<PreparedColumn>,
}

/// One output of [`Prepare`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedColumn {
    /// The name of the port: an output of [`Prepare`], and an input of `density` and `rows`.
    pub name: String,
    /// The number of elements of one row or, if all rows share the elements, the number of all
    /// elements.
    pub width: usize,
    /// True if each row has its own elements; false if all rows share them.
    pub of_row: bool,
}

impl Sampling {
    /// Returns the sizes of programs that are called with `rows` rows. The data have `examples` rows in total.
    pub fn sizes(&self, rows: usize, examples: usize) -> Sizes {
        Sizes::default()
            .with(Symbol::Batch, rows.max(1))
            .with(Symbol::Examples, examples)
            .with(Symbol::Draws, self.lanes)
    }

    /// Returns the sizes for the gradient evaluations of one chain. If the sampler uses batches, the gradient is
    /// evaluated on a batch. Otherwise, it is evaluated on all rows.
    pub(crate) fn gradient_sizes(&self, rows: usize) -> Sizes {
        let batch = self.transition.part().evaluation(rows).gradient;
        self.sizes(batch, rows).with(Symbol::Draws, 1)
    }
}

impl MethodPart for Sampling {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let prepare = self.prepare.iter_mut().map(|prepare| &mut prepare.program);
        prepare.chain([&mut self.density, &mut self.rows]).collect()
    }

    fn predictive_draws(&self) -> usize {
        self.options.predictive_draws
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        let of_chains = self.options.place(option);
        of_chains.or_else(|| self.transition.place(option))
    }

    fn check(&self, extent: DataExtent<'_>) -> Result<(), OptionConflict> {
        self.transition.part().check(extent.schema.train, &self.options)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.moved.iter().map(String::as_str).collect()
    }

    fn held(&self) -> Option<&[String]> {
        Some(&self.moved)
    }

    fn noncentred(&self) -> &[usize] {
        &self.noncentred
    }

    fn temperature(&self) -> f64 {
        self.options.temperature
    }
}

//! The Laplace approximation: the programs from which a Gaussian around a maximum is built, and its options.
//!
//! The vector `f(x, w)` contains the arguments of the observed distributions that depend on the
//! row. Each argument is mapped to the reals by the bijector of its support. Together, the
//! arguments have `outputs` elements. The weights `w` are the sites on which `f` depends. Every
//! other site (a noise level, a hyperparameter) keeps the value that the search found.

mod options;

use crate::code::Artifact;
use crate::method::conflict::OptionConflict;
use crate::method::declare::{OptionField, OptionGroup};
use crate::methods::training::{Train, Training};
use crate::part::{DataExtent, MethodPart};
use crate::plan::Plan;
use crate::site_report::SiteReport;
pub(crate) use options::RECORD;
pub use options::{
    CurvatureKind, GaussianOptions, Link, Over, PriorPrecision, PriorStructure, Score, Structure,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The part of an inference block that approximates the posterior by a Gaussian around each
/// maximum.
///
/// The programs and their ports, apart from states and data ports, are listed below. Index `n` runs
/// over the rows of a call (symbol `batch`), and `k` runs over cotangents (symbol `columns`):
/// - `rows` returns `outputs` `[batch, outputs]`, `log_likelihood` `[batch]`, `slope`
///   `[batch, outputs]` (`d log p / d f`) and `curvature` `[batch, outputs, outputs]`
///   (`- d2 log p / d f2`).
/// - `gradient` returns `log_likelihood` (the sum over all rows of the call) and its gradient
///   `STATE/gradient` `[elements]`.
/// - `jacobian` takes `cotangents` `[batch, columns, outputs]`. For each state in `weights`, it
///   returns `STATE/jacobian` `[batch, columns, elements]`: the products `cotangents . df/dw`.
/// - `selected` returns the same products for selected weights only: `jacobian`
///   `[batch, columns, selected]`. The inputs `STATE/index` `[selected]` (int) and `STATE/chosen`
///   `[selected]` (real) select the weights. If column `s` stands for an element of a state,
///   `STATE/chosen` is 1 there and `STATE/index` is the position of the element; otherwise, both
///   are 0. The memory of this program does not depend on the number of weights.
/// - `squares` takes `cotangents`. It returns `STATE/squares` `[elements]`: the squares of the
///   elements of the Jacobian, summed over `n` and `k`.
/// - `spread` takes `cotangents` and `STATE/variance` `[elements]`. It returns `spread`
///   `[batch, columns, columns]`: the product `J diag(variance) J'`, where `J` is the Jacobian.
/// - `factors` takes `cotangents`. It is used for blocks whose Jacobian is an outer product of `a`
///   and `g`. It returns `BLOCK/left` `[left, left]`, the sum of `a a'` over rows, and
///   `BLOCK/right` `[right, right]`, the sum of `g g'` over rows and columns.
/// - `rotated` takes `cotangents` and three inputs for each block. The rows of `BLOCK/first`
///   `[p, p]` and `BLOCK/second` `[q, q]` are the eigenvectors of the factors of the block, in the
///   order of [`WeightBlock::extents`]. The third input, `BLOCK/variance` `[p, q]`, contains the
///   variances of the rotated coordinates. The output is `spread`, as for the program `spread`.
/// - `products` takes `STATE/vector` `[columns, elements]`. It returns `STATE/product`
///   `[columns, elements]`: the negative second derivative of the log likelihood, summed over rows,
///   times the vectors.
/// - `prior` takes the states and the inputs that all rows share. It returns `log_prior` (with log
///   Jacobians), its derivative `STATE/slope` `[elements]`, and `STATE/precision` `[elements]`. The
///   precision is the negative second derivative times a vector of ones, which is its diagonal if
///   the elements are independent. For states that move but are not in `weights`, `STATE/slope` is
///   the derivative of `log_prior_of_all`, the log prior of all sites.
/// - `prior_products` has the ports of `products`, but uses the second derivative of the log prior.
/// - `functions` takes `outputs` `[draws, batch, outputs]`, `draw0`, `row0` and `step`. It has the
///   outputs of [`crate::manifest::InferenceBlock::predict`]. If the distribution of an output
///   states its variance, it also returns `variance` `[draws, batch, ..]`, which is the variance of
///   the output given `f`.
/// - `inputs` takes `cotangents` and `STATE/vector` `[batch, columns, elements]`. For each real
///   input of a row, it returns two derivatives with respect to this input, `[batch, columns, ..]`:
///   `INPUT/slope` of `cotangent . f`, and `INPUT/bend` of `cotangent . df/dw . vector`. Let `P` be
///   the precision and `J` the Jacobian. The derivative of the variance of `c . f` is twice
///   `INPUT/bend` at the vector `P^-1 J' c'`.
/// - If the search is `online`, the step of `train` takes `STATE/` [`PRIOR_FACTOR`] and `STATE/`
///   [`EVIDENCE_SLOPE`] `[elements]` for each state that moves.
/// - For each state in `weights`, [`crate::manifest::InferenceBlock::predict`] and
///   [`crate::manifest::InferenceBlock::sites`] take one value per draw, `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Laplace {
    /// The search for the maximum. If `search` is false, the search has zero epochs.
    pub train: Train,
    /// True if the maximum is searched for; false if the start already is the maximum.
    pub search: bool,
    /// The weights that the approximation covers.
    pub weights: Vec<Weights>,
    /// The free states that affect the likelihood of a row given `f`, but not `f` itself, such as a noise level.
    pub noise: Vec<String>,
    /// The number of scalars in all sites on which the outputs depend, including sites that are not
    /// approximated. This number is the `D` in the formula `S / D` for the prior scale of a subnetwork.
    pub parameters: usize,
    /// The number of elements of `f`.
    pub outputs: usize,
    /// The form of the likelihood.
    pub likelihood: Likelihood,
    /// True if the elements of the weights are independent under the prior, given the other sites.
    pub independent: bool,
    /// The compiled programs of the approximation.
    pub programs: Programs,
    /// The blocks of `factors`.
    pub blocks: Vec<WeightBlock>,
    /// The options of the approximation.
    pub options: GaussianOptions,
    /// The plans for a smaller approximation, which needs less memory. Absent if this approximation already
    /// has a subnetwork or a diagonal precision.
    pub smaller: Option<Box<Smaller>>,
}

/// A port of the training step. The derivative of the log prior with respect to a state is
/// multiplied by the factor in this port.
pub const PRIOR_FACTOR: &str = "prior/factor";

/// A port of the training step. The term in this port is added to the derivative of the log posterior
/// with respect to a state. With this term, the derivative becomes the derivative of the log marginal
/// likelihood.
pub const EVIDENCE_SLOPE: &str = "evidence/slope";

/// The plans for a smaller approximation of the same model, which needs less memory. The programs of these
/// plans are not compiled. Before an error about memory recommends the smaller approximation, these
/// plans show whether it would fit into memory.
#[derive(Clone, Serialize, Deserialize)]
pub struct Smaller {
    /// The weights from which a subnetwork is chosen: all weights except those of layers with running means.
    pub weights: Vec<Weights>,
    /// The plan of [`Programs::selected`] for these weights.
    pub selected: Plan,
    /// The plan of [`Programs::squares`] for these weights.
    pub squares: Plan,
    /// The plan of [`Programs::squares`] for the approximated weights, which a diagonal precision
    /// needs.
    pub diagonal: Plan,
    /// The plan of [`Programs::spread`] for the approximated weights.
    pub spread: Plan,
    /// The plan of [`Programs::products`] for these weights, if the curvature needs this program.
    pub products: Option<Plan>,
    /// The plan of [`crate::manifest::InferenceBlock::predict`] with draws of these weights.
    pub predict: Plan,
    /// The plan of [`crate::manifest::InferenceBlock::sites`].
    pub sites: Plan,
}

impl MethodPart for Laplace {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let Programs {
            rows,
            gradient,
            jacobian,
            selected,
            squares,
            spread,
            factors,
            rotated,
            products,
            prior,
            prior_products,
            inputs,
            functions,
        } = &mut self.programs;
        let mut all = self.train.artifacts();
        all.extend([rows, gradient, prior, inputs, functions]);
        let some = [
            jacobian,
            selected,
            squares,
            spread,
            factors,
            rotated,
            products,
            prior_products,
        ];
        all.extend(some.into_iter().flatten());
        all
    }

    fn predictive_draws(&self) -> usize {
        self.train.predictive_draws()
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        let own = self.options.place(option);
        own.or_else(|| self.train.place(option))
    }

    fn option_was_set(&mut self, option: &str) {
        self.train.options.option_was_set(option);
        if option == Training::epochs().as_str() || option == Training::steps().as_str() {
            self.search = self.train.options.epochs != Some(0);
        }
    }

    fn check(&self, _: DataExtent<'_>) -> Result<(), OptionConflict> {
        self.options.check_search(self.search, !self.noise.is_empty())
    }

    fn training(&self) -> Option<&Train> {
        Some(&self.train)
    }

    fn training_mut(&mut self) -> Option<&mut Train> {
        Some(&mut self.train)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.weights.iter().map(|weights| &*weights.state).collect()
    }

    fn needs(&self) -> Option<&str> {
        self.options.over.ranked_by()
    }

    fn temperature(&self) -> f64 {
        self.options.temperature
    }

    /// Returns false, because the states contain the maximum but not the variances.
    fn has_spread(&self, _: &[SiteReport]) -> bool {
        false
    }
}

/// The compiled programs of a Laplace approximation. Programs that the options do not need are
/// absent.
#[derive(Clone, Serialize, Deserialize)]
pub struct Programs {
    /// Computes `f`, the log likelihood of each row, and its first and second derivatives with
    /// respect to `f`.
    pub rows: Artifact,
    /// Computes the gradient of the log likelihood.
    pub gradient: Artifact,
    /// Computes Jacobians with respect to all weights.
    pub jacobian: Option<Artifact>,
    /// Computes Jacobians with respect to selected weights.
    pub selected: Option<Artifact>,
    /// Computes, for each weight, the sum of the squares of its Jacobian elements.
    pub squares: Option<Artifact>,
    /// Computes `J D J'` for Jacobians `J` and a diagonal matrix `D`.
    pub spread: Option<Artifact>,
    /// Computes Kronecker factors.
    pub factors: Option<Artifact>,
    /// Computes `J M J'` for Jacobians `J` and a matrix `M` that is diagonal in the eigenbases of
    /// Kronecker factors.
    pub rotated: Option<Artifact>,
    /// Multiplies vectors by the negative second derivative of the log likelihood.
    pub products: Option<Artifact>,
    /// Computes the log prior and its curvature.
    pub prior: Artifact,
    /// Multiplies vectors by the negative second derivative of the log prior.
    pub prior_products: Option<Artifact>,
    /// Computes derivatives with respect to the inputs of a row.
    pub inputs: Artifact,
    /// Computes predictions from `f`.
    pub functions: Artifact,
}

/// A site that the approximation covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// The name of the state with the position of the site: `hidden.w/loc`.
    pub state: String,
    /// The name of the site: `hidden.w`.
    pub site: String,
    /// The number of elements of the position.
    pub elements: usize,
    /// True if the support of the site is the reals, so that the value of the site equals its position.
    pub real: bool,
}

impl Weights {
    /// Returns the number of elements of all these weights.
    pub fn count(all: &[Weights]) -> usize {
        all.iter().map(|weights| weights.elements).sum()
    }

    /// Returns each entry with the range of its elements in the vector of all these weights.
    pub fn placed(all: &[Weights]) -> impl Iterator<Item = (&Weights, Range<usize>)> {
        let mut end = 0;
        all.iter().map(move |weights| {
            let start = end;
            end += weights.elements;
            (weights, start..end)
        })
    }
}

/// A diagonal block of a Kronecker-factored curvature. The element for row `i` of `left` and row
/// `j` of `right` has the index `i * right + j`. If the block is `swapped`, its index is
/// `j * left + i`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightBlock {
    /// The prefix of the names of the block's outputs.
    pub name: String,
    /// The site that contains the block, by its index in [`Laplace::weights`].
    pub weights: usize,
    /// The number of rows of the left factor. The number of rows is 1 if the right factor is the
    /// whole block; the output `BLOCK/left` then does not exist.
    pub left: usize,
    /// The number of rows of the right factor.
    pub right: usize,
    /// True if, from element to element of the block, the row of the left factor changes faster
    /// than the row of the right factor.
    pub swapped: bool,
}

impl WeightBlock {
    /// Returns the sizes of the two factors. The factor whose row changes more slowly from element
    /// to element comes first.
    pub fn extents(&self) -> (usize, usize) {
        match self.swapped {
            true => (self.right, self.left),
            false => (self.left, self.right),
        }
    }
}

/// The form of the likelihood of one row, given `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Likelihood {
    /// Normal around `f`, with a scale that is the same for all rows.
    Normal,
    /// Classes with logits `f`.
    Categorical,
    /// A Boolean with the logit `f`.
    Bernoulli,
    /// Any other likelihood.
    Other,
}

//! Laplace's approximation: the programs from which a Gaussian around a maximum is built, and the options that say how.
//!
//! The weights `w` are the sites that move what a row is likely by: `f(x, w)`, the arguments of the observed distributions that depend on the
//! row, each brought onto the reals by the bijection of its support and laid out in one vector of `outputs` elements. Every other
//! site (a noise level, a hyperparameter) keeps the value that the search found.

mod options;

use crate::code::Artifact;
use crate::manifest::{SiteReport, Train, Training};
use crate::method::declare::OptionGroup;
use crate::plan::Plan;
use crate::steering::{Place, Refusal};
use crate::work::{Extent, MethodPart};
pub(crate) use options::RECORD;
pub use options::{Curvature, Link, Options, Over, PriorPrecision, PriorStructure, Score, Structure};
use serde::{Deserialize, Serialize};

/// The part of an infer that approximates the posterior by Gaussians around maxima.
///
/// Programs and their ports, besides states and data ports. `n` runs over the rows of a call (symbol `batch`), `k` over cotangents
/// (symbol `columns`):
/// - `rows`: outputs `outputs` `[batch, outputs]`, `log_likelihood` `[batch]`, `slope` `[batch, outputs]` (`d log p / d f`) and `curvature`
///   `[batch, outputs, outputs]` (`- d2 log p / d f2`).
/// - `gradient`: outputs `log_likelihood` (of all rows of the call) and `STATE/gradient` `[elements]` of it.
/// - `jacobian`: input `cotangents` `[batch, columns, outputs]`; outputs `cotangents . df/dw`: `STATE/jacobian` `[batch, columns, elements]` for
///   each of `weights`.
/// - `selected`: as `jacobian`, with the inputs `STATE/index` `[selected]` (int) and `STATE/chosen` `[selected]` (real, 1 where the column is an
///   element of this state, else 0 with index 0); the only output is `jacobian` `[batch, columns, selected]`. Its memory does not depend
///   on the number of weights.
/// - `squares`: input `cotangents`; outputs `STATE/squares` `[elements]`: the sums over `n` and `k` of the squares of the Jacobian.
/// - `spread`: inputs `cotangents` and `STATE/variance` `[elements]`; output `spread` `[batch, columns, columns]`: the Jacobian times the
///   diagonal matrix of the variances times the Jacobian transposed.
/// - `factors`: input `cotangents`; outputs `BLOCK/left` `[left, left]` and `BLOCK/right` `[right, right]`: sums over rows of `a a'`, and over rows and
///   columns of `g g'`, where the Jacobian of a block is the outer product of `a` and `g`.
/// - `turned`: inputs `cotangents`, and for each of the blocks `BLOCK/first` `[p, p]` and `BLOCK/second` `[q, q]`, whose rows are the eigenvectors of its factors in the order of
///   [`Block::extents`], and `BLOCK/variance` `[p, q]` of the coordinates; output `spread` as above.
/// - `products`: inputs `STATE/vector` `[columns, elements]`; outputs `STATE/product` `[columns, elements]`: minus the second derivative of the sum over rows of
///   `log p`, times the vectors.
/// - `prior`: inputs the states and what all rows share; outputs `log_prior` (with log-Jacobians), `STATE/slope` `[elements]`, its derivative, and
///   `STATE/precision` `[elements]`: minus its second derivative times a vector of ones, which is the diagonal where the elements are independent;
///   for other states that move, `STATE/slope` of the log prior of all sites, which is `log_prior_of_all`.
/// - `prior_products`: as `products`, of the log prior.
/// - `functions`: inputs `outputs` `[draws, batch, outputs]`, `draw0`, `row0`, `step`; outputs as [`crate::manifest::Infer::predict`], and `variance` `[draws,
///   batch, ..]` of the output given `f` where its distribution states one.
/// - `inputs`: inputs `cotangents` and `STATE/vector` `[batch, columns, elements]`; outputs `INPUT/slope` and `INPUT/bend` `[batch, columns, ..]` for each real input
///   of a row: the derivatives in it of `cotangent . f` and of `cotangent . df/dw . vector`. The derivative of the variance of `c . f` is twice the
///   second one at the vector `P^-1 J' c'`.
/// - the step of `train`, where the search is `online`: inputs `STATE/` [`PRIOR_FACTOR`] and `STATE/` [`EVIDENCE_SLOPE`] `[elements]` for each state that moves.
/// - [`crate::manifest::Infer::predict`] and [`crate::manifest::Infer::sites`] take `[draws, ..]` for each of `weights`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Laplace {
    /// How the maximum is found; none of its epochs are run where `search` is false.
    pub train: Train,
    /// Whether the maximum is searched; else the start is taken for it.
    pub search: bool,
    /// The weights that the approximation covers.
    pub weights: Vec<Weights>,
    /// The states that move and have no say in `f`, but in how likely a row is given it, such as a noise level.
    pub noise: Vec<String>,
    /// Scalars among all sites that move the outputs, approximated or not: `D` in the scale of the prior of a subnetwork.
    pub parameters: usize,
    /// Elements of `f`.
    pub outputs: usize,
    /// The form of the likelihood.
    pub likelihood: Likelihood,
    /// Whether the elements of the weights are independent under the prior, given the other sites.
    pub independent: bool,
    /// The programs.
    pub programs: Programs,
    /// The blocks of `factors`.
    pub blocks: Vec<Block>,
    /// The options.
    pub options: Options,
    /// An approximation that would need less memory; absent if this one is already of a chosen subnetwork or a diagonal.
    pub smaller: Option<Box<Smaller>>,
}

/// A port of the training step: what the slope of the log prior by a state is multiplied by.
pub const PRIOR_FACTOR: &str = "prior/factor";

/// A port of the training step: what is added to the slope of the log posterior by a state, as that of the log marginal likelihood.
pub const EVIDENCE_SLOPE: &str = "evidence/slope";

/// The programs of an approximation of the same model with less memory, planned but not compiled: an error about memory can check that it fits before it recommends it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Smaller {
    /// All weights, among which a subnetwork chooses.
    pub weights: Vec<Weights>,
    /// [`Programs::selected`] of them.
    pub selected: Plan,
    /// [`Programs::squares`] of them.
    pub squares: Plan,
    /// [`Programs::squares`] of the weights that are approximated, which are those of a diagonal.
    pub diagonal: Plan,
    /// [`Programs::spread`] of these.
    pub spread: Plan,
    /// [`Programs::products`] of all weights, where the curvature takes it.
    pub products: Option<Plan>,
    /// [`crate::manifest::Infer::predict`] with all weights drawn.
    pub predict: Plan,
    /// [`crate::manifest::Infer::sites`].
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
            turned,
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
            turned,
            products,
            prior_products,
        ];
        all.extend(some.into_iter().flatten());
        all
    }

    fn predictive_draws(&self) -> usize {
        self.train.predictive_draws()
    }

    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        let own = self.options.place(option);
        own.or_else(|| self.train.place(option))
    }

    fn steered(&mut self, option: &str) {
        self.train.options.steered(option);
        if option == Training::epochs().as_str() || option == Training::steps().as_str() {
            self.search = self.train.options.epochs != Some(0);
        }
    }

    fn check(&self, _: Extent<'_>) -> Result<(), Refusal> {
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

    /// Its states are the maximum.
    fn has_spread(&self, _: &[SiteReport]) -> bool {
        false
    }
}

/// The programs that the options need; the others are absent.
#[derive(Clone, Serialize, Deserialize)]
pub struct Programs {
    /// `f`, its likelihood, and the derivatives of that.
    pub rows: Artifact,
    /// The gradient of the log likelihood.
    pub gradient: Artifact,
    /// Jacobians of all weights.
    pub jacobian: Option<Artifact>,
    /// Jacobians of selected weights.
    pub selected: Option<Artifact>,
    /// The diagonal of products of Jacobians.
    pub squares: Option<Artifact>,
    /// Jacobians around a diagonal matrix.
    pub spread: Option<Artifact>,
    /// Kronecker factors.
    pub factors: Option<Artifact>,
    /// Jacobians around a matrix that is diagonal in the eigenbases of Kronecker factors.
    pub turned: Option<Artifact>,
    /// Products of the second derivative of the likelihood.
    pub products: Option<Artifact>,
    /// The log prior and its curvature.
    pub prior: Artifact,
    /// Products of the second derivative of the prior.
    pub prior_products: Option<Artifact>,
    /// Derivatives in the inputs.
    pub inputs: Artifact,
    /// Predictions from `f`.
    pub functions: Artifact,
}

/// A site that is approximated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// The state that holds its position: `hidden.w/loc`.
    pub state: String,
    /// The site: `hidden.w`.
    pub site: String,
    /// Elements of the position.
    pub elements: usize,
    /// Whether the site lies on the reals, where its value is its position.
    pub real: bool,
}

/// A diagonal block of a Kronecker-factored curvature. Element `i * right + j` of its weights has row `i` of `left` and row `j` of `right`, or the other way
/// round where it is `swapped` (element `j * left + i`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The prefix of its outputs.
    pub name: String,
    /// Its number among the weights.
    pub weights: usize,
    /// The size of the left factor; 1 where the right one is the whole block, and there is no left output.
    pub left: usize,
    /// The size of the right factor.
    pub right: usize,
    /// The order of its elements.
    pub swapped: bool,
}

impl Block {
    /// The sizes of the factor whose rows are the outer ones of the elements, and of the other.
    pub fn extents(&self) -> (usize, usize) {
        match self.swapped {
            true => (self.right, self.left),
            false => (self.left, self.right),
        }
    }
}

/// The form of the likelihood of one row given `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Likelihood {
    /// Normal around `f`, with a scale that no row changes.
    Normal,
    /// Classes with logits `f`.
    Categorical,
    /// A truth value with the logit `f`.
    Bernoulli,
    /// Anything else.
    Other,
}

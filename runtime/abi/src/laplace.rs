//! The Laplace approximation: the programs from which a Gaussian around a maximum is built, and its options.
//!
//! `f(x, w)` are the arguments of the observed distributions that depend on the row. The bijector of its support maps each argument to the reals. All
//! arguments together are one vector of `outputs` elements. The weights `w` are the sites that affect `f`. Every other site (a noise level, a
//! hyperparameter) keeps the value that the search found.

mod options;

use crate::code::Artifact;
use crate::manifest::{SiteReport, Train, Training};
use crate::method::declare::OptionGroup;
use crate::plan::Plan;
use crate::steering::{OptionConflict, OptionField};
use crate::work::{DataExtent, MethodPart};
pub(crate) use options::RECORD;
pub use options::{
    CurvatureKind, GaussianOptions, Link, Over, PriorPrecision, PriorStructure, Score, Structure,
};
use serde::{Deserialize, Serialize};

/// The part of an inference block that approximates the posterior by Gaussians around maxima.
///
/// Programs and their ports, without states and data ports. `n` runs over the rows of a call (symbol `batch`), `k` over cotangents (symbol
/// `columns`):
/// - `rows`: outputs `outputs` `[batch, outputs]`, `log_likelihood` `[batch]`, `slope` `[batch, outputs]` (`d log p / d f`) and `curvature`
///   `[batch, outputs, outputs]` (`- d2 log p / d f2`).
/// - `gradient`: outputs `log_likelihood` (of all rows of the call) and its gradient, `STATE/gradient` `[elements]`.
/// - `jacobian`: input `cotangents` `[batch, columns, outputs]`; outputs `cotangents . df/dw`: `STATE/jacobian` `[batch, columns, elements]` for
///   each of `weights`.
/// - `selected`: as `jacobian`, with the inputs `STATE/index` `[selected]` (int) and `STATE/chosen` `[selected]` (real, 1 where the column is an
///   element of this state, else 0 with index 0); the only output is `jacobian` `[batch, columns, selected]`. Its memory does not depend
///   on the number of weights.
/// - `squares`: input `cotangents`; outputs `STATE/squares` `[elements]`: the sums over `n` and `k` of the squares of the Jacobian.
/// - `spread`: inputs `cotangents` and `STATE/variance` `[elements]`; output `spread` `[batch, columns, columns]`: `J diag(variance) J'`, where
///   `J` is the Jacobian.
/// - `factors`: input `cotangents`; outputs `BLOCK/left` `[left, left]` and `BLOCK/right` `[right, right]`: sums over rows of `a a'`, and over rows and
///   columns of `g g'`, where the Jacobian of a block is the outer product of `a` and `g`.
/// - `turned`: inputs `cotangents`, and for each of the blocks `BLOCK/first` `[p, p]` and `BLOCK/second` `[q, q]`, whose rows are the eigenvectors of
///   its factors in the order of [`WeightBlock::extents`], and `BLOCK/variance` `[p, q]` of the rotated coordinates; output `spread` as above.
/// - `products`: inputs `STATE/vector` `[columns, elements]`; outputs `STATE/product` `[columns, elements]`: minus the second derivative of the sum
///   over rows of `log p`, times the vectors.
/// - `prior`: inputs the states and the inputs that all rows share; outputs `log_prior` (with log Jacobians), its derivative `STATE/slope`
///   `[elements]`, and `STATE/precision` `[elements]`: minus its second derivative times a vector of ones, which is the diagonal if the elements are
///   independent. For the other states that move, `STATE/slope` is the derivative of `log_prior_of_all`, the log prior of all sites.
/// - `prior_products`: as `products`, for the log prior.
/// - `functions`: inputs `outputs` `[draws, batch, outputs]`, `draw0`, `row0`, `step`; outputs as [`crate::manifest::InferenceBlock::predict`], and `variance`
///   `[draws, batch, ..]`, the variance of the output given `f`, if its distribution states one.
/// - `inputs`: inputs `cotangents` and `STATE/vector` `[batch, columns, elements]`; outputs `INPUT/slope` and `INPUT/bend` `[batch, columns, ..]` for
///   each real input of a row: the derivatives with respect to the input of `cotangent . f` and of `cotangent . df/dw . vector`. The derivative of
///   the variance of `c . f` is twice `INPUT/bend` at the vector `P^-1 J' c'`, with the precision `P` and the Jacobian `J`.
/// - the step of `train`, if the search is `online`: inputs `STATE/` [`PRIOR_FACTOR`] and `STATE/` [`EVIDENCE_SLOPE`] `[elements]` for each state
///   that moves.
/// - [`crate::manifest::InferenceBlock::predict`] and [`crate::manifest::InferenceBlock::sites`] take `[draws, ..]` for each of `weights`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Laplace {
    /// The search for the maximum; none of its epochs runs if `search` is false.
    pub train: Train,
    /// True if the maximum is searched for; false if the start is used as the maximum.
    pub search: bool,
    /// The weights that the approximation covers.
    pub weights: Vec<Weights>,
    /// The free states that affect the likelihood of a row given `f`, but not `f` itself, such as a noise level.
    pub noise: Vec<String>,
    /// The number of scalars in all sites that affect the outputs, including sites that are not approximated. The scale of the prior of a subnetwork
    /// uses this number as `D`.
    pub parameters: usize,
    /// The number of elements of `f`.
    pub outputs: usize,
    /// The form of the likelihood.
    pub likelihood: Likelihood,
    /// True if the elements of the weights are independent under the prior, given the other sites.
    pub independent: bool,
    /// The programs.
    pub programs: Programs,
    /// The blocks of `factors`.
    pub blocks: Vec<WeightBlock>,
    /// The options.
    pub options: GaussianOptions,
    /// An approximation that would need less memory; absent if this one already has a subnetwork or a diagonal precision.
    pub smaller: Option<Box<Smaller>>,
}

/// A port of the training step: the factor on the derivative of the log prior with respect to a state.
pub const PRIOR_FACTOR: &str = "prior/factor";

/// A port of the training step: the term that is added to the derivative of the log posterior with respect to a state. The sum is the derivative of
/// the log marginal likelihood.
pub const EVIDENCE_SLOPE: &str = "evidence/slope";

/// The plans of the programs for an approximation that has the same model but needs less memory. The programs are not compiled. The plans show
/// whether the approximation fits into memory, before an error about memory recommends it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Smaller {
    /// All weights, from which a subnetwork is chosen.
    pub weights: Vec<Weights>,
    /// [`Programs::selected`] of all weights.
    pub selected: Plan,
    /// [`Programs::squares`] of all weights.
    pub squares: Plan,
    /// [`Programs::squares`] of the approximated weights, which a diagonal precision covers.
    pub diagonal: Plan,
    /// [`Programs::spread`] of the approximated weights.
    pub spread: Plan,
    /// [`Programs::products`] of all weights, if the curvature needs it.
    pub products: Option<Plan>,
    /// [`crate::manifest::InferenceBlock::predict`] with all weights drawn.
    pub predict: Plan,
    /// [`crate::manifest::InferenceBlock::sites`].
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

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        let own = self.options.place(option);
        own.or_else(|| self.train.place(option))
    }

    fn steered(&mut self, option: &str) {
        self.train.options.steered(option);
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

    /// Returns false, because the states contain only the maximum.
    fn has_spread(&self, _: &[SiteReport]) -> bool {
        false
    }
}

/// The compiled programs. Programs that the options do not need are absent.
#[derive(Clone, Serialize, Deserialize)]
pub struct Programs {
    /// `f`, the log likelihood of each row, and its first and second derivatives with respect to `f`.
    pub rows: Artifact,
    /// The gradient of the log likelihood.
    pub gradient: Artifact,
    /// Jacobians of all weights.
    pub jacobian: Option<Artifact>,
    /// Jacobians of selected weights.
    pub selected: Option<Artifact>,
    /// For each weight, the sum of the squares of its Jacobian elements.
    pub squares: Option<Artifact>,
    /// Products of Jacobians with a diagonal matrix between them.
    pub spread: Option<Artifact>,
    /// Kronecker factors.
    pub factors: Option<Artifact>,
    /// Products of Jacobians with a matrix between them that is diagonal in the eigenbases of Kronecker factors.
    pub turned: Option<Artifact>,
    /// Products of vectors with the second derivative of the log likelihood.
    pub products: Option<Artifact>,
    /// The log prior and its curvature.
    pub prior: Artifact,
    /// Products of vectors with the second derivative of the log prior.
    pub prior_products: Option<Artifact>,
    /// Derivatives with respect to the inputs.
    pub inputs: Artifact,
    /// Predictions from `f`.
    pub functions: Artifact,
}

/// A site that the approximation covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// The name of the state with the position of the site: `hidden.w/loc`.
    pub state: String,
    /// The site: `hidden.w`.
    pub site: String,
    /// The number of elements of the position.
    pub elements: usize,
    /// True if the support of the site is the reals, so that the value of the site equals its position.
    pub real: bool,
}

/// A diagonal block of a Kronecker-factored curvature. The element for row `i` of `left` and row `j` of `right` has the index `i * right + j`, or
/// `j * left + i` if the block is `swapped`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightBlock {
    /// The prefix of the names of the block's outputs.
    pub name: String,
    /// The site that contains the block, by its index in [`Laplace::weights`].
    pub weights: usize,
    /// The size of the left factor. If the right factor is the whole block, the size is 1 and the output `BLOCK/left` does not exist.
    pub left: usize,
    /// The size of the right factor.
    pub right: usize,
    /// True if the index of the left factor varies fastest.
    pub swapped: bool,
}

impl WeightBlock {
    /// Returns the sizes of the two factors, first that of the factor whose index varies slowest among the elements.
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
    /// Normal around `f`, with a scale that is the same for all rows.
    Normal,
    /// Classes with logits `f`.
    Categorical,
    /// A Boolean with the logit `f`.
    Bernoulli,
    /// Anything else.
    Other,
}

//! The options of the Laplace approximation.

use crate::method::conflict::OptionConflict;
use crate::method::declare::{OptionGroup, OptionValue, Ranking, RawOption, forms, join, options, words};
use crate::method::options::{POSITIVE, from, listed, with_record};
use crate::method::{Finds, MethodDef, OptionDef, OptionKind, Phase, Takes};
use crate::methods::training::Training;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of `laplace`.
pub(crate) const RECORD: MethodDef = MethodDef {
    name: "laplace",
    doc: "A Gaussian around the maximum of the posterior.",
    options: {
        const ALL: &[OptionDef] = listed![Training { precision = "f64" }, GaussianOptions];
        &with_record::<{ ALL.len() }>(join(&[ALL]), EPOCHS_OF_SEARCH)
    },
    takes: Takes::ModelOrFixed,
    finds: Finds::Laplace,
};

/// The number of epochs of a search for a maximum, which may be 0.
const EPOCHS_OF_SEARCH: OptionDef = OptionDef {
    name: Training::epochs().as_str(),
    doc: "Passes over the training rows in the search for the maximum; 0 uses the start as the maximum. If `epochs` is not set, `steps` sets the length; if neither is set, a given `start` is used as the maximum.",
    kind: from(0),
    default: "",
    phase: Phase::Run,
    synonyms: <Training as OptionGroup>::OPTIONS[0].synonyms,
};

options! {
    /// Options of `laplace`.
    pub struct GaussianOptions {
        /// The weights that are random: `all`, `last_layer`, layers or parameters in brackets, or `subnetwork(size, by = score)` with a number of
        /// weights (or a fraction below 1) and a score. The score of a weight is its variance under a `diagonal` approximation, its exact `marginal`
        /// variance, its `magnitude`, a `random` number, or its variance under an earlier inference block, given by name. A subnetwork leaves out layers
        /// with running means, such as `BatchNorm`. All other weights stay at the maximum.
        over: Over { "all", OptionKind::Weights(Score::WORDS), Phase::Compile };
        /// The form of the precision: `full`, `diagonal`, `kronecker` (a product of two factors per parameter), `low_rank(rank)` (the prior plus a
        /// matrix of this rank), `functional` (a kernel over all training rows), or `functional(rows)` (a kernel over this number of rows, chosen at
        /// random).
        structure: Structure { "full", Structure::KIND, Phase::Compile };
        /// The curvature of the log likelihood: `ggn` (generalised Gauss-Newton), `fisher` (empirical Fisher) or `hessian`.
        curvature: CurvatureKind { "ggn", CurvatureKind::KIND, Phase::Compile };
        /// The method of prediction. `weights` draws weights; all other methods linearise the network. `glm` uses a closed form for a Normal
        /// likelihood, `probit` for classes, and `monte_carlo` for other likelihoods. `probit` is the probit approximation, `bridge` and
        /// `bridge_normalised` are the Laplace bridge, and `monte_carlo` draws the network outputs.
        link: Link { "glm", Link::KIND, Phase::Compile };
        /// The factor on the precision of the prior: a number, or a factor that is tuned by the `marginal_likelihood` or on the `validation` rows.
        prior_precision: PriorPrecision { "1", OptionKind::NumberOr(1e-8, 1e8, &["marginal_likelihood", "validation"]), Phase::Run };
        /// The weights that share a factor: all weights (`scalar`) or the weights of one parameter (`layer`). With `diagonal`, each weight has its
        /// own factor.
        prior_structure: PriorStructure { "scalar", PriorStructure::KIND, Phase::Run };
        /// If S of D weights are random, multiplies their prior precision by S / D. Without a value, the option is true only for `subnetwork`.
        scale_prior: Option<bool> { "", OptionKind::Bool, Phase::Run };
        /// During the search for the maximum, tunes the factors on the prior precision, and a learned noise, by the marginal likelihood.
        online: bool { "false", OptionKind::Bool, Phase::Compile };
        /// The divisor of the log likelihood: 1 gives the posterior, any other number gives a tempered posterior.
        temperature: f64 { "1", POSITIVE, Phase::Run };
    }
}

impl GaussianOptions {
    /// Returns whether the prior precision is multiplied by `S / D` if `S` of `D` weights are
    /// random. If the option is not set, this is true only for subnetworks.
    pub fn scales_prior(&self) -> bool {
        self.scale_prior.unwrap_or(self.over.is_subnetwork())
    }
}

/// The form of the precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Structure {
    /// The full precision matrix.
    Full,
    /// The diagonal of the precision matrix.
    Diagonal,
    /// A Kronecker product of two factors per site.
    Kronecker,
    /// The precision of the prior plus a matrix of this rank.
    LowRank(usize),
    /// A kernel in function space over all training rows, or over this number of rows, which are
    /// chosen at random.
    Functional(Option<usize>),
}

forms!(Structure {
    "full" => Structure::Full,
    "diagonal" => Structure::Diagonal,
    "kronecker" => Structure::Kronecker,
    "low_rank"(rank) => Structure::LowRank(rank as usize),
    "functional" => Structure::Functional(None),
    "functional"(rows) => Structure::Functional(Some(rows as usize)),
});

/// The approximation of the curvature of the log likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CurvatureKind {
    /// The generalised Gauss-Newton matrix. The matrix uses second derivatives with respect to the
    /// outputs, and first derivatives of the outputs with respect to the weights.
    Ggn,
    /// The empirical Fisher matrix: the sum over rows of `g g'`, where `g` is the gradient of the
    /// log likelihood of the row.
    Fisher,
    /// The negative Hessian of the log likelihood.
    Hessian,
}

words!(CurvatureKind { "ggn" => Ggn, "fisher" => Fisher, "hessian" => Hessian });

/// The random weights, or the weights from which a method chooses the random weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Over {
    /// The weights of all sites that affect the outputs.
    All,
    /// The weights of the last layer.
    LastLayer,
    /// The weights of the named layers and sites.
    Names(Vec<Arc<str>>),
    /// The weights with the highest scores.
    Subnetwork {
        /// The size of the subnetwork: the number of weights if it is at least 1, otherwise a
        /// fraction of all weights.
        size: f64,
        /// The score of a weight.
        by: Score,
    },
}

impl OptionValue for Over {
    fn read(given: RawOption<'_>) -> Option<Over> {
        match given {
            RawOption::Call("all", []) => Some(Over::All),
            RawOption::Call("last_layer", []) => Some(Over::LastLayer),
            RawOption::Names(names) => Some(Over::Names(names.to_vec())),
            RawOption::Subnetwork(size, Ranking::Infer(name)) => Some(Over::Subnetwork {
                size,
                by: Score::Infer(name.to_owned()),
            }),
            RawOption::Subnetwork(size, Ranking::Score(word)) => Some(Over::Subnetwork {
                size,
                by: Score::of(word)?,
            }),
            _ => None,
        }
    }
}

impl Over {
    /// Returns whether the weights with the highest scores are chosen.
    pub fn is_subnetwork(&self) -> bool {
        matches!(self, Over::Subnetwork { .. })
    }

    /// Returns the earlier inference block whose posterior ranks the weights, if the options name
    /// such a block.
    pub fn ranked_by(&self) -> Option<&str> {
        match self {
            Over::Subnetwork {
                by: Score::Infer(infer),
                ..
            } => Some(infer),
            Over::Subnetwork { .. } | Over::All | Over::LastLayer | Over::Names(_) => None,
        }
    }
}

/// The score by which the weights of a subnetwork are chosen; the weights with the highest scores
/// are random.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Score {
    /// The variance of the weight under a diagonal approximation.
    Diagonal,
    /// The marginal variance of the weight under the full precision.
    Marginal,
    /// The absolute value of the weight at the maximum.
    Magnitude,
    /// A random number for each weight.
    Random,
    /// The variance of the weight under the posterior of an earlier inference block (`vi` or
    /// `swag`).
    Infer(String),
}

impl Score {
    /// The words of the scores that do not need another inference block.
    const WORDS: &'static [&'static str] = &["diagonal", "marginal", "magnitude", "random"];

    /// Returns the score with this word.
    fn of(word: &str) -> Option<Score> {
        let scores = [Score::Diagonal, Score::Marginal, Score::Magnitude, Score::Random];
        scores.into_iter().find(|score| score.word() == word)
    }

    /// Returns the score as programs write it.
    pub fn word(&self) -> &str {
        match self {
            Score::Diagonal => "diagonal",
            Score::Marginal => "marginal",
            Score::Magnitude => "magnitude",
            Score::Random => "random",
            Score::Infer(name) => name,
        }
    }
}

/// How predictions are computed from the Gaussian of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Link {
    /// The network is linearised. The prediction has a closed form for a Normal likelihood, uses
    /// the probit approximation for classes, and uses draws of `f` for other likelihoods.
    Glm,
    /// The network is linearised; class probabilities use the probit approximation.
    Probit,
    /// The network is linearised; class probabilities use the Laplace bridge.
    Bridge,
    /// The network is linearised; class probabilities use the normalised Laplace bridge.
    BridgeNormalised,
    /// The network is linearised; predictions average over draws of `f`.
    MonteCarlo,
    /// The network is not linearised; predictions average over draws of the weights.
    Weights,
}

words!(Link {
    "glm" => Glm,
    "probit" => Probit,
    "bridge" => Bridge,
    "bridge_normalised" => BridgeNormalised,
    "monte_carlo" => MonteCarlo,
    "weights" => Weights,
});

/// Where the factor that multiplies the precision of the prior comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PriorPrecision {
    /// The given number; 1 keeps the prior of the model.
    Given(f64),
    /// The factor with the largest marginal likelihood.
    MarginalLikelihood,
    /// The factor, from a grid, with the largest predictive log likelihood of the validation rows.
    Validation,
}

impl OptionValue for PriorPrecision {
    fn read(given: RawOption<'_>) -> Option<PriorPrecision> {
        match given {
            RawOption::Call("marginal_likelihood", []) => Some(PriorPrecision::MarginalLikelihood),
            RawOption::Call("validation", []) => Some(PriorPrecision::Validation),
            given => f64::read(given).map(PriorPrecision::Given),
        }
    }
}

/// The groups of weights that share one factor on the precision of the prior.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PriorStructure {
    /// All weights share one factor.
    Scalar,
    /// The weights of each site share one factor.
    Layer,
    /// Each weight has its own factor.
    Diagonal,
}

words!(PriorStructure { "scalar" => Scalar, "layer" => Layer, "diagonal" => Diagonal });

impl GaussianOptions {
    /// Checks the two conditions of the option `online`. The method must search for the maximum. If
    /// it learns the noise, the temperature must be 1.
    ///
    /// # Errors
    /// Fails if `online` is set and one of the conditions does not hold.
    pub fn check_search(&self, searches: bool, learns_noise: bool) -> Result<(), OptionConflict> {
        if self.online && !searches {
            return OptionConflict::new(
                GaussianOptions::online(),
                "`online` tunes during the search for the maximum, but the start is used as the maximum without a search",
                "set `epochs`",
            );
        }
        if self.online && learns_noise && self.temperature != 1.0 {
            return OptionConflict::new(
                GaussianOptions::temperature(),
                "`online` learns the noise from the marginal likelihood, but a likelihood that is divided by a temperature has no normaliser",
                "leave `temperature` out, or `online`; or fix the noise in a posterior",
            );
        }
        Ok(())
    }
}

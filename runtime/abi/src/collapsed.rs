//! Collapsed inference: the program that says how an observation depends on weights that are integrated over, and the options that say how (Zeng and Van den Broeck
//! 2023, "Collapsed Inference for Bayesian Deep Learning").
//!
//! The posterior is a mixture over the iterates of gradient descent. Within each component the collapsed weights are independent uniforms on one box, which
//! all components share and which spans what the iterates did; the other sites have the values of the iterate.

use crate::code::Artifact;
use crate::iterates::{IterateOptions, Swag};
use crate::laplace::{Likelihood, Over, Weights};
use crate::manifest::{Train, Training};
use crate::method::declare::{Given, OptionValue, options, words};
use crate::method::options::{from, listed};
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::steering::{Place, Refusal};
use crate::work::{self, MethodPart};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of `collapsed`.
pub(crate) const RECORD: MethodDef = MethodDef {
    name: "collapsed",
    doc: "The iterates of gradient descent, with some weights integrated over a box that spans them, exactly.",
    options: listed![Training { schedule = "constant", precision = "f64" }, IterateOptions, CollapsedOptions],
    takes: Takes::ModelOrFixed,
    finds: Finds::Collapsed,
};

/// The part of an infer that integrates over some weights.
///
/// `local` has, besides states and data ports, the inputs `STATE/index` `[selected]` (int) and `STATE/chosen` `[selected]` (real, 1 where the column is an
/// element of this state, else 0 with index 0) for each of `weights`; a column is one of the collapsed weights. Where `kinks` is not zero, it also has the
/// input `moves` `[batch, selected]`, which is added to those weights, row by row. Its outputs are, at those weights:
/// - `location` `[batch, outputs]`: the mean of a Normal, or logits.
/// - `scale` `[batch, outputs]`: the standard deviation of a Normal at the iterate (at no moves); absent for classes.
/// - `target` `[batch, outputs]`: the observed value of a Normal, on the model's scale; absent for classes.
/// - `location/slope` `[batch, outputs, selected]`: its derivatives in the collapsed weights.
/// - `kinks` `[batch, kinks]` and `kinks/slope` `[batch, kinks, selected]`: what the pieces are divided by. Between two points where no element changes its
///   sign, `location` and `kinks` are affine in the collapsed weights.
///
/// [`crate::manifest::Infer::predict`] and [`crate::manifest::Infer::sites`] take `[draws, ..]` for each state that moves: the iterates.
#[derive(Clone, Serialize, Deserialize)]
pub struct Collapsed {
    /// How the iterates are made. Its covariance is [`crate::iterates::Covariance::Snapshots`].
    pub iterates: Swag,
    /// The sites whose elements may be collapsed.
    pub weights: Vec<Weights>,
    /// Elements of `location`.
    pub outputs: usize,
    /// The distribution of the observation, given `location`: [`Likelihood::Other`] where `form` is [`Form::Sampled`].
    pub likelihood: Likelihood,
    /// How the location depends on the collapsed weights.
    pub form: Form,
    /// Whether the scale of a Normal depends on weights that may be collapsed. It is held at the iterate.
    pub held: bool,
    /// The program; absent where the form is [`Form::Sampled`].
    pub local: Option<Artifact>,
    /// The same without slopes and kinks, where there are kinks: `location`, `scale` and `target`.
    pub plain: Option<Artifact>,
    /// The weights that are collapsed, and the way.
    pub options: Options,
}

impl MethodPart for Collapsed {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let mut all = self.iterates.artifacts();
        all.extend(&mut self.local);
        all.extend(&mut self.plain);
        all
    }

    fn predictive_draws(&self) -> usize {
        self.iterates.predictive_draws()
    }

    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        self.iterates.place(option)
    }

    fn check(&self, extent: work::Extent<'_>) -> Result<(), Refusal> {
        self.iterates.check(extent)
    }

    fn hears(&self, option: &str) -> Result<(), Refusal> {
        self.iterates.hears(option)
    }

    fn training(&self) -> Option<&Train> {
        self.iterates.training()
    }

    fn training_mut(&mut self) -> Option<&mut Train> {
        self.iterates.training_mut()
    }

    fn iterated(&self) -> Option<&Swag> {
        Some(&self.iterates)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.iterates.per_draw()
    }

    fn held(&self) -> Option<&[String]> {
        Some(&self.iterates.moved)
    }

    fn needs(&self) -> Option<&str> {
        self.iterates.needs()
    }

    fn integrates(&self) -> bool {
        true
    }
}

/// How the location depends on the weights that may be collapsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Affine: sums of uniforms, in closed form.
    Affine,
    /// Affine between kinks.
    Piecewise {
        /// How many there are.
        kinks: usize,
        /// How many of them depend on no other, so that each is affine over the whole box; they come first.
        direct: usize,
    },
    /// Otherwise, with the reason in words: the weights are drawn from the box.
    Sampled(String),
}

/// Simplices that the box of a row is cut into at most, for one output and iterate: beyond it weights are drawn.
pub const MOST_SIMPLICES: usize = 20_000;

/// Weights whose box can be cut into pieces, at most: a box of `n` is `n!` simplices before any cut.
pub const MOST_CUT: usize = 7;

options! {
    /// Options of `collapsed`. Some depend on the weights and on how these move the location: see [`Options`].
    pub struct CollapsedOptions {
        /// The weights that may be integrated over: `last_layer`, names of layers and parameters in brackets, or `all`.
        over: Over { "last_layer", OptionKind::Weights(&[]), Phase::Compile };
        /// The number of weights to integrate over per row and output, most influential first; 0 takes all. Without a value, all, and
        /// one per class for classes.
        weights: Option<usize> { "", from(0), Phase::Run };
        /// Layers or parameters among those of `over` that are integrated over in every row, besides `weights` of the others.
        always: Vec<Arc<str>> { "", OptionKind::Names, Phase::Run };
        /// The number of hidden units whose incoming weights are integrated over, most influential first (with `compat` the first ones): units of the
        /// first layer behind the weights; 0 does not select by units.
        units: usize { "0", from(0), Phase::Run };
        /// The choice of weights: each row has its own (`row`), or all rows the one that is best on average over the training rows (`fixed`).
        selection: Selection { "row", Selection::KIND, Phase::Run };
        /// The box of a weight: the `range` of its iterates, or their mean plus and minus the square root of 3 standard deviations (`moments`).
        extent as "box": Extent { "range", Extent::KIND, Phase::Run };
        /// The noise of a Normal likelihood: `normal` as it is, or `triangular`.
        noise: NoiseForm { "normal", NoiseForm::KIND, Phase::Run };
        /// The radius of a triangular noise in standard deviations: a number, `variance` (the square root of 6, which keeps the variance) or
        /// `l2` (2.2970, the closest in mean square). Without a value `variance`, and 2.45 with `compat`.
        alpha: Option<Radius> { "", OptionKind::NumberOr(f64::MIN_POSITIVE, f64::MAX, &["variance", "l2"]), Phase::Run };
        /// The weight of the Normal that a triangular noise is mixed with, so that no observation is impossible.
        floor: f64 { "0.001", OptionKind::AtLeast(0.0), Phase::Run };
        /// `published` scores a Normal observation as the authors' code does, with a triangle truncated to the range of the scored targets; only for
        /// comparison with their tables.
        compat: Compat { "none", Compat::KIND, Phase::Run };
        /// The constant that `compat = published` adds to the density of a target before it is normalised, on the scale of the training; the
        /// authors do not publish their value.
        smoothing: f64 { "0.001", OptionKind::AtLeast(0.0), Phase::Run };
        /// The probability of a class from its logit against the others: `exact`, or a `cubic` polynomial.
        sigmoid: Sigmoid { "exact", Sigmoid::KIND, Phase::Run };
        /// Draws from the box per iterate, if the integral has no exact form (10 without a value), and for single rows whose box has too
        /// many pieces (1000 without a value).
        draws: Option<usize> { "", from(1), Phase::Run, &["n_draws", "n_samples", "num_draws", "num_samples", "samples"] };
    }
}

/// Whether rows have their own choice of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    /// Each row.
    Row,
    /// One for all.
    Fixed,
}

words!(Selection { "row" => Row, "fixed" => Fixed });

/// The form of the noise of a Normal likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoiseForm {
    /// As it is.
    Normal,
    /// A triangle.
    Triangular,
}

words!(NoiseForm { "normal" => Normal, "triangular" => Triangular });

/// Whose predictive density is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compat {
    /// The one that is stated.
    None,
    /// That of the published code.
    Published,
}

words!(Compat { "none" => None, "published" => Published });

/// The radius of a triangular noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Radius {
    /// In standard deviations.
    Given(f64),
    /// The one that keeps the variance.
    Variance,
    /// The closest in mean square.
    L2,
}

impl OptionValue for Radius {
    fn read(given: Given<'_>) -> Option<Radius> {
        match given {
            Given::Call("variance", []) => Some(Radius::Variance),
            Given::Call("l2", []) => Some(Radius::L2),
            given => f64::read(given).map(Radius::Given),
        }
    }
}

/// The weights that are collapsed, and the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The box.
    pub extent: Extent,
    /// How many weights are integrated over in one row and output, those that move it most; 0 takes all. The others have the values of the iterate.
    pub weights: usize,
    /// Sites, by their places in [`Collapsed::weights`], whose elements are integrated over in every row besides those.
    pub always: Vec<usize>,
    /// How many units (kinks that depend on no other) keep their weights among those that may be collapsed; 0 takes all.
    pub units: usize,
    /// Whether the choice of weights is one for all rows, by the mean over the training rows; else each row has its own.
    pub fixed: bool,
    /// The noise of a Normal.
    pub noise: Noise,
    /// The sigmoid of classes.
    pub sigmoid: Sigmoid,
    /// Draws from the box per iterate: where the form is [`Form::Sampled`], and of single rows that have too many pieces.
    pub draws: usize,
}

impl Options {
    /// Returns whether the predictive density is that of the published code, and with it the units are the first ones and an element of [`Options::always`]
    /// that does not move has a box of a small width.
    pub fn is_published(&self) -> bool {
        matches!(self.noise, Noise::Published { .. })
    }
}

/// The box of a weight from its iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extent {
    /// From the smallest to the largest.
    Range,
    /// The mean plus and minus the square root of 3 standard deviations, which keeps the variance.
    Moments,
}

words!(Extent { "range" => Range, "moments" => Moments });

/// The noise of a Normal likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Noise {
    /// As it is.
    Normal,
    /// A triangle of radius `alpha` standard deviations, mixed with the Normal of its mean and variance.
    Triangular {
        /// The radius over the standard deviation.
        alpha: f64,
        /// The weight of the Normal in the mixture.
        floor: f64,
    },
    /// A triangle whose density at a known target is that of the published code: cut to the range of the targets that are scored, with a uniform there.
    Published {
        /// The radius over the standard deviation.
        alpha: f64,
        /// The constant that is added to the density before it is normalised, on the model's scale.
        smoothing: f64,
    },
}

/// The probability of a class from its logit against the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sigmoid {
    /// As it is.
    Exact,
    /// The cubic that is closest in mean square among those with continuous slope.
    Cubic,
}

words!(Sigmoid { "exact" => Exact, "cubic" => Cubic });

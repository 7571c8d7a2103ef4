//! Collapsed inference (Zeng and Van den Broeck 2023, "Collapsed Inference for Bayesian Deep
//! Learning"): its options, and the program that computes how an observation depends on the
//! collapsed weights.
//!
//! The posterior is a mixture over the iterates of gradient descent. In each component of the
//! mixture, the collapsed weights are independent and uniform on a box; predictions integrate over
//! them. All components share this box, which contains the values of the collapsed weights at all
//! iterates. All other sites have their values at the iterate of the component.

use crate::code::Artifact;
use crate::method::conflict::OptionConflict;
use crate::method::declare::{OptionField, OptionValue, RawOption, options, words};
use crate::method::options::{from, listed};
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::methods::iterates::{IterateOptions, Swag};
use crate::methods::laplace::{Likelihood, Over, Weights};
use crate::methods::training::{Train, Training};
use crate::part::{self, MethodPart};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The record of `collapsed`.
pub(crate) const RECORD: MethodDef = MethodDef {
    name: "collapsed",
    doc: "The iterates of gradient descent; some weights are integrated exactly over a box that contains their values at all iterates.",
    options: listed![Training { schedule = "constant", precision = "f64" }, IterateOptions, CollapsedOptions],
    takes: Takes::ModelOrFixed,
    finds: Finds::Collapsed,
};

/// The part of an inference block that integrates over some weights.
///
/// In addition to states and data ports, the program `local` has two inputs for each state in
/// `weights`: `STATE/index` `[selected]` (int) and `STATE/chosen` `[selected]` (real). Each column
/// stands for one collapsed weight. If this weight is an element of the state, `STATE/chosen` is 1
/// and `STATE/index` is the position of the element; otherwise, both are 0. If the location has
/// kinks, `local` also has the input `moves` `[batch, selected]`. For each row, the values of
/// `moves` are added to the collapsed weights. The program evaluates these outputs at the resulting
/// weights:
/// - `location` `[batch, outputs]` is the mean of a Normal observation, or the logits of classes.
/// - `scale` `[batch, outputs]` is the standard deviation of a Normal observation at the iterate
///   (with zero `moves`); absent for classes.
/// - `target` `[batch, outputs]` is the observed value of a Normal observation, on the model's
///   scale; absent for classes.
/// - `location/slope` `[batch, outputs, selected]` contains the derivatives of `location` with
///   respect to the collapsed weights.
/// - `kinks` `[batch, kinks]` and `kinks/slope` `[batch, kinks, selected]` contain the functions
///   whose signs separate the pieces, and the derivatives of these functions. On a line segment
///   where no element of `kinks` changes its sign, `location` and `kinks` are affine functions of
///   the collapsed weights.
///
/// For each state that moves, [`crate::manifest::InferenceBlock::predict`] and
/// [`crate::manifest::InferenceBlock::sites`] take the values at all iterates, `[draws, ..]`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Collapsed {
    /// The training or the earlier inference block that provides the iterates. The covariance
    /// option of this [`Swag`] is [`crate::methods::iterates::Covariance::Snapshots`].
    pub iterates: Swag,
    /// The sites whose elements may be collapsed.
    pub weights: Vec<Weights>,
    /// The number of elements of `location`.
    pub outputs: usize,
    /// The distribution of the observation given `location`. The distribution is
    /// [`Likelihood::Other`] if `form` is [`LocationForm::Sampled`].
    pub likelihood: Likelihood,
    /// The dependence of the location on the collapsed weights.
    pub form: LocationForm,
    /// True if the scale of a Normal observation depends on weights that may be collapsed. The
    /// integrals then use the value of the scale at the iterate.
    pub held: bool,
    /// The program `local`; absent if the form is [`LocationForm::Sampled`].
    pub local: Option<Artifact>,
    /// The program `local` without slopes and kinks, with the outputs `location`, `scale` and
    /// `target` only. Absent if the location does not have kinks.
    pub plain: Option<Artifact>,
    /// The options that choose the collapsed weights and define the integrals.
    pub options: CollapsedSettings,
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

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        self.iterates.place(option)
    }

    fn check(&self, extent: part::DataExtent<'_>) -> Result<(), OptionConflict> {
        self.iterates.check(extent)
    }

    fn check_applies(&self, option: &str) -> Result<(), OptionConflict> {
        self.iterates.check_applies(option)
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

/// The dependence of the location on the weights that may be collapsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocationForm {
    /// The location is an affine function of the collapsed weights, so it is a sum of independent
    /// uniform variables. Integrals over such a sum have closed forms.
    Affine,
    /// The location is piecewise affine: it is affine in every region where all kinks keep their
    /// signs.
    Piecewise {
        /// The number of kinks.
        kinks: usize,
        /// The number of kinks that do not depend on other kinks. Each of them is an affine
        /// function on the whole box. The direct kinks come first in the output `kinks`.
        direct: usize,
    },
    /// The location has any other form. The integrals are estimated by draws of the weights from
    /// the box. The text states why an exact form does not exist.
    Sampled(String),
}

/// The box of one row, for one output and one iterate, is cut into at most this number of
/// simplices. If a box would need more simplices, the weights are drawn instead.
pub const MOST_SIMPLICES: usize = 20_000;

/// The largest number of weights whose box is cut into pieces. The limit is small because a box of
/// `n` weights is split into `n!` simplices before any cut.
pub const MOST_CUT: usize = 7;

options! {
    /// Options of `collapsed`. Some defaults depend on the weights and on how the weights affect the location; see [`CollapsedSettings`].
    pub struct CollapsedOptions {
        /// The weights that may be integrated over: `last_layer`, names of layers and parameters in brackets, or `all`.
        over: Over { "last_layer", OptionKind::Weights(&[]), Phase::Compile };
        /// The number of weights to integrate over per row and output, most influential first; 0 means all weights. Without a value: all weights for
        /// a real output, one weight per class for classes.
        weights: Option<usize> { "", from(0), Phase::Run };
        /// Layers or parameters in `over` whose weights are all integrated over in every row, in addition to those that `weights` chooses.
        always: Vec<Arc<str>> { "", OptionKind::Names, Phase::Run };
        /// The number of hidden units whose incoming weights may be integrated over; 0 allows all units. The units are in the first layer after the
        /// weights. bnnc chooses the most influential units or, with `compat`, the first units.
        units: usize { "0", from(0), Phase::Run };
        /// The choice of weights: `row` chooses them for each row; `fixed` uses the same weights for all rows. With `fixed`, bnnc chooses the weights
        /// that are most influential on average over the training rows.
        selection: Selection { "row", Selection::KIND, Phase::Run };
        /// The box of a weight: the `range` of its values at the iterates, or, with `moments`, `m - sqrt(3) s` to `m + sqrt(3) s`, where `m` and `s`
        /// are the mean and the standard deviation of these values.
        extent as "box": BoxExtent { "range", BoxExtent::KIND, Phase::Run };
        /// The noise of a Normal likelihood: `normal`, or replaced by `triangular` noise.
        noise: NoiseForm { "normal", NoiseForm::KIND, Phase::Run };
        /// The radius of a triangular noise in standard deviations: a number, `variance` (the square root of 6, which keeps the variance) or `l2`
        /// (2.2970, the radius at which the triangle is closest to the Normal in mean square). Without a value, the radius is `variance`, or 2.45
        /// with `compat`.
        alpha: Option<Radius> { "", OptionKind::NumberOr(f64::MIN_POSITIVE, f64::MAX, &["variance", "l2"]), Phase::Run };
        /// The weight of a Normal in a mixture with the triangular noise, so that every observation has a positive density.
        floor: f64 { "0.001", OptionKind::AtLeast(0.0), Phase::Run };
        /// `published` scores a Normal observation as the authors' code does, with a triangle truncated to the range of the scored targets; only for
        /// comparison with their tables.
        compat: Compat { "none", Compat::KIND, Phase::Run };
        /// The constant that `compat = published` adds to the density of a target before the density is normalised, in the units of the model. The
        /// authors do not publish their value.
        smoothing: f64 { "0.001", OptionKind::AtLeast(0.0), Phase::Run };
        /// The function from a class's logit to its probability: the `exact` sigmoid, or a `cubic` polynomial.
        sigmoid: Sigmoid { "exact", Sigmoid::KIND, Phase::Run };
        /// The number of draws from the box per iterate. Draws are used for integrals without an exact form, and for rows whose box has too many
        /// pieces. Without a value: 10 if the integral has no exact form, otherwise 1000.
        draws: Option<usize> { "", from(1), Phase::Run, &["n_draws", "n_samples", "num_draws", "num_samples", "samples"] };
    }
}

/// The rule that decides whether all rows share one choice of the collapsed weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    /// Each row has its own choice.
    Row,
    /// All rows share one choice.
    Fixed,
}

words!(Selection { "row" => Row, "fixed" => Fixed });

/// The noise of a Normal likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoiseForm {
    /// The noise is Normal.
    Normal,
    /// The noise is triangular.
    Triangular,
}

words!(NoiseForm { "normal" => Normal, "triangular" => Triangular });

/// The definition of the predictive density.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compat {
    /// The density that the documentation describes.
    None,
    /// The density of the authors' published code.
    Published,
}

words!(Compat { "none" => None, "published" => Published });

/// The radius of a triangular noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Radius {
    /// The number of standard deviations.
    Given(f64),
    /// sqrt(6) standard deviations: the triangle then has the variance of the Normal.
    Variance,
    /// 2.2970 standard deviations: at this radius, the triangle is closest to the Normal in mean
    /// square.
    L2,
}

impl OptionValue for Radius {
    fn read(given: RawOption<'_>) -> Option<Radius> {
        match given {
            RawOption::Call("variance", []) => Some(Radius::Variance),
            RawOption::Call("l2", []) => Some(Radius::L2),
            given => f64::read(given).map(Radius::Given),
        }
    }
}

/// The options that select the collapsed weights and define the integrals, with all defaults resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollapsedSettings {
    /// The definition of the box of a weight.
    pub extent: BoxExtent,
    /// The number of weights to integrate over per row and output, most influential first; 0 takes all weights. All other weights have the values of
    /// the iterate.
    pub weights: usize,
    /// Sites whose elements are all integrated over in every row, in addition to `weights`. Each
    /// site is given by its position in [`Collapsed::weights`].
    pub always: Vec<usize>,
    /// The number of units whose incoming weights may be collapsed; 0 allows all units. A unit is a
    /// kink that does not depend on other kinks.
    pub units: usize,
    /// True if all rows share one choice: the weights that are most influential on average over the
    /// training rows. False if each row has its own choice.
    pub fixed: bool,
    /// The noise of a Normal observation.
    pub noise: LikelihoodNoise,
    /// The function from the logit of a class to its probability.
    pub sigmoid: Sigmoid,
    /// The number of draws from the box per iterate. Draws are used for all rows if the form is
    /// [`LocationForm::Sampled`]. For other forms, draws are used only for rows whose box has too
    /// many pieces.
    pub draws: usize,
}

impl CollapsedSettings {
    /// Returns whether the predictive density is defined as in the published code. With the
    /// published density, `units` selects the first units instead of the most influential units. An
    /// element of [`CollapsedSettings::always`] that has the same value at all iterates gets a
    /// narrow box.
    pub fn is_published(&self) -> bool {
        matches!(self.noise, LikelihoodNoise::Published { .. })
    }
}

/// How the box of a weight is computed from the values of the weight at the iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxExtent {
    /// The box extends from the smallest to the largest of these values.
    Range,
    /// The box extends sqrt(3) standard deviations of these values to both sides of their mean. The
    /// uniform distribution on this box has the variance of the values.
    Moments,
}

words!(BoxExtent { "range" => Range, "moments" => Moments });

/// The noise of a Normal likelihood.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LikelihoodNoise {
    /// The noise is Normal.
    Normal,
    /// A triangle whose radius is `alpha` standard deviations. The distribution of the observation
    /// is mixed with the Normal that has the same mean and variance.
    Triangular {
        /// The radius in standard deviations.
        alpha: f64,
        /// The weight of the Normal in the mixture.
        floor: f64,
    },
    /// The density that the published code assigns to a known target. It is a triangle, truncated
    /// to the range of the scored targets, plus a uniform density on this range.
    Published {
        /// The radius in standard deviations.
        alpha: f64,
        /// The constant that is added to the density before it is normalised, on the model's scale.
        smoothing: f64,
    },
}

/// The function from a logit to the probability of the class. The logit is relative to the logits
/// of the other classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sigmoid {
    /// The exact logistic function.
    Exact,
    /// A cubic polynomial with a continuous slope. Among all such polynomials, it is closest to the
    /// logistic function in mean square.
    Cubic,
}

words!(Sigmoid { "exact" => Exact, "cubic" => Cubic });

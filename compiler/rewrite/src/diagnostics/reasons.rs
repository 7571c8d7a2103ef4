//! Reasons why a method is not possible for a model. Reports and diagnostics quote the texts of
//! these reasons.

use bnnc_base::reasons;
use std::fmt;

reasons! {
    /// The reason why a KL divergence does not have a closed form.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum NoClosedForm {
        /// The draws of this family need a bijection onto the support of the site.
        Transformed(family: String) = "a bijection transforms `{family}` from the reals to the support";
        /// This family does not define an entropy.
        NoEntropy(family: String) = "`{family}` does not define an entropy";
        /// The log density of the prior needs a moment that the family does not define.
        NoMoment {
            /// The name of the prior.
            prior: String,
            /// The moment, such as `E[w^2]`.
            moment: String,
            /// The name of the family.
            family: String,
        } = "the log density of `{prior}` needs {moment}, which `{family}` does not define";
    }

    /// The reason why the weights of a model cannot be integrated out exactly.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum NoExactIntegral {
        /// The model has several observations.
        Observations = "there are several observations";
        /// The model has several outputs.
        Outputs = "there are several outputs";
        /// The observation covers only a part of the output.
        PartialOutput = "the observation covers only a part of the output";
        /// The distribution of the observation does not allow exact integration.
        Distribution(name: String) = "an observation that is `{name}` has no exact integral";
        /// This argument of the observation is not affected by weights separately in each row.
        NotByRow(name: String) = "no weight affects `{name}` row by row";
        /// This argument of the observation does not exist.
        Unknown(name: String) = "`{name}` is unknown";
        /// The outputs may jump at this op.
        Jump(op: &'static str) = "the weights pass through `{op}`, where outputs may jump";
        /// The outputs may jump at a comparison.
        Comparison = "the weights pass through a comparison, where outputs may jump";
        /// The weights pass through this nonlinear op.
        Nonlinear(op: &'static str) = "the weights pass through `{op}`";
        /// The weights multiply or divide each other.
        Products = "the weights multiply or divide each other";
        /// The kinks depend on functions that have kinks themselves, and the nesting is deeper than the
        /// analysis supports.
        NestedKinks = "its kinks are nested too deeply";
    }
}

/// The reason why a site cannot be drawn from its prior.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPriorDraws {
    /// The site.
    pub site: String,
    /// The name of its prior.
    pub distribution: String,
    /// The property of the prior that makes draws impossible.
    pub why: Undrawable,
}

/// A property of a distribution that makes draws impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undrawable {
    /// The distribution is improper.
    Improper,
    /// The distribution is a joint distribution of all elements. A new element therefore cannot be
    /// drawn by itself.
    Joint,
    /// The distribution does not define a sampler.
    NoSampler,
    /// The model has a running mean, but only a training run determines its value.
    RunningMean,
    /// The distribution is truncated, and has too many elements for rejection sampling.
    Truncated,
}

impl fmt::Display for NoPriorDraws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Undrawable::RunningMean => {
                return write!(f, "only training determines the running mean `{}`", self.site);
            }
            Undrawable::Improper => "is improper",
            Undrawable::Joint => {
                "is a joint distribution of all elements, so a new element does not have a prior of its own"
            }
            Undrawable::NoSampler => "has no sampler",
            Undrawable::Truncated => "is truncated, and has too many elements for rejection sampling",
        };
        write!(f, "the prior of `{}`, `{}`, {why}", self.site, self.distribution)
    }
}

reasons! {
    /// The reason why a new level of an axis could affect the other levels.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum LevelMixing {
        /// The model uses the number or the positions of the levels in a computation.
        Positions = "the model computes with the number or the positions of the levels";
        /// An input that has one value per level.
        Input(name: String) = "`{name}` has one value per level, but none for a new level";
        /// A value that depends on several levels: its name, or the name of its op.
        Value(name: String) = "`{name}` mixes the levels";
    }

    /// The reason why the state of an inference run cannot be computed from the value of a site.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum NoState {
        /// The posterior of the site is a family of distributions.
        Family {
            /// The site.
            site: String,
            /// The name of the family.
            family: String,
        } = "a file gives one value of `{site}`, but the posterior has the family `{family}` for it";
        /// The state is the noise of this site.
        Noise(site: String)
            = "a file gives a value of `{site}`, but `non_centered` samples the noise of this parameter instead";
    }

    /// A use of a site that a gradient estimator does not support.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UnsupportedUse {
        /// This op uses the site.
        Op(op: &'static str) = "`{op}` also uses it, so it is not only a factor of products";
        /// The site is multiplied by other weights that the same option names.
        OtherWeights = "it is multiplied by other weights that the options name";
        /// The site occurs in several products of one example.
        SeveralProducts = "one example uses it several times, so several products share its noise";
        /// Several products sum over different axes of the site.
        DifferentAxes = "its products sum over different axes";
        /// The site is multiplied by several vectors in one example.
        SeveralVectors = "one example multiplies it by several vectors, so the products share its noise";
        /// The site is multiplied by a sum.
        Sum = "it is multiplied with a sum";
        /// An axis of the site is summed without being multiplied by a second operand.
        SumAlone = "a product sums only its elements";
    }
}

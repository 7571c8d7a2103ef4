//! Reasons why a method is not possible for a model. Reports and diagnostics quote the texts of
//! these reasons.

use std::fmt;

/// The reason why a KL divergence does not have a closed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoClosedForm {
    /// The draws of this family need a bijection onto the support of the site.
    Transformed(String),
    /// This family does not define an entropy.
    NoEntropy(String),
    /// The log density of the prior needs a moment that the family does not define.
    NoMoment {
        /// The name of the prior.
        prior: String,
        /// The moment, such as `E[w^2]`.
        moment: String,
        /// The name of the family.
        family: String,
    },
}

impl fmt::Display for NoClosedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoClosedForm::Transformed(family) => {
                write!(
                    f,
                    "a bijection transforms `{family}` from the reals to the support"
                )
            }
            NoClosedForm::NoEntropy(family) => write!(f, "`{family}` does not define an entropy"),
            NoClosedForm::NoMoment {
                prior,
                moment,
                family,
            } => write!(
                f,
                "the log density of `{prior}` needs {moment}, which `{family}` does not define"
            ),
        }
    }
}

/// The reason why the weights of a model cannot be integrated out exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoExactIntegral {
    /// The model has several observations.
    Observations,
    /// The model has several outputs.
    Outputs,
    /// The observation covers only a part of the output.
    PartialOutput,
    /// The distribution of the observation does not allow exact integration.
    Distribution(String),
    /// This argument of the observation is not affected by weights separately in each row.
    NotByRow(String),
    /// This argument of the observation does not exist.
    Unknown(String),
    /// The outputs may jump at this op.
    Jump(&'static str),
    /// The outputs may jump at a comparison.
    Comparison,
    /// The weights pass through this nonlinear op.
    Nonlinear(&'static str),
    /// The weights multiply or divide each other.
    Products,
    /// The kinks depend on functions that have kinks themselves, and the nesting is deeper than the
    /// analysis supports.
    NestedKinks,
}

impl fmt::Display for NoExactIntegral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jump = "where outputs may jump";
        f.write_str(match self {
            NoExactIntegral::Observations => "there are several observations",
            NoExactIntegral::Outputs => "there are several outputs",
            NoExactIntegral::PartialOutput => "the observation covers only a part of the output",
            NoExactIntegral::Products => "the weights multiply or divide each other",
            NoExactIntegral::NestedKinks => "its kinks are nested too deeply",
            NoExactIntegral::Distribution(name) => {
                return write!(f, "an observation that is `{name}` has no exact integral");
            }
            NoExactIntegral::NotByRow(name) => return write!(f, "no weight affects `{name}` row by row"),
            NoExactIntegral::Unknown(name) => return write!(f, "`{name}` is unknown"),
            NoExactIntegral::Jump(op) => return write!(f, "the weights pass through `{op}`, {jump}"),
            NoExactIntegral::Comparison => return write!(f, "the weights pass through a comparison, {jump}"),
            NoExactIntegral::Nonlinear(op) => return write!(f, "the weights pass through `{op}`"),
        })
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

/// The reason why a new level of an axis could affect the other levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelMixing {
    /// The model uses the number or the positions of the levels in a computation.
    Positions,
    /// An input that has one value per level.
    Input(String),
    /// A value that depends on several levels: its name, or the name of its op.
    Value(String),
}

impl fmt::Display for LevelMixing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelMixing::Positions => {
                f.write_str("the model computes with the number or the positions of the levels")
            }
            LevelMixing::Input(name) => {
                write!(f, "`{name}` has one value per level, but none for a new level")
            }
            LevelMixing::Value(name) => write!(f, "`{name}` mixes the levels"),
        }
    }
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
    },
    /// The state is the noise of this site.
    Noise(String),
}

impl fmt::Display for NoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoState::Family { site, family } => write!(
                f,
                "a file gives one value of `{site}`, but the posterior has the family `{family}` for it"
            ),
            NoState::Noise(site) => write!(
                f,
                "a file gives a value of `{site}`, but `non_centered` samples the noise of this parameter instead"
            ),
        }
    }
}

/// A use of a site that a gradient estimator does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedUse {
    /// This op uses the site.
    Op(&'static str),
    /// The site is multiplied by other weights that the same option names.
    OtherWeights,
    /// The site occurs in several products of one example.
    SeveralProducts,
    /// Several products sum over different axes of the site.
    DifferentAxes,
    /// The site is multiplied by several vectors in one example.
    SeveralVectors,
    /// The site is multiplied by a sum.
    Sum,
    /// An axis of the site is summed without being multiplied by a second operand.
    SumAlone,
}

impl fmt::Display for UnsupportedUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnsupportedUse::Op(op) => {
                return write!(f, "`{op}` also uses it, so it is not only a factor of products");
            }
            UnsupportedUse::OtherWeights => "it is multiplied by other weights that the options name",
            UnsupportedUse::SeveralProducts => {
                "one example uses it several times, so several products share its noise"
            }
            UnsupportedUse::DifferentAxes => "its products sum over different axes",
            UnsupportedUse::SeveralVectors => {
                "one example multiplies it by several vectors, so the products share its noise"
            }
            UnsupportedUse::Sum => "it is multiplied with a sum",
            UnsupportedUse::SumAlone => "a product sums only its elements",
        })
    }
}

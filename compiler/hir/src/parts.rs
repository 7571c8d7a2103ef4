//! The parts of a distribution. The record of a part contains its name, argument and result, its
//! derivations from other parts, and its values outside the support.

use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use std::fmt;

/// A part that a distribution may declare, such as `log_density(x)` or `mean`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DistributionPart {
    /// The logarithm of the density.
    LogDensity,
    /// The probability that a variable is at most a value.
    Cdf,
    /// The probability that a variable exceeds a value.
    Survival,
    /// The logarithm of the probability that a variable is at most a value.
    LogCdf,
    /// The logarithm of the probability that a variable exceeds a value.
    LogSurvival,
    /// The inverse of the cumulative distribution function.
    Quantile,
    /// A random value.
    Draw,
    /// The mean.
    Mean,
    /// The median.
    Median,
    /// The variance.
    Variance,
    /// The entropy.
    Entropy,
    /// The mean of a power of the value.
    Moment,
    /// The mean of the logarithm of the value.
    LogMean,
    /// The variance of the logarithm of the value.
    LogVariance,
    /// The probabilities of all classes.
    Probabilities,
}

/// The argument of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartArgument {
    /// A value of the distribution.
    Value,
    /// A probability.
    Probability,
    /// The exponent of a power.
    Order,
}

/// The result of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartResult {
    /// A real number. For an array of independent values, the result is an array with one real
    /// number per element.
    Number,
    /// A real number for each element of a value.
    Moment,
    /// A value of the distribution.
    Value,
    /// A vector with a real number for each class.
    Classes,
}

/// The description of a part.
struct PartDef {
    part: DistributionPart,
    name: &'static str,
    argument: Option<PartArgument>,
    result: PartResult,
    of_value: Option<PartOfValue>,
}

/// The properties of a part that is a function of a value, such as `log_density(x)`.
pub struct PartOfValue {
    /// The values of the part below and above the support.
    pub outside: [f64; 2],
    /// True if the ends of the support are treated as outside the support.
    pub ends_are_outside: bool,
    /// The other parts from each of which the part can be computed. The most accurate derivation
    /// comes first.
    pub from: &'static [(DistributionPart, Derivation)],
}

/// A function that computes one part from another.
pub type Derivation = fn(&mut Builder, Value) -> Value;

const INFINITY: f64 = f64::INFINITY;

/// Creates the record of a part that depends on a value, such as `log_density(x)`.
const fn of_value(
    part: DistributionPart,
    name: &'static str,
    outside: [f64; 2],
    ends_are_outside: bool,
    from: &'static [(DistributionPart, Derivation)],
) -> PartDef {
    PartDef {
        part,
        name,
        argument: Some(PartArgument::Value),
        result: PartResult::Number,
        of_value: Some(PartOfValue {
            outside,
            ends_are_outside,
            from,
        }),
    }
}

/// Creates the record of a part that does not depend on a value, such as `mean`.
const fn other(
    part: DistributionPart,
    name: &'static str,
    argument: Option<PartArgument>,
    result: PartResult,
) -> PartDef {
    PartDef {
        part,
        name,
        argument,
        result,
        of_value: None,
    }
}

/// Every part, in the order of the variants of [`DistributionPart`].
static PARTS: [PartDef; DistributionPart::COUNT] = {
    use DistributionPart as Part;
    use PartArgument::{Order, Probability};
    use PartResult::{Classes, Moment, Number, Value};
    [
        of_value(
            Part::LogDensity,
            "log_density",
            [-INFINITY, -INFINITY],
            false,
            &[],
        ),
        of_value(
            Part::Cdf,
            "cdf",
            [0.0, 1.0],
            true,
            &[(Part::LogCdf, |b, x| b.exp(x))],
        ),
        of_value(
            Part::Survival,
            "survival",
            [1.0, 0.0],
            true,
            &[
                (Part::LogSurvival, |b, x| b.exp(x)),
                (Part::Cdf, |b, x| {
                    let minus = b.neg(x);
                    b.shift(minus, 1.0)
                }),
            ],
        ),
        of_value(
            Part::LogCdf,
            "log_cdf",
            [-INFINITY, 0.0],
            true,
            &[(Part::Cdf, |b, x| b.log(x))],
        ),
        of_value(
            Part::LogSurvival,
            "log_survival",
            [0.0, -INFINITY],
            true,
            &[
                (Part::Survival, |b, x| b.log(x)),
                (Part::Cdf, |b, x| {
                    let minus = b.neg(x);
                    b.log1p(minus)
                }),
            ],
        ),
        other(Part::Quantile, "quantile", Some(Probability), Value),
        other(Part::Draw, "draw", None, Value),
        other(Part::Mean, "mean", None, Moment),
        other(Part::Median, "median", None, Moment),
        other(Part::Variance, "variance", None, Moment),
        other(Part::Entropy, "entropy", None, Number),
        other(Part::Moment, "moment", Some(Order), Moment),
        other(Part::LogMean, "log_mean", None, Moment),
        other(Part::LogVariance, "log_variance", None, Moment),
        other(Part::Probabilities, "probabilities", None, Classes),
    ]
};

impl DistributionPart {
    const COUNT: usize = DistributionPart::Probabilities as usize + 1;

    /// Returns every part.
    pub fn all() -> impl Iterator<Item = DistributionPart> {
        PARTS.iter().map(|def| def.part)
    }

    /// Returns the part with this name.
    pub fn named(name: &str) -> Option<DistributionPart> {
        DistributionPart::all().find(|part| part.name() == name)
    }

    fn def(self) -> &'static PartDef {
        &PARTS[self as usize]
    }

    /// Returns the declared name.
    pub fn name(self) -> &'static str {
        self.def().name
    }

    /// Returns the argument of the part, or `None` if the part depends only on the distribution's
    /// parameters.
    pub fn argument(self) -> Option<PartArgument> {
        self.def().argument
    }

    /// Returns the kind of result that the part has.
    pub fn result(self) -> PartResult {
        self.def().result
    }

    /// Returns the properties of a part that is a function of a value, and `None` for other parts.
    pub fn of_value(self) -> Option<&'static PartOfValue> {
        self.def().of_value.as_ref()
    }
}

impl fmt::Display for DistributionPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_the_order_of_their_variants() {
        for (at, def) in PARTS.iter().enumerate() {
            assert_eq!(def.part as usize, at, "{}", def.name);
            assert_eq!(DistributionPart::named(def.name), Some(def.part));
        }
    }
}

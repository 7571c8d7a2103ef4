//! The parts of a distribution that are functions of a value: how they are derived from each other, and their values outside the support.

use crate::tree::DistItem;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;

/// A part such as `log_density(x)`.
pub struct PartOfValue {
    /// The declared name.
    pub name: &'static str,
    /// The values of the part below and above the support.
    pub outside: [f64; 2],
    /// True if the end of the support counts as outside.
    pub ends_are_outside: bool,
    /// The other parts from which the part can be computed. The most accurate comes first.
    pub from: &'static [(&'static str, Derivation)],
}

/// A function that computes one part from another.
pub type Derivation = fn(&mut Builder, Value) -> Value;

const INFINITY: f64 = f64::INFINITY;

/// Every part that is a function of a value.
pub static OF_VALUE: &[PartOfValue] = &[
    PartOfValue {
        name: "log_density",
        outside: [-INFINITY, -INFINITY],
        ends_are_outside: false,
        from: &[],
    },
    PartOfValue {
        name: CDF,
        outside: [0.0, 1.0],
        ends_are_outside: true,
        from: &[(LOG_CDF, |b, x| b.exp(x))],
    },
    PartOfValue {
        name: SURVIVAL,
        outside: [1.0, 0.0],
        ends_are_outside: true,
        from: &[
            (LOG_SURVIVAL, |b, x| b.exp(x)),
            (CDF, |b, x| {
                let minus = b.neg(x);
                b.shift(minus, 1.0)
            }),
        ],
    },
    PartOfValue {
        name: LOG_CDF,
        outside: [-INFINITY, 0.0],
        ends_are_outside: true,
        from: &[(CDF, |b, x| b.log(x))],
    },
    PartOfValue {
        name: LOG_SURVIVAL,
        outside: [0.0, -INFINITY],
        ends_are_outside: true,
        from: &[
            (SURVIVAL, |b, x| b.log(x)),
            (CDF, |b, x| {
                let minus = b.neg(x);
                b.log1p(minus)
            }),
        ],
    },
];

/// The probability up to a value.
pub const CDF: &str = "cdf";
/// The probability above a value.
pub const SURVIVAL: &str = "survival";
/// The logarithm of the probability up to a value.
pub const LOG_CDF: &str = "log_cdf";
/// The logarithm of the probability above a value.
pub const LOG_SURVIVAL: &str = "log_survival";

/// Returns the part with this name.
pub fn of_value(name: &str) -> Option<&'static PartOfValue> {
    OF_VALUE.iter().find(|part| part.name == name)
}

/// Returns whether a distribution declares a part.
pub fn states(item: &DistItem, part: &str) -> bool {
    item.functions.iter().any(|(name, ..)| &**name == part)
}

/// Returns the declared part from which `part` can be computed, with the derivation.
pub fn source(item: &DistItem, part: &PartOfValue) -> Option<(&'static str, Derivation)> {
    part.from.iter().find(|(name, _)| states(item, name)).copied()
}

/// Returns whether a distribution has a part, either declared or computed from another one.
pub fn has(item: &DistItem, part: &str) -> bool {
    states(item, part) || of_value(part).is_some_and(|part| source(item, part).is_some())
}

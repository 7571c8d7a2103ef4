//! The kinds of definitions in a distribution: parts, ends and flags.

use super::ends::EndProperty;
use crate::parts::DistributionPart;

/// A flag: a definition whose value must be `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flag {
    /// The distribution is joint within each tensor but independent across tensors.
    PerTensor,
    /// The entire probability mass is at the value of `draw`.
    Point,
    /// The density has an infinite integral.
    Improper,
    /// The distribution is a mixture of the distributions among its parameters.
    Mixture,
}

impl Flag {
    /// Every flag.
    pub(super) const ALL: [Flag; 4] = [Flag::PerTensor, Flag::Point, Flag::Improper, Flag::Mixture];

    /// Returns the declared name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Flag::PerTensor => "per_tensor",
            Flag::Point => "point",
            Flag::Improper => "improper",
            Flag::Mixture => "mixture",
        }
    }
}

/// The subject of one definition in a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Defined {
    Part(DistributionPart),
    Flag(Flag),
    End(EndProperty),
}

impl Defined {
    /// Returns the subjects of all possible definitions.
    pub(super) fn all() -> impl Iterator<Item = Defined> {
        let parts = DistributionPart::all().map(Defined::Part);
        let ends = EndProperty::ALL.into_iter().map(Defined::End);
        parts.chain(Flag::ALL.into_iter().map(Defined::Flag)).chain(ends)
    }

    /// Returns the declared name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Defined::Part(part) => part.name(),
            Defined::Flag(flag) => flag.name(),
            Defined::End(end) => end.name(),
        }
    }
}

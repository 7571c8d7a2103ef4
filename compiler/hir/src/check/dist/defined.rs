//! The kinds of definitions in a distribution: parts, ends and flags.

use super::ends::EndProperty;
use crate::parts::DistributionPart;

bnnc_base::named! {
    /// A flag: a definition whose value must be `true`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) enum Flag {
        /// The distribution is joint within each tensor but independent across tensors.
        PerTensor = "per_tensor",
        /// The entire probability mass is at the value of `draw`.
        Point = "point",
        /// The density has an infinite integral.
        Improper = "improper",
        /// The distribution is a mixture of the distributions among its parameters.
        Mixture = "mixture",
    }
}

/// The thing that one definition in a distribution defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Defined {
    Part(DistributionPart),
    Flag(Flag),
    End(EndProperty),
}

impl Defined {
    /// Returns everything that a definition can define.
    pub(super) fn all() -> impl Iterator<Item = Defined> {
        let parts = DistributionPart::all().map(Defined::Part);
        let ends = EndProperty::ALL.into_iter().map(Defined::End);
        parts.chain(Flag::ALL.into_iter().map(Defined::Flag)).chain(ends)
    }

    /// Returns the subject that a definition with this name declares.
    pub(super) fn from_name(name: &str) -> Option<Defined> {
        let part = DistributionPart::named(name).map(Defined::Part);
        part.or_else(|| Flag::from_name(name).map(Defined::Flag))
            .or_else(|| EndProperty::from_name(name).map(Defined::End))
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

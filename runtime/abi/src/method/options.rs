//! Kinds and bounds that several options have, and lists of options with defaults of a method's own.

use super::declare::{OptionName, find};
use super::{OptionDef, OptionKind};

/// The largest length of a run, number of rows and the like. Products of two of them stay below the largest integer.
pub const MOST: i64 = 1_000_000_000_000;
/// The most of what the run keeps, or computes anew, each on its own: chains, restarts, members.
const MANY: i64 = 10_000;
/// The most draws, and the most iterations per draw: a chain then has fewer iterations than an integer holds.
pub(crate) const DRAWS: i64 = 1_000_000_000;
pub(crate) const PER_DRAW: i64 = 1_000_000;

/// Positive numbers.
pub(crate) const POSITIVE: OptionKind = OptionKind::Real(0.0, f64::INFINITY);

/// Integers from `least` on.
pub(crate) const fn from(least: i64) -> OptionKind {
    OptionKind::Int(least, MOST)
}

/// Integers from 1 of what a run has few of.
pub(crate) const fn few() -> OptionKind {
    OptionKind::Int(1, MANY)
}

/// The options with another default of one of them.
pub(crate) const fn with_default<const N: usize>(
    mut all: [OptionDef; N],
    option: OptionName,
    default: &'static str,
) -> [OptionDef; N] {
    all[find(&all, option)].default = default;
    all
}

/// The options with another record of one of them.
pub(crate) const fn with_record<const N: usize>(
    mut all: [OptionDef; N],
    record: OptionDef,
) -> [OptionDef; N] {
    all[find(&all, OptionName::new(record.name))] = record;
    all
}

/// The options of several structs as one list; in braces, the defaults that a method has in the place of the declared ones.
macro_rules! listed {
    ($($group:ty $({ $($field:ident = $default:literal),+ })?),+ $(,)?) => {{
        const LISTS: &[&[$crate::method::OptionDef]] = &[$(<$group as $crate::method::declare::OptionGroup>::OPTIONS),+];
        const ALL: [$crate::method::OptionDef; $crate::method::declare::count(LISTS)] = {
            let all = $crate::method::declare::join(LISTS);
            $( $( $( let all = $crate::method::options::with_default(all, <$group>::$field(), $default); )+ )? )+
            all
        };
        &ALL
    }};
}

pub(crate) use listed;

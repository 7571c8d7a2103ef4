//! Kinds and bounds that several options share, and functions that replace the defaults of a
//! method's options.

use super::declare::{OptionName, find};
use super::{OptionDef, OptionKind};

/// The upper bound of counts such as epochs, steps and rows.
pub const MOST: i64 = 1_000_000_000_000;
/// The upper bound of the numbers of chains, restarts and members. A run stores or computes each
/// chain, restart and member separately, so a larger number would take too much memory or time.
const MANY: i64 = 10_000;
/// The upper bound of the number of draws. The number of iterations of a chain is at most this
/// bound times [`PER_DRAW`]. This product fits in an `i64`.
pub(crate) const DRAWS: i64 = 1_000_000_000;
/// The upper bound of the number of iterations per draw.
pub(crate) const PER_DRAW: i64 = 1_000_000;

/// The kind of options whose values are positive numbers.
pub(crate) const POSITIVE: OptionKind = OptionKind::Real(0.0, f64::INFINITY);

/// Returns the kind of options whose values are integers from `least` to [`MOST`].
pub(crate) const fn from(least: i64) -> OptionKind {
    OptionKind::Int(least, MOST)
}

/// Returns the kind of options whose values are integers from 1 to [`MANY`].
pub(crate) const fn few() -> OptionKind {
    OptionKind::Int(1, MANY)
}

/// Returns the list of options with a different default for one option.
pub(crate) const fn with_default<const N: usize>(
    mut all: [OptionDef; N],
    option: OptionName,
    default: &'static str,
) -> [OptionDef; N] {
    all[find(&all, option)].default = default;
    all
}

/// Returns the list of options with one record replaced. The new record has the same name.
pub(crate) const fn with_record<const N: usize>(
    mut all: [OptionDef; N],
    record: OptionDef,
) -> [OptionDef; N] {
    all[find(&all, OptionName::new(record.name))] = record;
    all
}

/// Expands to the options of several structs as one list. Defaults in braces belong to the method,
/// and replace the declared defaults.
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

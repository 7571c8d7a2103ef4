//! Lists of axes, which are attributes of terms. Letters of a contraction are also stored in such
//! lists, with characters in place of positions.

use super::Bindings;

/// A list of axes or letters.
#[derive(Clone, Debug)]
pub enum Axes {
    /// Any list. Two terms with equal indices stand for the same list.
    Any(usize),
    /// Exactly this list.
    These(Vec<usize>),
    /// A list that a function computes from two other lists.
    Computed(Operation, Box<[Axes; 2]>),
}

type Operation = fn(&[usize], &[usize]) -> Vec<usize>;

/// The axes of one application. If a pattern has two nested applications, these are usually the
/// axes of the inner application.
pub const P: Axes = Axes::Any(0);
/// The axes of another application. If a pattern has two nested applications, these are usually the
/// axes of the outer application.
pub const Q: Axes = Axes::Any(1);
/// The letters of the first operand of a contraction.
pub const LEFT: Axes = Axes::Any(2);
/// The letters of the second operand of a contraction.
pub const RIGHT: Axes = Axes::Any(3);
/// The letters of the result of a contraction.
pub const RESULT: Axes = Axes::Any(4);

impl<const N: usize> From<&[usize; N]> for Axes {
    fn from(axes: &[usize; N]) -> Axes {
        Axes::These(axes.to_vec())
    }
}

impl Axes {
    /// Returns the list after replacing every variable by its binding.
    pub(super) fn list(&self, bindings: &Bindings) -> Vec<usize> {
        match self {
            Axes::Any(at) => (bindings.axes[*at].clone())
                .unwrap_or_else(|| unreachable!("list {at} of a result is in its pattern")),
            Axes::These(list) => list.clone(),
            Axes::Computed(operation, lists) => {
                let [first, second] = lists.each_ref().map(|axes| axes.list(bindings));
                operation(&first, &second)
            }
        }
    }
}

macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident = $operation:expr;)*) => {
        impl Axes {
            $($(#[$meta])*
            pub fn $name(self, other: Axes) -> Axes {
                Axes::Computed($operation, Box::new([self, other]))
            })*
        }
    };
}

operations! {
    /// The entries of this list at the positions in `other`.
    at = |list, other| other.iter().map(|at| list[*at]).collect();
    /// The entries of this list, reordered: `other` gives the new position of each entry.
    placed_at = placed_at;
    /// The entries of this list that are not in `other`.
    without = |list, other| list.iter().copied().filter(|entry| !other.contains(entry)).collect();
    /// The entries of this list that are also in `other`.
    within = |list, other| list.iter().copied().filter(|entry| other.contains(entry)).collect();
    /// The positions of those entries of this list that are also in `other`.
    places_of = |list, other| (0..list.len()).filter(|at| other.contains(&list[*at])).collect();
    /// All axes of this list and of `other`, in increasing order.
    and = and;
    /// The positions of the axes in this list after the axes in `other` are removed.
    after_removal_of = |list, other| {
        let kept = list.iter().filter(|axis| !other.contains(axis));
        kept.map(|axis| axis - other.iter().filter(|removed| *removed < axis).count()).collect()
    };
    /// The positions that the axes in this list had before the axes in `other` were removed.
    before_removal_of = |list, other| list.iter().map(|axis| before_removal(*axis, other)).collect();
}

fn placed_at(list: &[usize], places: &[usize]) -> Vec<usize> {
    let mut placed = list.to_vec();
    for (entry, place) in list.iter().zip(places) {
        placed[*place] = *entry;
    }
    placed
}

fn and(list: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = [list, other].concat();
    all.sort_unstable();
    all.dedup();
    all
}

fn before_removal(axis: usize, removed: &[usize]) -> usize {
    let mut removed = removed.to_vec();
    removed.sort_unstable();
    // Every removed axis at or before the position increases the position by one.
    removed
        .iter()
        .fold(axis, |axis, removed| axis + usize::from(*removed <= axis))
}

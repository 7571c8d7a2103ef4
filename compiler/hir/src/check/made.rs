//! How layers and lists of layers were constructed.

use super::solve::Solver;
use crate::dims::{Atom, DimExpr};
use crate::tree::{Composition, LayerId, LocalId, TypedExpr};

/// A layer instance, or a list of instances.
#[derive(Clone, Debug)]
pub enum Made {
    /// One layer instance, and the dims that its arguments determine.
    One(LayerId, Solver),
    /// A layer that a parameter of type `layer` describes: its result has the dims of its input.
    Shaped(LocalId),
    /// A function of one array, as a part of `Sequential` or `Residual`.
    Function(TypedExpr),
    /// A layer that is made of others.
    Composed(Composition, Vec<Made>),
    /// `[Layer(..) for i in from..to]`.
    Each(LayerRange),
    /// `[Layer(..), Layer(..)]`.
    List(Vec<Made>),
}

/// `[Layer(..) for i in from..to]`.
#[derive(Clone, Debug)]
pub struct LayerRange {
    /// The counter. The dims of the element may depend on it.
    pub counter: LocalId,
    /// The first value of the counter.
    pub first: DimExpr,
    /// The number of elements.
    pub length: DimExpr,
    /// The element.
    pub element: Box<Made>,
}

impl LayerRange {
    /// Returns the element at a position of the list.
    pub fn at(&self, position: &DimExpr) -> Made {
        self.element.with(self.counter, &self.first.plus(position, 1))
    }
}

impl Made {
    /// Returns the number of layers in a list and in the lists and layers that it contains. Returns `None` if a length is not a number.
    pub fn layers(&self) -> Option<i64> {
        match self {
            Made::One(..) | Made::Shaped(_) | Made::Function(_) => Some(1),
            Made::Each(each) => Some(each.length.as_number()?.saturating_mul(each.element.layers()?)),
            Made::List(elements) | Made::Composed(_, elements) => elements
                .iter()
                .try_fold(0i64, |sum, element| Some(sum.saturating_add(element.layers()?))),
        }
    }

    /// Returns the layers or lists of which a list or a layer consists.
    pub fn elements(&self) -> impl Iterator<Item = &Made> {
        match self {
            Made::One(..) | Made::Shaped(_) | Made::Function(_) => &[],
            Made::Each(each) => std::slice::from_ref(&*each.element),
            Made::List(elements) | Made::Composed(_, elements) => elements.as_slice(),
        }
        .iter()
    }

    /// Returns the length of a list.
    pub fn length(&self) -> Option<DimExpr> {
        match self {
            Made::List(elements) => Some(DimExpr::number(elements.len() as i64)),
            Made::Each(each) => Some(each.length.clone()),
            Made::One(..) | Made::Shaped(_) | Made::Function(_) | Made::Composed(..) => None,
        }
    }

    /// Replaces a counter by a value in all dims.
    fn with(&self, counter: LocalId, value: &DimExpr) -> Made {
        let replace =
            |dim: &DimExpr| dim.substitute(&|atom| (*atom == Atom::Local(counter)).then(|| value.clone()));
        match self {
            Made::One(id, solver) => Made::One(*id, solver.replaced(&Atom::Local(counter), value)),
            Made::Shaped(parameter) => Made::Shaped(*parameter),
            Made::Each(each) => Made::Each(LayerRange {
                counter: each.counter,
                first: replace(&each.first),
                length: replace(&each.length),
                element: Box::new(each.element.with(counter, value)),
            }),
            Made::List(elements) => Made::List(elements.iter().map(|one| one.with(counter, value)).collect()),
            Made::Composed(composition, elements) => {
                let elements = elements.iter().map(|one| one.with(counter, value));
                Made::Composed(*composition, elements.collect())
            }
            Made::Function(function) => Made::Function(function.clone()),
        }
    }
}

//! The names of items. Names of the program hide names of the library.

use crate::tree::{
    ConstId, DataId, DistId, FnId, InferId, LayerId, ModelId, Module, OptimiserId, PosteriorId,
};
use bnnc_base::arena::{Arena, Id};
use bnnc_base::source::Span;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The identity of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Def {
    /// A constant.
    Const(ConstId),
    /// A function.
    Fn(FnId),
    /// A layer.
    Layer(LayerId),
    /// A distribution.
    Dist(DistId),
    /// An optimiser.
    Optimiser(OptimiserId),
    /// A data item.
    Data(DataId),
    /// A model.
    Model(ModelId),
    /// A posterior.
    Posterior(PosteriorId),
    /// An inference block.
    Infer(InferId),
}

impl Def {
    /// Returns the kind of the item for messages, such as `a function`.
    pub fn kind(self) -> &'static str {
        match self {
            Def::Const(_) => "a constant",
            Def::Fn(_) => "a function",
            Def::Layer(_) => "a layer",
            Def::Dist(_) => "a distribution",
            Def::Optimiser(_) => "an optimiser",
            Def::Data(_) => "data",
            Def::Model(_) => "a model",
            Def::Posterior(_) => "a posterior",
            Def::Infer(_) => "an inference",
        }
    }

    /// Returns whether an expression can name the item.
    pub fn is_value(self) -> bool {
        match self {
            Def::Const(_) | Def::Fn(_) | Def::Layer(_) | Def::Dist(_) => true,
            Def::Optimiser(_) | Def::Data(_) | Def::Model(_) | Def::Posterior(_) | Def::Infer(_) => false,
        }
    }
}

/// The names of the items in the library and in the program.
#[derive(Clone, Debug, Default)]
pub struct ItemNames {
    library: HashMap<Arc<str>, (Def, Option<Span>)>,
    program: HashMap<Arc<str>, (Def, Option<Span>)>,
    /// Names on lines with syntax errors. The checker does not know whether these lines declare the
    /// names.
    pub unread: HashSet<Arc<str>>,
    /// Items that could not be checked because they depend on themselves. Using such an item does
    /// not cause further errors.
    pub broken: HashSet<Def>,
}

impl ItemNames {
    /// Adds a name. If the file already has an item with this name, returns its position in the program.
    pub fn add(&mut self, name: &Arc<str>, def: Def, span: Option<Span>, library: bool) -> Option<Span> {
        let table = if library {
            &mut self.library
        } else {
            &mut self.program
        };
        match table.get(name) {
            Some((_, first)) => *first,
            None => {
                table.insert(name.clone(), (def, span));
                None
            }
        }
    }

    /// Looks up a name that occurs in a library file or in the program.
    pub fn find(&self, name: &str, in_library: bool) -> Option<(Def, Option<Span>)> {
        let own = if in_library { None } else { self.program.get(name) };
        own.or_else(|| self.library.get(name)).copied()
    }

    /// Looks up a name in an expression. An inference block or a data item of the program does not
    /// hide a library function in an expression.
    pub fn find_value(&self, name: &str, in_library: bool) -> Option<(Def, Option<Span>)> {
        let own = if in_library { None } else { self.program.get(name) };
        let value = |found: &&(Def, Option<Span>)| found.0.is_value();
        own.filter(value)
            .or_else(|| self.library.get(name).filter(value))
            .copied()
    }

    /// Returns the sorted names of all items that satisfy `wanted`.
    pub fn all(&self, wanted: impl Fn(Def) -> bool) -> Vec<&str> {
        let both = self.program.iter().chain(&self.library);
        let mut names: Vec<&str> = both
            .filter(|(_, (def, _))| wanted(*def))
            .map(|(name, _)| &**name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the names of a module that is already checked. A later item hides an earlier one
    /// with the same name.
    pub fn of(module: &Module) -> ItemNames {
        let others: HashSet<DistId> = module.dists.iter().flat_map(|dist| dist.others.clone()).collect();
        let is_first = |(_, def): &(_, Def)| !matches!(def, Def::Dist(id) if others.contains(id));
        let all = named(&module.consts, |item| &item.name, Def::Const)
            .chain(named(&module.fns, |item| &item.name, Def::Fn))
            .chain(named(&module.layers, |item| &item.name, Def::Layer))
            .chain(named(&module.dists, |item| &item.name, Def::Dist).filter(is_first))
            .chain(named(&module.optimisers, |item| &item.name, Def::Optimiser))
            .chain(named(&module.datas, |item| &item.name, Def::Data))
            .chain(named(&module.models, |item| &item.name, Def::Model))
            .chain(named(&module.posteriors, |item| &item.name, Def::Posterior))
            .chain(named(&module.infers, |item| &item.name, Def::Infer));
        ItemNames {
            program: all.map(|(name, def)| (name.clone(), (def, None))).collect(),
            ..ItemNames::default()
        }
    }
}

/// Returns the items of one kind with their names.
fn named<I: Id, T>(
    items: &Arena<I, T>,
    name: fn(&T) -> &Arc<str>,
    def: fn(I) -> Def,
) -> impl Iterator<Item = (&Arc<str>, Def)> {
    items.ids().map(move |id| (name(&items[id]), def(id)))
}

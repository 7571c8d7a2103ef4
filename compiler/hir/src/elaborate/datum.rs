//! The values that elaboration computes: graph values, and objects that exist only at compile time.

use crate::builtin::Builtin;
use crate::tree::{Composition, DistId, FnId, LayerId};
use bnnc_base::source::Span;
use bnnc_graph::function::Value;
use std::rc::Rc;

/// The result of elaborating an expression.
#[derive(Clone, Debug)]
pub enum Datum {
    /// A tensor of the graph.
    Tensor(Value),
    /// An integer known at compile time.
    Static(i64),
    /// A distribution with its arguments.
    Dist(Rc<DistDatum>),
    /// A layer instance with its parameters and the path of its sites.
    Layer(Rc<LayerDatum>),
    /// A list of layers.
    List(Rc<Vec<Datum>>),
    /// A layer that is made of others, with its parts.
    Composed(Composition, Rc<Vec<Datum>>),
    /// A function.
    Function(Callee),
}

/// A distribution as a value.
#[derive(Clone, Debug)]
pub struct DistDatum {
    /// The distribution item.
    pub dist: DistId,
    /// The arguments of the distribution, in declared order.
    pub args: Vec<Datum>,
}

/// A layer instance.
#[derive(Clone, Debug)]
pub struct LayerDatum {
    /// The layer item.
    pub layer: LayerId,
    /// The parameters of the layer, in declared order.
    pub args: Vec<Datum>,
    /// The position in the program that constructs the layer.
    pub made: Span,
    /// The prefix of the paths of the layer's sites, such as `hidden[1]`. The prefix is empty until
    /// the instance is assigned to a name.
    pub path: String,
}

/// A function as a value.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function of the library or the program.
    Fn(FnId),
    /// A built-in function.
    Builtin(&'static Builtin),
}

impl Datum {
    /// Returns a copy of this datum, with `replace` applied to every graph value.
    pub fn map_values(&self, replace: &mut dyn FnMut(Value) -> Value) -> Datum {
        match self {
            Datum::Tensor(value) => Datum::Tensor(replace(*value)),
            Datum::Dist(dist) => {
                let args = dist.args.iter().map(|arg| arg.map_values(replace)).collect();
                Datum::Dist(Rc::new(DistDatum {
                    dist: dist.dist,
                    args,
                }))
            }
            Datum::Layer(layer) => {
                let args = layer.args.iter().map(|arg| arg.map_values(replace)).collect();
                Datum::Layer(Rc::new(LayerDatum {
                    layer: layer.layer,
                    args,
                    made: layer.made,
                    path: layer.path.clone(),
                }))
            }
            Datum::List(items) => Datum::List(Rc::new(
                items.iter().map(|item| item.map_values(replace)).collect(),
            )),
            Datum::Composed(composition, parts) => {
                let parts = parts.iter().map(|part| part.map_values(replace)).collect();
                Datum::Composed(*composition, Rc::new(parts))
            }
            Datum::Static(_) | Datum::Function(_) => self.clone(),
        }
    }

    /// Sets the path of a layer, or of each layer in a list. Called when the layer or list is
    /// assigned to a name.
    pub fn at_path(self, path: &str) -> Datum {
        match self {
            Datum::Layer(layer) if layer.path.is_empty() => {
                let (id, args) = (layer.layer, layer.args.clone());
                Datum::Layer(Rc::new(LayerDatum {
                    layer: id,
                    args,
                    made: layer.made,
                    path: path.to_owned(),
                }))
            }
            Datum::List(items) => {
                let at = |(at, item): (usize, &Datum)| item.clone().at_path(&format!("{path}[{at}]"));
                Datum::List(Rc::new(items.iter().enumerate().map(at).collect()))
            }
            Datum::Composed(composition, parts) => {
                let at = |(at, part): (usize, &Datum)| {
                    let path = format!("{path}{}", composition.path(at));
                    part.clone().at_path(&path)
                };
                Datum::Composed(composition, Rc::new(parts.iter().enumerate().map(at).collect()))
            }
            other => other,
        }
    }
}

//! What an expression is while it is elaborated: a graph value, or something that exists only at compile time.

use crate::builtin::Builtin;
use crate::tree::{DistId, FnId, LayerId};
use bnnc_graph::function::Value;
use std::rc::Rc;
use std::sync::Arc;

/// The result of elaborating an expression.
#[derive(Clone, Debug)]
pub enum Datum {
    /// A tensor of the graph.
    Tensor(Value),
    /// An integer known now.
    Static(i64),
    /// A distribution with its arguments.
    Dist(Rc<DistDatum>),
    /// A layer with its parameters and the path of its sites.
    Layer(Rc<LayerDatum>),
    /// A list of layers.
    List(Rc<Vec<Datum>>),
    /// A function.
    Function(Callee),
    /// A text.
    Text(Arc<str>),
}

/// A distribution that is a value.
#[derive(Clone, Debug)]
pub struct DistDatum {
    /// Which.
    pub dist: DistId,
    /// Its arguments in declared order.
    pub args: Vec<Datum>,
}

/// A made layer.
#[derive(Clone, Debug)]
pub struct LayerDatum {
    /// Which.
    pub layer: LayerId,
    /// Its parameters in declared order.
    pub args: Vec<Datum>,
    /// Where its sites live: `hidden[1]`; empty until it is assigned to a name.
    pub path: String,
}

/// A function that is a value.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// Of the library or the program.
    Fn(FnId),
    /// Of the language.
    Builtin(&'static Builtin),
}

impl Datum {
    /// This datum with every graph value replaced.
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
                    path: layer.path.clone(),
                }))
            }
            Datum::List(items) => Datum::List(Rc::new(
                items.iter().map(|item| item.map_values(replace)).collect(),
            )),
            Datum::Static(_) | Datum::Function(_) | Datum::Text(_) => self.clone(),
        }
    }

    /// This datum as the layer (or list of layers) that a name was given to.
    pub fn at_path(self, path: &str) -> Datum {
        match self {
            Datum::Layer(layer) if layer.path.is_empty() => {
                let (id, args) = (layer.layer, layer.args.clone());
                Datum::Layer(Rc::new(LayerDatum {
                    layer: id,
                    args,
                    path: path.to_owned(),
                }))
            }
            Datum::List(items) => {
                let at = |(at, item): (usize, &Datum)| item.clone().at_path(&format!("{path}[{at}]"));
                Datum::List(Rc::new(items.iter().enumerate().map(at).collect()))
            }
            other => other,
        }
    }
}

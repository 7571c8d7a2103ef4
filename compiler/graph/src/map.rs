//! Maps a function node by node. Code that copies or interprets functions uses this map.

use crate::attr::Attr;
use crate::builder::Builder;
use crate::function::{Function, NodeKind, Value};
pub use crate::node_images::NodeImages;
use crate::op::Op;
use std::convert::Infallible;
use std::sync::Arc;

/// An application of an op, passed to the code that maps a function.
#[derive(Clone, Copy)]
pub struct Application<'a> {
    /// The node.
    pub value: Value,
    /// The op of the node.
    pub op: Op,
    /// The images of the operands.
    pub args: &'a [Value],
    /// The attributes of the operation.
    pub attrs: &'a [Attr],
    /// The site or variable to which the node belongs.
    pub label: Option<&'a Arc<str>>,
}

impl Function {
    /// Maps the nodes in order, so each node follows its operands. The images of the parameters are
    /// `params`, in order. For every other node, `map` receives the application and the images of
    /// all earlier nodes.
    pub fn map_nodes<T>(
        &self,
        params: impl IntoIterator<Item = T>,
        mut map: impl FnMut(Application<'_>, &NodeImages<T>) -> T,
    ) -> NodeImages<T> {
        let Ok(images) = self.try_map_nodes(params, |call, images| Ok::<T, Infallible>(map(call, images)));
        images
    }

    /// Like [`Function::map_nodes`], but stops at the first error.
    ///
    /// # Errors
    /// Returns the first error that `map` returns.
    pub fn try_map_nodes<T, E>(
        &self,
        params: impl IntoIterator<Item = T>,
        mut map: impl FnMut(Application<'_>, &NodeImages<T>) -> Result<T, E>,
    ) -> Result<NodeImages<T>, E> {
        let mut images = NodeImages::unknown(self.nodes.len());
        for (param, image) in self.params.iter().zip(params) {
            images.set(*param, image);
        }
        for value in self.nodes.ids() {
            let node = &self.nodes[value];
            if let NodeKind::Apply { op, args, attrs } = &node.kind {
                let call = Application {
                    value,
                    op: *op,
                    args,
                    attrs,
                    label: node.label.as_ref(),
                };
                let image = map(call, &images)?;
                images.set(value, image);
            }
        }
        Ok(images)
    }

    /// Returns a function with the same signature. For each application, `build` receives the
    /// copies of the operands and builds the new node. Labels are kept.
    pub fn rebuild(
        &self,
        mut build: impl FnMut(&mut Builder, Application<'_>, &[Value]) -> Value,
    ) -> Function {
        let mut builder = Builder::new(&self.name);
        let params: Vec<Value> = self
            .params
            .iter()
            .map(|param| builder.param_like(self, *param))
            .collect();
        let copies = self.map_nodes(params, |call, copies| {
            let copy = build(&mut builder, call, &copies.of(call.args));
            builder.label_as(copy, call.label);
            copy
        });
        builder.finish(self.results_in(&copies))
    }

    /// Returns the results of the function as values of the copy, together with their names.
    pub fn results_in(&self, copies: &NodeImages<Value>) -> Vec<(Arc<str>, Value)> {
        let copy = |(name, value): &(Arc<str>, Value)| (name.clone(), copies[*value]);
        self.results.iter().map(copy).collect()
    }
}

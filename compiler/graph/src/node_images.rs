//! For each node of a function, its image: the object to which a map sends the node.

use crate::function::Value;
use bnnc_base::arena::Id;
use std::ops::Index;

/// The images of the nodes of a function, indexed by node.
#[derive(Clone, Debug)]
pub struct NodeImages<T>(Vec<Option<T>>);

impl<T> Index<Value> for NodeImages<T> {
    type Output = T;
    fn index(&self, value: Value) -> &T {
        let image = self.0[value.index()].as_ref();
        image.unwrap_or_else(|| unreachable!("nodes come before their uses"))
    }
}

impl<T> NodeImages<T> {
    /// Returns images for `count` nodes, none of which is known yet.
    pub(crate) fn unknown(count: usize) -> NodeImages<T> {
        NodeImages((0..count).map(|_| None).collect())
    }

    /// Sets the image of a node.
    pub(crate) fn set(&mut self, value: Value, image: T) {
        self.0[value.index()] = Some(image);
    }
}

impl<T: Clone> NodeImages<T> {
    /// Returns the images of several nodes.
    pub fn of(&self, values: &[Value]) -> Vec<T> {
        values.iter().map(|value| self[*value].clone()).collect()
    }
}

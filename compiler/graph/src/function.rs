//! A function of the graph: its parameters, its nodes in order, and its results.

use crate::attr::Attrs;
use crate::op::{Op, OpDef};
use crate::types::Type;
use bnnc_base::arena::Arena;
use std::sync::Arc;

bnnc_base::id!(
    /// The id of a node, and of the value that the node computes.
    Value,
    "%"
);

/// The origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A parameter of the function, with its name.
    Param(Arc<str>),
    /// An operation.
    Apply {
        /// The op.
        op: Op,
        /// The operands of the operation. Each operand has a smaller id than the node.
        args: Vec<Value>,
        /// The attributes of the node, in declared order.
        attrs: Attrs,
    },
}

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The origin of the node's value: a parameter or an operation.
    pub kind: NodeKind,
    /// The type of the node's value, as inferred by the rule of the op.
    pub ty: Type,
    /// The site or variable to which the node belongs. Messages and printed text use it.
    pub label: Option<Arc<str>>,
}

/// A pure function of tensors. Nodes are in dependency order.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// The parameters. They are nodes too.
    pub params: Vec<Value>,
    /// The nodes.
    pub nodes: Arena<Value, Node>,
    /// The results with their names.
    pub results: Vec<(Arc<str>, Value)>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        let same_nodes = || self.nodes.iter().eq(other.nodes.iter());
        self.name == other.name
            && self.params == other.params
            && self.results == other.results
            && same_nodes()
    }
}

impl Function {
    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.nodes[value].ty
    }

    /// Returns the operands of a value. A parameter does not have operands.
    pub fn args(&self, value: Value) -> &[Value] {
        match &self.nodes[value].kind {
            NodeKind::Param(_) => &[],
            NodeKind::Apply { args, .. } => args,
        }
    }

    /// Returns the op of a value; `None` for a parameter.
    pub fn op(&self, value: Value) -> Option<Op> {
        match &self.nodes[value].kind {
            NodeKind::Param(_) => None,
            NodeKind::Apply { op, .. } => Some(*op),
        }
    }

    /// Returns whether a value is an application of one of these ops.
    pub fn applies(&self, value: Value, ops: &[&'static OpDef]) -> bool {
        self.op(value).is_some_and(|op| op.is_one_of(ops))
    }

    /// Returns the name of a parameter; `None` for other values.
    pub fn param_name(&self, value: Value) -> Option<&Arc<str>> {
        match &self.nodes[value].kind {
            NodeKind::Param(name) => Some(name),
            NodeKind::Apply { .. } => None,
        }
    }

    /// Returns the parameter with this name.
    pub fn param(&self, name: &str) -> Option<Value> {
        self.params
            .iter()
            .copied()
            .find(|value| self.param_name(*value).is_some_and(|n| &**n == name))
    }

    /// Returns the result with this name.
    pub fn result(&self, name: &str) -> Option<Value> {
        self.results
            .iter()
            .find(|(n, _)| &**n == name)
            .map(|(_, value)| *value)
    }
}

//! Builds functions. Nodes are hash-consed, and the rules of the ops infer their types.

mod arithmetic;
mod structure;

pub use structure::{Operation, Window};

use crate::attr::{Attr, Attrs};
use crate::diagnostics::CallError;
use crate::function::{Function, Node, NodeKind, Value};
use crate::node_images::NodeImages;
use crate::op::{Op, OpDef};
use crate::types::Type;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A function under construction. The builder stores equal applications of an op only once, and
/// returns the same value for each. Nodes are in dependency order.
#[derive(Debug, Default)]
pub struct Builder {
    function: Function,
    /// The applications so far, in a hash table by op, operands and attributes. Each entry keeps its hash, so that the
    /// table can grow without hashing its nodes again.
    seen: HashTable<(u64, Value)>,
}

impl Builder {
    /// Creates an empty function.
    pub fn new(name: &str) -> Builder {
        Builder {
            function: Function {
                name: name.to_owned(),
                ..Function::default()
            },
            seen: HashTable::new(),
        }
    }

    /// Adds a parameter.
    pub fn param(&mut self, name: &str, ty: Type) -> Value {
        let node = Node {
            kind: NodeKind::Param(name.into()),
            ty,
            label: None,
        };
        let value = self.function.nodes.push(node);
        self.function.params.push(value);
        value
    }

    /// Applies an op to operands that are known to fit the op.
    ///
    /// # Panics
    /// Panics if the rule of the op rejects the operands. A rejection is a bug of the caller, because user programs have already been checked.
    pub fn apply(&mut self, op: &'static OpDef, args: &[Value], attrs: Attrs) -> Value {
        match self.try_apply(op, args, attrs) {
            Ok(value) => value,
            Err(why) => panic!("bug in bnnc: `{}`: {why}", op.name),
        }
    }

    /// Applies an op. Fails if the operands do not fit.
    pub fn try_apply(
        &mut self,
        op: &'static OpDef,
        args: &[Value],
        attrs: Attrs,
    ) -> Result<Value, CallError> {
        let nodes = &self.function.nodes;
        let hash = hash(op, args, &attrs);
        let is_same = |(known_hash, value): &(u64, Value)| match &nodes[*value].kind {
            NodeKind::Param(_) => false,
            NodeKind::Apply {
                op: known,
                args: known_args,
                attrs: known_attrs,
            } => *known_hash == hash && known.is(op) && known_args == args && *known_attrs == attrs,
        };
        if let Some((_, value)) = self.seen.find(hash, is_same) {
            return Ok(*value);
        }
        let types: Vec<&Type> = args.iter().map(|value| self.function.ty(*value)).collect();
        let ty = op.check_call(&types, &attrs)?;
        let kind = NodeKind::Apply {
            op: Op(op),
            args: args.to_vec(),
            attrs,
        };
        let value = self.function.nodes.push(Node {
            kind,
            ty,
            label: None,
        });
        self.seen.insert_unique(hash, (hash, value), |(hash, _)| *hash);
        Ok(value)
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        self.function.ty(value)
    }

    /// Returns the node of a value.
    pub fn node(&self, value: Value) -> &Node {
        &self.function.nodes[value]
    }

    /// Labels a value with its site or variable, unless the value already has a label.
    pub fn label(&mut self, value: Value, label: &str) {
        self.function.nodes[value]
            .label
            .get_or_insert_with(|| label.into());
    }

    /// Like [`Builder::label`], but does nothing if `label` is `None`.
    pub fn label_as(&mut self, value: Value, label: Option<&Arc<str>>) {
        if let Some(label) = label {
            self.label(value, label);
        }
    }

    /// Adds a parameter that is a copy of a parameter of `function`.
    pub fn param_like(&mut self, function: &Function, param: Value) -> Value {
        let name = function.param_name(param).map_or("", |name| name);
        let copy = self.param(name, function.ty(param).clone());
        self.label_as(copy, function.nodes[param].label.as_ref());
        copy
    }

    /// Copies the nodes of `function`. The parameters are replaced by `args`. Returns the results of
    /// `function`.
    pub fn inline(&mut self, function: &Function, args: &[Value]) -> Vec<Value> {
        self.inline_with(function, args, &mut |attrs| attrs.to_vec())
    }

    /// Like [`Builder::inline`], but `edit` changes the attributes of every node. For example, `edit` can add
    /// a prefix to the names of noise sites.
    pub fn inline_with(
        &mut self,
        function: &Function,
        args: &[Value],
        edit: &mut dyn FnMut(&[Attr]) -> Attrs,
    ) -> Vec<Value> {
        let copies = self.copies_with(function, args, edit);
        function.results.iter().map(|(_, value)| copies[*value]).collect()
    }

    /// Like [`Builder::inline`], but returns the copy of every node.
    pub fn copies(&mut self, function: &Function, args: &[Value]) -> NodeImages<Value> {
        self.copies_with(function, args, &mut |attrs| attrs.to_vec())
    }

    fn copies_with(
        &mut self,
        function: &Function,
        args: &[Value],
        edit: &mut dyn FnMut(&[Attr]) -> Attrs,
    ) -> NodeImages<Value> {
        assert_eq!(
            function.params.len(),
            args.len(),
            "bug in bnnc: arguments of `{}`",
            function.name
        );
        function.map_nodes(args.iter().copied(), |call, copies| {
            let copy = self.apply(call.op.0, &copies.of(call.args), edit(call.attrs));
            self.label_as(copy, call.label);
            copy
        })
    }

    /// Returns the finished function.
    pub fn finish(mut self, results: Vec<(Arc<str>, Value)>) -> Function {
        self.function.results = results;
        self.function
    }

    /// Returns the function that has been built so far.
    pub fn function(&self) -> &Function {
        &self.function
    }
}

/// Returns the hash of an op with its operands and attributes.
fn hash(op: &'static OpDef, args: &[Value], attrs: &[Attr]) -> u64 {
    let mut hasher = FxHasher::default();
    (std::ptr::from_ref(op), args, attrs).hash(&mut hasher);
    hasher.finish()
}

//! Prepares a graph for drawing. Each node has a kind, a list of operands, and a flag that is true
//! if a gradient flows through it.

use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_graph::analysis::dataflow::reachable;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Vjp;
use bnnc_rewrite::methods::divergence::Divergence;
use std::collections::HashSet;

/// A graph to be drawn, as a list of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// The nodes. Operands precede their users.
    pub nodes: Vec<DrawnNode>,
}

/// A node of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnNode {
    /// The name of the operation or of the parameter.
    pub name: String,
    /// The type of the node's value, such as `real[kl_draws, 3]`.
    pub ty: String,
    /// The kind of node.
    pub kind: DrawnKind,
    /// The indices of the node's operands in the list of nodes.
    pub operands: Vec<usize>,
    /// True if a gradient flows through the node.
    pub gradient: bool,
    /// The number of elements of the node's value: the number for one draw, and the number that
    /// each further draw adds.
    pub count: (usize, usize),
}

impl DrawnNode {
    fn numbers(&self, draws: usize) -> usize {
        let further = self.count.1.saturating_mul(draws.saturating_sub(1));
        self.count.0.saturating_add(further)
    }
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnKind {
    /// A parameter that is optimised.
    State,
    /// An input that is not optimised.
    Input,
    /// An operation.
    Op,
    /// The KL divergence. It is the result of the graph.
    Result,
}

impl Drawing {
    /// Returns the number of operations through which a gradient flows.
    pub fn gradient_nodes(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.gradient && matches!(node.kind, DrawnKind::Op | DrawnKind::Result))
            .count()
    }

    /// Returns the number of elements that are kept in memory for the gradient, with `draws` draws.
    pub fn gradient_numbers(&self, draws: usize) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.gradient && matches!(node.kind, DrawnKind::Op | DrawnKind::Result))
            .map(|node| node.numbers(draws))
            .fold(0, usize::saturating_add)
    }

    /// Returns the number of elements of the largest value in the graph, with `draws` draws.
    pub fn largest(&self, draws: usize) -> usize {
        self.nodes
            .iter()
            .map(|node| node.numbers(draws))
            .max()
            .unwrap_or(0)
    }
}

/// Returns whether a function uses draws. This is the case if its results depend on the step
/// number, because the noise of every draw does.
pub fn is_sampled(function: &Function) -> bool {
    function
        .param(PortName::Step.text())
        .is_some_and(|step| reachable(function).contains(&step))
}

/// Returns the drawing of a divergence's graph.
pub fn draw(divergence: &Divergence) -> Drawing {
    let function = &divergence.value;
    let kept: HashSet<Value> = reachable(function);
    let values: Vec<Value> = function
        .nodes
        .ids()
        .filter(|value| kept.contains(value))
        .collect();
    let mut positions = vec![usize::MAX; function.nodes.len()];
    for (at, value) in values.iter().enumerate() {
        positions[value.index()] = at;
    }
    let moved = moved(divergence);
    let flows = flows(function, &moved);
    let node = |value: &Value| DrawnNode {
        name: name(function, *value),
        ty: function.ty(*value).to_string(),
        kind: kind(function, *value, moved.contains(value)),
        operands: function
            .args(*value)
            .iter()
            .map(|arg| positions[arg.index()])
            .collect(),
        gradient: flows.contains(value),
        count: count(function, *value),
    };
    Drawing {
        nodes: values.iter().map(node).collect(),
    }
}

/// Returns the values through which a gradient flows from the results to the optimised parameters in
/// `moved`.
fn flows(function: &Function, moved: &HashSet<Value>) -> HashSet<Value> {
    let passes = |value: Value| {
        let real = function.ty(value).dtype == DType::Real;
        real && function
            .op(value)
            .is_some_and(|op| !matches!(op.vjp, Vjp::Zero(_)))
    };
    let mut changes = moved.clone();
    for value in function.nodes.ids() {
        if passes(value) && function.args(value).iter().any(|arg| changes.contains(arg)) {
            changes.insert(value);
        }
    }
    let mut wanted: HashSet<Value> = function.results.iter().map(|(_, value)| *value).collect();
    for value in function.nodes.ids().rev() {
        if wanted.contains(&value) && passes(value) {
            wanted.extend(function.args(value));
        }
    }
    changes.retain(|value| wanted.contains(value));
    changes
}

/// Returns the optimised parameters. The results of the gradient function include one derivative
/// for each optimised parameter.
fn moved(divergence: &Divergence) -> HashSet<Value> {
    divergence
        .gradient
        .results
        .iter()
        .filter_map(|(name, _)| divergence.value.param(name))
        .collect()
}

fn name(function: &Function, value: Value) -> String {
    match (function.param_name(value), function.op(value)) {
        (Some(name), _) => name.to_string(),
        (None, Some(op)) => op.name.to_owned(),
        (None, None) => String::new(),
    }
}

fn kind(function: &Function, value: Value, is_state: bool) -> DrawnKind {
    if is_state {
        DrawnKind::State
    } else if function.param_name(value).is_some() {
        DrawnKind::Input
    } else if function.results.iter().any(|(_, result)| *result == value) {
        DrawnKind::Result
    } else {
        DrawnKind::Op
    }
}

/// Returns two numbers of elements of a value: the number for one draw, and the number that each
/// further draw adds. The second number is constant, because a shape contains the
/// number of draws at most once.
fn count(function: &Function, value: Value) -> (usize, usize) {
    let shape = &function.ty(value).shape;
    let with = |draws: usize| shape.count(&Sizes::default().with(Symbol::KlDraws, draws));
    let one = with(1);
    (one, with(2) - one)
}

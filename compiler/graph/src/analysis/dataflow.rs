//! The data flow between values: users, reachability and dependences.

use crate::function::{Function, Value};
use bnnc_base::arena::Id;
use petgraph::graph::{DiGraph, NodeIndex};

use std::collections::HashSet;

/// Returns the data flow of a function as a graph. Node `i` stands for value `i`. Each use of a
/// value as an operand is an edge from the value to its user.
pub fn data_flow(function: &Function) -> DiGraph<Value, usize> {
    let mut graph = DiGraph::with_capacity(function.nodes.len(), function.nodes.len());
    for value in function.nodes.ids() {
        let user = graph.add_node(value);
        for (at, arg) in function.args(value).iter().enumerate() {
            graph.add_edge(NodeIndex::new(arg.index()), user, at);
        }
    }
    graph
}

/// Returns, for each value, the values that use it as an operand, in order.
pub fn users(function: &Function) -> Vec<Vec<Value>> {
    let mut users = vec![Vec::new(); function.nodes.len()];
    for value in function.nodes.ids() {
        for arg in function.args(value) {
            let list: &mut Vec<Value> = &mut users[arg.index()];
            if list.last() != Some(&value) {
                list.push(value);
            }
        }
    }
    users
}

/// Returns the values that are needed to compute the results, including the results.
pub fn reachable(function: &Function) -> HashSet<Value> {
    let results: Vec<Value> = function.results.iter().map(|(_, value)| *value).collect();
    needed_by(function, &results)
}

/// Returns the values that are needed to compute `values`, including `values`.
pub fn needed_by(function: &Function, values: &[Value]) -> HashSet<Value> {
    let mut found = HashSet::new();
    let mut open = values.to_vec();
    while let Some(value) = open.pop() {
        if found.insert(value) {
            open.extend(function.args(value));
        }
    }
    found
}

/// Returns the values in `on`, and all values that depend on at least one of them.
pub fn dependents(function: &Function, on: &[Value]) -> HashSet<Value> {
    let mut found: HashSet<Value> = on.iter().copied().collect();
    for value in function.nodes.ids() {
        if function.args(value).iter().any(|arg| found.contains(arg)) {
            found.insert(value);
        }
    }
    found
}

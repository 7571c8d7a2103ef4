//! Draws a function with Graphviz.

use super::dataflow::data_flow;
use crate::function::{Function, NodeKind, Value};
use petgraph::dot::{Config, Dot};

/// Returns the data flow in the `dot` language. Parameters are boxes, and results have a double outline.
/// Labels are shown.
pub fn dot(function: &Function) -> String {
    let graph = data_flow(function);
    let text = |value: Value| {
        let node = &function.nodes[value];
        let what = match &node.kind {
            NodeKind::Param(name) => name.to_string(),
            NodeKind::Apply { op, .. } => op.name.to_owned(),
        };
        let label = node
            .label
            .as_ref()
            .map(|label| format!("\\n{label}"))
            .unwrap_or_default();
        format!("{value} {what}\\n{}{label}", node.ty).replace('"', "'")
    };
    let draw = |_: &_, (_, value): (_, &Value)| {
        let shape = if function.param_name(*value).is_some() {
            "box"
        } else {
            "ellipse"
        };
        let rings = if function.results.iter().any(|(_, result)| result == value) {
            2
        } else {
            1
        };
        format!("label=\"{}\" shape={shape} peripheries={rings}", text(*value))
    };
    let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
    Dot::with_attr_getters(&graph, &config, &|_, _| String::new(), &draw).to_string()
}

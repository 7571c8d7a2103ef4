//! Verifies the invariants of functions. If a check fails, the compiler has a bug.

use crate::attr::{Attr, Attrs};
use crate::function::{Function, NodeKind, Value};
use crate::spec::Spec;
use crate::types::Type;
use bnnc_base::fault::{Bug, Fault};

/// Verifies a function and the functions inside it. The checks cover the order of the nodes, the
/// parameters, the results, the calls and the types, and whether the stage allows each op.
pub fn verify(function: &Function, spec: Spec) -> Result<(), Fault> {
    let place = format!("function `{}` of stage {}", function.name, spec.name);
    for value in function.nodes.ids() {
        verify_node(function, value, spec).map_err(|bug| bug.at(value).at(&place))?;
        for inner in function_attrs(function, value) {
            verify(inner, spec)?;
        }
    }
    let is_param = |value: &Value| {
        matches!(
            function.nodes.get(*value).map(|n| &n.kind),
            Some(NodeKind::Param(_))
        )
    };
    if let Some(value) = function.params.iter().find(|value| !is_param(value)) {
        return Err(Bug(format!("parameter {value} is not a parameter node"))
            .at(place)
            .into());
    }
    match function
        .results
        .iter()
        .find(|(_, value)| function.nodes.get(*value).is_none())
    {
        Some((name, value)) => Err(
            Bug(format!("result `{name}` names {value}, which does not exist"))
                .at(place)
                .into(),
        ),
        None => Ok(()),
    }
}

fn verify_node(function: &Function, value: Value, spec: Spec) -> Result<(), Bug> {
    let node = &function.nodes[value];
    let (op, args, attrs) = match &node.kind {
        NodeKind::Param(name) if function.params.contains(&value) => {
            return match function.param(name) {
                Some(first) if first != value => Err(Bug(format!("a second parameter `{name}`"))),
                _ => Ok(()),
            };
        }
        NodeKind::Param(name) => return Err(Bug(format!("parameter `{name}` is not listed"))),
        NodeKind::Apply { op, args, attrs } => (op, args, attrs),
    };
    if let Some(late) = args.iter().find(|arg| **arg >= value) {
        return Err(Bug(format!("operand {late} comes after its use")));
    }
    if !(spec.admits)(op) {
        return Err(Bug(format!("`{}` is not admitted here", op.name)));
    }
    let types: Vec<&Type> = args.iter().map(|arg| function.ty(*arg)).collect();
    let wanted = op
        .check_call(&types, attrs)
        .map_err(|why| Bug(format!("`{}`: {why}", op.name)))?;
    match wanted == node.ty {
        true => Ok(()),
        false => Err(Bug(format!("expected type {wanted}, found {}", node.ty))),
    }
}

/// Returns the functions among the attributes of a node.
pub fn function_attrs(function: &Function, value: Value) -> impl Iterator<Item = &Function> {
    const NONE: &Attrs = &Vec::new();
    let attrs = match &function.nodes[value].kind {
        NodeKind::Param(_) => NONE,
        NodeKind::Apply { attrs, .. } => attrs,
    };
    attrs.iter().filter_map(|attr| match attr {
        Attr::Function(inner) => Some(&**inner),
        _ => None,
    })
}

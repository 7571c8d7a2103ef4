//! The reference evaluator. It computes in `f64`, and evaluates one node after another.

use crate::attr::{Attr, Attrs};
use crate::dist::Instance;
use crate::function::{Function, Node, NodeKind};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::arena::Arena;
use bnnc_base::shape::{Dim, Shape, Sizes};
use std::sync::Arc;

/// Returns the results of `function` for the given `inputs`. Symbolic sizes are taken from `sizes`.
/// Noise is drawn with seed 0.
///
/// # Panics
/// Panics if the inputs do not have the number and the shapes of the parameters.
pub fn evaluate(function: &Function, inputs: &[Tensor], sizes: &Sizes) -> Vec<Tensor> {
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    run(&resolve(function, sizes), &inputs)
}

/// Returns all values of a function that does not have symbolic sizes.
pub fn evaluate_all(function: &Function, inputs: &[&Tensor]) -> Vec<Tensor> {
    assert_eq!(
        function.params.len(),
        inputs.len(),
        "inputs of `{}`",
        function.name
    );
    let mut values: Vec<Tensor> = Vec::with_capacity(function.nodes.len());
    for value in function.nodes.ids() {
        let node = &function.nodes[value];
        let tensor = match &node.kind {
            NodeKind::Param(name) => {
                let at = function.params.iter().position(|param| *param == value);
                let input = at.and_then(|at| inputs.get(at));
                let input = input.unwrap_or_else(|| unreachable!("`{name}` is a parameter of the function"));
                assert_eq!(
                    input.shape,
                    self::sizes(&node.ty.shape),
                    "shape of `{name}` of `{}`",
                    function.name
                );
                (*input).clone()
            }
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<&Tensor> = args.iter().map(|arg| &values[arg.0 as usize]).collect();
                op.evaluate(&args, attrs)
            }
        };
        values.push(tensor);
    }
    values
}

fn run(function: &Function, inputs: &[&Tensor]) -> Vec<Tensor> {
    let values = evaluate_all(function, inputs);
    function
        .results
        .iter()
        .map(|(_, value)| values[value.0 as usize].clone())
        .collect()
}

/// Evaluates a function that is an attribute of a node, and returns its only result.
pub(crate) fn only_result(function: &Function, inputs: &[&Tensor]) -> Tensor {
    run(function, inputs)
        .pop()
        .unwrap_or_else(|| unreachable!("`{}` has one result", function.name))
}

/// Returns the sizes of the only result of a function. The function is an attribute of a node.
pub(crate) fn result_sizes(function: &Function) -> Vec<usize> {
    function
        .results
        .iter()
        .map(|(_, value)| sizes(&function.ty(*value).shape))
        .next()
        .unwrap_or_default()
}

/// Returns the sizes of a shape in a function without symbolic sizes.
pub(crate) fn sizes(shape: &Shape) -> Vec<usize> {
    shape.dims().iter().map(|dim| size(*dim)).collect()
}

/// Returns the size of an axis in a function without symbolic sizes.
pub(crate) fn size(dim: Dim) -> usize {
    dim.fixed()
        .unwrap_or_else(|| unreachable!("`{dim}` was resolved before evaluation"))
}

/// Replaces every symbolic size in a function by a number. Values keep their ids.
pub fn resolve(function: &Function, sizes: &Sizes) -> Function {
    let mut nodes = Arena::default();
    for node in function.nodes.iter() {
        let kind = match &node.kind {
            NodeKind::Param(name) => NodeKind::Param(name.clone()),
            NodeKind::Apply { op, args, attrs } => NodeKind::Apply {
                op: *op,
                args: args.clone(),
                attrs: resolve_attrs(attrs, sizes),
            },
        };
        nodes.push(Node {
            kind,
            ty: resolve_type(&node.ty, sizes),
            label: node.label.clone(),
        });
    }
    let (params, results) = (function.params.clone(), function.results.clone());
    Function {
        name: function.name.clone(),
        params,
        nodes,
        results,
    }
}

fn resolve_shape(shape: &Shape, sizes: &Sizes) -> Shape {
    Shape::fixed(&shape.resolve(sizes))
}

fn resolve_type(ty: &Type, sizes: &Sizes) -> Type {
    ty.with_shape(resolve_shape(&ty.shape, sizes))
}

fn resolve_attrs(attrs: &[Attr], sizes: &Sizes) -> Attrs {
    let one = |attr: &Attr| match attr {
        Attr::Dist(dist) => Attr::Dist(Arc::new(resolve_dist(dist, sizes))),
        Attr::Dim(dim) => Attr::Dim(Dim::Fixed(dim.resolve(sizes))),
        Attr::Function(function) => Attr::Function(Arc::new(resolve(function, sizes))),
        Attr::Shape(shape) => Attr::Shape(resolve_shape(shape, sizes)),
        Attr::DType(_) | Attr::Int(_) | Attr::Ints(_) | Attr::Real(_) | Attr::Reals(_) | Attr::Symbol(_) => {
            attr.clone()
        }
    };
    attrs.iter().map(one).collect()
}

fn resolve_dist(dist: &Instance, sizes: &Sizes) -> Instance {
    let function = |f: &Arc<Function>| Arc::new(resolve(f, sizes));
    let optional = |f: &Option<Arc<Function>>| f.as_ref().map(function);
    Instance {
        name: dist.name.clone(),
        measure: dist.measure,
        params: dist
            .params
            .iter()
            .map(|(name, ty)| (name.clone(), resolve_type(ty, sizes)))
            .collect(),
        supports: dist.supports.clone(),
        value: resolve_type(&dist.value, sizes),
        support: dist.support,
        reach: Vec::new(),
        elementwise: dist.elementwise,
        log_density: function(&dist.log_density),
        log_density_elements: optional(&dist.log_density_elements),
        draw: optional(&dist.draw),
        wider_draw: optional(&dist.wider_draw),
        mean: optional(&dist.mean),
        variance: optional(&dist.variance),
        entropy: optional(&dist.entropy),
        moment: optional(&dist.moment),
        log_mean: optional(&dist.log_mean),
        log_variance: optional(&dist.log_variance),
        probabilities: optional(&dist.probabilities),
    }
}

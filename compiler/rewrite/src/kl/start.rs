//! Families where their parameters start.

use crate::nodes;
use crate::unroll::expand_maps;
use bnnc_abi::manifest::Init;
use bnnc_base::arena::Id;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::{FamilyParam, SitePosterior, Start};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Where a parameter starts, or its typical start.
pub(super) fn start(param: &FamilyParam) -> Option<f64> {
    match &param.start {
        Start::Optimise(Init::Constant(value)) => Some(*value),
        Start::Optimise(Init::Uniform(lo, hi)) => Some(0.5 * (lo + hi)),
        Start::Optimise(Init::Normal(mean, _)) => Some(*mean),
        Start::Optimise(Init::Values(values)) | Start::Fixed(values) => values.first().copied(),
        Start::From(..) => None,
    }
}

/// The mean and the standard deviation of an elementwise family with these parameters, where it states finite ones.
fn centre(posterior: &SitePosterior, params: &[f64]) -> Option<(f64, f64)> {
    let moment = |function: &Option<Arc<Function>>| -> Option<f64> {
        let function = along(function.as_ref()?, 1)?;
        let inputs: Vec<Tensor> = params
            .iter()
            .map(|number| Tensor::from_fn(vec![1], |_| *number))
            .collect();
        let values = evaluate(&function, &inputs, &Sizes::default());
        values
            .first()
            .map(|tensor| tensor.data[0])
            .filter(|value| value.is_finite())
    };
    let family = &posterior.family;
    let variance = moment(&family.variance)?;
    Some((moment(&family.mean)?, variance.sqrt()))
}

/// The mean and the standard deviation of a family where it starts.
pub fn start_of(posterior: &SitePosterior) -> Option<(f64, f64)> {
    let params: Option<Vec<f64>> = posterior.params.iter().map(start).collect();
    centre(posterior, &params?)
}

/// An elementwise function for `count` elements along one axis, whatever the shape it was made for.
pub(super) fn along(function: &Function, count: usize) -> Option<Function> {
    let function = expand_maps(function);
    let shape = Shape::fixed(&[count]);
    let mut builder = Builder::new(&function.name);
    let mut copies = vec![Value(0); function.nodes.len()];
    for value in function.nodes.ids() {
        let node = &function.nodes[value];
        let ty = Type::new(node.ty.dtype, shape.clone());
        copies[value.index()] = match &node.kind {
            NodeKind::Param(name) => builder.param(name, ty),
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<Value> = args.iter().map(|arg| copies[arg.index()]).collect();
                if std::ptr::eq(op.0, &ops::constant::CONSTANT) {
                    builder.constant(&ty, *attr::real(attrs, 2))
                } else if std::ptr::eq(op.0, &ops::broadcast::BROADCAST)
                    || std::ptr::eq(op.0, &ops::reshape::RESHAPE)
                    || std::ptr::eq(op.0, &ops::stop_gradient::STOP_GRADIENT)
                {
                    args[0]
                } else if op.is_elementwise() {
                    builder.apply(op.0, &args, attrs.clone())
                } else {
                    return None;
                }
            }
        };
    }
    let results: Vec<Value> = function
        .results
        .iter()
        .map(|(_, value)| copies[value.index()])
        .collect();
    let named = nodes::named(&function, &results);
    Some(builder.finish(named))
}

/// To four digits.
pub(super) fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

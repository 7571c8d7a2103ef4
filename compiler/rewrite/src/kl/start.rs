//! Computes the mean and the standard deviation of a family at the starting values of its
//! parameters.

use crate::nodes;
use crate::unroll::expand_maps;
use bnnc_abi::manifest::Init;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{FamilyParam, FamilyStart, SitePosterior};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Returns the starting value of a parameter. If the starting value is random, returns the centre
/// of its distribution. Returns `None` if the value comes from another inference run.
pub(super) fn start(param: &FamilyParam) -> Option<f64> {
    match &param.start {
        FamilyStart::Optimise(Init::Constant(value)) => Some(*value),
        FamilyStart::Optimise(Init::Uniform(lo, hi)) => Some(0.5 * (lo + hi)),
        FamilyStart::Optimise(Init::Normal(mean, _)) => Some(*mean),
        FamilyStart::Optimise(Init::Values(values)) | FamilyStart::Fixed(values) => values.first().copied(),
        FamilyStart::From(..) => None,
    }
}

/// Returns the mean and the standard deviation of an elementwise family with the parameters
/// `params`. Returns `None` if the family does not define both, or if one of them is not finite.
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

/// Returns the mean and the standard deviation of a family at its starting values.
pub fn start_of(posterior: &SitePosterior) -> Option<(f64, f64)> {
    let params: Option<Vec<f64>> = posterior.params.iter().map(start).collect();
    centre(posterior, &params?)
}

/// Returns a version of an elementwise function for arrays of `count` elements. `function` may have
/// any shape. Returns `None` if an op is not elementwise.
pub(super) fn along(function: &Function, count: usize) -> Option<Function> {
    let function = expand_maps(function);
    let shape = Shape::fixed(&[count]);
    let mut builder = Builder::new(&function.name);
    let of = |value: Value| Type::new(function.ty(value).dtype, shape.clone());
    let params: Vec<Value> = (function.params.iter())
        .map(|param| builder.param(nodes::param_name(&function, *param), of(*param)))
        .collect();
    let copies = function.try_map_nodes(params, |call, copies| {
        let args = copies.of(call.args);
        let moves = [
            &ops::broadcast::BROADCAST,
            &ops::reshape::RESHAPE,
            &ops::stop_gradient::STOP_GRADIENT,
        ];
        if call.op.is(&ops::constant::CONSTANT) {
            Ok(builder.constant(&of(call.value), ops::constant::value(call.attrs)))
        } else if call.op.is_one_of(&moves) {
            Ok(args[0])
        } else if call.op.is_elementwise() {
            Ok(builder.apply(call.op.0, &args, call.attrs.to_vec()))
        } else {
            Err(())
        }
    });
    Some(builder.finish(function.results_in(&copies.ok()?)))
}

/// Rounds a number to four significant digits.
pub(super) fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

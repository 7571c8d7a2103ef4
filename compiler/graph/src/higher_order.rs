//! Code that `map`, `scan` and `expect` share: the checks of their functions, and the order of parameters.

use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::function::{Function, Value};
use crate::infer::Inferred;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};
use std::sync::Arc;

/// Returns the type of the only result of `function`. Fails if arguments of the types `args` do not
/// fit its parameters.
pub fn result_type(function: &Function, args: &[Type]) -> Inferred {
    let name = &function.name;
    if function.params.len() != args.len() {
        return Err(CallError::Count {
            expected: format!("`{name}` to take {} arguments", args.len()),
            found: function.params.len(),
        });
    }
    for (at, (param, arg)) in function.params.iter().zip(args).enumerate() {
        let wanted = function.ty(*param);
        if wanted != arg {
            return Err(CallError::Type {
                expected: format!("argument {} of `{name}` to be {wanted}", at + 1),
                found: arg.clone(),
            });
        }
    }
    match &function.results[..] {
        [(_, value)] => Ok(function.ty(*value).clone()),
        results => Err(CallError::Count {
            expected: format!("`{name}` to have one result"),
            found: results.len(),
        }),
    }
}

/// Removes the first axis from the types of mapped operands, and returns the size of this axis.
/// Fails if one of these operands does not have a first axis, or if the sizes of the first axes
/// differ.
pub fn unmap(types: &[&Type]) -> Result<(Dim, Vec<Type>), CallError> {
    let mut size = None;
    let mut inner = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        let Some(dim) = ty.dims().first().copied() else {
            return Err(CallError::Type {
                expected: format!("operand {} of the mapped ones to have an axis to map", at + 1),
                found: (*ty).clone(),
            });
        };
        match size {
            Some(other) if other != dim => {
                return Err(CallError::Rule(format!(
                    "mapped axes of equal size, found {other} and {dim}"
                )));
            }
            _ => size = Some(dim),
        }
        inner.push(ty.with_shape(Shape(ty.dims()[1..].to_vec())));
    }
    let size = size.ok_or_else(|| CallError::Rule("at least one mapped operand, found none".to_owned()))?;
    Ok((size, inner))
}

/// Returns a copy of `function` in which the mapped parameters come first, and the old position of
/// each parameter.
pub fn mapped_first(function: &Arc<Function>, mapped: &[bool]) -> (Arc<Function>, Vec<usize>) {
    let flagged = |wanted: bool| (0..mapped.len()).filter(move |at| mapped[*at] == wanted);
    let order: Vec<usize> = flagged(true).chain(flagged(false)).collect();
    if order.is_sorted() {
        return (function.clone(), order);
    }
    let mut builder = Builder::new(&function.name);
    let mut args = function.params.clone();
    for at in &order {
        let old = function.params[*at];
        let name = function.param_name(old).map_or("", |name| name);
        args[*at] = builder.param(name, function.ty(old).clone());
    }
    let results = builder.inline(function, &args);
    (finish(builder, function, results), order)
}

/// Returns a function that applies `function` at each position of a new axis of size `dim`. The new
/// axis is the first axis of the result and of the parameters that are marked in `mapped`.
pub fn lifted(function: &Arc<Function>, mapped: &[bool], dim: Dim) -> Arc<Function> {
    let mut builder = Builder::new(&function.name);
    let mut args = Vec::new();
    for (param, flag) in function.params.iter().zip(mapped) {
        let ty = function.ty(*param);
        let shape = if *flag {
            ty.shape.prepend(dim)
        } else {
            ty.shape.clone()
        };
        let name = function.param_name(*param).map_or("", |name| name);
        args.push(builder.param(name, ty.with_shape(shape)));
    }
    let result = builder.map(function, &args, mapped);
    finish(builder, function, vec![result])
}

fn finish(builder: Builder, model: &Function, results: Vec<Value>) -> Arc<Function> {
    let names = model.results.iter().map(|(name, _)| name.clone());
    Arc::new(builder.finish(names.zip(results).collect()))
}

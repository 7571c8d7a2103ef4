//! The command `:draw Model(inputs)`: draws from the prior predictive distribution of a model.

use super::evaluate::{Streams, compute};
use super::{Refused, Reply, Session};
use bnnc_base::dtype::DType;
use bnnc_base::source::{Source, Span};
use bnnc_grammar::ast::{Arg, ExprKind};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::dims::DimExpr;
use bnnc_hir::elaborate::datum::Datum;
use bnnc_hir::elaborate::model::{self, limit};
use bnnc_hir::tree::{ModelId, Module, ParamBinding};
use bnnc_hir::types::Ty;
use std::collections::HashMap;
use std::sync::Arc;

/// A model applied to inputs.
pub struct ModelCall {
    model: ModelId,
    args: Vec<Arg>,
    span: Span,
}

/// Parses a text as a call of a model. Returns `None` if the text is not such a call.
pub fn call(module: &Module, text: &Source) -> Option<ModelCall> {
    let (written, diagnostics) = bnnc_grammar::parse::parse_expr(text);
    let (name, args) = match *written.kind {
        ExprKind::Call(callee, args) => match *callee.kind {
            ExprKind::Name(name) => (name, args),
            _ => return None,
        },
        ExprKind::Name(name) => (name, Vec::new()),
        _ => return None,
    };
    let model = module.models.ids().rfind(|id| module.models[*id].name == name)?;
    diagnostics.is_empty().then_some(ModelCall {
        model,
        args,
        span: written.span,
    })
}

impl Session {
    /// Draws every site of a model from its prior, and then the model's output. Returns the sizes of a draw, and the draws.
    pub(super) fn predictive(
        &mut self,
        call: &ModelCall,
        count: usize,
        reply: &mut Reply,
    ) -> Result<(Vec<usize>, Tensor), Refused> {
        let given = self.inputs(call, reply)?;
        let line = self.next_draw();
        let item = &self.module.models[call.model];
        let bindings = item.shared.iter().chain(&item.inputs);
        let mut dims: HashMap<Arc<str>, usize> = HashMap::new();
        for (binding, tensor) in bindings.zip(&given) {
            let Ty::Tensor(_, declared) = &binding.param.ty else {
                continue;
            };
            let named = declared.iter().zip(&tensor.shape);
            dims.extend(named.map(|(dim, size)| (self.dim_name(call.model, dim), *size)));
        }
        let refuse = |why: String| vec![*limit(call.span, why)];
        let model =
            model::elaborate(&self.module, call.model, &dims).map_err(|diagnostic| vec![*diagnostic])?;
        let inputs = ports(&model, given).map_err(refuse)?;
        let mut draws = Vec::new();
        for at in 0..count {
            let seed = self.world.seed;
            let streams = Streams {
                seed,
                line: at as u32,
                prefix: format!("draw{line}/"),
                layers: HashMap::new(),
            };
            let computed = compute(model.function.clone(), &inputs, &streams).map_err(refuse)?;
            let Some((_, output)) = computed.observed.into_iter().next() else {
                return Err(refuse(format!("`{}` observes nothing", model.name)));
            };
            draws.push(output);
        }
        let sizes = draws[0].shape.clone();
        let all = Tensor::stack(&sizes, &draws);
        Ok((sizes, all))
    }

    /// Returns the name of a dim of a model.
    fn dim_name(&self, model: ModelId, dim: &DimExpr) -> Arc<str> {
        bnnc_hir::show::dim(dim, &self.module.models[model].locals).into()
    }

    /// Returns the values of a model's inputs in declared order. The call gives the inputs by position or by name.
    fn inputs(&mut self, call: &ModelCall, reply: &mut Reply) -> Result<Vec<Tensor>, Refused> {
        let item = &self.module.models[call.model];
        let names: Vec<Arc<str>> = item
            .shared
            .iter()
            .chain(&item.inputs)
            .map(|binding: &ParamBinding| binding.param.name.clone())
            .collect();
        let mut values: Vec<Option<Tensor>> = vec![None; names.len()];
        for (at, arg) in call.args.iter().enumerate() {
            let at = match &arg.name {
                Some(name) => names.iter().position(|known| *known == name.name),
                None => Some(at).filter(|at| *at < names.len()),
            };
            let Some(at) = at else {
                let why = format!("the inputs are: {}", names.join(", "));
                return Err(vec![*limit(arg.value.span, why)]);
            };
            let checked = self.checked(&arg.value, reply)?;
            let line = self.next_draw();
            let (datum, computed) = self
                .computed(&checked, line)
                .map_err(|diagnostic| vec![*diagnostic])?;
            values[at] = match datum {
                Datum::Tensor(value) => Some(computed.of(value).0.clone()),
                Datum::Static(number) => Some(Tensor::scalar(number as f64)),
                _ => {
                    return Err(vec![*limit(
                        arg.value.span,
                        "a number or an array is needed here".to_owned(),
                    )]);
                }
            };
        }
        if let Some(at) = values.iter().position(Option::is_none) {
            return Err(vec![*limit(
                call.span,
                format!("the input `{}` has no value", names[at]),
            )]);
        }
        Ok(values.into_iter().flatten().collect())
    }
}

/// Returns the tensors for the function's parameters: the inputs, and then a zero for each output. Only observations may read the outputs.
fn ports(model: &Model, given: Vec<Tensor>) -> Result<Vec<Tensor>, String> {
    let inputs = model.shared.iter().chain(&model.inputs);
    for (input, tensor) in inputs.zip(&given) {
        let sizes = input.ty.shape.static_sizes().unwrap_or_default();
        if sizes != tensor.shape {
            let (wanted, found) = (super::show::shape(&sizes), super::show::shape(&tensor.shape));
            return Err(format!("`{}` has the shape {wanted}, found {found}", input.name));
        }
        let concrete = |size: usize| {
            tensor
                .data
                .iter()
                .all(|x| x.fract() == 0.0 && *x >= 0.0 && *x < size as f64)
        };
        if let (DType::Int, bnnc_graph::dist::Support::Integers(size @ 1..)) = (input.ty.dtype, input.support)
            && !concrete(size)
        {
            return Err(format!("`{}` counts from 0 to {}", input.name, size - 1));
        }
    }
    let mut ports = given;
    for output in &model.outputs {
        let used = model
            .function
            .param(&output.name)
            .is_some_and(|value| is_read(&model.function, value));
        if used {
            return Err(format!(
                "`{}` depends on itself, so its draws depend on each other",
                output.name
            ));
        }
        ports.push(Tensor::zeros(output.ty.shape.static_sizes().unwrap_or_default()));
    }
    Ok(ports)
}

/// Returns whether an operation other than an observation reads a value.
fn is_read(function: &Function, value: Value) -> bool {
    function.nodes.ids().any(|node| {
        let observes = function.op(node).is_some_and(|op| op.is(&ops::observe::OBSERVE));
        let args = function.args(node);
        let read = if observes {
            &args[..args.len().saturating_sub(1)]
        } else {
            args
        };
        read.contains(&value)
    })
}

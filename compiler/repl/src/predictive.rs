//! The command `:draw Model(inputs)`, which draws from the prior predictive distribution of a
//! model.

use super::commands::misuse;
use super::evaluate::{MOST_ELEMENTS, Streams, compute};
use super::{Diagnostics, Reply, Session};
use bnnc_base::dtype::DType;
use bnnc_base::shape::Sizes;
use bnnc_base::source::{Source, Span};
use bnnc_grammar::ast::{Arg, Expr};
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{Input, Model};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::dims::DimExpr;
use bnnc_hir::elaborate::frame::Elaborated;
use bnnc_hir::elaborate::model;
use bnnc_hir::tree::{ModelId, Module, ParamBinding};
use bnnc_hir::types::Ty;
use bnnc_rewrite::rule::remove_dead;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of elements in all draws of one command. It is half of [`MOST_ELEMENTS`],
/// because the draws are in memory twice: one by one, and as an array.
const MOST_DRAWN: usize = MOST_ELEMENTS / 2;

/// A model applied to inputs.
pub struct ModelCall {
    /// The model.
    pub model: ModelId,
    args: Vec<Arg>,
    span: Span,
}

/// Parses a text as a call of a model. Returns `None` if the text is not such a call.
pub fn call(module: &Module, text: &Source) -> Option<ModelCall> {
    let (written, diagnostics) = bnnc_grammar::parse::parse_expr(text);
    call_of(module, &written).filter(|_| diagnostics.is_empty())
}

/// Returns a call of a model, or `None` if the expression is not such a call.
pub fn call_of(module: &Module, written: &Expr) -> Option<ModelCall> {
    let (callee, args) = written.as_call();
    let name = callee.as_name()?;
    let model = module.models.ids().rfind(|id| module.models[*id].name == *name)?;
    Some(ModelCall {
        model,
        args: args.to_vec(),
        span: written.span,
    })
}

impl Session {
    /// Draws every site of a model from its prior, and then the model's outputs.
    pub(super) fn predictive(
        &mut self,
        call: &ModelCall,
        count: usize,
        reply: &mut Reply,
    ) -> Result<Vec<PredictiveDraws>, Diagnostics> {
        let given = self.inputs(call, reply)?;
        let line = self.next_draw();
        let dims = self.dims(call, &given);
        let model = model::elaborate(&self.module, call.model, &dims)?;
        check(&model, &given, call.span)?;
        let places = places(&model, call.span)?;
        check_size(&model, count, call.span)?;
        let mut draws: Vec<Vec<Tensor>> = vec![Vec::with_capacity(count); model.outputs.len()];
        let seed = self.world.seed;
        let drawn = self.each(count, |at| {
            let streams = Streams::of_model(seed, at, format!("draw{line}/"));
            let drawn = outputs(&model, &given, &places, (&streams, call.span))?;
            let columns = draws.iter_mut().zip(drawn);
            columns.for_each(|(column, drawn)| column.push(drawn));
            Ok(())
        });
        drawn?;
        let stacked = model.outputs.iter().zip(&draws);
        let stacked = stacked.filter_map(|(output, draws)| {
            let sizes = draws.first()?.shape.clone();
            Some(PredictiveDraws {
                name: output.name.clone(),
                draws: Tensor::stack(&sizes, draws),
                sizes,
            })
        });
        Ok(stacked.collect())
    }

    /// Returns the sizes of those dimensions of a model that the inputs determine.
    pub(super) fn dims(&self, call: &ModelCall, given: &[Tensor]) -> HashMap<Arc<str>, usize> {
        let item = &self.module.models[call.model];
        let bindings = item.shared.iter().chain(&item.inputs);
        let mut dims: HashMap<Arc<str>, usize> = HashMap::new();
        for (binding, tensor) in bindings.zip(given) {
            let Ty::Tensor(_, declared) = &binding.param.ty else {
                continue;
            };
            let named = declared.iter().zip(&tensor.shape);
            dims.extend(named.map(|(dim, size)| (self.dim_name(call.model, dim), *size)));
        }
        dims
    }

    /// Returns the name of a dimension of a model.
    fn dim_name(&self, model: ModelId, dim: &DimExpr) -> Arc<str> {
        bnnc_hir::show::dim(dim, &self.module.models[model].locals).into()
    }

    /// Returns the values of a model's inputs in declared order. The call may pass the inputs by
    /// position or by name.
    pub(super) fn inputs(&mut self, call: &ModelCall, reply: &mut Reply) -> Result<Vec<Tensor>, Diagnostics> {
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
                return Err(misuse(arg.value.span, why).into());
            };
            let checked = self.checked(&arg.value, reply)?;
            let line = self.next_draw();
            let (datum, computed) = self.computed(&checked, line)?;
            let Some((value, _)) = computed.number(&datum) else {
                let why = "a number or an array is needed here";
                return Err(misuse(arg.value.span, why).into());
            };
            values[at] = Some(value);
        }
        if let Some(at) = values.iter().position(Option::is_none) {
            let why = format!("the input `{}` has no value", names[at]);
            return Err(misuse(call.span, why).into());
        }
        Ok(values.into_iter().flatten().collect())
    }
}

/// Rejects draws that need too much memory.
fn check_size(model: &Model, count: usize, span: Span) -> Result<(), Diagnostics> {
    let sizes = |output: &Input| output.ty.shape.static_sizes().unwrap_or_default();
    let elements = |output: &Input| sizes(output).iter().product::<usize>();
    let all = model.outputs.iter().map(elements).fold(0, usize::saturating_add);
    match all.saturating_mul(count) > MOST_DRAWN {
        false => Ok(()),
        true => {
            let why = format!(
                "{count} draws of {all} numbers are too many; the REPL holds at most {MOST_DRAWN} numbers of a model's outputs"
            );
            Err(misuse(span, why)
                .help("make fewer draws, or give fewer rows")
                .into())
        }
    }
}

/// The draws of one output of a model.
pub struct PredictiveDraws {
    /// The name of the output.
    pub name: Arc<str>,
    /// The sizes of one draw.
    pub sizes: Vec<usize>,
    /// The draws, one after the other.
    pub draws: Tensor,
}

/// Checks that the inputs have the shapes and values that the model declares.
fn check(model: &Model, given: &[Tensor], span: Span) -> Elaborated<()> {
    let inputs = model.shared.iter().chain(&model.inputs);
    for (input, tensor) in inputs.zip(given) {
        let sizes = input.ty.shape.static_sizes().unwrap_or_default();
        if sizes != tensor.shape {
            let (wanted, found) = (super::show::shape(&sizes), super::show::shape(&tensor.shape));
            let why = format!("`{}` has the shape {wanted}, found {found}", input.name);
            return Err(Box::new(misuse(span, why)));
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
            let why = format!("`{}` counts from 0 to {}", input.name, size - 1);
            return Err(Box::new(misuse(span, why)));
        }
    }
    Ok(())
}

/// The elements of an output that one statement observes, in the order in which the statement draws
/// them.
struct Place {
    output: usize,
    elements: Vec<usize>,
}

/// Returns the elements that each observation of a model observes, in the order of the observations
/// in the function.
fn places(model: &Model, span: Span) -> Elaborated<Vec<Place>> {
    let function = &model.function;
    let observations = function.nodes.ids().filter(|node| {
        let op = function.op(*node);
        op.is_some_and(|op| op.is(&ops::observe::OBSERVE))
    });
    let place = |node: Value| {
        let observed = *function.args(node).last()?;
        let needed = needed_by(function, &[observed]);
        let output = model.outputs.iter().position(|output| {
            let param = function.param(&output.name);
            param.is_some_and(|param| needed.contains(&param))
        })?;
        // Each observation selects elements of an output. Applied to an array that contains the
        // position of every element, the same selection gives the observed positions.
        let own = Function {
            results: vec![("observed".into(), observed)],
            ..function.clone()
        };
        let own = remove_dead(&own);
        let positions = |param: &Value| {
            let sizes = own.ty(*param).shape.resolve(&Sizes::default());
            let count = sizes.iter().product::<usize>();
            Tensor::new(sizes, (0..count).map(|at| at as f64).collect())
        };
        let inputs: Vec<Tensor> = own.params.iter().map(positions).collect();
        let found = evaluate(&own, &inputs, &Sizes::default()).pop()?;
        let elements = found.data.iter().map(|at| *at as usize).collect();
        Some(Place { output, elements })
    };
    let places: Option<Vec<Place>> = observations.map(place).collect();
    let places = places.unwrap_or_default();
    match places.is_empty() {
        true => Err(limit(span, format!("`{}` observes nothing", model.name))),
        false => Ok(places),
    }
}

/// Draws the outputs of a model once.
///
/// An output may depend on other outputs and on its own elements, for example on the previous
/// element of a series. The noise of every element is fixed. The outputs are then computed
/// repeatedly, each time from the outputs of the previous repetition, until they no longer change.
/// Each repetition completes at least one more element. If no element depends on itself, the number
/// of repetitions is therefore at most the number of elements.
fn outputs(
    model: &Model,
    given: &[Tensor],
    places: &[Place],
    (streams, span): (&Streams, Span),
) -> Elaborated<Vec<Tensor>> {
    let sizes = |output: &Input| output.ty.shape.static_sizes().unwrap_or_default();
    let mut outputs: Vec<Tensor> = model
        .outputs
        .iter()
        .map(|output| Tensor::zeros(sizes(output)))
        .collect();
    let is_read = model.outputs.iter().any(|output| {
        let param = model.function.param(&output.name);
        param.is_some_and(|param| is_read(&model.function, param))
    });
    let elements: usize = outputs.iter().map(|output| output.data.len()).sum();
    for _ in 0..elements + 2 {
        let inputs: Vec<Tensor> = given.iter().chain(&outputs).cloned().collect();
        let computed = compute(model.function.clone(), &inputs, streams, span)?;
        let mut changed = false;
        for (place, (_, drawn)) in places.iter().zip(&computed.observed) {
            let output = &mut outputs[place.output].data;
            for (at, value) in place.elements.iter().zip(&drawn.data) {
                if let Some(old) = output.get_mut(*at) {
                    changed |= old.to_bits() != value.to_bits();
                    *old = *value;
                }
            }
        }
        if !changed || !is_read {
            return Ok(outputs);
        }
    }
    let names: Vec<String> = model
        .outputs
        .iter()
        .map(|output| format!("`{}`", output.name))
        .collect();
    let why = format!(
        "an element of {} depends on itself, so it cannot be drawn",
        names.join(" or ")
    );
    Err(limit(span, why))
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

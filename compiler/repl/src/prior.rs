//! Draws a parameter of a model from its prior, for `:plot prior M.beta`.

use super::commands::misuse;
use super::evaluate::{Streams, compute_some};
use super::{Diagnostics, Reply, Session, paths, predictive};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_driver::diagnostics::draws as codes;
use bnnc_grammar::ast::Expr;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::Model;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate::bind::bind;
use bnnc_hir::elaborate::model;
use bnnc_hir::tree::ModelId;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of draws.
const DRAWS: usize = 4000;

/// The smallest number of draws. If memory does not allow this number, the command fails, because
/// the ends of a 90 % interval would be imprecise.
const FEWEST_DRAWS: usize = 400;
/// The largest number of reals in all draws together (128 MiB). For a large parameter, the number
/// of draws is reduced to stay within this limit.
const MOST_NUMBERS: usize = 1 << 24;

impl Session {
    /// Returns draws of a parameter from its prior, `[draws, ..]`. The path begins with an
    /// inference block, as in `fit.beta`, or with a model, as in `M.beta`. A model may have inputs
    /// that determine sizes, as in `M([1, 2]).beta`.
    pub(super) fn prior_draws(&mut self, written: &Expr, reply: &mut Reply) -> Result<Tensor, Diagnostics> {
        let (start, parameter) = paths::path(written);
        let (id, dims) = self.prior_model(start, reply)?;
        if parameter.is_empty() {
            let text = "one parameter is needed here, such as `prior fit.beta`";
            return Err(misuse(written.span, text).into());
        }
        let model =
            model::elaborate(&self.module, id, &dims).map_err(|diagnostic| match dims.is_empty() {
                true => unsized_model(written, &self.module.models[id].name),
                false => *diagnostic,
            })?;
        let function = &model.function;
        let Some(site) = function
            .nodes
            .ids()
            .find(|node| site(function, *node) == Some(&*parameter))
        else {
            let names: Vec<&str> = function
                .nodes
                .ids()
                .filter_map(|node| site(function, node))
                .collect();
            return Err(codes::no_parameter(written.span, &model.name, &parameter, &names).into());
        };
        let needed = needed_by(function, &[site]);
        self.check_prior(written, &model, &needed)?;
        let sizes = function.ty(site).shape.static_sizes().unwrap_or_default();
        let elements = sizes.iter().product::<usize>().max(1);
        let count = DRAWS.min(MOST_NUMBERS / elements);
        if count < FEWEST_DRAWS {
            let why = format!("`{parameter}` has {elements} elements, too many to draw from its prior");
            return Err(misuse(written.span, why).into());
        }
        let line = self.next_draw();
        let mut draws = Vec::with_capacity(count);
        let drawn = self.each(count, |at| {
            let streams = Streams::of_model(self.world.seed, at, format!("prior{line}/"));
            let computed = compute_some(function.clone(), &[], &streams, written.span, |value| {
                needed.contains(&value)
            })?;
            let drawn = computed.drawn.into_iter().find(|(name, _)| *name == parameter);
            draws.extend(drawn.map(|(_, tensor)| tensor));
            Ok(())
        });
        drawn?;
        Ok(Tensor::stack(&sizes, &draws))
    }

    /// Returns the model at the start of a path, and the known sizes of its dimensions.
    fn prior_model(
        &mut self,
        start: &Expr,
        reply: &mut Reply,
    ) -> Result<(ModelId, HashMap<Arc<str>, usize>), Diagnostics> {
        let named = start.as_name().filter(|name| self.is_infer(name));
        if let Some(name) = named {
            let infer = self.module.infers.iter().find(|infer| infer.name == *name);
            if let Some(infer) = infer {
                return self.bound(self.module.model_of(infer.target), &infer.data);
            }
        }
        let Some(call) = predictive::call_of(&self.module, start) else {
            let text = "a parameter of a model or of an inference block is needed here: `prior M.beta`";
            return Err(misuse(start.span, text).into());
        };
        if start.as_name().is_none() {
            let given = self.inputs(&call, reply)?;
            return Ok((call.model, self.dims(&call, &given)));
        }
        let mut infers = self.module.infers.iter();
        match infers.find(|infer| self.module.model_of(infer.target) == call.model) {
            Some(infer) => self.bound(call.model, &infer.data),
            None => Ok((call.model, HashMap::new())),
        }
    }

    /// Returns a model, and the sizes that its dimensions have for the data of a data item.
    fn bound(
        &self,
        model: ModelId,
        data: &bnnc_hir::tree::DataId,
    ) -> Result<(ModelId, HashMap<Arc<str>, usize>), Diagnostics> {
        let schema = (self.world.schema)(&self.module.datas[*data].spec)?;
        let (bound, diagnostics) = bind(&self.module.models[model], &schema);
        match diagnostics.is_empty() {
            true => Ok((model, bound.dims)),
            false => Err(diagnostics.into()),
        }
    }

    /// Checks that a prior does not depend on inputs or on unknown sizes.
    fn check_prior(&self, written: &Expr, model: &Model, needed: &HashSet<Value>) -> Result<(), Diagnostics> {
        let function = &model.function;
        for value in function.nodes.ids().filter(|value| needed.contains(value)) {
            if let NodeKind::Param(name) = &function.nodes[value].kind {
                let text = format!("the prior depends on the input `{name}` of `{}`", model.name);
                return Err(misuse(written.span, text).into());
            }
            if function.ty(value).shape.static_sizes().is_none() {
                return Err(unsized_model(written, &model.name).into());
            }
        }
        Ok(())
    }
}

/// Reports a model in which only the data determine the size of a parameter.
fn unsized_model(written: &Expr, model: &str) -> Diagnostic {
    misuse(
        written.span,
        format!("the sizes of the parameters of `{model}` depend on data"),
    )
    .help("`prior fit.beta` takes these sizes from the data of the inference block `fit`; `prior M([1, 2]).beta` takes them from the inputs")
}

/// Returns the name of the site that a node draws.
fn site(function: &Function, node: Value) -> Option<&str> {
    match &function.nodes[node].kind {
        NodeKind::Apply { op, attrs, .. } if op.is(&ops::sample::SAMPLE) => Some(ops::sample::site(attrs)),
        NodeKind::Apply { .. } | NodeKind::Param(_) => None,
    }
}

//! Formats distributions, layers and functions as text.

use super::distribution::value_sizes;
use super::evaluate::Computed;
use super::items::{self, Items};
use super::show;
use bnnc_base::source::SourceMap;
use bnnc_hir::dims::DimExpr;
use bnnc_hir::elaborate::datum::{Callee, Datum, DistDatum, LayerDatum};
use bnnc_hir::tree::{LocalId, Module, ParamBinding};
use bnnc_hir::types::Ty;

/// The objects to which a description refers.
pub struct Describer<'a> {
    /// The module that contains the ids.
    pub module: &'a Module,
    /// The sources to which the spans refer.
    pub sources: &'a SourceMap,
    /// The items by name.
    pub items: &'a Items,
    /// The computed values.
    pub computed: &'a Computed,
}

impl Describer<'_> {
    /// Formats the value of an entry as a complete reply.
    pub fn datum(&self, datum: &Datum) -> String {
        match datum {
            Datum::Dist(dist) => format!("{} on {}", self.argument(datum), self.on(dist)),
            Datum::Layer(layer) => format!("{}: {}", self.argument(datum), self.signature(layer)),
            Datum::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.datum(item)).collect();
                format!("[{}]", items.join(",\n "))
            }
            Datum::Function(Callee::Fn(id)) => self.item(&self.module.fns[*id].name),
            Datum::Function(Callee::Builtin(builtin)) => builtin.declaration(),
            Datum::Tensor(_) | Datum::Static(_) | Datum::Composed(..) => self.argument(datum),
        }
    }

    /// Formats a datum as an argument.
    fn argument(&self, datum: &Datum) -> String {
        match datum {
            Datum::Tensor(value) => {
                let (tensor, dtype) = self.computed.of(*value);
                show::tensor(tensor, dtype)
            }
            Datum::Static(number) => number.to_string(),
            Datum::Dist(dist) => {
                let item = &self.module.dists[dist.dist];
                format!("{}({})", item.name, self.arguments(&item.params, &dist.args))
            }
            Datum::Layer(layer) => {
                let item = &self.module.layers[layer.layer];
                format!("{}({})", item.name, self.arguments(&item.params, &layer.args))
            }
            Datum::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.argument(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Datum::Composed(composition, parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.argument(part)).collect();
                format!("{}({})", composition.name(), parts.join(", "))
            }
            Datum::Function(Callee::Fn(id)) => self.module.fns[*id].name.to_string(),
            Datum::Function(Callee::Builtin(builtin)) => builtin.name.to_owned(),
        }
    }

    /// Formats arguments. An argument that equals the declared default is omitted. After an omitted
    /// argument, all arguments are named.
    fn arguments(&self, params: &[ParamBinding], args: &[Datum]) -> String {
        let mut texts = Vec::new();
        let mut skipped = false;
        for (binding, arg) in params.iter().zip(args) {
            let text = self.argument(arg);
            if self.default(binding).is_some_and(|default| default == text) {
                skipped = true;
                continue;
            }
            texts.push(if skipped {
                format!("{} = {text}", binding.param.name)
            } else {
                text
            });
        }
        texts.join(", ")
    }

    fn default(&self, binding: &ParamBinding) -> Option<&str> {
        let span = binding.default.as_ref()?.span;
        self.sources.text(span)
    }

    /// Formats the type of a distribution's values, such as `real[3]`.
    fn on(&self, dist: &DistDatum) -> String {
        let item = &self.module.dists[dist.dist];
        let sizes = value_sizes(self.module, dist, &|value| {
            self.computed.of(value).0.shape.clone()
        });
        match (&item.on, sizes) {
            (Ty::Tensor(elem, dims), Some(sizes)) if dims.len() <= sizes.len() => {
                let dims = sizes
                    .into_iter()
                    .map(|size| DimExpr::number(size as i64))
                    .collect();
                bnnc_hir::show::ty(&Ty::Tensor(elem.clone(), dims), &item.locals)
            }
            (on, _) => bnnc_hir::show::ty(on, &item.locals),
        }
    }

    /// Formats the type of a layer instance, such as `layer (real[n]) -> real[50]`.
    fn signature(&self, layer: &LayerDatum) -> String {
        let item = &self.module.layers[layer.layer];
        let show = |ty: &Ty| bnnc_hir::show::ty(&settled(ty, &item.params, &layer.args), &item.locals);
        let inputs: Vec<String> = item.inputs.iter().map(|input| show(&input.param.ty)).collect();
        format!("layer ({}) -> {}", inputs.join(", "), show(&item.result))
    }

    /// Returns the declaration of an item.
    fn item(&self, name: &str) -> String {
        self.items
            .find(name)
            .map_or_else(|| name.to_owned(), |item| items::header(item, self.sources))
    }
}

/// In a type, replaces the constructor parameters of the layer by their integer values.
fn settled(ty: &Ty, params: &[ParamBinding], args: &[Datum]) -> Ty {
    let known = |local: LocalId| {
        params.iter().zip(args).find_map(|(binding, arg)| match arg {
            Datum::Static(number) if binding.local == local => Some(*number),
            _ => None,
        })
    };
    match ty {
        Ty::Tensor(elem, dims) => {
            let dims = dims.iter().map(|dim| dim.with_known(known)).collect();
            Ty::Tensor(elem.clone(), dims)
        }
        other => other.clone(),
    }
}

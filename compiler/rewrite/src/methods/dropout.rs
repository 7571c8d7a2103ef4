//! Random masks on the inputs of layers (Srivastava et al. 2014), which also apply in predictions
//! (Gal and Ghahramani 2016).
//!
//! In a product `w h`, `w` are weights and `h` are values that are computed from an example. Each
//! element of `h` is dropped with probability `p`, and the remaining elements are divided by
//! `1 - p`. The product keeps its mean, and has the variance `p / (1 - p) sum_i (w_i h_i)^2`. A
//! mask is a function of the seed, the layer, the draw, the example and the step. All programs
//! therefore use the same mask for a given draw and example.

use super::likelihood::choice::covers;
use super::task::RewriteError;
use crate::density::{Densities, coordinates};
use crate::pass::PassContext;
use crate::pipeline::StageFunctions;
use crate::{diagnostics, nodes, pipeline, pipelines};
use bnnc_abi::names::layer_of;
use bnnc_abi::ports::PortName;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::analysis::dataflow;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::map::NodeImages;
use bnnc_graph::model::Model;
use bnnc_graph::ops;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The user's options for dropout.
#[derive(Clone, Copy, Debug)]
pub struct Masks<'a> {
    /// The layers or weights whose inputs are dropped. An empty list means all layers whose inputs
    /// are not data.
    pub layers: &'a [Arc<str>],
    /// The probability that an input is dropped.
    pub rate: f64,
}

/// A model with masks on the inputs of its layers.
#[derive(Clone, Debug)]
pub struct Dropped {
    /// The densities with masks. The functions of a row also depend on `draw`, `example` and
    /// `step`. These three integers select the masks.
    pub densities: Densities,
    /// The sites whose products with inputs have masks.
    pub sites: BTreeSet<Arc<str>>,
}

impl StageFunctions for Dropped {
    fn functions(&self) -> Vec<&Function> {
        self.densities.functions()
    }
}

/// Puts masks on the inputs of layers, in all functions of a row in `densities`.
///
/// # Errors
/// Fails if a name is not a layer, the weights of a layer are not multiplied with values of an
/// example, or the model does not have an input to drop.
pub fn dropped(
    densities: &Densities,
    model: &Model,
    masks: Masks<'_>,
    context: &mut PassContext,
) -> Result<Dropped, RewriteError> {
    let mut sites = BTreeSet::new();
    let mut treat = |function: &Function, sites: &mut BTreeSet<Arc<str>>| -> Result<Function, RewriteError> {
        // The search for layers runs after simplification, because simplification moves transpositions into
        // products.
        let function = pipeline::run(function, pipelines::BEFORE_DERIVATIVE, context)?;
        let products = products(&function, model, masks.layers);
        sites.extend(products.iter().flat_map(|product| product.sites.iter().cloned()));
        Ok(Masker::new(&function, masks.rate).masked(&products))
    };
    let row_log_likelihood = treat(&densities.row_log_likelihood, &mut sites)?;
    check(model, masks.layers, &sites)?;
    let training_row = match &densities.training_row {
        Some(row) => Some(treat(row, &mut BTreeSet::new())?),
        None => None,
    };
    let mut predictions = densities.predictions.clone();
    for prediction in &mut predictions {
        prediction.function = treat(&prediction.function, &mut BTreeSet::new())?;
    }
    Ok(Dropped {
        densities: Densities {
            row_log_likelihood,
            training_row,
            predictions,
            ..densities.clone()
        },
        sites,
    })
}

/// Checks that every name selects a layer with a mask. Also checks that the model has at least one
/// mask.
fn check(model: &Model, layers: &[Arc<str>], masked: &BTreeSet<Arc<str>>) -> Result<(), Vec<Diagnostic>> {
    let sites = || model.sites.iter().map(|site| &*site.name);
    let fault = |name: &Arc<str>| {
        let is_known = sites().any(|site| covers(name, site));
        let is_masked = masked.iter().any(|site| covers(name, site));
        match (is_known, is_masked) {
            (true, true) => None,
            (true, false) => Some(diagnostics::no_masks(name)),
            (false, _) => {
                let known = sites().chain(sites().filter_map(layer_of));
                Some(diagnostics::unknown_layer("layers", name, known))
            }
        }
    };
    let mut faults: Vec<Diagnostic> = layers.iter().filter_map(fault).collect();
    if layers.is_empty() && masked.is_empty() {
        faults.push(diagnostics::nothing_to_drop(
            sites().filter_map(layer_of).next_back(),
        ));
    }
    diagnostics::unless(faults, ())
}

/// A product of weights with a value that depends on the example.
struct Product {
    /// The node of the product.
    node: Value,
    /// The index of the operand that depends on the example.
    operand: usize,
    /// The value from which the elements of the operand are taken.
    source: Value,
    /// The sites that determine the weights.
    sites: Vec<Arc<str>>,
}

/// Returns the products whose inputs are dropped.
fn products(row: &Function, model: &Model, layers: &[Arc<str>]) -> Vec<Product> {
    let named = |names: &mut dyn Iterator<Item = &Arc<str>>| -> Vec<Value> {
        names.filter_map(|name| row.param(name)).collect()
    };
    let weights = named(&mut model.sites.iter().map(|site| &site.name));
    // A model that treats the whole file as one example has only shared inputs. The layers then
    // take these as their inputs.
    let inputs = match model.inputs.is_empty() {
        true => &model.shared,
        false => &model.inputs,
    };
    let of_row = named(&mut inputs.iter().chain(&model.outputs).map(|input| &input.name));
    let (of_weights, of_row) = (
        dataflow::dependents(row, &weights),
        dataflow::dependents(row, &of_row),
    );
    let mut found = Vec::new();
    for node in row.nodes.ids() {
        if !row.applies(node, &[&ops::contract::CONTRACT]) {
            continue;
        }
        let is_weights = |value: &Value| of_weights.contains(value) && !of_row.contains(value);
        let args = row.args(node);
        let operand = match (is_weights(&args[0]), is_weights(&args[1])) {
            (true, false) => 1,
            (false, true) => 0,
            _ => continue,
        };
        let input = args[operand];
        let needed = dataflow::needed_by(row, &[args[1 - operand]]);
        let made_of = model
            .sites
            .iter()
            .map(|site| &site.name)
            .filter(|site| row.param(site).is_some_and(|param| needed.contains(&param)));
        let sites: Vec<Arc<str>> = made_of.cloned().collect();
        let is_named = |site: &Arc<str>| layers.iter().any(|name| covers(name, site));
        let is_chosen = match layers {
            [] => of_weights.contains(&input),
            _ => sites.iter().any(is_named),
        };
        if of_row.contains(&input) && is_chosen {
            let source = source(row, &of_row, input);
            found.push(Product {
                node,
                operand,
                source,
                sites,
            });
        }
    }
    found
}

/// Returns the layer of a site, such as `hidden` for `hidden.w`.
fn layer(site: &str) -> &str {
    layer_of(site).unwrap_or(site)
}

/// Returns the value from which the elements of an operand are taken. For example, an element of an
/// image occurs in several sliding windows. If the mask applies to the image, the element is
/// dropped in all these windows or kept in all of them.
fn source(row: &Function, of_row: &HashSet<Value>, value: Value) -> Value {
    let args = row.args(value);
    let moves = [
        &ops::reshape::RESHAPE,
        &ops::transpose::TRANSPOSE,
        &ops::slice::SLICE,
        &ops::pad::PAD,
        &ops::patches::PATCHES,
        &ops::broadcast::BROADCAST,
        &ops::gather::GATHER,
    ];
    // The entries of a lookup table that does not depend on the example are not dropped. The values
    // that are looked up in this table are dropped instead.
    if row.applies(value, &moves) && of_row.contains(&args[0]) {
        return source(row, of_row, args[0]);
    }
    if row.applies(value, &[&ops::concat::CONCAT]) {
        let sources: HashSet<Value> = args.iter().map(|arg| source(row, of_row, *arg)).collect();
        let mut sources = sources.into_iter();
        if let (Some(only), None) = (sources.next(), sources.next()) {
            return only;
        }
    }
    value
}

/// Builds a copy of a row function, with masks on the inputs of layers.
struct Masker<'a> {
    row: &'a Function,
    rate: f64,
    builder: Builder,
    coordinates: [Value; 3],
    /// The masked copies of layer inputs. The keys are the layer and the value.
    masked: HashMap<(String, Value), Value>,
    /// The number of masks that each layer has so far.
    counts: HashMap<String, usize>,
}

impl<'a> Masker<'a> {
    fn new(row: &'a Function, rate: f64) -> Masker<'a> {
        let mut builder = Builder::new(&row.name);
        let coordinates = coordinates(&mut builder);
        Masker {
            row,
            rate,
            builder,
            coordinates,
            masked: HashMap::new(),
            counts: HashMap::new(),
        }
    }

    fn masked(mut self, products: &[Product]) -> Function {
        let row = self.row;
        let params: Vec<Value> = row.params.iter().map(|param| self.param(*param)).collect();
        let copies = row.map_nodes(params, |call, copies| {
            let mut operands = copies.of(call.args);
            if let Some(product) = products.iter().find(|product| product.node == call.value) {
                operands[product.operand] = self.dropped(copies, product, call.args[product.operand]);
            }
            let copy = self.builder.apply(call.op.0, &operands, call.attrs.to_vec());
            self.builder.label_as(copy, call.label);
            copy
        });
        self.builder.finish(row.results_in(&copies))
    }

    fn param(&mut self, param: Value) -> Value {
        let name = nodes::param_name(self.row, param);
        let own = PortName::COORDINATES.iter().position(|own| own.text() == name);
        match own {
            Some(at) => self.coordinates[at],
            None => self.builder.param_like(self.row, param),
        }
    }

    /// Returns a copy of a product's operand. The mask of the layer is applied to the value from
    /// which the operand takes its elements.
    fn dropped(&mut self, copies: &NodeImages<Value>, product: &Product, operand: Value) -> Value {
        let layer = product.sites.first().map_or("", |site| layer(site)).to_owned();
        let source = product.source;
        let key = (layer.clone(), source);
        let masked = match self.masked.get(&key) {
            Some(masked) => *masked,
            None => {
                let count = self.counts.entry(layer.clone()).or_default();
                let stream = match *count {
                    0 => format!("{layer}/dropout"),
                    more => format!("{layer}/dropout/{more}"),
                };
                *count += 1;
                let masked = self.mask(copies[source], &stream);
                self.masked.insert(key, masked);
                masked
            }
        };
        self.moved(copies, operand, source, masked)
    }

    /// Rebuilds an operand from the value `masked` instead of the value `source`.
    fn moved(&mut self, copies: &NodeImages<Value>, operand: Value, source: Value, masked: Value) -> Value {
        if operand == source {
            return masked;
        }
        let NodeKind::Apply { op, args, attrs } = &self.row.nodes[operand].kind else {
            return copies[operand];
        };
        let is_concat = op.is(&ops::concat::CONCAT);
        let moved: Vec<Value> = args
            .iter()
            .enumerate()
            .map(|(at, arg)| match is_concat || at == 0 {
                true => self.moved(copies, *arg, source, masked),
                false => copies[*arg],
            })
            .collect();
        let attrs: Vec<Attr> = attrs.clone();
        self.builder.apply(op.0, &moved, attrs)
    }

    /// Drops elements of `x`. The remaining elements are divided by the probability that an element
    /// is kept.
    fn mask(&mut self, x: Value, stream: &str) -> Value {
        let builder = &mut self.builder;
        let shape = builder.shape(x);
        let uniform = builder.noise(NoiseKind::Uniform, stream, self.coordinates, &shape);
        let rate = builder.like(self.rate, uniform);
        let (gone, kept) = (
            builder.like(0.0, uniform),
            builder.like(1.0 / (1.0 - self.rate), uniform),
        );
        let is_dropped = builder.lt(uniform, rate);
        let factor = builder.select(is_dropped, gone, kept);
        builder.mul(factor, x)
    }
}

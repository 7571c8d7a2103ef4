//! Draws weights separately for each example: local reparameterisation and Flipout.
//!
//! Local reparameterisation (Kingma, Salimans and Welling 2015): a product `w h` of independent
//! normal weights `w` is normal for a given `h`. The product is therefore drawn separately for each
//! example, as `m h + sqrt(s^2 h^2) z`.
//!
//! Flipout (Wen et al. 2018): all examples share one draw, and each example flips the signs of the
//! draw's elements, `(m + r t^T (s e)) h = m h + r ((s e) (t h))`.

use super::choice::Expectation;
use super::usage::{Usage, VaryingSite, WeightProduct, folds, usage};
use crate::diagnostics::no_estimator;
use crate::nodes;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Shape;
use bnnc_graph::analysis::dataflow;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::map::NodeImages;
use std::collections::HashMap;
use std::sync::Arc;

/// A small amount that is added to variances. If all factors of a product are zero, the variance of
/// the product is zero. The slope of the square root at zero is infinite. The amount is below the
/// rounding error of any variance above `1e-22`, and keeps the slope at zero finite in both
/// precisions.
const LEAST_VARIANCE: f64 = 1e-30;

/// A row function that draws some sites separately for each example, with sentences for the report.
pub struct Rewritten {
    /// The rewritten function of a row. The parameters [`centre`] and [`spread`] replace each site
    /// that is drawn separately for each example. The parameters `draw`, `example` and `step` are
    /// added.
    pub row: Function,
    /// The sentences for the report, one for each site that is drawn separately for each example.
    pub sentences: Vec<(Arc<str>, String)>,
}

/// Returns the name of the parameter for the centre of a site. The sign of this part is never
/// flipped.
pub fn centre(site: &str) -> String {
    format!("{site}:centre")
}

/// Returns the name of the parameter for the spread of a site. For local reparameterisation, the
/// spread consists of the standard deviations. For Flipout, it is the part of a draw whose signs
/// are flipped.
pub fn spread(site: &str) -> String {
    format!("{site}:spread")
}

/// Rewrites `row` so that the sites in `treated` are drawn separately for each example.
///
/// # Errors
/// Fails if the likelihood uses a site in a way that does not allow separate draws.
pub fn rewrite(row: &Function, treated: &[(Arc<str>, Expectation)]) -> Result<Rewritten, Vec<Diagnostic>> {
    let users = dataflow::users(row);
    let mut sites: HashMap<Value, VaryingSite> = HashMap::new();
    let mut faults = Vec::new();
    let params: Vec<Value> = treated.iter().filter_map(|(name, _)| row.param(name)).collect();
    for (name, way) in treated {
        // A site that the likelihood does not use does not need a draw.
        let Some(param) = row.param(name) else { continue };
        match usage(row, &users, &params, param, *way) {
            Ok(usage) => {
                let (name, way) = (name.clone(), *way);
                sites.insert(
                    param,
                    VaryingSite {
                        name,
                        way,
                        usage,
                        with: None,
                    },
                );
            }
            Err(why) => faults.push(no_estimator(way.option(), name, &why.to_string())),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let folds = folds(row, &users, &mut sites);
    Ok(Rewriter::new(row, sites, folds).run(treated))
}

/// The parameters that replace a site that is drawn separately for each example.
#[derive(Clone, Copy)]
struct Weights {
    centre: Value,
    spread: Value,
}

struct Rewriter<'a> {
    row: &'a Function,
    builder: Builder,
    sites: HashMap<Value, VaryingSite>,
    weights: HashMap<Value, Weights>,
    folds: HashMap<Value, (Value, Value)>,
    coordinates: [Value; 3],
}

impl<'a> Rewriter<'a> {
    fn new(
        row: &'a Function,
        sites: HashMap<Value, VaryingSite>,
        folds: HashMap<Value, (Value, Value)>,
    ) -> Rewriter<'a> {
        let mut builder = Builder::new(&row.name);
        let coordinates = crate::density::coordinates(&mut builder);
        Rewriter {
            row,
            builder,
            sites,
            weights: HashMap::new(),
            folds,
            coordinates,
        }
    }

    fn run(mut self, treated: &[(Arc<str>, Expectation)]) -> Rewritten {
        let row = self.row;
        let params: Vec<Value> = row.params.iter().map(|param| self.param(*param)).collect();
        let copies = row.map_nodes(params, |call, copies| {
            let copy = self.replaced(copies, call.value).unwrap_or_else(|| {
                (self.builder).apply(call.op.0, &copies.of(call.args), call.attrs.to_vec())
            });
            self.builder.label_as(copy, call.label);
            copy
        });
        let sentence = |(name, way): &(Arc<str>, Expectation)| {
            let site = row.param(name).and_then(|param| self.sites.get(&param));
            (
                name.clone(),
                site.map_or_else(|| "not used".to_owned(), |site| site.sentence(*way)),
            )
        };
        Rewritten {
            sentences: treated.iter().map(sentence).collect(),
            row: self.builder.finish(row.results_in(&copies)),
        }
    }

    fn param(&mut self, value: Value) -> Value {
        let Some(site) = self.sites.get(&value) else {
            return self.builder.param_like(self.row, value);
        };
        let (name, ty) = (nodes::param_name(self.row, value), self.row.ty(value).clone());
        let weights = Weights {
            centre: self.builder.param(&centre(name), ty.clone()),
            spread: self.builder.param(&spread(name), ty.clone()),
        };
        let stands_alone = site.usage == Usage::Small && site.with.is_none();
        let way = site.way;
        self.weights.insert(value, weights);
        match (stands_alone, way) {
            (false, _) => weights.centre,
            (true, Expectation::Flipout) => {
                let signs = self.signs(&format!("{name}/flipout"), &ty.shape);
                let flipped = self.builder.mul(signs, weights.spread);
                self.builder.add(weights.centre, flipped)
            }
            (true, Expectation::Local | Expectation::Shared | Expectation::Integrated) => {
                let noise = self.normal(name, &ty.shape);
                let spread = self.builder.mul(weights.spread, noise);
                self.builder.add(weights.centre, spread)
            }
        }
    }

    /// Replaces a product of which one factor consists of weights that are drawn separately for
    /// each example, or a sum whose operands share one draw. Returns `None` for any other node.
    fn replaced(&mut self, copies: &NodeImages<Value>, node: Value) -> Option<Value> {
        let args = self.row.args(node);
        if let Some((product, bias)) = self.folds.get(&node).copied() {
            let bias = self.weights[&bias];
            return self.product(copies, product, Some(bias));
        }
        let is_folded = self.folds.values().any(|(product, _)| *product == node);
        match args.iter().any(|arg| self.weights.contains_key(arg)) {
            true if is_folded => Some(copies[args[0]]),
            true => self.product(copies, node, None),
            false => None,
        }
    }

    fn product(&mut self, copies: &NodeImages<Value>, node: Value, bias: Option<Weights>) -> Option<Value> {
        let is_product = |arg: &&Value| {
            self.sites
                .get(arg)
                .is_some_and(|site| matches!(site.usage, Usage::Products(_)))
        };
        let param = *self.row.args(node).iter().find(is_product)?;
        let product = WeightProduct::of(self.row, node, param)?;
        let site = &self.sites[&param];
        let (name, way) = (site.name.clone(), site.way);
        let other = copies[product.other];
        let weights = self.weights[&param];
        Some(match way {
            Expectation::Flipout => self.flipped(&name, &product, weights, other),
            Expectation::Local | Expectation::Shared | Expectation::Integrated => {
                self.local(&name, &product, weights, other, bias)
            }
        })
    }

    fn local(
        &mut self,
        name: &str,
        product: &WeightProduct,
        weights: Weights,
        other: Value,
        bias: Option<Weights>,
    ) -> Value {
        let builder = &mut self.builder;
        let labels = product.labels();
        let (variances, squares) = (builder.square(weights.spread), builder.square(other));
        let mut mean = builder.contract(weights.centre, other, &labels);
        let mut variance = builder.contract(variances, squares, &labels);
        if let Some(bias) = bias {
            mean = builder.add(mean, bias.centre);
            let square = builder.square(bias.spread);
            variance = builder.add(variance, square);
        }
        let variance = builder.shift(variance, LEAST_VARIANCE);
        let deviation = builder.sqrt(variance);
        let shape = builder.shape(mean);
        let noise = self.normal(name, &shape);
        let spread = self.builder.mul(deviation, noise);
        self.builder.add(mean, spread)
    }

    fn flipped(&mut self, name: &str, product: &WeightProduct, weights: Weights, other: Value) -> Value {
        let dims = self.builder.ty(weights.centre).dims().to_vec();
        let of = |letters: &[char]| {
            let dim = |letter: &char| {
                product
                    .weights
                    .iter()
                    .position(|l| l == letter)
                    .map(|axis| dims[axis])
            };
            Shape(letters.iter().filter_map(dim).collect())
        };
        let (kept, summed) = product.letters();
        let (outer, inner) = (of(&kept), of(&summed));
        let outer = self.signs(&format!("{name}/flipout/out"), &outer);
        let inner = self.signs(&format!("{name}/flipout/in"), &inner);
        let mean = self.builder.contract(weights.centre, other, &product.labels());
        let other = self.along(inner, &summed, other, &product.against);
        let signed = self.builder.contract(weights.spread, other, &product.labels());
        let signed = self.along(outer, &kept, signed, &product.result);
        self.builder.add(mean, signed)
    }

    /// Returns `x * factor`. `letters` names the axes of `factor`, and `of` names the axes of `x`.
    fn along(&mut self, factor: Value, letters: &[char], x: Value, of: &[char]) -> Value {
        let axes: Vec<usize> = of
            .iter()
            .enumerate()
            .filter(|(_, letter)| letters.contains(letter))
            .map(|(axis, _)| axis)
            .collect();
        let order: Vec<usize> = axes
            .iter()
            .filter_map(|axis| letters.iter().position(|letter| *letter == of[*axis]))
            .collect();
        let shape = self.builder.shape(x);
        let factor = self.builder.transpose(factor, &order);
        let factor = self.builder.broadcast(factor, &shape, &axes);
        self.builder.mul(factor, x)
    }

    /// Returns standard normal variates for this example.
    fn normal(&mut self, name: &str, shape: &Shape) -> Value {
        let stream = format!("{name}/local");
        self.builder
            .noise(NoiseKind::Normal, &stream, self.coordinates, shape)
    }

    /// Returns random signs for this example: -1 or 1, with equal probabilities.
    fn signs(&mut self, stream: &str, shape: &Shape) -> Value {
        let builder = &mut self.builder;
        let uniform = builder.noise(NoiseKind::Uniform, stream, self.coordinates, shape);
        let half = builder.like(0.5, uniform);
        let (plus, minus) = (builder.like(1.0, uniform), builder.like(-1.0, uniform));
        let is_low = builder.lt(uniform, half);
        builder.select(is_low, minus, plus)
    }
}

//! Evaluates an expression in the REPL to a distribution whose parameters are numbers.

use super::evaluate::{self, PreparedFunction, Streams};
use super::{Checked, Session, show};
use bnnc_base::dtype::DType;
use bnnc_base::shape::Sizes;
use bnnc_base::source::Span;
use bnnc_driver::concrete::Concrete;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::Value;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_hir::diagnostics::elaborate::limit;
use bnnc_hir::diagnostics::types as report;
use bnnc_hir::dims::DimExpr;
use bnnc_hir::elaborate::datum::{Datum, DistDatum};
use bnnc_hir::elaborate::dist::{CalledWith, support};
use bnnc_hir::elaborate::frame::Elaborated;
use bnnc_hir::range::refuted;
use bnnc_hir::tree::{LocalId, Module};
use bnnc_hir::types::Ty;
use std::collections::HashMap;

/// The largest number of draws among which the REPL searches for one that lies inside a declared
/// type.
const ATTEMPTS: usize = 1 << 14;

/// The sizes that the values of a distribution must have.
#[derive(Clone, Copy, Debug)]
pub enum ValueSizes<'a> {
    /// The sizes that result from the arguments of the distribution.
    Own,
    /// Tensors of these sizes.
    Sizes(&'a [usize]),
    /// The sizes of a declared type.
    Site(&'a Ty),
}

impl Session {
    /// Evaluates an expression to a distribution.
    pub(super) fn concrete_at(
        &self,
        checked: &Checked,
        wanted: ValueSizes<'_>,
        draw: u32,
    ) -> Elaborated<Concrete> {
        self.concrete_with(checked, wanted, self.streams(draw))
    }

    /// Evaluates an expression to a distribution. `streams` are the random streams for draws in the
    /// expression.
    pub(super) fn concrete_with(
        &self,
        checked: &Checked,
        wanted: ValueSizes<'_>,
        streams: Streams,
    ) -> Elaborated<Concrete> {
        self.prepared_distribution(checked, wanted, streams.clone())?
            .concrete(&streams)
    }

    /// Elaborates an expression to a distribution, without computing the arguments. `streams` are
    /// the random streams for draws in the expression.
    pub(super) fn prepared_distribution<'a>(
        &'a self,
        checked: &'a Checked,
        wanted: ValueSizes<'_>,
        streams: Streams,
    ) -> Elaborated<PreparedDistribution<'a>> {
        let span = checked.expr.span;
        let mut scene = self.scene_with(checked, streams)?;
        let Datum::Dist(dist) = scene.datum(&checked.expr)? else {
            return Err(limit(span, "a distribution is needed here"));
        };
        let arguments = scene.elaborator.arguments(&dist, span)?;
        let own = value_sizes(&self.module, &dist, &|value| sizes(&scene.elaborator.ty(value)));
        let sizes = match wanted {
            ValueSizes::Own => own,
            ValueSizes::Sizes(sizes) => Some(sizes.to_vec()),
            ValueSizes::Site(Ty::Tensor(_, dims)) => {
                Some(scene.elaborator.sizes(dims, &scene.frame, span)?)
            }
            ValueSizes::Site(_) => None,
        };
        let Some(sizes) = sizes else {
            return Err(limit(
                span,
                "the size of its values does not follow from its arguments",
            ));
        };
        let dtype = match &self.module.dists[dist.dist].on {
            Ty::Tensor(elem, _) => elem.dtype(),
            _ => DType::Real,
        };
        let value = Type::new(dtype, bnnc_base::shape::Shape::fixed(&sizes));
        let instance =
            scene
                .elaborator
                .instance(&arguments, value, Support::Real, CalledWith::Inside, span)?;
        Ok(PreparedDistribution {
            arguments: arguments.values.iter().map(|(_, value)| *value).collect(),
            prepared: scene.prepared(span),
            instance,
            span,
        })
    }
}

/// A distribution whose arguments are functions of the posterior values.
pub struct PreparedDistribution<'a> {
    prepared: PreparedFunction<'a>,
    arguments: Vec<Value>,
    instance: Instance,
    span: Span,
}

impl PreparedDistribution<'_> {
    /// Computes the arguments at the posterior draw of `streams`.
    ///
    /// # Errors
    /// Fails if an argument lies outside the support of its parameter.
    pub fn concrete(&self, streams: &Streams) -> Elaborated<Concrete> {
        let computed = self.prepared.compute(streams)?;
        let params = self.arguments.iter().map(|value| computed.of(*value).0.clone());
        let concrete = Concrete {
            params: params.collect(),
            instance: self.instance.clone(),
        };
        check_arguments(&concrete, self.span)?;
        Ok(concrete)
    }
}

/// Checks that the arguments of a distribution lie in the supports of its parameters, and that the
/// lowest value of the distribution is below its highest value.
fn check_arguments(concrete: &Concrete, span: Span) -> Elaborated<()> {
    let instance = &concrete.instance;
    let arguments = instance
        .params
        .iter()
        .zip(&instance.supports)
        .zip(&concrete.params);
    for (((name, _), support), values) in arguments {
        let wrong = values
            .data
            .iter()
            .find(|value| refuted((**value, **value), *support));
        if let Some(wrong) = wrong {
            let expected = match support {
                Support::Interval(low, high) if low.is_finite() && high.is_finite() => {
                    format!("between {low} and {high}")
                }
                support => bnnc_hir::show::support(*support),
            };
            let found = show::number(*wrong);
            return Err(Box::new(report::support(
                span,
                &format!("`{name}`"),
                &expected,
                &found,
            )));
        }
    }
    for reach in &instance.reach {
        let [low, high] = reach.ends.each_ref().map(|end| concrete.moment(end.at.as_ref()));
        let (Some(low), Some(high)) = (low, high) else {
            continue;
        };
        let mut ends = low.data.iter().zip(&high.data);
        if let Some((low, high)) = ends.find(|(low, high)| low >= high) {
            let (low, high) = (show::number(*low), show::number(*high));
            let what = format!("the largest value of `{}`", instance.name);
            return Err(Box::new(report::support(
                span,
                &what,
                &format!("above {low}"),
                &high,
            )));
        }
    }
    Ok(())
}

/// Rejects a draw whose computation would not fit into memory.
fn check_draw(concrete: &Concrete, span: Span) -> Elaborated<()> {
    let Some(draw) = &concrete.instance.draw else {
        return evaluate::check_count(concrete.sizes().iter().product(), span);
    };
    let counts = draw
        .nodes
        .ids()
        .map(|value| draw.ty(value).shape.count(&Sizes::default()));
    evaluate::check_count(counts.fold(0, usize::saturating_add), span)
}

fn sizes(ty: &Type) -> Vec<usize> {
    ty.shape.static_sizes().unwrap_or_default()
}

/// Returns the sizes of a distribution's values, if its arguments determine them.
pub fn value_sizes(
    module: &Module,
    dist: &DistDatum,
    sizes: &dyn Fn(Value) -> Vec<usize>,
) -> Option<Vec<usize>> {
    let item = &module.dists[dist.dist];
    let Ty::Tensor(_, on) = &item.on else { return None };
    if on.is_empty() {
        return if item.elementwise {
            lifted(dist, sizes)
        } else {
            Some(Vec::new())
        };
    }
    let mut known: HashMap<LocalId, i64> = HashMap::new();
    for (binding, arg) in item.params.iter().zip(&dist.args) {
        match (&binding.param.ty, arg) {
            (_, Datum::Static(number)) => {
                known.insert(binding.local, *number);
            }
            (Ty::Tensor(_, dims), Datum::Tensor(value)) => {
                let named = dims.iter().zip(sizes(*value));
                known.extend(named.filter_map(|(dim, size)| Some((dim.as_local()?, size as i64))));
            }
            _ => {}
        }
    }
    let size = |dim: &DimExpr| usize::try_from(dim.value(|local| known.get(&local).copied())?).ok();
    on.iter().map(size).collect()
}

/// Returns the sizes of the first argument that is an array.
fn lifted(dist: &DistDatum, sizes: &dyn Fn(Value) -> Vec<usize>) -> Option<Vec<usize>> {
    let of = |arg: &Datum| match arg {
        Datum::Tensor(value) => Some(sizes(*value)),
        Datum::Dist(inner) => lifted(inner, sizes),
        _ => None,
    };
    let found = dist.args.iter().filter_map(of).find(|sizes| !sizes.is_empty());
    Some(found.unwrap_or_default())
}

/// Draws a value of a declared type. Elements outside the support of the type are drawn again.
/// `span` is the position of the statement, for errors.
pub fn draw_declared(
    concrete: &Concrete,
    declared: &Ty,
    stream: &str,
    number: u32,
    span: Span,
) -> Elaborated<Tensor> {
    check_draw(concrete, span)?;
    let limit = |why: String| limit(span, why);
    let any = || {
        concrete
            .draw(stream, number)
            .map_err(|why| limit(why.to_string()))
    };
    let (low, high) = match declared {
        Ty::Tensor(elem, _) => match support(elem) {
            Support::Interval(low, high) => (low, high),
            _ => return any(),
        },
        _ => return any(),
    };
    let inside = |x: f64| low <= x && x <= high;
    let mut attempts = 1;
    while attempts <= ATTEMPTS {
        let draws = concrete
            .draws(stream, number, attempts)
            .map_err(|why| limit(why.to_string()))?;
        let elements = draws.data.len() / attempts;
        let accepted = |element: usize| {
            (0..attempts)
                .map(|at| draws.data[at * elements + element])
                .find(|x| inside(*x))
        };
        if let Some(data) = (0..elements).map(accepted).collect::<Option<Vec<f64>>>() {
            return Ok(Tensor::new(draws.shape[1..].to_vec(), data));
        }
        attempts *= 8;
    }
    Err(limit(format!(
        "almost no draw of `{}` lies in the declared type",
        concrete.instance.name
    )))
}

//! Elaborates distributions: turns a value such as `Normal(0, 1)` into an [`Instance`] with density, sampler and moments.

mod arguments;
mod ends;
mod parts;
mod restrict;
mod root;
mod summary;
mod truncated;
mod vectors;

use super::call::at_call;
use super::datum::{Datum, DistDatum};
use super::frame::{Elaborated, Elaborator, Frame, NoiseContext};
use crate::diagnostics::elaborate::{limit, no_part};
use crate::parts::DistributionPart;
use crate::tree::{DistItem, ParamBinding};
use crate::types::{Elem, Ty};
pub use arguments::NamedArguments;
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::dist::{self, Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Interval;
use bnnc_graph::types::Type;
use std::rc::Rc;
use std::sync::Arc;

/// Returns the support of an element type. If the number of classes is not a constant, it is not known yet, and the support contains 0
/// in its place.
pub fn support(elem: &Elem) -> Support {
    match elem {
        Elem::Real(support) => *support,
        Elem::Int => Support::Integers(0),
        Elem::Bool => Support::Integers(2),
        Elem::Count => Support::Integers(0),
        Elem::Index(size) => Support::Integers(
            size.as_number()
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(0),
        ),
    }
}

/// Returns the support of the values that a distribution declares.
fn own_support(item: &DistItem) -> Support {
    match &item.on {
        Ty::Tensor(elem, _) => support(elem),
        _ => Support::Real,
    }
}

/// The kind of values that the functions of an instance receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledWith {
    /// Values that lie in the support, because a bijection or a sampler produced them. Densities do not check these values.
    Inside,
    /// Arbitrary values, such as data. The density is zero outside the support.
    Any,
}

/// A distribution that is repeated for each element of an array. Each element has its own parameters.
pub struct Each {
    /// The distribution with its tensors replaced by their positions in `params`.
    pub dist: DistDatum,
    /// The names and types of the parameters of one element.
    pub params: Vec<(Arc<str>, Type)>,
    /// The type of one element.
    pub value: Type,
    /// The number of elements.
    pub count: usize,
}

impl<'a> Elaborator<'a> {
    /// Builds the instance of a distribution for values of type `value`.
    pub fn instance(
        &mut self,
        arguments: &NamedArguments,
        value: Type,
        declared: Support,
        values: CalledWith,
        span: Span,
    ) -> Elaborated<Instance> {
        let types = arguments
            .values
            .iter()
            .map(|(name, v)| (name.clone(), self.ty(*v)))
            .collect();
        let builder = InstanceBuilder {
            elaborator: self,
            dist: &arguments.dist,
            params: types,
            value,
            values,
            span,
        };
        builder
            .build(declared)
            .map_err(|diagnostic| at_call(diagnostic, span))
    }

    /// Builds the instance for an array whose elements each have their own parameters.
    pub fn instance_of_each(&mut self, each: Each, declared: Support, span: Span) -> Elaborated<Instance> {
        let builder = InstanceBuilder {
            elaborator: self,
            dist: &each.dist,
            params: each.params,
            value: each.value,
            values: CalledWith::Any,
            span,
        };
        builder
            .of_each(declared, each.count)
            .map_err(|diagnostic| at_call(diagnostic, span))
    }

    /// Elaborates a part of a distribution that a program uses as a value, such as `first.log_density(x)` or `first.draw`.
    pub fn dist_part(
        &mut self,
        dist: &Datum,
        part: DistributionPart,
        arg: Option<Datum>,
        span: Span,
    ) -> Elaborated<Datum> {
        let Datum::Dist(dist) = dist else {
            return Err(limit(span, "this is not a distribution"));
        };
        let item = &self.module.dists[dist.dist];
        let mut frame = self.dist_frame(item, dist, span)?;
        let found = match arg {
            Some(arg) => self.part_at(item, part, arg, &mut frame, span),
            None => match item.value(part) {
                Some(body) => self.expr(body, &mut frame).map(Some),
                None => Ok(None),
            },
        };
        let found = found.map_err(|diagnostic| at_call(diagnostic, span))?;
        found.ok_or_else(|| no_part(span, &item.name, part.name()))
    }

    fn dist_frame(&mut self, item: &'a DistItem, dist: &DistDatum, span: Span) -> Elaborated<Frame<'a>> {
        let mut frame = Frame::new(&item.locals, "");
        let args = self.typed(&item.params, dist.args.clone(), span)?;
        self.bind_arguments(&item.params, args, &mut frame, span)?;
        Ok(frame)
    }
}

/// The state while one instance is built.
struct InstanceBuilder<'e, 'a, 'd> {
    elaborator: &'e mut Elaborator<'a>,
    dist: &'d DistDatum,
    params: Vec<(Arc<str>, Type)>,
    value: Type,
    values: CalledWith,
    span: Span,
}

impl<'a> InstanceBuilder<'_, 'a, '_> {
    fn item(&self) -> &'a DistItem {
        let module: &'a crate::tree::Module = self.elaborator.module;
        &module.dists[self.dist.dist]
    }

    fn build(mut self, declared: Support) -> Elaborated<Instance> {
        let item = self.item();
        let own = own_support(item);
        let support = self.restricted(own, declared)?;
        if own.is_of_vectors() && self.value.rank() > 1 {
            return self.of_vectors(declared);
        }
        let truncated = support != own;
        let independent = item.elementwise && !support.is_of_vectors();
        let log_density = self.density(truncated.then_some(support))?;
        let log_density_elements = match independent {
            true => self.elements(truncated.then_some(support))?,
            false => None,
        };
        let own = match item.declares(DistributionPart::Draw) {
            true => present(self.draw())?,
            false => None,
        };
        let inside = self.inside(truncated && independent, support);
        let (inside_draw, inside_mean) = match inside {
            Some(inside) => (
                present(self.truncated_draw(inside))?,
                present(self.truncated_mean(inside))?,
            ),
            None => (None, None),
        };
        let (draw, wider_draw) = match truncated {
            true => (inside_draw, own.filter(|_| independent && inside.is_none())),
            false => (own, None),
        };
        let mut summary = |part| if truncated { Ok(None) } else { self.summary(part) };
        let mean = summary(DistributionPart::Mean)?.or(inside_mean);
        let variance = summary(DistributionPart::Variance)?;
        let entropy = summary(DistributionPart::Entropy)?;
        let moment = summary(DistributionPart::Moment)?;
        let log_mean = summary(DistributionPart::LogMean)?;
        let log_variance = summary(DistributionPart::LogVariance)?;
        let probabilities = summary(DistributionPart::Probabilities)?;
        let supports = self.param_supports(self.dist);
        let reach = self.reach()?;
        Ok(Instance {
            name: item.name.clone(),
            measure: item.measure,
            params: self.params,
            supports,
            value: self.value,
            support,
            reach,
            elementwise: independent,
            log_density,
            log_density_elements,
            draw,
            wider_draw,
            mean,
            variance,
            entropy,
            moment,
            log_mean,
            log_variance,
            probabilities,
        })
    }

    /// Returns the interval to which an observation is truncated. Only observations are drawn with a truncated sampler, because it finds
    /// a draw by a search, through which no gradient flows. Sites need this gradient.
    fn inside(&self, is_truncated: bool, support: Support) -> Option<(f64, f64)> {
        match (support, self.values) {
            (Support::Interval(low, high), CalledWith::Any) if is_truncated && !self.is_improper() => {
                Some((low, high))
            }
            _ => None,
        }
    }

    /// Returns the support of each parameter. A component distribution contributes the supports of its own parameters.
    fn param_supports(&self, dist: &DistDatum) -> Vec<Support> {
        let item = &self.elaborator.module.dists[dist.dist];
        let of = |(binding, arg): (&ParamBinding, &Datum)| match (arg, &binding.param.ty) {
            (Datum::Dist(inner), _) => self.param_supports(inner),
            (Datum::Tensor(_), Ty::Tensor(elem, _)) => vec![support(elem)],
            (Datum::Tensor(_), _) => vec![Support::Real],
            _ => Vec::new(),
        };
        item.params.iter().zip(&dist.args).flat_map(of).collect()
    }

    /// Builds a separate graph function whose parameters are the parameters of the distribution. `body` builds its nodes.
    fn function(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Self, &mut Frame<'a>) -> Elaborated<Option<Value>>,
    ) -> Elaborated<Option<Arc<Function>>> {
        let fresh = bnnc_graph::builder::Builder::new(name);
        let outer = std::mem::replace(&mut self.elaborator.builder, fresh);
        let inside = std::mem::take(&mut self.elaborator.inside);
        let result = self.framed(body);
        let inner = std::mem::replace(&mut self.elaborator.builder, outer);
        self.elaborator.inside = inside;
        Ok(result?.map(|value| Arc::new(inner.finish(vec![(name.into(), value)]))))
    }

    fn framed(
        &mut self,
        body: impl FnOnce(&mut Self, &mut Frame<'a>) -> Elaborated<Option<Value>>,
    ) -> Elaborated<Option<Value>> {
        let params: Vec<Value> = self
            .params
            .iter()
            .map(|(name, ty)| self.elaborator.builder.param(name, ty.clone()))
            .collect();
        let dist = Datum::Dist(Rc::new(DistDatum {
            dist: self.dist.dist,
            args: self.dist.args.clone(),
        }));
        let Datum::Dist(dist) = dist.map_values(&mut |position| params[position.0 as usize]) else {
            unreachable!("mapping values keeps the kind");
        };
        let item = self.item();
        let mut frame = Frame::new(&item.locals, "");
        let mut args = dist.args.clone();
        if !item.elementwise {
            self.flatten_parameters(item, &mut args)?;
            self.bind_value_dims(item, &mut frame);
        }
        let args = self.elaborator.typed(&item.params, args, self.span)?;
        self.elaborator
            .bind_arguments(&item.params, args, &mut frame, self.span)?;
        body(self, &mut frame)
    }

    /// If a joint distribution over vectors must treat the tensor as one flat vector, returns the number of its elements.
    fn flat(&self, item: &DistItem) -> Option<usize> {
        let Ty::Tensor(_, dims) = &item.on else {
            return None;
        };
        let count = self.value.shape.static_sizes()?.iter().product();
        (dims.len() == 1 && self.value.rank() != 1).then_some(count)
    }

    fn flatten_parameters(&mut self, item: &DistItem, args: &mut [Datum]) -> Elaborated<()> {
        let Some(count) = self.flat(item) else {
            return Ok(());
        };
        for (binding, arg) in item.params.iter().zip(args) {
            let (Ty::Tensor(_, dims), Ty::Tensor(_, on), Datum::Tensor(value)) =
                (&binding.param.ty, &item.on, &*arg)
            else {
                continue;
            };
            if dims == on {
                let vector = Operation::reshape(*value, &Shape::fixed(&[count]));
                *arg = Datum::Tensor(self.elaborator.apply(vector, self.span)?);
            }
        }
        Ok(())
    }

    fn bind_value_dims(&mut self, item: &'a DistItem, frame: &mut Frame<'a>) {
        let Ty::Tensor(_, dims) = &item.on else { return };
        let shape = match self.flat(item) {
            Some(count) => Shape::fixed(&[count]),
            None => self.value.shape.clone(),
        };
        self.elaborator.bind_dims(dims, &shape, frame);
    }

    /// Converts a result to the shape of the distribution's value: broadcasts a scalar, and reshapes a flat vector.
    fn shaped(&mut self, value: Value) -> Elaborated<Value> {
        let shape = self.value.shape.clone();
        if self.elaborator.ty(value).rank() == 0 {
            return self.elaborator.stretch(value, &shape, self.span);
        }
        if self.elaborator.ty(value).shape == shape {
            return Ok(value);
        }
        self.elaborator
            .apply(Operation::reshape(value, &shape), self.span)
    }

    /// Converts a result to the shape of the distribution's value, and returns the sum of its elements.
    fn total(&mut self, value: Value) -> Elaborated<Value> {
        let elements = self.shaped(value)?;
        let axes: Vec<usize> = (0..self.value.rank()).collect();
        self.elaborator
            .apply(Operation::reduce_sum(elements, &axes), self.span)
    }

    /// Adds the parameter for the value. If the caller guarantees that the elements of the value lie in `support`, this is recorded as a
    /// bound.
    fn value_param(&mut self, support: Support) -> Elaborated<Value> {
        let x = self.elaborator.builder.param("x", self.value.clone());
        let trusted = match (self.values, support) {
            // Integer data have been checked when they were read, so their bound is known too.
            (CalledWith::Inside, _) | (CalledWith::Any, Support::Integers(_)) => dist::range(support),
            (CalledWith::Any, _) => Interval::REALS,
        };
        self.elaborator.inside.insert(x, trusted);
        match self.flat(self.item()) {
            Some(count) if !self.item().elementwise => {
                let vector = Operation::reshape(x, &Shape::fixed(&[count]));
                self.elaborator.apply(vector, self.span)
            }
            _ => Ok(x),
        }
    }

    /// Builds the log density of each element, or the joint log density.
    fn density_body(
        &mut self,
        truncate: Option<Support>,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Option<Value>> {
        let own = own_support(self.item());
        let x = self.value_param(truncate.unwrap_or(own))?;
        let Some(density) = self.part(DistributionPart::LogDensity, Datum::Tensor(x), frame)? else {
            return Ok(None);
        };
        let Some(Support::Interval(low, high)) = truncate else {
            return Ok(Some(density));
        };
        if self.is_improper() {
            // An improper density is not normalised on an interval, because its integral may be infinite.
            return Ok(Some(density));
        }
        let Some(log_mass) = self.log_mass((low, high), frame)? else {
            let text = format!(
                "`{}` has no `cdf`, so it cannot be truncated to the declared type",
                self.item().name
            );
            return Err(limit(self.span, text));
        };
        let (density, log_mass) = self.elaborator.align(density, log_mass, self.span)?;
        let density = self.elaborator.builder.sub(density, log_mass);
        match self.values {
            CalledWith::Inside => Ok(Some(density)),
            CalledWith::Any => self.zero_outside((low, high), x, density).map(Some),
        }
    }

    fn density(&mut self, truncate: Option<Support>) -> Elaborated<Arc<Function>> {
        let elementwise = self.item().elementwise;
        let function = self.function(DistributionPart::LogDensity.name(), |this, frame| {
            let Some(density) = this.density_body(truncate, frame)? else {
                // A point family does not have a density, so its log density is set to zero. The KL pass has a separate case for point families.
                return Ok(Some(this.elaborator.constant(0.0, DType::Real)));
            };
            if !elementwise {
                return Ok(Some(density));
            }
            let sum = this.total(density)?;
            Ok(Some(match truncate {
                Some(Support::Ordered) => this.of_orders(sum),
                _ => sum,
            }))
        })?;
        function.ok_or_else(|| limit(self.span, "no density"))
    }

    fn elements(&mut self, truncate: Option<Support>) -> Elaborated<Option<Arc<Function>>> {
        self.function("log_density_elements", |this, frame| {
            match this.density_body(truncate, frame)? {
                Some(density) => this.shaped(density).map(Some),
                None => Ok(None),
            }
        })
    }

    fn draw(&mut self) -> Elaborated<Option<Arc<Function>>> {
        let joint_shape = self.value.shape.clone();
        let elementwise = self.item().elementwise;
        let Some(body) = self.item().value(DistributionPart::Draw) else {
            return Ok(None);
        };
        self.function(DistributionPart::Draw.name(), |this, frame| {
            let builder = &mut this.elaborator.builder;
            let int = |port: PortName| builder.param(port.text(), Type::int(Shape::scalar()));
            let coordinates = PortName::COORDINATES.map(int);
            let shape = if elementwise { joint_shape } else { Shape::scalar() };
            this.elaborator.noise = Some(NoiseContext {
                coordinates,
                shape,
                count: 0,
            });
            let datum = this.elaborator.expr(body, frame);
            this.elaborator.noise = None;
            let value = this.elaborator.real(&datum?, this.span)?;
            this.shaped(value).map(Some)
        })
    }
}

/// Returns `None` if a part cannot be computed because a component does not have the part. For example, a mixture of Cauchy distributions does
/// not have a mean.
fn present(part: Elaborated<Option<Arc<Function>>>) -> Elaborated<Option<Arc<Function>>> {
    match part {
        Err(diagnostic) if std::ptr::eq(diagnostic.code, &crate::diagnostics::elaborate::NO_PART) => Ok(None),
        other => other,
    }
}

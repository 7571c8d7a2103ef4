//! Builds the joint distribution of an array of independent values from the distribution of one
//! value. Such an array is a site with several simplexes or ordered vectors, or the elements of an
//! output that a `for` observes.

use super::InstanceBuilder;
use crate::elaborate::frame::Elaborated;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// An array of independent values.
struct Vectors {
    /// The axes of the array that precede the axes of one value.
    leading: Vec<Dim>,
    /// The number of values.
    count: usize,
    /// For each parameter of the distribution, true if the parameter has one row per value.
    rows: Vec<bool>,
}

impl InstanceBuilder<'_, '_, '_> {
    /// Builds the instance for an array of vectors. A parameter with the shape of the array has one
    /// row per vector. Every other parameter is the same for all vectors.
    pub(super) fn of_vectors(self, declared: Support) -> Elaborated<Instance> {
        let sizes = self.value.shape.static_sizes().unwrap_or_default();
        let Some((last, leading)) = sizes.split_last() else {
            unreachable!("an array of vectors has axes");
        };
        let is_row = |ty: &Type| ty.shape == self.value.shape;
        let vectors = Vectors {
            leading: leading.iter().map(|size| Dim::Fixed(*size)).collect(),
            count: leading.iter().product(),
            rows: self.params.iter().map(|(_, ty)| is_row(ty)).collect(),
        };
        let one_shape = Shape::fixed(&[*last]);
        let of_one = |(name, ty): &(Arc<str>, Type)| match is_row(ty) {
            true => (name.clone(), ty.with_shape(one_shape.clone())),
            false => (name.clone(), ty.clone()),
        };
        let one = InstanceBuilder {
            params: self.params.iter().map(of_one).collect(),
            value: self.value.with_shape(one_shape.clone()),
            elaborator: self.elaborator,
            dist: self.dist,
            values: self.values,
            span: self.span,
        };
        let (params, value) = (self.params, self.value);
        Ok(vectors.instance(one.build(declared)?, params, value))
    }

    /// Builds the instance for `count` values. Each value has its own parameters, so every
    /// parameter has a first axis of size `count`.
    pub(super) fn of_each(self, declared: Support, count: usize) -> Elaborated<Instance> {
        let first = |ty: &Type| ty.with_shape(ty.shape.prepend(Dim::Fixed(count)));
        let params: Vec<_> = self
            .params
            .iter()
            .map(|(name, ty)| (name.clone(), first(ty)))
            .collect();
        let value = first(&self.value);
        let is_alike = |(_, ty): &(Arc<str>, Type)| ty.shape == self.value.shape;
        if self.item().elementwise && self.params.iter().all(is_alike) {
            return InstanceBuilder {
                params,
                value,
                ..self
            }
            .build(declared);
        }
        let vectors = Vectors {
            leading: vec![Dim::Fixed(count)],
            count,
            rows: vec![true; params.len()],
        };
        Ok(vectors.instance(self.build(declared)?, params, value))
    }
}

impl Vectors {
    /// Builds the distribution of all values from the distribution of one value.
    fn instance(&self, one: Instance, params: Vec<(Arc<str>, Type)>, value: Type) -> Instance {
        let total = |part: &Function| Arc::new(self.lifted(part, true));
        let stacked = |part: &Arc<Function>| Arc::new(self.lifted(part, false));
        Instance {
            elementwise: false,
            reach: one.reach.iter().map(|reach| reach.map(stacked)).collect(),
            log_density: total(&one.log_density),
            log_density_elements: None,
            draw: one.draw.as_ref().map(stacked),
            mean: one.mean.as_ref().map(stacked),
            variance: one.variance.as_ref().map(stacked),
            entropy: one.entropy.as_deref().map(total),
            moment: one.moment.as_ref().map(stacked),
            log_mean: one.log_mean.as_ref().map(stacked),
            log_variance: one.log_variance.as_ref().map(stacked),
            probabilities: one.probabilities.as_ref().map(stacked),
            params,
            value,
            ..one
        }
    }

    /// Applies a part of the distribution of one vector to all vectors. If `total` is true, returns
    /// the sum of the results, and otherwise the array of the results.
    fn lifted(&self, part: &Function, total: bool) -> Function {
        let mut builder = Builder::new(&part.name);
        let mut body = Builder::new("vector");
        let position = body.param("position", Type::int(Shape::scalar()));
        let mut args = vec![builder.iota(Dim::Fixed(self.count))];
        let mut mapped = vec![true];
        let mut inner = Vec::new();
        for (at, param) in part.params.iter().enumerate() {
            let name = part.param_name(*param).map_or("", |name| name);
            let ty = part.ty(*param);
            let own = body.param(name, ty.clone());
            let is_row = self.rows.get(at).copied().unwrap_or(name == "x");
            mapped.push(is_row);
            args.push(match is_row {
                true => self.rows_of(&mut builder, name, ty),
                false => builder.param(name, ty.clone()),
            });
            inner.push(match name {
                // Each vector has its own noise.
                name if name == PortName::Example.text() => self.example(&mut body, own, position),
                _ => own,
            });
        }
        let result = body.inline(part, &inner)[0];
        let body = Arc::new(body.finish(vec![("vector".into(), result)]));
        let all = builder.map(&body, &args, &mapped);
        let result = match total {
            true => builder.reduce_sum_all(all),
            false => {
                let own = builder.shape(all).0.into_iter().skip(1);
                let shape = Shape(self.leading.iter().copied().chain(own).collect());
                builder.reshape(all, &shape)
            }
        };
        builder.finish(vec![(part.name.as_str().into(), result)])
    }

    /// Adds a parameter with one row per vector.
    fn rows_of(&self, builder: &mut Builder, name: &str, ty: &Type) -> Value {
        let whole = self.leading.iter().chain(ty.dims()).copied().collect();
        let array = builder.param(name, ty.with_shape(Shape(whole)));
        let rows = ty.shape.prepend(Dim::Fixed(self.count));
        builder.reshape(array, &rows)
    }

    fn example(&self, body: &mut Builder, example: Value, position: Value) -> Value {
        let count = body.int(self.count as i64);
        let first = body.mul(example, count);
        body.add(first, position)
    }
}

//! Arrays of vectors: at a site of many simplexes or increasing vectors, a distribution over one of them is that of each,
//! independently.

use super::InstanceBuilder;
use crate::elaborate::frame::Elaborated;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The vectors of an array.
struct Vectors {
    /// The array.
    shape: Shape,
    /// How many there are.
    count: usize,
    /// The shape of one.
    one: Shape,
    /// Whether each parameter of the distribution has a row per vector.
    rows: Vec<bool>,
}

impl InstanceBuilder<'_, '_, '_> {
    /// The instance for an array of vectors. A parameter with the shape of the array has a row per vector; the vectors share
    /// every other one.
    pub(super) fn of_vectors(self, declared: Support) -> Elaborated<Instance> {
        let sizes = self.value.shape.static_sizes().unwrap_or_default();
        let Some((last, leading)) = sizes.split_last() else {
            unreachable!("an array of vectors has axes");
        };
        let is_row = |ty: &Type| ty.shape == self.value.shape;
        let vectors = Vectors {
            shape: self.value.shape.clone(),
            count: leading.iter().product(),
            one: Shape::fixed(&[*last]),
            rows: self.params.iter().map(|(_, ty)| is_row(ty)).collect(),
        };
        let of_one = |(name, ty): &(Arc<str>, Type)| match is_row(ty) {
            true => (name.clone(), ty.with_shape(vectors.one.clone())),
            false => (name.clone(), ty.clone()),
        };
        let one = InstanceBuilder {
            params: self.params.iter().map(of_one).collect(),
            value: self.value.with_shape(vectors.one.clone()),
            elaborator: self.elaborator,
            dist: self.dist,
            values: self.values,
            span: self.span,
        }
        .build(declared)?;
        let total = |part: &Function| Arc::new(vectors.lifted(part, true));
        let stacked = |part: &Arc<Function>| Arc::new(vectors.lifted(part, false));
        Ok(Instance {
            log_density: total(&one.log_density),
            draw: one.draw.as_ref().map(stacked),
            mean: one.mean.as_ref().map(stacked),
            variance: one.variance.as_ref().map(stacked),
            entropy: one.entropy.as_deref().map(total),
            moment: one.moment.as_ref().map(stacked),
            log_mean: one.log_mean.as_ref().map(stacked),
            log_variance: one.log_variance.as_ref().map(stacked),
            params: self.params,
            value: self.value,
            ..one
        })
    }
}

impl Vectors {
    /// A part of the distribution of one vector as that of all: the sum over the vectors, or their array.
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
                // Each vector has noise of its own.
                "example" if at >= self.rows.len() => self.example(&mut body, own, position),
                _ => own,
            });
        }
        let result = body.inline(part, &inner)[0];
        let body = Arc::new(body.finish(vec![("vector".into(), result)]));
        let all = builder.map(&body, &args, &mapped);
        let result = match total {
            true => builder.reduce_sum_all(all),
            false => builder.reshape(all, &self.shape),
        };
        builder.finish(vec![(part.name.as_str().into(), result)])
    }

    /// A parameter with a row per vector.
    fn rows_of(&self, builder: &mut Builder, name: &str, ty: &Type) -> Value {
        let array = builder.param(name, ty.with_shape(self.shape.clone()));
        let rows = self.one.prepend(Dim::Fixed(self.count));
        builder.reshape(array, &rows)
    }

    fn example(&self, body: &mut Builder, example: Value, position: Value) -> Value {
        let count = body.int(self.count as i64);
        let first = body.mul(example, count);
        body.add(first, position)
    }
}

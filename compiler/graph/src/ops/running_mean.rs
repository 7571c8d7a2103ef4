//! `running_mean x, name`: the mean over the rows that are computed together.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::function::Value;
use crate::op::{Arity, Batch, Lower, OpCall, OpDef, Vjp};
use crate::{example, infer};
use bnnc_base::shape::{Dim, Shape, Symbol};

attributes! { name: Symbol }

/// The mean over the rows that are computed together.
pub static RUNNING_MEAN: OpDef = OpDef {
    name: "running_mean",
    doc: "The mean of the operand over the rows of a training step; the mean of a single row is the operand itself. Outside of training, \
          `density` replaces it by the stored mean `name`.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer: infer::same_as_first,
    eval: Some(|x, _| x[0].clone()),
    vjp: Vjp::Rule(|_, _, dy| vec![Some(dy)]),
    batch: Batch::Rule(|b, site, _, dim| batch(b, site, dim)),
    range: |x, _| x[0],
    lower: Lower::Expand(|_, site| site.args[0]),
    examples: || {
        let of = |sizes: &[usize]| {
            example::call(
                vec![example::real(sizes, -2.0, 2.0)],
                vec![Attr::name("norm.mean")],
            )
        };
        vec![of(&[]), of(&[3]), of(&[2, 3])]
    },
};

/// Takes the mean along an axis of rows, and repeats it for each row. For any other axis, such as the axis of draws, each position
/// has its own mean.
fn batch(b: &mut Builder, site: &OpCall, dim: Dim) -> Value {
    let x = site.args[0];
    if dim != Dim::Symbol(Symbol::Batch) {
        return b.apply(&RUNNING_MEAN, &[x], site.attrs.to_vec());
    }
    let sum = b.reduce_sum(x, &[0]);
    let ones = b.splat(1.0, &Shape(vec![dim]));
    let count = b.reduce_sum(ones, &[0]);
    let shape = b.shape(sum);
    let count = b.broadcast_to(count, &shape);
    let mean = b.div(sum, count);
    b.broadcast_leading(mean, dim)
}

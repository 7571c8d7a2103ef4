//! `log_softmax x, axis`: the logarithm of `softmax`.

use super::logsumexp::{axis, examples};
use crate::attr::{self, AttrKind, AttrSpec};
use crate::builder::Builder;
use crate::function::Value;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Site, Vjp};
use crate::tensor::Tensor;
use bnnc_base::dtype::DType;

/// The logarithm of `softmax`.
pub static LOG_SOFTMAX: OpDef = OpDef {
    name: "log_softmax",
    doc: "`x` minus its `logsumexp` along an axis: logits as normalised log probabilities.",
    arity: Arity::Exactly(1),
    attrs: &[AttrSpec::new("axis", AttrKind::Int)],
    infer: |types, attrs| {
        infer::expect_dtype(types, 0, &[DType::Real])?;
        infer::expect_axis(*attr::int(attrs, 0), types[0].rank())?;
        Ok(types[0].clone())
    },
    eval: |x, attrs| {
        let total = (super::logsumexp::LOGSUMEXP.eval)(x, attrs);
        Tensor::from_fn(x[0].shape.clone(), |index| {
            let mut outer = index.to_vec();
            outer.remove(axis(attrs));
            x[0].at(index) - total.at(&outer)
        })
    },
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| b.log_softmax(site.args[0], axis(site.attrs) + 1)),
    range: |_, _| Interval::new(f64::NEG_INFINITY, 0.0),
    lower: Lower::Expand(|b, site| {
        let shape = b.shape(site.args[0]);
        let total = b.logsumexp(site.args[0], axis(site.attrs));
        let total = b.restore_axes(total, &shape, &[axis(site.attrs)]);
        b.sub(site.args[0], total)
    }),
    examples,
};

fn vjp(b: &mut Builder, site: &Site, dy: Value) -> Vec<Option<Value>> {
    let axis = axis(site.attrs);
    let shape = b.shape(dy);
    let weight = b.exp(site.result());
    let total = b.reduce_sum(dy, &[axis]);
    let total = b.restore_axes(total, &shape, &[axis]);
    let shared = b.mul(weight, total);
    vec![Some(b.sub(dy, shared))]
}

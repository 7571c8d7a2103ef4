//! The reverse derivative of `scan`. A backward scan computes the cotangents of the carry; all
//! other cotangents are then computed as one batch. See the note at the end of this file.

use crate::batch::inline_batched;
use crate::diagnostics::NO_DERIVATIVE;
use crate::{differentiate, nodes};
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;
use std::sync::Arc;

/// The scan that is differentiated.
struct Scan<'a> {
    function: &'a Arc<Function>,
    init: Value,
    xs: &'a [Value],
    captured: &'a [Value],
    length: usize,
}

/// Returns the cotangents of all operands of the scan `value`.
pub fn pull_back(
    builder: &mut Builder,
    value: Value,
    args: &[Value],
    attrs: &[Attr],
    cotangent: Value,
) -> Result<Vec<Option<Value>>, Fault> {
    let count = ops::scan::mapped(attrs) as usize;
    let Dim::Fixed(length) = builder.ty(value).dims()[0] else {
        return Err(Fault::limit(
            &NO_DERIVATIVE,
            "a recurrence of symbolic length has no derivative yet",
        ));
    };
    let (xs, captured) = args[1..].split_at(count);
    let scan = Scan {
        function: ops::scan::function(attrs),
        init: args[0],
        xs,
        captured,
        length,
    };
    let before = scan.carries_before(builder, value);
    let into = scan.cotangents_of_inputs(builder, before, cotangent)?;
    let first = row(builder, into, 0);
    let arriving = scan.cotangents_of_carries(builder, into, cotangent);
    let mut flows = vec![Some(first)];
    flows.extend(scan.pull_back_rest(builder, before, arriving)?);
    Ok(flows)
}

impl Scan<'_> {
    /// Returns the carry before each position. The positions lie along axis 0.
    fn carries_before(&self, builder: &mut Builder, carries: Value) -> Value {
        let shape = builder.shape(self.init).prepend(Dim::Fixed(1));
        let init = builder.reshape(self.init, &shape);
        if self.length == 1 {
            return init;
        }
        let window = Window::full(shape.rank()).with(0, 0, self.length - 1);
        let earlier = builder.slice(carries, window);
        builder.concat(&[init, earlier], 0)
    }

    /// Returns, for each position, the cotangent that flows back through it to the carry before it.
    fn cotangents_of_inputs(
        &self,
        builder: &mut Builder,
        before: Value,
        cotangent: Value,
    ) -> Result<Value, Fault> {
        let step = self.step_back(builder)?;
        let zero = builder.zeros_like(self.init);
        let mut args = vec![zero];
        for line in [cotangent, before].iter().chain(self.xs) {
            args.push(reversed(builder, *line, self.length));
        }
        args.extend(self.captured);
        let mapped = 2 + self.xs.len() as i64;
        let back = builder.apply(
            &ops::scan::SCAN,
            &args,
            vec![Attr::Function(step), Attr::Int(mapped)],
        );
        Ok(reversed(builder, back, self.length))
    }

    /// Returns the function
    /// `(cotangent from later positions, cotangent here, carry before, x.., captured..) -> cotangent of the carry before`.
    /// It moves back by one position.
    fn step_back(&self, outer: &Builder) -> Result<Arc<Function>, Fault> {
        let mut builder = Builder::new(&self.function.name);
        let carry = outer.ty(self.init).clone();
        let future = builder.param("future", carry.clone());
        let here = builder.param("here", carry);
        let params = nodes::numbered_params_of(&mut builder, self.function);
        let result = builder.inline(self.function, &params)[0];
        let cotangent = builder.add(future, here);
        let flows = differentiate::pull_back(&mut builder, &[(result, cotangent)], &params[..1])?;
        let function = builder.finish(vec![("flow".into(), flows[0])]);
        Ok(Arc::new(crate::rule::remove_dead(&function)))
    }

    /// For each position, returns the total cotangent of the carry after the position.
    fn cotangents_of_carries(&self, builder: &mut Builder, into: Value, cotangent: Value) -> Value {
        let dims = builder.ty(into).dims()[1..].to_vec();
        let last = builder.splat(0.0, &Shape(dims).prepend(Dim::Fixed(1)));
        let later = if self.length == 1 {
            last
        } else {
            let window = Window::full(builder.rank(into)).with(0, 1, self.length);
            let later = builder.slice(into, window);
            builder.concat(&[later, last], 0)
        };
        builder.add(cotangent, later)
    }

    /// Returns the cotangents of the scanned and the captured operands, for all positions at once.
    fn pull_back_rest(
        &self,
        builder: &mut Builder,
        before: Value,
        arriving: Value,
    ) -> Result<Vec<Option<Value>>, Fault> {
        let inner = differentiate::pull_back_of(self.function)?;
        let mut args = vec![before];
        args.extend(self.xs);
        args.extend(self.captured);
        args.push(arriving);
        let mut mapped = vec![true; 1 + self.xs.len()];
        mapped.extend(vec![false; self.captured.len()]);
        mapped.push(true);
        let dim = Dim::Fixed(self.length);
        let flows = inline_batched(builder, &inner, &args, &mapped, dim);
        let mut result = Vec::new();
        for (at, flow) in flows.into_iter().enumerate().skip(1) {
            let flow = flow.repeated(builder, dim);
            let is_real = builder.ty(args[at]).dtype == DType::Real;
            let flow = if at <= self.xs.len() {
                flow
            } else {
                builder.reduce_sum(flow, &[0])
            };
            result.push(is_real.then_some(flow));
        }
        Ok(result)
    }
}

/// Reverses the order along axis 0.
fn reversed(builder: &mut Builder, value: Value, length: usize) -> Value {
    let ahead = builder.iota(Dim::Fixed(length));
    let last = builder.like(length as f64 - 1.0, ahead);
    let backwards = builder.sub(last, ahead);
    builder.gather(value, backwards, 0)
}

/// Returns the slice at one position of axis 0.
fn row(builder: &mut Builder, value: Value, at: usize) -> Value {
    let window = Window::full(builder.rank(value)).with(0, at, at + 1);
    let slice = builder.slice(value, window);
    let dims = builder.ty(value).dims()[1..].to_vec();
    builder.reshape(slice, &Shape(dims))
}

// Note: backward scans
//
// Let the carries be c_t = f(c_{t-1}, x_t, z), and let k_t be the cotangent of c_{t-1} that flows
// through position t. Then k_t = f_c(c_{t-1}, x_t, z)^T (dc_t + k_{t+1}). The recurrence for k is a
// scan from the last position to the first. The k of the first position is the cotangent of the
// initial carry. The total cotangent of c_t is dc_t + k_{t+1}. Once these totals are known for
// every t, the cotangents of x and z at different t do not depend on each other. They are then
// computed as a batch. The cotangents of z are summed over t, because all positions share z.

//! Ops that move, join, reduce and contract as methods of the builder.

use super::Builder;
use crate::attr::Attr;
use crate::function::{Function, Value};
use crate::infer::without_axes;
use crate::ops;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape};
use std::sync::Arc;

/// A strided window: one entry per axis; a limit of -1 is the end of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// First positions.
    pub starts: Vec<i64>,
    /// Positions to stop before.
    pub limits: Vec<i64>,
    /// Steps.
    pub strides: Vec<i64>,
}

impl Window {
    /// Everything, of this rank.
    pub fn full(rank: usize) -> Window {
        Window {
            starts: vec![0; rank],
            limits: vec![-1; rank],
            strides: vec![1; rank],
        }
    }

    /// This window with `start..limit` on one axis.
    pub fn with(mut self, axis: usize, start: usize, limit: usize) -> Window {
        self.starts[axis] = start as i64;
        self.limits[axis] = limit as i64;
        self
    }
}

impl Builder {
    /// The shape of a value.
    pub fn shape(&self, x: Value) -> Shape {
        self.ty(x).shape.clone()
    }

    /// The number of axes of a value.
    pub fn rank(&self, x: Value) -> usize {
        self.ty(x).rank()
    }

    /// Repeats `x`; axis `i` of it becomes axis `axes[i]` of `shape`.
    pub fn broadcast(&mut self, x: Value, shape: &Shape, axes: &[usize]) -> Value {
        if *shape == self.shape(x) {
            return x;
        }
        self.apply(
            &ops::broadcast::BROADCAST,
            &[x],
            vec![Attr::Shape(shape.clone()), Attr::positions(axes)],
        )
    }

    /// Repeats a scalar.
    pub fn broadcast_to(&mut self, x: Value, shape: &Shape) -> Value {
        self.broadcast(x, shape, &[])
    }

    /// Repeats `x` along a new first axis.
    pub fn broadcast_leading(&mut self, x: Value, dim: Dim) -> Value {
        let shape = self.shape(x).prepend(dim);
        let axes: Vec<usize> = (1..shape.rank()).collect();
        self.broadcast(x, &shape, &axes)
    }

    /// Repeats `x` along the axes of `shape` that a reduction over `removed` took away.
    pub fn restore_axes(&mut self, x: Value, shape: &Shape, removed: &[usize]) -> Value {
        let axes: Vec<usize> = (0..shape.rank()).filter(|axis| !removed.contains(axis)).collect();
        debug_assert_eq!(without_axes(shape, removed), self.shape(x));
        self.broadcast(x, shape, &axes)
    }

    /// The same elements under another shape.
    pub fn reshape(&mut self, x: Value, shape: &Shape) -> Value {
        if *shape == self.shape(x) {
            return x;
        }
        self.apply(&ops::reshape::RESHAPE, &[x], vec![Attr::Shape(shape.clone())])
    }

    /// Permutes axes: axis `i` of the result is axis `axes[i]` of `x`.
    pub fn transpose(&mut self, x: Value, axes: &[usize]) -> Value {
        if axes.is_sorted() {
            return x;
        }
        self.apply(&ops::transpose::TRANSPOSE, &[x], vec![Attr::positions(axes)])
    }

    /// Moves one axis to another position; the others keep their order.
    pub fn move_axis(&mut self, x: Value, from: usize, to: usize) -> Value {
        let mut axes: Vec<usize> = (0..self.rank(x)).filter(|axis| *axis != from).collect();
        axes.insert(to, from);
        self.transpose(x, &axes)
    }

    /// A strided window.
    pub fn slice(&mut self, x: Value, window: Window) -> Value {
        let attrs = vec![
            Attr::Ints(window.starts),
            Attr::Ints(window.limits),
            Attr::Ints(window.strides),
        ];
        self.apply(&ops::slice::SLICE, &[x], attrs)
    }

    /// Zeros around (`low`, `high`) and between (`interior`) elements, one entry per axis.
    pub fn pad(&mut self, x: Value, low: &[usize], high: &[usize], interior: &[usize]) -> Value {
        let attrs = vec![
            Attr::positions(low),
            Attr::positions(high),
            Attr::positions(interior),
        ];
        self.apply(&ops::pad::PAD, &[x], attrs)
    }

    /// All windows of `sizes` over the last axes, `strides` apart: positions in a window, then positions of windows.
    pub fn patches(&mut self, x: Value, sizes: &[usize], strides: &[usize]) -> Value {
        let attrs = vec![Attr::positions(sizes), Attr::positions(strides)];
        self.apply(&ops::patches::PATCHES, &[x], attrs)
    }

    /// Joins along an axis.
    pub fn concat(&mut self, parts: &[Value], axis: usize) -> Value {
        self.apply(&ops::concat::CONCAT, parts, vec![Attr::Int(axis as i64)])
    }

    /// `0, 1, .., dim - 1`.
    pub fn iota(&mut self, dim: Dim) -> Value {
        self.apply(&ops::iota::IOTA, &[], vec![Attr::Dim(dim)])
    }

    /// Replaces `axis` of `x` by the axes of `index`, each position by the slice it names.
    pub fn gather(&mut self, x: Value, index: Value, axis: usize) -> Value {
        self.apply(&ops::gather::GATHER, &[x, index], vec![Attr::Int(axis as i64)])
    }

    /// Adds the slices of `updates` into zeros at the positions `index` of a new axis of size `dim`.
    pub fn scatter_add(&mut self, index: Value, updates: Value, axis: usize, dim: Dim) -> Value {
        let attrs = vec![Attr::Int(axis as i64), Attr::Dim(dim)];
        self.apply(&ops::scatter_add::SCATTER_ADD, &[index, updates], attrs)
    }

    /// The sum along axes, which go away.
    pub fn reduce_sum(&mut self, x: Value, axes: &[usize]) -> Value {
        if axes.is_empty() {
            return x;
        }
        self.apply(&ops::reduce_sum::REDUCE_SUM, &[x], vec![Attr::positions(axes)])
    }

    /// The sum of all elements.
    pub fn reduce_sum_all(&mut self, x: Value) -> Value {
        let axes: Vec<usize> = (0..self.rank(x)).collect();
        self.reduce_sum(x, &axes)
    }

    /// The largest element along axes, which go away.
    pub fn reduce_max(&mut self, x: Value, axes: &[usize]) -> Value {
        if axes.is_empty() {
            return x;
        }
        self.apply(&ops::reduce_max::REDUCE_MAX, &[x], vec![Attr::positions(axes)])
    }

    /// Multiplies and sums by labels such as `ij,bj->bi`.
    pub fn contract(&mut self, x: Value, y: Value, labels: &str) -> Value {
        self.apply(&ops::contract::CONTRACT, &[x, y], vec![Attr::name(labels)])
    }

    /// Running sums along an axis, from its end if `reverse`.
    pub fn cumsum(&mut self, x: Value, axis: usize, reverse: bool) -> Value {
        let attrs = vec![Attr::Int(axis as i64), Attr::Int(i64::from(reverse))];
        self.apply(&ops::cumsum::CUMSUM, &[x], attrs)
    }

    /// The lower Cholesky factor of the last two axes.
    pub fn cholesky(&mut self, x: Value) -> Value {
        self.unary(&ops::cholesky::CHOLESKY, x)
    }

    /// Solves `l x = b`, or `l^T x = b` if `transposed`, for lower-triangular `l`.
    pub fn triangular_solve(&mut self, l: Value, b: Value, transposed: bool) -> Value {
        let attrs = vec![Attr::Int(i64::from(transposed))];
        self.apply(&ops::triangular_solve::TRIANGULAR_SOLVE, &[l, b], attrs)
    }

    /// The logarithm of the sum of exponentials along an axis, which goes away.
    pub fn logsumexp(&mut self, x: Value, axis: usize) -> Value {
        self.apply(&ops::logsumexp::LOGSUMEXP, &[x], vec![Attr::Int(axis as i64)])
    }

    /// Exponentials along an axis, normalised to sum to one.
    pub fn softmax(&mut self, x: Value, axis: usize) -> Value {
        self.apply(&ops::softmax::SOFTMAX, &[x], vec![Attr::Int(axis as i64)])
    }

    /// The logarithm of `softmax`.
    pub fn log_softmax(&mut self, x: Value, axis: usize) -> Value {
        self.apply(&ops::log_softmax::LOG_SOFTMAX, &[x], vec![Attr::Int(axis as i64)])
    }

    /// A new last axis of size `dim` that is 1 at the position `index` and 0 elsewhere.
    pub fn one_hot(&mut self, index: Value, dim: Dim) -> Value {
        self.apply(&ops::one_hot::ONE_HOT, &[index], vec![Attr::Dim(dim)])
    }

    /// Numbers of a stream at coordinates `(draw, example, step)`, each of this shape.
    pub fn noise(&mut self, kind: NoiseKind, site: &str, coordinates: [Value; 3], shape: &Shape) -> Value {
        let attrs = vec![
            Attr::name(kind.name()),
            Attr::name(site),
            Attr::Shape(shape.clone()),
        ];
        self.apply(&ops::noise::NOISE, &coordinates, attrs)
    }

    /// Gamma variates of a stream at coordinates `(draw, example, step)`, one per element of `shape`.
    pub fn gamma_noise(&mut self, site: &str, coordinates: [Value; 3], shape: Value) -> Value {
        let [draw, example, step] = coordinates;
        self.apply(
            &ops::gamma_noise::GAMMA_NOISE,
            &[draw, example, step, shape],
            vec![Attr::name(site)],
        )
    }

    /// Applies `function` along axis 0 of the mapped arguments, with the rest captured; argument order is the function's.
    pub fn map(&mut self, function: &Arc<Function>, args: &[Value], mapped: &[bool]) -> Value {
        let (function, order) = crate::higher_order::mapped_first(function, mapped);
        let args: Vec<Value> = order.iter().map(|at| args[*at]).collect();
        let count = mapped.iter().filter(|flag| **flag).count();
        self.apply(
            &ops::map::MAP,
            &args,
            vec![Attr::Function(function), Attr::Int(count as i64)],
        )
    }
}

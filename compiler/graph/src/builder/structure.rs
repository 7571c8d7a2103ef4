//! Builder methods for ops that move, join, reduce and contract.

use super::Builder;
use crate::attr::{Attr, Attrs};
use crate::dist::Instance;
use crate::function::{Function, Value};
use crate::infer::without_axes;
use crate::op::{Op, OpDef};
use crate::ops;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape};
use std::sync::Arc;

/// A strided window. Each list has one entry per axis. A limit of -1 stands for the end of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first position of the window on each axis.
    pub starts: Vec<i64>,
    /// The first position after the end of the window, on each axis.
    pub limits: Vec<i64>,
    /// The distance between consecutive positions of the window, on each axis.
    pub strides: Vec<i64>,
}

impl Window {
    /// Returns the window that covers a whole tensor of this rank.
    pub fn full(rank: usize) -> Window {
        Window {
            starts: vec![0; rank],
            limits: vec![-1; rank],
            strides: vec![1; rank],
        }
    }

    /// Returns a copy of the window that is restricted to `start..limit` on one axis.
    pub fn with(mut self, axis: usize, start: usize, limit: usize) -> Window {
        self.starts[axis] = start as i64;
        self.limits[axis] = limit as i64;
        self
    }
}

/// An operation that has not been applied yet: an op, its operands and its attributes.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: Vec<Value>,
    /// The attributes.
    pub attrs: Attrs,
}

impl Operation {
    /// Creates an operation without attributes.
    pub fn new<const N: usize>(op: &'static OpDef, args: [Value; N]) -> Operation {
        Operation::with(op, args.into(), Attrs::new())
    }

    fn with(op: &'static OpDef, args: Vec<Value>, attrs: Attrs) -> Operation {
        Operation {
            op: Op(op),
            args,
            attrs,
        }
    }
}

/// Defines constructors of operations with attributes.
macro_rules! constructors {
    ($($(#[$meta:meta])* $name:ident($($arg:ident: $ty:ty),*) = $op:path, $args:expr, [$($attr:expr),*];)*) => {
        impl Operation {
            $($(#[$meta])*
            pub fn $name($($arg: $ty),*) -> Operation {
                Operation::with(&$op, $args.into(), vec![$($attr),*])
            })*
        }
    };
}

/// Defines constructors, and builder methods that apply the constructed operation.
macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident($($arg:ident: $ty:ty),*) = $op:path, $args:expr, [$($attr:expr),*];)*) => {
        constructors! { $($(#[$meta])* $name($($arg: $ty),*) = $op, $args, [$($attr),*];)* }

        impl Builder {
            $($(#[$meta])*
            pub fn $name(&mut self, $($arg: $ty),*) -> Value {
                self.make(Operation::$name($($arg),*))
            })*
        }
    };
}

operations! {
    /// A strided window.
    slice(x: Value, window: Window) = ops::slice::SLICE, [x],
        [Attr::Ints(window.starts), Attr::Ints(window.limits), Attr::Ints(window.strides)];
    /// Adds zeros before, after and between the elements (`low`, `high` and `interior`). Each of
    /// the three lists has one entry per axis.
    pad(x: Value, low: &[usize], high: &[usize], interior: &[usize]) = ops::pad::PAD, [x],
        [Attr::positions(low), Attr::positions(high), Attr::positions(interior)];
    /// Collects all windows of these `sizes` over the last axes of `x`. Consecutive windows are
    /// `strides` apart. The result first has the axes for positions within a window, then the axes
    /// that number the windows.
    patches(x: Value, sizes: &[usize], strides: &[usize]) = ops::patches::PATCHES, [x],
        [Attr::positions(sizes), Attr::positions(strides)];
    /// Sums overlapping windows into axes of these `sizes`; the adjoint of `patches`.
    overlap_add(x: Value, sizes: &[usize], strides: &[usize]) = ops::overlap_add::OVERLAP_ADD, [x],
        [Attr::positions(sizes), Attr::positions(strides)];
    /// Joins operands along an axis.
    concat(parts: &[Value], axis: usize) = ops::concat::CONCAT, parts, [Attr::Int(axis as i64)];
    /// `0, 1, .., dim - 1`.
    iota(dim: Dim) = ops::iota::IOTA, [], [Attr::Dim(dim)];
    /// Gathers slices of `x` along `axis`. The result has the axes of `index` in place of `axis`.
    /// Each element of `index` is the position of one slice.
    gather(x: Value, index: Value, axis: usize) = ops::gather::GATHER, [x, index], [Attr::Int(axis as i64)];
    /// Creates a tensor of zeros that has a new axis of size `dim`, and adds the slices of
    /// `updates` to it. Each element of `index` is the position, along this axis, of one slice.
    scatter_add(index: Value, updates: Value, axis: usize, dim: Dim) = ops::scatter_add::SCATTER_ADD,
        [index, updates], [Attr::Int(axis as i64), Attr::Dim(dim)];
    /// Multiplies and sums by labels such as `ij,bj->bi`.
    contract(x: Value, y: Value, labels: &str) = ops::contract::CONTRACT, [x, y], [Attr::name(labels)];
    /// Cumulative sums along an axis. If `reverse` is true, the sums begin at the end of the axis.
    cumsum(x: Value, axis: usize, reverse: bool) = ops::cumsum::CUMSUM, [x],
        [Attr::Int(axis as i64), Attr::Int(i64::from(reverse))];
    /// Solves `l x = b`, or `l^T x = b` if `transposed` is true. `l` is lower-triangular.
    triangular_solve(l: Value, b: Value, transposed: bool) = ops::triangular_solve::TRIANGULAR_SOLVE, [l, b],
        [Attr::Int(i64::from(transposed))];
    /// The logarithm of the sum of exponentials along an axis. The axis is removed.
    logsumexp(x: Value, axis: usize) = ops::logsumexp::LOGSUMEXP, [x], [Attr::Int(axis as i64)];
    /// Exponentials along an axis, divided by their sum.
    softmax(x: Value, axis: usize) = ops::softmax::SOFTMAX, [x], [Attr::Int(axis as i64)];
    /// The logarithm of `softmax`.
    log_softmax(x: Value, axis: usize) = ops::log_softmax::LOG_SOFTMAX, [x], [Attr::Int(axis as i64)];
    /// A new last axis with size `dim`. Along this axis, the element at the position `index` is 1, and all others are 0.
    one_hot(index: Value, dim: Dim) = ops::one_hot::ONE_HOT, [index], [Attr::Dim(dim)];
    /// Random numbers of a stream. Each triple of coordinates `(draw, example, step)` gives another array of this
    /// shape.
    noise(kind: NoiseKind, site: &str, coordinates: [Value; 3], shape: &Shape) = ops::noise::NOISE, coordinates,
        [Attr::name(kind.name()), Attr::name(site), Attr::Shape(shape.clone())];
    /// Gamma variates of a stream at coordinates `(draw, example, step)`. `shape` holds the shape
    /// parameters of the gamma distributions, one per variate.
    gamma_noise(site: &str, coordinates: [Value; 3], shape: Value) = ops::gamma_noise::GAMMA_NOISE,
        [coordinates.as_slice(), &[shape]].concat(), [Attr::name(site)];
}

// The builder methods for these operations are written by hand, because they return the operand itself if the op would not change it.
constructors! {
    /// Repeats `x`, so that axis `i` of `x` becomes axis `axes[i]` of `shape`.
    broadcast(x: Value, shape: &Shape, axes: &[usize]) = ops::broadcast::BROADCAST, [x],
        [Attr::Shape(shape.clone()), Attr::positions(axes)];
    /// The same elements with another shape.
    reshape(x: Value, shape: &Shape) = ops::reshape::RESHAPE, [x], [Attr::Shape(shape.clone())];
    /// Permutes axes: axis `i` of the result is axis `axes[i]` of `x`.
    transpose(x: Value, axes: &[usize]) = ops::transpose::TRANSPOSE, [x], [Attr::positions(axes)];
    /// The sum along some axes. These axes are removed.
    reduce_sum(x: Value, axes: &[usize]) = ops::reduce_sum::REDUCE_SUM, [x], [Attr::positions(axes)];
    /// The largest element along some axes. These axes are removed.
    reduce_max(x: Value, axes: &[usize]) = ops::reduce_max::REDUCE_MAX, [x], [Attr::positions(axes)];
    /// Applies `function` along axis 0 of the first `count` arguments. All positions use the same values of the other
    /// arguments.
    map(function: Arc<Function>, args: &[Value], count: usize) = ops::map::MAP, args,
        [Attr::Function(function), Attr::Int(count as i64)];
    /// The mean over the rows of a training step, stored as `name`.
    running_mean(x: Value, name: &str) = ops::running_mean::RUNNING_MEAN, [x], [Attr::name(name)];
    /// A draw of a distribution at a site.
    sample(dist: Instance, parameters: &[Value], site: &str) = ops::sample::SAMPLE, parameters,
        [Attr::Dist(Arc::new(dist)), Attr::name(site)];
    /// The log density of an observed value at a site. The last of `args` is this value; the others
    /// are the parameters of the distribution.
    observe(dist: Instance, args: &[Value], site: &str) = ops::observe::OBSERVE, args,
        [Attr::Dist(Arc::new(dist)), Attr::name(site)];
}

impl Builder {
    /// Applies an operation whose operands are known to fit its op.
    fn make(&mut self, operation: Operation) -> Value {
        self.apply(operation.op.0, &operation.args, operation.attrs)
    }

    /// Returns the shape of a value.
    pub fn shape(&self, x: Value) -> Shape {
        self.ty(x).shape.clone()
    }

    /// Returns the number of axes of a value.
    pub fn rank(&self, x: Value) -> usize {
        self.ty(x).rank()
    }

    /// Repeats `x`, so that axis `i` of `x` becomes axis `axes[i]` of `shape`.
    pub fn broadcast(&mut self, x: Value, shape: &Shape, axes: &[usize]) -> Value {
        match *shape == self.ty(x).shape {
            true => x,
            false => self.make(Operation::broadcast(x, shape, axes)),
        }
    }

    /// Repeats a scalar to `shape`.
    pub fn broadcast_to(&mut self, x: Value, shape: &Shape) -> Value {
        self.broadcast(x, shape, &[])
    }

    /// Repeats `x` along a new first axis of size `dim`.
    pub fn broadcast_leading(&mut self, x: Value, dim: Dim) -> Value {
        let shape = self.shape(x).prepend(dim);
        let axes: Vec<usize> = (1..shape.rank()).collect();
        self.broadcast(x, &shape, &axes)
    }

    /// Undoes the removal of axes by a reduction: repeats `x` along the axes in `removed`. The
    /// result has the shape `shape`.
    pub fn restore_axes(&mut self, x: Value, shape: &Shape, removed: &[usize]) -> Value {
        let axes: Vec<usize> = (0..shape.rank()).filter(|axis| !removed.contains(axis)).collect();
        debug_assert_eq!(without_axes(shape, removed), self.shape(x));
        self.broadcast(x, shape, &axes)
    }

    /// Returns the same elements with another shape.
    pub fn reshape(&mut self, x: Value, shape: &Shape) -> Value {
        match *shape == self.ty(x).shape {
            true => x,
            false => self.make(Operation::reshape(x, shape)),
        }
    }

    /// Permutes axes: axis `i` of the result is axis `axes[i]` of `x`.
    pub fn transpose(&mut self, x: Value, axes: &[usize]) -> Value {
        match axes.is_sorted() {
            true => x,
            false => self.make(Operation::transpose(x, axes)),
        }
    }

    /// Moves one axis to another position. The other axes keep their order.
    pub fn move_axis(&mut self, x: Value, from: usize, to: usize) -> Value {
        let mut axes: Vec<usize> = (0..self.rank(x)).filter(|axis| *axis != from).collect();
        axes.insert(to, from);
        self.transpose(x, &axes)
    }

    /// Returns the sum along some axes. These axes are removed.
    pub fn reduce_sum(&mut self, x: Value, axes: &[usize]) -> Value {
        match axes.is_empty() {
            true => x,
            false => self.make(Operation::reduce_sum(x, axes)),
        }
    }

    /// Returns the sum of all elements.
    pub fn reduce_sum_all(&mut self, x: Value) -> Value {
        let axes: Vec<usize> = (0..self.rank(x)).collect();
        self.reduce_sum(x, &axes)
    }

    /// Returns the largest element along some axes. These axes are removed.
    pub fn reduce_max(&mut self, x: Value, axes: &[usize]) -> Value {
        match axes.is_empty() {
            true => x,
            false => self.make(Operation::reduce_max(x, axes)),
        }
    }

    /// Returns the lower Cholesky factor of the last two axes.
    pub fn cholesky(&mut self, x: Value) -> Value {
        self.unary(&ops::cholesky::CHOLESKY, x)
    }

    /// Applies `function` along axis 0 of the mapped arguments. All positions use the same values of the other arguments. The arguments are
    /// in the order of the parameters of `function`.
    pub fn map(&mut self, function: &Arc<Function>, args: &[Value], mapped: &[bool]) -> Value {
        let (function, order) = crate::higher_order::mapped_first(function, mapped);
        let args: Vec<Value> = order.iter().map(|at| args[*at]).collect();
        let count = mapped.iter().filter(|flag| **flag).count();
        self.make(Operation::map(function, &args, count))
    }
}

//! The built-in functions of the language: a registry of their names, arities and typing rules.
//!
//! Functions that can be written in the language itself, such as `relu`, are in the library
//! instead.

use bnnc_abi::symbols::NoiseKind;
use bnnc_graph::op::{Lower, Op, OpDef};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_math::scalar::ScalarTypes;
use std::sync::LazyLock;

/// A reduction of several elements to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The smallest.
    Min,
    /// The product.
    Prod,
    /// The sum.
    Sum,
}

/// A function that applies along an axis and keeps the shape of its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// The cumulative sum.
    Cumsum,
    /// The logarithm of the softmax.
    LogSoftmax,
    /// The softmax.
    Softmax,
}

/// The rule by which a call of a built-in function is typed and elaborated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BuiltinRule {
    /// Applies elementwise to a scalar or an array.
    Elementwise(Op),
    /// With two arguments, applies elementwise: two arrays must have equal dims, and a scalar is
    /// broadcast. With a single array as argument, reduces this array.
    Extremum(Op, Reduction),
    /// Reduces all elements to a scalar.
    Reduce(Reduction),
    /// `dot(a, b)`: maps two vectors of equal length to a scalar.
    Dot,
    /// `outer(a, b)`: maps two vectors to a matrix.
    Outer,
    /// `transpose(a)`: transposes a matrix.
    Transpose,
    /// Applies along the last axis and keeps the shape.
    LastAxis(Along),
    /// `logsumexp(x)`: reduces the last axis.
    LogSumExp,
    /// `cholesky(a)`: maps a square matrix to its lower Cholesky factor.
    Cholesky(Op),
    /// `solve_lower(l, b)`: solves a lower triangular system, with `l: real[n, n]` and `b: real[n]`.
    SolveLower,
    /// `concat(a, b)`: joins along axis 0. The other dims must be equal.
    Concat,
    /// `fold(layers, x)`: applies the layers of a list one after the other.
    Fold,
    /// `length(x)`: returns the first dim as an integer.
    Length,
    /// `zeros(n, ..)`, `ones(n, ..)`: arrays with the given dims, in which every element is this number.
    Filled(f64),
    /// `standard_normal()`, `standard_uniform()`, `standard_gamma(shape)`: noise whose shape is determined by the context. It is
    /// allowed only in `draw`.
    Noise(NoiseKind),
    /// `conv(x, kernel, stride = 1, groups = 1)`: with `x: real[c, ..]` and `kernel: real[o, c / groups, ..]`, gives one value per
    /// output channel and window. `x` has one, two or three axes after the channels.
    Conv,
    /// `conv_transpose(x, kernel, stride = 1, padding = 0, output_padding = 0, groups = 1)`: the derivative of `conv` with respect to its
    /// image, with `x: real[c, ..]` and `kernel: real[c, o / groups, ..]`.
    ConvTranspose,
    /// `pad(x, width)`: adds a border of zeros to each channel of `x: real[c, ..]`.
    Pad,
    /// `max_pool(x, size, stride = size)` and `mean_pool(x, size, stride = size)`: for
    /// `x: real[c, ..]`, give one value per channel and window.
    Pool(Reduction),
    /// `upsample(x, factor)`: repeats each element of each channel of `x: real[c, ..]` along all axes of the channel.
    Upsample,
    /// `repeat(x, n, ..)`: repeats `x` along new axes, which become the last ones.
    Repeat,
    /// `reshape(x, n, ..)`: keeps the elements in row-major order and changes the dims.
    Reshape,
    /// `running_mean(x, momentum, start)`: in training, the mean of `x` over the rows of a step; elsewhere, the stored average of these
    /// means.
    RunningMean,
    /// `stop_gradient(x)`: returns `x` with the same type.
    Same(Op),
    /// `eye(n)`: the identity matrix.
    Eye,
    /// `diag(v)`: maps a vector to a diagonal matrix.
    Diag,
}

/// One built-in function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Builtin {
    /// The name of the function.
    pub name: &'static str,
    /// One sentence that describes the function.
    pub doc: &'static str,
    /// The names of the parameters. A call of `concat`, `zeros`, `ones`, `repeat` or `reshape` may
    /// pass several arguments for the last parameter.
    pub params: &'static [&'static str],
    /// The typing rule.
    pub rule: BuiltinRule,
}

impl Builtin {
    /// Returns the reduction that a call with a single array performs. Returns `None` if the
    /// function does not reduce arrays, and for `logsumexp`.
    pub fn reduction(&self) -> Option<Reduction> {
        match self.rule {
            BuiltinRule::Extremum(_, reduction) | BuiltinRule::Reduce(reduction) => Some(reduction),
            _ => None,
        }
    }

    /// Returns whether the function can reduce a comprehension, as in `sum(y[i] for i in 0..n)`.
    pub fn reduces_ranges(&self) -> bool {
        self.reduction().is_some() || self.rule == BuiltinRule::LogSumExp
    }

    /// Returns the default of the parameter at a position, if it is an integer.
    pub fn default(&self, at: usize) -> Option<i64> {
        match (self.rule, self.params.get(at).copied()) {
            (BuiltinRule::Conv | BuiltinRule::ConvTranspose, Some("stride" | "groups")) => Some(1),
            (BuiltinRule::ConvTranspose, Some("padding" | "output_padding")) => Some(0),
            _ => None,
        }
    }

    /// Returns the number of parameters that have no default.
    pub fn required(&self) -> usize {
        match self.rule {
            BuiltinRule::Pool(_) => 2,
            BuiltinRule::Extremum(..) => 1,
            _ => (0..self.params.len())
                .filter(|at| self.default(*at).is_none())
                .count(),
        }
    }

    /// Returns the description of the function and a declaration for each way in which it can be called, on separate
    /// lines. In a type, `..` stands for any dims; after a parameter, it stands for more parameters of the same kind.
    pub fn declaration(&self) -> String {
        let forms: &[&str] = match self.rule {
            BuiltinRule::Elementwise(_) | BuiltinRule::Same(_) => {
                &["(x: real) -> real", "(x: real[..]) -> real[..]"]
            }
            BuiltinRule::Extremum(..) => &[
                "(a: real, b: real) -> real",
                "(a: real[..], b: real[..]) -> real[..]",
                "(a: real[..]) -> real",
            ],
            BuiltinRule::Reduce(_) => &["(x: real[..]) -> real"],
            BuiltinRule::Dot => &["(a: real[n], b: real[n]) -> real"],
            BuiltinRule::Outer => &["(a: real[m], b: real[n]) -> real[m, n]"],
            BuiltinRule::Transpose => &["(a: real[m, n]) -> real[n, m]"],
            BuiltinRule::LastAxis(_) => &["(x: real[.., n]) -> real[.., n]"],
            BuiltinRule::LogSumExp => &["(x: real[.., n]) -> real[..]"],
            BuiltinRule::Cholesky(_) => &["(a: real[n, n]) -> real[n, n]"],
            BuiltinRule::SolveLower => &["(l: real[n, n], b: real[n]) -> real[n]"],
            BuiltinRule::Concat => &["(a: real[m, ..], b: real[n, ..], ..) -> real[m + n, ..]"],
            BuiltinRule::Fold => &["(layers: list of layers, x: real[..]) -> real[..]"],
            BuiltinRule::Length => &["(x: real[n, ..]) -> int"],
            BuiltinRule::Filled(_) => &["(n: int, ..) -> real[n, ..]"],
            BuiltinRule::Noise(NoiseKind::Gamma) => &[
                "(shape: positive) -> real",
                "(shape: positive, n: int, ..) -> real[n, ..]",
            ],
            BuiltinRule::Noise(_) => &["() -> real", "(n: int, ..) -> real[n, ..]"],
            BuiltinRule::Conv => &[
                "(x: real[c, ..], kernel: real[o, c / groups, ..], stride: int = 1, groups: int = 1) -> real[o, ..]",
            ],
            BuiltinRule::ConvTranspose => &[
                "(x: real[c, ..], kernel: real[c, o / groups, ..], stride: int = 1, padding: int = 0, output_padding: int = 0, groups: int = 1) -> real[o, ..]",
            ],
            BuiltinRule::Pad => &["(x: real[c, ..], width: int) -> real[c, ..]"],
            BuiltinRule::Pool(_) => &["(x: real[c, ..], size: int, stride: int) -> real[c, ..]"],
            BuiltinRule::Upsample => &["(x: real[c, ..], factor: int) -> real[c, ..]"],
            BuiltinRule::Repeat => &["(x: real[..], n: int, ..) -> real[.., n, ..]"],
            BuiltinRule::Reshape => &["(x: real[..], n: int, ..) -> real[n, ..]"],
            BuiltinRule::RunningMean => &["(x: real[..], momentum: real, start: real) -> real[..]"],
            BuiltinRule::Eye => &["(n: int) -> real[n, n]"],
            BuiltinRule::Diag => &["(v: real[n]) -> real[n, n]"],
        };
        let lines = forms.iter().map(|form| format!("\nfn {}{form}", self.name));
        format!("/// {}{}", self.doc, lines.collect::<String>())
    }

    /// Evaluates the function on numbers. Returns `None` if the function accepts only arrays, or if
    /// the number of arguments is wrong.
    pub fn number(&self, args: &[f64]) -> Option<f64> {
        let (BuiltinRule::Elementwise(op) | BuiltinRule::Extremum(op, _) | BuiltinRule::Same(op)) = self.rule
        else {
            return None;
        };
        let operands: Vec<Tensor> = args.iter().copied().map(Tensor::scalar).collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        (args.len() == self.params.len()).then(|| op.evaluate(&operands, &[]).data[0])
    }
}

/// Returns whether an op maps each real element of one operand to a real. Programs can call every such op by its name.
fn maps_reals(op: &OpDef) -> bool {
    matches!(op.lower, Lower::Scalar(scalar) if scalar.arity() == 1 && scalar.types() == ScalarTypes::Reals)
}

/// All built-in functions, sorted by name: the functions of `OTHERS` and the ops that map reals.
pub static ALL: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let ops = ops::ALL.iter().filter(|op| maps_reals(op));
    let ops = ops.map(|op| Builtin {
        name: op.name,
        doc: op.doc,
        params: &["x"],
        rule: BuiltinRule::Elementwise(Op(op)),
    });
    let mut all: Vec<Builtin> = ops.chain(OTHERS.iter().copied()).collect();
    all.sort_unstable_by_key(|builtin| builtin.name);
    all
});

/// Declares the built-in functions of the language that do not map each real to a real, or that also map integers: `name(parameters) = rule, doc;`.
macro_rules! builtins {
    ($($name:ident($($param:ident),*) = $rule:expr, $doc:literal;)*) => {
        static OTHERS: &[Builtin] = {
            use BuiltinRule::*;
            &[$(Builtin {
                name: stringify!($name),
                doc: $doc,
                params: &[$(stringify!($param)),*],
                rule: $rule,
            }),*]
        };
    };
}

builtins! {
    abs(x) = Elementwise(Op(&ops::abs::ABS)), "The absolute value.";
    cholesky(a) = Cholesky(Op(&ops::cholesky::CHOLESKY)), "The lower Cholesky factor of a positive definite matrix.";
    concat(a, b) = Concat, "Joins arrays along their first axis.";
    conv(x, kernel, stride, groups) = Conv, "For each output channel and window, the sum of products with the kernel. Windows are `stride` apart, by default 1. With `groups`, the channels are divided into groups of equal size, and an output channel uses only the channels of its group.";
    conv_transpose(x, kernel, stride, padding, output_padding, groups) = ConvTranspose, "The transposed convolution: the derivative of `conv` with respect to its image. An axis of `n` elements becomes `(n - 1) * stride - 2 * padding + size + output_padding` long.";
    cumsum(x) = LastAxis(Along::Cumsum), "Running sums along the last axis.";
    diag(v) = Diag, "A vector as a diagonal matrix.";
    dot(a, b) = Dot, "The sum of products of two vectors.";
    eye(n) = Eye, "The identity matrix.";
    fold(layers, x) = Fold, "Applies the layers of a list one after the other: the first to `x`, each later one to the result of the layer before it.";
    length(x) = Length, "The size of the first axis.";
    log_softmax(x) = LastAxis(Along::LogSoftmax), "The logarithm of `softmax`.";
    logsumexp(x) = LogSumExp, "`log(sum(exp(x)))` along the last axis, without overflow.";
    max(a, b) = Extremum(Op(&ops::max::MAX), Reduction::Max), "The larger of two values, or the largest element of one array.";
    max_pool(x, size, stride) = Pool(Reduction::Max), "The largest element of each window of each channel. Without a stride, windows do not overlap.";
    mean(x) = Reduce(Reduction::Mean), "The mean of all elements.";
    mean_pool(x, size, stride) = Pool(Reduction::Mean), "The mean of each window of each channel. Without a stride, windows do not overlap.";
    min(a, b) = Extremum(Op(&ops::min::MIN), Reduction::Min), "The smaller of two values, or the smallest element of one array.";
    ones(dims) = Filled(1.0), "An array of ones.";
    outer(a, b) = Outer, "All products of the elements of two vectors.";
    pad(x, width) = Pad, "Adds zeros around all axes after the first.";
    prod(x) = Reduce(Reduction::Prod), "The product of all elements.";
    repeat(x, dims) = Repeat, "Repeats `x` along new last axes of these dims.";
    reshape(x, dims) = Reshape, "An array of these dims with the elements of `x` in row-major order.";
    running_mean(x, momentum, start) = RunningMean, "The mean of `x` over the rows of a training step, and a running average of these means elsewhere; see [Running means](#running-means).";
    softmax(x) = LastAxis(Along::Softmax), "`exp(x) / sum(exp(x))` along the last axis.";
    solve_lower(l, b) = SolveLower, "Solves `l x = b` for a lower triangular `l`.";
    standard_gamma(shape) = Noise(NoiseKind::Gamma), "A gamma variate with this shape and a scale of one; only in `draw`.";
    standard_normal() = Noise(NoiseKind::Normal), "A standard normal variate; only in `draw`.";
    standard_uniform() = Noise(NoiseKind::Uniform), "A uniform variate on (0, 1); only in `draw`.";
    stop_gradient(x) = Same(Op(&ops::stop_gradient::STOP_GRADIENT)), "The same value, with a derivative of zero.";
    sign(x) = Elementwise(Op(&ops::sign::SIGN)), "-1, 0 or 1.";
    sum(x) = Reduce(Reduction::Sum), "The sum of all elements.";
    transpose(a) = Transpose, "The transposed matrix.";
    upsample(x, factor) = Upsample, "Repeats each element `factor` times along each axis after the first.";
    zeros(dims) = Filled(0.0), "An array of zeros.";
}

/// Returns the built-in function with this name.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    ALL.binary_search_by_key(&name, |builtin| builtin.name)
        .ok()
        .map(|at| &ALL[at])
}

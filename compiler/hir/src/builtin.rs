//! The functions that the language itself provides: a registry of names, arities and result rules.
//!
//! What can be written in the language lives in the library instead (`relu` is a function there).

/// How the type of a call follows from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Elementwise over scalars and arrays; arrays must have equal dims, scalars stretch.
    Elementwise,
    /// All elements to a scalar.
    Reduce,
    /// `dot(a, b)`: two vectors of one length to a scalar.
    Dot,
    /// `outer(a, b)`: two vectors to a matrix.
    Outer,
    /// `transpose(a)`: rank 2.
    Transpose,
    /// Along the last axis, shape kept: `softmax`, `log_softmax`, `cumsum`.
    LastAxis,
    /// Along the last axis, which goes away: `logsumexp`.
    LastAxisAway,
    /// `cholesky(a)`: a square matrix to its lower factor.
    Cholesky,
    /// `solve_lower(l, b)`: `l: real[n, n]`, `b: real[n]`.
    SolveLower,
    /// `concat(a, b)`: along axis 0; other dims equal.
    Concat,
    /// `length(x)`: the first dim as an integer.
    Length,
    /// `zeros(n, ..)`, `ones(n, ..)`: arrays of the given dims.
    Filled,
    /// `standard_normal()`, `standard_uniform()`, `standard_gamma(shape)`: noise of the shape that the context asks for; only in `draw`.
    Noise,
    /// `conv(x, kernel, stride = 1)`: `x: real[c, h, w]`, `kernel: real[o, c, a, b]`, to one value per output channel and window.
    Conv,
    /// `pad(x, width)`: `x: real[c, h, w]` with zeros around each channel.
    Pad,
    /// `max_pool(x, size, stride = size)`, `mean_pool`: `x: real[c, h, w]`, to one value per channel and window.
    Pool,
    /// `repeat(x, n, ..)`: new last axes.
    Repeat,
    /// `reshape(x, n, ..)`: the same elements in row-major order.
    Reshape,
    /// `stop_gradient(x)`: the same.
    Same,
    /// `eye(n)`: the identity matrix.
    Eye,
    /// `diag(v)`: a vector to a diagonal matrix.
    Diag,
}

/// One function of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Names of its parameters; the last one of `concat`, `zeros`, `ones`, `repeat`, `reshape` may come several times.
    pub params: &'static [&'static str],
    /// How its type follows.
    pub rule: Rule,
}

const fn f(name: &'static str, doc: &'static str, params: &'static [&'static str], rule: Rule) -> Builtin {
    Builtin {
        name,
        doc,
        params,
        rule,
    }
}

/// Sorted by name.
pub static ALL: &[Builtin] = &[
    f("abs", "The absolute value.", &["x"], Rule::Elementwise),
    f(
        "cholesky",
        "The lower Cholesky factor of a positive definite matrix.",
        &["a"],
        Rule::Cholesky,
    ),
    f(
        "concat",
        "Joins arrays along their first axis.",
        &["a", "b"],
        Rule::Concat,
    ),
    f(
        "conv",
        "For each output channel and window of the image, the sum of products with the kernel; no stride is a stride of 1.",
        &["x", "kernel", "stride"],
        Rule::Conv,
    ),
    f("cos", "The cosine.", &["x"], Rule::Elementwise),
    f(
        "cumsum",
        "Running sums along the last axis.",
        &["x"],
        Rule::LastAxis,
    ),
    f("diag", "A vector as a diagonal matrix.", &["v"], Rule::Diag),
    f(
        "digamma",
        "The derivative of `lgamma`.",
        &["x"],
        Rule::Elementwise,
    ),
    f(
        "dot",
        "The sum of products of two vectors.",
        &["a", "b"],
        Rule::Dot,
    ),
    f("erf", "The error function.", &["x"], Rule::Elementwise),
    f(
        "erfc",
        "`1 - erf(x)`, accurate where it is small.",
        &["x"],
        Rule::Elementwise,
    ),
    f("exp", "The natural exponential.", &["x"], Rule::Elementwise),
    f(
        "expm1",
        "`exp(x) - 1`, accurate near zero.",
        &["x"],
        Rule::Elementwise,
    ),
    f("eye", "The identity matrix.", &["n"], Rule::Eye),
    f(
        "floor",
        "The largest integer not above `x`.",
        &["x"],
        Rule::Elementwise,
    ),
    f("length", "The size of the first axis.", &["x"], Rule::Length),
    f(
        "lgamma",
        "The logarithm of the absolute value of the gamma function.",
        &["x"],
        Rule::Elementwise,
    ),
    f("log", "The natural logarithm.", &["x"], Rule::Elementwise),
    f(
        "log1p",
        "`log(1 + x)`, accurate near zero.",
        &["x"],
        Rule::Elementwise,
    ),
    f(
        "log_sigmoid",
        "`log(sigmoid(x))`, stable in both tails.",
        &["x"],
        Rule::Elementwise,
    ),
    f(
        "log_softmax",
        "The logarithm of `softmax`.",
        &["x"],
        Rule::LastAxis,
    ),
    f(
        "logsumexp",
        "`log(sum(exp(x)))` along the last axis, without overflow.",
        &["x"],
        Rule::LastAxisAway,
    ),
    f(
        "max",
        "The larger of two, or the largest element of one array.",
        &["a", "b"],
        Rule::Elementwise,
    ),
    f(
        "max_pool",
        "The largest element of each window of each channel; without a stride, windows lie side by side.",
        &["x", "size", "stride"],
        Rule::Pool,
    ),
    f("mean", "The mean of all elements.", &["x"], Rule::Reduce),
    f(
        "mean_pool",
        "The mean of each window of each channel; without a stride, windows lie side by side.",
        &["x", "size", "stride"],
        Rule::Pool,
    ),
    f(
        "min",
        "The smaller of two, or the smallest element of one array.",
        &["a", "b"],
        Rule::Elementwise,
    ),
    f("ones", "An array of ones.", &["dims"], Rule::Filled),
    f(
        "outer",
        "All products of the elements of two vectors.",
        &["a", "b"],
        Rule::Outer,
    ),
    f(
        "pad",
        "Zeros around the last two axes.",
        &["x", "width"],
        Rule::Pad,
    ),
    f("prod", "The product of all elements.", &["x"], Rule::Reduce),
    f(
        "repeat",
        "The same along new last axes of these dims.",
        &["x", "dims"],
        Rule::Repeat,
    ),
    f(
        "reshape",
        "The same elements in row-major order under other dims.",
        &["x", "dims"],
        Rule::Reshape,
    ),
    f("sigmoid", "`1 / (1 + exp(-x))`.", &["x"], Rule::Elementwise),
    f("sign", "-1, 0 or 1.", &["x"], Rule::Elementwise),
    f("sin", "The sine.", &["x"], Rule::Elementwise),
    f(
        "softmax",
        "`exp(x) / sum(exp(x))` along the last axis.",
        &["x"],
        Rule::LastAxis,
    ),
    f(
        "softplus",
        "`log(1 + exp(x))`, stable in both tails.",
        &["x"],
        Rule::Elementwise,
    ),
    f(
        "solve_lower",
        "Solves `l x = b` for a lower triangular `l`.",
        &["l", "b"],
        Rule::SolveLower,
    ),
    f("sqrt", "The square root.", &["x"], Rule::Elementwise),
    f(
        "standard_gamma",
        "A gamma variate of this shape and scale one; only in `draw`.",
        &["shape"],
        Rule::Noise,
    ),
    f(
        "standard_normal",
        "A standard normal variate; only in `draw`.",
        &[],
        Rule::Noise,
    ),
    f(
        "standard_uniform",
        "A uniform variate on (0, 1); only in `draw`.",
        &[],
        Rule::Noise,
    ),
    f(
        "stop_gradient",
        "The same value, with no derivative.",
        &["x"],
        Rule::Same,
    ),
    f("sum", "The sum of all elements.", &["x"], Rule::Reduce),
    f("tanh", "The hyperbolic tangent.", &["x"], Rule::Elementwise),
    f(
        "transpose",
        "A matrix with its axes exchanged.",
        &["a"],
        Rule::Transpose,
    ),
    f(
        "trigamma",
        "The second derivative of `lgamma`.",
        &["x"],
        Rule::Elementwise,
    ),
    f("zeros", "An array of zeros.", &["dims"], Rule::Filled),
];

/// The builtin with this name.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    ALL.binary_search_by_key(&name, |builtin| builtin.name)
        .ok()
        .map(|at| &ALL[at])
}

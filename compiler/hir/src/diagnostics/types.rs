//! Diagnostics about types, dims, supports and arguments.

use super::{count, its_parameters};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    MISMATCH = "E0211", "a value of the wrong type":
        "The value does not have the type that is needed here. Arrays are not broadcast: `(n)` and `(n, 1)` are different shapes.",
        wrong "fn f(x: real[3]) -> real {\n  return x\n}",
        right "fn f(x: real[3]) -> real {\n  return sum(x)\n}";
    DIMS = "E0212", "dims that differ":
        "An elementwise operation takes arrays of equal dims, or an array and a scalar. Arrays are not broadcast.",
        wrong "fn f(x: real[n], y: real[m]) -> real[n] {\n  return x + y\n}",
        right "fn f(x: real[n], y: real[n]) -> real[n] {\n  return x + y\n}";
    MATRIX_PRODUCT = "E0213", "a matrix product that does not fit":
        "`a @ b` needs as many columns on the left as rows on the right; one side may be a vector.",
        wrong "fn f(w: real[4, 6], x: real[5]) -> real[4] {\n  return w @ x\n}",
        right "fn f(w: real[4, 6], x: real[6]) -> real[4] {\n  return w @ x\n}";
    SUPPORT = "E0214", "a value outside its support":
        "The value can never be valid for the parameter: for example, it is a negative scale or a probability above one.",
        wrong "model M(x: real) -> y: real {\n  y ~ Normal(x, -1)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}";
    ARGUMENT_COUNT = "E0215", "too many or too few arguments":
        "Every parameter without a default needs an argument, and a call cannot have more arguments than there are parameters.",
        wrong "fn f(x: real) -> real {\n  return max(x, 0, 1)\n}",
        right "fn f(x: real) -> real {\n  return max(x, 0)\n}";
    UNKNOWN_ARGUMENT = "E0216", "an unknown argument":
        "The call names an argument that the function, layer or distribution does not have.",
        wrong "model M(x: real) -> y: real {\n  y ~ Normal(loc = x, scele = 1)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(loc = x, scale = 1)\n}";
    ARGUMENT_TWICE = "E0217", "an argument is given twice":
        "One parameter gets two values: one by position and one by name, or two by name.",
        wrong "model M(x: real) -> y: real {\n  y ~ Normal(x, 1, loc = 0)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(x, scale = 1)\n}";
    NOT_CALLABLE = "E0218", "a value that cannot be called":
        "Only functions, layers and distributions take arguments.",
        wrong "fn f(x: real) -> real {\n  return x(1)\n}",
        right "fn f(x: real) -> real {\n  return x * 1\n}";
    DOES_NOT_LIFT = "E0219", "a function that does not work elementwise":
        "A function of scalars works elementwise on arrays if all its operations are elementwise. This function has an operation that is not elementwise.",
        wrong "fn pair(x: real) -> real {\n  return sum([x, 1])\n}\n\nfn f(x: real[3]) -> real[3] {\n  return pair(x)\n}",
        right "fn pair(x: real) -> real {\n  return x + 1\n}\n\nfn f(x: real[3]) -> real[3] {\n  return pair(x)\n}";
    INDEX = "E0220", "an index that does not fit":
        "An index lies outside its axis or belongs to another axis, or there are more indices than axes.",
        wrong "fn f(x: real[2]) -> real {\n  return x[2]\n}",
        right "fn f(x: real[2]) -> real {\n  return x[1]\n}";
    NOT_STATIC = "E0221", "an integer that is not known at compile time":
        "Dims, ranges and the integer arguments of layers may contain only numbers, constants, names of dims, integer parameters \
         and loop counters.",
        wrong "model M(k: int) -> y: real {\n  y ~ Normal(sum(zeros(k)), 1)\n}",
        right "model M(x: real[k]) -> y: real {\n  y ~ Normal(sum(x) + sum(zeros(k)), 1)\n}";
    DIM_UNSOLVED = "E0222", "a dimension whose size is not determined":
        "The arguments of this call do not determine the size of a dimension.",
        wrong "fn half(x: real[n + m]) -> real[n] {\n  return x[0..n]\n}\n\nfn f(x: real[4]) -> real[2] {\n  return half(x)\n}",
        right "fn half(x: real[2 * n]) -> real[n] {\n  return x[0..n]\n}\n\nfn f(x: real[4]) -> real[2] {\n  return half(x)\n}";
    UNKNOWN_PART = "E0223", "an unknown part of a value":
        "A distribution has only the parts that its `dist` defines: `log_density(x)`, `draw`, `mean`, `variance`, ..",
        wrong "dist Twice(first: dist) on real {\n  log_density(x) = first.log_denity(x)\n}",
        right "dist Twice(first: dist) on real {\n  log_density(x) = first.log_density(x)\n}";
    NOISE = "E0224", "noise outside `draw`":
        "Random quantities are declared by `~`; `standard_normal()` and similar functions are allowed only in the `draw` of a distribution.",
        wrong "fn f(x: real) -> real {\n  return x + standard_normal()\n}",
        right "dist Shifted(x: real) on real {\n  draw = x + standard_normal()\n}";
    TOO_DEEP = "E0225", "an expression that is nested too deeply":
        "Expressions may be nested 200 levels deep. Give names to subexpressions.",
        wrong "(an expression with more than 200 levels)",
        right "const A = ((1))";
    NOT_CONSTANT = "E0226", "a value that is not constant":
        "Constants, options, start values and bounds of types may contain only numbers, constants and arithmetic.",
        wrong "const A = [1, 2]",
        right "const A = 1 + 2";
    WINDOW = "E0227", "a window that does not fit":
        "The windows of a convolution or a pooling operation must lie inside the image, so a kernel cannot be larger than the \
         image. `pad` enlarges the image.",
        wrong "fn f(x: real[1, 4, 4], kernel: real[2, 1, 5, 5]) -> real[2, 1, 1] {\n  return conv(x, kernel)\n}",
        right "fn f(x: real[1, 4, 4], kernel: real[2, 1, 5, 5]) -> real[2, 2, 2] {\n  return conv(pad(x, 1), kernel)\n}";
    RESHAPE = "E0228", "a reshape that changes the number of elements":
        "`reshape` keeps the elements and changes the dims, so the product of the dims must stay the same.",
        wrong "fn f(x: real[6]) -> real[2, 2] {\n  return reshape(x, 2, 2)\n}",
        right "fn f(x: real[6]) -> real[2, 3] {\n  return reshape(x, 2, 3)\n}";
    APPLIED_TWICE = "E0270", "a value on the scale of another parameterisation":
        "A warning: the argument has the range of another parameterisation. `Bernoulli(sigmoid(x))` uses the probability \
         `sigmoid(x)` as a logit, and `Poisson(exp(x))` uses the rate `exp(x)` as a log rate. Remove the function, or name the \
         parameter.",
        wrong "model M(x: real) -> y: bool {\n  b ~ Normal(0, 1)\n  y ~ Bernoulli(sigmoid(b * x))\n}",
        right "model M(x: real) -> y: bool {\n  b ~ Normal(0, 1)\n  y ~ Bernoulli(p = sigmoid(b * x))\n}";
    EITHER_SIGN = "E0271", "a scale that can be negative":
        "A warning: a parameter that can have any real value, or a sum that contains such a parameter, is used where only some \
         values are allowed, such as positive ones. If the value leaves the allowed range, the density becomes NaN, and training \
         or the chain stops.",
        wrong "model M(x: real) -> y: real {\n  sigma ~ Normal(0, 1)\n  y ~ Normal(x, sigma)\n}",
        right "model M(x: real) -> y: real {\n  sigma: positive ~ Normal(0, 1)\n  y ~ Normal(x, sigma)\n}";
    MIXED_PARAMETERS = "E0272", "parameters of two parameterisations":
        "Some distributions have several parameterisations. A call may use the parameters of only one of them.",
        wrong "model M(x: real) -> y: bool {\n  y ~ Bernoulli(logit = x, p = 0.5)\n}",
        right "model M(x: real) -> y: bool {\n  y ~ Bernoulli(logit = x)\n}";
    SQUARED_DEVIATION = "E0274", "the square of a parameter as a standard deviation":
        "A warning: distributions take standard deviations, not variances. In `Normal(mu, sigma ^ 2)` the standard deviation is \
         `sigma ^ 2`, so `sigma` is the square root of the standard deviation, and the prior of `sigma` is a prior on that root.",
        wrong "model M(x: real) -> y: real {\n  sigma: positive ~ HalfNormal(1)\n  y ~ Normal(x, sigma ^ 2)\n}",
        right "model M(x: real) -> y: real {\n  sigma: positive ~ HalfNormal(1)\n  y ~ Normal(x, sigma)\n}";
    GROUPS = "E0230", "groups that do not fit the channels":
        "The groups of a convolution have equal numbers of channels, so the number of groups must divide the channels of the image and \
         those of the result. A kernel of `conv` has an input channel for each image channel of one group.",
        wrong "fn f(x: real[6, 4, 4], kernel: real[8, 1, 3, 3]) -> real[8, 2, 2] {\n  return conv(x, kernel, groups = 4)\n}",
        right "fn f(x: real[6, 4, 4], kernel: real[8, 3, 3, 3]) -> real[8, 2, 2] {\n  return conv(x, kernel, groups = 2)\n}";
}

reports! {
    /// Warns about a parameter on the reals where only values in a narrower support are allowed. `site` is the name of
    /// the parameter and the position of its declaration.
    fn signed_parameter(span: Span, what: &str, wanted: &str, site: (&str, Span))
        let name = site.0;
        = warning(EITHER_SIGN, span, "{what} must be {wanted}, but `{name}` is a real, which can be negative")
        .label("not always {wanted}")
        .also(site.1, "`{name}` is declared here")
        .help("declare `{name}: {wanted}`, which truncates its distribution");

    /// Warns about reals where a simplex is needed.
    fn signed_simplex(span: Span, what: &str)
        = warning(EITHER_SIGN, span,
            "{what} must be a simplex, but this is made of real parameters, which can be negative")
        .label("not always a simplex")
        .help("transform it with `softmax(..)`, or, for a `Categorical`, pass these reals as `logits`");

    /// Warns about a sum of reals where only values in a narrower support are allowed.
    fn signed_sum(span: Span, what: &str, wanted: &str)
        = warning(EITHER_SIGN, span, "{what} must be {wanted}, but this sum of real parameters can be negative")
        .label("not always {wanted}")
        .help("transform the sum: `softplus(..)` or `exp(..)` for a positive value, `sigmoid(..)` for a probability");

    /// Warns about a squared parameter passed as a standard deviation.
    fn squared_deviation(span: Span, dist: &str, param: &str, site: (&str, Span))
        let name = site.0;
        = warning(SQUARED_DEVIATION, span,
            "`{param}` of `{dist}` is a standard deviation, but this is the square of `{name}`")
        .label("used as the standard deviation")
        .also(site.1, "`{name}` is declared here")
        .help("write `{name}`, or `sqrt({name})` if `{name}` is a variance");

    /// Warns about a probability passed as a logit, or a rate passed as a log rate.
    fn applied_twice(span: Span, dist: &str, own: &str, other: &str, found: &str)
        = warning(APPLIED_TWICE, span, "`{dist}` expects `{own}` here, but this is {found}, like `{other}`")
        .label("{found}, used as `{own}`")
        .help("write `{dist}({other} = ..)`, or remove the function that gives the value this range");

    /// Reports a window that is larger than its axis, or empty.
    fn window(op: &str, whole: (&str, Span), window: (&str, Span))
        let at = (whole.1 != window.1).then_some(whole.1);
        let label = match at {
            Some(_) => format!("this has a side of {}", window.0),
            None => "its windows must lie inside the image".to_owned(),
        };
        = error(WINDOW, window.1,
            "the windows of `{op}` have a side of {}, but the image has a side of {}", window.0, whole.0)
        .label(label)
        .also_if(at, format!("this has a side of {}", whole.0))
        .help("use windows of 1 to {}, or enlarge the image: `pad(.., width)`, or `padding = width` in `Conv`", whole.0);

    /// Reports a named argument that the callee does not have.
    fn unknown_argument<'a>(span: Span, callee: &str, name: &str, names: impl IntoIterator<Item = &'a str> + Clone)
        = error(UNKNOWN_ARGUMENT, span, "`{callee}` has no parameter `{name}`")
        .suggest(name, names.clone())
        .note("{}", its_parameters(names));

    /// Reports a named argument of a layer that is a parameter, so that the names of its inputs are
    /// not known.
    fn named_input(span: Span, callee: &str, name: &str)
        = error(UNKNOWN_ARGUMENT, span, "`{callee}` takes its input without a name")
        .help("leave `{name} =` out");

    /// Reports argument names that do not all belong to one parameterisation.
    fn mixed_parameters(span: Span, dist: &str, lists: &[String])
        = error(MIXED_PARAMETERS, span, "`{dist}` has no parameterisation with all of these parameters")
        .label("cannot be combined with the others")
        .help("write one of {}", lists.join(", "));

    /// Reports a value of the wrong type.
    fn mismatch(span: Span, expected: &str, found: &str)
        = error(MISMATCH, span, "expected {expected}, found {found}")
        .label("this is {found}");

    /// Reports a site without possible values.
    fn no_values(span: Span, name: &str, low: f64, high: f64)
        = error(SUPPORT, span, "`{name}` has no possible value: none is above {low} and below {high}")
        .label("no possible value");

    /// Reports an argument of the wrong type.
    fn argument_mismatch(span: Span, param: &str, expected: &str, found: &str)
        = error(MISMATCH, span, "`{param}` needs {expected}, found {found}")
        .label("this is {found}");

    /// Reports an operation on two arrays with different dims.
    fn dims(span: Span, op: &str, left: (&str, Span), right: (&str, Span))
        = error(DIMS, span, "{op} needs equal dims, found {} and {}", left.0, right.0)
        .label("arrays are not broadcast")
        .also(left.1, "this has dims {}", left.0)
        .also(right.1, "this has dims {}", right.0);

    /// Reports a `reshape` to dims with another number of elements.
    fn reshape(span: Span, from: (&str, Span), to: &str)
        = error(RESHAPE, span, "`reshape` cannot change the number of elements, found dims {} and {to}", from.0)
        .also(from.1, "this has dims {}", from.0);

    /// Reports a matrix product whose inner dims differ.
    fn matrix_product(span: Span, text: &str, left: (&str, Span), right: (&str, Span))
        = error(MATRIX_PRODUCT, span, "`{text}` needs {} rows on the right, found {}", left.0, right.0)
        .also(left.1, "this has {} columns", left.0)
        .also(right.1, "this has {} rows", right.0);

    /// Reports a matrix product of operands that are not matrices or vectors.
    fn matrix_ranks(span: Span, left: (&str, Span), right: (&str, Span), help: &str)
        = error(MATRIX_PRODUCT, span, "`@` needs two matrices, or a matrix and a vector, found {} and {}", left.0, right.0)
        .also(left.1, "this is {}", left.0)
        .also(right.1, "this is {}", right.0)
        .help("{help}");

    /// Reports a value that lies outside the support.
    fn support(span: Span, what: &str, expected: &str, found: &str)
        = error(SUPPORT, span, "{what} must be {expected}, but this is {found}")
        .label("this is {found}");

    /// Reports groups of a convolution that do not divide its channels.
    fn groups(op: &str, channels: (Span, i64), groups: (Span, i64))
        = error(GROUPS, groups.0, "{} groups of `{op}` do not divide {}", groups.1, count(channels.1 as usize, "channel"))
        .label("divided into {} groups here", groups.1)
        .also(channels.0, "this has {}", count(channels.1 as usize, "channel"))
        .help("use a number of groups that divides the channels of the image and of the result");

    /// Reports a kernel whose number of input channels is not that of one group.
    fn channels_of_group(span: Span, op: &str, wanted: &str, found: &str)
        = error(GROUPS, span, "the kernel of `{op}` has {found} input channels, but a group has {wanted}")
        .label("the second dim is {found}")
        .help("give the kernel the dims `[.., channels / groups, ..]`; its second dim is then {wanted}");

    /// Reports an output padding that is not less than the stride.
    fn output_padding(span: Span, stride: i64, found: i64)
        = error(SUPPORT, span, "the output padding must be less than the stride {stride}, but this is {found}")
        .label("this is {found}")
        .help("use 0 to {}, or a larger stride", stride - 1);

    /// Reports a padding of a transposed convolution that removes all elements of an axis.
    fn whole_padding(span: Span, whole: &str)
        = error(SUPPORT, span, "the padding removes all elements of an axis of {whole}")
        .label("removed at both ends")
        .help("use a smaller padding: `2 * padding` must be less than {whole}");

    /// Reports a reduction that needs at least one element, over a range that is empty for some values of a
    /// counter.
    fn empty_range(span: Span, reduction: &str)
        = error(SUPPORT, span, "`{reduction}` needs at least one element, but this range is empty for some values of the loop counter")
        .label("empty for some values of the loop counter")
        .help("start the counter at a value for which the range is not empty")
        .help("or give a value for the empty range: `if t > 1 {{ {reduction}(..) }} else {{ 0 }}`");

    /// Reports too many arguments.
    fn too_many(span: Span, callee: &str, expected: usize, found: usize)
        = error(ARGUMENT_COUNT, span, "`{callee}` takes {}, found {found}", count(expected, "argument"));

    /// Reports a parameter without an argument.
    fn missing(span: Span, callee: &str, names: &[&str])
        = error(ARGUMENT_COUNT, span, "`{callee}` needs {}", quoted(names.iter().copied()))
        .label("missing here");

    /// Reports an argument given twice.
    fn argument_twice(name: &str, first: Span, second: Span)
        = error(ARGUMENT_TWICE, second, "`{name}` is given twice")
        .label("given again here")
        .also(first, "first given here");

    /// Reports a call of a value that cannot be called: it is not a function, layer or distribution.
    fn not_callable(span: Span, found: &str)
        = error(NOT_CALLABLE, span, "expected a function, a layer or a distribution, found {found}");

    /// Reports a function of scalars that cannot be applied to an array.
    fn does_not_lift(span: Span, callee: &str, found: &str, at: Span, what: &str)
        = error(DOES_NOT_LIFT, span, "`{callee}` needs a scalar, found {found}")
        .label("this is {found}")
        .also(at, "`{callee}` does not work elementwise on arrays because of {what}")
        .help("apply it to the elements: `[{callee}(x[i]) for i in 0..length(x)]`");

    /// Reports an integer that must be known before the run but is not.
    fn not_static(span: Span, what: &str)
        = error(NOT_STATIC, span, "{what} must be known at compile time")
        .label("not a compile-time constant")
        .help("use a number, a `const`, the name of a dim, an integer parameter or a loop counter");

    /// Reports a dimension that the arguments of a call do not determine.
    fn dim_unsolved(span: Span, callee: &str, dim: &str)
        = error(DIM_UNSOLVED, span, "the arguments of `{callee}` do not determine the dimension `{dim}`");

    /// Reports noise in a place where noise is not allowed.
    fn noise(span: Span, name: &str)
        = error(NOISE, span, "`{name}` is allowed only in the `draw` of a distribution")
        .help("declare a random quantity with `~`");

    /// Reports an expression that is nested too deeply.
    fn too_deep(span: Span)
        = error(TOO_DEEP, span, "this expression is nested too deeply")
        .help("give names to subexpressions, or write a long sum as `sum(.. for i in 0..n)`");

    /// Reports a value that must be constant but is not.
    fn not_constant(span: Span, what: &str)
        = error(NOT_CONSTANT, span, "{what} must be a constant number");
}

/// Reports a position along an axis that is not an integer.
pub fn not_a_position(span: Span, found: &str) -> Diagnostic {
    let diagnostic = mismatch(span, "an integer", found);
    match found.starts_with("real") {
        true => diagnostic
            .note("no function converts a real to an integer")
            .help("add to the data a column that holds the position for each row, declare it as an input `g: index(k)`, and \
                   select with `[g]`")
            .help("or compute the position with comparisons: `[if z < 0.5 { 0 } else { 1 }]`"),
        false if found.contains("layer") => {
            diagnostic.help("call the layer to get a value: `name(x)`; its size is the number in its declaration")
        }
        false => diagnostic,
    }
}

/// Lists the parameters of a callee, in order.
pub fn takes<'a>(callee: &str, params: impl IntoIterator<Item = &'a str>) -> String {
    format!("`{callee}` takes {}, in this order", quoted(params))
}

reports! {
    /// Reports an index that lies outside its axis, or that belongs to another axis.
    fn index(span: Span, message: String, array: (Span, String))
        = error(INDEX, span, "{message}")
        .also(array.0, array.1);
}

/// An index or a range that does not fit its axis of size `size`.
pub fn outside_axis(span: Span, message: String, array: Span, size: &str) -> Diagnostic {
    index(span, message, (array, format!("this axis has size {size}")))
}

/// Adds advice on the use of a Boolean as a number, if the type `found` is Boolean.
pub fn with_bool_help(diagnostic: Diagnostic, found: &str) -> Diagnostic {
    diagnostic.help_if(
        found
            .starts_with("bool")
            .then_some("write `if c { 1 } else { 0 }`"),
    )
}

/// Reports a part that a value does not have, such as `.mode` of a distribution.
pub fn unknown_part<'a>(
    span: Span,
    of: &str,
    name: &str,
    names: impl IntoIterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let all = quoted(names.clone());
    let diagnostic = Diagnostic::error(&UNKNOWN_PART, span, format!("{of} has no part `{name}`"));
    match all.is_empty() {
        // Only distributions have parts. Other languages write some functions as attributes, such as `beta.T` for the transpose.
        true => diagnostic.suggest_word(&format!(".{name}"), names),
        false => diagnostic.suggest(name, names).note(format!("it has {all}")),
    }
}

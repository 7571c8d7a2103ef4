//! Diagnostics of valid programs that cannot be compiled.

use crate::types::MOST_LAYERS;
use bnnc_base::codes;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;

codes! {
    /// A running mean of several quantities.
    pub MEAN_OF_SEVERAL = "E0277", "a running mean of several quantities":
        "A running mean stores one value for its name. A layer with a running mean, such as `BatchNorm`, can therefore be \
         called only once, and not inside a comprehension such as `[norm(x[i]) for i in 0..n]`.\n\n    \
         h = norm(a(norm(x)))             # wrong, for `norm = BatchNorm()`\n    \
         h = second(a(first(x)))          # right, for `first = BatchNorm()` and `second = BatchNorm()`";

    /// An array whose length depends on a counter.
    pub OPEN_ARRAY = "E0287", "an array whose length changes from step to step":
        "A slice or a list inside `for` ends at the loop counter, so its length changes from step to step. Arrays must have a fixed length. \
         Apply a reduction directly to the elements, or use a window of constant length.\n\n    \
         past = y[0..t], y[t] ~ Normal(a * past[0], 1)        # wrong\n    \
         y[t] ~ Normal(a * mean(y[0..t]), 1)                  # right: reduced at once\n    \
         y[t] ~ Normal(dot(w, y[t - 2..t]), 1)                # right: always two elements";

    /// A size of an array that is not a positive integer.
    pub NO_SIZE = "E0289", "a size that is not a positive integer":
        "The size of an array must be a positive integer. Here an argument of a layer, or the declared size of an array, leads to a size that \
         is zero, negative or not a whole number. The message shows the values.\n\n    \
         n = GroupNorm(4), n(x)   # wrong for an `x` with 6 channels: a group would have 1.5 channels\n    \
         n = GroupNorm(3), n(x)   # right: 2 channels in each of 3 groups";

    /// A valid program that this version of the compiler cannot compile.
    pub LIMIT = "E0290", "cannot be compiled":
        "The program is well typed, but this version of bnnc cannot turn this part into code. The message gives the reason; often a more explicit form of the same model compiles.";

    /// A part of a distribution that is needed but not declared.
    pub NO_PART = "E0293", "a part of a distribution is missing":
        "The program needs a part (`mean`, `draw`, `cdf`, ..) that a distribution does not define. \
         For example, a `Cauchy` does not have a mean.";

    /// A posterior family whose parameters do not fit into memory.
    pub TOO_LARGE = "E0294", "a family that is too large":
        "The size of a joint family grows with the number of elements that it covers. The size of a full covariance grows with the \
         square of this number. The message states the memory that one parameter would take.\n\n\
         Wrong: `h1.*, h2.* ~ FullRankNormal()` over 300000 weights: the covariance alone takes 360 GB.\n\n\
         Right: `h1.*, h2.* ~ LowRankNormal(rank = 5)`, or `FullRankNormal` for the last layer only.";
}

/// Creates the error for a part that a distribution does not declare.
pub fn no_part(span: Span, dist: &str, part: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(
        &NO_PART,
        span,
        format!("`{dist}` has no `{part}`"),
    ))
}

/// Creates the error for a construct that cannot be compiled.
pub fn limit(span: Span, why: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(&LIMIT, span, why))
}

/// Returns the error that a list contains more layers than [`MOST_LAYERS`].
pub fn too_many_layers(span: Span, count: i64) -> Box<Diagnostic> {
    limit(
        span,
        format!("the list has {count} layers, but the limit is {MOST_LAYERS}"),
    )
}

/// A quotient of integers that is not an integer itself.
pub struct Quotient<'a> {
    /// The quotient as the program writes it.
    pub text: &'a str,
    /// The values of the dividend and the divisor.
    pub values: [i64; 2],
    /// The name of the divisor, if it is a variable.
    pub divisor: Option<&'a str>,
}

/// Reports a size that is zero or negative.
pub fn no_size(span: Span, text: &str, size: i64) -> Box<Diagnostic> {
    let message = match text.parse() == Ok(size) {
        true => format!("an array cannot have a size of {size}"),
        false => format!("an array cannot have a size of {size}, the value of `{text}`"),
    };
    Box::new(Diagnostic::error(&NO_SIZE, span, message).label("needs a positive integer"))
}

/// Reports a size that is a quotient with a remainder.
pub fn not_whole(span: Span, quotient: Quotient<'_>) -> Box<Diagnostic> {
    let [dividend, divisor] = quotient.values;
    let message = format!(
        "`{}` is {dividend} / {divisor}, which is not a whole number",
        quotient.text
    );
    let found = Diagnostic::error(&NO_SIZE, span, message).label("the size of an axis");
    Box::new(match quotient.divisor {
        Some(name) => found.help(format!(
            "choose a value of `{name}` that divides {dividend}{}",
            examples(dividend)
        )),
        None => found,
    })
}

/// Returns the divisors of a small positive number, as a list for the end of a sentence.
fn examples(number: i64) -> String {
    const MOST: usize = 8;
    let divisors: Vec<String> = (1..=number.min(4096))
        .filter(|divisor| number % divisor == 0)
        .map(|divisor| divisor.to_string())
        .collect();
    match divisors.split_last() {
        Some((last, rest @ [_, ..])) if divisors.len() <= MOST => format!(": {} or {last}", rest.join(", ")),
        _ => String::new(),
    }
}

/// Reports a slice or list that is not reduced and whose length is not constant.
pub fn open_array(span: Span) -> Box<Diagnostic> {
    let text = "this array ends at a loop counter, so its length changes from step to step";
    let diagnostic = Diagnostic::error(&OPEN_ARRAY, span, text).label("its length differs between steps");
    Box::new(
        diagnostic
            .help("reduce it directly: `sum(y[0..t])`, `max(y[s] for s in 0..t)`")
            .help("or use a window of constant length: `y[t - 2..t]`"),
    )
}

//! Diagnostics about statements and definitions.

use bnnc_base::quoted::quoted;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    WRONG_PLACE = "E0231", "a statement in the wrong place":
        "`~` belongs in models, layers and posteriors; `return` in functions and layers; `for` in models.",
        wrong "fn f(x: real) -> real {\n  z ~ Normal(x, 1)\n  return z\n}",
        right "layer F()(x: real) -> real {\n  z ~ Normal(0, 1)\n  return x + z\n}";
    NO_RETURN = "E0232", "no `return`":
        "A function or a layer must end with `return value`.",
        wrong "fn f(x: real) -> real {\n  y = x\n}",
        right "fn f(x: real) -> real {\n  y = x\n  return y\n}";
    AFTER_RETURN = "E0233", "a statement after `return`":
        "`return` is the last statement of a function or a layer.",
        wrong "fn f(x: real) -> real {\n  return x\n  y = x\n}",
        right "fn f(x: real) -> real {\n  y = x\n  return y\n}";
    TARGET = "E0234", "something that cannot be assigned":
        "The left side of `=` must be one new name. The left side of `~` must be a new name, an output, or an element of an \
         output. Paths and lists of names are allowed only in posteriors.",
        wrong "fn f(x: real[3]) -> real {\n  x[0] = 1\n  return sum(x)\n}",
        right "fn f(x: real[3]) -> real {\n  y = x[0] + 1\n  return y\n}";
    UNKNOWN_DEFINITION = "E0235", "an unknown definition":
        "A distribution may define `log_density(x)`, `cdf(x)`, `quantile(p)`, `draw`, `mean`, `variance`, `entropy`, \
         `moment(k)`, `log_mean`, `log_variance`, `probabilities`, `per_tensor`, `point`, `improper`; an optimiser may define \
         `state`, `next` and `step`.",
        wrong "dist D(loc: real) on real {\n  log_densty(x) = -(x - loc)\n}",
        right "dist D(loc: real) on real {\n  log_density(x) = -(x - loc)\n}";
    DEFINITION_TWICE = "E0236", "a definition is given twice":
        "A distribution or an optimiser may define each name only once.",
        wrong "dist D(loc: real) on real {\n  mean = loc\n  mean = 2 * loc\n}",
        right "dist D(loc: real) on real {\n  mean = loc\n}";
    DEFINITION_MISSING = "E0237", "a definition is missing":
        "An optimiser needs a `step`, a `next` for every `state`, and the learning rate as its first parameter.",
        wrong "optimiser O(rate: positive) {\n  state m = 0\n  step = -rate * gradient\n}",
        right "optimiser O(rate: positive) {\n  state m = 0\n  next m = gradient\n  step = -rate * m\n}";
    NOT_ELEMENTWISE = "E0238", "an array operation in an elementwise definition":
        "A distribution of scalars is applied to all elements of a tensor at once, so its definitions may use only elementwise \
         operations. The same holds for optimisers.",
        wrong "dist D(loc: real) on real {\n  log_density(x) = sum([x, loc])\n}",
        right "dist D(loc: real) on real {\n  log_density(x) = x + loc\n}";
}

reports! {
    /// Reports a statement that is not allowed in this kind of body.
    fn wrong_place(span: Span, what: &str, place: &str, help: &str)
        = error(WRONG_PLACE, span, "{what} does not belong in {place}")
        .help("{help}");

    /// Reports a body without `return`.
    fn no_return(span: Span, name: &str)
        = error(NO_RETURN, span, "`{name}` has no `return`")
        .help("end it with `return value`");

    /// Reports a statement after `return`.
    fn after_return(span: Span, at: Span)
        = error(AFTER_RETURN, span, "no statement may follow `return`")
        .also(at, "the `return` is here");

    /// Reports a left-hand side that is not allowed.
    fn target(span: Span, expected: &str)
        = error(TARGET, span, "expected {expected} on the left");

    /// Reports a definition that the item does not support.
    fn unknown_definition(span: Span, of: &str, name: &str, names: &[&str])
        = error(UNKNOWN_DEFINITION, span, "{of} has no definition `{name}`")
        .suggest(name, names.iter().copied())
        .note("it may define {}", quoted(names.iter().copied()));

    /// Reports a definition with the wrong form, such as `mean(x)`, or `log_density` without an argument.
    fn definition_form(span: Span, form: &str)
        = error(UNKNOWN_DEFINITION, span, "expected `{form} = ..`");

    /// Reports a flag without the part that it requires, such as `point = true` without a `draw`.
    fn flag_needs(span: Span, flag: &str, part: &str)
        = error(UNKNOWN_DEFINITION, span, "`{flag} = true` needs `{part}`");

    /// Reports a flag together with a part that it excludes, such as `point = true` with a density.
    fn flag_excludes(span: Span, flag: &str, part: &str, at: Span)
        = error(UNKNOWN_DEFINITION, span, "a distribution with `{flag} = true` cannot have `{part}`")
        .also(at, "`{flag}` is set here");

    /// Reports the flag `per_tensor = true` on a distribution that is never joint across several tensors.
    fn never_shared(span: Span, dist: &str)
        = error(UNKNOWN_DEFINITION, span, "`per_tensor` has no effect, because `{dist}` never covers several tensors")
        .help("leave it out: only distributions `on real[n]` need it");

    /// Reports a definition given twice.
    fn definition_twice(name: &str, first: Span, second: Span)
        = error(DEFINITION_TWICE, second, "`{name}` is defined twice")
        .label("defined again here")
        .also(first, "first defined here");

    /// Reports a definition that is missing.
    fn definition_missing(span: Span, message: String, help: &str)
        = error(DEFINITION_MISSING, span, "{message}")
        .help("{help}");

    /// Reports an array operation where only elementwise operations are allowed.
    fn not_elementwise(span: Span, owner: &str, what: &str)
        = error(NOT_ELEMENTWISE, span, "`{owner}` is elementwise, so it cannot use {what}")
        .help("use elementwise operations, or make a parameter an array, `real[n]`");
}

//! Diagnostics of running means.

use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    UNNAMED_MEAN,
    "E0229",
    "a running mean without a name",
    "A running mean is stored with the trained model under the name that a line of a layer or a model gives it. Such a line must therefore have the \
     form `name = running_mean(..)`. The call cannot stand in a function, in a `for` or inside another expression.",
    "layer Centred()(x: real[n]) -> real[n] {\n  return x - running_mean(x, 0.1, 0)\n}",
    "layer Centred()(x: real[n]) -> real[n] {\n  centre = running_mean(x, 0.1, 0)\n  return x - centre\n}";
}

/// A running mean of several quantities.
pub static MEAN_OF_SEVERAL: Code = Code {
    id: "E0277",
    title: "a running mean of several quantities",
    explain: "A running mean stores one value for its name. A layer with a running mean, such as `BatchNorm`, can therefore be \
              called only once, and not inside a comprehension such as `[norm(x[i]) for i in 0..n]`.\n\n    \
              h = norm(a(norm(x)))             # wrong, for `norm = BatchNorm()`\n    \
              h = second(a(first(x)))          # right, for `first = BatchNorm()` and `second = BatchNorm()`",
};

/// Reports a running mean in a line that is elaborated for several values.
pub fn mean_of_several(span: Span, name: &str) -> Box<Diagnostic> {
    let text = format!("`{name}` would be the running mean of several quantities");
    let diagnostic = Diagnostic::error(&MEAN_OF_SEVERAL, span, text);
    Box::new(
        diagnostic.help("give each call a layer of its own: `first = BatchNorm()`, `second = BatchNorm()`"),
    )
}

reports! {
    /// Reports a running mean that is not the value of a line.
    fn unnamed_mean(span: Span, name: &str)
        = error(UNNAMED_MEAN, span, "`{name}` needs a line of its own in a layer or a model")
        .label("this mean has no name")
        .help("give it a name: `centre = {name}(..)`");
}

//! Diagnostics of running means.

use super::elaborate::MEAN_OF_SEVERAL;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    UNNAMED_MEAN = "E0229", "a running mean without a name":
        "A running mean is stored with the trained model under the name that a line of a layer or a model gives it. Such a line must therefore have the \
         form `name = running_mean(..)`. The call cannot stand in a function, in a `for` or inside another expression.",
        wrong "layer Centred()(x: real[n]) -> real[n] {\n  return x - running_mean(x, 0.1, 0)\n}",
        right "layer Centred()(x: real[n]) -> real[n] {\n  centre = running_mean(x, 0.1, 0)\n  return x - centre\n}";
}

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

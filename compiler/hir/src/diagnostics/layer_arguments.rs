//! Diagnostics of arguments for parameters of type `layer`.

use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    MISFIT = "E0281", "a layer that does not fit the arrays of its callee":
        "A parameter of type `layer` describes new layers, which the callee applies to its own arrays. The layer in the argument must take these arrays. \
         For example, the library's networks for images apply their `norm` to arrays with three axes: channels, rows and columns.",
        wrong "layer Scaled()(x: real[n]) -> real[n] {\n  scale: real[n] ~ Normal(1, 0.1)\n  return scale * x\n}\n\nmodel M(x: real[3, 8, 8]) -> y: real {\n  block = BasicBlock(norm = Scaled())\n  y ~ Normal(sum(block(x)), 1)\n}",
        right "model M(x: real[3, 8, 8]) -> y: real {\n  block = BasicBlock(norm = GroupNorm(3))\n  y ~ Normal(sum(block(x)), 1)\n}";
}

/// Formats a number of axes.
fn arrays(axes: usize) -> String {
    match axes {
        1 => "vectors".to_owned(),
        _ => format!("arrays with {axes} axes"),
    }
}

reports! {
    /// Reports a layer for arrays with another number of axes than those to which `callee` applies its parameter `param`.
    fn other_axes(span: Span, layer: &str, takes: &str, callee: &str, param: &str, axes: usize)
        = error(MISFIT, span, "`{param}` needs a layer for {}, but `{layer}` takes {takes}", arrays(axes))
        .label("takes {takes}")
        .note("`{callee}` applies `{param}` to {}", arrays(axes));

    /// Reports a layer for arrays of another shape than that to which its callee applies it. `call` is the position of the call.
    fn other_shape(span: Span, layer: &str, takes: &str, found: &str, call: Span)
        = error(MISFIT, span, "`{layer}` takes {takes}, but it is applied to {found}")
        .label("takes {takes}")
        .also(call, "applied to {found}");
}

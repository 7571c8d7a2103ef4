//! Diagnostics of `fold(layers, x)`.

use super::count;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    DOES_NOT_FIT = "E0278", "a layer of a list that does not fit the layer before it":
        "`fold(layers, x)` applies the first layer of a list to `x`, and each later layer to the result of the layer before it. This result must have a \
         type that the layer takes. If the length of the list is an `int` parameter of a layer, the layers are checked for all lengths at once. Every layer \
         must then change each dim by the same amount: each layer may add 12 channels, but it cannot double their number.",
        wrong "layer Narrow(out: int)(x: real[3, h, w]) -> real[out, h, w] {\n  filter = Conv(out, 1, 1)\n  return filter(x)\n}\n\nmodel M(x: real[3, 8, 8]) -> y: real {\n  blocks = [Narrow(3), Narrow(4), Narrow(5)]\n  y ~ Normal(sum(fold(blocks, x)), 1)\n}",
        right "layer Block(out: int)(x: real[c, h, w]) -> real[out, h, w] {\n  filter = Conv(out, 1, 1)\n  return relu(filter(x))\n}\n\nmodel M(x: real[3, 8, 8]) -> y: real {\n  blocks = [Block(3), Block(4), Block(5)]\n  y ~ Normal(sum(fold(blocks, x)), 1)\n}";
    EMPTY = "E0279", "a fold over an empty list":
        "The list that is passed to `fold` must contain at least one layer. Inside a layer, a list whose length is an `int` parameter may be \
         empty: `fold` then returns its second argument.",
        wrong "model M(x: real[4]) -> y: real {\n  blocks = [Residual(Linear(4)) for l in 0..0]\n  y ~ Normal(sum(fold(blocks, x)), 1)\n}",
        right "model M(x: real[4]) -> y: real {\n  blocks = [Residual(Linear(4)) for l in 0..3]\n  y ~ Normal(sum(fold(blocks, x)), 1)\n}";
}

reports! {
    /// Reports a list without layers.
    fn empty(span: Span, name: &str)
        = error(EMPTY, span, "the list `{name}` is empty")
        .label("this list has no layers")
        .help("give its range at least one position, or use the input itself");

    /// Reports a layer of a list whose input type differs from the type of the value that it is applied to.
    fn does_not_fit(span: Span, name: &str, wanted: &str, found: &str, layer: &str)
        = error(DOES_NOT_FIT, span, "`{name}` takes {wanted}, found {found}")
        .label("`{name}` is applied to {found}")
        .note("`{name}` is declared as `{layer}`");

    /// Reports a list whose length is not known, and whose layers do not all change the dims by the same amount.
    fn irregular(span: Span, name: &str, from: &str, to: &str)
        = error(DOES_NOT_FIT, span, "the layers of `{name}` do not all change the dims by the same amount")
        .label("a layer turns {from} into {to}")
        .help("take the layers that change the dims out of the list, and give each a name");

    /// Reports a list of layers that have several inputs or none.
    fn inputs(span: Span, name: &str, inputs: usize)
        = error(DOES_NOT_FIT, span, "`{name}` takes {}, but a layer in a chain gets one", count(inputs, "input"))
        .help("give each of these layers a name, and call them one by one");
}

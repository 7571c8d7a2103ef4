//! Diagnostics of `Sequential(..)` and `Residual(..)`.

use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    SUM_OF_SHAPES = "E0282", "a residual connection between arrays of different dims":
        "`Residual(inner)` adds the result of `inner` to its input, so both must have the same dims. If `inner` changes the dims, give a projection with \
         the same change: `Residual(inner, projection)` adds the results of both.",
        wrong "model M(x: real[d]) -> y: real {\n  block = Residual(Sequential(Dense(20), tanh))\n  y ~ Normal(sum(block(x)), 1)\n}",
        right "model M(x: real[d]) -> y: real {\n  block = Residual(Sequential(Dense(20), tanh), projection = Linear(20))\n  y ~ Normal(sum(block(x)), 1)\n}";
    NO_LAYER = "E0283", "a part of a layer that is not a layer":
        "The parts of `Sequential(a, b, ..)` and `Residual(inner, projection)` are new layers, lists of new layers, parameters of type `layer`, and names of functions of one \
         array, such as `relu` or `flatten`. Before version 0.2, `Residual(activation)` was a dense layer with a residual connection. Write this layer as \
         `Residual(Sequential(Dense(20), relu))`, with the number of inputs in place of 20.",
        wrong "model M(x: real[20]) -> y: real {\n  block = Residual(activation = tanh)\n  y ~ Normal(sum(block(x)), 1)\n}",
        right "model M(x: real[20]) -> y: real {\n  block = Residual(Sequential(Dense(20), tanh))\n  y ~ Normal(sum(block(x)), 1)\n}";
}

reports! {
    /// Reports a sum of arrays with different dims.
    fn sum_of_shapes(span: Span, name: &str, inner: &str, base: &str)
        = error(SUM_OF_SHAPES, span, "`{name}` cannot add {inner} to {base}")
        .label("the inner layer returns {inner}, the other summand is {base}")
        .help("give a projection that returns {inner}: `Residual(inner, projection = ..)`");

    /// Reports a `Residual` without an inner layer. `found` is the name of the argument that was given.
    fn no_inner_layer(span: Span, found: &str)
        = error(NO_LAYER, span, "`Residual` needs a layer as its argument, found {found}")
        .label("needs the layer whose result is added to the input")
        .help("for a dense layer with 20 inputs, write `Residual(Sequential(Dense(20), relu))`");

    /// Reports a `Sequential` without layers.
    fn no_parts(span: Span)
        = error(NO_LAYER, span, "`Sequential` needs at least one layer")
        .help("give the layers in the order of their application: `Sequential(Dense(20), relu, Dense(1))`");

    /// Reports a function that is not a function of one array.
    fn no_function_of_array(span: Span, composition: &str, name: &str)
        = error(NO_LAYER, span, "`{name}` cannot be a part of `{composition}`")
        .label("is not a function of one array")
        .help("declare a function of one array: `fn part(x: real[n]) -> real[n] {{ return {name}(x) }}`");

    /// Reports a part that is not a layer.
    fn no_layer(span: Span, composition: &str, found: &str)
        = error(NO_LAYER, span, "`{composition}` needs layers and functions, found {found}")
        .label("is not a layer")
        .help("construct a layer, `Dense(20)`, or name a function of one array, `relu`");
}

//! Diagnostics about models and layers.

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    GLOBAL_DEPENDS = "E0241", "a shared parameter that depends on an example":
        "A model describes one example, but all examples share its parameters. The distribution of a parameter therefore cannot \
         depend on the input or output of one example. Only outputs, and parameters marked `local`, have one value per example.",
        wrong "model M(x: real) -> y: real {\n  w ~ Normal(x, 1)\n  y ~ Normal(w, 1)\n}",
        right "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}";
    DISCRETE_LATENT = "E0242", "a discrete latent variable":
        "Inference needs gradients, so every latent variable must be continuous. Marginalise discrete variables, as `Mixture` \
         does.",
        wrong "model M(x: real) -> y: real {\n  z ~ Bernoulli(0)\n  y ~ Normal(if z { x } else { 0 }, 1)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Mixture(0.5, Normal(x, 1), Normal(0, 1))\n}";
    NOT_OBSERVED = "E0243", "an output without a distribution":
        "Every output of a model needs a line `output ~ distribution`.",
        wrong "model M(x: real) -> y: real {\n  w ~ Normal(x - x, 1)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}";
    OBSERVED_TWICE = "E0244", "an output with two distributions":
        "An output has one distribution, or each of its elements has one distribution.",
        wrong "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n  y ~ Normal(0, 1)\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}";
    WIDER = "E0245", "a type that is wider than the support of its distribution":
        "The declared type may be narrower than the support of the distribution: bnnc then truncates the distribution. The declared type cannot be wider \
         than the support.",
        wrong "model M(x: real) -> y: real {\n  s: real ~ HalfNormal(1)\n  y ~ Normal(x, s)\n}",
        right "model M(x: real) -> y: real {\n  s ~ HalfNormal(1)\n  y ~ Normal(x, s)\n}";
    UNNAMED_LAYER = "E0246", "a layer without a name":
        "The weights of a layer are named after the layer, so it must be declared on a line of its own.",
        wrong "model M(x: real[d]) -> y: real {\n  y ~ Normal(Dense(1)(x)[0], 1)\n}",
        right "model M(x: real[d]) -> y: real {\n  out = Dense(1)\n  y ~ Normal(out(x)[0], 1)\n}";
    NEVER_CALLED = "E0247", "a layer that is never called":
        "A warning: the layer is declared, but the model never applies it.",
        wrong "model M(x: real[d]) -> y: real {\n  h = Dense(3)\n  y ~ Normal(sum(x), 1)\n}",
        right "model M(x: real[d]) -> y: real {\n  h = Dense(3)\n  y ~ Normal(sum(h(x)), 1)\n}";
    CALLED_DIFFERENTLY = "E0248", "a layer called with different dims":
        "The first call of a layer fixes the dims of its weights. Every other call must use the same dims.",
        wrong "model M(x: real[3], z: real[4]) -> y: real {\n  h = Dense(1)\n  y ~ Normal(h(x)[0] + h(z)[0], 1)\n}",
        right "model M(x: real[3], z: real[4]) -> y: real {\n  h = Dense(1)\n  g = Dense(1)\n  y ~ Normal(h(x)[0] + g(z)[0], 1)\n}";
    SITE_IN_FOR = "E0249", "a parameter inside `for`":
        "A `for` may contain only lines about outputs. Declare parameters and layers before the loop, as arrays.",
        wrong "model M() -> y: real[T] {\n  for t in 0..T {\n    z ~ Normal(0, 1)\n    y[t] ~ Normal(z, 1)\n  }\n}",
        right "model M() -> y: real[T] {\n  z: real[T] ~ Normal(0, 1)\n  for t in 0..T {\n    y[t] ~ Normal(z[t], 1)\n  }\n}";
    DEPENDS_ON_ITSELF = "E0273", "an output that depends on itself":
        "The product of the outputs' distributions is a joint density if each output depends only on earlier outputs or \
         elements. If an output depends on its own value, or two outputs depend on each other, the product is not a joint \
         density, and estimates from it are meaningless.",
        wrong "model M(x: real) -> y: real {\n  b ~ Normal(0, 1)\n  y ~ Normal(b * y, 1)\n}",
        right "model M() -> y: real[n] {\n  b ~ Normal(0, 1)\n  for t in 1..n {\n    y[t] ~ Normal(b * y[t - 1], 1)\n  }\n}";
    NO_ACTIVATION = "E0275", "linear layers without an activation function between them":
        "A warning: the composition of two linear layers is linear, so two layers cannot represent more functions than one. The \
         data determine only the product of the two weight matrices: the posteriors of the weights are wide, and chains mix \
         slowly. bnnc does not report a layer that is narrower than its input and its output, because such a layer limits the \
         rank.",
        wrong "model M(x: real[d]) -> y: real {\n  h = Dense(20)\n  out = Dense(1)\n  y ~ Normal(out(h(x))[0], 1)\n}",
        right "model M(x: real[d]) -> y: real {\n  h = Dense(20)\n  out = Dense(1)\n  y ~ Normal(out(tanh(h(x)))[0], 1)\n}";
    BOTH_NEIGHBOURS = "E0276", "elements that depend on each other":
        "A warning: the product of conditional distributions is a joint density only if no element depends on itself through \
         other elements. For instance, each element may depend on earlier ones, or each odd element may depend on the even \
         elements beside it. If two elements depend on each other, the product is not a joint density but a pseudo-likelihood: \
         it uses elements several times, and the posterior is too narrow. bnnc checks the dependences element by element. \
         If the data select the elements, as in `y[parent[t]]`, bnnc cannot check them: the product is a joint density \
         only if every parent comes earlier.",
        wrong "model M() -> y: real[n] {\n  b ~ Normal(0, 1)\n  for t in 1..n - 1 {\n    y[t] ~ Normal(b * (y[t - 1] + y[t + 1]), 1)\n  }\n}",
        right "model M() -> y: real[n] {\n  b ~ Normal(0, 1)\n  for t in 1..n {\n    y[t] ~ Normal(b * y[t - 1], 1)\n  }\n}";
    BEYOND_PRIOR = "E0280", "a type with values that the prior excludes":
        "A warning: the prior has zero density in a part of the declared type. Transitions of a sampler that reach this part \
         diverge, and the loss of training can become infinite. Without a type, a parameter whose prior has constant ends \
         has the support of its prior, and no method leaves it. An end that depends on parameters or data, or that differs \
         between elements, is not constant.",
        wrong "model M(x: real) -> y: real {\n  s: positive ~ Uniform(0.1, 0.8)\n  y ~ Normal(x, s)\n}",
        right "model M(x: real) -> y: real {\n  s ~ Uniform(0.1, 0.8)\n  y ~ Normal(x, s)\n}";
}

reports! {
    /// Reports a global site whose distribution depends on the values of one example.
    fn global_depends(span: Span, site: &str, on: (&str, Span), in_layer: bool)
        let what = if in_layer { "the layer's input" } else { "one example" };
        = error(GLOBAL_DEPENDS, span,
            "`{site}` is shared by all examples, but its distribution depends on {what}")
        .help("let the distribution depend only on other parameters, and use the input in the distribution of the output")
        .also(on.1, "`{}` belongs to one example", on.0);

    /// Reports that the distribution of an output, or of its element `element`, reads its own value.
    fn depends_on_itself(span: Span, name: &str, element: Option<&str>)
        let what = element.map_or_else(|| format!("`{name}`"), |element| format!("`{name}[{element}]`"));
        = error(DEPENDS_ON_ITSELF, span, "the distribution of {what} depends on {what} itself")
        .label("the value of {what} is used here")
        .help(match element {
            Some(element) => format!("use earlier elements: `{name}[{element} - 1]`, `{name}[0..{element}]`"),
            None => format!("leave `{name}` out of its own distribution"),
        });

    /// Warns about a linear layer applied to the result of a linear layer.
    fn no_activation(second: Span, first: Span)
        = warning(NO_ACTIVATION, second, "two linear layers without an activation function between them are equivalent to one")
        .label("the second linear layer")
        .also(first, "the first linear layer")
        .help("put an activation function between them: `out(tanh(hidden(x)))`")
        .help("or remove one of them: the data determine only the product of their weights");

    /// Warns about a site with a prior that has zero density in a part of the declared type, for
    /// example `below 0.5`.
    fn beyond_prior(at: Span, name: &str, declared: &str, outside: &str, prior: Span)
        = warning(BEYOND_PRIOR, at, "`{name}` is declared as {declared}, but its prior has zero density {outside}")
        .label("includes values {outside}")
        .also(prior, "zero density {outside}");

    /// Warns about a prior with an end that is not a constant.
    fn moving_end(span: Span, name: &str)
        = warning(BEYOND_PRIOR, span, "an end of the prior of `{name}` is not a constant, so `{name}` can leave its prior")
        .label("an end depends on parameters or data, or differs between elements")
        .help("transform a parameter with constant ends: with `u ~ Uniform(0, 1)`, `a + u * (b - a)` lies between `a` and `b`");

    /// Warns about a prior of weights with zero density in a part of the reals.
    fn bounded_weights(span: Span, layer: &str, outside: &str)
        = warning(BEYOND_PRIOR, span, "the weights of `{layer}` are real numbers, but this prior has zero density {outside}")
        .label("zero density {outside}")
        .help("use a prior on all reals, such as `Normal(0, 0.5)`");

    /// Warns about a list of linear layers that are applied one after the other.
    fn no_activation_in_list(span: Span)
        = warning(NO_ACTIVATION, span, "a list of linear layers without an activation function between them is equivalent to one layer")
        .label("applies linear layers one after the other")
        .help("declare a layer that ends with an activation function, and make the list of it")
        .help("or use a single layer: the data determine only the product of the weights");

    /// Warns about an element whose distribution depends on unknown elements.
    fn unknown_elements(span: Span, name: &str)
        = warning(BOTH_NEIGHBOURS, span, "the distribution of `{name}` depends on elements that are not known before the run")
        .label("known only during the run")
        .note("the product of the distributions is a joint density only if no element depends on itself, directly or through others")
        .note("ignore this warning if the data always select earlier elements")
        .help("compute positions from counters, sizes and numbers only, as in `[t - 1]`");

    /// Reports an element of an output whose distribution reads the element itself.
    fn depends_on_itself_at(span: Span, element: &str)
        = error(DEPENDS_ON_ITSELF, span, "the distribution of `{element}` depends on `{element}` itself")
        .label("the value of `{element}` is used here")
        .help("for element `[t]`, use earlier elements only, such as `[t - 1]` or `[0..t]`");

    /// Reports a layer constructed from a value that differs between examples.
    fn layer_depends(span: Span)
        = error(GLOBAL_DEPENDS, span, "a layer is shared by all examples, but this depends on one example");

    /// Reports a discrete parameter that is not observed.
    fn discrete_latent(span: Span, site: &str, found: &str)
        = error(DISCRETE_LATENT, span, "the latent variable `{site}` must be continuous, but its distribution is over {found}")
        .label("only outputs can have discrete distributions")
        .help("sum over its values instead: `Mixture(weight, first, second)` sums over two cases");

    /// Reports an output without an observation.
    fn not_observed(span: Span, name: &str)
        = error(NOT_OBSERVED, span, "the output `{name}` has no distribution")
        .help("add a line `{name} ~ ..`");

    /// Reports an output with two observations.
    fn observed_twice(name: &str, first: Span, second: Span)
        = error(OBSERVED_TWICE, second, "the output `{name}` has two distributions")
        .label("given again here")
        .also(first, "first given here");

    /// Reports outputs that depend on each other.
    fn depend_on_each_other(span: Span, first: &str, other: &str)
        = error(DEPENDS_ON_ITSELF, span, "the outputs `{first}` and `{other}` depend on each other")
        .label("`{other}` depends on `{first}` here, but `{first}` also depends on `{other}`")
        .help("let one of them depend only on inputs and parameters: `{first} ~ p(x)`, `{other} ~ p(x, {first})`");

    /// Reports a whole array observed inside a `for`.
    fn observed_in_for(name: &str, span: Span, counter: &str)
        = error(OBSERVED_TWICE, span, "a `for` would give the output `{name}` many distributions")
        .help("give each element its distribution: `{name}[{counter}] ~ ..`");

    /// Reports a declared type that is wider than the support of the distribution.
    fn wider(span: Span, site: &str, declared: &str, dist: &str, at: Span)
        = error(WIDER, span, "`{site}` is declared {declared}, but its distribution is over {dist}")
        .also(at, "this distribution is over {dist}")
        .help("declare it {dist}, or leave the type out");

    /// Reports a layer that is called in the same expression that constructs it.
    fn unnamed_layer(span: Span)
        = error(UNNAMED_LAYER, span, "a layer needs a name, because its weights are named after it")
        .help("write `name = Layer(..)` on a line of its own and call `name`");

    /// Reports a call of a parameter of type `layer` itself.
    fn unnamed_parameter(span: Span, name: &str)
        = error(UNNAMED_LAYER, span, "the parameter `{name}` describes new layers, and has no weights of its own")
        .help("write `new = {name}` on a line of its own and call `new`");

    /// Warns about a layer that is never called.
    fn never_called(span: Span, name: &str)
        = warning(NEVER_CALLED, span, "the layer `{name}` is never called")
        .help("call it, `{name}(x)`, or remove it");

    /// Reports a layer whose second call has other input dims than its first call.
    fn called_differently(span: Span, name: &str, first: (&str, Span), found: &str)
        = error(CALLED_DIFFERENTLY, span, "`{name}` needs dims {}, found {found}", first.0)
        .label("called with dims {found}")
        .also(first.1, "first called with dims {}", first.0)
        .help("declare a second layer for the other dims");

    /// Reports a site or layer declared inside a `for`.
    fn site_in_for(span: Span, what: &str)
        = error(SITE_IN_FOR, span, "{what} cannot be declared inside `for`")
        .help("declare an array before the `for`");
}

/// Warns about a cycle of dependences between elements of one output.
pub fn elements_on_each_other(output: &str, circle: &[(String, Span)]) -> Diagnostic {
    let text = on_each_other(circle);
    along(Diagnostic::warning(&BOTH_NEIGHBOURS, circle[0].1, text), circle)
        .note("the product of these conditional distributions is not a joint density")
        .help(format!(
            "let each element depend only on earlier ones: for example, let `{output}[t]` depend on `{output}[t - 1]`"
        ))
        .help(format!(
            "or give all elements one joint distribution: `{output} ~ MultivariateNormal(..)`"
        ))
}

/// Reports a cycle of dependences between elements of several outputs.
pub fn outputs_on_each_other(circle: &[(String, Span)]) -> Diagnostic {
    let text = on_each_other(circle);
    along(Diagnostic::error(&DEPENDS_ON_ITSELF, circle[0].1, text), circle)
        .help("let one of the outputs depend only on inputs, parameters and earlier elements")
}

fn on_each_other(circle: &[(String, Span)]) -> String {
    match circle {
        [(first, _), (second, _)] => {
            format!("the distributions of `{first}` and `{second}` depend on each other")
        }
        [(first, _), (second, _), .., (last, _)] => format!(
            "the distributions of {} elements depend on each other, from `{first}` and `{second}` to `{last}`",
            circle.len()
        ),
        _ => "the distributions depend on each other".to_owned(),
    }
}

/// Adds labels at the first and the last of the reads that form a cycle of dependences.
fn along(diagnostic: Diagnostic, circle: &[(String, Span)]) -> Diagnostic {
    let (first, last) = (&circle[0], &circle[circle.len() - 1]);
    let second = &circle[1 % circle.len()];
    let takes = |one: &str, other: &str| format!("`{one}` depends on `{other}`");
    match first.1 == last.1 {
        true => diagnostic.label(format!(
            "{}, and {}",
            takes(&first.0, &second.0),
            takes(&last.0, &first.0)
        )),
        false => diagnostic
            .label(takes(&first.0, &second.0))
            .also(last.1, takes(&last.0, &first.0)),
    }
}

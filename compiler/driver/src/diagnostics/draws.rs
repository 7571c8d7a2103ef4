//! Diagnostics about expressions in the REPL with posterior values that are not known or cannot be used.

use bnnc_base::source::Span;
use bnnc_base::{codes, reports};

codes! {
    /// An expression in the REPL with a posterior value that does not exist, or where a single number is needed.
    pub NO_DRAWS = "E0665", "not a posterior value":
        "In the REPL, `fit.beta` is the posterior of the parameter `beta` after the inference block `fit` has run. \
         `fit.beta` has one value for each posterior draw, and an expression with `fit.beta` is computed at each draw. \
         `mean`, `sd`, `median` and `quantile(.., 0.9)` of such an expression are single numbers. They can be used where one number is \
         needed.\n\n\
         ```\n\
         :run fit\n\
         exp(fit.beta)\n\
         mean(fit.beta > 0)\n\
         :density Normal(mean(fit.beta), 1) 0\n\
         ```";
}

reports! {
    /// Reports a parameter that a posterior does not have.
    fn no_parameter(span: Span, infer: &str, wrong: &str, parameters: &[&str])
        = error(NO_DRAWS, span, "`{infer}` has no parameter `{wrong}`")
        .label("not a parameter of its model")
        .suggest(wrong, parameters.iter().copied())
        .note(listed(infer, parameters));

    /// Reports an inference block that has not run.
    fn not_run(span: Span, infer: &str)
        = error(NO_DRAWS, span, "`{infer}` has not run yet")
        .label("has no posterior")
        .help("`:run {infer}` runs it");

    /// Reports the name of an inference block where one of its parameters is needed.
    fn whole_posterior(span: Span, infer: &str, parameters: &[&str])
        = error(NO_DRAWS, span, "`{infer}` is a posterior, not a number")
        .label("names all its parameters")
        .help(listed(infer, parameters));
}

fn listed(infer: &str, parameters: &[&str]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = parameters
        .iter()
        .take(MOST)
        .map(|name| format!("`{infer}.{name}`"))
        .collect();
    if parameters.len() > MOST {
        names.push("..".to_owned());
    }
    format!("its parameters are {}", names.join(", "))
}

reports! {
    /// Reports a posterior that is not represented by draws.
    fn integrated(span: Span, infer: &str)
        = error(NO_DRAWS, span, "the posterior of `{infer}` does not have draws")
        .label("is integrated over")
        .note("its predictions are integrals over some weights");

    /// Reports an expression with posterior values where a single value is needed.
    fn one_value(span: Span)
        = error(NO_DRAWS, span, "one value is needed here, found one for each posterior draw")
        .label("has a value for each draw")
        .help("`mean(..)`, `sd(..)`, `median(..)` and `quantile(.., 0.9)` of it are single values");

    /// Reports a summary over draws whose argument cannot be computed before the rest of the entry. This happens, for example, if the argument
    /// contains the counter of a comprehension.
    fn not_alone(span: Span, function: &str, why: &str)
        = error(NO_DRAWS, span,
            "`{function}` over posterior draws needs a value that can be computed on its own: {why}")
        .label("depends on posterior values")
        .help("inside a comprehension, take the summary of all elements: `{function}([fit.beta * i for i in 1..3])`");

    /// Reports a distribution, layer or function that depends on posterior values.
    fn not_a_number(span: Span)
        = error(NO_DRAWS, span, "only numbers and arrays are computed at each posterior draw")
        .label("depends on posterior values")
        .help("`y ~ DISTRIBUTION` draws one value at each posterior draw");
}

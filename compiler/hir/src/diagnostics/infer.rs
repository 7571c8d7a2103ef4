//! Diagnostics about posteriors, inference blocks, data and comparisons.

use super::its_parameters;
use bnnc_abi::diagnostics::{OPTION_VALUE, UNKNOWN_OPTION, UNKNOWN_OVERRIDE};
use bnnc_abi::method::MethodDef;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use bnnc_base::reports;
use bnnc_base::source::Span;

codes_with_programs! {
    UNKNOWN_SITE = "E0251", "an unknown parameter":
        "A line of a posterior names a parameter that the model does not have. A parameter of a layer is written \
         `layer.parameter`; `layer.*` means all parameters of the layer.",
        wrong "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\nposterior Q of M {\n  v ~ Normal(0, 1)\n}",
        right "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\nposterior Q of M {\n  w ~ Normal(0, 1)\n}";
    SITE_TWICE = "E0252", "a parameter is given twice":
        "A posterior may have only one line for each parameter.",
        wrong "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\nposterior Q of M {\n  w ~ Normal(0, 1)\n  w ~ Point\n}",
        right "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\nposterior Q of M {\n  w ~ Normal(0, 1)\n}";
    SITES_MISSING = "E0253", "parameters without a family":
        "Variational inference needs a family for every parameter of the model.",
        wrong "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  b ~ Normal(0, 1)\n  y ~ Normal(w * x + b, 1)\n}\n\nposterior Q of M {\n  w ~ Normal(0, 1)\n}\n\ninfer q = vi(Q, d)",
        right "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  b ~ Normal(0, 1)\n  y ~ Normal(w * x + b, 1)\n}\n\nposterior Q of M {\n  w, b ~ Normal(0, 1)\n}\n\ninfer q = vi(Q, d)";
    UNKNOWN_METHOD = "E0254", "an unknown method":
        "`infer name = method(..)` needs the name of one of bnnc's methods.",
        wrong "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\ninfer a = mapp(M, d)",
        right "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\ninfer a = map(M, d)";
    WRONG_TARGET = "E0256", "a method applied to the wrong items":
        "The first argument of a method is a posterior or a model, depending on the method; the second is a data item.",
        wrong "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\ninfer a = vi(M, d)",
        right "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\nposterior Q of M {\n  w ~ Normal(0, 1)\n}\n\ninfer a = vi(Q, d)";
    OPTION_TWICE = "E0259", "an option is given twice":
        "An option may be given only once.",
        wrong "data d = csv(\"d.csv\") { limit = 10, limit = 20 }",
        right "data d = csv(\"d.csv\") { limit = 10 }";
    UNKNOWN_FORMAT = "E0261", "an unknown data format":
        "A data item reads files in one of the formats that the message lists. `bnnc doc csv` describes the format `csv`, and so on.",
        wrong "data d = cvs(\"d.csv\")",
        right "data d = csv(\"d.csv\")";
    COLUMN = "E0262", "an expression that is not allowed for columns":
        "Expressions of columns may contain the names of columns, numbers, `+ - * / ^ ==`, and the functions `log exp sqrt abs \
         zscore`.",
        wrong "data d = csv(\"d.csv\") { inputs = [lag(x)] }",
        right "data d = csv(\"d.csv\") { inputs = [log(x)] }";
    UNKNOWN_METRIC = "E0263", "an unknown metric":
        "A comparison uses the metrics that the message lists. `bnnc doc rmse` describes the metric `rmse`, and so on.",
        wrong "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\ninfer a = map(M, d)\n\ncompare a by rsme",
        right "data d = csv(\"d.csv\")\n\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n\ninfer a = map(M, d)\n\ncompare a by rmse";
}

reports! {
    /// Reports a site that the model does not have.
    fn unknown_site(span: Span, path: &str, model: (&str, Span), sites: &[String])
        = error(UNKNOWN_SITE, span, "the model `{}` has no parameter `{path}`", model.0)
        .also(model.1, "the model is declared here")
        .suggest(path, sites.iter().map(String::as_str))
        .note("{}", its_parameters(sites));

    /// If the method needs a line for every site, reports the sites without a line in a posterior.
    fn sites_missing(span: Span, method: &str, posterior: (&str, Span), sites: &[String])
        let has = if sites.len() == 1 { "has" } else { "have" };
        = error(SITES_MISSING, span,
            "`{method}` needs a family for every parameter, but {} {has} no family", quoted(sites))
        .also(posterior.1, "`{}` is declared here", posterior.0)
        .help("add `{} ~ Normal(scale = 0.1)`, or another family", sites.join(", "));

    /// Reports a method that does not exist.
    fn unknown_method(span: Span, name: &str)
        let names = bnnc_abi::method::ALL.iter().map(|method| method.name);
        = error(UNKNOWN_METHOD, span, "unknown method `{name}`")
        .suggest(name, names.clone())
        .note("the methods are {}", quoted(names));

    /// Reports an inference block with wrong arguments. The arguments must be a model or a posterior,
    /// and a data item.
    fn wrong_target(span: Span, message: String, help: &str)
        = error(WRONG_TARGET, span, "{message}")
        .help_if((!help.is_empty()).then_some(help));

    /// Reports an option that an item does not have.
    fn unknown_option<'a>(span: Span, of: &str, name: &str, names: impl IntoIterator<Item = &'a str> + Clone)
        = error(UNKNOWN_OPTION, span, "{of} has no option `{name}`")
        .suggest(name, names.clone())
        .note("its options are {}", quoted(names));

    /// Reports an option `--set` for an item that the program does not contain.
    fn unknown_override(span: Span, name: &str, names: &[&str])
        = error(UNKNOWN_OVERRIDE, span, "the program has no inference or data item `{name}`")
        .label("sets nothing")
        .suggest(name, names.iter().copied())
        .notes((!names.is_empty()).then(|| format!("its items are {}", quoted(names))));

    /// Reports an option `--data` for a data item that the program does not contain.
    fn unknown_data_override<'a>(name: &str, names: impl IntoIterator<Item = &'a str>)
        = usage(UNKNOWN_OVERRIDE, "the program has no data item `{name}`")
        .suggest(name, names);

    /// Reports a layer name where the names of its sites are expected.
    fn layer_not_site(span: Span, path: &str, sites: &[String])
        = error(UNKNOWN_SITE, span, "`{path}` is a layer, not a parameter")
        .help("write `{path}.*` for all its parameters")
        .note("its parameters are {}", quoted(sites.iter().map(String::as_str)));

    /// Reports a site that stands on two lines of a posterior.
    fn site_twice(site: &str, first: Span, second: Span)
        = error(SITE_TWICE, second, "the parameter `{site}` is given twice")
        .label("given again here")
        .also(first, "first given here");

    /// Reports a value that the option does not accept.
    fn option_value(span: Span, name: &str, expected: &str)
        = error(OPTION_VALUE, span, "`{name}` must be {expected}");

    /// Reports an option that is given twice.
    fn option_twice(name: &str, first: Span, second: Span)
        = error(OPTION_TWICE, second, "the option `{name}` is given twice")
        .label("given again here")
        .also(first, "first given here");

    /// Reports a data format that does not exist.
    fn unknown_format(span: Span, found: &str, formats: &[&str])
        = error(UNKNOWN_FORMAT, span, "expected a call of {}, such as `csv(\"file.csv\")`", quoted(formats.iter().copied()))
        .suggest(found, formats.iter().copied());

    /// Reports a column expression that is not allowed.
    fn column(span: Span, message: String)
        = error(COLUMN, span, "{message}")
        .note("expressions of columns may contain the names of columns, numbers, `+ - * / ^ ==`, and `log exp sqrt abs \
               zscore`");

    /// Reports a metric that does not exist.
    fn unknown_metric(span: Span, name: &str, names: &[&str])
        = error(UNKNOWN_METRIC, span, "unknown metric `{name}`")
        .suggest(name, names.iter().copied())
        .note("the metrics are {}", quoted(names.iter().copied()));
}

/// Reports an option that a method does not have.
pub fn unknown_option_of(span: Span, method: &MethodDef, name: &str) -> Diagnostic {
    let note = format!(
        "its options are {}",
        quoted(method.options.iter().map(|option| option.name))
    );
    let text = format!("`{}` has no option `{name}`", method.name);
    method
        .suggest(Diagnostic::error(&UNKNOWN_OPTION, span, text), name)
        .note(note)
}

/// Reports a method name where an inference block is expected, as in `start = map`.
pub fn method_for_infer(span: Span, name: &str, method: &str) -> Diagnostic {
    let expected = format!("the name of an `infer` of this program, but `{method}` is a method");
    option_value(span, name, &expected).help(format!(
        "write `infer first = {method}(..)` with a model or posterior and data above this line, and `{name} = first` here"
    ))
}

/// Reports a word that the option does not accept.
pub fn option_word(span: Span, name: &str, found: &str, words: &[&str]) -> Diagnostic {
    let one_of = match words {
        [_] => "",
        _ => "one of ",
    };
    let found_text = match found {
        "" => String::new(),
        _ => format!(", found `{found}`"),
    };
    let words_text = quoted(words.iter().copied());
    let message = format!("`{name}` must be {one_of}{words_text}{found_text}");
    Diagnostic::error(&OPTION_VALUE, span, message).suggest(found, words.iter().copied())
}

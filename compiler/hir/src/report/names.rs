//! Diagnostics about names.

use super::quoted;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use bnnc_base::synonyms;

code!(
    DUPLICATE_ITEM,
    "E0201",
    "a name is declared twice",
    "Two items of one file have the same name. An item of the program may have the name of a library item, and then hides the library item.",
    "const SIZE = 50\nconst SIZE = 60",
    "const SIZE = 50\nconst WIDTH = 60"
);
code!(
    UNKNOWN_NAME,
    "E0202",
    "an unknown name",
    "A name is used that no parameter, variable, item or library file declares here.",
    "fn f(x: real) -> real {\n  return x + z\n}",
    "fn f(x: real, z: real) -> real {\n  return x + z\n}"
);
code!(
    UNKNOWN_IMPORT,
    "E0203",
    "an unknown library item",
    "`use` names a folder or a file of the library and an item of it.",
    "use layers::Danse",
    "use layers::Dense"
);
code!(
    WRONG_KIND,
    "E0204",
    "a name of the wrong kind",
    "The name exists, but names the wrong kind of item. For example, a distribution is needed after `~`, a model after `of`, an inference in `compare`.",
    "model M(x: real) -> y: real {\n  y ~ relu\n}",
    "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}"
);
code!(
    CYCLE,
    "E0205",
    "items that need each other",
    "Constants, functions, layers, distributions and inferences must not use themselves, directly or through others.",
    "const A = B + 1\nconst B = A - 1",
    "const A = 2\nconst B = A - 1"
);
code!(
    REBOUND,
    "E0206",
    "a name that is bound again",
    "A variable gets its value once; a `for` or a comprehension cannot change a variable outside of it.",
    "fn f(x: real) -> real {\n  y = 2 * x\n  y = y + 1\n  return y\n}",
    "fn f(x: real) -> real {\n  y = 2 * x\n  z = y + 1\n  return z\n}"
);
code!(
    UNUSED,
    "E0207",
    "an unused variable",
    "A warning: the variable is never used. If that is intended, let its name begin with `_`.",
    "fn f(x: real) -> real {\n  y = 2 * x\n  return x\n}",
    "fn f(x: real) -> real {\n  y = 2 * x\n  return y\n}"
);
code!(
    UNKNOWN_TYPE,
    "E0208",
    "an unknown type",
    "The types are `real`, `real(lo, hi)`, `positive`, `unit`, `int`, `count`, `bool`, `index(k)`, `simplex(k)`, `ordered(k)`, and for parameters `dist` and `fn`; dims go in brackets.",
    "fn f(x: float) -> real {\n  return x\n}",
    "fn f(x: real) -> real {\n  return x\n}"
);
code!(
    UNKNOWN_DIM,
    "E0209",
    "an unknown dimension",
    "A new name in the brackets of an input's type introduces a dimension whose size comes from the data. Anywhere else a dimension is made of numbers and of names that exist.",
    "fn f(x: real) -> real[n] {\n  return [x]\n}",
    "fn f(x: real[n]) -> real[n] {\n  return x\n}"
);
code!(
    OUT_OF_PLACE,
    "E0210",
    "an expression that does not belong here",
    "Some expressions are allowed only in some places: `layer.*` and paths in posteriors, texts in data items, ranges in brackets.",
    "const A = \"text\"",
    "const A = 1"
);

/// Two items of one file with the same name.
pub fn duplicate_item(name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(&DUPLICATE_ITEM, second, format!("`{name}` is declared twice"))
        .label("declared again here")
        .also(first, "first declared here")
}

/// A name that is not declared.
pub fn unknown_name<'a>(span: Span, name: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    Diagnostic::error(&UNKNOWN_NAME, span, format!("unknown name `{name}`"))
        .label("not declared here")
        .suggest_word(name, names)
}

/// A name from a module of another language, such as `np.exp`.
pub fn foreign_module<'a>(
    span: Span,
    (module, name): (&str, &str),
    names: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let names: Vec<&str> = names.into_iter().collect();
    let diagnostic = Diagnostic::error(&UNKNOWN_NAME, span, format!("unknown name `{module}`"))
        .label("modules of other languages do not exist here");
    let is_other = synonyms::synonym(name, names.iter().copied()).is_some();
    if names.contains(&name) && !is_other {
        return diagnostic.help(format!("write `{name}` alone"));
    }
    let diagnostic = diagnostic.suggest_word(name, names);
    match diagnostic.help.is_empty() {
        true => diagnostic.suggest_word(module, []),
        false => diagnostic,
    }
}

/// A variable that is read before its declaration.
pub fn used_early(span: Span, name: &str, later: Span) -> Diagnostic {
    Diagnostic::error(
        &UNKNOWN_NAME,
        span,
        format!("`{name}` is used before it is declared"),
    )
    .label("used here")
    .also(later, "declared here")
}

/// A `use` of an item that the library does not have.
pub fn unknown_import<'a>(
    span: Span,
    path: &str,
    last: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    Diagnostic::error(&UNKNOWN_IMPORT, span, format!("the library has no `{path}`")).suggest(last, names)
}

/// A name that refers to another kind of item than expected.
pub fn wrong_kind(span: Span, name: &str, expected: &str, found: &str, declared: Option<Span>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        &WRONG_KIND,
        span,
        format!("expected {expected}, but `{name}` is {found}"),
    )
    .label(format!("expected {expected}"));
    match declared {
        Some(at) => diagnostic.also(at, format!("`{name}` is declared here")),
        None => diagnostic,
    }
}

/// Items that depend on each other.
pub fn cycle(path: &[(String, Span)]) -> Diagnostic {
    let names: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
    let chain = names
        .iter()
        .chain(names.first())
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>();
    let (first, rest) = match path.split_first() {
        Some(((_, span), rest)) => (*span, rest),
        None => unreachable!("a cycle has at least one item"),
    };
    let message = match rest.is_empty() {
        true => format!("{} needs itself", chain[0]),
        false => format!("these items need each other: {}", chain.join(" needs ")),
    };
    let diagnostic = Diagnostic::error(&CYCLE, first, message);
    rest.iter().fold(diagnostic, |diagnostic, (name, span)| {
        diagnostic.also(*span, format!("`{name}` is here"))
    })
}

/// A variable that is bound twice.
pub fn rebound(name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(&REBOUND, second, format!("`{name}` already has a value"))
        .label("bound again here")
        .also(first, "first bound here")
        .help("give the new value a name of its own")
}

/// A `for` or a comprehension that rebinds a name of the enclosing scope.
pub fn rebound_in_for(name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(
        &REBOUND,
        second,
        format!("a `for` cannot change `{name}`, which is bound outside of it"),
    )
    .label("bound again here")
    .also(first, "bound here")
    .help("use another name; to add up values write `sum(.. for i in a..b)`")
}

/// A variable that is never read.
pub fn unused(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(&UNUSED, span, format!("`{name}` is never used"))
        .help(format!("remove it, or write `_{name}` if it is not needed"))
}

/// An input of a model that is never read.
pub fn unused_input(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(&UNUSED, span, format!("`{name}` is never used"))
        .help("remove it: a model does not need every column of its data")
}

/// A type that does not exist.
pub fn unknown_type(span: Span, name: &str) -> Diagnostic {
    let names = crate::check::types::NAMES;
    Diagnostic::error(&UNKNOWN_TYPE, span, format!("unknown type `{name}`"))
        .suggest(name, names.iter().copied())
        .note(format!("the types are {}", quoted(names.iter().copied())))
}

/// A type with wrong arguments in parentheses or brackets.
pub fn malformed_type(span: Span, expected: &str) -> Diagnostic {
    Diagnostic::error(&UNKNOWN_TYPE, span, format!("expected {expected}"))
}

/// A dimension with an undeclared name.
pub fn unknown_dim<'a>(span: Span, name: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    Diagnostic::error(&UNKNOWN_DIM, span, format!("unknown dimension `{name}`"))
        .label("nothing declares this name")
        .suggest(name, names)
        .help(format!(
            "introduce it by the type of an input, `x: real[{name}]`, or give it a size: `const {name} = 3`"
        ))
}

/// A construct in a place where such constructs are not allowed.
pub fn out_of_place(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(&OUT_OF_PLACE, span, format!("{what} does not belong here"))
}

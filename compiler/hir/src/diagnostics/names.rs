//! Diagnostics about names.

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::{quoted, quoted_with};
use bnnc_base::source::Span;
use bnnc_base::{reports, synonyms};

codes_with_programs! {
    DUPLICATE_ITEM = "E0201", "a name is declared twice":
        "Two items of one file have the same name. An item of the program may have the name of a library item. It then hides \
         the library item.",
        wrong "const SIZE = 50\nconst SIZE = 60",
        right "const SIZE = 50\nconst WIDTH = 60";
    UNKNOWN_NAME = "E0202", "an unknown name":
        "The program uses a name that is not declared here as a parameter, a variable, an item or a library item.",
        wrong "fn f(x: real) -> real {\n  return x + z\n}",
        right "fn f(x: real, z: real) -> real {\n  return x + z\n}";
    UNKNOWN_IMPORT = "E0203", "an unknown library item":
        "`use` needs a folder or a file of the library, and the name of an item in it.",
        wrong "use layers::Danse",
        right "use layers::Dense";
    WRONG_KIND = "E0204", "a name of the wrong kind":
        "The name exists, but belongs to the wrong kind of item. For example, `~` needs a distribution, `of` needs a model, \
         and `compare` needs an inference.",
        wrong "model M(x: real) -> y: real {\n  y ~ relu\n}",
        right "model M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}";
    CYCLE = "E0205", "circular definition":
        "Constants, functions, layers, distributions and inferences must not refer to themselves, directly or through other \
         items.",
        wrong "const A = B + 1\nconst B = A - 1",
        right "const A = 2\nconst B = A - 1";
    REBOUND = "E0206", "a name that already has a value":
        "A variable can be assigned only once. A `for` or a comprehension cannot change a variable that is assigned outside of \
         it.",
        wrong "fn f(x: real) -> real {\n  y = 2 * x\n  y = y + 1\n  return y\n}",
        right "fn f(x: real) -> real {\n  y = 2 * x\n  z = y + 1\n  return z\n}";
    UNUSED = "E0207", "an unused variable":
        "A warning: the variable is never used. If this is intended, begin its name with `_`.",
        wrong "fn f(x: real) -> real {\n  y = 2 * x\n  return x\n}",
        right "fn f(x: real) -> real {\n  y = 2 * x\n  return y\n}";
    UNKNOWN_TYPE = "E0208", "an unknown type":
        "The types are `real`, `real(lo, hi)`, `positive`, `unit`, `int`, `count`, `bool`, `index(k)`, `simplex(k)` and \
         `ordered(k)`. Parameters may also have the types `dist` and `fn`. Dims are written in brackets: `real[3]`.",
        wrong "fn f(x: float) -> real {\n  return x\n}",
        right "fn f(x: real) -> real {\n  return x\n}";
    UNKNOWN_DIM = "E0209", "an unknown dimension":
        "A new name in the brackets of an input's type introduces a dimension whose size comes from the data. Anywhere else, a \
         dimension may contain only numbers and names that already exist.",
        wrong "fn f(x: real) -> real[n] {\n  return [x]\n}",
        right "fn f(x: real[n]) -> real[n] {\n  return x\n}";
    OUT_OF_PLACE = "E0210", "an expression that does not belong here":
        "Some expressions are allowed only in certain places: `layer.*` and paths in posteriors, strings in data items, ranges \
         in index brackets.",
        wrong "const A = \"text\"",
        right "const A = 1";
}

reports! {
    /// Reports a name that is not declared.
    fn unknown_name<'a>(span: Span, name: &str, names: impl IntoIterator<Item = &'a str>)
        = error(UNKNOWN_NAME, span, "unknown name `{name}`")
        .label("not declared here")
        .suggest_word(name, names);

    /// Reports a `use` of an item that the library does not have.
    fn unknown_import<'a>(span: Span, path: &str, last: &str, names: impl IntoIterator<Item = &'a str>)
        = error(UNKNOWN_IMPORT, span, "the library has no `{path}`")
        .suggest(last, names);

    /// Reports a name that refers to another kind of item than expected.
    fn wrong_kind(span: Span, name: &str, expected: &str, found: &str, declared: Option<Span>)
        = error(WRONG_KIND, span, "expected {expected}, but `{name}` is {found}")
        .label("expected {expected}")
        .also_if(declared, format!("`{name}` is declared here"));

    /// Reports a type that does not exist.
    fn unknown_type(span: Span, name: &str)
        let names = crate::types::NAMES.iter().copied();
        = error(UNKNOWN_TYPE, span, "unknown type `{name}`")
        .suggest(name, names.clone())
        .note("the types are {}", quoted(names));

    /// Reports a dimension with an undeclared name.
    fn unknown_dim<'a>(span: Span, name: &str, names: impl IntoIterator<Item = &'a str>)
        = error(UNKNOWN_DIM, span, "unknown dimension `{name}`")
        .label("nothing declares this name")
        .suggest(name, names)
        .help("introduce it in the type of an input, `x: real[{name}]`, or give it a size: `const {name} = 3`");

    /// Reports two items of one file with the same name.
    fn duplicate_item(name: &str, first: Span, second: Span)
        = error(DUPLICATE_ITEM, second, "`{name}` is declared twice")
        .label("declared again here")
        .also(first, "first declared here");

    /// Reports a variable that is read before its declaration.
    fn used_early(span: Span, name: &str, later: Span)
        = error(UNKNOWN_NAME, span, "`{name}` is used before it is declared")
        .label("used here")
        .also(later, "declared here");

    /// Reports a variable that is bound twice.
    fn rebound(name: &str, first: Span, second: Span)
        = error(REBOUND, second, "`{name}` already has a value")
        .label("assigned again here")
        .also(first, "first assigned here")
        .help("give the new value a new name");

    /// Reports a `for` or a comprehension that rebinds a name of the enclosing scope.
    fn rebound_in_for(name: &str, first: Span, second: Span)
        = error(REBOUND, second, "a `for` cannot change `{name}`, which is assigned outside the loop")
        .label("assigned again here")
        .also(first, "assigned here")
        .help("use another name; to add up values write `sum(.. for i in a..b)`");

    /// Reports a variable that is never read.
    fn unused(name: &str, span: Span)
        = warning(UNUSED, span, "`{name}` is never used")
        .help("remove it, or rename it to `_{name}` to keep it unused");

    /// Reports an input of a model that is never read.
    fn unused_input(name: &str, span: Span)
        = warning(UNUSED, span, "`{name}` is never used")
        .help("remove it: a model does not need every column of its data");

    /// Reports a type with wrong arguments in parentheses or brackets.
    fn malformed_type(span: Span, expected: &str)
        = error(UNKNOWN_TYPE, span, "expected {expected}");

    /// Reports a parameter of type `layer` outside the first parameter list of a layer.
    fn layer_type(span: Span)
        = error(OUT_OF_PLACE, span, "the type `layer` does not belong here")
        .help("only the first parameters of a layer may have this type: `layer Block(norm: layer)(x: real[n])`");

    /// Reports a construct that is not allowed in this kind of item.
    fn out_of_place(span: Span, what: &str)
        = error(OUT_OF_PLACE, span, "{what} does not belong here");
}

/// Reports a name from a module of another language, such as `np.exp`.
pub fn foreign_module<'a>(
    span: Span,
    (module, name): (&str, &str),
    names: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let names: Vec<&str> = names.into_iter().collect();
    let diagnostic = Diagnostic::error(&UNKNOWN_NAME, span, format!("unknown name `{module}`"))
        .label("bnnc does not have this module");
    let is_other = synonyms::synonym(name, names.iter().copied()).is_some();
    if names.contains(&name) && !is_other {
        return diagnostic.help(format!("write `{name}` without the module"));
    }
    let diagnostic = diagnostic.suggest_word(name, names);
    match diagnostic.help.is_empty() {
        true => diagnostic.suggest_word(module, []),
        false => diagnostic,
    }
}

/// Reports items that depend on each other.
pub fn cycle(path: &[(String, Span)]) -> Diagnostic {
    let [(first, span), rest @ ..] = path else {
        unreachable!("a cycle has at least one item")
    };
    let message = match rest.is_empty() {
        true => format!("circular definition: `{first}` refers to itself"),
        false => {
            let names = path.iter().map(|(name, _)| name);
            let chain = quoted_with(" -> ", names.chain([first]));
            format!("circular definition: {chain}")
        }
    };
    let diagnostic = Diagnostic::error(&CYCLE, *span, message);
    rest.iter().fold(diagnostic, |diagnostic, (name, span)| {
        diagnostic.also(*span, format!("`{name}` is declared here"))
    })
}

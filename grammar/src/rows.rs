//! The formatter treats items, statements, definitions and settings as rows with a left and a right side.

use crate::ast::{
    Arg, CompareDecl, Definition, DefinitionKind, Expr, ExprKind, Ident, InferDecl, Item, ItemKind,
    ModelDecl, Param, Setting, Stmt, StmtKind, TypeExpr,
};
use crate::layout::{Commas, Flat, STEP, WIDTH};
use bnnc_base::source::Span;
use bnnc_base::spellings;
use std::borrow::Cow;

/// A construct that begins on a separate line.
pub struct SourceRow<'a> {
    /// The position of the first byte in the source.
    pub start: usize,
    /// The position after the last byte in the source.
    pub end: usize,
    /// The number of comment lines that document the row, directly above it.
    pub docs: usize,
    /// The text before the operator, or the whole text without an operator.
    pub left: String,
    /// The alignment class. Rows of one class align their operators; a row with `None` is never aligned.
    pub class: Option<&'static str>,
    /// The part after the left side.
    pub body: SourceRowBody<'a>,
}

/// The part of a row after its left side.
pub enum SourceRowBody<'a> {
    /// Empty, because the left side is the whole row.
    Text,
    /// `op value { settings }`.
    Value {
        /// `=` or `~`.
        op: &'static str,
        /// The right-hand side.
        value: Cow<'a, Expr>,
        /// The option block.
        settings: &'a [Setting],
    },
    /// `(list)(list) tail { rows }`.
    Block {
        /// Lists of parameters.
        lists: Vec<&'a [Param]>,
        /// The text between the lists and the opening brace.
        tail: String,
        /// The rows inside the braces.
        rows: Vec<SourceRow<'a>>,
    },
}

impl<'a> SourceRow<'a> {
    fn new(span: Span, left: String, class: Option<&'static str>, body: SourceRowBody<'a>) -> SourceRow<'a> {
        SourceRow {
            start: span.start as usize,
            end: span.end as usize,
            docs: 0,
            left,
            class,
            body,
        }
    }

    /// Returns whether both rows begin with the same word, as two constants do.
    pub fn is_like(&self, other: &SourceRow<'_>) -> bool {
        self.left.split(' ').next() == other.left.split(' ').next()
    }

    /// Returns whether comments inside the row can also be printed inside it.
    pub fn holds_comments(&self) -> bool {
        match &self.body {
            SourceRowBody::Text => false,
            SourceRowBody::Value { settings, .. } => !settings.is_empty(),
            SourceRowBody::Block { .. } => true,
        }
    }
}

fn value<'a>(op: &'static str, value: &'a Expr) -> SourceRowBody<'a> {
    SourceRowBody::Value {
        op,
        value: Cow::Borrowed(value),
        settings: &[],
    }
}

/// Builds the row of an item.
pub fn item<'a>(item: &'a Item, text: &str) -> SourceRow<'a> {
    let (left, class, body) = match &item.kind {
        ItemKind::Use(path) => {
            let names: Vec<&str> = path.iter().map(|name| &*name.name).collect();
            (format!("use {}", names.join("::")), None, SourceRowBody::Text)
        }
        ItemKind::Const(node) => (named("const", &node.name), Some("const"), value("=", &node.value)),
        ItemKind::Fn(node) => {
            let tail = format!(" -> {}", Flat(&node.result));
            (
                named("fn", &node.name),
                None,
                statements(vec![&node.params], tail, &node.body),
            )
        }
        ItemKind::Layer(node) => {
            let tail = format!(" -> {}", Flat(&node.result));
            (
                named("layer", &node.name),
                None,
                statements(vec![&node.params, &node.inputs], tail, &node.body),
            )
        }
        ItemKind::Dist(node) => {
            let tail = format!(" on {}", Flat(&node.on));
            (
                named("dist", &node.name),
                None,
                definitions(&node.params, tail, &node.body),
            )
        }
        ItemKind::Optimiser(node) => (
            named("optimiser", &node.name),
            None,
            definitions(&node.params, String::new(), &node.body),
        ),
        ItemKind::Data(node) => {
            let source = Cow::Borrowed(&node.source);
            let body = SourceRowBody::Value {
                op: "=",
                value: source,
                settings: &node.options,
            };
            (named("data", &node.name), Some("data"), body)
        }
        ItemKind::Model(node) => (named("model", &node.name), None, model(node)),
        ItemKind::Posterior(node) => {
            let left = format!("posterior {} of {}", node.name.name, node.of.name);
            (left, None, statements(Vec::new(), String::new(), &node.body))
        }
        ItemKind::Infer(node) => (named("infer", &node.name), Some("infer"), infer(node)),
        ItemKind::Compare(node) => (compare(node), None, SourceRowBody::Text),
        ItemKind::Error => (verbatim(item.span, text), None, SourceRowBody::Text),
    };
    SourceRow {
        docs: item.doc.len(),
        ..SourceRow::new(item.span, left, class, body)
    }
}

fn named(keyword: &str, name: &Ident) -> String {
    format!("{keyword} {}", name.name)
}

fn verbatim(span: Span, text: &str) -> String {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or("")
        .to_owned()
}

fn model(node: &ModelDecl) -> SourceRowBody<'_> {
    let tail = format!(" -> {}", Commas(&node.outputs));
    let mut lists: Vec<&[Param]> = vec![&node.inputs];
    if node.two_lists {
        lists.insert(0, &node.shared);
    }
    statements(lists, tail, &node.body)
}

fn infer(node: &InferDecl) -> SourceRowBody<'_> {
    let method = Expr {
        kind: Box::new(ExprKind::Name(node.method.name.clone())),
        span: node.method.span,
    };
    let end = node
        .args
        .last()
        .map_or(node.method.span, |arg: &Arg| arg.value.span);
    let call = ExprKind::Call(method, node.args.clone());
    let call = Expr {
        kind: Box::new(call),
        span: node.method.span.to(end),
    };
    SourceRowBody::Value {
        op: "=",
        value: Cow::Owned(call),
        settings: &node.options,
    }
}

fn compare(node: &CompareDecl) -> String {
    let infers: Vec<&str> = node.infers.iter().map(|name| &*name.name).collect();
    let metrics: Vec<String> = node.by.iter().map(|metric| Flat(metric).to_string()).collect();
    let written = |comma: &str, by: &str| {
        let (infers, metrics) = (infers.join(comma), metrics.join(comma));
        match node.by.is_empty() {
            true => format!("compare {infers}"),
            false => format!("compare {infers} by{by}{metrics}"),
        }
    };
    let line = written(", ", " ");
    if line.len() <= WIDTH {
        return line;
    }
    let step = format!("\n{:STEP$}", "");
    written(&format!(",{step}"), &step)
}

fn statements<'a>(lists: Vec<&'a [Param]>, tail: String, body: &'a [Stmt]) -> SourceRowBody<'a> {
    SourceRowBody::Block {
        lists,
        tail,
        rows: body.iter().map(statement).collect(),
    }
}

fn definitions<'a>(params: &'a [Param], tail: String, body: &'a [Definition]) -> SourceRowBody<'a> {
    SourceRowBody::Block {
        lists: vec![params],
        tail,
        rows: body.iter().map(definition).collect(),
    }
}

fn statement(node: &Stmt) -> SourceRow<'_> {
    let (left, class, body) = match &node.kind {
        StmtKind::Assign {
            targets,
            ty,
            value: right,
        } => {
            let class = class(targets, ty, ["=", ": ="]);
            (left_side(targets, ty, false), class, value("=", right))
        }
        StmtKind::Sample {
            targets,
            ty,
            dist,
            local,
        } => {
            let class = class(targets, ty, ["~", ": ~"]);
            (left_side(targets, ty, *local), class, value("~", dist))
        }
        StmtKind::For { name, from, to, body } => {
            let left = format!("for {} in {}..{}", name.name, Flat(from), Flat(to));
            (left, None, statements(Vec::new(), String::new(), body))
        }
        StmtKind::Return(right) => (
            "return".to_owned(),
            None,
            SourceRowBody::Value {
                op: "",
                value: Cow::Borrowed(right),
                settings: &[],
            },
        ),
        StmtKind::Error => ("// not read".to_owned(), None, SourceRowBody::Text),
    };
    SourceRow::new(node.span, left, class, body)
}

/// Returns the alignment class of an assignment. An assignment to several targets is never aligned. Targets of the form `name: type` are
/// aligned with each other, and so are targets of the form `name`.
fn class(targets: &[Expr], ty: &Option<TypeExpr>, [plain, typed]: [&'static str; 2]) -> Option<&'static str> {
    match ty {
        _ if targets.len() > 1 => None,
        None => Some(plain),
        Some(_) => Some(typed),
    }
}

fn left_side(targets: &[Expr], ty: &Option<TypeExpr>, local: bool) -> String {
    let mut text = format!("{}{}", if local { "local " } else { "" }, Commas(targets));
    if let Some(ty) = ty {
        text += &format!(": {}", Flat(ty));
    }
    text
}

fn definition(node: &Definition) -> SourceRow<'_> {
    let name = &node.name.name;
    let left = match &node.kind {
        DefinitionKind::Value => name.to_string(),
        DefinitionKind::Function(names) => {
            let names: Vec<&str> = names.iter().map(|name| &*name.name).collect();
            format!("{name}({})", names.join(", "))
        }
        DefinitionKind::State => format!("state {name}"),
        DefinitionKind::Next => format!("next {name}"),
    };
    SourceRow::new(node.span, left, Some("="), value("=", &node.value))
}

/// Builds the row of a setting. If an option has several spellings, the canonical spelling is used.
pub fn setting(node: &Setting) -> SourceRow<'_> {
    let left = spellings::word(&node.name.name).to_owned();
    SourceRow::new(
        node.name.span.to(node.value.span),
        left,
        Some("="),
        value("=", &node.value),
    )
}

/// Formats settings on one line: `{ a = 1, b = 2 }`.
pub fn settings_on_a_line(settings: &[Setting]) -> String {
    let settings: Vec<String> = settings
        .iter()
        .map(|setting| {
            format!(
                "{} = {}",
                spellings::word(&setting.name.name),
                Flat(&setting.value)
            )
        })
        .collect();
    format!("{{ {} }}", settings.join(", "))
}

/// Formats the text before the brace of a block. The text is on one line if it fits. Otherwise, each parameter is on a separate
/// line.
pub fn header(left: &str, lists: &[&[Param]], tail: &str, indent: usize) -> String {
    let flat: String = lists
        .iter()
        .map(|params| format!("({})", Commas(params)))
        .collect();
    let line = format!("{left}{flat}{tail}");
    if indent + line.len() + 2 <= WIDTH {
        return line;
    }
    let mut text = left.to_owned();
    for at in 0..lists.len() {
        let rest: String = lists[at..]
            .iter()
            .map(|params| format!("({})", Commas(params)))
            .collect();
        if at > 0 && 1 + rest.len() + tail.len() + 2 <= WIDTH {
            return text + &rest + tail;
        }
        text.push('(');
        for param in lists[at] {
            text += &format!("\n{:STEP$}{},", "", Flat(param));
        }
        text += if lists[at].is_empty() { ")" } else { "\n)" };
    }
    text + tail
}

//! The language reference, `stdlib/README.md`: its programs compile as it says, and its tables are the registries.
//!
//! `BNNC_BLESS=1 cargo test -p bnnc-tests --test reference` writes the tables.

use bnnc_abi::method::{self, MOST, OptionDef, OptionKind, Takes, range};
use bnnc_base::source::SourceMap;
use bnnc_driver::options::Options;
use bnnc_driver::program;
use bnnc_grammar::ast::{DefinitionKind, Dist, Item, ItemKind};
use bnnc_hir::builtin::{self, Builtin, Rule};
use std::fmt::Write;
use std::path::PathBuf;

fn path() -> PathBuf {
    bnnc_tests::root().join("stdlib/README.md")
}

/// A block of code: its line, what stands after the language, its text.
struct Block {
    line: usize,
    expected: Vec<String>,
    text: String,
}

fn blocks(reference: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = reference.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(words) = line.strip_prefix("```bnn") else {
            continue;
        };
        let expected = words
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("error="));
        let expected = expected.map(str::to_owned).collect();
        let body = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```");
        let text = body.fold(String::new(), |text, line| text + line + "\n");
        blocks.push(Block {
            line: at + 1,
            expected,
            text,
        });
    }
    blocks
}

#[test]
fn programs_compile_or_fail_as_they_say() {
    let reference = bnnc_tests::files::read(&path());
    let blocks = blocks(&reference);
    assert!(blocks.len() > 15, "only {} programs", blocks.len());
    assert!(blocks.iter().any(|block| !block.expected.is_empty()));
    for block in blocks {
        let place = format!("stdlib/README.md:{}", block.line);
        let program = program::load(&place, &block.text, &Options::default());
        let found: Vec<&str> = program
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code.id)
            .collect();
        assert_eq!(found, block.expected, "{place}: {:#?}", program.diagnostics);
        let formatted = bnnc_grammar::print::format(&program.source);
        if let Ok(formatted) = formatted {
            assert_eq!(formatted, block.text, "{place} is not formatted");
        }
    }
}

/// Every table between `<!-- NAME -->` and `<!-- end -->`.
#[test]
fn tables_are_the_registries() {
    let reference = bnnc_tests::files::read(&path());
    let tables = [
        ("builtins", builtins()),
        ("methods", methods()),
        ("options", options()),
        ("distributions", distributions()),
        ("layers", layers()),
        ("optimisers", optimisers()),
        ("functions", functions()),
    ];
    let mut expected = reference.clone();
    for (name, table) in tables {
        let (open, close) = (format!("<!-- {name} -->\n"), "<!-- end -->");
        let start = expected
            .find(&open)
            .unwrap_or_else(|| panic!("no table `{name}`"))
            + open.len();
        let length = expected[start..]
            .find(close)
            .unwrap_or_else(|| panic!("the table `{name}` has no end"));
        expected.replace_range(start..start + length, &table);
    }
    if std::env::var_os("BNNC_BLESS").is_some() {
        std::fs::write(path(), &expected).unwrap_or_else(|error| panic!("{error}"));
        return;
    }
    for (line, (found, wanted)) in reference.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            found,
            wanted,
            "stdlib/README.md:{}: write the tables with BNNC_BLESS=1",
            line + 1
        );
    }
    assert_eq!(reference, expected);
}

/// A table with these columns.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn builtins() -> String {
    table(
        ["function", "takes", "gives"],
        builtin::ALL
            .iter()
            .map(|one| [call(one), arguments(one.rule).to_owned(), one.doc.to_owned()]),
    )
}

fn call(builtin: &Builtin) -> String {
    let more = if matches!(
        builtin.rule,
        Rule::Concat | Rule::Filled | Rule::Repeat | Rule::Reshape
    ) {
        ", .."
    } else {
        ""
    };
    format!("`{}({}{more})`", builtin.name, builtin.params.join(", "))
}

fn arguments(rule: Rule) -> &'static str {
    match rule {
        Rule::Elementwise => "scalars and arrays of equal dims",
        Rule::Reduce => "an array",
        Rule::Dot | Rule::Outer => "two vectors",
        Rule::Transpose => "a matrix",
        Rule::LastAxis | Rule::LastAxisAway => "an array, along its last axis",
        Rule::Cholesky => "a square matrix",
        Rule::SolveLower => "a square matrix, a vector",
        Rule::Concat => "arrays that differ in the first dim only",
        Rule::Length => "an array or a list of layers",
        Rule::Filled => "dims",
        Rule::Noise => "nothing, or dims",
        Rule::Conv => "an image, a kernel, a static stride",
        Rule::Pad => "an image, a static width",
        Rule::Pool => "an image, a static size, a static stride",
        Rule::Repeat | Rule::Reshape => "an array, dims",
        Rule::Same => "a scalar or an array",
        Rule::Eye => "a dim",
        Rule::Diag => "a vector",
    }
}

fn methods() -> String {
    let row = |method: &method::MethodDef| {
        let takes = match method.takes {
            Takes::Posterior => "a posterior",
            Takes::Model => "a model",
            Takes::Either => "a model or a posterior",
            Takes::ModelOrFixed => "a model, or a posterior that fixes some of its sites",
        };
        [
            format!("`{}`", method.name),
            takes.to_owned(),
            method.doc.to_owned(),
        ]
    };
    table(["method", "takes", ""], method::ALL.iter().map(row))
}

/// Options of one name may differ between methods in what they mean and in their defaults.
fn is_same(one: &OptionDef, other: &OptionDef) -> bool {
    (one.name, one.kind, one.default, one.doc) == (other.name, other.kind, other.default, other.doc)
}

fn options() -> String {
    let mut seen: Vec<&OptionDef> = Vec::new();
    for option in method::ALL.iter().flat_map(|method| method.options) {
        if !seen.iter().any(|known| is_same(known, option)) {
            seen.push(option);
        }
    }
    let row = |option: &&OptionDef| {
        let has = |method: &&method::MethodDef| method.options.iter().any(|known| is_same(known, option));
        let of: Vec<String> = method::ALL
            .iter()
            .filter(has)
            .map(|method| format!("`{}`", method.name))
            .collect();
        let default = if option.default.is_empty() {
            String::new()
        } else {
            format!("`{}`", option.default)
        };
        [
            format!("`{}`", option.name),
            of.join(", "),
            values(option.kind),
            default,
            option.doc.to_owned(),
        ]
    };
    table(["option", "of", "value", "default", ""], seen.iter().map(row))
}

fn words_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(" or ")
}

fn values(kind: OptionKind) -> String {
    match kind {
        OptionKind::Int(least, MOST) => format!("an integer from {least}"),
        OptionKind::Int(least, most) => format!("an integer from {least} to {most}"),
        OptionKind::Real(low, high) => format!("a real between {low} and {high}"),
        OptionKind::AtLeast(least) => format!("a real from {least}"),
        OptionKind::Bool => "`true` or `false`".to_owned(),
        OptionKind::Word(words) => words_of(words),
        OptionKind::Optimiser => "an optimiser".to_owned(),
        OptionKind::Infer => "an `infer`".to_owned(),
        OptionKind::Fractions => "fractions in brackets".to_owned(),
        OptionKind::Names => "names in brackets".to_owned(),
        OptionKind::Call(_) => "a word or a call".to_owned(),
        OptionKind::Start => "an `infer` or a file".to_owned(),
        OptionKind::NumberOr(low, high, words) => format!("{} or {}", range(low, high), words_of(words)),
        OptionKind::Weights(_) => "which weights".to_owned(),
    }
}

/// The items of the library with the text in front of their bodies.
fn library(row: impl Fn(&str, &Item, String) -> Option<Vec<String>>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (path, text) in bnnc_stdlib::FILES {
        let (tree, _) = bnnc_grammar::parse::parse(&SourceMap::default().add(path, text));
        for item in &tree.items {
            let header = text[item.span.start as usize..]
                .split(" {")
                .next()
                .unwrap_or_default();
            let header = header.split_once(' ').map_or(header, |(_, rest)| rest);
            let header = header.split_whitespace().collect::<Vec<&str>>().join(" ");
            rows.extend(row(path, item, format!("`{header}`")));
        }
    }
    rows
}

fn doc(item: &Item) -> String {
    item.doc
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<&str>>()
        .join(" ")
}

fn listed<const N: usize>(head: [&str; N], rows: Vec<Vec<String>>) -> String {
    table(
        head,
        rows.into_iter()
            .filter_map(|row| <[String; N]>::try_from(row).ok()),
    )
}

fn distributions() -> String {
    let parts = |dist: &Dist| {
        let names = dist.body.iter().map(|line| match &line.kind {
            DefinitionKind::Function(arguments) => {
                let arguments: Vec<&str> = arguments.iter().map(|argument| &*argument.name).collect();
                format!("`{}({})`", line.name.name, arguments.join(", "))
            }
            _ => format!("`{}`", line.name.name),
        });
        names.collect::<Vec<String>>().join(" ")
    };
    let rows = library(|_, item, header| match &item.kind {
        ItemKind::Dist(dist) => Some(vec![header, doc(item), parts(dist)]),
        _ => None,
    });
    listed(["distribution", "", "parts"], rows)
}

fn of_kind(head: &str, is_wanted: fn(&ItemKind) -> bool) -> String {
    let rows = library(|_, item, header| is_wanted(&item.kind).then(|| vec![header, doc(item)]));
    listed([head, ""], rows)
}

fn layers() -> String {
    of_kind("layer", |kind| matches!(kind, ItemKind::Layer(_)))
}

fn optimisers() -> String {
    of_kind("optimiser", |kind| matches!(kind, ItemKind::Optimiser(_)))
}

/// Only the functions meant for programs: those that a distribution needs for itself stand beside it.
fn functions() -> String {
    let rows = library(|path, item, header| {
        let is_public = path == "functions.bnn" && matches!(item.kind, ItemKind::Fn(_));
        is_public.then(|| vec![header, doc(item)])
    });
    listed(["function", ""], rows)
}

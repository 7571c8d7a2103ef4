//! The tables of the reference agree with the registries. These are the registries of functions, of
//! methods with their options, of distributions, of layers and of optimisers.

use bnnc_abi::augmentation::{Augmentation, AugmentationForm};
use bnnc_abi::corruption::{Corruption, CorruptionForm};
use bnnc_abi::data::Format;
use bnnc_abi::manifest::{RateSchedule, ScheduleForm};
use bnnc_abi::method::{self, OptionDef, Takes};
use bnnc_abi::metrics::{self, Basis, MetricDef};
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::{DefinitionKind, DistDecl, Item, ItemKind};
use bnnc_hir::builtin::{self, Builtin, BuiltinRule};
use bnnc_hir::check::data_options::{self, DataOption};
use bnnc_tests::book::{Page, pages};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the generated tables, by the names of their marks.
fn tables() -> BTreeMap<String, String> {
    let mut tables = BTreeMap::from([
        ("builtins".to_owned(), builtins()),
        ("methods".to_owned(), methods()),
        ("distributions".to_owned(), distributions()),
        ("layers".to_owned(), layers()),
        ("optimisers".to_owned(), optimisers()),
        ("functions".to_owned(), functions()),
        ("metrics".to_owned(), metric_rows()),
        ("data formats".to_owned(), formats()),
        ("data options".to_owned(), options_of_data()),
        ("schedules".to_owned(), schedules()),
        ("augmentations".to_owned(), augmentations()),
        ("corruptions".to_owned(), corruptions()),
    ]);
    for method in method::ALL.iter() {
        tables.insert(format!("options {}", method.name), options(method.options));
    }
    tables
}

/// Returns a page after the tables were replaced by the generated tables. Also returns the names of
/// these tables.
fn written(page: &Page, tables: &BTreeMap<String, String>) -> (String, Vec<String>) {
    let (mut text, mut names) = (String::new(), Vec::new());
    let mut rest = page.text.as_str();
    while let Some((before, name, after)) = opened(rest) {
        let table = tables
            .get(name)
            .unwrap_or_else(|| panic!("{}: no table is called `{name}`", page.path));
        let end = after
            .find(END)
            .unwrap_or_else(|| panic!("{}: the table `{name}` has no end", page.path));
        let _ = write!(text, "{before}<!-- {name} -->\n{table}{END}");
        names.push(name.to_owned());
        rest = &after[end + END.len()..];
    }
    (text + rest, names)
}

/// The mark that ends a table.
const END: &str = "<!-- end -->";

/// Returns the text before the next table, the name of this table, and the text after the name.
fn opened(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<!-- ")?;
    let (name, after) = rest.split_once(" -->\n")?;
    Some((before, name, after))
}

#[test]
fn tables_match_the_registries() {
    let tables = tables();
    let mut all = Vec::new();
    for page in pages(&bnnc_tests::root()) {
        let (expected, names) = written(&page, &tables);
        all.extend(names);
        let path = bnnc_tests::root().join("docs/src").join(&page.path);
        if std::env::var_os("BNNC_BLESS").is_some() {
            if expected != page.text {
                std::fs::write(path, &expected).unwrap_or_else(|error| panic!("{error}"));
            }
            continue;
        }
        for (line, (found, wanted)) in page.text.lines().zip(expected.lines()).enumerate() {
            let place = format!("docs/src/{}:{}", page.path, line + 1);
            assert_eq!(found, wanted, "{place}: write the tables with BNNC_BLESS=1");
        }
        assert_eq!(page.text, expected);
    }
    all.sort();
    let wanted: Vec<&String> = tables.keys().collect();
    assert_eq!(
        all.iter().collect::<Vec<&String>>(),
        wanted,
        "each table is in the book once"
    );
}

#[test]
fn each_method_has_a_page_in_the_reference() {
    let pages = pages(&bnnc_tests::root());
    for method in method::ALL.iter() {
        let path = format!("reference/methods/{}.md", method.name);
        let page = pages.iter().find(|page| page.path == path);
        let page = page.unwrap_or_else(|| panic!("docs/src/{path} is missing"));
        for part in ["## When to use it", "## Cost", "## Options"] {
            assert!(page.text.contains(part), "docs/src/{path} has no `{part}`");
        }
    }
}

/// Returns the Markdown of a table with these columns and rows.
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
        ["function", "arguments", "result"],
        builtin::ALL
            .iter()
            .map(|one| [call(one), arguments(one.rule).to_owned(), one.doc.to_owned()]),
    )
}

fn call(builtin: &Builtin) -> String {
    let more = if matches!(
        builtin.rule,
        BuiltinRule::Concat | BuiltinRule::Filled(_) | BuiltinRule::Repeat | BuiltinRule::Reshape
    ) {
        ", .."
    } else {
        ""
    };
    format!("`{}({}{more})`", builtin.name, builtin.params.join(", "))
}

fn arguments(rule: BuiltinRule) -> &'static str {
    match rule {
        BuiltinRule::Elementwise(_) | BuiltinRule::Extremum(..) => "scalars and arrays of equal dims",
        BuiltinRule::Reduce(_) => "an array",
        BuiltinRule::Dot | BuiltinRule::Outer => "two vectors",
        BuiltinRule::Transpose => "a matrix",
        BuiltinRule::LastAxis(_) | BuiltinRule::LogSumExp => "an array, along its last axis",
        BuiltinRule::Cholesky(_) => "a square matrix",
        BuiltinRule::SolveLower => "a square matrix, a vector",
        BuiltinRule::Concat => "arrays that differ in the first dim only",
        BuiltinRule::Fold => "a list of layers, an array",
        BuiltinRule::Length => "an array or a list of layers",
        BuiltinRule::Filled(_) => "dims",
        BuiltinRule::Noise(_) => "nothing, or dims",
        BuiltinRule::Conv => "an image, a kernel, a static stride and number of groups",
        BuiltinRule::ConvTranspose => "an image, a kernel, static integers",
        BuiltinRule::Pad => "an image, a static width",
        BuiltinRule::Pool(_) => "an image, a static size, a static stride",
        BuiltinRule::Upsample => "an image, a static factor",
        BuiltinRule::Repeat | BuiltinRule::Reshape => "an array, dims",
        BuiltinRule::Same(_) => "a scalar or an array",
        BuiltinRule::RunningMean => "a scalar or an array, two constants",
        BuiltinRule::Eye => "a dim",
        BuiltinRule::Diag => "a vector",
    }
}

fn methods() -> String {
    let row = |method: &method::MethodDef| {
        let takes = match method.takes {
            Takes::Posterior => "a posterior",
            Takes::Model => "a model",
            Takes::Either => "a model or a posterior",
            Takes::ModelOrFixed => "a model, or a posterior that fixes some of its parameters",
        };
        [
            format!("[`{0}`](methods/{0}.md)", method.name),
            takes.to_owned(),
            method.doc.to_owned(),
        ]
    };
    table(["method", "target", ""], method::ALL.iter().map(row))
}

fn metric_rows() -> String {
    let basis = |metric: &MetricDef| match metric.basis {
        Basis::Mean => "predictive means",
        Basis::Draws => "predictive draws",
        Basis::Probabilities => "class probabilities",
        Basis::Outliers => "class probabilities of `outliers`",
        Basis::LogLikelihood => "log densities",
        Basis::LeftOut => "posterior draws",
        Basis::Time => "the clock",
    };
    let row = |metric: &MetricDef| {
        [
            format!("`{}`", metric.written),
            metric.meaning.to_owned(),
            basis(metric).to_owned(),
        ]
    };
    table(
        ["metric", "meaning", "computed from"],
        metrics::ALL.iter().map(row),
    )
}

fn options(options: &[OptionDef]) -> String {
    let row = |option: &OptionDef| {
        let default = match option.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        [
            format!("`{}`", option.name),
            option.kind.values(),
            default,
            option.doc.to_owned(),
        ]
    };
    table(["option", "value", "default", ""], options.iter().map(row))
}

fn formats() -> String {
    let row = |format: Format| {
        [
            format!("`{}`", format.entry().source),
            format.entry().doc.to_owned(),
        ]
    };
    table(["format", "files"], Format::all().map(row))
}

fn options_of_data() -> String {
    let row = |option: &DataOption| {
        let name = format!("`{}`", option.name);
        [name, option.values.to_owned(), option.doc.to_owned()]
    };
    table(["option", "value", ""], data_options::OPTIONS.iter().map(row))
}

fn schedules() -> String {
    let row = |form: &ScheduleForm| [format!("`{}`", form.source()), form.factor.to_owned()];
    table(
        ["`schedule`", "factor on the learning rate"],
        RateSchedule::FORMS.iter().map(row),
    )
}

fn augmentations() -> String {
    let row = |form: &AugmentationForm| [format!("`{}`", form.source()), form.doc.to_owned()];
    table(["", "effect on each image"], Augmentation::FORMS.iter().map(row))
}

fn corruptions() -> String {
    let row = |form: &CorruptionForm| [format!("`{}`", form.name), form.doc.to_owned()];
    table(
        ["corruption", "effect on pixels from 0 to 1"],
        Corruption::FORMS.iter().map(row),
    )
}

/// Returns a table row for each item of the library. `row` receives the text of an item up to its
/// body.
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
            // A declaration over several lines has each parameter on a separate line, with a comma after the last parameter.
            let header = header.replace("( ", "(").replace(", )", ")");
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
    let parts = |dist: &DistDecl| {
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

/// Lists the functions that programs are meant to call. The file also contains functions that only
/// distributions need. Functions that only distributions need are left out.
fn functions() -> String {
    let rows = library(|path, item, header| {
        let is_public = path == "functions.bnn" && matches!(item.kind, ItemKind::Fn(_));
        is_public.then(|| vec![header, doc(item)])
    });
    listed(["function", ""], rows)
}

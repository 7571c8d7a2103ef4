//! Registries that are searched are sorted. Registries that list the files of a folder are
//! complete. Names within a registry are unique.

use bnnc_abi::corruption::Corruption;
use bnnc_abi::data::Format;
use bnnc_abi::manifest::RateSchedule;
use bnnc_base::source::SourceMap;
use bnnc_base::spellings;
use bnnc_driver::manual;
use bnnc_grammar::token::Token;
use bnnc_hir::check::data_options;
use bnnc_hir::types;
use bnnc_tests::crates::members;
use bnnc_tests::files::{File, under};
use std::collections::{BTreeMap, BTreeSet};

#[track_caller]
fn sorted<'n>(names: impl IntoIterator<Item = &'n str>) {
    let names: Vec<&str> = names.into_iter().collect();
    assert!(!names.is_empty());
    for pair in names.windows(2) {
        assert!(pair[0] < pair[1], "`{}` stands before `{}`", pair[0], pair[1]);
    }
}

#[test]
fn ops_are_sorted_and_match_their_folder() {
    let names: Vec<&str> = bnnc_graph::ops::ALL.iter().map(|op| op.name).collect();
    sorted(names.iter().copied());
    assert_eq!(names, modules("compiler/graph/src/ops"));
}

/// Returns the names of the modules in a folder. Each module is one file. The names are sorted.
fn modules(folder: &str) -> Vec<String> {
    let files = under(folder, &["rs"]).into_iter().map(|file| file.path);
    let mut stems: Vec<String> = files
        .filter_map(|path| {
            Some(
                path.strip_prefix(folder)?
                    .trim_start_matches('/')
                    .strip_suffix(".rs")?
                    .to_string(),
            )
        })
        .filter(|stem| stem != "mod")
        .collect();
    stems.sort();
    stems
}

#[test]
fn rules_are_complete_and_named_once() {
    let names: BTreeSet<&str> = bnnc_rewrite::rules::ALL.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), bnnc_rewrite::rules::ALL.len());
    let files = under("compiler/rewrite/src/rules", &["rs"]);
    let entries: Vec<Vec<&str>> = files.iter().flat_map(|file| entries(&file.text)).collect();
    assert_eq!(entries.len(), names.len(), "a rule is declared but not listed");
    for entry in entries {
        assert!(
            entry.len() <= 15,
            "a rule has at most 15 lines:\n{}",
            entry.join("\n")
        );
    }
}

/// The files of rules that may have more than [`MOST`] lines outside of their entries. Each has a
/// separate limit. Each of these files contains an algorithm. The rules in such a file state why
/// they are not written as terms.
const ALGORITHMS: [(&str, usize); 3] = [
    ("outer.rs", 405),
    ("outer/product.rs", 105),
    ("selection.rs", 455),
];

/// The largest number of lines of a file of rules outside of its entries, such as imports and
/// helpers for examples.
const MOST: usize = 45;

#[test]
fn rules_are_entries_and_not_code() {
    let folder = "compiler/rewrite/src/rules";
    let mut large = Vec::new();
    for file in under(folder, &["rs"]) {
        let of_entries: usize = entries(&file.text).iter().map(Vec::len).sum();
        let rest = file.text.lines().count() - of_entries;
        let name = file.path.strip_prefix(folder).unwrap_or_default();
        let own = ALGORITHMS
            .iter()
            .find(|(known, _)| *known == name.trim_start_matches('/'));
        let limit = own.map_or(MOST, |(_, limit)| *limit);
        assert!(rest <= limit, "{}: {rest} lines are not entries", file.path);
        large.extend((rest > MOST).then_some(file.path));
    }
    assert_eq!(large.len(), ALGORITHMS.len(), "an exception is not needed");
}

/// Returns the lines of each rule in the text of a file.
fn entries(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_start = |line: &str| line.trim_start() == "Rule {" || line.ends_with("&[Rule {");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let starts = (0..lines.len()).filter(|at| is_start(lines[*at]));
    let entry = |start: usize| {
        let is_end = |line: &&str| line.trim_start().starts_with('}') && indent(line) == indent(lines[start]);
        let length = lines[start..].iter().position(is_end).expect("the entry ends");
        lines[start..=start + length].to_vec()
    };
    starts.map(entry).collect()
}

#[test]
fn methods_are_sorted() {
    sorted(bnnc_abi::method::ALL.iter().map(|method| method.name));
    for method in bnnc_abi::method::ALL.iter() {
        let options: BTreeSet<&str> = method.options.iter().map(|option| option.name).collect();
        assert_eq!(
            options.len(),
            method.options.len(),
            "an option of `{}` twice",
            method.name
        );
    }
}

#[test]
fn primitives_are_sorted() {
    sorted(bnnc_abi::primitive::ALL.iter().map(|primitive| primitive.name));
}

#[test]
fn functions_of_the_language_are_sorted() {
    sorted(bnnc_hir::builtin::ALL.iter().map(|function| function.name));
}

/// A diagnostic code, and the place where it is declared.
struct Declared {
    /// The text of the code, such as `E0201`.
    id: String,
    /// The name of the static variable that declares the code.
    name: String,
    path: String,
}

/// Returns whether a text has the form of a code, such as `E0201`.
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix('E').unwrap_or_default();
    digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn codes() -> Vec<Declared> {
    let mut found = Vec::new();
    for member in members() {
        for file in under(&format!("{}/src", member.folder), &["rs"]) {
            let mut name = "";
            let code = file.text.lines().map(str::trim);
            for line in code.filter(|line| !line.starts_with("//")) {
                // The macro `codes!` declares a code in one line: `NAME = "E0405", "the title":`.
                let of_list = line.split_once(" = \"").filter(|_| line.ends_with("\":"));
                if let Some((before, _)) = line.split_once(": Code = ").or(of_list) {
                    name = before.rsplit(' ').next().unwrap_or_default();
                }
                // In the checker's macro `codes!`, the name stands on one line and the code on the
                // next line.
                let of_macro = line
                    .strip_prefix('"')
                    .filter(|rest| rest.starts_with('E') && rest.ends_with("\","));
                if line.ends_with(',') && line.starts_with(|first: char| first.is_ascii_uppercase()) {
                    name = line.trim_end_matches(',');
                }
                let of_list = of_list.map(|(_, rest)| rest);
                let of_struct = line.split_once("id: \"").map(|(_, rest)| rest);
                if let Some(rest) = of_struct.or(of_macro).or(of_list)
                    && let Some(id) = rest.split('"').next().filter(|id| is_code(id))
                {
                    found.push(Declared {
                        id: id.to_string(),
                        name: name.to_string(),
                        path: file.path.clone(),
                    });
                }
            }
        }
    }
    found
}

#[test]
fn codes_are_declared_once() {
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for code in codes() {
        if let Some(other) = places.insert(code.id.clone(), code.path.clone()) {
            panic!("{} is declared in {other} and in {}", code.id, code.path);
        }
    }
    let checked = bnnc_driver::diagnostics::all();
    let absent = checked.iter().find(|code| !places.contains_key(code.id));
    assert!(absent.is_none_or(|code| panic!("{} was not found", code.id)));
}

/// Codes that no test triggers.
const UNTRIGGERED: &[&str] = &[];

#[test]
fn every_code_is_triggered_by_a_test() {
    let tests: Vec<File> = under("", &["rs", "snap", "txt"])
        .into_iter()
        .filter(is_or_has_tests)
        .collect();
    let mut silent = Vec::new();
    for code in codes() {
        let named = |file: &File| file.text.contains(&code.id) || has_word(&file.text, &code.name);
        let triggered = tests.iter().any(|file| file.path != code.path && named(file));
        if triggered == UNTRIGGERED.contains(&code.id.as_str()) {
            silent.push(format!(
                "{} {} of {}: triggered is {triggered}",
                code.id, code.name, code.path
            ));
        }
    }
    assert!(
        silent.is_empty(),
        "unlike the list UNTRIGGERED:\n{}",
        silent.join("\n")
    );
}

/// Codes that cannot be triggered by a program, a file or a command line. Each entry has the reason
/// and the codes.
const UNRENDERED: &[(&str, &[&str])] = &[
    (
        "the machine decides whether a limit is reached",
        &["E0804", "E0901", "E0902", "E0903", "E0904"],
    ),
    ("no command feeds rows one by one", &["E0590"]),
];

#[test]
fn every_code_has_a_rendered_snapshot() {
    let snapshots = under("", &["snap"]);
    let kinds = ["error", "warning", "note"];
    let is_rendered = |id: &str| {
        let heads = kinds.map(|kind| format!("\n{kind}[{id}]: "));
        let mut texts = snapshots.iter().map(|snapshot| snapshot.text.as_str());
        texts.any(|text| heads.iter().any(|head| text.contains(head)))
    };
    let exempt: BTreeSet<&str> = UNRENDERED.iter().flat_map(|(_, ids)| *ids).copied().collect();
    let mut faults: Vec<String> = Vec::new();
    for code in codes() {
        match (is_rendered(&code.id), exempt.contains(code.id.as_str())) {
            (false, false) => faults.push(format!("{} {} of {} has none", code.id, code.name, code.path)),
            (true, true) => faults.push(format!("{} has one and is in the list UNRENDERED", code.id)),
            (true, false) | (false, true) => {}
        }
    }
    assert!(
        faults.is_empty(),
        "snapshots of diagnostics:\n{}",
        faults.join("\n")
    );
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// Returns whether a file consists of tests or contains tests. The file `registries.rs` itself does
/// not count, because it does not trigger any code.
fn is_or_has_tests(file: &File) -> bool {
    let tests = file.is_test() || file.path.ends_with(".snap") || file.text.contains("#[cfg(test)]");
    tests && !file.path.ends_with("registries.rs")
}

/// Every method, option, metric and function has an entry in the manual, with a separate text.
#[test]
fn every_registered_word_has_an_entry() {
    let entry =
        |word: &str| bnnc_driver::manual::entry(word).unwrap_or_else(|_| panic!("`{word}` has no entry"));
    for method in bnnc_abi::method::ALL.iter() {
        assert!(entry(method.name).contains(method.doc), "{}", method.name);
        for option in method.options {
            assert!(entry(option.name).contains(option.doc), "{}", option.name);
        }
    }
    for metric in bnnc_abi::metrics::ALL {
        assert!(
            entry(metric.name).contains(&metric.meaning[1..]),
            "{}",
            metric.name
        );
    }
    for function in bnnc_hir::builtin::ALL.iter() {
        assert!(entry(function.name).contains(function.doc), "{}", function.name);
    }
    assert!(entry("StudentT").contains("dist StudentT("));
    assert!(entry("Dense").contains("layer Dense("));
    assert!(entry("Adam").contains("Adam("));
}

/// `bnnc doc WORD` describes every word of the language, the library, the methods and the data items. The records of schedules, formats and options
/// of data items state an effect, and the description contains it.
#[test]
fn every_word_of_a_program_has_an_entry_in_the_manual() {
    let options = bnnc_abi::method::ALL.iter().flat_map(|method| method.options);
    let library = bnnc_driver::program::library(&mut SourceMap::default());
    let items = library.iter().flat_map(|module| &module.items);
    let mut words: BTreeSet<String> = items
        .filter_map(|item| item.name().map(|name| name.name.to_string()))
        .collect();
    words.extend(options.flat_map(|option| option.kind.words()).map(str::to_owned));
    words.extend(types::NAMES.iter().map(|name| (*name).to_owned()));
    words.extend(
        data_options::COLUMN_FUNCTIONS
            .iter()
            .map(|name| (*name).to_owned()),
    );
    words.extend(spellings::TABLE.iter().map(|(written, _)| (*written).to_owned()));
    let tokens = Token::FIXED.iter().map(Token::terminal);
    words.extend(
        tokens
            .filter(|word| word.starts_with(char::is_alphabetic))
            .map(str::to_owned),
    );
    assert!(words.len() > 150, "{}", words.len());
    words.extend(Corruption::FORMS.iter().map(|form| form.name.to_owned()));
    for word in [
        "splits",
        "fraction",
        "shuffled",
        "channels",
        "population",
        "sample",
        "zscore",
        "all",
    ] {
        words.insert(word.to_owned());
    }
    let wrong: Vec<&String> = words.iter().filter(|word| manual::entry(word).is_err()).collect();
    assert!(wrong.is_empty(), "without an entry: {wrong:?}");
    let states = |word: &str, text: &str| {
        let entry = manual::entry(word).unwrap_or_default();
        let rest = text.char_indices().nth(1).map_or("", |(at, _)| &text[at..]);
        assert!(entry.contains(rest), "{word}: {entry}");
    };
    RateSchedule::FORMS
        .iter()
        .for_each(|form| states(form.word, form.factor));
    Format::all().for_each(|format| states(format.word(), format.entry().doc));
    data_options::OPTIONS
        .iter()
        .for_each(|option| states(option.name, option.doc));
}

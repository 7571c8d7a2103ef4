//! Project rules that other tools do not check: the headers, lengths and names of files, unused
//! files, snapshots, and the format of programs.
//!
//! The lengths of functions and of parameter lists are checked by Clippy.

use bnnc_abi::ports::PortName;
use bnnc_base::source::SourceMap;
use bnnc_tests::crates::members;
use bnnc_tests::files::{File, under};
use bnnc_tests::modules::unreached;
use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of lines of a file. Modules under `#[cfg(test)]` do not count.
const LINES: usize = 500;

/// Tables and grammars that may be longer than [`LINES`].
const LONG: &[&str] = &[];

/// The largest number of lines of a snapshot. The header that insta writes between two lines `---`
/// does not count.
const SNAPSHOT_LINES: usize = 40;

/// Names that do not describe the content of a file or of a folder.
const EMPTY_NAMES: &[&str] = &[
    "common", "helper", "helpers", "manager", "misc", "shared", "stuff", "util", "utils",
];

/// Texts that occur in unfinished Rust code. The texts are assembled here so that this file does
/// not contain them.
const UNFINISHED: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("#[", "ignore]"),
];

/// Paths and words that refer to the machine of one person.
const PRIVATE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("sub", "agent"),
];

fn rust() -> Vec<File> {
    under("", &["rs"])
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Returns, as `path:line` and text, each line of Rust that `is_fault` accepts.
fn faulty_lines(is_fault: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for file in rust() {
        for (at, line) in file.text.lines().enumerate() {
            if is_fault(line) {
                faults.push(format!("{}:{}: {}", file.path, at + 1, line.trim()));
            }
        }
    }
    faults
}

#[test]
fn files_begin_with_a_sentence_on_their_content() {
    let faults: Vec<String> = rust()
        .iter()
        .filter(|file| !file.text.starts_with("//! ") || file.text.starts_with("//! (being written)"))
        .map(|file| format!("{} does not begin with a `//!` sentence", file.path))
        .collect();
    none(&faults);
}

#[test]
fn files_are_short() {
    let faults: Vec<String> = rust()
        .iter()
        .filter(|file| !LONG.contains(&file.path.as_str()))
        .map(|file| (file, file.lines().len()))
        .filter(|(_, lines)| *lines > LINES)
        .map(|(file, lines)| format!("{} has {lines} lines", file.path))
        .collect();
    none(&faults);
}

#[test]
fn exceptions_are_needed() {
    let rust = rust();
    for path in LONG {
        let file = rust.iter().find(|file| file.path == *path);
        assert!(
            file.is_some_and(|file| file.lines().len() > LINES),
            "{path} needs no exception"
        );
    }
}

#[test]
fn exports_are_named() {
    none(&faulty_lines(|line| {
        let line = line.trim();
        line.starts_with("pub") && line.contains("use ") && line.ends_with("::*;")
    }));
}

#[test]
fn nothing_is_unfinished() {
    none(&faulty_lines(|line| {
        UNFINISHED.iter().any(|word| line.contains(word))
    }));
}

/// The error type of a function may be a diagnostic, a `Fault`, or an enum of its crate. The error
/// type must not be a string.
#[test]
fn errors_have_types() {
    let mut faults = Vec::new();
    for file in rust() {
        if file.is_test() || file.path.starts_with("examples/") || file.path.starts_with("tests/") {
            continue;
        }
        for (at, line) in file.lines() {
            let code = line.split("//").next().unwrap_or_default();
            if code.contains("Result<") && code.contains(", String>") && has_error_text(code) {
                faults.push(format!("{}:{at}: {}", file.path, line.trim()));
            }
        }
    }
    none(&faults);
}

/// Returns whether a line of code contains a `Result` whose second argument is `String`.
fn has_error_text(code: &str) -> bool {
    code.match_indices("Result<").any(|(at, name)| {
        let mut depth = 0;
        let arguments = &code[at + name.len()..];
        arguments.char_indices().any(|(place, letter)| {
            // The `>` in the arrow of a function type does not close a bracket.
            let is_arrow = arguments[..place].ends_with(['-', '=']);
            match letter {
                '<' | '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                '>' if !is_arrow => depth -= 1,
                _ => {}
            }
            depth == 0 && arguments[place..].starts_with(", String>")
        })
    })
}

#[test]
fn error_texts_are_found() {
    assert!(has_error_text("fn f() -> Result<(), String> {"));
    assert!(has_error_text(
        "x: fn(&[u8]) -> Result<Result<Vec<(u8, u8)>, String>, Fault>,"
    ));
    assert!(!has_error_text("fn f() -> Result<HashMap<u8, String>, Fault> {"));
    assert!(!has_error_text("fn f() -> Result<(u8, String), Fault> {"));
}

#[test]
fn every_file_belongs_to_a_module() {
    let faults: Vec<String> = members().iter().flat_map(unreached).collect();
    none(&faults);
}

#[test]
fn names_say_something() {
    let mut faults = Vec::new();
    for file in rust() {
        let path = Path::new(&file.path).with_extension("");
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        if parts.iter().any(|part| EMPTY_NAMES.contains(&part.as_ref())) {
            faults.push(file.path);
        }
    }
    none(&faults);
}

#[test]
fn crates_are_named_like_their_folders() {
    let faults: Vec<String> = members()
        .iter()
        .filter(|member| {
            let last = member.folder.rsplit('/').next().unwrap_or_default();
            // The crate in the folder `cli` has the name of the binary.
            let wanted = if last == "cli" {
                "bnnc".to_string()
            } else {
                format!("bnnc-{last}")
            };
            member.name != wanted
        })
        .map(|member| format!("{} in {}", member.name, member.folder))
        .collect();
    none(&faults);
}

#[test]
fn snapshots_are_short_and_used() {
    let mut faults = Vec::new();
    for snapshot in under("", &["snap"]) {
        let content = snapshot.text.splitn(3, "---\n").nth(2);
        if content.is_none_or(|content| content.lines().count() > SNAPSHOT_LINES) {
            faults.push(format!("{} is long", snapshot.path));
        }
        if !is_used(&snapshot) {
            faults.push(format!("{} belongs to no test", snapshot.path));
        }
    }
    none(&faults);
}

/// Returns whether the test of a snapshot exists. The header and the name of the snapshot refer to
/// this test.
fn is_used(snapshot: &File) -> bool {
    let source = snapshot
        .text
        .lines()
        .find_map(|line| line.strip_prefix("source: "));
    let stem = Path::new(&snapshot.path)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let (Some(source), Some(stem)) = (source, stem) else {
        return false;
    };
    // For example, `crate__module__test-2.snap` is the second snapshot of `test`.
    let last = stem.rsplit("__").next().unwrap_or_default();
    let name = last
        .trim_end_matches(|digit: char| digit.is_ascii_digit())
        .trim_end_matches('-');
    let text = std::fs::read_to_string(bnnc_tests::root().join(source.trim_matches('"'))).unwrap_or_default();
    // A test with a table of cases names the folder of its snapshots. Such a test checks itself
    // that every snapshot has an entry in the table.
    let folder = Path::new(&snapshot.path).parent().and_then(Path::file_name);
    let folder = folder
        .map(|folder| folder.to_string_lossy().into_owned())
        .unwrap_or_default();
    let is_of_table = text.contains("set_snapshot_path") && text.contains(&format!("{folder}\""));
    text.contains(last) || text.contains(name) || is_of_table
}

#[test]
fn programs_are_formatted() {
    let mut faults = Vec::new();
    for folder in ["stdlib", "examples"] {
        for file in under(folder, &["bnn"]) {
            match formatted(&file) {
                Ok(text) if text == file.text => {}
                Ok(_) => faults.push(format!("{} is not as `bnnc fmt` writes it", file.path)),
                Err(message) => faults.push(format!("{}: {message}", file.path)),
            }
        }
    }
    none(&faults);
}

fn formatted(file: &File) -> Result<String, String> {
    let source = SourceMap::default().add(&file.path, &file.text);
    bnnc_grammar::print::format(&source).map_err(|diagnostics| {
        let messages = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str());
        messages.collect::<Vec<_>>().join("; ")
    })
}

#[test]
fn nothing_private_is_named() {
    let mut faults = Vec::new();
    let kinds = [
        "", "bnn", "json", "lalrpop", "md", "py", "rs", "sh", "snap", "toml", "yml",
    ];
    for file in under("", &kinds) {
        for (at, line) in file.text.lines().enumerate() {
            if PRIVATE.iter().any(|word| line.contains(word)) {
                faults.push(format!("{}:{}: {}", file.path, at + 1, line.trim()));
            }
        }
    }
    none(&faults);
}

/// The codes of diagnostics stand in files with the same name, so that readers find them.
#[test]
fn codes_stand_in_files_of_diagnostics() {
    let declares = |file: &File| {
        file.lines()
            .iter()
            .any(|(_, line)| line.ends_with(": Code = Code {") || *line == "codes! {")
    };
    let is_named = |path: &str| path.ends_with("/diagnostics.rs") || path.contains("/diagnostics/");
    let rust = rust();
    let files = rust.iter().filter(|file| !file.is_test() && declares(file));
    let others = files.map(|file| file.path.clone()).filter(|path| !is_named(path));
    none(&others.collect::<Vec<String>>());
}

/// Returns whether a line of code contains the name of a port as text instead of a [`PortName`].
fn names_a_port(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    PortName::ALL.iter().any(|port| {
        let text = port.text();
        let word = text.trim_start_matches('$');
        ["\"", "/"]
            .iter()
            .any(|start| code.contains(&format!("{start}{text}\"")))
            || code.contains(&format!(".param(\"{word}\""))
            || code.contains(&format!("(\"{word}\".into(),"))
    })
}

/// A user may choose any name for a parameter or a column. A port that the compiler adds must
/// therefore not be looked up by such a name.
#[test]
fn ports_are_named_by_their_type() {
    let folders = [
        "compiler/rewrite/src",
        "compiler/driver/src",
        "compiler/explore/src",
        "runtime",
    ];
    let mut faults = Vec::new();
    for file in folders.iter().flat_map(|folder| under(folder, &["rs"])) {
        // The examples of rules are functions without a model, so their parameters cannot have
        // names from a user.
        if file.is_test() || file.path.starts_with("compiler/rewrite/src/rules/") {
            continue;
        }
        let lines = file.lines();
        let faulty = lines.iter().filter(|(_, line)| names_a_port(line));
        faults.extend(faulty.map(|(at, line)| format!("{}:{at}: {}", file.path, line.trim())));
    }
    none(&faults);
}

#[test]
fn names_of_ports_are_found() {
    assert!(names_a_port("    machine.find(\"$loss\")") && names_a_port("format!(\"{state}/$gradient\")"));
    assert!(names_a_port("builder.param(\"step\", int)") && names_a_port("vec![(\"loss\".into(), loss)]"));
    assert!(!names_a_port("value[\"loss\"] = finite(loss);") && !names_a_port("// the port \"$loss\""));
}

#[test]
fn codes_are_declared_once() {
    let mut declared = BTreeMap::new();
    for file in rust().iter().filter(|file| !file.is_test()) {
        for (at, line) in file.lines() {
            if let Some(code) = line.trim().strip_prefix("id: \"E") {
                let place = format!("{}:{at}", file.path);
                declared
                    .entry(code.to_owned())
                    .or_insert_with(Vec::new)
                    .push(place);
            }
        }
    }
    declared.retain(|_, places| places.len() > 1);
    assert!(declared.is_empty(), "{declared:?}");
}

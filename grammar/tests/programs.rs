//! The sample programs can be parsed, and formatting changes only their layout.

use bnnc_base::source::SourceMap;
use bnnc_grammar::{parse, print};

fn programs() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs");
    let mut programs: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the folder of sample programs")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bnn"))
        .map(|path| {
            (
                path.display().to_string(),
                std::fs::read_to_string(&path).expect("a readable program"),
            )
        })
        .collect();
    programs.sort();
    assert!(programs.len() >= 10, "found only {} programs", programs.len());
    programs
}

#[test]
fn samples_parse() {
    for (name, text) in programs() {
        let (module, diagnostics) = parse::parse(&SourceMap::default().add(&name, &text));
        assert_eq!(diagnostics, [], "{name}");
        assert!(!module.items.is_empty(), "{name}");
    }
}

#[test]
fn formatting_keeps_the_tree_and_is_idempotent() {
    for (name, text) in programs() {
        let source = SourceMap::default().add(&name, &text);
        let formatted = print::format(&source).expect("a program without faults");
        let again = SourceMap::default().add(&name, &formatted);
        assert!(
            print::same(&parse::parse(&source).0, &parse::parse(&again).0),
            "{name}\n{formatted}"
        );
        assert_eq!(
            print::format(&again).expect("formatted programs have no faults"),
            formatted,
            "{name}"
        );
        assert!(
            formatted
                .lines()
                .all(|line| line.len() <= 110 || line.starts_with("//")),
            "{name}\n{formatted}"
        );
    }
}

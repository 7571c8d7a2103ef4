//! The layers of the workspace: the crates that each crate may import, the external libraries that
//! it may use, and the crates that must not access files.

use bnnc_tests::crates::{self, ArchitectureRow, Crate, architecture, members};
use bnnc_tests::cycles::cycles;
use bnnc_tests::files::{self, File};
use bnnc_tests::imports::{between_modules, imports};
use std::collections::{BTreeMap, BTreeSet};

/// The external libraries, each with the crates that may use it. If a name ends in `*`, it stands
/// for all names that begin with the text before the `*`.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("ariadne", &["bnnc-driver"]),
    ("bytes", &["bnnc-data"]),
    ("clap", &["bnnc", "bnnc-command", "bnnc-runner"]),
    ("clap_complete", &["bnnc"]),
    ("clap_mangen", &["bnnc"]),
    ("cranelift-*", &["bnnc-backend-cranelift"]),
    ("crc32fast", &["bnnc-run"]),
    ("csv", &["bnnc-data"]),
    ("dashu-*", &["bnnc-wmi"]),
    ("faer", &["bnnc-laplace"]),
    ("fixedbitset", &["bnnc-wmi"]),
    ("flate2", &["bnnc-data"]),
    ("hashbrown", &["bnnc-graph"]),
    ("indicatif", &["bnnc-core"]),
    ("lalrpop", &["bnnc-grammar"]),
    ("lalrpop-util", &["bnnc-grammar"]),
    ("libloading", &["bnnc-cuda"]),
    ("libm", &["bnnc-math"]),
    ("logos", &["bnnc-grammar"]),
    ("melior", &["bnnc-backend-mlir"]),
    ("mlir-sys", &["bnnc-backend-mlir"]),
    ("object", &["bnnc-object"]),
    ("once_cell", &["bnnc-data"]),
    ("parquet", &["bnnc-data"]),
    ("petgraph", &["bnnc-graph", "bnnc-hir", "bnnc-lower"]),
    ("png", &["bnnc-data"]),
    (
        "postcard",
        &[
            "bnnc-abi",
            "bnnc-core",
            "bnnc-mcmc",
            "bnnc-methods",
            "bnnc-training",
        ],
    ),
    ("region", &["bnnc-object"]),
    ("rustyline", &["bnnc"]),
    ("rustc-hash", &["bnnc-graph", "bnnc-lower"]),
    ("safetensors", &["bnnc-run", "bnnc-training"]),
    (
        "serde",
        &[
            "bnnc-abi",
            "bnnc-base",
            "bnnc-core",
            "bnnc-data",
            "bnnc-inference",
            "bnnc-laplace",
            "bnnc-mcmc",
            "bnnc-methods",
            "bnnc-run",
            "bnnc-training",
        ],
    ),
    (
        "serde_json",
        &[
            "bnnc",
            "bnnc-command",
            "bnnc-core",
            "bnnc-data",
            "bnnc-explore",
            "bnnc-inference",
            "bnnc-methods",
            "bnnc-report",
            "bnnc-run",
            "bnnc-training",
        ],
    ),
    ("signal-hook", &["bnnc-command"]),
    ("strsim", &["bnnc-base"]),
    ("zune-jpeg", &["bnnc-data"]),
];

/// The pure crates. Pure crates compute values from values, and do not access files, the terminal
/// or the network.
const PURE: &[&str] = &[
    "bnnc-base",
    "bnnc-grammar",
    "bnnc-graph",
    "bnnc-hir",
    "bnnc-rewrite",
    "bnnc-loops",
    "bnnc-lower",
];

/// Names that must not occur in a pure crate.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "print!(",
    "println!(",
    "eprint!(",
    "eprintln!(",
];

/// The crate of these tests. This crate may import every other crate, but the other crates must not
/// import it.
const TESTS: &str = "bnnc-tests";

#[test]
fn every_edge_is_in_the_table() {
    let members = members();
    let faults = forbidden_edges(&members, &architecture());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn forbidden_edges(members: &[Crate], table: &[ArchitectureRow]) -> Vec<String> {
    let inside: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut faults = Vec::new();
    for member in members.iter().filter(|member| member.name != TESTS) {
        let Some(row) = table.iter().find(|row| row.name == member.name) else {
            faults.push(format!("{} has no row in compiler/ARCHITECTURE.md", member.name));
            continue;
        };
        for dependency in &member.dependencies {
            let allowed = if inside.contains(dependency.as_str()) {
                row.imports.contains(dependency)
            } else {
                may_use(&member.name, dependency)
            };
            if !allowed {
                faults.push(format!("{} may not import {dependency}", member.name));
            }
        }
    }
    faults
}

fn may_use(importer: &str, library: &str) -> bool {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => library.starts_with(prefix),
        None => pattern == library,
    };
    OUTSIDE
        .iter()
        .any(|(pattern, importers)| matches(pattern) && importers.contains(&importer))
}

#[test]
fn forbidden_edges_are_found() {
    let table = crates::rows(
        "| crate | folder | may import |\n|---|---|---|\n| bnnc-base | `base` | nothing |\n| bnnc-run | `run` | base |\n",
    );
    let member = |name: &str, dependencies: &[&str]| Crate {
        name: name.to_string(),
        folder: String::new(),
        dependencies: dependencies.iter().map(|name| name.to_string()).collect(),
    };
    let members = [
        member("bnnc-base", &["bnnc-run"]),
        member("bnnc-run", &["bnnc-base", "serde", "ariadne"]),
        member("bnnc-other", &[]),
    ];
    assert_eq!(
        forbidden_edges(&members, &table),
        [
            "bnnc-base may not import bnnc-run",
            "bnnc-run may not import ariadne",
            "bnnc-other has no row in compiler/ARCHITECTURE.md",
        ]
    );
}

#[test]
fn the_table_names_existing_crates() {
    let members = members();
    let table = architecture();
    assert!(table.len() > 10, "the table of crates was not found");
    for row in &table {
        let member = members.iter().find(|member| member.name == row.name);
        assert!(
            member.is_some_and(|member| member.folder == row.folder),
            "{} is not a crate in {}",
            row.name,
            row.folder
        );
        for import in &row.imports {
            assert!(
                table.iter().any(|row| row.name == *import),
                "{} imports {import}, which is no crate",
                row.name
            );
        }
    }
}

#[test]
fn the_table_has_no_cycle() {
    let table = architecture();
    let mut below: BTreeMap<&str, &ArchitectureRow> =
        table.iter().map(|row| (row.name.as_str(), row)).collect();
    while !below.is_empty() {
        let leaves: Vec<&str> = below
            .values()
            .filter(|row| {
                !row.imports
                    .iter()
                    .any(|import| below.contains_key(import.as_str()))
            })
            .map(|row| row.name.as_str())
            .collect();
        assert!(!leaves.is_empty(), "a cycle among {:?}", below.keys());
        below.retain(|name, _| !leaves.contains(name));
    }
}

#[test]
fn one_file_renders_diagnostics() {
    let naming = |file: &File| {
        file.lines().iter().any(|(_, line)| {
            let code = line.split("//").next().unwrap_or_default();
            code.contains("ariadne::") || code.contains("extern crate ariadne")
        })
    };
    let files: Vec<String> = members()
        .iter()
        .filter(|member| member.name != TESTS)
        .flat_map(|member| files::under(&member.folder, &["rs"]))
        .filter(naming)
        .map(|file| file.path)
        .collect();
    assert_eq!(files, ["compiler/driver/src/render.rs"]);
}

#[test]
fn pure_crates_do_not_name_files_or_terminals() {
    let members = members();
    let mut faults = Vec::new();
    for member in members
        .iter()
        .filter(|member| PURE.contains(&member.name.as_str()))
    {
        for file in files::under(&format!("{}/src", member.folder), &["rs"]) {
            if file.is_test() {
                continue;
            }
            for (at, line) in file.lines() {
                let code = line.split("//").next().unwrap_or_default();
                for word in IMPURE.iter().filter(|word| code.contains(**word)) {
                    faults.push(format!("{}:{at} names {word}", file.path));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        PURE.iter()
            .all(|name| members.iter().any(|member| member.name == *name))
    );
}

/// The source folder of the crate with the inference methods. The root of this crate has one module
/// for each method. Methods that share an engine share a module.
const METHODS: &str = "runtime/methods/src";

#[test]
fn no_method_imports_another() {
    let imports = imports(METHODS);
    assert!(imports.len() > 100, "{} imports were found", imports.len());
    let faults = between_modules(&imports);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The largest number of imports inside a crate that may point upwards, from a file to a file that
/// needs it. The files of most crates are in layers. The few cycles are between types that refer to
/// each other, such as the record of an op and the function that contains the op.
const MOST_UPWARD: usize = 5;

#[test]
fn the_files_of_a_crate_are_in_layers() {
    let mut faults = Vec::new();
    for member in members() {
        let cycles = cycles(&format!("{}/src", member.folder));
        let upward: usize = cycles.iter().map(|cycle| cycle.upward).sum();
        if upward > MOST_UPWARD {
            let cycles: Vec<String> = cycles.iter().map(|cycle| cycle.files.join(" ")).collect();
            let name = &member.name;
            faults.push(format!(
                "{upward} imports point upwards in {name}, in the cycles\n{}",
                cycles.join("\n")
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

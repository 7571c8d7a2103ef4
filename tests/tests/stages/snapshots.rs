//! Snapshots of the source of a program, and of each stage that the first line of the source names.
//! The snapshots are in `tests/stages/snapshots`.
//!
//! The command `INSTA_UPDATE=always cargo test -p bnnc-tests --test stages` rewrites them.

use super::{emitted, files, folder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The largest number of lines of a snapshot. A reader can read a snapshot of this size as a whole.
const LONGEST: usize = 40;

/// Returns the stages that the first line of a program names, such as `// graph, loss`.
fn stages(text: &str) -> Vec<&str> {
    let first = text.lines().next().unwrap();
    let names = first.trim_start_matches(['/', '#', ' ']);
    names.split(", ").collect()
}

/// Returns the part of a stage's text that a snapshot shows. For a graph, the excerpt consists of
/// the density functions that have nodes. For machine code, it consists of the bodies of loops. The
/// text around these loops is the same in all kernels.
fn excerpt(stage: &str, text: &str) -> String {
    match stage {
        "clif" => text
            .split("\n\n")
            .filter(|block| is_loop(block))
            .map(|block| format!("{block}\n"))
            .collect(),
        "mlir" => {
            let is_end = |line: &&str| line.trim() != "llvm.return";
            let kernel = text.lines().skip_while(|line| !line.contains("scf.if"));
            kernel
                .take_while(is_end)
                .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
                .collect()
        }
        // Functions without nodes are left out.
        "density" | "split" => text
            .split_inclusive("\n}\n")
            .filter(|function| !function.ends_with("{\n}\n"))
            .collect(),
        _ => text.to_owned(),
    }
}

/// Returns whether a block of Cranelift code branches to itself.
fn is_loop(block: &str) -> bool {
    let name = block.trim_start().split('(').next().unwrap_or_default();
    block
        .lines()
        .skip(1)
        .any(|line| line.contains("brif") && line.contains(&format!("{name}(")))
}

fn name(path: &Path, stage: &str) -> String {
    format!("{}.{stage}", path.file_stem().unwrap().display())
}

fn all() -> Vec<PathBuf> {
    [files("bnn"), files("graph")].concat()
}

#[test]
fn stages_match_their_snapshots() {
    let mut long = Vec::new();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in all() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, source) = text.split_once('\n').unwrap();
        for stage in stages(&text) {
            let name = name(&path, stage);
            let printed =
                emitted(&path, &text, stage).unwrap_or_else(|failure| panic!("{name}: {failure:#?}"));
            let snapshot = format!("{source}---- {stage}\n{}", excerpt(stage, &printed));
            if snapshot.lines().count() > LONGEST {
                long.push(format!("{name}: {} lines", snapshot.lines().count()));
            }
            settings.bind(|| insta::assert_snapshot!(name, snapshot));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// If a program or a stage no longer exists, its snapshots must be deleted.
#[test]
fn every_snapshot_has_its_program() {
    let programs = all().into_iter().flat_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let names: Vec<String> = stages(&text).iter().map(|stage| name(&path, stage)).collect();
        names
    });
    let programs: BTreeSet<String> = programs.collect();
    let snapshots = std::fs::read_dir(folder().join("snapshots")).unwrap();
    let snapshots = snapshots.map(|entry| entry.unwrap().path().file_stem().unwrap().display().to_string());
    let snapshots: BTreeSet<String> = snapshots.collect();
    assert_eq!(snapshots, programs);
    assert!(programs.len() >= 150, "{}", programs.len());
}

#[test]
fn programs_show_one_thing() {
    for path in files("bnn") {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() <= 13, "{}", path.display());
    }
}

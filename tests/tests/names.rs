//! The rules of names: each public type has a unique name, and values that are passed together have a type.

use bnnc_tests::crates::members;
use bnnc_tests::files::{File, under};
use bnnc_tests::items::{public_types, wide_patterns};
use std::collections::{BTreeMap, BTreeSet};

/// Names that several public types share, with their number. The list may only shrink: a number that is too high must be lowered, and an
/// entry that is not needed any more must be removed.
const SHARED: &[(&str, usize)] = &[
    ("Arena", 2),
    ("Arguments", 4),
    ("Array", 2),
    ("Axis", 2),
    ("Binding", 2),
    ("Block", 4),
    ("Body", 3),
    ("Bound", 2),
    ("Call", 4),
    ("Chain", 2),
    ("Check", 3),
    ("Classes", 2),
    ("Code", 2),
    ("Column", 4),
    ("Command", 2),
    ("Compare", 2),
    ("Comprehension", 2),
    ("Context", 4),
    ("Curvature", 2),
    ("Curve", 2),
    ("Decided", 3),
    ("Device", 2),
    ("Dim", 3),
    ("Draws", 4),
    ("Earlier", 2),
    ("Effort", 2),
    ("Elaborated", 2),
    ("Entry", 4),
    ("Estimate", 5),
    ("Evaluation", 3),
    ("Expr", 2),
    ("ExprKind", 2),
    ("Extent", 4),
    ("Facts", 2),
    ("Failure", 3),
    ("Fault", 3),
    ("Fitted", 2),
    ("Form", 4),
    ("Format", 2),
    ("Found", 3),
    ("Function", 3),
    ("Given", 3),
    ("Held", 2),
    ("Index", 2),
    ("Infer", 2),
    ("Integrated", 2),
    ("Iterates", 2),
    ("Kind", 3),
    ("Labels", 3),
    ("Layout", 3),
    ("LeaveOneOut", 2),
    ("Line", 3),
    ("Linear", 3),
    ("Local", 4),
    ("Measure", 3),
    ("Member", 2),
    ("Metric", 3),
    ("Model", 3),
    ("Module", 3),
    ("Moments", 2),
    ("Names", 3),
    ("Noise", 5),
    ("Normals", 2),
    ("Number", 2),
    ("Op", 2),
    ("Operand", 2),
    ("Options", 7),
    ("Outcome", 3),
    ("Param", 2),
    ("Parameter", 2),
    ("Part", 6),
    ("Place", 6),
    ("Posterior", 4),
    ("Program", 3),
    ("Real", 2),
    ("Refusal", 3),
    ("Report", 2),
    ("Request", 3),
    ("Role", 2),
    ("Row", 3),
    ("Rows", 2),
    ("Rule", 2),
    ("Said", 2),
    ("Sample", 2),
    ("Sampled", 2),
    ("Sampler", 2),
    ("Scalar", 2),
    ("Scene", 2),
    ("Schedule", 3),
    ("Search", 2),
    ("Session", 3),
    ("Setting", 2),
    ("Shape", 2),
    ("Site", 2),
    ("Size", 2),
    ("Slot", 2),
    ("Source", 3),
    ("Step", 3),
    ("Stmt", 2),
    ("Store", 3),
    ("Summary", 3),
    ("Table", 3),
    ("Target", 3),
    ("Term", 5),
    ("Traffic", 2),
    ("Trained", 2),
    ("Tuned", 2),
    ("Type", 2),
    ("Values", 3),
    ("Variable", 2),
    ("Wanted", 3),
    ("Windows", 2),
    ("Work", 3),
];

#[test]
fn parameters_that_go_together_have_names() {
    let of_file = |file: &File| {
        let line = |pattern| format!("{}: {pattern:?}", file.path);
        wide_patterns(&file.text)
            .into_iter()
            .map(line)
            .collect::<Vec<String>>()
    };
    let faults: Vec<String> = under("", &["rs"]).iter().flat_map(of_file).collect();
    assert!(
        faults.is_empty(),
        "a tuple of three and more in a parameter is a struct without names:\n{}",
        faults.join("\n")
    );
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in members() {
        for file in under(&format!("{}/src", member.folder), &["rs"]) {
            if !file.is_test() {
                for name in public_types(&file) {
                    places.entry(name).or_default().push(file.path.clone());
                }
            }
        }
    }
    assert!(places.len() > 500, "{} types were found", places.len());
    let allowed: BTreeMap<&str, usize> = SHARED.iter().copied().collect();
    let names: BTreeSet<&str> = places
        .iter()
        .filter(|(_, paths)| paths.len() > 1)
        .map(|(name, _)| name.as_str())
        .chain(allowed.keys().copied())
        .collect();
    let fault = |name: &str| {
        let paths = places.get(name).map_or(&[][..], Vec::as_slice);
        let (found, allowed) = (paths.len(), allowed.get(name).copied().unwrap_or(1));
        match found {
            _ if found > allowed => Some(format!("{name} is declared in {}", paths.join(", "))),
            _ if found < allowed => Some(format!(
                "{name} has {found} types and not {allowed}: mend the list"
            )),
            _ => None,
        }
    };
    let faults: Vec<String> = names.into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_list_of_shared_names_is_sorted() {
    for pair in SHARED.windows(2) {
        assert!(
            pair[0].0 < pair[1].0,
            "`{}` stands before `{}`",
            pair[0].0,
            pair[1].0
        );
    }
    for (name, count) in SHARED {
        assert!(*count > 1, "`{name}` needs no entry");
    }
}

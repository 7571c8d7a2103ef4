//! The rules of names: each public type has a name of its own, and values that are passed together have a type.

use bnnc_tests::crates::members;
use bnnc_tests::files::{File, under};
use bnnc_tests::items::{public_types, wide_patterns};
use std::collections::{BTreeMap, BTreeSet};

/// Names that several public types share, with their number. The list may only shrink: a number that is too high must be lowered, and an
/// entry that is not needed any more must be removed.
const SHARED: &[(&str, usize)] = &[];

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

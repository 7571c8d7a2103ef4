//! Two rules about names: each public type has its own name, and values that are passed together
//! have a type.

use bnnc_tests::crates::members;
use bnnc_tests::files::{File, under};
use bnnc_tests::items::{public_types, wide_patterns};
use std::collections::BTreeMap;

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
    let fault = |(name, paths): (String, Vec<String>)| {
        (paths.len() > 1).then(|| format!("{name} is declared in {}", paths.join(", ")))
    };
    let faults: Vec<String> = places.into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

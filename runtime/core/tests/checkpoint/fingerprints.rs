//! Tests fingerprints and checksums.

use crate::{DRAWS, expected, folder, killed_late, resume};
use bnnc_abi::data::{DataSpec, Format};
use bnnc_abi::manifest::Manifest;
use bnnc_base::checksum::Checksum;
use bnnc_base::source::{SourceId, Span};
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::sources::Sources;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

#[test]
fn a_garbled_fingerprint_is_an_error() {
    let out = folder("print");
    killed_late(&out);
    let path = out.join("checkpoint").join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    for length in 0..text.len() {
        fs::write(&path, &text[..length]).unwrap();
        assert_eq!(resume(&out), Err("E0510"), "cut at {length}");
    }
    fs::remove_file(&path).unwrap();
    assert!(!Checkpoint::is_in(&out));
    assert_eq!(resume(&out).unwrap(), expected(DRAWS), "without one it begins");
}

fn spec(file: &Path) -> DataSpec {
    let span = Span::new(SourceId(0), 0, 0);
    DataSpec::new("rows", span, Format::Csv, vec![file.to_path_buf()])
}

#[test]
fn a_fingerprint_changes_with_the_data() {
    let file = folder("data").join("rows.csv");
    let of = |text: &str, seed: u64| {
        fs::write(&file, text).unwrap();
        let manifest = Manifest {
            program: "program.bnn".to_owned(),
            seed,
            backend: "cranelift".to_owned(),
            data: vec![spec(&file)],
            infers: Vec::new(),
            compares: Vec::new(),
            schemas: HashMap::new(),
        };
        Fingerprint::of(&manifest, &Sources::default()).unwrap()
    };
    let then = of("x,y\n1,2\n", 1);
    assert!(then.differences(&of("x,y\n1,2\n", 1)).is_empty());
    let now = then.differences(&of("x,y\n1,3\n", 1));
    assert_eq!(now, ["`rows.csv` of `rows` has changed"]);
    assert_eq!(
        then.differences(&of("x,y\n1,2\n", 9)),
        ["the seed: 1 in the earlier run, 9 now"]
    );
    // A missing data file is an error.
    fs::remove_file(&file).unwrap();
    let manifest = Manifest {
        program: String::new(),
        seed: 0,
        backend: String::new(),
        data: vec![spec(&file)],
        infers: Vec::new(),
        compares: Vec::new(),
        schemas: HashMap::new(),
    };
    assert!(Fingerprint::of(&manifest, &Sources::default()).is_err());
}

/// The expected checksums are the test vectors that Fowler, Noll and Vo published for 64-bit
/// FNV-1a.
#[test]
fn checksums_are_the_published_ones() {
    assert_eq!(Checksum::of(b"").value(), 0xcbf2_9ce4_8422_2325);
    assert_eq!(Checksum::of(b"a").value(), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(Checksum::of(b"foobar").value(), 0x8594_4171_f739_67e8);
}

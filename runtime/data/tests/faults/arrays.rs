//! Errors in files of arrays: NPY, IDX, CIFAR and JSON.

use crate::folder::{Folder, idx, npy, reported, spec};
use crate::{check, faults};
use bnnc_abi::data::Format;
use bnnc_data::LoadedData;

#[test]
fn malformed_npy_and_idx_files_are_rejected() {
    let npy_fault = |bytes: Vec<u8>| {
        let folder = Folder::new();
        let target = folder.file("y.npy", npy("|u1", false, "(2,)", &[0, 1]));
        faults(&spec(Format::Npy, &[&folder.file("x.npy", bytes), &target]))
    };
    let huge = npy("<f8", false, "(1000000000000,)", &[]);
    assert_eq!(
        npy_fault(huge),
        ["E0412 x.npy:0:0 the header states 8000000000000 bytes of data, found 0"]
    );
    let overflow = npy("<f8", false, "(4294967296, 4294967296)", &[]);
    assert_eq!(
        npy_fault(overflow),
        ["E0412 x.npy:0:0 the header states more than 2^64 bytes of data, found 0"]
    );
    assert_eq!(
        npy_fault(npy("|O", false, "(2,)", &[0; 16])),
        ["E0413 x.npy:0:0 the npy type `|O` cannot be read"]
    );
    let three = npy("|u1", false, "(3,)", &[1, 2, 3]);
    assert_eq!(
        npy_fault(three),
        ["E0416 y.npy:0:0 expected 3 rows as in `x.npy`, found 2"]
    );
    let text = npy_fault(b"x,y\n1,2\n".to_vec());
    assert_eq!(
        text,
        ["E0411 x.npy:0:0 not a valid npy file: expected it to start with the bytes 93 NUMPY"]
    );
    let nan: Vec<u8> = [1.0, f64::NAN]
        .iter()
        .flat_map(|x: &f64| x.to_le_bytes())
        .collect();
    assert_eq!(
        npy_fault(npy("<f8", false, "(2,)", &nan)),
        ["E0409 x.npy:2:0 expected a finite number, found `NaN`"]
    );

    let one = check(Format::Idx, "x.gz", idx(&[2], &[1, 2]));
    assert_eq!(
        one,
        ["E0415 x.gz:0:0 `idx` data need pairs of files, found 1 file"]
    );
    let idx_fault = |bytes: Vec<u8>| {
        let folder = Folder::new();
        faults(&spec(
            Format::Idx,
            &[&folder.file("x", bytes), &folder.file("y", idx(&[1], &[0]))],
        ))
    };
    let short = idx_fault(idx(&[4_000_000_000, 28, 28], &[0; 8]));
    assert_eq!(
        short,
        ["E0412 x:0:0 the header states 3136000000000 bytes of data, found 8"]
    );
    assert_eq!(
        idx_fault(vec![0, 0, 8, 3, 0, 0]),
        ["E0411 x:0:0 not a valid idx file: expected the sizes of 3 axes, found the end"]
    );
    assert_eq!(
        idx_fault(vec![0, 0, 7, 1, 0, 0, 0, 0]),
        ["E0413 x:0:0 the idx type 0x07 cannot be read"]
    );
}

#[test]
fn malformed_cifar_files_are_rejected() {
    let mut two = vec![0; 2 * 3073];
    assert_eq!(
        check(Format::Cifar, "b.bin", &two[1..]),
        [
            "E0411 b.bin:0:0 not a valid cifar file: expected records of 3073 bytes (CIFAR-10) or 3074 bytes (CIFAR-100), found 6145 bytes"
        ]
    );
    two[3073] = 10;
    assert_eq!(
        check(Format::Cifar, "b.bin", &two),
        ["E0411 b.bin:2:0 not a valid cifar file: 10 is not a label of CIFAR-10"]
    );
    let mut fine = vec![0; 3074];
    fine[1] = 100;
    assert_eq!(
        check(Format::Cifar, "train.bin", &fine),
        ["E0411 train.bin:1:0 not a valid cifar file: 100 is not a label of CIFAR-100"]
    );
    assert_eq!(
        check(Format::Cifar, "b.bin", [])[0].split(' ').next(),
        Some("E0405")
    );
    let folder = Folder::new();
    two[3073] = 9;
    let file = folder.file("b.bin", &two);
    let most = LoadedData::read_within(&spec(Format::Cifar, &[&file]), Some(10_000)).unwrap_err();
    assert!(most[0].message.contains("memory"), "{}", reported(&most[0]));
}

/// The first axis counts rows, so element 5 of an array of shape (2, 3) is in the second row.
#[test]
fn numbers_that_are_not_finite_are_named_by_their_indices() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..6)
        .map(|at| if at == 5 { f64::INFINITY } else { f64::from(at) })
        .flat_map(f64::to_le_bytes)
        .collect();
    let files = [
        folder.file("x.npy", npy("<f8", false, "(2, 3)", &bytes)),
        folder.file("y.npy", npy("|u1", false, "(2,)", &[0, 1])),
    ];
    let fault = &LoadedData::read(&spec(Format::Npy, &[&files[0], &files[1]])).unwrap_err()[0];
    assert_eq!(
        reported(fault),
        "E0409 x.npy:2:0 expected a finite number, found `inf`"
    );
    assert!(fault.label.contains("[1, 2]"), "{}", fault.label);
}

#[test]
fn empty_files_and_arrays_are_named() {
    for (format, name) in [
        (Format::Csv, "t.csv"),
        (Format::Json, "t.json"),
        (Format::Parquet, "t.parquet"),
        (Format::Cifar, "t.bin"),
    ] {
        assert_eq!(
            check(format, name, []),
            [format!("E0405 {name}:0:0 the file is empty")]
        );
    }
    let folder = Folder::new();
    let labels = folder.file("y", npy("|u1", false, "(0,)", &[]));
    for (format, bytes, text) in [
        (Format::Npy, Vec::new(), "the file is empty"),
        (Format::Idx, Vec::new(), "the file is empty"),
        (
            Format::Npy,
            npy("|u1", false, "(0, 3)", &[]),
            "the array has the shape (0, 3), so it is empty",
        ),
        (
            Format::Npy,
            npy("|u1", false, "()", &[7]),
            "the array is a single number, without an axis of rows",
        ),
    ] {
        let inputs = folder.file("x", bytes);
        let found = faults(&spec(format, &[&inputs, &labels]));
        assert_eq!(found[0], format!("E0405 x:0:0 {text}"));
    }
}

#[test]
fn files_that_do_not_come_in_pairs_are_counted() {
    let folder = Folder::new();
    let file = folder.file("x.npy", npy("|u1", false, "(1,)", &[7]));
    let found = faults(&spec(Format::Npy, &[&file, &file, &file]));
    assert_eq!(
        found,
        ["E0415 x.npy:0:0 `npy` data need pairs of files, found 3 files"]
    );
}

#[test]
fn images_with_other_axes_are_not_joined() {
    let folder = Folder::new();
    let pair = |name: &str, shape: &str| {
        [
            folder.file(&format!("x{name}.npy"), npy("|u1", false, shape, &[0; 12])),
            folder.file(&format!("y{name}.npy"), npy("|u1", false, "(1,)", &[0])),
        ]
    };
    let [first, last] = [pair("a", "(1, 3, 2, 2)"), pair("b", "(1, 2, 2, 3)")];
    assert_eq!(
        faults(&spec(Format::Npy, &[&first[0], &first[1], &last[0], &last[1]])),
        ["E0417 xb.npy:0:0 expected [3, 2, 2] in `inputs` as in `xa.npy`, found [2, 2, 3]"]
    );
}

#[test]
fn malformed_json_is_rejected() {
    let check = |text: &str| check(Format::Json, "d.json", text);
    assert_eq!(
        check(r#"{"X": [[1, 2], [3]]}"#),
        ["E0414 d.json:0:0 expected 2 elements at `X[1]`, found 1"]
    );
    let deep = r#"{"X": [[1, 2], [3, 4], [5, 6], [7, [8]]]}"#;
    assert_eq!(
        check(deep),
        ["E0414 d.json:0:0 expected a single value, found a list at `X[3][1]`"]
    );
    assert_eq!(
        check(r#"{"x": [1, null]}"#),
        ["E0414 d.json:0:0 expected a value, found null at `x[1]`"]
    );
    assert_eq!(
        check(r#"{"x": [1, "a"]}"#),
        ["E0414 d.json:0:0 expected a number, found text at `x[1]`"]
    );
    assert_eq!(
        check(r#"{"x": {}}"#),
        ["E0414 d.json:0:0 expected a value or a list, found an object at `x`"]
    );
    assert_eq!(
        check(r#"{"x": []}"#),
        ["E0414 d.json:0:0 expected at least one element, found an empty list at `x`"]
    );
    assert_eq!(
        check("[1, 2]"),
        ["E0411 d.json:1:0 not a valid json file: invalid type: sequence, expected an object of arrays"]
    );
    assert_eq!(
        check("{\"x\": [1,\n 2,]}"),
        ["E0411 d.json:2:4 not a valid json file: trailing comma"]
    );
    assert_eq!(
        check(r#"{"x": 1, "y": 2, "x": 3}"#),
        ["E0407 d.json:0:0 two columns are named `x`"]
    );
    assert_eq!(check("{}"), ["E0405 d.json:0:0 the file has no values"]);
    let nested = format!("{{\"x\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(
        check(&nested),
        ["E0411 d.json:1:133 not a valid json file: recursion limit exceeded"]
    );
}

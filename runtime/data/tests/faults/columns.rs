//! Errors in the columns, splits and options of a data item.

use crate::faults;
use crate::folder::{Folder, apply, name, reported, spec};
use bnnc_abi::data::{DataSpec, Format, Test};
use bnnc_data::{CODES, LoadedData};

#[test]
fn wrong_columns_and_expressions_are_rejected() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "age,city,y\n1,a,2\n0,b,3\n");
    let with = |inputs, target| {
        let spec = DataSpec {
            inputs,
            target,
            ..spec(Format::Csv, &[&file])
        };
        let found = LoadedData::read(&spec).unwrap_err();
        assert!(
            found.iter().all(|fault| fault.labels.len() == 1),
            "no place in the program: {found:?}"
        );
        found.iter().map(reported).collect::<Vec<_>>()
    };
    assert_eq!(
        with(vec![name("agee"), name("sex")], None),
        [
            "E0419 t.csv:1:0 unknown column `agee`",
            "E0419 t.csv:1:0 unknown column `sex`"
        ]
    );
    let log = apply("log", vec![name("age")]);
    assert_eq!(
        with(vec![log.clone()], None),
        ["E0423 t.csv:3:0 `log(age)` is not a finite number"]
    );
    assert_eq!(
        with(vec![], Some(log)),
        ["E0423 t.csv:3:0 `log(age)` is not a finite number"]
    );
    let sine = apply("sine", vec![name("age")]);
    assert_eq!(
        with(vec![sine], None),
        ["E0422 t.csv:0:0 `sine` is not a function of columns"]
    );
    let score = apply("zscore", vec![name("y")]);
    let expected = ["E0422 t.csv:0:0 a target cannot use `zscore`"];
    assert_eq!(with(vec![], Some(score)), expected);
    let mut classes = DataSpec {
        target: Some(name("city")),
        ..spec(Format::Csv, &[&file])
    };
    classes.standardise_target = true;
    assert_eq!(
        faults(&classes),
        ["E0429 t.csv:0:0 the target `city` holds classes and cannot be standardised"]
    );
    let matrix = folder.file(
        "d.json",
        r#"{"X": [[1, 2], [3, 4]], "y": [1, 2], "k": 3, "z": [1, 2, 3]}"#,
    );
    let json = |input| {
        let base = spec(Format::Json, &[&matrix]);
        faults(&DataSpec {
            inputs: vec![input],
            target: Some(name("y")),
            ..base
        })
    };
    let expected = ["E0421 d.json:0:0 `X` cannot be used as a column: it has 2 numbers per example"];
    assert_eq!(json(apply("exp", vec![name("X")])), expected);
    assert_eq!(
        json(name("k")),
        ["E0421 d.json:0:0 `k` cannot be used as a column: it is one value, which all rows share"]
    );
    assert_eq!(
        json(name("z")),
        ["E0421 d.json:0:0 `z` cannot be used as a column: its length is 3, but there are 2 rows"]
    );
}

#[test]
fn wrong_splits_and_options_are_rejected() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "x,y\n1,2\n3,4\n5,6\n");
    let base = spec(Format::Csv, &[&file]);
    let splits = |text: &str, split| {
        let test = Test::Splits {
            file: folder.file("s.json", text),
            split,
        };
        faults(&DataSpec { test, ..base.clone() })
    };
    let of = |test: &str| splits(&format!(r#"{{"n_rows": 3, "test": {test}}}"#), None);
    assert_eq!(
        of("[[0], [3]]"),
        ["E0424 s.json:0:0 split 1: expected rows from 0 to 2, found 3"]
    );
    assert_eq!(of("[[1, 1]]"), ["E0424 s.json:0:0 split 0: row 1 occurs twice"]);
    assert_eq!(of("[[]]"), ["E0424 s.json:0:0 split 0: it has no test rows"]);
    let rows = splits(r#"{"n_rows": 308, "test": [[0]]}"#, None);
    assert_eq!(
        rows,
        ["E0424 s.json:0:0 expected splits of 3 rows, found splits of 308"]
    );
    let range = splits(r#"{"n_rows": 3, "n_splits": 1, "test": [[0]]}"#, Some(20));
    assert_eq!(range, ["E0425 s.json:0:0 expected a split below 1, found 20"]);
    let form = splits(r#"{"n_rows": 3}"#, None);
    assert_eq!(
        form,
        ["E0424 s.json:0:0 not a valid split file: missing field `test` at line 1 column 13"]
    );
    let fraction = faults(&DataSpec {
        test: Test::Fraction(1.5),
        ..base.clone()
    });
    assert_eq!(
        fraction,
        ["E0426 t.csv:0:0 expected `test` above 0 and below 1, found 1.5"]
    );
    let validation = faults(&DataSpec {
        validation: 0.5,
        limit: Some(1),
        ..base.clone()
    });
    assert_eq!(
        validation,
        ["E0427 t.csv:0:0 the table has 3 rows, and no training rows are left"]
    );
    let scale = faults(&DataSpec {
        scale: f64::NAN,
        ..base
    });
    assert_eq!(
        scale,
        ["E0426 t.csv:0:0 expected `scale` finite and not zero, found NaN"]
    );
}

#[test]
fn levels_without_a_training_row_are_rejected() {
    let folder = Folder::new();
    let mut spec = spec(Format::Csv, &[&folder.file("a.csv", "x,y\n1,cat\n2,dog\n")]);
    spec.test = Test::Files(vec![folder.file("t.csv", "x,y\n1,dog\n2,cow\n")]);
    assert_eq!(
        faults(&spec),
        ["E0428 t.csv:3:0 the level `cow` occurs in the test rows but not in the training rows"]
    );
    // A text column that is not the target is an error only if a program binds this column.
    spec.target = Some(name("x"));
    let data = LoadedData::read(&spec)
        .and_then(|source| source.dataset(0, 1))
        .unwrap();
    assert_eq!(data.train.ints("y"), Ok(vec![0, 1]));
    assert_eq!(data.test.ints("y").unwrap_err().code.id, "E0428");
}

#[test]
fn codes_are_in_order_and_explained() {
    let ids: Vec<&str> = CODES.iter().map(|code| code.id).collect();
    let expected: Vec<String> = (1..=CODES.len()).map(|i| format!("E04{i:02}")).collect();
    assert_eq!(ids, expected);
    assert!(
        CODES
            .iter()
            .all(|code| code.explain.len() > 80 && !code.title.is_empty())
    );
}

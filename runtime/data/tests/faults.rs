//! Each invalid data file is rejected with one short, exact message.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::data::{DataSpec, Format, Test};
use bnnc_data::{CODES, LoadedData};
use folder::{Folder, apply, idx, name, npy, parquet, reported, spec, texts};
use std::path::Path;

/// Returns the diagnostics of one file.
fn check(format: Format, file: &str, bytes: impl AsRef<[u8]>) -> Vec<String> {
    let folder = Folder::new();
    faults(&spec(format, &[&folder.file(file, bytes)]))
}

fn faults(spec: &DataSpec) -> Vec<String> {
    let found = LoadedData::read(spec).and_then(|source| source.dataset(0, 1).map(|_| ()));
    let found = found.expect_err("the data are accepted");
    assert!(
        found.iter().all(|fault| !fault.help.is_empty()),
        "no help: {found:?}"
    );
    found.iter().map(reported).collect()
}

#[test]
fn csv_errors_have_a_row_and_a_column() {
    let check = |text: &str| check(Format::Csv, "t.csv", text);
    assert_eq!(
        check("x,y\n1,2\n,3\n"),
        ["E0408 t.csv:3:1 expected a value, found none"]
    );
    assert_eq!(
        check("x,y\n1,2\n3,NaN\n"),
        ["E0409 t.csv:3:2 expected a finite number, found `NaN`"]
    );
    assert_eq!(
        check("x\n1e999\n"),
        ["E0409 t.csv:2:1 expected a finite number, found `1e999`"]
    );
    assert_eq!(
        check("x\n1\n-inf\n"),
        ["E0409 t.csv:3:1 expected a finite number, found `-inf`"]
    );
    assert_eq!(
        check("x,y\n1,2\n\n3\n"),
        ["E0406 t.csv:4:0 expected 2 cells as in the header, found 1"]
    );
    assert_eq!(
        check("x,y\n1,2,3\n"),
        ["E0406 t.csv:2:0 expected 2 cells as in the header, found 3"]
    );
    assert_eq!(
        check("x,y,x\n1,2,3\n"),
        ["E0407 t.csv:1:3 two columns are named `x`"]
    );
    assert_eq!(
        check("x\nNA\n1\n"),
        ["E0408 t.csv:2:1 expected a value, found `NA`, which marks a missing value"]
    );
    assert_eq!(
        check("x\n1\nNA\n"),
        ["E0408 t.csv:3:1 expected a value, found `NA`, which marks a missing value"]
    );
    let semicolons = "E0411 t.csv:1:0 not a valid csv file: expected commas between cells, found semicolons";
    assert_eq!(check("x;y\n1,5;2\n"), [semicolons]);
    assert_eq!(check("x,\n1,2\n"), ["E0407 t.csv:1:2 the column has no name"]);
    assert_eq!(check("x,y\n"), ["E0405 t.csv:0:0 the file has no rows"]);
    assert_eq!(check(""), ["E0405 t.csv:0:0 the file is empty"]);
    assert_eq!(
        check("1,2\n3,4\n"),
        ["E0433 t.csv:1:0 expected a header line with column names, found numbers"]
    );
    assert_eq!(
        check("x,y\n1,2\n1,2;5\n"),
        ["E0410 t.csv:3:2 expected a number, found `2;5`"]
    );
}

#[test]
fn csv_of_other_tools_is_rejected_with_advice() {
    let check = |text: &str| check(Format::Csv, "t.csv", text);
    assert_eq!(
        check(",x,y\n0,1,2\n"),
        ["E0407 t.csv:1:1 the first column has no name"]
    );
    assert_eq!(
        check("# made by hand\nx,y\n1,2\n"),
        ["E0433 t.csv:1:0 expected a header line with column names, found a comment"]
    );
}

/// The reader must find names in constant time. With linear searches, 40,000 columns took 25 s, and
/// this table of 100,000 columns took more than a minute.
#[test]
fn wide_tables_are_read_in_linear_time() {
    let names: Vec<String> = (0..100_000).map(|at| format!("x{at}")).collect();
    let cells: Vec<String> = (0..100_000).map(|at| (at % 7).to_string()).collect();
    let row = cells.join(",");
    let folder = Folder::new();
    let file = folder.file("wide.csv", format!("{}\n{row}\n{row}\n", names.join(",")));
    let clock = std::time::Instant::now();
    let source = LoadedData::read(&spec(Format::Csv, &[&file])).unwrap();
    assert_eq!(source.dataset(0, 1).unwrap().train.width, 99_999);
    assert!(clock.elapsed().as_secs() < 20, "{:?}", clock.elapsed());
}

#[test]
fn contents_beyond_the_memory_are_not_read() {
    let folder = Folder::new();
    let fault = |format, file: &Path, most| {
        let found = LoadedData::read_within(&spec(format, &[file]), Some(most)).unwrap_err();
        found[0].code.id
    };
    let text = format!("x,y\n{}", "1,2\n".repeat(100_000));
    let csv = folder.file("t.csv", &text);
    assert_eq!(fault(Format::Csv, &csv, 100_000), "E0435");
    assert_eq!(fault(Format::Csv, &csv, 1_000_000), "E0435");
    assert!(LoadedData::read_within(&spec(Format::Csv, &[&csv]), Some(8_000_000)).is_ok());
    let names: Vec<String> = (0..1000).map(|at| format!("x{at}")).collect();
    let blank = folder.file(
        "b.csv",
        format!("{}\n{}", names.join(","), "\n".repeat(1_000_000)),
    );
    // The file has 1,000,000 blank lines below a header of 1000 columns. Reserving eight bytes per
    // line and column would take 8 GB.
    assert_eq!(
        LoadedData::read_within(&spec(Format::Csv, &[&blank]), Some(1 << 30)).unwrap_err()[0]
            .code
            .id,
        "E0405"
    );
    let json = folder.file("d.json", format!("{{\"x\": [{}0]}}", "0,".repeat(100_000)));
    assert_eq!(fault(Format::Json, &json, 1_000_000), "E0435");
    let rows = folder.file("t.parquet", parquet(&vec![Some(1.0); 100_000]));
    assert_eq!(fault(Format::Parquet, &rows, 100_000), "E0435");
}

/// The file has rows whose text is a million bytes long. The memory for text is therefore not
/// bounded by the number of rows.
#[test]
fn long_text_of_a_parquet_file_counts_against_the_memory_limit() {
    let folder = Folder::new();
    let long = "a".repeat(1_000_000);
    let file = folder.file("t.parquet", texts(&[&long, &long, "b"]));
    let read = |limit| LoadedData::read_within(&spec(Format::Parquet, &[&file]), Some(limit));
    let faults = read(1_000_000).err().unwrap();
    assert_eq!(faults[0].code.id, "E0435");
    // A text that occurs again does not take any more memory. Each distinct text is stored twice,
    // in a list and in a map, and the pages of the file take up to 3 MB while they are read.
    assert!(read(5_200_000).is_ok());
}

#[test]
fn csv_reports_several_errors_but_not_all() {
    let found = check(Format::Csv, "t.csv", "x,y\n1,2\n?,3\n4\n5,\n");
    let expected = [
        "E0408 t.csv:3:1 expected a value, found `?`, which marks a missing value",
        "E0406 t.csv:4:0 expected 2 cells as in the header, found 1",
        "E0408 t.csv:5:2 expected a value, found none",
    ];
    assert_eq!(found, expected);
    let ragged = format!("x,y\n1,2\n{}", "1,2,3\n".repeat(100));
    assert_eq!(check(Format::Csv, "t.csv", ragged).len(), 10);
}

#[test]
fn many_empty_cells_of_a_column_are_counted_in_one_report() {
    let rows: String = (0..40)
        .map(|row| format!("{},{row}\n", if row % 2 == 0 { "1.5" } else { "" }))
        .collect();
    assert_eq!(
        check(Format::Csv, "t.csv", format!("x,y\n{rows}")),
        ["E0408 t.csv:3:1 expected a value in every row, found none in 20 of 40 rows: 3, 5, 7, .."]
    );
    let found = check(Format::Csv, "t.csv", "x,y\n1,\n,2\n?,3\n,\n4,5\n,6\n");
    assert_eq!(
        found,
        [
            "E0408 t.csv:2:2 expected a value, found none",
            "E0408 t.csv:3:1 expected a value in every row, found none in 4 of 6 rows: 3, 4, 5, ..",
            "E0408 t.csv:5:2 expected a value, found none",
        ]
    );
}

#[test]
fn text_that_is_not_utf8_is_rejected() {
    assert_eq!(
        check(Format::Csv, "t.csv", b"x\nM\xfcller\n"),
        ["E0404 t.csv:2:1 the text is not UTF-8"]
    );
    assert_eq!(
        check(Format::Json, "d.json", b"{\"x\": \"\xff\"}"),
        ["E0404 d.json:0:0 the text is not UTF-8"]
    );
}

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
fn patterns_and_links_that_lead_nowhere_are_named() {
    let folder = Folder::new();
    folder.file("part_1.csv", "x,y\n1,2\n");
    folder.file("part_2.csv", "x,y\n3,4\n");
    let at = |name: &str| folder.0.join(name);
    let one = |spec: &DataSpec| LoadedData::read(spec).unwrap_err().remove(0);
    let unmatched = one(&spec(Format::Csv, &[&at("shard_*.csv")]));
    assert_eq!(
        reported(&unmatched),
        "E0401 shard_*.csv:0:0 the pattern matches no file"
    );
    assert_eq!(unmatched.notes, ["the folder has `part_1.csv`, `part_2.csv`"]);
    let nowhere = one(&spec(Format::Csv, &[&at("nowhere/shard_*.csv")]));
    assert!(nowhere.notes[0].contains("does not exist"), "{:?}", nowhere.notes);
    let pairs = one(&spec(Format::Npy, &[&at("x*.npy"), &at("y*.npy")]));
    assert_eq!(
        reported(&pairs),
        "E0415 x*.npy:0:0 a pattern cannot stand for the files of `npy` data, which come in pairs"
    );
    let splits = DataSpec {
        test: Test::Splits {
            file: at("part_*.csv"),
            split: None,
        },
        ..spec(Format::Csv, &[&at("part_*.csv")])
    };
    assert_eq!(
        reported(&one(&splits)),
        "E0401 part_*.csv:0:0 a pattern is given where one file is needed"
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("gone.csv", at("link.csv")).unwrap();
        assert_eq!(
            reported(&one(&spec(Format::Csv, &[&at("link.csv")]))),
            "E0401 link.csv:0:0 the file is a link to `gone.csv`, which does not exist"
        );
    }
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

#[test]
fn malformed_parquet_files_are_rejected() {
    let check = |bytes: Vec<u8>| check(Format::Parquet, "t.parquet", bytes);
    assert_eq!(
        check(parquet(&[Some(1.0), None])),
        ["E0408 t.parquet:2:1 expected a value, found none"]
    );
    let infinite = parquet(&[Some(1.0), Some(f64::INFINITY)]);
    assert_eq!(
        check(infinite),
        ["E0409 t.parquet:2:1 expected a finite number, found `inf`"]
    );
    assert_eq!(check(parquet(&[])), ["E0405 t.parquet:0:0 the file has no rows"]);
    assert!(check(b"x,y\n1,2\n".to_vec())[0].starts_with("E0411 t.parquet:0:0 not a valid parquet file: "));
}

#[test]
fn unsupported_parquet_codecs_are_named() {
    let plain = parquet(&[Some(1.0), Some(2.0)]);
    // Each array of bytes holds the path of the column `x` and its codec, as the footer encodes
    // them in Thrift. Codec 0 is uncompressed, 4 is Brotli, and 6 is Zstandard. The zigzag encoding
    // doubles these numbers.
    let before = [0x19, 0x18, 1, b'x', 0x15, 0];
    let at = plain.windows(before.len()).position(|bytes| bytes == before);
    let at = at.expect("the footer names the codec") + before.len() - 1;
    for (number, name) in [(6, "Zstandard"), (4, "Brotli")] {
        let mut packed = plain.clone();
        packed[at] = 2 * number;
        let expected =
            format!("E0413 t.parquet:0:0 Parquet files that are compressed with {name} cannot be read");
        assert_eq!(check(Format::Parquet, "t.parquet", packed), [expected]);
    }
}

#[test]
fn missing_and_damaged_files_are_reported() {
    let folder = Folder::new();
    folder.file("yacht.csv", "x\n1\n");
    let missing = LoadedData::read(&spec(Format::Csv, &[&folder.0.join("yatch.csv")])).unwrap_err();
    assert_eq!(
        reported(&missing[0]),
        "E0401 yatch.csv:0:0 the file does not exist"
    );
    assert_eq!(
        missing[0].help,
        [format!(
            "did you mean `{}`?",
            folder.0.join("yacht.csv").display()
        )]
    );
    let nowhere = LoadedData::read(&spec(Format::Csv, &[Path::new("/no/such/folder/x.csv")])).unwrap_err();
    assert_eq!(
        nowhere[0].help,
        ["the folder `/no/such/folder` does not exist either"]
    );
    let directory = LoadedData::read(&spec(Format::Csv, &[&folder.0])).unwrap_err();
    assert_eq!(directory[0].code.id, "E0402");
    let cut = check(Format::Csv, "t.csv.gz", b"\x1f\x8b\x08\x00\x00\x00");
    assert!(
        cut[0].starts_with("E0403 t.csv.gz:0:0 cannot unpack the gzip file"),
        "{cut:?}"
    );
    assert_eq!(
        faults(&spec(Format::Csv, &[])),
        ["E0415 :0:0 the data item `d` names no file"]
    );
}

#[test]
fn files_that_do_not_fit_together_are_rejected() {
    let folder = Folder::new();
    let a = folder.file("a.csv", "x,y\n1,2\n");
    let shards = |text: &str| faults(&spec(Format::Csv, &[&a, &folder.file("b.csv", text)]));
    let swapped = shards("x,z\n1,2\n");
    let expected = [
        "E0417 b.csv:1:0 `a.csv` has a column `y`, but `b.csv` does not",
        "E0417 b.csv:1:0 `b.csv` has a column `z`, but `a.csv` does not",
    ];
    assert_eq!(swapped, expected);
    assert_eq!(
        shards("y,x\n1,one\n"),
        ["E0417 b.csv:0:0 expected numbers in `x` as in `a.csv`, found text"]
    );
    let mut tested = spec(Format::Csv, &[&a]);
    tested.test = Test::Files(vec![folder.file("t.csv", "x,y,w\n1,2,3\n")]);
    assert_eq!(
        faults(&tested),
        ["E0417 t.csv:1:0 `t.csv` has a column `w`, but `a.csv` does not"]
    );
}

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

/// If a quote is never closed, all rows below it become part of one cell of text.
#[test]
fn a_quote_that_is_never_closed_is_reported() {
    let folder = Folder::new();
    for (text, row) in [
        ("x,y\n1,a\n2,\"b\n3,c\n4,a\n", 3),
        ("x,y\n1,a\n2,\"b", 3),
        ("x,y\n1,a\n2,\"b\n\n\n", 3),
    ] {
        let file = folder.file("t.csv", text);
        let expected = format!(
            "E0411 t.csv:{row}:0 not a valid csv file: a quote that opens in this row is never closed"
        );
        assert_eq!(faults(&spec(Format::Csv, &[&file])), [expected]);
    }
    // In each of these texts, every quote is closed, or the only quote stands inside a cell that
    // does not begin with a quote.
    for text in [
        "x,y\n1,a\n2,\"b\nc\"",
        "x,y\n1,a\n2,\"b\"\n",
        "x,y\n1,a\n2,5\" pipe\n",
    ] {
        let file = folder.file("t.csv", text);
        assert!(LoadedData::read(&spec(Format::Csv, &[&file])).is_ok(), "{text}");
    }
}

#[test]
fn rows_are_numbered_by_their_lines() {
    let folder = Folder::new();
    // The row with x = 2 follows a blank line. The row with x = 3 follows a cell of two lines.
    let text = "x,n,y\n1,a,cat\n\n2,\"b\nc\",dog\n3,d,cow\n\n\n4,e,dog\n";
    let file = folder.file("t.csv", text);
    let mut spec = spec(Format::Csv, &[&folder.file("a.csv", "x,n,y\n1,a,cat\n2,b,dog\n")]);
    spec.test = Test::Files(vec![file.clone()]);
    assert_eq!(
        faults(&spec),
        ["E0428 t.csv:6:0 the level `cow` occurs in the test rows but not in the training rows"]
    );
    spec.files = vec![file];
    spec.test = Test::None;
    let data = LoadedData::read(&spec)
        .and_then(|source| source.dataset(0, 1))
        .unwrap();
    assert_eq!(data.train.numbers(), Some(vec![2, 4, 6, 9]));
}

#[test]
fn integers_must_be_integers() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "a,b,c\n1.0,3000000000,0.5\n2,1,1\n");
    let data = LoadedData::read(&spec(Format::Csv, &[&file]))
        .and_then(|source| source.dataset(0, 1))
        .unwrap();
    assert_eq!(data.train.ints("a"), Ok(vec![1, 2]));
    let large = reported(&data.train.ints("b").unwrap_err());
    assert_eq!(
        large,
        "E0431 t.csv:2:0 expected an integer of at most 2000000000 in `b`, found 3000000000"
    );
    assert_eq!(
        reported(&data.train.ints("c").unwrap_err()),
        "E0431 t.csv:2:0 expected an integer in `c`, found 0.5"
    );
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

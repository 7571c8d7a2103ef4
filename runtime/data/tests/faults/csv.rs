//! Errors in CSV files.

use crate::folder::{Folder, reported, spec};
use crate::{check, faults};
use bnnc_abi::data::{Format, Test};
use bnnc_data::LoadedData;

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

//! Files that are missing, damaged, too large, or do not fit together.

use crate::folder::{Folder, parquet, reported, spec};
use crate::{check, faults};
use bnnc_abi::data::{DataSpec, Format, Test};
use bnnc_data::LoadedData;
use std::path::Path;

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

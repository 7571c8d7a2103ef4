//! Errors in Parquet files.

use crate::check;
use crate::folder::{Folder, parquet, spec, texts};
use bnnc_abi::data::Format;
use bnnc_data::LoadedData;

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

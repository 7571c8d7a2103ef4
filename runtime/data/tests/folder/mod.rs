//! A temporary folder with data files, and data items that read these files.
#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "each test file uses a part")]

use bnnc_abi::data::{ColumnExpr, DataSpec, Format};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::{SourceId, Span};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A temporary folder. It is removed when it goes out of scope.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("bnnc-data-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        // The old file is removed first, because some file systems wait for the disk when an
        // existing file is truncated and written again.
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn here() -> Span {
    Span::new(SourceId(0), 0, 1)
}

pub fn name(text: &str) -> ColumnExpr {
    ColumnExpr::Name(text.into(), here())
}

pub fn apply(function: &str, arguments: Vec<ColumnExpr>) -> ColumnExpr {
    ColumnExpr::Apply(function.into(), arguments, here())
}

/// Returns a data item with default options.
pub fn spec(format: Format, files: &[&Path]) -> DataSpec {
    let files = files.iter().map(|file| file.to_path_buf());
    DataSpec::new("d", here(), format, files.collect())
}

/// Returns a diagnostic as one line of text, such as `E0408 d.csv:2:1 expected a value, found
/// none`.
pub fn reported(fault: &Diagnostic) -> String {
    let Place::File { path, row, column } = &fault.at else {
        panic!("not in a file: {fault:?}")
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{} {file}:{row}:{column} {}", fault.code.id, fault.message)
}

pub fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(path)
}

/// Returns the bytes of an NPY file of version 1.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Returns the bytes of an IDX file whose elements are bytes.
pub fn idx(sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(data);
    bytes
}

/// Returns a Parquet file with the columns `x: double`, `n: int32`, `ok: bool` and `kind: text`. Values of `x` may be missing.
pub fn parquet(x: &[Option<f64>]) -> Vec<u8> {
    packed_parquet(x, parquet::basic::Compression::UNCOMPRESSED)
}

/// Returns a Parquet file with the columns `x: int32`, which counts the rows, and `kind: text`.
pub fn texts(kinds: &[&str]) -> Vec<u8> {
    use parquet::data_type::{ByteArrayType, Int32Type};
    use parquet::file::writer::SerializedFileWriter;
    let message = "message m { required int32 x; required binary kind (UTF8); }";
    let schema = parquet::schema::parser::parse_message_type(message).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let rows: Vec<i32> = (0..kinds.len() as i32).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int32Type>()
        .write_batch(&rows, None, None)
        .unwrap();
    column.close().unwrap();
    let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).into()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&kinds, None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// Returns the file of [`parquet`], compressed with a codec.
pub fn packed_parquet(x: &[Option<f64>], codec: parquet::basic::Compression) -> Vec<u8> {
    use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int32Type};
    use parquet::file::writer::SerializedFileWriter;
    let message = "message m { optional double x; required int32 n; required boolean ok; required binary kind (UTF8); }";
    let schema = parquet::schema::parser::parse_message_type(message).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder().set_compression(codec);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.build().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let levels: Vec<i16> = x.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<f64> = x.iter().copied().flatten().collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<DoubleType>()
        .write_batch(&values, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
    let numbers: Vec<i32> = (0..x.len() as i32).map(|i| i - 1).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int32Type>()
        .write_batch(&numbers, None, None)
        .unwrap();
    column.close().unwrap();
    let truths: Vec<bool> = (0..x.len()).map(|i| i % 2 == 0).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<BoolType>()
        .write_batch(&truths, None, None)
        .unwrap();
    column.close().unwrap();
    let kinds: Vec<_> = (0..x.len()).map(|i| ["b", "a"][i % 2].into()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&kinds, None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// Returns a Parquet file with the column `x: int32`, which is 7 in each of the rows. Every page has
/// `page` rows.
pub fn constant_parquet(rows: usize, page: usize) -> Vec<u8> {
    use parquet::data_type::Int32Type;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};
    use parquet::file::writer::SerializedFileWriter;
    let schema = parquet::schema::parser::parse_message_type("message m { required int32 x; }").unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int32Type>()
        .write_batch(&vec![7; rows], None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

//! Reads Apache Parquet files with flat columns of numbers, Booleans, text and encoded images.

use super::images::{ImageStack, is_image};
use super::{Parsed, Reading};
use crate::diagnostics::{self, At};
use crate::levels::Levels;
use crate::source::checksum;
use crate::table::{Array, ArrayValues};
use bnnc_base::caught::caught;
use bnnc_base::diagnostic::Diagnostic;
use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The number of records that are read at a time. The pieces have a fixed size. Otherwise, the size
/// of an allocation would depend on a number in the file.
const PIECE: usize = 1 << 16;

/// The values of a file may take at most [`LARGEST`] bytes or [`LARGEST_RATIO`] times the size of the
/// file, whichever is more. A run of equal values takes a few bytes in the file regardless of its
/// length. Without a limit, a small file could therefore fill the memory.
const LARGEST: u64 = 2 << 30;
const LARGEST_RATIO: u64 = 100;

/// At most [`MOST_READ`] bytes plus [`MOST_READ_RATIO`] times the size of the file are read from a
/// file. `MOST_READ` allows for the buffers of page headers, and `MOST_READ_RATIO` for small pages.
/// Without a limit, reading the pages of a damaged file may never end.
const MOST_READ: u64 = 64 << 20;
const MOST_READ_RATIO: u64 = 64;

/// Each read call counts as at least this number of bytes.
const LEAST_READ: usize = 4096;

/// For each record that was read, this number of bytes is added to the limit. A page of equal values
/// takes a few bytes, but costs four calls for its header and its contents, so a file of many such
/// pages would otherwise exceed the limit. The number of records is limited, because the values of
/// the records must fit into memory.
const READ_PER_RECORD: u64 = 64;

/// A file and the number of bytes that may still be read from it.
struct Bounded {
    file: File,
    size: u64,
    left: Arc<AtomicU64>,
}

impl Bounded {
    fn new(file: File) -> std::io::Result<Bounded> {
        let size = file.metadata()?.len();
        let left = MOST_READ.saturating_add(size.saturating_mul(MOST_READ_RATIO));
        Ok(Bounded {
            file,
            size,
            left: Arc::new(AtomicU64::new(left)),
        })
    }

    fn at(&self, start: u64) -> std::io::Result<Counted> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let left = self.left.clone();
        Ok(Counted { file, left })
    }
}

/// A reader of a part of a file. Every byte it reads is counted against the file's limit.
struct Counted {
    file: File,
    left: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        // At the end of the file, a read call returns zero bytes. Such a call is counted too,
        // because a damaged file could cause endless calls.
        let cost = read.max(LEAST_READ) as u64;
        let is_left = |left: u64| left.checked_sub(cost);
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left)
        {
            Ok(_) => Ok(read),
            Err(_) => Err(std::io::Error::other(
                "its pages are read more often than allowed",
            )),
        }
    }
}

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Bounded {
    type T = BufReader<Counted>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::new();
        self.at(start)?.take(length as u64).read_to_end(&mut bytes)?;
        match bytes.len() == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF("a page reaches beyond the file".to_owned())),
        }
    }
}

/// The remaining limits for a file: the number of bytes that its values may still take, and the
/// number of bytes that may still be read for these values.
struct Room {
    all: u64,
    left: Cell<u64>,
    unread: Arc<AtomicU64>,
}

impl Room {
    fn of(file: &Bounded) -> Room {
        let all = LARGEST.max(file.size.saturating_mul(LARGEST_RATIO));
        Room {
            all,
            left: Cell::new(all),
            unread: file.left.clone(),
        }
    }

    /// Allows further reading after records were read.
    fn allow(&self, records: usize) {
        let bytes = READ_PER_RECORD * records as u64;
        self.unread.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&self, path: &Path, bytes: u64) -> Result<(), Diagnostic> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
            .ok_or_else(|| malformed(path, &format!("its values take more than {} bytes", self.all)))
    }
}

/// Reads a Parquet file.
pub(super) fn read(path: &Path, _: Option<&str>, reading: &Reading) -> Result<Parsed, Vec<Diagnostic>> {
    let file = crate::file::open(path).map_err(|error| vec![diagnostics::unreadable(path, &error)])?;
    // The library panics on some damaged files. The panic is caught, because a damaged file is an
    // error in the user's data and not in bnnc.
    let read = caught(|| columns(path, file, reading));
    read.unwrap_or_else(|| Err(malformed(path, "its pages contradict each other")))
        .map(|(arrays, rows)| Parsed::plain(arrays, rows))
        .map_err(|fault| vec![fault])
}

fn malformed(path: &Path, detail: &str) -> Diagnostic {
    diagnostics::malformed(At::file(path), "parquet", detail)
}

fn columns(path: &Path, file: File, reading: &Reading) -> Result<(Vec<Array>, usize), Diagnostic> {
    let unreadable = |error: std::io::Error| diagnostics::unreadable(path, &error);
    // All columns are read from the file that is already open. A file that later replaces it under
    // the same name is not read.
    let (before, own) = (state(&file).map_err(unreadable)?, file.try_clone());
    let mut own = own.map_err(unreadable)?;
    let read = own.rewind().and_then(|()| checksum(&own));
    reading.keep(path, read.map_err(unreadable)?);
    let found = columns_of(path, file, reading)?;
    match state(&own).map_err(unreadable)? == before {
        true => Ok(found),
        false => Err(malformed(path, "it changed while it was read")),
    }
}

/// Returns the size of a file and the time of its last change. A write to the file changes at least
/// one of them.
fn state(file: &File) -> std::io::Result<(u64, Option<SystemTime>)> {
    let about = file.metadata()?;
    // Some file systems do not record times.
    Ok((about.len(), about.modified().ok()))
}

fn columns_of(path: &Path, file: File, reading: &Reading) -> Result<(Vec<Array>, usize), Diagnostic> {
    let bad = |error: ParquetError| malformed(path, &error.to_string());
    let file = Bounded::new(file).map_err(|error| diagnostics::unreadable(path, &error))?;
    if file.size == 0 {
        return Err(diagnostics::empty_file(path));
    }
    let room = Room::of(&file);
    let reader = SerializedFileReader::new(file).map_err(bad)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut arrays = Vec::new();
    for (i, column) in schema.columns().iter().enumerate() {
        let at = At {
            path,
            row: 0,
            column: i + 1,
        };
        if name_of(column, schema.columns()).is_some_and(|name| reading.reads(name)) {
            arrays.push(array(&reader, (at, column), (reading, &room))?);
        }
    }
    if schema.num_columns() == 0 {
        return Err(diagnostics::no_rows(path, "columns"));
    }
    let declared = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    match arrays.first().map_or(declared, |first| first.shape[0]) {
        0 => Err(diagnostics::no_rows(path, "rows")),
        rows if arrays.iter().any(|array| array.shape[0] != rows) => {
            Err(malformed(path, "its columns have different lengths"))
        }
        rows => Ok((arrays, rows)),
    }
}

/// Returns the name of the column that a leaf of the schema belongs to. Hugging Face datasets store an image as a structure of its encoded `bytes`
/// and its `path`; the column then has the name of the structure. `None` for the path.
fn name_of<'c>(column: &'c ColumnDescriptor, all: &[Arc<ColumnDescriptor>]) -> Option<&'c str> {
    match column.path().parts() {
        [name, leaf] if leaf == "path" && all.iter().any(|other| image_name(other) == Some(name)) => None,
        _ => Some(image_name(column).unwrap_or(column.name())),
    }
}

/// Returns the name of the structure if a leaf of the schema holds the encoded images of a structure.
fn image_name(column: &ColumnDescriptor) -> Option<&str> {
    match column.path().parts() {
        [name, leaf] if leaf == "bytes" && column.max_rep_level() == 0 => {
            (column.physical_type() == PhysicalType::BYTE_ARRAY).then_some(name)
        }
        _ => None,
    }
}

/// Reads one column from all row groups.
fn array(
    reader: &SerializedFileReader<Bounded>,
    (at, column): (At<'_>, &ColumnDescriptor),
    (reading, room): (&Reading, &Room),
) -> Result<Array, Diagnostic> {
    let bad = |error: ParquetError| malformed(at.path, &error.to_string());
    let place = at.column - 1;
    let mut builder = Builder::new(at, column, (reading, room))?;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(bad)?;
        let chunk = group.metadata().column(place);
        decodable(at.path, chunk.compression())?;
        // The library unpacks the chunk page by page. A page is at most as large as the chunk.
        let unpacked = usize::try_from(chunk.uncompressed_size()).unwrap_or(0);
        reading.take(at.path, unpacked)?;
        builder.read(group.as_ref(), place)?;
        reading.free(unpacked);
    }
    builder.finish(column.physical_type() == PhysicalType::BOOLEAN)
}

/// Rejects compression codecs that are not compiled in. The library decodes Zstandard only with a
/// decoder written in C; the other missing codecs are rare.
fn decodable(path: &Path, codec: Compression) -> Result<(), Diagnostic> {
    let name = match codec {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4
        | Compression::LZ4_RAW => return Ok(()),
        Compression::ZSTD(_) => "Zstandard",
        Compression::BROTLI(_) => "Brotli",
        Compression::LZO => "LZO",
    };
    Err(diagnostics::unknown_codec(path, name))
}

/// Collects the values of one column over the row groups.
struct Builder<'a> {
    at: At<'a>,
    name: String,
    /// The definition level of a value. Nulls have lower levels.
    defined: i16,
    unsigned: bool,
    /// True if the values are bytes that need not be text.
    is_binary: bool,
    ints: Vec<i64>,
    reals: Vec<f64>,
    text: Levels,
    /// The images, if the values are encoded images.
    images: Option<ImageStack<'a>>,
    rows: usize,
    reading: &'a Reading,
    room: &'a Room,
}

impl<'a> Builder<'a> {
    fn new(
        at: At<'a>,
        column: &ColumnDescriptor,
        (reading, room): (&'a Reading, &'a Room),
    ) -> Result<Builder<'a>, Diagnostic> {
        let image = image_name(column);
        let name = image.unwrap_or(column.name()).to_string();
        if column.max_rep_level() > 0 || column.path().parts().len() != 1 && image.is_none() {
            return Err(unsupported(at, &format!("the nested column `{name}`")));
        }
        let unsigned = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Integer(integer)), _) => !integer.is_signed,
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) | None, kind) => match kind {
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64 => true,
                ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => {
                    false
                }
                ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64 => false,
                other => return Err(unsupported(at, &format!("the type {other} of column `{name}`"))),
            },
            _ => {
                return Err(unsupported(
                    at,
                    &format!("the type {} of column `{name}`", column.converted_type()),
                ));
            }
        };
        let is_binary = column.logical_type_ref().is_none()
            && column.converted_type() == ConvertedType::NONE
            && column.physical_type() == PhysicalType::BYTE_ARRAY;
        let (ints, reals, text) = (Vec::new(), Vec::new(), Levels::default());
        let images = image.map(|_| ImageStack::new(reading, &name, 0));
        Ok(Builder {
            at,
            name,
            defined: column.max_def_level(),
            unsigned,
            is_binary,
            ints,
            reals,
            text,
            images,
            rows: 0,
            reading,
            room,
        })
    }

    fn read(&mut self, group: &dyn RowGroupReader, column: usize) -> Result<(), Diagnostic> {
        let reader = group
            .get_column_reader(column)
            .map_err(|error| malformed(self.at.path, &error.to_string()))?;
        match reader {
            ColumnReader::BoolColumnReader(r) => self.pieces(r, |b, v| b.int(i64::from(v))),
            ColumnReader::Int32ColumnReader(r) => {
                let unsigned = self.unsigned;
                self.pieces(r, |b, v| {
                    b.int(if unsigned {
                        i64::from(v as u32)
                    } else {
                        i64::from(v)
                    })
                })
            }
            ColumnReader::Int64ColumnReader(r) => self.pieces(r, |b, v| {
                if b.unsigned && v < 0 {
                    Err(unsupported(b.at, "an unsigned integer above 2^63"))
                } else {
                    b.int(v)
                }
            }),
            ColumnReader::FloatColumnReader(r) => self.pieces(r, |b, v| b.real(f64::from(v))),
            ColumnReader::DoubleColumnReader(r) => self.pieces(r, |b, v| b.real(v)),
            ColumnReader::ByteArrayColumnReader(r) => self.pieces(r, |b, v| b.string(v.data())),
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => Err(
                unsupported(self.at, &format!("the type of column `{}`", self.name)),
            ),
        }
    }

    /// Reads one column of one row group, piece by piece.
    fn pieces<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        push: impl Fn(&mut Self, T::T) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        loop {
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            let read = reader.read_records(PIECE, Some(&mut levels), None, &mut values);
            let (records, _, _) = read.map_err(|error| malformed(self.at.path, &error.to_string()))?;
            if records == 0 {
                return Ok(());
            }
            self.room.allow(records);
            self.room.take(self.at.path, 8 * records as u64)?;
            let mut values = values.into_iter();
            for record in 0..records {
                let row = self.rows;
                self.rows += 1;
                let is_null = levels.get(record).is_some_and(|level| *level < self.defined);
                match is_null {
                    true if self.images.is_none() && self.reading.gap(&self.name, row) => {}
                    true => {
                        let at = At {
                            row: row + 1,
                            ..self.at
                        };
                        return Err(diagnostics::missing_value(at, &self.name));
                    }
                    false => values.next().map_or(Ok(()), |value| push(self, value))?,
                }
            }
        }
    }

    fn int(&mut self, value: i64) -> Result<(), Diagnostic> {
        self.reading.grow(self.at.path, &mut self.ints, PIECE)?;
        self.ints.push(value);
        Ok(())
    }

    fn real(&mut self, value: f64) -> Result<(), Diagnostic> {
        if value.is_nan() && self.reading.gap(&self.name, self.rows - 1) {
            return Ok(());
        }
        if !value.is_finite() {
            return Err(diagnostics::not_finite(
                At {
                    row: self.rows,
                    ..self.at
                },
                &self.name,
                &value.to_string(),
            ));
        }
        self.reading.grow(self.at.path, &mut self.reals, PIECE)?;
        self.reals.push(value);
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let at = At {
            row: self.rows,
            ..self.at
        };
        if self.is_binary && self.rows == 1 && self.images.is_none() && is_image(bytes) {
            self.images = Some(ImageStack::new(self.reading, &self.name, 0));
        }
        if let Some(images) = &mut self.images {
            let before = images.bytes();
            images.push(at, bytes)?;
            return self.room.take(at.path, (images.bytes() - before) as u64);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| diagnostics::not_utf8(at))?;
        let kept = self.text.push(text);
        self.reading.take(at.path, kept)?;
        self.room.take(at.path, kept as u64)
    }

    fn finish(mut self, words: bool) -> Result<Array, Diagnostic> {
        if let Some(images) = self.images {
            let (axes, pixels) = images.finish();
            let shape = std::iter::once(self.rows).chain(axes).collect();
            return Ok(Array {
                shape,
                ..Array::column(self.name, ArrayValues::Byte(pixels.into()))
            });
        }
        self.reading.fit(&mut self.ints);
        self.reading.fit(&mut self.reals);
        let values = match (self.ints.is_empty(), self.reals.is_empty()) {
            (false, true) => ArrayValues::Int(self.ints),
            (true, false) => ArrayValues::Real(self.reals),
            (true, true) => self.text.finish(),
            (false, false) => return Err(malformed(self.at.path, "a column changes its type")),
        };
        let values = self.reading.filled(&self.name, values);
        Ok(Array::column(self.name, values).with_words(words))
    }
}

fn unsupported(at: At<'_>, what: &str) -> Diagnostic {
    diagnostics::unsupported(
        at,
        what,
        "flat columns of numbers, Booleans, text or encoded images",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a limit on values, a file of 1.7 KB with runs of equal values can fill the memory.
    #[test]
    fn a_small_file_holds_bounded_values() -> std::io::Result<()> {
        let path = std::env::temp_dir().join(format!("bnnc-room-{}", std::process::id()));
        std::fs::write(&path, b"PAR1")?;
        let room = Room::of(&Bounded::new(File::open(&path)?)?);
        std::fs::remove_file(&path)?;
        assert!(room.take(&path, LARGEST).is_ok());
        let fault = room.take(&path, 1).err().map(|fault| fault.message);
        assert!(fault.is_some_and(|text| text.contains("more than 2147483648 bytes")));
        Ok(())
    }

    /// In a damaged file, page headers can make the library read the same bytes for ever.
    #[test]
    fn a_file_is_read_a_bounded_number_of_times() -> std::io::Result<()> {
        let path = std::env::temp_dir().join(format!("bnnc-bounded-{}", std::process::id()));
        std::fs::write(&path, vec![7; 1 << 20])?;
        let file = Bounded::new(File::open(&path)?)?;
        let other = Bounded::new(File::open(&path)?)?;
        std::fs::remove_file(&path)?;
        let whole = || file.get_bytes(0, 1 << 20).is_ok();
        // The file has 1 MiB. The limit is 64 MiB plus 64 times the size of the file. A complete
        // read makes a few extra calls. Each of them counts as 4 KiB.
        let count = (0..1000).take_while(|_| whole()).count();
        assert!((100..=128).contains(&count), "{count}");
        // A call at the end of a file does not read bytes, but is counted too.
        let most = other.left.load(Ordering::Relaxed) / LEAST_READ as u64;
        let mut end = other.get_read(other.size).map_err(std::io::Error::other)?;
        let calls = (0..=most).take_while(|_| end.read(&mut [0]).is_ok()).count();
        assert_eq!(calls as u64, most);
        Ok(())
    }
}

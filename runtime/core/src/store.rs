//! The draws of a chain, as a list of records. New records can only be appended. The list is in
//! memory, in a file, or in both.
//!
//! A record is a position followed by the statistics of its iteration. The file begins with five
//! little-endian words. They are a magic number, the version, the checksum of the chain's identity, the
//! length of a position, and the number of statistics. The records follow as little-endian `f64`.
//! At the end of a record, there is a checksum of the record's index and bytes. A damaged record is
//! therefore detected when it is read.

use crate::diagnostics;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::file;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const MAGIC: u64 = u64::from_le_bytes(*b"bnncdraw");
const VERSION: u64 = 3;
const HEADER: u64 = 40;

/// The number of reals that are buffered before they are written. Reads also use blocks of this
/// size.
const BLOCK: usize = 1 << 15;

/// The layout of a record. It is the same for all records of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// The length of a position.
    pub dim: usize,
    /// The number of statistics of an iteration.
    pub stats: usize,
}

impl RecordLayout {
    /// Returns the number of reals in a record.
    pub fn width(self) -> usize {
        self.dim + self.stats
    }

    /// Returns the number of bytes that a record takes in the file.
    fn bytes(self) -> usize {
        (self.width() + 1) * 8
    }

    /// Returns the offset of a record in the file.
    fn offset(self, record: usize) -> u64 {
        HEADER + (record * self.bytes()) as u64
    }

    fn header(self, of: Checksum) -> Vec<u8> {
        let words = [MAGIC, VERSION, of.value(), self.dim as u64, self.stats as u64];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// All records of one chain.
#[derive(Debug)]
pub struct ChainStore {
    layout: RecordLayout,
    len: usize,
    /// All records, one after the other, or `None` if they are not kept in memory.
    memory: Option<Vec<f64>>,
    file: Option<Records>,
}

/// The records that are stored in a file.
#[derive(Debug)]
struct Records {
    path: PathBuf,
    file: File,
    /// The number of records in the file.
    written: usize,
    /// The records that have not been written to the file yet.
    pending: Vec<f64>,
    /// True if the file is deleted when the store is dropped.
    temporary: bool,
}

impl Drop for Records {
    fn drop(&mut self) {
        if self.temporary {
            // An error is ignored, because a temporary file that remains on the disk does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ChainStore {
    /// Returns an empty store that keeps records only in memory.
    pub fn memory(layout: RecordLayout) -> ChainStore {
        ChainStore {
            layout,
            len: 0,
            memory: Some(Vec::new()),
            file: None,
        }
    }

    /// Returns an empty store that writes records to a new file. An existing file is replaced. If
    /// `in_memory` is true, the records are also kept in memory. `of` is the checksum of the
    /// chain's identity.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn create(
        path: &Path,
        layout: RecordLayout,
        of: Checksum,
        in_memory: bool,
    ) -> Result<ChainStore, Diagnostic> {
        // An existing file is removed instead of truncated. A link is then replaced and not
        // followed.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(diagnostics::cannot_write(path, &error.to_string()));
            }
            Ok(()) | Err(_) => {}
        }
        let file = begin(
            path,
            &layout.header(of),
            File::options().write(true).create_new(true),
        )?;
        Ok(ChainStore::over(path, file, (layout, 0), in_memory))
    }

    /// Returns an empty store that writes records to a temporary file. The file must not exist yet.
    /// The file is deleted when the store is dropped. Records are not kept in memory.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be written.
    pub fn temporary(path: &Path, layout: RecordLayout) -> Result<ChainStore, Diagnostic> {
        let header = layout.header(Checksum::default());
        let file = begin(path, &header, File::options().write(true).create_new(true))?;
        let mut store = ChainStore::over(path, file, (layout, 0), false);
        if let Some(records) = &mut store.file {
            records.temporary = true;
        }
        Ok(store)
    }

    /// Opens the first `records` records of a file. Later records are deleted from the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, or if a record is damaged. Also fails if the
    /// file has another layout, belongs to another chain, or has too few records.
    pub fn open(
        path: &Path,
        layout: RecordLayout,
        of: Checksum,
        records: usize,
        in_memory: bool,
    ) -> Result<ChainStore, Diagnostic> {
        let there = records_of(path, layout, of)?;
        if there < records {
            let why = format!("it holds {there} records of {records}");
            return Err(diagnostics::checkpoint_damaged(path, &why));
        }
        let opened = File::options().write(true).open(path);
        let file = opened.map_err(|error| diagnostics::cannot_write(path, &error.to_string()))?;
        let mut store = ChainStore::over(path, file, (layout, records), false);
        store.truncate(records)?;
        match in_memory {
            true => store.memory = Some(store.records(0..records)?),
            // The records are read only to verify their checksums. They are not kept in memory.
            false => store.blocks(0..records, |_| {})?,
        }
        Ok(store)
    }

    fn over(
        path: &Path,
        file: File,
        (layout, written): (RecordLayout, usize),
        in_memory: bool,
    ) -> ChainStore {
        ChainStore {
            layout,
            len: written,
            memory: in_memory.then(Vec::new),
            file: Some(Records {
                path: path.to_path_buf(),
                file,
                written,
                pending: Vec::new(),
                temporary: false,
            }),
        }
    }

    /// Returns the layout of a record.
    pub fn layout(&self) -> RecordLayout {
        self.layout
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether all records are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a record. Records are written to the file in blocks.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    ///
    /// # Panics
    /// Panics if the length of an argument differs from the layout.
    pub fn append(&mut self, position: &[f64], stats: &[f64]) -> Result<(), Diagnostic> {
        assert_eq!(position.len(), self.layout.dim, "the length of a position");
        assert_eq!(stats.len(), self.layout.stats, "the number of statistics");
        if let Some(memory) = &mut self.memory {
            memory.extend_from_slice(position);
            memory.extend_from_slice(stats);
        }
        self.len += 1;
        let Some(records) = &mut self.file else {
            return Ok(());
        };
        records.pending.extend_from_slice(position);
        records.pending.extend_from_slice(stats);
        if records.pending.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    /// Passes every record to the operating system. The records then survive the end of this
    /// process, but not a power failure.
    ///
    /// # Errors
    /// Fails if a file cannot be written. After such a failure, the store is unchanged.
    pub fn flush(&mut self) -> Result<(), Diagnostic> {
        let (layout, len) = (self.layout, self.len);
        match &mut self.file {
            Some(records) if records.written < len => records.flush(layout, len),
            _ => Ok(()),
        }
    }

    /// Passes every record to the operating system, and waits until the records are on the disk.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn sync(&mut self) -> Result<(), Diagnostic> {
        self.flush()?;
        match &self.file {
            Some(records) => records
                .file
                .sync_data()
                .map_err(|error| diagnostics::cannot_write(&records.path, &error.to_string())),
            None => Ok(()),
        }
    }

    /// Removes all records after the first `to` records.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn truncate(&mut self, to: usize) -> Result<(), Diagnostic> {
        let (layout, to) = (self.layout, to.min(self.len));
        if let Some(memory) = &mut self.memory {
            memory.truncate(to * layout.width());
        }
        if let Some(records) = &mut self.file {
            let kept = to.saturating_sub(records.written);
            records.pending.truncate(kept * layout.width());
            records.written = records.written.min(to);
            records
                .file
                .set_len(layout.offset(records.written))
                .map_err(|error| diagnostics::cannot_write(&records.path, &error.to_string()))?;
        }
        self.len = to;
        Ok(())
    }

    /// Returns the records of a range, one after the other, as `[records, dim + stats]`.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn records(&self, range: Range<usize>) -> Result<Vec<f64>, Diagnostic> {
        let mut numbers = Vec::with_capacity(range.len() * self.layout.width());
        self.blocks(range, |block| numbers.extend_from_slice(block))?;
        Ok(numbers)
    }

    /// Passes the records of a range to `visit`, block by block. Each block has the shape
    /// `[records, dim + stats]`.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn blocks(&self, range: Range<usize>, mut visit: impl FnMut(&[f64])) -> Result<(), Diagnostic> {
        let width = self.layout.width();
        if range.is_empty() || width == 0 {
            return Ok(());
        }
        match (&self.memory, &self.file) {
            (Some(memory), _) => visit(&memory[range.start * width..range.end * width]),
            (None, Some(records)) => {
                let on_disk = range.start.min(records.written)..range.end.min(records.written);
                records.read(self.layout, on_disk, &mut visit)?;
                let held = |record: usize| record.saturating_sub(records.written) * width;
                let rest = &records.pending[held(range.start)..held(range.end)];
                if !rest.is_empty() {
                    visit(rest);
                }
            }
            (None, None) => unreachable!("a store is in memory or in a file"),
        }
        Ok(())
    }
}

impl Records {
    fn flush(&mut self, layout: RecordLayout, len: usize) -> Result<(), Diagnostic> {
        let mut bytes = Vec::with_capacity((len - self.written) * layout.bytes());
        for (record, numbers) in (self.written..len).zip(self.pending.chunks_exact(layout.width().max(1))) {
            let begin = bytes.len();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            let checksum = checksum(record, &bytes[begin..]);
            bytes.extend(checksum.to_le_bytes());
        }
        // The write begins after the last complete record, because a failed write may have left
        // further bytes in the file.
        let at = SeekFrom::Start(layout.offset(self.written));
        let done = self.file.seek(at).and_then(|_| self.file.write_all(&bytes));
        done.map_err(|error| diagnostics::cannot_write(&self.path, &error.to_string()))?;
        self.written = len;
        self.pending.clear();
        Ok(())
    }

    /// Reads records from the file, and verifies their checksums. The file is opened for each call,
    /// so that several threads can read at the same time.
    fn read(
        &self,
        layout: RecordLayout,
        range: Range<usize>,
        visit: &mut impl FnMut(&[f64]),
    ) -> Result<(), Diagnostic> {
        if range.is_empty() {
            return Ok(());
        }
        let mut read = || -> io::Result<()> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(layout.offset(range.start)))?;
            let most = (BLOCK / layout.width()).max(1);
            let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
            let mut first = range.start;
            while first < range.end {
                let count = most.min(range.end - first);
                bytes.resize(count * layout.bytes(), 0);
                file.read_exact(&mut bytes)?;
                numbers.clear();
                for (record, bytes) in (first..).zip(bytes.chunks_exact(layout.bytes())) {
                    numbers.extend(whole(record, bytes)?.chunks_exact(8).map(number));
                }
                visit(&numbers);
                first += count;
            }
            Ok(())
        };
        read().map_err(|error| diagnostics::checkpoint_damaged(&self.path, &error.to_string()))
    }
}

/// Returns the number of complete records in a file.
///
/// # Errors
/// Fails if the file cannot be read, has another layout, or belongs to another chain.
pub fn records_of(path: &Path, layout: RecordLayout, of: Checksum) -> Result<usize, Diagnostic> {
    let mut header = Vec::new();
    let read = file::regular(path).and_then(|file| {
        (&file).take(HEADER).read_to_end(&mut header)?;
        file.metadata()
    });
    let size = read
        .map_err(|error| diagnostics::checkpoint_damaged(path, &error.to_string()))?
        .len();
    let expected = layout.header(of);
    if header != expected {
        let but_one = |bytes: &[u8]| {
            bytes.len() == expected.len() && bytes[..16] == expected[..16] && bytes[24..] == expected[24..]
        };
        let why = match but_one(&header) {
            true => "it holds the draws of another chain".to_owned(),
            false => format!(
                "it does not begin like a file of {} numbers and {} statistics per draw",
                layout.dim, layout.stats
            ),
        };
        return Err(diagnostics::checkpoint_damaged(path, &why));
    }
    let records = (size - HEADER) / layout.bytes() as u64;
    Ok(usize::try_from(records).unwrap_or(usize::MAX))
}

fn checksum(record: usize, bytes: &[u8]) -> u64 {
    let mut checksum = Checksum::of(&(record as u64).to_le_bytes());
    checksum.add(bytes);
    checksum.value()
}

/// Verifies the checksum of a record. Returns the bytes of its numbers.
fn whole(record: usize, bytes: &[u8]) -> io::Result<&[u8]> {
    let found = bytes.split_last_chunk::<8>();
    match found.filter(|(numbers, sum)| u64::from_le_bytes(**sum) == checksum(record, numbers)) {
        Some((numbers, _)) => Ok(numbers),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("draw {} is damaged", record + 1),
        )),
    }
}

/// Opens a new file and writes its header.
fn begin(path: &Path, header: &[u8], how: &OpenOptions) -> Result<File, Diagnostic> {
    let made = how
        .open(path)
        .and_then(|mut file| file.write_all(header).map(|()| file));
    made.map_err(|error| diagnostics::cannot_write(path, &error.to_string()))
}

fn number(bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(bytes);
    f64::from_le_bytes(eight)
}

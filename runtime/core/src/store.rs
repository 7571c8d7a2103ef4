//! What a chain has drawn, in memory, in a file, or both: records of numbers that are only ever appended.
//!
//! A record is a position followed by the statistics of its iteration. The file holds five little-endian words (magic, version,
//! the checksum of what says whose draws they are, length of a position, number of statistics) and then the records as
//! little-endian `f64`, each with the checksum of its number and its bytes behind it, so that a damaged record is noticed whenever
//! it is read.

use crate::codes;
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

/// Numbers that are held back before they are written, and numbers that are read at a time.
const BLOCK: usize = 1 << 15;

/// The shape of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Numbers of a position.
    pub dim: usize,
    /// Statistics of an iteration.
    pub stats: usize,
}

impl Layout {
    /// Numbers of a record.
    pub fn width(self) -> usize {
        self.dim + self.stats
    }

    /// Bytes of a record in the file.
    fn bytes(self) -> usize {
        (self.width() + 1) * 8
    }

    /// Where a record begins in the file.
    fn offset(self, record: usize) -> u64 {
        HEADER + (record * self.bytes()) as u64
    }

    fn header(self, of: Checksum) -> Vec<u8> {
        let words = [MAGIC, VERSION, of.value(), self.dim as u64, self.stats as u64];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The records of one chain.
#[derive(Debug)]
pub struct ChainStore {
    layout: Layout,
    len: usize,
    /// All records, one after the other, where they are kept in memory.
    memory: Option<Vec<f64>>,
    file: Option<Records>,
}

/// The records of a file.
#[derive(Debug)]
struct Records {
    path: PathBuf,
    file: File,
    /// Records that the file holds.
    written: usize,
    /// Those that come after them.
    pending: Vec<f64>,
    /// Whether the file goes when the store does.
    temporary: bool,
}

impl Drop for Records {
    fn drop(&mut self) {
        if self.temporary {
            // A leftover is only untidy.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ChainStore {
    /// An empty store in memory alone.
    pub fn memory(layout: Layout) -> ChainStore {
        ChainStore {
            layout,
            len: 0,
            memory: Some(Vec::new()),
            file: None,
        }
    }

    /// An empty store in a new file (an older one is replaced), and in memory too where `in_memory`. `of` says whose draws they are.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn create(
        path: &Path,
        layout: Layout,
        of: Checksum,
        in_memory: bool,
    ) -> Result<ChainStore, Diagnostic> {
        // Removed and not cut off: a link in its place is not followed.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(codes::cannot_write(path, &error.to_string()));
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

    /// An empty store in a file that must not exist yet and is deleted when the store is dropped; nothing is in memory.
    ///
    /// # Errors
    /// A file that exists or cannot be written.
    pub fn temporary(path: &Path, layout: Layout) -> Result<ChainStore, Diagnostic> {
        let header = layout.header(Checksum::default());
        let file = begin(path, &header, File::options().write(true).create_new(true))?;
        let mut store = ChainStore::over(path, file, (layout, 0), false);
        if let Some(records) = &mut store.file {
            records.temporary = true;
        }
        Ok(store)
    }

    /// The first `records` records of a file; what follows them is cut off.
    ///
    /// # Errors
    /// A file that cannot be read or written, another layout, the draws of another, fewer records, a damaged record.
    pub fn open(
        path: &Path,
        layout: Layout,
        of: Checksum,
        records: usize,
        in_memory: bool,
    ) -> Result<ChainStore, Diagnostic> {
        let there = records_of(path, layout, of)?;
        if there < records {
            let why = format!("it holds {there} records of {records}");
            return Err(codes::checkpoint_damaged(path, &why));
        }
        let opened = File::options().write(true).open(path);
        let file = opened.map_err(|error| codes::cannot_write(path, &error.to_string()))?;
        let mut store = ChainStore::over(path, file, (layout, records), false);
        store.truncate(records)?;
        match in_memory {
            true => store.memory = Some(store.records(0..records)?),
            // Read for their checksums.
            false => store.blocks(0..records, |_| {})?,
        }
        Ok(store)
    }

    fn over(path: &Path, file: File, (layout, written): (Layout, usize), in_memory: bool) -> ChainStore {
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

    /// The shape of a record.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether all records are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a record. Files are written in blocks.
    ///
    /// # Errors
    /// A file that cannot be written.
    ///
    /// # Panics
    /// Where the lengths are not those of the layout.
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

    /// Hands every record to the operating system: they outlive this process, though not a loss of power.
    ///
    /// # Errors
    /// A file that cannot be written; the store stays as it is.
    pub fn flush(&mut self) -> Result<(), Diagnostic> {
        let (layout, len) = (self.layout, self.len);
        match &mut self.file {
            Some(records) if records.written < len => records.flush(layout, len),
            _ => Ok(()),
        }
    }

    /// As [`ChainStore::flush`], and waits until the disk has them.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sync(&mut self) -> Result<(), Diagnostic> {
        self.flush()?;
        match &self.file {
            Some(records) => records
                .file
                .sync_data()
                .map_err(|error| codes::cannot_write(&records.path, &error.to_string())),
            None => Ok(()),
        }
    }

    /// Forgets all records but the first `to`.
    ///
    /// # Errors
    /// A file that cannot be written.
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
                .map_err(|error| codes::cannot_write(&records.path, &error.to_string()))?;
        }
        self.len = to;
        Ok(())
    }

    /// One number of every record: `element` counts through the position, then through the statistics.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn column(&self, element: usize) -> Result<Vec<f64>, Diagnostic> {
        let mut columns = self.columns(element..element + 1)?;
        Ok(columns.pop().unwrap_or_default())
    }

    /// Several neighbouring columns in one pass over the file; memory is that of the columns and one block.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn columns(&self, elements: Range<usize>) -> Result<Vec<Vec<f64>>, Diagnostic> {
        let mut columns: Vec<Vec<f64>> = elements.clone().map(|_| Vec::with_capacity(self.len)).collect();
        self.blocks(0..self.len, |block| {
            for record in block.chunks_exact(self.layout.width()) {
                for (column, value) in columns.iter_mut().zip(&record[elements.clone()]) {
                    column.push(*value);
                }
            }
        })?;
        Ok(columns)
    }

    /// Some records, one after the other: `[records, dim + stats]`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn records(&self, range: Range<usize>) -> Result<Vec<f64>, Diagnostic> {
        let mut numbers = Vec::with_capacity(range.len() * self.layout.width());
        self.blocks(range, |block| numbers.extend_from_slice(block))?;
        Ok(numbers)
    }

    /// Shows some records block by block, each `[some records, dim + stats]`.
    ///
    /// # Errors
    /// A file that cannot be read.
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
    fn flush(&mut self, layout: Layout, len: usize) -> Result<(), Diagnostic> {
        let mut bytes = Vec::with_capacity((len - self.written) * layout.bytes());
        for (record, numbers) in (self.written..len).zip(self.pending.chunks_exact(layout.width().max(1))) {
            let begin = bytes.len();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            let checksum = checksum(record, &bytes[begin..]);
            bytes.extend(checksum.to_le_bytes());
        }
        // After an attempt that failed half way the file is longer than `written` says.
        let at = SeekFrom::Start(layout.offset(self.written));
        let done = self.file.seek(at).and_then(|_| self.file.write_all(&bytes));
        done.map_err(|error| codes::cannot_write(&self.path, &error.to_string()))?;
        self.written = len;
        self.pending.clear();
        Ok(())
    }

    /// Reads whole records of the file. The file is opened anew, so that several threads may read at once.
    fn read(
        &self,
        layout: Layout,
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
        read().map_err(|error| codes::checkpoint_damaged(&self.path, &error.to_string()))
    }
}

/// How many whole records a file holds.
///
/// # Errors
/// A file that cannot be read, or that holds no records of this layout, or those of another.
pub fn records_of(path: &Path, layout: Layout, of: Checksum) -> Result<usize, Diagnostic> {
    let mut header = Vec::new();
    let read = file::regular(path).and_then(|file| {
        (&file).take(HEADER).read_to_end(&mut header)?;
        file.metadata()
    });
    let size = read
        .map_err(|error| codes::checkpoint_damaged(path, &error.to_string()))?
        .len();
    let expected = layout.header(of);
    if header != expected {
        let but_one = |bytes: &[u8]| {
            bytes.len() == expected.len() && bytes[..16] == expected[..16] && bytes[24..] == expected[24..]
        };
        let why = match but_one(&header) {
            true => "it holds the draws of another chain".to_owned(),
            false => format!(
                "it does not begin as a file of {} numbers and {} statistics per draw",
                layout.dim, layout.stats
            ),
        };
        return Err(codes::checkpoint_damaged(path, &why));
    }
    let records = (size - HEADER) / layout.bytes() as u64;
    Ok(usize::try_from(records).unwrap_or(usize::MAX))
}

fn checksum(record: usize, bytes: &[u8]) -> u64 {
    let mut checksum = Checksum::of(&(record as u64).to_le_bytes());
    checksum.add(bytes);
    checksum.value()
}

/// The numbers of a record as it is in the file.
fn whole(record: usize, bytes: &[u8]) -> io::Result<&[u8]> {
    let found = bytes.split_last_chunk::<8>();
    match found.filter(|(numbers, sum)| u64::from_le_bytes(**sum) == checksum(record, numbers)) {
        Some((numbers, _)) => Ok(numbers),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("draw {} is not what was written", record + 1),
        )),
    }
}

/// Opens a new file and writes its header.
fn begin(path: &Path, header: &[u8], how: &OpenOptions) -> Result<File, Diagnostic> {
    let made = how
        .open(path)
        .and_then(|mut file| file.write_all(header).map(|()| file));
    made.map_err(|error| codes::cannot_write(path, &error.to_string()))
}

fn number(bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(bytes);
    f64::from_le_bytes(eight)
}

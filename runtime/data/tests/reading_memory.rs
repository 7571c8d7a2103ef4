//! Readers never use more memory than the limit that they accept.
#![allow(clippy::unwrap_used)]

mod folder;

use bnnc_abi::data::Format;
use bnnc_data::read::{Reading, read};
use flate2::{Compression, write::GzEncoder};
use folder::{Folder, constant_parquet, packed_parquet};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;

/// An allocator that records the largest memory of the current thread.
struct Counting;

thread_local! {
    static USED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts a change of the memory in use. A large block that grows is moved without a copy, so only
/// the difference of its sizes is counted.
fn count(bytes: isize) {
    // A thread that ends may free memory after its variables are gone.
    let _ = USED.try_with(|used| used.set(used.get() + bytes));
    let _ = PEAK.try_with(|peak| peak.set(peak.get().max(USED.get())));
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The memory that readers need for buffers of fixed sizes, which is not counted against the limit.
const BUFFERS: isize = 2 << 20;

/// Reads a file within a memory limit. Returns whether the reader accepts the limit, and the largest
/// memory that it uses.
fn peak(format: Format, file: &PathBuf, limit: u64) -> (bool, isize) {
    let before = USED.get();
    PEAK.set(before);
    let found = read(
        format,
        std::slice::from_ref(file),
        None,
        &Reading::within(Some(limit)),
    );
    if let Err(faults) = &found {
        assert_eq!(faults[0].code.id, "E0435", "{faults:?}");
    }
    (found.is_ok(), PEAK.get() - before)
}

/// Checks limits between 1 MiB and 1 GiB, none of which may be exceeded. The smallest accepted limit is
/// among them, to within a twentieth.
#[track_caller]
fn assert_bounded(format: Format, file: &PathBuf) {
    let (mut low, mut high) = (1_u64 << 20, 1_u64 << 30);
    assert!(peak(format, file, high).0, "{} is rejected", file.display());
    while high - low > high / 20 {
        let middle = low.midpoint(high);
        let (is_accepted, peak) = peak(format, file, middle);
        assert!(
            peak <= middle as isize + BUFFERS,
            "{}: {peak} bytes with a limit of {middle}",
            file.display()
        );
        match is_accepted {
            true => high = middle,
            false => low = middle,
        }
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// With a number of rows just above a power of two, lists that double their capacity take the most memory.
const ROWS: usize = (1 << 17) + 9;

#[test]
fn csv_files_are_read_within_the_limit() {
    let folder = Folder::new();
    let numbers = format!("x,y\n{}", "1,2\n".repeat(ROWS));
    assert_bounded(Format::Csv, &folder.file("numbers.csv", &numbers));
    assert_bounded(Format::Csv, &folder.file("packed.csv.gz", packed(&numbers)));
    let reals = format!("x,y\n{}1,0.5\n", "1,2\n".repeat(ROWS));
    assert_bounded(Format::Csv, &folder.file("reals.csv", reals));
    assert_bounded(Format::Csv, &folder.file("old.csv", numbers.replace('\n', "\r")));
    let blank = format!("x\n{}", "1\n\n".repeat(ROWS));
    assert_bounded(Format::Csv, &folder.file("blank.csv", blank));
    let texts: String = (0..(1 << 16) + 9).map(|row| format!("a{row}\n")).collect();
    assert_bounded(Format::Csv, &folder.file("texts.csv", format!("x\n{texts}")));
}

#[test]
fn json_files_are_read_within_the_limit() {
    let folder = Folder::new();
    let file = |name: &str, elements: String| folder.file(name, format!("{{\"x\": [{elements}]}}"));
    assert_bounded(
        Format::Json,
        &file("ints.json", format!("{}1", "1,".repeat(ROWS))),
    );
    assert_bounded(
        Format::Json,
        &file("reals.json", format!("{}0.5", "1,".repeat(ROWS))),
    );
    assert_bounded(
        Format::Json,
        &file("nested.json", format!("{}[1]", "[1],".repeat(ROWS))),
    );
    assert_bounded(
        Format::Json,
        &file("texts.json", format!("{}\"a\"", "\"a\",".repeat(ROWS))),
    );
    let distinct: String = (0..1 << 16).map(|row| format!("\"a{row}\",")).collect();
    assert_bounded(Format::Json, &file("distinct.json", format!("{distinct}\"a\"")));
    let many: String = (0..1 << 16).map(|at| format!("\"x{at}\": [{at}], ")).collect();
    let names = folder.file("names.json", format!("{{{many}\"y\": [0]}}"));
    assert_bounded(Format::Json, &names);
}

#[test]
fn parquet_files_are_read_within_the_limit() {
    let folder = Folder::new();
    let values = vec![Some(1.0); ROWS];
    let file = packed_parquet(&values, parquet::basic::Compression::SNAPPY);
    assert_bounded(Format::Parquet, &folder.file("packed.parquet", file));
    let texts: Vec<String> = (0..(1 << 16) + 9).map(|row| format!("a{row}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_bounded(
        Format::Parquet,
        &folder.file("texts.parquet", folder::texts(&texts)),
    );
}

/// A page of equal values takes a few bytes in the file. The 40,000 pages of this file need more bytes to
/// read than is otherwise allowed for a file of this size.
#[test]
fn a_parquet_file_of_many_constant_pages_is_read() {
    let rows = 12_000_000;
    let folder = Folder::new();
    let file = folder.file("constant.parquet", constant_parquet(rows, 300));
    assert!(file.metadata().unwrap().len() < 4 << 20);
    let reading = Reading::within(Some(1 << 30));
    let table = read(Format::Parquet, &[file], None, &reading).unwrap();
    assert_eq!(table.rows, rows);
}

//! Draws of a chain are read back unchanged, from a store in memory and from a store in a file.

#![allow(clippy::unwrap_used)]

use bnnc_base::checksum::Checksum;
use bnnc_core::store::{ChainStore, RecordLayout, records_of};
use std::path::PathBuf;

const LAYOUT: RecordLayout = RecordLayout { dim: 3, stats: 2 };

/// The number of bytes of a record: its numbers and their checksum.
const RECORD: usize = 48;

/// The number of bytes before the first record.
const HEADER: usize = 40;

/// Returns the checksum that identifies the chain.
fn of() -> Checksum {
    Checksum::of(b"x-0-1")
}

/// Returns an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-store-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Returns the number at index `element` of a record. All numbers are different.
fn number(record: usize, element: usize) -> f64 {
    (record * LAYOUT.width() + element) as f64 / 7.0
}

fn fill(store: &mut ChainStore, records: std::ops::Range<usize>) {
    for record in records {
        let numbers: Vec<f64> = (0..LAYOUT.width())
            .map(|element| number(record, element))
            .collect();
        store.append(&numbers[..3], &numbers[3..]).unwrap();
    }
}

fn assert_holds(store: &ChainStore, records: usize) {
    assert_eq!(store.len(), records);
    for range in [0..records, records / 3..records - records / 4] {
        let expected: Vec<f64> = range
            .clone()
            .flat_map(|record| (0..LAYOUT.width()).map(move |element| number(record, element)))
            .collect();
        assert_eq!(store.records(range).unwrap(), expected);
    }
}

/// A number of records: several times as many as are buffered before a write.
const MANY: usize = 15_000;

#[test]
fn appended_records_are_read_back() {
    let folder = folder("read");
    let stores = [
        ChainStore::memory(LAYOUT),
        ChainStore::create(&folder.join("file"), LAYOUT, of(), false).unwrap(),
        ChainStore::create(&folder.join("both"), LAYOUT, of(), true).unwrap(),
        ChainStore::temporary(&folder.join("temporary"), LAYOUT).unwrap(),
    ];
    for mut store in stores {
        assert!(store.is_empty());
        assert_holds(&store, 0);
        fill(&mut store, 0..17);
        assert_holds(&store, 17);
        fill(&mut store, 17..MANY);
        // Some records are in the file, and the others are still buffered.
        assert_holds(&store, MANY);
        store.flush().unwrap();
        assert_holds(&store, MANY);
    }
    assert!(!folder.join("temporary").exists(), "deleted with its store");
}

#[test]
fn a_file_is_read_in_bounded_blocks() {
    let path = folder("blocks").join("draws");
    let mut store = ChainStore::create(&path, LAYOUT, of(), false).unwrap();
    fill(&mut store, 0..MANY);
    let (mut largest, mut all) = (0, 0);
    store
        .blocks(0..MANY, |block| {
            assert!(block.len().is_multiple_of(LAYOUT.width()));
            largest = largest.max(block.len());
            all += block.len();
        })
        .unwrap();
    assert_eq!(all, MANY * LAYOUT.width());
    assert!(largest <= 1 << 15, "{largest} numbers at a time");
}

#[test]
fn truncated_records_are_gone() {
    let folder = folder("cut");
    for (name, in_memory) in [("file", false), ("both", true)] {
        let path = folder.join(name);
        for to in [0, 8_765, MANY - 1, MANY + 5] {
            for flushed in [false, true] {
                let mut store = ChainStore::create(&path, LAYOUT, of(), in_memory).unwrap();
                fill(&mut store, 0..MANY);
                if flushed {
                    store.flush().unwrap();
                }
                store.truncate(to).unwrap();
                assert_holds(&store, to.min(MANY));
                fill(&mut store, to.min(MANY)..MANY + 100);
                assert_holds(&store, MANY + 100);
            }
        }
    }
}

#[test]
fn a_file_is_opened_as_it_was_flushed() {
    let folder = folder("open");
    let path = folder.join("draws");
    let mut store = ChainStore::create(&path, LAYOUT, of(), false).unwrap();
    fill(&mut store, 0..1000);
    store.sync().unwrap();
    fill(&mut store, 1000..1100);
    drop(store);
    assert_eq!(
        records_of(&path, LAYOUT, of()).unwrap(),
        1000,
        "what was held back is lost"
    );
    for in_memory in [false, true] {
        let mut store = ChainStore::open(&path, LAYOUT, of(), 900, in_memory).unwrap();
        assert_holds(&store, 900);
        fill(&mut store, 900..1000);
        assert_holds(&store, 1000);
        store.sync().unwrap();
    }
    let too_few = ChainStore::open(&path, LAYOUT, of(), 1001, false).unwrap_err();
    assert_eq!(too_few.code.id, "E0510");
    let other = RecordLayout { dim: 4, stats: 1 };
    assert_eq!(records_of(&path, other, of()).unwrap_err().code.id, "E0510");
    assert_eq!(
        records_of(&folder.join("none"), LAYOUT, of())
            .unwrap_err()
            .code
            .id,
        "E0510"
    );
}

#[test]
fn a_file_truncated_at_any_byte_holds_its_complete_records() {
    let path = folder("bytes").join("draws");
    let mut store = ChainStore::create(&path, LAYOUT, of(), false).unwrap();
    fill(&mut store, 0..5);
    store.flush().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), HEADER + 5 * RECORD);
    for length in 0..=bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        match records_of(&path, LAYOUT, of()) {
            Err(found) => assert!(length < HEADER && found.code.id == "E0510"),
            Ok(records) => {
                assert_eq!(records, (length - HEADER) / RECORD);
                let mut store = ChainStore::open(&path, LAYOUT, of(), records, true).unwrap();
                assert_holds(&store, records);
                fill(&mut store, records..5);
                store.flush().unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), bytes);
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    let path = folder("flipped").join("draws");
    let mut store = ChainStore::create(&path, LAYOUT, of(), false).unwrap();
    fill(&mut store, 0..5);
    store.flush().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for at in HEADER..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let record = (at - HEADER) / RECORD;
        for in_memory in [false, true] {
            let found = ChainStore::open(&path, LAYOUT, of(), 5, in_memory).unwrap_err();
            assert_eq!(found.code.id, "E0510");
            assert!(
                found.message.contains(&format!("draw {}", record + 1)),
                "{}",
                found.message
            );
        }
        // A store that was opened before the damage also detects it, when it reads the damaged
        // record.
        assert_eq!(store.records(0..record + 1).unwrap_err().code.id, "E0510");
        assert_eq!(store.records(0..record).unwrap().len(), record * LAYOUT.width());
        assert_eq!(
            ChainStore::open(&path, LAYOUT, of(), record, true).unwrap().len(),
            record
        );
        std::fs::write(&path, &bytes).unwrap();
    }
    // Records in a changed order are also rejected.
    let swapped = [
        &bytes[..HEADER],
        &bytes[HEADER + RECORD..HEADER + 2 * RECORD],
        &bytes[HEADER..HEADER + RECORD],
    ]
    .concat();
    std::fs::write(&path, swapped).unwrap();
    assert_eq!(
        ChainStore::open(&path, LAYOUT, of(), 2, true)
            .unwrap_err()
            .code
            .id,
        "E0510"
    );
}

#[test]
fn a_file_that_cannot_be_written_is_a_diagnostic() {
    let folder = folder("unwritable");
    let missing = folder.join("no").join("folder");
    assert_eq!(
        ChainStore::create(&missing, LAYOUT, of(), true)
            .unwrap_err()
            .code
            .id,
        "E0503"
    );
    let there = folder.join("there");
    std::fs::write(&there, "something").unwrap();
    assert_eq!(
        ChainStore::temporary(&there, LAYOUT).unwrap_err().code.id,
        "E0503"
    );
    assert_eq!(std::fs::read(&there).unwrap(), b"something");
}

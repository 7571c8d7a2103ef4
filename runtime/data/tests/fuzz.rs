//! Even if the bytes of a file are random, a reader does not panic, and its memory stays bounded.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::data::{DataSpec, Format, Test};
use bnnc_data::LoadedData;
use bnnc_math::philox;
use flate2::{Compression, write::GzEncoder};
use folder::{Folder, idx, npy, parquet, spec};
use std::io::Write;

const SEED: u64 = 4;

/// A stream of random integers.
struct Dice {
    key: u64,
    at: u64,
}

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.at += 1;
        (philox::uniform(self.key, [0, 0, 0], self.at) * count as f64) as usize
    }
}

/// Makes one to four random changes to the bytes. A change replaces, flips, inserts, removes or
/// repeats bytes, cuts the file, or writes the smallest or largest integers.
fn mutate(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let place = dice.below(bytes.len().max(1));
        match dice.below(7) {
            _ if bytes.is_empty() => bytes.push(dice.below(256) as u8),
            0 => bytes[place] = dice.below(256) as u8,
            1 => bytes[place] ^= 1 << dice.below(8),
            2 => bytes.truncate(place),
            3 => {
                bytes.remove(place);
            }
            4 => bytes.insert(place, b"\x00\xff\",\n[]{}'9-eN\x80"[dice.below(15)]),
            5 => bytes[place] = [0, 0xff, 0x7f, 0x80][dice.below(4)],
            _ => {
                let piece = bytes[place..(place + 1 + dice.below(16)).min(bytes.len())].to_vec();
                bytes.splice(place..place, piece);
            }
        }
    }
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads many mutants of one file as `format`. Each mutant is read alone, or as the inputs of a
/// pair.
fn survive(format: Format, seed: &[u8], rounds: u64) {
    let folder = Folder::new();
    let pair = matches!(format, Format::Idx | Format::Npy);
    let target = folder.file(
        "y",
        if format == Format::Idx {
            idx(&[2], &[0, 1])
        } else {
            npy("|u1", false, "(2,)", &[0, 1])
        },
    );
    let mut dice = Dice {
        key: philox::key(SEED, &format!("{format:?}")),
        at: 0,
    };
    for _ in 0..rounds {
        let file = folder.file("x", mutate(&mut dice, seed));
        let files: Vec<&std::path::Path> = if pair { vec![&file, &target] } else { vec![&file] };
        let base = spec(format, &files);
        let read = LoadedData::read(&DataSpec {
            standardise_inputs: true,
            ..base
        })
        .and_then(|s| s.dataset(0, 1));
        if let Err(faults) = read {
            assert!(!faults.is_empty());
        }
    }
}

#[test]
fn mutated_csv_never_panics() {
    let text = b"x,y,city\n1,2.5,\"a, b\"\n-3,1e-3,c\n5,.5,\"d \"\"e\"\"\"\n";
    survive(Format::Csv, text, 4000);
    survive(Format::Csv, &gzip(text), 1500);
}

#[test]
fn mutated_json_never_panics() {
    survive(
        Format::Json,
        br#"{"J": 2, "y": [1, 2, 3], "X": [[1, 2.5], [3, 4], [5, 6]], "g": ["b", "a", "\u00e9"], "t": true}"#,
        4000,
    );
}

#[test]
fn mutated_numpy_arrays_never_panic() {
    let doubles: Vec<u8> = [1.0_f64, 2.0, 3.0, 4.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    survive(Format::Npy, &npy("<f8", true, "(2, 2)", &doubles), 4000);
    survive(Format::Npy, &npy(">i2", false, "(2, 2)", &doubles[..8]), 4000);
}

#[test]
fn mutated_idx_files_never_panic() {
    survive(Format::Idx, &idx(&[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8]), 4000);
    survive(
        Format::Idx,
        &gzip(&idx(&[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8])),
        4000,
    );
}

#[test]
fn mutated_cifar_files_never_panic() {
    let record = |labels: &[u8]| -> Vec<u8> {
        let pixels = (0..3072).map(|at| at as u8);
        labels.iter().copied().chain(pixels).collect()
    };
    survive(Format::Cifar, &[record(&[1]), record(&[9])].concat(), 300);
    survive(Format::Cifar, &gzip(&record(&[1, 9])), 300);
}

#[test]
fn mutated_parquet_files_never_panic() {
    survive(
        Format::Parquet,
        &parquet(&[Some(0.5), Some(1.5), Some(-2.0), Some(8.0)]),
        4000,
    );
}

#[test]
fn mutated_split_files_never_panic() {
    let folder = Folder::new();
    let file = folder.file("t.csv", "x,y\n1,2\n3,4\n5,6\n");
    let seed = br#"{"kind": "random", "n_rows": 3, "index_base": 0, "n_splits": 2, "test": [[0], [2, 1]]}"#;
    let mut dice = Dice {
        key: philox::key(SEED, "splits"),
        at: 0,
    };
    for _ in 0..2000 {
        let test = Test::Splits {
            file: folder.file("s.json", mutate(&mut dice, seed)),
            split: None,
        };
        let _ = LoadedData::read(&DataSpec {
            test,
            ..spec(Format::Csv, &[&file])
        })
        .and_then(|s| s.dataset(1, 1));
    }
}

//! Tests files of a run that are damaged, or that belong to another chain.

use crate::{
    DRAWS, ID, LAYOUT, Plan, WARMUP, WHOLE, Walk, draws_of, drive, expected, folder, killed_late, open,
    print, resume,
};
use bnnc_abi::methods::sampling::DrawStorage;
use bnnc_core::checkpoint::{ChainId, Checkpoint, Opening};
use std::fs;
use std::path::{Path, PathBuf};

fn state_of(out: &Path) -> PathBuf {
    out.join("checkpoint").join("x-0-1.chain")
}

/// Resumes a chain, and checks its draws and the state of its sampler. Returns the iteration at
/// which the chain continues, or the code of the diagnostic.
fn resumed_at(out: &Path) -> Result<usize, &'static str> {
    let checkpoint = Checkpoint::open(out, &print(), Opening::Resume).map_err(|found| found.code.id)?;
    let mut file = checkpoint
        .chain(ID, LAYOUT, DrawStorage::Memory)
        .map_err(|found| found.code.id)?;
    let Some(resumed) = file.resumed() else {
        return Ok(0);
    };
    let mut walk = Walk::default();
    (0..resumed.iteration).for_each(|_| walk.step());
    assert_eq!(resumed.sampler, walk.save());
    let records = resumed.iteration.saturating_sub(WARMUP);
    assert_eq!(file.len(), records);
    let size = fs::metadata(draws_of(out)).unwrap().len() as usize;
    assert_eq!(
        size,
        40 + records * (LAYOUT.width() + 1) * 8,
        "what comes after is cut off"
    );
    Ok(resumed.iteration)
}

/// Returns the path and the content of each file of a checkpoint.
fn snapshot(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(out.join("checkpoint")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect()
}

fn put_back(files: &[(PathBuf, Vec<u8>)]) {
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_damaged_state_falls_back_to_the_one_before() {
    let out = folder("state");
    killed_late(&out);
    let files = snapshot(&out);
    assert_eq!(resumed_at(&out), Ok(20));
    let bytes = fs::read(state_of(&out)).unwrap();
    let damage = |damaged: &[u8]| {
        put_back(&files);
        fs::write(state_of(&out), damaged).unwrap();
        assert_eq!(resumed_at(&out), Ok(10));
    };
    for length in 0..bytes.len() {
        damage(&bytes[..length]);
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        damage(&changed);
    }
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    // A damaged state must never replace the intact state before it.
    killed_late(&out);
    fs::write(state_of(&out), "").unwrap();
    let plan = Plan {
        killed: 12,
        commit: 1,
        ..WHOLE
    };
    assert!(drive(open(&out, Opening::Resume).unwrap(), plan).is_none());
    fs::write(state_of(&out), "").unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

#[test]
fn a_process_killed_between_two_renames_leaves_the_state_before() {
    let out = folder("renames");
    killed_late(&out);
    fs::remove_file(state_of(&out)).unwrap();
    fs::write(out.join("checkpoint").join("x-0-1.chain.99.tmp"), "half").unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    assert!(!out.join("checkpoint").join("x-0-1.chain.99.tmp").exists());
}

#[test]
fn states_that_are_both_damaged_are_an_error() {
    let out = folder("both");
    killed_late(&out);
    fs::write(state_of(&out), "x").unwrap();
    fs::write(state_of(&out).with_extension("chain.old"), "").unwrap();
    assert_eq!(resume(&out), Err("E0510"));
    fs::remove_file(state_of(&out)).unwrap();
    assert_eq!(resume(&out), Err("E0510"));
    // A new run ignores the damaged states of the earlier run.
    assert!(drive(open(&out, Opening::New).unwrap(), WHOLE).is_some());
}

#[test]
fn draws_truncated_at_any_byte_are_drawn_again_or_an_error() {
    let out = folder("draws");
    killed_late(&out);
    let files = snapshot(&out);
    let bytes = fs::read(draws_of(&out)).unwrap();
    let (header, record) = (40, (LAYOUT.width() + 1) * 8);
    // The two saved states are from the iterations 10 and 20.
    let needed = |iteration: usize| header + (iteration - WARMUP) * record;
    assert!(
        bytes.len() == needed(20),
        "the last two iterations were held back"
    );
    for length in 0..=bytes.len() {
        put_back(&files);
        fs::write(draws_of(&out), &bytes[..length]).unwrap();
        let expected = match length {
            _ if length < needed(10) => Err("E0510"),
            _ if length < needed(20) => Ok(10),
            _ => Ok(20),
        };
        assert_eq!(resumed_at(&out), expected, "cut at {length}");
    }
    put_back(&files);
    fs::write(draws_of(&out), &bytes[..needed(20) - 1]).unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    put_back(&files);
    fs::write(draws_of(&out), [&bytes[..], &[1, 2, 3]].concat()).unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    put_back(&files);
    fs::write(draws_of(&out), &bytes[..needed(10) - 1]).unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::Resume).unwrap();
    let short = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap_err();
    let name = draws_of(&out).file_name().unwrap().to_string_lossy().into_owned();
    assert!(short.message.contains(&name), "{}", short.message);
    drop(checkpoint);
    fs::remove_file(draws_of(&out)).unwrap();
    assert_eq!(resume(&out), Err("E0510"));
}

/// Draws or states of another chain are rejected if their files are renamed to the files of this
/// chain. Files of another run are also rejected.
#[test]
fn files_of_another_chain_are_an_error() {
    let out = folder("swapped");
    let other = ChainId { chain: 2, ..ID };
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    for id in [ID, other] {
        drive(checkpoint.chain(id, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    }
    drop(checkpoint);
    let of = |chain: usize, extension: &str| out.join("checkpoint").join(format!("x-0-{chain}.{extension}"));
    let files = snapshot(&out);
    for swapped in [&["draws"][..], &["chain"], &["draws", "chain"]] {
        for extension in swapped {
            fs::copy(of(2, extension), of(1, extension)).unwrap();
        }
        let _ = fs::remove_file(of(1, "chain.old"));
        assert_eq!(resume(&out), Err("E0510"), "{swapped:?}");
        put_back(&files);
    }
    fs::copy(of(2, "draws"), of(1, "draws")).unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::Resume).unwrap();
    let found = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap_err();
    assert!(
        found.message.contains("the draws of another chain"),
        "{}",
        found.message
    );
    drop(checkpoint);
    put_back(&files);
    let elsewhere = folder("elsewhere");
    let mut print = print();
    print.fact("the seed", "2");
    let checkpoint = Checkpoint::open(&elsewhere, &print, Opening::New).unwrap();
    drive(checkpoint.chain(ID, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    for extension in ["draws", "chain"] {
        let from = elsewhere.join("checkpoint").join(format!("x-0-1.{extension}"));
        fs::copy(from, of(1, extension)).unwrap();
    }
    assert_eq!(resume(&out), Err("E0510"), "of another seed");
    put_back(&files);
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

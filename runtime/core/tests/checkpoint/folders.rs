//! Tests the folder of a run: its owner, and the files that are replaced.

use crate::{
    DRAWS, ID, LAYOUT, WHOLE, draws_of, drive, expected, folder, killed_late, numbers, print, resume,
};
use bnnc_abi::methods::sampling::DrawStorage;
use bnnc_core::checkpoint::{Checkpoint, Opening};
use bnnc_core::fingerprint::Fingerprint;
use std::fs;

/// Other programs use names such as `weights.old` and `config.json` for files in a folder
/// `checkpoint`. A run must not delete them.
#[test]
fn files_that_no_run_wrote_stay() {
    let out = folder("mine");
    let checkpoint = out.join("checkpoint");
    fs::create_dir(&checkpoint).unwrap();
    let mine = [
        "config.json",
        "weights.old",
        "x-notes.fit",
        "x-0-1-2.draws",
        "x-1.json",
        "y.tmp",
        "z-0-1.draws",
        "z-0.fit",
        "z-0.fit.17.tmp",
    ];
    for name in mine {
        fs::write(checkpoint.join(name), "mine").unwrap();
    }
    for how in [Opening::New, Opening::Resume, Opening::Overwrite] {
        for name in ["x-0.fit", "x-0-1.chain.17.tmp"] {
            fs::write(checkpoint.join(name), "a run's").unwrap();
        }
        drop(Checkpoint::open(&out, &print(), how).unwrap());
        assert!(!checkpoint.join("x-0-1.chain.17.tmp").exists());
        assert_eq!(checkpoint.join("x-0.fit").exists(), how == Opening::Resume);
        for name in mine {
            assert!(checkpoint.join(name).exists(), "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let out = folder("links");
    let (checkpoint, victim) = (out.join("checkpoint"), out.join("victim"));
    fs::create_dir(&checkpoint).unwrap();
    fs::write(&victim, "mine").unwrap();
    for name in ["x-0-1.draws", "x-0-1.chain", "y-0.fit"] {
        std::os::unix::fs::symlink(&victim, checkpoint.join(name)).unwrap();
    }
    let opened = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    opened.keep("y", 0, &1.5).unwrap();
    drive(opened.chain(ID, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    drop(opened);
    let lock = checkpoint.join("lock");
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&victim, &lock).unwrap();
    let found = Checkpoint::open(&out, &print(), Opening::Overwrite).unwrap_err();
    assert_eq!(found.code.id, "E0515");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn another_run_is_replaced_only_on_request() {
    let out = folder("other");
    killed_late(&out);
    let mut other = Fingerprint::default();
    other.fact("the seed", "2");
    let found = Checkpoint::open(&out, &other, Opening::New).unwrap_err();
    assert_eq!(found.code.id, "E0514");
    assert!(
        found
            .notes
            .contains(&"the seed: 1 in the earlier run, 2 now".to_owned()),
        "{found:?}"
    );
    assert_eq!(resume(&out).unwrap(), expected(DRAWS), "nothing was lost");
    drop(Checkpoint::open(&out, &other, Opening::Overwrite).unwrap());
    assert!(!draws_of(&out).exists());
}

#[test]
fn another_run_is_not_continued() {
    let out = folder("another");
    killed_late(&out);
    let mut now = Fingerprint::default();
    now.fact("the backend", "reference");
    now.text("the program", "model M() {}");
    now.draws("x", DRAWS as u64);
    let found = Checkpoint::open(&out, &now, Opening::Resume).unwrap_err();
    assert_eq!(found.code.id, "E0511");
    assert_eq!(
        found.notes,
        [
            "the backend: not given in the earlier run, reference now",
            "the seed: 1 in the earlier run, not given now",
            "the program was not used in the earlier run",
        ]
    );
    now = print();
    now.fact("the seed", "2");
    let found = Checkpoint::open(&out, &now, Opening::Resume).unwrap_err();
    assert_eq!(found.notes, ["the seed: 1 in the earlier run, 2 now"]);
    // The rejected checkpoint must be unchanged, so its own chain can still be resumed.
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

#[test]
fn a_folder_belongs_to_one_run_at_a_time() {
    let out = folder("lock");
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    for how in [Opening::New, Opening::Resume, Opening::Overwrite] {
        let found = Checkpoint::open(&out, &print(), how).unwrap_err();
        assert_eq!(found.code.id, "E0512");
    }
    let copy = checkpoint.clone();
    drop(checkpoint);
    assert!(Checkpoint::open(&out, &print(), Opening::Resume).is_err());
    drop(copy);
    assert!(Checkpoint::open(&out, &print(), Opening::Resume).is_ok());
}

#[test]
fn a_new_run_replaces_the_old_one_and_nothing_else() {
    let out = folder("new");
    killed_late(&out);
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    checkpoint.keep("y", 0, &1.5).unwrap();
    drop(checkpoint);
    let notes = out.join("checkpoint").join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    assert_eq!(checkpoint.kept::<f64>("y", 0), None);
    assert!(!draws_of(&out).exists());
    assert!(notes.exists());
}

#[test]
fn no_file_stays_without_a_folder() {
    let checkpoint = Checkpoint::none();
    for keep in [DrawStorage::Memory, DrawStorage::Disk] {
        let file = checkpoint.chain(ID, LAYOUT, keep).unwrap();
        assert!(!file.is_due());
        assert_eq!(numbers(&drive(file, WHOLE).unwrap()), expected(DRAWS));
    }
    checkpoint.keep("y", 0, &1.0).unwrap();
    assert_eq!(checkpoint.kept::<f64>("y", 0), None);
    let mine = format!("bnnc-{}-", std::process::id());
    let left = fs::read_dir(std::env::temp_dir()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(&mine) && name.to_string_lossy().ends_with(".draws")
    });
    assert_eq!(left.count(), 0);
}

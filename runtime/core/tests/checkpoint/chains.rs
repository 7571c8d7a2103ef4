//! Tests chains and trainings that are resumed.

use crate::{
    DRAWS, ID, LAYOUT, Plan, WARMUP, WHOLE, Walk, draws_of, drive, expected, folder, killed_late, numbers,
    open, print, resume,
};
use bnnc_abi::methods::sampling::DrawStorage;
use bnnc_core::checkpoint::{ChainId, Checkpoint, Opening};
use std::fs;
use std::time::Duration;

#[test]
fn a_chain_killed_at_any_iteration_resumes_to_the_same_draws() {
    let out = folder("killed");
    let often = [3, 5, 6, 14].map(|killed| (1, killed));
    let seldom = (0..WARMUP + DRAWS).map(|killed| (9, killed));
    for (commit, killed) in often.into_iter().chain(seldom) {
        let plan = Plan {
            commit,
            killed,
            ..WHOLE
        };
        assert!(drive(open(&out, Opening::New).unwrap(), plan).is_none());
        // The resumed chain is killed a second time, before its end.
        let again = Plan {
            killed: killed + 4,
            ..plan
        };
        drive(open(&out, Opening::Resume).unwrap(), again);
        assert_eq!(resume(&out).unwrap(), expected(DRAWS), "killed at {killed}");
    }
}

/// The test above can fail: a chain that continues from a wrong state yields different draws.
#[test]
fn a_chain_that_forgot_its_state_is_noticed() {
    let out = folder("forgot");
    killed_late(&out);
    let mut file = open(&out, Opening::Resume).unwrap();
    file.resumed().unwrap();
    let mut walk = Walk {
        iteration: 20,
        ..Walk::default()
    };
    while walk.iteration < WARMUP + DRAWS {
        walk.step();
        file.append(&walk.position, &[walk.iteration as f64]).unwrap();
    }
    let store = file.finish(walk.iteration, || walk.save()).unwrap();
    assert_eq!(store.len(), DRAWS);
    assert_ne!(numbers(&store), expected(DRAWS));
}

#[test]
fn a_finished_chain_is_only_read() {
    let out = folder("finished");
    drive(open(&out, Opening::New).unwrap(), WHOLE).unwrap();
    let bytes = fs::read(draws_of(&out)).unwrap();
    for _ in 0..3 {
        assert_eq!(resume(&out).unwrap(), expected(DRAWS));
        assert_eq!(fs::read(draws_of(&out)).unwrap(), bytes);
    }
}

#[test]
fn more_draws_continue_where_fewer_ended() {
    let out = folder("more");
    drive(open(&out, Opening::New).unwrap(), WHOLE).unwrap();
    let mut more = print();
    more.draws("x", 50);
    let checkpoint = Checkpoint::open(&out, &more, Opening::Resume).unwrap();
    let file = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap();
    let store = drive(file, Plan { draws: 50, ..WHOLE }).unwrap();
    assert_eq!(numbers(&store), expected(50));
    drop(checkpoint);
    let fewer = Checkpoint::open(&out, &print(), Opening::Resume).unwrap_err();
    assert_eq!(fewer.code.id, "E0511");
    assert_eq!(
        fewer.notes,
        ["`x.draws` was 50; `--resume` can raise it but not lower it to 20"]
    );
}

#[test]
fn the_result_of_a_training_is_kept() {
    let out = folder("kept");
    let found = (vec![0.1, f64::MIN_POSITIVE, -0.0, f64::NAN], 3_usize);
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 2), None);
    checkpoint.keep("y", 2, &found).unwrap();
    let kept: (Vec<f64>, usize) = checkpoint.kept("y", 2).unwrap();
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!((bits(&kept.0), kept.1), (bits(&found.0), found.1));
    assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 1), None);
    let path = out.join("checkpoint").join("y-2.fit");
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 2), None);
    }
}

#[test]
fn commits_are_due_after_a_time() {
    let out = folder("time");
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    // The time between commits is two seconds, so that a pause of a busy machine does not cause a
    // commit.
    let mut file = checkpoint
        .clone()
        .every(Duration::from_secs(2))
        .chain(ID, LAYOUT, DrawStorage::Memory)
        .unwrap();
    assert!(!file.is_due());
    let mut file_now = checkpoint
        .clone()
        .every(Duration::ZERO)
        .chain(ChainId { chain: 2, ..ID }, LAYOUT, DrawStorage::Memory)
        .unwrap();
    assert!(file_now.is_due());
    file_now.commit(0, Vec::new()).unwrap();
    assert!(file_now.is_due());
    while !file.is_due() {
        std::thread::sleep(Duration::from_millis(5));
    }
    file.commit(0, Vec::new()).unwrap();
    assert!(!file.is_due());
}

//! Whatever interrupts a run, it resumes with bit-identical results. If a run cannot be resumed,
//! the reason is reported.

#![allow(clippy::unwrap_used)]

mod chains;
mod damage;
mod fingerprints;
mod folders;

use bnnc_abi::methods::sampling::DrawStorage;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::checkpoint::{ChainFile, ChainId, Checkpoint, Opening};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::store::{ChainStore, RecordLayout};
use bnnc_math::philox;
use std::fs;
use std::path::{Path, PathBuf};

const LAYOUT: RecordLayout = RecordLayout { dim: 3, stats: 1 };
const WARMUP: usize = 5;
const DRAWS: usize = 20;

const ID: ChainId<'static> = ChainId {
    infer: "x",
    split: 0,
    chain: 1,
};

/// Returns an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-checkpoint-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A random walk as a chain. Its next state depends on the whole previous state.
#[derive(Clone, Copy, Default)]
struct Walk {
    iteration: usize,
    position: [f64; 3],
}

impl Walk {
    fn step(&mut self) {
        for (element, coordinate) in self.position.iter_mut().enumerate() {
            let noise = philox::normal(7, [0, 0, self.iteration as u32], element as u64);
            *coordinate = (0.9 * *coordinate + noise).sin();
        }
        self.iteration += 1;
    }

    fn save(&self) -> Vec<u8> {
        self.position
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    fn restore(&mut self, bytes: &[u8]) {
        for (to, from) in self.position.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = f64::from_le_bytes(from.try_into().unwrap());
        }
    }
}

/// The iterations at which a chain commits, and the iteration at which it is killed.
#[derive(Clone, Copy)]
struct Plan {
    draws: usize,
    /// The number of iterations between commits.
    commit: usize,
    /// The process ends before this iteration, without a commit.
    killed: usize,
}

const WHOLE: Plan = Plan {
    draws: DRAWS,
    commit: 3,
    killed: usize::MAX,
};

/// Runs a chain in the same way as a sampler does. Returns `None` if the chain is killed.
fn drive(mut file: ChainFile, plan: Plan) -> Option<ChainStore> {
    let mut walk = Walk::default();
    if let Some(resumed) = file.resumed() {
        walk.restore(&resumed.sampler);
        walk.iteration = resumed.iteration;
    }
    while walk.iteration < WARMUP + plan.draws {
        if walk.iteration == plan.killed {
            return None;
        }
        walk.step();
        if walk.iteration > WARMUP {
            file.append(&walk.position, &[walk.iteration as f64]).unwrap();
        }
        if walk.iteration.is_multiple_of(plan.commit) {
            file.commit(walk.iteration, walk.save()).unwrap();
        }
    }
    Some(file.finish(walk.iteration, || walk.save()).unwrap())
}

fn print() -> Fingerprint {
    let mut print = Fingerprint::default();
    print.fact("the seed", "1");
    print.draws("x", DRAWS as u64);
    print.infer("x");
    print.infer("y");
    print
}

fn open(out: &Path, how: Opening) -> Result<ChainFile, Diagnostic> {
    Checkpoint::open(out, &print(), how)?.chain(ID, LAYOUT, DrawStorage::Disk)
}

fn numbers(store: &ChainStore) -> Vec<f64> {
    store.records(0..store.len()).unwrap()
}

/// Returns the draws of a chain that is never interrupted, computed from the definition of the
/// chain.
fn expected(draws: usize) -> Vec<f64> {
    let mut walk = Walk::default();
    let mut all = Vec::new();
    for iteration in 1..=WARMUP + draws {
        walk.step();
        if iteration > WARMUP {
            all.extend(walk.position);
            all.push(iteration as f64);
        }
    }
    all
}

fn draws_of(out: &Path) -> PathBuf {
    out.join("checkpoint").join("x-0-1.draws")
}

/// Resumes a chain and runs it to the end. Returns the draws, or the code of the diagnostic.
fn resume(out: &Path) -> Result<Vec<f64>, &'static str> {
    let file = open(out, Opening::Resume).map_err(|found| found.code.id)?;
    Ok(numbers(&drive(file, WHOLE).unwrap()))
}

/// Writes the files that a killed chain leaves behind: two saved states, and draws that were
/// written after each of them.
fn killed_late(out: &Path) {
    let plan = Plan {
        killed: 22,
        commit: 10,
        ..WHOLE
    };
    assert!(drive(open(out, Opening::New).unwrap(), plan).is_none());
}

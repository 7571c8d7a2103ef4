//! The folder `checkpoint` of a run: what is needed to go on after an interruption to the very same numbers.
//!
//! | file | holds |
//! |---|---|
//! | `lock` | nothing; locked as long as a run writes here |
//! | `run.json` | the [`Fingerprint`] of the run |
//! | `INFER-SPLIT-CHAIN.draws` | the draws of a chain ([`crate::store`]) |
//! | `INFER-SPLIT-CHAIN.chain` | how far the chain is: its draws, its iterations, its sampler; `.chain.old` the same before |
//! | `INFER-SPLIT.training` | the state of a training that runs; replaced as a whole |
//! | `INFER-SPLIT.fit` | the result of a training |
//!
//! These are the only files that a later run deletes or replaces, and only those of the infers that `run.json` names: others in the folder are the user's.
//!
//! Every file but the first two begins with a checksum over the run, the infer, the split and the chain that it is of, so that a file
//! under the name of another is refused.
//!
//! A chain is committed by writing its draws to the disk first and its state second, under a temporary name. So however a
//! run ends, there is a state whose draws are all there; draws that came after it are cut off and drawn again.

mod own;
mod training;

use crate::codes;
use crate::fingerprint::Fingerprint;
use crate::store::{self, ChainStore, Layout};
use bnnc_abi::sampling::Store;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::{file, write};
use own::{clear, lock, not_a_link};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
pub use training::TrainingFile;

const MAGIC: [u8; 8] = *b"bnncsta3";

/// How long after its start a chain is committed first; each further time comes after twice as long, up to
/// [`Checkpoint::every`].
const FIRST: Duration = Duration::from_millis(50);

/// The checkpoint of a run. Copies are of the same one.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    folder: Option<Arc<Folder>>,
    every: Duration,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// What the run depends on.
    run: Checksum,
    /// Locked until the last copy is dropped, or the process ends.
    _lock: File,
}

/// What becomes of the checkpoint that a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It is replaced if it is of the same run.
    New,
    /// It is continued if it is of the same run.
    Resume,
    /// It is replaced whichever run it is of.
    Overwrite,
}

/// Which chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainId<'a> {
    /// The infer's name.
    pub infer: &'a str,
    /// The split's number.
    pub split: usize,
    /// The chain's number.
    pub chain: usize,
}

impl Default for Checkpoint {
    fn default() -> Checkpoint {
        Checkpoint::none()
    }
}

impl Checkpoint {
    /// No checkpoint: nothing is written that could be continued from.
    pub fn none() -> Checkpoint {
        Checkpoint {
            folder: None,
            every: Duration::from_secs(1),
        }
    }

    /// The checkpoint in the folder `out/checkpoint`. A new run replaces what is there; a run that is resumed continues it,
    /// or begins where there is none.
    ///
    /// # Errors
    /// A folder that cannot be written or is in use; the checkpoint of another run, unless [`Opening::Overwrite`] replaces it.
    pub fn open(out: &Path, fingerprint: &Fingerprint, how: Opening) -> Result<Checkpoint, Diagnostic> {
        let path = out.join("checkpoint");
        not_a_link(&path)?;
        fs::create_dir_all(&path).map_err(|error| codes::cannot_write(&path, &error.to_string()))?;
        let lock = lock(&path, out)?;
        let print = path.join("run.json");
        let then = match how {
            Opening::Overwrite => read_print(&print).unwrap_or_default(),
            Opening::New => {
                read_print(&print).map_err(|_| codes::foreign_files(out, &["checkpoint/run.json"]))?
            }
            Opening::Resume => read_print(&print)?,
        };
        let known = then.as_ref().map_or(&[][..], Fingerprint::infers);
        let differences = then.as_ref().map(|then| then.differences(fingerprint));
        let differences = differences.unwrap_or_default();
        match how {
            Opening::New if !differences.is_empty() && own::is_begun(&path, known) => {
                return Err(codes::holds_another_run(
                    out,
                    "interrupted run or checkpoint",
                    &differences,
                ));
            }
            Opening::Resume if !differences.is_empty() => return Err(codes::another_run(out, &differences)),
            Opening::New | Opening::Resume | Opening::Overwrite => {}
        }
        let cannot_write = |error: io::Error| codes::cannot_write(&path, &error.to_string());
        if how != Opening::Resume && then.is_some() {
            // The fingerprint goes first: without it nothing is continued.
            fs::remove_file(&print).map_err(cannot_write)?;
        }
        clear(&path, &[known, fingerprint.infers()], how == Opening::Resume).map_err(cannot_write)?;
        if how != Opening::Resume || then.as_ref() != Some(fingerprint) {
            let text = serde_json::to_string_pretty(fingerprint).unwrap_or_default();
            write::in_place_of(&print, |writer| writer.write_all(text.as_bytes()))?;
        }
        Ok(Checkpoint {
            folder: Some(Arc::new(Folder {
                path,
                run: fingerprint.checksum(),
                _lock: lock,
            })),
            ..Checkpoint::none()
        })
    }

    /// Returns whether the run is kept in a folder.
    pub fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns whether `out` holds a checkpoint that could be continued.
    pub fn is_in(out: &Path) -> bool {
        out.join("checkpoint").join("run.json").exists()
    }

    /// The same checkpoint with another longest time between commits (a second otherwise). No number depends on it.
    pub fn every(self, every: Duration) -> Checkpoint {
        Checkpoint { every, ..self }
    }

    /// The draws of a chain: those that an earlier run kept, or none.
    ///
    /// # Errors
    /// Files that cannot be read or written, and those that no run left in this way.
    pub fn chain(&self, id: ChainId<'_>, layout: Layout, keep: Store) -> Result<ChainFile, Diagnostic> {
        let in_memory = keep == Store::Memory;
        let Some(folder) = &self.folder else {
            return Ok(ChainFile::new(unsaved(id, layout, in_memory)?, None, self.every));
        };
        let ChainId { infer, split, chain } = id;
        let name = format!("{infer}-{split}-{chain}");
        let of = folder.of(&name);
        let draws = folder.path.join(format!("{name}.draws"));
        let path = folder.path.join(format!("{name}.chain"));
        let mut file = match latest(&path, &draws, layout, of)? {
            Some(state) => {
                let store = ChainStore::open(&draws, layout, of, state.records, in_memory)?;
                let mut file = ChainFile::new(store, Some((path, of)), self.every);
                file.committed = Some(state.iteration);
                file.resumed = Some(Resumed {
                    iteration: state.iteration,
                    sampler: state.sampler,
                });
                file
            }
            None => {
                let store = ChainStore::create(&draws, layout, of, in_memory)?;
                ChainFile::new(store, Some((path, of)), self.every)
            }
        };
        file.started();
        Ok(file)
    }

    /// Keeps what an infer found on a split, for a run that continues after it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep<T: Serialize>(&self, infer: &str, split: usize, found: &T) -> Result<(), Diagnostic> {
        match &self.folder {
            Some(folder) => {
                let name = format!("{infer}-{split}");
                seal(&folder.path.join(format!("{name}.fit")), folder.of(&name), found)?;
                training::forget(&folder.path, &name)
            }
            None => Ok(()),
        }
    }

    /// What was kept; nothing where it is not whole, since it can be found again.
    pub fn kept<T: DeserializeOwned>(&self, infer: &str, split: usize) -> Option<T> {
        let folder = self.folder.as_ref()?;
        let name = format!("{infer}-{split}");
        let path = folder.path.join(format!("{name}.fit"));
        unseal(&path, folder.of(&name)).ok().flatten()
    }
}

impl Folder {
    /// What a file is of, beside its contents: the run, and its name without the extension.
    fn of(&self, name: &str) -> Checksum {
        let mut of = self.run;
        of.add(name.as_bytes());
        of
    }
}

/// Where a chain stood when it was last committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// Iterations that were made, those of the warm-up included.
    pub iteration: usize,
    /// What the sampler saved.
    pub sampler: Vec<u8>,
}

/// The draws of a chain while it runs.
#[derive(Debug)]
pub struct ChainFile {
    store: ChainStore,
    /// Where the state goes, and whose it is; nowhere without a checkpoint.
    state: Option<(PathBuf, Checksum)>,
    resumed: Option<Resumed>,
    /// The iteration of the last commit.
    committed: Option<usize>,
    /// When the next commit is due, how long after the one before, and how long that may become.
    due: Instant,
    wait: Duration,
    every: Duration,
}

impl ChainFile {
    fn new(store: ChainStore, state: Option<(PathBuf, Checksum)>, every: Duration) -> ChainFile {
        let wait = FIRST.min(every);
        ChainFile {
            store,
            state,
            resumed: None,
            committed: None,
            due: Instant::now() + wait,
            wait,
            every,
        }
    }

    fn started(&mut self) {
        self.due = Instant::now() + self.wait;
    }

    /// Where to go on, given once: the sampler is to be restored before anything else. `None` is the beginning.
    pub fn resumed(&mut self) -> Option<Resumed> {
        self.resumed.take()
    }

    /// The diagnostic for a sampler that could not be restored.
    pub fn corrupt(&self) -> Diagnostic {
        let path = self
            .state
            .as_ref()
            .map_or(Path::new("checkpoint"), |(path, _)| path);
        codes::checkpoint_damaged(path, "the sampler does not know its own state in it")
    }

    /// Adds a draw.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn append(&mut self, position: &[f64], stats: &[f64]) -> Result<(), Diagnostic> {
        self.store.append(position, stats)
    }

    /// The number of draws.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// Whether it is time to commit.
    pub fn is_due(&self) -> bool {
        self.state.is_some() && Instant::now() >= self.due
    }

    /// Makes what was drawn so far the place to continue from. To be called after an iteration; `sampler` is what the
    /// sampler saves then, and `iteration` counts from the first one of the warm-up.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn commit(&mut self, iteration: usize, sampler: Vec<u8>) -> Result<(), Diagnostic> {
        let Some((path, of)) = &self.state else {
            return Ok(());
        };
        self.store.sync()?;
        let old = old(path);
        if path.exists() {
            fs::rename(path, &old).map_err(|error| codes::cannot_write(&old, &error.to_string()))?;
        }
        let layout = self.store.layout();
        let state = State {
            dim: layout.dim,
            stats: layout.stats,
            records: self.store.len(),
            iteration,
            sampler,
        };
        seal(path, *of, &state)?;
        self.committed = Some(iteration);
        self.wait = (self.wait * 2).min(self.every);
        self.started();
        Ok(())
    }

    /// Commits for the last time, at the end or at an interruption, and gives the draws. A sampler is saved only after it has
    /// made an iteration.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(
        mut self,
        iteration: usize,
        save: impl FnOnce() -> Vec<u8>,
    ) -> Result<ChainStore, Diagnostic> {
        if iteration > 0 && self.committed != Some(iteration) {
            self.commit(iteration, save())?;
        }
        self.left()
    }

    /// Gives the draws as they are, in the middle of an iteration: a run that goes on does so from the last commit.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn left(mut self) -> Result<ChainStore, Diagnostic> {
        self.store.flush()?;
        Ok(self.store)
    }
}

/// What is on disk of a chain besides its draws.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    dim: usize,
    stats: usize,
    records: usize,
    iteration: usize,
    sampler: Vec<u8>,
}

/// The latest state that is whole and whose draws are there; none where the chain was never committed.
fn latest(path: &Path, draws: &Path, layout: Layout, of: Checksum) -> Result<Option<State>, Diagnostic> {
    let mut refusal = None;
    for candidate in [path.to_path_buf(), old(path)] {
        let state: io::Result<Option<State>> = unseal(&candidate, of);
        let state = match state {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(codes::checkpoint_damaged(&candidate, &error.to_string())),
        };
        let fits = |state: &State| (state.dim, state.stats) == (layout.dim, layout.stats);
        let Some(state) = state.filter(fits) else {
            let why = "neither it nor the state before it is whole";
            refusal.get_or_insert_with(|| codes::checkpoint_damaged(path, why));
            continue;
        };
        let there = store::records_of(draws, layout, of)?;
        if there < state.records {
            let why = format!("it holds {there} draws, fewer than the state of the chain knows");
            refusal = Some(codes::checkpoint_damaged(draws, &why));
            continue;
        }
        if candidate != path {
            // The next commit keeps what is there as the state before it.
            let _ = fs::remove_file(path);
        }
        return Ok(Some(state));
    }
    refusal.map_or(Ok(None), Err)
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("chain.old")
}

/// The store of a chain that cannot be continued. Draws that shall not be in memory go to a file that is deleted in the end.
fn unsaved(id: ChainId<'_>, layout: Layout, in_memory: bool) -> Result<ChainStore, Diagnostic> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if in_memory {
        return Ok(ChainStore::memory(layout));
    }
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let name = format!(
        "bnnc-{process}-{count}-{}-{}-{}.draws",
        id.infer, id.split, id.chain
    );
    let path = std::env::temp_dir().join(name);
    ChainStore::temporary(&path, layout)
}

/// Reads the fingerprint of a checkpoint; `None` where there is none.
fn read_print(path: &Path) -> Result<Option<Fingerprint>, Diagnostic> {
    let damaged = |why: String| codes::checkpoint_damaged(path, &why);
    match file::text(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| damaged(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Writes a value behind a checksum of it and of what it is of, whole or not at all.
fn seal<T: Serialize>(path: &Path, mut of: Checksum, value: &T) -> Result<(), Diagnostic> {
    // Known before, the size is not doubled as the bytes come.
    let sealed = postcard::experimental::serialized_size(value)
        .and_then(|size| postcard::to_extend(value, Vec::with_capacity(size)));
    let bytes = sealed.map_err(|error| codes::cannot_write(path, &error.to_string()))?;
    of.add(&bytes);
    write::in_place_of(path, |writer| {
        writer.write_all(&MAGIC)?;
        writer.write_all(&of.value().to_le_bytes())?;
        writer.write_all(&bytes)
    })
}

/// Reads what [`seal`] wrote; `None` where the file is something else, of something else, or not whole.
fn unseal<T: DeserializeOwned>(path: &Path, mut of: Checksum) -> io::Result<Option<T>> {
    let bytes = file::whole(path)?;
    let mut opened = || {
        let (checksum, payload) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<8>()?;
        of.add(payload);
        let whole = *checksum == of.value().to_le_bytes();
        whole.then(|| postcard::from_bytes(payload).ok())?
    };
    Ok(opened())
}

//! The folder `checkpoint` of a run. An interrupted run can continue from the data in the folder,
//! with bit-identical results.
//!
//! | file | holds |
//! |---|---|
//! | `lock` | no data; locked while a run writes to this folder |
//! | `run.json` | the [`Fingerprint`] of the run |
//! | `INFER-SPLIT-CHAIN.draws` | the draws of a chain ([`crate::store`]) |
//! | `INFER-SPLIT-CHAIN.chain` | the progress of the chain: its draws, its iterations, its sampler; `.chain.old`: the commit before it |
//! | `INFER-SPLIT.training` | the state of a running training; replaced as a whole |
//! | `INFER-SPLIT.fit` | the result of a training |
//!
//! A later run deletes or replaces only these files, and only if they belong to an inference block
//! that `run.json` names. All other files in the folder belong to the user.
//!
//! Every file except the first two begins with a checksum of its identity: the run, the inference
//! block, the split and the chain. A renamed file is therefore rejected.
//!
//! A commit of a chain first writes the draws to the disk. The commit then writes the state under a
//! temporary name. At the end, it renames this file. So even after a crash, the folder contains a
//! state whose draws are all on disk. Draws that were made after this state are deleted and drawn again.

mod own;
mod training;

use crate::diagnostics;
use crate::fingerprint::Fingerprint;
use crate::store::{self, ChainStore, RecordLayout};
use bnnc_abi::methods::sampling::DrawStorage;
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

/// The time between the start of a chain and its first commit. Each later interval is twice as long
/// as the one before, up to [`Checkpoint::every`].
const FIRST: Duration = Duration::from_millis(50);

/// The checkpoint of a run. Clones of this value share the same folder.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    folder: Option<Arc<Folder>>,
    every: Duration,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The checksum of the fingerprint of the run.
    run: Checksum,
    /// The lock file. It is locked until the last clone of the checkpoint is dropped or the process
    /// ends.
    _lock: File,
}

/// How to handle a checkpoint that already exists in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The existing checkpoint is replaced if it belongs to the same run. If it belongs to another
    /// run, opening fails.
    New,
    /// The existing checkpoint is continued if it belongs to the same run. If it belongs to another
    /// run, opening fails.
    Resume,
    /// The existing checkpoint is replaced, even if it belongs to another run.
    Overwrite,
}

/// Identifies a chain within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainId<'a> {
    /// The name of the inference block.
    pub infer: &'a str,
    /// The index of the split.
    pub split: usize,
    /// The index of the chain.
    pub chain: usize,
}

impl Default for Checkpoint {
    fn default() -> Checkpoint {
        Checkpoint::none()
    }
}

impl Checkpoint {
    /// Returns a checkpoint that does not write files. The run cannot be resumed.
    pub fn none() -> Checkpoint {
        Checkpoint {
            folder: None,
            every: Duration::from_secs(1),
        }
    }

    /// Opens the checkpoint in the folder `out/checkpoint`. A new run replaces an existing
    /// checkpoint. A resumed run continues the existing checkpoint, or begins a new one.
    ///
    /// # Errors
    /// Fails if the folder cannot be written, or if another process uses it. Also fails if the
    /// folder contains the checkpoint of another run and `how` is not [`Opening::Overwrite`].
    pub fn open(out: &Path, fingerprint: &Fingerprint, how: Opening) -> Result<Checkpoint, Diagnostic> {
        let path = out.join("checkpoint");
        not_a_link(&path)?;
        fs::create_dir_all(&path).map_err(|error| diagnostics::cannot_write(&path, &error.to_string()))?;
        let lock = lock(&path, out)?;
        let print = path.join("run.json");
        let then = match how {
            Opening::Overwrite => read_print(&print).unwrap_or_default(),
            Opening::New => {
                read_print(&print).map_err(|_| diagnostics::foreign_files(out, &["checkpoint/run.json"]))?
            }
            Opening::Resume => read_print(&print)?,
        };
        let known = then.as_ref().map_or(&[][..], Fingerprint::infers);
        let differences = then.as_ref().map(|then| then.differences(fingerprint));
        let differences = differences.unwrap_or_default();
        match how {
            Opening::New if !differences.is_empty() && own::is_begun(&path, known) => {
                return Err(diagnostics::holds_another_run(
                    out,
                    "interrupted run or checkpoint",
                    &differences,
                ));
            }
            Opening::Resume if !differences.is_empty() => {
                return Err(diagnostics::another_run(out, &differences));
            }
            Opening::New | Opening::Resume | Opening::Overwrite => {}
        }
        let cannot_write = |error: io::Error| diagnostics::cannot_write(&path, &error.to_string());
        if how != Opening::Resume && then.is_some() {
            // The fingerprint is removed before the other files. If the process is killed before all files are removed, some
            // files remain. A later run does not resume from them, because a checkpoint without a fingerprint is ignored.
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

    /// Returns whether the checkpoint writes files.
    pub fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns whether the folder `out` contains a checkpoint that a run could continue.
    pub fn is_in(out: &Path) -> bool {
        out.join("checkpoint").join("run.json").exists()
    }

    /// Sets the maximum time between commits. The default is one second. The results do not depend
    /// on this time.
    pub fn every(self, every: Duration) -> Checkpoint {
        Checkpoint { every, ..self }
    }

    /// Opens the file of a chain. If an earlier run wrote draws of the chain, these draws are loaded.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if it is damaged.
    pub fn chain(
        &self,
        id: ChainId<'_>,
        layout: RecordLayout,
        keep: DrawStorage,
    ) -> Result<ChainFile, Diagnostic> {
        let in_memory = keep == DrawStorage::Memory;
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

    /// Stores the result of an inference block on a split. A resumed run reads this result instead
    /// of running the inference block again.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
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

    /// Returns the stored result of an inference block on a split, or `None` if it is missing or
    /// damaged. A damaged result is not an error, because the run can compute it again.
    pub fn kept<T: DeserializeOwned>(&self, infer: &str, split: usize) -> Option<T> {
        let folder = self.folder.as_ref()?;
        let name = format!("{infer}-{split}");
        let path = folder.path.join(format!("{name}.fit"));
        unseal(&path, folder.of(&name)).ok().flatten()
    }
}

impl Folder {
    /// Returns the checksum of the identity of a file. The identity is the run and the name of the
    /// file without its extension.
    fn of(&self, name: &str) -> Checksum {
        let mut of = self.run;
        of.add(name.as_bytes());
        of
    }
}

/// The progress that a chain had made at its last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The number of iterations, including the warm-up.
    pub iteration: usize,
    /// The saved state of the sampler.
    pub sampler: Vec<u8>,
}

/// The draws of a chain that is running.
#[derive(Debug)]
pub struct ChainFile {
    store: ChainStore,
    /// The path of the state file, and the checksum of the file's identity. `None` without a checkpoint.
    state: Option<(PathBuf, Checksum)>,
    resumed: Option<Resumed>,
    /// The number of iterations at the last commit.
    committed: Option<usize>,
    /// The time of the next commit. `wait` is the current time between commits, and `every` is the
    /// maximum time between commits.
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

    /// On the first call, returns the state for continuing the chain. Returns `None` if the chain
    /// starts from the beginning. Later calls return `None`. The caller must restore the sampler
    /// from this state before it continues the chain.
    pub fn resumed(&mut self) -> Option<Resumed> {
        self.resumed.take()
    }

    /// Returns the diagnostic that reports that the sampler could not be restored from its state.
    pub fn corrupt(&self) -> Diagnostic {
        let path = self
            .state
            .as_ref()
            .map_or(Path::new("checkpoint"), |(path, _)| path);
        diagnostics::checkpoint_damaged(path, "the sampler cannot restore its state from it")
    }

    /// Adds a draw, which consists of a position and the statistics of its iteration.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn append(&mut self, position: &[f64], stats: &[f64]) -> Result<(), Diagnostic> {
        self.store.append(position, stats)
    }

    /// Returns the number of draws.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Returns whether there are no draws.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// Returns whether the next commit is due.
    pub fn is_due(&self) -> bool {
        self.state.is_some() && Instant::now() >= self.due
    }

    /// Writes the draws so far and the state of the sampler, so that a later run can resume from
    /// this point. Must be called between iterations. `sampler` is this state. `iteration` is
    /// the number of iterations, including the warm-up.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn commit(&mut self, iteration: usize, sampler: Vec<u8>) -> Result<(), Diagnostic> {
        let Some((path, of)) = &self.state else {
            return Ok(());
        };
        self.store.sync()?;
        let old = old(path);
        if path.exists() {
            fs::rename(path, &old).map_err(|error| diagnostics::cannot_write(&old, &error.to_string()))?;
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

    /// Makes the last commit, at the end of a chain or after an interruption, and returns the
    /// draws. The sampler is saved only if it has completed an iteration.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
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

    /// Returns the draws after an interruption in the middle of an iteration. Does not make a
    /// commit. A resumed run therefore continues from the last commit.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn left(mut self) -> Result<ChainStore, Diagnostic> {
        self.store.flush()?;
        Ok(self.store)
    }
}

/// The state of a chain as it is stored on disk. The draws are in a separate file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    dim: usize,
    stats: usize,
    records: usize,
    iteration: usize,
    sampler: Vec<u8>,
}

/// Returns the latest intact state if all of its draws are on disk. Returns `None` if the chain was
/// never committed.
fn latest(
    path: &Path,
    draws: &Path,
    layout: RecordLayout,
    of: Checksum,
) -> Result<Option<State>, Diagnostic> {
    let mut rejection = None;
    for candidate in [path.to_path_buf(), old(path)] {
        let state: io::Result<Option<State>> = unseal(&candidate, of);
        let state = match state {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(diagnostics::checkpoint_damaged(&candidate, &error.to_string())),
        };
        let fits = |state: &State| (state.dim, state.stats) == (layout.dim, layout.stats);
        let Some(state) = state.filter(fits) else {
            let why = "neither its last state nor the previous state can be read";
            rejection.get_or_insert_with(|| diagnostics::checkpoint_damaged(path, why));
            continue;
        };
        let there = store::records_of(draws, layout, of)?;
        if there < state.records {
            let why = format!("it holds {there} draws, fewer than the state of the chain counts");
            rejection = Some(diagnostics::checkpoint_damaged(draws, &why));
            continue;
        }
        if candidate != path {
            // The state comes from `.chain.old`. The next commit would replace `.chain.old` by the
            // file at `path`. The file at `path` may be damaged, so it is removed.
            let _ = fs::remove_file(path);
        }
        return Ok(Some(state));
    }
    rejection.map_or(Ok(None), Err)
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("chain.old")
}

/// Returns the store of a chain that does not have a checkpoint. The store is in memory, or in a
/// temporary file if `in_memory` is false.
fn unsaved(id: ChainId<'_>, layout: RecordLayout, in_memory: bool) -> Result<ChainStore, Diagnostic> {
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

/// Reads the fingerprint of a checkpoint. Returns `None` if the file does not exist.
fn read_print(path: &Path) -> Result<Option<Fingerprint>, Diagnostic> {
    let damaged = |why: String| diagnostics::checkpoint_damaged(path, &why);
    match file::text(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| damaged(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Writes a checksum, followed by a value. The checksum covers the value and the identity of the
/// file. The file is replaced atomically.
fn seal<T: Serialize>(path: &Path, mut of: Checksum, value: &T) -> Result<(), Diagnostic> {
    // The size is computed first, so that the buffer is allocated only once.
    let sealed = postcard::experimental::serialized_size(value)
        .and_then(|size| postcard::to_extend(value, Vec::with_capacity(size)));
    let bytes = sealed.map_err(|error| diagnostics::cannot_write(path, &error.to_string()))?;
    of.add(&bytes);
    write::in_place_of(path, |writer| {
        writer.write_all(&MAGIC)?;
        writer.write_all(&of.value().to_le_bytes())?;
        writer.write_all(&bytes)
    })
}

/// Reads a file that [`seal`] wrote. Returns `None` if the file has another format or identity, or
/// is damaged.
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

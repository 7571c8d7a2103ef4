//! The folder of a run: the inventory of the files that are the run's own, and how new results replace earlier ones as a whole.
//!
//! `manifest.json` names every file of the results, and holds the run's identity and the checksums of what `bnnc predict` reads. New results are
//! written into a folder of their own beside the old ones and moved into place once all of them are there:
//!
//! 1. an inventory of the old and the new names that says that the results are being replaced,
//! 2. every new file in the place of the old one,
//! 3. no old file that is not among the new ones any more,
//! 4. the new inventory.
//!
//! Whatever ends the process before 1 leaves the old results. What ends it later leaves an inventory by which `bnnc predict` rejects the folder and
//! by which the next run knows its files.

use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::codes;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_data::{file, write};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inventory's name.
const INVENTORY: &str = "manifest.json";

/// Where results are until all of them are there.
const STAGE: &str = ".bnnc-results";

/// The states and draws of every inference.
pub const POSTERIOR: &str = "posterior.safetensors";

/// What the run was made of: a [`crate::out::SavedRun`].
pub const PROGRAM: &str = "program.json";

/// The files that predictions are made from.
const PARTS: [&str; 2] = [PROGRAM, POSTERIOR];

/// The layout of the inventory and of the files that predictions are made from.
const LAYOUT: u32 = 1;

/// Which files of a folder are those of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    layout: u32,
    /// The checksum of the run's [`Fingerprint`].
    run: String,
    /// Whether no file is being replaced.
    complete: bool,
    /// Whether the run failed before any inference had a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// The files by their paths in the folder, with `/` between the parts.
    files: BTreeSet<String>,
    /// Length and CRC-32 of the files that predictions are made from.
    parts: BTreeMap<String, String>,
    /// The CRC-32 of the inventory with this text empty.
    checksum: String,
}

impl Inventory {
    /// Reads the inventory of a folder; `None` where there is none.
    ///
    /// # Errors
    /// An inventory that is not as a run wrote it.
    pub fn read(folder: &Path) -> Result<Option<Inventory>, Diagnostic> {
        let path = folder.join(INVENTORY);
        let text = match file::text(&path) {
            Ok(text) => text,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(codes::damaged_part(&path, &error.to_string())),
        };
        let read: Result<Inventory, _> = serde_json::from_str(&text);
        let inventory = read.map_err(|error| codes::damaged_part(&path, &error.to_string()))?;
        match inventory.clone().text() == text {
            true => Ok(Some(inventory)),
            // Whatever of it was changed: the text of the same values is another one, or their checksum.
            false => Err(codes::damaged_part(&path, "its checksum is another")),
        }
    }

    /// The text of the inventory with its checksum.
    fn text(mut self) -> String {
        self.checksum.clear();
        self.checksum = crc(pretty(&self).as_bytes());
        pretty(&self)
    }
}

fn pretty(inventory: &Inventory) -> String {
    let mut text = serde_json::to_string_pretty(inventory).unwrap_or_default();
    text.push('\n');
    text
}

/// Length and CRC-32 of some bytes.
fn crc(bytes: &[u8]) -> String {
    format!("{}-{:08x}", bytes.len(), crc32fast::hash(bytes))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The bytes of one of the files that predictions are made from, if they are those that the folder's run wrote.
///
/// # Errors
/// A folder without an inventory or whose results were being replaced, and a file that is not the run's.
pub fn part(folder: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let Some(inventory) = Inventory::read(folder)? else {
        let why = format!("it has no `{INVENTORY}`");
        return Err(codes::not_a_run(folder, &why));
    };
    if inventory.layout != LAYOUT {
        return Err(codes::not_a_run(folder, "another version of bnnc wrote it"));
    }
    if !inventory.complete {
        return Err(codes::half_replaced(folder));
    }
    let path = folder.join(name);
    let bytes = file::whole(&path).map_err(|error| codes::damaged_part(&path, &error.to_string()))?;
    match inventory.parts.get(name) {
        Some(known) if *known == crc(&bytes) => Ok(bytes),
        Some(_) | None => Err(codes::damaged_part(&path, "its checksum is another")),
    }
}

/// Checks that a new run may write its results into a folder: that it holds no results of another run, and that none of the files that the run will
/// write is there without being a run's own. `names` are those of the files, in the folder itself.
///
/// # Errors
/// The reason why the folder needs `--overwrite`.
pub fn check_free(folder: &Path, fingerprint: &Fingerprint, names: &[String]) -> Result<(), Diagnostic> {
    let inventory = Inventory::read(folder).map_err(|_| codes::foreign_files(folder, &[INVENTORY]))?;
    let own = inventory.as_ref().map(|inventory| &inventory.files);
    let is_own = |name: &str| {
        let begin = format!("{name}/");
        own.is_some_and(|own| own.iter().any(|file| file == name || file.starts_with(&begin)))
    };
    let is_foreign = |name: &&String| match fs::symlink_metadata(folder.join(name)) {
        Ok(found) => found.is_symlink() || !is_own(name),
        Err(_) => false,
    };
    let foreign: Vec<&str> = names.iter().filter(is_foreign).map(String::as_str).collect();
    if !foreign.is_empty() {
        return Err(codes::foreign_files(folder, &foreign));
    }
    match inventory {
        Some(inventory) if !inventory.failed && inventory.run != fingerprint.checksum().to_string() => {
            let then = crate::out::saved(folder).map(|saved| saved.fingerprint);
            let differences = then.map_or(Vec::new(), |then| then.differences(fingerprint));
            Err(codes::holds_another_run(folder, "results", &differences))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks that the results, whose names in the folder are `names`, replace none of the files that the run itself reads, nor results of the folder that it
/// reads.
///
/// # Errors
/// The file.
pub fn check_sources<'a>(
    folder: &Path,
    mut sources: impl Iterator<Item = &'a Path>,
    names: &[String],
) -> Result<(), Diagnostic> {
    let is_replaced = |source: &&Path| {
        let first = |path: String| {
            path.split('/')
                .next()
                .is_some_and(|first| names.iter().any(|name| name == first))
        };
        holds(folder, source) || name_in(folder, source).is_some_and(first)
    };
    match sources.find(is_replaced) {
        Some(source) => Err(codes::reads_its_results(folder, source)),
        None => Ok(()),
    }
}

/// Returns whether a file is one of the results in the folder of a run.
pub fn holds(folder: &Path, file: &Path) -> bool {
    let inventory = Inventory::read(folder).ok().flatten().unwrap_or_default();
    name_in(folder, file).is_some_and(|name| name == INVENTORY || inventory.files.contains(&name))
}

/// The name of a file in a folder, with `/` between the parts; `None` where it is elsewhere.
fn name_in(folder: &Path, file: &Path) -> Option<String> {
    let [home, file] = [folder, file].map(fs::canonicalize);
    let inside = file.ok()?.strip_prefix(home.ok()?).ok()?.to_path_buf();
    let parts = inside.components().map(|part| part.as_os_str().to_string_lossy());
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Whether a folder has an inventory of a run that found something, whichever run it is, or an inventory that cannot be read.
pub fn has_results(folder: &Path) -> bool {
    Inventory::read(folder).map_or(true, |read| read.is_some_and(|inventory| !inventory.failed))
}

/// Results on their way into a folder. They vanish where they are dropped before they are complete.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    stage: PathBuf,
}

impl Staging {
    /// Begins new results of a folder, which is created where it does not exist.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn begin(folder: &Path) -> Result<Staging, Diagnostic> {
        let stage = folder.join(STAGE);
        let begun = remove(&stage).and_then(|()| fs::create_dir_all(&stage));
        begun.map_err(|error| codes::cannot_write(folder, &error.to_string()))?;
        let folder = folder.to_path_buf();
        Ok(Staging { folder, stage })
    }

    /// Where the files are written to.
    pub fn path(&self) -> &Path {
        &self.stage
    }

    /// Replaces the results of the folder by what was written, which is of the run with this fingerprint; a run that failed before it found anything
    /// may be replaced by any other.
    ///
    /// # Errors
    /// A file that cannot be read or moved.
    pub fn commit(self, fingerprint: &Fingerprint, failed: bool) -> Result<(), Diagnostic> {
        let new = Inventory {
            failed,
            ..self.inventory(fingerprint)?
        };
        // An inventory that cannot be read names no files that could be replaced with it.
        let old = Inventory::read(&self.folder).ok().flatten().unwrap_or_default();
        let both = Inventory {
            complete: false,
            files: old.files.union(&new.files).cloned().collect(),
            ..new.clone()
        };
        self.publish(both)?;
        for file in &new.files {
            let moved = self.place(file);
            moved.map_err(|error| codes::cannot_write(&self.folder.join(file), &error.to_string()))?;
        }
        for file in old.files.difference(&new.files) {
            let path = self.folder.join(file);
            let removed = fs::remove_file(&path).or_else(|error| match is_absent(&error) {
                true => Ok(()),
                false => Err(error),
            });
            removed.map_err(|error| codes::cannot_write(&path, &error.to_string()))?;
            self.remove_empty(file);
        }
        self.publish(new)
    }

    /// The inventory of what was written.
    fn inventory(&self, fingerprint: &Fingerprint) -> Result<Inventory, Diagnostic> {
        let unread = |path: &Path, error: io::Error| codes::cannot_write(path, &error.to_string());
        let files = files(&self.stage).map_err(|error| unread(&self.stage, error))?;
        let mut parts = BTreeMap::new();
        for name in PARTS {
            let path = self.stage.join(name);
            let bytes = file::whole(&path).map_err(|error| unread(&path, error))?;
            parts.insert(name.to_owned(), crc(&bytes));
        }
        Ok(Inventory {
            layout: LAYOUT,
            run: fingerprint.checksum().to_string(),
            complete: true,
            failed: false,
            files,
            parts,
            checksum: String::new(),
        })
    }

    /// Puts an inventory into the folder, in the place of the one that was there.
    fn publish(&self, inventory: Inventory) -> Result<(), Diagnostic> {
        let text = inventory.text();
        write::atomically(&self.stage.join(INVENTORY), |writer| {
            writer.write_all(text.as_bytes())
        })?;
        let path = self.folder.join(INVENTORY);
        self.place(INVENTORY)
            .map_err(|error| codes::cannot_write(&path, &error.to_string()))
    }

    /// Moves a file into the folder. Links in its place, or in that of the folder it is in, are replaced and not followed.
    fn place(&self, file: &str) -> io::Result<()> {
        let mut target = self.folder.clone();
        let mut parts = file.split('/').peekable();
        while let Some(part) = parts.next() {
            target.push(part);
            let found = fs::symlink_metadata(&target).ok();
            let is_last = parts.peek().is_none();
            match found {
                Some(found) if !is_last && !found.is_dir() => {
                    fs::remove_file(&target)?;
                    fs::create_dir(&target)?;
                }
                None if !is_last => fs::create_dir(&target)?,
                Some(_) | None => {}
            }
        }
        fs::rename(self.stage.join(file), target)
    }

    /// Removes the folders that a file was in as far as nothing else is in them.
    fn remove_empty(&self, file: &str) {
        let mut path = self.folder.join(file);
        for _ in file.split('/').skip(1) {
            path.pop();
            if fs::remove_dir(&path).is_err() {
                return;
            }
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A leftover is only untidy: the next run removes it.
        let _ = remove(&self.stage);
    }
}

/// Removes a folder with all that is in it, or a link to one, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// All files below a folder by their paths in it.
fn files(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, begin)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{begin}{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => folders.push((entry.path(), format!("{name}/"))),
                false => {
                    found.insert(name);
                }
            }
        }
    }
    Ok(found)
}

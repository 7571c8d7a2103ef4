//! Manages the folder of a run: keeps an inventory of the files that belong to the run, and replaces all earlier results at once.
//!
//! The inventory `manifest.json` names every file of the results. The inventory also contains the identity of the run, and the checksums of the files
//! that `bnnc predict` reads. New results are first written to a separate folder. When all files are written, they replace the old results in four
//! steps:
//!
//! 1. write an inventory of the old and the new file names, which states that the results are being replaced,
//! 2. move every new file to its place,
//! 3. remove old files whose names are not among the new names,
//! 4. write the new inventory.
//!
//! If the process ends before step 1, the old results are intact. The process may end after step 1 but before step 4. The inventory then states
//! that the results are incomplete, and `bnnc predict` rejects the folder. The next run finds the names of all files in the inventory.

use bnnc_abi::data::DataSpec;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::diagnostics;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_data::{file, write};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The file name of the inventory.
const INVENTORY: &str = "manifest.json";

/// The folder that collects the results until all of them are written.
const STAGE: &str = ".bnnc-results";

/// The file that holds the states and draws of every inference block.
pub const POSTERIOR: &str = "posterior.safetensors";

/// The file that contains the inputs of the run, as a [`crate::out::SavedRun`].
pub const PROGRAM: &str = "program.json";

/// The files that are needed for predictions.
const PARTS: [&str; 2] = [PROGRAM, POSTERIOR];

/// The version of the format. The format is that of the inventory, and of the files that are needed for predictions.
const LAYOUT: u32 = 1;

/// The inventory of the files that a run wrote to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    layout: u32,
    /// The checksum of the run's [`Fingerprint`].
    run: String,
    /// True if the results are complete, so that no file is being replaced.
    complete: bool,
    /// True if the run failed before any inference block had a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// The paths of the files relative to the folder. The parts of a path are separated by `/`.
    files: BTreeSet<String>,
    /// The length and the CRC-32 of each file that is needed for predictions.
    parts: BTreeMap<String, String>,
    /// The CRC-32 of the text of the inventory. The checksum is computed while this field is empty.
    checksum: String,
}

impl Inventory {
    /// Reads the inventory of a folder. Returns `None` if the folder does not have an inventory.
    ///
    /// # Errors
    /// Fails if the inventory has been changed since the run wrote it.
    pub fn read(folder: &Path) -> Result<Option<Inventory>, Diagnostic> {
        let path = folder.join(INVENTORY);
        let text = match file::text(&path) {
            Ok(text) => text,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(diagnostics::damaged_part(&path, &error.to_string())),
        };
        let read: Result<Inventory, _> = serde_json::from_str(&text);
        let inventory = read.map_err(|error| diagnostics::damaged_part(&path, &error.to_string()))?;
        match inventory.clone().text() == text {
            true => Ok(Some(inventory)),
            // The text is generated again from the values that were read. If a value was changed, the checksum of the new text differs from the
            // checksum in the file. If only the formatting was changed, the new text differs from the text in the file.
            false => Err(diagnostics::damaged_part(&path, "its checksum differs")),
        }
    }

    /// Returns the text of the inventory with its checksum.
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

/// Returns the length and the CRC-32 of some bytes.
fn crc(bytes: &[u8]) -> String {
    format!("{}-{:08x}", bytes.len(), crc32fast::hash(bytes))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the content of one of the files that are needed for predictions. First checks that the run of this folder wrote the file.
///
/// # Errors
/// Fails if the folder does not have an inventory, a process ended while it was replacing the results, or the run did not write the file.
pub fn part(folder: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let Some(inventory) = Inventory::read(folder)? else {
        let why = format!("it has no `{INVENTORY}`");
        return Err(diagnostics::not_a_run(folder, &why));
    };
    if inventory.layout != LAYOUT {
        return Err(diagnostics::not_a_run(folder, "another version of bnnc wrote it"));
    }
    if !inventory.complete {
        return Err(diagnostics::half_replaced(folder));
    }
    let path = folder.join(name);
    let bytes = file::whole(&path).map_err(|error| diagnostics::damaged_part(&path, &error.to_string()))?;
    match inventory.parts.get(name) {
        Some(known) if *known == crc(&bytes) => Ok(bytes),
        Some(_) | None => Err(diagnostics::damaged_part(&path, "its checksum differs")),
    }
}

/// Checks that a new run may write its results to a folder. The folder must not contain results of another run. If the run would replace existing
/// files, these must have been written by a run. `names` are the names of the files that the run would write to the folder.
///
/// # Errors
/// Fails with the reason why the run may only write to the folder with `--overwrite`.
pub fn check_free(folder: &Path, fingerprint: &Fingerprint, names: &[String]) -> Result<(), Diagnostic> {
    let inventory = Inventory::read(folder).map_err(|_| diagnostics::foreign_files(folder, &[INVENTORY]))?;
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
        return Err(diagnostics::foreign_files(folder, &foreign));
    }
    match inventory {
        Some(inventory) if !inventory.failed && inventory.run != fingerprint.checksum().to_string() => {
            let then = crate::out::saved(folder).map(|saved| saved.fingerprint);
            let differences = then.map_or(Vec::new(), |then| then.differences(fingerprint));
            Err(diagnostics::holds_another_run(folder, "results", &differences))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks that the results do not replace a file that the run reads, and that the run does not read earlier results in the folder. `names` are
/// the names of the results in the folder. The run reads the files of `data`, and `program`.
///
/// # Errors
/// Fails with an error that names the file that the run reads.
pub fn check_sources(
    folder: &Path,
    data: &[DataSpec],
    program: &Path,
    names: &[String],
) -> Result<(), Diagnostic> {
    let is_replaced = |source: &PathBuf| {
        let first = |path: String| {
            path.split('/')
                .next()
                .is_some_and(|first| names.iter().any(|name| name == first))
        };
        holds(folder, source) || name_in(folder, source).is_some_and(first)
    };
    let mut sources = data
        .iter()
        .flat_map(file::files_of)
        .chain([program.to_path_buf()]);
    match sources.find(is_replaced) {
        Some(source) => Err(diagnostics::reads_its_results(folder, &source)),
        None => Ok(()),
    }
}

/// Returns whether a file is one of the results in the folder of a run.
pub fn holds(folder: &Path, file: &Path) -> bool {
    let inventory = Inventory::read(folder).ok().flatten().unwrap_or_default();
    name_in(folder, file).is_some_and(|name| name == INVENTORY || inventory.files.contains(&name))
}

/// Returns the path of a file relative to a folder, with `/` between the parts. Returns `None` if the file is not in the folder.
fn name_in(folder: &Path, file: &Path) -> Option<String> {
    let [home, file] = [folder, file].map(fs::canonicalize);
    let inside = file.ok()?.strip_prefix(home.ok()?).ok()?.to_path_buf();
    let parts = inside.components().map(|part| part.as_os_str().to_string_lossy());
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Returns whether a folder contains the results of a run. A run that failed before its first result does not count. If the inventory of a folder
/// cannot be read, the folder counts as having results.
pub fn has_results(folder: &Path) -> bool {
    Inventory::read(folder).map_or(true, |read| read.is_some_and(|inventory| !inventory.failed))
}

/// New results that are collected before they replace the results in a folder. If this value is dropped before [`Staging::commit`], the new files are
/// deleted.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    stage: PathBuf,
}

impl Staging {
    /// Begins to collect new results for a folder. The folder is created if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or written.
    pub fn begin(folder: &Path) -> Result<Staging, Diagnostic> {
        let stage = folder.join(STAGE);
        let begun = remove(&stage).and_then(|()| fs::create_dir_all(&stage));
        begun.map_err(|error| diagnostics::cannot_write(folder, &error.to_string()))?;
        let folder = folder.to_path_buf();
        Ok(Staging { folder, stage })
    }

    /// Returns the folder that collects the files.
    pub fn path(&self) -> &Path {
        &self.stage
    }

    /// Replaces the results of the folder by the collected files. These files belong to the run with this fingerprint. If `failed` is true, this run
    /// failed before its first result. Any later run may then replace its files.
    ///
    /// # Errors
    /// Fails if a file cannot be read or moved.
    pub fn commit(self, fingerprint: &Fingerprint, failed: bool) -> Result<(), Diagnostic> {
        let new = Inventory {
            failed,
            ..self.inventory(fingerprint)?
        };
        // If the old inventory cannot be read, the names of the old files are not known. In this case, no old files are removed.
        let old = Inventory::read(&self.folder).ok().flatten().unwrap_or_default();
        let both = Inventory {
            complete: false,
            files: old.files.union(&new.files).cloned().collect(),
            ..new.clone()
        };
        self.publish(both)?;
        for file in &new.files {
            let moved = self.place(file);
            moved.map_err(|error| diagnostics::cannot_write(&self.folder.join(file), &error.to_string()))?;
        }
        for file in old.files.difference(&new.files) {
            let path = self.folder.join(file);
            let removed = fs::remove_file(&path).or_else(|error| match is_absent(&error) {
                true => Ok(()),
                false => Err(error),
            });
            removed.map_err(|error| diagnostics::cannot_write(&path, &error.to_string()))?;
            self.remove_empty(file);
        }
        self.publish(new)
    }

    /// Returns the inventory of the collected files.
    fn inventory(&self, fingerprint: &Fingerprint) -> Result<Inventory, Diagnostic> {
        let unread = |path: &Path, error: io::Error| diagnostics::cannot_write(path, &error.to_string());
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

    /// Writes an inventory to the folder, in place of the earlier inventory.
    fn publish(&self, inventory: Inventory) -> Result<(), Diagnostic> {
        let text = inventory.text();
        write::atomically(&self.stage.join(INVENTORY), |writer| {
            writer.write_all(text.as_bytes())
        })?;
        let path = self.folder.join(INVENTORY);
        self.place(INVENTORY)
            .map_err(|error| diagnostics::cannot_write(&path, &error.to_string()))
    }

    /// Moves a file into the folder. If the file, or a folder on its path, is a symbolic link, the link itself is replaced. It is not
    /// followed.
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

    /// Removes the empty folders on the path of a file, beginning with the innermost folder.
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
        // It is harmless if the folder cannot be removed, because the next run removes it.
        let _ = remove(&self.stage);
    }
}

/// Removes a folder with all of its contents. If the path is a link, removes the link. If nothing exists at the path, does nothing.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the paths of all files in a folder and its subfolders, relative to this folder.
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

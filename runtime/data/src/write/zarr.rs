//! Writes draws as a Zarr store. `xarray.open_datatree(engine="zarr")` and `arviz.from_zarr` can
//! open this store.
//!
//! The store is Zarr version 2 with consolidated metadata. A chunk is uncompressed and
//! little-endian, and holds draws of a single chain. The store therefore grows with the draws,
//! while memory stays bounded. Groups and names follow the InferenceData schema: `posterior`,
//! `sample_stats`, `log_likelihood`, `posterior_predictive`, `observed_data`. The dimensions
//! `chain` and `draw` come first. The store does not contain times, so that the same draws give the
//! same bytes.
//!
//! ```no_run
//! use bnnc_data::write::zarr::{ZarrDim, ZarrStore, ZarrType, ZarrVariable};
//! # fn main() -> Result<(), bnnc_base::diagnostic::Diagnostic> {
//! let mut store = ZarrStore::create("run/posterior.zarr".as_ref(), [("model".to_owned(), "radon".into())])?;
//! let posterior = store.samples("posterior", 4, 1000)?;
//! let theta = ZarrVariable { name: "theta", kind: ZarrType::Real, dims: &[ZarrDim::named("school", 8)] };
//! let theta = store.variable(posterior, &theta)?;
//! store.append(theta, 0, &[0.0; 8])?;
//! store.finish()
//! # }
//! ```

mod array;
mod names;

use crate::diagnostics;
use crate::write::pending::beside;
use array::{Array, Samples};
use bnnc_base::diagnostic::Diagnostic;
use names::Names;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The element type of a variable. Values are always passed as reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZarrType {
    /// Real numbers of 64 bits.
    Real,
    /// Integers of 64 bits. Reals are truncated, and NaN becomes zero.
    Int,
    /// Booleans. An element is true if its value is a number other than zero.
    Bool,
}

/// A dimension of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct ZarrDim {
    /// The name of the dimension. If the name is `None`, or if the group already has a dimension of
    /// this name with another size or other labels, the dimension is called
    /// `VARIABLE_dim_POSITION`, as in ArviZ.
    pub name: Option<String>,
    /// The length of the dimension.
    pub size: usize,
    /// The labels of the positions.
    pub labels: ZarrLabels,
}

impl ZarrDim {
    /// Returns a dimension with a name. Its positions are labelled 0, 1, 2, ...
    pub fn named(name: &str, size: usize) -> ZarrDim {
        ZarrDim {
            name: Some(name.to_owned()),
            ..ZarrDim::unnamed(size)
        }
    }

    /// Returns a dimension without a name. Its positions are labelled 0, 1, 2, ...
    pub fn unnamed(size: usize) -> ZarrDim {
        ZarrDim {
            name: None,
            size,
            labels: ZarrLabels::Count,
        }
    }
}

/// The labels of the positions along a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZarrLabels {
    /// The labels are 0, 1, 2, ...
    Count,
    /// The labels are integers, such as row numbers. There is one per position.
    Int(Vec<i64>),
    /// The labels are names. There is one per position.
    Text(Vec<String>),
}

/// A variable to add to a group.
#[derive(Clone, Debug, PartialEq)]
pub struct ZarrVariable<'a> {
    /// The name of the variable. A character that is not allowed in file names is replaced by `_`.
    /// If the name is already in use, `_` is appended.
    pub name: &'a str,
    /// The element type of the variable.
    pub kind: ZarrType,
    /// The dimensions of the variable, without `chain` and `draw`. Elements are in C order.
    pub dims: &'a [ZarrDim],
}

/// Identifies a group of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId(usize);

/// Identifies a variable of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableId(usize);

#[derive(Debug)]
struct Group {
    name: String,
    /// The numbers of chains and draws, or `None` if the group does not hold draws.
    samples: Option<Samples>,
    names: Names,
}

/// A store that still has a temporary name. If the value is dropped before [`ZarrStore::finish`],
/// the store is removed.
#[derive(Debug)]
pub struct ZarrStore {
    target: PathBuf,
    temporary: PathBuf,
    attributes: Map<String, Value>,
    groups: Vec<Group>,
    /// Each variable, with the group that it belongs to.
    variables: Vec<(GroupId, Array)>,
    is_finished: bool,
}

impl ZarrStore {
    /// Begins a store. Every group gets the given attributes. Two further attributes state that the
    /// writer is `bnnc`, and its version.
    ///
    /// # Errors
    /// Fails if the folder cannot be written. Also fails if the path exists but is not a Zarr
    /// store.
    pub fn create(
        path: &Path,
        attributes: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<ZarrStore, Diagnostic> {
        let version = env!("CARGO_PKG_VERSION");
        let own = [
            ("inference_library", "bnnc"),
            ("inference_library_version", version),
        ];
        let own = own.map(|(name, text)| (name.to_owned(), Value::from(text)));
        let temporary = beside(path, "tmp");
        let begun = may_be_replaced(path)
            .and_then(|()| cleared(&temporary))
            .and_then(|()| fs::create_dir(&temporary));
        begun.map_err(|error| diagnostics::unwritable(path, &error))?;
        Ok(ZarrStore {
            target: path.to_path_buf(),
            temporary,
            attributes: own.into_iter().chain(attributes).collect(),
            groups: Vec::new(),
            variables: Vec::new(),
            is_finished: false,
        })
    }

    /// Adds a group for the draws of `chains` chains. `draws` is the expected number of draws per
    /// chain, and the maximum number of draws per chunk. In the finished store, all chains are cut
    /// to the length of the shortest chain.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn samples(&mut self, name: &str, chains: usize, draws: usize) -> Result<GroupId, Diagnostic> {
        self.group(name, Some(Samples { chains, draws }))
    }

    /// Adds a group of variables that do not depend on the draw, such as `observed_data`. Such
    /// variables are stored with a single chain.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn constants(&mut self, name: &str) -> Result<GroupId, Diagnostic> {
        self.group(name, None)
    }

    fn group(&mut self, name: &str, samples: Option<Samples>) -> Result<GroupId, Diagnostic> {
        let made = fs::create_dir(self.temporary.join(name));
        self.with_path(made)?;
        self.groups.push(Group {
            name: name.to_owned(),
            samples,
            names: Names::new(samples.is_some()),
        });
        Ok(GroupId(self.groups.len() - 1))
    }

    /// Adds a variable to a group. The variable does not have values yet.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn variable(&mut self, of: GroupId, variable: &ZarrVariable<'_>) -> Result<VariableId, Diagnostic> {
        let group = &mut self.groups[of.0];
        let (name, dims) = group.names.take(variable.name, variable.dims);
        let folder = self.temporary.join(&group.name).join(&name);
        let array = Array::create(folder, name, dims, (variable.kind, group.samples));
        let array = self.with_path(array)?;
        self.variables.push((of, array));
        Ok(VariableId(self.variables.len() - 1))
    }

    /// Appends the next draws of a chain. `values` holds the draws one after the other. In a group
    /// of constants, a variable has a single chain (0) with a single draw.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn append(&mut self, to: VariableId, chain: usize, values: &[f64]) -> Result<(), Diagnostic> {
        let appended = self.variables[to.0].1.append(chain, values);
        self.with_path(appended)
    }

    /// Completes the store and gives it its final name. Chains of different lengths are cut to the
    /// length of the shortest chain.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn finish(mut self) -> Result<(), Diagnostic> {
        let finished = self.complete().and_then(|()| self.rename());
        self.is_finished = finished.is_ok();
        self.with_path(finished)
    }

    fn complete(&mut self) -> io::Result<()> {
        let attributes = Value::Object(self.attributes.clone());
        let mut metadata = Map::new();
        let mut insert = |key: String, value: Value| metadata.insert(key, value);
        insert(".zgroup".into(), json!({ "zarr_format": 2 }));
        insert(".zattrs".into(), attributes.clone());
        for (at, group) in self.groups.iter().enumerate() {
            let path = &group.name;
            insert(format!("{path}/.zgroup"), json!({ "zarr_format": 2 }));
            insert(format!("{path}/.zattrs"), attributes.clone());
            let arrays = || self.variables.iter().filter(|(of, _)| of.0 == at);
            let kept = group.samples.map(|samples| Samples {
                draws: arrays()
                    .filter_map(|(_, array)| array.draws())
                    .min()
                    .unwrap_or(samples.draws),
                ..samples
            });
            let folder = self.temporary.join(path);
            let mut written = array::coordinates(&folder, kept, group.names.dims())?;
            for (_, array) in arrays() {
                written.push(array.finish(kept)?);
            }
            for array in written {
                insert(format!("{path}/{}/.zarray", array.name), array.layout);
                insert(format!("{path}/{}/.zattrs", array.name), array.attributes);
            }
        }
        for (key, value) in &metadata {
            fs::write(self.temporary.join(key), text(value))?;
        }
        let all = json!({ "metadata": metadata, "zarr_consolidated_format": 1 });
        fs::write(self.temporary.join(".zmetadata"), text(&all))
    }

    fn rename(&self) -> io::Result<()> {
        may_be_replaced(&self.target)?;
        if !self.target.exists() {
            return fs::rename(&self.temporary, &self.target);
        }
        let old = beside(&self.target, "old");
        cleared(&old)?;
        fs::rename(&self.target, &old)?;
        fs::rename(&self.temporary, &self.target)?;
        fs::remove_dir_all(&old)
    }

    fn with_path<T>(&self, done: io::Result<T>) -> Result<T, Diagnostic> {
        done.map_err(|error| diagnostics::unwritable(&self.target, &error))
    }
}

impl Drop for ZarrStore {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Checks that the path either does not exist or is a Zarr store. Any other file or folder may be
/// the user's work.
fn may_be_replaced(path: &Path) -> io::Result<()> {
    if !path.exists() || path.join(".zgroup").is_file() {
        return Ok(());
    }
    let why = "a file or folder of this name exists and is not a Zarr store";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
}

/// Removes a temporary folder that a killed process with the same process ID left behind.
fn cleared(temporary: &Path) -> io::Result<()> {
    match temporary.exists() {
        true => fs::remove_dir_all(temporary),
        false => Ok(()),
    }
}

fn text(value: &Value) -> String {
    format!("{value:#}\n")
}

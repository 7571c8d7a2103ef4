//! Names of the variables and dimensions in a group. xarray requires distinct names, and file
//! systems do not allow all characters.

use super::{ZarrDim, ZarrLabels};

/// The names in use in one group.
#[derive(Debug)]
pub(super) struct Names {
    variables: Vec<String>,
    dims: Vec<NamedDim>,
    is_sampled: bool,
}

/// A dimension with its final name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedDim {
    pub name: String,
    pub size: usize,
    pub labels: ZarrLabels,
}

impl Names {
    /// Creates an empty set of names. If the group holds draws, the names `chain` and `draw` are
    /// already in use.
    pub fn new(is_sampled: bool) -> Names {
        Names {
            variables: Vec::new(),
            dims: Vec::new(),
            is_sampled,
        }
    }

    /// Returns the dimensions that have been added so far, in the order in which they were added.
    pub fn dims(&self) -> &[NamedDim] {
        &self.dims
    }

    /// Returns the final name of a variable, and its dimensions with their final names.
    pub fn take(&mut self, wanted: &str, dims: &[ZarrDim]) -> (String, Vec<NamedDim>) {
        let mut name = file_name(wanted);
        while self.is_taken(&name) {
            name.push('_');
        }
        self.variables.push(name.clone());
        let mut own: Vec<NamedDim> = Vec::with_capacity(dims.len());
        for (at, dim) in dims.iter().enumerate() {
            let asked = dim.name.as_deref().map(file_name);
            let free = asked.filter(|asked| own.iter().all(|other| other.name != *asked));
            let found = free.and_then(|free| self.share(free, dim));
            own.push(found.unwrap_or_else(|| self.default_dim(&name, at, dim)));
        }
        (name, own)
    }

    /// Returns a dimension with this name if the name is not in use. If a dimension with this name
    /// exists and has the same size and labels, returns it. In all other cases, returns `None`.
    fn share(&mut self, name: String, dim: &ZarrDim) -> Option<NamedDim> {
        let wanted = NamedDim {
            name,
            size: dim.size,
            labels: dim.labels.clone(),
        };
        if self.dims.contains(&wanted) {
            return Some(wanted);
        }
        let is_new = !self.is_taken(&wanted.name);
        is_new.then(|| {
            self.dims.push(wanted.clone());
            wanted
        })
    }

    fn default_dim(&mut self, variable: &str, at: usize, dim: &ZarrDim) -> NamedDim {
        let mut name = format!("{variable}_dim_{at}");
        while self.is_taken(&name) {
            name.push('_');
        }
        let dim = NamedDim {
            name,
            size: dim.size,
            labels: dim.labels.clone(),
        };
        self.dims.push(dim.clone());
        dim
    }

    fn is_taken(&self, name: &str) -> bool {
        (self.is_sampled && ["chain", "draw"].contains(&name))
            || self.variables.iter().any(|variable| variable == name)
            || self.dims.iter().any(|dim| dim.name == name)
    }
}

/// Returns a name that is valid as a file name on every system. A leading dot is replaced, because
/// such a name could be mistaken for metadata.
fn file_name(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || "_-.,[]()+=".contains(c);
    let mut name: String = name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    name
}

//! The inference methods, one per folder. The methods do not depend on each other. Other crates obtain a method
//! from [`of`].

mod absent;
#[cfg(feature = "collapsed")]
pub mod collapsed;
pub mod iterates;
pub mod laplace;
pub mod sample;
pub mod train;

use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Code;
use bnnc_inference::method::Method;

/// A folder of methods.
struct MethodFolder {
    /// Returns the method of an inference block, or `None` if the method belongs to another folder.
    of: for<'a> fn(&'a InferenceBlock) -> Option<Box<dyn Method + 'a>>,
    /// The codes of the diagnostics of the folder.
    codes: &'static [&'static Code],
    /// The methods store tensors whose names begin with this prefix in a run folder, in addition to the states.
    prefix: Option<&'static str>,
}

/// The folders of this build.
const FOLDERS: &[MethodFolder] = &[
    #[cfg(feature = "collapsed")]
    collapsed::FOLDER,
    iterates::FOLDER,
    laplace::FOLDER,
    sample::FOLDER,
    train::FOLDER,
];

/// Returns the method of an inference block. If this build does not include the method, the result reports an error
/// when it runs.
pub fn of<'a>(infer: &'a InferenceBlock) -> Box<dyn Method + 'a> {
    let mut folders = FOLDERS.iter();
    let found = folders.find_map(|folder| (folder.of)(infer));
    found.unwrap_or_else(|| Box::new(absent::Absent { infer }))
}

/// Returns the codes of the diagnostics of all methods.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    FOLDERS.iter().flat_map(|folder| folder.codes).copied()
}

/// Returns whether a tensor in a run folder is a state. The other tensors have the prefix of a method.
pub fn is_state(tensor: &str) -> bool {
    let mut prefixes = FOLDERS.iter().filter_map(|folder| folder.prefix);
    !prefixes.any(|prefix| tensor.starts_with(prefix))
}

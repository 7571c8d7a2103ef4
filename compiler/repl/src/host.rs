//! The operations that a session leaves to the command line: runs, pictures and files.

use crate::picture::Picture;
use bnnc_abi::manifest::CompareBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::CheckedProgram;
use std::any::Any;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs inference blocks, draws pictures and writes files. The command line implements this trait.
pub trait RunHost {
    /// Runs the inference blocks in `options.only` and the blocks on which they depend. If
    /// `options.only` is empty, runs all blocks.
    fn run(&self, program: &CheckedProgram, options: &CompileOptions) -> RunReport;

    /// Compares posteriors of this host by the metrics of `compare`. Their inference blocks are
    /// declared in the program.
    ///
    /// # Errors
    /// Fails if a metric does not apply to an inference block, if there is too little memory, or if
    /// the user interrupts the computation.
    fn compare(
        &self,
        program: &CheckedProgram,
        compare: &CompareBlock,
        fits: &[Rc<dyn FittedPosterior>],
    ) -> Result<HostTable, Vec<Diagnostic>>;

    /// Calls `work` with a flag. While `work` runs, Ctrl-C does not end the process but sets this
    /// flag.
    fn interruptible(&self, work: &mut dyn FnMut(Arc<AtomicBool>));

    /// Draws a picture as text that is at most `width` characters wide.
    fn characters(&self, picture: &Picture, width: usize) -> String;

    /// Draws a picture as an SVG document.
    fn svg(&self, picture: &Picture) -> String;

    /// Writes a file. Its content was computed from the file `source`, which must not be
    /// overwritten.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if it is the file `source`.
    fn write(&self, path: &Path, text: &str, source: Option<&Path>) -> Result<(), Diagnostic>;
}

/// The result of a run.
#[derive(Default)]
pub struct RunReport {
    /// The warnings of the run, and the error that ended it.
    pub diagnostics: Vec<Diagnostic>,
    /// The table of results.
    pub table: String,
    /// The posteriors of the inference blocks that finished.
    pub fits: Vec<Rc<dyn FittedPosterior>>,
    /// True if the user stopped the run before its end.
    pub is_interrupted: bool,
}

/// The posterior of an inference block that has run.
pub trait FittedPosterior {
    /// Returns the name of the inference block.
    fn name(&self) -> &str;

    /// Returns the parameters of the posterior.
    fn sites(&self) -> &[FittedSite];

    /// Returns the draws of a parameter, or `None` if the posterior does not have draws. `site` is
    /// the index of the parameter in [`FittedPosterior::sites`].
    ///
    /// # Errors
    /// Fails if there is too little memory, or if a file cannot be read.
    fn draws(&self, site: usize) -> Result<Option<ChainDraws>, Vec<Diagnostic>>;

    /// Returns the table of results.
    fn summary(&self) -> String;

    /// Predicts the outputs for the rows of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if its rows do not fit the model.
    fn predict(&self, file: &Path) -> Result<HostTable, Vec<Diagnostic>>;

    /// Returns the posterior as `Any`, because only its host knows the concrete type.
    fn as_any(&self) -> &dyn Any;
}

/// A parameter of a posterior.
#[derive(Clone, Debug)]
pub struct FittedSite {
    /// The name of the parameter, such as `beta` or `hidden.w`.
    pub name: String,
    /// The sizes of its axes.
    pub sizes: Vec<usize>,
    /// The support of its values.
    pub support: Support,
    /// The name of each element, such as `beta[age]`.
    pub elements: Vec<String>,
}

/// Draws of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainDraws {
    /// The values of all chains, one chain after the other, `[draws, ..]`.
    pub values: Vec<f64>,
    /// The number of draws of each chain.
    pub chains: Vec<usize>,
}

/// A table from the host: predictions as the text of a CSV file, or a comparison.
#[derive(Clone, Debug)]
pub struct HostTable {
    /// The text of the table.
    pub table: String,
    /// The warnings about the table.
    pub warnings: Vec<Diagnostic>,
}

//! The errors of the explorer.

use bnnc_base::fault::Fault;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::program::CheckedProgram;
use bnnc_driver::render;
use std::fmt;

/// The reason why a request does not have a result.
#[derive(Clone, Debug, PartialEq)]
pub enum ExploreError {
    /// A parameter of the request is missing, wrong or beyond a limit.
    Request(String),
    /// The program of the question has errors. The text contains the same diagnostics as on the
    /// command line, without colours.
    Program(String),
    /// The compilation or the measurement reached a limit, or failed because `bnnc` has a bug.
    Fault(Fault),
}

impl ExploreError {
    /// Formats the errors of a program.
    pub fn of_program(failure: &CompileFailure, program: &CheckedProgram) -> ExploreError {
        match failure {
            CompileFailure::Program(diagnostics) => {
                let texts = diagnostics.iter();
                let texts = texts.map(|diagnostic| render::text(diagnostic, &program.sources, false));
                ExploreError::Program(texts.collect::<Vec<String>>().join("\n"))
            }
            CompileFailure::Fault(why) => ExploreError::Program(format!("error: {why}")),
        }
    }
}

impl From<Fault> for ExploreError {
    fn from(fault: Fault) -> ExploreError {
        ExploreError::Fault(fault)
    }
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExploreError::Request(text) | ExploreError::Program(text) => f.write_str(text),
            ExploreError::Fault(fault) => fault.fmt(f),
        }
    }
}

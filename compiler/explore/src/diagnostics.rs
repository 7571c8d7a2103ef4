//! The errors of the explorer.

use bnnc_base::fault::Fault;
use bnnc_base::reasons;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::program::CheckedProgram;
use bnnc_driver::render;

reasons! {
    /// The reason why a request does not have a result.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ExploreError {
        /// A parameter of the request is missing, wrong or beyond a limit.
        Request(text: String) = "{text}";
        /// The program of the question has errors. The text contains the same diagnostics as on the
        /// command line, without colours.
        Program(text: String) = "{text}";
        /// The compilation or the measurement reached a limit, or failed because `bnnc` has a bug.
        Fault(why: Fault) = "{why}";
    }
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

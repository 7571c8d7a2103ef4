//! The reasons why an inference could not be compiled.

use bnnc_abi::method::declare::Mismatch;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;

/// The reason why an inference could not be compiled.
#[derive(Clone, Debug)]
pub enum CompileFailure {
    /// The program has errors.
    Program(Vec<Diagnostic>),
    /// A limit or a bug of the compiler.
    Fault(Fault),
}

impl From<Fault> for CompileFailure {
    fn from(fault: Fault) -> CompileFailure {
        CompileFailure::Fault(fault)
    }
}

impl From<Mismatch> for CompileFailure {
    fn from(mismatch: Mismatch) -> CompileFailure {
        CompileFailure::Fault(Fault::Bug(mismatch.to_string()))
    }
}

impl From<Box<Diagnostic>> for CompileFailure {
    fn from(diagnostic: Box<Diagnostic>) -> CompileFailure {
        CompileFailure::Program(vec![*diagnostic])
    }
}

impl From<Diagnostic> for CompileFailure {
    fn from(diagnostic: Diagnostic) -> CompileFailure {
        CompileFailure::Program(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for CompileFailure {
    fn from(diagnostics: Vec<Diagnostic>) -> CompileFailure {
        CompileFailure::Program(diagnostics)
    }
}

//! The errors of a worker process.

use std::fmt;
use std::io;

/// The reason why a worker did not lower a module. The worker writes it to its standard error.
#[derive(Debug)]
pub enum LoweringError {
    /// The module could not be read.
    Read(io::Error),
    /// MLIR rejected the module, or MLIR failed.
    Mlir(String),
    /// LLVM failed.
    Llvm(String),
    /// The artefact could not be written.
    Write(io::Error),
}

impl fmt::Display for LoweringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoweringError::Read(error) => write!(f, "cannot read the module: {error}"),
            LoweringError::Mlir(text) | LoweringError::Llvm(text) => f.write_str(text),
            LoweringError::Write(error) => write!(f, "cannot answer: {error}"),
        }
    }
}

impl std::error::Error for LoweringError {}

//! The errors of a worker process.

use bnnc_base::reasons;
use std::io;

reasons! {
    /// The reason why a worker did not lower a module. The worker writes it to its standard error.
    #[derive(Debug)]
    pub enum LoweringError {
        /// The module could not be read.
        Read(error: io::Error) = "cannot read the module: {error}";
        /// MLIR rejected the module, or MLIR failed.
        Mlir(text: String) = "{text}";
        /// LLVM failed.
        Llvm(text: String) = "{text}";
        /// The artefact could not be written.
        Write(error: io::Error) = "cannot answer: {error}";
    }
}

impl std::error::Error for LoweringError {}

//! The worker of the backend `mlir`: this executable, started as a separate process.

/// Runs the command and returns the exit status.
#[cfg(feature = "mlir")]
pub fn run(arguments: &[String]) -> u8 {
    bnnc_backend_mlir::worker::run(arguments)
}

/// Reports that this build does not contain the worker.
#[cfg(not(feature = "mlir"))]
pub fn run(_: &[String]) -> u8 {
    bnnc_command::terminal::complain("error: this `bnnc` was built without the feature `mlir`");
    2
}

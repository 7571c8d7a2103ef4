//! The worker of the backend `mlir`: this executable once more, in a process of its own.

/// Runs the command.
#[cfg(feature = "mlir")]
pub fn run(arguments: &[String]) -> u8 {
    bnnc_backend_mlir::worker::run(arguments)
}

/// Says that there is none.
#[cfg(not(feature = "mlir"))]
pub fn run(_: &[String]) -> u8 {
    bnnc_command::terminal::complain("error: this `bnnc` was built without the feature `mlir`");
    2
}

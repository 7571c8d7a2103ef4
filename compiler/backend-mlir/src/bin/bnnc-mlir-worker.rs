//! A separate executable that contains only the worker process. It is used by tests, and by builds
//! of `bnnc` without a worker.

fn main() -> std::process::ExitCode {
    // As for `bnnc`, the first argument is the subcommand.
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    std::process::ExitCode::from(bnnc_backend_mlir::worker::run(&arguments))
}

//! A separate executable that contains only the worker process, for tests and for builds of `bnnc` that do not include a worker.

fn main() -> std::process::ExitCode {
    // The first argument is the subcommand, as for `bnnc`.
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    std::process::ExitCode::from(bnnc_backend_mlir::worker::run(&arguments))
}

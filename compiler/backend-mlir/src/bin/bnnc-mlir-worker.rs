//! A separate executable that is only a worker process, for tests and for builds of `bnnc` without a worker
//! inside.

fn main() -> std::process::ExitCode {
    // The first argument is the subcommand, as for `bnnc`.
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    std::process::ExitCode::from(bnnc_backend_mlir::worker::run(&arguments))
}

//! A worker process alone, for tests and for builds of `bnnc` that have none inside.

fn main() -> std::process::ExitCode {
    // The subcommand comes first, as for `bnnc`.
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    std::process::ExitCode::from(bnnc_backend_mlir::worker::run(&arguments))
}

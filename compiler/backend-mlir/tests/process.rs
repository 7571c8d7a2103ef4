//! Tests that the compiler receives a result or an error for every behaviour of a worker process.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![cfg(unix)]

use bnnc_backend_mlir::process::Worker;
use bnnc_backend_mlir::protocol::CodeTarget;
use bnnc_base::diagnostics::NO_WORKER;
use bnnc_base::fault::Fault;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A lock that lets only one script run at a time. While a script file is being written, a child
/// process that another test starts may inherit its descriptor, and keeps it until the child
/// executes its program. Until then, the system does not execute the script, because the file is
/// open for writing.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a shell script as a worker and returns the result.
fn script(name: &str, body: &str, time: Duration) -> Result<Vec<u8>, Fault> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("{name}.sh"));
    std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let worker = Worker {
        program,
        memory: 1 << 26,
        time,
    };
    worker.lower("module {}", CodeTarget::Object)
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_response_is_read_completely() {
    let body = r#"cat >/dev/null; printf 'bnnc-mlir-worker 1\n\004\000\000\000\000\000\000\000code'"#;
    assert_eq!(script("answer", body, LONG).unwrap(), b"code");
}

#[test]
fn a_crash_is_a_bug_with_the_diagnostics_of_the_worker() {
    let fault = script("crash", "echo LLVM ERROR: oh dear >&2; kill -ABRT $$", LONG).unwrap_err();
    let wanted = "MLIR crashed while lowering a program: signal 6: LLVM ERROR: oh dear";
    assert_eq!(fault, Fault::Bug(wanted.to_owned()));
}

#[test]
fn a_rejected_module_is_a_bug_with_its_reason() {
    let fault = script("refusal", "echo no such op >&2; exit 1", LONG).unwrap_err();
    let wanted = "MLIR rejected a module: status 1: no such op";
    assert_eq!(fault, Fault::Bug(wanted.to_owned()));
}

#[test]
fn exhausted_memory_is_a_limit() {
    let fault = script(
        "memory",
        "echo LLVM ERROR: out of memory >&2; kill -ABRT $$",
        LONG,
    )
    .unwrap_err();
    let wanted = "to lower a program, MLIR needs more than 64 MiB, or more memory than this process may use";
    assert_eq!(
        fault,
        Fault::limit(&NO_WORKER, format!("{wanted}: LLVM ERROR: out of memory"))
    );
}

/// Rust's runtime does not report which exception was thrown.
#[test]
fn a_foreign_exception_may_mean_exhausted_memory() {
    let reported = "fatal runtime error: Rust cannot catch foreign exceptions, aborting";
    let fault = script(
        "exception",
        &format!("echo '{reported}' >&2; kill -ABRT $$"),
        LONG,
    )
    .unwrap_err();
    let wanted = "MLIR stopped with a C++ exception, probably because it needs more than the allowed 64 MiB";
    assert_eq!(fault, Fault::limit(&NO_WORKER, format!("{wanted}: {reported}")));
}

#[test]
fn a_signal_from_outside_is_a_limit() {
    for (signal, how) in [
        (
            9,
            "signal 9 stopped the MLIR worker, probably because the system ran out of memory",
        ),
        (15, "another process stopped the MLIR worker by signal 15"),
    ] {
        let fault = script("ended", &format!("kill -{signal} $$"), LONG).unwrap_err();
        assert_eq!(fault, Fault::limit(&NO_WORKER, how));
    }
}

#[test]
fn an_executable_without_a_valid_response_is_not_a_worker() {
    for (name, body) in [
        ("nonsense", "echo nonsense"),
        ("silence", "exit 0"),
        ("another", "echo unrecognized subcommand >&2; exit 2"),
        (
            "half",
            r"printf 'bnnc-mlir-worker 1\n\005\000\000\000\000\000\000\000code'",
        ),
    ] {
        let fault = script(name, body, LONG).unwrap_err();
        assert!(
            matches!(&fault, Fault::Limit(limit) if limit.text.contains("is not an MLIR worker")),
            "{fault}"
        );
    }
}

#[test]
fn a_worker_that_takes_too_long_is_killed() {
    let clock = Instant::now();
    let answer = r"printf 'bnnc-mlir-worker 1\n\000\000\000\000\000\000\000\000'";
    for (name, body) in [
        ("sleep", "exec sleep 600".to_owned()),
        // The response is complete, but the process does not end.
        ("stays", format!("{answer}; exec sleep 600 >&- 2>&-")),
    ] {
        let fault = script(name, &body, Duration::from_millis(300)).unwrap_err();
        let wanted = "MLIR did not lower a program in 0.3 seconds";
        assert_eq!(fault, Fault::limit(&NO_WORKER, wanted));
    }
    assert!(clock.elapsed() < LONG);
}

/// An endless response is cut off, even if its header declares a large length.
#[test]
fn an_endless_response_is_cut_off() {
    let header = r"printf 'bnnc-mlir-worker 1\n\377\377\377\377\377\377\377\377'";
    let fault = script("endless", &format!("{header}; exec cat /dev/zero"), LONG).unwrap_err();
    let wanted = "the output of the MLIR worker has more than 67108864 bytes";
    assert_eq!(fault, Fault::limit(&NO_WORKER, wanted));
}

#[test]
fn a_missing_worker_is_a_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = Worker {
        program: PathBuf::from("/nowhere/worker"),
        memory: 1 << 30,
        time: LONG,
    };
    let fault = worker.lower("module {}", CodeTarget::Object).unwrap_err();
    assert!(
        fault
            .to_string()
            .contains("cannot start the MLIR worker /nowhere/worker"),
        "{fault}"
    );
}

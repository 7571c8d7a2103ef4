//! Tests of the real worker. A failure of LLVM must not affect the compiler.

use crate::BACKEND;
use bnnc_backend_mlir::process::Worker;
use bnnc_backend_mlir::protocol::CodeTarget;
use bnnc_base::diagnostics::NO_WORKER;
use bnnc_base::fault::Fault;
use std::time::Duration;

fn lower(text: &str, memory: u64, time: Duration) -> Result<Vec<u8>, Fault> {
    let worker = Worker {
        program: BACKEND.worker.clone().unwrap(),
        memory,
        time,
    };
    worker.lower(text, CodeTarget::Object)
}

const MEMORY: u64 = 8 << 30;
const TIME: Duration = Duration::from_secs(60);
const EMPTY: &str = "module { llvm.func @f() { llvm.return } }";

#[test]
fn a_module_becomes_an_object() {
    let object = lower(EMPTY, MEMORY, TIME).unwrap();
    assert!(object.starts_with(b"\x7fELF"));
}

#[test]
fn an_invalid_module_is_rejected_with_the_position_of_the_error() {
    let fault = lower("module { llvm.func @f() { llvm.retrun } }", MEMORY, TIME).unwrap_err();
    let text = fault.to_string();
    assert!(text.starts_with("bug in bnnc: MLIR rejected a module"), "{text}");
    assert!(text.contains("llvm.retrun"), "{text}");
}

/// The module contains an intrinsic of another processor. LLVM cannot translate this intrinsic to
/// an instruction, and calls `abort`.
#[test]
fn an_abort_of_llvm_is_reported() {
    let text = "module { llvm.func @f(%x: f32) -> f32 {
      %y = llvm.call_intrinsic \"llvm.nvvm.ex2.approx\"(%x) : (f32) -> f32
      llvm.return %y : f32 } }";
    let fault = lower(text, MEMORY, TIME).unwrap_err().to_string();
    assert!(
        fault.contains("MLIR crashed while lowering a program: signal 6"),
        "{fault}"
    );
    assert!(fault.contains("LLVM ERROR"), "{fault}");
}

/// The executable alone needs more address space than the limit allows, so its next allocation
/// fails.
#[test]
fn exhausted_memory_is_reported_as_a_limit() {
    let fault = lower(EMPTY, 64 << 20, TIME).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.starts_with(
            "limit of bnnc: to lower a program, MLIR needs more than 64 MiB, or more memory than this process may use"
        ),
        "{text}"
    );
}

#[test]
fn a_time_out_is_reported() {
    let functions: String = (0..20_000)
        .map(|at| {
            format!(
                "llvm.func @f{at}(%x: f32) -> f32 {{ %y = arith.addf %x, %x : f32\n llvm.return %y : f32 }}\n"
            )
        })
        .collect();
    let fault = lower(
        &format!("module {{ {functions} }}"),
        MEMORY,
        Duration::from_millis(50),
    )
    .unwrap_err();
    assert_eq!(
        fault,
        Fault::limit(&NO_WORKER, "MLIR did not lower a program in 0.05 seconds")
    );
}

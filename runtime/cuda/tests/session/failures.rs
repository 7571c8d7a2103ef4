//! Tests driver calls that fail, and plans that the device cannot run.

use crate::stub::{self, Stub, WEIGHTS, expected, image, inputs, program};
use crate::{LAUNCH_FAILED, run, scenario};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use bnnc_cuda::device::Device;
use bnnc_cuda::driver::{Driver, ENTRY_POINTS};
use std::path::PathBuf;
use std::sync::Arc;

/// The entry points that release an object. If one of them fails, the object stays allocated, and
/// nothing can report the failure.
const RELEASES: [&str; 8] = [
    "cuDevicePrimaryCtxRelease_v2",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuStreamDestroy_v2",
    "cuModuleUnload",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cublasDestroy_v2",
];

/// Makes every call of every entry point fail, one after the other.
#[test]
fn every_failure_is_reported_and_leaks_nothing() {
    let Some(stub) = Stub::with_blas() else { return };
    let blas = [
        "cublasCreate_v2",
        "cublasSetStream_v2",
        "cublasSetWorkspace_v2",
        "cublasDgemm_v2",
    ];
    let names: Vec<&str> = ENTRY_POINTS
        .iter()
        .chain(&blas)
        .chain(&RELEASES[7..])
        .copied()
        .collect();
    let before = names.iter().map(|name| stub.calls(name)).collect::<Vec<_>>();
    scenario(&stub).unwrap();
    let counts: Vec<i32> = names
        .iter()
        .zip(before)
        .map(|(name, before)| stub.calls(name) - before)
        .collect();
    for (name, count) in names.iter().zip(counts) {
        let is_release = RELEASES.contains(name);
        let is_text = name.starts_with("cuGetError");
        // A session cannot work without its first allocation of page-locked memory. The second
        // allocation is for the graph of an evaluation, which also works without this graph.
        let can_spare = |call| *name == "cuMemHostAlloc" && call == 2;
        assert_eq!(count == 0, is_text || *name == "cuFuncSetAttribute", "{name}");
        for call in 1..=count {
            let live = stub.live();
            stub.fail(name, call, 999);
            let found = scenario(&stub);
            assert_eq!(stub.live(), live + i32::from(is_release), "{name} {call}");
            let called = name.trim_end_matches("_v2").replace("cublasDgemm", "cublasGemm");
            match found {
                Ok(()) => {
                    // An error at the end of a session cannot be reported: `drop` does not return a
                    // result.
                    let ends = ["cuCtxSetCurrent", "cuStreamSynchronize"];
                    assert!(
                        is_release || ends.contains(name) || can_spare(call),
                        "{name} {call}"
                    );
                }
                Err(fault) => {
                    let text = fault.to_string();
                    assert!(!is_release && text.contains(&called), "{name} {call}: {text}");
                    let status = if name.starts_with("cublas") {
                        "status 999"
                    } else {
                        "CUDA_ERROR_UNKNOWN (unknown error)"
                    };
                    assert!(text.contains(status), "{name} {call}: {text}");
                }
            }
        }
    }
}

fn text<T>(found: Result<T, Fault>) -> String {
    found.map(|_| ()).unwrap_err().to_string()
}

/// Checks that a result is the diagnostic with this code, and returns its message.
fn reported<T>(code: &str, found: Result<T, Fault>) -> String {
    diagnostic(code, found).message
}

fn diagnostic<T>(code: &str, found: Result<T, Fault>) -> Box<Diagnostic> {
    match found.map(|_| ()).unwrap_err() {
        Fault::Reported(diagnostic) if diagnostic.code.id == code => diagnostic,
        other => panic!("no {code}: {other}"),
    }
}

/// Checks the rendered text of the diagnostic with this code. Returns its message.
#[track_caller]
fn shown_so<T>(code: &str, found: Result<T, Fault>) -> String {
    let found = diagnostic(code, found);
    insta::assert_snapshot!(code, render::text(&found, &SourceMap::default(), false));
    found.message
}

#[test]
fn missing_and_incomplete_drivers_are_reported() {
    let nowhere = [
        PathBuf::from("/nowhere/libcuda.so.1"),
        PathBuf::from("/nowhere/libcuda.so"),
    ];
    let missing = shown_so("E0801", Driver::load_from(&nowhere));
    assert!(
        missing.contains("no CUDA driver: ") && missing.contains("/nowhere/libcuda.so.1"),
        "{missing}"
    );
    let Some(stub) = Stub::new(&["-DWITHOUT_GRAPHS"]) else {
        return;
    };
    let old = text(stub.device());
    assert!(old.contains("the CUDA driver has no cuGraphLaunch"), "{old}");
    let Some(stub) = Stub::new(&[]) else { return };
    stub.devices(0);
    assert!(shown_so("E0802", stub.device()).contains("shows no device"));
    // Without a device, the first call of the driver returns this status.
    stub.fail("cuInit", 1, 100);
    assert!(reported("E0802", stub.device()).contains("shows no device"));
    assert_eq!(stub.live(), 0);
}

fn opened(stub: &Stub) -> Arc<Device> {
    stub.device().unwrap()
}

#[test]
fn images_that_do_not_fit_are_reported() {
    let Some(stub) = Stub::new(&[]) else { return };
    stub.capability(75);
    let device = opened(&stub);
    let old = shown_so("E0803", stub.machine(&device));
    assert!(
        old.contains("the code is for sm_80 and later, but Stub is sm_75"),
        "{old}"
    );
    drop(device);
    stub.capability(90);
    let device = opened(&stub);
    let mut broken = program();
    broken.images.push(image(90, "broken"));
    let log = text(stub::machine(&device, broken, 8));
    assert!(
        log.contains("CUDA_ERROR_INVALID_PTX") && log.contains("line 7; error : Unknown symbol"),
        "{log}"
    );
    let mut missing = program();
    missing.images[0] = image(80, "scale multiply");
    let entry = text(stub::machine(&device, missing, 8));
    assert!(
        entry.contains("cuModuleGetFunction of add_counter: CUDA_ERROR_NOT_FOUND"),
        "{entry}"
    );
    let mut unbound = program();
    unbound.kernels[1].entries[0].parameters[0] = bnnc_abi::device::KernelParameter::Buffer(2);
    assert!(text(stub::machine(&device, unbound, 8)).contains("names a slot that is not bound"));
    drop(device);
    assert_eq!(stub.live(), 0);
}

#[test]
fn plans_beyond_the_device_are_rejected_before_the_run() {
    let Some(stub) = Stub::new(&[]) else { return };
    let device = opened(&stub);
    stub.memory(10_000);
    let full = text(stub::machine(&device, program(), 1000));
    assert!(
        full.contains("fit.step needs ") && full.contains("where 10000 of 268435456 bytes are free"),
        "{full}"
    );
    stub.memory(1 << 28);
    let mut greedy = program();
    greedy.kernels[0].entries[0].dynamic_shared = bnnc_abi::device::Count::Fixed(200 << 10);
    assert!(
        text(stub::machine(&device, greedy, 8))
            .contains("needs 204800 bytes of shared memory; Stub has 101376")
    );
    let mut wide = program();
    wide.kernels[0].entries[0].grid[1] = bnnc_abi::device::Count::Fixed(70_000);
    assert!(text(stub::machine(&device, wide, 8)).contains("[1, 70000, 1] blocks"));
    let mut lacking = program();
    lacking.routines.clear();
    assert!(text(stub::machine(&device, lacking, 8)).contains("matmul of fit.step"));
    let mut large = program();
    large.kernels[0].entries[0].dynamic_shared = bnnc_abi::device::Count::Fixed(60 << 10);
    let mut machine = stub::machine(&device, large, 8).unwrap();
    assert!(stub.calls("cuFuncSetAttribute") > 0);
    machine.write_real("w", &WEIGHTS).unwrap();
    run(&mut machine, 8, 1).unwrap();
}

/// An error in earlier work is reported when the host next waits for the stream.
#[test]
fn a_late_error_is_reported() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = opened(&stub);
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    machine.write_real("x", &inputs(8, 0)).unwrap();
    machine.run().unwrap();
    stub.fail("cuStreamSynchronize", 1, LAUNCH_FAILED);
    let fault = machine.read_real("y").unwrap_err();
    assert!(
        matches!(&fault, Fault::Bug(text) if text.contains("CUDA_ERROR_LAUNCH_FAILED")),
        "{fault}"
    );
    // A real driver would fail again, but the stub does not. Since the failed call did not mark the
    // buffer as read, the next call reads it.
    assert_eq!(machine.read_real("y").unwrap(), expected(&inputs(8, 0)));
}

#[test]
fn the_description_names_the_libraries_in_use() {
    let Some(stub) = Stub::with_blas() else { return };
    assert_eq!(
        opened(&stub).describe(),
        "Stub (compute capability 9.0, CUDA driver 12.4); matrix products, large triangular systems and Cholesky factors by cuBLAS 12.4.2"
    );
    let Some(stub) = Stub::new(&[]) else { return };
    assert!(
        opened(&stub)
            .describe()
            .ends_with("matrix products by bnnc's own kernels")
    );
}

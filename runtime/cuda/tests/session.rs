//! Plans on a stub of the driver. The tests check results, graphs, and the errors of driver calls.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod stub;

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use bnnc_cuda::device::Device;
use bnnc_cuda::driver::{Driver, ENTRY_POINTS};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::StampedRows;
use std::path::PathBuf;
use std::sync::Arc;
use stub::{Stub, WEIGHTS, expected, image, inputs, program, sizes};

/// Gathers the chosen rows of three numbers each into the input `x`.
fn gather(machine: &mut Machine, stamp: u64, values: &[f64], chosen: &[u32]) -> Result<bool, Fault> {
    let rows = StampedRows {
        stamp,
        count: values.len() / 3,
        width: 3,
        read: &|rows| values[3 * rows.start..3 * rows.end].into(),
    };
    machine.gather("x", &rows, chosen)
}

/// Runs the plan once and checks the result.
fn run(machine: &mut Machine, batch: usize, at: usize) -> Result<(), Fault> {
    machine.set_sizes(&sizes(batch))?;
    machine.write_real("x", &inputs(batch, at))?;
    machine.run()?;
    assert_eq!(
        machine.read_real("y")?,
        expected(&inputs(batch, at)),
        "{batch} {at}"
    );
    Ok(())
}

/// Runs several sizes, copies buffers to another machine, and checks all results.
fn scenario(stub: &Stub) -> Result<(), Fault> {
    let device = stub.device()?;
    let mut machine = stub.machine(&device)?;
    machine.write_real("w", &WEIGHTS)?;
    for (at, batch) in [8, 5, 8, 1, 8, 5, 0].into_iter().enumerate() {
        run(&mut machine, batch, at)?;
        if at == 2 {
            assert_eq!(machine.read_real("total")?, [9.0]);
            machine.write_real("total", &[0.5])?;
        }
    }
    let all = inputs(20, 4);
    for chosen in [[3, 4], [5, 19], [7, 0]] {
        machine.set_sizes(&sizes(2))?;
        let rows: Vec<f64> = chosen
            .iter()
            .flat_map(|row| &all[3 * *row as usize..][..3])
            .copied()
            .collect();
        if !gather(&mut machine, 1, &all, &chosen)? {
            machine.write_real("x", &rows)?;
        }
        machine.run()?;
        assert_eq!(machine.read_real("y")?, expected(&rows));
    }
    for at in 0..4 {
        evaluate(&mut machine, 6, at)?;
    }
    let mut other = stub.machine(&device)?;
    for name in ["total", "w"] {
        other.copy_state_from(&machine, name)?;
    }
    run(&mut other, 3, 9)?;
    assert_eq!(other.read_real("total")?, [36.5]);
    Ok(())
}

/// Runs the plan once, in the same way as samplers and training do.
fn evaluate(machine: &mut Machine, batch: usize, at: usize) -> Result<(), Fault> {
    let ports = ["total", "y"].map(|name| machine.find(name).unwrap());
    machine.set_sizes(&sizes(batch))?;
    machine.write_real("x", &inputs(batch, at))?;
    let before = machine.read_real("total")?[0];
    machine.run_for(&ports)?;
    assert_eq!(machine.read_real("y")?, expected(&inputs(batch, at)));
    assert_eq!(machine.read_real("total")?, [before + 3.0]);
    Ok(())
}

#[test]
fn results_equal_those_of_the_host() {
    for macros in [&["-DWITH_BLAS"][..], &[]] {
        let Some(stub) = Stub::new(macros) else { return };
        scenario(&stub).unwrap();
        assert_eq!(stub.live(), 0);
        assert_eq!(stub.calls("cublasDgemm_v2") > 0, !macros.is_empty());
        assert!(stub.calls("cuMemcpyDtoDAsync_v2") == 2);
    }
}

/// The first run for given sizes enqueues every launch, and the second run captures the launches.
/// Later runs replay the captured graph.
#[test]
fn a_step_is_captured_once_and_replayed() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    let counts =
        || ["cuStreamBeginCapture_v2", "cuLaunchKernel", "cuGraphLaunch"].map(|name| stub.calls(name));
    for (batch, captures) in [(8, 1), (5, 2)] {
        for at in 0..20 {
            run(&mut machine, batch, at).unwrap();
        }
        // The launches are enqueued twice: once directly, and once for the capture. A run has one
        // kernel outside the loop and three inside it.
        assert_eq!(counts(), [captures, 8 * captures, 19 * captures]);
    }
    for at in 0..20 {
        run(&mut machine, [8, 5][at % 2], at).unwrap();
    }
    assert_eq!(counts(), [2, 16, 38 + 20]);
    assert_eq!(machine.read_real("total").unwrap(), [180.0]);
    assert_eq!(stub.calls("cuModuleLoadDataEx"), 2);
}

/// The copies of an evaluation are part of its graph. From the second evaluation of the same kind
/// on, a single launch and a single wait are enough.
#[test]
fn an_evaluation_is_one_launch() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    let names = [
        "cuStreamBeginCapture_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuLaunchKernel",
        "cuGraphLaunch",
        "cuStreamSynchronize",
    ];
    let counts = || names.map(|name| stub.calls(name));
    // The first evaluation also sends the weights, so it copies more ranges than later evaluations
    // do.
    for at in 0..3 {
        evaluate(&mut machine, 8, at).unwrap();
    }
    let before = counts();
    for at in 3..20 {
        evaluate(&mut machine, 8, at).unwrap();
    }
    let mut one = before;
    one[5] += 17;
    one[6] += 17;
    assert_eq!(counts(), one);
    // Evaluations with other sizes or other ranges need separate graphs. If evaluations alternate,
    // all of these graphs are kept.
    for at in 0..20 {
        evaluate(&mut machine, 8 - at % 2, at).unwrap();
        if at % 4 == 2 {
            machine.write_real("w", &WEIGHTS).unwrap();
        }
    }
    let captured = stub.calls(names[0]);
    for at in 0..20 {
        evaluate(&mut machine, 8 - at % 2, at).unwrap();
        if at % 4 == 2 {
            machine.write_real("w", &WEIGHTS).unwrap();
        }
    }
    assert_eq!(stub.calls(names[0]), captured);
    // The host writes to a buffer that the device computes. These bytes are sent before the run,
    // and the result of the run is copied back.
    machine.write_real("total", &[0.25]).unwrap();
    evaluate(&mut machine, 8, 1).unwrap();
    assert_eq!(machine.read_real("total").unwrap(), [3.25]);
    drop(machine);
    drop(device);
    assert_eq!(stub.live(), 0);
}

/// The evaluations have many sizes, some of which make the copies too large to be captured in a
/// graph.
#[test]
fn only_recent_evaluations_are_kept() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let names = ["cuStreamBeginCapture_v2", "cuGraphExecDestroy", "cuMemFreeHost"];
    // The graphs of only eight evaluations are kept. Older graphs are dropped with their memory.
    for (batches, counts) in [(1..=40, [40, 32, 32]), (800_000..=800_001, [2, 0, 0])] {
        let capacity = batches.end() + 1;
        let mut machine = stub::machine(&device, program(), capacity).unwrap();
        machine.write_real("w", &WEIGHTS).unwrap();
        evaluate(&mut machine, capacity, 9).unwrap();
        let before = names.map(|name| stub.calls(name));
        for batch in batches {
            for at in 0..3 {
                evaluate(&mut machine, batch, at).unwrap();
            }
        }
        let after = names.map(|name| stub.calls(name));
        assert_eq!([0, 1, 2].map(|at| after[at] - before[at]), counts);
    }
    drop(device);
    assert_eq!(stub.live(), 0);
}

/// If memory cannot be locked for the copies of an evaluation, the evaluation works without a
/// graph, and does not try to lock memory again.
#[test]
fn an_evaluation_works_without_page_locked_memory_of_its_own() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    evaluate(&mut machine, 8, 0).unwrap();
    let before = stub.calls("cuMemHostAlloc");
    stub.fail("cuMemHostAlloc", 1, OUT_OF_MEMORY);
    for at in 1..10 {
        evaluate(&mut machine, 8, at).unwrap();
    }
    assert_eq!(stub.calls("cuMemHostAlloc"), before + 1);
    for at in 0..3 {
        evaluate(&mut machine, 7, at).unwrap();
    }
    assert_eq!(stub.calls("cuMemHostAlloc"), before + 2);
    drop(machine);
    drop(device);
    assert_eq!(stub.live(), 0);
}

/// If the wait for a launch fails, the launch may still be using its memory. The memory must not be
/// written or freed before a later wait succeeds.
#[test]
fn an_evaluation_that_was_not_waited_for_keeps_its_memory() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub::machine(&device, program(), 9).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    for at in 0..4 {
        evaluate(&mut machine, 8, at).unwrap();
    }
    let ports = ["total", "y"].map(|name| machine.find(name).unwrap());
    let mut step = |batch: usize, at: usize, status: i32| {
        machine.set_sizes(&sizes(batch)).unwrap();
        machine.write_real("x", &inputs(batch, at)).unwrap();
        if status != 0 {
            stub.fail("cuStreamSynchronize", 1, status);
        }
        assert_eq!(machine.run_for(&ports).is_err(), status != 0, "{batch} {at}");
        (
            stub.calls("cuStreamSynchronize"),
            stub.calls("cuGraphExecDestroy"),
        )
    };
    let (waits, lost) = step(8, 4, LAUNCH_FAILED);
    assert_eq!(step(8, 5, 0), (waits + 2, lost));
    step(8, 6, LAUNCH_FAILED);
    for batch in 1..=7 {
        step(batch, 7, LAUNCH_FAILED);
    }
    // The ninth size replaces the first size after the runs of the first size have finished. Two
    // graphs of the first size are destroyed: the graph of its evaluation, and the graph of its
    // run.
    assert_eq!(step(9, 8, LAUNCH_FAILED).1, lost);
    assert_eq!(step(9, 9, 0).1, lost + 2);
    assert_eq!(machine.read_real("y").unwrap(), expected(&inputs(9, 9)));
    // The evaluations that have run are the first four, two of the same size, one whose wait
    // failed, seven of other sizes, and the last one.
    assert_eq!(
        machine.read_real("total").unwrap(),
        [3.0 * (4.0 + 2.0 + 1.0 + 7.0 + 1.0)]
    );
    drop(machine);
    drop(device);
    assert_eq!(stub.live(), 0);
}

#[test]
fn only_recent_graphs_are_kept() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub::machine(&device, program(), 40).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    for batch in 1..=40 {
        for at in 0..3 {
            run(&mut machine, batch, at).unwrap();
        }
    }
    let lost = stub.calls("cuGraphExecDestroy");
    assert_eq!((stub.calls("cuStreamBeginCapture_v2"), lost), (40, 32));
    drop(machine);
    drop(device);
    assert_eq!(stub.live(), 0);
}

/// The stub copies data only when the host waits for the stream. If page-locked memory were used
/// again too early, the results would be wrong.
#[test]
fn many_runs_without_a_wait_give_correct_results() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    for batch in [1000, 30_000, 60_000] {
        let mut machine = stub::machine(&device, program(), batch).unwrap();
        machine.write_real("w", &WEIGHTS).unwrap();
        machine.write_real("total", &[1.0]).unwrap();
        for at in 0..100.min(2_000_000 / batch) {
            machine.write_real("x", &inputs(batch, at)).unwrap();
            machine.run().unwrap();
            if at % 40 == 39 {
                assert_eq!(machine.read_real("y").unwrap(), expected(&inputs(batch, at)));
            }
        }
    }
}

#[test]
fn only_what_changed_is_sent() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    run(&mut machine, 8, 0).unwrap();
    let copies = || ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"].map(|name| stub.calls(name));
    let before = copies();
    for at in 1..6 {
        run(&mut machine, 8, at).unwrap();
    }
    // `x` is copied to the device, and `y` is copied to the host.
    assert_eq!(copies(), before.map(|count| count + 5));
    // The other ports were read before, or did not change.
    machine.read_real("y").unwrap();
    machine.read_real("x").unwrap();
    assert_eq!(copies(), before.map(|count| count + 5));
}

/// Rows are sent to the device at their second use. Later batches send only row indices.
#[test]
fn rows_stay_on_the_device() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    let all: Vec<f64> = inputs(100, 3);
    let mut step = |stamp: u64, values: &[f64], chosen: &[u32]| {
        machine.set_sizes(&sizes(chosen.len())).unwrap();
        let rows: Vec<f64> = chosen
            .iter()
            .flat_map(|row| &values[3 * *row as usize..][..3])
            .copied()
            .collect();
        let gathered = gather(&mut machine, stamp, values, chosen).unwrap();
        if !gathered {
            machine.write_real("x", &rows).unwrap();
        }
        machine.run().unwrap();
        assert_eq!(machine.read_real("y").unwrap(), expected(&rows));
        assert_eq!(machine.read_real("x").unwrap(), rows);
        gathered
    };
    let copies = || stub.calls("cuMemcpyHtoDAsync_v2");
    assert!(!step(1, &all, &[5, 7]));
    let before = copies();
    // This step sends the rows and the row indices.
    assert!(step(1, &all, &[99, 0, 50, 50]));
    assert_eq!(copies(), before + 2);
    assert!(step(1, &all, &[1, 2, 3, 4]));
    assert_eq!(copies(), before + 3);
    assert!(step(1, &all, &[1, 2, 3, 4]));
    assert_eq!(copies(), before + 3);
    // This step needs more memory for row indices than the device has reserved. The later steps use
    // other rows.
    assert!(step(1, &all, &[9, 8, 7, 6, 5, 4, 3, 2]));
    let other: Vec<f64> = inputs(60, 8);
    let found = [7, 3, 1].map(|row| step(2, &other, &[row, 59]));
    assert_eq!(found, [false, true, true]);
    assert!(!step(1, &all, &[5, 7]));
    // This batch contains all rows.
    let few = inputs(2, 3);
    assert!(!step(3, &few, &[0, 1]));
    assert!(step(3, &few, &[0, 1]));
    let before = copies();
    assert!(step(3, &few, &[0, 1]));
    assert_eq!(copies(), before);
    // The host gathers the rows as long as the device does not have enough contiguous free memory
    // for them.
    assert!(!step(4, &few, &[0, 1]));
    stub.fail("cuMemAlloc_v2", 1, OUT_OF_MEMORY);
    assert!(!step(4, &few, &[0, 1]));
    assert!(step(4, &few, &[0, 1]));
    step(2, &other, &[1]);
    let fault = gather(&mut machine, 2, &other, &[60]).unwrap_err();
    assert!(fault.to_string().contains("row 60 of 60"), "{fault}");
    drop(machine);
    drop(device);
    assert_eq!(stub.live(), 0);
}

/// A machine works on any thread. CUDA's current context differs between threads, so each call must
/// set it.
#[test]
fn machines_move_between_threads() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let mut machine = stub.machine(&device).unwrap();
    machine.write_real("w", &WEIGHTS).unwrap();
    let mut machine = std::thread::scope(|scope| {
        let moved = scope.spawn(move || {
            run(&mut machine, 4, 1).unwrap();
            machine
        });
        moved.join().unwrap()
    });
    run(&mut machine, 4, 2).unwrap();
    machine.run().unwrap();
    let seen = std::thread::scope(|scope| {
        let (first, second) = (
            scope.spawn(|| machine.read_real("y")),
            scope.spawn(|| machine.read_real("y")),
        );
        [first.join().unwrap().unwrap(), second.join().unwrap().unwrap()]
    });
    assert_eq!(seen, [expected(&inputs(4, 2)), expected(&inputs(4, 2))]);
    std::thread::scope(|scope| scope.spawn(move || drop(machine)).join().unwrap());
    drop(device);
    assert_eq!(stub.live(), 0);
}

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

/// The status `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 2;
/// The status `CUDA_ERROR_LAUNCH_FAILED`.
const LAUNCH_FAILED: i32 = 719;

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

//! Tests CUDA graphs: when they are captured, replayed and discarded.

use crate::stub::{self, Stub, WEIGHTS, expected, inputs, program, sizes};
use crate::{LAUNCH_FAILED, OUT_OF_MEMORY, evaluate, run, scenario};

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

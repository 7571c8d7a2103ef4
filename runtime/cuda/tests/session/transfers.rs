//! Tests which arrays are copied to the device, and which stay there.

use crate::stub::{Stub, WEIGHTS, expected, inputs, sizes};
use crate::{OUT_OF_MEMORY, gather, run};

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

//! Plans on a stub of the driver. The tests check results, graphs, and the errors of driver calls.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../stub/mod.rs"]
mod stub;

mod failures;
mod graphs;
mod transfers;

use bnnc_base::fault::Fault;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::StampedRows;
use stub::{Stub, WEIGHTS, expected, inputs, sizes};

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

/// The status `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 2;

/// The status `CUDA_ERROR_LAUNCH_FAILED`.
const LAUNCH_FAILED: i32 = 719;

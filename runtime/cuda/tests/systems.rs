//! Triangular systems on a stub of the driver. cuBLAS solves large systems, and a kernel solves
//! small systems. The tests cover captures and errors.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod stub;

use bnnc_abi::device::{Count, DeviceProgram, KernelParameter, Routine};
use bnnc_abi::plan::{Amount, Buffer, BufferId, BufferRole, Extent, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive::{self, TRIANGULAR_SOLVE};
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_kernels::executor::Machine;
use bnnc_math::philox;
use stub::{Stub, blocks, fixed, image, planned, sizes, work};

/// The number of rows of the matrices. It is so large that cuBLAS is used for a call with one or
/// two matrices.
const N: usize = 50;
/// The number of right-hand sides of each matrix.
const COLUMNS: usize = 3;
/// 1 if the matrices are transposed, and otherwise 0.
type Transposed = i64;

/// Returns a plan that computes the `x` with `l x = b` or `transpose(l) x = b` for `batch` systems,
/// and its program.
fn solving(transposed: Transposed) -> (Plan, DeviceProgram) {
    let mut buffers = Arena::default();
    let (batch, n, columns) = (Dim::Symbol(Symbol::Batch), Dim::Fixed(N), Dim::Fixed(COLUMNS));
    let mut buffer = |name: &str, dims: &[Dim], role| -> BufferId {
        buffers.push(Buffer {
            name: name.into(),
            storage: Storage::Real,
            shape: Shape(dims.to_vec()),
            role,
        })
    };
    let operands = vec![
        buffer("l", &[batch, n, n], BufferRole::Input),
        buffer("b", &[batch, n, columns], BufferRole::Input),
        buffer("x", &[batch, n, columns], BufferRole::Output),
    ];
    let solve = primitive::lookup(TRIANGULAR_SOLVE.name).unwrap();
    let mut ints = [0, N as i64, COLUMNS as i64, transposed].map(fixed).to_vec();
    ints[0] = Amount::one(Extent::of(batch));
    let call = PrimitiveCall {
        primitive: solve,
        buffers: operands,
        ints,
    };
    let plan = Plan {
        name: "fit.solve".into(),
        precision: Precision::F64,
        buffers,
        steps: vec![PlanStep::Call(call)],
        kernels: 0,
    };
    let parameters = (0..3)
        .map(KernelParameter::Buffer)
        .chain((0..4).map(KernelParameter::Int));
    let threads = blocks(vec![Count::Int(0), Count::Int(2)]);
    let program = DeviceProgram {
        images: vec![image(80, "triangular")],
        kernels: Vec::new(),
        routines: vec![Routine {
            primitive: solve,
            ints: 4,
            work: work("triangular", threads, parameters.collect(), Count::Fixed(0)),
            blocked: None,
        }],
    };
    (plan, program)
}

/// Solves new systems and compares the solutions with the reference. Both sum the same terms, all
/// of which are below one.
fn run(machine: &mut Machine, (batch, transposed): (usize, Transposed), seed: u64) -> Result<(), Fault> {
    let value = |slot: u64, at: usize| philox::uniform(seed + slot, [0, 0, 0], at as u64) - 0.5;
    let element = |at: usize| match (at / N % N, at % N) {
        (i, j) if i == j => 2.0 + value(0, at),
        _ => value(0, at) / N as f64,
    };
    let l: Vec<f64> = (0..batch * N * N).map(element).collect();
    let b: Vec<f64> = (0..batch * N * COLUMNS).map(|at| value(1, at)).collect();
    machine.set_sizes(&sizes(batch))?;
    machine.write_real("l", &l)?;
    machine.write_real("b", &b)?;
    machine.run()?;
    let found = machine.read_real("x")?;
    let mut want = vec![l, b, vec![0.0; found.len()]];
    let ints = [batch as i64, N as i64, COLUMNS as i64, transposed];
    (TRIANGULAR_SOLVE.naive)(&mut want, &ints);
    for (want, found) in want[2].iter().zip(&found) {
        assert!((want - found).abs() < 1e-13, "{ints:?}: {want} {found}");
    }
    Ok(())
}

/// Runs every size four times. The runs are first enqueued, then captured, and then replayed with
/// other numbers.
fn scenario(stub: &Stub, capacity: usize) -> Result<(), Fault> {
    let device = stub.device()?;
    for transposed in [0, 1] {
        let mut machine = planned(&device, solving(transposed), capacity)?;
        for at in 0..4 {
            for batch in [capacity, 1] {
                run(&mut machine, (batch, transposed), 10 * at)?;
            }
        }
    }
    Ok(())
}

#[test]
fn large_systems_are_solved_by_cublas() {
    let Some(stub) = Stub::with_blas() else { return };
    scenario(&stub, 2).unwrap();
    // Each of the two plans solves one system and two systems. Each of these solves is enqueued
    // twice: once directly, and once for the capture.
    assert_eq!(stub.calls("cublasDtrsm_v2"), 2 * 2 * (1 + 2));
    assert_eq!(stub.calls("cuStreamBeginCapture_v2"), 2 * 2);
    assert_eq!((stub.calls("cuLaunchKernel"), stub.live()), (0, 0));
}

#[test]
fn other_systems_are_solved_by_a_kernel() {
    for (macros, capacity) in [(&["-DWITH_BLAS"][..], 3), (&[], 2)] {
        let Some(stub) = Stub::new(macros) else { return };
        scenario(&stub, capacity).unwrap();
        assert_eq!(stub.calls("cublasCreate_v2"), 0);
        assert_eq!((stub.calls("cuLaunchKernel"), stub.live()), (2 * 2 * 2, 0));
    }
}

#[test]
fn errors_of_calls_are_reported() {
    let Some(stub) = Stub::with_blas() else { return };
    scenario(&stub, 2).unwrap();
    let rejected = [
        ("cublasDtrsm_v2", 13, "cublasTrsm: CUBLAS_STATUS_EXECUTION_FAILED"),
        (
            "cuMemcpyDtoDAsync_v2",
            999,
            "cuMemcpyDtoDAsync: CUDA_ERROR_UNKNOWN",
        ),
    ];
    for (name, status, text) in rejected {
        let calls = stub.calls(name);
        scenario(&stub, 2).unwrap();
        for call in 1..=stub.calls(name) - calls {
            stub.fail(name, call, status);
            let fault = scenario(&stub, 2).unwrap_err();
            assert!(
                matches!(&fault, Fault::Limit(found) if found.text.contains(text)),
                "{fault}"
            );
            assert_eq!(stub.live(), 0);
        }
    }
}

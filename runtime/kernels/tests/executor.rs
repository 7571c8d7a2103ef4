//! Machines run hand-written plans.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod mock;

use bnnc_abi::code::{Artifact, KernelArgs, KernelCode};
use bnnc_abi::plan::{BufferRole, Combine, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive;
use bnnc_base::arena::Arena;
use bnnc_base::diagnostics::NO_MEMORY;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use mock::*;
use std::sync::Arc;

fn sizes(batch: usize) -> Sizes {
    Sizes::default().with(Symbol::Batch, batch)
}

fn machine(artifact: &Artifact, batch: usize, threads: usize) -> Machine {
    Machine::new(artifact, sizes(batch), Arc::new(Pool::new(threads))).unwrap()
}

/// Returns a plan that computes `y = 6 x` for `x[batch, 3]`. A scratch buffer holds an intermediate
/// result.
fn doubling() -> Artifact {
    let mut buffers = Arena::default();
    let dims = [BATCH, Dim::Fixed(3)];
    let x = buffers.push(buffer("x", Storage::Real, &dims, BufferRole::Input));
    let middle = buffers.push(buffer("middle", Storage::Real, &dims, BufferRole::Scratch));
    let y = buffers.push(buffer("y", Storage::Real, &dims, BufferRole::Output));
    let step = |from, to, factor| {
        PlanStep::Launch(launch(
            0,
            &[from, to],
            &[fixed(3), fixed(factor)],
            amount(BATCH),
            3,
        ))
    };
    artifact(
        Precision::F64,
        buffers,
        vec![step(x, middle, 2), step(middle, y, 3)],
        vec![scale()],
    )
}

#[test]
fn a_remainder_uses_fewer_rows() {
    let artifact = doubling();
    let mut machine = machine(&artifact, 8, 2);
    for batch in [8, 5, 1, 8, 0] {
        machine.set_sizes(&sizes(batch)).unwrap();
        let x: Vec<f64> = (0..3 * batch).map(|i| i as f64).collect();
        machine.write_real("x", &x).unwrap();
        machine.run().unwrap();
        assert_eq!(
            machine.read_real("y").unwrap(),
            x.iter().map(|x| 6.0 * x).collect::<Vec<_>>()
        );
    }
    assert!(machine.set_sizes(&sizes(9)).is_err());
    assert_eq!(
        machine.arena_bytes(),
        predict_arena_bytes(&artifact.plan, &sizes(8))
    );
    assert_eq!(machine.arena_bytes(), 3 * 192);
}

#[test]
fn ports_are_checked() {
    let mut machine = machine(&doubling(), 2, 1);
    assert!(machine.has_port("x") && !machine.has_port("middle") && !machine.has_port("z"));
    assert!(machine.write_real("x", &[1.0]).is_err());
    assert!(machine.read_into("y", &mut [0.0]).is_err());
    assert!(machine.read_real("z").is_err());
    assert!(machine.view::<f32>("x").is_err());
    machine.view_mut::<f64>("x").unwrap()[1] = 7.0;
    assert_eq!(machine.view::<f64>("x").unwrap(), [0.0, 7.0, 0.0, 0.0, 0.0, 0.0]);
    machine.write_real("x", &[0.5; 6]).unwrap();
    assert_eq!(machine.read_real("x").unwrap(), [0.5; 6]);
}

/// Returns a plan that computes the sum and the maximum of each column of `x[rows, columns]` in
/// `f32`.
fn column_reductions(rows: usize, columns: usize) -> Artifact {
    let mut buffers = Arena::default();
    let x = buffers.push(buffer(
        "x",
        Storage::Real,
        &[Dim::Fixed(rows), Dim::Fixed(columns)],
        BufferRole::Input,
    ));
    let sum = buffers.push(buffer(
        "sum",
        Storage::Real,
        &[Dim::Fixed(columns)],
        BufferRole::Output,
    ));
    let max = buffers.push(buffer(
        "max",
        Storage::Real,
        &[Dim::Fixed(columns)],
        BufferRole::Output,
    ));
    let columns = columns as i64;
    let mut step = launch(
        0,
        &[x, sum, max],
        &[fixed(columns)],
        fixed(rows as i64),
        4 * columns,
    );
    step.reduces = vec![reduce(1, Combine::Sum, true), reduce(2, Combine::Max, true)];
    artifact(
        Precision::F32,
        buffers,
        vec![PlanStep::Launch(step)],
        vec![sum_and_max()],
    )
}

#[test]
fn partial_reductions_do_not_depend_on_threads() {
    for (rows, columns) in [(10_000, 7), (1, 5), (3000, 100), (600, 40_000), (0, 3)] {
        let artifact = column_reductions(rows, columns);
        let x: Vec<f32> = (0..rows * columns)
            .map(|i| ((i * 7919) % 1009) as f32 / 1009.0 - 0.7)
            .collect();
        let mut first = None;
        for threads in [1, 2, 3] {
            let mut machine = machine(&artifact, 1, threads);
            machine.view_mut::<f32>("x").unwrap().copy_from_slice(&x);
            for _ in 0..3 {
                machine.run().unwrap();
            }
            let (sum, max) = (
                machine.view::<f32>("sum").unwrap(),
                machine.view::<f32>("max").unwrap(),
            );
            for j in (0..columns).step_by(columns.div_ceil(50)) {
                let column = (0..rows).map(|i| f64::from(x[i * columns + j]));
                assert!((f64::from(sum[j]) - column.clone().sum::<f64>()).abs() < 1e-2 + 1e-6 * rows as f64);
                assert_eq!(f64::from(max[j]), column.fold(f64::NEG_INFINITY, f64::max));
            }
            let bits: Vec<u32> = sum.iter().chain(max).map(|value| value.to_bits()).collect();
            assert_eq!(*first.get_or_insert(bits.clone()), bits, "{threads} threads");
        }
    }
}

#[test]
fn loops_run_count_iterations() {
    let mut buffers = Arena::default();
    let counter = buffers.push(buffer("counter", Storage::Int, &[], BufferRole::Scratch));
    let total = buffers.push(buffer("total", Storage::Real, &[], BufferRole::State));
    let body = vec![PlanStep::Launch(launch(0, &[counter, total], &[], fixed(1), 1))];
    let steps = vec![PlanStep::Repeat {
        count: amount(BATCH),
        counter,
        body,
    }];
    let artifact = artifact(Precision::F64, buffers, steps, vec![add_counter()]);
    let mut one = machine(&artifact, 10, 2);
    one.write_real("total", &[0.5]).unwrap();
    one.run().unwrap();
    one.run().unwrap();
    assert_eq!(one.read_real("total").unwrap(), [90.5]);
    let mut other = machine(&artifact, 3, 1);
    other.copy_state_from(&one, "total").unwrap();
    other.run().unwrap();
    assert_eq!(other.read_real("total").unwrap(), [93.5]);
}

/// Creates a machine that computes `c = a b`, where `a` is a constant.
fn product(reference: bool, precision: Precision) -> Result<Machine, bnnc_base::fault::Fault> {
    let mut buffers = Arena::default();
    let values = BufferRole::Constant(Arc::from([1.0, 2.0, 3.0, 4.0]));
    let a = buffers.push(buffer(
        "a",
        Storage::Real,
        &[Dim::Fixed(2), Dim::Fixed(2)],
        values,
    ));
    let b = buffers.push(buffer(
        "b",
        Storage::Real,
        &[Dim::Fixed(2), BATCH],
        BufferRole::Input,
    ));
    let c = buffers.push(buffer(
        "c",
        Storage::Real,
        &[Dim::Fixed(2), BATCH],
        BufferRole::Output,
    ));
    let n = || amount(BATCH);
    let ints = vec![
        fixed(2),
        n(),
        fixed(2),
        fixed(2),
        fixed(1),
        n(),
        fixed(1),
        n(),
        fixed(1),
    ];
    let primitive = primitive::lookup("matmul").unwrap();
    let steps = vec![PlanStep::Call(PrimitiveCall {
        primitive,
        buffers: vec![a, b, c],
        ints,
    })];
    let plan = Plan {
        name: "test".into(),
        precision,
        buffers,
        steps,
        kernels: 0,
    };
    let code = Arc::new(Mock {
        kernels: Vec::new(),
        reference,
    });
    Machine::new(
        &Artifact {
            plan: Arc::new(plan),
            code,
        },
        sizes(3),
        Arc::new(Pool::new(2)),
    )
}

#[test]
fn library_calls_compute_products() {
    for (reference, precision) in [
        (false, Precision::F32),
        (false, Precision::F64),
        (true, Precision::F64),
    ] {
        let mut machine = product(reference, precision).unwrap();
        machine.write_real("b", &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0]).unwrap();
        machine.run().unwrap();
        assert_eq!(machine.read_real("c").unwrap(), [1.0, 2.0, 3.0, 3.0, 4.0, 7.0]);
    }
    assert!(product(true, Precision::F32).is_err());
}

#[test]
fn a_panic_in_a_kernel_reaches_the_caller() {
    let mut artifact = doubling();
    artifact.code = Arc::new(Mock {
        kernels: vec![Box::new(|_| panic!("kernel"))],
        reference: false,
    });
    let mut machine = machine(&artifact, 4, 2);
    let run = std::panic::AssertUnwindSafe(|| machine.run());
    assert!(std::panic::catch_unwind(run).is_err());
}

#[test]
fn impossible_memory_is_reported_as_a_limit() {
    let fault = Machine::new(&doubling(), sizes(usize::MAX / 8), Arc::new(Pool::new(1))).err();
    let Some(Fault::Limit(limit)) = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(limit.code, &NO_MEMORY);
}

/// Code whose compilation fails.
struct Failing;

impl KernelCode for Failing {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {
        panic!("the code does not exist");
    }

    fn ready(&self) -> Result<(), Fault> {
        Err(Fault::limit(&NO_MEMORY, "the code is too large"))
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        String::new()
    }
}

#[test]
fn a_failed_compilation_is_reported_before_the_first_launch() {
    let mut artifact = doubling();
    artifact.code = Arc::new(Failing);
    let fault = Machine::new(&artifact, sizes(4), Arc::new(Pool::new(1))).err();
    assert_eq!(fault, Some(Fault::limit(&NO_MEMORY, "the code is too large")));
}

//! A machine does not allocate memory after its first runs.
#![allow(clippy::unwrap_used)]

mod mock;

use bnnc_abi::plan::{BufferRole, Combine, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use mock::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True if the allocations of this thread are counted. This is the case for the threads of the
    /// pool, but not for the thread that waits for the test, because it may allocate at any time.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.get() {
            ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_steady_state_allocates_nothing() {
    let mut buffers = Arena::default();
    let (rows, columns) = (Dim::Symbol(Symbol::Batch), Dim::Fixed(50));
    let counter = buffers.push(buffer("counter", Storage::Int, &[], BufferRole::Scratch));
    let x = buffers.push(buffer("x", Storage::Real, &[rows, columns], BufferRole::Input));
    let sum = buffers.push(buffer("sum", Storage::Real, &[columns], BufferRole::Scratch));
    let max = buffers.push(buffer("max", Storage::Real, &[columns], BufferRole::Output));
    let running = buffers.push(buffer("running", Storage::Real, &[columns], BufferRole::Output));
    let mut step = launch(0, &[x, sum, max], &[fixed(50)], amount(rows), 400);
    step.reduces = vec![reduce(1, Combine::Sum, true), reduce(2, Combine::Max, true)];
    let ints = vec![fixed(1), fixed(50), fixed(1), fixed(0)];
    let primitive = primitive::lookup("cumsum").unwrap();
    let call = PrimitiveCall {
        primitive,
        buffers: vec![sum, running],
        ints,
    };
    let body = vec![PlanStep::Launch(step), PlanStep::Call(call)];
    let steps = vec![PlanStep::Repeat {
        count: fixed(3),
        counter,
        body,
    }];
    let artifact = artifact(Precision::F32, buffers, steps, vec![sum_and_max()]);
    let (full, remainder) = (
        Sizes::default().with(Symbol::Batch, 1000),
        Sizes::default().with(Symbol::Batch, 700),
    );
    let pool = Arc::new(Pool::new(2));
    // A thread allocates memory when it starts, so the barrier makes both threads run a task before
    // allocations are counted.
    let both = Barrier::new(pool.threads());
    pool.run(pool.threads(), &|_, _| {
        both.wait();
        COUNTS.set(true);
    });
    let mut machine = Machine::new(&artifact, full, pool).unwrap();
    machine.view_mut::<f32>("x").unwrap().fill(1.0);
    machine.run().unwrap();
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    for sizes in [full, remainder, full] {
        machine.set_sizes(&sizes).unwrap();
        for _ in 0..50 {
            machine.run().unwrap();
        }
        assert_eq!(
            machine.view::<f32>("running").unwrap()[49],
            50.0 * sizes.get(Symbol::Batch) as f32
        );
    }
    assert_eq!(ALLOCATIONS.load(Ordering::SeqCst), before);
}

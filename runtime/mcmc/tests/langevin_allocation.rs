//! Tests that iterations after the warm-up do not allocate memory.

mod chains;

use bnnc_abi::methods::sampling::samplers::mala::MalaOptions;
use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Steps, Transition};
use bnnc_mcmc::seam::{self, Answers};
use chains::{Length, Mean, sampler};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// The number of allocations of the current thread. Allocations of other threads are not counted, because the thread that
    /// waits for the test may allocate memory at any time.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system allocator without changes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller guarantees the conditions of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees the conditions of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn iterations_after_the_warm_up_do_not_allocate() {
    let adaptation = Adaptation {
        step_size: None,
        target_acceptance: 0.5,
        metric: MetricKind::Dense,
    };
    let (batch, step_size, schedule) = (3, 0.01, Steps::Polynomial { b: 5.0, gamma: 0.6 });
    let transitions = [
        Transition::Mala(MalaOptions(adaptation)),
        Transition::RandomWalk(RandomWalkOptions(adaptation)),
        Transition::Sgld(SgldOptions {
            batch,
            step_size,
            schedule,
        }),
        Transition::Sghmc(SghmcOptions {
            batch,
            step_size,
            friction: 0.1,
            schedule,
        }),
    ];
    let mut target = Mean {
        data: (0..10).map(f64::from).collect(),
        prior: 1.0,
        precision: 1.0,
    };
    for transition in transitions {
        let length = Length {
            warmup: 100,
            draws: 400,
        };
        let mut chain = sampler(&transition, &[0.0], 10, length);
        let mut answers = Answers::default();
        let mut run = |count: usize| {
            let mut sum = 0.0;
            for _ in 0..count {
                seam::next(&mut *chain, &mut target, &mut answers, |draw| {
                    sum += draw.position[0]
                });
            }
            (sum, ALLOCATIONS.get())
        };
        let (_, before) = run(100);
        let (sum, after) = run(400);
        assert!(sum != 0.0);
        assert_eq!(after, before, "{transition:?}");
    }
}

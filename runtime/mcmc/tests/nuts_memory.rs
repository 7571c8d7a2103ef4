//! Tests that the sampler stops allocating memory once it has had its longest trajectories.
#![allow(clippy::unwrap_used)]

mod chains;
mod targets;

use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_abi::methods::sampling::{MetricKind, Transition};
use bnnc_mcmc::seam::{Answers, next};
use chains::{Density, Length, sampler};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use targets::{METRICS, adapted, nuts};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system allocator. The counter is a thread-local cell with a constant
// initialiser, so access to it does not allocate memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller passed this layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `alloc` returned this memory for the same layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Iterations in the middle of the warm-up, and iterations after it, do not allocate memory.
#[test]
fn iterations_do_not_allocate() {
    for metric in METRICS {
        let hmc = Transition::Hmc(HmcOptions {
            steps: 5,
            adaptation: adapted(metric),
        });
        for transition in [nuts(adapted(metric)), hmc] {
            let length = Length {
                warmup: 1000,
                draws: 1000,
            };
            let mut sampler = sampler(&transition, &[0.5; 7], 0, length);
            let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
                gradient.iter_mut().zip(at).for_each(|(slope, at)| *slope = -at);
                -0.5 * at.iter().map(|at| at * at).sum::<f64>()
            });
            let mut answers = Answers::default();
            let mut counted = [0; 3];
            for part in &mut counted {
                let before = ALLOCATIONS.get();
                for _ in 0..500 {
                    next(sampler.as_mut(), &mut target, &mut answers, |_| ());
                }
                *part = ALLOCATIONS.get() - before;
            }
            assert_eq!(counted[2], 0, "{transition:?}");
            // If the warm-up learns a full matrix, it allocates memory for the Cholesky factor.
            let dense = matches!(metric, MetricKind::Dense | MetricKind::WindowedDense);
            assert!(dense || counted[1] == 0, "{transition:?}: {counted:?}");
        }
    }
}

//! Tests that an iteration of the penalty method does not allocate memory.

use bnnc_abi::methods::sampling::Transition;
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Estimator, Loss, Penalty, Proposal};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers::sampler;
use bnnc_mcmc::seam::{Answers, Target, next};
use bnnc_mcmc::setup::Setup;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread may still allocate memory when it ends, after its counter was dropped.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A normal distribution that does not depend on rows of data.
struct Flat;

impl Target for Flat {
    fn gradient(&mut self, at: &[f64], _: Option<&[u32]>, _: f64, gradient: &mut [f64]) -> f64 {
        for (to, from) in gradient.iter_mut().zip(at) {
            *to = -from;
        }
        self.value(at, None, 1.0)
    }

    fn value(&mut self, at: &[f64], _: Option<&[u32]>, _: f64) -> f64 {
        at.iter().map(|value| -0.5 * value * value).sum()
    }

    fn differences(&mut self, from: &[f64], to: &[f64], _: &[u32], _: &[usize], sums: &mut [f64]) -> f64 {
        sums.fill(0.1);
        self.value(to, None, 1.0) - self.value(from, None, 1.0)
    }
}

#[test]
fn iterations_do_not_allocate() {
    for proposal in [
        Proposal::RandomWalk { step: 0.1 },
        Proposal::Langevin { step: 0.1 },
    ] {
        for (batch, replacement) in [(0, false), (7, false), (7, true)] {
            let options = Penalty {
                batch,
                batches: 5,
                loss: Loss::Batch,
                estimator: Estimator::Single,
                correction: Correction::Corrected,
                proposal,
                gradient_batch: 0,
                replacement,
            };
            let mut chain = sampler(&Setup {
                transition: &Transition::Penalty(options),
                start: &[0.5; 9],
                shards: &[30, 20],
                warmup: 0,
                draws: 100,
                temperature: 1.0,
                noise: ChainNoise::new(1, "steady", 0),
            });
            let mut answers = Answers::default();
            let mut run = |draws: usize| {
                let before = ALLOCATIONS.get();
                for _ in 0..draws {
                    next(chain.as_mut(), &mut Flat, &mut answers, |_| ());
                }
                ALLOCATIONS.get() - before
            };
            assert!(run(2) > 0, "the first draws make room");
            assert_eq!(run(100), 0);
        }
    }
}

//! Chooses how many chains of an inference share one evaluation of the log density.
//!
//! Note \[Chains in lockstep\]. Chains run on several threads. In addition, one evaluation of the
//! density can serve several chains in lockstep. The gradient of a small model takes about as long
//! as its kernel launches. If several chains share an evaluation, the product of the data matrix
//! and a position becomes a product of two matrices. This product reads the data only once. The
//! table shows the time per gradient of one chain, in nanoseconds, on one thread. Each time is the
//! best of several rounds of `cargo bench -p bnnc-tests --bench chains`. The machine was not idle,
//! so the times may be wrong by a third:
//!
//! | model | dimension | rows | operations | alone | 2 in lockstep | 4 | 8 |
//! |---|---:|---:|---:|---:|---:|---:|---:|
//! | eight schools | 10 | 8 | 243 | 321 | 176 | 107 | 68 |
//! | log-mesquite | 8 | 46 | 2,411 | 514 | 358 | 222 | 177 |
//! | blr-independent | 6 | 100 | 3,664 | 790 | 446 | 312 | 210 |
//! | kidscore-momiq | 3 | 434 | 9,139 | 740 | 608 | 538 | 509 |
//! | regression | 12 | 200 | 15,297 | 2,559 | 2,378 | 1,082 | 737 |
//! | nes-logit | 2 | 1,179 | 20,044 | 8,761 | 8,628 | 8,614 | 8,603 |
//! | log-earnings | 5 | 1,192 | 40,544 | 6,883 | 3,435 | 2,383 | 2,021 |
//! | regression | 7 | 1,000 | 46,062 | 11,929 | 5,983 | 3,886 | 3,473 |
//! | regression | 22 | 1,000 | 136,167 | 21,241 | 11,832 | 8,048 | 5,540 |
//! | yacht, 50 hidden units | 402 | 277 | 575,662 | 33,338 | 30,858 | 31,054 | 46,613 |
//! | regression | 52 | 5,000 | 1,580,377 | 234,459 | 177,877 | 84,751 | 66,755 |
//! | ar5, a recurrence | 7 | 195 | 2,535,077 | 4,094 | 5,638 | 4,309 | 4,170 |
//! | regression | 22 | 20,000 | 2,720,167 | 374,705 | 264,990 | 155,114 | 102,856 |
//! | softmax of 784 inputs | 7,850 | 2,000 | 63,320,653 | 3,073,259 | 2,542,563 | 1,928,556 | 2,057,496 |
//!
//! Chains therefore run in lockstep in two cases. In the first case, kernel launches take longer
//! than the arithmetic (up to [`FEW`] operations). In the second case, the lockstep program
//! contains matrix products and the program for one chain does not. Chains run separately if most of the
//! time is spent on elementwise functions of rows, on a recurrence, or on products that are matrix
//! products even for one chain. Sums of products are rounded differently in lockstep. Results
//! must not depend on the number of threads. Lockstep and the number of lanes are therefore chosen
//! only from the program, the data and the number of chains. A thread that has fewer chains than
//! lanes still computes the unused lanes. If every chain has its own thread, a gradient in lockstep
//! takes 1.0 to 1.9 times as long as with separate chains. If two chains share a thread, a gradient
//! in lockstep takes 0.5 to 0.9 times as long as with separate chains. The number of lanes is
//! therefore small if every chain may have its own thread.

use crate::compilation::Compilation;
use crate::failure::CompileFailure;
use bnnc_abi::code::Artifact;
use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_abi::plan::{Plan, PlanStep};
use bnnc_base::dtype::Precision;
use bnnc_loops::ir::LoopProgram;
use bnnc_rewrite::methods::sample::SamplingPrograms;

/// The number of operations per gradient up to which the kernel launches take longer than the arithmetic.
const FEW: u64 = 5_000;

/// Returns the number of lanes: how many chains one lockstep program serves, if lockstep saves
/// time. `chains` is the number of chains of the inference.
fn places(chains: usize) -> usize {
    match chains {
        ..4 => 1,
        4..8 => 2,
        8.. => 4,
    }
}

impl Compilation<'_> {
    /// Returns the program of the log density, and the number of chains for which one call computes
    /// it (see Note \[Chains in lockstep\]). `alone` is the program for one chain, which needs
    /// `operations` floating-point operations per gradient.
    pub(crate) fn lockstep(
        &mut self,
        sampled: &SamplingPrograms,
        alone: LoopProgram,
        operations: u64,
        precision: Precision,
    ) -> Result<(LoopProgram, usize), CompileFailure> {
        let places = places(self.options_of::<ChainOptions>()?.chains);
        let is_small = operations <= FEW;
        if places == 1 || !(is_small || products(&alone.plan) == 0) {
            return Ok((alone, 1));
        }
        let function = self.timed("rewrite", |this| sampled.lockstep(&mut this.context))?;
        let program = self.lower("density", &function, &[], precision)?;
        Ok(match is_small || products(&program.plan) > 0 {
            true => (program, places),
            false => (alone, 1),
        })
    }
}

impl Compilation<'_> {
    /// Compiles the log density for one chain, or for several chains in lockstep even if lockstep
    /// does not save time. The benchmark behind Note \[Chains in lockstep\] uses this function.
    ///
    /// # Errors
    /// Fails if lowering or the backend fails.
    pub fn density_code(
        &mut self,
        sampled: &SamplingPrograms,
        in_lockstep: bool,
    ) -> Result<Artifact, CompileFailure> {
        let function = match in_lockstep {
            true => &sampled.lockstep(&mut self.context)?,
            false => &sampled.density,
        };
        let precision = self.precision()?;
        Ok(self.program("density", function, precision)?)
    }
}

/// Returns the number of matrix products in a plan. A product in the body of a loop is counted once.
fn products(plan: &Plan) -> usize {
    fn of(steps: &[PlanStep]) -> usize {
        let one = |step: &PlanStep| match step {
            PlanStep::Call(call) => usize::from(call.primitive.is_blocked_product),
            PlanStep::Launch(_) => 0,
            PlanStep::Repeat { body, .. } => of(body),
        };
        steps.iter().map(one).sum()
    }
    of(&plan.steps)
}

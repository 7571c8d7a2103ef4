//! Whether the chains of an infer share the runs of its log density.
//!
//! Note \[Chains abreast\]. Chains run on threads. Besides, one run of the density can serve several: gradients of small models take as long
//! as their launches do, and a matrix of data times one position becomes a product of matrices, which reads the data once. Nanoseconds per
//! gradient of a chain on one thread of a two-core EPYC (`cargo bench -p bnnc-tests --bench chains`, the best of several rounds):
//!
//! | model | dimension | rows | operations | alone | 2 abreast | 4 | 8 |
//! |---|---:|---:|---:|---:|---:|---:|---:|
//! TABLE
//!
//! So chains go abreast where launches outweigh the arithmetic (up to [`FEW`] operations), and where alone there are no products
//! of matrices but abreast there are; not where the time goes into elementwise functions of rows, into products that are matrices
//! already, or into a recurrence. Products are wider abreast, so their sums are rounded otherwise than alone: which way is taken, and how many
//! chains go abreast, follows from the program, the data and the number of chains, never from the number of threads. A thread that has
//! fewer chains fills the places that are left, for which it pays up to 1.4 times what the gradient costs alone; so they are few where
//! there may be a thread for every chain.

use crate::infer::{Compilation, Failure};
use bnnc_abi::code::Artifact;
use bnnc_abi::plan::{Plan, Step};
use bnnc_abi::primitive;
use bnnc_base::dtype::Precision;
use bnnc_loops::backend::Backend;
use bnnc_loops::ir::Program;
use bnnc_rewrite::methods::sample::Sampled;

/// Up to so many operations per gradient, launching them takes longer.
const FEW: u64 = 5_000;

/// Chains that go abreast where it pays.
fn places(chains: usize) -> usize {
    match chains {
        ..4 => 1,
        4..8 => 2,
        8.. => 4,
    }
}

impl Compilation<'_> {
    /// The program of the log density, with the number of chains that it serves: see Note \[Chains abreast\]. `alone` is the program
    /// for one chain, which takes `operations`.
    pub(crate) fn abreast(
        &mut self,
        sampled: &Sampled,
        alone: Program,
        operations: u64,
        precision: Precision,
    ) -> Result<(Program, usize), Failure> {
        let places = places(self.int("chains"));
        let is_small = operations <= FEW;
        if places == 1 || !(is_small || products(&alone.plan) == 0) {
            return Ok((alone, 1));
        }
        let function = self.timed("rewrite", |this| sampled.abreast(&mut this.context))?;
        let program = self.lower("density", &function, &[], precision)?;
        Ok(match is_small || products(&program.plan) > 0 {
            true => (program, places),
            false => (alone, 1),
        })
    }
}

impl Compilation<'_> {
    /// The code of the log density for one chain, or for chains abreast, whatever pays: what the rule is measured with.
    ///
    /// # Errors
    /// As the stages.
    pub fn density_code(
        &mut self,
        sampled: &Sampled,
        is_abreast: bool,
        backend: &dyn Backend,
    ) -> Result<Artifact, Failure> {
        let function = match is_abreast {
            true => &sampled.abreast(&mut self.context)?,
            false => &sampled.density,
        };
        let precision = self.precision(backend);
        let program = self.lower("density", function, &[], precision)?;
        Ok(self.code(program, backend)?)
    }
}

/// Matrix products of a plan.
fn products(plan: &Plan) -> usize {
    fn of(steps: &[Step]) -> usize {
        let one = |step: &Step| match step {
            Step::Call(call) => usize::from(std::ptr::eq(call.primitive.0, &primitive::MATMUL)),
            Step::Launch(_) => 0,
            Step::Repeat { body, .. } => of(body),
        };
        steps.iter().map(one).sum()
    }
    of(&plan.steps)
}

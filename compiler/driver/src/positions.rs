//! Compiles the program that computes the positions that rows select along axes. A position is left
//! out if the bounds of the data prove that it lies inside its axis.

use crate::compilation::Compilation;
use bnnc_abi::manifest::{PositionCheck, Positions};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_graph::model::Model;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::positions::{self, positions};
use bnnc_rewrite::{pipeline, pipelines};

/// Returns the checks of the positions that depend on parameters. The prediction program computes
/// these positions.
pub fn reached(densities: &Densities, model: &Model) -> Vec<PositionCheck> {
    positions::reached(densities, model).map_or_else(Vec::new, |found| found.checks)
}

impl Compilation<'_> {
    /// Compiles the program that computes the selected positions. Returns `None` if no position
    /// needs a check.
    pub(crate) fn row_positions(
        &mut self,
        densities: &Densities,
        model: &Model,
        backend: &dyn Backend,
    ) -> Result<Option<Positions>, Fault> {
        let Some(found) = positions(&densities.row_log_likelihood, model) else {
            return Ok(None);
        };
        let function = self.context.untraced(|context| {
            let function =
                pipeline::step(&pipelines::POSITIONS, context, |_| Ok::<_, Fault>(found.function))?;
            pipeline::run(&function, pipelines::BEFORE_LOWERING, context)
        })?;
        // The program runs in double precision, because single precision does not represent odd
        // integers above 2^24.
        let program = self.lower("positions", &function, &[], Precision::F64)?;
        Ok(Some(Positions {
            program: self.code(program, backend)?,
            checks: found.checks,
        }))
    }
}

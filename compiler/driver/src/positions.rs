//! Compiles the program that computes the positions that rows select along axes. A position is left
//! out if the bounds of the data prove that it lies inside its axis.

use crate::compilation::Compilation;
use bnnc_abi::manifest::{PositionCheck, Positions};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_graph::model::Model;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::positions::{self, positions};
use bnnc_rewrite::pipelines;

/// Returns the checks for positions that depend on parameters. The prediction program computes
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
    ) -> Result<Option<Positions>, Fault> {
        let Some(found) = positions(&densities.row_log_likelihood, model) else {
            return Ok(None);
        };
        let function = self.untraced(&pipelines::POSITIONS, found.function)?;
        // The program runs in double precision, because single precision does not represent odd
        // integers above 2^24.
        Ok(Some(Positions {
            program: self.program("positions", &function, Precision::F64)?,
            checks: found.checks,
        }))
    }
}

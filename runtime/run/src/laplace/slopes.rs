//! Derivatives of predictions in the inputs of rows: of the mean of each output, and of its variance under the Gaussian of the weights.

use crate::fit::{Context, Stop};
use crate::laplace::gaussian::Gaussian;
use crate::laplace::jacobians::{Jacobians, weights};
use crate::laplace::machines::{self, Evaluation, Pulled};
use crate::laplace::predictor::jacobians_of;
use bnnc_abi::laplace::Laplace;
use bnnc_abi::manifest::Infer;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_laplace::matrix::Matrix;

/// The derivatives in one input, in the units of the model.
#[derive(Clone, Debug, Default)]
pub struct Slopes {
    /// The input.
    pub input: String,
    /// Of the means: `[rows, outputs, elements]`.
    pub mean: Vec<f64>,
    /// Of the variances: `[rows, outputs, elements]`.
    pub variance: Vec<f64>,
}

/// The derivatives in all real inputs of rows.
///
/// # Errors
/// Columns that do not fit, a limit; no program of Jacobians.
pub fn slopes(
    member: &Gaussian,
    (infer, laplace): (&Infer, &Laplace),
    rows: &Rows,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Slopes>, Stop> {
    let programs = (infer, laplace);
    let evaluation = Evaluation::new(programs, &member.values, (rows, false), dataset, context)?;
    let which = jacobians_of(member, programs)?;
    let artifact = &laplace.programs.inputs;
    let sizes = Sizes::default().with(Symbol::Columns, laplace.outputs);
    let mut jacobians = Jacobians::new(&evaluation, which, Pulled::Identity)?;
    let numbers = 2 * laplace.outputs * weights(&evaluation);
    let size = machines::rows_per_call(&[artifact], sizes, evaluation.rows(), numbers).min(jacobians.size());
    let mut machine = evaluation.machine(artifact, sizes.with(Symbol::Batch, size))?;
    let inputs = infer.bindings.iter().map(|binding| &binding.port);
    let mut all: Vec<Slopes> = inputs
        .filter(|input| machine.has_port(&format!("{input}/slope")))
        .map(|input| Slopes {
            input: input.clone(),
            ..Slopes::default()
        })
        .collect();
    while let Some(pulls) = jacobians.advance_to(size)? {
        let solved = member.posterior.solve(pulls.jacobian, &context.pool);
        machine.set_sizes(&sizes.with(Symbol::Batch, pulls.block.rows.len()))?;
        machine.write_real("cotangents", &pulls.block.cotangents)?;
        write_vectors(&evaluation, &mut machine, member, &solved)?;
        evaluation.call(&mut machine, &pulls.block.rows, sizes)?;
        for slopes in &mut all {
            slopes
                .mean
                .extend(machine.read_real(&format!("{}/slope", slopes.input))?);
            // The covariance is quadratic in the Jacobian, whose derivative enters twice.
            let bend = machine.read_real(&format!("{}/bend", slopes.input))?;
            slopes.variance.extend(bend.into_iter().map(|bend| 2.0 * bend));
        }
    }
    Ok(all)
}

/// Writes vectors `[batch * columns, weights that are random]` as those of all weights, state by state.
fn write_vectors(
    evaluation: &Evaluation,
    machine: &mut Machine,
    member: &Gaussian,
    vectors: &Matrix,
) -> Result<(), Fault> {
    let mut start = 0;
    for weights in &evaluation.laplace.weights {
        let range = start..start + weights.elements;
        start = range.end;
        let mut own = vec![0.0; vectors.rows * weights.elements];
        for (row, to) in vectors
            .each_row()
            .zip(own.chunks_exact_mut(weights.elements.max(1)))
        {
            match &member.index {
                None => to.copy_from_slice(&row[range.clone()]),
                Some(index) => {
                    let first = index.partition_point(|at| *at < range.start);
                    let here = index[first..].iter().zip(&row[first..]);
                    let inside = here.take_while(|(at, _)| **at < range.end);
                    inside.for_each(|(at, value)| to[at - range.start] = *value);
                }
            }
        }
        let name = format!("{}/vector", weights.state);
        if machine.has_port(&name) {
            machine.write_real(&name, &own)?;
        }
    }
    Ok(())
}

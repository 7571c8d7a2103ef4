//! Derivatives with respect to the inputs of rows. For each output, the derivatives of two
//! quantities are computed: its mean, and its variance under the Gaussian of the weights.

use crate::laplace::gaussian::Gaussian;
use crate::laplace::jacobians::Jacobians;
use crate::laplace::joint::Mean;
use crate::laplace::machines::{Evaluator, Pulled};
use crate::laplace::memory;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::{Laplace, Weights};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks;
use bnnc_core::context::{Context, Stop};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_laplace::matrix::Matrix;

/// The derivatives with respect to one input, in the units of the model.
#[derive(Clone, Debug, Default)]
pub struct Slopes {
    /// The name of the input.
    pub input: String,
    /// The derivatives of the means of the outputs: `[rows, outputs, elements]`.
    pub mean: Vec<f64>,
    /// The derivatives of the variances of the outputs: `[rows, outputs, elements]`.
    pub variance: Vec<f64>,
}

/// Returns the derivatives with respect to all real inputs of rows. For a mixture, returns the
/// derivatives of its mean and its variance (Note \[Total covariance\] of
/// [`crate::laplace::joint`]).
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn slopes(
    members: &[Gaussian],
    programs: (&InferenceBlock, &Laplace),
    rows: &Rows,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Slopes>, Stop> {
    let mut means = Mean::default();
    let mut all: Vec<Slopes> = Vec::new();
    for member in members {
        let evaluation = Evaluator::new(programs, &member.values, (rows, false), dataset, context)?;
        let (outputs, own) = of_one(&evaluation, member)?;
        let (away, share) = means.add(&outputs);
        if means.count == 1.0 {
            all = own;
            continue;
        }
        for (all, own) in all.iter_mut().zip(&own) {
            let width = own.mean.len() / away.len().max(1);
            for (at, slope) in own.mean.iter().enumerate() {
                let difference = slope - all.mean[at];
                all.variance[at] += own.variance[at] + 2.0 * share * away[at / width] * difference;
                all.mean[at] += difference / means.count;
            }
        }
    }
    let variances = all.iter_mut().flat_map(|slopes| &mut slopes.variance);
    variances.for_each(|sum| *sum /= means.count);
    Ok(all)
}

/// Returns the outputs at the maximum of one member, and the derivatives for this member.
fn of_one(evaluation: &Evaluator, member: &Gaussian) -> Result<(Vec<f64>, Vec<Slopes>), Stop> {
    let (infer, laplace) = (evaluation.infer, evaluation.laplace);
    let artifact = &laplace.programs.inputs;
    let mut jacobians = Jacobians::new(evaluation, member.which(), Pulled::Identity)?;
    let size = block(laplace, evaluation.rows()).min(jacobians.size());
    let sizes = Sizes::default().with(Symbol::Columns, laplace.outputs);
    let mut machine = evaluation.machine(artifact, sizes.with(Symbol::Batch, size))?;
    let inputs = infer.bindings.iter().map(|binding| &binding.port);
    let mut all: Vec<Slopes> = inputs
        .filter(|input| machine.has_port(&PortName::Slope.of(input)))
        .map(|input| Slopes {
            input: input.clone(),
            ..Slopes::default()
        })
        .collect();
    let mut outputs = Vec::with_capacity(evaluation.rows() * laplace.outputs);
    while let Some(pulls) = jacobians.advance_to(size)? {
        outputs.extend(&pulls.block.outputs);
        let solved = member.posterior.solve(pulls.jacobian, &evaluation.context.pool);
        machine.set_sizes(&sizes.with(Symbol::Batch, pulls.block.rows.len()))?;
        write_vectors(evaluation, &mut machine, member, &solved)?;
        evaluation.pull(&mut machine, pulls.block, sizes)?;
        for slopes in &mut all {
            let slope = machine.read_real(&PortName::Slope.of(&slopes.input))?;
            slopes.mean.extend(slope);
            // The covariance is quadratic in the Jacobian, so its derivative has a factor of two.
            let bend = machine.read_real(&PortName::Bend.of(&slopes.input))?;
            slopes.variance.extend(bend.into_iter().map(|bend| 2.0 * bend));
        }
    }
    Ok((outputs, all))
}

/// Returns the number of rows in a block.
pub fn block(laplace: &Laplace, rows: usize) -> usize {
    let sizes = Sizes::default().with(Symbol::Columns, laplace.outputs);
    let numbers = 2 * laplace.outputs * memory::all(laplace);
    blocks::rows_per_call(&[&laplace.programs.inputs], sizes, rows, numbers)
}

/// Writes vectors `[batch * columns, random weights]` to the program. The vectors are first
/// expanded to all weights, and are written state by state.
fn write_vectors(
    evaluation: &Evaluator,
    machine: &mut Machine,
    member: &Gaussian,
    vectors: &Matrix,
) -> Result<(), Fault> {
    for (weights, range) in Weights::placed(&evaluation.laplace.weights) {
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
        let name = PortName::Vector.of(&weights.state);
        if machine.has_port(&name) {
            machine.write_real(&name, &own)?;
        }
    }
    Ok(())
}

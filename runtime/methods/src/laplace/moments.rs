//! The linearised outputs of rows. They consist of the values at a maximum, and the covariances under the Gaussian of the weights.

use crate::laplace::gaussian::Gaussian;
use crate::laplace::jacobians::Jacobians;
use crate::laplace::machines::{Blocks, Evaluator, LikelihoodBlock, Pulled};
use bnnc_abi::methods::laplace::{Structure, Weights};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks;
use bnnc_core::blocks::read;
use bnnc_core::context::Stop;
use bnnc_kernels::executor::Machine;

/// Computes means and covariances of the outputs of rows, block by block.
pub struct OutputMoments<'a> {
    evaluation: &'a Evaluator<'a>,
    gaussian: &'a Gaussian,
    source: Source<'a>,
    /// The covariances of the outputs `[batch, outputs, outputs]`.
    covariance: Vec<f64>,
}

/// The computation that gives the covariances.
enum Source<'a> {
    /// Jacobians are multiplied by a root of the covariance of the weights.
    Jacobians(Box<Jacobians<'a>>),
    /// A program computes the covariances from the variances of the weights. The program does not
    /// store a Jacobian.
    Spread {
        machine: Box<Machine>,
        blocks: Box<Blocks<'a>>,
        sizes: Sizes,
    },
}

impl<'a> OutputMoments<'a> {
    /// Prepares the moments for the rows of an evaluation. The evaluation must be at the maximum of
    /// the Gaussian.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(evaluation: &'a Evaluator<'a>, gaussian: &'a Gaussian) -> Result<OutputMoments<'a>, Stop> {
        let is_diagonal = evaluation.laplace.options.structure == Structure::Diagonal;
        let programs = &evaluation.laplace.programs;
        let spread = match is_diagonal {
            true => programs.spread.as_ref(),
            false => programs.rotated.as_ref(),
        };
        let source = match (&gaussian.index, spread) {
            (None, Some(artifact)) => {
                let sizes = Sizes::default().with(Symbol::Columns, evaluation.outputs());
                let readers = [&evaluation.laplace.programs.rows, artifact];
                let size = blocks::rows_per_call(&readers, sizes, evaluation.rows(), 0);
                let mut machine = evaluation.machine(artifact, sizes.with(Symbol::Batch, size))?;
                match is_diagonal {
                    true => write_variances(evaluation, gaussian, &mut machine)?,
                    false => write_bases(evaluation, gaussian, &mut machine)?,
                }
                Source::Spread {
                    machine: Box::new(machine),
                    blocks: Box::new(evaluation.blocks(size, Pulled::Identity)?),
                    sizes,
                }
            }
            _ => Source::Jacobians(Box::new(Jacobians::new(
                evaluation,
                gaussian.which(),
                Pulled::Identity,
            )?)),
        };
        Ok(OutputMoments {
            evaluation,
            gaussian,
            source,
            covariance: Vec::new(),
        })
    }

    /// Returns the largest number of rows of a block.
    pub fn size(&self) -> usize {
        match &self.source {
            Source::Jacobians(jacobians) => jacobians.size(),
            Source::Spread { blocks, .. } => blocks.size(),
        }
    }

    /// Returns the next block, with at most `size` rows. A block contains the results of the likelihood
    /// at the maximum, and the covariances of the outputs `[batch, outputs, outputs]`. Returns `None`
    /// after the last block.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn advance(&mut self, size: usize) -> Result<Option<(&LikelihoodBlock, &[f64])>, Stop> {
        let outputs = self.evaluation.outputs();
        match &mut self.source {
            Source::Jacobians(jacobians) => {
                let Some(pulls) = jacobians.advance_to(size)? else {
                    return Ok(None);
                };
                let pool = &self.evaluation.context.pool;
                self.covariance = self.gaussian.posterior.covariance(pulls.jacobian, outputs, pool);
                Ok(Some((pulls.block, &self.covariance)))
            }
            Source::Spread {
                machine,
                blocks,
                sizes,
            } => {
                let Some(block) = blocks.advance_to(size)? else {
                    return Ok(None);
                };
                self.evaluation.pull(machine, block, *sizes)?;
                read(machine, PortName::Spread.text(), &mut self.covariance)?;
                Ok(Some((block, &self.covariance)))
            }
        }
    }
}

/// Writes the variances of all weights to the program.
fn write_variances(evaluation: &Evaluator, gaussian: &Gaussian, machine: &mut Machine) -> Result<(), Fault> {
    let variances = gaussian.posterior.variances(&evaluation.context.pool);
    for (weights, range) in Weights::placed(&evaluation.laplace.weights) {
        machine.write_real(&PortName::Variance.of(&weights.state), &variances[range])?;
    }
    Ok(())
}

/// Writes the eigenbases of the Kronecker blocks, and the variances along the eigenvectors, to the
/// program.
fn write_bases(evaluation: &Evaluator, gaussian: &Gaussian, machine: &mut Machine) -> Result<(), Fault> {
    let Some(rotated) = gaussian.posterior.rotated() else {
        return Err(Fault::Bug("the Gaussian has no blocks".to_owned()));
    };
    for (block, rotated) in evaluation.laplace.blocks.iter().zip(rotated) {
        machine.write_real(&PortName::Variance.of(&block.name), &rotated.variances)?;
        // A Kronecker factor with one row does not have a basis.
        for (port, basis) in [
            (PortName::First, rotated.first),
            (PortName::Second, rotated.second),
        ] {
            let port = port.of(&block.name);
            if machine.has_port(&port) {
                machine.write_real(&port, &basis.values)?;
            }
        }
    }
    Ok(())
}

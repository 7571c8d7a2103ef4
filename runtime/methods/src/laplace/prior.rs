//! The prior at a maximum: its log density, and its slope and precision for each weight.

use crate::laplace::jacobians::{needed, weights};
use crate::laplace::machines::{Evaluator, Reals, reals};
use bnnc_abi::code::Artifact;
use bnnc_abi::methods::laplace::Weights;
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Stop;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::Prior;
use bnnc_laplace::matrix::Matrix;

/// The number of vectors that are multiplied by the second derivative in one call.
const COLUMNS: usize = 64;

/// The second-order Taylor approximation of the log prior around a maximum.
#[derive(Clone, Debug)]
pub struct LocalPrior {
    /// The log prior density of the weights.
    pub log_prior: f64,
    /// The log prior density of all other sites.
    pub of_others: f64,
    /// The derivative of the log prior density with respect to each weight.
    pub slope: Vec<f64>,
    /// The negative second derivative of the log prior density.
    pub prior: Prior,
}

impl LocalPrior {
    /// Evaluates the prior at a maximum. If the elements depend on each other and `dense` is set,
    /// computes the full second derivative. If one of these conditions does not hold, computes only
    /// the diagonal of the second derivative.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(evaluation: &Evaluator, dense: bool) -> Result<LocalPrior, Stop> {
        let artifact = &evaluation.laplace.programs.prior;
        let mut machine = evaluation.machine(artifact, Sizes::default())?;
        machine.run()?;
        let part = |port: PortName| -> Result<Vec<f64>, Fault> {
            let states = evaluation.laplace.weights.iter();
            let parts = states.map(|weights| machine.read_real(&port.of(&weights.state)));
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        };
        let slope = part(PortName::Slope)?;
        let prior = match dense && !evaluation.laplace.independent {
            true => Prior::dense(second(evaluation, &evaluation.laplace.programs.prior_products)?),
            false => Prior::diagonal(part(PortName::Precision)?),
        };
        let log_prior = bnnc_core::ports::scalar(&machine, PortName::LogPrior.text())?;
        Ok(LocalPrior {
            log_prior,
            of_others: bnnc_core::ports::scalar(&machine, PortName::LogPriorOfAll.text())? - log_prior,
            slope,
            prior,
        })
    }

    /// Returns whether the prior is Normal, up to rounding errors. It is Normal if the Normal
    /// distribution with this slope and precision has the same log density. If the elements depend
    /// on each other, this needs the full second derivative.
    pub fn is_normal(&self, precision: Precision, pool: &Pool) -> bool {
        let Ok(of_normal) = self.prior.log_density_of_normal(&self.slope, pool) else {
            return false;
        };
        let tolerance = match precision {
            Precision::F32 => 1e-4,
            Precision::F64 => 1e-9,
        };
        // The sum may have terms of both signs that cancel.
        let logarithms: f64 = self
            .prior
            .precision
            .iter()
            .map(|value| 1.0 + value.ln().abs())
            .sum();
        (self.log_prior - of_normal).abs() <= tolerance * (logarithms + of_normal.abs())
    }
}

/// Returns the full matrix of second derivatives. The program multiplies this matrix by vectors,
/// and does not read rows.
fn second(evaluation: &Evaluator, artifact: &Option<Artifact>) -> Result<Matrix, Stop> {
    let artifact = needed(artifact, "prior_products")?;
    let all = weights(evaluation);
    let columns = COLUMNS.min(all.max(1));
    let mut machine = evaluation.machine(artifact, Sizes::default().with(Symbol::Columns, columns))?;
    let mut matrix = Matrix::zeros(all, all);
    for from in (0..all).step_by(columns) {
        let rows: Vec<usize> = (from..all.min(from + columns)).collect();
        let units = Matrix::units(&rows, all);
        machine.set_sizes(&Sizes::default().with(Symbol::Columns, units.rows))?;
        write_vectors(evaluation, &mut machine, &units)?;
        machine.run()?;
        add_products(evaluation, &machine, &mut matrix, from)?;
    }
    Ok(matrix)
}

/// Writes the rows of a matrix `[columns, weights]` to the inputs of a program that multiplies
/// vectors.
///
/// # Errors
/// Fails if the program does not have these inputs. This would be a bug.
pub fn write_vectors(evaluation: &Evaluator, machine: &mut Machine, vectors: &Matrix) -> Result<(), Fault> {
    for (weights, range) in Weights::placed(&evaluation.laplace.weights) {
        let rows = vectors
            .each_row()
            .flat_map(|row| row[range.clone()].iter().copied());
        let own: Vec<f64> = rows.collect();
        machine.write_real(&PortName::Vector.of(&weights.state), &own)?;
    }
    Ok(())
}

/// Reads the products `[columns, ..]` that a program returns, and adds them to the rows of a
/// matrix, beginning at row `row`.
///
/// # Errors
/// Fails if the program does not have these outputs. This would be a bug.
pub fn add_products(
    evaluation: &Evaluator,
    machine: &Machine,
    matrix: &mut Matrix,
    row: usize,
) -> Result<(), Fault> {
    let columns = machine.sizes().get(Symbol::Columns);
    for (weights, range) in Weights::placed(&evaluation.laplace.weights) {
        let elements = weights.elements;
        let name = PortName::Product.of(&weights.state);
        let products: Reals = reals(machine, evaluation.infer.precision, &name)?;
        for at in 0..columns {
            let to = &mut matrix.row_mut(row + at)[range.clone()];
            products.add_range(at * elements..(at + 1) * elements, to);
        }
    }
    Ok(())
}

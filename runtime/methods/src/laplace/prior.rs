//! The prior at a maximum: its log density, and its slope and precision for each weight.

use crate::laplace::jacobians::{needed, weights};
use crate::laplace::machines::{Evaluator, Reals, reals};
use bnnc_abi::code::Artifact;
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

/// The log prior around a maximum, to second order.
#[derive(Clone, Debug)]
pub struct LocalPrior {
    /// The log density of the weights.
    pub log_prior: f64,
    /// The log density of all other sites.
    pub of_others: f64,
    /// The derivative of the log density with respect to each weight.
    pub slope: Vec<f64>,
    /// Minus the second derivative of the log density.
    pub prior: Prior,
}

impl LocalPrior {
    /// Evaluates the prior. Computes the full second derivative if the elements depend on each other and `dense` is set, otherwise its diagonal.
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

    /// Returns whether the log density is, up to rounding errors, the log density of a Normal distribution with this slope and precision. If elements
    /// depend on each other, the whole matrix is required.
    pub fn is_normal(&self, precision: Precision, pool: &Pool) -> bool {
        let Ok(of_normal) = self.prior.log_density_of_normal(&self.slope, pool) else {
            return false;
        };
        let tolerance = match precision {
            Precision::F32 => 1e-4,
            Precision::F64 => 1e-9,
        };
        // Terms of both signs may cancel in the sum.
        let logarithms: f64 = self
            .prior
            .precision
            .iter()
            .map(|value| 1.0 + value.ln().abs())
            .sum();
        (self.log_prior - of_normal).abs() <= tolerance * (logarithms + of_normal.abs())
    }
}

/// Returns the full matrix from a program that multiplies it by vectors and does not read rows.
fn second(evaluation: &Evaluator, artifact: &Option<Artifact>) -> Result<Matrix, Stop> {
    let artifact = needed(artifact, "prior_products")?;
    let all = weights(evaluation);
    let columns = COLUMNS.min(all.max(1));
    let mut machine = evaluation.machine(artifact, Sizes::default().with(Symbol::Columns, columns))?;
    let mut matrix = Matrix::zeros(all, all);
    for from in (0..all).step_by(columns) {
        let mut units = Matrix::zeros(columns.min(all - from), all);
        (0..units.rows).for_each(|row| units[(row, from + row)] = 1.0);
        machine.set_sizes(&Sizes::default().with(Symbol::Columns, units.rows))?;
        write_vectors(evaluation, &mut machine, &units)?;
        machine.run()?;
        add_products(evaluation, &machine, &mut matrix, from)?;
    }
    Ok(matrix)
}

/// Writes the rows of a matrix `[columns, weights]` to the inputs of a program of products.
///
/// # Errors
/// Fails if the program does not have these inputs, which is a bug.
pub fn write_vectors(evaluation: &Evaluator, machine: &mut Machine, vectors: &Matrix) -> Result<(), Fault> {
    let mut start = 0;
    for weights in &evaluation.laplace.weights {
        let range = start..start + weights.elements;
        let rows = vectors
            .each_row()
            .flat_map(|row| row[range.clone()].iter().copied());
        let own: Vec<f64> = rows.collect();
        machine.write_real(&PortName::Vector.of(&weights.state), &own)?;
        start += weights.elements;
    }
    Ok(())
}

/// Adds the products `[columns, ..]` of a program to the rows of a matrix, from `row` on.
///
/// # Errors
/// Fails if the program does not have these outputs, which is a bug.
pub fn add_products(
    evaluation: &Evaluator,
    machine: &Machine,
    matrix: &mut Matrix,
    row: usize,
) -> Result<(), Fault> {
    let columns = machine.sizes().get(Symbol::Columns);
    let mut start = 0;
    for weights in &evaluation.laplace.weights {
        let elements = weights.elements;
        let name = PortName::Product.of(&weights.state);
        let products: Reals = reals(machine, evaluation.infer.precision, &name)?;
        for at in 0..columns {
            let to = &mut matrix.row_mut(row + at)[start..start + elements];
            products.add_range(at * elements..(at + 1) * elements, to);
        }
        start += elements;
    }
    Ok(())
}

//! Computes Jacobians of the outputs with respect to the weights, and quantities that are computed
//! from Jacobians and summed over the rows.

use crate::laplace::machines::{self, Blocks, Clipped, Evaluator, Pulled, Reals, reals};
use bnnc_abi::code::Artifact;
use bnnc_abi::methods::laplace::{WeightBlock, Weights};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Stop;
use bnnc_core::{blocks, ports};
use bnnc_kernels::executor::Machine;
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::{curvature, select};

/// The weights that the outputs are differentiated with respect to.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All weights that the approximation may cover.
    All,
    /// The weights with these indices. The indices are in ascending order.
    Selected(&'a [usize]),
}

impl Which<'_> {
    /// Returns the number of weights in this selection.
    pub fn count(&self, evaluation: &Evaluator) -> usize {
        match self {
            Which::All => weights(evaluation),
            Which::Selected(index) => index.len(),
        }
    }
}

/// Returns the number of elements of all weights that the approximation may cover.
pub fn weights(evaluation: &Evaluator) -> usize {
    Weights::count(&evaluation.laplace.weights)
}

/// Returns a program that the compiler generates only if the options require it.
///
/// # Errors
/// Fails if the program is absent. This would be a bug.
pub fn needed<'a>(artifact: &'a Option<Artifact>, name: &str) -> Result<&'a Artifact, Fault> {
    artifact
        .as_ref()
        .ok_or_else(|| Fault::Bug(format!("there is no program `{name}`")))
}

/// The program that computes Jacobians, block by block.
pub struct Jacobians<'a> {
    evaluation: &'a Evaluator<'a>,
    machine: Machine,
    sizes: Sizes,
    blocks: Blocks<'a>,
    /// The ports from which the Jacobian is read, each with its number of elements.
    parts: Vec<(String, usize)>,
    matrix: Matrix,
}

/// A block of rows and its Jacobian.
pub struct Pulls<'a> {
    /// The results of the likelihood for the block.
    pub block: &'a machines::LikelihoodBlock,
    /// The cotangents times the Jacobian, `[batch * columns, weights]`.
    pub jacobian: &'a Matrix,
}

impl<'a> Jacobians<'a> {
    /// Prepares the products of cotangents and Jacobians. The cotangents are of the kind `pulled`.
    /// The Jacobians are with respect to the weights in `which`.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(evaluation: &'a Evaluator<'a>, which: Which, pulled: Pulled) -> Result<Jacobians<'a>, Stop> {
        let programs = &evaluation.laplace.programs;
        let columns = machines::columns(pulled, evaluation.outputs());
        let artifact = match which {
            Which::All => needed(&programs.jacobian, "jacobian")?,
            Which::Selected(_) => needed(&programs.selected, "selected")?,
        };
        let count = which.count(evaluation);
        let sizes = Sizes::default()
            .with(Symbol::Columns, columns)
            .with(Symbol::Selected, count);
        let readers = [&programs.rows, artifact];
        let size = blocks::rows_per_call(&readers, sizes, evaluation.rows(), columns * count);
        let mut machine = evaluation.machine(artifact, sizes.with(Symbol::Batch, size))?;
        let parts = match which {
            Which::All => {
                let weights = evaluation.laplace.weights.iter();
                weights
                    .map(|weights| (PortName::Jacobian.of(&weights.state), weights.elements))
                    .collect()
            }
            Which::Selected(index) => {
                choose(evaluation, &mut machine, index)?;
                vec![(PortName::Jacobian.text().to_owned(), count)]
            }
        };
        Ok(Jacobians {
            evaluation,
            machine,
            sizes,
            blocks: evaluation.blocks(size, pulled)?,
            parts,
            matrix: Matrix::zeros(0, count),
        })
    }

    /// Returns the next block, or `None` after the last block.
    ///
    /// # Errors
    /// Fails if a curvature is not finite.
    pub fn advance(&mut self) -> Result<Option<Pulls<'_>>, Stop> {
        self.advance_to(self.size())
    }

    /// Returns the largest number of rows of a block.
    pub fn size(&self) -> usize {
        self.blocks.size()
    }

    /// Returns the next block, with at most `size` rows. `size` must not exceed
    /// [`Jacobians::size`].
    ///
    /// # Errors
    /// Fails in the same cases as [`Jacobians::advance`].
    pub fn advance_to(&mut self, size: usize) -> Result<Option<Pulls<'_>>, Stop> {
        let Some(block) = self.blocks.advance_to(size)? else {
            return Ok(None);
        };
        let count = self.matrix.columns;
        self.evaluation.pull(&mut self.machine, block, self.sizes)?;
        self.matrix.rows = block.rows.len() * block.columns;
        self.matrix.values.resize(self.matrix.rows * count, 0.0);
        let mut start = 0;
        for (name, elements) in &self.parts {
            let part = reals(&self.machine, self.evaluation.infer.precision, name)?;
            spread(part, *elements, (start, &mut self.matrix));
            start += elements;
        }
        Ok(Some(Pulls {
            block,
            jacobian: &self.matrix,
        }))
    }

    /// Returns the numbers of clipped rows so far.
    pub fn clipped(&self) -> Clipped {
        self.blocks.clipped
    }
}

/// Copies an array `[rows, elements]` into consecutive columns of a matrix. The first of these
/// columns is `start`.
fn spread(from: Reals<'_>, elements: usize, (start, to): (usize, &mut Matrix)) {
    for row in 0..to.rows {
        from.copy(
            row * elements..(row + 1) * elements,
            &mut to.row_mut(row)[start..start + elements],
        );
    }
}

/// Writes the indices of the selected weights to the program.
fn choose(evaluation: &Evaluator, machine: &mut Machine, index: &[usize]) -> Result<(), Fault> {
    let weights = &evaluation.laplace.weights;
    let elements: Vec<usize> = weights.iter().map(|weights| weights.elements).collect();
    let located = select::locate(index, &elements);
    for (array, weights) in weights.iter().enumerate() {
        let (index, chosen) = select::columns(&located, array);
        let index: Vec<i32> = index.into_iter().map(|at| at as i32).collect();
        machine.write_int(&PortName::Index.of(&weights.state), &index)?;
        machine.write_real(&PortName::Chosen.of(&weights.state), &chosen)?;
    }
    Ok(())
}

/// Runs a program that takes cotangents, on all rows. Returns its outputs, summed over the rows,
/// and the numbers of clipped rows.
fn sums(
    evaluation: &Evaluator,
    artifact: &Artifact,
    outputs: &[String],
    pulled: Pulled,
) -> Result<(Vec<Vec<f64>>, Clipped), Stop> {
    let columns = machines::columns(pulled, evaluation.outputs());
    let sizes = Sizes::default().with(Symbol::Columns, columns);
    let programs = &evaluation.laplace.programs;
    let size = blocks::rows_per_call(&[&programs.rows, artifact], sizes, evaluation.rows(), 0);
    let mut machine = evaluation.machine(artifact, sizes.with(Symbol::Batch, size))?;
    let mut blocks = evaluation.blocks(size, pulled)?;
    let counts = outputs.iter().map(|name| Ok(vec![0.0; machine.count(name)?]));
    let mut sums = counts.collect::<Result<Vec<_>, Fault>>()?;
    while let Some(block) = blocks.advance()? {
        evaluation.pull(&mut machine, block, sizes)?;
        for (name, sum) in outputs.iter().zip(&mut sums) {
            reals(&machine, evaluation.infer.precision, name)?.add(sum);
        }
    }
    Ok((sums, blocks.clipped))
}

/// Returns the diagonal of the curvature with respect to all weights, and the numbers of clipped
/// rows.
///
/// # Errors
/// Fails if a curvature is not finite.
pub fn squares(evaluation: &Evaluator, pulled: Pulled) -> Result<(Vec<f64>, Clipped), Stop> {
    let artifact = needed(&evaluation.laplace.programs.squares, "squares")?;
    let states = evaluation.laplace.weights.iter();
    let outputs: Vec<String> = states
        .map(|weights| PortName::Squares.of(&weights.state))
        .collect();
    let (sums, clipped) = sums(evaluation, artifact, &outputs, pulled)?;
    Ok((sums.concat(), clipped))
}

/// Returns the Kronecker factors of the curvature, and the numbers of clipped rows.
///
/// # Errors
/// Fails if a curvature is not finite.
pub fn factors(
    evaluation: &Evaluator,
    pulled: Pulled,
) -> Result<(Vec<curvature::KroneckerBlock>, Clipped), Stop> {
    let artifact = needed(&evaluation.laplace.programs.factors, "factors")?;
    let described = &evaluation.laplace.blocks;
    let has_left = |block: &&WeightBlock| block.left > 1;
    let rights = described.iter().map(|block| PortName::Right.of(&block.name));
    let lefts = described
        .iter()
        .filter(has_left)
        .map(|block| PortName::Left.of(&block.name));
    let outputs: Vec<String> = rights.chain(lefts).collect();
    let (sums, clipped) = sums(evaluation, artifact, &outputs, pulled)?;
    let (rights, lefts) = sums.split_at(described.len());
    let mut lefts = lefts.iter();
    let elements = |number: usize| Weights::count(&evaluation.laplace.weights[..number]);
    let block = |(described, right): (&WeightBlock, &Vec<f64>)| {
        let (left_size, right_size) = (described.left, described.right);
        let mut block = curvature::KroneckerBlock::new(
            elements(described.weights),
            left_size,
            right_size,
            described.swapped,
        );
        let left = if left_size > 1 { lefts.next() } else { None };
        block.add(left.map_or(&[], Vec::as_slice), right);
        block.finish(evaluation.rows());
        block
    };
    Ok((described.iter().zip(rights).map(block).collect(), clipped))
}

/// Returns the log likelihood of all rows, and its gradient with respect to all weights.
///
/// # Errors
/// Fails if there is too little memory.
pub fn gradient(evaluation: &Evaluator) -> Result<(f64, Vec<f64>), Stop> {
    let weights = evaluation.laplace.weights.iter();
    let states: Vec<(&str, usize)> = weights
        .map(|weights| (&*weights.state, weights.elements))
        .collect();
    gradient_in(evaluation, &states)
}

/// Returns the log likelihood of all rows, and its gradient with respect to some states. `states`
/// contains the names and sizes of these states.
///
/// # Errors
/// Fails if there is too little memory.
pub fn gradient_in(evaluation: &Evaluator, states: &[(&str, usize)]) -> Result<(f64, Vec<f64>), Stop> {
    let artifact = &evaluation.laplace.programs.gradient;
    let size = blocks::rows_per_call(&[artifact], Sizes::default(), evaluation.rows(), 0);
    let mut machine = evaluation.machine(artifact, Sizes::default().with(Symbol::Batch, size))?;
    let elements = states.iter().map(|(_, elements)| elements).sum();
    let (mut log_likelihood, mut sums) = (0.0, vec![0.0; elements]);
    for from in (0..evaluation.rows()).step_by(size) {
        evaluation.heed()?;
        let block = from..evaluation.rows().min(from + size);
        evaluation.call(&mut machine, &block, Sizes::default())?;
        log_likelihood += ports::scalar(&machine, PortName::LogLikelihood.text())?;
        let mut rest = sums.as_mut_slice();
        for (state, elements) in states {
            let (own, others) = rest.split_at_mut(*elements);
            let name = PortName::Gradient.of(state);
            reals(&machine, evaluation.infer.precision, &name)?.add(own);
            rest = others;
        }
    }
    Ok((log_likelihood, sums))
}

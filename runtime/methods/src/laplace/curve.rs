//! The curvature of the log likelihood at a maximum, in the form that the options select.

use crate::laplace::jacobians::{self, Jacobians, Which, needed};
use crate::laplace::machines::{self, Clipped, Evaluator, Pulled};
use crate::laplace::prior::{add_products, write_vectors};
use bnnc_abi::methods::laplace::{self, Structure};
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Stop;
use bnnc_core::{blocks, rows};
use bnnc_laplace::curvature::{Curvature, EigenpairSearch, Gram, add_squares};
use bnnc_laplace::matrix::Matrix;
use bnnc_math::philox;
use std::sync::Arc;

/// The number of vectors that are multiplied by the second derivative in one call.
pub const COLUMNS: usize = 32;

/// A curvature, and the number of rows whose second derivative was clipped.
pub struct Curved {
    /// The curvature of the log likelihood.
    pub curvature: Curvature,
    /// The number of rows whose second derivative with respect to the outputs had negative eigenvalues.
    pub clipped: usize,
    /// True if the second derivative of every row has only negative eigenvalues. Clipping then sets
    /// all of them to zero.
    pub is_empty: bool,
}

/// Returns the kind of cotangents that Jacobians are multiplied by. The kind depends on the
/// curvature that the options select.
pub fn pulled(evaluation: &Evaluator) -> Pulled {
    match evaluation.laplace.options.curvature {
        laplace::CurvatureKind::Ggn | laplace::CurvatureKind::Hessian => Pulled::Roots,
        laplace::CurvatureKind::Fisher => Pulled::Slopes,
    }
}

/// Returns the curvature with respect to some weights.
///
/// # Errors
/// Fails if the second derivative of the likelihood is not finite, or if there is too little memory.
pub fn curvature(evaluation: &Evaluator, which: Which) -> Result<Curved, Stop> {
    let is_hessian = evaluation.laplace.options.curvature == laplace::CurvatureKind::Hessian;
    match evaluation.laplace.options.structure {
        Structure::Full if is_hessian => hessian(evaluation, which).map(Curved::of),
        Structure::Full => full(evaluation, which),
        Structure::Diagonal if is_hessian => hessian_diagonal(evaluation, which).map(Curved::of),
        Structure::Diagonal => diagonal(evaluation, which),
        Structure::Kronecker => {
            let (blocks, clipped) = jacobians::factors(evaluation, pulled(evaluation))?;
            let elements = which.count(evaluation);
            Ok(Curved::clipped(
                Curvature::Kronecker { blocks, elements },
                clipped,
            ))
        }
        Structure::LowRank(rank) => low_rank(evaluation, which, rank),
        Structure::Functional(rows) => functional(evaluation, which, rows),
    }
}

impl Curved {
    /// Wraps a curvature that was computed without clipping.
    fn of(curvature: Curvature) -> Curved {
        Curved::clipped(curvature, Clipped::default())
    }

    fn clipped(curvature: Curvature, clipped: Clipped) -> Curved {
        Curved {
            curvature,
            clipped: clipped.rows,
            is_empty: clipped.rows > 0 && clipped.left == 0,
        }
    }
}

/// Returns the curvature as a full matrix, computed from Jacobians.
///
/// # Errors
/// Fails in the same cases as [`curvature`].
pub fn full(evaluation: &Evaluator, which: Which) -> Result<Curved, Stop> {
    let pool = &evaluation.context.pool;
    let mut jacobians = Jacobians::new(evaluation, which, pulled(evaluation))?;
    let mut gram = Gram::new(which.count(evaluation));
    while let Some(pulls) = jacobians.advance()? {
        gram.add(pulls.jacobian, 1.0, pool);
    }
    let clipped = jacobians.clipped();
    Ok(Curved::clipped(Curvature::Full(gram.finish(pool)), clipped))
}

fn diagonal(evaluation: &Evaluator, which: Which) -> Result<Curved, Stop> {
    let Which::Selected(index) = which else {
        let (values, clipped) = jacobians::squares(evaluation, pulled(evaluation))?;
        return Ok(Curved::clipped(Curvature::Diagonal(values), clipped));
    };
    let mut jacobians = Jacobians::new(evaluation, which, pulled(evaluation))?;
    let mut sums = vec![0.0; index.len()];
    while let Some(pulls) = jacobians.advance()? {
        add_squares(&mut sums, pulls.jacobian, 1.0);
    }
    Ok(Curved::clipped(Curvature::Diagonal(sums), jacobians.clipped()))
}

fn functional(evaluation: &Evaluator, which: Which, chosen: Option<usize>) -> Result<Curved, Stop> {
    let all = evaluation.rows();
    let count = chosen.unwrap_or(all).min(all);
    let mut ids: Vec<u32> = (0..all as u32).collect();
    if count < all {
        let key = philox::key(
            evaluation.context.seed,
            &format!("functional/{}", evaluation.infer.name),
        );
        rows::choose(&mut ids, count, key, 0);
        ids.truncate(count);
        ids.sort_unstable();
    }
    let evaluation = &evaluation.only(ids);
    // Scales the chosen rows so that they represent all rows.
    let weight = (all as f64 / count.max(1) as f64).sqrt();
    let mut jacobians = Jacobians::new(evaluation, which, pulled(evaluation))?;
    let mut matrix = Matrix::zeros(0, which.count(evaluation));
    let columns = machines::columns(pulled(evaluation), evaluation.outputs());
    let numbers = evaluation.rows().saturating_mul(columns * matrix.columns);
    matrix.values.reserve_exact(numbers);
    while let Some(pulls) = jacobians.advance()? {
        matrix.append(pulls.jacobian);
    }
    if weight != 1.0 {
        matrix.values.iter_mut().for_each(|value| *value *= weight);
    }
    let clipped = jacobians.clipped();
    Ok(Curved::clipped(Curvature::Functional(Arc::new(matrix)), clipped))
}

/// Returns the settings of the search for the largest eigenvalues and their eigenvectors.
/// Predictions need only a few correct digits of the eigenvalues and eigenvectors. These settings
/// give more than that.
fn search(rank: usize) -> EigenpairSearch {
    EigenpairSearch {
        rank,
        tolerance: 1e-6,
        passes: 100,
    }
}

fn low_rank(evaluation: &Evaluator, which: Which, rank: usize) -> Result<Curved, Stop> {
    let pool = &evaluation.context.pool;
    let count = which.count(evaluation);
    let search = search(rank.min(count));
    let key = philox::key(
        evaluation.context.seed,
        &format!("low_rank/{}", evaluation.infer.name),
    );
    let rows = search.start_rows(count);
    let normal = |at: usize| philox::normal(key, [(at / count) as u32, 0, 0], (at % count) as u64);
    let start = Matrix::new(rows, count, (0..rows * count).map(normal).collect());
    let mut clipped = Clipped::default();
    let mut passes = |take: &mut dyn FnMut(&Matrix)| -> Result<(), Stop> {
        let mut jacobians = Jacobians::new(evaluation, which, pulled(evaluation))?;
        while let Some(pulls) = jacobians.advance()? {
            take(pulls.jacobian);
        }
        clipped = jacobians.clipped();
        Ok(())
    };
    let pairs = search.of_rows(start, &mut passes, pool)?;
    Ok(Curved::clipped(Curvature::LowRank(pairs), clipped))
}

/// Multiplies the negative second derivative of the log likelihood by the rows of `vectors`
/// `[.., weights]`. Calls `take` with [`COLUMNS`] products at a time.
fn second_derivative(
    evaluation: &Evaluator,
    vectors: &Matrix,
    mut take: impl FnMut(&Matrix),
) -> Result<(), Stop> {
    let artifact = needed(&evaluation.laplace.programs.products, "products")?;
    let columns = COLUMNS.min(vectors.rows.max(1));
    let sizes = |columns| Sizes::default().with(Symbol::Columns, columns);
    let rows = blocks::rows_per_call(&[artifact], sizes(columns), evaluation.rows(), 0);
    let mut machine = evaluation.machine(artifact, sizes(columns).with(Symbol::Batch, rows))?;
    for from in (0..vectors.rows).step_by(columns) {
        let some = vectors.rows_in(from..vectors.rows.min(from + columns));
        let mut products = Matrix::zeros(some.rows, some.columns);
        machine.set_sizes(&sizes(some.rows).with(Symbol::Batch, rows))?;
        write_vectors(evaluation, &mut machine, &some)?;
        for from in (0..evaluation.rows()).step_by(rows) {
            evaluation.heed()?;
            let block = from..evaluation.rows().min(from + rows);
            evaluation.call(&mut machine, &block, sizes(some.rows))?;
            add_products(evaluation, &machine, &mut products, 0)?;
        }
        take(&products);
    }
    Ok(())
}

/// Returns the indices, among all weights, of the selected weights.
fn units(evaluation: &Evaluator, which: Which) -> Vec<usize> {
    match which {
        Which::All => (0..jacobians::weights(evaluation)).collect(),
        Which::Selected(index) => index.to_vec(),
    }
}

fn hessian(evaluation: &Evaluator, which: Which) -> Result<Curvature, Stop> {
    let units = units(evaluation, which);
    let mut matrix = Matrix::zeros(0, units.len());
    matrix
        .values
        .reserve_exact(units.len().saturating_mul(units.len()));
    for some in units.chunks(COLUMNS) {
        second_derivative(
            evaluation,
            &Matrix::units(some, jacobians::weights(evaluation)),
            |products| {
                matrix.append(&products.columns_at(&units));
            },
        )?;
    }
    matrix.symmetrise();
    Ok(Curvature::Full(matrix))
}

fn hessian_diagonal(evaluation: &Evaluator, which: Which) -> Result<Curvature, Stop> {
    let mut diagonal = Vec::new();
    for some in units(evaluation, which).chunks(COLUMNS) {
        second_derivative(
            evaluation,
            &Matrix::units(some, jacobians::weights(evaluation)),
            |products| {
                let elements = some.iter().enumerate().map(|(row, unit)| products[(row, *unit)]);
                diagonal.extend(elements);
            },
        )?;
    }
    Ok(Curvature::Diagonal(diagonal))
}

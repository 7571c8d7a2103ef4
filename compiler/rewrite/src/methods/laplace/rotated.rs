//! Products `J M J'` of the Jacobians `J` with a matrix `M` that is diagonal in the eigenbases of
//! the Kronecker factors.
//!
//! The Jacobian of a block is an outer product of two vectors. The product of this Jacobian with
//! the two bases is therefore also an outer product. Rewrite rules ensure that only these two
//! vectors are rotated.

use super::super::task::RewriteError;
use super::columns::{gradients, sum_of};
use super::outputs::LaplaceParts;
use super::{COLUMNS, ROWS};
use bnnc_abi::methods::laplace::WeightBlock;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;

/// Returns
/// `(.., cotangents, BLOCK/first [p, p], BLOCK/second [q, q], BLOCK/variance [p, q]) -> spread [batch, columns, columns]`.
/// Here, `p` is the size of the Kronecker factor for the outer axis of the elements, and `q` is the
/// size of the factor for the inner axis. The rows of the bases are eigenvectors.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn rotated(parts: &LaplaceParts<'_>, blocks: &[WeightBlock]) -> Result<Function, RewriteError> {
    let mut builder = Builder::new("rotated");
    let gradients = gradients(parts, &mut builder)?;
    let mut terms = Vec::new();
    for block in blocks {
        let (first, second) = block.extents();
        let own = Shape(vec![ROWS, COLUMNS, Dim::Fixed(first), Dim::Fixed(second)]);
        let gradient = builder.reshape(gradients[block.weights], &own);
        let mut port = |port: PortName, sizes: [usize; 2]| {
            builder.param(&port.of(&block.name), Type::real(Shape::fixed(&sizes)))
        };
        let variance = port(PortName::Variance, [first, second]);
        let bases: [Value; 2] = [
            port(PortName::First, [first, first]),
            port(PortName::Second, [second, second]),
        ];
        let rotated = match first {
            1 => gradient,
            _ => builder.contract(gradient, bases[0], "NKab,pa->NKpb"),
        };
        let rotated = match second {
            1 => rotated,
            _ => builder.contract(rotated, bases[1], "NKpb,qb->NKpq"),
        };
        let scaled = builder.contract(rotated, variance, "NKpq,pq->NKpq");
        terms.push(builder.contract(scaled, rotated, "NKpq,NLpq->NKL"));
    }
    let sum = sum_of(&mut builder, &terms, &Shape(vec![ROWS, COLUMNS, COLUMNS]));
    Ok(builder.finish(vec![(PortName::Spread.into(), sum)]))
}

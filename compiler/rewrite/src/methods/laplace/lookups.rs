//! Replaces lookup tables by layers whose inputs are rows of an identity matrix.

use bnnc_base::dtype::DType;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::types::Type;
use bnnc_graph::{attr, ops};

/// Inlines a function, and replaces the gradients of its lookups by products. Such a product
/// multiplies the update at a position by the row of the identity matrix for this position. The
/// gradients are then outer products, and each position is a separate use.
pub(super) fn inline(builder: &mut Builder, function: &Function, args: &[Value]) -> Vec<Value> {
    let copies = function.map_nodes(args.iter().copied(), |call, copies| {
        let args = copies.of(call.args);
        let is_lookup = call.op.is(&ops::scatter_add::SCATTER_ADD);
        let product = is_lookup.then(|| product(builder, &args, call.attrs)).flatten();
        product.unwrap_or_else(|| builder.apply(call.op.0, &args, call.attrs.to_vec()))
    });
    function.results.iter().map(|(_, value)| copies[*value]).collect()
}

/// Returns a `scatter_add` as a contraction. Returns `None` if there are not enough letters for all
/// axes.
fn product(builder: &mut Builder, args: &[Value], attrs: &[attr::Attr]) -> Option<Value> {
    let (axis, dim) = (
        ops::scatter_add::axis(attrs) as usize,
        ops::scatter_add::dim(attrs),
    );
    let size = dim.fixed()?;
    let (index, updates) = (args[0], args[1]);
    let (places, rank) = (builder.rank(index), builder.rank(updates));
    let letters: Vec<char> = ('a'..='z').take(rank + 1).collect();
    let (position, right) = letters.split_last().filter(|(_, rest)| rest.len() == rank)?;
    let ty = Type::new(DType::Int, builder.shape(index));
    // `scatter_add` clamps positions in the same way.
    let (first, last) = (
        builder.constant(&ty, 0.0),
        builder.constant(&ty, size as f64 - 1.0),
    );
    let above = builder.max(index, first);
    let inside = builder.min(above, last);
    let rows = builder.one_hot(inside, dim);
    let mut result = right.to_vec();
    result.splice(axis..axis + places, [*position]);
    let labels = ContractionLabels {
        left: right[axis..axis + places]
            .iter()
            .copied()
            .chain([*position])
            .collect(),
        right: right.to_vec(),
        result,
    };
    Some(builder.contract(rows, updates, &labels.to_string()))
}

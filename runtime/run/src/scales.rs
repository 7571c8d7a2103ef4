//! Whether the inputs of a model are of a scale that priors, starts and steps of size one fit.

use crate::codes;
use bnnc_abi::manifest::{DataSource, Infer};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::{Dataset, Rows};

/// Standard deviations of inputs may differ by this factor, and an input may be this large.
const FACTOR: f64 = 100.0;

/// A column counts where at least this part of its values is neither its least nor its largest: dummies and rare pixels have small standard deviations in
/// any unit.
const VARIED: f64 = 0.1;

/// An input column: its number, its standard deviation and its root mean square.
#[derive(Clone, Copy)]
struct Scale {
    column: usize,
    sd: f64,
    size: f64,
}

/// A warning where the vector of inputs has columns of very different scales, or a very large one.
pub fn warning(infer: &Infer, dataset: &Dataset) -> Option<Diagnostic> {
    let mut bindings = infer.bindings.iter();
    let is_vector = bindings.any(|binding| matches!(binding.from, DataSource::Inputs));
    let rows = &dataset.train;
    if !is_vector || rows.count < 2 {
        return None;
    }
    let scales: Vec<Scale> = (0..rows.width).filter_map(|column| scale(rows, column)).collect();
    let name = |scale: Scale| {
        let name = dataset.preparation.columns.get(scale.column);
        name.map_or_else(|| format!("input {}", scale.column), Clone::clone)
    };
    let widest = scales.iter().copied().max_by(|a, b| a.sd.total_cmp(&b.sd))?;
    let narrowest = scales.iter().copied().min_by(|a, b| a.sd.total_cmp(&b.sd))?;
    if widest.sd > FACTOR * narrowest.sd {
        let ends = [narrowest, widest].map(|end| (name(end), end.sd));
        return Some(codes::scales_differ(&infer.data, &ends));
    }
    let largest = scales.iter().copied().max_by(|a, b| a.size.total_cmp(&b.size))?;
    (largest.size > FACTOR).then(|| codes::large_input(&infer.data, &name(largest), largest.size))
}

/// The scale of a column; none of one that hardly varies.
fn scale(rows: &Rows, column: usize) -> Option<Scale> {
    let values = || rows.inputs.iter().skip(column).step_by(rows.width).copied();
    let count = rows.count as f64;
    let mean = values().sum::<f64>() / count;
    let squares: f64 = values().map(|value| value * value).sum();
    let sd = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let (least, most) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let between = values().filter(|value| least < *value && *value < most).count();
    let varies = between as f64 >= VARIED * count && sd > 0.0;
    varies.then_some(Scale {
        column,
        sd,
        size: (squares / count).sqrt(),
    })
}

//! Formats types and dimensions as they are written in the language.

use crate::dims::DimExpr;
use crate::tree::{LocalId, Locals};
use crate::types::{Elem, Ty};
use bnnc_graph::dist::Support;

/// Formats a dimension with the names of `locals`.
pub fn dim(dim: &DimExpr, locals: &Locals) -> String {
    dim.show(&|local| name(local, locals))
}

/// Returns the name of a variable.
pub fn name(local: LocalId, locals: &Locals) -> String {
    locals
        .get(local)
        .map_or_else(|| local.to_string(), |found| found.name.to_string())
}

/// Formats a type with the names of `locals`.
pub fn ty(ty: &Ty, locals: &Locals) -> String {
    match ty {
        Ty::Tensor(Elem::Real(support @ (Support::Simplex | Support::Ordered)), dims) => {
            let word = if *support == Support::Simplex {
                "simplex"
            } else {
                "ordered"
            };
            match dims.split_last() {
                Some((size, rest)) => format!("{word}({}){}", dim(size, locals), brackets(rest, locals)),
                None => word.to_owned(),
            }
        }
        Ty::Tensor(elem, dims) => format!("{}{}", self::elem(elem, locals), brackets(dims, locals)),
        Ty::Dist(_) => "dist".to_owned(),
        Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer => "layer".to_owned(),
        Ty::List(element, length) => format!("list of {} {}", dim(length, locals), self::ty(element, locals)),
        Ty::Function(_) => "fn".to_owned(),
        Ty::Error => "_".to_owned(),
    }
}

/// Formats the type of one element.
pub fn elem(elem: &Elem, locals: &Locals) -> String {
    match elem {
        Elem::Real(support) => self::support(*support),
        Elem::Int => "int".to_owned(),
        Elem::Bool => "bool".to_owned(),
        Elem::Count => "count".to_owned(),
        Elem::Index(size) => format!("index({})", dim(size, locals)),
    }
}

/// Formats dims as `[n, 3]`, or as an empty string for a scalar.
pub fn brackets(dims: &[DimExpr], locals: &Locals) -> String {
    match dims.is_empty() {
        true => String::new(),
        false => format!("[{}]", list(dims, locals)),
    }
}

/// Returns the text of dims in parentheses, such as `(n, 3)`.
pub fn dims(dims: &[DimExpr], locals: &Locals) -> String {
    format!("({})", list(dims, locals))
}

/// Formats dims as `n, 3`.
pub fn list(dims: &[DimExpr], locals: &Locals) -> String {
    dims.iter()
        .map(|one| dim(one, locals))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the type name of a support.
pub fn support(support: Support) -> String {
    match support {
        Support::Real => "real".to_owned(),
        Support::Interval(0.0, f64::INFINITY) => "positive".to_owned(),
        Support::Interval(0.0, 1.0) => "unit".to_owned(),
        Support::Interval(low, high) => format!("real({}, {})", bound(low), bound(high)),
        Support::Simplex => "simplex".to_owned(),
        Support::Ordered => "ordered".to_owned(),
        Support::Integers(_) => "int".to_owned(),
    }
}

fn bound(value: f64) -> String {
    match value {
        f64::INFINITY => "1 / 0.0".to_owned(),
        f64::NEG_INFINITY => "-1 / 0.0".to_owned(),
        _ => format!("{value}"),
    }
}

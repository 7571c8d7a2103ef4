//! Symbolic dimensions: integer polynomials over names. A quotient is treated as one opaque atom of
//! the polynomial.

use crate::ids::LocalId;
use std::collections::BTreeMap;
use std::fmt;

bnnc_base::id!(
    /// The id of a dimension that unification has yet to determine.
    MetaId,
    "?"
);

/// A factor of a dimension polynomial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A dim name that a parameter type binds, an integer parameter, a loop counter, or a constant.
    Local(LocalId),
    /// A dimension that has not been determined yet.
    Meta(MetaId),
    /// Division rounded down.
    Div(Box<DimExpr>, Box<DimExpr>),
}

/// A sum of products of atoms with integer coefficients. Terms with coefficient zero are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimExpr {
    /// The coefficient of each term. The key is the sorted list of the term's atoms. The constant
    /// term has an empty list.
    pub terms: BTreeMap<Vec<Atom>, i64>,
}

impl DimExpr {
    /// Returns a constant dimension.
    pub fn number(value: i64) -> DimExpr {
        let mut dim = DimExpr::default();
        if value != 0 {
            dim.terms.insert(Vec::new(), value);
        }
        dim
    }

    /// Returns the dimension that consists of a single atom.
    pub fn atom(atom: Atom) -> DimExpr {
        DimExpr {
            terms: BTreeMap::from([(vec![atom], 1)]),
        }
    }

    /// Returns the value if the dimension is constant.
    pub fn as_number(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Returns the sum of this dimension and `factor` times the other dimension. The coefficients
    /// saturate.
    pub fn plus(&self, other: &DimExpr, factor: i64) -> DimExpr {
        let mut terms = self.terms.clone();
        for (product, coefficient) in &other.terms {
            let entry = terms.entry(product.clone()).or_insert(0);
            *entry = entry.saturating_add(coefficient.saturating_mul(factor));
        }
        terms.retain(|_, coefficient| *coefficient != 0);
        DimExpr { terms }
    }

    /// Returns the product of two dimensions. The coefficients saturate.
    pub fn times(&self, other: &DimExpr) -> DimExpr {
        let mut product = DimExpr::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut atoms = [left.as_slice(), right.as_slice()].concat();
                atoms.sort();
                product = product.plus(
                    &DimExpr {
                        terms: BTreeMap::from([(atoms, a.saturating_mul(*b))]),
                    },
                    1,
                );
            }
        }
        product
    }

    /// Returns the quotient rounded down. If both dimensions are numbers and the divisor is
    /// positive, the quotient is a number. If the divisor is a positive number that divides all coefficients, it
    /// divides each of them. In all other cases, the quotient is an opaque atom.
    pub fn divided(&self, other: &DimExpr) -> DimExpr {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) if b > 0 => DimExpr::number(a.div_euclid(b)),
            (_, Some(b)) if b > 0 && self.terms.values().all(|coefficient| coefficient % b == 0) => {
                let terms = self
                    .terms
                    .iter()
                    .map(|(atoms, coefficient)| (atoms.clone(), coefficient / b));
                DimExpr {
                    terms: terms.collect(),
                }
            }
            _ => DimExpr::atom(Atom::Div(Box::new(self.clone()), Box::new(other.clone()))),
        }
    }

    /// Replaces atoms. If `lookup` returns `None` for an atom, the atom is kept.
    pub fn substitute(&self, lookup: &dyn Fn(&Atom) -> Option<DimExpr>) -> DimExpr {
        let mut sum = DimExpr::default();
        for (atoms, coefficient) in &self.terms {
            let mut product = DimExpr::number(*coefficient);
            for atom in atoms {
                let value = lookup(atom).unwrap_or_else(|| match atom {
                    Atom::Div(a, b) => a.substitute(lookup).divided(&b.substitute(lookup)),
                    Atom::Local(_) | Atom::Meta(_) => DimExpr::atom(atom.clone()),
                });
                product = product.times(&value);
            }
            sum = sum.plus(&product, 1);
        }
        sum
    }

    /// Returns the name if the dimension is a name and nothing else.
    pub fn as_local(&self) -> Option<LocalId> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((atoms, 1)), None) => match atoms.as_slice() {
                [Atom::Local(local)] => Some(*local),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the dividend and the divisor if the dimension is a quotient and nothing else.
    pub fn as_quotient(&self) -> Option<(&DimExpr, &DimExpr)> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((atoms, 1)), None) => match atoms.as_slice() {
                [Atom::Div(a, b)] => Some((a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// If the dimension is a multiple of one name plus a constant, returns the name and the value for which the dimension is `size`.
    pub fn solved_for(&self, size: i64) -> Option<(LocalId, i64)> {
        let constant = self.terms.get(&Vec::new()).copied().unwrap_or(0);
        let mut named = self.terms.iter().filter(|(atoms, _)| !atoms.is_empty());
        let (atoms, factor) = named.next()?;
        let [Atom::Local(local)] = atoms.as_slice() else {
            return None;
        };
        let rest = size.checked_sub(constant)?;
        (named.next().is_none() && rest % factor == 0).then_some((*local, rest / factor))
    }

    /// Returns the dimension after the names that `known` knows are replaced by their values.
    pub fn with_known(&self, known: impl Fn(LocalId) -> Option<i64>) -> DimExpr {
        self.substitute(&|atom| match atom {
            Atom::Local(local) => known(*local).map(DimExpr::number),
            Atom::Meta(_) | Atom::Div(..) => None,
        })
    }

    /// Returns the value of the dimension if `known` knows the values of its names.
    pub fn value(&self, known: impl Fn(LocalId) -> Option<i64>) -> Option<i64> {
        self.with_known(known).as_number()
    }

    /// Formats the dimension with variable names from `name`.
    pub fn show(&self, name: &dyn Fn(LocalId) -> String) -> String {
        // A quotient has brackets in a product: without them, the product would be the dividend.
        let atom = |atom: &Atom, in_product: bool| match atom {
            Atom::Local(local) => name(*local),
            Atom::Meta(_) => "_".to_owned(),
            Atom::Div(a, b) if in_product => format!("(({}) / ({}))", a.show(name), b.show(name)),
            Atom::Div(a, b) => format!("({}) / ({})", a.show(name), b.show(name)),
        };
        let mut text = String::new();
        // Terms with names come first and the constant comes last, as people write sums.
        for (atoms, coefficient) in self.terms.iter().rev() {
            let sign = if *coefficient < 0 { "-" } else { "+" };
            match (text.is_empty(), *coefficient < 0) {
                (true, true) => text.push('-'),
                (true, false) => {}
                (false, _) => text.push_str(&format!(" {sign} ")),
            }
            let in_product = atoms.len() > 1 || coefficient.unsigned_abs() > 1;
            let product: Vec<String> = atoms.iter().map(|one| atom(one, in_product)).collect();
            match (coefficient.unsigned_abs(), product.is_empty()) {
                (1, false) => text.push_str(&product.join(" * ")),
                (n, true) => text.push_str(&n.to_string()),
                (n, false) => text.push_str(&format!("{n} * {}", product.join(" * "))),
            }
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

impl fmt::Display for DimExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&|local| local.to_string()))
    }
}

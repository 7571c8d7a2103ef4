//! Polynomials in symbolic sizes, in a normal form, so that strides can be compared.

use bnnc_abi::plan::{Amount, Extent};
use bnnc_base::shape::{Dim, Symbol};

/// A polynomial in the symbolic sizes with integer coefficients. Equal polynomials have equal
/// representations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SizePolynomial {
    /// The terms, sorted by their symbols. All coefficients differ from zero.
    terms: Vec<(Vec<Symbol>, i64)>,
}

impl SizePolynomial {
    /// Returns a constant.
    pub fn fixed(number: i64) -> SizePolynomial {
        match number {
            0 => SizePolynomial::default(),
            number => SizePolynomial {
                terms: vec![(Vec::new(), number)],
            },
        }
    }

    /// Returns the size of an axis.
    pub fn of(dim: Dim) -> SizePolynomial {
        match dim {
            Dim::Fixed(size) => SizePolynomial::fixed(size as i64),
            Dim::Symbol(symbol) => SizePolynomial {
                terms: vec![(vec![symbol], 1)],
            },
        }
    }

    /// Returns the product of the sizes of axes.
    pub fn product(dims: &[Dim]) -> SizePolynomial {
        dims.iter().fold(SizePolynomial::fixed(1), |product, dim| {
            product.times(&SizePolynomial::of(*dim))
        })
    }

    /// Returns the sum of two polynomials.
    pub fn plus(&self, other: &SizePolynomial) -> SizePolynomial {
        SizePolynomial::normal(self.terms.iter().chain(&other.terms).cloned().collect())
    }

    /// Returns the product of two polynomials.
    pub fn times(&self, other: &SizePolynomial) -> SizePolynomial {
        if let Some(number) = other.as_fixed() {
            return self.scaled(number);
        }
        let mut terms = Vec::new();
        for (left, x) in &self.terms {
            for (right, y) in &other.terms {
                let mut symbols = [left.as_slice(), right].concat();
                symbols.sort_unstable();
                terms.push((symbols, x * y));
            }
        }
        SizePolynomial::normal(terms)
    }

    /// Returns the polynomial multiplied by a number.
    pub fn scaled(&self, number: i64) -> SizePolynomial {
        if number == 0 {
            return SizePolynomial::default();
        }
        SizePolynomial {
            terms: self
                .terms
                .iter()
                .map(|(symbols, x)| (symbols.clone(), x * number))
                .collect(),
        }
    }

    fn normal(mut terms: Vec<(Vec<Symbol>, i64)>) -> SizePolynomial {
        terms.sort_by(|left, right| left.0.cmp(&right.0));
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        terms.retain(|(_, coefficient)| *coefficient != 0);
        SizePolynomial { terms }
    }

    /// Returns whether the polynomial is the constant 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the value of a constant polynomial. Returns `None` if a symbol occurs.
    pub fn as_fixed(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(symbols, number)] if symbols.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// Returns whether every symbol in the polynomial is a number of draws, which is often 1.
    pub fn is_about_draws(&self) -> bool {
        let draws = |symbol: &Symbol| match symbol {
            Symbol::Draws | Symbol::KlDraws => true,
            Symbol::Batch | Symbol::Examples | Symbol::Columns | Symbol::Selected => false,
        };
        !self.is_zero() && self.terms.iter().all(|(symbols, _)| symbols.iter().all(draws))
    }

    /// Converts the polynomial to the form that plans use.
    pub fn to_amount(&self) -> Amount {
        let extent = |(symbols, factor): &(Vec<Symbol>, i64)| Extent {
            factor: *factor,
            symbols: symbols.clone(),
        };
        match self.is_zero() {
            true => Amount::one(Extent::fixed(0)),
            false => Amount(self.terms.iter().map(extent).collect()),
        }
    }
}

/// Returns the strides of a row-major tensor. The stride of an axis of size 1 is 0.
pub fn row_major(dims: &[Dim]) -> Vec<SizePolynomial> {
    let mut strides = vec![SizePolynomial::default(); dims.len()];
    let mut stride = SizePolynomial::fixed(1);
    for (at, dim) in dims.iter().enumerate().rev() {
        if *dim != Dim::Fixed(1) {
            strides[at] = stride.clone();
        }
        stride = stride.times(&SizePolynomial::of(*dim));
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_base::shape::Sizes;

    #[test]
    fn equal_polynomials_are_equal_values() {
        let batch = SizePolynomial::of(Dim::Symbol(Symbol::Batch));
        let draws = SizePolynomial::of(Dim::Symbol(Symbol::Draws));
        let left = batch.plus(&draws).times(&batch);
        let right = draws.times(&batch).plus(&batch.times(&batch));
        assert_eq!(left, right);
        assert!(left.plus(&right.scaled(-1)).is_zero());
        let sizes = Sizes::default().with(Symbol::Batch, 3).with(Symbol::Draws, 5);
        assert_eq!(left.to_amount().resolve(&sizes), (3 + 5) * 3);
    }

    #[test]
    fn strides_are_row_major() {
        let dims = [Dim::Symbol(Symbol::Batch), Dim::Fixed(1), Dim::Fixed(4)];
        let strides = row_major(&dims);
        assert_eq!(strides[0].as_fixed(), Some(4));
        assert!(strides[1].is_zero());
        assert_eq!(strides[2].as_fixed(), Some(1));
    }
}

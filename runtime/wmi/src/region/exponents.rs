//! The monomials whose integrals are needed. The divisors of these monomials are included, because the recursion over monomials needs them.

use super::budget::Spent;
use std::collections::{BTreeSet, HashMap};

/// The work on a region is abandoned if all monomials together have more exponents than this. A monomial counts as at least [`FEWEST`]
/// exponents. An exponent takes about 16 bytes, and every face stores one number per monomial.
const MOST_EXPONENTS: usize = 1 << 24;

/// Every monomial counts as at least this number of exponents: see [`MOST_EXPONENTS`].
const FEWEST: usize = 64;

/// A set of monomials that contains all divisors of its members.
#[derive(Clone, Debug)]
pub(crate) struct Exponents {
    /// The index of each monomial.
    places: HashMap<Vec<u32>, usize>,
    /// For each monomial, a list of pairs: a variable that divides the monomial, and the index of the quotient. Divisors come before their
    /// multiples.
    quotients: Vec<Vec<(usize, usize)>>,
}

impl Exponents {
    /// Collects the monomials in `wanted` and all of their divisors, including 1. The monomials have `variables` variables. Returns an error if
    /// there are too many monomials.
    pub fn dividing<'a>(
        wanted: impl IntoIterator<Item = &'a [u32]>,
        variables: usize,
    ) -> Result<Exponents, Spent> {
        // In lexicographic order, divisors come before their multiples.
        let mut all = BTreeSet::from([vec![0; variables]]);
        for monomial in wanted {
            add_divisors(monomial, &mut all)?;
        }
        let places: HashMap<Vec<u32>, usize> = all
            .iter()
            .enumerate()
            .map(|(place, monomial)| (monomial.clone(), place))
            .collect();
        let quotients = all.iter().map(|monomial| {
            let quotients = quotients(monomial).map(|(variable, quotient)| (variable, places[&quotient]));
            quotients.collect()
        });
        Ok(Exponents {
            quotients: quotients.collect(),
            places,
        })
    }

    /// Returns the number of monomials.
    pub fn len(&self) -> usize {
        self.quotients.len()
    }

    /// Returns the number of quotients, summed over all monomials. A monomial has one quotient for each variable that divides it.
    pub fn links(&self) -> u64 {
        self.quotients
            .iter()
            .map(|quotients| quotients.len() as u64)
            .sum()
    }

    /// Returns the largest degree of a monomial.
    pub fn degree(&self) -> u64 {
        let sum = |monomial: &Vec<u32>| monomial.iter().map(|&exponent| u64::from(exponent)).sum();
        self.places.keys().map(sum).max().unwrap_or(0)
    }

    /// Returns the index of a monomial; `None` if it is not in the set.
    pub fn place(&self, monomial: &[u32]) -> Option<usize> {
        self.places.get(monomial).copied()
    }

    /// For each monomial, returns a list of pairs: a variable that divides the monomial, and the index of the quotient.
    pub fn quotients(&self) -> impl Iterator<Item = &[(usize, usize)]> {
        self.quotients.iter().map(Vec::as_slice)
    }
}

/// Returns each variable that divides a monomial, together with the quotient of the monomial by this variable.
fn quotients(monomial: &[u32]) -> impl Iterator<Item = (usize, Vec<u32>)> {
    let dividing = (0..monomial.len()).filter(|&variable| monomial[variable] > 0);
    dividing.map(|variable| {
        let mut quotient = monomial.to_vec();
        quotient[variable] -= 1;
        (variable, quotient)
    })
}

/// Adds a monomial and all of its divisors.
fn add_divisors(monomial: &[u32], all: &mut BTreeSet<Vec<u32>>) -> Result<(), Spent> {
    let most = MOST_EXPONENTS / monomial.len().max(FEWEST);
    let count = monomial.iter().fold(1usize, |count, &exponent| {
        count.saturating_mul(exponent as usize + 1)
    });
    if count > most {
        return Err(Spent::Steps);
    }
    let mut waiting = vec![monomial.to_vec()];
    while let Some(monomial) = waiting.pop() {
        if all.contains(&monomial) {
            continue;
        }
        if all.len() >= most {
            return Err(Spent::Steps);
        }
        waiting.extend(quotients(&monomial).map(|(_, quotient)| quotient));
        all.insert(monomial);
    }
    Ok(())
}

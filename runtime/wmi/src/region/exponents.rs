//! The monomials whose integrals are wanted, with what their recursion needs.

use super::budget::Spent;
use super::faces::Number;
use crate::rational::Rational;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The most terms of the expansions of all monomials. They are kept, at 32 bytes each in floating point
/// and about twice that in rationals: half a gigabyte, or one.
const MOST_SHIFTS: u64 = 1 << 24;

/// Monomials such that each divisor of one of them is among them too.
#[derive(Clone, Debug)]
pub(crate) struct Exponents {
    /// The exponents in lexicographic order: a divisor comes before its multiples.
    list: Vec<Vec<u32>>,
    /// The sums of the exponents.
    degrees: Vec<usize>,
    /// Where a monomial is in the list.
    places: HashMap<Vec<u32>, usize>,
    /// The largest exponent of each variable.
    largest: Vec<u32>,
}

/// One term of the expansion of `(v + y)^whole`: `binomial v^rest y^part` for some `rest`.
#[derive(Clone, Debug)]
pub(crate) struct Shift<T> {
    pub whole: usize,
    pub part: usize,
    /// The product of the binomials of the exponents.
    pub binomial: T,
}

impl Exponents {
    /// All divisors of the monomials `wanted` in `variables` variables, 1 among them; an error where their
    /// expansions have too many terms.
    pub fn dividing<'a>(
        wanted: impl IntoIterator<Item = &'a [u32]>,
        variables: usize,
    ) -> Result<Exponents, Spent> {
        let mut all = BTreeSet::from([vec![0; variables]]);
        let mut shifts = 1;
        for monomial in wanted {
            add_divisors(monomial, &mut all, &mut shifts)?;
        }
        let list: Vec<Vec<u32>> = all.into_iter().collect();
        let largest = |variable: usize| list.iter().map(|monomial| monomial[variable]).max().unwrap_or(0);
        Ok(Exponents {
            degrees: list
                .iter()
                .map(|monomial| monomial.iter().map(|&e| e as usize).sum())
                .collect(),
            places: list
                .iter()
                .cloned()
                .enumerate()
                .map(|(place, monomial)| (monomial, place))
                .collect(),
            largest: (0..variables).map(largest).collect(),
            list,
        })
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Where `monomial` is.
    pub fn place(&self, monomial: &[u32]) -> Option<usize> {
        self.places.get(monomial).copied()
    }

    /// The sum of the exponents of a monomial.
    pub fn degree(&self, place: usize) -> usize {
        self.degrees[place]
    }

    /// The terms with `v^rest` of the expansions of all monomials at `v + y`, given the triangle of Pascal.
    pub fn shifts<T: Number>(&self, rest: usize, pascal: &[Vec<T>]) -> Rc<[Shift<T>]> {
        let rest = &self.list[rest];
        let mut shifts = Vec::new();
        let mut sum = vec![0; rest.len()];
        for (part, divisor) in self.list.iter().enumerate() {
            sum.iter_mut()
                .zip(rest.iter().zip(divisor))
                .for_each(|(sum, (a, b))| *sum = a + b);
            if sum.iter().zip(&self.largest).any(|(sum, largest)| sum > largest) {
                continue;
            }
            let Some(whole) = self.place(&sum) else { continue };
            let proper = sum.iter().zip(rest).filter(|(n, k)| **k > 0 && k < n);
            let factors = proper.map(|(&n, &k)| &pascal[n as usize][k as usize]);
            let binomial = factors.fold(T::of(&Rational::ONE), |product, factor| product.times(factor));
            shifts.push(Shift {
                whole,
                part,
                binomial,
            });
        }
        shifts.into()
    }

    /// The binomials of all exponents that occur: row n, entry k.
    pub fn pascal<T: Number>(&self) -> Vec<Vec<T>> {
        let largest = self.largest.iter().copied().max().unwrap_or(0);
        let mut row = vec![Rational::ONE];
        let mut rows: Vec<Vec<T>> = Vec::new();
        for _ in 0..=largest {
            rows.push(row.iter().map(T::of).collect());
            let inner = row.windows(2).map(|pair| &pair[0] + &pair[1]);
            row = std::iter::once(Rational::ONE)
                .chain(inner)
                .chain([Rational::ONE])
                .collect();
        }
        rows
    }

    /// `B(dimension + b, c + 1) = (dimension + b - 1)! c! / (dimension + b + c)!`, row b, entry c, where b +
    /// c is at most the largest degree.
    pub fn beta<T: Number>(&self, dimension: usize) -> Rc<[Vec<T>]> {
        let largest = self.degrees.iter().copied().max().unwrap_or(0);
        let ratio = |above: usize, below: usize| T::of(&Rational::from_parts(above.into(), below.into()));
        let row = |b: usize| {
            let mut entries = vec![ratio(1, dimension + b)];
            for c in 1..=largest - b {
                entries.push(entries[c - 1].times(&ratio(c, dimension + b + c)));
            }
            entries
        };
        (0..=largest).map(row).collect()
    }

    /// All monomials at `point`, in their order.
    pub fn powers<T: Number>(&self, point: &[Rational]) -> Rc<[T]> {
        let point: Vec<T> = point.iter().map(T::of).collect();
        let mut powers: Vec<T> = Vec::with_capacity(self.list.len());
        for monomial in &self.list {
            let value = match monomial.iter().position(|&exponent| exponent > 0) {
                None => T::of(&Rational::ONE),
                Some(variable) => {
                    let mut divisor = monomial.clone();
                    divisor[variable] -= 1;
                    powers[self.places[&divisor]].times(&point[variable])
                }
            };
            powers.push(value);
        }
        powers.into()
    }
}

/// Adds a monomial and its divisors, and the numbers of divisors of those that are new to `shifts`: as
/// many terms has the expansion of each.
fn add_divisors(monomial: &[u32], all: &mut BTreeSet<Vec<u32>>, shifts: &mut u64) -> Result<(), Spent> {
    let mut waiting = vec![monomial.to_vec()];
    while let Some(monomial) = waiting.pop() {
        if all.contains(&monomial) {
            continue;
        }
        let factors = monomial.iter().map(|&exponent| u64::from(exponent) + 1);
        *shifts = shifts.saturating_add(factors.fold(1, u64::saturating_mul));
        if *shifts > MOST_SHIFTS {
            return Err(Spent);
        }
        for variable in 0..monomial.len() {
            if monomial[variable] > 0 {
                let mut divisor = monomial.clone();
                divisor[variable] -= 1;
                waiting.push(divisor);
            }
        }
        all.insert(monomial);
    }
    Ok(())
}

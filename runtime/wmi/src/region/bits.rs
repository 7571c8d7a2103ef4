//! Sets of small numbers.

/// A set of numbers below a limit that is fixed when the set is created.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    /// Creates the empty set of numbers below `limit`.
    pub fn none(limit: usize) -> Bits {
        Bits(vec![0; limit.div_ceil(64)].into())
    }

    /// Creates the set of all numbers below `limit`.
    pub fn all(limit: usize) -> Bits {
        (0..limit).fold(Bits::none(limit), |mut bits, member| {
            bits.insert(member);
            bits
        })
    }

    /// Returns the bytes that the set takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub fn insert(&mut self, member: usize) {
        self.0[member / 64] |= 1 << (member % 64);
    }

    pub fn contains(&self, member: usize) -> bool {
        self.0[member / 64] >> (member % 64) & 1 == 1
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Returns the intersection of the sets.
    pub fn and(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// Returns the size of the intersection of the sets.
    pub fn shared(&self, other: &Bits) -> usize {
        self.0
            .iter()
            .zip(&other.0)
            .map(|(a, b)| (a & b).count_ones() as usize)
            .sum()
    }

    /// Keeps only the members of `other`.
    pub fn keep(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    /// Returns whether the set is a subset of `other`.
    pub fn within(&self, other: &Bits) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    /// Returns the members in order.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    64 * place + bit
                })
            })
        })
    }

    /// Returns the smallest member.
    pub fn first(&self) -> Option<usize> {
        self.members().next()
    }
}

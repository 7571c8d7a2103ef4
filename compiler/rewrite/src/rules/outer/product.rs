//! Products of tensors whose axes have letters.

use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::function::Value;

/// A product of tensors whose axes have letters.
#[derive(Clone, Debug)]
pub struct LetteredProduct {
    /// The tensors, with the letters of their axes.
    pub factors: Vec<(Value, Vec<char>)>,
    /// The constant factor.
    pub coefficient: f64,
}

impl LetteredProduct {
    /// Creates a product with a single factor.
    pub fn of(value: Value, letters: &[char]) -> LetteredProduct {
        LetteredProduct {
            factors: vec![(value, letters.to_vec())],
            coefficient: 1.0,
        }
    }

    /// Returns whether a factor has this letter.
    pub fn has(&self, letter: char) -> bool {
        self.factors.iter().any(|(_, letters)| letters.contains(&letter))
    }

    /// Multiplies the product by the sizes of the letters that no factor has. The product is constant along such a letter, so summing over the
    /// letter multiplies it by the size. Returns `None` if the size of such a letter is not fixed.
    pub fn repeated<'a>(
        self,
        letters: impl Iterator<Item = &'a char>,
        sizes: &LetterSizes,
    ) -> Option<LetteredProduct> {
        let mut count = 1.0;
        for letter in letters.filter(|letter| !self.has(**letter)) {
            count *= sizes.of(*letter).fixed()? as f64;
        }
        Some(self.scaled(count))
    }

    /// Returns the product multiplied by a number.
    pub fn scaled(mut self, factor: f64) -> LetteredProduct {
        self.coefficient *= factor;
        self
    }

    /// Returns the product of this product and another product.
    pub fn times(&self, other: &LetteredProduct) -> LetteredProduct {
        LetteredProduct {
            factors: [self.factors.as_slice(), &other.factors].concat(),
            coefficient: self.coefficient * other.coefficient,
        }
    }
}

/// The sizes of letters.
#[derive(Clone, Debug, Default)]
pub struct LetterSizes(Vec<(char, Dim)>);

impl LetterSizes {
    /// Adds the letters of a tensor and their sizes.
    pub fn add(&mut self, letters: &[char], shape: &Shape) {
        for (letter, dim) in letters.iter().zip(shape.dims()) {
            if !self.0.iter().any(|(known, _)| known == letter) {
                self.0.push((*letter, *dim));
            }
        }
    }

    /// Returns the letters in the order of their addition.
    pub fn letters(&self) -> impl Iterator<Item = &char> {
        self.0.iter().map(|(letter, _)| letter)
    }

    /// Adds an unused capital letter whose axis has this size. Returns `None` if all letters are in
    /// use.
    pub fn fresh(&mut self, dim: Dim) -> Option<char> {
        let letter = ('A'..='Z').find(|letter| !self.letters().any(|known| known == letter))?;
        self.0.push((letter, dim));
        Some(letter)
    }

    /// Returns the size of a letter. The size of an unknown letter is 1.
    pub fn of(&self, letter: char) -> Dim {
        let known = self.0.iter().find(|(known, _)| *known == letter);
        known.map_or(Dim::Fixed(1), |(_, dim)| *dim)
    }

    /// Returns the number of elements of a tensor with these letters. Symbolic sizes are replaced
    /// by typical values.
    pub fn count(&self, letters: &[char]) -> f64 {
        let size = |letter: &char| match self.of(*letter) {
            Dim::Fixed(size) => size as f64,
            Dim::Symbol(Symbol::Columns) => 10.0,
            Dim::Symbol(Symbol::Draws | Symbol::KlDraws) => 16.0,
            Dim::Symbol(Symbol::Selected) => 128.0,
            Dim::Symbol(Symbol::Batch) => 256.0,
            Dim::Symbol(Symbol::Examples) => 4096.0,
        };
        letters.iter().map(size).product()
    }
}

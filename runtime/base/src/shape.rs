//! Dimensions and shapes. A size is static, or one of a few symbols whose values are fixed when a
//! run starts.

use serde::{Deserialize, Serialize};
use std::fmt;

crate::named! {
    /// A size that is known only when a run starts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Symbol {
        /// The number of rows in the current step.
        Batch = "batch",
        /// The number of weight samples, the number of posterior draws, or the number of chains in lockstep.
        Draws = "draws",
        /// The number of all training rows.
        Examples = "examples",
        /// The number of Monte Carlo draws for a KL divergence without a closed form.
        KlDraws = "kl_draws",
        /// The number of cotangents or tangents that a program propagates together.
        Columns = "columns",
        /// The number of weights of a subnetwork.
        Selected = "selected",
    }
}

/// The values of all symbols in one run. A value that is not set is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    values: [usize; Symbol::ALL.len()],
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            values: [1; Symbol::ALL.len()],
        }
    }
}

impl Sizes {
    /// Returns these sizes with `symbol` set to `value`.
    pub fn with(mut self, symbol: Symbol, value: usize) -> Sizes {
        self.values[symbol as usize] = value;
        self
    }

    /// Returns the value of `symbol`.
    pub fn get(&self, symbol: Symbol) -> usize {
        self.values[symbol as usize]
    }
}

/// One axis of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dim {
    /// A size that is known at compile time.
    Fixed(usize),
    /// A size that is known only when a run starts.
    Symbol(Symbol),
}

impl Dim {
    /// Returns the size of the axis for the values of the symbols in `sizes`.
    pub fn resolve(self, sizes: &Sizes) -> usize {
        match self {
            Dim::Fixed(size) => size,
            Dim::Symbol(symbol) => sizes.get(symbol),
        }
    }

    /// Returns the size of the axis, or `None` if it is a symbol.
    pub fn fixed(self) -> Option<usize> {
        match self {
            Dim::Fixed(size) => Some(size),
            Dim::Symbol(_) => None,
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Fixed(size) => write!(f, "{size}"),
            Dim::Symbol(symbol) => f.write_str(symbol.name()),
        }
    }
}

/// The axes of a tensor, from the outermost to the innermost. A scalar does not have axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape(pub Vec<Dim>);

impl Shape {
    /// Returns the shape of a scalar.
    pub fn scalar() -> Shape {
        Shape(Vec::new())
    }

    /// Returns a shape whose axes have these static sizes.
    pub fn fixed(sizes: &[usize]) -> Shape {
        Shape(sizes.iter().map(|size| Dim::Fixed(*size)).collect())
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the axes, from the outermost to the innermost.
    pub fn dims(&self) -> &[Dim] {
        &self.0
    }

    /// Returns this shape with `dim` as a new outermost axis.
    pub fn prepend(&self, dim: Dim) -> Shape {
        let mut dims = vec![dim];
        dims.extend(&self.0);
        Shape(dims)
    }

    /// Returns the sizes of all axes for the values of the symbols in `sizes`.
    pub fn resolve(&self, sizes: &Sizes) -> Vec<usize> {
        self.0.iter().map(|dim| dim.resolve(sizes)).collect()
    }

    /// Returns the number of elements for the values of the symbols in `sizes`.
    pub fn count(&self, sizes: &Sizes) -> usize {
        self.resolve(sizes).iter().product()
    }

    /// Returns the sizes of all axes, or `None` if one of them is a symbol.
    pub fn static_sizes(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|dim| dim.fixed()).collect()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, dim) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}

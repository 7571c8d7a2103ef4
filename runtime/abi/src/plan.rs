//! A program for one fixed arena of buffers: kernel launches, library calls and counted loops over them.
//!
//! Sizes may be symbolic; [`Amount::resolve`] turns them into numbers once per run.

use crate::primitive::Primitive;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

bnnc_base::id!(
    /// A buffer of the arena.
    #[derive(Serialize, Deserialize)]
    BufferId,
    "b"
);

/// A product of a number and symbols.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// The number.
    pub factor: i64,
    /// The symbols, sorted.
    pub symbols: Vec<Symbol>,
}

impl Extent {
    /// A number.
    pub fn fixed(factor: i64) -> Extent {
        Extent {
            factor,
            symbols: Vec::new(),
        }
    }

    /// The size of an axis.
    pub fn of(dim: Dim) -> Extent {
        match dim {
            Dim::Fixed(size) => Extent::fixed(size as i64),
            Dim::Symbol(symbol) => Extent {
                factor: 1,
                symbols: vec![symbol],
            },
        }
    }

    /// The product of two.
    pub fn times(&self, other: &Extent) -> Extent {
        let mut symbols = [self.symbols.as_slice(), &other.symbols].concat();
        symbols.sort_unstable();
        Extent {
            factor: self.factor * other.factor,
            symbols,
        }
    }

    /// The product of the axes.
    pub fn product(dims: &[Dim]) -> Extent {
        dims.iter()
            .fold(Extent::fixed(1), |product, dim| product.times(&Extent::of(*dim)))
    }

    /// The number where no symbol occurs.
    pub fn as_fixed(&self) -> Option<i64> {
        (self.symbols.is_empty() || self.factor == 0).then_some(self.factor)
    }

    /// Its value under `sizes`.
    pub fn resolve(&self, sizes: &Sizes) -> i64 {
        self.symbols
            .iter()
            .fold(self.factor, |product, symbol| product * sizes.get(*symbol) as i64)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.factor)?;
        self.symbols
            .iter()
            .try_for_each(|symbol| write!(f, "*{}", symbol.name()))
    }
}

/// A sum of extents: an offset, a stride, a trip count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount(pub Vec<Extent>);

impl Amount {
    /// One extent.
    pub fn one(extent: Extent) -> Amount {
        Amount(vec![extent])
    }

    /// The number where no symbol occurs.
    pub fn as_fixed(&self) -> Option<i64> {
        self.0.iter().map(Extent::as_fixed).sum()
    }

    /// Its value under `sizes`.
    pub fn resolve(&self, sizes: &Sizes) -> i64 {
        self.0.iter().map(|extent| extent.resolve(sizes)).sum()
    }
}

/// How elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Storage {
    /// `f32` or `f64`, as the plan's precision says. Truth values are stored so too, as 0 and 1.
    Real,
    /// `i32`.
    Int,
}

/// Who owns a buffer and when it holds a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Role {
    /// Written by the host before a run of the plan.
    Input,
    /// Lives from run to run; read and updated in place.
    State,
    /// Read by the host after a run.
    Output,
    /// Dead outside a run; the planner may overlap it with others.
    Scratch,
    /// Never written.
    Constant(Arc<[f64]>),
}

/// A row-major tensor in the arena.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// For people, and for ports.
    pub name: Arc<str>,
    /// Element storage.
    pub storage: Storage,
    /// Axes.
    pub shape: Shape,
    /// Owner and lifetime.
    pub role: Role,
}

/// How a reducing output combines a new element with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Combine {
    /// `out + x`, from 0.
    Sum,
    /// `max(out, x)`, from minus infinity.
    Max,
}

impl Combine {
    /// The value a reduction starts from.
    pub fn identity(self) -> f64 {
        match self {
            Combine::Sum => 0.0,
            Combine::Max => f64::NEG_INFINITY,
        }
    }

    /// As written in IR text.
    pub fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Max => "max",
        }
    }
}

/// One kernel over its whole domain. The executor splits the outermost domain axis into chunks whose number depends on
/// `work` alone, never on the number of threads, so that results do not either.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Which kernel of the program.
    pub kernel: u32,
    /// The buffers that the kernel's slots are bound to.
    pub buffers: Vec<BufferId>,
    /// The values that the kernel's integer slots are bound to.
    pub ints: Vec<Amount>,
    /// Trip count of the outermost axis.
    pub outer: Amount,
    /// Scalar operations per iteration of the outermost axis.
    pub work: Amount,
    /// Buffer slots that reduce: the executor fills them with the identity first. Where `partial` is set the outermost
    /// axis is among the reduced ones, so chunks get copies of their own that are combined in order afterwards.
    pub reduces: Vec<Reduce>,
}

/// A reducing output of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduce {
    /// The buffer slot.
    pub slot: u32,
    /// How elements combine.
    pub combine: Combine,
    /// Whether the outermost axis is reduced.
    pub partial: bool,
}

/// A call of a library primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Which primitive.
    pub primitive: Primitive,
    /// Operands, then the result.
    pub buffers: Vec<BufferId>,
    /// Integers, as the primitive documents them.
    pub ints: Vec<Amount>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Run a kernel.
    Launch(Launch),
    /// Call a primitive.
    Call(Call),
    /// Run `body` for `counter` = 0, 1, .. `count` - 1 (`counter` is an `Int` scalar buffer).
    Repeat {
        /// How often.
        count: Amount,
        /// Holds the iteration number.
        counter: BufferId,
        /// The steps of the body.
        body: Vec<Step>,
    },
}

/// The program a runtime executes; kernels are named by number and live in the code that belongs to the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// For people.
    pub name: String,
    /// The width of reals.
    pub precision: Precision,
    /// All buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Number of kernels.
    pub kernels: usize,
}

impl Plan {
    /// The buffer of this name that is no scratch.
    pub fn port(&self, name: &str) -> Option<BufferId> {
        self.buffers.ids().find(|id| {
            let buffer = &self.buffers[*id];
            &*buffer.name == name && !matches!(buffer.role, Role::Scratch | Role::Constant(_))
        })
    }

    /// Visits every launch, in order.
    pub fn each_launch(&mut self, visit: &mut dyn FnMut(&mut Launch)) {
        each_launch(&mut self.steps, visit);
    }
}

fn each_launch(steps: &mut [Step], visit: &mut dyn FnMut(&mut Launch)) {
    for step in steps {
        match step {
            Step::Launch(launch) => visit(launch),
            Step::Call(_) => {}
            Step::Repeat { body, .. } => each_launch(body, visit),
        }
    }
}

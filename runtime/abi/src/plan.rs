//! A program that runs in one fixed arena of buffers. Its steps are kernel launches, library calls, and loops that repeat steps a given number of
//! times.
//!
//! Sizes may be symbolic; [`Amount::resolve`] evaluates them once per run.

use crate::primitive::Primitive;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
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
    /// Returns the extent of a number without symbols.
    pub fn fixed(factor: i64) -> Extent {
        Extent {
            factor,
            symbols: Vec::new(),
        }
    }

    /// Returns the size of an axis.
    pub fn of(dim: Dim) -> Extent {
        match dim {
            Dim::Fixed(size) => Extent::fixed(size as i64),
            Dim::Symbol(symbol) => Extent {
                factor: 1,
                symbols: vec![symbol],
            },
        }
    }

    /// Returns the product of two extents.
    pub fn times(&self, other: &Extent) -> Extent {
        let mut symbols = [self.symbols.as_slice(), &other.symbols].concat();
        symbols.sort_unstable();
        Extent {
            factor: self.factor * other.factor,
            symbols,
        }
    }

    /// Returns the product of the sizes of axes.
    pub fn product(dims: &[Dim]) -> Extent {
        dims.iter()
            .fold(Extent::fixed(1), |product, dim| product.times(&Extent::of(*dim)))
    }

    /// Returns the number if the extent has no symbol or the factor is zero.
    pub fn as_fixed(&self) -> Option<i64> {
        (self.symbols.is_empty() || self.factor == 0).then_some(self.factor)
    }

    /// Returns the value of the extent under `sizes`.
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
    /// Returns the sum whose only term is this extent.
    pub fn one(extent: Extent) -> Amount {
        Amount(vec![extent])
    }

    /// Returns the number if no symbol occurs.
    pub fn as_fixed(&self) -> Option<i64> {
        self.0.iter().map(Extent::as_fixed).sum()
    }

    /// Returns the value of the amount under `sizes`.
    pub fn resolve(&self, sizes: &Sizes) -> i64 {
        self.0.iter().map(|extent| extent.resolve(sizes)).sum()
    }
}

/// The storage of an element in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Storage {
    /// `f32` or `f64`, by the precision of the plan. Booleans are stored in the same way, as 0 and 1.
    Real,
    /// `i32`.
    Int,
}

/// The owner of a buffer, and the lifetime of its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BufferRole {
    /// Written by the host before a run of the plan.
    Input,
    /// The content is kept between runs, and is read and updated in place.
    State,
    /// Read by the host after a run.
    Output,
    /// The content is undefined outside a run, and the buffer may share memory with other buffers.
    Scratch,
    /// Never written by the plan.
    Constant(Arc<[f64]>),
}

/// A row-major tensor in the arena.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// The name, for people and for ports.
    pub name: Arc<str>,
    /// The storage of the elements.
    pub storage: Storage,
    /// The axes of the tensor.
    pub shape: Shape,
    /// The owner and the lifetime of the tensor.
    pub role: BufferRole,
}

/// The operation by which a reducing output combines its value with a new element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Combine {
    /// `out + x`, from 0.
    Sum,
    /// `max(out, x)`, from minus infinity.
    Max,
}

impl Combine {
    /// Returns the value from which a reduction starts.
    pub fn identity(self) -> f64 {
        match self {
            Combine::Sum => 0.0,
            Combine::Max => f64::NEG_INFINITY,
        }
    }

    /// Returns the name of this operation in the text of the intermediate representation.
    pub fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Max => "max",
        }
    }
}

/// One kernel over its whole domain. The executor splits the outermost axis of the domain into chunks. The number of chunks depends only on `work`,
/// so the results do not depend on the number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The index of the kernel in the program.
    pub kernel: u32,
    /// The buffers that the kernel's slots are bound to.
    pub buffers: Vec<BufferId>,
    /// The values that the kernel's integer slots are bound to.
    pub ints: Vec<Amount>,
    /// The trip count of the outermost axis.
    pub outer: Amount,
    /// Scalar operations per iteration of the outermost axis.
    pub work: Amount,
    /// The buffer slots of reductions, which the executor first fills with the identity. If `partial` is set, the outermost axis is reduced too. Each
    /// chunk then has its own copy of the buffer, and the copies are combined in order afterwards.
    pub reduces: Vec<Reduce>,
}

/// A reducing output of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduce {
    /// The buffer slot.
    pub slot: u32,
    /// The operation that combines elements.
    pub combine: Combine,
    /// True if the outermost axis is reduced.
    pub partial: bool,
}

/// A call of a library primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimitiveCall {
    /// The primitive.
    pub primitive: Primitive,
    /// Operands, then the result.
    pub buffers: Vec<BufferId>,
    /// The integers, as the primitive documents them.
    pub ints: Vec<Amount>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PlanStep {
    /// Run a kernel.
    Launch(Launch),
    /// Call a primitive.
    Call(PrimitiveCall),
    /// Runs `body` for `counter` = 0, 1, .. `count` - 1, where `counter` is an `Int` scalar buffer.
    Repeat {
        /// The number of iterations.
        count: Amount,
        /// The buffer that holds the iteration number.
        counter: BufferId,
        /// The steps of the body.
        body: Vec<PlanStep>,
    },
}

/// The program that a runtime executes. Kernels are identified by their index; their code is stored separately from the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The name, for people.
    pub name: String,
    /// The width of reals.
    pub precision: Precision,
    /// All buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// The number of kernels.
    pub kernels: usize,
}

impl Plan {
    /// Returns the buffer with this name, unless it is a scratch buffer or a constant.
    pub fn port(&self, name: &str) -> Option<BufferId> {
        self.buffers.ids().find(|id| {
            let buffer = &self.buffers[*id];
            &*buffer.name == name && !matches!(buffer.role, BufferRole::Scratch | BufferRole::Constant(_))
        })
    }

    /// Returns the number of scalar operations of the kernels in one run, without primitives such as matrix products.
    pub fn operations(&self, sizes: &Sizes) -> u64 {
        operations(&self.steps, sizes)
    }

    /// Returns the names of the buffers, except scratch buffers, that some step uses.
    pub fn read_ports(&self) -> HashSet<Arc<str>> {
        let mut used = HashSet::new();
        each_buffer(&self.steps, &mut |id| {
            used.insert(id);
        });
        let buffers = used.into_iter().map(|id| &self.buffers[id]);
        let ports =
            buffers.filter(|buffer| !matches!(buffer.role, BufferRole::Scratch | BufferRole::Constant(_)));
        ports.map(|buffer| buffer.name.clone()).collect()
    }

    /// Calls `visit` with every launch, in order.
    pub fn each_launch(&mut self, visit: &mut dyn FnMut(&mut Launch)) {
        each_launch(&mut self.steps, visit);
    }
}

fn operations(steps: &[PlanStep], sizes: &Sizes) -> u64 {
    let positive = |amount: &Amount| u64::try_from(amount.resolve(sizes)).unwrap_or(0);
    let of_step = |step: &PlanStep| match step {
        PlanStep::Launch(launch) => positive(&launch.outer).saturating_mul(positive(&launch.work)),
        PlanStep::Call(_) => 0,
        PlanStep::Repeat { count, body, .. } => positive(count).saturating_mul(operations(body, sizes)),
    };
    steps.iter().map(of_step).fold(0, u64::saturating_add)
}

fn each_buffer(steps: &[PlanStep], visit: &mut dyn FnMut(BufferId)) {
    for step in steps {
        match step {
            PlanStep::Launch(launch) => launch.buffers.iter().for_each(|id| visit(*id)),
            PlanStep::Call(call) => call.buffers.iter().for_each(|id| visit(*id)),
            PlanStep::Repeat { body, .. } => each_buffer(body, visit),
        }
    }
}

fn each_launch(steps: &mut [PlanStep], visit: &mut dyn FnMut(&mut Launch)) {
    for step in steps {
        match step {
            PlanStep::Launch(launch) => visit(launch),
            PlanStep::Call(_) => {}
            PlanStep::Repeat { body, .. } => each_launch(body, visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_count_repeated_kernels() {
        let launch = |outer: &Extent, work| {
            PlanStep::Launch(Launch {
                kernel: 0,
                buffers: Vec::new(),
                ints: Vec::new(),
                outer: Amount::one(outer.clone()),
                work: Amount::one(Extent::fixed(work)),
                reduces: Vec::new(),
            })
        };
        let draws = Extent::of(Dim::Symbol(Symbol::Draws));
        let plan = Plan {
            name: "plan".to_owned(),
            precision: Precision::F64,
            buffers: Arena::default(),
            steps: vec![
                launch(&draws, 3),
                PlanStep::Repeat {
                    count: Amount::one(Extent::fixed(4)),
                    counter: BufferId(0),
                    body: vec![launch(&Extent::fixed(2), 10), launch(&draws, 1)],
                },
            ],
            kernels: 1,
        };
        let sizes = Sizes::default().with(Symbol::Draws, 5);
        assert_eq!(plan.operations(&sizes), 3 * 5 + 4 * (2 * 10 + 5));
    }
}

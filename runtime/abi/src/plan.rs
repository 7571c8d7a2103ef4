//! A plan: a program that runs in one fixed arena of buffers. The steps of a plan are kernel
//! launches, library calls, and loops that repeat steps a given number of times.
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

/// The product of an integer factor and symbols for sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// The integer factor.
    pub factor: i64,
    /// The symbols of the product, sorted.
    pub symbols: Vec<Symbol>,
}

impl Extent {
    /// Returns the extent without symbols that has this value.
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

    /// Returns the value if it does not depend on symbols, because the extent is constant or its
    /// factor is zero.
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

/// A sum of extents, for example an offset, a stride or a trip count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount(pub Vec<Extent>);

impl Amount {
    /// Returns the sum whose only term is this extent.
    pub fn one(extent: Extent) -> Amount {
        Amount(vec![extent])
    }

    /// Returns the value if it does not depend on symbols.
    pub fn as_fixed(&self) -> Option<i64> {
        self.0.iter().map(Extent::as_fixed).sum()
    }

    /// Returns the value of the amount under `sizes`.
    pub fn resolve(&self, sizes: &Sizes) -> i64 {
        self.0.iter().map(|extent| extent.resolve(sizes)).sum()
    }
}

/// The type by which an element is stored in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Storage {
    /// `f32` or `f64`: the precision of the plan. Booleans are stored in this type too, as 0 and 1.
    Real,
    /// The type `i32`.
    Int,
}

/// The program that writes or reads a buffer, and how long the content of the buffer is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BufferRole {
    /// The host writes the buffer before a run of the plan.
    Input,
    /// The content is kept between runs. Each run reads and updates it in place.
    State,
    /// The host reads the buffer after a run.
    Output,
    /// The content is undefined outside a run. The buffer may share memory with other buffers.
    Scratch,
    /// The buffer holds these values, and the plan never writes to it.
    Constant(Arc<[f64]>),
}

/// A row-major tensor in the arena.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// The name of the buffer, in texts for people and as a port.
    pub name: Arc<str>,
    /// The storage of the elements.
    pub storage: Storage,
    /// The axes of the tensor.
    pub shape: Shape,
    /// How the buffer is used, and how long its content is kept.
    pub role: BufferRole,
}

/// The operation by which a reduction combines its intermediate result with a new element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Combine {
    /// The sum `out + x`; the start value is 0.
    Sum,
    /// The maximum `max(out, x)`; the start value is minus infinity.
    Max,
}

impl Combine {
    /// Returns the start value of a reduction with this operation.
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

/// The launch of one kernel over its whole domain. The executor splits the outermost axis of the
/// domain into chunks. The number of chunks depends on `work` but not on the number of threads.
/// Results are therefore the same for every number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The index of the kernel among the kernels of the plan.
    pub kernel: u32,
    /// The buffer that is bound to each buffer slot of the kernel.
    pub buffers: Vec<BufferId>,
    /// The integer that is bound to each integer slot of the kernel.
    pub ints: Vec<Amount>,
    /// The trip count of the outermost axis.
    pub outer: Amount,
    /// The number of scalar operations in one iteration of the outermost axis.
    pub work: Amount,
    /// The reducing outputs of the launch. The executor first fills their buffers with the identity
    /// of the reduction. If `partial` is set, the reduction also runs over the outermost axis. Each
    /// chunk then has its own copy of the buffer. At the end, the copies are combined in the order
    /// of the chunks.
    pub reduces: Vec<Reduce>,
}

/// A reducing output of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduce {
    /// The buffer slot of the output.
    pub slot: u32,
    /// The operation of the reduction.
    pub combine: Combine,
    /// True if the reduction also runs over the outermost axis.
    pub partial: bool,
}

/// A call of a library primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimitiveCall {
    /// The primitive that is called.
    pub primitive: Primitive,
    /// The buffers of the operands, followed by the buffer of the result.
    pub buffers: Vec<BufferId>,
    /// The integers of the call. The primitive documents their meaning.
    pub ints: Vec<Amount>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PlanStep {
    /// Runs a kernel.
    Launch(Launch),
    /// Calls a primitive.
    Call(PrimitiveCall),
    /// Runs `body` for `counter` = 0, 1, .. `count` - 1. `counter` is a scalar buffer of storage
    /// `Int`.
    Repeat {
        /// The number of iterations.
        count: Amount,
        /// The buffer that holds the iteration number.
        counter: BufferId,
        /// The steps of the body.
        body: Vec<PlanStep>,
    },
}

/// The program that a runtime executes. A kernel is identified by its index. The code of the
/// kernels is stored separately from the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The name of the plan, in texts for people.
    pub name: String,
    /// The width of reals.
    pub precision: Precision,
    /// All buffers of the plan.
    pub buffers: Arena<BufferId, Buffer>,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// The number of kernels.
    pub kernels: usize,
}

impl Plan {
    /// Returns the buffer with this name. Scratch buffers and constants are not returned.
    pub fn port(&self, name: &str) -> Option<BufferId> {
        self.buffers.ids().find(|id| {
            let buffer = &self.buffers[*id];
            &*buffer.name == name && !matches!(buffer.role, BufferRole::Scratch | BufferRole::Constant(_))
        })
    }

    /// Returns the number of scalar operations of all kernels in one run. Operations of primitives,
    /// such as matrix products, are not counted.
    pub fn operations(&self, sizes: &Sizes) -> u64 {
        operations(&self.steps, sizes, &|_| 0)
    }

    /// Returns the number of floating-point operations of one run: the scalar operations of the kernels, and the operations that the called
    /// primitives declare.
    pub fn flops(&self, sizes: &Sizes) -> u64 {
        operations(&self.steps, sizes, &|call| {
            let ints: Vec<i64> = call.ints.iter().map(|amount| amount.resolve(sizes)).collect();
            (call.primitive.flops)(&ints)
        })
    }

    /// Returns the names of the buffers that some step uses. Scratch buffers are left out.
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

/// Returns the operations of some steps. `of_call` returns the operations of a primitive.
fn operations(steps: &[PlanStep], sizes: &Sizes, of_call: &dyn Fn(&PrimitiveCall) -> u64) -> u64 {
    let positive = |amount: &Amount| u64::try_from(amount.resolve(sizes)).unwrap_or(0);
    let of_step = |step: &PlanStep| match step {
        PlanStep::Launch(launch) => positive(&launch.outer).saturating_mul(positive(&launch.work)),
        PlanStep::Call(call) => of_call(call),
        PlanStep::Repeat { count, body, .. } => {
            positive(count).saturating_mul(operations(body, sizes, of_call))
        }
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
    use crate::primitive;

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
        // In each of 3 pairs, a 4 x 5 matrix is multiplied by a 5 x 6 matrix. Nine integers come first, and then four
        // integers for each axis of pairs.
        let ints = [4, 6, 5, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
        let matmul = PlanStep::Call(PrimitiveCall {
            primitive: primitive::lookup("matmul").unwrap_or_else(|| panic!("`matmul` is registered")),
            buffers: Vec::new(),
            ints: ints.map(|int| Amount::one(Extent::fixed(int))).to_vec(),
        });
        let plan = Plan {
            name: "plan".to_owned(),
            precision: Precision::F64,
            buffers: Arena::default(),
            steps: vec![
                launch(&draws, 3),
                PlanStep::Repeat {
                    count: Amount::one(Extent::fixed(4)),
                    counter: BufferId(0),
                    body: vec![launch(&Extent::fixed(2), 10), launch(&draws, 1), matmul],
                },
            ],
            kernels: 1,
        };
        let sizes = Sizes::default().with(Symbol::Draws, 5);
        let of_kernels = 3 * 5 + 4 * (2 * 10 + 5);
        assert_eq!(plan.operations(&sizes), of_kernels);
        assert_eq!(plan.flops(&sizes), of_kernels + 4 * 2 * 3 * (4 * 5 * 6));
    }
}

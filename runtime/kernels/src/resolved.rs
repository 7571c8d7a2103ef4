//! Resolved steps, which hold addresses and numbers in place of a plan's buffers and symbolic
//! sizes.

use crate::arena::{buffer_bytes, copy_bytes, element_count};
use crate::chunks;
use crate::library::{self, Native};
use bnnc_abi::plan::{Amount, Combine, Launch, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive::Primitive;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;

/// The data for resolving steps.
pub struct ResolvingContext<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The address of each buffer.
    pub addresses: &'a [*mut u8],
    /// The size in bytes of the workspace that holds the copies of partial reductions.
    pub workspace: usize,
    /// True if library calls use the naive reference implementations.
    pub reference: bool,
}

/// One resolved step.
pub enum Resolved {
    /// A launch of a kernel.
    Launch(ReadyLaunch),
    /// A call of a library primitive.
    Call(ReadyCall),
    /// A loop over steps.
    Repeat {
        /// The number of iterations.
        count: i64,
        /// The address of the loop counter.
        counter: *mut i32,
        /// The steps of one iteration.
        body: Vec<Resolved>,
    },
}

/// A resolved launch of a kernel.
pub struct ReadyLaunch {
    /// The index of the kernel.
    pub kernel: usize,
    /// The address of the buffer in each buffer slot.
    pub buffers: Vec<*mut u8>,
    /// The number in each integer slot.
    pub ints: Vec<i64>,
    /// The number of iterations of the outermost axis.
    pub outer: i64,
    /// The number of chunks into which the outermost axis is divided.
    pub chunks: usize,
    /// The reducing outputs of the launch.
    pub reduces: Vec<ReadyReduce>,
    /// The number of bytes that the copies of partial reductions take for one chunk.
    pub copy_bytes: usize,
}

/// A resolved reducing output.
#[derive(Clone, Copy)]
pub struct ReadyReduce {
    /// The index of the buffer slot.
    pub slot: usize,
    /// The type of the elements.
    pub element: StoredElement,
    /// The reduction that combines elements, such as a sum.
    pub combine: Combine,
    /// The offset of this output's copy among the copies of one chunk, or `None` if all chunks
    /// write directly to the output.
    pub copy: Option<usize>,
    /// The number of elements.
    pub count: usize,
}

/// The stored form of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredElement {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `i32`.
    Int,
}

impl StoredElement {
    /// Returns the form that the plan stores elements in.
    pub fn of(storage: Storage, precision: Precision) -> StoredElement {
        match (storage, precision) {
            (Storage::Int, _) => StoredElement::Int,
            (Storage::Real, Precision::F32) => StoredElement::F32,
            (Storage::Real, Precision::F64) => StoredElement::F64,
        }
    }
}

/// A resolved library call.
pub struct ReadyCall {
    /// The primitive.
    pub primitive: Primitive,
    /// The native version of the primitive, or `None` to call the reference implementation.
    pub native: Option<Native>,
    /// The addresses of the operands and of the result.
    pub buffers: Vec<*mut u8>,
    /// The number of elements of each buffer. Only the reference implementation needs it.
    pub counts: Vec<usize>,
    /// The integer arguments of the call.
    pub ints: Vec<i64>,
}

impl ResolvingContext<'_> {
    /// Resolves the steps. Leaves out the numbers that depend on sizes;
    /// [`ResolvingContext::update`] fills them in.
    pub fn prepare(&self, steps: &[PlanStep]) -> Vec<Resolved> {
        let address = |id: &bnnc_abi::plan::BufferId| self.addresses[id.index()];
        let one = |step: &PlanStep| match step {
            PlanStep::Launch(launch) => Resolved::Launch(ReadyLaunch {
                kernel: launch.kernel as usize,
                buffers: launch.buffers.iter().map(address).collect(),
                ints: vec![0; launch.ints.len()],
                outer: 0,
                chunks: 1,
                reduces: launch
                    .reduces
                    .iter()
                    .map(|reduce| self.reduce(launch, reduce))
                    .collect(),
                copy_bytes: 0,
            }),
            PlanStep::Call(call) => Resolved::Call(ReadyCall {
                primitive: call.primitive,
                native: library::native(call.primitive).filter(|_| !self.reference),
                buffers: call.buffers.iter().map(address).collect(),
                counts: vec![0; call.buffers.len()],
                ints: vec![0; call.ints.len()],
            }),
            PlanStep::Repeat { counter, body, .. } => Resolved::Repeat {
                count: 0,
                counter: address(counter).cast(),
                body: self.prepare(body),
            },
        };
        steps.iter().map(one).collect()
    }

    fn reduce(&self, launch: &Launch, reduce: &bnnc_abi::plan::Reduce) -> ReadyReduce {
        let buffer = &self.plan.buffers[launch.buffers[reduce.slot as usize]];
        ReadyReduce {
            slot: reduce.slot as usize,
            element: StoredElement::of(buffer.storage, self.plan.precision),
            combine: reduce.combine,
            copy: reduce.partial.then_some(0),
            count: 0,
        }
    }

    /// Fills in the numbers that depend on sizes. The call does not allocate.
    pub fn update(&self, resolved: &mut [Resolved], steps: &[PlanStep], sizes: &Sizes) {
        for (ready, step) in resolved.iter_mut().zip(steps) {
            match (ready, step) {
                (Resolved::Launch(ready), PlanStep::Launch(launch)) => {
                    self.update_launch(ready, launch, sizes)
                }
                (Resolved::Call(ready), PlanStep::Call(call)) => self.update_call(ready, call, sizes),
                (
                    Resolved::Repeat { count, body, .. },
                    PlanStep::Repeat {
                        count: amount,
                        body: steps,
                        ..
                    },
                ) => {
                    *count = amount.resolve(sizes);
                    self.update(body, steps, sizes);
                }
                _ => unreachable!("resolved steps have the structure of the plan's"),
            }
        }
    }

    fn update_launch(&self, ready: &mut ReadyLaunch, launch: &Launch, sizes: &Sizes) {
        fill_amounts(&mut ready.ints, &launch.ints, sizes);
        ready.outer = launch.outer.resolve(sizes);
        ready.copy_bytes = copy_bytes(self.plan, launch, sizes);
        let room = self
            .workspace
            .checked_div(ready.copy_bytes)
            .map_or(usize::MAX, |copies| copies + 1);
        ready.chunks = chunks::count(self.plan, launch, sizes).min(room);
        let mut offset = 0;
        for reduce in &mut ready.reduces {
            let id = launch.buffers[reduce.slot];
            reduce.count = element_count(&self.plan.buffers[id], sizes);
            if let Some(copy) = &mut reduce.copy {
                *copy = offset;
                offset += buffer_bytes(self.plan, id, sizes);
            }
        }
    }

    fn update_call(&self, ready: &mut ReadyCall, call: &PrimitiveCall, sizes: &Sizes) {
        fill_amounts(&mut ready.ints, &call.ints, sizes);
        for (count, id) in ready.counts.iter_mut().zip(&call.buffers) {
            *count = element_count(&self.plan.buffers[*id], sizes);
        }
    }
}

fn fill_amounts(numbers: &mut [i64], amounts: &[Amount], sizes: &Sizes) {
    for (number, amount) in numbers.iter_mut().zip(amounts) {
        *number = amount.resolve(sizes);
    }
}

//! Assigns places in the arena to the buffers of a plan.
//!
//! Note [When buffers live]. Each step has a position, its number in the order of execution, with
//! loops flattened. A scratch buffer is alive from its first use to its last use. If a scratch
//! buffer is used inside a `Repeat`, it is alive during the whole loop, because an iteration may
//! read data that the previous iteration wrote. There is one exception: if all uses are inside the loop
//! and the first use is a reduction, the lifetime is not extended, because the reduction fills the
//! buffer before any read. Buffers that are not scratch are alive during the whole run.
//! Two buffers share memory only if they are never alive at the same position.

use crate::chunks;
use bnnc_abi::plan::{Buffer, BufferId, BufferRole, Launch, Plan, PlanStep, Storage};
use bnnc_base::arena::Id;
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// The alignment of every buffer, in bytes.
pub const ALIGN: usize = 64;

/// The places of all buffers in the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaLayout {
    /// The offset of each buffer in bytes.
    pub offsets: Vec<usize>,
    /// The byte range in which the chunks of a launch accumulate their partial reductions.
    pub workspace: Range<usize>,
    /// The size of the arena in bytes.
    pub bytes: usize,
}

/// The range of positions where a buffer is alive, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The first position.
    pub first: usize,
    /// The last position.
    pub last: usize,
}

impl Lifetime {
    /// Returns whether both buffers are alive at some position.
    pub fn overlaps(&self, other: &Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn within(&self, other: &Lifetime) -> bool {
        other.first <= self.first && self.last <= other.last
    }

    fn join(&self, other: &Lifetime) -> Lifetime {
        Lifetime {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// Returns the number of elements of a buffer, or `usize::MAX` if the number does not fit into a
/// `usize`.
pub fn element_count(buffer: &Buffer, sizes: &Sizes) -> usize {
    buffer
        .shape
        .dims()
        .iter()
        .fold(1, |count: usize, dim| count.saturating_mul(dim.resolve(sizes)))
}

/// Returns the number of bytes of one element.
pub fn element_bytes(plan: &Plan, storage: Storage) -> usize {
    match storage {
        Storage::Real => plan.precision.bytes(),
        Storage::Int => 4,
    }
}

/// Returns the number of bytes that a buffer occupies in the arena.
pub fn buffer_bytes(plan: &Plan, id: BufferId, sizes: &Sizes) -> usize {
    let buffer = &plan.buffers[id];
    let bytes = element_count(buffer, sizes).saturating_mul(element_bytes(plan, buffer.storage));
    bytes.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX)
}

/// Returns the size, in bytes, of the arena that [`crate::executor::Machine`] allocates for these sizes.
pub fn predict_arena_bytes(plan: &Plan, sizes: &Sizes) -> u64 {
    layout(plan, sizes).bytes as u64
}

/// Plans the arena. All buffers that are not scratch are placed one after the other. The scratch
/// buffers are placed after all other buffers, from the largest to the smallest. A scratch buffer
/// is placed in the first gap that is large enough during its lifetime.
pub fn layout(plan: &Plan, sizes: &Sizes) -> ArenaLayout {
    let lifetimes = lifetimes(plan);
    let size = |id: BufferId| buffer_bytes(plan, id, sizes);
    let mut offsets = vec![0; plan.buffers.len()];
    let mut lasting = 0usize;
    let mut scratch: Vec<BufferId> = Vec::new();
    for id in plan.buffers.ids() {
        if plan.buffers[id].role == BufferRole::Scratch {
            scratch.push(id);
        } else {
            offsets[id.index()] = lasting;
            lasting = lasting.saturating_add(size(id));
        }
    }
    scratch.retain(|id| lifetimes[id.index()].is_some());
    scratch.sort_by_key(|id| std::cmp::Reverse(size(*id)));
    let mut end = lasting;
    let mut placed: Vec<(Range<usize>, Lifetime)> = Vec::new();
    for id in scratch {
        let Some(lifetime) = lifetimes[id.index()] else {
            continue;
        };
        let alive = placed
            .iter()
            .filter(|(_, other)| other.overlaps(&lifetime))
            .map(|(range, _)| range);
        let start = first_gap(alive, lasting, size(id));
        let range = start..start.saturating_add(size(id));
        offsets[id.index()] = start;
        end = end.max(range.end);
        let at = placed.partition_point(|(other, _)| other.start <= start);
        placed.insert(at, (range, lifetime));
    }
    let workspace = end..end.saturating_add(workspace_bytes(plan, &plan.steps, sizes));
    ArenaLayout {
        offsets,
        bytes: workspace.end.max(ALIGN),
        workspace,
    }
}

/// Returns the first offset that is at least `from` and at which `size` bytes are free. `taken` holds
/// the ranges in use, sorted by their start.
fn first_gap<'a>(taken: impl Iterator<Item = &'a Range<usize>>, from: usize, size: usize) -> usize {
    let mut start = from;
    for range in taken {
        if range.start >= start && range.start - start >= size {
            break;
        }
        start = start.max(range.end);
    }
    start
}

/// Returns the number of bytes to reserve for copies of partial reductions: the largest number that any
/// single launch needs.
fn workspace_bytes(plan: &Plan, steps: &[PlanStep], sizes: &Sizes) -> usize {
    let of = |step: &PlanStep| match step {
        PlanStep::Launch(launch) => {
            (chunks::count(plan, launch, sizes) - 1).saturating_mul(copy_bytes(plan, launch, sizes))
        }
        PlanStep::Call(_) => 0,
        PlanStep::Repeat { body, .. } => workspace_bytes(plan, body, sizes),
    };
    steps.iter().map(of).max().unwrap_or(0)
}

/// Returns the number of bytes that one chunk needs for its copies of the partial reductions.
pub fn copy_bytes(plan: &Plan, launch: &Launch, sizes: &Sizes) -> usize {
    let partial = launch.reduces.iter().filter(|reduce| reduce.partial);
    let bytes = partial.map(|reduce| buffer_bytes(plan, launch.buffers[reduce.slot as usize], sizes));
    bytes.fold(0, usize::saturating_add)
}

/// Returns the lifetime of each buffer. The result is `None` for a buffer that no step uses. See
/// Note [When buffers live].
pub fn lifetimes(plan: &Plan) -> Vec<Option<Lifetime>> {
    let mut trace = Trace {
        position: 0,
        uses: vec![None; plan.buffers.len()],
        loops: Vec::new(),
    };
    trace.walk(&plan.steps);
    let stretched = |used: &Use| {
        let inside = |span: &&Span| {
            used.positions
                .iter()
                .any(|at| span.0.first <= *at && *at <= span.0.last)
        };
        let start = Lifetime {
            first: used.positions[0],
            last: used.positions[used.positions.len() - 1],
        };
        trace
            .loops
            .iter()
            .filter(inside)
            .fold(start, |lifetime, Span(span)| {
                if used.filled && lifetime.within(span) {
                    lifetime
                } else {
                    lifetime.join(span)
                }
            })
    };
    trace
        .uses
        .iter()
        .map(|used| used.as_ref().map(stretched))
        .collect()
}

/// The first and the last position of a loop.
struct Span(Lifetime);

/// The uses of a buffer by the steps of a plan.
#[derive(Clone)]
struct Use {
    /// The positions of the steps that use the buffer, in ascending order.
    positions: Vec<usize>,
    /// True if the first use fills the whole buffer.
    filled: bool,
}

struct Trace {
    position: usize,
    uses: Vec<Option<Use>>,
    /// The loops that have been walked so far. Inner loops come before the loops that contain them.
    loops: Vec<Span>,
}

impl Trace {
    fn walk(&mut self, steps: &[PlanStep]) {
        for step in steps {
            self.position += 1;
            match step {
                PlanStep::Launch(launch) => {
                    for (slot, id) in launch.buffers.iter().enumerate() {
                        let reduces =
                            |at: usize| launch.reduces.iter().any(|reduce| reduce.slot as usize == at);
                        // A reduction fills its buffer before any read, unless another slot of the same
                        // launch reads this buffer.
                        let all = launch
                            .buffers
                            .iter()
                            .enumerate()
                            .filter(|(_, other)| *other == id);
                        self.touch(*id, reduces(slot) && all.count() == 1);
                    }
                }
                PlanStep::Call(call) => call.buffers.iter().for_each(|id| self.touch(*id, false)),
                PlanStep::Repeat { counter, body, .. } => {
                    let first = self.position;
                    self.touch(*counter, false);
                    self.walk(body);
                    self.position += 1;
                    self.touch(*counter, false);
                    self.loops.push(Span(Lifetime {
                        first,
                        last: self.position,
                    }));
                }
            }
        }
    }

    fn touch(&mut self, id: BufferId, filled: bool) {
        let fresh = || Use {
            positions: Vec::new(),
            filled,
        };
        self.uses[id.index()]
            .get_or_insert_with(fresh)
            .positions
            .push(self.position);
    }
}

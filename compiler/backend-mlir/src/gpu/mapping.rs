//! Distributes the points of a kernel's domain among threads, by fixed rules.
//!
//! Note \[Parts\]. An axis of the domain along which the address of an output changes is called
//! kept. The output reduces over all other axes. Outputs with the
//! same kept axes form one part of the kernel. A part is a separate function, which computes the
//! instructions that its outputs need. In general, a thread handles one kept point and visits the
//! reduced points in order. If there are few kept points and many reduced points, a block handles
//! one kept point. Each thread of the block takes every 256th reduced point, and the results of the
//! threads are combined in pairs, until one result is left. If there are very few kept points and
//! very many reduced points, many blocks share each kept point, and a second launch combines their
//! results. The order of every computation depends only on the domain. Parts that reduce run first,
//! because plain outputs may overwrite the data that reductions read.

use bnnc_base::arena::Id;
use bnnc_loops::analysis::motion::needed;
use bnnc_loops::ir::{Access, Kernel, KernelOutput, LoopSize};

/// The number of threads per block.
pub const THREADS: i64 = 256;
/// The number of reduced points from which a block handles each kept point.
const MANY: i64 = 128;
/// A number of threads that is enough to keep a GPU busy.
const BUSY: i64 = 65_536;
/// The number of blocks for a kept point that many blocks share. In the second launch, each thread
/// combines the results of four blocks.
pub const PIECES: i64 = 4 * THREADS;
/// The number of kept points from which one block per kept point keeps a GPU busy.
const BLOCKS: i64 = 64;

/// The threads that handle one kept point and all reduced points that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// One thread handles each kept point.
    Thread,
    /// One block handles each kept point.
    Block,
    /// [`PIECES`] blocks share each kept point.
    Blocks,
    /// A single thread handles all points of the kernel, because their order matters.
    Alone,
}

/// A part of a kernel; see Note \[Parts\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPart {
    /// The indices of the outputs in the part.
    pub outputs: Vec<usize>,
    /// For each axis, true if the part keeps the axis.
    pub kept: Vec<bool>,
    /// The threads that handle each kept point.
    pub team: Team,
}

/// Divides a kernel into parts. `shared` lists the pairs of slots that are bound to the same buffer
/// in some launch.
pub fn parts(kernel: &Kernel, shared: &[(u32, u32)]) -> Vec<KernelPart> {
    let mut parts: Vec<KernelPart> = Vec::new();
    let reductions = |reduces: bool| {
        let of = move |at: &usize| kernel.outputs[*at].combine.is_some() == reduces;
        (0..kernel.outputs.len()).filter(of)
    };
    for at in reductions(true).chain(reductions(false)) {
        let (output, kept) = (&kernel.outputs[at], kept(kernel, &kernel.outputs[at]));
        let same = |part: &&mut KernelPart| {
            part.kept == kept && kernel.outputs[part.outputs[0]].combine.is_some() == output.combine.is_some()
        };
        match parts.iter_mut().find(same) {
            Some(part) => part.outputs.push(at),
            None => parts.push(KernelPart {
                outputs: vec![at],
                kept,
                team: Team::Thread,
            }),
        }
    }
    if !is_independent(kernel, &parts, shared) {
        return vec![KernelPart {
            outputs: (0..kernel.outputs.len()).collect(),
            kept: vec![false; kernel.dims.len()],
            team: Team::Alone,
        }];
    }
    for part in &mut parts {
        part.team = team(kernel, part);
    }
    parts
}

fn kept(kernel: &Kernel, output: &KernelOutput) -> Vec<bool> {
    let axes = output.access.strides.iter().zip(&kernel.dims);
    axes.map(|(stride, dim)| *stride != LoopSize::Fixed(0) || *dim == LoopSize::Fixed(1))
        .collect()
}

/// Returns the number of points along the kept axes, or along the axes that are not kept. Returns
/// `None` if this number is known only at launch.
pub fn points(kernel: &Kernel, part: &KernelPart, kept: bool) -> Option<i64> {
    let axes = kernel.dims.iter().zip(&part.kept).filter(|(_, k)| **k == kept);
    axes.map(|(dim, _)| match dim {
        LoopSize::Fixed(size) => Some(*size),
        LoopSize::Slot(_) => None,
    })
    .product()
}

fn team(kernel: &Kernel, part: &KernelPart) -> Team {
    let in_registers = part.outputs.iter().all(|at| {
        let output = &kernel.outputs[*at];
        output.combine.is_some() && output.access.dynamic.is_empty()
    });
    let (kept, reduced) = (points(kernel, part, true), points(kernel, part, false));
    let many = reduced.is_none_or(|points| points >= MANY);
    let few = kept.is_none_or(|points| points < BUSY);
    let hardly_any =
        kept.is_some_and(|points| points < BLOCKS) && reduced.is_some_and(|points| points >= BUSY);
    match in_registers && many && few {
        true if hardly_any => Team::Blocks,
        true => Team::Block,
        false => Team::Thread,
    }
}

/// Returns whether the threads of each part may run in any order. The parts themselves run one
/// after another.
fn is_independent(kernel: &Kernel, parts: &[KernelPart], shared: &[(u32, u32)]) -> bool {
    let same = |a: u32, b: u32| a == b || shared.contains(&(a.min(b), a.max(b)));
    let moved = |a: &Access, b: &Access| {
        (a.offset, &a.strides) != (b.offset, &b.strides) || !(a.dynamic.is_empty() && b.dynamic.is_empty())
    };
    let loads = |outputs: &[usize]| {
        let needed = needed(kernel, outputs.iter().map(|at| &kernel.outputs[*at]));
        let body = kernel.body.ids().filter(move |id| needed[id.index()]);
        body.filter_map(|id| kernel.body[id].op.load())
    };
    for (at, output) in kernel.outputs.iter().enumerate() {
        let others = kernel.outputs[..at].iter();
        if others
            .into_iter()
            .any(|other| same(other.access.slot, output.access.slot))
        {
            return false;
        }
    }
    parts.iter().enumerate().all(|(number, part)| {
        part.outputs.iter().all(|at| {
            let output = &kernel.outputs[*at];
            let own = loads(&part.outputs).all(|load| {
                !same(load.slot, output.access.slot)
                    || (output.combine.is_none() && !moved(load, &output.access))
            });
            let later = parts[number + 1..]
                .iter()
                .all(|later| loads(&later.outputs).all(|load| !same(load.slot, output.access.slot)));
            own && later
        })
    })
}

//! Decides which tensors are stored in memory. All other tensors are evaluated inside their
//! consumers.
//!
//! Note [Stored tensors]. Some tensors are always stored: results, assembled tensors, results and
//! operands of calls, operands of reshapes that are not index maps, and data that are read at
//! computed positions. Any other tensor is stored if computing it again would cost more than
//! storing and loading it. This is the case if it takes more than a few operations, and is either
//! evaluated by several kernels or repeated along an axis. In a chain of tensors with one consumer
//! each, only the last tensor is stored. Storing a tensor can change the grouping of tasks. The
//! algorithm therefore chooses stored tensors and groups tasks in turn, until no further tensor is
//! stored.
//!
//! Note [Rounds]. A newly stored tensor adds a task. If the number of tasks in a kernel is limited,
//! this task can move the boundary between two kernels, so that another tensor is evaluated on both
//! sides of the boundary. In a model of many scalar parameters, this happened once for each
//! parameter. After [`ROUNDS`] groupings, a tensor therefore counts as evaluated by several kernels
//! if several tasks evaluate it. This does not depend on the boundaries, so that few further rounds
//! follow. The memory of tensors that only one kernel needs is removed at the end.
//!
//! Note [Draws in memory]. The memory of a program must not depend on the number of draws of a
//! divergence. A tensor with elements for every such draw is therefore not stored, even if its cost
//! is high. Instead, each kernel computes it again from the noise. Draws of weights are
//! stored nevertheless, because they are operands of matrix products. Values that are computed from
//! draws of weights are recomputed if they are only summed over the draws. A single number for each
//! draw, such as a norm, may be stored.

use crate::contract;
use crate::group::{self, Grouped, Groups};
use crate::task::TensorStorage;
use crate::tensor::{Coordinate, TensorDef, TensorId, Tensors};
use bnnc_abi::plan::BufferId;
use bnnc_abi::symbols::{NOISE_WEIGHT, weight};
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Symbol};
use std::collections::{BTreeSet, HashMap};

/// The highest cost of a tensor that is computed again and not loaded.
/// One call of a library function costs more.
const CHEAP: u32 = 7;
/// Like [`CHEAP`], but for tensors that are repeated along an axis.
const CHEAP_REPEATED: u32 = 3;
/// A chain of tensors that are evaluated inside each other is cut at this depth, by storing a
/// tensor. The limit is needed because bodies are evaluated by recursion.
const DEEP: usize = 300;
/// The number of groupings after which tasks count in place of kernels. All examples need at most
/// three groupings. See Note [Rounds].
const ROUNDS: usize = 4;
/// A tensor that several kernels need is stored if computing it again takes more loads than this.
const FEW_LOADS: usize = 2;

/// Decides which tensors are stored, and groups the tasks that compute these tensors into kernels.
/// `ports` lists the results in order, each with the buffer to which it is written.
pub fn fuse(tensors: &Tensors, ports: &[(TensorId, BufferId)]) -> Result<(TensorStorage, Groups), Fault> {
    let live = live(tensors, ports);
    let mut storage = forced(tensors, &live, ports);
    cut_chains(tensors, &live, &mut storage.stored);
    let needed = storage.stored.clone();
    let mut round = 0;
    loop {
        let mut groups = match group::group(tensors, &live, &storage)? {
            Grouped::Done(groups) => *groups,
            Grouped::Copy(task, tasks) => {
                write_elsewhere(&mut storage, &tasks[task]);
                continue;
            }
        };
        round += 1;
        let unit = |task| match round < ROUNDS {
            true => groups.partition.of(task),
            false => task,
        };
        let evaluated = evaluated(&groups, unit);
        let more = dear(tensors, &live, &storage, &evaluated);
        if more.is_empty() {
            forget(&mut storage, &mut groups, &needed);
            return Ok((storage, groups));
        }
        more.into_iter().for_each(|id| storage.stored[id.index()] = true);
    }
}

/// Removes the memory of tensors that are read only by the kernel that computes them.
fn forget(storage: &mut TensorStorage, groups: &mut Groups, needed: &[bool]) {
    for task in 0..groups.tasks.len() {
        let Some(id) = groups.tasks[task].writes.filter(|id| !needed[id.index()]) else {
            continue;
        };
        if !groups.is_read_outside(task) {
            storage.stored[id.index()] = false;
            groups.silence(task);
        }
    }
}

fn write_elsewhere(storage: &mut TensorStorage, task: &crate::task::FusedTask) {
    let (Some(id), Some(port)) = (task.writes, task.port) else {
        return;
    };
    storage.homes[id.index()] = None;
    storage.copies.push((id, port));
}

fn live(tensors: &Tensors, ports: &[(TensorId, BufferId)]) -> Vec<bool> {
    let mut live = vec![false; tensors.len()];
    let mut open: Vec<TensorId> = ports.iter().map(|(id, _)| *id).collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut live[id.index()], true) {
            open.extend(tensors[id].operands());
        }
    }
    live
}

/// Returns the storage of the tensors that are stored regardless of their cost.
fn forced(tensors: &Tensors, live: &[bool], ports: &[(TensorId, BufferId)]) -> TensorStorage {
    let mut storage = TensorStorage {
        stored: vec![false; tensors.len()],
        homes: vec![None; tensors.len()],
        copies: Vec::new(),
    };
    for id in tensors.ids().filter(|id| live[id.index()]) {
        let stored = &mut storage.stored;
        match &tensors[id].kind {
            TensorDef::Buffer(_) | TensorDef::Assembled { .. } => stored[id.index()] = true,
            TensorDef::Call(call) => {
                stored[id.index()] = true;
                for arg in &call.args {
                    stored[contract::base(tensors, id, *arg).index()] = true;
                }
            }
            TensorDef::Loop(looped) => {
                stored[id.index()] = true;
                looped.args.iter().for_each(|arg| stored[arg.index()] = true);
            }
            TensorDef::Flat(arg) => stored[arg.index()] = true,
            TensorDef::View(arg, at) if at.iter().any(|to| to.dynamic.is_some()) => {
                let base = view_base(tensors, *arg);
                stored[base.index()] |= !matches!(tensors[base].kind, TensorDef::Const(_));
            }
            TensorDef::Const(_)
            | TensorDef::Index(_)
            | TensorDef::Noise { .. }
            | TensorDef::Apply(..)
            | TensorDef::View(..) => {}
        }
    }
    for (id, port) in ports {
        let free = storage.homes[id.index()].is_none() && !matches!(tensors[*id].kind, TensorDef::Buffer(_));
        storage.stored[id.index()] = true;
        if free {
            storage.homes[id.index()] = Some(*port);
        } else if !matches!(tensors[*id].kind, TensorDef::Buffer(buffer) if buffer == *port) {
            storage.copies.push((*id, *port));
        }
    }
    storage
}

/// Cuts long chains of tensors that are evaluated inside each other, by storing some tensors of the
/// chain in memory.
fn cut_chains(tensors: &Tensors, live: &[bool], stored: &mut [bool]) {
    let mut depths = vec![0; tensors.len()];
    for id in tensors.ids().filter(|id| live[id.index()]) {
        let depth = tensors[id]
            .operands()
            .iter()
            .map(|arg| depths[arg.index()] + 1)
            .max()
            .unwrap_or(0);
        stored[id.index()] |= depth > DEEP;
        depths[id.index()] = if stored[id.index()] { 0 } else { depth };
    }
}

/// Returns the tensor from which a chain of static index maps starts.
fn view_base(tensors: &Tensors, id: TensorId) -> TensorId {
    match &tensors[id].kind {
        TensorDef::View(arg, at) if at.iter().all(|to| to.dynamic.is_none()) => view_base(tensors, *arg),
        _ => id,
    }
}

/// Returns whether a view repeats elements, either along an axis or in overlapping windows.
fn repeats(dims: &[Dim], inner: &[Dim], at: &[Coordinate]) -> bool {
    let used = |axis: usize| {
        at.iter()
            .any(|to| to.dynamic.is_some() || to.terms.iter().any(|(term, _)| *term == axis))
    };
    let overlaps = |(to, dim): (&Coordinate, &Dim)| {
        let sizes = to.terms.iter().map(|(axis, _)| dims[*axis].fixed());
        let count: Option<usize> = sizes.product();
        to.terms.len() > 1 && count > dim.fixed()
    };
    let is_unused = |(axis, dim): (usize, &Dim)| *dim != Dim::Fixed(1) && !used(axis);
    dims.iter().enumerate().any(is_unused) || at.iter().zip(inner).any(overlaps)
}

/// For each tensor that is evaluated and not loaded, the kernels or tasks that evaluate it.
type Evaluated = HashMap<TensorId, BTreeSet<usize>>;

/// Returns the tensors that should be stored because of their cost.
fn dear(tensors: &Tensors, live: &[bool], storage: &TensorStorage, evaluated: &Evaluated) -> Vec<TensorId> {
    let users = users(tensors, live);
    let anew = made_anew(tensors, storage, &users);
    let mut costs = vec![0u32; tensors.len()];
    let mut loads: Vec<Vec<TensorId>> = vec![Vec::new(); tensors.len()];
    let mut more = BTreeSet::new();
    for id in tensors
        .ids()
        .filter(|id| live[id.index()] && !storage.stored[id.index()])
    {
        let tensor = &tensors[id];
        let own = match &tensor.kind {
            TensorDef::Apply(scalar, _) => weight(*scalar),
            TensorDef::Noise { .. } => NOISE_WEIGHT,
            _ => 0,
        };
        let operands = tensor.operands();
        costs[id.index()] = operands
            .iter()
            .fold(own, |cost, arg| cost.saturating_add(costs[arg.index()]))
            .min(1 << 16);
        for arg in &operands {
            let is_loaded = storage.stored[arg.index()] || more.contains(arg);
            let below = if is_loaded {
                vec![*arg]
            } else {
                loads[arg.index()].clone()
            };
            for load in below {
                let own = &mut loads[id.index()];
                // Above the limit, the exact number of loads does not matter.
                if own.len() <= FEW_LOADS && !own.contains(&load) {
                    own.push(load);
                }
            }
        }
        if let TensorDef::View(arg, at) = &tensor.kind
            && repeats(&tensor.dims, &tensors[*arg].dims, at)
            && costs[arg.index()] > CHEAP_REPEATED
            && !storage.stored[arg.index()]
            && !anew[arg.index()]
        {
            more.insert(*arg);
            costs[id.index()] = 0;
        }
        let several = evaluated.get(&id).is_some_and(|units| units.len() > 1);
        let costly =
            costs[id.index()] > CHEAP || loads[id.index()].len() > FEW_LOADS && costs[id.index()] > 1;
        if several && costly && !anew[id.index()] && !passes_on(tensors, storage, &users[id.index()]) {
            more.insert(id);
            costs[id.index()] = 0;
        }
    }
    more.into_iter().collect()
}

/// Returns, for each tensor, whether it is never stored, even if computing it again has a high
/// cost. See Note [Draws in memory].
fn made_anew(tensors: &Tensors, storage: &TensorStorage, users: &[Vec<TensorId>]) -> Vec<bool> {
    let mut anew = vec![false; tensors.len()];
    let ids: Vec<TensorId> = tensors.ids().collect();
    for id in ids.into_iter().rev() {
        let dims = &tensors[id].dims;
        let ends_in_sums = |user: &TensorId| match &tensors[*user].kind {
            TensorDef::Assembled { .. } => !is_per_draw(&tensors[*user].dims, Symbol::Draws),
            _ => anew[user.index()],
        };
        let purely = !users[id.index()].is_empty() && users[id.index()].iter().all(ends_in_sums);
        // A tensor with an axis of rows is not a draw of weights, because all rows share a draw of
        // weights.
        let of_rows = dims.contains(&Dim::Symbol(Symbol::Batch));
        anew[id.index()] = !storage.stored[id.index()]
            && (is_per_draw(dims, Symbol::KlDraws) || is_per_draw(dims, Symbol::Draws) && purely && !of_rows);
    }
    anew
}

/// Returns whether a tensor has several elements for every draw.
fn is_per_draw(dims: &[Dim], draws: Symbol) -> bool {
    let other = |dim: &Dim| *dim != Dim::Symbol(draws) && *dim != Dim::Fixed(1);
    dims.contains(&Dim::Symbol(draws)) && dims.iter().any(other)
}

/// Returns whether a tensor has a single user, which is evaluated at the same points. Storing the
/// user then saves as much as storing the tensor.
fn passes_on(tensors: &Tensors, storage: &TensorStorage, users: &[TensorId]) -> bool {
    let [user] = users else { return false };
    let same_points = match &tensors[*user].kind {
        TensorDef::Apply(..) => true,
        TensorDef::View(arg, at) => !repeats(&tensors[*user].dims, &tensors[*arg].dims, at),
        _ => false,
    };
    same_points && !storage.stored[user.index()]
}

fn users(tensors: &Tensors, live: &[bool]) -> Vec<Vec<TensorId>> {
    let mut users = vec![Vec::new(); tensors.len()];
    for id in tensors.ids().filter(|id| live[id.index()]) {
        for arg in tensors[id].operands() {
            let list: &mut Vec<TensorId> = &mut users[arg.index()];
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
    }
    users
}

/// Returns, for each tensor that kernels evaluate and do not load, the kernels or tasks that evaluate
/// it. `unit` is the number of the kernel or task to which a task belongs.
fn evaluated(groups: &Groups, unit: impl Fn(usize) -> usize) -> Evaluated {
    let mut evaluated = Evaluated::new();
    let tasks = groups.tasks.iter().enumerate();
    for (at, task) in tasks.filter(|(_, task)| task.is_kernel()) {
        for id in &task.inlined {
            evaluated.entry(*id).or_default().insert(unit(at));
        }
    }
    evaluated
}

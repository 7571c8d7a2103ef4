//! Groups tasks into kernels, greedily and without cycles, and orders them.
//!
//! Note [What may be one kernel]. Two groups of one domain may merge if every task reads of the memory that another writes
//! only the element that the same point writes (such reads become uses of the computed value), and if no path leads from one
//! to the other through a third. Paths follow true dependencies and the order that states ask for: who reads the old value
//! of a state comes before who overwrites it. In this order of preference, merged are: tasks that overwrite what each other
//! read, which can only be one kernel (else one of them writes elsewhere, with a copy at the end); consumers with the
//! producers of the elements they read; readers of the same elements; and kernels so small that launching them is the cost.
//!
//! Note [Compile time]. The two last kinds of pairs may stand anywhere in the function. Looking at all of them takes quadratic time, and in a deep network most
//! pairs cannot merge because a path leads from one to the other. So a task looks at the [`NEAR`] groups that come up last before it.

use crate::partition::Partition;
use crate::task::{self, Common, FusedTask, TensorStorage};
use crate::tensor::Tensors;
use crate::uses::{MemoryCell, Own, Uses};
use bnnc_base::fault::Fault;
use bnnc_base::shape::Dim;
use std::collections::{BTreeSet, HashMap};

/// The number of groups, latest first, that a task is tried with. In all examples a task joins one of the three latest, in chains of hundreds of layers the
/// latest.
const NEAR: usize = 16;
/// The most tasks of a kernel made of tasks that only have something in common. Launching is not the cost of such a kernel any more, and code generators take
/// more than linear time for a kernel: where the updates of 2000 layers are one kernel, Cranelift takes a minute, and 0.3 s with this limit.
const MOST: usize = 64;

/// Tasks, and their partition into kernels and calls.
pub struct Groups {
    /// The tasks.
    pub tasks: Vec<FusedTask>,
    /// The groups of tasks, and their order.
    pub partition: Partition,
    /// For each task, whether its result is only used inside its group, and not written.
    pub silent: Vec<bool>,
    /// Who touches which memory.
    uses: Uses,
    /// For each group, which of its tasks do.
    own: Vec<Own>,
    /// For pairs of groups: whether their tasks fit, and the number of tasks of each that were looked at.
    fit: HashMap<(usize, usize), Option<(usize, usize)>>,
}

/// What grouping comes to.
pub enum Grouped {
    /// Groups.
    Done(Box<Groups>),
    /// This task cannot write its port in place: it must write elsewhere, with a copy at the end.
    Copy(usize, Vec<FusedTask>),
}

/// The first and the last task of a group that have something in common with others.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

/// Groups the tasks of `storage`.
pub fn group(tensors: &Tensors, live: &[bool], storage: &TensorStorage) -> Result<Grouped, Fault> {
    let tasks = task::tasks(tensors, live, storage)?;
    if let Some(bad) = (0..tasks.len()).find(|at| !task::compatible(tensors, &tasks[*at], &tasks[*at])) {
        return Ok(Grouped::Copy(bad, tasks));
    }
    let uses = Uses::new(tensors, &tasks);
    let mut groups = Groups {
        partition: Partition::new(uses.order(tensors)),
        silent: vec![false; tasks.len()],
        own: uses.of_each(&tasks),
        tasks,
        uses,
        fit: HashMap::new(),
    };
    if let Some(bad) = groups.join_cycles() {
        return match groups.tasks[bad].writes {
            Some(_) => Ok(Grouped::Copy(bad, groups.tasks)),
            None => Err(Fault::Bug("kernels depend on each other in a cycle".to_owned())),
        };
    }
    groups.join_producers();
    groups.join_alike(|task| task::common_reads(tensors, task));
    groups.join_alike(|task| task::common_cost(task).into_iter().collect());
    Ok(Grouped::Done(Box::new(groups)))
}

impl Groups {
    /// Returns whether the tasks of two groups may be one kernel, but for paths through others.
    fn fits(&mut self, left: usize, right: usize) -> bool {
        let pair = (left.min(right), left.max(right));
        let members = |group: usize| self.partition.members(group);
        let counts = (members(pair.0).len(), members(pair.1).len());
        let fits = match self.fit.get(&pair) {
            // Growing does not mend what does not fit, and of what fits only the new tasks are looked at.
            Some(None) => false,
            Some(Some(known)) => {
                let into_right = members(pair.0)[known.0..].iter();
                let into_left = members(pair.1)[known.1..].iter();
                into_right.copied().all(|task| self.fits_into(task, pair.1))
                    && into_left.copied().all(|task| self.fits_into(task, pair.0))
            }
            None => {
                let (few, many) = if counts.0 <= counts.1 {
                    pair
                } else {
                    (pair.1, pair.0)
                };
                let all = || members(few).iter().all(|task| self.fits_into(*task, many));
                self.are_alike(pair.0, pair.1) && all()
            }
        };
        self.fit.insert(pair, fits.then_some(counts));
        fits
    }

    /// Returns whether two groups are kernels over one domain; all tasks of a group are alike.
    fn are_alike(&self, left: usize, right: usize) -> bool {
        let first = |group: usize| {
            self.partition
                .members(group)
                .first()
                .map(|task| &self.tasks[*task])
        };
        match (first(left), first(right)) {
            (Some(x), Some(y)) => left != right && x.is_kernel() && y.is_kernel() && x.domain == y.domain,
            _ => false,
        }
    }

    /// Returns whether what a task and the tasks of a group read of each other's memory is the very element that the same point writes.
    fn fits_into(&self, task: usize, group: usize) -> bool {
        let own = &self.own[group];
        let reads = self.uses.reads[task].iter().zip(&self.tasks[task].reads);
        let mut reads_fit = reads.map(|(cell, (_, place))| {
            let mut writers = own.writers.get(cell).into_iter().flatten();
            writers.all(|writer| self.tasks[*writer].stores_at(place.as_ref()))
        });
        let mut writes_fit = MemoryCell::written(&self.tasks[task]).map(|cell| {
            let mut readers = own.readers.get(&cell).into_iter().flatten();
            readers.all(|reader| self.reads_what_is_stored(*reader, cell, task))
        });
        reads_fit.all(|fits| fits) && writes_fit.all(|fits| fits)
    }

    /// Returns whether all that one task reads of a memory is the very element that another writes at the same point.
    fn reads_what_is_stored(&self, reader: usize, cell: MemoryCell, writer: usize) -> bool {
        let reads = self.uses.reads[reader].iter().zip(&self.tasks[reader].reads);
        let mut same = reads.filter(|(read, _)| **read == cell);
        same.all(|(_, (_, place))| self.tasks[writer].stores_at(place.as_ref()))
    }

    fn merge(&mut self, left: usize, right: usize) {
        self.partition.merge(left, right);
        let moved = std::mem::take(&mut self.own[right]);
        self.own[left].take(moved);
    }

    /// Merges two groups if they may be one kernel; returns whether they did.
    fn try_merge(&mut self, left: usize, right: usize) -> bool {
        let free = self.fits(left, right)
            && !self.partition.detour(left, right)
            && !self.partition.detour(right, left);
        if free {
            self.merge(left.min(right), left.max(right));
        }
        free
    }

    /// Tasks that overwrite what each other read can only be one kernel; else gives one that must write elsewhere.
    fn join_cycles(&mut self) -> Option<usize> {
        let cycles = self.partition.cycles();
        let mut cycle_of = vec![None; self.tasks.len()];
        for (number, cycle) in cycles.iter().enumerate() {
            cycle.iter().for_each(|task| cycle_of[*task] = Some(number));
        }
        let overwrites = |task: &usize| {
            let port = self.tasks[*task].port.map(MemoryCell::Port);
            cycle_of[*task].is_some() && port.is_some_and(|port| !self.uses.readers(port).is_empty())
        };
        let mut writers: Vec<usize> = (0..self.tasks.len()).filter(overwrites).collect();
        // A copy cannot be told to write elsewhere, so the others go first.
        writers.sort_by_key(|task| self.tasks[*task].writes.is_none());
        for task in writers {
            let cycle = cycle_of[task].map_or(&[][..], |number| &cycles[number]);
            for other in cycle {
                let (group, other) = (self.partition.of(task), self.partition.of(*other));
                if group == other {
                    continue;
                }
                if !self.fits(group, other) {
                    return Some(task);
                }
                self.merge(group, other);
            }
        }
        None
    }

    /// A consumer of the very elements that a kernel makes joins it.
    fn join_producers(&mut self) {
        for consumer in 0..self.tasks.len() {
            for read in 0..self.tasks[consumer].reads.len() {
                let cell = MemoryCell::Tensor(self.tasks[consumer].reads[read].0);
                for at in 0..self.uses.writers(cell).len() {
                    let producer = self.uses.writers(cell)[at];
                    self.try_merge(self.partition.of(producer), self.partition.of(consumer));
                }
            }
        }
    }

    /// Kernels of one domain become one where two of their tasks have something in common, which makes it worth it. See Note [Compile time].
    fn join_alike(&mut self, common: impl Fn(&FusedTask) -> Vec<Common>) {
        let mut near: HashMap<(Vec<Dim>, Common), Vec<Span>> = HashMap::new();
        for right in 0..self.tasks.len() {
            let domain = &self.tasks[right].domain;
            let common = common(&self.tasks[right]).into_iter();
            let keys: Vec<_> = common.map(|common| (domain.clone(), common)).collect();
            let spans = keys.iter().flat_map(|key| near.get(key)).flatten();
            let mut lefts = self.nearest(spans.copied().collect());
            lefts.sort_unstable_by_key(|span| span.first);
            self.join_one(right, lefts.into_iter().map(|span| span.first).collect());
            for key in keys {
                let spans = near.entry(key).or_default();
                spans.push(Span {
                    first: right,
                    last: right,
                });
                *spans = self.nearest(std::mem::take(spans));
            }
        }
    }

    /// One span for each of the groups that come up last.
    fn nearest(&self, spans: Vec<Span>) -> Vec<Span> {
        let mut nearest: Vec<Span> = Vec::new();
        for span in spans {
            let group = self.partition.of(span.first);
            match nearest
                .iter_mut()
                .find(|known| self.partition.of(known.first) == group)
            {
                Some(known) => {
                    known.first = known.first.min(span.first);
                    known.last = known.last.max(span.last);
                }
                None => nearest.push(span),
            }
        }
        nearest.sort_unstable_by_key(|span| std::cmp::Reverse(span.last));
        nearest.truncate(NEAR);
        nearest
    }

    /// Merges the group of a task with those of earlier ones, where they may be one kernel.
    fn join_one(&mut self, right: usize, mut lefts: Vec<usize>) {
        // A merge can shorten the paths that kept others apart.
        let joins = |groups: &mut Groups, left: &usize| {
            let pair = (groups.partition.of(*left), groups.partition.of(right));
            let members = |group: usize| groups.partition.members(group).len();
            let is_small = || members(pair.0) + members(pair.1) <= MOST;
            pair.0 != pair.1 && is_small() && groups.try_merge(pair.0, pair.1)
        };
        while let Some(at) = lefts.iter().position(|left| joins(self, left)) {
            lefts.remove(at);
        }
    }

    /// Whether a task outside the group of `task` reads what it writes.
    pub fn is_read_outside(&self, task: usize) -> bool {
        let group = self.partition.of(task);
        let cell = self.tasks[task].writes.map(MemoryCell::Tensor);
        let mut readers = cell.into_iter().flat_map(|cell| self.uses.readers(cell));
        readers.any(|reader| self.partition.of(*reader) != group)
    }

    /// Says that nothing needs to be written for a task; it still orders its group.
    pub fn silence(&mut self, task: usize) {
        self.silent[task] = true;
    }

    /// The groups in order: each after those it depends on, otherwise as the function has them.
    pub fn order(&self) -> Result<Vec<usize>, Fault> {
        let partition = &self.partition;
        let mut waiting = vec![0; self.tasks.len()];
        for group in partition.groups() {
            partition.successors(group).for_each(|next| waiting[next] += 1);
        }
        // The latest task of a group says when its operands exist, so a group comes no earlier than it must.
        let rank = |group: usize| partition.members(group).iter().copied().max().unwrap_or(0);
        let mut ready: BTreeSet<(usize, usize)> = partition
            .groups()
            .filter(|group| waiting[*group] == 0)
            .map(|group| (rank(group), group))
            .collect();
        let mut order = Vec::new();
        while let Some((_, group)) = ready.pop_first() {
            order.push(group);
            for next in partition.successors(group) {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.insert((rank(next), next));
                }
            }
        }
        match order.len() == partition.groups().count() {
            true => Ok(order),
            false => Err(Fault::Bug("kernels depend on each other in a cycle".to_owned())),
        }
    }
}

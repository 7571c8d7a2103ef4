//! Groups tasks into kernels with a greedy search that never creates cycles, and orders the
//! kernels.
//!
//! Note [Merging groups]. Two groups with the same domain may merge under two conditions. First, if
//! a task reads memory that another task writes, it must read, at each point, only the element that
//! the other task writes at this point. After the merge, the reading task uses the computed value.
//! Second, there must be no path from one group to the other through a third group. Paths consist
//! of true dependences, and of the dependences between tasks that use a state: a task that reads
//! its old value comes before the task that writes its new value.
//!
//! Groups are merged in four steps. The first step merges a task that overwrites data with the
//! tasks that read these data. If such tasks cannot become one kernel, one of them must write to
//! other memory, whose content is copied at the end. The second step merges each task with the
//! tasks that produce the elements it reads. The third step merges tasks that read the same
//! elements. The last step merges kernels whose launch costs more than their work.
//!
//! Note [Compile time]. In the last two steps, the two groups of a pair may be anywhere in the
//! function. Examining all pairs takes quadratic time. In a deep network, most pairs cannot be
//! merged, because a path leads from one group to the other. Merging a task is therefore tried only
//! with the [`NEAR`] latest groups before it.

use crate::partition::Partition;
use crate::task::{self, Common, FusedTask, TensorStorage};
use crate::tensor::Tensors;
use crate::uses::{CellUses, MemoryCell, Uses};
use bnnc_base::fault::Fault;
use bnnc_base::shape::Dim;
use std::collections::{BTreeSet, HashMap};

/// The largest number of groups with which merging a task is tried. The latest groups come first.
/// In all examples, a task joins one of the three latest groups. In chains of hundreds of layers, a
/// task joins the latest group.
const NEAR: usize = 16;
/// The largest number of tasks in a kernel if the tasks do not read each other's elements. In
/// larger kernels, the cost of the launch no longer matters, and code generators take more than
/// linear time. With the updates of 2000 layers in one kernel, Cranelift takes a minute; with this
/// limit, it takes 0.3 s.
const MOST: usize = 64;
/// The largest number of tasks in a kernel if the tasks read each other's elements. Cranelift takes
/// quadratic time to allocate registers. With the updates of 2000 scalar parameters in one kernel,
/// register allocation took 10 s out of 12 s.
const MOST_LINKED: usize = 256;

/// The tasks, and the partition of the tasks into kernels and calls.
pub struct Groups {
    /// The tasks.
    pub tasks: Vec<FusedTask>,
    /// The groups of tasks, and their order.
    pub partition: Partition,
    /// For each task, true if only its own group uses its result, so that the result need not be
    /// written to memory.
    pub silent: Vec<bool>,
    /// The readers and writers of each memory cell.
    uses: Uses,
    /// For each group, which of its tasks read and write memory.
    own: Vec<CellUses>,
    /// The pairs of groups that were examined. The value is `None` if the two groups do not fit.
    /// Otherwise, it holds the number of tasks that each group had when the pair was examined.
    fit: HashMap<(usize, usize), Option<(usize, usize)>>,
}

/// The result of grouping tasks.
pub enum Grouped {
    /// The grouping succeeded. The field holds the groups.
    Done(Box<Groups>),
    /// A task cannot write to its port directly. It must write to other memory, and the result is
    /// copied at the end. The fields are the index of this task, and all tasks.
    Copy(usize, Vec<FusedTask>),
}

/// The first and the last of the tasks in a group that have a certain property.
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
    let order = groups.order()?;
    groups.partition.place(&order);
    groups.join_producers();
    groups.join_alike(|task| task::common_reads(tensors, task));
    groups.join_alike(|task| task::common_cost(task).into_iter().collect());
    Ok(Grouped::Done(Box::new(groups)))
}

impl Groups {
    /// Returns whether the tasks of two groups fit into one kernel. Paths through other groups are
    /// not examined.
    fn fits(&mut self, left: usize, right: usize) -> bool {
        let pair = (left.min(right), left.max(right));
        let members = |group: usize| self.partition.members(group);
        let counts = (members(pair.0).len(), members(pair.1).len());
        let fits = match self.fit.get(&pair) {
            // A pair that did not fit cannot fit after tasks were added. For a pair that did fit,
            // only the tasks added since then are examined.
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

    /// Returns whether two groups are kernels with the same domain. All tasks of a group have the same
    /// domain.
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

    /// Returns whether a task and the tasks of a group fit. The tasks fit if each reads from the
    /// other's memory only elements that are written at the same point.
    fn fits_into(&self, task: usize, group: usize) -> bool {
        let own = &self.own[group];
        let reads = self.uses.reads[task].iter().zip(&self.tasks[task].reads);
        let mut reads_fit = reads.map(|(cell, (_, place))| {
            let mut writers = own.writers(*cell).iter();
            writers.all(|writer| self.tasks[*writer].stores_at(place.as_ref()))
        });
        let mut writes_fit = MemoryCell::written(&self.tasks[task]).map(|cell| {
            let mut readers = own.readers(cell).iter();
            readers.all(|reader| self.reads_what_is_stored(*reader, cell, task))
        });
        reads_fit.all(|fits| fits) && writes_fit.all(|fits| fits)
    }

    /// Returns whether, at each point, the task `reader` reads only the element of a memory cell
    /// that the task `writer` writes at this point.
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

    /// Returns the number of tasks of a group.
    fn size(&self, group: usize) -> usize {
        self.partition.members(group).len()
    }

    /// Merges two groups if they may be one kernel. Returns whether they were merged.
    fn try_merge(&mut self, left: usize, right: usize) -> bool {
        let free = self.fits(left, right)
            && !self.partition.detour(left, right)
            && !self.partition.detour(right, left);
        if free {
            self.merge(left.min(right), left.max(right));
        }
        free
    }

    /// Merges tasks if one of them overwrites data that another one reads, because such tasks must
    /// be in one kernel. If this is not possible, returns one of these tasks, which must then write
    /// to other memory.
    fn join_cycles(&mut self) -> Option<usize> {
        let cycles = self.partition.cycles();
        let mut cycle_of = vec![None; self.tasks.len()];
        for (number, cycle) in cycles.iter().enumerate() {
            cycle.iter().for_each(|task| cycle_of[*task] = Some(number));
        }
        let overwrites = |task: &usize| {
            let port = self.tasks[*task].port.map(MemoryCell::Port);
            cycle_of[*task].is_some() && port.is_some_and(|port| !self.uses.all.readers(port).is_empty())
        };
        let mut writers: Vec<usize> = (0..self.tasks.len()).filter(overwrites).collect();
        // A task that copies cannot write to other memory, so the other tasks come first.
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

    /// Merges each kernel with the kernels that compute the elements it reads.
    fn join_producers(&mut self) {
        for consumer in 0..self.tasks.len() {
            for read in 0..self.tasks[consumer].reads.len() {
                let cell = MemoryCell::Tensor(self.tasks[consumer].reads[read].0);
                for at in 0..self.uses.all.writers(cell).len() {
                    let producer = self.uses.all.writers(cell)[at];
                    let (left, right) = (self.partition.of(producer), self.partition.of(consumer));
                    if self.size(left) + self.size(right) <= MOST_LINKED {
                        self.try_merge(left, right);
                    }
                }
            }
        }
    }

    /// Merges kernels with the same domain if two of their tasks have a property in common that
    /// makes the merge worthwhile. See Note [Compile time].
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

    /// Returns the spans of the [`NEAR`] latest groups. Each group has one span.
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

    /// Merges the group of a task with groups of earlier tasks, if they may be one kernel.
    fn join_one(&mut self, right: usize, mut lefts: Vec<usize>) {
        // A merge can remove a path that prevented the merge of two other groups, so the search
        // starts again after each merge.
        let joins = |groups: &mut Groups, left: &usize| {
            let pair = (groups.partition.of(*left), groups.partition.of(right));
            let is_small = groups.size(pair.0) + groups.size(pair.1) <= MOST;
            pair.0 != pair.1 && is_small && groups.try_merge(pair.0, pair.1)
        };
        while let Some(at) = lefts.iter().position(|left| joins(self, left)) {
            lefts.remove(at);
        }
    }

    /// Returns whether a task outside the group of `task` reads the tensor that `task` writes.
    pub fn is_read_outside(&self, task: usize) -> bool {
        let group = self.partition.of(task);
        let cell = self.tasks[task].writes.map(MemoryCell::Tensor);
        let mut readers = cell.into_iter().flat_map(|cell| self.uses.all.readers(cell));
        readers.any(|reader| self.partition.of(*reader) != group)
    }

    /// Marks a task whose result need not be written to memory. The marked task still affects the
    /// order of its group.
    pub fn silence(&mut self, task: usize) {
        self.silent[task] = true;
    }

    /// Returns the groups in order, so that each group follows all groups on which it depends.
    /// Otherwise, the groups keep the order of the function.
    pub fn order(&self) -> Result<Vec<usize>, Fault> {
        let partition = &self.partition;
        let mut waiting = vec![0; self.tasks.len()];
        for group in partition.groups() {
            partition.successors(group).for_each(|next| waiting[next] += 1);
        }
        // All operands of a group exist at the position of its latest task. This task is therefore
        // the rank of the group, so that no group runs earlier than necessary.
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

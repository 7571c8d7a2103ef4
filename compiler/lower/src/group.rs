//! Groups tasks into kernels, greedily and without cycles, and orders them.
//!
//! Note [What may be one kernel]. Two groups of one domain may merge if every task reads of the memory that another writes
//! only the element that the same point writes (such reads become uses of the computed value), and if no path leads from one
//! to the other through a third. Paths follow true dependencies and the order that states ask for: who reads the old value
//! of a state comes before who overwrites it. In this order of preference, merged are: tasks that overwrite what each other
//! read, which can only be one kernel (else one of them writes elsewhere, with a copy at the end); consumers with the
//! producers of the elements they read; readers of the same elements; and kernels so small that launching them is the cost.

use crate::task::{self, Storage, Task};
use crate::tensor::{Kind, TensorId, Tensors};
use bnnc_base::fault::Fault;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Tasks, and their partition into kernels and calls.
pub struct Groups<'a> {
    tensors: &'a Tensors,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// For each task, its group.
    pub of: Vec<usize>,
    /// For each group, its tasks; empty where it was merged into another.
    pub members: Vec<Vec<usize>>,
    /// For each task, whether its result is only used inside its group, and not written.
    pub silent: Vec<bool>,
    /// For each task, those that must come later.
    after: Vec<Vec<usize>>,
    /// Pairs of groups of which some tasks do not fit: growing does not mend that.
    unfit: HashSet<(usize, usize)>,
}

/// What grouping comes to.
pub enum Grouped<'a> {
    /// Groups.
    Done(Groups<'a>),
    /// This task cannot write its port in place: it must write elsewhere, with a copy at the end.
    Copy(usize, Vec<Task>),
}

/// Groups the tasks of `storage`.
pub fn group<'a>(tensors: &'a Tensors, live: &[bool], storage: &Storage) -> Result<Grouped<'a>, Fault> {
    let tasks = task::tasks(tensors, live, storage)?;
    if let Some(bad) = (0..tasks.len()).find(|at| !task::compatible(tensors, &tasks[*at], &tasks[*at])) {
        return Ok(Grouped::Copy(bad, tasks));
    }
    let after = edges(tensors, &tasks);
    let count = tasks.len();
    let members = (0..count).map(|at| vec![at]).collect();
    let mut groups = Groups {
        tensors,
        tasks,
        of: (0..count).collect(),
        members,
        silent: vec![false; count],
        after,
        unfit: HashSet::new(),
    };
    if let Some(bad) = groups.join_cycles() {
        return match groups.tasks[bad].writes {
            Some(_) => Ok(Grouped::Copy(bad, groups.tasks)),
            None => Err(Fault::Bug("kernels depend on each other in a cycle".to_owned())),
        };
    }
    groups.join_producers();
    groups.join_where(|left, right| task::shares(tensors, left, right));
    groups.join_where(|left, right| task::is_small(left) && task::is_small(right));
    Ok(Grouped::Done(groups))
}

/// For each task those that must come later: readers of what it writes, and writers of ports that it reads.
fn edges(tensors: &Tensors, tasks: &[Task]) -> Vec<Vec<usize>> {
    let mut writers: HashMap<TensorId, Vec<usize>> = HashMap::new();
    let mut ports: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, task) in tasks.iter().enumerate() {
        task.writes
            .iter()
            .for_each(|id| writers.entry(*id).or_default().push(at));
        task.port
            .iter()
            .for_each(|port| ports.entry(*port).or_default().push(at));
    }
    let mut after = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        for (id, _) in &task.reads {
            match tensors[*id].kind {
                Kind::Buffer(buffer) => {
                    let overwriters = ports.get(&buffer).into_iter().flatten();
                    after[at].extend(overwriters.filter(|writer| **writer != at));
                }
                _ => writers
                    .get(id)
                    .into_iter()
                    .flatten()
                    .for_each(|writer| after[*writer].push(at)),
            }
        }
    }
    for (id, list) in &writers {
        if matches!(tensors[*id].kind, Kind::Assembled { ordered: true, .. }) {
            list.windows(2).for_each(|pair| after[pair[0]].push(pair[1]));
        }
    }
    for list in &mut after {
        list.sort_unstable();
        list.dedup();
    }
    after
}

impl Groups<'_> {
    /// The groups that must come after `group`.
    fn successors(&self, group: usize) -> impl Iterator<Item = usize> {
        let later = self.members[group].iter().flat_map(|task| &self.after[*task]);
        later
            .map(|task| self.of[*task])
            .filter(move |other| *other != group)
    }

    /// All groups that must come after `group`.
    fn descendants(&self, group: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = self.successors(group).collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(self.successors(next));
            }
        }
        seen
    }

    fn fits(&self, left: usize, right: usize) -> bool {
        let fit = |x: &Task, y: &Task| {
            x.is_kernel()
                && y.is_kernel()
                && task::compatible(self.tensors, x, y)
                && task::compatible(self.tensors, y, x)
        };
        let tasks = |group: usize| self.members[group].iter().map(|task| &self.tasks[*task]);
        // All tasks of a group have one domain.
        let domain = |group: usize| tasks(group).next().map(|task| &task.domain);
        left != right && domain(left) == domain(right) && tasks(left).all(|x| tasks(right).all(|y| fit(x, y)))
    }

    /// Whether a path from `left` to `right` leaves both.
    fn detour(&self, left: usize, right: usize) -> bool {
        let outside = self
            .successors(left)
            .filter(|next| *next != right)
            .collect::<BTreeSet<_>>();
        outside
            .into_iter()
            .any(|next| self.descendants(next).contains(&right))
    }

    fn merge(&mut self, left: usize, right: usize) {
        let moved = std::mem::take(&mut self.members[right]);
        moved.iter().for_each(|task| self.of[*task] = left);
        self.members[left].extend(moved);
    }

    /// Merges two groups if they may be one kernel, and says whether they did.
    fn try_merge(&mut self, left: usize, right: usize) -> bool {
        let pair = (left.min(right), left.max(right));
        if self.unfit.contains(&pair) {
            return false;
        }
        if !self.fits(left, right) {
            self.unfit.insert(pair);
            return false;
        }
        let free = !self.detour(left, right) && !self.detour(right, left);
        if free {
            self.merge(pair.0, pair.1);
        }
        free
    }

    /// Tasks that overwrite what each other read can only be one kernel; else gives one that must write elsewhere.
    fn join_cycles(&mut self) -> Option<usize> {
        let read = |id: &TensorId| match self.tensors[*id].kind {
            Kind::Buffer(buffer) => Some(buffer),
            _ => None,
        };
        let overwritten: BTreeSet<_> = self
            .tasks
            .iter()
            .flat_map(|task| task.reads.iter().filter_map(|(id, _)| read(id)))
            .collect();
        let updates = |task: &usize| {
            self.tasks[*task]
                .port
                .is_some_and(|port| overwritten.contains(&port))
        };
        let mut writers: Vec<usize> = (0..self.tasks.len()).filter(updates).collect();
        // A copy cannot be told to write elsewhere, so the others go first.
        writers.sort_by_key(|task| self.tasks[*task].writes.is_none());
        for task in writers {
            let group = self.of[task];
            let descendants = self.descendants(group);
            let in_cycle = |other: &usize| *other != group && self.descendants(*other).contains(&group);
            let cycle: Vec<usize> = descendants.iter().copied().filter(in_cycle).collect();
            for other in cycle {
                if !self.fits(self.of[task], other) {
                    return Some(task);
                }
                self.merge(self.of[task], other);
            }
        }
        None
    }

    /// A consumer of the very elements that a kernel makes joins it.
    fn join_producers(&mut self) {
        let mut writers: HashMap<TensorId, Vec<usize>> = HashMap::new();
        for (at, task) in self.tasks.iter().enumerate() {
            task.writes
                .iter()
                .for_each(|id| writers.entry(*id).or_default().push(at));
        }
        for consumer in 0..self.tasks.len() {
            let read = self.tasks[consumer]
                .reads
                .iter()
                .map(|(id, _)| *id)
                .collect::<Vec<_>>();
            for id in read {
                for producer in writers.get(&id).into_iter().flatten() {
                    self.try_merge(self.of[*producer], self.of[consumer]);
                }
            }
        }
    }

    /// Kernels of one domain become one where two of their tasks are worth it.
    fn join_where(&mut self, worth: impl Fn(&Task, &Task) -> bool) {
        for right in 0..self.tasks.len() {
            // Groups that could not be merged with that of `right`: they stay so until some merge shortens the paths.
            let mut apart: HashSet<usize> = HashSet::new();
            for left in 0..right {
                let group = self.of[left];
                let same_domain = self.tasks[left].domain == self.tasks[right].domain;
                if group == self.of[right] || !same_domain || apart.contains(&group) {
                    continue;
                }
                if worth(&self.tasks[left], &self.tasks[right]) {
                    match self.try_merge(group, self.of[right]) {
                        true => apart.clear(),
                        false => _ = apart.insert(group),
                    }
                }
            }
        }
    }

    /// Whether a task outside the group of `task` reads what it writes.
    pub fn is_read_outside(&self, task: usize) -> bool {
        let reads = |other: &usize| {
            self.of[*other] != self.of[task]
                && self.tasks[*other]
                    .reads
                    .iter()
                    .any(|(id, _)| self.tasks[task].writes == Some(*id))
        };
        (0..self.tasks.len()).any(|other| reads(&other))
    }

    /// Says that nothing needs to be written for a task; it still orders its group.
    pub fn silence(&mut self, task: usize) {
        self.silent[task] = true;
    }

    /// The groups in order: each after those it depends on, otherwise as the function has them.
    pub fn order(&self) -> Result<Vec<usize>, Fault> {
        let mut waiting = vec![0; self.members.len()];
        let live = || (0..self.members.len()).filter(|group| !self.members[*group].is_empty());
        for group in live() {
            self.successors(group).for_each(|next| waiting[next] += 1);
        }
        // The latest task of a group says when its operands exist, so a group comes no earlier than it must.
        let rank = |group: usize| self.members[group].iter().copied().max().unwrap_or(0);
        let mut ready: BTreeSet<(usize, usize)> = live()
            .filter(|group| waiting[*group] == 0)
            .map(|group| (rank(group), group))
            .collect();
        let mut order = Vec::new();
        while let Some((_, group)) = ready.pop_first() {
            order.push(group);
            for next in self.successors(group) {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.insert((rank(next), next));
                }
            }
        }
        match order.len() == live().count() {
            true => Ok(order),
            false => Err(Fault::Bug("kernels depend on each other in a cycle".to_owned())),
        }
    }
}

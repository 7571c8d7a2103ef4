//! Finds, for each memory cell, the tasks that write it and the tasks that read it.

use crate::task::FusedTask;
use crate::tensor::{TensorDef, TensorId, Tensors};
use bnnc_abi::plan::BufferId;
use std::collections::HashMap;

/// A memory cell: memory that tasks read or write as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryCell {
    /// A port of the plan.
    Port(BufferId),
    /// The memory of a tensor.
    Tensor(TensorId),
}

impl MemoryCell {
    /// Returns the memory cell that holds a tensor.
    pub fn read(tensors: &Tensors, id: TensorId) -> MemoryCell {
        match tensors[id].kind {
            TensorDef::Buffer(buffer) => MemoryCell::Port(buffer),
            _ => MemoryCell::Tensor(id),
        }
    }

    /// Returns the memory cells that a task writes.
    pub fn written(task: &FusedTask) -> impl Iterator<Item = MemoryCell> {
        let port = task.port.map(MemoryCell::Port);
        port.into_iter().chain(task.writes.map(MemoryCell::Tensor))
    }
}

/// The tasks that write each memory cell and the tasks that read it, in order.
pub struct Uses {
    /// The uses by all tasks.
    pub all: CellUses,
    /// For each task, the memory cell of each of its reads.
    pub reads: Vec<Vec<MemoryCell>>,
}

impl Uses {
    /// Collects the uses of all tasks.
    pub fn new(tensors: &Tensors, tasks: &[FusedTask]) -> Uses {
        let read = |(id, _): &(TensorId, _)| MemoryCell::read(tensors, *id);
        let mut uses = Uses {
            all: CellUses::default(),
            reads: tasks
                .iter()
                .map(|task| task.reads.iter().map(read).collect())
                .collect(),
        };
        for (at, task) in tasks.iter().enumerate() {
            uses.all.enter(at, task, &uses.reads[at]);
        }
        uses
    }

    /// Returns the uses by each task alone.
    pub fn of_each(&self, tasks: &[FusedTask]) -> Vec<CellUses> {
        let one = |(at, task): (usize, &FusedTask)| {
            let mut own = CellUses::default();
            own.enter(at, task, &self.reads[at]);
            own
        };
        tasks.iter().enumerate().map(one).collect()
    }

    /// Returns, for each task, the tasks that must come later. These are the tasks that read memory
    /// that this task writes, or write a port that this task reads.
    pub fn order(&self, tensors: &Tensors) -> Vec<Vec<usize>> {
        let mut after = vec![Vec::new(); self.reads.len()];
        for (at, reads) in self.reads.iter().enumerate() {
            for cell in reads {
                match cell {
                    MemoryCell::Port(_) => {
                        let overwriters = self.all.writers(*cell).iter();
                        after[at].extend(overwriters.filter(|writer| **writer != at));
                    }
                    MemoryCell::Tensor(_) => self
                        .all
                        .writers(*cell)
                        .iter()
                        .for_each(|writer| after[*writer].push(at)),
                }
            }
        }
        for (cell, list) in &self.all.writers {
            let MemoryCell::Tensor(id) = cell else { continue };
            if matches!(tensors[*id].kind, TensorDef::Assembled { ordered: true, .. }) {
                list.windows(2).for_each(|pair| after[pair[0]].push(pair[1]));
            }
        }
        for list in &mut after {
            list.sort_unstable();
            list.dedup();
        }
        after
    }
}

/// The writers and readers of each memory cell among some tasks.
#[derive(Default)]
pub struct CellUses {
    writers: HashMap<MemoryCell, Vec<usize>>,
    readers: HashMap<MemoryCell, Vec<usize>>,
}

impl CellUses {
    /// Returns the tasks that write a memory cell.
    pub fn writers(&self, cell: MemoryCell) -> &[usize] {
        self.writers.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// Returns the tasks that read a memory cell.
    pub fn readers(&self, cell: MemoryCell) -> &[usize] {
        self.readers.get(&cell).map_or(&[], Vec::as_slice)
    }

    fn enter(&mut self, at: usize, task: &FusedTask, reads: &[MemoryCell]) {
        MemoryCell::written(task).for_each(|cell| enter(&mut self.writers, cell, at));
        reads.iter().for_each(|cell| enter(&mut self.readers, *cell, at));
    }

    /// Adds the uses of another group. The time is proportional to the size of the smaller set of
    /// uses.
    pub fn take(&mut self, mut other: CellUses) {
        if self.readers.len() < other.readers.len() {
            std::mem::swap(self, &mut other);
        }
        for (into, from) in [
            (&mut self.writers, other.writers),
            (&mut self.readers, other.readers),
        ] {
            from.into_iter()
                .for_each(|(cell, tasks)| into.entry(cell).or_default().extend(tasks));
        }
    }
}

/// Adds a task to the list of a memory cell if the list does not already contain the task.
fn enter(map: &mut HashMap<MemoryCell, Vec<usize>>, cell: MemoryCell, task: usize) {
    let list = map.entry(cell).or_default();
    if list.last() != Some(&task) {
        list.push(task);
    }
}

//! The distinct element addresses that a kernel uses.

use bnnc_base::arena::Id;
use bnnc_loops::ir::{Access, InstId, Kernel};

/// The distinct accesses of a kernel.
pub(crate) struct Accesses<'a> {
    list: Vec<&'a Access>,
    loads: Vec<Option<usize>>,
    outputs: Vec<usize>,
}

impl<'a> Accesses<'a> {
    /// Collects the accesses of the outputs, and of the loads on which an output depends (`live`).
    pub fn of(kernel: &'a Kernel, live: &[bool]) -> Accesses<'a> {
        let mut accesses = Accesses {
            list: Vec::new(),
            loads: vec![None; kernel.body.len()],
            outputs: Vec::new(),
        };
        for id in kernel.body.ids().filter(|id| live[id.index()]) {
            if let Some(access) = kernel.body[id].op.load() {
                accesses.loads[id.index()] = Some(accesses.number(access));
            }
        }
        for output in &kernel.outputs {
            let number = accesses.number(&output.access);
            accesses.outputs.push(number);
        }
        accesses
    }

    fn number(&mut self, access: &'a Access) -> usize {
        let known = self.list.iter().position(|listed| *listed == access);
        known.unwrap_or_else(|| {
            self.list.push(access);
            self.list.len() - 1
        })
    }

    /// Returns all distinct accesses.
    pub fn list(&self) -> &[&'a Access] {
        &self.list
    }

    /// Returns the index of a load's access in the list.
    pub fn load(&self, id: InstId) -> usize {
        self.loads[id.index()].unwrap_or_else(|| unreachable!("{id} is a live load"))
    }

    /// Returns the index of an output's access in the list.
    pub fn output(&self, output: usize) -> usize {
        self.outputs[output]
    }
}

//! The element addresses of a kernel, each listed once.

use bnnc_abi::plan::Storage;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_loops::ir::{Access, InstId, InstOp, Kernel, Size};

/// The distinct accesses of a kernel.
pub(crate) struct Accesses<'a> {
    list: Vec<&'a Access>,
    loads: Vec<Option<usize>>,
    outputs: Vec<usize>,
}

impl<'a> Accesses<'a> {
    /// Those of live loads and of outputs.
    pub fn of(kernel: &'a Kernel, live: &[bool]) -> Accesses<'a> {
        let mut accesses = Accesses {
            list: Vec::new(),
            loads: vec![None; kernel.body.len()],
            outputs: Vec::new(),
        };
        for id in kernel.body.ids().filter(|id| live[id.index()]) {
            if let InstOp::Load(access) = &kernel.body[id].op {
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

    /// All of them.
    pub fn list(&self) -> &[&'a Access] {
        &self.list
    }

    /// The number of a load's access.
    pub fn load(&self, id: InstId) -> usize {
        self.loads[id.index()].unwrap_or_else(|| unreachable!("{id} is a live load"))
    }

    /// The number of an output's access.
    pub fn output(&self, output: usize) -> usize {
        self.outputs[output]
    }
}

/// How an address moves along the innermost axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    /// Not at all.
    Still,
    /// By one real per iteration, so that one byte counter serves all such accesses.
    Unit,
    /// Otherwise, or by a stride that only a run knows.
    Moving,
}

/// The motion of `access` along the innermost axis.
pub(crate) fn motion(kernel: &Kernel, access: &Access, precision: Precision) -> Motion {
    match access.strides.last() {
        Some(Size::Fixed(0)) => Motion::Still,
        Some(Size::Fixed(1)) if element_bytes(kernel, access, precision) == precision.bytes() as i64 => {
            Motion::Unit
        }
        _ => Motion::Moving,
    }
}

/// Bytes of one element of the accessed buffer.
pub(crate) fn element_bytes(kernel: &Kernel, access: &Access, precision: Precision) -> i64 {
    match kernel.slots[access.slot as usize] {
        Storage::Real => precision.bytes() as i64,
        Storage::Int => 4,
    }
}

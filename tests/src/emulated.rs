//! A device that is emulated on the host. The memory of the emulated device is a separate
//! allocation on the host, and the host executes the kernels.
//!
//! A machine must compute the same bits with and without the emulated device. All copies to and
//! from the emulated device are recorded.

use bnnc_abi::accelerator::{Accelerator, CachedRows, DeviceAddress, DeviceArena, DeviceSession};
use bnnc_abi::code::{Artifact, KernelArgs, KernelCode};
use bnnc_abi::plan::Plan;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_kernels::arena::layout;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A recorded call of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Bytes were copied to the device.
    Upload(Range<usize>),
    /// Bytes were copied from the device.
    Download(Range<usize>),
    /// The plan was run.
    Run,
    /// Bytes were copied from another arena.
    Copy(Range<usize>),
    /// This number of bytes of rows was copied to the device and kept there.
    Keep(usize),
    /// Rows that were kept on the device were gathered into these bytes.
    Gather(Range<usize>),
}

thread_local! {
    static ASKED: RefCell<Vec<Asked>> = const { RefCell::new(Vec::new()) };
}

/// Returns the calls of sessions that this thread has made since its last call of this function.
pub fn asked() -> Vec<Asked> {
    ASKED.take()
}

fn note(asked: Asked) {
    ASKED.with_borrow_mut(|all| all.push(asked));
}

/// Wraps code so that it runs through the interface for devices. This function has the type
/// [`bnnc_abi::code::Attach`].
///
/// # Errors
/// This function does not fail.
pub fn attach(code: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    Ok(Arc::new(Emulated(code)))
}

struct Emulated(Arc<dyn KernelCode>);

impl KernelCode for Emulated {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {
        unreachable!("machines leave kernels to the device");
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.0.scratch_bytes(kernel)
    }

    fn is_reference(&self) -> bool {
        self.0.is_reference()
    }

    fn text(&self) -> String {
        self.0.text()
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        Some(self)
    }
}

impl Accelerator for Emulated {
    fn open(&self, arena: DeviceArena) -> Result<Box<dyn DeviceSession>, Fault> {
        let DeviceArena { plan, capacity, .. } = arena;
        assert_eq!(arena.offsets, layout(plan, capacity).offsets);
        let mut machine = machine(plan, self.0.clone(), *capacity)?;
        // The arena is cleared here, so that the host must send the constants, as it does for a
        // real device.
        machine.arena_mut().fill(0);
        Ok(Box::new(Memory {
            machine,
            bytes: arena.bytes,
            tables: HashMap::new(),
        }))
    }

    fn describe(&self) -> String {
        "memory of the host".to_owned()
    }
}

fn machine(plan: &Arc<Plan>, code: Arc<dyn KernelCode>, capacity: Sizes) -> Result<Machine, Fault> {
    let plan = plan.clone();
    Machine::new(&Artifact { plan, code }, capacity, Arc::new(Pool::new(1)))
}

/// A session whose machine has a separate arena.
struct Memory {
    machine: Machine,
    bytes: usize,
    /// For each place in the arena, the stamp of its rows and, from the second use of the rows on,
    /// the rows themselves.
    tables: HashMap<usize, (u64, Vec<u8>)>,
}

impl Memory {
    fn part(&mut self, at: usize, count: usize) -> &mut [u8] {
        assert!(at + count <= self.bytes, "{at} + {count} bytes of {}", self.bytes);
        &mut self.machine.arena_mut()[at..at + count]
    }
}

impl DeviceSession for Memory {
    fn upload(&mut self, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.part(at, bytes.len()).copy_from_slice(bytes);
        note(Asked::Upload(at..at + bytes.len()));
        Ok(())
    }

    fn download(&mut self, at: usize, bytes: &mut [u8]) -> Result<(), Fault> {
        bytes.copy_from_slice(self.part(at, bytes.len()));
        note(Asked::Download(at..at + bytes.len()));
        Ok(())
    }

    fn run(&mut self, sizes: &Sizes) -> Result<(), Fault> {
        note(Asked::Run);
        self.machine.set_sizes(sizes)?;
        self.machine.run()
    }

    fn gather(&mut self, at: usize, rows: &CachedRows, chosen: &[u32]) -> Result<bool, Fault> {
        let table = self.tables.entry(at).or_insert((!rows.stamp, Vec::new()));
        if table.0 != rows.stamp {
            *table = (rows.stamp, Vec::new());
            return Ok(false);
        }
        if table.1.is_empty() {
            table.1 = rows
                .blocks()
                .flat_map(|block| (rows.read)(block).into_owned())
                .collect();
            note(Asked::Keep(rows.bytes()));
        }
        let row = |row: &u32| &table.1[*row as usize * rows.width..][..rows.width];
        let gathered: Vec<u8> = chosen.iter().flat_map(row).copied().collect();
        self.part(at, gathered.len()).copy_from_slice(&gathered);
        note(Asked::Gather(at..at + gathered.len()));
        Ok(true)
    }

    fn place(&mut self, at: usize) -> Result<DeviceAddress<'_>, Fault> {
        let address = self.part(at, 1).as_ptr() as u64;
        // SAFETY: the arena lives as long as the session, and the returned address borrows the
        // session.
        Ok(unsafe { DeviceAddress::new(0, address) })
    }

    fn copy(&mut self, at: usize, from: DeviceAddress, bytes: usize) -> Result<bool, Fault> {
        let to = self.part(at, bytes);
        // SAFETY: the address lies in the arena of another machine. This machine is alive, and is
        // not used during this call.
        let from = unsafe { std::slice::from_raw_parts(from.address as *const u8, bytes) };
        to.copy_from_slice(from);
        note(Asked::Copy(at..at + bytes));
        Ok(true)
    }
}

//! A session on a device: a plan, its arena and its schedules.
//!
//! Note [Graphs]. The first run for given sizes enqueues every launch. During this run, the driver and cuBLAS load their lazily
//! loaded parts. Such loading is not allowed in a capture. The
//! second run for the same sizes captures the same launches as a graph. Later runs launch this
//! graph as a whole. The session keeps the graphs of the most recent sizes. A training run needs two graphs: one for whole
//! batches, and one for the last batch of an epoch.

use crate::blas::Products;
use crate::capture::Captured;
use crate::device::{Device, OwnStream};
use crate::exchange::Exchange;
use crate::gather::{self, Need, Tables};
use crate::memory::{Allocation, PageLocked};
use crate::module::LoadedModule;
use crate::schedule::{LaunchSchedule, Resolver, scratch_bytes, uses_blas};
use bnnc_abi::accelerator::{
    CachedRows, CopiedRanges, DeviceAddress, DeviceArena, DeviceSession, one_by_one,
};
use bnnc_abi::device::DeviceProgram;
use bnnc_abi::plan::Plan;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::sync::Arc;

/// The maximum number of schedules, and also of exchanges, that a session keeps.
const REMEMBERED: usize = 8;
/// A run with more launches than this is not captured as a graph, because the time that the graph would save is not worth its
/// memory.
const LONGEST: u64 = 20_000;
/// The size, in bytes, of the page-locked memory for copies that are not part of a graph.
const STAGING_BYTES: usize = 1 << 20;
/// An exchange of more bytes than this is not captured as a graph, because copying its bytes takes far longer than enqueueing the
/// copies, and because page-locked memory is scarce.
const EXCHANGED_BYTES: usize = 16 << 20;
/// The alignment, in bytes, of the parts of the session's allocation on the device.
const ALIGN: usize = 256;

/// A device, and the program that contains the kernels of a plan.
pub struct OnDevice {
    /// The device.
    pub device: Arc<Device>,
    /// The descriptions of the launches of each kernel.
    pub program: Arc<DeviceProgram>,
    /// The loaded functions of the program.
    pub loaded: Arc<LoadedModule>,
}

/// An open session. The fields are declared in the order in which they must be dropped.
pub struct CudaSession {
    exchanges: Vec<Exchange>,
    runs: Vec<Run>,
    products: Option<Products>,
    tables: Tables,
    on: OnDevice,
    plan: Arc<Plan>,
    offsets: Vec<usize>,
    bytes: usize,
    scratch: (u64, usize),
    staging: PageLocked,
    stream: OwnStream,
    memory: Allocation,
}

/// The schedule for given sizes, and the graph that was captured from it.
struct Run {
    sizes: Sizes,
    schedule: LaunchSchedule,
    graph: Option<Captured>,
}

impl CudaSession {
    /// Opens a session. Allocates the device memory for runs of a plan, and sets it to zero.
    ///
    /// # Errors
    /// Fails if the device does not have enough memory, or if the driver reports an error.
    pub fn open(on: OnDevice, arena: DeviceArena) -> Result<CudaSession, Fault> {
        let device = on.device.clone();
        device.enter()?;
        let plan = arena.plan.clone();
        let blas = device.blas.as_ref();
        let blas = blas.filter(|_| uses_blas(&plan.steps, arena.capacity));
        let workspace = blas.map_or(0, |_| Products::workspace_bytes(&device));
        let scratch = scratch_bytes(&on.program, (&plan, &plan.steps), arena.capacity);
        let start = arena.bytes.next_multiple_of(ALIGN);
        let end = start.saturating_add(scratch);
        let after = end.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX);
        let memory = Allocation::new(&device, after.saturating_add(workspace), &plan.name)?;
        let stream = OwnStream::new(&device)?;
        let staging = PageLocked::new(&device, STAGING_BYTES)?;
        // SAFETY: the arena is the first part of the allocation.
        device.check("cuMemsetD8Async", unsafe {
            (device.driver().symbols.fill_bytes)(memory.address, 0, arena.bytes, stream.stream)
        })?;
        let products = match blas {
            // SAFETY: the workspace is the last part of the allocation.
            Some(blas) => Some(unsafe {
                Products::new(blas, stream.stream, (memory.address + after as u64, workspace))?
            }),
            None => None,
        };
        let session = CudaSession {
            exchanges: Vec::new(),
            runs: Vec::new(),
            products,
            tables: Tables::default(),
            on,
            plan,
            offsets: arena.offsets.to_vec(),
            bytes: arena.bytes,
            scratch: (memory.address + start as u64, scratch),
            staging,
            stream,
            memory,
        };
        // Resolving the plan for its capacity here reports a plan that cannot run before any run.
        session.resolve(arena.capacity)?;
        Ok(session)
    }

    fn resolve(&self, sizes: &Sizes) -> Result<LaunchSchedule, Fault> {
        let resolver = Resolver {
            plan: &self.plan,
            program: &self.on.program,
            loaded: &self.on.loaded,
            device: &self.on.device,
            offsets: &self.offsets,
            arena: self.memory.address,
            scratch: self.scratch,
            blas: self.products.is_some(),
        };
        resolver.schedule(sizes)
    }

    /// Waits until the device has finished all enqueued work.
    fn synchronise(&mut self) -> Result<(), Fault> {
        self.stream.synchronise()?;
        self.staging.clear();
        Ok(())
    }

    /// Returns the device address of `bytes` bytes of the arena that begin at `at`.
    fn address(&self, at: usize, bytes: usize) -> Result<u64, Fault> {
        match at.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.memory.address + at as u64),
            _ => Err(Fault::Bug(format!(
                "{bytes} bytes from {at} on are not in the {} of {}",
                self.bytes, self.plan.name
            ))),
        }
    }

    /// Returns `bytes` bytes of page-locked memory that no unfinished copy uses. Returns `None` if the page-locked memory of the
    /// session is smaller than this in total.
    fn stage(&mut self, bytes: usize) -> Result<Option<*mut u8>, Fault> {
        if !self.staging.may_hold(bytes) {
            return Ok(None);
        }
        if let Some(part) = self.staging.take(bytes) {
            return Ok(Some(part));
        }
        self.synchronise()?;
        Ok(self.staging.take(bytes))
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        match self.stage(bytes.len())? {
            Some(part) => {
                // SAFETY: the part has this number of bytes, which no unfinished copy uses, and the target was checked.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), part, bytes.len());
                    self.stream.copy_in(to, part, bytes.len())
                }
            }
            // SAFETY: the target was checked.
            None => unsafe { self.stream.copy_in(to, bytes.as_ptr(), bytes.len()) },
        }
    }

    /// Sends all rows to a table on the device, which was allocated for them.
    fn send_rows(&self, table: u64, rows: &CachedRows) -> Result<(), Fault> {
        for block in rows.blocks() {
            let to = table + (block.start * rows.width) as u64;
            let bytes = (rows.read)(block);
            // SAFETY: the table has room for all rows. The bytes are not page-locked, so the driver copies them before the call returns.
            unsafe { self.stream.copy_in(to, bytes.as_ptr(), bytes.len())? };
        }
        Ok(())
    }

    /// Returns the device address of these row indices. Sends them if the device does not have them
    /// yet.
    fn choose(&mut self, chosen: &[u32]) -> Result<u64, Fault> {
        if self.tables.indices(chosen).is_none() {
            self.synchronise()?;
            let device = self.on.device.clone();
            self.tables.make_room(&device, chosen)?;
        }
        let found = self.tables.indices(chosen);
        let (address, known) = found.ok_or_else(|| Fault::Bug("no room for row numbers".to_owned()))?;
        if !known {
            // SAFETY: integers do not have padding.
            let bytes = unsafe { std::slice::from_raw_parts(chosen.as_ptr().cast(), size_of_val(chosen)) };
            self.tables.remember(&[]);
            self.send(address, bytes)?;
            self.tables.remember(chosen);
        }
        Ok(address)
    }

    /// Moves the schedule for these sizes to the front of the kept schedules. If the schedule is
    /// not kept, creates it at the front. Returns whether it was kept before.
    fn schedule(&mut self, sizes: &Sizes) -> Result<bool, Fault> {
        if let Some(at) = self.runs.iter().position(|run| run.sizes == *sizes) {
            self.runs[..=at].rotate_right(1);
            return Ok(true);
        }
        let schedule = self.resolve(sizes)?;
        if self.runs.len() == REMEMBERED {
            // The stream may still be running the schedule that is about to be dropped.
            self.synchronise()?;
            self.runs.pop();
        }
        let run = Run {
            sizes: *sizes,
            schedule,
            graph: None,
        };
        self.runs.insert(0, run);
        Ok(false)
    }

    /// Enqueues the operations of the schedule at the front.
    fn issue(&self) -> Result<(), Fault> {
        let (device, stream, products) = (&self.on.device, self.stream.stream, self.products.as_ref());
        // SAFETY: all memory and all functions of the schedule live as long as the session. The
        // session waits for its stream when it is dropped.
        unsafe { self.runs[0].schedule.issue(device, stream, products) }
    }

    /// Moves an exchange to the front of the kept exchanges. If the exchange is not kept, creates
    /// it at the front. An exchange that was kept before is captured as a graph if possible. See
    /// Note [Exchanges] in `exchange`.
    fn recall(&mut self, sizes: &Sizes, traffic: CopiedRanges<'_>) -> Result<(), Fault> {
        let Some(at) = self.exchanges.iter().position(|one| one.is(sizes, traffic)) else {
            if let Some(oldest) = self.exchanges.get_mut(REMEMBERED - 1) {
                oldest.settle(&self.stream)?;
                self.exchanges.pop();
            }
            self.exchanges.insert(0, Exchange::new(sizes, traffic));
            return Ok(());
        };
        self.exchanges[..=at].rotate_right(1);
        let exchange = &self.exchanges[0];
        let bytes = exchange.bytes();
        if exchange.graph.is_some() || exchange.rejected || bytes > EXCHANGED_BYTES {
            return Ok(());
        }
        self.schedule(sizes)?;
        if self.runs[0].schedule.length() > LONGEST {
            return Ok(());
        }
        let (exchange, device, arena) = (&self.exchanges[0], &self.on.device, self.memory.address);
        let Ok(staging) = PageLocked::new(device, bytes) else {
            // Without a graph, the exchange still works, and does not need its own page-locked memory.
            self.exchanges[0].rejected = true;
            return Ok(());
        };
        let issue = || {
            // SAFETY: the ranges were checked. The exchange keeps the page-locked memory as long as
            // the graph.
            unsafe {
                exchange.send(&self.stream, &staging, arena)?;
                self.issue()?;
                exchange.receive(&self.stream, &staging, arena)
            }
        };
        let graph = Captured::new(device, self.stream.stream, issue)?;
        self.exchanges[0].graph = Some((graph, staging));
        Ok(())
    }
}

impl DeviceSession for CudaSession {
    fn upload(&mut self, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        let to = self.address(at, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.on.device.enter()?;
        self.send(to, bytes)
    }

    fn download(&mut self, at: usize, bytes: &mut [u8]) -> Result<(), Fault> {
        let from = self.address(at, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.on.device.enter()?;
        match self.stage(bytes.len())? {
            Some(part) => {
                // SAFETY: the source was checked, and the part has this number of bytes. After the
                // wait, all copies have finished.
                unsafe {
                    self.stream.copy_out(part, from, bytes.len())?;
                    self.synchronise()?;
                    std::ptr::copy_nonoverlapping(part, bytes.as_mut_ptr(), bytes.len());
                }
            }
            None => {
                // SAFETY: the source was checked. The target is borrowed until the stream has
                // finished the copy.
                unsafe { self.stream.copy_out(bytes.as_mut_ptr(), from, bytes.len())? };
                self.synchronise()?;
            }
        }
        Ok(())
    }

    fn run(&mut self, sizes: &Sizes) -> Result<(), Fault> {
        self.on.device.enter()?;
        let again = self.schedule(sizes)?;
        let run = &self.runs[0];
        if again && run.graph.is_none() && run.schedule.length() <= LONGEST {
            let graph = Captured::new(&self.on.device, self.stream.stream, || self.issue())?;
            self.runs[0].graph = Some(graph);
        }
        match &self.runs[0].graph {
            Some(graph) => graph.launch(self.stream.stream),
            None => self.issue(),
        }
    }

    fn exchange(&mut self, sizes: &Sizes, mirror: &mut [u8], traffic: CopiedRanges<'_>) -> Result<(), Fault> {
        for range in traffic.sent.iter().chain(traffic.wanted) {
            self.address(range.start, range.len())?;
        }
        self.on.device.enter()?;
        // An exchange that does not fetch results does not wait for the device. It is not replayed as a graph, because the next
        // step could then overwrite page-locked memory that the device has not read yet.
        if !traffic.wanted.is_empty() {
            self.recall(sizes, traffic)?;
            if self.exchanges[0].replay(&self.stream, mirror)? {
                self.staging.clear();
                return Ok(());
            }
        }
        one_by_one(self, sizes, mirror, traffic)
    }

    /// Gathers the chosen rows into the arena on the device. See Note [Rows on the device] in
    /// `gather`.
    fn gather(&mut self, at: usize, rows: &CachedRows, chosen: &[u32]) -> Result<bool, Fault> {
        let to = self.address(at, chosen.len() * rows.width)?;
        if let Some(row) = chosen.iter().find(|row| **row as usize >= rows.count) {
            return Err(Fault::Bug(format!("row {row} of {}", rows.count)));
        }
        let device = self.on.device.clone();
        device.enter()?;
        if self.tables.is_other(at, rows.stamp) {
            self.synchronise()?;
        }
        let table = match self.tables.need(&device, at, rows)? {
            Need::Host => return Ok(false),
            Need::Kept(table) => table,
            Need::Rows(table) => {
                if let Err(fault) = self.send_rows(table, rows) {
                    self.tables.forget(at);
                    return Err(fault);
                }
                table
            }
        };
        let indices = self.choose(chosen)?;
        let words = (rows.width / 4) as u64;
        let parameters = [to, table, indices, words, words * chosen.len() as u64];
        let function = self.on.loaded.function(gather::ENTRY)?;
        // SAFETY: the target and the row indices were checked. The row indices have been sent.
        unsafe { gather::launch(&device, function, self.stream.stream, parameters)? };
        Ok(true)
    }

    fn place(&mut self, at: usize) -> Result<DeviceAddress<'_>, Fault> {
        let address = self.address(at, 0)?;
        self.on.device.enter()?;
        self.synchronise()?;
        // SAFETY: the arena lives as long as the session, which the returned address borrows.
        Ok(unsafe { DeviceAddress::new(device_number(&self.on.device), address) })
    }

    fn copy(&mut self, at: usize, from: DeviceAddress, bytes: usize) -> Result<bool, Fault> {
        let to = self.address(at, bytes)?;
        if from.device != device_number(&self.on.device) {
            return Ok(false);
        }
        self.on.device.enter()?;
        let copy = self.on.device.driver().symbols.copy_within;
        // SAFETY: the target was checked. The source is valid during this call, which waits until
        // the copy has finished.
        self.on.device.check("cuMemcpyDtoDAsync", unsafe {
            copy(to, from.address, bytes, self.stream.stream)
        })?;
        self.synchronise()?;
        Ok(true)
    }
}

impl Drop for CudaSession {
    fn drop(&mut self) {
        // The stream may still use the memory of the session. If the wait fails, the device has
        // stopped.
        let _ = self.on.device.enter();
        let _ = self.stream.synchronise();
    }
}

/// Returns a number that identifies a device in this process. All sessions on the device have the
/// same number.
fn device_number(device: &Arc<Device>) -> u64 {
    Arc::as_ptr(device) as u64
}

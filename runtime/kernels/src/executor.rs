//! The executor of plans. The executor allocates memory and resolves the steps once, and can then
//! run the steps many times.

use crate::arena::{self, ArenaLayout, element_count};
use crate::chunks;
use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::pool::Pool;
use crate::ports::Port;
use crate::reduction::{combine, fill};
use crate::resolved::{ReadyCall, ReadyLaunch, Resolved, ResolvingContext};
use bnnc_abi::accelerator;
use bnnc_abi::code::{Artifact, KernelArgs, KernelCode};
use bnnc_abi::plan::{BufferId, BufferRole, Plan};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use std::sync::{Arc, Mutex};

/// A plan with its code and its memory, ready to run.
pub struct Machine {
    pub(crate) plan: Arc<Plan>,
    code: Arc<dyn KernelCode>,
    pool: Arc<Pool>,
    capacity: Sizes,
    sizes: Sizes,
    layout: ArenaLayout,
    /// The memory that `addresses`, `workspace` and the resolved steps point into.
    memory: Memory,
    pub(crate) addresses: Vec<*mut u8>,
    steps: Vec<Resolved>,
    workers: Workers,
    /// The mirror of the device's arena, if the steps run on a device. In this case, `memory` is
    /// the host's copy of this arena.
    pub(crate) mirror: Option<Mutex<Mirror>>,
    /// The name and the buffer of each port, sorted by name.
    pub(crate) ports: Vec<(Arc<str>, BufferId)>,
    /// True if the resolved steps are up to date with `sizes`.
    resolved: bool,
}

// SAFETY: the addresses point into memory that the machine itself owns.
unsafe impl Send for Machine {}
// SAFETY: a shared reference to a machine can only be used to read.
unsafe impl Sync for Machine {}

/// The private memory of each worker. It holds the scratch memory of kernels, and the addresses in
/// those buffer slots that differ between chunks.
struct Workers {
    memory: Memory,
    scratch: usize,
    stride: usize,
}

impl Workers {
    fn new(plan: &Plan, code: &dyn KernelCode, threads: usize) -> Result<Workers, Fault> {
        let scratch = (0..plan.kernels)
            .map(|kernel| code.scratch_bytes(kernel))
            .max()
            .unwrap_or(0);
        let scratch = scratch.next_multiple_of(arena::ALIGN);
        let slots = plan.buffers.len().max(most_slots(&plan.steps)) * size_of::<*mut u8>();
        let stride = scratch + slots.next_multiple_of(arena::ALIGN);
        Ok(Workers {
            memory: Memory::new(stride * threads)?,
            scratch,
            stride,
        })
    }

    fn scratch(&self, worker: usize) -> *mut u8 {
        self.memory.at(worker * self.stride)
    }

    fn slots(&self, worker: usize) -> *mut *mut u8 {
        self.memory.at(worker * self.stride + self.scratch).cast()
    }
}

/// Opens a session with an arena on the device. Returns `None` if the code does not run on a
/// device.
fn open(
    plan: &Arc<Plan>,
    code: &dyn KernelCode,
    layout: &ArenaLayout,
    capacity: &Sizes,
) -> Result<Option<Mutex<Mirror>>, Fault> {
    let Some(accelerator) = code.accelerator() else {
        return Ok(None);
    };
    let (offsets, bytes) = (&layout.offsets, layout.workspace.start.max(arena::ALIGN));
    let session = accelerator.open(accelerator::DeviceArena {
        plan,
        offsets,
        bytes,
        capacity,
    })?;
    Ok(Some(Mutex::new(Mirror::new(session, plan, (offsets, bytes)))))
}

fn most_slots(steps: &[bnnc_abi::plan::PlanStep]) -> usize {
    use bnnc_abi::plan::PlanStep;
    let of = |step: &PlanStep| match step {
        PlanStep::Launch(launch) => launch.buffers.len(),
        PlanStep::Call(_) => 0,
        PlanStep::Repeat { body, .. } => most_slots(body),
    };
    steps.iter().map(of).max().unwrap_or(0)
}

impl Machine {
    /// Lays out and allocates the memory of a plan. Later runs may use any sizes up to `capacity`.
    /// At first, the sizes equal `capacity`.
    ///
    /// # Errors
    /// Fails if there is not enough memory, if the plan is not well-formed, or if its kernels cannot be compiled.
    pub fn new(artifact: &Artifact, capacity: Sizes, pool: Arc<Pool>) -> Result<Machine, Fault> {
        let (plan, code) = (artifact.plan.clone(), artifact.code.clone());
        code.ready()?;
        if code.is_reference() && plan.precision != Precision::F64 {
            return Err(Fault::Bug(format!(
                "reference code of {} is not in f64",
                plan.name
            )));
        }
        let layout = arena::layout(&plan, &capacity);
        let memory = Memory::new(layout.bytes)?;
        let addresses: Vec<*mut u8> = layout.offsets.iter().map(|offset| memory.at(*offset)).collect();
        let mirror = open(&plan, &*code, &layout, &capacity)?;
        let threads = if mirror.is_some() { 0 } else { pool.threads() };
        let workers = Workers::new(&plan, &*code, threads)?;
        let named = plan.buffers.ids().filter(|id| {
            !matches!(
                plan.buffers[*id].role,
                BufferRole::Scratch | BufferRole::Constant(_)
            )
        });
        let mut ports: Vec<_> = named.map(|id| (plan.buffers[id].name.clone(), id)).collect();
        ports.sort();
        let context = ResolvingContext {
            plan: &plan,
            addresses: &addresses,
            workspace: layout.workspace.len(),
            reference: code.is_reference(),
        };
        let steps = context.prepare(&plan.steps);
        let mut machine = Machine {
            plan,
            code,
            pool,
            capacity,
            sizes: capacity,
            layout,
            memory,
            addresses,
            steps,
            workers,
            mirror,
            ports,
            resolved: false,
        };
        machine.set_sizes(&capacity)?;
        machine.fill_constants()?;
        Ok(machine)
    }

    fn fill_constants(&mut self) -> Result<(), Fault> {
        let plan = self.plan.clone();
        for id in plan.buffers.ids() {
            if let BufferRole::Constant(values) = &plan.buffers[id].role {
                self.write_values(id, values)?;
            }
        }
        Ok(())
    }

    /// Sets the sizes of later runs. The elements of each buffer are then laid out contiguously for
    /// these sizes, not for the capacity. The call does not allocate.
    ///
    /// # Errors
    /// Fails if a size exceeds the capacity.
    pub fn set_sizes(&mut self, sizes: &Sizes) -> Result<(), Fault> {
        if let Some(symbol) = Symbol::ALL
            .into_iter()
            .find(|symbol| sizes.get(*symbol) > self.capacity.get(*symbol))
        {
            let (size, capacity) = (sizes.get(symbol), self.capacity.get(symbol));
            return Err(Fault::Bug(format!(
                "{} = {size} is above the capacity {capacity}",
                symbol.name()
            )));
        }
        if self.resolved && self.sizes == *sizes {
            return Ok(());
        }
        self.resolved = true;
        self.sizes = *sizes;
        if self.mirror.is_some() {
            self.resize();
            return Ok(());
        }
        let context = ResolvingContext {
            plan: &self.plan,
            addresses: &self.addresses,
            workspace: self.layout.workspace.len(),
            reference: self.code.is_reference(),
        };
        context.update(&mut self.steps, &self.plan.steps, sizes);
        Ok(())
    }

    /// Returns the sizes of the next run.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns the number of bytes of the arena.
    pub fn arena_bytes(&self) -> u64 {
        self.layout.bytes as u64
    }

    /// Returns the number of elements of a buffer for the current sizes.
    pub(crate) fn count_of(&self, id: BufferId) -> usize {
        element_count(&self.plan.buffers[id], &self.sizes)
    }

    /// Executes all steps once. For each outermost step, adds its time in seconds to the
    /// corresponding element of `seconds` (see [`Machine::step_names`]). On a device the steps are
    /// not timed separately, and nothing is added.
    ///
    /// # Errors
    /// Fails in the same cases as [`Machine::run`].
    pub fn run_timed(&mut self, seconds: &mut [f64]) -> Result<(), Fault> {
        if self.mirror.is_some() {
            return self.run();
        }
        for (step, sum) in self.steps.iter().zip(seconds) {
            let clock = std::time::Instant::now();
            self.execute(std::slice::from_ref(step));
            *sum += clock.elapsed().as_secs_f64();
        }
        Ok(())
    }

    /// Returns a readable name of each outermost step. A kernel is named by its index. The name of
    /// a primitive includes the integer arguments of the call.
    pub fn step_names(&self) -> Vec<String> {
        use bnnc_abi::plan::PlanStep;
        let name = |step: &PlanStep| match step {
            PlanStep::Launch(launch) => {
                let outputs: Vec<&str> = launch
                    .buffers
                    .iter()
                    .map(|id| &*self.plan.buffers[*id].name)
                    .collect();
                format!("kernel {} on {}", launch.kernel, outputs.join(" "))
            }
            PlanStep::Call(call) => {
                let ints: Vec<i64> = call
                    .ints
                    .iter()
                    .take(3)
                    .map(|amount| amount.resolve(&self.sizes))
                    .collect();
                format!("{} {ints:?}", call.primitive.name)
            }
            PlanStep::Repeat { .. } => "repeat".to_owned(),
        };
        self.plan.steps.iter().map(name).collect()
    }

    /// Executes all steps. The call allocates no memory other than the workspace into which matrix
    /// products copy their operands.
    ///
    /// # Errors
    /// Fails only if the steps run on a device and the device reports an error.
    pub fn run(&mut self) -> Result<(), Fault> {
        self.run_for(&[])
    }

    /// Executes all steps like [`Machine::run`]. If the steps run on a device, the run also copies
    /// the contents of these ports to the host, so that reading them later does not wait for the
    /// device.
    ///
    /// # Errors
    /// Fails in the same cases as [`Machine::run`].
    pub fn run_for(&mut self, wanted: &[Port]) -> Result<(), Fault> {
        if self.mirror.is_some() {
            return self.run_there(wanted);
        }
        self.execute(&self.steps);
        Ok(())
    }

    /// Returns the whole memory of the arena, for code that copies it to a device. Calling
    /// [`arena::layout`] with the capacity gives the offsets of buffers.
    pub fn arena_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory has this number of bytes, and `self` is mutably borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.memory.at(0), self.layout.bytes) }
    }

    /// Returns the address of the arena.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.at(0)
    }

    fn execute(&self, steps: &[Resolved]) {
        for step in steps {
            match step {
                Resolved::Launch(launch) => self.launch(launch),
                Resolved::Call(call) => self.call(call),
                Resolved::Repeat { count, counter, body } => {
                    for iteration in 0..*count {
                        // SAFETY: the counter is a live `Int` scalar in the arena, and no kernel is
                        // running.
                        unsafe { counter.write(iteration as i32) };
                        self.execute(body);
                    }
                }
            }
        }
    }

    fn launch(&self, launch: &ReadyLaunch) {
        for reduce in &launch.reduces {
            // SAFETY: the output is a live buffer of `count` elements, and no kernel is running.
            unsafe { fill(launch.buffers[reduce.slot], reduce) };
        }
        if launch.outer <= 0 {
            return;
        }
        let launch = Shared(launch);
        self.pool.run(launch.0.chunks, &|worker, chunk| {
            self.chunk(launch.get(), worker, chunk)
        });
        if launch.0.chunks > 1 {
            self.combine_copies(launch.0);
        }
    }

    fn chunk(&self, launch: &ReadyLaunch, worker: usize, chunk: usize) {
        let bounds = chunks::bounds(launch.outer, chunk, launch.chunks);
        let mut buffers = launch.buffers.as_ptr();
        if chunk > 0 && launch.copy_bytes > 0 {
            let slots = self.workers.slots(worker);
            // SAFETY: this worker's memory has room for the slots of any launch. Only this chunk
            // uses its copies.
            unsafe {
                std::ptr::copy_nonoverlapping(buffers, slots, launch.buffers.len());
                for reduce in &launch.reduces {
                    if let Some(copy) = reduce.copy {
                        let address = self.copies(launch, chunk).wrapping_add(copy);
                        fill(address, reduce);
                        slots.add(reduce.slot).write(address);
                    }
                }
            }
            buffers = slots;
        }
        let args = KernelArgs {
            buffers,
            ints: launch.ints.as_ptr(),
            start: bounds.start,
            end: bounds.end,
            scratch: self.workers.scratch(worker),
        };
        // SAFETY: the addresses belong to live buffers of the plan. Addresses and integers were
        // resolved for the same sizes.
        unsafe { self.code.launch(launch.kernel, &args) };
    }

    /// Returns the start address of the copies of a chunk. The first chunk does not have copies,
    /// because it writes directly to the outputs.
    fn copies(&self, launch: &ReadyLaunch, chunk: usize) -> *mut u8 {
        self.memory
            .at(self.layout.workspace.start + (chunk - 1) * launch.copy_bytes)
    }

    /// Combines the copies with the outputs. For each element, the copies are combined in the order
    /// of the chunks.
    fn combine_copies(&self, launch: &ReadyLaunch) {
        const PIECE: usize = 16_384;
        for reduce in &launch.reduces {
            let Some(copy) = reduce.copy else { continue };
            let launch = Shared(launch);
            self.pool.run(reduce.count.div_ceil(PIECE), &|_, piece| {
                let range = piece * PIECE..((piece + 1) * PIECE).min(reduce.count);
                let launch = launch.get();
                for chunk in 1..launch.chunks {
                    let from = self.copies(launch, chunk).wrapping_add(copy);
                    // SAFETY: both arrays hold `count` elements. Only this piece uses this range.
                    unsafe { combine(launch.buffers[reduce.slot], from, range.clone(), reduce) };
                }
            });
        }
    }

    fn call(&self, call: &ReadyCall) {
        match call.native {
            // SAFETY: the operands are live buffers. The creator of the plan guarantees that the
            // operands contain every element that the integers refer to.
            Some(native) => unsafe { native(&self.pool, self.plan.precision, &call.buffers, &call.ints) },
            None => self.call_reference(call),
        }
    }

    /// Calls the naive reference implementation on copies of the operands.
    fn call_reference(&self, call: &ReadyCall) {
        let operand = |(address, count): (&*mut u8, &usize)| -> Vec<f64> {
            // SAFETY: the operand is a live buffer of `count` elements of the plan's precision.
            unsafe {
                match self.plan.precision {
                    Precision::F64 => std::slice::from_raw_parts(address.cast::<f64>(), *count).to_vec(),
                    Precision::F32 => {
                        let elements = std::slice::from_raw_parts(address.cast::<f32>(), *count);
                        elements.iter().map(|element| f64::from(*element)).collect()
                    }
                }
            }
        };
        let mut operands: Vec<Vec<f64>> = call.buffers.iter().zip(&call.counts).map(operand).collect();
        (call.primitive.naive)(&mut operands, &call.ints);
        let (Some(result), Some(address)) = (operands.last(), call.buffers.last()) else {
            return;
        };
        for (at, value) in result.iter().enumerate() {
            // SAFETY: the result is a live buffer with this number of elements.
            unsafe {
                match self.plan.precision {
                    Precision::F64 => address.cast::<f64>().add(at).write(*value),
                    Precision::F32 => address.cast::<f32>().add(at).write(*value as f32),
                }
            }
        }
    }
}

/// A resolved launch that all pieces of a parallel section share.
#[derive(Clone, Copy)]
struct Shared<'a>(&'a ReadyLaunch);

// SAFETY: the pieces only read the launch. Each chunk uses its own part of the memory that the
// launch addresses.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn get(&self) -> &'a ReadyLaunch {
        self.0
    }
}

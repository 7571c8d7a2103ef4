//! The steps of a plan for given sizes. They contain device addresses and grids in place of buffers and symbolic sizes.

use crate::blas::Products;
use crate::device::Device;
use crate::diagnostics::device_limit;
use crate::driver::{Function, Stream};
use crate::factors::{Factor, factor};
use crate::module::LoadedModule;
use crate::products::{BatchedProduct, products};
use crate::systems::{System, system};
use bnnc_abi::device::{Blocked, DeviceProgram, KernelEntry, KernelParameter, LaunchSequence, LaunchValues};
use bnnc_abi::plan::{Amount, BufferId, Extent, Launch, Plan, PlanStep, PrimitiveCall};
use bnnc_abi::primitive::{CHOLESKY, MATMUL, TRIANGULAR_SOLVE};
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::ffi::c_void;
use std::sync::Arc;

/// The number of bytes of shared memory that any kernel may use. A kernel that needs more must first be allowed to use it by a call of the
/// driver.
const SHARED_BYTES: u32 = 48 << 10;
/// The maximum number of blocks along each axis of a grid.
const MOST_BLOCKS: [i64; 3] = [i32::MAX as i64, 65_535, 65_535];

/// One operation that can be enqueued on a stream.
enum Op {
    Launch(Ready),
    /// Copies bytes. The first address is the target, and the second is the source.
    Copy {
        addresses: [u64; 2],
        bytes: usize,
    },
    Multiply {
        product: BatchedProduct,
        addresses: [u64; 3],
    },
    /// Solves triangular systems. The addresses are those of the matrices and of the right-hand sides. The solutions overwrite the
    /// right-hand sides.
    Solve {
        system: System,
        addresses: [u64; 2],
    },
    Repeat {
        count: i64,
        counter: u64,
        body: Vec<Op>,
    },
}

/// A resolved launch of a function.
struct Ready {
    function: Function,
    name: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameters: Vec<u64>,
}

/// The data that are needed to resolve the steps of a plan.
pub struct Resolver<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The program that contains the kernels of the plan.
    pub program: &'a DeviceProgram,
    /// The functions of the program.
    pub loaded: &'a LoadedModule,
    /// The device.
    pub device: &'a Arc<Device>,
    /// The offset of each buffer in the arena.
    pub offsets: &'a [usize],
    /// The address of the arena.
    pub arena: u64,
    /// The address and the size of the scratch memory.
    pub scratch: (u64, usize),
    /// True if cuBLAS is used for the calls that it can compute.
    pub blas: bool,
}

/// The resolved operations of a plan for given sizes.
pub struct LaunchSchedule {
    ops: Vec<Op>,
    precision: Precision,
}

/// Returns the number of bytes of scratch memory that the steps need. Steps share this memory, so the result is the largest number that any
/// step needs.
pub fn scratch_bytes(program: &DeviceProgram, (plan, steps): (&Plan, &[PlanStep]), sizes: &Sizes) -> usize {
    let of = |work: &LaunchSequence, numbers: Numbers| work.scratch.value(numbers.bound()).max(0) as usize;
    let one = |step: &PlanStep| match step {
        PlanStep::Launch(launch) => program
            .kernels
            .get(launch.kernel as usize)
            .map_or(0, |work| of(work, Numbers::of_launch(plan, launch, sizes))),
        PlanStep::Call(call) => program.routine(call).map_or(0, |routine| {
            of(&routine.work, Numbers::of_call(plan, call, sizes))
        }),
        PlanStep::Repeat { body, .. } => scratch_bytes(program, (plan, body), sizes),
    };
    steps.iter().map(one).max().unwrap_or(0)
}

/// A call that cuBLAS computes, in whole or in part.
enum ByBlas {
    Products(Vec<BatchedProduct>),
    System(System),
    Factor(Factor),
}

fn by_blas(call: &PrimitiveCall, ints: &[i64]) -> Option<ByBlas> {
    match call.primitive {
        primitive if primitive.is(&MATMUL) => products(ints).map(ByBlas::Products),
        primitive if primitive.is(&TRIANGULAR_SOLVE) => system(ints).map(ByBlas::System),
        primitive if primitive.is(&CHOLESKY) => factor(ints).map(ByBlas::Factor),
        _ => None,
    }
}

/// Returns whether cuBLAS computes any of these steps.
pub fn uses_blas(steps: &[PlanStep], sizes: &Sizes) -> bool {
    steps.iter().any(|step| match step {
        PlanStep::Launch(_) => false,
        PlanStep::Call(call) => by_blas(call, &numbers(&call.ints, sizes)).is_some(),
        PlanStep::Repeat { body, .. } => uses_blas(body, sizes),
    })
}

/// The values of the slots of a step for given sizes.
struct Numbers {
    ints: Vec<i64>,
    elements: Vec<i64>,
    outer: i64,
}

impl Numbers {
    fn of_launch(plan: &Plan, launch: &Launch, sizes: &Sizes) -> Numbers {
        Numbers {
            ints: numbers(&launch.ints, sizes),
            elements: elements(plan, &launch.buffers, sizes),
            outer: launch.outer.resolve(sizes),
        }
    }

    fn of_call(plan: &Plan, call: &PrimitiveCall, sizes: &Sizes) -> Numbers {
        Numbers {
            ints: numbers(&call.ints, sizes),
            elements: elements(plan, &call.buffers, sizes),
            outer: 1,
        }
    }

    fn bound(&self) -> LaunchValues<'_> {
        LaunchValues {
            ints: &self.ints,
            elements: &self.elements,
            outer: self.outer,
        }
    }
}

fn elements(plan: &Plan, buffers: &[BufferId], sizes: &Sizes) -> Vec<i64> {
    let of = |id: &BufferId| Extent::product(plan.buffers[*id].shape.dims()).resolve(sizes);
    buffers.iter().map(of).collect()
}

fn numbers(amounts: &[Amount], sizes: &Sizes) -> Vec<i64> {
    amounts.iter().map(|amount| amount.resolve(sizes)).collect()
}

/// The matrices whose Cholesky factors are computed: their address, and the number of elements of each operand.
struct Factored<'a> {
    factor: &'a Factor,
    l: u64,
    elements: &'a [i64],
}

impl Resolver<'_> {
    /// Resolves the steps of the plan for given sizes.
    ///
    /// # Errors
    /// Fails if a call does not have an implementation, or if a launch exceeds a limit of the device.
    pub fn schedule(&self, sizes: &Sizes) -> Result<LaunchSchedule, Fault> {
        Ok(LaunchSchedule {
            ops: self.steps(&self.plan.steps, sizes)?,
            precision: self.plan.precision,
        })
    }

    fn steps(&self, steps: &[PlanStep], sizes: &Sizes) -> Result<Vec<Op>, Fault> {
        let mut ops = Vec::new();
        for step in steps {
            match step {
                PlanStep::Launch(launch) => self.launch(launch, sizes, &mut ops)?,
                PlanStep::Call(call) => self.call(call, sizes, &mut ops)?,
                PlanStep::Repeat { count, counter, body } => ops.push(Op::Repeat {
                    count: count.resolve(sizes),
                    counter: self.address(*counter),
                    body: self.steps(body, sizes)?,
                }),
            }
        }
        Ok(ops)
    }

    fn address(&self, id: BufferId) -> u64 {
        self.arena + self.offsets[id.index()] as u64
    }

    fn launch(&self, launch: &Launch, sizes: &Sizes, ops: &mut Vec<Op>) -> Result<(), Fault> {
        let kernel = self.program.kernels.get(launch.kernel as usize);
        let work = kernel.ok_or_else(|| Fault::Bug(format!("no device kernel {}", launch.kernel)))?;
        let numbers = Numbers::of_launch(self.plan, launch, sizes);
        self.work(work, &launch.buffers, numbers.bound(), ops)
    }

    fn call(&self, call: &PrimitiveCall, sizes: &Sizes, ops: &mut Vec<Op>) -> Result<(), Fault> {
        let numbers = Numbers::of_call(self.plan, call, sizes);
        let ints = &numbers.ints;
        let found = self.blas.then(|| by_blas(call, ints)).flatten();
        let addresses: Vec<u64> = call.buffers.iter().map(|id| self.address(*id)).collect();
        let routine = self.program.routine(call);
        let blocked = routine.and_then(|routine| routine.blocked.as_ref());
        match (found, &addresses[..], blocked) {
            (Some(ByBlas::Products(found)), &[a, b, c], _) => {
                let addresses = [a, b, c];
                let multiply = |product| Op::Multiply { product, addresses };
                ops.extend(found.into_iter().map(multiply));
                return Ok(());
            }
            (Some(ByBlas::System(system)), &[l, b, x], _) => {
                let [_, right] = system.elements();
                ops.push(self.copy([x, b], right * system.batch));
                let addresses = [l, x];
                ops.push(Op::Solve { system, addresses });
                return Ok(());
            }
            (Some(ByBlas::Factor(factor)), &[a, l], Some(blocked)) => {
                ops.push(self.copy([l, a], factor.elements()));
                return self.factor(
                    (call, blocked),
                    &Factored {
                        factor: &factor,
                        l,
                        elements: &numbers.elements,
                    },
                    ops,
                );
            }
            _ => {}
        }
        let Some(routine) = routine else {
            return Err(device_limit(format!(
                "{} of {} with the integers {ints:?} has no kernel for devices",
                call.primitive.name, self.plan.name
            )));
        };
        self.work(&routine.work, &call.buffers, numbers.bound(), ops)
    }

    fn copy(&self, addresses: [u64; 2], elements: i64) -> Op {
        let bytes = elements as usize * self.plan.precision.bytes();
        Op::Copy { addresses, bytes }
    }

    /// Adds the operations that compute Cholesky factors. See Note [Cholesky factors] in `factors`.
    fn factor(
        &self,
        (call, blocked): (&PrimitiveCall, &Blocked),
        factored: &Factored<'_>,
        ops: &mut Vec<Op>,
    ) -> Result<(), Fault> {
        let Factored { factor, l, elements } = *factored;
        for column in factor.columns(blocked.rows) {
            let update = factor.update(&column);
            ops.extend(update.map(|product| Op::Multiply {
                product,
                addresses: [l; 3],
            }));
            let ints = [factor.batch, factor.n, column.first, column.rows, column.below].map(i64::from);
            let bound = LaunchValues {
                ints: &ints,
                elements,
                outer: 1,
            };
            for entry in [&blocked.diagonal, &blocked.panel] {
                ops.extend(self.ready(entry, &call.buffers, bound)?.map(Op::Launch));
            }
        }
        Ok(())
    }

    fn work(
        &self,
        work: &LaunchSequence,
        buffers: &[BufferId],
        bound: LaunchValues<'_>,
        ops: &mut Vec<Op>,
    ) -> Result<(), Fault> {
        let scratch = work.scratch.value(bound);
        if scratch > self.scratch.1 as i64 {
            return Err(Fault::Bug(format!(
                "scratch memory of {} grew to {scratch} bytes from {}",
                self.plan.name, self.scratch.1
            )));
        }
        for entry in &work.entries {
            ops.extend(self.ready(entry, buffers, bound)?.map(Op::Launch));
        }
        Ok(())
    }

    /// Resolves a launch. Returns `None` if its grid is empty.
    fn ready(
        &self,
        entry: &KernelEntry,
        buffers: &[BufferId],
        bound: LaunchValues<'_>,
    ) -> Result<Option<Ready>, Fault> {
        let Some(grid) = self.grid(entry, bound)? else {
            return Ok(None);
        };
        let parameter = |parameter: &KernelParameter| match parameter {
            KernelParameter::Buffer(slot) => self.address(buffers[*slot as usize]),
            KernelParameter::Int(slot) => bound.ints[*slot as usize] as u64,
            KernelParameter::Elements(slot) => bound.elements[*slot as usize] as u64,
            KernelParameter::Scratch => self.scratch.0,
        };
        let function = self.loaded.function(&entry.name)?;
        Ok(Some(Ready {
            function,
            name: entry.name.clone(),
            grid,
            block: entry.block,
            shared: self.shared(entry, function, bound)?,
            parameters: entry.parameters.iter().map(parameter).collect(),
        }))
    }

    /// Returns the grid of a launch, in blocks of threads. Returns `None` if the grid is empty.
    fn grid(&self, entry: &KernelEntry, bound: LaunchValues<'_>) -> Result<Option<[u32; 3]>, Fault> {
        let sizes = entry.grid.each_ref().map(|count| count.value(bound));
        if sizes.iter().any(|size| *size <= 0) {
            return Ok(None);
        }
        if sizes.iter().zip(MOST_BLOCKS).any(|(size, most)| *size > most) {
            return Err(device_limit(format!(
                "{} of {} needs a grid of {sizes:?} blocks",
                entry.name, self.plan.name
            )));
        }
        Ok(Some(sizes.map(|size| size as u32)))
    }

    /// Returns the number of bytes of dynamic shared memory that a launch needs. If this exceeds the default limit, allows the function to use
    /// them.
    fn shared(&self, entry: &KernelEntry, function: Function, bound: LaunchValues<'_>) -> Result<u32, Fault> {
        let dynamic = entry.dynamic_shared.value(bound).max(0);
        let all = dynamic.saturating_add(i64::from(entry.static_shared));
        if all > i64::from(self.device.shared_bytes) {
            return Err(device_limit(format!(
                "{} of {} needs {all} bytes of shared memory; {} has {} for a block",
                entry.name, self.plan.name, self.device.name, self.device.shared_bytes
            )));
        }
        if all > i64::from(SHARED_BYTES) {
            self.device.allow_shared(function, dynamic as i32)?;
        }
        Ok(dynamic as u32)
    }
}

impl LaunchSchedule {
    /// Returns the number of operations that will be enqueued.
    pub fn length(&self) -> u64 {
        length(&self.ops)
    }

    /// Enqueues all operations of the schedule on a stream.
    ///
    /// # Errors
    /// Fails if the driver or cuBLAS reports an error.
    ///
    /// # Safety
    /// The arena, the scratch memory, the functions and the products must belong to the context of the stream. All of these must live until the
    /// stream has finished the operations.
    pub unsafe fn issue(
        &self,
        device: &Device,
        stream: Stream,
        products: Option<&Products>,
    ) -> Result<(), Fault> {
        let mut issue = Issue {
            device,
            stream,
            products,
            precision: self.precision,
            arguments: Vec::new(),
        };
        // SAFETY: guaranteed by the caller.
        unsafe { issue.ops(&self.ops) }
    }
}

fn length(ops: &[Op]) -> u64 {
    let of = |op: &Op| match op {
        Op::Launch(_) | Op::Copy { .. } | Op::Multiply { .. } => 1,
        // cuBLAS needs one call per matrix.
        Op::Solve { system, .. } => system.batch as u64,
        Op::Repeat { count, body, .. } => (1 + length(body)).saturating_mul((*count).max(0) as u64),
    };
    ops.iter().map(of).fold(0, u64::saturating_add)
}

struct Issue<'a> {
    device: &'a Device,
    stream: Stream,
    products: Option<&'a Products>,
    precision: Precision,
    /// The addresses of the parameters of one launch. The memory is reused for each launch.
    arguments: Vec<*mut c_void>,
}

impl Issue<'_> {
    /// # Safety
    /// The same conditions as for [`LaunchSchedule::issue`] apply.
    unsafe fn ops(&mut self, ops: &[Op]) -> Result<(), Fault> {
        for op in ops {
            // SAFETY: guaranteed by the caller.
            unsafe {
                match op {
                    Op::Launch(ready) => self.launch(ready)?,
                    Op::Multiply { product, addresses } => {
                        self.products()?.multiply(product, addresses, self.precision)?;
                    }
                    Op::Solve { system, addresses } => {
                        self.products()?.solve(system, *addresses, self.precision)?;
                    }
                    Op::Copy {
                        addresses: [to, from],
                        bytes,
                    } => {
                        let copy = self.device.driver().symbols.copy_within;
                        self.device
                            .check("cuMemcpyDtoDAsync", copy(*to, *from, *bytes, self.stream))?;
                    }
                    Op::Repeat { count, counter, body } => {
                        for iteration in 0..*count {
                            let set = self.device.driver().symbols.fill_words;
                            self.device.check(
                                "cuMemsetD32Async",
                                set(*counter, iteration as u32, 1, self.stream),
                            )?;
                            self.ops(body)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn products(&self) -> Result<&Products, Fault> {
        self.products
            .ok_or_else(|| Fault::Bug("a call for cuBLAS without cuBLAS".to_owned()))
    }

    /// # Safety
    /// The same conditions as for [`LaunchSchedule::issue`] apply.
    unsafe fn launch(&mut self, ready: &Ready) -> Result<(), Fault> {
        self.arguments.clear();
        let address = |parameter: &u64| std::ptr::from_ref(parameter).cast_mut().cast();
        self.arguments.extend(ready.parameters.iter().map(address));
        let ([x, y, z], [width, height, depth]) = (ready.grid, ready.block);
        // SAFETY: the caller guarantees that the addresses are valid. Each argument points to 64 bits. The driver reads them before the call
        // returns.
        let status = unsafe {
            (self.device.driver().symbols.launch)(
                ready.function,
                x,
                y,
                z,
                width,
                height,
                depth,
                ready.shared,
                self.stream,
                self.arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        if status == 0 {
            return Ok(());
        }
        self.device
            .check(&format!("cuLaunchKernel of {}", ready.name), status)
    }
}

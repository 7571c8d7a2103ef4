//! Runs single kernels on the device of this machine. The buffers of a kernel are copied to the
//! device and back.

use bnnc_abi::accelerator::{DeviceArena, DeviceSession};
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_abi::plan::{Launch, Plan, PlanStep, Storage};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_driver::backends;
use bnnc_kernels::arena::layout;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::{LoopProgram, LoopSize};
use std::ops::Range;
use std::sync::Arc;

/// Compiles with the backend `cuda`, and runs each kernel in a separate session.
pub struct OnDevice;

impl Backend for OnDevice {
    fn name(&self) -> &'static str {
        "on the device"
    }

    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        let backend = backends::lookup("cuda").ok_or_else(|| Fault::Bug("no backend cuda".to_owned()))?;
        let code = bnnc_cuda::attach(backend.compile(program, options)?)?;
        Ok(Arc::new(Kernels {
            code,
            program: program.clone(),
        }))
    }
}

struct Kernels {
    code: Arc<dyn KernelCode>,
    program: LoopProgram,
}

impl Kernels {
    /// Returns a plan with one launch, the byte range of each slot's buffer in the arena, and the
    /// size of the arena.
    fn alone(&self, kernel: usize) -> (Arc<Plan>, Vec<Range<usize>>, usize) {
        let steps = &self.program.plan.steps;
        let is_it =
            |step: &&PlanStep| matches!(step, PlanStep::Launch(launch) if launch.kernel as usize == kernel);
        let Some(step @ PlanStep::Launch(Launch { buffers, .. })) = steps.iter().find(is_it) else {
            unreachable!("every kernel is launched");
        };
        let plan = Plan {
            steps: vec![step.clone()],
            ..self.program.plan.clone()
        };
        let layout = layout(&plan, &Sizes::default());
        let ranges = buffers.iter().map(|id| {
            let buffer = &plan.buffers[*id];
            let width = match (buffer.storage, plan.precision) {
                (Storage::Real, Precision::F64) => 8,
                (Storage::Real, Precision::F32) | (Storage::Int, _) => 4,
            };
            let start = layout.offsets[id.0 as usize];
            start..start + width * buffer.shape.count(&Sizes::default())
        });
        let ranges = ranges.collect();
        (Arc::new(plan), ranges, layout.bytes)
    }

    fn open(&self, (plan, bytes): (&Arc<Plan>, usize)) -> Box<dyn DeviceSession> {
        let accelerator = self.code.accelerator().unwrap();
        let arena = DeviceArena {
            plan,
            offsets: &layout(plan, &Sizes::default()).offsets,
            bytes,
            capacity: &Sizes::default(),
        };
        accelerator.open(arena).unwrap()
    }
}

impl KernelCode for Kernels {
    /// A device runs all iterations of a kernel in one launch. Therefore, the first call with a
    /// non-empty range runs all iterations, and the other calls do nothing.
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        let nothing = self.program.kernels[kernel].dims[0] == LoopSize::Fixed(0);
        if args.start != 0 || args.end == 0 && !nothing {
            return;
        }
        let (plan, ranges, bytes) = self.alone(kernel);
        let mut session = self.open((&plan, bytes));
        for (slot, range) in ranges.iter().enumerate() {
            // SAFETY: the caller passes the addresses of complete buffers.
            let bytes = unsafe { std::slice::from_raw_parts(*args.buffers.add(slot), range.len()) };
            session.upload(range.start, bytes).unwrap();
        }
        session.run(&Sizes::default()).unwrap();
        for (slot, range) in ranges.iter().enumerate() {
            // SAFETY: the caller passes the addresses of complete buffers, and no other reference
            // to them exists.
            let bytes = unsafe { std::slice::from_raw_parts_mut(*args.buffers.add(slot), range.len()) };
            session.download(range.start, bytes).unwrap();
        }
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.code.text()
    }
}

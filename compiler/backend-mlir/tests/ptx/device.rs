//! A backend that runs the plans of an image on the emulator of these tests, in the same way as the
//! runtime of a GPU would run them.

use crate::machine::Machine;
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_abi::device::{self, KernelParameter, LaunchSequence, LaunchValues};
use bnnc_backend_mlir::Mlir;
use bnnc_backend_mlir::gpu::{self, chip};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::LoopProgram;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// The backend that lowers modules in a worker.
pub static MLIR: LazyLock<Mlir> = LazyLock::new(|| Mlir {
    worker: Some(PathBuf::from(env!("CARGO_BIN_EXE_bnnc-mlir-worker"))),
    ..Mlir::new()
});

/// A backend that compiles for a GPU and runs on the emulator.
pub struct Emulated;

/// An image, with the emulator that has parsed it.
pub struct Device {
    pub program: device::DeviceProgram,
    machine: Machine,
}

impl Device {
    pub fn new(program: &LoopProgram) -> Result<Device, Fault> {
        let program = gpu::compile(&MLIR, program, chip::DEFAULT)?;
        let machine = Machine::new(&program.images[0].ptx);
        Ok(Device { program, machine })
    }

    /// Runs entries with the buffers at these addresses. The entries that fill buffers run only if
    /// the caller passes the number of elements of each buffer.
    ///
    /// # Safety
    /// The requirements of [`Machine::launch`] must hold.
    pub unsafe fn run(
        &self,
        work: &LaunchSequence,
        (buffers, elements): (&[u64], Option<&[i64]>),
        ints: &[i64],
    ) {
        let bound = LaunchValues {
            ints,
            elements: elements.unwrap_or_default(),
            outer: 0,
        };
        let mut scratch = vec![u64::MAX; work.scratch.value(bound) as usize / 8];
        for entry in &work.entries {
            if elements.is_none() && entry.name.starts_with("fill_") {
                continue;
            }
            let elements = elements.unwrap_or_default();
            let blocks = entry.grid[0]
                .value(LaunchValues {
                    ints,
                    elements,
                    outer: 0,
                })
                .max(0) as u64;
            let argument = |parameter: &KernelParameter| match parameter {
                KernelParameter::Buffer(slot) => buffers[*slot as usize],
                KernelParameter::Int(slot) => ints[*slot as usize] as u64,
                KernelParameter::Elements(slot) => elements[*slot as usize] as u64,
                KernelParameter::Scratch => scratch.as_mut_ptr() as u64,
            };
            let arguments: Vec<u64> = entry.parameters.iter().map(argument).collect();
            // SAFETY: the caller gives the guarantee.
            unsafe {
                self.machine
                    .launch(&entry.name, (blocks, entry.block[0]), &arguments)
            };
        }
    }
}

impl Backend for Emulated {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn compile(&self, program: &LoopProgram, _: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        Ok(Arc::new(Launches {
            device: Device::new(program)?,
            program: program.clone(),
        }))
    }
}

struct Launches {
    device: Device,
    program: LoopProgram,
}

impl KernelCode for Launches {
    /// A launch on the emulator covers the whole domain. The first invocation therefore runs
    /// everything, and the other invocations do nothing.
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        if args.start != 0
            || args.end == 0 && self.program.kernels[kernel].dims[0] != bnnc_loops::ir::LoopSize::Fixed(0)
        {
            return;
        }
        let slots = self.program.kernels[kernel].slots.len();
        let ints = bnnc_loops::analysis::motion::sizes(&self.program.kernels[kernel]);
        let ints = ints.iter().filter_map(|size| match size {
            bnnc_loops::ir::LoopSize::Slot(slot) => Some(*slot as usize + 1),
            bnnc_loops::ir::LoopSize::Fixed(_) => None,
        });
        let count = ints.max().unwrap_or(0);
        // SAFETY: the caller passes exactly the addresses and integers of the kernel.
        unsafe {
            let buffers: Vec<u64> = (0..slots).map(|slot| *args.buffers.add(slot) as u64).collect();
            let ints: Vec<i64> = (0..count).map(|slot| *args.ints.add(slot)).collect();
            // A caller that launches single kernels has already filled the buffers.
            self.device
                .run(&self.device.program.kernels[kernel], (&buffers, None), &ints);
        }
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.device.program.images[0].ptx.to_string()
    }
}

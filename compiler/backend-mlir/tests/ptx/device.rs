//! A backend that runs plans as a runtime of a graphics processor would: from an image, on the machine of these tests.

use crate::machine::Machine;
use bnnc_abi::code::{Code, KernelArgs};
use bnnc_abi::device::{FILL_THREADS, Image, Parameter, Part};
use bnnc_backend_mlir::Mlir;
use bnnc_backend_mlir::gpu::{self, chip};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, Options};
use bnnc_loops::ir::Program;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// What lowers modules.
pub static MLIR: LazyLock<Mlir> = LazyLock::new(|| Mlir {
    worker: Some(PathBuf::from(env!("CARGO_BIN_EXE_bnnc-mlir-worker"))),
    ..Mlir::new()
});

/// Compiles for a graphics processor and runs on the machine.
pub struct Emulated;

/// An image and the machine that read it.
pub struct Device {
    pub image: Image,
    machine: Machine,
}

impl Device {
    pub fn new(program: &Program) -> Result<Device, Fault> {
        let image = gpu::image(&MLIR, program, chip::DEFAULT)?;
        let machine = Machine::new(&image.text);
        Ok(Device { image, machine })
    }

    /// Runs a part. Buffers are filled before that by `lengths`, where it is known how many elements they have.
    ///
    /// # Safety
    /// As [`Machine::launch`].
    pub unsafe fn run(&self, part: &Part, (buffers, lengths): (&[u64], Option<&[u64]>), ints: &[i64]) {
        for fill in &part.fills {
            let Some(lengths) = lengths else { continue };
            let length = lengths[fill.slot as usize];
            let blocks = length.div_ceil(u64::from(FILL_THREADS));
            let arguments = [buffers[fill.slot as usize], length];
            // SAFETY: passed on.
            unsafe {
                self.machine
                    .launch(&fill.symbol, (blocks, FILL_THREADS), &arguments)
            };
        }
        let argument = |parameter: &Parameter| match parameter {
            Parameter::Buffer(slot) => buffers[*slot as usize],
            Parameter::Int(slot) => ints[*slot as usize] as u64,
            Parameter::Number(number) => *number as u64,
        };
        let arguments: Vec<u64> = part.parameters.iter().map(argument).collect();
        let blocks = part.blocks(ints) as u64;
        // SAFETY: passed on.
        unsafe {
            self.machine
                .launch(&part.symbol, (blocks, part.threads), &arguments)
        };
    }
}

impl Backend for Emulated {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn compile(&self, program: &Program, _: &Options) -> Result<Arc<dyn Code>, Fault> {
        Ok(Arc::new(Launches {
            device: Device::new(program)?,
            program: program.clone(),
        }))
    }
}

struct Launches {
    device: Device,
    program: Program,
}

impl Code for Launches {
    /// A launch is of the whole domain: the first invocation does it, and the others nothing.
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        if args.start != 0
            || args.end == 0 && self.program.kernels[kernel].dims[0] != bnnc_loops::ir::Size::Fixed(0)
        {
            return;
        }
        let slots = self.program.kernels[kernel].slots.len();
        let ints = bnnc_loops::analysis::motion::sizes(&self.program.kernels[kernel]);
        let ints = ints.iter().filter_map(|size| match size {
            bnnc_loops::ir::Size::Slot(slot) => Some(*slot as usize + 1),
            bnnc_loops::ir::Size::Fixed(_) => None,
        });
        let count = ints.max().unwrap_or(0);
        // SAFETY: the caller passes as many addresses and integers as the kernel has.
        unsafe {
            let buffers: Vec<u64> = (0..slots).map(|slot| *args.buffers.add(slot) as u64).collect();
            let ints: Vec<i64> = (0..count).map(|slot| *args.ints.add(slot)).collect();
            for part in &self.device.image.kernels[kernel] {
                // Whoever passes single kernels has filled the buffers.
                self.device.run(part, (&buffers, None), &ints);
            }
        }
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.device.image.text.clone()
    }
}

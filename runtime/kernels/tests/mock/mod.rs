//! Hand-written plans whose kernels are closures.

#![allow(dead_code, reason = "each test file uses a part")]

use bnnc_abi::code::{Artifact, KernelArgs, KernelCode};
use bnnc_abi::plan::{
    Amount, Buffer, BufferId, BufferRole, Combine, Extent, Launch, Plan, PlanStep, Reduce, Storage,
};
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Shape, Symbol};
use std::sync::Arc;

pub type Kernel = Box<dyn Fn(&KernelArgs) + Send + Sync>;

/// Compiled code for tests: each kernel is a closure.
pub struct Mock {
    pub kernels: Vec<Kernel>,
    pub reference: bool,
}

impl KernelCode for Mock {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        (self.kernels[kernel])(args);
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        100 * (kernel + 1)
    }

    fn is_reference(&self) -> bool {
        self.reference
    }

    fn text(&self) -> String {
        String::new()
    }
}

pub const BATCH: Dim = Dim::Symbol(Symbol::Batch);

pub fn buffer(name: &str, storage: Storage, dims: &[Dim], role: BufferRole) -> Buffer {
    Buffer {
        name: name.into(),
        storage,
        shape: Shape(dims.to_vec()),
        role,
    }
}

pub fn amount(dim: Dim) -> Amount {
    Amount::one(Extent::of(dim))
}

pub fn fixed(number: i64) -> Amount {
    Amount::one(Extent::fixed(number))
}

pub fn launch(kernel: u32, buffers: &[BufferId], ints: &[Amount], outer: Amount, work: i64) -> Launch {
    Launch {
        kernel,
        buffers: buffers.to_vec(),
        ints: ints.to_vec(),
        outer,
        work: fixed(work),
        reduces: Vec::new(),
    }
}

pub fn reduce(slot: u32, combine: Combine, partial: bool) -> Reduce {
    Reduce {
        slot,
        combine,
        partial,
    }
}

pub fn artifact(
    precision: Precision,
    buffers: Arena<BufferId, Buffer>,
    steps: Vec<PlanStep>,
    kernels: Vec<Kernel>,
) -> Artifact {
    let plan = Plan {
        name: "test".into(),
        precision,
        buffers,
        steps,
        kernels: kernels.len(),
    };
    Artifact {
        plan: Arc::new(plan),
        code: Arc::new(Mock {
            kernels,
            reference: false,
        }),
    }
}

/// A kernel that computes `out[i, j] = factor * x[i, j]` over rows. The integers of the kernel are
/// the number of columns and the factor.
pub fn scale() -> Kernel {
    Box::new(|args| {
        // SAFETY: the plan binds two buffers of `f64` and two integers.
        unsafe {
            let (columns, factor) = (*args.ints, *args.ints.add(1) as f64);
            let (x, out) = (
                (*args.buffers).cast::<f64>(),
                (*args.buffers.add(1)).cast::<f64>(),
            );
            for at in (args.start * columns) as usize..(args.end * columns) as usize {
                out.add(at).write(factor * x.add(at).read());
            }
        }
    })
}

/// A kernel that computes `sum[j] += x[i, j]` and `max[j] = max(max[j], x[i, j])` over rows. The
/// integer of the kernel is the number of columns. The kernel also writes to its scratch memory.
pub fn sum_and_max() -> Kernel {
    Box::new(|args| {
        // SAFETY: the plan binds three buffers of `f32` and one integer. The scratch memory has at
        // least 100 bytes.
        unsafe {
            assert_eq!(args.scratch as usize % 64, 0);
            args.scratch.write_bytes(1, 100);
            let columns = *args.ints as usize;
            let x = (*args.buffers).cast::<f32>();
            let (sum, max) = (
                (*args.buffers.add(1)).cast::<f32>(),
                (*args.buffers.add(2)).cast::<f32>(),
            );
            for i in args.start as usize..args.end as usize {
                for j in 0..columns {
                    let value = x.add(i * columns + j).read();
                    sum.add(j).write(sum.add(j).read() + value);
                    max.add(j).write(max.add(j).read().max(value));
                }
            }
        }
    })
}

/// A kernel that computes `total += counter`. The buffers of the kernel are an integer (the
/// counter) and a real (the total).
pub fn add_counter() -> Kernel {
    Box::new(|args| {
        // SAFETY: the plan binds an `i32` scalar and an `f64` scalar.
        unsafe {
            let (counter, total) = (
                (*args.buffers).cast::<i32>(),
                (*args.buffers.add(1)).cast::<f64>(),
            );
            total.write(total.read() + f64::from(counter.read()));
        }
    })
}

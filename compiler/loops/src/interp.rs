//! The reference interpreter of a kernel. Reals are `f64`, integers are `i32`, and nothing is
//! optimised.

use crate::ir::{Access, Inst, InstId, InstOp, Kernel, KernelOutput, LoopSize};
use bnnc_abi::code::KernelArgs;
use bnnc_abi::plan::{Combine, Storage};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;
use bnnc_math::{gamma, philox};

/// Runs a kernel over `args.start..args.end` of its outermost axis. The elements of real buffers are `f64`.
///
/// # Safety
/// The addresses must belong to live buffers, and these must contain every element that the kernel
/// accesses.
pub unsafe fn interpret(kernel: &Kernel, args: &KernelArgs) {
    let mut frame = Frame {
        kernel,
        args,
        index: vec![0; kernel.dims.len()],
        values: vec![0.0; kernel.body.len()],
    };
    // SAFETY: the caller gives this guarantee.
    unsafe { frame.axis(0) }
}

struct Frame<'a> {
    kernel: &'a Kernel,
    args: &'a KernelArgs,
    index: Vec<i64>,
    values: Vec<f64>,
}

impl Frame<'_> {
    unsafe fn axis(&mut self, axis: usize) {
        if axis == self.kernel.dims.len() {
            // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
            return unsafe { self.point() };
        }
        let (start, end) = match axis {
            0 => (self.args.start, self.args.end),
            // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
            _ => (0, unsafe { self.size(self.kernel.dims[axis]) }),
        };
        for index in start..end {
            self.index[axis] = index;
            // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
            unsafe { self.axis(axis + 1) }
        }
    }

    unsafe fn point(&mut self) {
        for id in self.kernel.body.ids() {
            // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
            self.values[id.index()] = unsafe { self.inst(&self.kernel.body[id]) };
        }
        // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
        self.kernel
            .outputs
            .iter()
            .for_each(|output| unsafe { self.output(output) });
    }

    unsafe fn size(&self, size: LoopSize) -> i64 {
        match size {
            LoopSize::Fixed(size) => size,
            // SAFETY: a verified launch binds every integer slot.
            LoopSize::Slot(slot) => unsafe { *self.args.ints.add(slot as usize) },
        }
    }

    unsafe fn linear(&self, offset: LoopSize, strides: &[LoopSize]) -> i64 {
        // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
        unsafe {
            let terms = strides
                .iter()
                .zip(&self.index)
                .map(|(stride, index)| self.size(*stride) * index);
            self.size(offset) + terms.sum::<i64>()
        }
    }

    unsafe fn position(&self, access: &Access) -> usize {
        // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
        unsafe {
            let mut position = self.linear(access.offset, &access.strides);
            for dynamic in &access.dynamic {
                let index = self.value(dynamic.index) as i64;
                let clamped = index.min(self.size(dynamic.limit) - 1).max(0);
                position += clamped * self.size(dynamic.stride);
            }
            position as usize
        }
    }

    unsafe fn inst(&self, inst: &Inst) -> f64 {
        match &inst.op {
            InstOp::Const(value) => *value,
            InstOp::Index(axis) => self.index[*axis as usize] as f64,
            InstOp::Load(access) => {
                // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
                let value = unsafe { self.read(access) };
                if inst.dtype == DType::Bool {
                    f64::from(u8::from(value != 0.0))
                } else {
                    value
                }
            }
            InstOp::Apply(scalar, operands) => {
                let operands: Vec<f64> = operands.iter().map(|operand| self.value(*operand)).collect();
                if inst.dtype == DType::Int {
                    integer(*scalar, &operands)
                } else {
                    scalar.eval(&operands)
                }
            }
            InstOp::Noise(noise) => {
                let coordinates = noise
                    .coordinates
                    .map(|coordinate| self.value(coordinate) as i32 as u32);
                // SAFETY: the caller of `interpret` gives this guarantee for the whole frame.
                let (key, element) = unsafe {
                    let element = self.linear(noise.offset, &noise.strides);
                    (self.size(noise.key) as u64, element as u64)
                };
                let shape = noise.shape.map_or(f64::NAN, |shape| self.value(shape));
                match noise.kind {
                    NoiseKind::Uniform => philox::uniform(key, coordinates, element),
                    NoiseKind::Normal => philox::normal(key, coordinates, element),
                    NoiseKind::Gamma => gamma::variate(key, coordinates, element, shape),
                }
            }
        }
    }

    fn value(&self, id: InstId) -> f64 {
        self.values[id.index()]
    }

    unsafe fn read(&self, access: &Access) -> f64 {
        let slot = access.slot as usize;
        // SAFETY: the caller promises that the slot's buffer holds this element.
        unsafe {
            let base = *self.args.buffers.add(slot);
            let at = self.position(access);
            match self.kernel.slots[slot] {
                Storage::Real => *base.cast::<f64>().add(at),
                Storage::Int => f64::from(*base.cast::<i32>().add(at)),
            }
        }
    }

    unsafe fn output(&self, output: &KernelOutput) {
        let slot = output.access.slot as usize;
        let value = self.value(output.value);
        // SAFETY: the caller promises that the slot's buffer holds this element.
        unsafe {
            let value = match output.combine {
                None => value,
                Some(Combine::Sum) => self.read(&output.access) + value,
                Some(Combine::Max) => Scalar::Max.eval(&[self.read(&output.access), value]),
            };
            let base = *self.args.buffers.add(slot);
            let at = self.position(&output.access);
            match self.kernel.slots[slot] {
                Storage::Real => *base.cast::<f64>().add(at) = value,
                Storage::Int => *base.cast::<i32>().add(at) = wrap(value),
            }
        }
    }
}

/// Computes an integer result in `i32` arithmetic that wraps around. Conversions from reals saturate.
fn integer(scalar: Scalar, operands: &[f64]) -> f64 {
    match scalar {
        Scalar::ToInt => f64::from(operands[0] as i32),
        Scalar::Mul => f64::from((operands[0] as i32).wrapping_mul(operands[1] as i32)),
        _ => f64::from(wrap(scalar.eval(operands))),
    }
}

fn wrap(value: f64) -> i32 {
    value as i64 as i32
}

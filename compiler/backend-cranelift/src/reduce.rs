//! Emits reductions over the innermost axis. Accumulators stay in registers and are combined in a
//! fixed order. The result is written to memory once.

use crate::func::{Emitter, memory};
use crate::isa::Lanes;
use crate::stmt::Span;
use bnnc_abi::plan::{Combine, Storage};
use bnnc_base::dtype::DType;
use bnnc_loops::analysis::motion::{Motion, motion};
use bnnc_loops::ir::KernelOutput;
use cranelift_codegen::ir::{InstBuilder, Value};

/// An output whose address is constant along the innermost axis.
pub(crate) struct Reduction {
    /// The index of the output.
    pub output: usize,
    /// The operation that combines elements.
    pub combine: Combine,
    /// The type of the output's elements.
    pub dtype: DType,
    access: usize,
}

impl Emitter<'_, '_> {
    /// Returns the outputs that accumulate in registers.
    pub fn reductions(&self) -> Vec<Reduction> {
        let (kernel, accesses) = (self.source.kernel, self.source.accesses);
        let mut reductions = Vec::new();
        for (number, output) in kernel.outputs.iter().enumerate() {
            let still = motion(kernel, &output.access, self.source.precision) == Motion::Still;
            if let (Some(combine), true, true) =
                (output.combine, still, self.is_placed_outside(&output.access))
            {
                let dtype = self.stored_type(output);
                let access = accesses.output(number);
                reductions.push(Reduction {
                    output: number,
                    combine,
                    dtype,
                    access,
                });
            }
        }
        reductions
    }

    /// Returns the type of an output's elements in memory.
    pub fn stored_type(&self, output: &KernelOutput) -> DType {
        match self.source.kernel.slots[output.access.slot as usize] {
            Storage::Real => DType::Real,
            Storage::Int => DType::Int,
        }
    }

    /// Emits the initial value of each reduction.
    pub fn identities(&mut self, reductions: &[Reduction], lanes: Lanes) -> Vec<Value> {
        let mut scalars = self.scalars(lanes);
        let identity = |each: &Reduction| scalars.literal(each.dtype, each.combine.identity());
        reductions.iter().map(identity).collect()
    }

    /// Emits `copies` accumulators for each reduction. The first copy starts with the current value
    /// of the reduction. The other copies start with the identity of the reduction.
    pub fn spread_copies(
        &mut self,
        reductions: &[Reduction],
        (lanes, copies): (Lanes, usize),
        held: &[Value],
    ) -> Vec<Value> {
        let identities = if copies > 1 {
            self.identities(reductions, lanes)
        } else {
            Vec::new()
        };
        let mut spread = Vec::new();
        for (at, value) in held.iter().enumerate() {
            spread.push(*value);
            spread.extend((1..copies).map(|_| identities[at]));
        }
        spread
    }

    /// Combines the copies of each reduction into one accumulator.
    pub fn fold_copies(
        &mut self,
        reductions: &[Reduction],
        (lanes, copies): (Lanes, usize),
        held: &[Value],
    ) -> Vec<Value> {
        let copies = reductions.iter().zip(held.chunks(copies));
        copies
            .map(|(reduction, copies)| self.fold(reduction, lanes, copies))
            .collect()
    }

    /// Combines the lanes of each accumulator into one element.
    pub fn fold_lanes(&mut self, reductions: &[Reduction], lanes: Lanes, held: &[Value]) -> Vec<Value> {
        let mut fold = |(reduction, vector): (&Reduction, &Value)| {
            let numbers = 0..lanes.count() as u8;
            let lane = |number| self.builder.ins().extractlane(*vector, number);
            let elements: Vec<Value> = numbers.map(lane).collect();
            self.fold(reduction, Lanes::one(self.source.precision), &elements)
        };
        reductions.iter().zip(held).map(&mut fold).collect()
    }

    /// Combines each accumulator with the value in memory.
    pub fn finish_reductions(&mut self, reductions: &[Reduction], held: &[Value], span: &Span) {
        let lanes = Lanes::one(self.source.precision);
        for (reduction, value) in reductions.iter().zip(held) {
            let address = span.pointers[reduction.access];
            let before = self.read(reduction.dtype, lanes, address, 0);
            let after = self
                .scalars(lanes)
                .combine(reduction.combine, reduction.dtype, before, *value);
            self.builder.ins().store(memory(), after, address, 0);
        }
    }

    /// Combines values in pairs, so that rounding errors grow only with the logarithm of the number of values.
    fn fold(&mut self, reduction: &Reduction, lanes: Lanes, values: &[Value]) -> Value {
        if let [value] = values {
            return *value;
        }
        let (left, right) = values.split_at(values.len() / 2);
        let (left, right) = (
            self.fold(reduction, lanes, left),
            self.fold(reduction, lanes, right),
        );
        self.scalars(lanes)
            .combine(reduction.combine, reduction.dtype, left, right)
    }
}

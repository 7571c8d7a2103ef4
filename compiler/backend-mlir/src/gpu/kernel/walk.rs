//! Visits the points of a thread, and combines the results of the threads in a block.

use super::Function;
use crate::func::{Emitter, plus};
use crate::gpu::mapping::THREADS;
use crate::scalar;
use crate::text::{LoopBounds, Value};
use bnnc_base::arena::Id;
use bnnc_loops::analysis::motion::{needed, varies};

/// Visits the points that belong to a thread.
pub(super) struct Walk<'a> {
    function: &'a Function<'a>,
    needed: Vec<bool>,
    varies: Vec<Vec<bool>>,
}

impl<'a> Walk<'a> {
    /// Creates the walk for the part that a function computes.
    pub fn of(function: &'a Function<'a>) -> Walk<'a> {
        let outputs = function.part.outputs.iter();
        Walk {
            function,
            needed: needed(function.kernel, outputs.map(|at| &function.kernel.outputs[*at])),
            varies: varies(function.kernel),
        }
    }

    /// Sets the reductions to their initial values.
    pub fn begin(&self, emitter: &mut Emitter<'_>) {
        for at in &self.function.part.outputs {
            let output = &self.function.kernel.outputs[*at];
            if let Some(combine) = output.combine
                && self.function.in_register(*at)
            {
                let ty = scalar::register_type(combine, emitter.element_type(&output.access));
                emitter.held[*at] = Some(scalar::identity(emitter.text, combine, ty));
            }
        }
    }

    /// Emits the instructions whose values do not vary along the axes in `open`.
    pub fn compute(&self, emitter: &mut Emitter<'_>, open: &[usize]) {
        for id in self.function.kernel.body.ids() {
            let here = self.needed[id.index()] && emitter.values[id.index()].is_none();
            if here && !open.iter().any(|axis| self.varies[id.index()][*axis]) {
                let value = emitter.compute(id, None);
                emitter.values[id.index()] = Some(value);
            }
        }
    }

    /// Emits the loops over `axes`, with the outputs for each point inside.
    pub fn through(&self, emitter: &mut Emitter<'_>, axes: &[usize]) {
        self.compute(emitter, axes);
        let Some((axis, inner)) = axes.split_first() else {
            return self
                .function
                .part
                .outputs
                .iter()
                .for_each(|at| emitter.output(*at, None));
        };
        let zero = emitter.text.long(0);
        let size = emitter.size(self.function.kernel.dims[*axis]);
        emitter.count(LoopBounds::by_one(zero, size), &mut |emitter, index| {
            emitter.indices[*axis] = index;
            self.through(emitter, inner);
        });
    }

    /// Writes the results of the reductions to memory.
    pub fn end(&self, emitter: &mut Emitter<'_>) {
        for at in &self.function.part.outputs {
            if let Some(held) = emitter.held[*at].take() {
                self.write(emitter, *at, held);
            }
        }
    }

    /// Combines the results of the threads in a block in pairs, until one result is left. Then
    /// opens a condition that is true only for the first thread, which uses the combined result.
    pub fn gather(&self, emitter: &mut Emitter<'_>, at: usize, (shared, thread): (Value, Value)) -> Value {
        let output = &self.function.kernel.outputs[at];
        let (Some(combine), Some(held)) = (output.combine, emitter.held[at].take()) else {
            unreachable!("blocks have reductions in registers")
        };
        let ty = held.ty;
        let own = emitter.text.element(shared, thread, ty);
        emitter.text.store(held, own, "");
        emitter.text.line("nvvm.barrier0");
        let mut half = THREADS / 2;
        while half > 0 {
            let limit = emitter.text.long(half);
            let first = emitter.text.compare("slt", thread, limit);
            emitter.text.open(format_args!("scf.if {first} {{"));
            let other = plus(emitter.text, thread, limit);
            let other = emitter.text.element(shared, other, ty);
            let (mine, theirs) = (emitter.text.load(ty, own, ""), emitter.text.load(ty, other, ""));
            let both = scalar::combine(emitter.text, combine, mine, theirs);
            emitter.text.store(both, own, "");
            emitter.text.close("}");
            emitter.text.line("nvvm.barrier0");
            half /= 2;
        }
        let zero = emitter.text.long(0);
        let first = emitter.text.compare("eq", thread, zero);
        emitter.text.open(format_args!("scf.if {first} {{"));
        emitter.text.load(ty, own, "")
    }

    /// Writes the result of a reduction to the buffer of the output.
    pub fn write(&self, emitter: &mut Emitter<'_>, at: usize, result: Value) {
        let access = &self.function.kernel.outputs[at].access;
        let result = scalar::resized(emitter.text, result, emitter.element_type(access));
        emitter.write(access, result, None);
    }
}

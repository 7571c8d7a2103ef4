//! Emits outputs: stores, reductions in memory, and reductions in registers.

use crate::func::Emitter;
use crate::scalar;
use crate::text::Value;

impl<'a> Emitter<'a> {
    /// Emits the loop over `axis`; `inside` emits the body of the loop. If the loop keeps
    /// reductions in registers, they are initialised before the loop and written to memory after
    /// it.
    pub fn reduce(&mut self, axis: usize, inside: &mut dyn FnMut(&mut Emitter<'a>)) {
        let source = self.source;
        let here = |carried: &Option<usize>| *carried == Some(axis);
        let outputs: Vec<usize> = (0..source.kernel.outputs.len())
            .filter(|output| here(&source.schedule.carried[*output]))
            .collect();
        for output in &outputs {
            let described = &source.kernel.outputs[*output];
            let combine = described
                .combine
                .unwrap_or_else(|| unreachable!("only reductions are carried"));
            let ty = scalar::register_type(combine, self.element_type(&described.access));
            self.held[*output] = Some(scalar::identity(self.text, combine, ty));
        }
        inside(self);
        for output in outputs {
            if let Some(held) = self.held[output].take() {
                self.merge(output, held, None);
            }
        }
    }

    /// Emits an output at one point.
    pub fn output(&mut self, number: usize, within: Option<Value>) {
        let output = &self.source.kernel.outputs[number];
        let value = self.value(output.value, within);
        let value = self.storable(value);
        if let Some(within) = within
            && self.add_to_sum(number, value, within)
        {
            return;
        }
        match (output.combine, self.held[number]) {
            (None, _) => self.write(&output.access, value, within),
            (Some(combine), Some(held)) => {
                let value = scalar::resized(self.text, value, held.ty);
                self.held[number] = Some(scalar::combine(self.text, combine, held, value));
            }
            (Some(_), None) => self.merge(number, value, within),
        }
    }

    /// Combines the value of an output with the value in memory.
    pub fn merge(&mut self, number: usize, value: Value, within: Option<Value>) {
        let output = &self.source.kernel.outputs[number];
        let combine = output
            .combine
            .unwrap_or_else(|| unreachable!("only reductions are merged"));
        let before = self.read(&output.access, within);
        let stored = before.ty;
        let before = scalar::resized(self.text, before, value.ty);
        let after = scalar::combine(self.text, combine, before, value);
        let after = scalar::resized(self.text, after, stored);
        self.write(&output.access, after, within);
    }
}

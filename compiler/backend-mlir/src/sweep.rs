//! Sums over draws. All draws of a block of elements are processed before the next block of
//! elements.
//!
//! Note \[Sweeps\]. A kernel may compute the noise of many elements and sum it over draws. The axis
//! of draws is then the second-to-last axis, and the elements are the innermost axis. The elements
//! are split into blocks outside the loop over draws. The data of a block then stay in the nearest
//! cache while all draws are processed. Scratch memory holds the sums in `f64`, so that their
//! rounding errors do not grow with the number of draws. At the end, they are added to the output
//! once.

use crate::func::Emitter;
use crate::scalar;
use crate::text::{LoopBounds, Type, Value};
use bnnc_abi::plan::Combine;
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::staging::BLOCK;

const WIDE: Type = Type::Real(Precision::F64);

impl<'a> Emitter<'a> {
    /// Emits the loops over a range of draws and over the elements, which are the last two axes.
    pub fn sweep(&mut self, draws: LoopBounds) {
        let elements = self.source.kernel.dims.len() - 1;
        let range = self.axis_range(elements);
        let sums = &self.source.schedule.sums;
        self.every_block(range, &mut |emitter, (first, count)| {
            for sum in 0..sums.len() {
                emitter.every_element(count, &mut |emitter, within| {
                    let zero = emitter.text.literal(WIDE, 0.0);
                    emitter.write_sum(sum, within, zero);
                });
            }
            emitter.count(draws, &mut |emitter, draw| {
                emitter.indices.push(draw);
                emitter.hoist(elements, None);
                emitter.reduce(elements, &mut |emitter| emitter.block((first, count)));
                emitter.indices.pop();
            });
            for (sum, output) in sums.iter().enumerate() {
                emitter.every_element(count, &mut |emitter, within| {
                    let zero = emitter.text.long(0);
                    let index = crate::func::plus(emitter.text, first, within);
                    emitter.indices.extend([zero, index]);
                    let value = emitter.read_sum(sum, within);
                    emitter.merge(*output, value, None);
                    emitter.indices.truncate(emitter.indices.len() - 2);
                });
            }
        });
    }

    /// Adds a value to the sum for an element. Returns false if the output does not have sums in
    /// scratch memory.
    pub fn add_to_sum(&mut self, output: usize, value: Value, within: Value) -> bool {
        let sums = &self.source.schedule.sums;
        let Some(sum) = sums.iter().position(|sum| *sum == output) else {
            return false;
        };
        let before = self.read_sum(sum, within);
        let value = scalar::resized(self.text, value, WIDE);
        let after = scalar::combine(self.text, Combine::Sum, before, value);
        self.write_sum(sum, within, after);
        true
    }

    /// Emits a loop over the elements of a block. The loop does not carry reductions.
    pub fn every_element(&mut self, count: Value, body: crate::func::Body<'_, 'a>) {
        let zero = self.text.long(0);
        let held = self.held.iter_mut().map(Option::take).collect();
        self.count(LoopBounds::by_one(zero, count), body);
        self.held = held;
    }

    fn read_sum(&mut self, sum: usize, within: Value) -> Value {
        let (address, scope) = self.sum(sum, within);
        self.text.load(WIDE, address, &scope)
    }

    fn write_sum(&mut self, sum: usize, within: Value, value: Value) {
        let (address, scope) = self.sum(sum, within);
        self.text.store(value, address, &scope);
    }

    fn sum(&mut self, sum: usize, within: Value) -> (Value, String) {
        let homes = self.source.staging.homes;
        let base = self.home(homes);
        let base = self
            .text
            .skip(base, sum * BLOCK as usize * Precision::F64.bytes());
        let address = self.text.element(base, within, WIDE);
        (address, self.home_scope(homes + sum))
    }
}

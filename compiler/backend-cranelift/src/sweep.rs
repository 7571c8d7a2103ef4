//! Sums over draws. All draws of a block of elements are processed before the next block of
//! elements.
//!
//! Note \[Sweeps\]. A kernel may compute the noise of many elements and sum it over draws. The axis
//! of draws is then the second-to-last axis, and the elements are the innermost axis. The elements
//! are split into blocks outside the loop over draws. The data of a block then stay in the nearest
//! cache while all draws are processed. Scratch memory holds sums at two levels, so that rounding
//! errors do not grow with the number of draws. The values of a group of draws are added in the
//! precision of the plan, and the sums of the groups are added in `f64`. At the end, the total is
//! added to the output once.

use crate::func::{CounterRange, Emitter, Source, memory};
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::motion::element_bytes;
use bnnc_loops::analysis::staging::BLOCK;
use bnnc_loops::ir::LoopSize;
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// Draws are added in groups of this size. Within a group, the sum has the precision of the plan.
const GROUP: i64 = 64;
/// The number of bytes that an element's sum in `f64` occupies.
const WIDE_BYTES: i64 = 8;
/// The number of elements that are added per iteration. The size of a block is a multiple of this
/// number.
const UNROLL: i64 = 4;

/// Returns the number of scratch bytes for the sums of one output.
fn slot_bytes(precision: Precision) -> i64 {
    BLOCK * (precision.bytes() as i64 + WIDE_BYTES)
}

/// Returns the number of scratch bytes for the sums of all outputs.
pub(crate) fn scratch_bytes(source: &Source<'_>) -> usize {
    source.schedule.sums.len() * slot_bytes(source.precision) as usize
}

/// The sums of one output.
#[derive(Clone, Copy)]
struct Sum {
    /// The index of the output's access.
    access: usize,
    /// True if there is a separate sum for each element.
    by_element: bool,
    /// The address of the sums over the draws in the current group.
    narrow: Value,
    /// The address of the sums over all previous groups.
    wide: Value,
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits the loops over the draws and the elements, which are the last two axes.
    pub fn sweep(&mut self, pointers: &[Value]) {
        let sums = self.clear_sums();
        let elements = self.source.kernel.dims.len() - 1;
        let (from, to) = self.axis_range(elements);
        let range = CounterRange {
            from,
            to,
            step: BLOCK,
        };
        self.walk(elements, range, pointers, &mut |emitter, first, pointers| {
            let count = emitter.rest(first, to, BLOCK);
            emitter.groups(&sums, (first, count), pointers);
            for sum in sums.iter().filter(|sum| sum.by_element) {
                emitter.add_to_output(sum, pointers[sum.access], count);
            }
        });
        for sum in sums.iter().filter(|sum| !sum.by_element) {
            let one = self.int(1);
            self.add_to_output(sum, pointers[sum.access], one);
        }
    }

    /// Emits the loop over groups of draws for a block of elements.
    fn groups(&mut self, sums: &[Sum], (first, count): (Value, Value), pointers: &[Value]) {
        let axis = self.source.kernel.dims.len() - 2;
        let tile = self.source.staging.tile;
        let group = tile.map_or(GROUP, |(rows, _)| rows * (GROUP + rows - 1).div_euclid(rows));
        let (from, to) = self.axis_range(axis);
        let range = CounterRange {
            from,
            to,
            step: group,
        };
        self.walk(axis, range, pointers, &mut |emitter, draw, pointers| {
            let mut pointers = pointers.to_vec();
            sums.iter().for_each(|sum| pointers[sum.access] = sum.narrow);
            let length = emitter.rest(draw, to, group);
            let end = emitter.builder.ins().iadd(draw, length);
            match tile {
                Some(tile) => emitter.tiles(&pointers, (draw, end), tile),
                None => emitter.draws((draw, end), (first, count), &pointers),
            }
            for sum in sums {
                let length = if sum.by_element { count } else { emitter.int(1) };
                emitter.widen(sum, length);
            }
        });
    }

    /// Emits the loop over a range of draws for a block of elements.
    fn draws(&mut self, (from, to): (Value, Value), (first, count): (Value, Value), pointers: &[Value]) {
        let axis = self.source.kernel.dims.len() - 2;
        let range = CounterRange { from, to, step: 1 };
        self.walk(axis, range, pointers, &mut |emitter, draw, pointers| {
            emitter.indices.push(draw);
            emitter.hoist(axis + 1, pointers, None);
            let span = emitter.span(pointers, (first, count));
            emitter.stages(&span);
            emitter.indices.pop();
        });
    }

    /// Sets all sums to zero.
    fn clear_sums(&mut self) -> Vec<Sum> {
        let (source, precision) = (self.source, self.source.precision);
        let slot = slot_bytes(precision);
        let mut sums: Vec<Sum> = Vec::new();
        for (at, output) in source.schedule.sums.iter().enumerate() {
            let access = source.accesses.output(*output);
            if sums.iter().any(|sum| sum.access == access) {
                continue;
            }
            let narrow = self.home(source.staging.homes);
            let narrow = self.plus(narrow, at as i64 * slot);
            let wide = self.plus(narrow, BLOCK * precision.bytes() as i64);
            let end = self.plus(narrow, slot);
            let zero = self.int(0);
            let range = CounterRange {
                from: narrow,
                to: end,
                step: WIDE_BYTES,
            };
            self.each(range, &mut |emitter, address| {
                emitter.builder.ins().store(memory(), zero, address, 0);
            });
            let by_element = source.accesses.list()[access].strides.last() == Some(&LoopSize::Fixed(1));
            sums.push(Sum {
                access,
                by_element,
                narrow,
                wide,
            });
        }
        sums
    }

    /// Adds the sums over a group of draws to the sums over all previous groups. After the first
    /// `count` elements, both sums are zero.
    fn widen(&mut self, sum: &Sum, count: Value) {
        let bytes = self.source.precision.bytes() as i64;
        let range = CounterRange {
            from: self.int(0),
            to: count,
            step: UNROLL,
        };
        self.each(range, &mut |emitter, at| {
            let from = emitter.element_at(sum.narrow, at, bytes);
            let to = emitter.element_at(sum.wide, at, WIDE_BYTES);
            for copy in 0..UNROLL {
                let offset = (copy * WIDE_BYTES) as i32;
                let value = emitter.take_real(from, copy * bytes);
                let held = emitter.builder.ins().load(types::F64, memory(), to, offset);
                let value = emitter.builder.ins().fadd(held, value);
                emitter.builder.ins().store(memory(), value, to, offset);
            }
        });
    }

    /// Reads a real as `f64`, and stores a zero in its place.
    fn take_real(&mut self, address: Value, offset: i64) -> Value {
        let (ty, zero) = match self.source.precision {
            Precision::F32 => (types::F32, self.builder.ins().f32const(0.0)),
            Precision::F64 => (types::F64, self.builder.ins().f64const(0.0)),
        };
        let value = self.builder.ins().load(ty, memory(), address, offset as i32);
        self.builder.ins().store(memory(), zero, address, offset as i32);
        match self.source.precision {
            Precision::F32 => self.builder.ins().fpromote(types::F64, value),
            Precision::F64 => value,
        }
    }

    /// Adds the sums over all draws to `count` elements of the output. Then resets the sums to
    /// zero.
    fn add_to_output(&mut self, sum: &Sum, pointer: Value, count: Value) {
        let kernel = self.source.kernel;
        let access = self.source.accesses.list()[sum.access];
        let bytes = element_bytes(kernel, access, self.source.precision);
        let (from, zero) = (self.int(0), self.builder.ins().f64const(0.0));
        let range = CounterRange {
            from,
            to: count,
            step: 1,
        };
        self.each(range, &mut |emitter, at| {
            let from = emitter.element_at(sum.wide, at, WIDE_BYTES);
            let to = emitter.element_at(pointer, at, bytes);
            let mut value = emitter.builder.ins().load(types::F64, memory(), from, 0);
            emitter.builder.ins().store(memory(), zero, from, 0);
            let ty = match emitter.source.precision {
                Precision::F32 => {
                    value = emitter.builder.ins().fdemote(types::F32, value);
                    types::F32
                }
                Precision::F64 => types::F64,
            };
            let held = emitter.builder.ins().load(ty, memory(), to, 0);
            let value = emitter.builder.ins().fadd(held, value);
            emitter.builder.ins().store(memory(), value, to, 0);
        });
    }

    /// Returns the address of an element. The size of elements in bytes must be a power of two.
    fn element_at(&mut self, base: Value, at: Value, bytes: i64) -> Value {
        let skipped = self.scaled(at, bytes);
        self.builder.ins().iadd(base, skipped)
    }
}

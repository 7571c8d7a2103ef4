//! Emits kernels that call array primitives along a short axis. Each call processes several rows.

use crate::func::{AxisBody, CounterRange, Emitter, Source};
use bnnc_base::arena::Id;
use bnnc_loops::analysis::staging::rows_adjoin;
use bnnc_loops::ir::{InstId, InstOp, Kernel};
use cranelift_codegen::ir::{InstBuilder, Value};

/// A group of neighbouring rows.
struct Tile<'p> {
    /// The index of the first row.
    first: Value,
    /// The number of rows.
    count: Value,
    /// The number of elements of a row.
    length: i64,
    /// The address of each access at the first row.
    pointers: &'p [Value],
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits the loop over a range of the second-to-last axis, in steps of `rows`.
    pub fn tiles(&mut self, pointers: &[Value], (from, to): (Value, Value), (rows, length): (i64, i64)) {
        let axis = row_axis(self.source.kernel);
        let range = CounterRange { from, to, step: rows };
        self.walk(axis, range, pointers, &mut |emitter, first, pointers| {
            let count = emitter.rest(first, to, rows);
            emitter.tile(&Tile {
                first,
                count,
                length,
                pointers,
            });
        });
    }

    fn tile(&mut self, tile: &Tile<'_>) {
        let Source { kernel, staging, .. } = self.source;
        for (number, stage) in staging.stages.iter().enumerate() {
            if staging.has_loop(number) {
                let needed = staging.needs(kernel, number);
                self.rows(tile, &needed, &mut |emitter, skipped, pointers| {
                    let span = emitter.whole_axis(pointers, Some(skipped));
                    emitter.stage_loops(number, &span);
                });
            }
            stage.calls.iter().for_each(|id| self.tile_call(*id, tile));
        }
    }

    /// Emits the loop over the rows of a tile. Instead of a counter, the body receives the number of bytes that
    /// the values of the previous rows occupy.
    fn rows(&mut self, tile: &Tile<'_>, needed: &[bool], body: AxisBody<'_, 'a, 'f>) {
        let axis = row_axis(self.source.kernel);
        let bytes = tile.length * self.source.precision.bytes() as i64;
        let (from, to) = (self.int(0), tile.count);
        let range = CounterRange { from, to, step: 1 };
        self.walk(axis, range, tile.pointers, &mut |emitter, row, pointers| {
            let skipped = emitter.builder.ins().imul_imm_s(row, bytes);
            let index = emitter.builder.ins().iadd(tile.first, row);
            emitter.indices.push(index);
            emitter.hoist(axis + 1, pointers, Some(needed));
            body(emitter, skipped, pointers);
            emitter.indices.pop();
        });
    }

    fn tile_call(&mut self, id: InstId, tile: &Tile<'_>) {
        let Source { kernel, staging, .. } = self.source;
        match &kernel.body[id].op {
            InstOp::Apply(_, operands) => {
                let elements = self.builder.ins().imul_imm_s(tile.count, tile.length);
                self.call_block(id, (operands, tile.pointers), elements);
            }
            InstOp::Noise(noise) => {
                let axis = row_axis(kernel);
                let mut coordinates = noise.coordinates.iter();
                let same_stream = coordinates.all(|id| staging.depth[id.index()] <= axis);
                let zero = self.int(0);
                if same_stream && rows_adjoin(&noise.strides, tile.length) {
                    let elements = self.builder.ins().imul_imm_s(tile.count, tile.length);
                    self.indices.push(tile.first);
                    self.noise_block(id, (zero, elements), tile.pointers, None);
                    self.indices.pop();
                    return;
                }
                let needed = staging.closure(kernel, &noise.coordinates);
                self.rows(tile, &needed, &mut |emitter, skipped, pointers| {
                    let (first, length) = (emitter.int(0), emitter.int(tile.length));
                    emitter.noise_block(id, (first, length), pointers, Some(skipped));
                });
            }
            InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => unreachable!("{id} is no call"),
        }
    }
}

fn row_axis(kernel: &Kernel) -> usize {
    kernel.dims.len() - 2
}

//! Emits kernels that call array primitives along a short axis. Several rows share each call.

use crate::func::{CounterRange, Emitter, replaced};
use bnnc_base::arena::Id;
use bnnc_loops::analysis::staging::rows_adjoin;
use bnnc_loops::ir::{InstId, InstOp, Kernel};
use cranelift_codegen::ir::{InstBuilder, Value};

/// A group of neighbouring rows.
struct Tile {
    /// The index of the first row.
    first: Value,
    /// The number of rows.
    count: Value,
    /// The number of elements of a row.
    length: i64,
    /// The address of each access at the first row.
    pointers: Vec<Value>,
    /// The accesses whose addresses differ between rows, with their strides in bytes.
    moving: Vec<usize>,
    strides: Vec<Value>,
}

/// The code for each row of a tile, with the arguments `(emitter, pointers, skipped)`. `skipped` is
/// the number of bytes that the values of the previous rows occupy.
type RowBody<'b, 'a, 'f> = &'b mut dyn FnMut(&mut Emitter<'a, 'f>, &[Value], Value);

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits the loop over a range of the second-to-last axis, in steps of `rows`.
    pub fn tiles(&mut self, pointers: &[Value], (from, to): (Value, Value), (rows, length): (i64, i64)) {
        let axis = row_axis(self.source.kernel);
        let (moving, strides) = self.steps(axis);
        let mut leaps = Vec::new();
        for stride in &strides {
            leaps.push(self.builder.ins().imul_imm_s(*stride, rows));
        }
        let carried: Vec<Value> = moving.iter().map(|at| pointers[*at]).collect();
        self.count(
            CounterRange { from, to, step: rows },
            &carried,
            &mut |emitter, first, carried| {
                let rest = emitter.builder.ins().isub(to, first);
                let most = emitter.int(rows);
                let count = emitter.builder.ins().smin(rest, most);
                let pointers = replaced(pointers, &moving, carried);
                let (moving, strides) = (moving.clone(), strides.clone());
                emitter.tile(&Tile {
                    first,
                    count,
                    length,
                    pointers,
                    moving,
                    strides,
                });
                emitter.advance(carried, &leaps)
            },
        );
    }

    fn tile(&mut self, tile: &Tile) {
        let source = self.source;
        let stages = &source.schedule.stages;
        for (number, stage) in stages.iter().enumerate() {
            if number + 1 == stages.len() || !stage.store.is_empty() {
                let needed = source.schedule.needs(source.kernel, number);
                self.rows(tile, &needed, &mut |emitter, pointers, skipped| {
                    let span = emitter.whole_axis(pointers, Some(skipped));
                    emitter.stage_loops(number, &span);
                });
            }
            stage.calls.iter().for_each(|id| self.tile_call(*id, tile));
        }
    }

    /// Emits the loop over the rows of a tile.
    fn rows(&mut self, tile: &Tile, needed: &[bool], body: RowBody<'_, 'a, 'f>) {
        let zero = self.int(0);
        let mut carried: Vec<Value> = tile.moving.iter().map(|at| tile.pointers[*at]).collect();
        carried.push(zero);
        let bytes = tile.length * self.source.precision.bytes() as i64;
        self.count(
            CounterRange {
                from: zero,
                to: tile.count,
                step: 1,
            },
            &carried,
            &mut |emitter, row, carried| {
                let (moved, skipped) = (&carried[..tile.moving.len()], carried[tile.moving.len()]);
                let pointers = replaced(&tile.pointers, &tile.moving, moved);
                let index = emitter.builder.ins().iadd(tile.first, row);
                emitter.indices.push(index);
                emitter.hoist(row_axis(emitter.source.kernel) + 1, &pointers, Some(needed));
                body(emitter, &pointers, skipped);
                emitter.indices.pop();
                let mut next = emitter.advance(moved, &tile.strides);
                next.push(emitter.plus(skipped, bytes));
                next
            },
        );
    }

    fn tile_call(&mut self, id: InstId, tile: &Tile) {
        let source = self.source;
        match &source.kernel.body[id].op {
            InstOp::Apply(_, operands) => {
                let elements = self.builder.ins().imul_imm_s(tile.count, tile.length);
                self.call_block(id, (operands, &tile.pointers), elements);
            }
            InstOp::Noise {
                coordinates, strides, ..
            } => {
                let axis = row_axis(source.kernel);
                let same_stream = coordinates
                    .iter()
                    .all(|id| source.schedule.depth[id.index()] <= axis);
                let zero = self.int(0);
                if same_stream && rows_adjoin(strides, tile.length) {
                    let elements = self.builder.ins().imul_imm_s(tile.count, tile.length);
                    self.indices.push(tile.first);
                    self.noise_block(id, (zero, elements), &tile.pointers, None);
                    self.indices.pop();
                    return;
                }
                let needed = source.schedule.closure(source.kernel, coordinates);
                self.rows(tile, &needed, &mut |emitter, pointers, skipped| {
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

//! Emits the innermost loops. The innermost loops run over single points, over blocks of points
//! between calls, or over tiles of several rows.

use crate::func::{Emitter, Source};
use crate::text::{LoopBounds, Value};
use bnnc_base::arena::Id;
use bnnc_loops::analysis::staging::{BLOCK, rows_adjoin};
use bnnc_loops::ir::{InstId, InstOp};

/// A group of neighbouring rows: the index of the first row, the number of rows, and the number of elements of each row.
#[derive(Clone, Copy)]
struct Tile {
    first: Value,
    count: Value,
    length: i64,
}

impl<'a> Emitter<'a> {
    /// Emits a stage at one point. If the loop has blocks, `within` is the offset of the point in
    /// the current block.
    pub fn point(&mut self, number: usize, within: Option<Value>) {
        let Source { kernel, staging, .. } = self.source;
        let stage = &staging.stages[number];
        for id in &stage.body {
            let value = self.compute(*id, within);
            self.values[id.index()] = Some(value);
        }
        if let Some(within) = within {
            stage.store.iter().for_each(|id| self.remember(*id, within));
        }
        if staging.is_last(number) {
            (0..kernel.outputs.len()).for_each(|output| self.output(output, within));
        }
    }

    /// Emits the loop over the innermost axis, in blocks.
    pub fn blocks(&mut self, (from, to): (Value, Value)) {
        self.every_block((from, to), &mut |emitter, block| emitter.block(block));
    }

    /// Emits a loop over the blocks of a range. `body` gets the start and the length of a block.
    pub fn every_block(
        &mut self,
        (from, to): (Value, Value),
        body: &mut dyn FnMut(&mut Emitter<'a>, (Value, Value)),
    ) {
        let bounds = LoopBounds {
            from,
            to,
            step: BLOCK,
        };
        self.count(bounds, &mut |emitter, first| {
            let count = emitter.rest((first, to), BLOCK);
            body(emitter, (first, count));
        });
    }

    /// Emits all stages of the block of `count` elements that begins at the index `first`.
    pub fn block(&mut self, (first, count): (Value, Value)) {
        let staging = self.source.staging;
        for (number, stage) in staging.stages.iter().enumerate() {
            if staging.has_loop(number) {
                self.part(number, count, &mut |emitter, within| {
                    let index = crate::func::plus(emitter.text, first, within);
                    emitter.indices.push(index);
                    emitter.point(number, Some(within));
                    emitter.indices.pop();
                });
            }
            self.indices.push(first);
            stage.calls.iter().for_each(|id| self.call_block(*id, count));
            self.indices.pop();
        }
    }

    /// Emits the loops over the last two axes, in tiles.
    pub fn tiles(&mut self, (from, to): (Value, Value)) {
        let Source { kernel, staging, .. } = self.source;
        let Some((rows, length)) = staging.tile else {
            unreachable!("there are tiles")
        };
        self.count(LoopBounds { from, to, step: rows }, &mut |emitter, first| {
            let count = emitter.rest((first, to), rows);
            let tile = Tile { first, count, length };
            for (number, stage) in staging.stages.iter().enumerate() {
                if staging.has_loop(number) {
                    let needed = staging.needs(kernel, number);
                    emitter.rows(tile, Some(number), &needed, &mut |emitter, skipped| {
                        emitter.row(number, length, skipped);
                    });
                }
                stage.calls.iter().for_each(|id| emitter.tile_call(*id, tile));
            }
        });
    }

    /// Emits one row of a tile. The row begins `skipped` elements after the start of the block.
    fn row(&mut self, number: usize, length: i64, skipped: Value) {
        let length = self.text.long(length);
        let inner = self.source.kernel.dims.len() - 1;
        let inside = |emitter: &mut Emitter<'a>| {
            emitter.part(number, length, &mut |emitter, index| {
                let within = crate::func::plus(emitter.text, skipped, index);
                emitter.indices.push(index);
                emitter.point(number, Some(within));
                emitter.indices.pop();
            });
        };
        match self.source.staging.is_last(number) {
            true => self.reduce(inner, &mut |emitter| inside(emitter)),
            false => inside(self),
        }
    }

    /// Emits `for counter in 0..count`. Only the last stage carries reductions through this loop.
    fn part(&mut self, number: usize, count: Value, body: crate::func::Body<'_, 'a>) {
        if !self.source.staging.is_last(number) {
            return self.every_element(count, body);
        }
        let zero = self.text.long(0);
        self.count(LoopBounds::by_one(zero, count), body);
    }

    /// Emits the loop over the rows of a tile. The loop is for the stage `number`, or for a call if
    /// `number` is `None`.
    fn rows(&mut self, tile: Tile, number: Option<usize>, needed: &[bool], body: crate::func::Body<'_, 'a>) {
        let depth = self.source.kernel.dims.len() - 1;
        self.part(number.unwrap_or(0), tile.count, &mut |emitter, row| {
            let length = emitter.text.long(tile.length);
            let skipped = crate::func::times(emitter.text, row, length);
            let index = crate::func::plus(emitter.text, tile.first, row);
            emitter.indices.push(index);
            emitter.hoist(depth, Some(needed));
            body(emitter, skipped);
            emitter.indices.pop();
        });
    }

    fn tile_call(&mut self, id: InstId, tile: Tile) {
        let Source { kernel, staging, .. } = self.source;
        let row_axis = kernel.dims.len() - 2;
        if let InstOp::Noise(noise) = &kernel.body[id].op {
            let mut coordinates = noise.coordinates.iter();
            let same_stream = coordinates.all(|id| staging.depth[id.index()] <= row_axis);
            if !(same_stream && rows_adjoin(&noise.strides, tile.length)) {
                let needed = staging.closure(kernel, &noise.coordinates);
                return self.rows(tile, None, &needed, &mut |emitter, skipped| {
                    let length = emitter.text.long(tile.length);
                    emitter.noise_block(id, length, Some(skipped));
                });
            }
        }
        let length = self.text.long(tile.length);
        let elements = crate::func::times(self.text, tile.count, length);
        self.indices.push(tile.first);
        self.call_block(id, elements);
        self.indices.pop();
    }

    /// Returns the smaller of `to - first` and `most`.
    pub fn rest(&mut self, (first, to): (Value, Value), most: i64) -> Value {
        let rest = self.text.alike("arith.subi", &[to, first]);
        let most = self.text.long(most);
        self.text.alike("arith.minsi", &[rest, most])
    }
}

//! Emits the innermost loops. The innermost loops run over single points, over blocks of points
//! between calls, or over tiles of several rows.

use crate::func::Emitter;
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
        let (source, stages) = (self.source, &self.source.schedule.stages);
        for id in &stages[number].body {
            let value = self.compute(*id, within);
            self.values[id.index()] = Some(value);
        }
        if let Some(within) = within {
            stages[number]
                .store
                .iter()
                .for_each(|id| self.remember(*id, within));
        }
        if number + 1 == stages.len() {
            (0..source.kernel.outputs.len()).for_each(|output| self.output(output, within));
        }
    }

    /// Emits the loop over the innermost axis, in blocks.
    pub fn blocks(&mut self, (from, to): (Value, Value)) {
        self.count(
            LoopBounds {
                from,
                to,
                step: BLOCK,
            },
            &mut |emitter, first| {
                let count = emitter.rest((first, to), BLOCK);
                emitter.block((first, count));
            },
        );
    }

    /// Emits all stages of the block of `count` elements that begins at the index `first`.
    pub fn block(&mut self, (first, count): (Value, Value)) {
        let stages = &self.source.schedule.stages;
        for (number, stage) in stages.iter().enumerate() {
            if self.has_loop(number) {
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
        let Some((rows, length)) = self.source.schedule.tile else {
            unreachable!("there are tiles")
        };
        self.count(LoopBounds { from, to, step: rows }, &mut |emitter, first| {
            let count = emitter.rest((first, to), rows);
            let tile = Tile { first, count, length };
            let (kernel, schedule) = (emitter.source.kernel, emitter.source.schedule);
            for (number, stage) in schedule.stages.iter().enumerate() {
                if emitter.has_loop(number) {
                    let needed = schedule.needs(kernel, number);
                    emitter.rows(tile, Some(number), &needed, &mut |emitter, skipped| {
                        emitter.row(number, length, skipped);
                    });
                }
                stage.calls.iter().for_each(|id| emitter.tile_call(*id, tile));
            }
        });
    }

    /// Emits one row of a tile. The row begins `skipped` elements after the start of the tile's block.
    fn row(&mut self, number: usize, length: i64, skipped: Value) {
        let length = self.text.long(length);
        let last = number + 1 == self.source.schedule.stages.len();
        let inner = self.source.kernel.dims.len() - 1;
        let inside = |emitter: &mut Emitter<'a>| {
            emitter.part(number, length, &mut |emitter, index| {
                let within = crate::func::plus(emitter.text, skipped, index);
                emitter.indices.push(index);
                emitter.point(number, Some(within));
                emitter.indices.pop();
            });
        };
        match last {
            true => self.reduce(inner, &mut |emitter| inside(emitter)),
            false => inside(self),
        }
    }

    /// Emits `for counter in 0..count`. Only the last stage carries reductions through this loop.
    fn part(&mut self, number: usize, count: Value, body: crate::func::Body<'_, 'a>) {
        let zero = self.text.long(0);
        let last = number + 1 == self.source.schedule.stages.len();
        let held = match last {
            true => None,
            false => Some(self.held.iter_mut().map(Option::take).collect()),
        };
        self.count(LoopBounds::by_one(zero, count), body);
        if let Some(held) = held {
            self.held = held;
        }
    }

    /// Emits the loop over the rows of a tile. The loop belongs to the stage `number`, or to a call
    /// if `number` is `None`.
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
        let (kernel, schedule) = (self.source.kernel, self.source.schedule);
        let row_axis = kernel.dims.len() - 2;
        if let InstOp::Noise {
            coordinates, strides, ..
        } = &kernel.body[id].op
        {
            let same_stream = coordinates
                .iter()
                .all(|id| schedule.depth[id.index()] <= row_axis);
            if !(same_stream && rows_adjoin(strides, tile.length)) {
                let needed = schedule.closure(kernel, coordinates);
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

    /// Returns whether a stage computes anything before its calls.
    fn has_loop(&self, number: usize) -> bool {
        let stages = &self.source.schedule.stages;
        number + 1 == stages.len() || !stages[number].store.is_empty()
    }

    /// Returns the smaller of `to - first` and `most`.
    pub fn rest(&mut self, (first, to): (Value, Value), most: i64) -> Value {
        let rest = self.text.alike("arith.subi", &[to, first]);
        let most = self.text.long(most);
        self.text.alike("arith.minsi", &[rest, most])
    }
}

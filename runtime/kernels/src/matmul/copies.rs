//! Copies of operands whose rows, columns or terms are spread over several axes.
//!
//! Note [Runs]. A table holds the positions of the elements along each side of an operand. The elements along one side of the operand may be
//! adjacent in runs (the columns of a window, a row of positions). Each run is then copied with one vector. A run is never longer than a vector.
//! If elements are adjacent only along the other side, they are copied as transposed squares. In all other cases, elements are copied one by one.

use super::tile::{CopyJob, Kernels, MatmulElement};
use super::workspace::AdjacentRun;

/// Elements are copied by runs only if the runs have at least this many elements on average. Copying shorter runs is not faster than copying single
/// elements.
const SHORTEST: usize = 2;

/// A block of an operand, and its copy. Each line of the copy holds the elements of one line of the block, in the same order.
pub struct Block<'a, T: 'static> {
    /// The kernels.
    pub kernels: &'static Kernels<T>,
    /// The operand.
    pub from: *const T,
    /// The positions of the lines.
    pub lines: &'a [isize],
    /// The positions of the elements of a line.
    pub elements: &'a [isize],
    /// The first line of the copy.
    pub to: *mut T,
    /// The distance between lines of the copy.
    pub stride: usize,
}

/// Returns the number of runs if each run has at most `most` adjacent elements.
pub fn count_runs(positions: &[isize], most: usize) -> usize {
    each_run(positions, most, &mut |_| {})
}

fn each_run(positions: &[isize], most: usize, visit: &mut dyn FnMut(AdjacentRun)) -> usize {
    let (mut count, mut first) = (0, 0);
    while let Some(from) = positions.get(first).copied() {
        let rest = positions[first..].iter().take(most).enumerate();
        let length = rest
            .take_while(|(at, position)| **position == from + *at as isize)
            .count();
        visit(AdjacentRun {
            from,
            to: first as u32,
            length: length as u32,
        });
        (count, first) = (count + 1, first + length);
    }
    count
}

impl<T: MatmulElement> Block<'_, T> {
    /// Copies the block.
    ///
    /// # Safety
    /// The operand must hold the block. The copy must have room for all lines and one more vector. `runs` must have room for one run per element of a
    /// line.
    pub unsafe fn copy(&self, runs: &mut [AdjacentRun]) {
        let Kernels {
            lanes, half, copies, ..
        } = self.kernels;
        let mut longest = 0;
        let mut count = 0;
        each_run(self.elements, *lanes, &mut |run| {
            longest = longest.max(run.length as usize);
            runs[count] = run;
            count += 1;
        });
        // SAFETY: the caller's promise.
        unsafe {
            if count * SHORTEST <= self.elements.len() {
                let kernel = if longest <= *half { copies[1] } else { copies[0] };
                kernel(&CopyJob {
                    from: self.from,
                    lines: self.lines,
                    runs: &runs[..count],
                    to: self.to,
                    stride: self.stride,
                });
            } else {
                self.transpose();
            }
        }
    }

    /// Copies squares of elements that are adjacent along the lines, and single elements elsewhere.
    ///
    /// # Safety
    /// The same conditions as for [`Block::copy`] apply.
    unsafe fn transpose(&self) {
        let side = self.kernels.square;
        let mut line = 0;
        while line < self.lines.len() {
            let rest = &self.lines[line..];
            let length = count_first_run(rest, side);
            let mut element = 0;
            // SAFETY: the caller's promise.
            unsafe {
                if length == side {
                    while let Some(distance) = self.elements.get(element..element + side).and_then(distance) {
                        let from = self.from.wrapping_offset(rest[0] + self.elements[element]);
                        let to = self.to.add(line * self.stride + element);
                        (self.kernels.transpose)(from, distance, to, self.stride);
                        element += side;
                    }
                }
                for (at, position) in rest[..length].iter().enumerate() {
                    let from = self.from.wrapping_offset(*position);
                    let to = self.to.add((line + at) * self.stride);
                    for (at, position) in self.elements.iter().enumerate().skip(element) {
                        to.add(at).write(from.wrapping_offset(*position).read());
                    }
                }
            }
            line += length;
        }
    }
}

/// Returns the length of the first run, limited to `most`.
fn count_first_run(positions: &[isize], most: usize) -> usize {
    let adjacent = |pair: &&[isize]| pair[1] == pair[0] + 1;
    let run = positions[..most.min(positions.len())].windows(2);
    run.take_while(adjacent).count() + 1
}

/// Returns the distance between neighbouring positions, if it is the same everywhere.
pub fn distance(positions: &[isize]) -> Option<isize> {
    let distance = positions.get(1).map_or(0, |second| second - positions[0]);
    let is_even = positions.windows(2).all(|pair| pair[1] - pair[0] == distance);
    is_even.then_some(distance)
}

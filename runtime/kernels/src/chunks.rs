//! Divides launches into chunks. The division depends only on the sizes of a launch, so results do
//! not depend on the number of threads.

use crate::arena::element_count;
use bnnc_abi::plan::{Launch, Plan};
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// A launch is divided into several chunks only if each chunk has at least this number of scalar
/// operations.
const WORK: i64 = 32_768;
/// The maximum number of chunks of a launch.
const MOST: i64 = 64;
/// The maximum number of elements in all copies of a launch's partial reductions. A
/// launch may exceed this limit if it has at most [`FEW`] chunks.
const COPIED: usize = 65_536;
/// A launch is always allowed this number of chunks, even if its copies of partial reductions are
/// large.
const FEW: usize = 4;
/// Chunk boundaries are rounded to multiples of a unit. The unit is at most this number of
/// iterations.
const BLOCK: i64 = 256;

/// Returns the number of chunks of a launch. It is at least one.
pub fn count(plan: &Plan, launch: &Launch, sizes: &Sizes) -> usize {
    let outer = launch.outer.resolve(sizes).max(1);
    let work = outer.saturating_mul(launch.work.resolve(sizes).max(1));
    let chunks = (work / WORK).clamp(1, MOST).min(outer) as usize;
    let partial = launch.reduces.iter().filter(|reduce| reduce.partial);
    let elements =
        partial.map(|reduce| element_count(&plan.buffers[launch.buffers[reduce.slot as usize]], sizes));
    let copied = elements.fold(0, usize::saturating_add);
    if copied == 0 {
        return chunks;
    }
    // Combining the copies costs about one operation per element and chunk. With this number of
    // chunks or fewer, a chunk has at least four times as many operations.
    let worthwhile = work as usize / copied.saturating_mul(4);
    chunks.min((COPIED / copied).max(FEW)).min(worthwhile.max(1))
}

/// Returns the range of iterations of a chunk. Because vectors and random numbers are computed in
/// blocks, long chunks begin at a block boundary.
pub fn bounds(outer: i64, chunk: usize, chunks: usize) -> Range<i64> {
    let length = outer / chunks as i64;
    // Boundaries are rounded down to multiples of `unit`. The rounding moves a boundary by at most
    // an eighth of a chunk.
    let unit = (1 << (length / 8).max(1).ilog2()).min(BLOCK);
    let cut = |at: usize| match at == chunks {
        true => outer,
        false => (i128::from(outer) * at as i128 / chunks as i128) as i64 / unit * unit,
    };
    cut(chunk)..cut(chunk + 1)
}

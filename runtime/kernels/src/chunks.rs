//! Divides launches into chunks by their sizes alone, so that results do not depend on the number of threads.

use crate::arena::element_count;
use bnnc_abi::plan::{Launch, Plan};
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// A launch is divided into at most one chunk per this number of scalar operations.
const WORK: i64 = 32_768;
/// The maximum number of chunks of a launch.
const MOST: i64 = 64;
/// The copies of partial reductions of all chunks of a launch have at most this number of elements in total, unless the launch has at most [`FEW`]
/// chunks.
const COPIED: usize = 65_536;
/// The number of chunks that a launch may have regardless of the size of its copies.
const FEW: usize = 4;
/// The lengths of long chunks are multiples of this number of iterations.
const BLOCK: i64 = 256;

/// Returns the number of chunks of a launch, at least one.
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
    // Combining a copy costs about one operation per element. This cost must be much smaller than the number of operations of a chunk.
    let worthwhile = work as usize / copied.saturating_mul(4);
    chunks.min((COPIED / copied).max(FEW)).min(worthwhile.max(1))
}

/// Returns the iterations of a chunk. Long chunks begin at the boundaries of blocks of vectors and of random numbers.
pub fn bounds(outer: i64, chunk: usize, chunks: usize) -> Range<i64> {
    let length = outer / chunks as i64;
    // Boundaries are rounded down to multiples of `unit`, which shifts them by at most an eighth of a chunk.
    let unit = (1 << (length / 8).max(1).ilog2()).min(BLOCK);
    let cut = |at: usize| match at == chunks {
        true => outer,
        false => (i128::from(outer) * at as i128 / chunks as i128) as i64 / unit * unit,
    };
    cut(chunk)..cut(chunk + 1)
}

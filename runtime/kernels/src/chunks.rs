//! How launches are cut into chunks: by their sizes alone, so that results do not depend on the threads.

use crate::arena::element_count;
use bnnc_abi::plan::{Launch, Plan};
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// Scalar operations that are worth a chunk.
const WORK: i64 = 32_768;
/// The most chunks of a launch.
const MOST: i64 = 64;
/// Elements that the copies of partial reductions may have together, if there are more than [`FEW`].
const COPIED: usize = 65_536;
/// Chunks that a launch may have whatever its copies cost to keep.
const FEW: usize = 4;
/// Iterations of which the lengths of long chunks are multiples.
const BLOCK: i64 = 256;

/// The number of chunks of a launch, at least one.
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
    // Combining a copy costs about one operation per element; it shall stay well below the work it saves.
    let worthwhile = work as usize / copied.saturating_mul(4);
    chunks.min((COPIED / copied).max(FEW)).min(worthwhile.max(1))
}

/// The iterations of a chunk. Long chunks begin where blocks of vectors and of random numbers do.
pub fn bounds(outer: i64, chunk: usize, chunks: usize) -> Range<i64> {
    let length = outer / chunks as i64;
    // Rounding moves an end by an eighth of a chunk at most.
    let unit = (1 << (length / 8).max(1).ilog2()).min(BLOCK);
    let cut = |at: usize| match at == chunks {
        true => outer,
        false => (i128::from(outer) * at as i128 / chunks as i128) as i64 / unit * unit,
    };
    cut(chunk)..cut(chunk + 1)
}

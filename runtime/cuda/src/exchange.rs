//! Exchanges between host and device. An exchange is a run together with the copies before and
//! after it, and is captured as a single graph.
//!
//! Note [Exchanges]. A step of a sampler sends a position, runs the plan, and waits for the density
//! and its gradient. A step of training sends counters, runs the plan, and waits for a loss. All
//! steps of a kind copy the same ranges of the arena. From the second step on, one graph contains
//! the copies to the device, the plan, and the copies to the host. On the host, the graph copies
//! from and to page-locked memory that belongs to it. A step then copies its inputs to the
//! page-locked memory, launches the graph, waits once, and copies its results from the page-locked
//! memory. Other copies between two steps, such as the row indices of a batch, are enqueued
//! separately before the launch.

use crate::capture::Captured;
use crate::device::OwnStream;
use crate::memory::PageLocked;
use bnnc_abi::accelerator::CopiedRanges;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// The alignment of the parts of page-locked memory, in bytes.
const ALIGN: usize = 64;

/// A run with given sizes and given copies. When the same run occurs for the second time, it is
/// captured as a graph.
pub struct Exchange {
    sizes: Sizes,
    sent: Vec<Range<usize>>,
    wanted: Vec<Range<usize>>,
    /// The captured graph, and the page-locked memory that it uses. The graph is the first field,
    /// so that it is dropped before the memory.
    pub graph: Option<(Captured, PageLocked)>,
    /// True if the system could not provide page-locked memory for a graph.
    pub rejected: bool,
    /// True if a launch was enqueued and the host has not yet waited for it successfully.
    under_way: bool,
}

impl Exchange {
    /// Creates an exchange that does not have a graph yet.
    pub fn new(sizes: &Sizes, traffic: CopiedRanges<'_>) -> Exchange {
        Exchange {
            sizes: *sizes,
            sent: traffic.sent.to_vec(),
            wanted: traffic.wanted.to_vec(),
            graph: None,
            rejected: false,
            under_way: false,
        }
    }

    /// Returns whether the exchange has these sizes and these copies.
    pub fn is(&self, sizes: &Sizes, traffic: CopiedRanges<'_>) -> bool {
        self.sizes == *sizes && self.sent == traffic.sent && self.wanted == traffic.wanted
    }

    /// Returns the number of bytes of page-locked memory that the exchange needs.
    pub fn bytes(&self) -> usize {
        let ranges = self.sent.iter().chain(&self.wanted);
        ranges.fold(0, |sum: usize, range| sum.saturating_add(room(range)))
    }

    /// Enqueues the copies from page-locked memory to the device.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    ///
    /// # Safety
    /// The same conditions as for [`Exchange::receive`] apply.
    pub unsafe fn send(&self, stream: &OwnStream, staging: &PageLocked, arena: u64) -> Result<(), Fault> {
        laid(&self.sent, 0).try_for_each(|(range, at)| {
            // SAFETY: guaranteed by the caller.
            unsafe { stream.copy_in(arena + range.start as u64, staging.at(at), range.len()) }
        })
    }

    /// Enqueues the copies from the device to page-locked memory.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    ///
    /// # Safety
    /// The ranges must be inside the arena at this address. The page-locked memory must have
    /// [`Exchange::bytes`] bytes. The arena and this memory must live until the stream has finished
    /// the copies.
    pub unsafe fn receive(&self, stream: &OwnStream, staging: &PageLocked, arena: u64) -> Result<(), Fault> {
        let sent = self.sent.iter().map(room).sum();
        laid(&self.wanted, sent).try_for_each(|(range, at)| {
            // SAFETY: guaranteed by the caller.
            unsafe { stream.copy_out(staging.at(at), arena + range.start as u64, range.len()) }
        })
    }

    /// Waits again if an earlier wait for a launch failed, because an unfinished launch may still
    /// use the graph and its memory.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    pub fn settle(&mut self, stream: &OwnStream) -> Result<(), Fault> {
        if self.under_way {
            stream.synchronise()?;
            self.under_way = false;
        }
        Ok(())
    }

    /// Launches the graph and waits until it has finished. Returns false if the exchange does not
    /// have a graph.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    pub fn replay(&mut self, stream: &OwnStream, mirror: &mut [u8]) -> Result<bool, Fault> {
        self.settle(stream)?;
        let Some((graph, staging)) = &self.graph else {
            return Ok(false);
        };
        for (range, at) in laid(&self.sent, 0) {
            let bytes = &mirror[range.clone()];
            // SAFETY: the part has this number of bytes. Every launch that reads it has finished.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), staging.at(at), bytes.len()) }
        }
        self.under_way = true;
        graph.launch(stream.stream)?;
        stream.synchronise()?;
        self.under_way = false;
        let sent = self.sent.iter().map(room).sum();
        for (range, at) in laid(&self.wanted, sent) {
            let bytes = &mut mirror[range.clone()];
            // SAFETY: the part has this number of bytes. The launch that wrote it has finished.
            unsafe { std::ptr::copy_nonoverlapping(staging.at(at), bytes.as_mut_ptr(), bytes.len()) }
        }
        Ok(true)
    }
}

fn room(range: &Range<usize>) -> usize {
    range.len().next_multiple_of(ALIGN)
}

/// Returns each range with its offset in page-locked memory. The parts of the memory follow one
/// another.
fn laid(ranges: &[Range<usize>], first: usize) -> impl Iterator<Item = (&Range<usize>, usize)> {
    ranges.iter().scan(first, |next, range| {
        let at = *next;
        *next += room(range);
        Some((range, at))
    })
}

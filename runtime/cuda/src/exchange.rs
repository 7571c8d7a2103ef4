//! Runs with the copies around them as one graph.
//!
//! Note [Exchanges]. A step of a sampler sends a position, runs the plan and waits for the density with its gradient; a step of training
//! sends counters and waits for a loss. What such a step copies is the same bytes of the arena each time. From the second time on one
//! graph holds the copies to the device, the plan and the copies back, from and to page-locked memory that belongs to the graph: a step
//! is a copy between memory of the host, one launch, one wait, and a copy again. What is copied between two steps by other means, such
//! as row numbers of a batch, is asked of the stream by itself and comes before the launch.

use crate::capture::Captured;
use crate::device::OwnStream;
use crate::memory::PageLocked;
use bnnc_abi::accelerator::Traffic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// Alignment of the parts of page-locked memory.
const ALIGN: usize = 64;

/// A run for some sizes with some copies, seen once or captured.
pub struct Exchange {
    sizes: Sizes,
    sent: Vec<Range<usize>>,
    wanted: Vec<Range<usize>>,
    /// Before the memory that it uses.
    pub graph: Option<(Captured, PageLocked)>,
    /// Whether the system refused the memory for a graph.
    pub refused: bool,
    /// Whether a launch was asked for whose end nobody has seen.
    under_way: bool,
}

impl Exchange {
    /// One that was seen.
    pub fn new(sizes: &Sizes, traffic: Traffic<'_>) -> Exchange {
        Exchange {
            sizes: *sizes,
            sent: traffic.sent.to_vec(),
            wanted: traffic.wanted.to_vec(),
            graph: None,
            refused: false,
            under_way: false,
        }
    }

    /// Returns whether it is for these sizes and copies.
    pub fn is(&self, sizes: &Sizes, traffic: Traffic<'_>) -> bool {
        self.sizes == *sizes && self.sent == traffic.sent && self.wanted == traffic.wanted
    }

    /// The page-locked memory that it needs.
    pub fn bytes(&self) -> usize {
        let ranges = self.sent.iter().chain(&self.wanted);
        ranges.fold(0, |sum: usize, range| sum.saturating_add(room(range)))
    }

    /// Asks a stream for the copies to the device.
    ///
    /// # Errors
    /// Where the driver refuses.
    ///
    /// # Safety
    /// As [`Exchange::receive`].
    pub unsafe fn send(&self, stream: &OwnStream, staging: &PageLocked, arena: u64) -> Result<(), Fault> {
        laid(&self.sent, 0).try_for_each(|(range, at)| {
            // SAFETY: the caller's promise.
            unsafe { stream.copy_in(arena + range.start as u64, staging.at(at), range.len()) }
        })
    }

    /// Asks a stream for the copies back.
    ///
    /// # Errors
    /// Where the driver refuses.
    ///
    /// # Safety
    /// The ranges must be bytes of the arena at this address, the memory have [`Exchange::bytes`], and both live until the stream is
    /// through.
    pub unsafe fn receive(&self, stream: &OwnStream, staging: &PageLocked, arena: u64) -> Result<(), Fault> {
        let sent = self.sent.iter().map(room).sum();
        laid(&self.wanted, sent).try_for_each(|(range, at)| {
            // SAFETY: the caller's promise.
            unsafe { stream.copy_out(staging.at(at), arena + range.start as u64, range.len()) }
        })
    }

    /// Waits for a launch whose wait failed: the graph and its memory are used until then.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn settle(&mut self, stream: &OwnStream) -> Result<(), Fault> {
        if self.under_way {
            stream.synchronise()?;
            self.under_way = false;
        }
        Ok(())
    }

    /// Launches the graph where there is one, waits for its end, and says whether there is.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn replay(&mut self, stream: &OwnStream, mirror: &mut [u8]) -> Result<bool, Fault> {
        self.settle(stream)?;
        let Some((graph, staging)) = &self.graph else {
            return Ok(false);
        };
        for (range, at) in laid(&self.sent, 0) {
            let bytes = &mirror[range.clone()];
            // SAFETY: the part has so many bytes, and every launch that reads it was waited for.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), staging.at(at), bytes.len()) }
        }
        self.under_way = true;
        graph.launch(stream.stream)?;
        stream.synchronise()?;
        self.under_way = false;
        let sent = self.sent.iter().map(room).sum();
        for (range, at) in laid(&self.wanted, sent) {
            let bytes = &mut mirror[range.clone()];
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(staging.at(at), bytes.as_mut_ptr(), bytes.len()) }
        }
        Ok(true)
    }
}

fn room(range: &Range<usize>) -> usize {
    range.len().next_multiple_of(ALIGN)
}

/// Ranges with their places in page-locked memory, one after the other.
fn laid(ranges: &[Range<usize>], first: usize) -> impl Iterator<Item = (&Range<usize>, usize)> {
    ranges.iter().scan(first, |next, range| {
        let at = *next;
        *next += room(range);
        Some((range, at))
    })
}

//! The arena of a device, and its mirror on the host. This module records which side has newer
//! bytes, and copies bytes so that both sides agree.
//!
//! Note [Which side is newer]. For each buffer, `unsent` is the range that the host wrote after the
//! last transfer. Inside `unsent`, only the host's bytes are current. The device's bytes outside
//! `unsent` are always current. If the buffer is not stale, the host's bytes outside `unsent` are
//! current. A run makes a buffer stale, because it may write every buffer except inputs and
//! constants. A change of sizes also makes a buffer stale, because the buffer then includes bytes
//! that were never copied to the host. Inputs and constants are usually never stale, because only
//! the host writes them. They become stale only if the device itself copies rows, or the bytes of
//! another machine, into them.

use crate::arena::ALIGN;
use bnnc_abi::accelerator::{CachedRows, CopiedRanges, DeviceSession};
use bnnc_abi::plan::{BufferId, BufferRole, Plan};
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// A session on a device, with the state of each buffer.
pub struct Mirror {
    session: Box<dyn DeviceSession>,
    /// The state of each buffer.
    states: Vec<State>,
    /// The buffers that the host reads or writes, in the order of their offsets in the arena.
    visible: Vec<BufferId>,
    /// A counter of the events that may make buffers stale.
    now: u64,
    /// The number of bytes of the arena.
    bytes: usize,
    /// The ranges that the last run copied to the device (`sent`) and to the host (`wanted`). The
    /// lists are kept so that their memory is reused.
    sent: Vec<Range<usize>>,
    wanted: Vec<Range<usize>>,
}

#[derive(Clone)]
struct State {
    /// The range of bytes in the arena that the host wrote but has not sent to the device yet.
    unsent: Range<usize>,
    /// The value of `now` when host and device last agreed about the buffer, or 0 if they never
    /// agreed.
    seen: u64,
    /// True if the device itself may change the bytes of the buffer.
    computed: bool,
}

/// A range of bytes in the host's mirror.
#[derive(Clone, Debug)]
pub struct HostSpan {
    /// The address of the arena.
    pub start: *mut u8,
    /// The range in the arena. It is inside a single buffer.
    pub range: Range<usize>,
}

impl Mirror {
    /// Creates a mirror of `bytes` bytes. All bytes are zero on the host and on the device.
    pub fn new(session: Box<dyn DeviceSession>, plan: &Plan, (offsets, bytes): (&[usize], usize)) -> Mirror {
        let state = |id: BufferId| State {
            unsent: 0..0,
            seen: 1,
            computed: !matches!(plan.buffers[id].role, BufferRole::Input | BufferRole::Constant(_)),
        };
        let visible = plan
            .buffers
            .ids()
            .filter(|id| plan.buffers[*id].role != BufferRole::Scratch);
        let mut visible: Vec<BufferId> = visible.collect();
        visible.sort_by_key(|id| offsets[id.index()]);
        Mirror {
            session,
            states: plan.buffers.ids().map(state).collect(),
            visible,
            now: 1,
            bytes,
            sent: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// Returns whether the host's bytes include the results of the last run.
    pub fn is_current(&self, id: BufferId) -> bool {
        let state = &self.states[id.index()];
        !state.computed || state.seen == self.now
    }

    /// Prepares the mirror for a write by the host to the bytes of `span`.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    ///
    /// # Safety
    /// The span must be in the memory of the machine. Other threads must not write to this memory
    /// during the call.
    pub unsafe fn write(&mut self, id: BufferId, span: &HostSpan) -> Result<(), Fault> {
        let (range, unsent) = (&span.range, &self.states[id.index()].unsent);
        let apart = range.start > unsent.end || unsent.start > range.end;
        if !unsent.is_empty() && apart && !self.is_current(id) {
            // A single range would cover the earlier unsent bytes, `range`, and the gap between the
            // two. The bytes of the gap are current only on the device, and must not be overwritten
            // there. The earlier bytes are therefore sent now.
            unsafe { self.send(id, span.start)? };
        }
        let unsent = &mut self.states[id.index()].unsent;
        *unsent = match unsent.start >= unsent.end {
            true => range.clone(),
            false => unsent.start.min(range.start)..unsent.end.max(range.end),
        };
        Ok(())
    }

    /// Makes the host's bytes of a buffer current. If necessary, copies them from the device.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    ///
    /// # Safety
    /// The span must be in the memory of the machine. If the buffer is not current, no references
    /// to it may exist.
    pub unsafe fn read(&mut self, id: BufferId, span: &HostSpan) -> Result<(), Fault> {
        if self.is_current(id) {
            return Ok(());
        }
        let state = &self.states[id.index()];
        let known = state.unsent.start <= span.range.start && span.range.end <= state.unsent.end;
        if !known && !span.range.is_empty() {
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.send(id, span.start)?;
                let bytes = bytes_mut(span.start, span.range.clone());
                self.session.download(span.range.start, bytes)?;
            }
        }
        self.states[id.index()].seen = self.now;
        Ok(())
    }

    /// Sends to the device the bytes of a buffer that the host wrote after the last transfer.
    unsafe fn send(&mut self, id: BufferId, start: *mut u8) -> Result<(), Fault> {
        let range = self.states[id.index()].unsent.clone();
        if !range.is_empty() {
            // SAFETY: guaranteed by the caller.
            self.session
                .upload(range.start, unsafe { bytes(start, range.clone()) })?;
            self.states[id.index()].unsent = 0..0;
        }
        Ok(())
    }

    /// Sends the bytes that the host wrote, and runs the plan. After the run, the host's bytes of
    /// the wanted buffers are current.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    ///
    /// # Safety
    /// `start` must be the start of the machine's memory, and no references to this memory may
    /// exist. Each range must be the range of its buffer.
    pub unsafe fn run(
        &mut self,
        start: *mut u8,
        sizes: &Sizes,
        wanted: impl Iterator<Item = (BufferId, Range<usize>)> + Clone,
    ) -> Result<(), Fault> {
        self.gather_unsent();
        self.now += 1;
        let mut ranges = std::mem::take(&mut self.wanted);
        ranges.clear();
        let changed = wanted.clone().filter(|(id, _)| !self.is_current(*id));
        ranges.extend(changed.map(|(_, range)| range).filter(|range| !range.is_empty()));
        join(&mut ranges);
        self.wanted = ranges;
        let traffic = CopiedRanges {
            sent: &self.sent,
            wanted: &self.wanted,
        };
        // SAFETY: guaranteed by the caller.
        let mirror = unsafe { bytes_mut(start, 0..self.bytes) };
        self.session.exchange(sizes, mirror, traffic)?;
        for state in &mut self.states {
            state.unsent = 0..0;
        }
        for (id, _) in wanted {
            self.states[id.index()].seen = self.now;
        }
        Ok(())
    }

    /// Collects in `sent` the ranges of bytes that only the host has, and joins adjacent ranges. A
    /// joined range also includes the gap between the two ranges. The gap after an input is safe to
    /// send, because only the host writes inputs, so the host's bytes in the gap are current.
    fn gather_unsent(&mut self) {
        self.sent.clear();
        let mut joins = false;
        for id in &self.visible {
            let State { unsent, computed, .. } = &self.states[id.index()];
            if unsent.is_empty() {
                continue;
            }
            match self.sent.last_mut() {
                Some(last) if joins && is_near(last, unsent) => last.end = unsent.end,
                _ => self.sent.push(unsent.clone()),
            }
            joins = !computed;
        }
    }

    /// Records that the sizes have changed, so the buffers now include different bytes of the
    /// arena.
    pub fn resize(&mut self) {
        self.now += 1;
    }

    /// Copies the chosen rows into a buffer on the device. If the device does not support this,
    /// returns false without copying.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    ///
    /// # Safety
    /// The span must be in the memory of the machine. Other threads must not write to this memory
    /// during the call.
    pub unsafe fn gather(
        &mut self,
        (id, span): (BufferId, &HostSpan),
        rows: &CachedRows,
        chosen: &[u32],
    ) -> Result<bool, Fault> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.send(id, span.start)? };
        let gathered = self.session.gather(span.range.start, rows, chosen)?;
        if gathered {
            let state = &mut self.states[id.index()];
            (state.computed, state.seen) = (true, 0);
        }
        Ok(gathered)
    }

    /// Copies a buffer from another machine, directly on the device. If the device does not support
    /// this, returns false without copying.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    ///
    /// # Safety
    /// Each span must be in the memory of its machine, and both must have the same length. Other
    /// threads must not write to these spans during the call.
    pub unsafe fn copy(
        &mut self,
        (id, to): (BufferId, &HostSpan),
        other: &mut Mirror,
        (from_id, from): (BufferId, &HostSpan),
    ) -> Result<bool, Fault> {
        if to.range.is_empty() {
            return Ok(true);
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.send(id, to.start)?;
            other.send(from_id, from.start)?;
        }
        let place = other.session.place(from.range.start)?;
        let copied = self.session.copy(to.range.start, place, to.range.len())?;
        if copied {
            let state = &mut self.states[id.index()];
            (state.computed, state.seen) = (true, 0);
        }
        Ok(copied)
    }
}

/// Returns whether the gap between two ranges contains only padding and bytes beyond the current
/// sizes.
fn is_near(range: &Range<usize>, later: &Range<usize>) -> bool {
    later.start < range.end + ALIGN
}

/// Sorts the ranges to be read, and joins neighbouring ranges. Call this only if no bytes are
/// unsent: a joined range includes the bytes between two ranges, and reading these from the device
/// would overwrite unsent bytes of the host.
fn join(ranges: &mut Vec<Range<usize>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|later, range| {
        let joins = is_near(range, later);
        if joins {
            range.end = range.end.max(later.end);
        }
        joins
    });
}

/// # Safety
/// The range must be inside the memory that starts at `start`. This memory must not be written
/// during `'a`.
unsafe fn bytes<'a>(start: *mut u8, range: Range<usize>) -> &'a [u8] {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(start.add(range.start), range.len()) }
}

/// # Safety
/// The range must be inside the memory that starts at `start`. Other code must not access this
/// memory during `'a`.
unsafe fn bytes_mut<'a>(start: *mut u8, range: Range<usize>) -> &'a mut [u8] {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(start.add(range.start), range.len()) }
}

//! The arena of a device and its mirror on the host: what is newer where, and the copies that make them agree.
//!
//! Note [Who is newer]. The device has the truth, except for the bytes of `unsent`, which the host wrote since. The host's bytes
//! outside of these are as good unless the buffer is stale: a run may write whatever is no input, and where sizes change, bytes
//! that were not looked at come into sight. Inputs and constants are written by the host alone, so the host's are never stale,
//! unless another machine's were copied into them on the device.

use crate::arena::ALIGN;
use bnnc_abi::accelerator::{Rows, Session, Traffic};
use bnnc_abi::plan::{BufferId, Plan, Role};
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::ops::Range;

/// A session with what is known about each buffer.
pub struct Mirror {
    session: Box<dyn Session>,
    /// By buffer.
    states: Vec<State>,
    /// Buffers that the host writes or reads, by their place in the arena.
    visible: Vec<BufferId>,
    /// Counts what may make buffers stale.
    now: u64,
    /// Bytes of the arena.
    bytes: usize,
    /// The ranges that the last run sent and brought, kept to reuse their memory.
    sent: Vec<Range<usize>>,
    wanted: Vec<Range<usize>>,
}

#[derive(Clone)]
struct State {
    /// Bytes of the arena that only the host has yet.
    unsent: Range<usize>,
    /// When host and device agreed last; 0 for never.
    seen: u64,
    /// Whether the device's bytes change without the host.
    computed: bool,
}

/// The mirror on the host: its first byte, and a range of it.
#[derive(Clone, Debug)]
pub struct HostSpan {
    /// Where the arena starts.
    pub start: *mut u8,
    /// Bytes of one buffer.
    pub range: Range<usize>,
}

impl Mirror {
    /// A mirror of so many bytes, all of them zero on both sides.
    pub fn new(session: Box<dyn Session>, plan: &Plan, (offsets, bytes): (&[usize], usize)) -> Mirror {
        let state = |id: BufferId| State {
            unsent: 0..0,
            seen: 1,
            computed: !matches!(plan.buffers[id].role, Role::Input | Role::Constant(_)),
        };
        let visible = plan
            .buffers
            .ids()
            .filter(|id| plan.buffers[*id].role != Role::Scratch);
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

    /// Returns whether the host's bytes are those of the last run or newer.
    pub fn is_current(&self, id: BufferId) -> bool {
        let state = &self.states[id.index()];
        !state.computed || state.seen == self.now
    }

    /// Says that the host is about to write bytes of a buffer.
    ///
    /// # Errors
    /// A fault of the device.
    ///
    /// # Safety
    /// The span must be that of the machine's memory, and nobody writes to it now.
    pub unsafe fn write(&mut self, id: BufferId, span: &HostSpan) -> Result<(), Fault> {
        let (range, unsent) = (&span.range, &self.states[id.index()].unsent);
        let apart = range.start > unsent.end || unsent.start > range.end;
        if !unsent.is_empty() && apart && !self.is_current(id) {
            // The bytes between the two belong to the device.
            // SAFETY: the caller's promise.
            unsafe { self.send(id, span.start)? };
        }
        let unsent = &mut self.states[id.index()].unsent;
        *unsent = match unsent.start >= unsent.end {
            true => range.clone(),
            false => unsent.start.min(range.start)..unsent.end.max(range.end),
        };
        Ok(())
    }

    /// Makes the host's bytes of a buffer current.
    ///
    /// # Errors
    /// A fault of the device.
    ///
    /// # Safety
    /// The span must be that of the machine's memory; where the buffer is not current nobody may look at it now.
    pub unsafe fn read(&mut self, id: BufferId, span: &HostSpan) -> Result<(), Fault> {
        if self.is_current(id) {
            return Ok(());
        }
        let state = &self.states[id.index()];
        let known = state.unsent.start <= span.range.start && span.range.end <= state.unsent.end;
        if !known && !span.range.is_empty() {
            // SAFETY: the caller's promise.
            unsafe {
                self.send(id, span.start)?;
                let bytes = bytes_mut(span.start, span.range.clone());
                self.session.download(span.range.start, bytes)?;
            }
        }
        self.states[id.index()].seen = self.now;
        Ok(())
    }

    /// Sends what the host wrote to a buffer.
    unsafe fn send(&mut self, id: BufferId, start: *mut u8) -> Result<(), Fault> {
        let range = self.states[id.index()].unsent.clone();
        if !range.is_empty() {
            // SAFETY: the caller's promise.
            self.session
                .upload(range.start, unsafe { bytes(start, range.clone()) })?;
            self.states[id.index()].unsent = 0..0;
        }
        Ok(())
    }

    /// Sends what the host wrote, runs the plan, and makes the host's bytes of the wanted buffers current.
    ///
    /// # Errors
    /// A fault of the device.
    ///
    /// # Safety
    /// `start` must be that of the machine's memory, which nobody looks at now; the ranges must be those of the buffers.
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
        let traffic = Traffic {
            sent: &self.sent,
            wanted: &self.wanted,
        };
        // SAFETY: the caller's promise.
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

    /// Puts what only the host has into `sent`; neighbours go together. Bytes after the unsent ones of an input are the host's too.
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

    /// Says that sizes change, which brings bytes into sight.
    pub fn resize(&mut self) {
        self.now += 1;
    }

    /// Puts the chosen of these rows into a buffer on the device; false, with nothing done, where the host is to do it.
    ///
    /// # Errors
    /// A fault of the device.
    ///
    /// # Safety
    /// The span must be that of the machine's memory, and nobody writes to it now.
    pub unsafe fn gather(
        &mut self,
        (id, span): (BufferId, &HostSpan),
        rows: &Rows,
        chosen: &[u32],
    ) -> Result<bool, Fault> {
        // SAFETY: the caller's promise.
        unsafe { self.send(id, span.start)? };
        let gathered = self.session.gather(span.range.start, rows, chosen)?;
        if gathered {
            let state = &mut self.states[id.index()];
            (state.computed, state.seen) = (true, 0);
        }
        Ok(gathered)
    }

    /// Copies a buffer of another machine on the device; false, with nothing done, where that cannot be.
    ///
    /// # Errors
    /// A fault of the device.
    ///
    /// # Safety
    /// The spans must be those of the machines' memories, as long as each other, and nobody writes to them now.
    pub unsafe fn copy(
        &mut self,
        (id, to): (BufferId, &HostSpan),
        other: &mut Mirror,
        (from_id, from): (BufferId, &HostSpan),
    ) -> Result<bool, Fault> {
        if to.range.is_empty() {
            return Ok(true);
        }
        // SAFETY: the caller's promise.
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

/// Returns whether nothing but padding, or bytes out of sight, keeps a range from one that begins later.
fn is_near(range: &Range<usize>, later: &Range<usize>) -> bool {
    later.start < range.end + ALIGN
}

/// Sorts ranges to be read and joins neighbours: where nothing is unsent, what lies between them may be read too.
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
/// The range must lie in memory that starts at `start` and that nobody writes to during `'a`.
unsafe fn bytes<'a>(start: *mut u8, range: Range<usize>) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.add(range.start), range.len()) }
}

/// # Safety
/// The range must lie in memory that starts at `start` and that nobody else uses during `'a`.
unsafe fn bytes_mut<'a>(start: *mut u8, range: Range<usize>) -> &'a mut [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(start.add(range.start), range.len()) }
}

//! Methods for machines whose steps run on a device. They read and write ports through the mirror
//! of the device's arena.

use crate::arena::element_bytes;
use crate::executor::Machine;
use crate::mirror::{HostSpan, Mirror};
use crate::ports::{Port, Stored};
use crate::resolved::StoredElement;
use bnnc_abi::accelerator::CachedRows;
use bnnc_abi::plan::BufferId;
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A write of at most this number of elements is first compared with the current elements. If all
/// elements are equal, nothing is sent to the device.
const COMPARED: usize = 8;

/// Rows on the host. [`Machine::gather`] fills a port with some of these rows.
#[derive(Clone, Copy)]
pub struct StampedRows<'a, T: Clone> {
    /// A number that identifies the contents of the rows.
    pub stamp: u64,
    /// The number of rows.
    pub count: usize,
    /// The number of elements of a row.
    pub width: usize,
    /// Returns the elements of a range of rows, one row after the other. It is called only when a device keeps the rows.
    pub read: &'a dyn Fn(Range<usize>) -> Cow<'a, [T]>,
}

impl Machine {
    /// Returns the span of `count` elements of a buffer, from element `first` on.
    fn span(&self, id: BufferId, first: usize, count: usize) -> HostSpan {
        let start = self.start();
        let bytes = element_bytes(&self.plan, self.plan.buffers[id].storage);
        let from = self.addresses[id.index()] as usize - start as usize + first * bytes;
        HostSpan {
            start,
            range: from..from + count * bytes,
        }
    }

    /// Copies a port from the device to the host. The host calls this before it reads the port.
    pub(crate) fn fetch(&self, id: BufferId) -> Result<(), Fault> {
        let Some(mirror) = &self.mirror else {
            return Ok(());
        };
        let span = self.span(id, 0, self.count_of(id));
        // SAFETY: the span is in this machine's memory. A reference to the span exists only after
        // its buffer became current, and no method makes the buffer stale while the machine is
        // borrowed.
        unsafe { lock(mirror).read(id, &span) }
    }

    /// Prepares the mirror for a write by the host to elements of a port.
    pub(crate) fn announce(&mut self, id: BufferId, first: usize, count: usize) -> Result<(), Fault> {
        if self.mirror.is_none() {
            return Ok(());
        }
        let span = self.span(id, first, count);
        // SAFETY: the span is in this machine's memory, which is mutably borrowed.
        self.mirror_mut()
            .map_or(Ok(()), |mirror| unsafe { mirror.write(id, &span) })
    }

    /// Returns true if the device is known to have these values already. The values are compared
    /// only if there are at most [`COMPARED`] of them. For more values, the result is false.
    pub(crate) fn is_sent(
        &self,
        id: BufferId,
        first: usize,
        values: impl ExactSizeIterator<Item = f64>,
    ) -> bool {
        let Some(mirror) = &self.mirror else {
            return false;
        };
        if values.len() > COMPARED || !lock(mirror).is_current(id) {
            return false;
        }
        let (address, element) = (self.addresses[id.index()], self.element(id));
        values.zip(first..).all(|(value, at)| {
            // SAFETY: the caller checked that the buffer has these elements. The buffer is not
            // written while `self` is borrowed.
            unsafe {
                match element {
                    StoredElement::F32 => {
                        address.cast::<f32>().add(at).read().to_bits() == (value as f32).to_bits()
                    }
                    StoredElement::F64 => address.cast::<f64>().add(at).read().to_bits() == value.to_bits(),
                    StoredElement::Int => address.cast::<i32>().add(at).read() == value as i32,
                }
            }
        })
    }

    /// Copies a port from another machine, directly on the device. Returns false if the machines
    /// use different devices, or if they store the port in different forms.
    pub(crate) fn copy_there(
        &mut self,
        to: BufferId,
        other: &Machine,
        from: BufferId,
    ) -> Result<bool, Fault> {
        let Some(theirs) = &other.mirror else {
            return Ok(false);
        };
        if self.mirror.is_none() || self.element(to) != other.element(from) {
            return Ok(false);
        }
        let count = self.count_of(to);
        let (target, source) = (self.span(to, 0, count), other.span(from, 0, count));
        self.mirror_mut().map_or(Ok(false), |mirror| {
            // SAFETY: each span is in the memory of its machine, and neither is written during the
            // call. Both spans have the same number of elements of the same form.
            unsafe { mirror.copy((to, &target), &mut lock(theirs), (from, &source)) }
        })
    }

    /// Copies the chosen rows into a port on the device. If the device does not support this, or if
    /// the steps run on the host, returns false without copying. All rows are sent to the device
    /// only once per port, as long as the stamp stays the same.
    ///
    /// # Errors
    /// Fails if the machine does not have the port, if the port has another stored form or number
    /// of elements, or if the device reports an error.
    pub fn gather<T: Stored>(
        &mut self,
        name: &str,
        rows: &StampedRows<'_, T>,
        chosen: &[u32],
    ) -> Result<bool, Fault> {
        let StampedRows {
            stamp,
            count,
            width,
            read,
        } = *rows;
        let asked = chosen.len() * width;
        if self.mirror.is_none() || asked == 0 {
            return Ok(false);
        }
        let id = self.stored_as::<T>(name)?;
        self.check_count(id, asked)?;
        let span = self.span(id, 0, asked);
        let rows = CachedRows {
            stamp,
            count,
            width: width * size_of::<T>(),
            read: &|rows| match read(rows) {
                Cow::Borrowed(values) => bytes_of(values).into(),
                Cow::Owned(values) => bytes_of(&values).to_vec().into(),
            },
        };
        self.mirror_mut().map_or(Ok(false), |mirror| {
            // SAFETY: the span is in this machine's memory, which is mutably borrowed.
            unsafe { mirror.gather((id, &span), &rows, chosen) }
        })
    }

    /// Runs the steps on the device and copies the contents of the wanted ports to the host. Does
    /// nothing if the machine does not use a device.
    pub(crate) fn run_there(&mut self, wanted: &[Port]) -> Result<(), Fault> {
        let Some(mirror) = &self.mirror else {
            return Ok(());
        };
        let bytes = |port: &Port| (port.0, self.span(port.0, 0, self.count_of(port.0)).range);
        let ports = wanted.iter().map(bytes);
        // SAFETY: the memory and its ranges belong to this machine, which is mutably borrowed.
        unsafe { lock(mirror).run(self.start(), self.sizes(), ports) }
    }

    /// Records a change of the sizes in the mirror.
    pub(crate) fn resize(&mut self) {
        if let Some(mirror) = self.mirror_mut() {
            mirror.resize();
        }
    }

    fn mirror_mut(&mut self) -> Option<&mut Mirror> {
        let mirror = self.mirror.as_mut()?;
        Some(mirror.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the bytes of stored elements.
fn bytes_of<T: Stored>(values: &[T]) -> &[u8] {
    // SAFETY: the elements are plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Locks a mirror and ignores poison. After a panic, the mirror is in the same state as after an
/// error: bytes that were not sent are not marked as sent.
fn lock(mirror: &Mutex<Mirror>) -> MutexGuard<'_, Mirror> {
    mirror.lock().unwrap_or_else(PoisonError::into_inner)
}

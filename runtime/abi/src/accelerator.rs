//! The seam between the executor of plans and a device with memory of its own.
//!
//! The executor keeps a mirror of the device's arena on the host, with the same offsets, and decides what is copied when.

use crate::plan::Plan;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The arena for which a session is opened.
#[derive(Clone, Copy, Debug)]
pub struct Arena<'a> {
    /// The plan that it will run.
    pub plan: &'a Arc<Plan>,
    /// Where each buffer starts, in bytes, multiples of 64.
    pub offsets: &'a [usize],
    /// Bytes of all buffers together.
    pub bytes: usize,
    /// The largest sizes of a run.
    pub capacity: &'a Sizes,
}

/// Code whose kernels run on a device.
pub trait Accelerator: Send + Sync {
    /// Sets aside memory on the device, all zero.
    ///
    /// # Errors
    /// Where there is not enough of it, or the device refuses the code.
    fn open(&self, arena: Arena) -> Result<Box<dyn Session>, Fault>;

    /// The device and the libraries that are used, for people.
    fn describe(&self) -> String;
}

/// [`Session::exchange`] by uploads, a run and downloads.
///
/// # Errors
/// As [`Session::exchange`].
pub fn one_by_one(
    session: &mut (impl Session + ?Sized),
    sizes: &Sizes,
    mirror: &mut [u8],
    traffic: Traffic<'_>,
) -> Result<(), Fault> {
    for range in traffic.sent {
        session.upload(range.start, &mirror[range.clone()])?;
    }
    session.run(sizes)?;
    for range in traffic.wanted {
        session.download(range.start, &mut mirror[range.clone()])?;
    }
    Ok(())
}

/// One arena on a device and the plan that works on it. What is asked for happens in the order in which it is asked for, though
/// not before the next download returns: a fault may be told by a later call than the one that caused it.
pub trait Session: Send {
    /// Copies bytes into the arena, from `at` on.
    ///
    /// # Errors
    /// A fault of the device; bytes outside the arena.
    fn upload(&mut self, at: usize, bytes: &[u8]) -> Result<(), Fault>;

    /// Copies bytes out of the arena, from `at` on.
    ///
    /// # Errors
    /// A fault of the device; bytes outside the arena.
    fn download(&mut self, at: usize, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Runs all steps of the plan once, for sizes within the capacity.
    ///
    /// # Errors
    /// A fault of the device.
    fn run(&mut self, sizes: &Sizes) -> Result<(), Fault>;

    /// Uploads from a mirror of the arena, runs, and downloads into it; what is downloaded has arrived on return. A device may do at
    /// once what it is asked for again.
    ///
    /// # Errors
    /// As [`Session::upload`], [`Session::run`] and [`Session::download`].
    fn exchange(&mut self, sizes: &Sizes, mirror: &mut [u8], traffic: Traffic<'_>) -> Result<(), Fault> {
        one_by_one(self, sizes, mirror, traffic)
    }

    /// Copies the chosen of these rows into the arena, one after the other, from `at` on; the rows themselves travel once. Returns false,
    /// having done nothing, where rows are not kept on the device.
    ///
    /// # Errors
    /// A fault of the device; a row that there is not, bytes outside the arena.
    fn gather(&mut self, at: usize, rows: &Rows, chosen: &[u32]) -> Result<bool, Fault> {
        let _ = (at, rows, chosen);
        Ok(false)
    }

    /// Where a byte of the arena lies, for a copy by another session; everything asked for before has happened then.
    ///
    /// # Errors
    /// A fault of the device.
    fn place(&mut self, at: usize) -> Result<Place<'_>, Fault>;

    /// Copies bytes of another session's arena into this one, from `at` on, without the host. Returns false, having done nothing, where
    /// the two are not on one device.
    ///
    /// # Errors
    /// A fault of the device; bytes outside the arena.
    fn copy(&mut self, at: usize, from: Place, bytes: usize) -> Result<bool, Fault>;
}

/// Ranges of bytes, none of them empty, that go between an arena and its mirror.
#[derive(Clone, Copy, Debug)]
pub struct Traffic<'a> {
    /// Into the arena before a run.
    pub sent: &'a [Range<usize>],
    /// Out of it after the run.
    pub wanted: &'a [Range<usize>],
}

/// Rows that a device may keep.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Other rows for one place in an arena have another stamp.
    pub stamp: u64,
    /// All rows, one after the other.
    pub bytes: &'a [u8],
    /// Bytes of one row, a multiple of 4.
    pub width: usize,
}

/// An address in the memory of a device that stays valid for `'a`.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Which device, in this process.
    pub device: u64,
    /// The address there.
    pub address: u64,
    valid: PhantomData<&'a ()>,
}

impl Place<'_> {
    /// An address on a device.
    ///
    /// # Safety
    /// The memory there must stay valid for `'a`, from the address to the end of the buffer that it begins or lies in.
    pub unsafe fn new(device: u64, address: u64) -> Self {
        Place {
            device,
            address,
            valid: PhantomData,
        }
    }
}

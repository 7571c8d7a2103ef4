//! The interface between the executor of plans and a device with its own memory.
//!
//! The executor keeps a copy of the device's arena in host memory: the mirror. Offsets in the
//! mirror and in the arena are equal. The executor decides when to copy which bytes between the
//! two.

use crate::plan::Plan;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The arena for which a session is opened.
#[derive(Clone, Copy, Debug)]
pub struct DeviceArena<'a> {
    /// The plan that the session runs.
    pub plan: &'a Arc<Plan>,
    /// The offset of the first byte of each buffer. Every offset is a multiple of 64.
    pub offsets: &'a [usize],
    /// The number of bytes of all buffers together.
    pub bytes: usize,
    /// For each size, its largest value in a run of the plan.
    pub capacity: &'a Sizes,
}

/// Code whose kernels run on a device.
pub trait Accelerator: Send + Sync {
    /// Allocates zeroed memory for an arena on the device.
    ///
    /// # Errors
    /// Fails if the device has too little memory, or if the device rejects the code.
    fn open(&self, arena: DeviceArena) -> Result<Box<dyn DeviceSession>, Fault>;

    /// Returns a human-readable description of the device and its libraries.
    fn describe(&self) -> String;
}

/// Implements [`DeviceSession::exchange`] by separate calls: the uploads, one run, and the
/// downloads.
///
/// # Errors
/// Fails in the same cases as [`DeviceSession::exchange`].
pub fn one_by_one(
    session: &mut (impl DeviceSession + ?Sized),
    sizes: &Sizes,
    mirror: &mut [u8],
    traffic: CopiedRanges<'_>,
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

/// An open session on a device. A session has one arena, and a plan that runs on this arena. Operations take
/// effect in the order of the calls, but may run asynchronously until the next download returns.
/// Therefore, the error of an operation may be returned by a later call.
pub trait DeviceSession: Send {
    /// Copies bytes into the arena, starting at byte `at`.
    ///
    /// # Errors
    /// Fails if the device reports an error, or if the bytes lie outside the arena.
    fn upload(&mut self, at: usize, bytes: &[u8]) -> Result<(), Fault>;

    /// Copies bytes out of the arena, starting at byte `at`.
    ///
    /// # Errors
    /// Fails if the device reports an error, or if the bytes lie outside the arena.
    fn download(&mut self, at: usize, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Runs all steps of the plan once. Every size must be at most the size in
    /// [`DeviceArena::capacity`].
    ///
    /// # Errors
    /// Fails if the device reports an error.
    fn run(&mut self, sizes: &Sizes) -> Result<(), Fault>;

    /// Uploads ranges of the mirror to the arena, runs the plan, and downloads ranges of the arena
    /// to the mirror. All downloads are complete on return. A device may record the operations and
    /// replay them when the same exchange is repeated.
    ///
    /// # Errors
    /// Fails in the same cases as [`DeviceSession::upload`], [`DeviceSession::run`] and [`DeviceSession::download`].
    fn exchange(&mut self, sizes: &Sizes, mirror: &mut [u8], traffic: CopiedRanges<'_>) -> Result<(), Fault> {
        one_by_one(self, sizes, mirror, traffic)
    }

    /// Copies the chosen rows into the arena, one after the other, starting at byte `at`. All rows
    /// are uploaded once, before the first copy. Returns false and copies nothing if the device
    /// does not keep rows.
    ///
    /// # Errors
    /// Fails if the device reports an error, if a row index is out of range, or if the bytes lie outside the arena.
    fn gather(&mut self, at: usize, rows: &CachedRows, chosen: &[u32]) -> Result<bool, Fault> {
        let _ = (at, rows, chosen);
        Ok(false)
    }

    /// Returns the address of a byte of the arena. Another session can copy from this address. All earlier operations have completed on return.
    ///
    /// # Errors
    /// Fails if the device reports an error.
    fn place(&mut self, at: usize) -> Result<DeviceAddress<'_>, Fault>;

    /// Copies `bytes` bytes directly from the arena of another session into this arena, starting at
    /// byte `at` of this arena. The bytes do not pass through the host. Returns false and copies
    /// nothing if the two arenas are on different devices.
    ///
    /// # Errors
    /// Fails if the device reports an error, or if the bytes lie outside the arena.
    fn copy(&mut self, at: usize, from: DeviceAddress, bytes: usize) -> Result<bool, Fault>;
}

/// The non-empty byte ranges that one exchange copies between an arena and its mirror.
#[derive(Clone, Copy, Debug)]
pub struct CopiedRanges<'a> {
    /// The ranges uploaded before a run.
    pub sent: &'a [Range<usize>],
    /// The ranges downloaded after the run.
    pub wanted: &'a [Range<usize>],
}

/// Rows of data that a device may keep in its memory after the first upload.
#[derive(Clone, Copy)]
pub struct CachedRows<'a> {
    /// An identifier of the rows. Different rows for the same place in an arena must have different identifiers.
    pub stamp: u64,
    /// The number of rows.
    pub count: usize,
    /// The number of bytes of one row, which is a multiple of 4.
    pub width: usize,
    /// Returns the bytes of a range of rows, concatenated. The host may have to convert them first, so they are read only for an upload, in
    /// blocks.
    pub read: &'a dyn Fn(Range<usize>) -> Cow<'a, [u8]>,
}

impl CachedRows<'_> {
    /// Returns the number of bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.count * self.width
    }

    /// Returns the ranges of rows that are read one after the other for an upload. A block has at most 16 MiB, or one row.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, rows) = (self.count, ((16 << 20) / self.width.max(1)).max(1));
        (0..count)
            .step_by(rows)
            .map(move |first| first..count.min(first + rows))
    }
}

/// An address in device memory. The address stays valid for `'a`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAddress<'a> {
    /// The identifier of the device in this process.
    pub device: u64,
    /// The address in the memory of the device.
    pub address: u64,
    valid: PhantomData<&'a ()>,
}

impl DeviceAddress<'_> {
    /// Wraps an address in the memory of a device.
    ///
    /// # Safety
    /// The memory from the address to the end of its buffer must stay valid for `'a`.
    pub unsafe fn new(device: u64, address: u64) -> Self {
        DeviceAddress {
            device,
            address,
            valid: PhantomData,
        }
    }
}

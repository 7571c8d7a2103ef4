//! Keeps the rows of a data set on the device, and gathers batches by row indices.
//!
//! Note [Rows on the device]. Rows are kept from their second use on. If they were kept from the first use on, rows that change before every step
//! would be sent as a whole each time, although only one batch is used. One table is kept for each place of the arena, if the device has room.

use crate::device::Device;
use crate::diagnostics::DEVICE_LIMIT;
use crate::driver::{Function, Stream};
use crate::memory::Allocation;
use bnnc_abi::accelerator::CachedRows;
use bnnc_base::fault::Fault;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// The PTX of the kernel.
pub const PTX: &str = include_str!("gather.ptx");
/// The name of the kernel.
pub const ENTRY: &str = "bnnc_gather";
/// The number of threads per block.
const THREADS: usize = 256;
/// Tables leave the fraction `1 / LEFT` of the free memory for other uses.
const LEFT: usize = 4;

/// The tables for each place of an arena.
#[derive(Default)]
pub struct Tables {
    tables: HashMap<usize, Table>,
    /// The memory on the device for row indices. It currently holds the row indices in `chosen`.
    indices: Option<Allocation>,
    chosen: Vec<u32>,
}

struct Table {
    stamp: u64,
    /// `None` if the rows were seen only once, or if there is no room for them.
    rows: Option<Allocation>,
}

/// The next action for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the host gathers.
    Host,
    /// Send the rows to this address first.
    Rows(u64),
    /// Use the rows at this address.
    Kept(u64),
}

impl Tables {
    /// Returns the address of the rows, or the address to which they have to be sent. Frees the rows of another stamp, so the stream must
    /// have finished using those.
    ///
    /// # Errors
    /// The driver reports an error.
    pub fn need(&mut self, device: &Arc<Device>, at: usize, rows: &CachedRows) -> Result<Need, Fault> {
        let table = self.tables.entry(at).or_insert(Table {
            stamp: !rows.stamp,
            rows: None,
        });
        if table.stamp != rows.stamp {
            *table = Table {
                stamp: rows.stamp,
                rows: None,
            };
            return Ok(Need::Host);
        }
        if let Some(kept) = &table.rows {
            return Ok(Need::Kept(kept.address));
        }
        let (free, _) = device.memory()?;
        if rows.bytes.len() > free - free / LEFT {
            return Ok(Need::Host);
        }
        table.rows = Allocation::fitting(device, rows.bytes.len())?;
        Ok(table
            .rows
            .as_ref()
            .map_or(Need::Host, |kept| Need::Rows(kept.address)))
    }

    /// Forgets a table whose rows could not be sent.
    pub fn forget(&mut self, at: usize) {
        self.tables.remove(&at);
    }

    /// Returns whether the device keeps rows of another stamp for this place.
    pub fn is_other(&self, at: usize, stamp: u64) -> bool {
        self.tables.get(&at).is_some_and(|table| table.stamp != stamp)
    }

    /// Returns the address for row indices, and whether the memory there holds these row indices already. `None` if they do not fit.
    pub fn indices(&self, chosen: &[u32]) -> Option<(u64, bool)> {
        let indices = self.indices.as_ref()?;
        let holds = size_of_val(chosen) <= indices.bytes;
        holds.then(|| (indices.address, self.chosen == chosen))
    }

    /// Allocates memory for row indices. The stream must have finished using the earlier memory.
    ///
    /// # Errors
    /// The device has no memory left.
    pub fn make_room(&mut self, device: &Arc<Device>, chosen: &[u32]) -> Result<(), Fault> {
        self.indices = None;
        self.chosen.clear();
        self.indices = Some(Allocation::new(device, size_of_val(chosen), "a batch")?);
        Ok(())
    }

    /// Records the row indices that are on the device.
    pub fn remember(&mut self, chosen: &[u32]) {
        self.chosen.clear();
        self.chosen.extend_from_slice(chosen);
    }
}

/// Enqueues a gather. The parameters are the addresses of the result, the table and the row indices, then the words per row and the words
/// in total.
///
/// # Errors
/// The driver reports an error.
///
/// # Safety
/// The addresses must be in memory of the device, and the memory there must be large enough.
pub unsafe fn launch(
    device: &Device,
    function: Function,
    stream: Stream,
    parameters: [u64; 5],
) -> Result<(), Fault> {
    let blocks = (parameters[4] as usize).div_ceil(THREADS);
    let blocks = u32::try_from(blocks).map_err(|_| {
        Fault::limit(
            &DEVICE_LIMIT,
            format!("{} words are more than a batch may have", parameters[4]),
        )
    })?;
    let mut arguments = parameters
        .each_ref()
        .map(|parameter| std::ptr::from_ref(parameter).cast_mut().cast::<c_void>());
    // SAFETY: the caller's promise; five parameters of 64 bits, which the driver reads before it returns.
    device.check(&format!("cuLaunchKernel of {ENTRY}"), unsafe {
        (device.driver().symbols.launch)(
            function,
            blocks,
            1,
            1,
            THREADS as u32,
            1,
            1,
            0,
            stream,
            arguments.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    })
}

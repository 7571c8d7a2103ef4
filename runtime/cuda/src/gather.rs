//! Keeps the rows of a data set on the device, and gathers batches of these rows by their indices.
//!
//! Note [Rows on the device]. The device keeps rows only from their second use on. If it kept them
//! from their first use on, rows that change before every step would all be sent for every step,
//! although a step uses only one batch of them. For each place of the arena, one table of rows is
//! kept if the device has enough memory.

use crate::device::Device;
use crate::diagnostics::DEVICE_LIMIT;
use crate::driver::{Function, Stream};
use crate::memory::Allocation;
use bnnc_abi::accelerator::CachedRows;
use bnnc_base::fault::Fault;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// The PTX code of the gather kernel.
pub const PTX: &str = include_str!("gather.ptx");
/// The name of the gather kernel.
pub const ENTRY: &str = "bnnc_gather";
/// The number of threads per block of the gather kernel.
const THREADS: usize = 256;
/// Tables leave at least the fraction `1 / LEFT` of the free memory for other uses.
const LEFT: usize = 4;

/// The tables of rows on the device. Each is identified by the place of the arena into which its
/// rows are gathered.
#[derive(Default)]
pub struct Tables {
    tables: HashMap<usize, Table>,
    /// The memory on the device for row indices. `chosen` is a copy of its current contents.
    indices: Option<Allocation>,
    chosen: Vec<u32>,
}

struct Table {
    stamp: u64,
    /// The rows on the device. `None` if the rows were used only once, or if the device does not
    /// have enough memory.
    rows: Option<Allocation>,
}

/// The next action for a table of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The host gathers the rows, because the device does not keep them.
    Host,
    /// The rows must first be sent to this address.
    Rows(u64),
    /// The rows are at this address.
    Kept(u64),
}

impl Tables {
    /// Returns the next action for the table at a place of the arena. Frees rows with another
    /// stamp, so the stream must have finished using them.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
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
        if rows.bytes() > free - free / LEFT {
            return Ok(Need::Host);
        }
        table.rows = Allocation::fitting(device, rows.bytes())?;
        Ok(table
            .rows
            .as_ref()
            .map_or(Need::Host, |kept| Need::Rows(kept.address)))
    }

    /// Removes a table whose rows could not be sent to the device.
    pub fn forget(&mut self, at: usize) {
        self.tables.remove(&at);
    }

    /// Returns whether the table for this place of the arena holds rows with another stamp.
    pub fn is_other(&self, at: usize, stamp: u64) -> bool {
        self.tables.get(&at).is_some_and(|table| table.stamp != stamp)
    }

    /// Returns the address of the memory for row indices, and whether it already contains these row
    /// indices. Returns `None` if the memory is too small.
    pub fn indices(&self, chosen: &[u32]) -> Option<(u64, bool)> {
        let indices = self.indices.as_ref()?;
        let holds = size_of_val(chosen) <= indices.bytes;
        holds.then(|| (indices.address, self.chosen == chosen))
    }

    /// Allocates memory for row indices, and frees the earlier memory. The stream must have
    /// finished using the earlier memory.
    ///
    /// # Errors
    /// Fails if the device does not have enough free memory.
    pub fn make_room(&mut self, device: &Arc<Device>, chosen: &[u32]) -> Result<(), Fault> {
        self.indices = None;
        self.chosen.clear();
        self.indices = Some(Allocation::new(device, size_of_val(chosen), "a batch")?);
        Ok(())
    }

    /// Records which row indices are on the device.
    pub fn remember(&mut self, chosen: &[u32]) {
        self.chosen.clear();
        self.chosen.extend_from_slice(chosen);
    }
}

/// Enqueues a gather. The parameters are the addresses of the result, of the table and of the row
/// indices, the number of words per row, and the total number of words.
///
/// # Errors
/// Fails if the driver reports an error.
///
/// # Safety
/// The addresses must be in the memory of the device, and this memory must be large enough.
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
    // SAFETY: the caller guarantees that the addresses are valid. The five parameters have 64 bits
    // each, and the driver reads them before the call returns.
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

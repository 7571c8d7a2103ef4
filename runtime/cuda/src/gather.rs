//! Rows that stay on the device, and batches of them by number.
//!
//! Note [Rows that stay]. Rows are kept from their second use on: what changes before every step would travel whole each time, for
//! a batch of it. One table is kept for each place of the arena, where the device has room.

use crate::device::Device;
use crate::driver::{Function, Stream};
use crate::memory::Allocation;
use bnnc_abi::accelerator::Rows;
use bnnc_base::fault::Fault;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// The kernel.
pub const PTX: &str = include_str!("gather.ptx");
/// Its name.
pub const ENTRY: &str = "bnnc_gather";
/// Threads of its blocks.
const THREADS: usize = 256;
/// Part of the free memory that tables leave to others.
const LEFT: usize = 4;

/// What is kept for each place of an arena.
#[derive(Default)]
pub struct Tables {
    tables: HashMap<usize, Table>,
    /// Row numbers on the device, and which they are.
    indices: Option<Allocation>,
    chosen: Vec<u32>,
}

struct Table {
    stamp: u64,
    /// Rows that were seen once, or for which there is no room, are not here.
    rows: Option<Allocation>,
}

/// What a table is to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the host gathers.
    Host,
    /// The rows are to be sent to this address first.
    Rows(u64),
    /// The rows are at this address.
    Kept(u64),
}

impl Tables {
    /// Where the rows are, or shall be. What another stamp left is freed: the stream must be through with it.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn need(&mut self, device: &Arc<Device>, at: usize, rows: &Rows) -> Result<Need, Fault> {
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

    /// Says that the rows could not be sent.
    pub fn forget(&mut self, at: usize) {
        self.tables.remove(&at);
    }

    /// Returns whether another stamp has rows for this place.
    pub fn is_other(&self, at: usize, stamp: u64) -> bool {
        self.tables.get(&at).is_some_and(|table| table.stamp != stamp)
    }

    /// The address of row numbers, and whether these are there already.
    pub fn indices(&self, chosen: &[u32]) -> Option<(u64, bool)> {
        let indices = self.indices.as_ref()?;
        let holds = size_of_val(chosen) <= indices.bytes;
        holds.then(|| (indices.address, self.chosen == chosen))
    }

    /// Makes room for row numbers. The stream must be through with those that were.
    ///
    /// # Errors
    /// Where the device has no memory left.
    pub fn make_room(&mut self, device: &Arc<Device>, chosen: &[u32]) -> Result<(), Fault> {
        self.indices = None;
        self.chosen.clear();
        self.indices = Some(Allocation::new(device, size_of_val(chosen), "a batch")?);
        Ok(())
    }

    /// Says which row numbers are on the device.
    pub fn remember(&mut self, chosen: &[u32]) {
        self.chosen.clear();
        self.chosen.extend_from_slice(chosen);
    }
}

/// Asks a stream for rows: the address of the result, of the table and of the row numbers, then the words of a row and in all.
///
/// # Errors
/// Where the driver refuses.
///
/// # Safety
/// The addresses must be those of memory on the device that holds as much.
pub unsafe fn launch(
    device: &Device,
    function: Function,
    stream: Stream,
    parameters: [u64; 5],
) -> Result<(), Fault> {
    let blocks = (parameters[4] as usize).div_ceil(THREADS);
    let blocks = u32::try_from(blocks)
        .map_err(|_| Fault::Limit(format!("{} words are more than a batch may have", parameters[4])))?;
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

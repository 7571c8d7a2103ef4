//! Limits the work on one region.

use crate::integral::{IntegrationLimits, Limit};
use fixedbitset::FixedBitSet;
use std::time::Instant;

/// Returns the number of bytes that a set occupies in memory.
pub(crate) fn bytes_of(set: &FixedBitSet) -> usize {
    size_of_val(set.as_slice())
}

/// The error that is returned if the work would exceed a limit.
pub(crate) type Spent = Limit;

/// The number of steps between two checks of the clock. In floating point, one step takes a few nanoseconds.
const STEPS_PER_LOOK: u64 = 1 << 20;

/// The work that is still allowed on a region. Three numbers limit it: the number of steps (comparisons of pairs of rays, additions of
/// terms), the number of bytes, and the time when the work must end.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
    bytes: u64,
    deadline: Option<Instant>,
    /// The number of steps that are left until the next check of the clock.
    look: u64,
}

impl Budget {
    /// Returns the budget for one region under these limits.
    pub fn of(effort: &IntegrationLimits) -> Budget {
        Budget {
            left: effort.steps,
            bytes: effort.memory,
            deadline: effort.deadline,
            look: STEPS_PER_LOOK,
        }
    }

    /// Returns a budget of `steps` steps, with the deadline and the remaining bytes of this budget.
    pub fn again(&self, steps: u64) -> Budget {
        Budget { left: steps, ..*self }
    }

    /// Subtracts steps from the budget. Call this before the steps are taken. Returns an error if the budget is not sufficient.
    pub fn spend(&mut self, steps: u64) -> Result<(), Spent> {
        self.left = self.left.checked_sub(steps).ok_or(Limit::Steps)?;
        match self.look.checked_sub(steps) {
            Some(look) => {
                self.look = look;
                Ok(())
            }
            None => {
                self.look = STEPS_PER_LOOK;
                self.in_time()
            }
        }
    }

    /// Returns an error if the time limit has been reached.
    pub fn in_time(&self) -> Result<(), Spent> {
        match self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            true => Err(Limit::Seconds),
            false => Ok(()),
        }
    }

    /// Subtracts bytes from the budget. Call this before the memory is allocated. Returns an error if the budget is not sufficient.
    pub fn keep(&mut self, bytes: usize) -> Result<(), Spent> {
        self.bytes = self.bytes.checked_sub(bytes as u64).ok_or(Limit::Memory)?;
        Ok(())
    }

    /// Returns bytes to the budget after the memory was freed.
    pub fn release(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

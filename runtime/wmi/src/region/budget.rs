//! A bound on the work on one region.

/// The steps that the work on a region may still take: pairs of rays that are compared, terms that are
/// added up.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
}

/// More work than was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent;

impl Budget {
    /// So many steps.
    pub fn of(steps: u64) -> Budget {
        Budget { left: steps }
    }

    /// Takes steps off, before they are made.
    pub fn spend(&mut self, steps: u64) -> Result<(), Spent> {
        self.left = self.left.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }
}

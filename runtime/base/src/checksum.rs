//! A checksum of bytes, which detects accidental changes.

use std::fmt;

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo). The hash detects accidental changes of bytes. The
/// hash does not protect against deliberate changes.
#[derive(Clone, Copy, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum(0xCBF2_9CE4_8422_2325)
    }
}

impl Checksum {
    /// Adds bytes to the hash.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
    }

    /// Returns the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        checksum.add(bytes);
        checksum
    }

    /// Returns a hash that continues after earlier bytes. `value` is the hash of these bytes.
    pub fn from_value(value: u64) -> Checksum {
        Checksum(value)
    }

    /// Returns the hash of all bytes that have been added.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_test_vectors_are_reproduced() {
        // The expected values come from the test suite that the authors of FNV provide.
        assert_eq!(Checksum::of(b"").value(), 0xCBF2_9CE4_8422_2325);
        assert_eq!(Checksum::of(b"a").value(), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(Checksum::of(b"foobar").value(), 0x8594_4171_F739_67E8);
    }
}

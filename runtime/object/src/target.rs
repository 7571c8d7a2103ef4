//! The relocations of the processor that this crate is built for: what they mean, and how they
//! change bytes.

use object::elf;

/// How a relocation changes the bytes at its place. In the formulas, `S` is the
/// address of the symbol, `A` is the addend, and `P` is the address of the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    /// Does not change the bytes.
    Nothing,
    /// Writes `S + A` as 64 bits.
    Absolute64,
    /// Writes `S + A` as an unsigned number of 32 bits.
    Absolute32,
    /// Writes `S + A` as a signed number of 32 bits.
    Absolute32Signed,
    /// Writes `S + A - P` as 32 bits.
    Relative32,
    /// Writes `S + A - P` as 64 bits.
    Relative64,
    /// Writes the same as [`Patch::Relative32`], but `S` is the address of a cell that contains the
    /// address of the symbol.
    Cell32,
}

/// The error for a value that does not fit into the bytes of its patch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfReach;

/// The processor architecture of the objects that this build can run.
pub(crate) const MACHINE: Option<object::Architecture> = if cfg!(target_arch = "x86_64") {
    Some(object::Architecture::X86_64)
} else {
    None
};

/// The number of bytes of a [`stub`].
pub(crate) const STUB_BYTES: usize = 16;

/// Returns instructions that jump to `address`: `jmp [rip + 0]`, followed by the address. The jump
/// reaches any distance.
pub(crate) fn stub(address: u64) -> [u8; STUB_BYTES] {
    let mut code = [0xCC; STUB_BYTES];
    code[..6].copy_from_slice(&[0xFF, 0x25, 0, 0, 0, 0]);
    code[6..14].copy_from_slice(&address.to_le_bytes());
    code
}

/// The address that a patch writes, with its parts.
#[derive(Clone, Copy, Debug)]
pub struct PatchedAddress {
    /// The address that the patched bytes refer to.
    pub target: u64,
    /// The number that is added to `target`.
    pub addend: i64,
    /// The address of the patched bytes. Relative addresses are computed relative to it.
    pub place: u64,
}

impl Patch {
    /// Returns the patch for a relocation type of x86-64, or `None` if bnnc's code cannot contain
    /// this type.
    pub fn of(kind: u32) -> Option<Patch> {
        Some(match kind {
            elf::R_X86_64_NONE => Patch::Nothing,
            elf::R_X86_64_64 => Patch::Absolute64,
            elf::R_X86_64_32 => Patch::Absolute32,
            elf::R_X86_64_32S => Patch::Absolute32Signed,
            elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => Patch::Relative32,
            elf::R_X86_64_PC64 => Patch::Relative64,
            elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => Patch::Cell32,
            _ => return None,
        })
    }

    /// Returns the number of bytes that the patch writes.
    pub fn width(self) -> usize {
        match self {
            Patch::Nothing => 0,
            Patch::Absolute64 | Patch::Relative64 => 8,
            Patch::Absolute32 | Patch::Absolute32Signed | Patch::Relative32 | Patch::Cell32 => 4,
        }
    }

    /// Returns whether this patch may refer to a [`stub`] in place of a distant symbol.
    pub fn may_take_stub(self) -> bool {
        self == Patch::Relative32
    }

    /// Writes an address into `bytes`. The length of `bytes` must be [`Patch::width`].
    pub fn write(self, bytes: &mut [u8], address: PatchedAddress) -> Result<(), OutOfReach> {
        let PatchedAddress {
            target,
            addend,
            place,
        } = address;
        let absolute = target.wrapping_add_signed(addend);
        let relative = absolute.wrapping_sub(place).cast_signed();
        match self {
            Patch::Nothing => {}
            Patch::Absolute64 => bytes.copy_from_slice(&absolute.to_le_bytes()),
            Patch::Relative64 => bytes.copy_from_slice(&relative.to_le_bytes()),
            Patch::Absolute32 => {
                let value = u32::try_from(absolute).map_err(|_| OutOfReach)?;
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            Patch::Absolute32Signed => {
                let value = i32::try_from(absolute.cast_signed()).map_err(|_| OutOfReach)?;
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            Patch::Relative32 | Patch::Cell32 => {
                let value = i32::try_from(relative).map_err(|_| OutOfReach)?;
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(target: u64, addend: i64, place: u64) -> PatchedAddress {
        PatchedAddress {
            target,
            addend,
            place,
        }
    }

    #[test]
    fn patches_follow_the_processor_supplement() {
        let mut four = [0; 4];
        assert_eq!(
            Patch::Relative32.write(&mut four, address(0x2000, -4, 0x1000)),
            Ok(())
        );
        assert_eq!(i32::from_le_bytes(four), 0x0FFC);
        assert_eq!(
            Patch::Relative32.write(&mut four, address(0x1000, -4, 0x2000)),
            Ok(())
        );
        assert_eq!(i32::from_le_bytes(four), -0x1004);
        assert_eq!(
            Patch::Absolute32.write(&mut four, address(0xFFFF_FFFF, 0, 0)),
            Ok(())
        );
        assert_eq!(four, [0xFF; 4]);
        let mut eight = [0; 8];
        assert_eq!(
            Patch::Absolute64.write(&mut eight, address(1 << 40, 7, 99)),
            Ok(())
        );
        assert_eq!(u64::from_le_bytes(eight), (1 << 40) + 7);
    }

    #[test]
    fn addresses_that_do_not_fit_are_rejected() {
        let mut four = [0; 4];
        let far = address(1_u64 << 40, 0, 0);
        for patch in [
            Patch::Relative32,
            Patch::Cell32,
            Patch::Absolute32,
            Patch::Absolute32Signed,
        ] {
            assert_eq!(patch.write(&mut four, far), Err(OutOfReach), "{patch:?}");
        }
        assert_eq!(
            Patch::Absolute32Signed.write(&mut four, address(0xFFFF_FFFF, 0, 0)),
            Err(OutOfReach)
        );
        assert_eq!(
            Patch::Relative32.write(&mut four, address(1 << 31, 0, 0)),
            Err(OutOfReach)
        );
        assert_eq!(
            Patch::Relative32.write(&mut four, address((1 << 31) - 1, 0, 0)),
            Ok(())
        );
    }
}

//! Assigns places in memory to the sections of an object. The memory consists of three parts: code,
//! constants and data. Each part begins at a page boundary.

use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;
use object::read::elf::{ElfFile64, ElfSection64};
use object::{Endianness, Object, ObjectSection, SectionFlags, SectionIndex, elf};
use std::collections::HashMap;
use std::ops::Range;

/// An object file that is being read.
pub(crate) type File<'a> = ElfFile64<'a, Endianness>;

/// A section of an object file.
pub(crate) type Section<'a, 'f> = ElfSection64<'a, 'f, Endianness>;

/// The maximum number of bytes of an image. The images of compiled programs are smaller, so a
/// larger image means that the file is damaged.
const LARGEST_IMAGE: u64 = 1 << 30;

/// The permitted use of a part of an image's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The memory may be executed.
    Code,
    /// The memory may be read.
    Constants,
    /// The memory may be read and written.
    Data,
}

/// The place of a section in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// The offset from the start of the image.
    pub offset: usize,
    /// The size in bytes.
    pub bytes: usize,
}

/// The places of all parts of an image. Offsets are in bytes from the start of the image.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The place of each section.
    pub sections: HashMap<SectionIndex, Placed>,
    /// The offset of the stubs. They follow the code.
    pub stubs: usize,
    /// The offset of the cells that hold addresses. The cells follow the constants.
    pub cells: usize,
    /// The range of the pages that contain code.
    pub code: Range<usize>,
    /// The range of the pages that contain constants.
    pub constants: Range<usize>,
    /// The size of the image in bytes.
    pub bytes: usize,
}

impl Layout {
    /// Assigns a place to every section that is needed in memory. Reserves `stubs` bytes after the
    /// code, and `cells` bytes after the constants.
    pub fn of(file: &File<'_>, stubs: usize, cells: usize) -> Result<Layout, Fault> {
        let page = region::page::size();
        let mut layout = Layout::default();
        let mut end = 0;
        layout.place(file, Use::Code, &mut end)?;
        layout.stubs = advance(&mut end, stubs as u64, 16)?;
        layout.code = 0..advance(&mut end, 0, page)?;
        layout.place(file, Use::Constants, &mut end)?;
        layout.cells = advance(&mut end, cells as u64, 8)?;
        layout.constants = layout.code.end..advance(&mut end, 0, page)?;
        layout.place(file, Use::Data, &mut end)?;
        layout.bytes = end;
        Ok(layout)
    }

    fn place(&mut self, file: &File<'_>, wanted: Use, end: &mut usize) -> Result<(), Fault> {
        for section in file.sections() {
            if usage(&section)? != Some(wanted) {
                continue;
            }
            let align = usize::try_from(section.align().max(1)).unwrap_or(usize::MAX);
            if !align.is_power_of_two() || align > region::page::size() {
                return Err(malformed(format!("a section is aligned to {align} bytes")));
            }
            let offset = advance(end, section.size(), align)?;
            let bytes = *end - offset;
            self.sections.insert(section.index(), Placed { offset, bytes });
        }
        Ok(())
    }
}

/// Reserves `bytes` bytes, beginning at the next multiple of `align`. Returns the offset of the
/// first byte.
fn advance(end: &mut usize, bytes: u64, align: usize) -> Result<usize, Fault> {
    let start = end.next_multiple_of(align);
    if bytes > LARGEST_IMAGE || start as u64 + bytes > LARGEST_IMAGE {
        return Err(Fault::limit(
            &NO_CODE,
            format!("an object takes more than {LARGEST_IMAGE} bytes in memory"),
        ));
    }
    *end = start + bytes as usize;
    Ok(start)
}

/// Returns the permitted use of a section, or `None` if the section is not needed in memory.
fn usage(section: &Section<'_, '_>) -> Result<Option<Use>, Fault> {
    let SectionFlags::Elf { sh_flags } = section.flags() else {
        return Ok(None);
    };
    let name = section.name_bytes().map_err(unreadable)?;
    let has = |flag: u32| sh_flags & u64::from(flag) != 0;
    // The section `.eh_frame` is not needed, because panics do not unwind through kernels.
    if !has(elf::SHF_ALLOC) || name.starts_with(b".note") || name == b".eh_frame" {
        return Ok(None);
    }
    if has(elf::SHF_TLS) {
        return Err(malformed("it has thread-local storage".to_owned()));
    }
    match (has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE)) {
        (true, true) => Err(malformed("a section is both writable and executable".to_owned())),
        (true, false) => Ok(Some(Use::Code)),
        (false, true) => Ok(Some(Use::Data)),
        (false, false) => Ok(Some(Use::Constants)),
    }
}

/// Returns the error for an object whose contents are contradictory.
pub(crate) fn malformed(reason: String) -> Fault {
    Fault::limit(&NO_CODE, format!("this object cannot be loaded: {reason}"))
}

/// Returns the error for an object whose tables cannot be read.
pub(crate) fn unreadable(error: object::Error) -> Fault {
    malformed(error.to_string())
}

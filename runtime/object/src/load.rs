//! Loads the bytes of an object as functions that this process can call.

use crate::image::{File, Layout, Placed, malformed, unreadable};
use crate::math;
use crate::memory::{Closed, Open};
use crate::target::{MACHINE, Patch, PatchedAddress, STUB_BYTES, stub};
use bnnc_abi::symbols::Address;
use bnnc_base::fault::Fault;
use object::read::elf::ElfSymbol64;
use object::{
    Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget, SymbolIndex, SymbolKind, SymbolSection,
};
use std::collections::HashMap;

/// The number of bytes of a cell that holds an address.
const CELL_BYTES: usize = 8;

/// A loaded object in executable memory. The memory is freed when this value is dropped.
pub struct Loaded {
    functions: HashMap<String, usize>,
    memory: Closed,
}

impl Loaded {
    /// Returns the address of a global function that the object defines. The address is valid as long as `self` lives.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        self.functions
            .get(name)
            .map(|offset| self.memory.address(*offset))
    }
}

/// Loads a relocatable ELF object for the processor of this machine. A symbol that the object does
/// not define is looked up in `symbols`. If `symbols` does not contain it either, it is looked up among the rounding
/// and memory functions that generated code calls by their C names.
///
/// # Errors
/// Fails if the bytes are not such an object, or if they contain kinds of relocations or sections that bnnc's code
/// generators do not emit. Also fails if a symbol is undefined, or if there is not enough memory.
pub fn load(bytes: &[u8], symbols: &[Address]) -> Result<Loaded, Fault> {
    let file = File::parse(bytes).map_err(unreadable)?;
    if file.kind() != ObjectKind::Relocatable {
        return Err(malformed("it is not relocatable".to_owned()));
    }
    if MACHINE != Some(file.architecture()) || file.endianness() != Endianness::Little {
        return Err(malformed(format!(
            "it is code for {:?}, and this is {}",
            file.architecture(),
            std::env::consts::ARCH
        )));
    }
    let patches = patches(&file)?;
    let bridges = Bridges::of(&patches, &file)?;
    let layout = Layout::of(
        &file,
        bridges.stubs.len() * STUB_BYTES,
        bridges.cells.len() * CELL_BYTES,
    )?;
    let mut memory = Open::new(layout.bytes)?;
    let mut linker = Linker {
        known: math::symbols(),
        base: memory.base(),
        file: &file,
        layout: &layout,
        bridges: &bridges,
    };
    // The functions of the runtime come last, because the last of several functions with the same name is used.
    linker.known.extend_from_slice(symbols);
    linker.copy(memory.bytes())?;
    linker.bridge(memory.bytes())?;
    for patch in &patches {
        linker.apply(patch, memory.bytes())?;
    }
    let functions = functions(&file, &layout)?;
    let memory = memory.close(layout.code.clone(), layout.constants.clone())?;
    Ok(Loaded { functions, memory })
}

/// One relocation of a section.
struct Relocation {
    section: object::SectionIndex,
    offset: u64,
    patch: Patch,
    symbol: SymbolIndex,
    addend: i64,
}

/// Returns the relocations of all sections that are needed in memory.
fn patches(file: &File<'_>) -> Result<Vec<Relocation>, Fault> {
    let needed = Layout::of(file, 0, 0)?.sections;
    let mut patches = Vec::new();
    for section in file
        .sections()
        .filter(|section| needed.contains_key(&section.index()))
    {
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(malformed("a relocation is not of ELF".to_owned()));
            };
            let patch = Patch::of(r_type)
                .filter(|_| !relocation.has_implicit_addend())
                .ok_or_else(|| malformed(format!("it has relocations of type {r_type}")))?;
            if patch == Patch::Nothing {
                continue;
            }
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(malformed("a relocation names no symbol".to_owned()));
            };
            patches.push(Relocation {
                section: section.index(),
                offset,
                patch,
                symbol,
                addend: relocation.addend(),
            });
        }
    }
    Ok(patches)
}

/// For each symbol, the indices of its stub and its cell. An instruction with a short range uses a stub or a cell to
/// reach a distant symbol.
#[derive(Default)]
struct Bridges {
    stubs: HashMap<SymbolIndex, usize>,
    cells: HashMap<SymbolIndex, usize>,
}

impl Bridges {
    fn of(patches: &[Relocation], file: &File<'_>) -> Result<Bridges, Fault> {
        let mut bridges = Bridges::default();
        for relocation in patches {
            let symbol = file.symbol_by_index(relocation.symbol).map_err(unreadable)?;
            let numbers = match relocation.patch {
                Patch::Cell32 => &mut bridges.cells,
                patch if patch.may_take_stub() && symbol.is_undefined() => &mut bridges.stubs,
                _ => continue,
            };
            let next = numbers.len();
            numbers.entry(relocation.symbol).or_insert(next);
        }
        Ok(bridges)
    }
}

struct Linker<'a> {
    file: &'a File<'a>,
    layout: &'a Layout,
    bridges: &'a Bridges,
    base: u64,
    known: Vec<Address>,
}

impl Linker<'_> {
    /// Copies the contents of the sections to their places in memory.
    fn copy(&self, memory: &mut [u8]) -> Result<(), Fault> {
        for (index, Placed { offset, bytes }) in &self.layout.sections {
            let section = self.file.section_by_index(*index).map_err(unreadable)?;
            // If a section does not have bytes in the file, its memory stays zero.
            let data = section.data().map_err(unreadable)?;
            let data = &data[..data.len().min(*bytes)];
            memory[*offset..*offset + data.len()].copy_from_slice(data);
        }
        Ok(())
    }

    /// Writes the stubs and the cells.
    fn bridge(&self, memory: &mut [u8]) -> Result<(), Fault> {
        for (symbol, number) in &self.bridges.stubs {
            let at = self.layout.stubs + number * STUB_BYTES;
            memory[at..at + STUB_BYTES].copy_from_slice(&stub(self.address(*symbol)?));
        }
        for (symbol, number) in &self.bridges.cells {
            let at = self.layout.cells + number * CELL_BYTES;
            memory[at..at + CELL_BYTES].copy_from_slice(&self.address(*symbol)?.to_le_bytes());
        }
        Ok(())
    }

    fn apply(&self, relocation: &Relocation, memory: &mut [u8]) -> Result<(), Fault> {
        let patch = relocation.patch;
        let Placed { offset, bytes } = self.layout.sections[&relocation.section];
        let within = usize::try_from(relocation.offset).ok();
        let at = within
            .filter(|within| within.checked_add(patch.width()).is_some_and(|end| end <= bytes))
            .ok_or_else(|| malformed("a relocation lies outside its section".to_owned()))?;
        let at = offset + at;
        let place = self.base + at as u64;
        let field = &mut memory[at..at + patch.width()];
        let target = match self.bridges.cells.get(&relocation.symbol) {
            Some(number) if patch == Patch::Cell32 => {
                self.base + (self.layout.cells + number * CELL_BYTES) as u64
            }
            _ => self.address(relocation.symbol)?,
        };
        let address = |target| PatchedAddress {
            target,
            addend: relocation.addend,
            place,
        };
        let written = patch.write(field, address(target));
        if written.is_ok() {
            return Ok(());
        }
        let stubs = &self.bridges.stubs;
        let stub = stubs.get(&relocation.symbol).filter(|_| patch.may_take_stub());
        let far = || malformed(format!("`{}` is out of reach", self.name(relocation.symbol)));
        let stub = self.base + (self.layout.stubs + stub.ok_or_else(far)? * STUB_BYTES) as u64;
        patch.write(field, address(stub)).map_err(|_| far())
    }

    fn symbol(&self, index: SymbolIndex) -> Result<ElfSymbol64<'_, '_, Endianness>, Fault> {
        self.file.symbol_by_index(index).map_err(unreadable)
    }

    fn name(&self, index: SymbolIndex) -> String {
        let symbol = self.symbol(index).ok();
        let name = symbol.and_then(|symbol| Some(symbol.name_bytes().ok()?.to_vec()));
        String::from_utf8_lossy(&name.unwrap_or_default()).into_owned()
    }

    /// Returns the address of a symbol in this process.
    fn address(&self, index: SymbolIndex) -> Result<u64, Fault> {
        let symbol = self.symbol(index)?;
        match symbol.section() {
            SymbolSection::Section(_) => {
                let offset = offset(&symbol, self.layout)
                    .ok_or_else(|| malformed(format!("`{}` lies nowhere", self.name(index))))?;
                Ok(self.base + offset as u64)
            }
            SymbolSection::Absolute => Ok(symbol.address()),
            SymbolSection::Undefined => {
                let name = self.name(index);
                let known = self.known.iter().rev().find(|known| known.name == name);
                known
                    .map(|known| known.pointer as u64)
                    .ok_or_else(|| malformed(format!("it needs `{name}`, which is nowhere")))
            }
            _ => Err(malformed(format!("`{}` is of an unknown kind", self.name(index)))),
        }
    }
}

/// Returns the offset of a symbol in the image, or `None` if its section is not in memory.
fn offset(symbol: &ElfSymbol64<'_, '_, Endianness>, layout: &Layout) -> Option<usize> {
    let section = layout.sections.get(&symbol.section_index()?)?;
    let within = usize::try_from(symbol.address()).ok()?;
    (within <= section.bytes).then_some(section.offset + within)
}

/// Returns the name and the offset of each global function of an object.
fn functions(file: &File<'_>, layout: &Layout) -> Result<HashMap<String, usize>, Fault> {
    let mut functions = HashMap::new();
    let table = file.symbol_table().into_iter();
    for symbol in table.flat_map(|table| table.symbols()) {
        if symbol.kind() != SymbolKind::Text || !symbol.is_global() || symbol.is_undefined() {
            continue;
        }
        let name = symbol.name().map_err(unreadable)?.to_owned();
        let place = offset(&symbol, layout).filter(|place| layout.code.contains(place));
        let place = place.ok_or_else(|| malformed(format!("function `{name}` is not in code")))?;
        functions.insert(name, place);
    }
    Ok(functions)
}

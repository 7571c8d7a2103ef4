//! An emulator of PTX. The emulator runs one block after another. In a block, it runs each thread
//! up to the next barrier before any thread passes the barrier. The emulator supports the
//! instructions that LLVM emits for the kernels of bnnc, and panics at any other instruction.

use crate::arithmetic::{self, Function, Type};
use std::collections::HashMap;
use std::fmt;

/// The entries of an assembly text.
pub struct Machine {
    entries: HashMap<String, Entry>,
}

/// The location of an operand.
#[derive(Clone, Debug)]
enum Operand {
    Register(usize),
    Number(u64),
    /// The index of the thread within its block, or the index of the block.
    Thread,
    Block,
    /// The memory at an address: the address in a register plus an offset.
    Memory(Box<Operand>, i64),
    Parameter(usize),
    Several(Vec<Operand>),
    Label(usize),
}

struct Instruction {
    text: String,
    /// The predicate register, with a flag that is true if the predicate is negated.
    guard: Option<(usize, bool)>,
    ty: Type,
    operands: Vec<Operand>,
    action: Action,
}

/// The effect of an instruction.
enum Action {
    Wait,
    End,
    Jump,
    Load { shared: bool },
    Store { shared: bool },
    Compute(Function),
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Entry {
    parameters: usize,
    registers: usize,
    shared: usize,
    body: Vec<Instruction>,
}

/// The state of one thread.
#[derive(Clone)]
struct Thread {
    registers: Vec<u64>,
    at: usize,
    done: bool,
}

/// The state shared by the threads of one block.
struct Block<'a> {
    number: u64,
    arguments: &'a [u64],
    shared: Vec<u8>,
}

impl Machine {
    /// Parses an assembly text.
    pub fn new(text: &str) -> Machine {
        let mut entries = HashMap::new();
        let mut rest = text;
        while let Some(start) = rest.find(".entry ") {
            rest = &rest[start + ".entry ".len()..];
            let (name, after) = rest.split_once('(').unwrap();
            let (parameters, after) = after.split_once(')').unwrap();
            let body = &after[after.find("\n{").unwrap() + 2..];
            let (body, after) = body.split_once("\n}").unwrap();
            entries.insert(name.trim().to_owned(), Reader::entry(parameters, body));
            rest = after;
        }
        Machine { entries }
    }

    /// Runs an entry.
    ///
    /// # Safety
    /// The arguments must match the parameters of the entry. The entry must be allowed to use the memory at the given
    /// addresses.
    pub unsafe fn launch(&self, entry: &str, (blocks, threads): (u64, u32), arguments: &[u64]) {
        let entry = &self.entries[entry];
        assert_eq!(arguments.len(), entry.parameters);
        for number in 0..blocks {
            let mut block = Block {
                number,
                arguments,
                shared: vec![0xCD; entry.shared],
            };
            let fresh = Thread {
                registers: vec![0xDEAD_BEEF; entry.registers],
                at: 0,
                done: false,
            };
            let mut all = vec![fresh; threads as usize];
            while all.iter().any(|thread| !thread.done) {
                for (number, thread) in all.iter_mut().enumerate().filter(|(_, thread)| !thread.done) {
                    // SAFETY: the caller gives the guarantee.
                    unsafe { block.advance(entry, number as u64, thread) }
                }
            }
        }
    }
}

impl Block<'_> {
    /// Runs a thread to its next barrier or its end.
    unsafe fn advance(&mut self, entry: &Entry, number: u64, thread: &mut Thread) {
        loop {
            let instruction = &entry.body[thread.at];
            thread.at += 1;
            if let Some((register, negated)) = instruction.guard
                && (thread.registers[register] & 1 == 1) == negated
            {
                continue;
            }
            match &instruction.action {
                Action::Wait => return,
                Action::End => {
                    thread.done = true;
                    return;
                }
                Action::Jump => {
                    let Operand::Label(at) = &instruction.operands[0] else {
                        panic!("{instruction:?}")
                    };
                    thread.at = *at;
                }
                // SAFETY: the caller gives the guarantee.
                Action::Load { shared } => unsafe { self.load(instruction, *shared, number, thread) },
                // SAFETY: the caller gives the guarantee.
                Action::Store { shared } => unsafe { self.store(instruction, *shared, number, thread) },
                Action::Compute(function) => {
                    let mut operands = [0; 4];
                    for (value, operand) in operands.iter_mut().zip(&instruction.operands[1..]) {
                        *value = self.value(operand, number, thread);
                    }
                    self.finish(instruction, function(&operands), thread);
                }
            }
        }
    }

    fn finish(&self, instruction: &Instruction, result: u64, thread: &mut Thread) {
        match &instruction.operands[0] {
            Operand::Several(targets) => {
                let half = instruction.ty.bytes() * 8 / targets.len();
                for (at, target) in targets.iter().enumerate() {
                    set(
                        target,
                        (result >> (at * half)) & (u64::MAX >> (64 - half)),
                        thread,
                    );
                }
            }
            target => set(target, result, thread),
        }
    }

    fn address(&self, operand: &Operand, number: u64, thread: &Thread) -> u64 {
        let Operand::Memory(base, offset) = operand else {
            panic!("{operand:?}")
        };
        self.value(base, number, thread).wrapping_add_signed(*offset)
    }

    unsafe fn load(&self, instruction: &Instruction, shared: bool, number: u64, thread: &mut Thread) {
        if let Operand::Parameter(at) = instruction.operands[1] {
            return set(&instruction.operands[0], self.arguments[at], thread);
        }
        let (first, length) = (
            self.address(&instruction.operands[1], number, thread),
            instruction.ty.bytes(),
        );
        for (at, target) in several(&instruction.operands[0]).iter().enumerate() {
            let address = first + (at * length) as u64;
            let mut bytes = [0; 8];
            match shared {
                true => bytes[..length].copy_from_slice(&self.shared[address as usize..][..length]),
                // SAFETY: the caller gives the guarantee. The address is aligned, so it is the
                // address of an element.
                false => unsafe {
                    assert_eq!(address % length as u64, 0, "{instruction:?}");
                    std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), length);
                },
            }
            // A register may be wider than the loaded value.
            set(target, instruction.ty.extended(u64::from_le_bytes(bytes)), thread);
        }
    }

    unsafe fn store(&mut self, instruction: &Instruction, shared: bool, number: u64, thread: &Thread) {
        let (first, length) = (
            self.address(&instruction.operands[0], number, thread),
            instruction.ty.bytes(),
        );
        for (at, operand) in several(&instruction.operands[1]).iter().enumerate() {
            let address = first + (at * length) as u64;
            let bytes = self.value(operand, number, thread).to_le_bytes();
            match shared {
                true => self.shared[address as usize..][..length].copy_from_slice(&bytes[..length]),
                // SAFETY: the caller gives the guarantee. The address is aligned, so it is the
                // address of an element.
                false => unsafe {
                    assert_eq!(address % length as u64, 0, "{instruction:?}");
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, length);
                },
            }
        }
    }

    fn value(&self, operand: &Operand, number: u64, thread: &Thread) -> u64 {
        match operand {
            Operand::Register(at) => thread.registers[*at],
            Operand::Number(number) => *number,
            Operand::Thread => number,
            Operand::Block => self.number,
            Operand::Several(parts) => {
                let half = 64 / parts.len();
                let parts = parts.iter().enumerate();
                parts.fold(0, |all, (at, part)| {
                    all | self.value(part, number, thread) << (at * half)
                })
            }
            Operand::Memory(..) | Operand::Parameter(_) | Operand::Label(_) => panic!("{operand:?}"),
        }
    }
}

fn several(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Several(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

fn set(target: &Operand, value: u64, thread: &mut Thread) {
    let Operand::Register(at) = target else {
        panic!("{target:?}")
    };
    thread.registers[*at] = value;
}

/// The state while one entry is parsed.
#[derive(Default)]
struct Reader {
    registers: HashMap<String, usize>,
    names: HashMap<String, Operand>,
    shared: usize,
}

impl Reader {
    fn entry(parameters: &str, body: &str) -> Entry {
        let mut reader = Reader::default();
        let parameters = parameters
            .split(',')
            .map(str::trim)
            .filter(|parameter| !parameter.is_empty());
        let mut count = 0;
        for parameter in parameters {
            let name = parameter.split_whitespace().last().unwrap();
            reader.names.insert(name.to_owned(), Operand::Parameter(count));
            count += 1;
        }
        let statements = reader.statements(body);
        let body = statements
            .iter()
            .map(|statement| reader.instruction(statement))
            .collect();
        Entry {
            parameters: count,
            registers: reader.registers.len(),
            shared: reader.shared,
            body,
        }
    }

    /// Returns the instructions of an entry. Also records the positions of labels and of shared
    /// memory.
    fn statements(&mut self, body: &str) -> Vec<String> {
        let mut statements = Vec::new();
        for line in body.lines() {
            let line = line.split("//").next().unwrap().trim();
            if let Some(label) = line.strip_suffix(':') {
                self.names
                    .insert(label.to_owned(), Operand::Label(statements.len()));
            } else if let Some(shared) = line.strip_prefix(".shared") {
                let (name, length) = shared.trim_end_matches("];").rsplit_once('[').unwrap();
                let name = name.split_whitespace().last().unwrap();
                self.names
                    .insert(name.to_owned(), Operand::Number(self.shared as u64));
                self.shared += length.parse::<usize>().unwrap().next_multiple_of(16);
            } else {
                // Some instructions stand between braces and declare local registers.
                let inner = line
                    .strip_prefix("{ ")
                    .map_or(line, |line| line.trim_end_matches('}'));
                let parts = inner.split(';').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty() && !part.starts_with('.'));
                statements.extend(parts.map(str::to_owned));
            }
        }
        statements
    }

    fn instruction(&mut self, statement: &str) -> Instruction {
        let (guard, rest) = match statement.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(char::is_whitespace).unwrap();
                let register = self.register(guard.trim_start_matches('!'));
                (Some((register, guard.starts_with('!'))), rest.trim())
            }
            None => (None, statement),
        };
        let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let mut parts = name.split('.').map(str::to_owned);
        let name = parts.next().unwrap();
        let parts: Vec<String> = parts.collect();
        let ty = parts.iter().rev().find_map(|part| Type::from_name(part));
        let ty = ty.unwrap_or(Type::Predicate);
        let action =
            action(&name, &parts, ty).unwrap_or_else(|| panic!("the machine does not know `{statement}`"));
        let operands = match name.as_str() {
            "bar" | "barrier" => Vec::new(),
            _ => split(operands)
                .into_iter()
                .map(|operand| self.operand(operand))
                .collect(),
        };
        Instruction {
            text: statement.to_owned(),
            guard,
            ty,
            operands,
            action,
        }
    }

    fn register(&mut self, name: &str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self, text: &str) -> Operand {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        if let Some(inside) = text.strip_prefix('{') {
            let parts = split(inside.trim_end_matches('}'));
            return Operand::Several(parts.into_iter().map(|part| self.operand(part)).collect());
        }
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.trim_end_matches(']');
            let (base, offset) = match inside.split_once('+') {
                Some((base, offset)) => (base, offset.parse().unwrap()),
                None => (inside, 0),
            };
            return match self.operand(base) {
                Operand::Parameter(at) => Operand::Parameter(at),
                base => Operand::Memory(Box::new(base), offset),
            };
        }
        match text {
            "%tid.x" => Operand::Thread,
            "%ctaid.x" => Operand::Block,
            _ if text.starts_with(|c: char| c == '%' || c.is_alphabetic()) => {
                Operand::Register(self.register(text))
            }
            _ => Operand::Number(number(text)),
        }
    }
}

fn action(name: &str, parts: &[String], ty: Type) -> Option<Action> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let shared = parts.contains(&"shared");
    Some(match name {
        "bar" | "barrier" => Action::Wait,
        "ret" => Action::End,
        "bra" => Action::Jump,
        "ld" => Action::Load { shared },
        "st" => Action::Store { shared },
        _ => Action::Compute(arithmetic::function(name, &parts, ty)?),
    })
}

/// Splits operands at commas outside braces.
fn split(operands: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in operands.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(operands[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(operands[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn number(text: &str) -> u64 {
    let hexadecimal = ["0f", "0d", "0x"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse::<i128>().unwrap_or_else(|_| panic!("{text}")) as u64,
    }
}

//! Code for a graphics processor, and what a runtime must know to run a plan with it: plain data.
//!
//! Buffers of the plan are global memory of the device. A launch of the plan becomes the launches of its kernel's parts in
//! order, a call those of its primitive's; parts run one after another, each over a grid of one dimension. Nothing here depends
//! on the number of processors or on timing, so that results do not either.

use crate::plan::Combine;
use std::fmt;

/// A program for a graphics processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// PTX, which the driver assembles for the processor at hand.
    pub text: String,
    /// The oldest processor that runs it, as in `sm_80`.
    pub processor: String,
    /// Per kernel of the plan: what a launch of it runs.
    pub kernels: Vec<Vec<Part>>,
    /// What calls run.
    pub primitives: Vec<Routine>,
}

/// What a call of a primitive runs; its buffers and integers are those of the call.
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    /// The primitive's name.
    pub primitive: String,
    /// The number of integers in the calls that it serves.
    pub ints: usize,
    /// What it runs.
    pub part: Part,
}

/// One function of the device, and how it is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The entry in the text.
    pub symbol: String,
    /// Threads per block.
    pub threads: u32,
    /// Bytes of shared memory per block; they are declared in the text.
    pub shared: u32,
    /// The number of blocks is the product; where it is 0 nothing is launched.
    pub blocks: Vec<Blocks>,
    /// What is done to whole buffers before.
    pub fills: Vec<Fill>,
    /// What the function is given, in order.
    pub parameters: Vec<Parameter>,
}

/// A count that is known, or an integer of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Known.
    Fixed(i64),
    /// The integer of this slot.
    Int(u32),
}

/// The product of `counts` over `per`, rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The counts.
    pub counts: Vec<Count>,
    /// Elements for one block.
    pub per: i64,
}

/// A buffer is filled with what a reduction starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The buffer slot.
    pub slot: u32,
    /// The reduction.
    pub combine: Combine,
    /// The entry that does it: it takes an address and a number of elements, and [`FILL_THREADS`] elements per block.
    pub symbol: String,
}

/// Threads per block of entries that fill, and the elements that a block fills.
pub const FILL_THREADS: u32 = 256;

/// One argument of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address of the buffer in this slot: 64 bits.
    Buffer(u32),
    /// The integer of this slot: 64 bits.
    Int(u32),
    /// This number: 64 bits.
    Number(i64),
}

impl Part {
    /// The number of blocks for a launch with these integers.
    pub fn blocks(&self, ints: &[i64]) -> i64 {
        self.blocks.iter().map(|blocks| blocks.resolve(ints)).product()
    }
}

impl Blocks {
    fn resolve(&self, ints: &[i64]) -> i64 {
        let count = |count: &Count| match count {
            Count::Fixed(count) => *count,
            Count::Int(slot) => ints[*slot as usize],
        };
        let total: i64 = self.counts.iter().map(|each| count(each).max(0)).product();
        (total + self.per - 1) / self.per
    }
}

impl fmt::Display for Image {
    /// Comments that tell what to launch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, parts) in self.kernels.iter().enumerate() {
            parts
                .iter()
                .try_for_each(|part| writeln!(f, "// kernel {at}: {part}"))?;
        }
        for Routine {
            primitive,
            ints,
            part,
        } in &self.primitives
        {
            writeln!(f, "// {primitive} of {ints} integers: {part}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Fill { slot, symbol, .. } in &self.fills {
            write!(f, "{symbol}(buffer {slot}), then ")?;
        }
        write!(f, "{}<<<", self.symbol)?;
        list(f, &self.blocks, " * ")?;
        write!(f, ", {}>>>(", self.threads)?;
        list(f, &self.parameters, ", ")?;
        write!(f, "), {} bytes shared", self.shared)
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts.is_empty() {
            return f.write_str("1");
        }
        if self.per == 1 {
            return list(f, &self.counts, " * ");
        }
        f.write_str("ceil(")?;
        list(f, &self.counts, " * ")?;
        write!(f, " / {})", self.per)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Fixed(count) => count.fmt(f),
            Count::Int(slot) => write!(f, "int {slot}"),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Buffer(slot) => write!(f, "buffer {slot}"),
            Parameter::Int(slot) => write!(f, "int {slot}"),
            Parameter::Number(number) => number.fmt(f),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display], between: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { between })?;
        item.fmt(f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Count, Part};

    #[test]
    fn blocks_round_up() {
        let counts = vec![Count::Fixed(3), Count::Int(1)];
        let part = Part {
            symbol: "k".to_owned(),
            threads: 256,
            shared: 0,
            blocks: vec![
                Blocks { counts, per: 256 },
                Blocks {
                    counts: vec![],
                    per: 1,
                },
            ],
            fills: vec![],
            parameters: vec![],
        };
        assert_eq!(part.blocks(&[0, 85]), 1);
        assert_eq!(part.blocks(&[0, 86]), 2);
        assert_eq!(part.blocks(&[0, 0]), 0);
        assert_eq!(
            part.to_string(),
            "k<<<ceil(3 * int 1 / 256) * 1, 256>>>(), 0 bytes shared"
        );
    }
}

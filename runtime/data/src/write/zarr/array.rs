//! Writes one array of a Zarr store, which consists of chunks and metadata (Zarr storage specification, version 2).

use super::names::NamedDim;
use super::{ZarrLabels, ZarrType};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The approximate size of a chunk in bytes. A smaller size would give too many files. A larger
/// size would take more memory, because a chunk stays in memory until it is full.
const CHUNK_BYTES: usize = 1 << 18;

/// The number of chains of a group, and its number of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    pub chains: usize,
    /// The number of draws of each chain.
    pub draws: usize,
}

/// The metadata of an array whose chunks have been written.
#[derive(Debug)]
pub(super) struct Written {
    pub name: String,
    /// The content of the file `.zarray`.
    pub layout: Value,
    /// The content of the file `.zattrs`.
    pub attributes: Value,
}

/// An array that is being written. Draws can be appended to its chains in any order.
#[derive(Debug)]
pub(super) struct Array {
    folder: PathBuf,
    name: String,
    kind: ZarrType,
    dims: Vec<NamedDim>,
    is_sampled: bool,
    /// The number of draws in a chunk.
    draws_per_chunk: usize,
    chains: Vec<Chain>,
}

/// The chunks of one chain.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// The number of chunks that have been written to files.
    chunks: usize,
    /// The bytes of the last chunk. This chunk is not full yet.
    bytes: Vec<u8>,
}

impl Array {
    /// Creates an array without elements.
    pub fn create(
        folder: PathBuf,
        name: String,
        dims: Vec<NamedDim>,
        (kind, samples): (ZarrType, Option<Samples>),
    ) -> io::Result<Array> {
        fs::create_dir(&folder)?;
        let Samples { chains, draws } = samples.unwrap_or(Samples { chains: 1, draws: 1 });
        let mut array = Array {
            folder,
            name,
            kind,
            dims,
            is_sampled: samples.is_some(),
            draws_per_chunk: 1,
            chains: vec![Chain::default(); chains],
        };
        array.draws_per_chunk = (CHUNK_BYTES / array.draw_bytes().max(1)).clamp(1, draws.max(1));
        Ok(array)
    }

    fn draw_bytes(&self) -> usize {
        self.dims.iter().map(|dim| dim.size).product::<usize>() * self.kind.bytes()
    }

    fn chunk_bytes(&self) -> usize {
        self.draws_per_chunk * self.draw_bytes()
    }

    /// Appends draws to a chain.
    pub fn append(&mut self, chain: usize, values: &[f64]) -> io::Result<()> {
        let full = self.chunk_bytes();
        for value in values {
            self.kind.push(*value, &mut self.chains[chain].bytes);
            if self.chains[chain].bytes.len() == full {
                self.write_chunk(chain)?;
                self.chains[chain].chunks += 1;
                self.chains[chain].bytes.clear();
            }
        }
        Ok(())
    }

    /// Returns the number of draws of the shortest chain, or `None` if a draw does not have
    /// elements.
    pub fn draws(&self) -> Option<usize> {
        let (width, per_chunk) = (self.draw_bytes(), self.draws_per_chunk);
        let draws = |chain: &Chain| Some(chain.chunks * per_chunk + chain.bytes.len().checked_div(width)?);
        self.chains.iter().map(draws).min().flatten()
    }

    fn write_chunk(&self, chain: usize) -> io::Result<()> {
        let of = &self.chains[chain];
        fs::write(self.chunk_path(chain, of.chunks), &of.bytes)
    }

    fn chunk_path(&self, chain: usize, chunk: usize) -> PathBuf {
        let rest = vec![".0"; self.dims.len()].concat();
        self.folder.join(match (self.is_sampled, rest.strip_prefix('.')) {
            (true, _) => format!("{chain}.{chunk}{rest}"),
            (false, Some(rest)) => rest.to_owned(),
            (false, None) => "0".to_owned(),
        })
    }

    /// Writes the chunks that are not full. If all draws of a chunk come after the last kept draw,
    /// removes the chunk.
    pub fn finish(&self, kept: Option<Samples>) -> io::Result<Written> {
        let draws = kept.map_or(1, |kept| kept.draws);
        let needed = draws.div_ceil(self.draws_per_chunk);
        for (number, chain) in self.chains.iter().enumerate() {
            for chunk in needed..chain.chunks {
                fs::remove_file(self.chunk_path(number, chunk))?;
            }
            if chain.chunks < needed && !chain.bytes.is_empty() {
                let mut bytes = chain.bytes.clone();
                while bytes.len() < self.chunk_bytes() {
                    self.kind.push(f64::NAN, &mut bytes);
                }
                fs::write(self.chunk_path(number, chain.chunks), bytes)?;
            }
        }
        Ok(self.metadata(kept))
    }

    fn metadata(&self, kept: Option<Samples>) -> Written {
        let (mut names, mut shape, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(Samples { chains, draws }) = kept {
            names.extend(["chain", "draw"]);
            shape.extend([chains, draws]);
            chunks.extend([1, self.draws_per_chunk]);
        }
        names.extend(self.dims.iter().map(|dim| dim.name.as_str()));
        shape.extend(self.dims.iter().map(|dim| dim.size));
        chunks.extend(self.dims.iter().map(|dim| dim.size.max(1)));
        Written {
            name: self.name.clone(),
            layout: layout(&shape, &chunks, self.kind.code()),
            attributes: json!({ "_ARRAY_DIMENSIONS": names }),
        }
    }
}

impl ZarrType {
    fn bytes(self) -> usize {
        match self {
            ZarrType::Real | ZarrType::Int => 8,
            ZarrType::Bool => 1,
        }
    }

    fn code(self) -> &'static str {
        match self {
            ZarrType::Real => "<f8",
            ZarrType::Int => "<i8",
            ZarrType::Bool => "|b1",
        }
    }

    fn push(self, value: f64, bytes: &mut Vec<u8>) {
        match self {
            ZarrType::Real => bytes.extend(value.to_le_bytes()),
            ZarrType::Int => bytes.extend((value as i64).to_le_bytes()),
            ZarrType::Bool => bytes.push(u8::from(value != 0.0 && !value.is_nan())),
        }
    }
}

/// Returns the metadata of an array. Only an array of reals has a fill value. xarray would treat
/// integers that equal the fill value as missing, and would then convert all integers to reals.
fn layout(shape: &[usize], chunks: &[usize], code: &str) -> Value {
    let fill = (code == "<f8").then_some("NaN");
    json!({
        "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": code, "fill_value": fill, "order": "C",
        "compressor": null, "filters": null,
    })
}

/// Writes one coordinate array per dimension. The array holds the labels of the positions.
pub(super) fn coordinates(
    folder: &Path,
    kept: Option<Samples>,
    dims: &[NamedDim],
) -> io::Result<Vec<Written>> {
    let sizes = kept.map_or(Vec::new(), |kept| {
        vec![("chain", kept.chains), ("draw", kept.draws)]
    });
    let mut written = Vec::new();
    for (name, size) in sizes {
        written.push(coordinate(folder, name, size, &ZarrLabels::Count)?);
    }
    for dim in dims {
        written.push(coordinate(folder, &dim.name, dim.size, &dim.labels)?);
    }
    Ok(written)
}

fn coordinate(folder: &Path, name: &str, size: usize, labels: &ZarrLabels) -> io::Result<Written> {
    let integers = |values: &mut dyn Iterator<Item = i64>| values.flat_map(i64::to_le_bytes).collect();
    let (code, bytes): (String, Vec<u8>) = match labels {
        ZarrLabels::Count => ("<i8".to_owned(), integers(&mut (0..size as i64))),
        ZarrLabels::Int(numbers) => ("<i8".to_owned(), integers(&mut numbers.iter().copied())),
        ZarrLabels::Text(texts) => {
            let width = texts
                .iter()
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0)
                .max(1);
            let padded = |text: &String| {
                let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
                letters
                    .take(width)
                    .flat_map(u32::to_le_bytes)
                    .collect::<Vec<u8>>()
            };
            (format!("<U{width}"), texts.iter().flat_map(padded).collect())
        }
    };
    let folder = folder.join(name);
    fs::create_dir(&folder)?;
    if size > 0 {
        fs::write(folder.join("0"), bytes)?;
    }
    Ok(Written {
        name: name.to_owned(),
        layout: layout(&[size], &[size.max(1)], &code),
        attributes: json!({ "_ARRAY_DIMENSIONS": [name] }),
    })
}

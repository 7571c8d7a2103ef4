//! Executable bundles: a compiled file as bytes, which `bnnc build` writes and built executables read.
//!
//! A bundle begins with `MAGIC`, the version of the layout, the length of the body and the checksum of the body, each as a little-endian `u64`.
//! The body follows: [`Head`] and [`Built`] in the postcard format. An executable with an appended bundle ends in a `TRAILER`.

use crate::manifest::Manifest;
use bnnc_base::checksum::Checksum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// The first bytes of a bundle.
const MAGIC: &[u8; 8] = b"bnnc-run";

/// The last bytes of an executable with an appended bundle. The eight bytes before them hold the
/// length of the bundle as a little-endian `u64`.
const TRAILER: &[u8; 8] = b"nur-cnnb";

/// The number of bytes that precede the body of a bundle.
const FIXED: usize = 32;

/// The version of the layout. It must be the same in the writer and in the reader of a bundle.
/// `tests/tests/layout.rs` fails if the types of a bundle change
/// but this version does not. The test also covers the data that compiled code and the runtime share.
pub const LAYOUT: u64 = 21;

/// The text before the version in the mark of a runtime.
const MARK: &str = "\0bnnc-runner ";

/// Returns the number of bytes of the mark that a runtime of this version contains.
pub const fn mark_bytes(version: &str) -> usize {
    MARK.len() + version.len() + 9
}

/// Returns the mark that a runtime of this version contains. `bnnc build` recognises the runtime by this mark. The mark consists of a text with the
/// version, a zero byte, and [`LAYOUT`] as a little-endian `u64`. `N` is [`mark_bytes`].
pub const fn mark<const N: usize>(version: &str) -> [u8; N] {
    let (text, version, layout) = (MARK.as_bytes(), version.as_bytes(), LAYOUT.to_le_bytes());
    let mut mark = [0; N];
    let mut at = 0;
    while at < N {
        let end = text.len() + version.len();
        mark[at] = match at {
            at if at < text.len() => text[at],
            at if at < end => version[at - text.len()],
            at if at == end => 0,
            at => layout[at - end - 1],
        };
        at += 1;
    }
    mark
}

/// Returns the layout of the bundles that a runtime reads, given the bytes of the runtime. Returns `None`
/// if the bytes are not a runtime of this version.
pub fn layout_of(runtime: &[u8], version: &str) -> Option<u64> {
    // The text is assembled at run time, so that this executable does not contain it.
    let text = [MARK, version, "\0"].concat();
    let found = runtime
        .windows(text.len())
        .position(|part| part == text.as_bytes())?;
    let layout = runtime[found + text.len()..].first_chunk()?;
    Some(u64::from_le_bytes(*layout))
}

/// The processor that a bundle requires. The head comes first in a bundle, so that it can be read
/// even if the machine cannot run the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The architecture, as `std::env::consts::ARCH` names it.
    pub architecture: String,
    /// The extensions that the processor must have, by their names in `std::arch`.
    pub features: Vec<String>,
}

/// The argument that the entry of a linked executable passes to the runtime.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Linked {
    /// The address of the bundle.
    pub artefact: *const u8,
    /// The length of the bundle in bytes.
    pub bytes: u64,
    /// The addresses of all kernels of the bundle, in the order of [`Manifest::artifacts`].
    pub kernels: *const *const u8,
    /// The number of addresses in [`Linked::kernels`].
    pub kernel_count: u64,
    /// A table of function addresses, in the order of [`crate::symbols::callables`]. Kernels read
    /// the addresses from this table. The runtime writes the addresses into the table.
    pub functions: *mut usize,
    /// The number of addresses in [`Linked::functions`].
    pub function_count: u64,
}

/// The function of the runtime that a linked executable calls first: `(argc, argv, &Linked) -> exit status`, with the C calling convention.
pub const LINKED_ENTRY: &str = "bnnc_run_linked";

/// A compiled file, and the program and options that it was compiled from.
#[derive(Clone, Serialize, Deserialize)]
pub struct Built {
    /// The manifest of the compiled file. The code of each program in it is an object. If an object
    /// is linked into the executable, its bytes are left out here.
    pub manifest: Manifest,
    /// The program and options that it was compiled from.
    pub origin: Origin,
}

/// The program and options that a file was compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The path of the program's file.
    pub file: PathBuf,
    /// The text of the program.
    pub text: String,
    /// The checksum of the library.
    pub library: u64,
    /// The `ITEM.KEY=VALUE` settings of the command line.
    pub settings: Vec<String>,
    /// The `NAME=PATH` pairs of the command line.
    pub data: Vec<String>,
    /// The precision that the command line selected.
    pub precision: Option<String>,
    /// The rewrites that were disabled.
    pub without: Vec<String>,
}

/// The reason why bytes cannot be read as a bundle on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleError {
    /// The bytes do not begin like a bundle.
    Unknown,
    /// The length of the bundle differs from the length in its header.
    Truncated,
    /// The bytes were changed after they were written, or cannot be parsed.
    Damaged(String),
    /// Another build of the compiler wrote the bundle.
    OtherLayout,
    /// The bundle needs a processor of this other architecture.
    OtherArchitecture(String),
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleError::Unknown => f.write_str("it holds no compiled program, or the program was removed"),
            BundleError::Truncated => f.write_str("the compiled program in it is cut off"),
            BundleError::Damaged(what) => write!(f, "the compiled program in it is damaged: {what}"),
            BundleError::OtherLayout => {
                f.write_str("its compiled program and its runtime come from different builds of bnnc")
            }
            BundleError::OtherArchitecture(name) => {
                write!(
                    f,
                    "it is compiled for {name}, but this processor is {}",
                    std::env::consts::ARCH
                )
            }
        }
    }
}

impl std::error::Error for BundleError {}

/// Writes a bundle for the architecture of this machine and the given processor features.
///
/// # Errors
/// Fails if the code of a program is not an object, because such code cannot be used outside the
/// process in which it was compiled.
pub fn encode(built: &Built, features: Vec<String>) -> Result<Vec<u8>, BundleError> {
    let head = Head {
        architecture: std::env::consts::ARCH.to_owned(),
        features,
    };
    let body = postcard::to_allocvec(&(head, built)).map_err(damaged)?;
    let mut bytes = MAGIC.to_vec();
    for number in [LAYOUT, body.len() as u64, Checksum::of(&body).value()] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(body);
    Ok(bytes)
}

/// Reads a bundle. The caller must check that the processor has the features in the head.
///
/// # Errors
/// Fails if the bytes are not a bundle, or if the bundle cannot run on this machine.
pub fn decode(bytes: &[u8]) -> Result<(Head, Built), BundleError> {
    if bytes.len() < FIXED || &bytes[..8] != MAGIC {
        return Err(BundleError::Unknown);
    }
    let number = |at: usize| word(&bytes[at..]);
    let body = &bytes[FIXED..];
    if number(16) != body.len() as u64 {
        return Err(BundleError::Truncated);
    }
    if number(24) != Checksum::of(body).value() {
        return Err(BundleError::Damaged("its checksum differs".to_owned()));
    }
    if number(8) != LAYOUT {
        return Err(BundleError::OtherLayout);
    }
    let (head, rest): (Head, _) = postcard::take_from_bytes(body).map_err(damaged)?;
    if head.architecture != std::env::consts::ARCH {
        return Err(BundleError::OtherArchitecture(head.architecture));
    }
    let (built, rest) = postcard::take_from_bytes(rest).map_err(damaged)?;
    match rest {
        [] => Ok((head, built)),
        _ => Err(BundleError::Damaged("bytes follow after its end".to_owned())),
    }
}

/// Returns the bytes of this bundle in the form in which they are appended to an executable.
pub fn appended(artefact: &[u8]) -> Vec<u8> {
    let length = artefact.len() as u64;
    [artefact, &length.to_le_bytes(), TRAILER].concat()
}

/// Reads the bundle that is appended to an executable.
///
/// # Errors
/// The outer error means that the file cannot be read. The inner error means that the executable
/// does not contain a bundle, or that its bundle is truncated.
pub fn embedded(executable: &mut (impl Read + Seek)) -> io::Result<Result<Vec<u8>, BundleError>> {
    let size = executable.seek(SeekFrom::End(0))?;
    let Some(end) = size.checked_sub(16) else {
        return Ok(Err(BundleError::Unknown));
    };
    let mut trailer = [0; 16];
    executable.seek(SeekFrom::Start(end))?;
    executable.read_exact(&mut trailer)?;
    if &trailer[8..] != TRAILER {
        return Ok(Err(BundleError::Unknown));
    }
    let Some(start) = end.checked_sub(word(&trailer)) else {
        return Ok(Err(BundleError::Truncated));
    };
    executable.seek(SeekFrom::Start(start))?;
    let mut artefact = Vec::new();
    executable.take(end - start).read_to_end(&mut artefact)?;
    Ok(Ok(artefact))
}

/// Returns the first eight bytes as a little-endian integer, or 0 if the slice is shorter.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn damaged(error: postcard::Error) -> BundleError {
    BundleError::Damaged(error.to_string())
}

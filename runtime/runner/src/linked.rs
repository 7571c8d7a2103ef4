//! An executable into which a program was linked. The entry point of the executable calls
//! [`bnnc_run_linked`].

use crate::program;
use bnnc_abi::artefact::Linked;
use bnnc_abi::code::{KernelCode, Object};
use bnnc_abi::symbols;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use bnnc_command::terminal;
use bnnc_object::LoadedCode;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::path::PathBuf;
use std::sync::Arc;

/// The data that the entry point of the executable passes to the runtime, as slices.
struct Parts {
    artefact: &'static [u8],
    kernels: &'static [*const u8],
    functions: &'static mut [usize],
}

// SAFETY: the addresses refer to code and constants. Threads do not change them.
unsafe impl Send for Parts {}

/// Runs the program that was linked into this executable. Returns its exit status.
///
/// # Safety
/// `argc` and `argv` must be the arguments of C's `main`, and `linked` must be the table that `bnnc
/// build` wrote. The function must be called only once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bnnc_run_linked(
    argc: c_int,
    argv: *const *const c_char,
    linked: *const Linked,
) -> c_int {
    terminal::begin();
    // SAFETY: guaranteed by the caller.
    let (words, parts) = unsafe { (words(argc, argv), parts(&*linked)) };
    let status = terminal::work(move || run(words, parts));
    c_int::from(status)
}

fn run(words: Vec<OsString>, parts: Parts) -> u8 {
    if let Err(fault) = fill(parts.functions) {
        let show = |found: &[Diagnostic]| terminal::show(found, &SourceMap::default(), (false, render::text));
        return terminal::fault_status(&fault, &show);
    }
    let executable = std::env::current_exe()
        .ok()
        .or_else(|| words.first().map(PathBuf::from))
        .unwrap_or_default();
    let mut rest = parts.kernels;
    let mut load = |object: &Object| -> Result<Arc<dyn KernelCode>, Fault> {
        let missing = || Fault::Bug("this executable has fewer kernels than its program".to_owned());
        let (own, others) = rest.split_at_checked(object.kernels.len()).ok_or_else(missing)?;
        rest = others;
        // SAFETY: the entry point lists the kernels of all objects in the order of loading.
        Ok(Arc::new(unsafe { LoadedCode::linked(object, own) }?))
    };
    program::run(parts.artefact, &executable, words, &mut load)
}

/// Writes the addresses of the runtime's functions to the cells that the kernels read. There may be
/// several versions of a function; the version for this processor is used.
fn fill(cells: &mut [usize]) -> Result<(), Fault> {
    let known = bnnc_kernels::arrays::symbols();
    let mut filled = 0;
    for ((callable, precision), cell) in symbols::callables().zip(&mut *cells) {
        let name = callable.symbol(precision);
        let address = known.iter().find(|address| address.name == name);
        let missing = || Fault::Bug(format!("the runtime lacks `{name}`"));
        *cell = address.ok_or_else(missing)?.pointer;
        filled += 1;
    }
    match filled == cells.len() && symbols::callables().count() == filled {
        true => Ok(()),
        false => Err(Fault::Bug(
            "another build of bnnc made the entry of this executable".to_owned(),
        )),
    }
}

/// # Safety
/// The same conditions as for [`bnnc_run_linked`] apply.
unsafe fn words(argc: c_int, argv: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(argc).unwrap_or(0);
    // SAFETY: C's `main` gets `argc` zero-terminated strings.
    let word = |at| unsafe { CStr::from_ptr(*argv.add(at)) };
    (0..count).map(|at| text(word(at))).collect()
}

#[cfg(unix)]
fn text(word: &CStr) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(word.to_bytes()).to_owned()
}

#[cfg(not(unix))]
fn text(word: &CStr) -> OsString {
    word.to_string_lossy().into_owned().into()
}

/// # Safety
/// The same conditions as for [`bnnc_run_linked`] apply.
unsafe fn parts(linked: &Linked) -> Parts {
    // SAFETY: the entry point passes valid addresses, with the numbers of bytes, kernels and cells
    // at these addresses. The memory lives as long as the process. Only this process writes the
    // cells, and it does so once, before any kernel runs.
    unsafe {
        Parts {
            artefact: std::slice::from_raw_parts(linked.artefact, linked.bytes as usize),
            kernels: std::slice::from_raw_parts(linked.kernels.cast(), linked.kernel_count as usize),
            functions: std::slice::from_raw_parts_mut(linked.functions, linked.function_count as usize),
        }
    }
}

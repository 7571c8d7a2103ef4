//! Reads a program that has been appended to the bytes of this executable.

use crate::program;
use bnnc_abi::artefact;
use bnnc_abi::code::{KernelCode, Object};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use bnnc_command::{diagnostics, terminal};
use bnnc_object::LoadedCode;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the program that is appended to this executable. Returns the exit status.
pub fn main() -> u8 {
    terminal::begin();
    terminal::work(|| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let executable = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("bnnc-runner"));
        match read(&executable) {
            Ok(bytes) => {
                let symbols = bnnc_kernels::arrays::symbols();
                let mut load = |object: &Object| -> Result<Arc<dyn KernelCode>, Fault> {
                    Ok(Arc::new(LoadedCode::load(object, &symbols)?))
                };
                program::run(&bytes, &executable, words, &mut load)
            }
            Err(found) => {
                let json = words.iter().any(|word| word == "--json");
                terminal::show(&[*found], &SourceMap::default(), (json, render::text))
            }
        }
    })
}

fn read(executable: &Path) -> Result<Vec<u8>, Box<Diagnostic>> {
    let unreadable = |error| Box::new(diagnostics::unreadable(executable, &error));
    let mut file = File::open(executable).map_err(unreadable)?;
    let embedded = artefact::embedded(&mut file).map_err(unreadable)?;
    embedded.map_err(|rejection| Box::new(diagnostics::no_program(executable, &rejection)))
}

//! `bnnc fmt`: formats programs in place.

use crate::arguments::Fmt;
use crate::session::{self, Display};
use bnnc_base::source::SourceMap;
use bnnc_command::terminal::{self, OK};
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &Fmt) -> u8 {
    arguments
        .files
        .iter()
        .map(|file| one(file, arguments.check))
        .max()
        .unwrap_or(OK)
}

fn one(file: &Path, check: bool) -> u8 {
    let display = Display { json: false };
    let mut sources = SourceMap::default();
    let text = match session::read(file) {
        Ok(text) => text,
        Err(diagnostic) => return display.show(&[*diagnostic], &sources),
    };
    let source = sources.add(&file.display().to_string(), &text);
    let formatted = match bnnc_driver::program::format(&source) {
        Ok(formatted) => formatted,
        Err(diagnostics) => return display.show(&diagnostics, &sources),
    };
    if formatted == text {
        return OK;
    }
    if check {
        terminal::say(&format!("{} is not formatted\n", file.display()));
        return 1;
    }
    match bnnc_data::write::atomically(file, |writer| writer.write_all(formatted.as_bytes())) {
        Ok(()) => OK,
        Err(diagnostic) => display.show(&[diagnostic], &sources),
    }
}

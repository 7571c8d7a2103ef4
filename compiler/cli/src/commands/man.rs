//! `bnnc man`: writes the manual pages.

use crate::arguments::{CommandLine, Man};
use bnnc_command::terminal::{OK, UNWRITTEN, complain};
use clap::CommandFactory;
use std::fs;

/// Runs the command.
pub fn run(arguments: &Man) -> u8 {
    let folder = &arguments.folder;
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(CommandLine::command(), folder));
    match written {
        Ok(()) => OK,
        Err(error) => {
            complain(&format!(
                "error: cannot write manual pages into `{}`: {error}",
                folder.display()
            ));
            UNWRITTEN
        }
    }
}

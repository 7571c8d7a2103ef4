//! `bnnc emit`: prints one stage as text.

use crate::arguments::Emit;
use crate::session::{self, Display};
use bnnc_command::terminal::{self, OK};
use bnnc_driver::emit::{emit, load, syntactic};
use bnnc_driver::options::chip;
use bnnc_driver::stage::Stage;
use bnnc_driver::{diagnostics, program};

/// Runs the command.
pub fn run(arguments: &Emit) -> Result<u8, u8> {
    terminal::say(&text(arguments)?);
    Ok(OK)
}

fn text(arguments: &Emit) -> Result<String, u8> {
    let display = Display { json: false };
    let Some(stage) = Stage::from_name(&arguments.stage) else {
        let names = Stage::ALL.map(Stage::name).join(", ");
        let diagnostic = diagnostics::no_stage(&arguments.stage).note(format!("the stages are {names}"));
        return Err(display.alone(&diagnostic));
    };
    let mut options = session::options(&arguments.compile, display)?;
    options.gpu = chip::lookup(&arguments.gpu).unwrap_or(chip::DEFAULT);
    let text = session::read(&arguments.file).map_err(|found| display.alone(&found))?;
    if let Some((sources, read)) = load(&arguments.file.display().to_string(), &text) {
        let read = read.map_err(|diagnostic| display.show(&[*diagnostic], &sources))?;
        return read
            .emit(stage, &options)
            .map_err(|failure| display.failure(&failure, &sources));
    }
    let program = program::load(&arguments.file.display().to_string(), &text, &options);
    if stage <= Stage::Ast {
        display.show(&program.diagnostics, &program.sources);
        return Ok(syntactic(&program, stage).unwrap_or_default());
    }
    let status = display.show(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return Err(status);
    }
    if let Some(text) = syntactic(&program, stage) {
        return Ok(text);
    }
    let schemas = session::schemas(&program, &options, display)?;
    emit(&program, stage, arguments.infer.as_deref(), &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))
}

//! `bnnc emit`: one stage as text.

use crate::arguments::Emit;
use crate::session::{self, Display};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::SourceMap;
use bnnc_command::terminal::{self, OK};
use bnnc_driver::codes;
use bnnc_driver::emit::{emit, syntactic};
use bnnc_driver::options::chip;
use bnnc_driver::program;
use bnnc_driver::stage::Stage;

/// Runs the command.
pub fn run(arguments: &Emit) -> u8 {
    match run_inner(arguments) {
        Ok(text) => {
            terminal::say(&text);
            OK
        }
        Err(status) => status,
    }
}

fn run_inner(arguments: &Emit) -> Result<String, u8> {
    let display = Display { json: false };
    let nowhere = SourceMap::default();
    let Some(stage) = Stage::from_name(&arguments.stage) else {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        let diagnostic = Diagnostic::usage(
            &codes::NO_STAGE,
            format!("there is no stage `{}`", arguments.stage),
        )
        .suggest(&arguments.stage, names.iter().copied())
        .note(format!("the stages are {}", names.join(", ")));
        return Err(display.show(&[diagnostic], &nowhere));
    };
    let mut options = session::options(&arguments.compile).map_err(|found| display.show(&found, &nowhere))?;
    options.gpu = chip::lookup(&arguments.gpu).unwrap_or(chip::DEFAULT);
    let text = session::read(&arguments.file).map_err(|diagnostic| display.show(&[*diagnostic], &nowhere))?;
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

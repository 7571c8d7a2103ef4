//! `bnnc predict`: predictions for new inputs with a saved run.

use crate::arguments::{Compile, Predict};
use crate::commands::run::library;
use crate::session::{self, Display};
use bnnc_abi::data::Schema;
use bnnc_abi::manifest::Infer;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::SourceMap;
use bnnc_command::execute::{interrupt, stopped};
use bnnc_command::terminal::{self, OK};
use bnnc_driver::codes::no_infer;
use bnnc_driver::codes::which::which_infer;
use bnnc_driver::compile::{Compiled, compile};
use bnnc_driver::program::Program;
use bnnc_run::codes;
use bnnc_run::fit::Context;
use bnnc_run::out::{self, SavedRun};
use std::collections::HashMap;
use std::sync::Arc;

/// Runs the command.
pub fn run(arguments: &Predict) -> u8 {
    match run_inner(arguments) {
        Ok(()) => OK,
        Err(status) => status,
    }
}

fn run_inner(arguments: &Predict) -> Result<(), u8> {
    let display = Display { json: false };
    let nowhere = SourceMap::default();
    let interrupt = interrupt();
    let read = out::read(&arguments.run);
    let (saved, values) = read.map_err(|diagnostic| display.show(&[diagnostic], &nowhere))?;
    let (program, compiled) = recompiled(arguments, &saved, display)?;
    let refuse = |why: &str| display.show(&[codes::not_a_run(&arguments.run, why)], &program.sources);
    let is_saved = |infer: &&Infer| saved.preparations.contains_key(&infer.name);
    let known: Vec<&Infer> = compiled.manifest.infers.iter().filter(is_saved).collect();
    if known.is_empty() {
        return Err(refuse("it holds results of no infer"));
    }
    let chosen = choose(&known, arguments.infer.as_deref());
    let infer = chosen.map_err(|found| display.show(&[*found], &program.sources))?;
    let data = compiled.manifest.data.iter().find(|spec| spec.name == infer.data);
    let known = saved
        .preparations
        .get(&infer.name)
        .zip(values.get(&infer.name))
        .zip(data);
    let Some(((preparation, values), spec)) = known else {
        return Err(refuse(&format!("it has nothing saved of `{}`", infer.name)));
    };
    let rows = preparation
        .rows(spec, &arguments.data)
        .map_err(|found| display.show(&found, &program.sources))?;
    let pool = Arc::new(bnnc_kernels::pool::Pool::new(terminal::threads(
        arguments.threads,
    )));
    let context = Context {
        interrupt,
        ..Context::new(pool, saved.seed)
    };
    let at = (values, &*arguments.run);
    let within = (terminal::available_memory(), &context);
    if let Some(path) = &arguments.joint {
        let covariance = bnnc_run::run::joint(infer, preparation, at, rows.clone(), within)
            .map_err(|stop| stopped(&stop, &|found| display.show(found, &program.sources)))?;
        let sizes = [covariance.rows, covariance.columns];
        let written = bnnc_data::write::npy(path, &sizes, &covariance.values);
        written.map_err(|found| display.show(&[found], &program.sources))?;
    }
    if let Some(path) = &arguments.slopes {
        let columns = bnnc_run::run::slopes(infer, preparation, at, rows.clone(), within)
            .map_err(|stop| stopped(&stop, &|found| display.show(found, &program.sources)))?;
        let written = bnnc_data::write::csv(path, &columns);
        written.map_err(|found| display.show(&[found], &program.sources))?;
    }
    let columns = bnnc_run::run::predict(infer, preparation, at, rows, &context)
        .map_err(|stop| stopped(&stop, &|found| display.show(found, &program.sources)))?;
    match &arguments.output {
        Some(path) => {
            bnnc_data::write::csv(path, &columns).map_err(|found| display.show(&[found], &program.sources))
        }
        None => {
            let text = bnnc_data::write::csv_text(&columns);
            terminal::say(&text);
            Ok(())
        }
    }
}

/// The program of a run with the columns and levels that its data had then. `Err` is the exit status.
fn recompiled(arguments: &Predict, saved: &SavedRun, display: Display) -> Result<(Program, Compiled), u8> {
    let nowhere = SourceMap::default();
    let flags = Compile {
        set: saved.settings.clone(),
        data: saved.data.clone(),
        seed: saved.seed,
        precision: saved.precision.clone(),
        without: saved.without.clone(),
        backend: "cranelift".to_owned(),
        // An inference that was not run may need data whose schema the folder does not hold.
        only: saved.preparations.keys().cloned().collect(),
    };
    let mut options = session::options(&flags).map_err(|found| display.show(&found, &nowhere))?;
    options.jacobians = arguments.joint.is_some() || arguments.slopes.is_some();
    let program = session::load_text(&saved.program, &saved.text, &options, display)?;
    // Those of the run: its draws have a parameter for each level and column that the files had then.
    let schemas: HashMap<String, Schema> = saved.schemas.clone().into_iter().collect();
    let compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    if library(&program) != saved.library || !saved.fingerprint.is_of_this_version() {
        display.show(&[codes::other_library(&arguments.run)], &program.sources);
    }
    Ok((program, compiled))
}

/// The infer of this name, or the only one that the run holds something of.
fn choose<'a>(saved: &[&'a Infer], name: Option<&str>) -> Result<&'a Infer, Box<Diagnostic>> {
    let names: Vec<&str> = saved.iter().map(|infer| infer.name.as_str()).collect();
    match (name, saved) {
        (Some(name), _) => {
            let found = saved.iter().find(|infer| infer.name == name).copied();
            found.ok_or_else(|| Box::new(no_infer(name, &names)))
        }
        (None, [only]) => Ok(*only),
        (None, _) => Err(Box::new(which_infer(&names))),
    }
}

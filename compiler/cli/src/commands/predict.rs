//! `bnnc predict`: predicts for new inputs with a saved run.

use crate::arguments::{Compile, NewLevels, Predict};
use crate::commands::run::library;
use crate::session::{self, Display};
use bnnc_abi::manifest::{DataSource, InferenceBlock};
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_command::execute::{interrupt, stopped};
use bnnc_command::memory;
use bnnc_command::terminal::{self, OK};
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics;
use bnnc_core::states::StateValues;
use bnnc_data::write::ResultColumn;
use bnnc_data::{NewRows, Preparation, Rows};
use bnnc_driver::compile::{Compiled, compile};
use bnnc_driver::diagnostics::no_infer;
use bnnc_driver::diagnostics::which::which_infer;
use bnnc_driver::new_levels::{self, SelectedAxis};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_run::folder;
use bnnc_run::new_levels as of_rows;
use bnnc_run::out::{self, SavedRun};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the command.
pub fn run(arguments: &Predict) -> Result<u8, u8> {
    let display = Display { json: false };
    let interrupt = interrupt();
    let read = out::read(&arguments.run);
    let (saved, values) = read.map_err(|found| display.alone(&found))?;
    check_targets(arguments).map_err(|found| display.alone(&found))?;
    let options = options(arguments, &saved, display)?;
    let (program, compiled) = recompiled(arguments, &saved, &options, display)?;
    let reject = |why: &str| display.show(&[diagnostics::not_a_run(&arguments.run, why)], &program.sources);
    let is_saved = |infer: &&InferenceBlock| saved.preparations.contains_key(&infer.name);
    let known: Vec<&InferenceBlock> = compiled.manifest.infers.iter().filter(is_saved).collect();
    if known.is_empty() {
        return Err(reject("it holds no results of an inference"));
    }
    let chosen = choose(&known, arguments.infer.as_deref());
    let infer = chosen.map_err(|found| display.show(&[*found], &program.sources))?;
    let data = compiled.manifest.data.iter().find(|spec| spec.name == infer.data);
    let known = saved
        .preparations
        .get(&infer.name)
        .zip(values.get(&infer.name))
        .zip(data)
        .zip(saved.schemas.get(&infer.data));
    let Some((((preparation, values), spec), schema)) = known else {
        return Err(reject(&format!("it holds no results of `{}`", infer.name)));
    };
    let axes = match arguments.new_levels {
        NewLevels::Prior => new_levels::axes(&program, &infer.name, schema, &options),
        NewLevels::Refuse => Vec::new(),
    };
    let new = NewRows {
        file: &arguments.data,
        open: &columns(infer, &axes),
        sources: Some(&infer.sources()),
        most: memory::available(),
    };
    let rows = preparation
        .rows(spec, new)
        .map_err(|found| display.show(&found, &program.sources))?;
    if let Some(ranges) = saved.ranges.get(&infer.name) {
        let far = bnnc_run::far(infer, (spec, preparation), rows.clone(), ranges);
        display.show(&far, &program.sources);
    }
    let pool = Arc::new(bnnc_kernels::pool::Pool::new(terminal::threads(
        arguments.threads,
    )));
    let fitted = Fitted {
        arguments,
        program: &program,
        infer,
        preparation,
        values,
        context: Context {
            interrupt,
            ..Context::new(pool, saved.seed)
        },
        display,
    };
    fitted.write_gaussian(&rows)?;
    let columns = fitted.table(rows, axes, (schema, &options))?;
    match &arguments.output {
        Some(path) => fitted.write_table(path, &columns)?,
        None => terminal::say(&bnnc_data::write::csv_text(&columns)),
    }
    Ok(OK)
}

/// An inference of a saved run, with the context for its predictions.
struct Fitted<'a> {
    arguments: &'a Predict,
    program: &'a CheckedProgram,
    infer: &'a InferenceBlock,
    preparation: &'a Preparation,
    values: &'a StateValues,
    context: Context,
    display: Display,
}

impl Fitted<'_> {
    /// Writes those of the requested results that need a Gaussian over the weights: the joint
    /// covariance, and the derivatives with respect to the inputs. The error is the exit
    /// status.
    fn write_gaussian(&self, rows: &Rows) -> Result<(), u8> {
        let (infer, preparation, arguments) = (self.infer, self.preparation, self.arguments);
        let at = (self.values, &*arguments.run);
        let within = (memory::available(), &self.context);
        let show = |found: Diagnostic| self.display.show(&[found], &self.program.sources);
        if let Some(path) = &arguments.joint {
            let covariance = bnnc_run::joint(infer, preparation, at, rows.clone(), within)
                .map_err(|stop| self.stopped(&stop))?;
            let sizes = [covariance.rows, covariance.columns];
            self.check_free(path, &bnnc_data::write::npy_header(&sizes))?;
            bnnc_data::write::npy(path, &sizes, &covariance.values).map_err(show)?;
        }
        if let Some(path) = &arguments.slopes {
            let columns = bnnc_run::slopes(infer, preparation, at, rows.clone(), within)
                .map_err(|stop| self.stopped(&stop))?;
            self.write_table(path, &columns)?;
        }
        Ok(())
    }

    /// Writes a table. The error is the exit status.
    fn write_table(&self, path: &Path, columns: &[(String, ResultColumn)]) -> Result<(), u8> {
        let text = bnnc_data::write::csv_text(columns);
        let header = text.split_inclusive('\n').next().unwrap_or_default();
        self.check_free(path, header.as_bytes())?;
        let written = bnnc_data::write::atomically(path, |writer| writer.write_all(text.as_bytes()));
        written.map_err(|found| self.display.show(&[found], &self.program.sources))
    }

    /// Checks that an output does not replace a file of another kind, unless `--overwrite` is
    /// given. `beginning` holds the first bytes of the output. The error is the exit status.
    fn check_free(&self, path: &Path, beginning: &[u8]) -> Result<(), u8> {
        let is_other = !self.arguments.overwrite && bnnc_data::write::holds_other_content(path, beginning);
        let help = "write into another file, or add `--overwrite` to replace it";
        match is_other {
            true => Err(self.display.show(
                &[diagnostics::replaces_another_file(path, help)],
                &self.program.sources,
            )),
            false => Ok(()),
        }
    }

    /// Returns the table of predictions for rows that may have new levels along some axes. The error is the exit status.
    fn table(
        &self,
        rows: Rows,
        axes: Vec<SelectedAxis>,
        (schema, options): (&Schema, &CompileOptions),
    ) -> Result<Vec<(String, ResultColumn)>, u8> {
        let mut grown = self.infer.clone();
        let extend = |axis: SelectedAxis| {
            let more = of_rows::extend(&mut grown, self.preparation, &rows, &axis.ports);
            (axis, more)
        };
        let more: Vec<(SelectedAxis, usize)> = axes
            .into_iter()
            .map(extend)
            .filter(|(_, more)| *more > 0)
            .collect();
        let columns = if more.is_empty() {
            let at = (self.values, &*self.arguments.run);
            bnnc_run::predict(self.infer, self.preparation, at, rows, &self.context)
        } else {
            let mut grown = new_levels::new_levels(self.program, schema, options, &grown, &more)
                .map_err(|failure| self.display.failure(&failure, &self.program.sources))?;
            grown.drop_unread();
            let infers = (self.infer, &grown);
            of_rows::predict(infers, self.preparation, self.values, rows, &self.context)
        };
        columns.map_err(|stop| self.stopped(&stop))
    }

    /// Reports why a computation ended early, and returns the exit status.
    fn stopped(&self, stop: &Stop) -> u8 {
        stopped(stop, &|found| self.display.show(found, &self.program.sources))
    }
}

/// Returns the compile options of the saved run. The error is the exit status.
fn options(arguments: &Predict, saved: &SavedRun, display: Display) -> Result<CompileOptions, u8> {
    let flags = Compile {
        set: saved.settings.clone(),
        data: saved.data.clone(),
        seed: saved.seed,
        precision: saved.precision.clone(),
        verify: false,
        without: saved.without.clone(),
        backend: bnnc_driver::backends::DEFAULT.to_owned(),
        // Only inferences that have run are compiled, because others may need data whose schema is
        // not in the run folder.
        only: saved.preparations.keys().cloned().collect(),
    };
    let mut options = session::options(&flags, display)?;
    options.jacobians = arguments.joint.is_some() || arguments.slopes.is_some();
    Ok(options)
}

/// Compiles the program of a saved run for the columns and levels that the data had at the time of
/// the run. The error is the exit status.
fn recompiled(
    arguments: &Predict,
    saved: &SavedRun,
    options: &CompileOptions,
    display: Display,
) -> Result<(CheckedProgram, Compiled), u8> {
    let program = program::load(&saved.program.display().to_string(), &saved.text, options);
    // Warnings are not shown again, because `bnnc run` has already shown them.
    if program.has_errors() {
        return Err(display.show(&program.diagnostics, &program.sources));
    }
    // The schemas come from the run folder, not from the current files. The draws in the run have
    // one parameter for each level and column that the data had at the time of the run.
    let schemas: HashMap<String, Schema> = saved.schemas.clone().into_iter().collect();
    let mut compiled = compile(&program, &schemas, options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    compiled
        .manifest
        .infers
        .iter_mut()
        .for_each(InferenceBlock::drop_unread);
    if library(&program) != saved.library || !saved.fingerprint.is_of_this_version() {
        display.show(&[diagnostics::other_library(&arguments.run)], &program.sources);
    }
    Ok((program, compiled))
}

/// Returns the columns that select positions along the given axes.
fn columns<'a>(infer: &'a InferenceBlock, axes: &[SelectedAxis]) -> Vec<&'a str> {
    let selects = |port: &String| axes.iter().any(|axis| axis.ports.contains(port));
    let of_axes = infer.bindings.iter().filter(|binding| selects(&binding.port));
    of_axes.filter_map(|binding| field(&binding.from)).collect()
}

/// Checks that output files do not overwrite the file of new rows or a file of the run.
///
/// # Errors
/// Fails if an output file would overwrite one of these files.
fn check_targets(arguments: &Predict) -> Result<(), Diagnostic> {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let is_source = |path: &&Path| {
        let is_data = |path: &PathBuf| {
            bnnc_data::file::matching(&arguments.data)
                .iter()
                .any(|file| whole(file).as_ref() == Some(path))
        };
        (path.is_file() && whole(path).as_ref().is_some_and(is_data)) || folder::holds(&arguments.run, path)
    };
    let targets = [&arguments.output, &arguments.joint, &arguments.slopes];
    let mut targets = targets.into_iter().flatten().map(PathBuf::as_path);
    targets
        .find(is_source)
        .map_or(Ok(()), |path| Err(diagnostics::replaces_its_source(path)))
}

/// If an input or output is bound to a single column, returns the name of this column.
fn field(source: &DataSource) -> Option<&str> {
    match source {
        DataSource::Field(name) => Some(name),
        DataSource::Inputs
        | DataSource::Input(_)
        | DataSource::Row
        | DataSource::Whole(_)
        | DataSource::Shared(_) => None,
    }
}

/// Returns the inference with this name or, without a name, the only inference of the run.
///
/// # Errors
/// Fails if the name is unknown, or if no name is given and the run has several inferences.
fn choose<'a>(
    saved: &[&'a InferenceBlock],
    name: Option<&str>,
) -> Result<&'a InferenceBlock, Box<Diagnostic>> {
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

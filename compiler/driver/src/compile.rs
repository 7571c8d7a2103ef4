//! Compiles a checked program to a manifest, given the schemas of its data. One function contains
//! all steps in order.

use crate::compare::{compares, inapplicable};
use crate::compilation::{Compilation, Timings};
use crate::failure::CompileFailure;
use crate::methods::iterates::taken::wrong_iterates;
use crate::methods::laplace::beforehand;
use crate::observed::unused_transforms;
use crate::options::CompileOptions;
use crate::program::CheckedProgram;
use crate::running::untaken_means;
use crate::{backends, diagnostics};
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{InferenceBlock, Manifest, OutputKind, Start, State};
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::fault::Fault;
use bnnc_hir::tree::{InferId, SettingValue};
use bnnc_rewrite::rule::Firing;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// A manifest, and further results of the compilation.
pub struct Compiled {
    /// The manifest for the runtime.
    pub manifest: Manifest,
    /// The time of each stage, for each inference.
    pub timings: Vec<(String, Timings)>,
    /// If `--trace-rewrites` is set, the rewrites that were applied in each inference.
    pub firings: Vec<(String, Vec<Firing>)>,
    /// Warnings about the program. They do not stop the compilation.
    pub warnings: Vec<Diagnostic>,
}

impl Compiled {
    /// Waits until every program has its machine code. [`compile`] returns earlier, because a run can start as soon as its
    /// first program is complete. Returns the name of each program, and the time at which this program and all programs before it were complete.
    ///
    /// # Errors
    /// Fails if machine code cannot be generated.
    pub fn wait(&mut self) -> Result<Vec<(String, Instant)>, Fault> {
        let programs = self.manifest.artifacts().into_iter();
        programs
            .map(|program| {
                program.code.ready()?;
                Ok((program.plan.name.to_string(), Instant::now()))
            })
            .collect()
    }
}

/// Returns the data items that the chosen inferences use.
///
/// # Errors
/// Fails if a name in `--only` or `--without` does not exist, or if the program does not contain an
/// inference block.
pub fn data(program: &CheckedProgram, options: &CompileOptions) -> Result<Vec<DataSpec>, Vec<Diagnostic>> {
    let chosen = chosen(program, options)?;
    let mut specs: Vec<DataSpec> = Vec::new();
    for id in chosen {
        let spec = &program.module.datas[program.module.infers[id].data].spec;
        if !specs.iter().any(|known| known.name == spec.name) {
            specs.push(spec.clone());
        }
    }
    Ok(specs)
}

/// Returns the inferences to run, in order. With `--only`, the named inferences and their
/// dependencies run. Without `--only`, all inferences run.
pub fn chosen(program: &CheckedProgram, options: &CompileOptions) -> Result<Vec<InferId>, Vec<Diagnostic>> {
    let module = &program.module;
    if module.infers.is_empty() {
        let text = "the program has no `infer` item, so there is nothing to run";
        let diagnostic = Diagnostic::of_program(&diagnostics::NO_INFERS, text);
        return Err(vec![
            diagnostic.help("`bnnc check` checks a program without running it"),
        ]);
    }
    let names: Vec<&str> = module.infers.iter().map(|infer| &*infer.name).collect();
    let unknown = options.only.iter().filter(|name| !names.contains(&name.as_str()));
    let mut diagnostics: Vec<Diagnostic> = unknown.map(|name| diagnostics::no_infer(name, &names)).collect();
    let rewrites: Vec<&str> = bnnc_rewrite::pipelines::switchable().collect();
    let unknown = options
        .without
        .iter()
        .filter(|name| !rewrites.contains(&name.as_str()));
    diagnostics.extend(unknown.map(|name| diagnostics::no_rewrite(name, &rewrites)));
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let mut wanted: HashSet<InferId> = module
        .infers
        .ids()
        .filter(|id| {
            options.only.is_empty() || options.only.iter().any(|name| **name == *module.infers[*id].name)
        })
        .collect();
    for id in module.infer_order.iter().rev() {
        if wanted.contains(id) {
            wanted.extend(needs(program, *id));
        }
    }
    Ok(module
        .infer_order
        .iter()
        .copied()
        .filter(|id| wanted.contains(id))
        .collect())
}

/// Returns the inference blocks on which an inference block depends. An inference may use the
/// results of another inference as its start, as its iterates, as the ranking of a subnetwork, or
/// as the values of fixed sites.
fn needs(program: &CheckedProgram, id: InferId) -> Vec<InferId> {
    let item = &program.module.infers[id];
    let mut needs: Vec<InferId> = item
        .options
        .iter()
        .filter_map(|setting| match setting.value {
            SettingValue::Infer(other) | SettingValue::Subnetwork(_, _, Some(other)) => Some(other),
            _ => None,
        })
        .collect();
    if let bnnc_hir::tree::InferenceTarget::Posterior(posterior) = item.target {
        let lines = program.module.posteriors[posterior].lines.iter();
        needs.extend(lines.filter_map(|line| match &line.value {
            bnnc_hir::tree::PosteriorValue::From(other, _) => Some(*other),
            bnnc_hir::tree::PosteriorValue::Family(..) => None,
        }));
    }
    needs
}

/// Compiles the chosen inferences. The machine code of their programs may still be incomplete, and is compiled in the background.
///
/// # Errors
/// Returns every diagnostic of the program, or the first error from a limit or a bug of the
/// compiler.
pub fn compile(
    program: &CheckedProgram,
    schemas: &HashMap<String, Schema>,
    options: &CompileOptions,
) -> Result<Compiled, CompileFailure> {
    let backend = backends::chosen(&options.backend)?;
    let chosen = chosen(program, options)?;
    let data = data(program, options)?;
    let mut compiled = Compiled {
        manifest: Manifest {
            program: program.source.name.to_string(),
            seed: options.seed,
            backend: backend.name().to_owned(),
            data,
            infers: Vec::new(),
            compares: compares(program, &chosen),
            schemas: HashMap::new(),
        },
        timings: Vec::new(),
        firings: Vec::new(),
        warnings: Vec::new(),
    };
    let mut diagnostics = Vec::new();
    for id in chosen {
        let mut compilation = Compilation::new(program, id, options);
        let name = compilation.item.name.to_string();
        let Some(schema) = schemas.get(&*program.module.datas[compilation.item.data].name) else {
            continue;
        };
        match compilation.compile(schema) {
            Ok(infer) => compiled.manifest.infers.push(infer),
            // Inferences with the same model have the same errors, so each error is kept only once.
            Err(CompileFailure::Program(found)) => {
                for error in found {
                    if !diagnostics.contains(&error) {
                        diagnostics.push(error);
                    }
                }
            }
            Err(failure) => return Err(failure),
        }
        // Inferences with the same model and data item have the same warnings. A warning with a
        // position in the program is therefore kept only once.
        for warning in compilation.warnings() {
            if warning.at == Place::Nowhere || !compiled.warnings.contains(&warning) {
                compiled.warnings.push(warning);
            }
        }
        compiled.timings.push((name.clone(), compilation.timings));
        compiled
            .firings
            .extend(compilation.context.trace.map(|firings| (name, firings)));
    }
    let infers = &compiled.manifest.infers;
    compiled.warnings.extend(useless_starts(program, infers));
    compiled.warnings.extend(useless_outliers(program, infers));
    compiled.warnings.extend(untaken_means(program, infers));
    diagnostics.extend(taken_shapes(program, infers));
    diagnostics.extend(wrong_iterates(program, schemas, infers));
    diagnostics.extend(beforehand::lacking(program, infers));
    diagnostics.extend(inapplicable(program, &compiled.manifest));
    if diagnostics.is_empty() {
        diagnostics.extend(unused_transforms(program, schemas));
    }
    diagnostics.dedup_by(|a, b| a == b && a.at != Place::Nowhere);
    if diagnostics.is_empty() {
        Ok(compiled)
    } else {
        Err(diagnostics.into())
    }
}

/// Warns about an inference that starts from another inference although they have no state in
/// common.
fn useless_starts(program: &CheckedProgram, infers: &[InferenceBlock]) -> Vec<Diagnostic> {
    let warning = |infer: &InferenceBlock| {
        let Some(Start::Infer(name)) = &infer.start else {
            return None;
        };
        let source = infers.iter().find(|other| other.name == *name)?;
        let is_given = |state: &State| {
            let mut given = source.states.iter();
            state.from.is_none() && given.any(|given| given.name == state.name && given.shape == state.shape)
        };
        let item = program.infer(&infer.name)?;
        (!infer.states.iter().any(is_given)).then(|| diagnostics::useless_start(item, name))
    };
    infers.iter().filter_map(warning).collect()
}

/// Warns about outliers in the data of an inference that does not predict classes. Outliers are
/// detected by the entropy of predicted classes.
fn useless_outliers(program: &CheckedProgram, infers: &[InferenceBlock]) -> Vec<Diagnostic> {
    let warning = |infer: &InferenceBlock| {
        let item = program.infer(&infer.name)?;
        let data = &program.module.datas[item.data];
        let mut outputs = infer.outputs.iter();
        let is_used = outputs.any(|output| match output.kind {
            OutputKind::Classes(_) | OutputKind::Bool => true,
            OutputKind::Real | OutputKind::Count => false,
        });
        (data.spec.outliers.is_some() && !is_used).then(|| diagnostics::useless_outliers(item, data))
    };
    infers.iter().filter_map(warning).collect()
}

/// Reports a parameter that is fixed to a parameter of another inference whose shape differs.
fn taken_shapes(program: &CheckedProgram, infers: &[InferenceBlock]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for infer in infers {
        // A running mean is not taken if its shape differs: see `untaken_means`.
        for state in infer.states.iter().filter(|state| !state.is_running_mean) {
            let Some((from, name)) = &state.from else { continue };
            let source = infers.iter().find(|other| other.name == *from);
            let taken = source.and_then(|other| other.states.iter().find(|state| state.name == *name));
            let Some(taken) = taken.filter(|taken| taken.shape != state.shape) else {
                continue;
            };
            let Some(item) = program.infer(&infer.name) else {
                continue;
            };
            let text = format!(
                "`{}` is {} here, but {} in `{from}`",
                state.name, state.shape, taken.shape
            );
            diagnostics.push(*bnnc_hir::diagnostics::elaborate::limit(item.span, text));
        }
    }
    diagnostics
}

//! Answers the questions of the explorer. A question requests the KL divergence between two
//! distributions of the library. A question becomes a small program, which passes through the same
//! stages of compilation as every other program. The explorer shows the results of these stages.
//! The caller runs the generated code.

pub mod answers;
pub mod chosen;
pub mod diagnostics;
pub mod drawing;
pub mod exact;
pub mod families;
mod http;
mod limits;
mod measure;
pub mod program;
mod quadrature;
pub mod server;

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::State;
use bnnc_abi::symbols::Address;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_driver::backends;
use bnnc_driver::infer::{Compilation, CompileFailure, ElaboratedInference};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::CheckedProgram;
use bnnc_loops::backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::divergence::Divergence;
use chosen::ChosenDistribution;
use diagnostics::ExploreError;
use drawing::Drawing;
use std::sync::Arc;

/// A question: the KL divergence from `posterior` to `prior`, for a number of independent weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The approximating family, with the values of its parameters.
    pub posterior: ChosenDistribution,
    /// The prior of each weight.
    pub prior: ChosenDistribution,
    /// The number of weights.
    pub weights: usize,
    /// The order of the Taylor series for terms that do not factorise. 0 disables the series.
    pub taylor: usize,
    /// The number of draws in one evaluation.
    pub draws: usize,
    /// The seed of all draws.
    pub seed: u64,
}

bnnc_base::named! {
    /// A way to compute a divergence. Each way corresponds to options of `vi`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Way {
        /// The way that the compiler chooses.
        Best = "best",
        /// The mean of the log density ratio over draws.
        Direct = "direct",
        /// The factorised Monte Carlo estimate. Its averages over noise are computed from draws of the
        /// noise.
        Sums = "sums",
        /// The factorised Monte Carlo estimate. An average over noise is drawn directly from its own
        /// distribution, if this is known.
        Law = "law",
    }
}

impl Way {
    /// Returns the `vi` options that choose this method.
    fn options(self) -> &'static str {
        match self {
            Way::Best => "kl = auto",
            Way::Direct => "kl = direct",
            Way::Sums => "kl = monte_carlo, statistics = sums",
            Way::Law => "kl = monte_carlo, statistics = law",
        }
    }
}

/// The results of the compiler's analysis of a divergence.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The text in which the report of a run would explain how the divergence is computed, and why.
    pub report: String,
    /// True if the computation uses draws.
    pub sampled: bool,
    /// The graph of the divergence alone.
    pub drawing: Drawing,
    /// The program that was compiled.
    pub program: String,
}

/// A compiled divergence.
pub struct CompiledDivergence {
    /// The compiler's analysis.
    pub examined: Examined,
    /// The code of the function `(states.., step) -> kl` in double precision. Further results of
    /// this function, `gradient/STATE`, are the derivatives of the divergence.
    pub artifact: Artifact,
    /// The states. They start at the chosen parameters.
    pub states: Vec<State>,
    /// The time for compiling the question's program to machine code, in seconds.
    pub seconds: f64,
}

/// A program and the results of its elaboration.
struct Prepared<'a> {
    compilation: Compilation<'a>,
    elaborated: ElaboratedInference,
    densities: Densities,
}

/// Analyses a question for one way of computing the divergence.
///
/// # Errors
/// Fails with the diagnostics of the question's program, for example if the divergence is infinite
/// or a family does not have a sampler.
pub fn examine(question: &Question, way: Way) -> Result<Examined, ExploreError> {
    let program = program::load(question, way)?;
    let options = program::options(question, &[]);
    let divergence = prepare(&program, &options).and_then(|mut prepared| prepared.divergence());
    let divergence = divergence.map_err(|failure| ExploreError::of_program(&failure, &program))?;
    Ok(examined(&divergence, &program))
}

/// Compiles a question. The code calls the array primitives of the runtime.
///
/// # Errors
/// Fails in the same cases as [`examine`].
pub fn compile(
    question: &Question,
    way: Way,
    symbols: &[Address],
) -> Result<CompiledDivergence, ExploreError> {
    let clock = std::time::Instant::now();
    let program = program::load(question, way)?;
    let options = program::options(question, symbols);
    let compiled = prepare(&program, &options).and_then(|mut prepared| {
        let divergence = prepared.divergence()?;
        let artifact = prepared.code(&divergence, symbols)?;
        Ok((divergence, artifact))
    });
    let (divergence, artifact) = compiled.map_err(|failure| ExploreError::of_program(&failure, &program))?;
    Ok(CompiledDivergence {
        examined: examined(&divergence, &program),
        artifact,
        states: divergence.states,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

fn examined(divergence: &Divergence, program: &CheckedProgram) -> Examined {
    let report = divergence.reports.first().map(|report| report.kl.clone());
    Examined {
        report: report.unwrap_or_default(),
        sampled: drawing::is_sampled(&divergence.value),
        drawing: drawing::draw(divergence),
        program: program.source.text.to_string(),
    }
}

fn prepare<'a>(
    program: &'a CheckedProgram,
    options: &'a CompileOptions,
) -> Result<Prepared<'a>, CompileFailure> {
    let Some(id) = program.module.infers.ids().next() else {
        return Err(Fault::Bug("the explorer's program has no inference".to_owned()).into());
    };
    let mut compilation = Compilation::new(program, id, options);
    let elaborated = compilation.elaborate(&program::schema())?;
    let densities = compilation.density(&elaborated.model)?;
    Ok(Prepared {
        compilation,
        elaborated,
        densities,
    })
}

impl Prepared<'_> {
    fn divergence(&mut self) -> Result<Divergence, CompileFailure> {
        self.compilation.divergence(&self.elaborated, &self.densities)
    }

    fn code(&mut self, divergence: &Divergence, symbols: &[Address]) -> Result<Artifact, CompileFailure> {
        // A derivative has the same name as its parameter, but the names of ports must differ, so a
        // prefix is added to the derivative.
        let mut function = divergence.gradient.clone();
        for (name, _) in function.results.iter_mut().skip(1) {
            *name = format!("gradient/{name}").into();
        }
        let loops = self
            .compilation
            .lower("divergence", &function, &[], Precision::F64)?;
        let Some(backend) = backends::ALL.first() else {
            return Err(Fault::Bug("there is no backend".to_owned()).into());
        };
        let options = backend::BackendOptions {
            symbols: symbols.to_vec(),
            ..backend::BackendOptions::default()
        };
        let code = backend.compile(&loops, &options)?;
        // The reported time includes the machine code.
        code.ready()?;
        Ok(Artifact {
            plan: Arc::new(loops.plan),
            code,
        })
    }
}

#[cfg(test)]
mod tests;

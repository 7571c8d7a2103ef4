//! The questions of the explorer: the divergence between two distributions of the library, answered by the compiler.
//!
//! A question becomes a small program; what is said about it comes from the stages that every program goes through. Running
//! the code is the caller's part.

pub mod answers;
pub mod chosen;
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
use bnnc_driver::infer::{Compilation, Elaborated, Failure};
use bnnc_driver::options::Options;
use bnnc_driver::program::Program;
use bnnc_driver::{backends, render};
use bnnc_loops::backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::divergence::Divergence;
use chosen::ChosenDistribution;
use drawing::Drawing;
use std::sync::Arc;

/// What is asked: the divergence from `posterior` to `prior`, for so many independent weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The family, with what its parameters are.
    pub posterior: ChosenDistribution,
    /// The prior.
    pub prior: ChosenDistribution,
    /// The number of weights.
    pub weights: usize,
    /// The order of the Taylor series of what does not separate; 0 takes none.
    pub taylor: usize,
    /// The draws of one evaluation.
    pub draws: usize,
    /// The seed of every draw.
    pub seed: u64,
}

/// A way to compute a divergence, as options of `vi` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What the compiler chooses by itself.
    Best,
    /// The plain mean over draws.
    Direct,
    /// The best estimate by draws, with the noise summed.
    Sums,
    /// The same with the sums drawn from their own law where it is known.
    Law,
}

impl Way {
    /// Every way.
    pub const ALL: [Way; 4] = [Way::Best, Way::Direct, Way::Sums, Way::Law];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Best => "best",
            Way::Direct => "direct",
            Way::Sums => "sums",
            Way::Law => "law",
        }
    }

    /// The way with this name.
    pub fn from_name(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }

    /// The options of `vi` that ask for it.
    fn options(self) -> &'static str {
        match self {
            Way::Best => "kl = auto",
            Way::Direct => "kl = direct",
            Way::Sums => "kl = monte_carlo, statistics = sums",
            Way::Law => "kl = monte_carlo, statistics = law",
        }
    }
}

/// A divergence as the compiler sees it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// How the divergence is computed and why, as reports of a run say it.
    pub report: String,
    /// Whether it takes draws.
    pub sampled: bool,
    /// The graph of the divergence alone.
    pub drawing: Drawing,
    /// The program that was compiled.
    pub program: String,
}

/// A divergence that can be run.
pub struct CompiledDivergence {
    /// What is known of it.
    pub examined: Examined,
    /// `(states.., step) -> kl`, and its derivatives as `gradient/STATE`, in double precision.
    pub artifact: Artifact,
    /// The states, with the parameters asked for as their starts.
    pub states: Vec<State>,
    /// Seconds from the text to machine code.
    pub seconds: f64,
}

/// A program with what its elaboration gives.
struct Prepared<'a> {
    compilation: Compilation<'a>,
    elaborated: Elaborated,
    densities: Densities,
}

/// What the compiler makes of a question.
///
/// # Errors
/// The diagnostics as text: an infinite divergence, a family without a sampler.
pub fn examine(question: &Question, way: Way) -> Result<Examined, String> {
    let program = program::load(question, way)?;
    let options = program::options(question, &[]);
    let divergence = prepare(&program, &options).and_then(|mut prepared| prepared.divergence());
    let divergence = divergence.map_err(|failure| told(&failure, &program))?;
    Ok(examined(&divergence, &program))
}

/// Compiles a question, with the array primitives of the runtime.
///
/// # Errors
/// As [`examine`].
pub fn compile(question: &Question, way: Way, symbols: &[Address]) -> Result<CompiledDivergence, String> {
    let clock = std::time::Instant::now();
    let program = program::load(question, way)?;
    let options = program::options(question, symbols);
    let compiled = prepare(&program, &options).and_then(|mut prepared| {
        let divergence = prepared.divergence()?;
        let artifact = prepared.code(&divergence, symbols)?;
        Ok((divergence, artifact))
    });
    let (divergence, artifact) = compiled.map_err(|failure| told(&failure, &program))?;
    Ok(CompiledDivergence {
        examined: examined(&divergence, &program),
        artifact,
        states: divergence.states,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

fn examined(divergence: &Divergence, program: &Program) -> Examined {
    let report = divergence.reports.first().map(|report| report.kl.clone());
    Examined {
        report: report.unwrap_or_default(),
        sampled: drawing::is_sampled(&divergence.value),
        drawing: drawing::draw(divergence),
        program: program.source.text.to_string(),
    }
}

fn prepare<'a>(program: &'a Program, options: &'a Options) -> Result<Prepared<'a>, Failure> {
    let Some(id) = program.module.infers.ids().next() else {
        return Err(Fault::Bug("the explorer's program has no infer".to_owned()).into());
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
    fn divergence(&mut self) -> Result<Divergence, Failure> {
        self.compilation.divergence(&self.elaborated, &self.densities)
    }

    fn code(&mut self, divergence: &Divergence, symbols: &[Address]) -> Result<Artifact, Failure> {
        // Results with the names of parameters would share their ports.
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
        let options = backend::Options {
            symbols: symbols.to_vec(),
            ..backend::Options::default()
        };
        let code = backend.compile(&loops, &options)?;
        Ok(Artifact {
            plan: Arc::new(loops.plan),
            code,
        })
    }
}

/// A failure as the command line shows it, without colours.
fn told(failure: &Failure, program: &Program) -> String {
    match failure {
        Failure::Program(diagnostics) => {
            let texts: Vec<String> = diagnostics
                .iter()
                .map(|diagnostic| render::text(diagnostic, &program.sources, false))
                .collect();
            texts.join("\n")
        }
        Failure::Fault(fault) => format!("error: {fault}"),
    }
}

#[cfg(test)]
mod tests;

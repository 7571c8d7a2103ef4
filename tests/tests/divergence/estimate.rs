//! Compiles the KL divergences of the pairs to functions, and builds machines that run these
//! functions.

use super::pairs::{self, Method, Pair};
use bnnc_abi::code::Artifact;
use bnnc_abi::schema::Schema;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::ports;
use bnnc_core::states::{StateValues, start};
use bnnc_driver::infer::{Compilation, CompileFailure, ElaboratedInference};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_driver::{backends, compile};
use bnnc_hir::tree::InferId;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::kl::{Estimator, Statistics};
use bnnc_rewrite::methods::divergence::{Divergence, divergence};
use bnnc_rewrite::methods::task::{RewriteError, TrainingSettings};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All pairs in one checked program.
pub struct Table {
    program: CheckedProgram,
    options: CompileOptions,
    schema: Schema,
    pairs: Vec<(Pair, Option<InferId>)>,
}

/// A pair of a family and a prior, with compiled densities.
pub struct Subject<'a> {
    pub pair: Pair,
    /// The order of the Taylor series that may replace a log density; 0 if no series is used.
    pub taylor: usize,
    compilation: Compilation<'a>,
    elaborated: ElaboratedInference,
    densities: Densities,
}

/// The permitted estimators of a KL divergence, and how it computes averages over noise.
pub type Way = (Estimator, Statistics);

/// The best estimator without a closed form. Averages over noise are computed from the draws of the
/// noise.
pub const SUMS: Way = (Estimator::Sampled, Statistics::Sums);
/// The best estimator without a closed form. An average over noise is drawn directly from its
/// distribution, if this distribution is known.
pub const LAW: Way = (Estimator::Sampled, Statistics::Law);
/// The estimator is the plain mean over draws.
pub const DIRECT: Way = (Estimator::Direct, Statistics::Sums);
/// The estimator is the closed form if it exists. Otherwise, it is the best estimator.
pub const BEST: Way = (Estimator::Best, Statistics::Law);

impl Table {
    /// Creates the table of all pairs whose distributions are in the library, as a checked program.
    pub fn new() -> Table {
        Table::of("", pairs::all())
    }

    /// Creates the table of the given pairs, as a checked program. The program begins with the
    /// items in `text`.
    pub fn of(text: &str, pairs: Vec<Pair>) -> Table {
        // The reference evaluator uses the random numbers of seed 0.
        let options = CompileOptions {
            seed: 0,
            symbols: bnnc_kernels::arrays::symbols(),
            precision: Some(Precision::F64),
            ..CompileOptions::default()
        };
        // Tests run concurrently, so each table has a separate file.
        static TABLES: AtomicUsize = AtomicUsize::new(0);
        let table = TABLES.fetch_add(1, Ordering::Relaxed);
        let name = format!("bnnc-divergence-{}-{table}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("the folder is made");
        std::fs::write(folder.join("rows.csv"), "x,y\n1,2\n2,3\n").expect("the file is written");
        let path = folder.join("pairs.bnn").display().to_string();
        let library = program::load(&path, text, &options).module;
        let has = |name: &str| library.dists.iter().any(|dist| &*dist.name == name);
        let mut text = format!("data rows = csv(\"rows.csv\") {{ target = y }}\n{text}\n");
        for (at, pair) in pairs.iter().enumerate() {
            if has(pair.family.name) && has(pair.prior.name) {
                text.push_str(&pair.program(at));
            }
        }
        let program = program::load(&path, &text, &options);
        assert!(
            !program.has_errors(),
            "{}",
            rendered(&program.diagnostics, &program)
        );
        let specs = compile::data(&program, &options).expect("the program has an infer");
        let schema = bnnc_data::schema(&specs[0]).expect("the file is there");
        let infer = |at: usize| {
            let name = format!("fit{at}");
            let module = &program.module;
            module.infers.ids().find(|id| *module.infers[*id].name == *name)
        };
        let pairs = pairs.into_iter().enumerate().map(|(at, pair)| (pair, infer(at)));
        Table {
            pairs: pairs.collect(),
            program,
            options,
            schema,
        }
    }

    /// Compiles every pair. The result for a pair is an error if the library does not have one of
    /// its distributions.
    pub fn subjects(&self) -> impl Iterator<Item = (Pair, Result<Subject<'_>, Rejection>)> {
        self.pairs.iter().map(|(pair, id)| {
            let subject = id
                .ok_or(Rejection {
                    code: "",
                    text: "the library lacks a distribution".to_owned(),
                })
                .and_then(|id| self.subject(*pair, id));
            (*pair, subject)
        })
    }

    fn subject(&self, pair: Pair, id: InferId) -> Result<Subject<'_>, Rejection> {
        let mut compilation = Compilation::new(&self.program, id, &self.options);
        let elaborated = compilation
            .elaborate(&self.schema)
            .map_err(|why| rejected(why, self))?;
        let densities = compilation
            .density(&elaborated.model)
            .map_err(|why| rejected(why, self))?;
        Ok(Subject {
            pair,
            taylor: 0,
            compilation,
            elaborated,
            densities,
        })
    }
}

/// The reason why the KL divergence of a pair cannot be compiled.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The code of the diagnostic. The code is empty if the reason is not a diagnostic.
    pub code: &'static str,
    pub text: String,
}

fn rejected(failure: CompileFailure, table: &Table) -> Rejection {
    match failure {
        CompileFailure::Program(diagnostics) => Rejection {
            code: diagnostics.first().map_or("", |diagnostic| diagnostic.code.id),
            text: rendered(&diagnostics, &table.program),
        },
        CompileFailure::Fault(fault) => Rejection {
            code: "",
            text: fault.to_string(),
        },
    }
}

fn rendered(diagnostics: &[bnnc_base::diagnostic::Diagnostic], program: &CheckedProgram) -> String {
    let one = |diagnostic| bnnc_driver::render::text(diagnostic, &program.sources, false);
    diagnostics.iter().map(one).collect()
}

impl Subject<'_> {
    /// Compiles the KL divergence with an estimator that uses this number of draws.
    pub fn divergence(
        &mut self,
        draws: usize,
        (estimator, statistics): Way,
    ) -> Result<Divergence, Rejection> {
        let settings = self.compilation.settings(&self.elaborated);
        let kl = bnnc_rewrite::kl::KlOptions {
            estimator,
            statistics,
            taylor: self.taylor,
        };
        let settings = TrainingSettings {
            kl_draws: draws,
            kl,
            ..settings
        };
        let context = &mut self.compilation.context;
        divergence(self.elaborated.problem(&self.densities), settings, context).map_err(|rejection| {
            match rejection {
                RewriteError::Program(diagnostics) => Rejection {
                    code: diagnostics.first().map_or("", |diagnostic| diagnostic.code.id),
                    text: diagnostics.iter().map(|found| found.message.clone()).collect(),
                },
                RewriteError::Fault(fault) => Rejection {
                    code: "",
                    text: fault.to_string(),
                },
            }
        })
    }

    /// Returns a machine that computes the KL divergence and its gradient.
    pub fn machine(&mut self, divergence: &Divergence, draws: usize, backend: &str) -> Estimate {
        let mut function = divergence.gradient.clone();
        for (name, _) in &mut function.results {
            *name = result_name(name).into();
        }
        let program = self
            .compilation
            .lower("divergence", &function, &[], Precision::F64);
        let program = program.unwrap_or_else(|fault| panic!("{}: {fault}", self.pair.label()));
        let backend = backends::lookup(backend).expect("the backend is built in");
        let options = backend::BackendOptions {
            symbols: bnnc_kernels::arrays::symbols(),
            ..backend::BackendOptions::default()
        };
        let code = backend.compile(&program, &options).expect("the program compiles");
        let artifact = Artifact {
            plan: Arc::new(program.plan),
            code,
        };
        let sizes = Sizes::default().with(Symbol::KlDraws, draws);
        let names = function.results.iter().map(|(name, _)| name.to_string());
        Estimate {
            names: names.collect(),
            machine: Machine::new(&artifact, sizes, Arc::new(Pool::new(1))).expect("there is memory"),
        }
    }
}

/// Returns a name for a result. The name differs from the names of states, because the results and
/// states of a program must have different names.
fn result_name(name: &str) -> String {
    format!("result {name}")
}

/// A program that computes a KL divergence and its gradient.
pub struct Estimate {
    names: Vec<String>,
    machine: Machine,
}

impl Estimate {
    /// Returns the results at one step, by name.
    pub fn at(&mut self, states: &StateValues, step: i32) -> StateValues {
        for (name, values) in states {
            ports::real(&mut self.machine, name, values).expect("the state has the port's shape");
        }
        ports::int(&mut self.machine, "$step", step).expect("the port is a scalar");
        self.machine.run().unwrap();
        let read = |name: &String| {
            let values = self.machine.read_real(name).expect("the result has a port");
            (name.trim_start_matches("result ").to_owned(), values)
        };
        self.names.iter().map(read).collect()
    }

    /// Returns the KL divergence at one step, without its gradient.
    pub fn value(&mut self, states: &StateValues, step: i32) -> f64 {
        self.at(states, step)["$kl"][0]
    }
}

/// Returns values for the states of a KL divergence. The values are the initial values of the
/// program, but the elements of states that move are changed so that they differ from each other.
pub fn states(divergence: &Divergence) -> StateValues {
    let mut states = start(&divergence.states, 1, &HashMap::new());
    let moves = |name: &str| divergence.gradient.result(name).is_some();
    for (name, values) in &mut states {
        if moves(name) {
            for (at, value) in values.iter_mut().enumerate() {
                *value += [0.0, -0.15, 0.2][at % 3];
            }
        }
    }
    states.retain(|name, _| {
        divergence
            .states
            .iter()
            .any(|state| state.name == *name && state.parameter)
    });
    states
}

/// Returns the values of all inputs of the function that computes a KL divergence.
pub fn inputs(states: &StateValues, step: i32) -> HashMap<String, Vec<f64>> {
    let mut inputs = states.clone();
    inputs.insert("$step".to_owned(), vec![f64::from(step)]);
    inputs
}

/// Returns the method that the report names.
pub fn method(divergence: &Divergence) -> Method {
    let sentence = &divergence.reports[0].kl;
    match sentence.split([':', ',', ' ']).next() {
        Some("exact") => Method::Exact,
        Some("tuple") => Method::Tuple,
        Some("signs") => Method::Signs,
        Some("taylor") => Method::Taylor,
        Some("direct" | "monte_carlo") => Method::Direct,
        _ => panic!("`{sentence}` names no method"),
    }
}

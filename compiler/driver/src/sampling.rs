//! Infers that sample: their programs, and the options that steer their chains.

use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use crate::training::Programs;
use bnnc_abi::cost::Cost;
use bnnc_abi::data::Schema;
use bnnc_abi::manifest::Work;
use bnnc_abi::method::declare::Given;
use bnnc_abi::sampling::{
    Adaptation, Column, LeaveOneOut, Metric, Penalty, Prepare, Report, Sampling, Steps, Store, Transition,
};
use bnnc_abi::steering::{Iterations, Refusal};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_graph::function::Value;
use bnnc_hir::tree::SettingValue;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::sample::{self, Sampled};
use std::sync::Arc;

/// The checker let a value pass that is not of the type of its option.
fn mismatched(option: &str) -> Fault {
    Fault::Bug(format!("the value of `{option}` is not of its type"))
}

/// Up to this dimension a dense metric costs little beside the gradient, is learnt in a warm-up of usual length, and gives as many
/// effective samples per gradient as a diagonal one, or many times more where there are correlations.
const SMALL: usize = 50;

impl Compilation<'_> {
    /// The functions that the infer's samplers ask.
    ///
    /// # Errors
    /// A site that cannot be sampled as its noise, a path without a derivative.
    pub fn sampled(&mut self, elaborated: &Elaborated, densities: &Densities) -> Result<Sampled, Failure> {
        let noncentred = self.names("noncentre");
        let (model, posterior) = (&elaborated.model, &elaborated.posterior);
        let result = self.timed("rewrite", |this| {
            sample::sampled(densities, model, posterior, noncentred, &mut this.context)
        });
        result.map_err(|refusal| self.failure(refusal))
    }

    /// The programs of an infer that samples.
    pub(crate) fn sampling_programs(
        &mut self,
        elaborated: &Elaborated,
        densities: &Densities,
        schema: &Schema,
        backend: &dyn Backend,
    ) -> Result<Programs, Failure> {
        let sampled = self.sampled(elaborated, densities)?;
        if sampled.dimension == 0 {
            return Err(Failure::Program(vec![codes::nothing_to_sample(
                self.item,
                elaborated.model.sites.is_empty(),
            )]));
        }
        self.reported(&sampled)?;
        let transition = self.transition(&sampled)?;
        self.fitting(&transition, schema.train)?;
        let precision = self.precision(backend);
        let prepare = self.prepare(&sampled, precision, backend)?;
        let alone = self.lower("density", &sampled.density, &[], precision)?;
        let rows = self.lower("rows", &sampled.rows, &[], precision)?;
        let sizes = Sizes::default()
            .with(Symbol::Batch, schema.train.max(1))
            .with(Symbol::Examples, schema.train);
        let step = bnnc_lower::cost::estimate(&alone);
        let (density, abreast) = match transition.reads_all() {
            true => self.abreast(&sampled, alone, step.at(&sizes).flops, precision)?,
            false => (alone, 1),
        };
        let cost = Cost {
            parameters: sampled.parameters,
            variational_parameters: sampled.dimension,
            gradient_nodes: sampled.gradient_nodes,
            step,
            ..Cost::default()
        };
        let sampling = Sampling {
            prepare,
            density: self.code(density, backend)?,
            abreast,
            rows: self.code(rows, backend)?,
            moved: sampled.moved.iter().map(|name| name.to_string()).collect(),
            noncentred: sampled.noncentred.clone(),
            jumps: sampled.jumps.iter().map(|name| name.to_string()).collect(),
            chains: self.int("chains").max(1),
            warmup: self.int("warmup"),
            draws: self.int("draws").max(1),
            thin: self.int("thin").max(1),
            transition,
            temperature: self.real("temperature").unwrap_or(1.0),
            jitter: self.real("jitter").unwrap_or(match self.setting("start") {
                Some(_) => 0.0,
                None => 2.0,
            }),
            store: match self.word("store") {
                Some("disk") => Store::Disk,
                _ => Store::Memory,
            },
            leave_one_out: match self.word("loo") {
                Some("always") => LeaveOneOut::Always,
                Some("never") => LeaveOneOut::Never,
                _ => LeaveOneOut::Automatic,
            },
            report: match self.names("report") {
                [] => Report::Automatic,
                names => Report::Sites(names.iter().map(|name| name.to_string()).collect()),
            },
        };
        Ok(Programs {
            work: Work::Sample(Box::new(sampling)),
            predict: sampled.predict,
            sites: sampled.sites,
            states: sampled.states,
            reports: sampled.reports,
            cost,
        })
    }

    /// The program of what is computed once.
    fn prepare(
        &mut self,
        sampled: &Sampled,
        precision: Precision,
        backend: &dyn Backend,
    ) -> Result<Option<Prepare>, Fault> {
        let Some(function) = &sampled.prepare else {
            return Ok(None);
        };
        let column = |(name, value): &(Arc<str>, Value)| {
            let shape = &function.ty(*value).shape;
            Column {
                name: name.to_string(),
                width: shape.count(&Sizes::default()),
                of_row: shape.dims().first() == Some(&Dim::Symbol(Symbol::Batch)),
            }
        };
        let columns = function.results.iter().map(column).collect();
        let program = self.lower("prepare", function, &[], precision)?;
        Ok(Some(Prepare {
            program: self.code(program, backend)?,
            columns,
        }))
    }

    /// What the infer is asked to report exists.
    fn reported(&self, sampled: &Sampled) -> Result<(), Failure> {
        let names: Vec<&str> = sampled.reports.iter().map(|site| &*site.name).collect();
        let unknown = self
            .names("report")
            .iter()
            .find(|name| !names.contains(&&***name));
        match unknown {
            Some(name) => Err(Failure::Program(vec![codes::no_quantity(
                self.item, name, &names,
            )])),
            None => Ok(()),
        }
    }

    /// The options go together.
    fn fitting(&self, transition: &Transition, rows: usize) -> Result<(), Failure> {
        let iterations = Iterations {
            warmup: self.int("warmup"),
            draws: self.int("draws").max(1),
            thin: self.int("thin").max(1),
        };
        let checked = transition.check(rows, iterations);
        checked.map_err(|refusal| self.refused(&refusal))
    }

    /// The transition of a chain.
    fn transition(&self, sampled: &Sampled) -> Result<Transition, Failure> {
        let batch = self.int("batch");
        Ok(match self.item.method.name {
            "nuts" => Transition::Nuts {
                max_depth: self.int("max_depth"),
                adaptation: self.adaptation(sampled),
            },
            "hmc" => Transition::Hmc {
                steps: self.int("steps"),
                adaptation: self.adaptation(sampled),
            },
            "mala" => Transition::Mala {
                adaptation: self.adaptation(sampled),
            },
            "random_walk" => Transition::RandomWalk {
                adaptation: self.adaptation(sampled),
            },
            "sgld" => Transition::Sgld {
                batch,
                step_size: self.real("step_size").unwrap_or(1e-5),
                schedule: self.steps()?,
            },
            "sghmc" => Transition::Sghmc {
                batch,
                step_size: self.real("step_size").unwrap_or(1e-5),
                friction: self.real("friction").unwrap_or(0.1),
                schedule: self.steps()?,
            },
            "penalty" => Transition::Penalty(Penalty::read(|name| self.given(name)).map_err(mismatched)?),
            other => return Err(Failure::Fault(Fault::Bug(format!("no transition `{other}`")))),
        })
    }

    fn adaptation(&self, sampled: &Sampled) -> Adaptation {
        // The posterior of a network has many modes, and a matrix learnt in one misleads in the others.
        let in_layers = sampled.moved.iter().any(|state| state.contains('.'));
        let trajectories = matches!(self.item.method.name, "nuts" | "hmc");
        Adaptation {
            step_size: self.real("step_size"),
            target_acceptance: self.real("target_acceptance").unwrap_or(0.8),
            metric: match self.word("metric") {
                Some("diagonal") => Metric::Diagonal,
                Some("dense") => Metric::Dense,
                Some("unit") => Metric::Unit,
                Some("windowed") => Metric::Windowed,
                Some("windowed_dense") => Metric::WindowedDense,
                _ if trajectories && !in_layers && sampled.dimension <= SMALL => Metric::Dense,
                _ => Metric::Diagonal,
            },
        }
    }

    /// The value of an option as declarations read it.
    fn given(&self, name: &str) -> Option<Given<'_>> {
        Some(match self.setting(name)? {
            SettingValue::Int(value) => Given::Int(*value),
            SettingValue::Real(value) => Given::Real(*value),
            SettingValue::Bool(value) => Given::Bool(*value),
            SettingValue::Word(word) => Given::Call(word, &[]),
            SettingValue::Call(name, numbers) => Given::Call(name, numbers),
            _ => return None,
        })
    }

    fn steps(&self) -> Result<Steps, Failure> {
        Ok(match self.call("schedule") {
            ("polynomial", [b, gamma]) => Steps::Polynomial { b: *b, gamma: *gamma },
            ("cyclical", [cycles, _]) if cycles.fract() != 0.0 => {
                let text = format!("the cycles of `cyclical` must be a whole number, found {cycles}");
                return Err(self.apart("schedule", &text, "such as `cyclical(4, 0.5)`"));
            }
            ("cyclical", [cycles, exploration]) => Steps::Cyclical {
                cycles: *cycles as usize,
                exploration: *exploration,
            },
            _ => Steps::Constant,
        })
    }

    /// A real option, or its default where it has one.
    pub(crate) fn real(&self, name: &str) -> Option<f64> {
        match self.setting(name) {
            Some(SettingValue::Real(value)) => Some(*value),
            Some(SettingValue::Int(value)) => Some(*value as f64),
            _ => self.default(name).parse().ok(),
        }
    }

    /// Options that cannot run together; `option` is the one to point at.
    pub(crate) fn apart(&self, option: &str, message: &str, help: &str) -> Failure {
        Failure::Program(vec![codes::options_apart(self.item, option, message, help)])
    }

    /// As [`Compilation::apart`].
    pub(crate) fn refused(&self, refusal: &Refusal) -> Failure {
        self.apart(refusal.option, &refusal.message, &refusal.help)
    }

    /// The word and the numbers of an option such as `step(0.5, 0.1)`.
    pub(crate) fn call(&self, name: &str) -> (&str, &[f64]) {
        match self.setting(name) {
            Some(SettingValue::Call(name, args)) => (name, args),
            Some(SettingValue::Word(name)) => (name, &[]),
            _ => ("", &[]),
        }
    }
}

impl<'a> Compilation<'a> {
    /// The names that an option lists.
    pub(crate) fn names(&self, name: &str) -> &'a [Arc<str>] {
        match self.setting(name) {
            Some(SettingValue::Names(names)) => names,
            _ => &[],
        }
    }

    /// The word that an option is set to.
    pub(crate) fn word(&self, name: &str) -> Option<&'a str> {
        match self.setting(name) {
            Some(SettingValue::Word(word)) => Some(word),
            _ => None,
        }
    }
}

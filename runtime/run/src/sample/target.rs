//! The compiled model as what a sampler asks.

use crate::cost;
use crate::feed::{Feed, Wanted};
use crate::ports;
use crate::states::Values;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{Infer, State};
use bnnc_abi::sampling::{Penalty, Sampling, Transition};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_kernels::ports::Port;
use bnnc_mcmc::seam::Target;
use std::ops::Range;
use std::sync::Arc;

/// Where the states that move lie in a position.
#[derive(Clone, Debug)]
pub struct Layout {
    /// State and coordinates, in order.
    pub slots: Vec<(String, Range<usize>)>,
    /// Coordinates in all.
    pub dimension: usize,
}

impl Layout {
    /// The layout of an infer's positions.
    pub fn new(infer: &Infer, sampling: &Sampling) -> Layout {
        let mut slots = Vec::new();
        let mut dimension = 0;
        for name in &sampling.moved {
            let state = infer.states.iter().find(|state| state.name == *name);
            let count = state.map_or(0, |state| state.shape.count(&Sizes::default()));
            slots.push((name.clone(), dimension..dimension + count));
            dimension += count;
        }
        Layout { slots, dimension }
    }

    /// The position that values of states make.
    pub fn position(&self, values: &Values) -> Vec<f64> {
        let mut position = vec![0.0; self.dimension];
        for (name, range) in &self.slots {
            if let Some(values) = values.get(name).filter(|values| values.len() == range.len()) {
                position[range.clone()].copy_from_slice(values);
            }
        }
        position
    }

    /// Whether a state is part of a position.
    pub fn moves(&self, state: &State) -> bool {
        self.slots.iter().any(|(name, _)| *name == state.name)
    }
}

/// How many rows the programs are asked about at once.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    gradient: usize,
    differences: usize,
}

impl Capacity {
    fn of(transition: &Transition, rows: usize) -> Capacity {
        let batch = |batch: usize| if batch == 0 { rows } else { batch.min(rows) };
        match transition {
            Transition::Nuts { .. }
            | Transition::Hmc { .. }
            | Transition::Mala { .. }
            | Transition::RandomWalk { .. } => Capacity {
                gradient: rows,
                differences: 0,
            },
            Transition::Sgld { batch: of, .. } | Transition::Sghmc { batch: of, .. } => Capacity {
                gradient: batch(*of),
                differences: 0,
            },
            Transition::Penalty(penalty) => Capacity::of_penalty(penalty, rows),
        }
    }

    fn of_penalty(penalty: &Penalty, rows: usize) -> Capacity {
        let batch = |batch: usize| if batch == 0 { rows } else { batch.min(rows) };
        let gradient = match penalty.gradient_batch {
            0 => penalty.batch,
            given => given,
        };
        let all = penalty.batch == 0 || penalty.batch >= rows;
        Capacity {
            gradient: batch(gradient),
            // One more batch than its variance is estimated from, where the difference has one of its own.
            differences: if all {
                rows
            } else {
                batch(penalty.batch) * (penalty.batches + 1)
            },
        }
    }
}

/// What all chains read.
pub struct Shared<'a> {
    infer: &'a Infer,
    sampling: &'a Sampling,
    /// Where states lie in a position.
    pub layout: Layout,
    density: Feed,
    rows: Feed,
    capacity: Capacity,
    start: &'a Values,
    /// The number of rows.
    pub count: usize,
}

impl<'a> Shared<'a> {
    /// Prepares the training rows of a dataset.
    ///
    /// # Errors
    /// Columns that do not fit.
    pub fn new(
        infer: &'a Infer,
        sampling: &'a Sampling,
        dataset: &Dataset,
        start: &'a Values,
    ) -> Result<Shared<'a>, Diagnostic> {
        let density = feed(infer, &sampling.density, &dataset.train, dataset)?;
        let count = density.rows;
        let capacity = Capacity::of(&sampling.transition, count);
        let rows = match capacity.differences {
            0 => density.without_rows(),
            _ => feed(infer, &sampling.rows, &dataset.train, dataset)?,
        };
        Ok(Shared {
            infer,
            sampling,
            layout: Layout::new(infer, sampling),
            density,
            rows,
            capacity,
            start,
            count,
        })
    }

    /// A machine with the shared inputs and the states that stay.
    fn machine(
        &self,
        artifact: &Artifact,
        feed: &Feed,
        rows: usize,
        pool: &Arc<Pool>,
    ) -> Result<Machine, Fault> {
        let sizes = self.sizes(rows);
        let mut machine = Machine::new(artifact, sizes, pool.clone())?;
        feed.write_shared(&mut machine)?;
        for state in self.infer.states.iter().filter(|state| !self.layout.moves(state)) {
            if let Some(values) = self.start.get(&state.name) {
                ports::real(&mut machine, &state.name, values)?;
            }
        }
        Ok(machine)
    }

    fn sizes(&self, rows: usize) -> Sizes {
        Sizes::default()
            .with(Symbol::Batch, rows.max(1))
            .with(Symbol::Examples, self.count)
    }
}

fn feed(infer: &Infer, artifact: &Artifact, rows: &Rows, dataset: &Dataset) -> Result<Feed, Diagnostic> {
    let plan = &artifact.plan;
    let storage = |name: &str| plan.port(name).map(|id| plan.buffers[id].storage);
    let wanted = Wanted {
        bindings: &infer.bindings,
        output: &infer.output,
        precision: plan.precision,
        storage: &storage,
    };
    Feed::new(rows, dataset, &wanted, true)
}

/// The bytes of the machines of one chain, and of the rows that they read.
pub fn bytes(infer: &Infer, sampling: &Sampling, rows: usize) -> (u64, u64) {
    let capacity = Capacity::of(&sampling.transition, rows);
    let sizes = |count: usize| {
        Sizes::default()
            .with(Symbol::Batch, count.max(1))
            .with(Symbol::Examples, rows)
    };
    let density = cost::machine(&sampling.density, &sizes(capacity.gradient));
    let read = cost::feed(infer, rows);
    match capacity.differences {
        0 => (density, read),
        count => (density + cost::machine(&sampling.rows, &sizes(count)), 2 * read),
    }
}

/// A state's place in a position, with its ports: none where the program does not depend on it.
struct Slot {
    range: Range<usize>,
    state: Option<Port>,
    gradient: Option<Port>,
}

/// A machine with the ports that every answer uses.
struct Program {
    machine: Machine,
    slots: Vec<Slot>,
    scale: Option<Port>,
    /// The number that it computes.
    value: Port,
}

impl Program {
    fn new(machine: Machine, layout: &Layout, value: &str) -> Result<Program, Fault> {
        let slot = |(name, range): &(String, Range<usize>)| Slot {
            range: range.clone(),
            state: machine.find(name),
            gradient: machine.find(&format!("{name}/gradient")),
        };
        let missing = || Fault::Bug(format!("a program without `{value}`"));
        Ok(Program {
            slots: layout.slots.iter().map(slot).collect(),
            scale: machine.find("scale"),
            value: machine.find(value).ok_or_else(missing)?,
            machine,
        })
    }

    /// Runs at a position.
    fn run(&mut self, at: &[f64], scale: f64) -> Result<f64, Fault> {
        for slot in &self.slots {
            if let Some(port) = slot.state {
                self.machine.put(port, &at[slot.range.clone()])?;
            }
        }
        if let Some(port) = self.scale {
            self.machine.put(port, &[scale])?;
        }
        self.machine.run();
        let mut value = [0.0];
        self.machine.take(self.value, &mut value)?;
        Ok(value[0])
    }

    fn gradient(&self, gradient: &mut [f64]) -> Result<(), Fault> {
        for slot in &self.slots {
            if let Some(port) = slot.gradient {
                self.machine.take(port, &mut gradient[slot.range.clone()])?;
            }
        }
        Ok(())
    }
}

/// The machines that answer one chain at a time.
pub struct Model<'a> {
    shared: &'a Shared<'a>,
    density: Program,
    rows: Option<Program>,
    /// Whether the rows in `density` are all rows, in order.
    holds_all: bool,
    all: Vec<u32>,
    before: Vec<f64>,
    after: Vec<f64>,
    /// The first bug, if there was one: the seam has no place for it.
    fault: Option<Fault>,
}

impl<'a> Model<'a> {
    /// Machines on a pool.
    ///
    /// # Errors
    /// A limit of the machine.
    pub fn new(shared: &'a Shared<'a>, pool: &Arc<Pool>) -> Result<Model<'a>, Fault> {
        let Capacity {
            gradient,
            differences,
        } = shared.capacity;
        let density = shared.machine(&shared.sampling.density, &shared.density, gradient, pool)?;
        let rows = match differences {
            0 => None,
            rows => {
                let machine = shared.machine(&shared.sampling.rows, &shared.rows, rows, pool)?;
                Some(Program::new(machine, &shared.layout, "log_prior")?)
            }
        };
        Ok(Model {
            density: Program::new(density, &shared.layout, "log_density")?,
            shared,
            rows,
            holds_all: false,
            all: (0..shared.count as u32).collect(),
            before: vec![0.0; differences],
            after: vec![0.0; differences],
            fault: None,
        })
    }

    /// The log density at a position, from all rows or as many as fit at once; writes its gradient.
    ///
    /// # Errors
    /// A bug of the machine.
    pub fn density_at(&mut self, at: &[f64], gradient: &mut [f64]) -> Result<f64, Fault> {
        let capacity = self.shared.capacity.gradient;
        let some = self.all[..capacity.min(self.all.len())].to_vec();
        let rows = (some.len() < self.all.len()).then_some(&*some);
        let value = self.gradient(at, rows, 1.0, gradient);
        self.check()?;
        Ok(value)
    }

    /// The bug that made answers wrong, if there was one.
    ///
    /// # Errors
    /// That bug.
    pub fn check(&mut self) -> Result<(), Fault> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn run_density(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> Result<f64, Fault> {
        let machine = &mut self.density.machine;
        match rows {
            None if self.holds_all => {}
            None => {
                machine.set_sizes(&self.shared.sizes(self.all.len()))?;
                self.shared.density.write(machine, &self.all)?;
                self.holds_all = true;
            }
            Some(rows) => {
                machine.set_sizes(&self.shared.sizes(rows.len()))?;
                self.shared.density.write(machine, rows)?;
                self.holds_all = false;
            }
        }
        self.density.run(at, scale)
    }

    /// Writes the log likelihood of each of `rows` at a position and returns `log prior + log Jacobian`.
    fn run_rows(&mut self, at: &[f64], is_after: bool, count: usize) -> Result<f64, Fault> {
        let Some(program) = self.rows.as_mut() else {
            return Err(Fault::Bug(
                "a sampler asks for differences that it has not announced".to_owned(),
            ));
        };
        let prior = program.run(at, 1.0)?;
        let terms = if is_after {
            &mut self.after
        } else {
            &mut self.before
        };
        program.machine.read_into("log_likelihood", &mut terms[..count])?;
        Ok(prior)
    }

    fn try_differences(
        &mut self,
        (from, to): (&[f64], &[f64]),
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> Result<f64, Fault> {
        if let Some(Program { machine, .. }) = self.rows.as_mut() {
            machine.set_sizes(&self.shared.sizes(rows.len()))?;
            self.shared.rows.write(machine, rows)?;
        }
        let before = self.run_rows(from, false, rows.len())?;
        let after = self.run_rows(to, true, rows.len())?;
        let mut start = 0;
        for (sum, end) in sums.iter_mut().zip(ends) {
            let (before, after) = (&self.before[start..*end], &self.after[start..*end]);
            *sum = before
                .iter()
                .zip(after)
                .map(|(before, after)| after - before)
                .sum();
            start = *end;
        }
        Ok(after - before)
    }

    fn noted(&mut self, result: Result<f64, Fault>) -> f64 {
        result.unwrap_or_else(|fault| {
            self.fault.get_or_insert(fault);
            f64::NAN
        })
    }
}

impl Target for Model<'_> {
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64 {
        let value = self.run_density(at, rows, scale);
        let value = value.and_then(|value| self.density.gradient(gradient).map(|()| value));
        self.noted(value)
    }

    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64 {
        let value = self.run_density(at, rows, scale);
        self.noted(value)
    }

    fn differences(
        &mut self,
        from: &[f64],
        to: &[f64],
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> f64 {
        let value = self.try_differences((from, to), rows, ends, sums);
        self.noted(value)
    }
}

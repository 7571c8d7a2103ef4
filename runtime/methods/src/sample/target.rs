//! The log density of the compiled model, in the form that samplers evaluate.

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::sampling::{EvaluationRows, Prepare, Sampling};
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_core::feed::Feed;
use bnnc_core::states::StateValues;
use bnnc_core::{memory, ports};
use bnnc_data::{Dataset, Rows};
use bnnc_inference::chains::StateLayout;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_kernels::ports::Port;
use std::ops::Range;
use std::sync::Arc;

/// The data that all chains read.
pub struct Shared<'a> {
    infer: &'a InferenceBlock,
    sampling: &'a Sampling,
    /// The ranges of the states within a position.
    pub layout: StateLayout,
    density: Feed,
    rows: Feed,
    evaluation: EvaluationRows,
    start: &'a StateValues,
    /// The number of training rows.
    pub count: usize,
}

impl<'a> Shared<'a> {
    /// Prepares the training rows of a data set.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(
        infer: &'a InferenceBlock,
        sampling: &'a Sampling,
        dataset: &Dataset,
        start: &'a StateValues,
        pool: &Arc<Pool>,
    ) -> Result<Shared<'a>, Stop> {
        let once = prepare(infer, sampling, dataset, start, pool)?;
        let feed = |program: &Artifact| feed(infer, program, &dataset.train, dataset);
        let mut density = feed(&sampling.density)?;
        let count = density.rows;
        let evaluation = sampling.transition.part().evaluation(count);
        let rows = match evaluation.differences {
            0 => density.without_rows(),
            _ => {
                let mut rows = feed(&sampling.rows)?;
                once.iter().for_each(|once| rows.join(once.clone()));
                rows
            }
        };
        once.into_iter().for_each(|once| density.join(once));
        Ok(Shared {
            infer,
            sampling,
            layout: StateLayout::new(infer, sampling),
            density,
            rows,
            evaluation,
            start,
            count,
        })
    }

    /// Returns a machine that holds the shared inputs and the states that are not sampled.
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
        self.sampling.sizes(rows, self.count)
    }
}

fn feed(
    infer: &InferenceBlock,
    artifact: &Artifact,
    rows: &Rows,
    dataset: &Dataset,
) -> Result<Feed, Diagnostic> {
    let plan = &artifact.plan;
    Feed::of_plan((infer, plan), rows, dataset, true)
}

/// The number of rows that one call of the program that prepares values reads.
const ROWS: usize = 256;

/// Computes, for all training rows, the values that do not depend on the position. The result has
/// the form that the programs of a sampler read as ports.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn prepare(
    infer: &InferenceBlock,
    sampling: &Sampling,
    dataset: &Dataset,
    start: &StateValues,
    pool: &Arc<Pool>,
) -> Result<Option<Feed>, Stop> {
    let Some(Prepare { program, columns }) = &sampling.prepare else {
        return Ok(None);
    };
    let data = feed(infer, program, &dataset.train, dataset)?;
    let sizes = |rows: usize| sampling.sizes(rows, data.rows);
    let mut machine = Machine::new(program, sizes(ROWS.min(data.rows)), pool.clone())?;
    data.write_shared(&mut machine)?;
    for (name, values) in start {
        ports::real(&mut machine, name, values)?;
    }
    let mut found = Feed::of_columns(columns, data.rows, program.plan.precision);
    let all: Vec<u32> = (0..data.rows as u32).collect();
    for rows in all.chunks(ROWS) {
        machine.set_sizes(&sizes(rows.len()))?;
        data.write(&mut machine, rows)?;
        machine.run()?;
        found.append(&machine, rows.len())?;
    }
    Ok(Some(found))
}

/// Returns the larger of two numbers of bytes: the bytes for the machines and rows of one chain,
/// and the bytes for the preparation.
pub fn bytes(infer: &InferenceBlock, sampling: &Sampling, rows: usize) -> u64 {
    let evaluation = sampling.transition.part().evaluation(rows);
    let sizes = |count: usize| sampling.sizes(count, rows);
    let columns = sampling.prepare.iter().flat_map(|prepare| &prepare.columns);
    let elements = columns.map(|column| column.width * if column.of_row { rows } else { 1 });
    let kept = (elements.sum::<usize>() * sampling.density.plan.precision.bytes()) as u64;
    let asked = |program: &Artifact, count: usize| match count {
        0 => 0,
        count => memory::machine(program, &sizes(count)) + memory::feed(infer, program, rows) + kept,
    };
    let before = sampling.prepare.as_ref().map_or(0, |Prepare { program, .. }| {
        let machine = memory::machine(program, &sizes(ROWS.min(rows)));
        machine + memory::feed(infer, program, rows) + kept + 4 * rows as u64
    });
    before.max(asked(&sampling.density, evaluation.gradient) + asked(&sampling.rows, evaluation.differences))
}

/// The range of a state within a position, and the ports of the state. A port is `None` if the
/// program does not depend on the state.
struct Slot {
    range: Range<usize>,
    state: Option<Port>,
    gradient: Option<Port>,
}

/// A machine, and the ports that every evaluation uses. If one run evaluates several positions,
/// each position has its own place in the ports.
struct Program {
    machine: Machine,
    slots: Vec<Slot>,
    scale: Option<Port>,
    /// The port with the scalar result of the program.
    value: Port,
    /// All ports that are read after a call.
    read: Vec<Port>,
}

impl Program {
    fn new(machine: Machine, layout: &StateLayout, value: &str) -> Result<Program, Fault> {
        let slot = |(name, range): &(String, Range<usize>)| Slot {
            range: range.clone(),
            state: machine.find(name),
            gradient: machine.find(&PortName::Gradient.of(name)),
        };
        let slots: Vec<Slot> = layout.slots.iter().map(slot).collect();
        let missing = || Fault::Bug(format!("a program without `{value}`"));
        let value = machine.find(value).ok_or_else(missing)?;
        let gradients = slots.iter().filter_map(|slot| slot.gradient);
        let read = gradients
            .chain([value])
            .chain(machine.find(PortName::LogLikelihood.text()))
            .collect();
        Ok(Program {
            read,
            scale: machine.find(PortName::Scale.text()),
            value,
            slots,
            machine,
        })
    }

    /// Writes a position to its place.
    fn put(&mut self, place: usize, at: &[f64]) -> Result<(), Fault> {
        for slot in &self.slots {
            if let Some(port) = slot.state {
                let values = &at[slot.range.clone()];
                self.machine.put_part(port, place * values.len(), values)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, scale: f64) -> Result<(), Fault> {
        if let Some(port) = self.scale {
            self.machine.put(port, &[scale])?;
        }
        self.machine.run_for(&self.read)
    }

    fn value(&self, place: usize) -> Result<f64, Fault> {
        let mut value = [0.0];
        self.machine.take_part(self.value, place, &mut value)?;
        Ok(value[0])
    }

    fn gradient(&self, place: usize, gradient: &mut [f64]) -> Result<(), Fault> {
        for slot in &self.slots {
            if let Some(port) = slot.gradient {
                let slopes = &mut gradient[slot.range.clone()];
                self.machine.take_part(port, place * slopes.len(), slopes)?;
            }
        }
        Ok(())
    }
}

/// The machines that evaluate the log densities of the chains on one thread.
pub struct DensityMachines<'a> {
    shared: &'a Shared<'a>,
    density: Program,
    rows: Option<Program>,
    /// True if the rows in `density` are all rows, in order.
    holds_all: bool,
    all: Vec<u32>,
    before: Vec<f64>,
    after: Vec<f64>,
    /// In the next run, the log likelihood of the rows is multiplied by this factor.
    scale: f64,
}

impl<'a> DensityMachines<'a> {
    /// Prepares the machines of one thread. The machines run on the threads of a pool.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(shared: &'a Shared<'a>, pool: &Arc<Pool>) -> Result<DensityMachines<'a>, Fault> {
        let EvaluationRows {
            gradient,
            differences,
        } = shared.evaluation;
        let density = shared.machine(&shared.sampling.density, &shared.density, gradient, pool)?;
        let rows = match differences {
            0 => None,
            rows => {
                let machine = shared.machine(&shared.sampling.rows, &shared.rows, rows, pool)?;
                Some(Program::new(machine, &shared.layout, PortName::LogPrior.text())?)
            }
        };
        let mut density = Program::new(density, &shared.layout, PortName::LogDensity.text())?;
        if !shared.sampling.transition.part().takes_gradients() {
            // A random walk needs the gradient only at its start.
            density.read = vec![density.value];
        }
        Ok(DensityMachines {
            density,
            shared,
            rows,
            holds_all: false,
            all: (0..shared.count as u32).collect(),
            before: vec![0.0; differences],
            after: vec![0.0; differences],
            scale: 1.0,
        })
    }

    /// Returns the log density at a position, and writes its gradient. The density and its gradient
    /// are computed from all rows. If one call cannot take all rows, it takes as many as possible.
    /// If one run evaluates several positions, all of them are set to this position.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn density_at(&mut self, at: &[f64], gradient: &mut [f64]) -> Result<f64, Fault> {
        let evaluation = self.shared.evaluation.gradient;
        let some = self.all[..evaluation.min(self.all.len())].to_vec();
        let rows = (some.len() < self.all.len()).then_some(&*some);
        for place in 0..self.shared.sampling.lanes {
            self.ask(place, at, rows, 1.0)?;
        }
        self.run()?;
        self.gradient(0, gradient)
    }

    /// Writes the position of a chain to the place of this chain in the next call of the program. `rows` and
    /// `scale` have the same meaning as in `bnnc_mcmc::seam::SamplerRequest`. `rows` and `scale`
    /// are the same for all chains that share a call.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn ask(&mut self, place: usize, at: &[f64], rows: Option<&[u32]>, scale: f64) -> Result<(), Fault> {
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
        self.scale = scale;
        self.density.put(place, at)
    }

    /// Computes the log density at all places.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn run(&mut self) -> Result<(), Fault> {
        self.density.run(self.scale)
    }

    /// Returns the log density at a place.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn value(&self, place: usize) -> Result<f64, Fault> {
        self.density.value(place)
    }

    /// Returns the log density at a place, and writes its gradient.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn gradient(&self, place: usize, gradient: &mut [f64]) -> Result<f64, Fault> {
        self.density.gradient(place, gradient)?;
        self.density.value(place)
    }

    /// Writes the log likelihood of each row at a position. Returns `log prior + log Jacobian`.
    fn run_rows(&mut self, at: &[f64], is_after: bool, count: usize) -> Result<f64, Fault> {
        let Some(program) = self.rows.as_mut() else {
            return Err(Fault::Bug(
                "a sampler asks for differences that it has not announced".to_owned(),
            ));
        };
        program.put(0, at)?;
        program.run(1.0)?;
        let terms = if is_after {
            &mut self.after
        } else {
            &mut self.before
        };
        program
            .machine
            .read_into(PortName::LogLikelihood.text(), &mut terms[..count])?;
        program.value(0)
    }

    /// For each of several groups of rows, computes the change of the log likelihood between two
    /// positions, as `Request::Differences` specifies. Writes one number for each
    /// group: the change summed over its rows. Returns the
    /// change of the log prior.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn differences(
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
}

//! Predictions from draws of the linearised outputs.

use crate::laplace::closed::MemberBlock;
use crate::laplace::diagnostics;
use crate::laplace::machines::Evaluator;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks::BYTES;
use bnnc_core::context::Stop;
use bnnc_core::ports;
use bnnc_core::predict::{PREDICTIVE_STEP, Predictive, prediction_outputs};
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_kernels::executor::Machine;
use bnnc_laplace::link::OutputDraws;
use bnnc_math::philox;

/// The program that computes predictions from network outputs.
pub struct Functions {
    machine: Machine,
    draws: usize,
    draws_per_call: usize,
    /// The key of the random numbers for the outputs.
    key: u64,
    /// The noise of the outputs: `[draws, batch, outputs]`.
    noise: Vec<f64>,
    outputs: Vec<f64>,
    link: OutputDraws,
}

impl Functions {
    /// Prepares predictions for blocks of at most `rows` rows.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(evaluation: &Evaluator, rows: usize, draws: usize) -> Result<Functions, Stop> {
        let artifact = &evaluation.laplace.programs.functions;
        let rows = Sizes::default().with(Symbol::Batch, rows);
        let numbers =
            |draws: usize| draws * rows.get(Symbol::Batch) * evaluation.outputs() * size_of::<f64>();
        let fits = |draws: &usize| {
            let arena = predict_arena_bytes(&artifact.plan, &rows.with(Symbol::Draws, *draws));
            arena + 2 * numbers(*draws) as u64 <= BYTES
        };
        let mut halves = std::iter::successors(Some(draws.max(1)), |draws| {
            (*draws > 1).then(|| draws.div_ceil(2))
        });
        let draws_per_call = halves.find(fits).unwrap_or(1);
        let machine = evaluation.machine(artifact, rows.with(Symbol::Draws, draws_per_call))?;
        let name = format!("functions/{}", evaluation.infer.name);
        Ok(Functions {
            machine,
            draws,
            draws_per_call,
            key: philox::key(evaluation.context.seed, &name),
            noise: Vec::new(),
            outputs: Vec::new(),
            link: OutputDraws::new(evaluation.outputs()),
        })
    }

    /// Writes the predictions of a block. Each member contributes an equal share of the draws.
    ///
    /// # Errors
    /// Fails if a covariance is not finite, or if the machine has a bug.
    pub fn write(
        &mut self,
        evaluations: &[Evaluator],
        members: &[MemberBlock],
        predictive: &mut Predictive,
    ) -> Result<(), Stop> {
        let (Some((first, _)), Some(evaluation)) = (members.first(), evaluations.first()) else {
            return Ok(());
        };
        let all = prediction_outputs(evaluation.infer);
        predictive.begin((first.rows.len(), self.draws), &all);
        let mut draw = 0;
        for (number, member) in members.iter().enumerate() {
            let evaluation = &evaluations[number];
            evaluation.write_states(&mut self.machine)?;
            let end = (number + 1) * self.draws / members.len();
            while draw < end {
                let count = self.draws_per_call.min(end - draw);
                self.call(evaluation, member, draw, count)?;
                for output in &all {
                    predictive.collect(output, &self.machine, (draw, count))?;
                }
                draw += count;
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        evaluation: &Evaluator,
        member: &MemberBlock,
        draw: usize,
        count: usize,
    ) -> Result<(), Stop> {
        let (block, covariance) = member;
        let (rows, outputs) = (block.rows.len(), evaluation.outputs());
        self.noise.clear();
        for draw in draw..draw + count {
            for row in block.rows.clone() {
                let coordinates = [draw as u32, row as u32, 0];
                let normal = |output| philox::normal(self.key, coordinates, output as u64);
                self.noise.extend((0..outputs).map(normal));
            }
        }
        self.outputs.resize(count * rows * outputs, 0.0);
        let made = self
            .link
            .write(&block.outputs, covariance, &self.noise, &mut self.outputs);
        made.map_err(|failure| {
            let row = block.rows.start + failure.row;
            diagnostics::no_covariance(&evaluation.infer.name, row, failure.reason)
        })?;
        let sizes = Sizes::default().with(Symbol::Draws, count);
        let machine = &mut self.machine;
        machine.set_sizes(&sizes.with(Symbol::Batch, rows))?;
        machine.write_real(PortName::Outputs.text(), &self.outputs)?;
        ports::int(machine, PortName::FirstDraw.text(), draw as i32)?;
        ports::int(machine, PortName::FirstRow.text(), block.rows.start as i32)?;
        ports::int(machine, PortName::Step.text(), PREDICTIVE_STEP)?;
        Ok(evaluation.call(machine, &block.rows, sizes)?)
    }
}

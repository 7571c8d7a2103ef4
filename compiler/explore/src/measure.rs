//! Evaluates a compiled divergence repeatedly, with different noise each time.

use crate::CompiledDivergence;
use bnnc_abi::manifest::State;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::{ports, states};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The results of the evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The estimates, one per evaluation.
    pub values: Vec<f64>,
    /// The median time of one evaluation with its gradient, in seconds.
    pub seconds: f64,
    /// The memory that the evaluation of the function takes, in bytes.
    pub bytes: u64,
}

/// Evaluates the divergence and its gradient `repetitions` times, or fewer times if `time` passes
/// first, but at least twice.
///
/// # Errors
/// Fails if there is not enough memory.
pub fn measure(
    compiled: &CompiledDivergence,
    draws: usize,
    repetitions: usize,
    pool: &Arc<Pool>,
    time: Duration,
) -> Result<Measured, Fault> {
    let until = Instant::now() + time;
    let sizes = Sizes::default().with(Symbol::KlDraws, draws);
    let mut machine = Machine::new(&compiled.artifact, sizes, pool.clone())?;
    write(&mut machine, &compiled.states)?;
    let mut values = Vec::with_capacity(repetitions);
    let mut seconds = Vec::with_capacity(repetitions);
    for step in 0..repetitions {
        if step >= 2 && Instant::now() > until {
            break;
        }
        ports::int(
            &mut machine,
            PortName::Step.text(),
            i32::try_from(step).unwrap_or(i32::MAX),
        )?;
        let clock = Instant::now();
        machine.run()?;
        seconds.push(clock.elapsed().as_secs_f64());
        values.push(ports::scalar(&machine, PortName::Kl.text())?);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Measured {
        values,
        seconds: seconds.get(seconds.len() / 2).copied().unwrap_or(0.0),
        bytes: machine.arena_bytes(),
    })
}

fn write(machine: &mut Machine, all: &[State]) -> Result<(), Fault> {
    for (name, values) in states::start(all, 0, &HashMap::new()) {
        ports::real(machine, &name, &values)?;
    }
    Ok(())
}

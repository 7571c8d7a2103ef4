//! Lowers graph functions to loops. Lowering fuses ops, assigns buffers, selects library calls, and
//! orders the steps.
//!
//! ```text
//! Function ─ import ─► Tensors ─ fuse (task, group) ─► kernels and calls in order ─ emit (body, kernel, contract) ─► Program
//! ```
//!
//! An op becomes a scalar operation, an index map, a part of an assembled tensor (reductions,
//! scatters, joins) or a call (see `tensor`). Fusion decides which tensors are stored in memory (`fuse`), and groups the
//! tasks that fill this memory (`group`). Every group of tasks becomes one kernel.

mod body;
mod contract;
pub mod cost;
mod emit;
mod fuse;
mod group;
mod import;
mod kernel;
mod partition;
mod polynomial;
mod task;
mod tensor;
mod uses;

use bnnc_abi::plan::{BufferId, BufferRole, Plan};
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_loops::ir::LoopProgram;

/// The options of lowering.
#[derive(Clone, Debug)]
pub struct LoweringOptions {
    /// The name of the plan.
    pub name: String,
    /// The width of reals.
    pub precision: Precision,
    /// The seed from which the keys of noise sites are derived.
    pub seed: u64,
    /// The parameters whose values persist from one run to the next. A result with the name of such
    /// a parameter is its next value.
    pub states: Vec<String>,
    /// True if products may read their operands through index maps (see [`bnnc_abi::primitive::CONTRACTION`]). Otherwise, operands are
    /// copied first.
    pub views: bool,
}

/// Lowers a function whose ops are scalar operations or kernels. The parameters of the function
/// become buffers with the same names, either inputs or states. The results become outputs with the
/// same names, except for the next values of states.
///
/// # Errors
/// Returns a bug if the function contains an op that should have been expanded or removed before.
/// Returns a limit if a position is needed as a number but has a symbolic stride.
pub fn lower(function: &Function, options: &LoweringOptions) -> Result<LoopProgram, Fault> {
    let mut emitter = emit::Emitter {
        buffers: Arena::default(),
        kernels: Vec::new(),
        options,
    };
    let is_state = |name: &str| options.states.iter().any(|state| state == name);
    let mut params = Vec::new();
    for value in &function.params {
        let Some(name) = function.param_name(*value) else {
            return Err(Fault::Bug(format!("parameter {value} has no name")));
        };
        let role = if is_state(name) {
            BufferRole::State
        } else {
            BufferRole::Input
        };
        params.push(
            emitter
                .buffers
                .push(import::as_buffer(name, function.ty(*value), role)),
        );
    }
    let mut ports: Vec<BufferId> = Vec::new();
    for (name, value) in &function.results {
        let state = function.param(name).filter(|_| is_state(name));
        let at = state.and_then(|state| function.params.iter().position(|param| *param == state));
        ports.push(match at {
            Some(at) => params[at],
            None => emitter
                .buffers
                .push(import::as_buffer(name, function.ty(*value), BufferRole::Output)),
        });
    }
    let mut import = import::Import::new(&mut emitter.buffers, options);
    let args: Vec<_> = function
        .params
        .iter()
        .zip(&params)
        .map(|(value, buffer)| import.buffer(*buffer, function.ty(*value)))
        .collect();
    let results = import.function(function, &args)?;
    let tensors = import.tensors;
    let ports: Vec<_> = results.into_iter().zip(ports).collect();
    let steps = emitter.steps(&tensors, &ports)?;
    let plan = Plan {
        name: options.name.clone(),
        precision: options.precision,
        buffers: emitter.buffers,
        steps,
        kernels: emitter.kernels.len(),
    };
    Ok(LoopProgram {
        plan,
        kernels: emitter.kernels,
    })
}

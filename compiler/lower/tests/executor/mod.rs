//! Runs lowered programs with the loop interpreter and with simple versions of the primitives.
//! Before each run, scratch memory is filled with values that must not be read.

#![allow(dead_code)]

use bnnc_abi::code::KernelArgs;
use bnnc_abi::plan::{BufferId, BufferRole, Launch, PlanStep, Storage};
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::shape::Sizes;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::{Lower, OpCall};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_loops::interp::interpret;
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::verify::verify;
use bnnc_lower::{LoweringOptions, lower};
use bnnc_math::philox;
use std::collections::HashMap;

enum Memory {
    Real(Vec<f64>),
    Int(Vec<i32>),
}

struct Machine<'a> {
    program: &'a LoopProgram,
    sizes: &'a Sizes,
    memory: Vec<Memory>,
}

/// Expands the ops of a function that lowering does not support.
pub fn expanded(function: &Function) -> Function {
    let mut builder = Builder::new(&function.name);
    let mut map: HashMap<Value, Value> = HashMap::new();
    let mut grown = false;
    for value in function.nodes.ids() {
        let node = &function.nodes[value];
        let new = match &node.kind {
            NodeKind::Param(name) => builder.param(name, node.ty.clone()),
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<Value> = args.iter().map(|arg| map[arg]).collect();
                match op.lower {
                    Lower::Expand(expand) => {
                        grown = true;
                        expand(
                            &mut builder,
                            &OpCall {
                                args: &args,
                                attrs,
                                out: None,
                            },
                        )
                    }
                    _ => builder.apply(op.0, &args, attrs.clone()),
                }
            }
        };
        if let Some(label) = &node.label {
            builder.label(new, label);
        }
        map.insert(value, new);
    }
    let results = function
        .results
        .iter()
        .map(|(name, value)| (name.clone(), map[value]))
        .collect();
    let result = builder.finish(results);
    if grown { expanded(&result) } else { result }
}

/// Lowers a function and verifies the program.
pub fn lowered(function: &Function, states: &[&str]) -> LoopProgram {
    lowered_with(function, states, true)
}

/// Lowers a function for a backend whose products cannot read operands through index maps.
pub fn without_views(function: &Function) -> LoopProgram {
    lowered_with(function, &[], false)
}

fn lowered_with(function: &Function, states: &[&str], views: bool) -> LoopProgram {
    let options = LoweringOptions {
        name: function.name.clone(),
        precision: Precision::F64,
        seed: 0,
        states: states.iter().map(|name| (*name).to_owned()).collect(),
        views,
    };
    let program =
        lower(&expanded(function), &options).unwrap_or_else(|why| panic!("{}: {why}", function.name));
    if let Err(why) = verify(&program) {
        panic!("{}: {why}\n{program}", function.name);
    }
    program
}

/// Runs a program. Returns the content of each port, by the name of the port.
pub fn run(
    program: &LoopProgram,
    sizes: &Sizes,
    inputs: &[(&str, Vec<f64>)],
    outputs: &[&str],
) -> Vec<Vec<f64>> {
    let mut memory = Vec::new();
    for buffer in program.plan.buffers.iter() {
        let count = buffer.shape.count(sizes);
        let given = inputs.iter().find(|(name, _)| **name == *buffer.name);
        let values = match (&buffer.role, given) {
            (BufferRole::Constant(values), _) => values.to_vec(),
            (BufferRole::Input | BufferRole::State, Some((_, values))) => values.clone(),
            _ => vec![f64::NAN; count],
        };
        assert_eq!(values.len(), count, "elements of `{}`", buffer.name);
        memory.push(match buffer.storage {
            Storage::Real => Memory::Real(values),
            Storage::Int => Memory::Int(
                values
                    .iter()
                    .map(|x| if x.is_nan() { -77 } else { *x as i32 })
                    .collect(),
            ),
        });
    }
    let mut machine = Machine {
        program,
        sizes,
        memory,
    };
    machine.steps(&program.plan.steps);
    let read = |name: &&str| {
        let id = program
            .plan
            .port(name)
            .unwrap_or_else(|| panic!("there is no port `{name}`"));
        match &machine.memory[id.index()] {
            Memory::Real(values) => values.clone(),
            Memory::Int(values) => values.iter().map(|x| f64::from(*x)).collect(),
        }
    };
    outputs.iter().map(read).collect()
}

impl Machine<'_> {
    fn steps(&mut self, steps: &[PlanStep]) {
        for step in steps {
            match step {
                PlanStep::Launch(launch) => self.launch(launch),
                PlanStep::Call(call) => {
                    let ints: Vec<i64> = call
                        .ints
                        .iter()
                        .map(|amount| amount.resolve(self.sizes))
                        .collect();
                    let mut buffers: Vec<Vec<f64>> =
                        call.buffers.iter().map(|id| self.reals(*id).clone()).collect();
                    (call.primitive.naive)(&mut buffers, &ints);
                    let result = call.buffers.last().zip(buffers.pop());
                    let (id, values) = result.unwrap_or_else(|| panic!("a call has a result"));
                    *self.reals(*id) = values;
                }
                PlanStep::Repeat { count, counter, body } => {
                    for iteration in 0..count.resolve(self.sizes) {
                        self.memory[counter.index()] = Memory::Int(vec![iteration as i32]);
                        self.steps(body);
                    }
                }
            }
        }
    }

    fn reals(&mut self, id: BufferId) -> &mut Vec<f64> {
        match &mut self.memory[id.index()] {
            Memory::Real(values) => values,
            Memory::Int(_) => panic!("a call takes reals"),
        }
    }

    fn launch(&mut self, launch: &Launch) {
        for reduce in &launch.reduces {
            match &mut self.memory[launch.buffers[reduce.slot as usize].index()] {
                Memory::Real(values) => values.fill(reduce.combine.identity()),
                Memory::Int(values) => values.fill(reduce.combine.identity() as i32),
            }
        }
        let address = |id: &BufferId| match &mut self.memory[id.index()] {
            Memory::Real(values) => values.as_mut_ptr().cast::<u8>(),
            Memory::Int(values) => values.as_mut_ptr().cast::<u8>(),
        };
        let buffers: Vec<*mut u8> = launch.buffers.iter().map(address).collect();
        let ints: Vec<i64> = launch
            .ints
            .iter()
            .map(|amount| amount.resolve(self.sizes))
            .collect();
        let outer = launch.outer.resolve(self.sizes);
        // The second of two chunks runs first, because the order of chunks must not matter.
        for (start, end) in [(outer / 2, outer), (0, outer / 2)] {
            let args = KernelArgs {
                buffers: buffers.as_ptr(),
                ints: ints.as_ptr(),
                start,
                end,
                scratch: std::ptr::null_mut(),
            };
            // SAFETY: the program is verified, and the buffers have the sizes that the integers
            // give.
            unsafe { interpret(&self.program.kernels[launch.kernel as usize], &args) };
        }
    }
}

/// Returns numbers in an interval, rounded down for integers and Booleans.
pub fn numbers(ty: &Type, (lo, hi): (f64, f64), stream: u32, sizes: &Sizes) -> Tensor {
    let shape = ty.shape.resolve(sizes);
    let count = shape.iter().product::<usize>();
    let number = |at: usize| {
        let x = lo + (hi - lo) * philox::uniform(philox::key(7, "inputs"), [stream, 0, 0], at as u64);
        match ty.dtype {
            DType::Real => x,
            DType::Int => x.floor(),
            DType::Bool => f64::from(u8::from(x >= 0.5 * (lo + hi))),
        }
    };
    Tensor::new(shape, (0..count).map(number).collect())
}

/// Lowers and runs a function, and compares it with the reference evaluator. Returns the lowered program.
pub fn check(
    function: &Function,
    states: &[&str],
    sizes: &Sizes,
    inputs: &[Tensor],
    tolerance: f64,
) -> LoopProgram {
    let program = lowered(function, states);
    let wanted = bnnc_graph::eval::evaluate(function, inputs, sizes);
    let names = function
        .params
        .iter()
        .filter_map(|param| function.param_name(*param))
        .map(|name| &**name);
    let given: Vec<(&str, Vec<f64>)> = names
        .zip(inputs.iter().map(|tensor| tensor.data.clone()))
        .collect();
    let outputs: Vec<&str> = function.results.iter().map(|(name, _)| &**name).collect();
    let found = run(&program, sizes, &given, &outputs);
    for ((name, found), wanted) in outputs.iter().zip(&found).zip(&wanted) {
        for (at, (x, y)) in found.iter().zip(&wanted.data).enumerate() {
            let close = (x - y).abs() <= tolerance * (1.0 + y.abs()) || x == y || (x.is_nan() && y.is_nan());
            assert!(
                close,
                "{} `{name}`[{at}]: {x} is not {y}\n{program}",
                function.name
            );
        }
    }
    program
}

/// Returns how many launches and how many calls a program has: `(launches, calls)`.
pub fn counts(program: &LoopProgram) -> (usize, usize) {
    let launches = program
        .plan
        .steps
        .iter()
        .filter(|step| matches!(step, PlanStep::Launch(_)))
        .count();
    let calls = program
        .plan
        .steps
        .iter()
        .filter(|step| matches!(step, PlanStep::Call(_)))
        .count();
    (launches, calls)
}

//! Emits the steps, kernels and buffers of grouped tasks.

use crate::body::BodyBuilder;
use crate::fuse::fuse;
use crate::group::Groups;
use crate::import::{self, Import};
use crate::kernel::{RawKernel, RawOutput};
use crate::polynomial::SizePolynomial;
use crate::task::{self, TaskWork};
use crate::tensor::{LibraryCall, Loop, TensorDef, TensorId, Tensors};
use crate::{LoweringOptions, contract};
use bnnc_abi::plan::{self, Buffer, BufferId, BufferRole, PlanStep};
use bnnc_base::arena::{Arena, Id};
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Shape;
use bnnc_graph::types::Type;
use bnnc_loops::ir::Kernel;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The largest number of words in the name of a kernel.
const NAMED: usize = 3;

/// The buffers and kernels that are collected while steps are emitted.
pub struct Emitter<'a> {
    /// All buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// All kernels. Equal kernels are stored once.
    pub kernels: Vec<Kernel>,
    /// The options of lowering.
    pub options: &'a LoweringOptions,
}

/// The buffers of stored tensors.
type Memory = HashMap<TensorId, BufferId>;

impl Emitter<'_> {
    /// Returns the steps that compute the stored tensors and write the results to ports.
    pub fn steps(
        &mut self,
        tensors: &Tensors,
        ports: &[(TensorId, BufferId)],
    ) -> Result<Vec<PlanStep>, Fault> {
        let (storage, groups) = fuse(tensors, ports)?;
        let memory = self.memory(tensors, &storage, &groups);
        let mut steps = Vec::new();
        for group in groups.order()? {
            let members = groups.partition.members(group);
            if members.iter().all(|task| groups.silent[*task]) {
                continue;
            }
            match &groups.tasks[members[0]].work {
                TaskWork::Opaque(id) => match &tensors[*id].kind {
                    TensorDef::Call(call) => steps.push(library_call(tensors, &memory, *id, call)),
                    TensorDef::Loop(looped) => self.repeat(tensors, &memory, *id, looped, &mut steps)?,
                    _ => return Err(Fault::Bug(format!("{id} is neither a call nor a loop"))),
                },
                TaskWork::Root(_) => steps.push(self.kernel(tensors, &storage, &groups, members, &memory)?),
            }
        }
        Ok(steps)
    }

    fn scratch(&mut self, name: &str, dims: &[bnnc_base::shape::Dim], dtype: DType) -> BufferId {
        let ty = Type::new(dtype, Shape(dims.to_vec()));
        self.buffers
            .push(import::as_buffer(&name.into(), &ty, BufferRole::Scratch))
    }

    /// Assigns buffers to tensors. A tensor that is stored in a port uses the buffer of the port.
    /// For every other tensor that is written, a new buffer is created.
    fn memory(&mut self, tensors: &Tensors, storage: &task::TensorStorage, groups: &Groups) -> Memory {
        let mut memory = Memory::new();
        for id in tensors.ids() {
            if let TensorDef::Buffer(buffer) = tensors[id].kind {
                memory.insert(id, buffer);
            }
        }
        let written = groups
            .tasks
            .iter()
            .zip(&groups.silent)
            .filter(|(_, silent)| !**silent);
        for id in written.filter_map(|(task, _)| task.writes) {
            let Entry::Vacant(entry) = memory.entry(id) else {
                continue;
            };
            let tensor = &tensors[id];
            let label = tensor.label.as_ref();
            let name = label.map_or_else(|| id.to_string(), |label| label.to_string());
            let home = storage.homes[id.index()];
            entry.insert(home.unwrap_or_else(|| self.scratch(&name, &tensor.dims, tensor.dtype)));
        }
        memory
    }

    fn kernel(
        &mut self,
        tensors: &Tensors,
        storage: &task::TensorStorage,
        groups: &Groups,
        members: &[usize],
        memory: &Memory,
    ) -> Result<PlanStep, Fault> {
        let mut members = members.to_vec();
        members.retain(|task| !groups.silent[*task]);
        members.sort_unstable();
        let domain = &groups.tasks[members[0]].domain;
        let mut body = BodyBuilder::new(tensors, &storage.stored, domain.len());
        let mut outputs = Vec::new();
        for root in members.iter().filter_map(|member| groups.tasks[*member].root()) {
            let (value, address) = task::evaluate(tensors, &mut body, root)?;
            if root.copy.is_none() && root.combine.is_none() && address.dynamic.is_empty() {
                body.register(root.tensor, address.clone(), value);
            }
            let buffer = root.copy.unwrap_or_else(|| memory[&root.tensor]);
            outputs.push(RawOutput {
                buffer,
                address,
                value,
                combine: root.combine,
            });
        }
        let mut raw = RawKernel::new(domain, body.insts, outputs);
        raw.prune();
        let raw = raw.arrange();
        let name = name(tensors, groups, &members);
        let buffers = &self.buffers;
        let (kernel, mut launch) = raw.finish(name, |id| memory[&id], |id| buffers[id].storage);
        launch.kernel = self.number(kernel);
        Ok(PlanStep::Launch(launch))
    }

    /// Returns the index of a kernel. Kernels that differ only in their names are stored once and
    /// have the same index.
    fn number(&mut self, kernel: Kernel) -> u32 {
        let same = |known: &Kernel| {
            known.dims == kernel.dims
                && known.slots == kernel.slots
                && known.outputs == kernel.outputs
                && known.body == kernel.body
        };
        let known = self.kernels.iter().position(same);
        known.unwrap_or_else(|| {
            self.kernels.push(kernel);
            self.kernels.len() - 1
        }) as u32
    }

    /// Emits a loop. Before the loop, the initial value is copied into the carry. In each
    /// iteration, the body then updates the carry and stores it in the result.
    fn repeat(
        &mut self,
        tensors: &Tensors,
        memory: &Memory,
        id: TensorId,
        looped: &Loop,
        steps: &mut Vec<PlanStep>,
    ) -> Result<(), Fault> {
        let init = &tensors[looped.args[0]];
        let carry_type = Type::new(init.dtype, Shape(init.dims.clone()));
        let counter = self.scratch("counter", &[], DType::Int);
        let carry = self.scratch("carry", &init.dims, init.dtype);
        let mut start = Import::new(&mut self.buffers, self.options);
        let from = start.buffer(memory[&looped.args[0]], &carry_type);
        let start = start.tensors;
        steps.extend(self.steps(&start, &[(from, carry)])?);

        let mut import = Import::new(&mut self.buffers, self.options);
        let count = import.buffer(counter, &Type::int(Shape::scalar()));
        let mut args = vec![import.buffer(carry, &carry_type)];
        for (at, arg) in looped.args.iter().enumerate().skip(1) {
            let outer = &tensors[*arg];
            let whole = import.buffer(memory[arg], &Type::new(outer.dtype, Shape(outer.dims.clone())));
            args.push(if at <= looped.sliced {
                let slice = &outer.dims[1..];
                let at = import.picked(count, 0, slice);
                import.view(whole, at, slice)
            } else {
                whole
            });
        }
        let next = import.function(&looped.body, &args)?;
        let [next] = next[..] else {
            return Err(Fault::Bug("the body of a scan has one result".to_owned()));
        };
        let dims = import.tensors[next].dims.clone();
        let to = import.picked(count, 0, &dims);
        let rows = import.assembled(next, to, None, &tensors[id].dims);
        let inner = import.tensors;
        let body = self.steps(&inner, &[(next, carry), (rows, memory[&id])])?;
        let count = SizePolynomial::of(looped.count).to_amount();
        steps.push(PlanStep::Repeat { count, counter, body });
        Ok(())
    }
}

fn library_call(tensors: &Tensors, memory: &Memory, id: TensorId, call: &LibraryCall) -> PlanStep {
    let (args, ints) = contract::arguments(tensors, call, &tensors[id].dims);
    let mut buffers: Vec<BufferId> = args.iter().map(|arg| memory[arg]).collect();
    buffers.push(memory[&id]);
    let ints = ints.iter().map(SizePolynomial::to_amount).collect();
    PlanStep::Call(plan::PrimitiveCall {
        primitive: call.primitive,
        buffers,
        ints,
    })
}

/// Returns a name for a kernel in printed text. It consists of labels and ops of the kernel's
/// outputs.
fn name(tensors: &Tensors, groups: &Groups, members: &[usize]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for root in members.iter().filter_map(|member| groups.tasks[*member].root()) {
        let label = tensors[root.tensor]
            .label
            .as_deref()
            .or(tensors[root.value].label.as_deref());
        let word = match (label, root.combine, &tensors[root.value].kind) {
            (Some(label), ..) => label,
            (None, Some(combine), _) => combine.name(),
            (None, None, TensorDef::Apply(scalar, _)) => scalar.name(),
            (None, None, TensorDef::Noise { kind, .. }) => kind.name(),
            (None, None, _) => "copy",
        };
        if words.len() < NAMED && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join("+")
}

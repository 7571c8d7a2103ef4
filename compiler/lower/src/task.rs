//! Tasks fill the stored tensors. Each task records the memory that it reads and writes.

use crate::body::{self, BodyBuilder, BodyOp, ElementPosition};
use crate::tensor::{AssembledPart, Coordinate, TensorDef, TensorId, Tensors};
use bnnc_abi::plan::{BufferId, Combine};
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Dim;

/// A domain with static sizes is small if it has at most this number of points.
const SMALL: usize = 1024;
/// A domain with symbolic sizes is small if it has at most this number of points along its static axes.
const SMALL_ROW: usize = 32;

/// Which tensors have memory of their own, and which are stored in ports.
#[derive(Clone, Debug)]
pub struct TensorStorage {
    /// For each tensor, true if its users load it and do not evaluate it.
    pub stored: Vec<bool>,
    /// For each tensor, the port that stores it, or `None`.
    pub homes: Vec<Option<BufferId>>,
    /// The tensors that are copied to ports, each with its port.
    pub copies: Vec<(TensorId, BufferId)>,
}

/// An output of a kernel, which writes one element for every point of a domain.
#[derive(Clone, Debug)]
pub struct Root {
    /// The tensor that is evaluated. The axes of this tensor are the domain of the kernel.
    pub value: TensorId,
    /// The tensor that is written: the value itself, or the tensor that contains the value as a
    /// part.
    pub tensor: TensorId,
    /// The position of each element in the written tensor: one coordinate per axis.
    pub to: Vec<Coordinate>,
    /// The operation that combines elements with stored elements.
    pub combine: Option<Combine>,
    /// The port that is written, if the task is a copy.
    pub copy: Option<BufferId>,
}

/// The work that a task does.
#[derive(Clone, Debug)]
pub enum TaskWork {
    /// An output of a kernel.
    Root(Root),
    /// A call or a loop that computes this tensor.
    Opaque(TensorId),
}

/// One task, with the memory that it reads and writes.
#[derive(Clone, Debug)]
pub struct FusedTask {
    /// The work.
    pub work: TaskWork,
    /// The stored tensors that the task reads. If a kernel reads a tensor at a static address, the
    /// entry includes this address.
    pub reads: Vec<(TensorId, Option<ElementPosition>)>,
    /// The tensor that the task defines. `None` if the task is a copy.
    pub writes: Option<TensorId>,
    /// The port that the task writes.
    pub port: Option<BufferId>,
    /// The address where the task stores one element per point. `None` if the task combines
    /// elements with stored elements, or if a position is computed.
    pub address: Option<ElementPosition>,
    /// The tensors that the body of the task evaluates.
    pub inlined: Vec<TensorId>,
    /// The domain of the kernel.
    pub domain: Vec<Dim>,
}

impl FusedTask {
    /// Returns whether the task is an output of a kernel.
    pub fn is_kernel(&self) -> bool {
        self.root().is_some()
    }

    /// Returns the output, if the task is an output of a kernel.
    pub fn root(&self) -> Option<&Root> {
        match &self.work {
            TaskWork::Root(root) => Some(root),
            TaskWork::Opaque(_) => None,
        }
    }

    /// Returns whether each point stores its element at the address `place` and nowhere else.
    pub fn stores_at(&self, place: Option<&ElementPosition>) -> bool {
        place.is_some() && place == self.address.as_ref()
    }
}

/// Returns the tasks that fill the live stored tensors. A task follows the tasks whose results it reads.
pub fn tasks(tensors: &Tensors, live: &[bool], storage: &TensorStorage) -> Result<Vec<FusedTask>, Fault> {
    let mut tasks = Vec::new();
    for id in tensors.ids() {
        if live[id.index()] && storage.stored[id.index()] {
            match &tensors[id].kind {
                TensorDef::Buffer(_) => {}
                TensorDef::Call(_) | TensorDef::Loop(_) => tasks.push(opaque(tensors, storage, id)),
                TensorDef::Assembled { parts, .. } => {
                    for part in parts {
                        tasks.push(kernel(tensors, storage, assembled(tensors, storage, id, part))?);
                    }
                }
                TensorDef::Const(_)
                | TensorDef::Index(_)
                | TensorDef::Noise { .. }
                | TensorDef::Apply(..)
                | TensorDef::View(..)
                | TensorDef::Flat(_) => tasks.push(kernel(tensors, storage, pointwise(tensors, id, None))?),
            }
        }
        for (_, port) in storage.copies.iter().filter(|(copied, _)| *copied == id) {
            tasks.push(kernel(tensors, storage, pointwise(tensors, id, Some(*port)))?);
        }
    }
    Ok(tasks)
}

fn pointwise(tensors: &Tensors, id: TensorId, copy: Option<BufferId>) -> Root {
    Root {
        value: id,
        tensor: id,
        to: Coordinate::axes(0..tensors[id].dims.len()),
        combine: None,
        copy,
    }
}

/// Returns the output of a kernel that writes one part. If the operand of the part is a
/// permutation, the axes of the domain are in the order of the permuted tensor, so that rows are
/// read in memory order.
fn assembled(tensors: &Tensors, storage: &TensorStorage, id: TensorId, part: &AssembledPart) -> Root {
    let mut root = Root {
        value: part.value,
        tensor: id,
        to: part.to.clone(),
        combine: part.combine,
        copy: None,
    };
    while let TensorDef::View(arg, at) = &tensors[root.value].kind {
        let simple = part.combine.is_some() && part.to.iter().all(|to| to.dynamic.is_none());
        let (outer, inner) = (&tensors[root.value].dims, &tensors[*arg].dims);
        // A window that starts at the first element has the same coordinates as a permutation, but
        // fewer points.
        let whole = |axes: &Vec<usize>| outer.iter().zip(axes).all(|(dim, axis)| *dim == inner[*axis]);
        let Some(axes) = permutation(at, outer.len()).filter(|axes| simple && whole(axes)) else {
            break;
        };
        if storage.stored[root.value.index()] {
            break;
        }
        for coordinate in &mut root.to {
            coordinate
                .terms
                .iter_mut()
                .for_each(|(axis, _)| *axis = axes[*axis]);
        }
        root.value = *arg;
    }
    root
}

/// Returns the axis of the operand for each axis of the result. Returns `None` if the coordinates
/// do more than permute axes.
fn permutation(at: &[Coordinate], rank: usize) -> Option<Vec<usize>> {
    let mut axes = vec![usize::MAX; rank];
    for (inner, coordinate) in at.iter().enumerate() {
        let [(axis, stride)] = coordinate.terms.as_slice() else {
            return None;
        };
        if *coordinate != Coordinate::axis(*axis) || stride.as_fixed() != Some(1) {
            return None;
        }
        axes[*axis] = inner;
    }
    axes.iter().all(|axis| *axis != usize::MAX).then_some(axes)
}

/// Returns the task of a call or a loop. A call or a loop reads each operand as a whole.
fn opaque(tensors: &Tensors, storage: &TensorStorage, id: TensorId) -> FusedTask {
    let base = |arg: TensorId| (crate::contract::base(tensors, id, arg), None);
    FusedTask {
        work: TaskWork::Opaque(id),
        reads: tensors[id].operands().into_iter().map(base).collect(),
        writes: Some(id),
        port: storage.homes[id.index()],
        address: None,
        inlined: Vec::new(),
        domain: Vec::new(),
    }
}

/// Evaluates a root in a body. Returns the instruction that computes the value, and the address of the value.
pub fn evaluate(
    tensors: &Tensors,
    body: &mut BodyBuilder,
    root: &Root,
) -> Result<(bnnc_loops::ir::InstId, ElementPosition), Fault> {
    let dims = &tensors[root.value].dims;
    let (point, rank) = (body.point(body::identity(dims)), body::domain(dims).len());
    let whole = root.value == root.tensor && root.copy.is_none();
    let inst = if whole {
        body.define(root.value, point)?
    } else {
        body.value(root.value, point)?
    };
    let to = body.compose(root.tensor, &root.to, point)?;
    Ok((inst, body::address(&tensors[root.tensor].dims, &to, rank)))
}

fn kernel(tensors: &Tensors, storage: &TensorStorage, root: Root) -> Result<FusedTask, Fault> {
    let domain = body::domain(&tensors[root.value].dims);
    let mut body = BodyBuilder::new(tensors, &storage.stored, domain.len());
    let (_, address) = evaluate(tensors, &mut body, &root)?;
    let read = |(op, _): &(BodyOp, _)| match op {
        BodyOp::Load(id, place) => Some((*id, place.dynamic.is_empty().then(|| place.clone()))),
        BodyOp::Const(_) | BodyOp::Index(_) | BodyOp::Apply(..) | BodyOp::Noise(..) => None,
    };
    let plain = root.combine.is_none() && address.dynamic.is_empty();
    Ok(FusedTask {
        reads: body.insts.iter().filter_map(read).collect(),
        writes: root.copy.is_none().then_some(root.tensor),
        port: root.copy.or(storage.homes[root.tensor.index()]),
        address: plain.then_some(address),
        inlined: body.inlined,
        domain,
        work: TaskWork::Root(root),
    })
}

/// Returns whether `reader` may be in the same kernel as `writer`; both may be the same task. The
/// condition is that, at each point, `reader` reads only the element of the written memory that
/// `writer` writes at this point.
pub fn compatible(tensors: &Tensors, writer: &FusedTask, reader: &FusedTask) -> bool {
    reader.reads.iter().all(|(id, place)| {
        let held = match tensors[*id].kind {
            TensorDef::Buffer(buffer) => writer.port == Some(buffer),
            _ => writer.writes == Some(*id),
        };
        !held || writer.stores_at(place.as_ref())
    })
}

/// A property of a kernel. If two kernels with the same domain have such a property in common,
/// merging them is worthwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Common {
    /// The domain of the kernels has a single point, so the launch is most of their cost.
    Scalar,
    /// The kernels are so small that the launch is most of their cost.
    Small,
    /// The kernels read the same elements.
    Read(TensorId, ElementPosition),
    /// The kernels generate the same noise.
    Noise(TensorId),
}

/// Returns the reads and the noise of a kernel, which other kernels with the same domain may have
/// too.
pub fn common_reads(tensors: &Tensors, task: &FusedTask) -> Vec<Common> {
    if !task.is_kernel() {
        return Vec::new();
    }
    if task.domain.is_empty() {
        return vec![Common::Scalar];
    }
    let read = |(id, place): &(TensorId, Option<ElementPosition>)| {
        let place = place.as_ref().filter(|place| !place.is_fixed())?;
        Some(Common::Read(*id, place.clone()))
    };
    let is_noise = |id: &&TensorId| matches!(tensors[**id].kind, TensorDef::Noise { .. });
    let noise = task.inlined.iter().filter(is_noise);
    let reads = task.reads.iter().filter_map(read);
    reads.chain(noise.map(|id| Common::Noise(*id))).collect()
}

/// Returns the property `Small` if the launch is most of the cost of a kernel. Such a kernel may join any
/// other kernel with the same domain.
pub fn common_cost(task: &FusedTask) -> Option<Common> {
    let limit = if task.domain.iter().all(|dim| dim.fixed().is_some()) {
        SMALL
    } else {
        SMALL_ROW
    };
    let points: usize = task.domain.iter().filter_map(|dim| dim.fixed()).product();
    (task.is_kernel() && points <= limit).then_some(Common::Small)
}

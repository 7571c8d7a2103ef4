//! Turns an evaluated body into a kernel: orders and merges the axes, and assigns sizes to slots.
//!
//! Note [Sums over draws]. If a kernel generates noise for several elements and sums over draws,
//! the loop over elements is moved outside the loop over draws. A chunk then covers some of the
//! elements, and no chunk needs its own copy of a result. A backend may process all draws for some
//! elements before it continues with the next elements.

use crate::body::{BodyOp, ElementPosition};
use crate::polynomial::SizePolynomial;
use bnnc_abi::plan::{Amount, BufferId, Combine, Extent, Launch, Reduce, Storage};
use bnnc_abi::symbols::{NOISE_WEIGHT, weight};
use bnnc_base::arena::{Arena, Id};
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_loops::ir::{Access, Dynamic, Inst, InstId, InstOp, Kernel, KernelOutput, LoopSize, Noise};

/// An axis with fewer iterations than this is not worth splitting between threads.
const FEW: i64 = 8;
/// With at least this many elements, splitting the elements gives enough chunks. If draws were
/// split, each chunk would need a copy of every result.
const MANY: i64 = 8192;

/// An output whose buffer has not been assigned to a slot yet.
#[derive(Clone)]
pub struct RawOutput {
    /// The buffer.
    pub buffer: BufferId,
    /// The address in the buffer.
    pub address: ElementPosition,
    /// The value.
    pub value: InstId,
    /// The operation that combines the value with the stored value.
    pub combine: Option<Combine>,
}

/// A kernel whose strides are polynomials in the symbolic sizes.
#[derive(Clone)]
pub struct RawKernel {
    /// The trip counts of the axes.
    pub dims: Vec<SizePolynomial>,
    /// The instructions of the body. Loads refer to tensors.
    pub insts: Vec<(BodyOp, DType)>,
    /// The outputs.
    pub outputs: Vec<RawOutput>,
}

impl RawKernel {
    /// Creates a kernel over a domain.
    pub fn new(domain: &[Dim], insts: Vec<(BodyOp, DType)>, outputs: Vec<RawOutput>) -> RawKernel {
        RawKernel {
            dims: domain.iter().map(|dim| SizePolynomial::of(*dim)).collect(),
            insts,
            outputs,
        }
    }

    fn places(&mut self) -> impl Iterator<Item = &mut ElementPosition> {
        let in_body = self.insts.iter_mut().filter_map(|(op, _)| match op {
            BodyOp::Load(_, place) | BodyOp::Noise(.., place) => Some(place),
            BodyOp::Const(_) | BodyOp::Index(_) | BodyOp::Apply(..) => None,
        });
        in_body.chain(self.outputs.iter_mut().map(|output| &mut output.address))
    }

    /// Removes unused instructions.
    pub fn prune(&mut self) {
        let mut used = vec![false; self.insts.len()];
        let outputs = self.outputs.iter().flat_map(|output| {
            let positions = output.address.dynamic.iter().map(|(index, ..)| *index);
            positions.chain([output.value])
        });
        outputs.for_each(|id| used[id.index()] = true);
        for at in (0..self.insts.len()).rev().collect::<Vec<_>>() {
            if used[at] {
                operands(&mut self.insts[at].0)
                    .into_iter()
                    .for_each(|id| used[id.index()] = true);
            }
        }
        let mut next = 0;
        let mut renumber = |used: &bool| {
            next += u32::from(*used);
            InstId(next.saturating_sub(1))
        };
        let names: Vec<InstId> = used.iter().map(&mut renumber).collect();
        let mut kept = used.iter();
        self.insts.retain(|_| *kept.next().unwrap_or(&true));
        self.insts
            .iter_mut()
            .flat_map(|(op, _)| operands(op))
            .for_each(|id| *id = names[id.index()]);
        for output in &mut self.outputs {
            output.value = names[output.value.index()];
            output
                .address
                .dynamic
                .iter_mut()
                .for_each(|(index, ..)| *index = names[index.index()]);
        }
    }

    /// Merges axes. Before that, if the outermost axis is a poor choice for splitting between
    /// threads, a better axis replaces it.
    pub fn arrange(mut self) -> RawKernel {
        let mut collapsed = self.clone();
        collapsed.collapse();
        if !collapsed.splits_badly(0) {
            return collapsed;
        }
        if collapsed.sums_over_draws() {
            collapsed.bring_outside(1);
            return collapsed;
        }
        let inner = 1..self.dims.len().saturating_sub(1);
        let good = inner.clone().find(|axis| !self.splits_badly(*axis));
        // Splitting an axis with few iterations gives only one or two chunks. An axis for which
        // each chunk needs its own copy of a small result is better.
        let fair = || inner.clone().find(|axis| self.has_few(0) && !self.has_few(*axis));
        match good.or_else(fair) {
            Some(axis) => {
                self.bring_outside(axis);
                self.collapse();
                self
            }
            None => collapsed,
        }
    }

    /// Returns whether an axis is a poor choice for splitting. This is the case if it has few
    /// iterations, or if a result is a sum over the axis, because each chunk then needs a copy of
    /// it.
    fn splits_badly(&self, axis: usize) -> bool {
        let combining = self.outputs.iter().filter(|output| output.combine.is_some());
        let reduced = combining
            .map(|output| &output.address)
            .any(|to| to.strides[axis].is_zero());
        reduced || self.has_few(axis)
    }

    fn has_few(&self, axis: usize) -> bool {
        match self.dims[axis].as_fixed() {
            Some(size) => size < FEW,
            None => self.dims[axis].is_about_draws(),
        }
    }

    /// Returns whether the kernel sums functions of noise over draws, as in Note [Sums over draws].
    fn sums_over_draws(&self) -> bool {
        let [draws, elements] = self.dims.as_slice() else {
            return false;
        };
        let many = elements.as_fixed().is_none_or(|size| size >= MANY);
        let makes_noise = self.insts.iter().any(|(op, _)| match op {
            BodyOp::Noise(.., place) => place.strides[0].is_zero() && place.strides[1].as_fixed() == Some(1),
            BodyOp::Const(_) | BodyOp::Index(_) | BodyOp::Load(..) | BodyOp::Apply(..) => false,
        });
        let sums = |output: &RawOutput| output.combine.is_some() && output.address.strides[0].is_zero();
        draws.is_about_draws() && many && makes_noise && self.outputs.iter().any(sums)
    }

    /// Moves an axis in front of all other axes.
    fn bring_outside(&mut self, axis: usize) {
        self.dims[..=axis].rotate_right(1);
        self.places()
            .for_each(|place| place.strides[..=axis].rotate_right(1));
        for (op, _) in &mut self.insts {
            if let BodyOp::Index(index) = op
                && *index <= axis
            {
                *index = if *index == axis { 0 } else { *index + 1 };
            }
        }
    }

    /// Merges neighbouring axes if every access passes through them with a single stride.
    fn collapse(&mut self) {
        let mut axis = self.dims.len().saturating_sub(1);
        while axis > 0 {
            axis -= 1;
            let size = self.dims[axis + 1].clone();
            let counted =
                |(op, _): &(BodyOp, DType)| matches!(op, BodyOp::Index(at) if *at == axis || *at == axis + 1);
            if self.insts.iter().any(counted)
                || !self
                    .places()
                    .all(|place| place.strides[axis] == place.strides[axis + 1].times(&size))
            {
                continue;
            }
            self.dims[axis] = self.dims[axis].times(&size);
            self.dims.remove(axis + 1);
            self.places().for_each(|place| drop(place.strides.remove(axis)));
            for (op, _) in &mut self.insts {
                if let BodyOp::Index(index) = op
                    && *index > axis
                {
                    *index -= 1;
                }
            }
        }
        if self.dims.is_empty() {
            self.dims.push(SizePolynomial::fixed(1));
            self.places()
                .for_each(|place| place.strides.push(SizePolynomial::default()));
        }
    }

    /// Returns the number of scalar operations per iteration of the outermost axis.
    fn work(&self) -> SizePolynomial {
        let cost = |(op, _): &(BodyOp, DType)| match op {
            BodyOp::Apply(scalar, _) => weight(*scalar),
            BodyOp::Noise(..) => NOISE_WEIGHT,
            BodyOp::Load(..) => 1,
            BodyOp::Const(_) | BodyOp::Index(_) => 0,
        };
        let body = self.insts.iter().map(cost).sum::<u32>() + self.outputs.len() as u32;
        self.dims[1..]
            .iter()
            .fold(SizePolynomial::fixed(i64::from(body)), |work, dim| {
                work.times(dim)
            })
    }

    /// Returns the kernel and its launch. The index of the kernel is not yet set in the launch.
    /// `memory` returns the buffers of loaded tensors.
    pub fn finish(
        self,
        name: String,
        memory: impl Fn(crate::tensor::TensorId) -> BufferId,
        stored: impl Fn(BufferId) -> Storage,
    ) -> (Kernel, Launch) {
        let mut slots = Slots::default();
        let mut body = Arena::default();
        let dims = slots.sizes(&self.dims);
        for (op, dtype) in &self.insts {
            let op = match op {
                BodyOp::Const(bits) => InstOp::Const(f64::from_bits(*bits)),
                BodyOp::Index(axis) => InstOp::Index(*axis as u32),
                BodyOp::Load(tensor, place) => InstOp::Load(slots.access(memory(*tensor), place)),
                BodyOp::Apply(scalar, args) => InstOp::Apply(*scalar, args.clone()),
                BodyOp::Noise(kind, key, coordinates, shape, place) => InstOp::Noise(Noise {
                    kind: *kind,
                    key: slots.slot(Amount::one(Extent::fixed(*key))),
                    coordinates: *coordinates,
                    shape: *shape,
                    offset: slots.size(&place.offset),
                    strides: slots.sizes(&place.strides),
                }),
            };
            body.push(Inst { op, dtype: *dtype });
        }
        let (mut outputs, mut reduces) = (Vec::new(), Vec::<Reduce>::new());
        for output in &self.outputs {
            let access = slots.access(output.buffer, &output.address);
            if let Some(combine) = output.combine {
                let repeated = output.address.strides[0].is_zero() && self.dims[0].as_fixed() != Some(1);
                let partial = repeated || !output.address.dynamic.is_empty();
                reduces.push(Reduce {
                    slot: access.slot,
                    combine,
                    partial,
                });
            }
            outputs.push(KernelOutput {
                access,
                value: output.value,
                combine: output.combine,
            });
        }
        let storage = slots.buffers.iter().map(|buffer| stored(*buffer)).collect();
        let launch = Launch {
            kernel: 0,
            buffers: slots.buffers,
            ints: slots.ints,
            outer: self.dims[0].to_amount(),
            work: self.work().to_amount(),
            reduces,
        };
        (
            Kernel {
                name,
                dims,
                slots: storage,
                body,
                outputs,
            },
            launch,
        )
    }
}

/// Returns the operands of an instruction.
fn operands(op: &mut BodyOp) -> Vec<&mut InstId> {
    match op {
        BodyOp::Const(_) | BodyOp::Index(_) => Vec::new(),
        BodyOp::Load(_, place) => place.dynamic.iter_mut().map(|(index, ..)| index).collect(),
        BodyOp::Apply(_, args) => args.iter_mut().collect(),
        BodyOp::Noise(_, _, coordinates, shape, place) => coordinates
            .iter_mut()
            .chain(shape)
            .chain(place.dynamic.iter_mut().map(|(index, ..)| index))
            .collect(),
    }
}

/// The buffers and integers that a kernel uses, by slot.
#[derive(Default)]
struct Slots {
    buffers: Vec<BufferId>,
    ints: Vec<Amount>,
}

impl Slots {
    fn size(&mut self, polynomial: &SizePolynomial) -> LoopSize {
        match polynomial.as_fixed() {
            Some(number) => LoopSize::Fixed(number),
            None => self.slot(polynomial.to_amount()),
        }
    }

    fn sizes(&mut self, polynomials: &[SizePolynomial]) -> Vec<LoopSize> {
        polynomials
            .iter()
            .map(|polynomial| self.size(polynomial))
            .collect()
    }

    fn slot(&mut self, amount: Amount) -> LoopSize {
        let known = self.ints.iter().position(|known| *known == amount);
        let slot = known.unwrap_or_else(|| {
            self.ints.push(amount);
            self.ints.len() - 1
        });
        LoopSize::Slot(slot as u32)
    }

    fn access(&mut self, buffer: BufferId, place: &ElementPosition) -> Access {
        let known = self.buffers.iter().position(|known| *known == buffer);
        let slot = known.unwrap_or_else(|| {
            self.buffers.push(buffer);
            self.buffers.len() - 1
        });
        let (offset, strides) = (self.size(&place.offset), self.sizes(&place.strides));
        let dynamic = place.dynamic.iter().map(|(index, stride, limit)| Dynamic {
            index: *index,
            stride: self.size(stride),
            limit: self.size(limit),
        });
        Access {
            slot: slot as u32,
            offset,
            strides,
            dynamic: dynamic.collect(),
        }
    }
}

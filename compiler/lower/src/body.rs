//! Evaluates tensors at the points of a kernel's domain. Index maps are composed into the addresses
//! of loads, and equal instructions are merged.

use crate::polynomial::{SizePolynomial, row_major};
use crate::tensor::{Coordinate, TensorDef, TensorId, Tensors};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Id;
use bnnc_base::diagnostics::OTHER_BACKEND;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Dim;
use bnnc_loops::ir::InstId;
use bnnc_math::scalar::Scalar;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A position along one axis of a tensor, or in a buffer. The position depends on the point of the
/// domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementPosition {
    /// The position at the origin of the domain.
    pub offset: SizePolynomial,
    /// The strides, one per axis of the domain.
    pub strides: Vec<SizePolynomial>,
    /// Computed positions. Each entry is an instruction, a stride and a limit.
    pub dynamic: Vec<(InstId, SizePolynomial, SizePolynomial)>,
}

impl ElementPosition {
    /// Returns the position that is always 0.
    pub fn zero(rank: usize) -> ElementPosition {
        ElementPosition {
            strides: vec![SizePolynomial::default(); rank],
            ..ElementPosition::default()
        }
    }

    /// Returns the position that equals the index of the point along one axis of the domain.
    pub fn axis(axis: usize, rank: usize) -> ElementPosition {
        let mut place = ElementPosition::zero(rank);
        place.strides[axis] = SizePolynomial::fixed(1);
        place
    }

    /// Adds `factor` times another position.
    pub fn add(&mut self, other: &ElementPosition, factor: &SizePolynomial) {
        if factor.is_zero() {
            return;
        }
        self.offset = self.offset.plus(&other.offset.times(factor));
        for (stride, more) in self.strides.iter_mut().zip(&other.strides) {
            if !more.is_zero() {
                *stride = stride.plus(&more.times(factor));
            }
        }
        let scaled = |(inst, stride, limit): &(InstId, SizePolynomial, SizePolynomial)| {
            (*inst, stride.times(factor), limit.clone())
        };
        self.dynamic.extend(other.dynamic.iter().map(scaled));
    }

    /// Returns whether the position is the same at all points: it depends neither on the axes of the
    /// domain nor on computed positions.
    pub fn is_fixed(&self) -> bool {
        self.dynamic.is_empty() && self.strides.iter().all(SizePolynomial::is_zero)
    }
}

/// An instruction, before the axes of the domain are collapsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BodyOp {
    /// A number, as the bits of an `f64`.
    Const(u64),
    /// The index along an axis of the domain.
    Index(usize),
    /// An element of a stored tensor.
    Load(TensorId, ElementPosition),
    /// A scalar operation.
    Apply(Scalar, Vec<InstId>),
    /// A random number. The fields are the distribution, the key, the coordinates, the shape
    /// parameter, and the position that gives the number of the element.
    Noise(NoiseKind, i64, [InstId; 3], Option<InstId>, ElementPosition),
}

/// Returns the axes of a kernel's domain: the axes of a shape whose size is not 1.
pub fn domain(dims: &[Dim]) -> Vec<Dim> {
    dims.iter().copied().filter(|dim| *dim != Dim::Fixed(1)).collect()
}

/// Returns, for a point in the domain of a shape, the positions along the axes of the shape.
pub fn identity(dims: &[Dim]) -> Vec<ElementPosition> {
    let rank = domain(dims).len();
    let mut next = 0;
    let mut place = |dim: &Dim| {
        if *dim == Dim::Fixed(1) {
            return ElementPosition::zero(rank);
        }
        next += 1;
        ElementPosition::axis(next - 1, rank)
    };
    dims.iter().map(&mut place).collect()
}

/// The index of an interned list of positions, one for each axis of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point(u32);

/// A body under construction.
pub struct BodyBuilder<'a> {
    tensors: &'a Tensors,
    stored: &'a [bool],
    rank: usize,
    /// The instructions, in evaluation order.
    pub insts: Vec<(BodyOp, DType)>,
    /// The stored tensors that the body evaluates itself and does not load.
    pub inlined: Vec<TensorId>,
    interned: FxHashMap<(BodyOp, DType), InstId>,
    points: Vec<Rc<[ElementPosition]>>,
    numbers: FxHashMap<Rc<[ElementPosition]>, Point>,
    memo: FxHashMap<(TensorId, Point), InstId>,
    registers: FxHashMap<(TensorId, ElementPosition), InstId>,
}

impl<'a> BodyBuilder<'a> {
    /// Creates an empty body over a domain of this rank.
    pub fn new(tensors: &'a Tensors, stored: &'a [bool], rank: usize) -> BodyBuilder<'a> {
        BodyBuilder {
            tensors,
            stored,
            rank,
            insts: Vec::new(),
            inlined: Vec::new(),
            interned: FxHashMap::default(),
            points: Vec::new(),
            numbers: FxHashMap::default(),
            memo: FxHashMap::default(),
            registers: FxHashMap::default(),
        }
    }

    /// Returns the point with these positions.
    pub fn point(&mut self, places: Vec<ElementPosition>) -> Point {
        if let Some(point) = self.numbers.get(places.as_slice()) {
            return *point;
        }
        let (point, places): (Point, Rc<[ElementPosition]>) =
            (Point(self.points.len() as u32), places.into());
        self.points.push(places.clone());
        self.numbers.insert(places, point);
        point
    }

    /// Records that this kernel stores the value of an instruction at the position `address` of a
    /// tensor.
    pub fn register(&mut self, tensor: TensorId, address: ElementPosition, inst: InstId) {
        self.registers.insert((tensor, address), inst);
    }

    fn push(&mut self, op: BodyOp, dtype: DType) -> InstId {
        let op = self.folded(op, dtype);
        let next = InstId(self.insts.len() as u32);
        let inst = *self.interned.entry((op.clone(), dtype)).or_insert(next);
        if inst == next {
            self.insts.push((op, dtype));
        }
        inst
    }

    /// Computes a scalar operation now if its operands are real constants.
    fn folded(&self, op: BodyOp, dtype: DType) -> BodyOp {
        let BodyOp::Apply(scalar, args) = &op else {
            return op;
        };
        let number = |arg: &InstId| match self.insts[arg.0 as usize] {
            (BodyOp::Const(bits), DType::Real) => Some(f64::from_bits(bits)),
            _ => None,
        };
        let numbers: Option<Vec<f64>> = args.iter().map(number).collect();
        match numbers {
            Some(numbers) if dtype == DType::Real => BodyOp::Const(scalar.eval(&numbers).to_bits()),
            _ => op,
        }
    }

    /// Evaluates the definition of a tensor at a point, even if the tensor is stored in memory. A
    /// point has one position per axis.
    pub fn define(&mut self, id: TensorId, point: Point) -> Result<InstId, Fault> {
        let tensors = self.tensors;
        let tensor = &tensors[id];
        let places = self.points[point.0 as usize].clone();
        let inst = match &tensor.kind {
            TensorDef::Const(number) => return Ok(self.push(BodyOp::Const(number.to_bits()), tensor.dtype)),
            TensorDef::Index(axis) => self.linear(&places[*axis])?,
            TensorDef::Noise {
                kind,
                key,
                coordinates,
                shape,
                strides,
            } => {
                let mut element = ElementPosition::zero(self.rank);
                places
                    .iter()
                    .zip(strides)
                    .for_each(|(place, stride)| element.add(place, stride));
                if !element.dynamic.is_empty() {
                    return Err(Fault::Bug(
                        "noise at a computed position is not stored first".to_owned(),
                    ));
                }
                let mut numbers = [InstId(0); 3];
                for (number, coordinate) in numbers.iter_mut().zip(coordinates) {
                    *number = self.value(*coordinate, point)?;
                }
                let shape = shape.map(|shape| self.value(shape, point)).transpose()?;
                self.push(BodyOp::Noise(*kind, *key, numbers, shape, element), tensor.dtype)
            }
            TensorDef::Apply(scalar, args) => {
                let args: Result<Vec<InstId>, Fault> =
                    args.iter().map(|arg| self.value(*arg, point)).collect();
                self.push(BodyOp::Apply(*scalar, args?), tensor.dtype)
            }
            TensorDef::View(arg, at) => {
                let places = self.compose(*arg, at, point)?;
                let inner = self.point(places);
                self.value(*arg, inner)?
            }
            TensorDef::Flat(arg) => {
                let address = address(&tensor.dims, &places, self.rank);
                return Ok(self.load(*arg, address));
            }
            TensorDef::Buffer(_) | TensorDef::Assembled { .. } | TensorDef::Call(_) | TensorDef::Loop(_) => {
                return Ok(self.load(id, address(&tensor.dims, &places, self.rank)));
            }
        };
        self.inlined.push(id);
        Ok(inst)
    }

    /// Returns the value of a tensor at a point. A point has one position per axis. If the tensor
    /// is stored, the value is loaded.
    pub fn value(&mut self, id: TensorId, point: Point) -> Result<InstId, Fault> {
        if let Some(inst) = self.memo.get(&(id, point)) {
            return Ok(*inst);
        }
        let inst = if self.stored[id.index()] {
            let address = address(&self.tensors[id].dims, &self.points[point.0 as usize], self.rank);
            self.load(id, address)
        } else {
            self.define(id, point)?
        };
        self.memo.insert((id, point), inst);
        Ok(inst)
    }

    fn load(&mut self, id: TensorId, address: ElementPosition) -> InstId {
        let key = (id, address);
        match self.registers.get(&key) {
            Some(inst) => *inst,
            None => self.push(BodyOp::Load(id, key.1), self.tensors[id].dtype),
        }
    }

    /// Composes coordinates with a point. The coordinates `at` of `arg` are functions of the
    /// indices along some axes, and `point` has the positions along these axes. The result has the
    /// positions along the axes of `arg`. The position along an axis of size 1 is always 0.
    pub fn compose(
        &mut self,
        arg: TensorId,
        at: &[Coordinate],
        point: Point,
    ) -> Result<Vec<ElementPosition>, Fault> {
        let tensors = self.tensors;
        let places = self.points[point.0 as usize].clone();
        let mut composed = Vec::new();
        for (coordinate, dim) in at.iter().zip(&tensors[arg].dims) {
            let mut place = ElementPosition::zero(self.rank);
            if *dim != Dim::Fixed(1) {
                place.offset = coordinate.offset.clone();
                coordinate
                    .terms
                    .iter()
                    .for_each(|(axis, stride)| place.add(&places[*axis], stride));
                if let Some(index) = coordinate.dynamic {
                    let index = self.value(index, point)?;
                    place
                        .dynamic
                        .push((index, SizePolynomial::fixed(1), SizePolynomial::of(*dim)));
                }
            }
            composed.push(place);
        }
        Ok(composed)
    }

    /// Returns a position as an integer instruction. Fails if a stride depends on symbolic sizes.
    fn linear(&mut self, place: &ElementPosition) -> Result<InstId, Fault> {
        let number = |polynomial: &SizePolynomial| {
            let limit = || {
                Fault::limit(
                    &OTHER_BACKEND,
                    "a position with a symbolic stride is used as a number".to_owned(),
                )
            };
            polynomial.as_fixed().ok_or_else(limit)
        };
        if !place.dynamic.is_empty() {
            return Err(Fault::Bug(
                "positions at a computed position are not stored first".to_owned(),
            ));
        }
        let mut sum: Option<InstId> = None;
        for (axis, stride) in place
            .strides
            .iter()
            .enumerate()
            .filter(|(_, stride)| !stride.is_zero())
        {
            let index = self.push(BodyOp::Index(axis), DType::Int);
            let term = match number(stride)? {
                1 => index,
                stride => {
                    let stride = self.push(BodyOp::Const((stride as f64).to_bits()), DType::Int);
                    self.push(BodyOp::Apply(Scalar::Mul, vec![index, stride]), DType::Int)
                }
            };
            sum = Some(match sum {
                Some(sum) => self.push(BodyOp::Apply(Scalar::Add, vec![sum, term]), DType::Int),
                None => term,
            });
        }
        let offset = number(&place.offset)?;
        match sum {
            Some(sum) if offset == 0 => Ok(sum),
            sum => {
                let offset = self.push(BodyOp::Const((offset as f64).to_bits()), DType::Int);
                let add = |sum| self.push(BodyOp::Apply(Scalar::Add, vec![sum, offset]), DType::Int);
                Ok(sum.map_or(offset, add))
            }
        }
    }
}

/// Returns the position of an element in a row-major buffer, given the positions along the axes of
/// the buffer.
pub fn address(dims: &[Dim], places: &[ElementPosition], rank: usize) -> ElementPosition {
    let mut address = ElementPosition::zero(rank);
    for (place, stride) in places.iter().zip(row_major(dims)) {
        address.add(place, &stride);
    }
    address
}

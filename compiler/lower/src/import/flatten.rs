//! Reshapes that merge axes, carried into what they are applied to.
//!
//! Note [Merged axes]. No index map merges axes, for that divides. But elementwise operations may as well be carried out on
//! the merged axes, and loads and noise that walk through the axes as one have a stride along the merged one. So a tensor with
//! elements for every draw of a divergence, which must not be stored, is made over the merged axes instead.

use super::Import;
use crate::polynomial::SizePolynomial;
use crate::tensor::{Coordinate, Kind, TensorId};
use bnnc_base::shape::{Dim, Symbol};
use std::collections::HashMap;

/// For each axis of a tensor, the axis that it becomes a part of; the axes that there are then.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Merge {
    into: Vec<usize>,
    dims: Vec<Dim>,
}

/// Tensors over merged axes, as far as there are any.
type Known = HashMap<(TensorId, Merge), Option<TensorId>>;

impl Import<'_> {
    /// A tensor over merged axes, where it is made for every draw and no part of it forbids.
    pub(super) fn flattened(&mut self, arg: TensorId, dims: &[Dim]) -> Option<TensorId> {
        let inner = self.dims(arg);
        if !inner.contains(&Dim::Symbol(Symbol::KlDraws)) {
            return None;
        }
        self.merged(arg, &merge(&inner, dims)?, &mut Known::new())
    }

    fn merged(&mut self, id: TensorId, merge: &Merge, known: &mut Known) -> Option<TensorId> {
        let key = (id, merge.clone());
        if let Some(found) = known.get(&key) {
            return *found;
        }
        let found = self.merge_kind(id, merge, known);
        known.insert(key, found);
        found
    }

    fn merge_kind(&mut self, id: TensorId, merge: &Merge, known: &mut Known) -> Option<TensorId> {
        let tensor = self.tensors[id].clone();
        let kind = match tensor.kind {
            Kind::Const(number) => Kind::Const(number),
            Kind::Index(axis) => Kind::Index(merge.alone(axis)?),
            Kind::Noise {
                kind,
                key,
                coordinates,
                shape,
                strides,
            } => {
                let mut numbers = coordinates;
                for number in &mut numbers {
                    *number = self.merged(*number, merge, known)?;
                }
                Kind::Noise {
                    kind,
                    key,
                    coordinates: numbers,
                    shape: match shape {
                        Some(shape) => Some(self.merged(shape, merge, known)?),
                        None => None,
                    },
                    strides: merge.strides(&tensor.dims, &strides)?,
                }
            }
            Kind::Apply(scalar, args) => {
                let args: Option<Vec<TensorId>> =
                    args.iter().map(|arg| self.merged(*arg, merge, known)).collect();
                Kind::Apply(scalar, args?)
            }
            Kind::View(arg, at) => self.merge_view(arg, &at, (&tensor.dims, merge), known)?,
            Kind::Flat(base) => Kind::Flat(base),
            Kind::Buffer(_) | Kind::Assembled { .. } | Kind::Call(_) | Kind::Loop(_) => Kind::Flat(id),
        };
        Some(self.push(kind, &merge.dims, tensor.dtype))
    }

    /// An index map over merged axes: coordinates along one of them, or axes of the operand that are merged likewise.
    fn merge_view(
        &mut self,
        arg: TensorId,
        at: &[Coordinate],
        (dims, merge): (&[Dim], &Merge),
        known: &mut Known,
    ) -> Option<Kind> {
        let inner = self.dims(arg);
        let mut below = Merge {
            into: Vec::new(),
            dims: Vec::new(),
        };
        let mut coordinates = Vec::new();
        let mut axis = 0;
        while axis < inner.len() {
            let mut length = 1;
            match merge.coordinate(dims, &at[axis]) {
                Some(mut coordinate) => {
                    if let Some(position) = coordinate.dynamic {
                        coordinate.dynamic = Some(self.merged(position, merge, known)?);
                    }
                    coordinates.push(coordinate);
                    below.dims.push(inner[axis]);
                }
                None => {
                    let (into, parts) = merge.run(dims, (&inner[axis..], &at[axis..]))?;
                    length = parts;
                    coordinates.push(Coordinate::axis(into));
                    below.dims.push(merge.dims[into]);
                }
            }
            below.into.extend((0..length).map(|_| below.dims.len() - 1));
            axis += length;
        }
        let arg = match below.dims == inner {
            true => arg,
            false => self.merged(arg, &below, known)?,
        };
        Some(Kind::View(arg, coordinates))
    }
}

/// How axes are merged to come to others; `None` where they are not.
fn merge(inner: &[Dim], dims: &[Dim]) -> Option<Merge> {
    let one = Dim::Fixed(1);
    let mut into = Vec::new();
    let mut axis = 0;
    for (at, dim) in dims.iter().enumerate().filter(|(_, dim)| **dim != one) {
        let mut product = SizePolynomial::fixed(1);
        while product != SizePolynomial::of(*dim) {
            product = product.times(&SizePolynomial::of(*inner.get(axis)?));
            into.push(at);
            axis += 1;
        }
    }
    let rest = inner.get(axis..)?;
    let last = dims.len().checked_sub(1)?;
    into.extend(rest.iter().map(|_| last));
    rest.iter().all(|dim| *dim == one).then(|| Merge {
        into,
        dims: dims.to_vec(),
    })
}

impl Merge {
    /// The axes that become a part of one, but for those of size 1.
    fn members<'a>(&'a self, dims: &'a [Dim], into: usize) -> impl Iterator<Item = usize> + 'a {
        let axes = self.into.iter().zip(dims).enumerate();
        axes.filter(move |(_, (to, dim))| **to == into && **dim != Dim::Fixed(1))
            .map(|(axis, _)| axis)
    }

    /// What an axis becomes that is merged with no other.
    fn alone(&self, axis: usize) -> Option<usize> {
        let into = self.into[axis];
        let others = self.into.iter().filter(|to| **to == into).count();
        (others == 1).then_some(into)
    }

    /// The stride along each axis, where these walk through the merged axes as one.
    fn strides(&self, dims: &[Dim], strides: &[SizePolynomial]) -> Option<Vec<SizePolynomial>> {
        let along = |into: usize| {
            let members: Vec<usize> = self.members(dims, into).collect();
            let as_one = members
                .windows(2)
                .all(|pair| strides[pair[0]] == strides[pair[1]].times(&SizePolynomial::of(dims[pair[1]])));
            let stride = members.last().map(|last| strides[*last].clone());
            as_one.then(|| stride.unwrap_or_default())
        };
        (0..self.dims.len()).map(along).collect()
    }

    /// A coordinate over the axes; its computed position is not looked at.
    fn coordinate(&self, dims: &[Dim], coordinate: &Coordinate) -> Option<Coordinate> {
        let mut strides = vec![SizePolynomial::default(); dims.len()];
        for (axis, stride) in &coordinate.terms {
            strides[*axis] = strides[*axis].plus(stride);
        }
        let merged = self.strides(dims, &strides)?.into_iter().enumerate();
        Some(Coordinate {
            offset: coordinate.offset.clone(),
            terms: merged.filter(|(_, stride)| !stride.is_zero()).collect(),
            dynamic: coordinate.dynamic,
        })
    }

    /// The merged axis of which an operand has all parts in order, one coordinate each, from its first axis on; and how many
    /// axes of the operand these are.
    fn run(&self, dims: &[Dim], (inner, at): (&[Dim], &[Coordinate])) -> Option<(usize, usize)> {
        let [(axis, _)] = at.first()?.terms.as_slice() else {
            return None;
        };
        let into = self.into[*axis];
        let mut length = 0;
        for axis in self.members(dims, into) {
            length += inner
                .get(length..)?
                .iter()
                .position(|dim| *dim != Dim::Fixed(1))?;
            let is_same = inner[length] == dims[axis] && at[length] == Coordinate::axis(axis);
            if !is_same {
                return None;
            }
            length += 1;
        }
        Some((into, length))
    }
}

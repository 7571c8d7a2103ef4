//! Moves reshapes that merge axes into the computation of their operands.
//!
//! Note [Merged axes]. An index map cannot merge axes, because this needs division. Instead,
//! elementwise ops can be computed over the merged axes. A load or noise has a stride along the
//! merged axis if a single stride leads through all axes that are merged. A tensor with elements
//! for every draw of a divergence must not be stored, so it is computed over the merged axes.

use super::Import;
use crate::polynomial::SizePolynomial;
use crate::tensor::{Coordinate, TensorDef, TensorId};
use bnnc_base::shape::{Dim, Symbol};
use std::collections::HashMap;

/// A merge of axes: for each axis of a tensor, the merged axis that contains it, and the sizes of
/// the merged axes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Merge {
    into: Vec<usize>,
    dims: Vec<Dim>,
}

/// The results of earlier attempts to compute a tensor over merged axes.
type Known = HashMap<(TensorId, Merge), Option<TensorId>>;

impl Import<'_> {
    /// Returns `arg`, computed over the axes `dims`. Each of these axes merges some axes of `arg`.
    /// Returns `None` if `arg` does not have an axis of KL draws, or if the axes of `arg` or of an
    /// operand cannot be merged.
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
            TensorDef::Const(number) => TensorDef::Const(number),
            TensorDef::Index(axis) => TensorDef::Index(merge.alone(axis)?),
            TensorDef::Noise {
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
                TensorDef::Noise {
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
            TensorDef::Apply(scalar, args) => {
                let args: Option<Vec<TensorId>> =
                    args.iter().map(|arg| self.merged(*arg, merge, known)).collect();
                TensorDef::Apply(scalar, args?)
            }
            TensorDef::View(arg, at) => self.merge_view(arg, &at, (&tensor.dims, merge), known)?,
            TensorDef::Flat(base) => TensorDef::Flat(base),
            TensorDef::Buffer(_) | TensorDef::Assembled { .. } | TensorDef::Call(_) | TensorDef::Loop(_) => {
                TensorDef::Flat(id)
            }
        };
        Some(self.push(kind, &merge.dims, tensor.dtype))
    }

    /// Returns an index map over merged axes. Each coordinate depends on a merged axis, or the axes
    /// of the operand are merged in the same way.
    fn merge_view(
        &mut self,
        arg: TensorId,
        at: &[Coordinate],
        (dims, merge): (&[Dim], &Merge),
        known: &mut Known,
    ) -> Option<TensorDef> {
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
        Some(TensorDef::View(arg, coordinates))
    }
}

/// Returns the merge of axes that results in the axes `dims`. Returns `None` if no such merge
/// exists.
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
    /// Returns the axes that are merged into the axis `into`. Axes of size 1 are left out.
    fn members<'a>(&'a self, dims: &'a [Dim], into: usize) -> impl Iterator<Item = usize> + 'a {
        let axes = self.into.iter().zip(dims).enumerate();
        axes.filter(move |(_, (to, dim))| **to == into && **dim != Dim::Fixed(1))
            .map(|(axis, _)| axis)
    }

    /// Returns the new position of an axis. Returns `None` if the axis is merged with another axis.
    fn alone(&self, axis: usize) -> Option<usize> {
        let into = self.into[axis];
        let others = self.into.iter().filter(|to| **to == into).count();
        (others == 1).then_some(into)
    }

    /// Returns the stride along each merged axis. Returns `None` if no single stride leads through
    /// all parts of a merged axis.
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

    /// Returns a coordinate as a function of the merged axes. A computed position is not changed.
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

    /// Looks for a merged axis whose parts index the first axes of an operand, one each and in
    /// order. Returns the merged axis and the number of its parts.
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

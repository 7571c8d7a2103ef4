//! Converts ops that move elements. The result is an index map if possible, and otherwise a part of
//! an assembled tensor.

use super::{Import, Site};
use crate::polynomial::{SizePolynomial, row_major};
use crate::tensor::{AssembledPart, Coordinate, TensorDef, TensorId};
use bnnc_abi::plan::Combine;
use bnnc_base::shape::Dim;
use bnnc_graph::ops;

impl Import<'_> {
    pub(super) fn concat(&mut self, site: &Site) -> TensorId {
        let axis = ops::concat::axis(site.attrs) as usize;
        let mut start = 0;
        let mut parts = Vec::new();
        for arg in &site.args {
            let mut to = Coordinate::axes(0..site.ty.rank());
            to[axis].offset = SizePolynomial::fixed(start);
            parts.push(AssembledPart {
                value: *arg,
                to,
                combine: None,
            });
            start += self.tensors[*arg].dims[axis]
                .fixed()
                .map_or(0, |size| size as i64);
        }
        self.push(
            TensorDef::Assembled {
                parts,
                ordered: false,
            },
            site.ty.dims(),
            site.ty.dtype,
        )
    }

    pub(super) fn gather(&mut self, site: &Site) -> TensorId {
        let axis = ops::gather::axis(site.attrs) as usize;
        let at = self.picked(site.args[1], axis, site.ty.dims());
        self.view(site.args[0], at, site.ty.dims())
    }

    pub(super) fn scatter(&mut self, site: &Site) -> TensorId {
        let axis = ops::scatter_add::axis(site.attrs) as usize;
        let (index, updates) = (site.args[0], site.args[1]);
        let to = self.picked(index, axis, &self.dims(updates));
        self.assembled(updates, to, Some(Combine::Sum), site.ty.dims())
    }

    /// Returns the coordinates of the elements that the positions `index` pick along `axis`. They are
    /// functions of the axes `dims`: the axes of the elements, with the axes of `index` in place of `axis`.
    pub fn picked(&mut self, index: TensorId, axis: usize, dims: &[Dim]) -> Vec<Coordinate> {
        let after = axis + self.tensors[index].dims.len();
        let index = self.view(index, Coordinate::axes(axis..after), dims);
        let mut at = Coordinate::axes(0..axis);
        at.push(Coordinate::computed(index));
        at.extend(Coordinate::axes(after..dims.len()));
        at
    }

    pub(super) fn pad(&mut self, site: &Site) -> TensorId {
        let (arg, dims) = (site.args[0], site.ty.dims());
        let (low, interior) = (ops::pad::low(site.attrs), ops::pad::interior(site.attrs));
        if self.tensors[arg].dims == dims {
            return arg;
        }
        let window = low.iter().zip(interior).enumerate();
        let to = window
            .map(|(axis, (low, gap))| Coordinate::strided(axis, *low, gap + 1))
            .collect();
        self.placed(arg, to, site.ty)
    }

    pub(super) fn reduce(&mut self, arg: TensorId, axes: &[usize], combine: Combine) -> TensorId {
        let inner = self.dims(arg);
        let kept: Vec<usize> = (0..inner.len()).filter(|axis| !axes.contains(axis)).collect();
        let dims: Vec<Dim> = kept.iter().map(|axis| inner[*axis]).collect();
        if axes.iter().all(|axis| inner[*axis] == Dim::Fixed(1)) {
            return self.reshape(arg, &dims);
        }
        let to = kept.into_iter().map(Coordinate::axis).collect();
        self.assembled(arg, to, Some(combine), &dims)
    }

    /// Returns an index map if each axis of the operand is split into consecutive axes of the
    /// result. Otherwise, the operand is stored in memory.
    pub(super) fn reshape(&mut self, arg: TensorId, dims: &[Dim]) -> TensorId {
        let inner = self.dims(arg);
        if inner == dims {
            return arg;
        }
        if let Some(at) = split(&inner, dims) {
            return self.view(arg, at, dims);
        }
        if let Some(flat) = self.flattened(arg, dims) {
            return flat;
        }
        let kind = match self.tensors[arg].kind {
            TensorDef::Const(number) => TensorDef::Const(number),
            TensorDef::Flat(base) => TensorDef::Flat(base),
            _ => TensorDef::Flat(arg),
        };
        self.push(kind, dims, self.tensors[arg].dtype)
    }
}

/// Returns the coordinate of each axis of `inner`. Returns `None` if one of these axes is not split
/// into consecutive axes of `outer`.
fn split(inner: &[Dim], outer: &[Dim]) -> Option<Vec<Coordinate>> {
    let one = Dim::Fixed(1);
    let mut next = 0;
    let mut coordinates = Vec::new();
    for dim in inner {
        if *dim == one {
            coordinates.push(Coordinate::default());
            continue;
        }
        let start = next;
        let mut product = SizePolynomial::fixed(1);
        while product != SizePolynomial::of(*dim) {
            product = product.times(&SizePolynomial::of(*outer.get(next)?));
            next += 1;
        }
        let strides = row_major(&outer[start..next]);
        let terms = strides
            .into_iter()
            .enumerate()
            .map(|(at, stride)| (start + at, stride));
        let terms = terms.filter(|(_, stride)| !stride.is_zero()).collect();
        coordinates.push(Coordinate {
            terms,
            ..Coordinate::default()
        });
    }
    outer[next..].iter().all(|dim| *dim == one).then_some(coordinates)
}

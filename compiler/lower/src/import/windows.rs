//! Converts windows over axes to strided reads, and sums of overlapping windows to sums of
//! elements.
//!
//! Note \[Overlapping windows\]. Element `i` of `overlap_add` is a sum over the positions `k` in a
//! window. The term for `k` is element `k` of the window with the number `(i - k) / stride`, if
//! this window exists. An index map can neither divide nor skip positions. The windows are
//! therefore padded with zeros along the axis of window positions. Zeros are added at both ends,
//! where no windows exist, and between neighbouring windows, which are `stride` apart. With this
//! padding, `i - k` plus the padding at the beginning is a position. One kernel computes each
//! element of the result. The order of the sum is always the same, however the work is split
//! between threads.

use super::{Import, Site, movement};
use crate::polynomial::SizePolynomial;
use crate::tensor::{AssembledPart, Coordinate, TensorDef, TensorId};
use bnnc_abi::plan::Combine;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::ops;
use bnnc_graph::types::Type;

impl Import<'_> {
    /// Converts the windows of a tensor to strided reads of this tensor.
    pub(super) fn patches(&mut self, site: &Site) -> TensorId {
        let strides = ops::patches::strides(site.attrs);
        let first = self.dims(site.args[0]).len() - strides.len();
        let mut at: Vec<Coordinate> = (0..first).map(Coordinate::axis).collect();
        at.extend(window(first, strides));
        self.view(site.args[0], at, site.ty.dims())
    }

    /// Converts sums of windows; see Note \[Overlapping windows\]. If windows do not overlap, each
    /// element is written to its place.
    pub(super) fn overlap_add(&mut self, site: &Site) -> TensorId {
        let (parts, strides) = (self.dims(site.args[0]), ops::overlap_add::strides(site.attrs));
        let first = site.ty.rank() - strides.len();
        let fits = |at: usize| {
            parts[first + at]
                .fixed()
                .is_some_and(|size| size as i64 <= strides[at])
        };
        if !(0..strides.len()).all(fits) {
            let padded = self.padded_windows(site.args[0], first, strides);
            return self.summed_windows(padded, first, site.ty.dims());
        }
        let mut to: Vec<Coordinate> = (0..first).map(Coordinate::axis).collect();
        to.extend(window(first, strides));
        self.placed(site.args[0], to, site.ty)
    }

    /// Pads windows with zeros around and between their positions.
    fn padded_windows(&mut self, arg: TensorId, first: usize, strides: &[i64]) -> TensorId {
        let mut dims = self.dims(arg);
        let mut to: Vec<Coordinate> = (0..first + strides.len()).map(Coordinate::axis).collect();
        for (at, stride) in strides.iter().enumerate() {
            let (size, axis) = (dims[first + at].fixed().unwrap_or(1), first + strides.len() + at);
            let count = dims[axis].fixed().unwrap_or(1);
            dims[axis] = Dim::Fixed((count - 1) * *stride as usize + 2 * size - 1);
            to.push(movement::strided(axis, size as i64 - 1, *stride));
        }
        let ty = Type::real(Shape(dims));
        self.placed(arg, to, &ty)
    }

    /// Sums padded windows over the positions in a window.
    fn summed_windows(&mut self, padded: TensorId, first: usize, dims: &[Dim]) -> TensorId {
        let (windows, count) = (self.dims(padded), dims.len() - first);
        let mut domain = windows[..first + count].to_vec();
        domain.extend(&dims[first..]);
        let mut at: Vec<Coordinate> = (0..first + count).map(Coordinate::axis).collect();
        for (axis, window) in windows.iter().enumerate().skip(first).take(count) {
            let size = window.fixed().unwrap_or(1) as i64;
            at.push(Coordinate {
                offset: SizePolynomial::fixed(size - 1),
                terms: vec![
                    (axis + count, SizePolynomial::fixed(1)),
                    (axis, SizePolynomial::fixed(-1)),
                ],
                dynamic: None,
            });
        }
        let shifted = self.view(padded, at, &domain);
        let axes: Vec<usize> = (first..first + count).collect();
        self.reduce(shifted, &axes, Combine::Sum)
    }

    /// Places the elements of a tensor between zeros. If no zeros are added, the tensor is copied.
    pub(super) fn placed(&mut self, arg: TensorId, to: Vec<Coordinate>, ty: &Type) -> TensorId {
        let part = |value: TensorId, to: Vec<Coordinate>| AssembledPart {
            value,
            to,
            combine: None,
        };
        if SizePolynomial::product(&self.dims(arg)) == SizePolynomial::product(ty.dims()) {
            let parts = vec![part(arg, to)];
            return self.push(
                TensorDef::Assembled {
                    parts,
                    ordered: false,
                },
                ty.dims(),
                ty.dtype,
            );
        }
        let zeros = self.push(TensorDef::Const(0.0), ty.dims(), ty.dtype);
        let everywhere = (0..ty.rank()).map(Coordinate::axis).collect();
        let parts = vec![part(zeros, everywhere), part(arg, to)];
        self.push(TensorDef::Assembled { parts, ordered: true }, ty.dims(), ty.dtype)
    }
}

/// Returns the coordinates of the elements of windows. A coordinate is the position in a window
/// plus `stride` times the number of the window.
fn window(first: usize, strides: &[i64]) -> impl Iterator<Item = Coordinate> {
    let count = strides.len();
    strides.iter().enumerate().map(move |(at, stride)| Coordinate {
        terms: vec![
            (first + at, SizePolynomial::fixed(1)),
            (first + count + at, SizePolynomial::fixed(*stride)),
        ],
        ..Coordinate::default()
    })
}

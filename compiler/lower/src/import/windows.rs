//! Replaces windows by strided reads, and sums of overlapping windows by sums of elements.
//!
//! Note \[Overlapping windows\]. Element `i` of `overlap_add` is a sum over the positions `k` in a window. The term for `k` is element `k` of the
//! window with the number `(i - k) / stride`, if this window exists. An index map can neither divide nor skip positions. Windows of zeros are
//! therefore added along the axis of windows: at both ends, where no windows exist, and between neighbouring windows, which are `stride` apart.
//! With this padding, `i - k` plus the padding at the beginning is a position along this axis. One kernel computes each
//! element of the result. The order of the sum does not depend on how the work is split between threads.
//!
//! Note \[Sums of windows as products\]. The derivative of a convolution with respect to its image is a sum of windows. These windows are
//! `contract(kernel, dy)`. With a stride of one, the derivative is also the convolution of the reversed kernel with `dy`, after zeros were added
//! around `dy`. If products read windows in place, the convolution is faster, because neither the windows nor their padded copy are stored. If the
//! image was padded, only a part of the result is used, and only this part is computed. This also applies to depthwise convolutions, which are
//! multiplications and not calls of a matrix product.

use super::{ContractionParts, Import, Site};
use crate::polynomial::SizePolynomial;
use crate::tensor::{AssembledPart, Coordinate, TensorDef, TensorId};
use bnnc_abi::plan::Combine;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// A contraction replaces sums of windows if it needs at most this many times as many operations as the contraction that
/// computes the windows.
const MORE: i64 = 3;

impl Import<'_> {
    /// Converts the windows of a tensor to strided reads of this tensor.
    pub(super) fn patches(&mut self, site: &Site) -> TensorId {
        let strides = ops::patches::strides(site.attrs);
        let first = self.dims(site.args[0]).len() - strides.len();
        let mut at = Coordinate::axes(0..first);
        at.extend(window(first, strides));
        self.view(site.args[0], at, site.ty.dims())
    }

    /// If a contraction computes the windows, returns another contraction that computes their sums. See Note \[Sums of windows as products\].
    /// Returns `None` if the windows are not the result of a contraction, or if the other contraction would need many more operations.
    fn convolved(&mut self, site: &Site) -> Option<TensorId> {
        let strides = ops::overlap_add::strides(site.attrs);
        let ContractionParts {
            labels: letters,
            args,
        } = self.contraction_of(site.args[0])?;
        let (count, first) = (strides.len(), site.ty.rank() - strides.len());
        let (kept, rest) = letters.result.split_at_checked(first)?;
        let (windows, positions) = rest.split_at_checked(count)?;
        let holds = |own: &[char], other: &[char]| {
            let all = |list: &[char], of: &[char]| of.iter().all(|letter| list.contains(letter));
            let none = |list: &[char], of: &[char]| !of.iter().any(|letter| list.contains(letter));
            all(own, windows) && none(own, positions) && all(other, positions) && none(other, windows)
        };
        let is_left = holds(&letters.left, &letters.right);
        if !self.options.views || strides.iter().any(|stride| *stride != 1) {
            return None;
        }
        if !is_left && !holds(&letters.right, &letters.left) {
            return None;
        }
        let result = [kept, positions].concat();
        let (windows, positions) = (windows.to_vec(), positions.to_vec());
        let (mut left, mut right) = ((letters.left.clone(), args[0]), (letters.right.clone(), args[1]));
        let (kernel, other) = if is_left {
            (&mut left, &mut right)
        } else {
            (&mut right, &mut left)
        };
        let sizes = self.dims(site.args[0])[first..first + count].to_vec();
        let sizes: Vec<usize> = sizes.iter().filter_map(|dim| dim.fixed()).collect();
        let whole = &site.ty.dims()[first..];
        let counts = [whole, &self.dims(site.args[0])[first + count..]].map(SizePolynomial::product);
        let [after, before] = counts.map(|count| count.as_fixed());
        if sizes.len() != count || after? > MORE * before? {
            return None;
        }
        kernel.1 = self.reversed(kernel, &windows);
        *other = self.windowed(other, (&windows, &sizes), (&positions, whole));
        let (left, right) = (left, right);
        let letters = ContractionLabels {
            left: left.0,
            right: right.0,
            result,
        };
        let sum = self.product(letters, [left.1, right.1], site.ty.dims());
        self.convolved.insert(sum);
        Some(sum)
    }

    /// Returns a tensor whose axes with these letters are reversed.
    fn reversed(&mut self, (letters, arg): &(Vec<char>, TensorId), windows: &[char]) -> TensorId {
        let dims = self.dims(*arg);
        let at = letters
            .iter()
            .zip(&dims)
            .enumerate()
            .map(|(axis, (letter, dim))| {
                match dim.fixed().filter(|size| windows.contains(letter) && *size > 1) {
                    Some(size) => Coordinate::strided(axis, size as i64 - 1, -1),
                    None => Coordinate::axis(axis),
                }
            });
        let at = at.collect();
        self.view(*arg, at, &dims)
    }

    /// Pads the axes of positions with zeros on both sides. Returns all windows over these axes, and the letters of the
    /// result.
    fn windowed(
        &mut self,
        (letters, arg): &(Vec<char>, TensorId),
        (windows, sizes): (&[char], &[usize]),
        (positions, whole): (&[char], &[Dim]),
    ) -> (Vec<char>, TensorId) {
        let position = |letter: char| positions.iter().position(|other| *other == letter);
        let mut padded = self.dims(*arg);
        let mut to = Coordinate::axes(0..padded.len());
        let mut order = Vec::new();
        for (axis, letter) in letters.iter().enumerate() {
            if let Some(at) = position(*letter) {
                if !order.contains(&windows[0]) {
                    order.extend(windows);
                }
                let around = sizes[at] - 1;
                padded[axis] = Dim::Fixed(padded[axis].fixed().unwrap_or(1) + 2 * around);
                to[axis] = Coordinate::strided(axis, around as i64, 1);
            }
            order.push(*letter);
        }
        let is_padded = sizes.iter().any(|size| *size > 1);
        let ty = Type::real(Shape(padded));
        let from = if is_padded {
            self.placed(*arg, to, &ty)
        } else {
            *arg
        };
        let place = |letter: char| order.iter().position(|other| *other == letter).unwrap_or(0);
        let coordinate = |letter: &char| match position(*letter) {
            Some(at) => Coordinate {
                terms: vec![
                    (place(windows[at]), SizePolynomial::fixed(1)),
                    (place(*letter), SizePolynomial::fixed(1)),
                ],
                ..Coordinate::default()
            },
            None => Coordinate::axis(place(*letter)),
        };
        let at = letters.iter().map(coordinate).collect();
        let size = |letter: &char| match windows.iter().position(|other| other == letter) {
            Some(at) => Dim::Fixed(sizes[at]),
            None => match position(*letter) {
                Some(at) => whole[at],
                None => letters
                    .iter()
                    .position(|other| other == letter)
                    .map_or(Dim::Fixed(1), |at| ty.dims()[at]),
            },
        };
        let dims: Vec<Dim> = order.iter().map(size).collect();
        let windows = self.view(from, at, &dims);
        (order, windows)
    }

    /// If a slice selects a part of a contraction that replaces sums of windows, computes only this part. Returns `None` for other slices.
    pub(super) fn part_of_convolved(&mut self, site: &Site) -> Option<TensorId> {
        let (starts, dims) = (ops::slice::starts(site.attrs), site.ty.dims());
        let arg = site.args[0];
        if !self.convolved.contains(&arg) || ops::slice::strides(site.attrs).iter().any(|stride| *stride != 1)
        {
            return None;
        }
        let ContractionParts {
            labels: letters,
            args,
        } = self.contraction_of(arg)?;
        let part = |import: &mut Self, own: &[char], arg: TensorId| {
            let mut inner = import.dims(arg);
            let mut at = Vec::new();
            for (axis, letter) in own.iter().enumerate() {
                let outer = letters.result.iter().position(|other| other == letter);
                let start = outer.map_or(0, |outer| starts[outer]);
                inner[axis] = outer.map_or(inner[axis], |outer| dims[outer]);
                at.push(Coordinate::strided(axis, start, 1));
            }
            import.view(arg, at, &inner)
        };
        let left = part(self, &letters.left, args[0]);
        let right = part(self, &letters.right, args[1]);
        Some(self.product(letters, [left, right], dims))
    }

    /// Converts sums of windows; see Note \[Overlapping windows\]. If windows do not overlap, each element is written to its place.
    pub(super) fn overlap_add(&mut self, site: &Site) -> TensorId {
        if let Some(sum) = self.convolved(site) {
            return sum;
        }
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
        let mut to = Coordinate::axes(0..first);
        to.extend(window(first, strides));
        self.placed(site.args[0], to, site.ty)
    }

    /// Adds windows of zeros around and between the windows.
    fn padded_windows(&mut self, arg: TensorId, first: usize, strides: &[i64]) -> TensorId {
        let mut dims = self.dims(arg);
        let mut to = Coordinate::axes(0..first + strides.len());
        for (at, stride) in strides.iter().enumerate() {
            let (size, axis) = (dims[first + at].fixed().unwrap_or(1), first + strides.len() + at);
            let count = dims[axis].fixed().unwrap_or(1);
            dims[axis] = Dim::Fixed((count - 1) * *stride as usize + 2 * size - 1);
            to.push(Coordinate::strided(axis, size as i64 - 1, *stride));
        }
        let ty = Type::real(Shape(dims));
        self.placed(arg, to, &ty)
    }

    /// For padded windows, sums over the positions in a window.
    fn summed_windows(&mut self, padded: TensorId, first: usize, dims: &[Dim]) -> TensorId {
        let (windows, count) = (self.dims(padded), dims.len() - first);
        let mut domain = windows[..first + count].to_vec();
        domain.extend(&dims[first..]);
        let mut at = Coordinate::axes(0..first + count);
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
        if SizePolynomial::product(&self.dims(arg)) == SizePolynomial::product(ty.dims()) {
            return self.assembled(arg, to, None, ty.dims());
        }
        let zeros = self.push(TensorDef::Const(0.0), ty.dims(), ty.dtype);
        let everywhere = Coordinate::axes(0..ty.rank());
        let part = |(value, to)| AssembledPart {
            value,
            to,
            combine: None,
        };
        let parts = [(zeros, everywhere), (arg, to)].map(part).to_vec();
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

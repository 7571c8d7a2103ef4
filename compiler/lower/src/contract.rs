//! Decides which contractions become matrix products, and computes the strides for these calls.
//!
//! Note \[Contractions\]. The letters of a contraction fall into four classes. A letter that occurs in both operands and in the result is a batch
//! axis. A letter of the left operand and the result is an `m` axis, and a letter of the right operand and the result is an `n` axis. A letter that
//! occurs in both operands but not in the result is a `k` axis. A contraction becomes a matrix product if it has `m`, `n` and `k` axes and is not
//! tiny. Transposes and broadcasts of its operands then become strides. Any other contraction reads each element of its operands about once, so
//! computing it in blocks does not help. It becomes a multiplication that is fused with a reduction over `k`. Several axes of one class are merged
//! into one axis if they are contiguous in every operand that has them. If `m` and `n`
//! axes remain unmerged, they become batch axes. With `views`, the backend has a product that reads operands with several axes per class, and that
//! also reads windows of images in place. Without it, an operand is copied if `k` axes remain unmerged.

use crate::polynomial::{SizePolynomial, row_major};
use crate::tensor::{CallInts, Coordinate, LibraryCall, TensorDef, TensorId, Tensors};
use bnnc_base::shape::Dim;
use bnnc_graph::labels::ContractionLabels;

/// A contraction with static sizes becomes a call only if it needs more multiplications than this.
pub const TINY: usize = 128;

/// The class of a letter in a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The letter occurs in both operands and the result.
    Batch,
    /// The letter occurs in the left operand and the result.
    M,
    /// The letter occurs in the right operand and the result.
    N,
    /// The letter occurs in both operands, but not in the result.
    K,
}

impl Class {
    /// Returns the class of a letter of a contraction. If only one operand has the letter, the result must
    /// have it too.
    pub fn of(labels: &ContractionLabels, letter: char) -> Class {
        match (
            labels.left.contains(&letter),
            labels.right.contains(&letter),
            labels.result.contains(&letter),
        ) {
            (true, true, true) => Class::Batch,
            (true, false, _) => Class::M,
            (false, _, _) => Class::N,
            (true, true, false) => Class::K,
        }
    }
}

/// Returns the stored tensor from which a call that needs row-major operands reads an operand.
pub fn flat_base(tensors: &Tensors, id: TensorId) -> TensorId {
    match &tensors[id].kind {
        TensorDef::Flat(arg) => *arg,
        _ => id,
    }
}

/// A stored tensor that is read through static index maps.
pub struct Viewed {
    /// The stored tensor.
    pub base: TensorId,
    /// The position of the first element.
    pub offset: SizePolynomial,
    /// The stride of each axis. The strides are 0 for axes of size 1.
    pub strides: Vec<SizePolynomial>,
}

/// Returns the stored tensor of an operand, and how a call reads it through index maps.
pub fn viewed(tensors: &Tensors, id: TensorId) -> Viewed {
    viewed_through(tensors, id, |to| to.dynamic.is_none())
}

/// Returns the stored tensor of an operand, for a call whose operands may have strides. Transposes and
/// broadcasts of the operand become strides. The offset is 0.
pub fn strided(tensors: &Tensors, id: TensorId) -> Viewed {
    viewed_through(tensors, id, |to| to.dynamic.is_none() && to.offset.is_zero())
}

/// Returns the stored tensor of an operand. An index map becomes an offset and strides if
/// `is_read` holds for all its coordinates.
fn viewed_through(tensors: &Tensors, id: TensorId, is_read: fn(&Coordinate) -> bool) -> Viewed {
    let tensor = &tensors[id];
    match &tensor.kind {
        TensorDef::View(arg, at) if at.iter().all(is_read) => {
            let mut view = viewed_through(tensors, *arg, is_read);
            let inner = std::mem::replace(
                &mut view.strides,
                vec![SizePolynomial::default(); tensor.dims.len()],
            );
            for (to, inner) in at.iter().zip(inner) {
                view.offset = view.offset.plus(&inner.times(&to.offset));
                for (axis, factor) in &to.terms {
                    if tensor.dims[*axis] != Dim::Fixed(1) {
                        view.strides[*axis] = view.strides[*axis].plus(&inner.times(factor));
                    }
                }
            }
            view
        }
        _ => Viewed {
            base: flat_base(tensors, id),
            offset: SizePolynomial::default(),
            strides: row_major(&tensor.dims),
        },
    }
}

/// Returns whether an operand consists of windows, in which a position along an axis depends on
/// several indices.
pub fn has_windows(tensors: &Tensors, id: TensorId) -> bool {
    match &tensors[id].kind {
        TensorDef::View(arg, at) => at.iter().any(|to| to.terms.len() > 1) || has_windows(tensors, *arg),
        _ => false,
    }
}

/// Returns the stored tensor from which a call reads an operand.
pub fn base(tensors: &Tensors, user: TensorId, arg: TensorId) -> TensorId {
    match &tensors[user].kind {
        TensorDef::Call(call) => match call.ints {
            CallInts::Contraction(_) => strided(tensors, arg).base,
            CallInts::Given(_) => flat_base(tensors, arg),
            CallInts::Views(_) => viewed(tensors, arg).base,
        },
        _ => arg,
    }
}

/// Returns the stored tensors that a call reads, and the integers that it receives. `dims` are the axes
/// of its result.
pub fn arguments(
    tensors: &Tensors,
    call: &LibraryCall,
    dims: &[Dim],
) -> (Vec<TensorId>, Vec<SizePolynomial>) {
    match &call.ints {
        CallInts::Given(ints) => {
            let bases = call.args.iter().map(|arg| flat_base(tensors, *arg));
            (bases.collect(), ints.clone())
        }
        CallInts::Contraction(labels) => {
            MatrixProduct::new(tensors, labels, &call.args, dims, strided).matmul()
        }
        CallInts::Views(labels) => MatrixProduct::new(tensors, labels, &call.args, dims, viewed).views(),
    }
}

/// One loop of a matrix product: its size, and its strides in the two operands and in the result.
#[derive(Clone, Debug)]
struct Axis {
    size: SizePolynomial,
    strides: [SizePolynomial; 3],
}

impl Axis {
    /// Returns whether a single stride traverses this axis and the axis `inner`, in an operand (0 or 1) or in
    /// the result (2).
    fn continues(&self, inner: &Axis, array: usize) -> bool {
        self.strides[array] == inner.strides[array].times(&inner.size)
    }
}

/// A contraction of two stored tensors.
pub struct MatrixProduct {
    labels: ContractionLabels,
    operands: [Viewed; 2],
    /// The strides of the result.
    result: Vec<SizePolynomial>,
    sizes: Vec<(char, Dim)>,
}

impl MatrixProduct {
    /// Creates the contraction of the operands `args`. `read` is [`strided`] or [`viewed`], and `dims` are the
    /// axes of the result.
    pub fn new(
        tensors: &Tensors,
        labels: &ContractionLabels,
        args: &[TensorId],
        dims: &[Dim],
        read: fn(&Tensors, TensorId) -> Viewed,
    ) -> MatrixProduct {
        let axes = [
            (&labels.result, dims),
            (&labels.left, &tensors[args[0]].dims),
            (&labels.right, &tensors[args[1]].dims),
        ];
        let sizes = axes
            .into_iter()
            .flat_map(|(letters, dims)| letters.iter().zip(dims));
        MatrixProduct {
            labels: labels.clone(),
            operands: [read(tensors, args[0]), read(tensors, args[1])],
            result: row_major(dims),
            sizes: sizes.map(|(letter, dim)| (*letter, *dim)).collect(),
        }
    }

    fn size(&self, letter: char) -> Dim {
        self.sizes
            .iter()
            .find(|(l, _)| *l == letter)
            .map_or(Dim::Fixed(1), |(_, dim)| *dim)
    }

    /// Returns the axes of a class, without axes of size 1.
    fn single_axes(&self, class: Class) -> Vec<Axis> {
        let (labels, [left, right]) = (&self.labels, &self.operands);
        let order = if class == Class::K {
            &labels.left
        } else {
            &labels.result
        };
        let axis = |letter: &char| {
            let stride = |letters: &[char], strides: &[SizePolynomial]| {
                let at = letters.iter().position(|l| l == letter);
                at.map_or_else(SizePolynomial::default, |at| strides[at].clone())
            };
            Axis {
                size: SizePolynomial::of(self.size(*letter)),
                strides: [
                    stride(&labels.left, &left.strides),
                    stride(&labels.right, &right.strides),
                    stride(&labels.result, &self.result),
                ],
            }
        };
        let of_class =
            |letter: &&char| Class::of(labels, **letter) == class && self.size(**letter) != Dim::Fixed(1);
        order.iter().filter(of_class).map(axis).collect()
    }

    /// Returns the axes of a class, without axes of size 1. Contiguous axes are merged.
    fn axes(&self, class: Class) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for next in self.single_axes(class) {
            match axes.last_mut() {
                Some(last) if (0..3).all(|array| last.continues(&next, array)) => {
                    last.size = last.size.times(&next.size);
                    last.strides = next.strides;
                }
                _ => axes.push(next),
            }
        }
        axes
    }

    /// Returns, for each operand, whether it needs a copy. A copy is needed if no single stride
    /// traverses the operand's `k` axes in the order of the left operand.
    pub fn needs_copy(&self) -> [bool; 2] {
        let axes = self.single_axes(Class::K);
        [0, 1].map(|operand| !axes.windows(2).all(|pair| pair[0].continues(&pair[1], operand)))
    }

    /// Returns whether a product of windows would become many small matrix products, because its rows or
    /// columns are not a single axis.
    pub fn is_spread(&self) -> bool {
        self.axes(Class::M).len() > 1 || self.axes(Class::N).len() > 1
    }

    /// Returns whether a contraction becomes a call of the matrix product; see Note \[Contractions\].
    pub fn is_matmul(&self) -> bool {
        let letters = self.labels.all().into_iter();
        let fixed: Option<usize> = letters.map(|letter| self.size(letter).fixed()).product();
        let tiny = fixed.is_some_and(|count| count <= TINY);
        let has = |class: &Class| !self.axes(*class).is_empty();
        [Class::M, Class::N, Class::K].iter().all(has) && !tiny
    }

    /// Returns the arguments of the call of the matrix product: two stored operands and integers.
    fn matmul(mut self) -> (Vec<TensorId>, Vec<SizePolynomial>) {
        // The innermost axis of the result should be an axis of the product's columns.
        let mut inwards = self.labels.result.iter().rev();
        let innermost = inwards.find(|letter| self.size(**letter) != Dim::Fixed(1));
        if innermost.is_some_and(|letter| Class::of(&self.labels, *letter) == Class::M) {
            std::mem::swap(&mut self.labels.left, &mut self.labels.right);
            self.operands.reverse();
        }
        let mut batch = self.axes(Class::Batch);
        let mut one = |class: Class| {
            let mut axes = self.axes(class);
            let last = axes.pop();
            batch.append(&mut axes);
            last.unwrap_or(Axis {
                size: SizePolynomial::fixed(1),
                strides: Default::default(),
            })
        };
        let (m, n, k) = (one(Class::M), one(Class::N), one(Class::K));
        let [m_a, _, m_c] = m.strides;
        let [_, n_b, n_c] = n.strides;
        let [k_a, k_b, _] = k.strides;
        let mut ints = vec![m.size, n.size, k.size, m_a, k_a, k_b, n_b, m_c, n_c];
        for axis in batch {
            ints.push(axis.size);
            ints.extend(axis.strides);
        }
        (self.operands.map(|operand| operand.base).to_vec(), ints)
    }

    /// Returns the call of the primitive that reads its operands through index maps: its two stored operands
    /// and its integers.
    fn views(self) -> (Vec<TensorId>, Vec<SizePolynomial>) {
        let sides = [Class::M, Class::N, Class::K, Class::Batch].map(|class| self.axes(class));
        let [left, right] = self.operands;
        let mut ints = vec![left.offset, right.offset];
        ints.extend(sides.iter().map(|axes| SizePolynomial::fixed(axes.len() as i64)));
        for axis in sides.into_iter().flatten() {
            ints.push(axis.size);
            ints.extend(axis.strides);
        }
        (vec![left.base, right.base], ints)
    }
}

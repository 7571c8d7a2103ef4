//! Converts contractions either to calls of the matrix product, or to multiplications followed by a
//! sum; see Note \[Contractions\].

use super::{ContractionParts, Import, Site};
use crate::contract::{self, Class, MatrixProduct};
use crate::tensor::{CallInts, Coordinate, TensorDef, TensorId};
use bnnc_abi::plan::Combine;
use bnnc_abi::primitive;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use bnnc_math::scalar::Scalar;

impl Import<'_> {
    /// Adds a tensor that is a copy in memory. The elements of the copy are in the row-major order
    /// of the tensor's axes.
    fn copied(&mut self, arg: TensorId) -> TensorId {
        let dims = self.dims(arg);
        self.assembled(arg, Coordinate::axes(0..dims.len()), None, &dims)
    }

    pub(super) fn contract(&mut self, site: &Site) -> TensorId {
        let ContractionLabels { left, right, result } = ops::contract::parsed(site.attrs);
        let (left_arg, left_kept) = self.sum_alone(site.args[0], &left, &right, &result);
        let (right_arg, right_kept) = self.sum_alone(site.args[1], &right, &left, &result);
        let labels = ContractionLabels {
            left: left_kept,
            right: right_kept,
            result,
        };
        self.product(labels, [left_arg, right_arg], site.ty.dims())
    }

    /// Adds a contraction. Each letter of the contraction must occur in two or three of the three arrays (the
    /// two operands and the result).
    pub(super) fn product(
        &mut self,
        mut labels: ContractionLabels,
        mut args: [TensorId; 2],
        dims: &[Dim],
    ) -> TensorId {
        let product = MatrixProduct::new(&self.tensors, &labels, &args, dims, contract::strided);
        if !product.is_matmul() {
            let product = self.multiply(&labels, args);
            self.multiplied.insert(product, ContractionParts { labels, args });
            return product;
        }
        let copies = product.needs_copy();
        let has_windows = args.iter().any(|arg| contract::has_windows(&self.tensors, *arg));
        if self.options.views && (copies != [false; 2] || has_windows && product.is_spread()) {
            return self.call(&primitive::CONTRACTION, &args, CallInts::Views(labels), dims);
        }
        let summed = |letter: &char| Class::of(&labels, *letter) == Class::K;
        let order: Vec<char> = labels.left.iter().copied().filter(summed).collect();
        if copies[0] {
            (labels.left, args[0]) = self.gathered(args[0], &labels.left, &order);
        }
        if copies[1] {
            (labels.right, args[1]) = self.gathered(args[1], &labels.right, &order);
        }
        self.call(&primitive::MATMUL, &args, CallInts::Contraction(labels), dims)
    }

    /// If a contraction computes a tensor, by a call or by a multiplication, returns its labels and operands.
    pub(super) fn contraction_of(&self, id: TensorId) -> Option<ContractionParts> {
        match self.tensors[id].contraction() {
            Some((labels, args)) => {
                let labels = labels.clone();
                Some(ContractionParts { labels, args })
            }
            None => self.multiplied.get(&id).cloned(),
        }
    }

    /// Sums an operand over the axes whose letters do not occur in the other operand or in the
    /// result. Returns the sum and the letters of its axes.
    fn sum_alone(
        &mut self,
        arg: TensorId,
        own: &[char],
        other: &[char],
        result: &[char],
    ) -> (TensorId, Vec<char>) {
        let alone = |letter: &char| !other.contains(letter) && !result.contains(letter);
        let axes: Vec<usize> = (0..own.len()).filter(|at| alone(&own[*at])).collect();
        let kept = own.iter().copied().filter(|letter| !alone(letter)).collect();
        (self.reduce(arg, &axes, Combine::Sum), kept)
    }

    /// Copies an operand so that the letters `last` are adjacent and in this order. If they already
    /// are, all letters keep their places. Otherwise, `last` comes after all other letters.
    /// Returns the letters of the copy, and the copy.
    fn gathered(&mut self, arg: TensorId, letters: &[char], last: &[char]) -> (Vec<char>, TensorId) {
        if letters.windows(last.len()).any(|run| run == last) {
            return (letters.to_vec(), self.copied(arg));
        }
        let first = letters.iter().copied().filter(|letter| !last.contains(letter));
        let order: Vec<char> = first.chain(last.iter().copied()).collect();
        let view = self.spread(arg, letters, &order, &[]);
        (order, self.copied(view))
    }

    /// Returns an operand as a tensor with the axes `order`. It is repeated along the letters that
    /// it does not have, whose sizes are in `sizes`.
    fn spread(&mut self, arg: TensorId, letters: &[char], order: &[char], sizes: &[(char, Dim)]) -> TensorId {
        if letters == order {
            return arg;
        }
        let inner = self.dims(arg);
        let size = |letter: &char| match letters.iter().position(|l| l == letter) {
            Some(at) => inner[at],
            None => sizes
                .iter()
                .find(|(l, _)| l == letter)
                .map_or(Dim::Fixed(1), |(_, dim)| *dim),
        };
        let dims: Vec<Dim> = order.iter().map(size).collect();
        let place = |letter: &char| Coordinate::axis(order.iter().position(|l| l == letter).unwrap_or(0));
        self.view(arg, letters.iter().map(place).collect(), &dims)
    }

    /// Multiplies elements, and then sums the products over the letters that the result does not
    /// have. The axes of the domain are in the order of the operand with more axes, so that this
    /// operand is read in memory order.
    fn multiply(&mut self, labels: &ContractionLabels, args: [TensorId; 2]) -> TensorId {
        let (left, right) = (&labels.left, &labels.right);
        let mut sizes = Vec::new();
        for (list, arg) in [(left, args[0]), (right, args[1])] {
            sizes.extend(list.iter().copied().zip(self.dims(arg)));
        }
        let summed = |letter: &char| !labels.result.contains(letter);
        let any = left.iter().any(summed);
        let order = if any {
            let (longer, shorter) = if left.len() >= right.len() {
                (left, right)
            } else {
                (right, left)
            };
            let rest = shorter.iter().rev().filter(|letter| !longer.contains(letter));
            rest.chain(longer).copied().collect()
        } else {
            labels.result.clone()
        };
        let left = self.spread(args[0], left, &order, &sizes);
        let right = self.spread(args[1], right, &order, &sizes);
        let dims = self.dims(left);
        let product = self.push(
            TensorDef::Apply(Scalar::Mul, vec![left, right]),
            &dims,
            DType::Real,
        );
        if !any {
            return product;
        }
        let axes: Vec<usize> = (0..order.len()).filter(|at| summed(&order[*at])).collect();
        let kept: Vec<char> = order.iter().copied().filter(|letter| !summed(letter)).collect();
        let sum = self.reduce(product, &axes, Combine::Sum);
        self.spread(sum, &kept, &labels.result, &sizes)
    }
}

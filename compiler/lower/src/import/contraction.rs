//! Converts contractions either to calls of the matrix product, or to multiplications followed by a
//! sum; see Note \[Contractions\].

use super::{Import, Site};
use crate::contract::{self, Class, Letters};
use crate::tensor::{AssembledPart, CallInts, Coordinate, LibraryCall, TensorDef, TensorId};
use bnnc_abi::plan::Combine;
use bnnc_abi::primitive::{self, Primitive};
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_graph::ops;
use bnnc_math::scalar::Scalar;

impl Import<'_> {
    /// Adds a tensor that is a copy in memory. The elements of the copy are in the row-major order
    /// of the tensor's axes.
    fn copied(&mut self, arg: TensorId) -> TensorId {
        let (dims, dtype) = (self.dims(arg), self.tensors[arg].dtype);
        let part = AssembledPart {
            value: arg,
            to: (0..dims.len()).map(Coordinate::axis).collect(),
            combine: None,
        };
        self.push(
            TensorDef::Assembled {
                parts: vec![part],
                ordered: false,
            },
            &dims,
            dtype,
        )
    }

    pub(super) fn contract(&mut self, site: &Site) -> TensorId {
        let labels = ops::contract::parsed(site.attrs);
        let (left, left_letters) = self.sum_alone(site.args[0], &labels.left, &labels.right, &labels.result);
        let (right, right_letters) =
            self.sum_alone(site.args[1], &labels.right, &labels.left, &labels.result);
        let letters = Letters {
            left: left_letters,
            right: right_letters,
            result: labels.result,
        };
        self.product(letters, [left, right], site.ty.dims())
    }

    /// Adds a contraction. Each letter of the contraction must occur in two or three of the three arrays (the
    /// two operands and the result).
    pub(super) fn product(
        &mut self,
        letters: Letters,
        [left, right]: [TensorId; 2],
        dims: &[Dim],
    ) -> TensorId {
        if !contract::is_product(&self.tensors, &letters, [left, right], dims) {
            return self.multiply(&letters, [left, right]);
        }
        let [copy_left, copy_right] = contract::needs_copy(&self.tensors, &letters, [left, right], dims);
        let needs_copy = copy_left || copy_right;
        if self.views && (needs_copy || contract::is_spread(&self.tensors, &letters, [left, right], dims)) {
            let call = LibraryCall {
                primitive: Primitive(&primitive::CONTRACTION),
                args: vec![left, right],
                ints: CallInts::Views(letters),
            };
            return self.push(TensorDef::Call(call), dims, DType::Real);
        }
        let summed = |letters: &Letters, letter: char| letters.class(letter) == Class::K;
        let order: Vec<char> = letters
            .left
            .iter()
            .copied()
            .filter(|l| summed(&letters, *l))
            .collect();
        let mut product = (letters.clone(), [left, right]);
        if copy_left {
            (product.0.left, product.1[0]) = self.gathered(left, &letters.left, &order);
        }
        if copy_right {
            (product.0.right, product.1[1]) = self.gathered(right, &letters.right, &order);
        }
        let (letters, args) = product;
        let ints = CallInts::Contraction(letters);
        let call = LibraryCall {
            primitive: Primitive(&primitive::MATMUL),
            args: args.to_vec(),
            ints,
        };
        self.push(TensorDef::Call(call), dims, DType::Real)
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
        match axes.is_empty() {
            true => (arg, kept),
            false => (self.reduce(arg, &axes, Combine::Sum), kept),
        }
    }

    /// Copies an operand so that the letters `last` are adjacent and in this order. If they already
    /// are, all letters keep their places. If they are not, `last` comes after all other letters.
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

    /// Returns an operand as a tensor with the axes `order`. The operand is repeated along the
    /// letters that it lacks. The sizes of these letters are in `sizes`.
    fn spread(&mut self, arg: TensorId, letters: &[char], order: &[char], sizes: &[(char, Dim)]) -> TensorId {
        let inner = self.dims(arg);
        let size = |letter: &char| match letters.iter().position(|l| l == letter) {
            Some(at) => inner[at],
            None => sizes
                .iter()
                .find(|(l, _)| l == letter)
                .map_or(Dim::Fixed(1), |(_, dim)| *dim),
        };
        let dims: Vec<Dim> = order.iter().map(size).collect();
        let place = |letter: &char| order.iter().position(|l| l == letter).unwrap_or(0);
        if letters == order {
            return arg;
        }
        self.view(
            arg,
            letters
                .iter()
                .map(|letter| Coordinate::axis(place(letter)))
                .collect(),
            &dims,
        )
    }

    /// Multiplies elements, and then sums the products over the letters that the result lacks. The
    /// domain has the axes of the operand with more axes, in the order of this operand, so that
    /// this operand is read in memory order.
    fn multiply(&mut self, letters: &Letters, args: [TensorId; 2]) -> TensorId {
        let mut sizes = Vec::new();
        for (list, arg) in [(&letters.left, args[0]), (&letters.right, args[1])] {
            sizes.extend(list.iter().copied().zip(self.dims(arg)));
        }
        let summed = |letter: &char| !letters.result.contains(letter);
        let longer = if letters.left.len() >= letters.right.len() {
            &letters.left
        } else {
            &letters.right
        };
        let (mut order, any) = (letters.result.clone(), letters.left.iter().any(summed));
        if any {
            order = longer.clone();
            let all = letters.left.iter().chain(&letters.right);
            let rest: Vec<char> = all.copied().filter(|letter| !longer.contains(letter)).collect();
            rest.into_iter().for_each(|letter| {
                if !order.contains(&letter) {
                    order.insert(0, letter);
                }
            });
        }
        let left = self.spread(args[0], &letters.left, &order, &sizes);
        let right = self.spread(args[1], &letters.right, &order, &sizes);
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
        self.spread(sum, &kept, &letters.result, &sizes)
    }
}

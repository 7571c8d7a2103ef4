//! Decides which contractions become matrix products, and computes the strides of these calls.
//!
//! Note \[Contractions\]. The letters of a contraction fall into four classes. A letter that occurs in both operands and in the result is a batch
//! axis. A letter of the left operand and the result is an `m` axis, and a letter of the right operand and the result is an `n` axis. A letter that
//! occurs in both operands but not in the result is a `k` axis. A contraction becomes a matrix product if it has `m`, `n` and `k` axes and is not
//! tiny. Transposes and broadcasts of its operands then become strides. Any other contraction reads each element of its operands about once, so
//! computing it in blocks does not help. A contraction that is not a matrix product becomes a multiplication. The multiplication is fused with a
//! reduction over `k`. Several axes of one class are merged into one axis if they are contiguous in every operand that has them. If `m` and `n`
//! axes remain unmerged, they become batch axes. If `k` axes remain unmerged and the backend does not have a product that reads operands with
//! several axes per class (`views`), an operand is copied. Such a product also reads windows of images in place.

use crate::polynomial::{SizePolynomial, row_major};
use crate::tensor::{TensorDef, TensorId, Tensors};
use bnnc_base::shape::Dim;

/// A contraction with static sizes becomes a call only if it has enough multiplications: more than
/// this number.
pub const TINY: usize = 128;

/// The letters of a contraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letters {
    /// The letters of the left operand.
    pub left: Vec<char>,
    /// The letters of the right operand.
    pub right: Vec<char>,
    /// The letters of the result.
    pub result: Vec<char>,
}

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

impl Letters {
    /// Returns the class of a letter. If only one operand has the letter, the result must have it
    /// too.
    pub fn class(&self, letter: char) -> Class {
        match (
            self.left.contains(&letter),
            self.right.contains(&letter),
            self.result.contains(&letter),
        ) {
            (true, true, true) => Class::Batch,
            (true, false, _) => Class::M,
            (false, _, _) => Class::N,
            (true, true, false) => Class::K,
        }
    }

    fn swapped(&self) -> Letters {
        Letters {
            left: self.right.clone(),
            right: self.left.clone(),
            result: self.result.clone(),
        }
    }
}

/// Returns the stored tensor that holds an operand, for a call that needs row-major operands.
pub fn flat_base(tensors: &Tensors, id: TensorId) -> TensorId {
    match &tensors[id].kind {
        TensorDef::Flat(arg) => *arg,
        _ => id,
    }
}

/// Returns the stored tensor that holds an operand, for a call whose operands may have strides.
/// Transposes and broadcasts of the operand are skipped, because they become strides.
pub fn strided_base(tensors: &Tensors, id: TensorId) -> TensorId {
    match &tensors[id].kind {
        TensorDef::Flat(arg) => *arg,
        TensorDef::View(arg, at) if at.iter().all(|to| to.dynamic.is_none() && to.offset.is_zero()) => {
            strided_base(tensors, *arg)
        }
        _ => id,
    }
}

/// Returns the strides of an operand in the memory of its [`strided_base`]. The stride of an axis
/// of size 1 is 0.
pub fn strides(tensors: &Tensors, id: TensorId) -> Vec<SizePolynomial> {
    let tensor = &tensors[id];
    match &tensor.kind {
        TensorDef::View(arg, at) if at.iter().all(|to| to.dynamic.is_none() && to.offset.is_zero()) => {
            let mut strides = vec![SizePolynomial::default(); tensor.dims.len()];
            for (to, inner) in at.iter().zip(self::strides(tensors, *arg)) {
                for (axis, factor) in &to.terms {
                    if tensor.dims[*axis] != Dim::Fixed(1) {
                        strides[*axis] = strides[*axis].plus(&inner.times(factor));
                    }
                }
            }
            strides
        }
        _ => row_major(&tensor.dims),
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

/// Returns the stored tensor of an operand of a call that reads its operands through index maps.
pub fn viewed(tensors: &Tensors, id: TensorId) -> Viewed {
    let tensor = &tensors[id];
    match &tensor.kind {
        TensorDef::View(arg, at) if at.iter().all(|to| to.dynamic.is_none()) => {
            let Viewed {
                base,
                mut offset,
                strides: inner,
            } = viewed(tensors, *arg);
            let mut strides = vec![SizePolynomial::default(); tensor.dims.len()];
            for (to, inner) in at.iter().zip(inner) {
                offset = offset.plus(&inner.times(&to.offset));
                for (axis, factor) in &to.terms {
                    if tensor.dims[*axis] != Dim::Fixed(1) {
                        strides[*axis] = strides[*axis].plus(&inner.times(factor));
                    }
                }
            }
            Viewed {
                base,
                offset,
                strides,
            }
        }
        _ => Viewed {
            base: flat_base(tensors, id),
            offset: SizePolynomial::default(),
            strides: row_major(&tensor.dims),
        },
    }
}

/// Returns whether an operand consists of windows. In windows, a position along an axis depends on
/// several indices.
fn has_windows(tensors: &Tensors, id: TensorId) -> bool {
    match &tensors[id].kind {
        TensorDef::View(arg, at) => at.iter().any(|to| to.terms.len() > 1) || has_windows(tensors, *arg),
        _ => false,
    }
}

/// Returns the stored tensor that a call reads for an operand.
pub fn base(tensors: &Tensors, user: TensorId, arg: TensorId) -> TensorId {
    match &tensors[user].kind {
        TensorDef::Call(call) => match call.ints {
            crate::tensor::CallInts::Contraction(_) => strided_base(tensors, arg),
            crate::tensor::CallInts::Given(_) => flat_base(tensors, arg),
            crate::tensor::CallInts::Views(_) => viewed(tensors, arg).base,
        },
        _ => arg,
    }
}

/// One loop of a matrix product: its size, and its strides in the two operands and in the result.
#[derive(Clone, Debug)]
struct Axis {
    size: SizePolynomial,
    strides: [SizePolynomial; 3],
    letters: Vec<char>,
}

impl Axis {
    fn absorbs(&self, inner: &Axis) -> bool {
        (0..3).all(|at| self.strides[at] == inner.strides[at].times(&inner.size))
    }

    fn merged(&self, inner: &Axis) -> Axis {
        Axis {
            size: self.size.times(&inner.size),
            strides: inner.strides.clone(),
            letters: [self.letters.as_slice(), &inner.letters].concat(),
        }
    }
}

/// The operands of a matrix product in the order of the call, with the strides of each operand and of the result.
struct Operands {
    letters: Letters,
    args: [TensorId; 2],
    strides: [Vec<SizePolynomial>; 3],
    sizes: Vec<(char, Dim)>,
}

impl Operands {
    fn new(tensors: &Tensors, letters: &Letters, args: [TensorId; 2], result: &[Dim]) -> Operands {
        let mut sizes: Vec<(char, Dim)> = letters
            .result
            .iter()
            .copied()
            .zip(result.iter().copied())
            .collect();
        for (list, arg) in [(&letters.left, args[0]), (&letters.right, args[1])] {
            sizes.extend(list.iter().copied().zip(tensors[arg].dims.iter().copied()));
        }
        let strides = [
            strides(tensors, args[0]),
            strides(tensors, args[1]),
            row_major(result),
        ];
        Operands {
            letters: letters.clone(),
            args,
            strides,
            sizes,
        }
    }

    fn size(&self, letter: char) -> Dim {
        self.sizes
            .iter()
            .find(|(l, _)| *l == letter)
            .map_or(Dim::Fixed(1), |(_, dim)| *dim)
    }

    fn axis(&self, letter: char) -> Axis {
        let lists = [&self.letters.left, &self.letters.right, &self.letters.result];
        let stride = |operand: usize| {
            let at = lists[operand].iter().position(|l| *l == letter);
            at.map_or(SizePolynomial::default(), |at| self.strides[operand][at].clone())
        };
        Axis {
            size: SizePolynomial::of(self.size(letter)),
            strides: [stride(0), stride(1), stride(2)],
            letters: vec![letter],
        }
    }

    /// Returns the axes of a class, without axes of size 1. Contiguous axes are merged.
    fn class(&self, class: Class) -> Vec<Axis> {
        let order = if class == Class::K {
            &self.letters.left
        } else {
            &self.letters.result
        };
        let of_class =
            |letter: &&char| self.letters.class(**letter) == class && self.size(**letter) != Dim::Fixed(1);
        let mut axes: Vec<Axis> = Vec::new();
        for letter in order.iter().filter(of_class) {
            let next = self.axis(*letter);
            match axes.last_mut() {
                Some(last) if last.absorbs(&next) => *last = last.merged(&next),
                _ => axes.push(next),
            }
        }
        axes
    }
}

/// Returns, for each operand, whether it needs a copy. A copy is needed if no single stride
/// traverses the operand's `k` axes in the order of the left operand.
pub fn needs_copy(tensors: &Tensors, letters: &Letters, args: [TensorId; 2], result: &[Dim]) -> [bool; 2] {
    let operands = Operands::new(tensors, letters, args, result);
    let summed =
        |letter: &&char| letters.class(**letter) == Class::K && operands.size(**letter) != Dim::Fixed(1);
    let axes: Vec<Axis> = letters
        .left
        .iter()
        .filter(summed)
        .map(|letter| operands.axis(*letter))
        .collect();
    let contiguous = |operand: usize| {
        let steps = |pair: &[Axis]| pair[0].strides[operand] == pair[1].strides[operand].times(&pair[1].size);
        axes.windows(2).all(steps)
    };
    [!contiguous(0), !contiguous(1)]
}

/// Returns whether a product of windows would become many small matrix products, because its rows or columns are not a single axis.
pub fn is_spread(tensors: &Tensors, letters: &Letters, args: [TensorId; 2], result: &[Dim]) -> bool {
    let operands = Operands::new(tensors, letters, args, result);
    let several = |class: Class| operands.class(class).len() > 1;
    args.iter().any(|arg| has_windows(tensors, *arg)) && (several(Class::M) || several(Class::N))
}

/// Returns whether a contraction is a call of the matrix product; see Note \[Contractions\].
pub fn is_product(tensors: &Tensors, letters: &Letters, args: [TensorId; 2], result: &[Dim]) -> bool {
    let operands = Operands::new(tensors, letters, args, result);
    let has = |class: Class| !operands.class(class).is_empty();
    let fixed: Option<usize> = Operands::all(&operands.letters)
        .into_iter()
        .map(|letter| operands.size(letter).fixed())
        .product();
    let tiny = fixed.is_some_and(|count| count <= TINY);
    has(Class::M) && has(Class::N) && has(Class::K) && !tiny
}

impl Operands {
    fn all(letters: &Letters) -> Vec<char> {
        let mut all = letters.left.clone();
        all.extend(
            letters
                .right
                .iter()
                .filter(|letter| !letters.left.contains(letter)),
        );
        all
    }
}

/// Returns the call of the matrix product: its two stored operands and its integers.
pub fn product(
    tensors: &Tensors,
    letters: &Letters,
    args: [TensorId; 2],
    result: &[Dim],
) -> ([TensorId; 2], Vec<SizePolynomial>) {
    let mut operands = Operands::new(tensors, letters, args, result);
    // The innermost axis of the result should be an axis of the product's columns.
    let innermost = letters
        .result
        .iter()
        .rev()
        .find(|letter| operands.size(**letter) != Dim::Fixed(1));
    if innermost.is_some_and(|letter| letters.class(*letter) == Class::M) {
        operands = Operands::new(tensors, &letters.swapped(), [args[1], args[0]], result);
    }
    let mut batch = operands.class(Class::Batch);
    let mut one = |class: Class| {
        let mut axes = operands.class(class);
        let last = axes.pop();
        batch.append(&mut axes);
        last.unwrap_or(Axis {
            size: SizePolynomial::fixed(1),
            strides: Default::default(),
            letters: Vec::new(),
        })
    };
    let (m, n, k) = (one(Class::M), one(Class::N), one(Class::K));
    let (ms, ns, ks) = (m.strides, n.strides, k.strides);
    let [m_a, _, m_c] = ms;
    let [_, n_b, n_c] = ns;
    let [k_a, k_b, _] = ks;
    let mut ints = vec![m.size, n.size, k.size, m_a, k_a, k_b, n_b, m_c, n_c];
    for axis in batch {
        ints.push(axis.size);
        ints.extend(axis.strides);
    }
    (operands.args.map(|arg| strided_base(tensors, arg)), ints)
}

/// Returns the call of the primitive that reads its operands through index maps: its two stored operands and its integers.
pub fn views(
    tensors: &Tensors,
    letters: &Letters,
    args: [TensorId; 2],
    result: &[Dim],
) -> ([TensorId; 2], Vec<SizePolynomial>) {
    let [left, right] = args.map(|arg| viewed(tensors, arg));
    let mut operands = Operands::new(tensors, letters, args, result);
    operands.strides = [left.strides, right.strides, row_major(result)];
    let sides = [Class::M, Class::N, Class::K, Class::Batch].map(|class| operands.class(class));
    let mut ints = vec![left.offset, right.offset];
    ints.extend(sides.iter().map(|axes| SizePolynomial::fixed(axes.len() as i64)));
    for axis in sides.into_iter().flatten() {
        ints.push(axis.size);
        ints.extend(axis.strides);
    }
    ([left.base, right.base], ints)
}

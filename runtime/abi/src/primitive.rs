//! The library primitives that plans call. Each has a signature, a cost and a naive reference
//! implementation.
//!
//! The crate `kernels` has the fast implementations under the same names.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::Deref;

/// The operands and the result of a primitive, in the form that its naive reference uses: `f64`
/// elements in row-major order.
pub type Naive<'a> = &'a mut [Vec<f64>];

/// The definition of a library primitive.
pub struct PrimitiveDef {
    /// The name of the primitive in texts.
    pub name: &'static str,
    /// The documentation: one sentence, followed by the meaning of each integer in order.
    pub doc: &'static str,
    /// True if the native version is a blocked product, which copies operands to a workspace of each thread.
    pub is_blocked_product: bool,
    /// Returns the number of floating-point operations of a call with these integers.
    pub flops: fn(&[i64]) -> u64,
    /// Returns the elements of each buffer that a call with these integers may access, or `None` if a call cannot have these integers.
    pub reach: fn(&[i64]) -> Option<Vec<ElementSpan>>,
    /// The naive reference implementation: `(buffers, ints)`. The last buffer is the result. The reference is simple but slow.
    pub naive: fn(Naive, &[i64]),
}

/// The positions of the first and the last element that a call accesses in one buffer, or `None` if the call does not
/// access the buffer.
pub type ElementSpan = Option<[i64; 2]>;

/// Returns the span of the first elements of a buffer. The number of these elements is the product of `sizes`.
fn whole(sizes: &[i64]) -> ElementSpan {
    let count = sizes
        .iter()
        .fold(1, |count: i64, size| count.saturating_mul(*size));
    (sizes.iter().all(|size| *size > 0)).then(|| [0, count - 1])
}

/// Returns the span of a strided operand. The position of an element is `start` plus, for each axis `(size, stride)`, the index
/// along this axis times the stride.
fn strided(start: i64, mut axes: impl Iterator<Item = (i64, i64)>) -> ElementSpan {
    axes.try_fold([start, start], |[low, high], (size, stride)| {
        let last = (size > 0).then(|| (size - 1).saturating_mul(stride))?;
        Some([low.saturating_add(last.min(0)), high.saturating_add(last.max(0))])
    })
}

/// A typed handle to a primitive.
#[derive(Clone, Copy)]
pub struct Primitive(pub &'static PrimitiveDef);

impl Primitive {
    /// Returns whether this is the given primitive.
    pub fn is(self, def: &'static PrimitiveDef) -> bool {
        self == Primitive(def)
    }
}

impl PartialEq for Primitive {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Deref for Primitive {
    type Target = PrimitiveDef;
    fn deref(&self) -> &PrimitiveDef {
        self.0
    }
}

impl fmt::Debug for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A primitive is serialised as its name.
impl Serialize for Primitive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Primitive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Primitive, D::Error> {
        let name = String::deserialize(deserializer)?;
        lookup(&name).ok_or_else(|| de::Error::custom(format!("there is no primitive `{name}`")))
    }
}

/// Returns the primitive with this name.
pub fn lookup(name: &str) -> Option<Primitive> {
    ALL.iter().find(|def| def.name == name).map(|def| Primitive(def))
}

/// All primitives, sorted by name.
pub static ALL: &[&PrimitiveDef] = &[&CHOLESKY, &CONTRACTION, &CUMSUM, &MATMUL, &TRIANGULAR_SOLVE];

/// Computes lower Cholesky factors.
pub static CHOLESKY: PrimitiveDef = PrimitiveDef {
    name: "cholesky",
    doc: "Lower Cholesky factors, NaN where not positive definite. Integers: batch, n. Buffers: a[batch, n, n], l.",
    is_blocked_product: false,
    flops: |i| (i[0] * i[1] * i[1] * i[1] / 3) as u64,
    reach: |ints| match ints {
        [batch, n] => Some(vec![whole(&[*batch, *n, *n]); 2]),
        _ => None,
    },
    naive: |buffers, ints| {
        let (batch, n) = (ints[0] as usize, ints[1] as usize);
        let [a, l] = buffers else { return };
        l.fill(0.0);
        for b in 0..batch {
            let at = |i: usize, j: usize| (b * n + i) * n + j;
            for i in 0..n {
                for j in 0..=i {
                    let dot: f64 = (0..j).map(|k| l[at(i, k)] * l[at(j, k)]).sum();
                    let rest = a[at(i, j)] - dot;
                    l[at(i, j)] = if i == j { rest.sqrt() } else { rest / l[at(j, j)] };
                }
            }
        }
    },
};

/// Computes products of operands whose sides have several axes.
pub static CONTRACTION: PrimitiveDef = PrimitiveDef {
    name: "contraction",
    doc: "c[.., m.., n..] = sum over k.. of a[.., m.., k..] * b[.., k.., n..], where each side has several axes, each with its own \
          strides. Integers: the first element of a and of b, the numbers of m, n, k and batch axes, then (size, a, b, c) for each \
          axis in this order. Buffers: a, b, c.",
    is_blocked_product: true,
    flops: |i| (2 * i[6..].chunks(4).map(|axis| axis[0]).product::<i64>()) as u64,
    reach: |ints| {
        let ([a, b, m, n, k, batch], axes) = ints.split_first_chunk()?;
        let (axes, []) = axes.as_chunks::<4>() else {
            return None;
        };
        let counts = [*m, *n, *k, *batch].map(|count| usize::try_from(count).ok());
        let sides: Vec<usize> =
            counts
                .into_iter()
                .enumerate()
                .try_fold(Vec::new(), |mut sides, (side, count)| {
                    sides.extend(std::iter::repeat_n(
                        side,
                        count.filter(|count| *count <= axes.len())?,
                    ));
                    Some(sides)
                })?;
        // These strides must be 0: the stride of an m axis in b, of an n axis in a, and of a k axis
        // in c.
        let absent = |(side, axis): (&usize, &[i64; 4])| [axis[2], axis[1], axis[3], 0][*side] == 0;
        if sides.len() != axes.len() || !sides.iter().zip(axes).all(absent) {
            return None;
        }
        let span = |start: i64, operand: usize, without: usize| {
            let own = sides.iter().zip(axes).filter(|(side, _)| **side != without);
            strided(start, own.map(|(_, axis)| (axis[0], axis[operand])))
        };
        // Without terms, the sums are 0: the result is written even if a k axis is empty.
        Some(vec![span(*a, 1, 1), span(*b, 2, 0), span(0, 3, 2)])
    },
    naive: |buffers, ints| {
        let [a, b, c] = buffers else { return };
        let axes: Vec<&[i64]> = ints[6..].chunks(4).collect();
        let (free, rest) = axes.split_at((ints[2] + ints[3]) as usize);
        let (summed, batch) = rest.split_at(ints[4] as usize);
        let kept: Vec<&[i64]> = [free, batch].concat();
        let count = |axes: &[&[i64]]| axes.iter().map(|axis| axis[0]).product::<i64>();
        let place = |axes: &[&[i64]], flat: i64| {
            let (mut rest, mut place) = (flat, [0i64; 3]);
            for axis in axes.iter().rev() {
                (0..3).for_each(|operand| place[operand] += rest % axis[0] * axis[operand + 1]);
                rest /= axis[0];
            }
            place
        };
        let terms: Vec<[i64; 3]> = (0..count(summed)).map(|flat| place(summed, flat)).collect();
        for flat in 0..count(&kept) {
            let [from_a, from_b, to] = place(&kept, flat);
            let term = |[at_a, at_b, _]: &[i64; 3]| {
                a[(ints[0] + from_a + at_a) as usize] * b[(ints[1] + from_b + at_b) as usize]
            };
            c[to as usize] = terms.iter().map(term).sum();
        }
    },
};

/// Computes running sums.
pub static CUMSUM: PrimitiveDef = PrimitiveDef {
    name: "cumsum",
    doc: "Running sums along the middle axis. Integers: outer, length, inner, reverse (0 or 1). Buffers: x, y.",
    is_blocked_product: false,
    flops: |i| (i[0] * i[1] * i[2]) as u64,
    reach: |ints| match ints {
        [outer, length, inner, _] => Some(vec![whole(&[*outer, *length, *inner]); 2]),
        _ => None,
    },
    naive: |buffers, ints| {
        let (outer, length, inner) = (ints[0] as usize, ints[1] as usize, ints[2] as usize);
        let [x, y] = buffers else { return };
        for o in 0..outer {
            for i in 0..inner {
                let mut sum = 0.0;
                for step in 0..length {
                    let t = if ints[3] == 1 { length - 1 - step } else { step };
                    let at = (o * length + t) * inner + i;
                    sum += x[at];
                    y[at] = sum;
                }
            }
        }
    },
};

/// Computes batched products of strided matrices.
pub static MATMUL: PrimitiveDef = PrimitiveDef {
    name: "matmul",
    doc: "c[.., m, n] = sum over k of a[.., m, k] * b[.., k, n], each with its own strides. Integers: m, n, k, \
          a_m, a_k, b_k, b_n, c_m, c_n, then (size, a, b, c) for each batch axis. Buffers: a, b, c.",
    is_blocked_product: true,
    flops: |i| (2 * i[0] * i[1] * i[2] * i[9..].chunks(4).map(|axis| axis[0]).product::<i64>()) as u64,
    reach: |ints| {
        let ([m, n, k, a_m, a_k, b_k, b_n, c_m, c_n], axes) = ints.split_first_chunk()?;
        let (axes, []) = axes.as_chunks::<4>() else {
            return None;
        };
        let span = |own: [(i64, i64); 2], operand: usize| {
            let batch = axes.iter().map(|axis| (axis[0], axis[operand]));
            strided(0, own.into_iter().chain(batch))
        };
        Some(vec![
            span([(*m, *a_m), (*k, *a_k)], 1),
            span([(*k, *b_k), (*n, *b_n)], 2),
            span([(*m, *c_m), (*n, *c_n)], 3),
        ])
    },
    naive: |buffers, ints| {
        let [a, b, c] = buffers else { return };
        let axes: Vec<&[i64]> = ints[9..].chunks(4).collect();
        let count: i64 = axes.iter().map(|axis| axis[0]).product();
        for flat in 0..count {
            let (mut rest, mut base) = (flat, [0i64; 3]);
            for axis in axes.iter().rev() {
                let index = rest % axis[0];
                rest /= axis[0];
                (0..3).for_each(|operand| base[operand] += index * axis[operand + 1]);
            }
            for m in 0..ints[0] {
                for n in 0..ints[1] {
                    let term = |k: i64| {
                        a[(base[0] + m * ints[3] + k * ints[4]) as usize]
                            * b[(base[1] + k * ints[5] + n * ints[6]) as usize]
                    };
                    c[(base[2] + m * ints[7] + n * ints[8]) as usize] = (0..ints[2]).map(term).sum();
                }
            }
        }
    },
};

/// Solves triangular systems.
pub static TRIANGULAR_SOLVE: PrimitiveDef = PrimitiveDef {
    name: "triangular_solve",
    doc: "x with l x = b, or transpose(l) x = b; l lower triangular. Integers: batch, n, columns, transposed (0 or 1). \
          Buffers: l[batch, n, n], b[batch, n, columns], x.",
    is_blocked_product: false,
    flops: |i| (i[0] * i[1] * i[1] * i[2]) as u64,
    reach: |ints| match ints {
        [batch, n, columns, _] => {
            let columns = whole(&[*batch, *n, *columns]);
            Some(vec![whole(&[*batch, *n, *n]), columns, columns])
        }
        _ => None,
    },
    naive: |buffers, ints| {
        let (batch, n, columns) = (ints[0] as usize, ints[1] as usize, ints[2] as usize);
        let [l, b, x] = buffers else { return };
        for s in 0..batch {
            let entry = |i: usize, j: usize| {
                if ints[3] == 1 {
                    l[(s * n + j) * n + i]
                } else {
                    l[(s * n + i) * n + j]
                }
            };
            for c in 0..columns {
                let at = |i: usize| (s * n + i) * columns + c;
                for step in 0..n {
                    let i = if ints[3] == 1 { n - 1 - step } else { step };
                    let others = if ints[3] == 1 { i + 1..n } else { 0..i };
                    let known: f64 = others.map(|j| entry(i, j) * x[at(j)]).sum();
                    x[at(i)] = (b[at(i)] - known) / entry(i, i);
                }
            }
        }
    },
};

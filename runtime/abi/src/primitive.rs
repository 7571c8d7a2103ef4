//! The library primitives that plans call. Each has a signature, a cost and a naive reference
//! implementation.
//!
//! The crate `kernels` has the fast implementations under the same names.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::Deref;

/// The operands and the result of a primitive for its naive reference: `f64` elements in row-major
/// order.
pub type Naive<'a> = &'a mut [Vec<f64>];

/// The definition of a library primitive.
pub struct PrimitiveDef {
    /// The name of the primitive in texts.
    pub name: &'static str,
    /// The documentation: one sentence, followed by the meaning of each integer in order.
    pub doc: &'static str,
    /// Returns the number of floating-point operations of a call with these integers.
    pub flops: fn(&[i64]) -> u64,
    /// The naive reference implementation: `(buffers, ints)`. The last buffer is the result. The
    /// reference is simple but slow.
    pub naive: fn(Naive, &[i64]),
}

/// A typed handle to a primitive.
#[derive(Clone, Copy)]
pub struct Primitive(pub &'static PrimitiveDef);

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
pub static ALL: &[&PrimitiveDef] = &[&CHOLESKY, &CUMSUM, &MATMUL, &TRIANGULAR_SOLVE];

/// Computes lower Cholesky factors.
pub static CHOLESKY: PrimitiveDef = PrimitiveDef {
    name: "cholesky",
    doc: "Lower Cholesky factors, NaN where not positive definite. Integers: batch, n. Buffers: a[batch, n, n], l.",
    flops: |i| (i[0] * i[1] * i[1] * i[1] / 3) as u64,
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

/// Computes running sums.
pub static CUMSUM: PrimitiveDef = PrimitiveDef {
    name: "cumsum",
    doc: "Running sums along the middle axis. Integers: outer, length, inner, reverse (0 or 1). Buffers: x, y.",
    flops: |i| (i[0] * i[1] * i[2]) as u64,
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
    flops: |i| (2 * i[0] * i[1] * i[2] * i[9..].chunks(4).map(|axis| axis[0]).product::<i64>()) as u64,
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
    flops: |i| (i[0] * i[1] * i[1] * i[2]) as u64,
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

//! Products of dense matrices that are stored in slices. The result is divided into tiles, and the
//! threads share the tiles.

use super::blocked::{Addresses, compute, form};
use super::tile::{MatmulElement, Update};
use super::{Extents, Operands, PIECE};
use crate::arrays::Level;
use crate::pool::Pool;

/// The possible side lengths of a tile of the result. The largest length that gives at least
/// [`ENOUGH`] tiles is used. If none of them does, the smallest length is used.
const SIDES: [usize; 3] = [256, 128, 64];
/// With at least this many tiles, all threads finish at about the same time.
const ENOUGH: usize = 16;

/// Selects the elements of the result that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputedPart {
    /// All elements of the result.
    All,
    /// The elements on and above the diagonal. Elements below the diagonal are computed only if
    /// they lie in the same tiles.
    Upper,
}

/// A product of two dense matrices.
pub struct Product<'a, T> {
    /// The sizes and strides. Strides must not be negative.
    pub extents: Extents,
    /// The left operand. The slice begins at its first element.
    pub a: &'a [T],
    /// The right operand. The slice begins at its first element.
    pub b: &'a [T],
    /// How the product changes the old contents of the result.
    pub update: Update,
    /// The elements of the result that are computed.
    pub part: ComputedPart,
}

/// Returns the length of the slice that a matrix with these sizes and strides needs, from its first
/// to its last element.
fn reach(sizes: [usize; 2], strides: [isize; 2]) -> usize {
    if sizes.contains(&0) {
        return 0;
    }
    let along = |at: usize| match usize::try_from(strides[at]) {
        Ok(stride) => (sizes[at] - 1).saturating_mul(stride),
        Err(_) => usize::MAX,
    };
    along(0).saturating_add(along(1)).saturating_add(1)
}

impl<T: MatmulElement> Product<'_, T> {
    /// Writes the product to `c`. The first element of `c` is the first element of the result. The
    /// values do not depend on the number of threads.
    ///
    /// # Panics
    /// Panics if a slice is too short, or if two elements of the result may have the same address.
    pub fn write(&self, pool: &Pool, c: &mut [T]) {
        let Extents { m, n, k, .. } = self.extents;
        if m == 0 || n == 0 || (k == 0 && self.update != Update::Store) {
            return;
        }
        assert!(
            reach([m, k], self.extents.a) <= self.a.len(),
            "the left operand is too short"
        );
        assert!(
            reach([k, n], self.extents.b) <= self.b.len(),
            "the right operand is too short"
        );
        assert!(
            reach([m, n], self.extents.c) <= c.len(),
            "the result is too short"
        );
        assert!(self.extents.results_differ(), "elements of the result coincide");
        let side = SIDES
            .into_iter()
            .find(|side| m.div_ceil(*side) * n.div_ceil(*side) >= ENOUGH);
        let side = match self.extents.flops() < PIECE {
            true => m.max(n),
            false => side.unwrap_or(SIDES[SIDES.len() - 1]),
        };
        let tiles = self.tiles(side);
        let at = Operands {
            a: self.a.as_ptr(),
            b: self.b.as_ptr(),
            c: c.as_mut_ptr(),
        };
        let (at, tiles) = (&at, &tiles);
        pool.run(tiles.len(), &|_, tile| {
            // SAFETY: the operands contain every element that lies within the extents. Tiles are
            // disjoint
            // parts of the result. The result is mutably borrowed, so it does not overlap an
            // operand.
            unsafe { self.tile(at, tiles[tile], side) };
        });
    }

    /// Returns the indices of the first row and the first column of each tile.
    fn tiles(&self, side: usize) -> Vec<(usize, usize)> {
        let Extents { m, n, .. } = self.extents;
        let first = |top: usize| match self.part {
            ComputedPart::All => 0,
            ComputedPart::Upper => top,
        };
        let tops = (0..m).step_by(side);
        tops.flat_map(|top| (first(top)..n).step_by(side).map(move |left| (top, left)))
            .collect()
    }

    /// # Safety
    /// The operands must contain every element that lies within the extents. Only this thread may
    /// use the tile.
    unsafe fn tile(&self, at: &Operands<T>, (top, left): (usize, usize), side: usize) {
        let Extents { m, n, a, b, c, .. } = self.extents;
        let extents = Extents {
            m: side.min(m - top),
            n: side.min(n - left),
            ..self.extents
        };
        let (top, left) = (top as isize, left as isize);
        let a = at.a.wrapping_offset(top * a[0]);
        let b = at.b.wrapping_offset(left * b[1]);
        let c = at.c.wrapping_offset(top * c[0] + left * c[1]);
        let kernels = T::kernels(Level::detect());
        let (form, transposed) = form(kernels, &extents);
        let (extents, a, b) = if transposed {
            (extents.transposed(), b, a)
        } else {
            (extents, a, b)
        };
        // SAFETY: guaranteed by the caller.
        unsafe { compute(kernels, form, &extents, &Addresses { a, b, c }, self.update) }
    }
}

impl Extents {
    /// Returns true if all elements of the result are guaranteed to have different addresses.
    fn results_differ(&self) -> bool {
        let [rows, columns] = self.c.map(isize::unsigned_abs);
        let wide = self.n <= 1 || columns > 0;
        let high = self.m <= 1 || rows > 0;
        let apart = self.m <= 1
            || self.n <= 1
            || rows >= columns.saturating_mul(self.n)
            || columns >= rows.saturating_mul(self.m);
        wide && high && apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns multiples of 1/64 between -1/2 and 1/2. Sums of products of these numbers are exact
    /// in every order of summation.
    fn exact(seed: usize, count: usize) -> Vec<f64> {
        let mixed = |at: usize| ((seed + at) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        (0..count).map(|at| (mixed(at) as f64 - 32.0) / 64.0).collect()
    }

    /// Returns the strides of a row-major matrix, or of a column-major matrix if `by_columns` is
    /// true. `gap` elements lie between consecutive rows or columns.
    fn strides([rows, columns]: [usize; 2], by_columns: bool, gap: usize) -> [isize; 2] {
        match by_columns {
            false => [(columns + gap) as isize, 1],
            true => [1, (rows + gap) as isize],
        }
    }

    fn offset([i, j]: [usize; 2], [along_i, along_j]: [isize; 2]) -> usize {
        i * along_i as usize + j * along_j as usize
    }

    /// Returns the result computed by its definition. Also returns two sets of positions: of the
    /// elements that must be computed, and of those that may be computed.
    fn naive(product: &Product<'_, f64>, old: &[f64]) -> (Vec<f64>, Vec<usize>, Vec<usize>) {
        let Extents { m, n, k, a, b, c } = product.extents;
        let mut result = old.to_vec();
        let (mut surely, mut maybe) = (Vec::new(), Vec::new());
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = offset([i, j], c);
            let sum: f64 = (0..k)
                .map(|l| product.a[offset([i, l], a)] * product.b[offset([l, j], b)])
                .sum();
            match product.update {
                Update::Store => result[at] = sum,
                Update::Add => result[at] += sum,
                Update::Subtract => result[at] -= sum,
            }
            match product.part == ComputedPart::All || i <= j {
                true => surely.push(at),
                false => maybe.push(at),
            }
        }
        (result, surely, maybe)
    }

    #[test]
    fn products_are_exact_in_every_layout_and_part() {
        let sizes = [
            [1, 1, 1],
            [1, 70, 9],
            [70, 1, 33],
            [130, 97, 40],
            [3, 5, 0],
            [200, 200, 130],
            [0, 4, 2],
        ];
        let updates = [
            (Update::Store, ComputedPart::All),
            (Update::Add, ComputedPart::Upper),
            (Update::Subtract, ComputedPart::All),
        ];
        let pools = [Pool::new(1), Pool::new(2)];
        for (case, [m, n, k]) in sizes
            .into_iter()
            .flat_map(|size| (0..8).map(move |case| (case, size)))
        {
            let (a, b) = (exact(1, (m + 7) * (k + 7)), exact(9, (k + 7) * (n + 7)));
            let extents = Extents {
                m,
                n,
                k,
                a: strides([m, k], case & 1 == 1, case),
                b: strides([k, n], case & 2 == 2, 3),
                c: strides([m, n], case & 4 == 4, case % 3),
            };
            let old = exact(5, (m + 3) * (n + 3));
            for (update, part) in updates {
                let product = Product {
                    extents,
                    a: &a,
                    b: &b,
                    update,
                    part,
                };
                let (known, surely, maybe) = naive(&product, &old);
                let [found, again] = pools.each_ref().map(|pool| {
                    let mut c = old.clone();
                    product.write(pool, &mut c);
                    c
                });
                assert_eq!(found, again);
                let mut expected = old.clone();
                surely.iter().for_each(|at| expected[*at] = known[*at]);
                maybe.iter().for_each(|at| expected[*at] = found[*at]);
                assert_eq!(found, expected, "{extents:?} {update:?} {part:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "the right operand is too short")]
    fn a_short_operand_is_rejected() {
        let extents = Extents {
            m: 2,
            n: 3,
            k: 4,
            a: [4, 1],
            b: [3, 1],
            c: [3, 1],
        };
        let product = Product {
            extents,
            a: &[0.0; 8],
            b: &[0.0; 11],
            update: Update::Store,
            part: ComputedPart::All,
        };
        product.write(&Pool::new(1), &mut [0.0; 6]);
    }

    #[test]
    #[should_panic(expected = "elements of the result coincide")]
    fn a_result_that_overlaps_itself_is_rejected() {
        let extents = Extents {
            m: 2,
            n: 3,
            k: 1,
            a: [1, 1],
            b: [3, 1],
            c: [2, 1],
        };
        let product = Product {
            extents,
            a: &[0.0; 8],
            b: &[0.0; 11],
            update: Update::Store,
            part: ComputedPart::All,
        };
        product.write(&Pool::new(1), &mut [0.0; 6]);
    }
}

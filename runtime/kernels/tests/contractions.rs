//! Contractions with several axes per side agree with the naive reference, with every instruction set.
//!
//! Elements are multiples of 1/64 of magnitude at most one, so that all sums over fewer than 4096 terms are exact in both precisions.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bnnc_abi::primitive;
use bnnc_base::dtype::Precision;
use bnnc_kernels::arrays::Level;
use bnnc_kernels::matmul::contraction_at;
use bnnc_kernels::pool::Pool;

/// A small generator for sizes and values (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn exact(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| (self.below(129) as f64 - 64.0) / 64.0)
            .collect()
    }

    fn rounded(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
            .collect()
    }
}

/// Returns the elements of the result as `f64`.
fn run(level: Level, pool: &Pool, precision: Precision, (buffers, ints): (&[Vec<f64>], &[i64])) -> Vec<f64> {
    // SAFETY: the buffers contain every element that the integers refer to.
    let call = |addresses: &[*mut u8]| unsafe { contraction_at(level, pool, precision, addresses, ints) };
    let mut doubles = buffers.to_vec();
    let single = |buffer: &Vec<f64>| buffer.iter().map(|x| *x as f32).collect();
    let mut singles: Vec<Vec<f32>> = buffers.iter().map(single).collect();
    match precision {
        Precision::F32 => {
            let addresses: Vec<*mut u8> = singles.iter_mut().map(|copy| copy.as_mut_ptr().cast()).collect();
            call(&addresses);
            singles.pop().unwrap().into_iter().map(f64::from).collect()
        }
        Precision::F64 => {
            let addresses: Vec<*mut u8> = doubles.iter_mut().map(|copy| copy.as_mut_ptr().cast()).collect();
            call(&addresses);
            doubles.pop().unwrap()
        }
    }
}

fn naive(buffers: &[Vec<f64>], ints: &[i64]) -> Vec<f64> {
    let mut buffers = buffers.to_vec();
    (primitive::CONTRACTION.naive)(&mut buffers, ints);
    buffers.pop().unwrap()
}

fn check(pool: &Pool, buffers: &[Vec<f64>], ints: &[i64]) {
    let want = naive(buffers, ints);
    let reach = (primitive::CONTRACTION.reach)(ints).unwrap();
    for (buffer, span) in buffers.iter().zip(reach) {
        assert!(span.is_none_or(|[low, high]| low >= 0 && high < buffer.len() as i64));
    }
    for level in Level::supported() {
        for precision in [Precision::F32, Precision::F64] {
            let found = run(*level, pool, precision, (buffers, ints));
            assert!(found == want, "{precision:?} {level:?} {ints:?}");
        }
    }
}

/// A convolution of `[images, channels, height, width]` by kernels of `[out, channels, size, size]`.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    images: usize,
    channels: usize,
    out: usize,
    whole: [usize; 2],
    size: usize,
    stride: usize,
}

impl Convolution {
    fn windows(&self) -> [usize; 2] {
        self.whole.map(|whole| (whole - self.size) / self.stride + 1)
    }

    fn x(&self) -> usize {
        self.images * self.channels * self.whole[0] * self.whole[1]
    }

    fn kernel(&self) -> usize {
        self.out * self.channels * self.size * self.size
    }

    fn y(&self) -> usize {
        self.images * self.out * self.windows()[0] * self.windows()[1]
    }

    /// Returns the strides of the image along its axes and along the rows and columns of windows.
    fn steps(&self) -> [i64; 6] {
        let [h, w, c] = [self.whole[0], self.whole[1], self.channels].map(|size| size as i64);
        let stride = self.stride as i64;
        [c * h * w, h * w, w, 1, w * stride, stride]
    }

    fn axes(&self) -> [i64; 7] {
        let [p, q] = self.windows();
        [self.images, self.out, self.channels, self.size, self.size, p, q].map(|size| size as i64)
    }

    /// `y = kernel * x`: the columns are the windows.
    fn forward(&self) -> Vec<i64> {
        let ([n, o, c, a, b, p, q], [sn, sc, sa, sb, sp, sq]) = (self.axes(), self.steps());
        [
            [0, 0, 1, 3].as_slice(),
            &[3, 0],
            &[o, c * a * b, 0, p * q],
            &[n, 0, sn, o * p * q],
            &[p, 0, sp, q],
            &[q, 0, sq, 1],
            &[c, a * b, sc, 0],
            &[a, b, sa, 0],
            &[b, 1, sb, 0],
        ]
        .concat()
    }

    /// The derivative with respect to the kernel: the terms are the windows.
    fn of_kernel(&self) -> Vec<i64> {
        let ([n, o, c, a, b, p, q], [sn, sc, sa, sb, sp, sq]) = (self.axes(), self.steps());
        [
            [0, 0, 1, 3].as_slice(),
            &[3, 0],
            &[o, p * q, 0, c * a * b],
            &[c, 0, sc, a * b],
            &[a, 0, sa, b],
            &[b, 0, sb, 1],
            &[n, o * p * q, sn, 0],
            &[p, q, sp, 0],
            &[q, 1, sq, 0],
        ]
        .concat()
    }
}

fn convolutions(random: &mut Random, count: usize) -> Vec<Convolution> {
    let convolution = |random: &mut Random| {
        let size = 1 + random.below(4);
        Convolution {
            images: 1 + random.below(4),
            channels: 1 + random.below(5),
            out: [1, 3, 8, 15, 20][random.below(5)],
            whole: [0; 2].map(|_| size + random.below(17)),
            size,
            stride: 1 + random.below(3),
        }
    };
    (0..count).map(|_| convolution(random)).collect()
}

#[test]
fn convolutions_and_their_derivatives_are_exact() {
    let (mut random, pool) = (Random(1), Pool::new(2));
    let mut all = convolutions(&mut random, 120);
    for (channels, out, side) in [(24, 40, 16), (130, 9, 9), (3, 65, 21)] {
        all.push(Convolution {
            images: 2,
            channels,
            out,
            whole: [side; 2],
            size: 3,
            stride: 1,
        });
    }
    for one in all {
        let [x, kernel, y] = [one.x(), one.kernel(), one.y()].map(|count| random.exact(count));
        let forward = [kernel.clone(), x.clone(), vec![f64::NAN; y.len()]];
        check(&pool, &forward, &one.forward());
        let backward = [y, x, vec![f64::NAN; kernel.len()]];
        check(&pool, &backward, &one.of_kernel());
    }
}

/// Axes of any number and size, with strides of either sign and gaps.
#[test]
fn products_over_random_axes_are_exact() {
    let (mut random, pool) = (Random(2), Pool::new(2));
    for round in 0..600 {
        let counts = [0; 4].map(|side| random.below(if side == 3 { 2 } else { 4 }) as i64);
        let sides: Vec<usize> = (0..4)
            .flat_map(|side| std::iter::repeat_n(side, counts[side] as usize))
            .collect();
        let mut axes: Vec<[i64; 4]> = sides
            .iter()
            .map(|_| [random.below(7) as i64 + i64::from(round % 10 > 0), 0, 0, 0])
            .collect();
        let mut starts = [0; 3];
        let mut lengths = [1; 3];
        for operand in 0..3 {
            let absent = [1, 0, 2][operand];
            let mut own: Vec<usize> = (0..axes.len()).filter(|at| sides[*at] != absent).collect();
            // The axes follow each other in memory in a random order, sometimes with a gap.
            for at in (1..own.len()).rev() {
                let other = random.below(at + 1);
                own.swap(at, other);
            }
            for at in own {
                let size = axes[at][0].max(1);
                let stride = lengths[operand] + i64::from(random.below(4) == 0);
                let is_reversed = operand < 2 && random.below(4) == 0;
                axes[at][operand + 1] = if is_reversed { -stride } else { stride };
                starts[operand] += i64::from(is_reversed) * (size - 1) * stride;
                lengths[operand] += (size - 1) * stride;
            }
        }
        let mut ints = vec![starts[0], starts[1]];
        ints.extend(counts);
        ints.extend(axes.iter().flatten());
        let buffers = lengths.map(|length| random.exact(length as usize));
        check(&pool, &buffers, &ints);
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let mut random = Random(3);
    let pools = [1, 2, 3].map(Pool::new);
    for (images, channels, out, side) in [(4, 16, 24, 14), (9, 3, 40, 17), (2, 40, 7, 24)] {
        let one = Convolution {
            images,
            channels,
            out,
            whole: [side; 2],
            size: 3,
            stride: 1,
        };
        let [x, kernel, y] = [one.x(), one.kernel(), one.y()].map(|count| random.rounded(count));
        let forward = [kernel.clone(), x.clone(), vec![0.0; y.len()]];
        let backward = [y, x, vec![0.0; kernel.len()]];
        for (buffers, ints) in [(&forward, one.forward()), (&backward, one.of_kernel())] {
            for level in Level::supported() {
                for precision in [Precision::F32, Precision::F64] {
                    let found = pools
                        .each_ref()
                        .map(|pool| run(*level, pool, precision, (buffers, &ints)));
                    assert!(
                        found[0] == found[1] && found[0] == found[2],
                        "{precision:?} {ints:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn malformed_integers_are_not_those_of_a_call() {
    let reach = primitive::CONTRACTION.reach;
    let good = [0, 0, 1, 1, 1, 0, 2, 3, 0, 4, 4, 0, 1, 1, 3, 1, 4, 0];
    assert_eq!(
        reach(&good),
        Some(vec![Some([0, 5]), Some([0, 11]), Some([0, 7])])
    );
    assert_eq!(reach(&good[..17]), None, "an axis is cut off");
    assert_eq!(reach(&good[..5]), None);
    let with = |at: usize, value: i64| {
        let mut ints = good;
        ints[at] = value;
        reach(&ints)
    };
    assert_eq!(with(2, 2), None, "more axes than there are");
    assert_eq!(with(2, -1), None);
    assert_eq!(with(8, 1), None, "an m axis moves in the right operand");
    assert_eq!(with(17, 1), None, "a k axis moves in the result");
    let empty = with(14, 0);
    assert_eq!(
        empty,
        Some(vec![None, None, Some([0, 7])]),
        "sums without terms are written"
    );
}

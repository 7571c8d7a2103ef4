//! Prints the speed of the kernels on this machine: nanoseconds per element, and GFLOP/s of matrix products.

use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::Precision;
use bnnc_kernels::arrays::{Level, noise_at, unary_at};
use bnnc_kernels::matmul::matmul;
use bnnc_kernels::pool::Pool;
use bnnc_math::scalar::Scalar;
use std::time::Instant;

/// Returns the time of the fastest of many repetitions, in seconds.
fn best(mut body: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    let mut rounds = 0;
    while rounds < 5 || start.elapsed().as_secs_f64() < 0.1 {
        let from = Instant::now();
        body();
        best = best.min(from.elapsed().as_secs_f64());
        rounds += 1;
    }
    best
}

const N: usize = 1024;

/// Returns shapes of gamma variates.
fn shapes(precision: Precision) -> *const u8 {
    static SINGLE: [f32; N] = [2.5; N];
    static DOUBLE: [f64; N] = [2.5; N];
    match precision {
        Precision::F32 => SINGLE.as_ptr().cast(),
        Precision::F64 => DOUBLE.as_ptr().cast(),
    }
}

fn arrays() {
    let scalars = [
        Scalar::Exp,
        Scalar::Log,
        Scalar::Log1p,
        Scalar::Expm1,
        Scalar::Tanh,
        Scalar::Sigmoid,
        Scalar::Softplus,
        Scalar::LogSigmoid,
        Scalar::Sin,
        Scalar::Erf,
        Scalar::Erfc,
    ];
    let mut data = vec![0f64; N];
    let mut out = vec![0f64; N];
    for precision in [Precision::F32, Precision::F64] {
        for i in 0..N {
            let value = (i as f64 / N as f64 - 0.5) * 8.0;
            match precision {
                Precision::F64 => data[i] = value,
                // SAFETY: `data` has room for twice as many f32.
                Precision::F32 => unsafe { data.as_mut_ptr().cast::<f32>().add(i).write(value as f32) },
            }
        }
        for scalar in scalars {
            print!("{:<12} {precision}  ns/element", scalar.name());
            for level in Level::supported() {
                let Some(function) = unary_at(*level, scalar, precision) else {
                    continue;
                };
                let seconds = best(|| {
                    for _ in 0..20 {
                        // SAFETY: both arrays hold N elements.
                        unsafe { function(out.as_mut_ptr().cast(), data.as_ptr().cast(), N as i64) }
                    }
                });
                print!("  {level:?} {:.3}", seconds * 1e9 / (20 * N) as f64);
            }
            println!();
        }
        for kind in NoiseKind::ALL {
            print!("{:<12} {precision}  ns/element", kind.name());
            for level in Level::supported() {
                let function = noise_at(*level, kind, precision);
                let seconds = best(|| {
                    for draw in 0..20 {
                        let shapes = shapes(precision);
                        // SAFETY: `out` and the shapes hold N elements.
                        unsafe { function(out.as_mut_ptr().cast(), shapes, N as i64, 7, 0, draw, 0, 0) }
                    }
                });
                print!("  {level:?} {:.3}", seconds * 1e9 / (20 * N) as f64);
            }
            println!();
        }
    }
}

/// `(name, m, n, k)` of the products of a small network's training step.
const PRODUCTS: &[(&str, i64, i64, i64)] = &[
    ("128x784x400", 128, 400, 784),
    ("128x400x400", 128, 400, 400),
    ("128x400x10", 128, 10, 400),
    ("784x128x400", 784, 400, 128),
    ("400x128x400", 400, 400, 128),
    ("400x128x10", 400, 10, 128),
    ("128x10x400", 128, 400, 10),
    ("128x50x50", 128, 50, 50),
    ("32x50x50", 32, 50, 50),
    ("32x13x50", 32, 50, 13),
    ("512x784x400", 512, 400, 784),
    ("1024x1024x1024", 1024, 1024, 1024),
    ("1x784x400", 1, 400, 784),
    ("400x784x1", 400, 1, 784),
    ("128x50x1", 128, 1, 50),
    ("128x1x50", 128, 50, 1),
    ("1x128x50", 1, 50, 128),
];

fn products() {
    let pools = [Pool::new(1), Pool::new(2)];
    for precision in [Precision::F32, Precision::F64] {
        for (name, m, n, k) in PRODUCTS {
            print!("{name:<14} {precision}  GFLOP/s (threads 1, 2)");
            for (form, a, b) in [
                ("nn", [*k, 1], [*n, 1]),
                ("nt", [*k, 1], [1, *k]),
                ("tn", [1, *m], [*n, 1]),
            ] {
                print!("  {form}");
                for pool in &pools {
                    let mut buffers = [
                        vec![1f64; (m * k) as usize],
                        vec![1f64; (k * n) as usize],
                        vec![0f64; (m * n) as usize],
                    ];
                    let addresses = buffers.each_mut().map(|buffer| buffer.as_mut_ptr().cast::<u8>());
                    let ints = [*m, *n, *k, a[0], a[1], b[0], b[1], *n, 1];
                    let repeat = (4_000_000 / (m * n * k)).max(1);
                    let seconds = best(|| {
                        for _ in 0..repeat {
                            // SAFETY: the buffers hold all elements that the integers address.
                            unsafe { matmul(pool, precision, &addresses, &ints) }
                        }
                    });
                    print!(" {:6.1}", (2 * m * n * k * repeat) as f64 / seconds * 1e-9);
                }
            }
            println!();
        }
    }
}

fn main() {
    sections();
    let only = std::env::args().nth(1);
    if only.as_deref() != Some("products") {
        arrays();
    }
    if only.as_deref() != Some("arrays") {
        products();
    }
}

/// Prints the time of an empty parallel section in microseconds: for sections in immediate succession, and after a pause in which workers fall
/// asleep.
fn sections() {
    let pool = Pool::new(2);
    let busy = best(|| (0..1000).for_each(|_| pool.run(8, &|_, _| {})));
    let mut pauses = Vec::new();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_micros(300));
        let from = Instant::now();
        pool.run(8, &|_, _| {});
        pauses.push(from.elapsed().as_secs_f64());
    }
    pauses.sort_by(f64::total_cmp);
    println!(
        "section of 2 threads: {:.2} us busy, {:.2} us after a pause",
        busy * 1e3,
        pauses[100] * 1e6
    );
}

//! After each thread has computed one matrix product, further products do not allocate memory.

use bnnc_base::dtype::Precision;
use bnnc_kernels::matmul::{contraction, matmul};
use bnnc_kernels::pool::Pool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True if the allocations of this thread are counted. This is the case for the threads of the
    /// pool, but not for the thread that waits for the test, because it may allocate at any time.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.get() {
            ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn products_allocate_nothing_after_the_first() {
    let pool = Pool::new(2);
    let both = Barrier::new(pool.threads());
    let mut buffers = [0; 3].map(|_| vec![0f64; 1100 * 300]);
    let addresses = buffers.each_mut().map(|buffer| buffer.as_mut_ptr().cast::<u8>());
    // Pointers cannot be shared between threads, so the buffers are passed as integers.
    let tiny = addresses.map(|address| address as usize);
    pool.run(pool.threads(), &|worker, _| {
        both.wait();
        COUNTS.set(true);
        // Each worker writes its own element of the result.
        let own = [
            tiny[0] as *mut u8,
            tiny[1] as *mut u8,
            (tiny[2] + 8 * worker) as *mut u8,
        ];
        // SAFETY: the call uses one element of each buffer.
        unsafe { matmul(&pool, Precision::F64, &own, &[1, 1, 1, 1, 1, 1, 1, 1, 1]) };
    });
    // The operands are 30 kernels, and the windows of 3 x 3 pixels in 20 images of 24 x 24 pixels.
    let axes = [
        [30, 9, 0, 484],
        [20, 0, 576, 14520],
        [22, 0, 24, 22],
        [22, 0, 1, 1],
        [3, 3, 24, 0],
        [3, 1, 1, 0],
    ];
    let windows = [[0, 0, 1, 3, 2, 0].as_slice(), axes.as_flattened()].concat();
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    for precision in [Precision::F32, Precision::F64] {
        for [m, n, k] in [
            [128, 50, 50],
            [128, 400, 784],
            [300, 10, 400],
            [64, 64, 1024],
            [1, 300, 300],
            [300, 1, 300],
            [30, 30, 1100],
        ] {
            for (a, b, c) in [
                ([k, 1], [n, 1], [n, 1]),
                ([1, m], [n, 1], [n, 1]),
                ([k, 1], [1, k], [1, m]),
            ] {
                let ints = [m, n, k, a[0], a[1], b[0], b[1], c[0], c[1]];
                // SAFETY: the buffers contain every element that the integers refer to.
                unsafe { matmul(&pool, precision, &addresses, &ints) };
            }
        }
        // SAFETY: the buffers contain every element that the integers refer to.
        unsafe { contraction(&pool, precision, &addresses, &windows) };
    }
    assert_eq!(ALLOCATIONS.load(Ordering::SeqCst), before);
}

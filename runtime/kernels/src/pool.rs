//! A pool of threads for short parallel sections. A section is one call of [`Pool::run`]; its
//! pieces run on several threads.
//!
//! Note [The gate]. The word `gate` controls which workers take part in a section. The high half of
//! `gate` is the generation of the section, and the low half counts the workers inside the section.
//! To open a section, the caller publishes its job, and then writes a new generation to `gate`. A
//! worker may enter if the gate is open and the worker has not yet served this generation. It
//! enters by adding one to the gate. The caller also runs pieces. When all pieces have been
//! started,
//! the caller closes the gate and waits for the workers inside. A worker that wakes too late finds
//! the gate closed, and the caller does not wait for it. Opening a section does not allocate
//! memory. As long as the workers still spin, it does not make a system call either.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// The function that runs a piece. The arguments are `(worker, piece)`.
pub type PieceTask<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The time that an idle worker spins before it sleeps.
const SPIN: Duration = Duration::from_micros(40);
/// The bit of the gate that is set while workers may enter.
const OPEN: u64 = 1 << 31;
/// The bits of the gate that count the workers inside.
const INSIDE: u64 = OPEN - 1;

/// A fixed number of threads, one of which is the caller of a section.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// A lock that the caller holds while its section runs.
    caller: Mutex<()>,
}

/// The job of the open section.
#[derive(Clone, Copy)]
struct TileJob {
    task: PieceTask<'static>,
    count: usize,
}

struct Shared {
    gate: AtomicU64,
    job: UnsafeCell<TileJob>,
    next: AtomicUsize,
    sleepers: AtomicUsize,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is written only while the gate is closed and no worker is inside. Only workers
// inside read it.
unsafe impl Sync for Shared {}

thread_local! {
    /// If a section runs on this thread, the address of its pool and the worker index of the thread
    /// in this pool.
    static SECTION: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Locks a mutex and ignores poison. A panic elsewhere cannot leave the value partly written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Creates a pool of `threads` threads, or one thread if `threads` is zero. The caller of a
    /// section counts as one of them.
    pub fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared {
            gate: AtomicU64::new(0),
            job: UnsafeCell::new(TileJob {
                task: &|_, _| {},
                count: 0,
            }),
            next: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let start = |worker: usize| {
            let shared = shared.clone();
            let name = format!("bnnc-{worker}");
            thread::Builder::new()
                .name(name)
                .spawn(move || shared.serve(worker))
                .ok()
        };
        // If the system cannot start all threads, the pool has fewer threads. Results do not depend
        // on this number.
        let threads = (1..threads.max(1)).map_while(start).collect();
        Pool {
            shared,
            threads,
            caller: Mutex::new(()),
        }
    }

    /// Returns the number of threads of the pool. Worker indices are below this number.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `task(worker, piece)` for every piece below `count`. Pieces run in any order on any
    /// thread. Two pieces that run at the same time have different worker indices. If the calling
    /// thread is already inside a section of the same pool, it runs all pieces itself.
    ///
    /// # Panics
    /// Panics if a piece panics. Pieces that have not been started may then be skipped.
    pub fn run(&self, count: usize, task: PieceTask<'_>) {
        let (section, worker) = SECTION.get();
        if section == self.address() {
            return (0..count).for_each(|piece| task(worker, piece));
        }
        let _turn = lock(&self.caller);
        let _section = Section::enter(self.address(), 0);
        if count <= 1 || self.threads.is_empty() {
            return (0..count).for_each(|piece| task(0, piece));
        }
        // SAFETY: only this thread and the workers inside the section use the reference. This
        // function returns after all workers have left the section.
        let task = unsafe { std::mem::transmute::<PieceTask<'_>, PieceTask<'static>>(task) };
        self.open(TileJob { task, count });
        self.shared.work(0, TileJob { task, count });
        self.shared.close();
        let panic = lock(&self.shared.panic).take();
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Returns the address that identifies this pool in [`SECTION`]. The caller and the workers use
    /// the same address.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }

    fn open(&self, job: TileJob) {
        // SAFETY: the caller's lock is held, the gate is closed, and no worker is inside. Workers
        // therefore cannot read the job.
        unsafe { *self.shared.job.get() = job };
        self.shared.next.store(0, Ordering::Relaxed);
        let generation = (self.shared.gate.load(Ordering::Relaxed) >> 32) + 1;
        self.shared
            .gate
            .store((generation << 32) | OPEN, Ordering::SeqCst);
        if self.shared.sleepers.load(Ordering::SeqCst) > 0 {
            self.threads
                .iter()
                .map(JoinHandle::thread)
                .take(job.count - 1)
                .for_each(Thread::unpark);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A worker catches the panics of its pieces, so `join` cannot fail.
            let _ = thread.join();
        }
    }
}

/// While this value exists, the current thread is marked as being inside a section.
struct Section {
    outer: (usize, usize),
}

impl Section {
    fn enter(address: usize, worker: usize) -> Section {
        Section {
            outer: SECTION.replace((address, worker)),
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        SECTION.set(self.outer);
    }
}

impl Shared {
    /// Runs pieces of the job until all pieces have been started, by this worker or by others.
    fn work(&self, worker: usize, job: TileJob) {
        let pieces = || {
            loop {
                let piece = self.next.fetch_add(1, Ordering::Relaxed);
                if piece >= job.count {
                    return;
                }
                (job.task)(worker, piece);
            }
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(pieces)) {
            self.next.store(job.count, Ordering::Relaxed);
            lock(&self.panic).get_or_insert(payload);
        }
    }

    /// Closes the section and waits for the workers inside.
    fn close(&self) {
        self.gate.fetch_and(!OPEN, Ordering::AcqRel);
        let mut rounds = 0u32;
        while self.gate.load(Ordering::Acquire) & INSIDE != 0 {
            rounds += 1;
            if rounds < 20_000 {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// The main loop of a worker thread.
    fn serve(&self, worker: usize) {
        let _section = Section::enter(std::ptr::from_ref(self) as usize, worker);
        let mut served = 0;
        while let Some(generation) = self.enter(served) {
            served = generation;
            // SAFETY: this worker is inside the section, so the job has been published and does not
            // change.
            let job = unsafe { *self.job.get() };
            self.work(worker, job);
            self.gate.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Waits for a section whose generation differs from `served`, and enters it. Returns `None`
    /// when the pool is dropped.
    fn enter(&self, served: u64) -> Option<u64> {
        let mut idle = Instant::now();
        let mut rounds = 0u32;
        loop {
            if let Some(generation) = self.try_enter(served) {
                return Some(generation);
            }
            if self.stop.load(Ordering::SeqCst) {
                return None;
            }
            std::hint::spin_loop();
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(64) && idle.elapsed() > SPIN {
                self.sleep(served);
                idle = Instant::now();
            }
        }
    }

    /// Sleeps if a section has not opened. A wake-up cannot be lost, because the worker adds itself
    /// to `sleepers` before it reads the gate, and the caller reads `sleepers` only after it has
    /// opened a section.
    fn sleep(&self, served: u64) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.load(Ordering::SeqCst);
        let waiting = gate & OPEN != 0 && gate >> 32 != served;
        if !waiting && !self.stop.load(Ordering::SeqCst) {
            thread::park();
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn try_enter(&self, served: u64) -> Option<u64> {
        let gate = self.gate.load(Ordering::Relaxed);
        let generation = gate >> 32;
        if gate & OPEN == 0 || generation == served {
            return None;
        }
        let entered = self
            .gate
            .compare_exchange(gate, gate + 1, Ordering::AcqRel, Ordering::Relaxed);
        entered.ok().map(|_| generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_runs_once() {
        for threads in [1, 2, 4] {
            let pool = Pool::new(threads);
            let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            for round in 1..=2000 {
                pool.run(round % 100, &|worker, piece| {
                    assert!(worker < threads);
                    counts[piece].fetch_add(1, Ordering::Relaxed);
                });
                if round % 500 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            let total: usize = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
            assert_eq!(total, (1..=2000).map(|round| round % 100).sum::<usize>());
        }
    }

    #[test]
    fn worker_numbers_are_exclusive() {
        let pool = Pool::new(3);
        let busy: Vec<AtomicBool> = (0..3).map(|_| AtomicBool::new(false)).collect();
        for _ in 0..200 {
            pool.run(20, &|worker, _| {
                assert!(!busy[worker].swap(true, Ordering::SeqCst));
                std::hint::black_box((0..500).sum::<usize>());
                busy[worker].store(false, Ordering::SeqCst);
            });
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_the_pool_survives() {
        for threads in [1, 3] {
            let pool = Pool::new(threads);
            for piece in [0, 7, 19] {
                let run = || pool.run(20, &|_, at| assert!(at != piece, "piece {at}"));
                let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
                assert_eq!(payload.downcast_ref::<String>(), Some(&format!("piece {piece}")));
            }
            let sum = AtomicUsize::new(0);
            pool.run(10, &|_, piece| {
                sum.fetch_add(piece, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 45);
        }
    }

    #[test]
    fn nested_sections_run_in_place() {
        let pool = Pool::new(2);
        let sum = AtomicUsize::new(0);
        pool.run(4, &|outer, _| {
            pool.run(5, &|inner, piece| {
                assert_eq!(outer, inner);
                sum.fetch_add(piece, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 40);
    }

    #[test]
    fn callers_take_turns() {
        let pool = Arc::new(Pool::new(2));
        let sum = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let (pool, sum) = (pool.clone(), sum.clone());
                thread::spawn(move || {
                    for _ in 0..200 {
                        pool.run(8, &|_, piece| {
                            sum.fetch_add(piece, Ordering::Relaxed);
                        });
                    }
                })
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert_eq!(sum.load(Ordering::Relaxed), 3 * 200 * 28);
    }
}

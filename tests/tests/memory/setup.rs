//! The allocator that measures memory, and the programs and comparisons that several tests use.

use bnnc_tests::compile;
use bnnc_tests::compile::Compiled;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// An allocator that passes every call to the system's allocator. The allocator records the number
/// of bytes in use and the peak of this number, for each thread and for the whole process.
pub struct Tracking;

/// The bytes in use, and the highest number of bytes since the peak was last reset.
pub struct Count {
    held: AtomicIsize,
    peak: AtomicIsize,
}

impl Count {
    const fn new() -> Count {
        Count {
            held: AtomicIsize::new(0),
            peak: AtomicIsize::new(0),
        }
    }

    /// Adds `bytes`, which is negative for memory that was freed.
    fn add(&self, bytes: isize) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    /// Returns the peak memory of a function, without memory that was in use before the call.
    fn peak_of(&self, function: impl FnOnce()) -> u64 {
        let before = self.held.load(Ordering::Relaxed);
        self.peak.store(before, Ordering::Relaxed);
        function();
        (self.peak.load(Ordering::Relaxed) - before) as u64
    }
}

static PROCESS: Count = Count::new();

thread_local! {
    /// The memory that this thread allocated and freed. A thread may free the memory of another
    /// thread, so the number of bytes in use may be negative.
    static THREAD: Count = const { Count::new() };
}

/// Tests that measure only one thread lock this for reading. A test that measures the whole process
/// locks it for writing, so that no other test allocates memory meanwhile.
static TURN: RwLock<()> = RwLock::new(());

/// Begins a test that measures only one thread.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a test that measures the whole process.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

fn count(bytes: isize) {
    PROCESS.add(bytes);
    // A thread that ends frees memory after its thread-local values no longer exist.
    let _ = THREAD.try_with(|thread| thread.add(bytes));
}

/// Returns the peak memory of a function that does not start other threads.
pub fn peak_of_thread(function: impl FnOnce()) -> u64 {
    THREAD.with(|thread| thread.peak_of(function))
}

/// Returns the peak memory of a function that starts other threads, in a test that is [`alone`].
pub fn peak_of_process(function: impl FnOnce()) -> u64 {
    PROCESS.peak_of(function)
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Tracking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may be in use at the same time.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
pub static ALLOCATOR: Tracking = Tracking;

/// Returns the peak memory of a run on one thread.
pub fn measured(compiled: &Compiled) -> u64 {
    // Each run has a new thread. A thread keeps some memory until its end, and this memory must be
    // counted in every run.
    let run = || peak_of_thread(|| assert!(!compile::run(&compiled.manifest, 1).outcomes.is_empty()));
    let peak = std::thread::scope(|scope| scope.spawn(run).join());
    peak.expect("the run succeeds")
}

pub fn predicted(compiled: &Compiled) -> u64 {
    let peaks = compiled.manifest.infers.iter().map(|infer| infer.cost.peak_bytes);
    peaks.max().unwrap_or(0)
}

/// Returns a program for the data in `file`. The model of the program is a regression with one
/// hidden layer.
pub fn network(file: &str, hidden: usize, options: &str) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"{file}\") {{ test = fraction(0.2), standardise = [inputs, target] }}
model Net(x: real[d]) -> y: real {{
  hidden = Dense({hidden})
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(relu(hidden(x)))[0], sigma)
}}
posterior Q of Net {{
  hidden.*, out.* ~ Normal(scale = 0.01)
  sigma ~ LogNormal(loc = -1, scale = 0.1)
}}
infer fit = vi(Q, rows) {{ epochs = 1, optimiser = Adam(1e-3), {options} }}
"
    )
}

/// Writes a file of `rows` rows with eight inputs and a target. Returns the name of the file.
pub fn table(folder: &Path, rows: usize) -> String {
    let name = format!("rows-{rows}.csv");
    let mut text = String::from("a,b,c,d,e,f,g,h,y\n");
    for row in 0..rows {
        let cells: Vec<String> = (0..9)
            .map(|column| format!("{:.4}", ((row * 9 + column) as f64 * 0.618_034).fract()))
            .collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    std::fs::write(folder.join(&name), text).expect("the file is written");
    name
}

/// Creates a folder for one test. Tests that run at the same time do not share files.
pub fn folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("bnnc-memory-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    folder
}

/// The prediction does not include the memory for names, tables of ports and similar data. In a run
/// that needs less than this number of bytes, such data may be more than a tenth of the memory.
pub const SMALL: u64 = 2 << 20;

/// Returns a description of the prediction if it is wrong.
pub fn check(name: &str, compiled: &Compiled) -> Option<String> {
    let (predicted, measured) = (predicted(compiled), measured(compiled));
    let ratio = predicted as f64 / measured as f64;
    println!("{name}: predicted {predicted}, measured {measured}, ratio {ratio:.3}");
    let is_far = (ratio - 1.0).abs() > 0.1 && predicted.max(measured) > SMALL;
    is_far.then(|| format!("{name}: predicted {predicted}, measured {measured}"))
}

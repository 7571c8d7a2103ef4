//! The allocator that measures memory, and the programs and comparisons that several tests use.

use bnnc_tests::compile;
use bnnc_tests::compile::Compiled;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that passes every call to the system's allocator. The allocator records the number
/// of bytes in use, and the peak of this number.
pub struct Tracking;

pub static HELD: AtomicUsize = AtomicUsize::new(0);

pub static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Only one test at a time measures memory.
pub static TURN: Mutex<()> = Mutex::new(());

pub fn grow(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Tracking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
pub static ALLOCATOR: Tracking = Tracking;

/// Returns the peak memory of a run. Memory that was in use before the run is not counted.
pub fn measured(compiled: &Compiled) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    // Each run has a new thread. A thread keeps some memory until its end, and this memory must be
    // counted in every run.
    let run = || compile::run(&compiled.manifest, 1).outcomes.len();
    let outcomes = std::thread::scope(|scope| scope.spawn(run).join());
    assert!(outcomes.is_ok_and(|outcomes| outcomes > 0));
    PEAK.load(Ordering::Relaxed) - before
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

pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    folder
}

/// The prediction does not include the memory for names, tables of ports and similar data. In a run
/// that needs less than this number of bytes, such data may be more than a tenth of the memory.
pub const SMALL: u64 = 2 << 20;

/// Returns a description of the prediction if it is wrong.
pub fn check(name: &str, compiled: &Compiled) -> Option<String> {
    let (predicted, measured) = (predicted(compiled), measured(compiled) as u64);
    let ratio = predicted as f64 / measured as f64;
    println!("{name}: predicted {predicted}, measured {measured}, ratio {ratio:.3}");
    let is_far = (ratio - 1.0).abs() > 0.1 && predicted.max(measured) > SMALL;
    is_far.then(|| format!("{name}: predicted {predicted}, measured {measured}"))
}

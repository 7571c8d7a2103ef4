//! Measures single convolution layers, and prints a table in Markdown. Three functions are measured: the layer itself, its derivative with respect to
//! the kernel, and its derivative with respect to the image. `cargo bench -p bnnc-tests --bench convolutions [-- THREADS] [STEP.graph ...]`. Each row
//! has the times with copied windows and with windows in place. A row also has the rate of a large matrix product. The times and the rate are
//! measured alternately, so that other work on the machine slows all of them down. Functions in files (`bnnc emit training`) are measured as a whole,
//! on [`BATCH`] rows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bnnc_abi::code::Artifact;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_driver::backends;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops::overlap_add::OVERLAP_ADD;
use bnnc_graph::parse::parse;
use bnnc_graph::types::Type;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::matmul::matmul;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend::BackendOptions;
use std::sync::Arc;
use std::time::Instant;

/// The side of the large matrix product.
const SIDE: usize = 1024;
/// The number of measurements. The minimum counts, because other work on the machine can only slow a measurement down.
const ROUNDS: usize = 10;
/// The number of rows of functions in files.
const BATCH: usize = 50;
/// A measurement repeats a run for at least this number of seconds.
const SPAN: f64 = 0.02;

/// A convolution layer of square images and kernels.
#[derive(Clone, Copy)]
struct Layer {
    channels: usize,
    out: usize,
    side: usize,
    size: usize,
    stride: usize,
    padding: usize,
    batch: usize,
}

const fn same(channels: usize, side: usize, batch: usize) -> Layer {
    Layer {
        channels,
        out: channels,
        side,
        size: 3,
        stride: 1,
        padding: 1,
        batch,
    }
}

const LAYERS: &[Layer] = &[
    // Residual networks and VGG.
    same(64, 32, 8),
    same(64, 32, 32),
    same(128, 16, 32),
    same(256, 8, 32),
    same(16, 32, 50),
    same(32, 16, 50),
    same(64, 8, 50),
    Layer {
        channels: 3,
        out: 64,
        ..same(3, 32, 32)
    },
    Layer {
        out: 128,
        stride: 2,
        ..same(64, 32, 32)
    },
    Layer {
        size: 1,
        padding: 0,
        ..same(128, 16, 32)
    },
    // The layers of examples/convolution.
    Layer {
        channels: 1,
        out: 8,
        side: 28,
        size: 5,
        stride: 2,
        padding: 0,
        batch: 100,
    },
    Layer {
        out: 16,
        padding: 0,
        ..same(8, 12, 100)
    },
];

impl Layer {
    /// Returns the number of rows of windows.
    fn windows(&self) -> usize {
        (self.side + 2 * self.padding - self.size) / self.stride + 1
    }

    /// Returns the floating-point operations of one direction.
    fn flops(&self) -> f64 {
        let per_window = 2 * self.out * self.channels * self.size * self.size;
        (per_window * self.windows() * self.windows() * self.batch) as f64
    }

    fn name(&self) -> String {
        let Layer {
            channels,
            out,
            side,
            size,
            stride,
            batch,
            ..
        } = self;
        let stride = if *stride > 1 {
            format!(" / {stride}")
        } else {
            String::new()
        };
        format!("{channels} -> {out}, {size}x{size}{stride}, {side}x{side}, batch {batch}")
    }

    fn images(&self, channels: usize, side: usize) -> Type {
        Type::real(Shape::fixed(&[channels, side, side]).prepend(Dim::Symbol(Symbol::Batch)))
    }

    fn kernel(&self) -> Type {
        Type::real(Shape::fixed(&[self.out, self.channels, self.size, self.size]))
    }

    /// Returns all windows of the padded images.
    fn patches(&self, b: &mut Builder, x: Value) -> Value {
        let around = [0, 0, self.padding, self.padding];
        let padded = b.pad(x, &around, &around, &[0; 4]);
        b.patches(padded, &[self.size; 2], &[self.stride; 2])
    }

    fn forward(&self) -> Function {
        let mut b = Builder::new("forward");
        let (x, w) = (
            b.param("x", self.images(self.channels, self.side)),
            b.param("w", self.kernel()),
        );
        let windows = self.patches(&mut b, x);
        let y = b.contract(w, windows, "ocab,ncabpq->nopq");
        b.finish(vec![("y".into(), y)])
    }

    fn of_kernel(&self) -> Function {
        let mut b = Builder::new("kernel");
        let x = b.param("x", self.images(self.channels, self.side));
        let dy = b.param("dy", self.images(self.out, self.windows()));
        let windows = self.patches(&mut b, x);
        let dw = b.contract(dy, windows, "nopq,ncabpq->ocab");
        b.finish(vec![("dw".into(), dw)])
    }

    fn of_images(&self) -> Function {
        let mut b = Builder::new("images");
        let dy = b.param("dy", self.images(self.out, self.windows()));
        let w = b.param("w", self.kernel());
        let windows = b.contract(w, dy, "ocab,nopq->ncabpq");
        let padded = self.side + 2 * self.padding;
        let attrs = vec![Attr::positions(&[padded; 2]), Attr::positions(&[self.stride; 2])];
        let sum = b.apply(&OVERLAP_ADD, &[windows], attrs);
        let (from, to) = (self.padding as i64, (self.padding + self.side) as i64);
        let window = Window {
            starts: vec![0, 0, from, from],
            limits: vec![-1, -1, to, to],
            strides: vec![1; 4],
        };
        let dx = b.slice(sum, window);
        b.finish(vec![("dx".into(), dx)])
    }
}

/// Returns a machine that runs a function with arbitrary inputs. With `views`, products read windows in place. Otherwise, they get
/// copies.
fn machine(function: &Function, (batch, views): (usize, bool), pool: &Arc<Pool>) -> Machine {
    let results: Vec<&str> = function.results.iter().map(|(name, _)| &**name).collect();
    let names = function
        .params
        .iter()
        .filter_map(|param| function.param_name(*param));
    let states = names.filter(|name| results.contains(&&***name));
    let options = bnnc_lower::LoweringOptions {
        name: function.name.clone(),
        precision: Precision::F32,
        seed: 1,
        states: states.map(|name| name.to_string()).collect(),
        views,
    };
    let program = bnnc_lower::lower(function, &options).unwrap();
    let options = BackendOptions {
        symbols: bnnc_kernels::arrays::symbols(),
        ..BackendOptions::default()
    };
    let code = backends::ALL[0].compile(&program, &options).unwrap();
    let plan = Arc::new(program.plan);
    let sizes = Sizes::default()
        .with(Symbol::Batch, batch)
        .with(Symbol::Examples, batch);
    let mut machine = Machine::new(&Artifact { plan, code }, sizes, pool.clone()).unwrap();
    for param in &function.params {
        let (name, ty) = (function.param_name(*param).unwrap(), function.ty(*param));
        let count = ty.shape.count(&sizes);
        if ty.dtype == DType::Int {
            machine.write_int(name, &vec![1; count]).unwrap();
        } else {
            let values: Vec<f64> = (0..count).map(|at| (at % 17) as f64 / 160.0 - 0.05).collect();
            machine.write_real(name, &values).unwrap();
        }
    }
    machine
}

/// Returns the seconds that this thread has run, if the system counts them.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Returns the seconds of one run. With one thread, the measured time is processor time, so that it does not depend on other
/// processes.
fn seconds(threads: usize, run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    let now = || {
        let own = if threads == 1 { processor_seconds() } else { None };
        own.unwrap_or_else(|| start.elapsed().as_secs_f64())
    };
    let (first, mut count) = (now(), 0);
    while count < 2 || start.elapsed().as_secs_f64() < SPAN {
        run();
        count += 1;
    }
    (now() - first) / f64::from(count)
}

/// Prints a row: the times of a function with copied windows and with windows in place. The measurements
/// alternate with the large product.
fn row(name: &str, function: &Function, (batch, flops): (usize, f64), pool: &Arc<Pool>) {
    let threads = pool.threads();
    let mut matrices = [0; 3].map(|_| vec![0.5f32; SIDE * SIDE]);
    let addresses = matrices.each_mut().map(|matrix| matrix.as_mut_ptr().cast::<u8>());
    let side = SIDE as i64;
    let ints = [side, side, side, side, 1, side, 1, side, 1];
    // SAFETY: the matrices have all elements that the integers address.
    let mut product = || unsafe { matmul(pool, Precision::F32, &addresses, &ints) };
    let mut machines = [false, true].map(|views| machine(function, (batch, views), pool));
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        for (machine, best) in machines.iter_mut().zip(&mut best) {
            *best = best.min(seconds(threads, &mut || machine.run().unwrap()));
        }
        best[2] = best[2].min(seconds(threads, &mut product));
    }
    let [copied, in_place, peak] = best;
    let peak = 2.0 * (SIDE as f64).powi(3) / peak / 1e9;
    let rates = [copied, in_place].map(|seconds| flops / seconds / 1e9);
    let [before, after] = machines
        .each_ref()
        .map(|machine| machine.arena_bytes() as f64 / 1e6);
    println!(
        "| {name} | {} | {:.3} | {:.3} | {:.1} | {:.1} | {peak:.1} | {before:.1} | {after:.1} |",
        function.name,
        copied * 1e3,
        in_place * 1e3,
        rates[0],
        rates[1],
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let threads = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let pool = Arc::new(Pool::new(threads));
    println!("| layer | direction | copied, ms | in place, ms | GFLOP/s | GFLOP/s | product | MB | MB |");
    println!("|---|---|{}", "---:|".repeat(7));
    let graphs: Vec<&String> = words.iter().filter(|word| word.ends_with(".graph")).collect();
    for path in &graphs {
        let function = parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        row(path, &function, (BATCH, 0.0), &pool);
    }
    for layer in LAYERS.iter().filter(|_| graphs.is_empty()) {
        for function in [layer.forward(), layer.of_kernel(), layer.of_images()] {
            row(&layer.name(), &function, (layer.batch, layer.flops()), &pool);
        }
    }
}

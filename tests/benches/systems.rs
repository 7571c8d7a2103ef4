//! A benchmark of Cholesky factors and triangular systems on the device of this machine. The
//! benchmark prints a Markdown table that compares bnnc's own kernels with cuBLAS. The table shows
//! the sizes above which cuBLAS is faster. The files `factors.rs` and `systems.rs` in
//! `runtime/cuda/src` contain estimates of these sizes. Below an estimated size, both columns of
//! the table are times of bnnc's own kernels. Run it with
//! `BNNC_MLIR_WORKER=WORKER cargo bench -p bnnc-tests --features cuda-tests --bench systems`.
#![allow(clippy::unwrap_used)]

use bnnc_abi::code::Artifact;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_cuda::device::Device;
use bnnc_cuda::driver::Driver;
use bnnc_driver::backends;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend::BackendOptions;
use bnnc_loops::parse::parse;
use std::sync::Arc;
use std::time::Instant;

const SIZES: [usize; 9] = [32, 64, 128, 256, 384, 512, 1024, 2048, 4096];
const BATCHES: [usize; 2] = [1, 16];
/// The largest number of elements in the matrices of a call. Larger calls are not measured.
const MOST: usize = 1 << 26;
/// The number of runs. The benchmark waits for the end of each run, and uses the shortest time. The
/// first runs are slower, because they enqueue and capture the launches. The shortest time excludes
/// them.
const RUNS: usize = 12;

/// Returns a plan with two calls: one on the operand `a`, and a second, small call. When the result
/// of the second call is available, the first call has finished.
fn text(primitive: &str, precision: Precision, batch: usize, n: usize) -> String {
    let (columns, call) = match primitive {
        "cholesky" => (n, format!("cholesky (b0, b2) ints ({batch}, {n})")),
        _ => (
            1,
            format!("triangular_solve (b0, b1, b2) ints ({batch}, {n}, 1, 0)"),
        ),
    };
    format!(
        "plan \"call\" {precision} 0 {{
b0 = real \"a\" [{batch}, {n}, {n}] input
b1 = real \"b\" [{batch}, {n}, 1] input
b2 = real \"x\" [{batch}, {n}, {columns}] output
b3 = real \"done\" [1] output
call {call}
call cumsum (b1, b3) ints (1, 1, 1, 0)
}}
"
    )
}

/// Returns the milliseconds per run.
fn time(device: &Arc<Device>, text: &str, (batch, n): (usize, usize)) -> f64 {
    let program = parse(text).unwrap();
    let backend = backends::lookup("cuda").unwrap();
    let code = backend.compile(&program, &BackendOptions::default()).unwrap();
    let artifact = Artifact {
        plan: Arc::new(program.plan),
        code: bnnc_cuda::code::on(device, code).unwrap(),
    };
    let mut machine = Machine::new(&artifact, Sizes::default(), Arc::new(Pool::new(1))).unwrap();
    let element = |at: usize| if at / n % n == at % n { 2.0 } else { 0.1 / n as f64 };
    let a: Vec<f64> = (0..batch * n * n).map(element).collect();
    machine.write_real("a", &a).unwrap();
    let done = [machine.find("done").unwrap()];
    let mut run = |_| {
        let clock = Instant::now();
        machine.run_for(&done).unwrap();
        clock.elapsed().as_secs_f64() * 1e3
    };
    (0..RUNS).map(&mut run).fold(f64::INFINITY, f64::min)
}

fn main() {
    let own = Device::open(Driver::load().unwrap(), &[]).unwrap();
    let blas = bnnc_cuda::code::device().unwrap();
    println!("{}\n", blas.describe());
    println!(
        "| primitive | precision | matrices | n | bnnc ms | with cuBLAS ms |\n|---|---|---|---|---|---|"
    );
    for primitive in ["cholesky", "triangular_solve"] {
        for precision in [Precision::F32, Precision::F64] {
            for batch in BATCHES {
                for n in SIZES.into_iter().filter(|n| batch * n * n <= MOST) {
                    let text = text(primitive, precision, batch, n);
                    let [own, blas] = [&own, &blas].map(|device| time(device, &text, (batch, n)));
                    println!("| {primitive} | {precision} | {batch} | {n} | {own:.3} | {blas:.3} |");
                }
            }
        }
    }
}

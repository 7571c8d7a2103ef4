//! Prints the cost of kernels: the compile time, and then the nanoseconds per element and the bytes per second on one thread.
//!
//! `cargo run --release -p bnnc-backend-cranelift --example element_cost`

use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_abi::plan::{Launch, PlanStep};
use bnnc_backend_cranelift::Cranelift;
use bnnc_base::shape::Sizes;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::parse::parse;
use bnnc_loops::verify::verify;
use std::time::Instant;

const COUNT: usize = 1 << 20;

/// Builds a kernel over `COUNT` elements with `inputs` input buffers. `body` computes from the loaded values, which are named `v0, v1, ..`.
fn elementwise(name: &str, inputs: usize, body: &str, outputs: &str) -> String {
    let buffers: String = (0..=inputs)
        .map(|at| format!("b{at} = real \"b{at}\" [{COUNT}] state\n"))
        .collect();
    let bound: Vec<String> = (0..=inputs).map(|at| format!("b{at}")).collect();
    let loads: String = (0..inputs)
        .map(|at| format!("v{at}: real = load {at} at 0 [1]\n"))
        .collect();
    format!(
        "plan \"{name}\" f32 1 {{ {buffers}
           launch 0 ({}) ints () outer {COUNT} work 1 reduces () }}
         kernel \"{name}\" [{COUNT}] ({}) {{ {loads} {body} {outputs} }}",
        bound.join(", "),
        vec!["real"; inputs + 1].join(", "),
    )
}

/// Builds a kernel over rows of ten elements that share one row of biases.
fn rows(name: &str, body: &str) -> String {
    let rows = COUNT / 10;
    format!(
        "plan \"{name}\" f32 1 {{ b0 = real \"x\" [{rows}, 10] state b1 = real \"bias\" [10] state
           b2 = real \"y\" [{rows}, 10] state b3 = real \"sums\" [{rows}] state
           launch 0 (b0, b1, b2, b3) ints () outer {rows} work 1 reduces (3 sum) }}
         kernel \"{name}\" [{rows}, 10] (real, real, real, real) {{ v0: real = load 0 at 0 [10, 1]
           v1: real = load 1 at 0 [0, 1] v2: real = add v0 v1 {body}
           store v3 -> 2 at 0 [10, 1] sum v3 -> 3 at 0 [1, 0] }}"
    )
}

fn programs() -> Vec<(LoopProgram, usize)> {
    let affine = "v1: real = const 1.5 v2: real = const -0.25 v3: real = mul v1 v0 v4: real = add v3 v2
                  v5: real = const 0.0 v6: real = max v4 v5";
    let adam = "v4: real = const 0.9 v5: real = const 0.1 v6: real = mul v4 v1 v7: real = mul v5 v3
                v8: real = add v6 v7 v9: real = const 0.999 v10: real = const 0.001 v11: real = mul v9 v2
                v12: real = mul v3 v3 v13: real = mul v10 v12 v14: real = add v11 v13 v15: real = sqrt v14
                v16: real = const 1e-8 v17: real = add v15 v16 v18: real = div v8 v17
                v19: real = mul v10 v18 v20: real = sub v0 v19";
    let chain = "v1: real = const -0.5 v2: real = mul v0 v1 v3: real = exp v2 v4: real = add v3 v1
                 v5: real = max v4 v1";
    let noise = "v1: int = const 3 v2: real = noise normal 7 (v1, v1, v1) at 0 [1] v3: real = mul v0 v2";
    let sum = "v1: real = mul v0 v0";
    let store = |value: usize, slot: usize| format!("store v{value} -> {slot} at 0 [1]\n");
    let texts = [
        (elementwise("relu(a x + b)", 1, affine, &store(6, 1)), 8),
        (
            elementwise(
                "adam",
                4,
                adam,
                &[store(20, 0), store(8, 1), store(14, 2)].concat(),
            ),
            28,
        ),
        (
            elementwise("softplus", 1, "v1: real = softplus v0", &store(1, 1)),
            8,
        ),
        (elementwise("relu(exp(a x) + b)", 1, chain, &store(5, 1)), 8),
        (elementwise("x normal()", 1, noise, &store(3, 1)), 8),
        (
            elementwise("sum of squares", 1, sum, "sum v1 -> 1 at 0 [0]")
                .replace("reduces ()", "reduces (1 sum partial)"),
            4,
        ),
        (rows("rows: square, sum", "v3: real = mul v2 v2"), 8),
        (rows("rows: exp, sum", "v3: real = exp v2"), 8),
    ];
    let read = |text: &str| parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    texts.iter().map(|(text, bytes)| (read(text), *bytes)).collect()
}

fn launch(program: &LoopProgram) -> &Launch {
    match &program.plan.steps[0] {
        PlanStep::Launch(launch) => launch,
        PlanStep::Call(_) | PlanStep::Repeat { .. } => unreachable!("each program here launches one kernel"),
    }
}

/// Returns the median time of `work` in milliseconds.
fn median_ms(times: usize, mut work: impl FnMut()) -> f64 {
    let mut seen: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    seen.sort_unstable_by(f64::total_cmp);
    seen[times / 2]
}

fn run_ms(code: &dyn KernelCode, program: &LoopProgram) -> f64 {
    let launch = launch(program);
    let mut memory: Vec<Vec<f32>> = launch
        .buffers
        .iter()
        .map(|_| (0..COUNT).map(|at| (at % 100) as f32 * 0.02 - 1.0).collect())
        .collect();
    let bases: Vec<*mut u8> = memory
        .iter_mut()
        .map(|buffer| buffer.as_mut_ptr().cast())
        .collect();
    let mut scratch = vec![0u128; code.scratch_bytes(0) / 16 + 8];
    let start = scratch.as_mut_ptr().cast::<u8>();
    let args = KernelArgs {
        buffers: bases.as_ptr(),
        ints: std::ptr::null(),
        start: 0,
        end: launch.outer.resolve(&Sizes::default()),
        // SAFETY: there are eight spare words, which leave room for the alignment.
        scratch: unsafe { start.add(start.align_offset(64)) },
    };
    // SAFETY: each buffer has as many elements as the domain of the kernel, and the program is verified.
    median_ms(41, || unsafe { code.launch(0, &args) })
}

fn main() {
    let options = BackendOptions {
        symbols: bnnc_kernels::arrays::symbols(),
        ..BackendOptions::default()
    };
    println!("{:20} {:>10} {:>8} {:>6}", "kernel", "compile ms", "ns", "GB/s");
    for (program, bytes) in programs() {
        verify(&program).expect("the program is sound");
        let compile = || {
            Cranelift
                .compile(&program, &options)
                .expect("the program compiles")
        };
        let compile_ms = median_ms(21, || drop(compile()));
        let nanoseconds = run_ms(&*compile(), &program) * 1e6 / COUNT as f64;
        let name = &program.plan.name;
        println!(
            "{name:20} {compile_ms:10.3} {nanoseconds:8.3} {:6.1}",
            bytes as f64 / nanoseconds
        );
    }
}

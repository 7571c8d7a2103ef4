//! Prints the cost of means over draws, in nanoseconds per element and draw. For comparison, the example prints the cost of the noise
//! alone.
//!
//! `cargo run --release -p bnnc-backend-cranelift --example sums_over_draws`

use bnnc_abi::code::Artifact;
use bnnc_abi::symbols::NoiseKind;
use bnnc_backend_cranelift::Cranelift;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arrays;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::parse::parse;
use bnnc_loops::verify::verify;
use std::sync::Arc;
use std::time::Instant;

const ELEMENTS: usize = 16 * 1024;

/// Builds a program that sums functions of a noise value `v2` over the draws. `body` computes the functions, and `sums` lists the numbers
/// of the instructions whose values are summed.
fn program(precision: Precision, body: &str, sums: &[usize]) -> LoopProgram {
    let count = sums.len();
    let buffers: String = (0..count + 2)
        .map(|at| format!("b{at} = real \"b{at}\" [{ELEMENTS}] state\n"))
        .collect();
    let list = |prefix: &str| -> Vec<String> { (0..count + 2).map(|at| format!("{prefix}{at}")).collect() };
    let reduces: Vec<String> = (2..count + 2).map(|at| format!("{at} sum")).collect();
    let outputs: String = sums
        .iter()
        .enumerate()
        .map(|(at, value)| format!("sum v{value} -> {} at 0 [1, 0]\n", at + 2))
        .collect();
    let text = format!(
        "plan \"means\" {precision} 1 {{ {buffers}
           launch 0 ({}) ints (1*kl_draws, 7) outer {ELEMENTS} work 20*kl_draws reduces ({}) }}
         kernel \"means\" [{ELEMENTS}, $0] ({}) {{ v0: int = index 1 v1: int = const 0
           v2: real = noise normal $1 (v0, v1, v1) at 0 [1, 0] {body} {outputs} }}",
        list("b").join(", "),
        reduces.join(", "),
        vec!["real"; count + 2].join(", "),
    );
    let program = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|error| panic!("{error}\n{text}"));
    program
}

/// Returns the shortest time of `work` in seconds over many short runs, of which some are undisturbed by other processes.
fn least(mut work: impl FnMut()) -> f64 {
    let from = Instant::now();
    let mut least = f64::INFINITY;
    while from.elapsed().as_secs_f64() < 2.0 {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed().as_secs_f64());
    }
    least
}

/// Returns the cost of a program in nanoseconds per element and draw.
fn cost(program: &LoopProgram, threads: usize, draws: usize) -> f64 {
    let options = BackendOptions {
        symbols: arrays::symbols(),
        ..BackendOptions::default()
    };
    let artifact = Artifact {
        plan: Arc::new(program.plan.clone()),
        code: Cranelift
            .compile(program, &options)
            .unwrap_or_else(|fault| panic!("{fault}")),
    };
    let sizes = Sizes::default().with(Symbol::KlDraws, draws);
    let pool = Arc::new(Pool::new(threads));
    let mut machine = Machine::new(&artifact, sizes, pool).unwrap_or_else(|fault| panic!("{fault}"));
    least(|| assert!(machine.run().is_ok())) * 1e9 / (ELEMENTS * draws) as f64
}

/// Returns the cost of the noise alone in nanoseconds per element. The blocks are as long as in generated code.
fn noise_alone(precision: Precision) -> f64 {
    const BLOCK: usize = 256;
    let noise = arrays::noise(NoiseKind::Normal, precision);
    let mut out = [0f64; BLOCK];
    let blocks = 4_000;
    let seconds = least(|| {
        for block in 0..blocks {
            let first = (block * BLOCK) as u64;
            let out = out.as_mut_ptr().cast::<u8>();
            // SAFETY: `out` has room for the block, and the normal distribution does not read shapes.
            unsafe { noise(out, std::ptr::null(), BLOCK as i64, 7, first, 0, 0, 0) }
        }
    });
    seconds * 1e9 / (blocks * BLOCK) as f64
}

fn main() {
    let squares = "v3: real = mul v2 v2";
    let signs = "v3: real = mul v2 v2 v4: real = load 0 at 0 [1, 0] v5: real = load 1 at 0 [1, 0]
                 v6: real = mul v5 v2 v7: real = add v4 v6 v8: real = sign v7 v9: real = mul v8 v2";
    let logs = "v3: real = abs v2 v4: real = log v3 v5: real = mul v4 v4";
    let cases: [(&str, &str, &[usize]); 4] = [
        ("xi", "", &[2]),
        ("xi, xi^2", squares, &[2, 3]),
        ("sign w, sign w xi", signs, &[8, 9]),
        ("log |xi|, log^2 |xi|", logs, &[4, 5]),
    ];
    for precision in [Precision::F32, Precision::F64] {
        println!("{precision}: noise alone {:.3} ns", noise_alone(precision));
        for (name, body, sums) in cases {
            print!("  {name:22} ns, threads 1 and 2:");
            for threads in [1, 2] {
                for draws in [1, 8, 64, 256] {
                    let program = program(precision, body, sums);
                    print!("  M = {draws}: {:.3}", cost(&program, threads, draws));
                }
            }
            println!();
        }
    }
}

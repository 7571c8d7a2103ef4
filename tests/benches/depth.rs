//! Prints a Markdown table of compile times for programs of different depths. The table shows the
//! seconds from the text to machine code. It also shows the exponent with which the time grows from
//! one depth to the next (1 is linear). The programs are chains of bottleneck blocks (three
//! convolutions each), chains of dense layers, and models of scalar parameters. Run it with
//! `cargo bench -p bnnc-tests --bench depth`.
#![allow(clippy::unwrap_used)]

use bnnc_tests::compile;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Instant;

const BLOCKS: [usize; 5] = [8, 16, 54, 108, 216];
const LAYERS: [usize; 5] = [50, 100, 500, 1000, 2000];
const PARAMETERS: [usize; 4] = [250, 500, 1000, 2000];
/// The number of compilations. The shortest time counts, because other work on the machine can only
/// make a compilation longer.
const ROUNDS: usize = 3;

/// Returns a CSV file whose inputs are approximately normal. The target is a class or a number.
fn table(inputs: usize, rows: usize, classes: usize) -> String {
    let mut text: String = (0..inputs).map(|at| format!("x{at},")).collect();
    text.push_str("y\n");
    for row in 0..rows {
        for at in 0..inputs {
            let value = ((row * 31 + at * 17) % 101) as f64 / 50.0 - 1.0;
            write!(text, "{value},").unwrap();
        }
        writeln!(text, "{}", row % classes).unwrap();
    }
    text
}

fn header(file: &str, inputs: usize) -> String {
    let names: Vec<String> = (0..inputs).map(|at| format!("x{at}")).collect();
    let names = names.join(", ");
    format!(
        "use layers::Conv\nuse layers::Dense\ndata d = csv(\"{file}\") {{ inputs = [{names}], target = y }}\n"
    )
}

/// Returns a model that consists of residual blocks. Each block has a 1x1, a 3x3 and a 1x1
/// convolution on images of 8x8 pixels.
fn blocks(count: usize) -> String {
    let mut text = header("images.csv", 64);
    text.push_str(
        "model M(x: real[64]) -> y: index(10) {\n  stem = Conv(16, 3, 3, padding = 1, prior = Normal(0, 0.3))\n",
    );
    for at in 0..count {
        writeln!(text, "  a{at} = Conv(8, 1, 1, prior = Normal(0, 0.3))").unwrap();
        writeln!(
            text,
            "  b{at} = Conv(8, 3, 3, padding = 1, prior = Normal(0, 0.3))"
        )
        .unwrap();
        writeln!(text, "  c{at} = Conv(16, 1, 1, prior = Normal(0, 0.3))").unwrap();
    }
    text.push_str("  out = Dense(10, prior = Normal(0, 0.1))\n  h0 = relu(stem(reshape(x, 1, 8, 8)))\n");
    for at in 0..count {
        let next = at + 1;
        writeln!(
            text,
            "  h{next} = relu(h{at} + c{at}(relu(b{at}(relu(a{at}(h{at}))))))"
        )
        .unwrap();
    }
    writeln!(text, "  y ~ Categorical(logits = out(flatten(h{count})))\n}}").unwrap();
    text + "infer m = map(M, d) { epochs = 1 }\n"
}

/// Returns a model that consists of layers with eight units each.
fn layers(count: usize) -> String {
    let mut text = header("numbers.csv", 8);
    text.push_str("model M(x: real[8]) -> y: real {\n");
    for at in 0..count {
        writeln!(text, "  l{at} = Dense(8, prior = Normal(0, 0.3))").unwrap();
    }
    text.push_str("  out = Dense(1, prior = Normal(0, 1))\n  h0 = x\n");
    for at in 0..count {
        writeln!(text, "  h{} = relu(l{at}(h{at}))", at + 1).unwrap();
    }
    writeln!(text, "  y ~ Normal(out(h{count})[0], 1)\n}}").unwrap();
    text + "infer m = map(M, d) { epochs = 1 }\n"
}

/// Returns a model whose mean is a sum of `count` parameters.
fn parameters(count: usize) -> String {
    let mut text = header("numbers.csv", 8);
    text.push_str("model M(x: real[8]) -> y: real {\n");
    for at in 0..count {
        writeln!(text, "  a{at} ~ Normal(0, 1)").unwrap();
    }
    let terms: Vec<String> = (0..count).map(|at| format!("a{at} * x[{}]", at % 8)).collect();
    // The terms are summed in groups, because the nesting depth of expressions is limited.
    for (at, group) in terms.chunks(50).enumerate() {
        writeln!(text, "  s{at} = {}", group.join(" + ")).unwrap();
    }
    let sums: Vec<String> = (0..terms.len().div_ceil(50)).map(|at| format!("s{at}")).collect();
    writeln!(text, "  y ~ Normal({}, 1)\n}}", sums.join(" + ")).unwrap();
    text + "infer m = map(M, d) { epochs = 1 }\n"
}

/// Returns the time of a compilation in seconds.
fn seconds(folder: &Path, text: &str) -> f64 {
    let options = compile::options("cranelift", None);
    let one = |_| {
        let clock = Instant::now();
        compile::text(&folder.join("program.bnn"), text, &options);
        clock.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(one).fold(f64::INFINITY, f64::min)
}

fn main() {
    let folder = std::env::temp_dir().join(format!("bnnc-depth-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("images.csv"), table(64, 20, 10)).unwrap();
    fs::write(folder.join("numbers.csv"), table(8, 20, 7)).unwrap();
    println!("| chain | seconds | exponent |\n|---|---:|---:|");
    measure(&folder, "blocks", BLOCKS.map(|count| (count, blocks(count))));
    measure(&folder, "layers", LAYERS.map(|count| (count, layers(count))));
    measure(
        &folder,
        "parameters",
        PARAMETERS.map(|count| (count, parameters(count))),
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Prints one row of the table for each program. The program has the given depth.
fn measure<const N: usize>(folder: &Path, name: &str, programs: [(usize, String); N]) {
    let mut before: Option<(usize, f64)> = None;
    for (count, program) in programs {
        let seconds = seconds(folder, &program);
        let exponent = before.map_or(String::new(), |(fewer, less)| {
            let exponent = (seconds / less).ln() / (count as f64 / fewer as f64).ln();
            format!("{exponent:.2}")
        });
        println!("| {count} {name} | {seconds:.2} | {exponent} |");
        before = Some((count, seconds));
    }
}

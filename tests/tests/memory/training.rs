//! The memory of training runs: their steps, their data, and their limits.

use crate::setup::{
    alone, beside_others, check, folder, measured, network, peak_of_process, peak_of_thread, predicted, table,
};
use bnnc_base::diagnostic::FaultyInput;
use bnnc_base::dtype::Precision;
use bnnc_core::context::Stop;
use bnnc_driver::options::CompileOptions;
use bnnc_tests::compile;
use bnnc_tests::compile::options;
use std::path::Path;

#[test]
fn predictions_hold_for_a_grid_of_models() {
    let _turn = beside_others();
    let folder = folder();
    let mut faults = Vec::new();
    for rows in [300, 20_000] {
        let file = table(&folder, rows);
        for (hidden, batch, samples, draws) in [
            (10, 16, 1, 10),
            (10, 512, 4, 100),
            (100, 128, 1, 1000),
            (100, 0, 1, 100),
            (500, 512, 1, 20),
            (500, 64, 4, 200),
            (2000, 16, 1, 5),
            (2000, 512, 4, 50),
        ] {
            for precision in [Precision::F32, Precision::F64] {
                if batch == 0 && rows > 1000 && precision == Precision::F64 {
                    continue;
                }
                let settings = format!("batch = {batch}, samples = {samples}, predictive_draws = {draws}");
                let program = network(&file, hidden, &settings);
                let path = folder.join("net.bnn");
                let compiled = compile::text(&path, &program, &options("cranelift", Some(precision)));
                let name = format!("{rows} rows, {hidden} units, {settings}, {precision}");
                faults.extend(check(&name, &compiled));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn predictions_hold_for_every_example() {
    let _turn = beside_others();
    let mut faults = Vec::new();
    for path in compile::examples() {
        let options = CompileOptions {
            settings: compile::short(&path, 1, 100),
            ..options("cranelift", None)
        };
        faults.extend(check(
            &path.display().to_string(),
            &compile::file(&path, &options),
        ));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Writes a file of `rows` images in the format of CIFAR-10: a label, and 3072 bytes.
fn pictures(file: &Path, rows: usize) {
    let record = |row: usize| {
        let pixels = (0..3072_usize).map(move |at| (row * 131 + at * at * 7) as u8);
        std::iter::once((row % 10) as u8).chain(pixels)
    };
    let bytes: Vec<u8> = (0..rows).flat_map(record).collect();
    std::fs::write(file, bytes).expect("the file is written");
}

/// A run needs the table of the file and the rows of the training and the test, each with one byte per pixel. Reals would take 8 bytes in the rows
/// and 4 or 8 bytes in the input of the program.
#[test]
fn pixels_take_one_byte_each_until_a_batch_is_gathered() {
    let _turn = beside_others();
    let folder = folder();
    let (train, test) = (6000, 1500);
    pictures(&folder.join("train.bin"), train);
    pictures(&folder.join("test.bin"), test);
    let program = "use layers::Dense
data photos = cifar(\"train.bin\") { test = cifar(\"test.bin\"), normalise = channels }
model Net(x: real[3, 32, 32]) -> kind: index(10) {
  out = Dense(10, prior = Normal(0, 0.01))
  kind ~ Categorical(logits = out(flatten(x)))
}
infer fit = map(Net, photos) { steps = 3, batch = 20 }
";
    let mut faults = Vec::new();
    for precision in [Precision::F32, Precision::F64] {
        let options = options("cranelift", Some(precision));
        let compiled = compile::text(&folder.join("photos.bnn"), program, &options);
        faults.extend(check(&format!("bytes, {precision}"), &compiled));
        let pixels = (3072 * (train + test)) as f64;
        let per_pixel = measured(&compiled) as f64 / pixels;
        assert!(per_pixel < 2.3, "{precision}: {per_pixel} bytes per pixel");
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Returns a network whose KL divergence does not have a closed form. The divergence is estimated
/// with this number of draws.
fn divergence(file: &str, posterior: &str, prior: &str, draws: usize) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"{file}\") {{ test = fraction(0.2), standardise = [inputs, target] }}
model Net(x: real[d]) -> y: real {{
  hidden = Dense(2000, prior = {prior})
  out    = Dense(1, prior = {prior})
  y ~ Normal(out(tanh(hidden(x)))[0], 1)
}}
posterior Q of Net {{
  hidden.*, out.* ~ {posterior}(scale = 0.05)
}}
infer fit = vi(Q, rows) {{ epochs = 1, batch = 16, kl = monte_carlo, draws = {draws}, predictive_draws = 2 }}
"
    )
}

/// The number of bytes by which a run may exceed the prediction because of copies. These are copies
/// of small results, which several chunks of draws store.
const COPIES: u64 = 512 << 10;

/// The memory for the KL divergence does not depend on the number of draws. A thousand draws of the
/// weights would need 80 megabytes.
#[test]
fn memory_does_not_depend_on_draws_of_the_kl() {
    let _turn = beside_others();
    let folder = folder();
    // Training takes only two steps. The memory does not depend on the number of steps, and a step
    // with a thousand draws is slow.
    let file = table(&folder, 40);
    let mut faults = Vec::new();
    for posterior in ["Normal", "Radial"] {
        for prior in [
            "Laplace(0, 1)",
            "Mixture(0.5, Normal(0, 1), Normal(0, 0.01))",
            "Logistic(0, 1)",
        ] {
            let name = format!("{posterior}, {prior}");
            let peaks = [1, 10, 100, 1000].map(|draws| {
                let program = divergence(&file, posterior, prior, draws);
                let compiled = compile::text(&folder.join("net.bnn"), &program, &options("cranelift", None));
                (predicted(&compiled), measured(&compiled))
            });
            println!("{name}: predicted and measured {peaks:?}");
            let is_above = |peak: &(u64, u64)| peak.0 > peaks[1].0 + COPIES || peak.1 > peaks[1].1 + COPIES;
            faults.extend(peaks.iter().any(is_above).then(|| format!("{name}: {peaks:?}")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Values that are computed once before the chains start need memory. The rows that the chains
/// still read stay in memory too. All other rows are freed.
#[test]
fn values_that_are_computed_once_are_predicted() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 20_000);
    let mut faults = Vec::new();
    for infer in [
        "nuts(Last, rows) { start = mode, chains = 1, warmup = 3, draws = 3, max_depth = 2 }",
        "penalty(Last, rows) { start = mode, chains = 1, warmup = 5, draws = 5, batch = 200, batches = 3 }",
    ] {
        let program = network(&file, 60, "");
        let at = program.find("posterior Q").unwrap_or(program.len());
        let program = format!(
            "{}infer mode = map(Net, rows) {{ epochs = 1, batch = 100 }}
posterior Last of Net {{ hidden.* = mode.hidden.* }}
infer chain = {infer}
",
            &program[..at]
        );
        let compiled = compile::text(&folder.join("net.bnn"), &program, &options("cranelift", None));
        let sampling = compiled.manifest.infers.last().and_then(|infer| infer.sampling());
        assert!(sampling.is_some_and(|sampling| sampling.prepare.is_some()));
        faults.extend(check(infer, &compiled));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Three things need additional memory. Several splits keep the table of the files, early stopping
/// has its own prediction program, and a second inference block starts from the first.
#[test]
fn splits_validation_and_several_inferences_are_predicted() {
    let _turn = beside_others();
    let program = r#"
use layers::Dense
data concrete = csv("data/concrete.csv") {
  test        = splits("data/splits.json")
  validation  = 0.2
  standardise = [inputs, target]
}
model Net(x: real[d]) -> strength: real {
  hidden = Dense(800)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  strength ~ Normal(out(tanh(hidden(x)))[0], sigma)
}
posterior Q of Net {
  hidden.*, out.* ~ Normal(scale = 0.01)
  sigma ~ LogNormal(loc = -1, scale = 0.1)
}
infer first = vi(Q, concrete) { epochs = 1, batch = 100, patience = 3, predictive_draws = 20 }
infer second = vi(Q, concrete) { epochs = 1, batch = 100, start = first, predictive_draws = 20 }
"#;
    let path = bnnc_tests::root().join("examples/concrete/splits.bnn");
    let compiled = compile::text(&path, program, &options("cranelift", None));
    assert_eq!(check("two infers on all splits", &compiled), None);
}

/// If a run would exceed the memory limit, it is rejected with an error of the program, before it
/// allocates memory.
#[test]
fn a_limit_rejects_a_run_before_it_allocates() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 300);
    let program = network(&file, 2000, "batch = 256, samples = 4");
    let compiled = compile::text(&folder.join("net.bnn"), &program, &options("cranelift", None));
    let need = predicted(&compiled);
    let run = |limit| {
        let options = bnnc_run::RunOptions {
            max_memory: Some(limit),
            ..bnnc_run::RunOptions::new(1)
        };
        bnnc_run::run(&compiled.manifest, &options)
    };
    let mut stopped = None;
    let peak = peak_of_thread(|| stopped = Some(run(need - 1)));
    assert!(peak < 64 << 10);
    let Some(Err(Stop::Diagnostics(diagnostics))) = stopped else {
        panic!("it was not refused");
    };
    assert_eq!(diagnostics[0].code.id, "E0502");
    assert!(diagnostics[0].fault == FaultyInput::Program);
    assert!(!diagnostics[0].help.is_empty());
    assert!(run(need).is_ok());
}

/// If restarts run on several threads, each thread has a machine for its restart. Timing determines
/// which restarts overlap, so the measured peak may be lower than the prediction.
#[test]
fn restarts_at_a_time() {
    let _turn = alone();
    let folder = folder();
    let file = table(&folder, 300);
    for infer in [
        "map(Net, rows) { epochs = 1, restarts = RESTARTS, predictive_draws = 4,",
        "swag(Net, rows) { epochs = 4, warmup = 0, covariance = low_rank(4), restarts = RESTARTS, predictive_draws = 4,",
        "ensemble(Net, rows) { epochs = 1, members = RESTARTS,",
    ] {
        let compiled = |restarts: &str| {
            let infer = infer.replace("RESTARTS", restarts);
            let program = network(&file, 20_000, "").replace("vi(Q, rows) { epochs = 1,", &infer);
            compile::text(
                &folder.join("restarts.bnn"),
                &program,
                &options("cranelift", None),
            )
        };
        let (one, three) = (predicted(&compiled("1")), predicted(&compiled("3")));
        let compiled = compiled("3");
        let measured = peak_of_process(|| {
            let run = || compile::run(&compiled.manifest, 3).outcomes.len();
            assert!(std::thread::scope(|scope| scope.spawn(run).join()).is_ok_and(|outcomes| outcomes > 0));
        });
        println!("{infer}: predicted {one} and {three}, measured {measured}");
        assert!(
            measured as f64 <= 1.1 * three as f64,
            "{infer}: {measured} of {three}"
        );
        assert!(three > 2 * one, "{infer}: {three} of {one}");
    }
}

/// Most of the memory of these inference blocks stores collected positions and their deviations
/// from the mean.
#[test]
fn iterates_and_members_are_predicted() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 300);
    let mut faults = Vec::new();
    for infer in [
        "swag(Net, rows) { epochs = 12, warmup = 0, covariance = low_rank(10), predictive_draws = 4,",
        "swag(Net, rows) { epochs = 12, warmup = 0, covariance = low_rank(3), predictive_draws = 50,",
        "swag(Net, rows) { epochs = 12, warmup = 0, covariance = diagonal, predictive_draws = 4,",
        "swag(Net, rows) { epochs = 12, warmup = 0, covariance = point, predictive_draws = 4,",
        // The test `restarts_at_a_time` measures members on several threads.
        "ensemble(Net, rows) { epochs = 1, members = 1, predictive_draws = 20,",
        "dropout(Net, rows) { epochs = 1, predictive_draws = 20,",
    ] {
        let program = network(&file, 20_000, "").replace("vi(Q, rows) { epochs = 1,", infer);
        let path = folder.join("iterates.bnn");
        let compiled = compile::text(&path, &program, &options("cranelift", Some(Precision::F32)));
        faults.extend(check(infer, &compiled));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

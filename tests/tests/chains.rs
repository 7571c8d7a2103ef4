//! Tests of the chains of one inference block. Chains in lockstep and single chains sample the same
//! distribution. The draws of a chain do not depend on other chains or on the number of threads.
//! Chains that are stopped keep their draws. An invalid start is reported.
#![allow(clippy::unwrap_used)]

use bnnc_abi::methods::sampling::Sampling;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::checkpoint::{Checkpoint, Opening};
use bnnc_core::context::Stop;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{compile as driver, program};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_run::RunResult;
use bnnc_tests::compile::{self, Compiled, options};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Creates a folder for one test. The data file has rows with the columns `u`, `v`, `w` and `y`.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-tests-chains-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut rows = "u,v,w,y\n".to_owned();
    for row in 0..300 {
        let column = |by: u32| f64::from(row * by % 101) / 50.0 - 1.0;
        let (u, v, w) = (column(7), column(13), column(29));
        let noise = column(47);
        rows.push_str(&format!(
            "{u},{v},{w},{}\n",
            0.5 + u - 0.7 * v + 0.3 * w + 0.4 * noise
        ));
    }
    std::fs::write(folder.join("rows.csv"), rows).unwrap();
    folder
}

fn text(program: &str) -> String {
    format!("data rows = csv(\"rows.csv\") {{ target = y }}\n{program}")
}

fn compiled(folder: &Path, program: &str) -> Compiled {
    compile::text(
        &folder.join("rows.bnn"),
        &text(program),
        &options("cranelift", None),
    )
}

/// A model that multiplies data by parameters. All chains in lockstep use the same data in this
/// product.
const PLANE: &str = "
model Plane(x: real[d]) -> y: real {
  a ~ Normal(0, 1)
  b: real[d]  ~ Normal(0, 1)
  s: positive ~ HalfNormal(1)
  y ~ Normal(a + dot(b, x), s)
}
";

/// A model that is a network. The products of this network are matrix products even if there is
/// only one chain.
const NETWORK: &str = "
use layers::Dense
model Network(x: real[d]) -> y: real {
  hidden = Dense(20)
  out    = Dense(1)
  y ~ Normal(out(tanh(hidden(x)))[0], 0.3)
}
";

fn sampling<'a>(compiled: &'a Compiled, infer: &str) -> &'a Sampling {
    let mut infers = compiled.manifest.infers.iter();
    let found = infers.find(|known| known.name == infer);
    found.unwrap().sampling().unwrap()
}

#[test]
fn chains_run_in_lockstep_where_measurements_favour_it() {
    let folder = folder("rule");
    let infers = "
infer two = nuts(Plane, rows) { chains = 2 }
infer four = nuts(Plane, rows) { chains = 4 }
infer many = hmc(Plane, rows) { chains = 12 }
infer batches = sgld(Plane, rows) { chains = 12 }
infer network = nuts(Network, rows) { chains = 12 }
";
    let compiled = compiled(&folder, &format!("{NETWORK}{PLANE}{infers}"));
    let lanes = ["two", "four", "many", "batches", "network"].map(|infer| sampling(&compiled, infer).lanes);
    assert_eq!(lanes, [1, 2, 4, 1, 1]);
}

/// The outputs of a chain in lockstep equal the outputs of a single chain, except for rounding
/// errors. The outputs do not depend on the other chains at all.
#[test]
fn chains_in_lockstep_do_not_affect_each_other() {
    let folder = folder("places");
    let infers = "
infer one = nuts(Plane, rows) { chains = 1 }
infer many = nuts(Plane, rows) { chains = 8 }
";
    let compiled = compiled(&folder, &format!("{PLANE}{infers}"));
    let dataset = compiled.dataset("rows");
    let outputs = |infer: &str, positions: &[f64]| -> Vec<Vec<f64>> {
        let mut infers = compiled.manifest.infers.iter();
        let infer = infers.find(|known| known.name == infer).unwrap();
        let sampling = infer.sampling().unwrap();
        let places = sampling.lanes;
        assert_eq!(positions.len(), places);
        let sizes = Sizes::default()
            .with(Symbol::Batch, 300)
            .with(Symbol::Examples, 300)
            .with(Symbol::Draws, places);
        let mut machine = Machine::new(&sampling.density, sizes, Arc::new(Pool::new(1))).unwrap();
        bnnc_tests::step::give(infer, &dataset, &mut machine, &sampling.density);
        machine.write_real("$scale", &[1.0]).unwrap();
        for name in &sampling.moved {
            let count = machine.count(name).unwrap() / places;
            let value = |place: usize, at: usize| (positions[place] + at as f64).sin();
            let values = (0..places).flat_map(|place| (0..count).map(move |at| value(place, at)));
            machine.write_real(name, &values.collect::<Vec<f64>>()).unwrap();
        }
        machine.run().unwrap();
        let mut found = vec![Vec::new(); places];
        let gradients = sampling.moved.iter().map(|name| format!("{name}/$gradient"));
        for name in gradients.chain(["$log_density".to_owned()]) {
            let values = machine.read_real(&name).unwrap();
            let each = values.len() / places;
            found
                .iter_mut()
                .zip(values.chunks_exact(each))
                .for_each(|(found, values)| found.extend(values));
        }
        found
    };
    let positions = [0.3, -1.2, 2.0, 0.7];
    let lanes = outputs("many", &positions);
    for (place, position) in positions.iter().enumerate() {
        let alone = &outputs("one", &[*position])[0];
        let largest = alone
            .iter()
            .fold(0.0_f64, |largest, value| largest.max(value.abs()));
        for (one, other) in alone.iter().zip(&lanes[place]) {
            assert!((one - other).abs() < 1e-12 * largest, "{one} and {other}");
        }
        let mut others = [f64::NAN, 1e200, -5.0, 0.0];
        others[place] = *position;
        assert_eq!(outputs("many", &others)[place], lanes[place]);
    }
}

fn positions(result: &RunResult) -> Vec<Vec<Vec<f64>>> {
    let of = |outcome: &bnnc_run::InferenceOutcome| {
        let chains = &outcome.splits[0].found.sampled().unwrap().chains;
        chains
            .iter()
            .map(|chain| chain.store.records(0..chain.store.len()).unwrap())
            .collect()
    };
    result.outcomes.iter().map(of).collect()
}

/// The draws of a chain do not depend on the thread that runs it.
#[test]
fn draws_do_not_depend_on_threads_or_other_chains() {
    let folder = folder("company");
    let infers = "
infer turning = nuts(Plane, rows) { chains = 5, warmup = 60, draws = 20 }
infer many = nuts(Plane, rows) { chains = 9, warmup = 40, draws = 10 }
infer leaping = hmc(Plane, rows) { chains = 4, warmup = 60, draws = 20, steps = 4 }
infer walking = random_walk(Plane, rows) { chains = 4, warmup = 60, draws = 20, thin = 2 }
";
    let compiled = compiled(&folder, &format!("{PLANE}{infers}"));
    let one = positions(&compile::run(&compiled.manifest, 1));
    for (chains, count) in one.iter().zip([5, 9, 4, 4]) {
        assert_eq!(chains.len(), count);
        assert!((1..count).all(|chain| chains[chain] != chains[0]));
    }
    for threads in [2, 3, 4, 9, 16] {
        assert!(
            one == positions(&compile::run(&compiled.manifest, threads)),
            "{threads} threads"
        );
    }
}

/// Runs the program until a checkpoint file exists, waits for a short time, and then interrupts the
/// run.
fn stopped(folder: &Path, compiled: &Compiled, file: Option<&str>) -> Result<RunResult, Stop> {
    let out = folder.join("out");
    std::fs::create_dir_all(&out).unwrap();
    let options = bnnc_run::RunOptions {
        checkpoint: Checkpoint::open(&out, &Fingerprint::default(), Opening::New).unwrap(),
        ..bnnc_run::RunOptions::new(1)
    };
    let (flag, wanted) = (
        options.interrupt.clone(),
        file.map(|file| out.join("checkpoint").join(file)),
    );
    thread::scope(|scope| {
        scope.spawn(move || {
            while wanted.as_ref().is_some_and(|wanted| !wanted.exists()) {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(100));
            flag.raise();
        });
        bnnc_run::run(&compiled.manifest, &options)
    })
}

#[test]
fn chains_without_draws_are_left_out() {
    let folder = folder("without");
    let infer = "infer x = nuts(Plane, rows) { chains = 3, warmup = 0, draws = 100000000, store = disk, loo = never }";
    let compiled = compiled(&folder, &format!("{PLANE}{infer}"));
    let result = stopped(&folder, &compiled, Some("x-0-0.chain")).unwrap();
    assert!(result.interrupted);
    let sampled = result.outcomes[0].splits[0].found.sampled().unwrap();
    assert_eq!(
        (sampled.chains.len(), &sampled.without_draws[..]),
        (1, &[1, 2][..])
    );
    let mut warnings = result.warnings.iter();
    let warning = warnings.find(|warning| warning.code.id == "E0528").unwrap();
    assert!(warning.message.contains("2 of 3 chains"), "{}", warning.message);
}

/// A run can be interrupted during an iteration that would take hours.
#[test]
fn a_long_trajectory_is_interrupted() {
    let folder = folder("long");
    let infer = "infer x = hmc(Plane, rows) { chains = 2, steps = 1000000000, step_size = 1e-9 }";
    let compiled = compiled(&folder, &format!("{PLANE}{infer}"));
    let clock = Instant::now();
    let result = stopped(&folder, &compiled, None).unwrap();
    assert!(result.interrupted && result.outcomes.is_empty());
    assert!(clock.elapsed() < Duration::from_secs(60));
}

/// Returns the warnings of a program's run.
fn warnings(folder: &Path, program_text: &str) -> Vec<String> {
    let options = CompileOptions {
        ..options("cranelift", None)
    };
    let path = folder.join("rows.bnn");
    let program = program::load(&path.display().to_string(), &text(program_text), &options);
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    let specs = driver::data(&program, &options).unwrap();
    let schemas: HashMap<_, _> = specs
        .iter()
        .map(|spec| (spec.name.clone(), bnnc_data::schema(spec).unwrap()))
        .collect();
    let compiled = driver::compile(&program, &schemas, &options).ok().unwrap();
    let reported = compiled.warnings.iter();
    reported
        .map(|warning| format!("{}: {}", warning.code.id, warning.message))
        .collect()
}

#[test]
fn a_useless_start_is_a_warning() {
    let folder = folder("start");
    let fit = "infer fit = map(Plane, rows) { epochs = 1 }\n";
    let useful = format!("{PLANE}{fit}infer chain = nuts(Plane, rows) {{ start = fit }}");
    assert_eq!(warnings(&folder, &useful), [""; 0]);
    let useless = format!("{NETWORK}{PLANE}{fit}infer chain = nuts(Network, rows) {{ start = fit }}");
    let reported = warnings(&folder, &useless);
    assert_eq!(
        reported,
        ["E0621: `chain` starts from `fit`, which has no parameter of the same name and shape"]
    );
}

//! A program gives the same results on a device with its own memory as on the host. Only data that
//! have changed are copied.

use crate::examples::{self, on_host, result};
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Context;
use bnnc_core::predict::Predictor;
use bnnc_core::states::start;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::arena::layout;
use bnnc_kernels::pool::Pool;
use bnnc_tests::compile::{self, Compiled, from_examples, options};
use bnnc_tests::emulated::{self, Asked};
use bnnc_training::step::{Stepper, Terms, training};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Compiles a program for the emulated device.
fn on_device(path: &Path, settings: &[String], precision: Option<Precision>) -> Compiled {
    let options = CompileOptions {
        settings: settings.to_vec(),
        attach: Some(emulated::attach),
        ..options("cranelift", precision)
    };
    compile::file(path, &options)
}

#[test]
fn every_example_has_the_same_result_on_a_device() {
    let host = examples::all();
    let faults = from_examples(|path| {
        let example = host.iter().find(|example| example.path == path).unwrap();
        let compiled = on_device(path, &example.settings, None);
        emulated::asked();
        let device = result(&compiled, 2);
        assert!(emulated::asked().contains(&Asked::Run), "{}", path.display());
        let differs = device != example.results[1];
        differs.then(|| path.display().to_string()).into_iter().collect()
    });
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The byte range of each port in the arena of a training program.
struct Arena(HashMap<String, Range<usize>>);

impl Arena {
    fn holds(&self, names: &[&str], range: &Range<usize>) -> bool {
        let of = |name: &&str| self.0.get(*name).cloned().unwrap_or(0..0);
        let covered = names
            .iter()
            .map(of)
            .filter(|port| range.start <= port.start && port.end <= range.end);
        // Each port begins at a new cache line, so the gap between neighbouring ports is shorter
        // than a line.
        let bytes: usize = covered.map(|port| port.len().next_multiple_of(64)).sum();
        bytes >= range.len()
    }
}

/// From the third step on, a step gathers its rows on the device, uploads two counters, runs, and
/// downloads the loss. A steady step does nothing else.
#[test]
fn a_steady_step_copies_only_what_changed() {
    let path = bnnc_tests::root().join("examples/yacht/yacht.bnn");
    for precision in [Precision::F32, Precision::F64] {
        let compiled = on_device(&path, &[], Some(precision));
        let infer = &compiled.manifest.infers[0];
        let dataset = compiled.dataset(&infer.data);
        let states = start(&infer.states, 1, &HashMap::new());
        let context = Context::new(Arc::new(Pool::new(1)), 1);
        let mut stepper = Stepper::new(infer, dataset.train.count, &states, &context).unwrap();
        let feed = stepper.feed(&dataset.train, &dataset).unwrap();
        let train = training(infer).unwrap();
        let sizes = *stepper.machine.sizes();
        let (plan, places) = (&train.step.plan, layout(&train.step.plan, &sizes));
        let ports = plan.buffers.ids().zip(places.offsets).filter_map(|(id, at)| {
            let name = plan.buffers[id].name.to_string();
            let bytes = stepper.machine.count(&name).ok()?
                * if name == "$step" || name == "$iteration" {
                    4
                } else {
                    precision.bytes()
                };
            Some((name, at..at + bytes))
        });
        let arena = Arena(ports.collect());
        let terms = Terms {
            rows: feed.rows,
            rate: 1e-3,
            kl_weight: 1.0,
            epoch: 0,
        };
        let batch = |at: u32| (32 * at..32 * (at + 1)).collect::<Vec<u32>>();
        feed.write_shared(&mut stepper.machine).unwrap();
        stepper.step(&feed, &batch(0), terms).unwrap();
        emulated::asked();
        stepper.step(&feed, &batch(1), terms).unwrap();
        let keeps = |asked: &[Asked]| asked.iter().filter(|one| matches!(one, Asked::Keep(_))).count();
        assert_eq!(keeps(&emulated::asked()), infer.bindings.len());
        for at in 2..5 {
            stepper.step(&feed, &batch(at), terms).unwrap();
            let asked = emulated::asked();
            let (last, before) = asked.split_last().unwrap();
            let (run, copies) = before.split_last().unwrap();
            assert_eq!(
                (run, last),
                (&Asked::Run, &Asked::Download(arena.0["$loss"].clone()))
            );
            let gathers = infer.bindings.iter().map(|binding| {
                let port = &arena.0[&binding.port];
                Asked::Gather(port.start..port.start + port.len() / sizes.get(Symbol::Batch) * 32)
            });
            let (gathered, uploads) = copies.split_at(infer.bindings.len());
            assert_eq!(gathered, gathers.collect::<Vec<_>>());
            for upload in uploads {
                let Asked::Upload(range) = upload else {
                    panic!("{asked:?}")
                };
                assert!(
                    arena.holds(&["$iteration", "$step"], range),
                    "{range:?} {:?}",
                    arena.0
                );
            }
            assert!(uploads.len() <= 2);
        }
    }
}

/// Parameters are copied from the training program to the prediction program without passing through the host.
#[test]
fn states_are_copied_on_the_device() {
    let path = bnnc_tests::root().join("examples/yacht/yacht.bnn");
    let predicted = |there: bool| {
        let compiled = match there {
            true => on_device(&path, &[], None),
            false => on_host(&path, &[], None),
        };
        let infer = &compiled.manifest.infers[0];
        let dataset = compiled.dataset(&infer.data);
        let states = start(&infer.states, 1, &HashMap::new());
        let context = Context::new(Arc::new(Pool::new(1)), 1);
        let mut stepper = Stepper::new(infer, dataset.train.count, &states, &context).unwrap();
        let feed = stepper.feed(&dataset.train, &dataset).unwrap();
        feed.write_shared(&mut stepper.machine).unwrap();
        let terms = Terms {
            rows: feed.rows,
            rate: 1e-2,
            kl_weight: 1.0,
            epoch: 0,
        };
        let mut predictor = Predictor::new(infer, &dataset.train, &dataset, 3, &context).unwrap();
        let mut found = Vec::new();
        for at in 0..4u32 {
            let batch: Vec<u32> = (32 * at..32 * (at + 1)).collect();
            stepper.step(&feed, &batch, terms).unwrap();
            emulated::asked();
            predictor.take_parameters(&stepper.machine).unwrap();
            let copies = emulated::asked();
            assert_eq!(copies.is_empty(), !there);
            assert!(
                copies.iter().all(|asked| matches!(asked, Asked::Copy(_))),
                "{copies:?}"
            );
            found.push(predictor.log_likelihood().unwrap());
        }
        // If the host changes a value that the device computed, the device uses the changed value.
        let name = &infer.states[0].name;
        let mut values = stepper.machine.read_real(name).unwrap();
        values[0] += 0.25;
        stepper.machine.write_real(name, &values).unwrap();
        assert_eq!(stepper.machine.read_real(name).unwrap().len(), values.len());
        found.push(stepper.step(&feed, &[1, 2, 3], terms).unwrap());
        let mut parameters: Vec<_> = stepper.parameters().unwrap().into_iter().collect();
        parameters.sort_by(|a, b| a.0.cmp(&b.0));
        found.extend(parameters.into_iter().flat_map(|(_, values)| values));
        found
    };
    assert!(predicted(true) == predicted(false));
}

/// One copy uploads the position, and one copy downloads the density and its gradient.
#[test]
fn a_leapfrog_step_copies_once_each_way() {
    let path = bnnc_tests::root().join("examples/posteriors/eight-schools.bnn");
    let compiled = on_device(&path, &compile::short(&path, 2, 10), None);
    let sampling = compiled.manifest.infers[0].sampling().unwrap();
    emulated::asked();
    compile::run(&compiled.manifest, 1);
    let asked = emulated::asked();
    let sizes = Sizes::default()
        .with(Symbol::Batch, 8)
        .with(Symbol::Examples, 8)
        .with(Symbol::Draws, sampling.lanes);
    let plan = &sampling.density.plan;
    let places = layout(plan, &sizes).offsets;
    let bytes = |name: &str| {
        let id = plan.port(name).unwrap();
        let start = places[id.index()];
        start..start + 8 * plan.buffers[id].shape.count(&sizes)
    };
    // For all chains in lockstep, a step uploads the eight effects, the mean of the effects, and
    // the logarithm of their scale. The step downloads the density and its derivatives.
    let step = [
        Asked::Upload(bytes("eta/loc").start..bytes("tau/loc").end),
        Asked::Run,
        Asked::Download(bytes("$log_density").start..bytes("tau/loc/$gradient").end),
    ];
    let run = |from: &[Asked]| from.chunks(3).take_while(|three| *three == step).count();
    // Between two steps, the session does not receive other calls. The calls of a step differ only
    // if a number in the position of a chain did not change, because such a number is not uploaded
    // again.
    let longest = (0..asked.len()).map(|from| run(&asked[from..])).max().unwrap();
    assert!(
        longest > 100,
        "{longest} steps in {:?}",
        &asked[..30.min(asked.len())]
    );
}

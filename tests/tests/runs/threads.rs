//! With the same seed, the results are the same for every number of threads.

use crate::examples::{self, result};
use bnnc_base::diagnostics::NO_MEMORY;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::start;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::pool::Pool;
use bnnc_tests::compile::{self, Compiled, options};
use bnnc_training::restarts::{self, OneOnThread};
use bnnc_training::{Task, TrainingResult, maximum, train};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[test]
fn every_example_has_the_same_result_on_any_number_of_threads() {
    let mut faults = Vec::new();
    for example in examples::all() {
        let [one, two, three] = &example.results;
        for (threads, result) in [(2, two), (3, three)] {
            faults.extend((one != result).then(|| format!("{}, {threads} threads", example.path.display())));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The tensors are so large that every kernel and every matrix product is divided among threads.
#[test]
fn a_wide_network_has_the_same_result_on_any_number_of_threads() {
    let path = bnnc_tests::root().join("examples/concrete/wide.bnn");
    let program = r#"
use layers::Dense
data concrete = csv("data/concrete.csv") { test = splits("data/splits.json"), split = 0, standardise = [inputs, target] }
model Wide(x: real[d]) -> strength: real {
  first  = Dense(300)
  second = Dense(300)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  strength ~ Normal(out(tanh(second(relu(first(x)))))[0], sigma)
}
posterior MeanField of Wide {
  first.*, second.*, out.* ~ Normal(scale = 0.01)
  sigma ~ LogNormal(loc = -1, scale = 0.1)
}
infer fit = vi(MeanField, concrete) { epochs = 2, batch = 400, samples = 2, predictive_draws = 5 }
"#;
    for precision in [Precision::F32, Precision::F64] {
        let compiled = compile::text(&path, program, &options("cranelift", Some(precision)));
        let one = result(&compiled, 1);
        for threads in [2, 3] {
            assert_eq!(one, result(&compiled, threads), "{precision}, {threads} threads");
        }
    }
}

/// The text of the result depends on the seed. If all seeds gave the same
/// result, the comparisons in this file would always pass.
#[test]
fn another_seed_gives_another_result() {
    let path = bnnc_tests::root().join("examples/yacht/yacht.bnn");
    let text = |seed| {
        let options = CompileOptions {
            seed,
            settings: vec!["fit.epochs=2".into()],
            ..options("cranelift", None)
        };
        let mut compiled = compile::file(&path, &options);
        compiled.manifest.seed = seed;
        let mut json: Value = serde_json::from_str(&result(&compiled, 1)).unwrap();
        json["seed"] = Value::Null;
        json
    };
    assert_ne!(text(1), text(2));
    assert_eq!(text(2), text(2));
}

/// Returns a program for the data of the yacht example. The program has one network and one
/// inference block with this method.
fn restarted(method: &str, options_of: &str) -> Compiled {
    let path = bnnc_tests::root().join("examples/yacht/restarts.bnn");
    let program = format!(
        "use layers::Dense
data yacht = csv(\"data/yacht.csv\") {{ test = splits(\"data/splits.json\"), split = 0, standardise = [inputs, target] }}
model Net(x: real[d]) -> resistance: real {{
  hidden = Dense(5)
  out    = Dense(1)
  resistance ~ Normal(out(tanh(hidden(x)))[0], 0.3)
}}
posterior Q of Net {{ hidden.*, out.* ~ Normal(scale = 0.1) }}
infer fit = {method} {{ epochs = 6, batch = 50, {options_of} }}"
    );
    compile::text(&path, &program, &options("cranelift", None))
}

#[test]
fn restarts_have_the_same_result_on_any_number_of_threads() {
    for (method, options, trainings) in [
        ("map(Net, yacht)", "restarts = 5", 5),
        ("vi(Q, yacht)", "restarts = 3", 3),
        ("dropout(Net, yacht)", "restarts = 3", 3),
        ("swag(Net, yacht)", "restarts = 3, covariance = diagonal", 3),
        ("ensemble(Net, yacht)", "restarts = 2, members = 2", 4),
        ("ensemble(Net, yacht)", "members = 5", 5),
        ("laplace(Net, yacht)", "restarts = 3", 3),
        ("laplace(Net, yacht)", "restarts = 2, online = true", 2),
    ] {
        let compiled = restarted(method, options);
        let one = result(&compiled, 1);
        // Each training run has 36 steps: six epochs with 277 rows in batches of 50.
        let steps = format!("\"steps\":{}", trainings * 36);
        assert!(one.contains(&steps), "{method}: {one}");
        for threads in [2, 3, 7] {
            assert_eq!(one, result(&compiled, threads), "{method}, {threads} threads");
        }
    }
}

/// The restart that is kept gives the same result as a separate training run with its seed. The
/// same holds for the descent that starts from its parameters.
#[test]
fn only_the_best_restart_is_followed_by_a_descent() {
    for method in ["map(Net, yacht)", "vi(Q, yacht)", "swag(Net, yacht)"] {
        let compiled = restarted(method, "restarts = 4");
        let infer = &compiled.manifest.infers[0];
        let dataset = compiled.dataset(&infer.data);
        let context = Context::new(Arc::new(Pool::new(2)), 1);
        let task = Task {
            infer,
            dataset: &dataset,
            split: 0,
            name: &infer.name,
            context: &context,
            restart: 0,
        };
        let trained = |task: &Task<'_>| {
            let start = start(&infer.states, task.context.seed, &HashMap::new());
            let fitted = train(task, start, None)?;
            assert!(fitted.descent.is_none(), "{method}");
            Ok((fitted, task.restart))
        };
        let (best, number) = restarts::best(&task, &trained).unwrap();
        assert_eq!(best.restarts.len(), 4, "{method}");
        let context = Context {
            seed: restarts::seed_of(1, "restart", number),
            ..context.clone()
        };
        let own = Task {
            context: &context,
            restart: number,
            ..task
        };
        let (alone, _) = trained(&own).unwrap();
        assert_eq!(best.values, alone.values, "{method}");
        assert_eq!(
            best.restarts[number].settled,
            restarts::settled(&alone),
            "{method}"
        );
        let descent = maximum::descent(&own, &alone).unwrap();
        assert!(
            descent.is_some() && best.descent == descent,
            "{method}: {descent:?}"
        );
    }
}

/// Runs three restarts that call a function instead of a training run. Returns the result.
fn compared(threads: usize, one: &OneOnThread<'_, usize>) -> Result<(TrainingResult, usize), Stop> {
    let compiled = restarted("map(Net, yacht)", "restarts = 3");
    let infer = &compiled.manifest.infers[0];
    let dataset = compiled.dataset(&infer.data);
    let context = Context::new(Arc::new(Pool::new(threads)), 1);
    let task = Task {
        infer,
        dataset: &dataset,
        split: 0,
        name: &infer.name,
        context: &context,
        restart: 0,
    };
    restarts::best(&task, one)
}

#[test]
fn restarts_run_concurrently() {
    let running = (Mutex::new(0), Condvar::new());
    let together = |task: &Task<'_>| {
        let (count, changed) = &running;
        let mut begun = count.lock().unwrap();
        *begun += 1;
        changed.notify_all();
        // Each restart waits for the other two, so all of them must run at the same time.
        let (_begun, late) = changed
            .wait_timeout_while(begun, Duration::from_secs(60), |begun| *begun < 3)
            .unwrap();
        assert!(!late.timed_out(), "restart {} is alone", task.restart);
        Ok((TrainingResult::default(), task.restart))
    };
    assert!(compared(3, &together).is_ok());
}

#[test]
fn the_first_restart_that_fails_is_reported() {
    let failing = |task: &Task<'_>| match task.restart {
        0 => Ok((TrainingResult::default(), 0)),
        number => Err(Stop::Fault(Fault::limit(&NO_MEMORY, number.to_string()))),
    };
    for threads in [1, 2, 3] {
        let stopped = compared(threads, &failing).map(|(_, number)| number);
        assert!(
            matches!(&stopped, Err(Stop::Fault(Fault::Limit(first))) if first.text == "1"),
            "{stopped:?}"
        );
    }
}

#[test]
fn an_interrupted_restart_is_used_only_if_none_is_complete() {
    for (complete, expected) in [(None, 0), (Some(2), 2)] {
        let one = |task: &Task<'_>| {
            let fitted = TrainingResult {
                interrupted: Some(task.restart) != complete,
                ..TrainingResult::default()
            };
            Ok((fitted, task.restart))
        };
        for threads in [1, 2, 3] {
            let (fitted, number) = compared(threads, &one).unwrap();
            assert_eq!(
                (number, fitted.interrupted),
                (expected, true),
                "{threads} threads"
            );
            assert_eq!(fitted.restarts.len(), 1);
        }
    }
}

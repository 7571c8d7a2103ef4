//! Ensembles.

use crate::setup::{LINE, NET, Y, close, collected, compiled, folder, seeded, values};
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_methods::iterates::seed_of;
use bnnc_run::{RunOptions, RunResult, Sources, run};
use bnnc_tests::compile::{self as compiling, opening};
use bnnc_training::iterates::Collected;

/// Each member is the result of `map` with the seed of this member. Predictions are averages over
/// the members.
#[test]
fn an_ensemble_is_made_of_single_runs() {
    let folder = folder("ensemble");
    let options = "epochs = 5, batch = 4, optimiser = Adam(1e-2), predictive_draws = 3 }";
    let text = format!("{NET}infer fit = ensemble(Net, d) {{ members = 3, {options}\n");
    let result = compiling::run(&seeded(&folder, &text, 1).manifest, 2);
    let ensemble = collected(&result, "fit");
    let means = |result: &RunResult| {
        let (_, column) = &result.outcomes[0].predictions[1];
        match column {
            bnnc_data::write::ResultColumn::Real(values) => values.clone(),
            other => panic!("{other:?}"),
        }
    };
    let mut average = vec![0.0; Y.len()];
    for member in 0..3 {
        let text = format!("{NET}infer fit = map(Net, d) {{ {options}\n");
        let single = compiling::run(&seeded(&folder, &text, seed_of(1, member)).manifest, 1);
        assert_eq!(*values(&single, "fit"), *ensemble.members[member]);
        let own = means(&single);
        average
            .iter_mut()
            .zip(own)
            .for_each(|(sum, mean)| *sum += mean / 3.0);
    }
    close(&means(&result), &average, 1e-12);
    assert_eq!(seed_of(1, 0), 1);
    assert_ne!(ensemble.members[0]["out.w/loc"], ensemble.members[1]["out.w/loc"]);
    assert_eq!(ensemble.draws, 3);
}

/// If an ensemble starts from another ensemble, it continues each member of that ensemble. An
/// inference block that is not an ensemble starts from the first member.
#[test]
fn ensembles_are_continued() {
    let text = format!(
        "{NET}infer first = ensemble(Net, d) {{ epochs = 2, members = 2 }}
infer fit = ensemble(Net, d) {{ epochs = 1, members = 3, start = first, optimiser = SGD(1e-300) }}
infer one = map(Net, d) {{ epochs = 1, start = first, optimiser = SGD(1e-300) }}
"
    );
    let result = compiling::run(&compiled("continued", &text).manifest, 1);
    let (first, fit) = (collected(&result, "first"), collected(&result, "fit"));
    assert_eq!(first.members[0], fit.members[0]);
    assert_eq!(first.members[1], fit.members[1]);
    assert_eq!(first.members[0], fit.members[2]);
    assert_eq!(first.members[0], values(&result, "one"));
}

/// If a run is interrupted between two members, the resumed run begins with the next member and
/// gives the same numbers.
#[test]
fn resuming_keeps_finished_members() {
    let folder = folder("kept");
    let text = format!("{NET}infer fit = ensemble(Net, d) {{ epochs = 3, members = 3 }}\n");
    let compiled = seeded(&folder, &text, 1);
    let print = Fingerprint::of(&compiled.manifest, &Sources::default()).unwrap();
    let with = |resume: bool| {
        let options = RunOptions {
            checkpoint: Checkpoint::open(&folder, &print, opening(resume)).unwrap(),
            ..RunOptions::new(1)
        };
        run(&compiled.manifest, &options).unwrap()
    };
    let whole = with(false);
    let checkpoint = folder.join("checkpoint");
    std::fs::remove_file(checkpoint.join("fit-0.fit")).unwrap();
    std::fs::remove_file(checkpoint.join("fit-member2-0.fit")).unwrap();
    let before = std::fs::metadata(checkpoint.join("fit-member1-0.fit"))
        .unwrap()
        .modified()
        .unwrap();
    let again = with(true);
    let after = std::fs::metadata(checkpoint.join("fit-member1-0.fit"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after, "the second member was trained again");
    assert_eq!(*values(&whole, "fit"), *values(&again, "fit"));
    let resumed = with(true);
    assert_eq!(
        collected(&whole, "fit").members,
        collected(&resumed, "fit").members
    );
}

/// For an interrupted ensemble, the table shows the planned number of members.
#[test]
fn the_table_of_an_interrupted_ensemble_counts_its_members() {
    let text = format!("{LINE}infer e = ensemble(Line, d) {{ epochs = 1, members = 3 }}\n");
    let compiled = compiled("marked", &text);
    let result = compiling::run(&compiled.manifest, 1);
    let mut found = collected(&result, "e").clone();
    let table =
        |found: &Collected| bnnc_inference::iterates::report::table(&compiled.manifest.infers[0], found, 6);
    assert!(!table(&found).contains("interrupted"));
    found.members.pop();
    found.fitted.interrupted = true;
    assert!(table(&found).contains("2 of 3, interrupted"), "{}", table(&found));
}

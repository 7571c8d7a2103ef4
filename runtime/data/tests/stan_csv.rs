//! Stan CSV files have the same content as the files that CmdStan writes, in the same order.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_abi::methods::sampling::samplers::mala::MalaOptions;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Estimator, Loss, Penalty, Proposal};
use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Steps, Transition};
use bnnc_data::write::stan_csv::{ChainWriter, CsvSite, Settings};
use folder::Folder;
use std::fs;
use std::path::Path;

const STATISTICS: [&str; 8] = [
    "energy",
    "lp",
    "acceptance_rate",
    "step_size",
    "tree_depth",
    "n_steps",
    "diverging",
    "log_det",
];

fn adaptation(metric: MetricKind) -> Adaptation {
    Adaptation {
        step_size: None,
        target_acceptance: 0.8,
        metric,
    }
}

fn nuts(metric: MetricKind) -> Transition {
    Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation: adaptation(metric),
    })
}

fn settings(transition: &Transition) -> Settings<'_> {
    Settings {
        model: "eight-schools",
        seed: 7,
        chain: 2,
        warmup: 500,
        draws: 1000,
        thin: 3,
        saves_warmup: false,
        transition,
    }
}

fn parameter<'a>(name: &'a str, shape: &'a [usize]) -> CsvSite<'a> {
    CsvSite {
        name,
        shape,
        names: &[],
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn header(path: &Path) -> String {
    lines(path)
        .into_iter()
        .find(|line| !line.starts_with('#'))
        .unwrap()
}

#[test]
fn elements_come_in_column_major_order() {
    let folder = Folder::new();
    let path = folder.0.join("p_2.csv");
    let transition = nuts(MetricKind::Diagonal);
    let parameters = [
        parameter("mu", &[]),
        parameter("hidden.w", &[2, 3]),
        parameter("none", &[0, 4]),
        parameter("t", &[2, 1, 2]),
    ];
    let mut chain = ChainWriter::create(&path, &settings(&transition), &STATISTICS, &parameters).unwrap();
    chain.adapted(0.25, &[1.0, 0.5]).unwrap();
    // The values are mu, the elements of w in C order (11 12 13 21 22 23), and the elements of t
    // (111 112 211 212).
    let values = [
        0.0, 11.0, 12.0, 13.0, 21.0, 22.0, 23.0, 111.0, 112.0, 211.0, 212.0,
    ];
    let statistics = [9.5, -1.25, 0.875, 0.25, 3.0, 7.0, 0.0, -2.0];
    chain.draw(&statistics, &values).unwrap();
    chain.finish().unwrap();
    let all = lines(&path);
    let at = all.iter().position(|line| !line.starts_with('#')).unwrap();
    assert_eq!(
        all[at],
        "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,\
         hidden_w.1.1,hidden_w.2.1,hidden_w.1.2,hidden_w.2.2,hidden_w.1.3,hidden_w.2.3,\
         t.1.1.1,t.2.1.1,t.1.1.2,t.2.1.2"
    );
    assert_eq!(
        all[at + 1..at + 6],
        [
            "# Adaptation terminated",
            "# Step size = 0.25",
            "# Diagonal elements of inverse mass matrix:",
            "# 1, 0.5",
            "-1.25,0.875,0.25,3,7,0,9.5,0,11,21,12,22,13,23,111,211,112,212",
        ]
    );
    assert!(all[at + 6..].iter().all(|line| line.starts_with('#')) && all.len() > at + 7);
}

#[test]
fn settings_are_cmdstans_and_the_count_is_that_of_the_draws() {
    let folder = Folder::new();
    let path = folder.0.join("p.csv");
    let transition = nuts(MetricKind::Dense);
    let mut chain =
        ChainWriter::create(&path, &settings(&transition), &["lp"], &[parameter("x", &[2])]).unwrap();
    chain.adapted(1.0, &[2.0, 0.5, 0.5, 3.0]).unwrap();
    for _ in 0..12 {
        chain.draw(&[0.0], &[0.0, 0.0]).unwrap();
    }
    chain.finish().unwrap();
    let all = lines(&path);
    let expected = [
        "# model = eight_schools",
        "# method = sample",
        "#   sample",
        "#     num_samples = 36  ",
        "#     num_warmup = 500",
        "#     save_warmup = 0",
        "#     thin = 3",
        "#     adapt",
        "#       engaged = 1",
        "#       delta = 0.8",
        "#     algorithm = hmc",
        "#       hmc",
        "#         engine = nuts",
        "#           nuts",
        "#             max_depth = 10",
        "#         metric = dense_e",
        "# id = 2",
        "# random",
        "#   seed = 7",
    ];
    assert_eq!(all[..expected.len()], expected);
    let at = all
        .iter()
        .position(|line| line == "# Elements of inverse mass matrix:")
        .unwrap();
    assert_eq!(all[at + 1..at + 3], ["# 2, 0.5", "# 0.5, 3"]);
}

#[test]
fn draws_of_the_warm_up_come_first_and_are_not_counted() {
    let folder = Folder::new();
    let path = folder.0.join("p.csv");
    let transition = nuts(MetricKind::Unit);
    let settings = Settings {
        draws: 1,
        thin: 1,
        saves_warmup: true,
        ..settings(&transition)
    };
    let mut chain = ChainWriter::create(&path, &settings, &["lp"], &[]).unwrap();
    chain.draw(&[-3.0], &[]).unwrap();
    chain.draw(&[-2.0], &[]).unwrap();
    chain.adapted(0.5, &[]).unwrap();
    chain.draw(&[-1.0], &[]).unwrap();
    chain.finish().unwrap();
    let all = lines(&path);
    assert!(all.contains(&"#     num_samples = 1".to_owned()));
    let at = all.iter().position(|line| line == "lp__").unwrap();
    let unit = "# No free parameters for unit metric";
    let expected = [
        "-3",
        "-2",
        "# Adaptation terminated",
        "# Step size = 0.5",
        unit,
        "-1",
        "# ",
    ];
    assert_eq!(all[at + 1..at + 8], expected);
}

#[test]
fn names_are_stans_and_are_kept_apart() {
    let folder = Folder::new();
    let path = folder.0.join("p.csv");
    let transition = nuts(MetricKind::Unit);
    let names = ["a.b", "a_b", "a__", "a", "0:x", "µ"].map(|name| parameter(name, &[]));
    let chain = ChainWriter::create(&path, &settings(&transition), &["accepted"], &names).unwrap();
    chain.finish().unwrap();
    assert_eq!(header(&path), "lp__,a_b,a_b_2,a,a_2,v0_x,v");
}

#[test]
fn numbers_read_back_and_nan_and_infinity_are_written_as_in_c() {
    let folder = Folder::new();
    let path = folder.0.join("p.csv");
    let transition = nuts(MetricKind::Unit);
    let values = [
        0.1,
        1.0 / 3.0,
        -5e-324,
        f64::MAX,
        123456789012345680.0,
        1e15,
        -7.0,
    ];
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let shapes = [parameter("x", &[7]), parameter("y", &[3])];
    let mut chain = ChainWriter::create(&path, &settings(&transition), &[], &shapes).unwrap();
    chain.draw(&[], &[&values[..], &odd].concat()).unwrap();
    chain.finish().unwrap();
    let all = lines(&path);
    let row = all.iter().filter(|line| !line.starts_with('#')).nth(1).unwrap();
    let cells: Vec<&str> = row.split(',').collect();
    // The column of the log density is written even if a sampler does not compute it.
    assert_eq!(cells[0], "nan");
    for (cell, value) in cells[1..8].iter().zip(values) {
        assert_eq!(cell.parse::<f64>().unwrap().to_bits(), value.to_bits());
    }
    assert_eq!(cells[8..], ["nan", "inf", "-inf"]);
}

#[test]
fn every_transition_names_its_algorithm() {
    let folder = Folder::new();
    let adaptation = adaptation(MetricKind::Diagonal);
    let schedule = Steps::Constant;
    let penalty = Penalty {
        batch: 5,
        batches: 4,
        loss: Loss::Data,
        estimator: Estimator::Mean,
        correction: Correction::Plain,
        proposal: Proposal::RandomWalk { step: 0.1 },
        gradient_batch: 0,
        replacement: false,
    };
    let friction = 0.1;
    let (batch, step_size) = (32, 1e-4);
    let cases = [
        (
            Transition::Hmc(HmcOptions {
                steps: 20,
                adaptation,
            }),
            "engine = static",
        ),
        (Transition::Mala(MalaOptions(adaptation)), "algorithm = mala"),
        (
            Transition::RandomWalk(RandomWalkOptions(adaptation)),
            "algorithm = random_walk",
        ),
        (
            Transition::Sgld(SgldOptions {
                batch,
                step_size,
                schedule,
            }),
            "stepsize = 0.0001",
        ),
        (
            Transition::Sghmc(SghmcOptions {
                batch,
                step_size,
                friction,
                schedule,
            }),
            "friction = 0.1",
        ),
        (Transition::Penalty(penalty), "batches = 4"),
    ];
    for (transition, expected) in &cases {
        let path = folder.0.join("p.csv");
        ChainWriter::create(&path, &settings(transition), &["lp"], &[])
            .unwrap()
            .finish()
            .unwrap();
        let all = lines(&path);
        assert!(
            all.iter().any(|line| line.ends_with(expected)),
            "{expected}: {all:?}"
        );
    }
}

#[test]
fn unfinished_files_are_removed_and_write_errors_are_reported() {
    let folder = Folder::new();
    let transition = nuts(MetricKind::Unit);
    let path = folder.0.join("p.csv");
    let chain = ChainWriter::create(&path, &settings(&transition), &["lp"], &[]).unwrap();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    drop(chain);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    let nowhere = folder.0.join("no/p.csv");
    let fault = ChainWriter::create(&nowhere, &settings(&transition), &["lp"], &[]).unwrap_err();
    assert_eq!(fault.code.id, "E0432");
}

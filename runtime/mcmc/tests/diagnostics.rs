//! R-hat, effective sample sizes and standard errors agree with published numbers, ArviZ and closed forms.
#![allow(clippy::unwrap_used)]

use bnnc_math::philox;
use bnnc_mcmc::diagnostics::{QuantitySummary, Summariser, effective, energy, ranks, rhat};
use std::collections::BTreeMap;

fn summary(chains: &[Vec<f64>]) -> QuantitySummary {
    Summariser::default().summary(&slices(chains))
}

fn slices(chains: &[Vec<f64>]) -> Vec<&[f64]> {
    chains.iter().map(Vec::as_slice).collect()
}

#[track_caller]
fn assert_near(found: f64, want: f64, relative: f64, what: &str) {
    let same = found == want || (found.is_nan() && want.is_nan());
    assert!(
        same || (found - want).abs() <= relative * want.abs(),
        "{what}: {found:e} instead of {want:e}"
    );
}

struct Published {
    name: String,
    chains: Vec<Vec<f64>>,
    numbers: BTreeMap<String, f64>,
}

fn published() -> Vec<Published> {
    let eight: &[u8] = include_bytes!("data/eight-schools.f64");
    let kids: &[u8] = include_bytes!("data/kidscore-momiq.f64");
    let draws: Vec<f64> = [eight, kids]
        .concat()
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let mut lines = include_str!("data/published.csv").lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let quantities = lines.zip(draws.chunks_exact(10_000));
    quantities
        .map(|(line, draws)| {
            let fields = names.iter().zip(line.split(',')).skip(2);
            Published {
                name: line.split(',').take(2).collect::<Vec<_>>().join(" "),
                chains: draws.chunks_exact(1000).map(<[f64]>::to_vec).collect(),
                numbers: fields
                    .map(|(name, field)| (name.to_string(), field.parse().unwrap()))
                    .collect(),
            }
        })
        .collect()
}

#[test]
fn summaries_agree_with_all_published_digits() {
    let all = published();
    assert_eq!(all.len(), 4);
    for Published {
        name,
        chains,
        numbers,
    } in &all
    {
        let found = summary(chains);
        let pairs = [
            ("mean", found.mean),
            ("sd", found.sd),
            ("q05", found.q05),
            ("q50", found.median),
            ("q95", found.q95),
            ("ess_bulk", found.ess_bulk),
            ("ess_tail", found.ess_tail),
        ];
        for (key, value) in pairs {
            // The published numbers have ten digits.
            assert_near(value, numbers[key], 5.5e-10, &format!("{name}, {key}"));
        }
        assert_near(found.rhat, numbers["rhat"], 2e-6, name);
    }
}

/// The two draws in the middle are equally far from the median, so rounding determines which of their distances ranks first. The published draws
/// have 15 digits, but the published R-hat was computed from draws in full precision.
#[test]
fn rhat_agrees_with_all_published_digits_for_one_order_of_the_middle() {
    for Published {
        name,
        chains,
        numbers,
    } in published()
    {
        let mut sorted = chains.concat();
        sorted.sort_unstable_by(f64::total_cmp);
        let (below, above) = (sorted[4999], sorted[5000]);
        // These numbers have few significant bits, so their distances from the centre are exact.
        let rounded = |value: f64| (value * 2.0_f64.powi(40)).round() / 2.0_f64.powi(40);
        let (centre, apart) = (rounded((below + above) / 2.0), rounded((above - below) / 2.0));
        let bulk = rhat::bulk(&slices(&chains));
        let with = |nearer: f64, farther: f64| {
            let mut chains = chains.clone();
            for value in chains.iter_mut().flatten() {
                if *value == below {
                    *value = centre - nearer;
                } else if *value == above {
                    *value = centre + farther;
                }
            }
            bulk.max(rhat::folded(&slices(&chains), centre))
        };
        let orders = [
            with(apart, apart),
            with(apart / 2.0, apart),
            with(apart, apart / 2.0),
        ];
        let distances = orders.map(|value| (value - numbers["rhat"]).abs());
        let nearest = distances.into_iter().fold(f64::INFINITY, f64::min);
        assert!(nearest < 5.5e-10, "{name}: {nearest:e}");
    }
}

type Single = fn(&[&[f64]]) -> f64;

/// The diagnostics that `diagnose` prints in addition to the summary, with their column names.
const SINGLE: &[(&str, Single)] = &[
    ("rhat", rhat::rank_normalised),
    ("rhat_split", rhat::split),
    ("rhat_bulk", rhat::bulk),
    ("ess_bulk", effective::bulk),
    ("ess_tail", effective::tail),
    ("ess_mean", effective::mean),
    ("ess_sd", effective::sd),
    ("ess_median", effective::median),
    ("ess_q10", |chains| effective::quantile(chains, 0.1)),
    ("bfmi", |chains| {
        energy::fraction_of_missing_information(chains[0])
    }),
];

fn series() -> BTreeMap<&'static str, Vec<Vec<f64>>> {
    let mut found: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for line in include_str!("data/series.csv").lines() {
        let (name, values) = line.split_once(',').unwrap();
        let values = values.split(',').map(|value| value.parse().unwrap()).collect();
        found.entry(name).or_default().push(values);
    }
    found
}

#[test]
fn hard_series_agree_with_arviz() {
    let series = series();
    let mut summariser = Summariser::default();
    let mut lines = include_str!("data/series_expected.csv").lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut compared = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let chains = slices(&series[fields[0]]);
        let s = summariser.summary(&chains);
        let of_summary = [
            ("mean", s.mean),
            ("sd", s.sd),
            ("median", s.median),
            ("mad", s.mad),
            ("q05", s.q05),
            ("q95", s.q95),
            ("mcse_mean", s.mcse_mean),
            ("mcse_sd", s.mcse_sd),
            ("ess_bulk", s.ess_bulk),
            ("ess_tail", s.ess_tail),
            ("rhat", s.rhat),
        ];
        let single = SINGLE.iter().map(|(name, function)| (*name, function(&chains)));
        for (name, found) in of_summary.into_iter().chain(single) {
            let at = names.iter().position(|column| *column == name).unwrap();
            let want: f64 = fields[at].parse().unwrap();
            assert_near(found, want, 1e-8, &format!("{} {name}", fields[0]));
            compared += 1;
        }
    }
    assert_eq!(compared, 16 * 21);
}

/// Returns chains of a stationary autoregressive process with variance 1.
fn autoregressive(seed: u64, phi: f64, chains: u32, draws: usize) -> Vec<Vec<f64>> {
    let key = philox::key(seed, "autoregressive");
    let chain = |chain| {
        let mut last = philox::normal(key, [chain, 0, 0], 0);
        let mut values = vec![last];
        for at in 1..draws {
            last = phi * last + (1.0 - phi * phi).sqrt() * philox::normal(key, [chain, 0, 0], at as u64);
            values.push(last);
        }
        values
    };
    (0..chains).map(chain).collect()
}

/// The relative variance of an estimated autocorrelation time is `2 (2 W + 1) / N` for `N` draws and a window of `W` lags (Madras and Sokal 1988).
/// The window ends where the correlations are smaller than their noise.
#[test]
fn ess_of_autoregressive_chains_has_the_known_value() {
    let (chains, draws) = (4, 20_000);
    let all = f64::from(chains) * draws as f64;
    for (seed, phi) in [(1, 0.0_f64), (2, 0.3), (3, 0.8), (4, 0.95), (5, -0.5)] {
        let known = all * (1.0 - phi) / (1.0 + phi);
        let window = if phi == 0.0 {
            2.0
        } else {
            (all / 10.0).sqrt().ln() / -phi.abs().ln() + 2.0
        };
        let bound = 4.0 * (2.0 * (2.0 * window + 1.0) / all).sqrt();
        assert!(bound < 0.3, "the bound is idle");
        let chains = autoregressive(seed, phi, chains, draws);
        let found = effective::mean(&slices(&chains));
        assert!(
            (found / known - 1.0).abs() < bound,
            "{phi}: {found} is not {known} within {bound}"
        );
    }
}

/// Divides the errors of estimates by their standard errors, and checks that the mean square of the results is 1.
#[test]
fn standard_errors_agree_with_the_actual_errors() {
    let repeats = 300;
    let mut squares = [0.0; 2];
    for repeat in 0..repeats {
        let chains = autoregressive(1000 + repeat, 0.5, 4, 250);
        let chains = slices(&chains);
        let s = Summariser::default().summary(&chains);
        let scores = [s.mean / s.mcse_mean, (s.sd - 1.0) / s.mcse_sd];
        for (sum, score) in squares.iter_mut().zip(scores) {
            *sum += score * score / repeats as f64;
        }
    }
    // The first term of the bound is four standard errors of a mean of squared normal numbers. The second term of the bound, a tenth, allows for
    // the noise of the estimated standard errors.
    let bound = 4.0 * (2.0 / repeats as f64).sqrt() + 0.1;
    for (found, what) in squares.iter().zip(["mean", "sd"]) {
        assert!((found - 1.0).abs() < bound, "{what}: {found}");
    }
}

#[test]
fn rhat_agrees_with_its_formula() {
    // Each half has 2 draws. The variance within a half is 1/2, and the variance of the means of the halves is 4/3.
    let found = rhat::split(&[&[0.0, 1.0, 0.0, 1.0], &[2.0, 3.0, 2.0, 3.0]]);
    assert_near(found, (19.0_f64 / 6.0).sqrt(), 1e-15, "split");
}

#[test]
fn rhat_detects_location_scale_and_drift() {
    let good = autoregressive(7, 0.2, 4, 500);
    assert!(summary(&good).rhat < 1.01);
    let changed = |change: &dyn Fn(usize, usize, f64) -> f64| -> Vec<Vec<f64>> {
        let chains = good.iter().enumerate();
        chains
            .map(|(chain, values)| {
                let values = values.iter().enumerate();
                values.map(|(at, value)| change(chain, at, *value)).collect()
            })
            .collect()
    };
    let moved = changed(&|chain, _, value| if chain == 2 { value + 1.0 } else { value });
    assert!(summary(&moved).rhat > 1.05);
    let drifting = changed(&|_, at, value| value + at as f64 / 250.0);
    assert!(summary(&drifting).rhat > 1.05);
    let wide = changed(&|chain, _, value| if chain == 2 { 3.0 * value } else { value });
    assert!(
        rhat::bulk(&slices(&wide)) < 1.01,
        "location alone does not see it"
    );
    assert!(summary(&wide).rhat > 1.05);
    let stuck = changed(&|chain, _, value| if chain == 2 { 0.3 } else { value });
    assert!(summary(&stuck).rhat > 1.05);
    let apart = changed(&|chain, _, _| chain as f64);
    assert!(summary(&apart).rhat > 1e6, "{}", summary(&apart).rhat);
    assert!(summary(&apart).ess_bulk < 8.0);
}

#[test]
fn ranks_are_invariant_under_monotone_functions() {
    let chains = autoregressive(8, 0.6, 3, 200);
    let curved: Vec<Vec<f64>> = chains
        .iter()
        .map(|chain| chain.iter().map(|x| x.exp()).collect())
        .collect();
    let (one, other) = (summary(&chains), summary(&curved));
    assert_eq!(one.ess_bulk, other.ess_bulk);
    assert_eq!(rhat::bulk(&slices(&chains)), rhat::bulk(&slices(&curved)));
}

#[test]
fn ess_is_at_most_draws_times_their_logarithm() {
    let alternating: Vec<f64> = (0..100).map(|at| f64::from(at % 2)).collect();
    let found = effective::mean(&[&alternating, &alternating]);
    assert_near(found, 200.0 * 200.0_f64.log10(), 1e-12, "alternating");
}

#[test]
fn undefined_diagnostics_are_nan() {
    let all = |s: QuantitySummary| [s.mcse_mean, s.mcse_sd, s.ess_bulk, s.ess_tail, s.rhat];
    let nothing = |chains: &[&[f64]]| {
        let s = Summariser::default().summary(chains);
        assert!(all(s).iter().all(|value| value.is_nan()), "{s:?}");
        for (name, function) in SINGLE.iter().filter(|(name, _)| *name != "bfmi") {
            assert!(function(chains).is_nan(), "{name}");
        }
        s
    };
    let constant = nothing(&[&[2.0; 20], &[2.0; 20]]);
    assert_eq!((constant.mean, constant.sd, constant.q05), (2.0, 0.0, 2.0));
    let broken = nothing(&[&[1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0]]);
    assert!(broken.mean.is_nan() && broken.median.is_nan());
    nothing(&[&[1.0, 2.0, f64::INFINITY, 4.0, 5.0, 6.0]]);
    nothing(&[&[1.0, 2.0, 3.0]]);
    nothing(&[]);
    nothing(&[&[], &[1.0, 2.0, 3.0, 4.0]]);
    assert!(energy::fraction_of_missing_information(&[1.0]).is_nan());
    assert!(energy::fraction_of_missing_information(&[1.0, 1.0]).is_nan());
}

#[test]
fn longer_chains_are_truncated() {
    let chains = autoregressive(9, 0.4, 3, 120);
    let mut longer = chains.clone();
    longer[1].extend([1e9, 1e9]);
    assert_eq!(summary(&longer), summary(&chains));
}

#[test]
fn reused_memory_does_not_change_summaries() {
    let mut summariser = Summariser::default();
    let long = autoregressive(10, 0.4, 4, 300);
    let short = autoregressive(11, 0.4, 2, 30);
    for chains in [&long, &short, &long] {
        assert_eq!(summariser.summary(&slices(chains)), summary(chains));
    }
}

#[test]
fn bfmi_of_independent_energies_is_two() {
    let energies = autoregressive(12, 0.0, 1, 20_000).remove(0);
    let found = energy::fraction_of_missing_information(&energies);
    // The exact value is 2 (1 - r), where r is the lag-one correlation. The standard error of r is 1 / sqrt(N).
    assert!((found - 2.0).abs() < 4.0 * 2.0 / 20_000_f64.sqrt(), "{found}");
    let slow = autoregressive(13, 0.9, 1, 20_000).remove(0);
    // The lag-one correlation r has the standard error sqrt((1 - r^2) / N).
    let error = (0.19_f64 / 20_000.0).sqrt();
    let found = energy::fraction_of_missing_information(&slow);
    assert!((found - 0.2).abs() < 4.0 * 2.0 * error, "{found}");
}

#[test]
fn normal_quantiles_agree_with_tables() {
    // The values are from tables 26.5 and 26.6 of Abramowitz and Stegun. The remaining values follow by symmetry.
    let known = [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054),
        (0.999, 3.090_232_306_167_813_5),
        (1e-10, -6.361_340_902_404_056),
    ];
    for (p, want) in known {
        assert!(
            (ranks::normal_quantile(p) - want).abs() <= 3e-15 * want.abs(),
            "{p}: {}",
            ranks::normal_quantile(p)
        );
    }
    assert_eq!(ranks::normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(ranks::normal_quantile(1.0), f64::INFINITY);
    assert!(ranks::normal_quantile(1.5).is_nan() && ranks::normal_quantile(f64::NAN).is_nan());
}

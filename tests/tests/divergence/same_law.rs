//! An average over noise can be drawn directly from the distribution of the average, or computed
//! from draws of the noise. Estimates of KL divergences have the same distribution in both cases.

use super::estimate::{LAW, SUMS, Subject, Table, states};
use super::none;
use super::pairs::{self, Expected, Pair};

const STEPS: i32 = 2000;

/// A bound on the scaled Kolmogorov-Smirnov distance of two samples. Two samples of the same
/// distribution exceed this bound with a probability below 1e-5.
const DISTANCE: f64 = 2.5;

/// The number of standard errors by which a moment of two samples may differ.
const ERRORS: f64 = 5.0;

/// Returns every pair with a finite KL divergence. The site has two elements instead of three.
fn smaller() -> Vec<Pair> {
    let with_two = |mut pair: Pair| {
        pair.prior.site = match pair.prior.site {
            "real[3]" => "real[2]",
            "positive[3]" => "positive[2]",
            other => other,
        };
        pair
    };
    let finite = |pair: &Pair| matches!(pair.expected, Expected::Finite(_));
    pairs::all().into_iter().filter(finite).map(with_two).collect()
}

/// One list for the KL divergence and one for each element of its gradient. A list contains the
/// values at all steps.
type Samples = Vec<Vec<f64>>;

/// Returns two sets of samples of the estimates. In the first, averages over noise are computed
/// from draws of the noise; in the second, the averages are drawn directly. Returns `None` if both
/// estimates are computed in the same way.
fn samples(subject: &mut Subject<'_>, draws: usize) -> Option<[Samples; 2]> {
    let ways = [SUMS, LAW].map(|way| subject.divergence(draws, way).ok());
    let [Some(sums), Some(law)] = &ways else {
        return None;
    };
    if sums.reports[0].kl == law.reports[0].kl {
        return None;
    }
    let states = states(sums);
    Some([sums, law].map(|divergence| {
        let mut machine = subject.machine(divergence, draws, "cranelift");
        let mut samples: Samples = Vec::new();
        for step in 0..STEPS {
            let results = machine.at(&states, step);
            let mut names: Vec<&String> = results.keys().collect();
            names.sort();
            let numbers = names.into_iter().flat_map(|name| results[name].iter().copied());
            for (at, number) in numbers.enumerate() {
                if samples.len() == at {
                    samples.push(Vec::new());
                }
                samples[at].push(number);
            }
        }
        samples
    }))
}

/// Returns the mean and the variance of a sample, each with its standard error.
fn moments(sample: &[f64]) -> [(f64, f64); 2] {
    let n = sample.len() as f64;
    let central = |power: i32, mean: f64| sample.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
    let mean = sample.iter().sum::<f64>() / n;
    let (second, fourth) = (central(2, mean), central(4, mean));
    [
        (mean, (second / n).sqrt()),
        (second, ((fourth - second * second).max(0.0) / n).sqrt()),
    ]
}

/// Returns the largest distance between two empirical distribution functions, times the square root
/// of the effective sample size.
fn distance(first: &[f64], second: &[f64]) -> f64 {
    let sorted = |sample: &[f64]| {
        let mut sample = sample.to_vec();
        sample.sort_by(f64::total_cmp);
        sample
    };
    let (first, second) = (sorted(first), sorted(second));
    let below = |sample: &[f64], x: f64| sample.partition_point(|y| *y <= x) as f64 / sample.len() as f64;
    let gap = |x: &f64| (below(&first, *x) - below(&second, *x)).abs();
    let largest = first.iter().chain(&second).map(gap).fold(0.0, f64::max);
    let (n, m) = (first.len() as f64, second.len() as f64);
    largest * (n * m / (n + m)).sqrt()
}

/// Returns the statistics that differ too much between two samples.
fn differences(first: &[f64], second: &[f64]) -> Vec<String> {
    let mut faults = Vec::new();
    let both = moments(first).into_iter().zip(moments(second));
    for (name, ((x, x_error), (y, y_error))) in ["mean", "variance"].iter().zip(both) {
        let error = (x_error * x_error + y_error * y_error).sqrt();
        // If the values do not vary, they must be equal up to rounding errors.
        let is_near = (x - y).abs() <= ERRORS * error + 1e-12 * x.abs().max(1.0);
        if !is_near {
            faults.push(format!("{name} {x} and {y}, standard error {error}"));
        }
    }
    let spread = moments(first)[1].0.sqrt();
    let distance = distance(first, second);
    let varies = spread > 1e-9 * moments(first)[0].0.abs().max(1.0);
    if varies && distance > DISTANCE {
        faults.push(format!("Kolmogorov-Smirnov {distance}"));
    }
    faults
}

#[test]
fn drawn_statistics_have_the_distribution_of_sums() {
    let table = Table::of("", smaller());
    let mut faults = Vec::new();
    let mut count = 0;
    for (pair, subject) in table.subjects() {
        let Ok(mut subject) = subject else {
            faults.push(format!("{}: does not compile", pair.label()));
            continue;
        };
        for draws in [7, 100] {
            let Some([sums, law]) = samples(&mut subject, draws) else {
                continue;
            };
            count += 1;
            for (at, (sums, law)) in sums.iter().zip(&law).enumerate() {
                let found = differences(sums, law);
                faults.extend(
                    found
                        .iter()
                        .map(|fault| format!("{}, {draws} draws, {at}: {fault}", pair.label())),
                );
            }
        }
    }
    assert!(
        count >= 8,
        "only {count} estimates have statistics of a known law"
    );
    none(&faults, count);
}

/// The comparison in this file detects small shifts and stretches of a distribution. A
/// comparison that accepts any two samples would show nothing.
#[test]
fn different_distributions_are_distinguished() {
    use bnnc_math::philox::{key, normal};
    let sample = |name: &str, scale: f64, shift: f64| -> Vec<f64> {
        let key = key(1, name);
        (0..STEPS as u64)
            .map(|at| shift + scale * normal(key, [0, 0, 0], at))
            .collect()
    };
    let base = sample("first", 1.0, 0.0);
    assert_eq!(
        differences(&base, &sample("second", 1.0, 0.0)),
        Vec::<String>::new()
    );
    assert!(!differences(&base, &sample("second", 1.25, 0.0)).is_empty());
    assert!(!differences(&base, &sample("second", 1.0, 0.2)).is_empty());
}

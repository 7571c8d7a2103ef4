//! Tests of values outside the support, both tails of every cumulative function, quantiles, and
//! truncation.

use super::probe::{Probe, module, named, vector};
use super::quadrature::Rule;
use super::scalars::{all, ends, near};
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::differentiate::gradient;

const INFINITY: f64 = f64::INFINITY;

/// The parts that are functions of a value. Each has one value below the support, and one value
/// above the support.
const OUTSIDE: [(&str, [f64; 2]); 5] = [
    ("log_density", [-INFINITY, -INFINITY]),
    ("cdf", [0.0, 1.0]),
    ("survival", [1.0, 0.0]),
    ("log_cdf", [-INFINITY, 0.0]),
    ("log_survival", [0.0, -INFINITY]),
];

/// The test covers every distribution of the library, at points below and above its support.
#[test]
fn parts_outside_the_support_are_those_of_a_zero_density() {
    all(|probe| {
        let (low, high) = match ends(probe) {
            Support::Interval(low, high) => (low, high),
            Support::Integers(0) => (0.0, INFINITY),
            _ => return Ok(()),
        };
        let (below, above) = ([low - 1e-9, low - 1.0, -1e30], [high + 1e-9, high + 1.0, 1e30]);
        for (part, expected) in OUTSIDE {
            for (points, end, expected) in [(below, low, expected[0]), (above, high, expected[1])] {
                let Some(found) = probe.part(part, &points).filter(|_| end.is_finite()) else {
                    continue;
                };
                if found.iter().any(|found| *found != expected) {
                    return Err(format!("{part} at {points:?} is {found:?}, not {expected}"));
                }
            }
        }
        Ok(())
    });
}

/// Outside the support, the gradient is zero instead of NaN.
#[test]
fn slopes_outside_the_support_are_numbers() {
    all(|probe| {
        if !matches!(ends(probe), Support::Interval(..)) {
            return Ok(());
        }
        for (part, _) in OUTSIDE {
            let Some(function) = probe.part_function(part, 2) else {
                continue;
            };
            let mut b = bnnc_graph::builder::Builder::new("sum");
            let args: Vec<_> = function
                .params
                .iter()
                .map(|param| {
                    let name = function.param_name(*param).map_or("", |name| name);
                    b.param(name, function.ty(*param).clone())
                })
                .collect();
            let result = b.inline(&function, &args)[0];
            let sum = b.reduce_sum_all(result);
            let sum = b.finish(vec![("sum".into(), sum)]);
            let slope = gradient(&sum, "sum", &["x"]).map_err(|fault| fault.to_string())?;
            let mut inputs = probe.parameters().to_vec();
            inputs.push(vector(&[-1.0, -7.5]));
            let found = evaluate(&slope, &inputs, &Default::default());
            if found.last().is_none_or(|slope| slope.data != [0.0, 0.0]) {
                return Err(format!("{part}: {found:?}"));
            }
        }
        Ok(())
    });
}

/// Both tails agree with quadrature of the density. The log tails are the logarithms of the tails.
#[test]
fn both_tails_are_integrals_of_the_density() {
    all(|probe| {
        let (low, high) = match ends(probe) {
            Support::Real => (-INFINITY, INFINITY),
            Support::Interval(low, high) => (low, high),
            _ => return Ok(()),
        };
        let from = if low.is_finite() { low } else { -2.0 };
        let points: Vec<f64> = [0.07, 0.31, 0.83, 1.7, 3.9].iter().map(|x| from + x).collect();
        for x in points.into_iter().filter(|x| *x < high) {
            let Some(survival) = probe.part("survival", &[x]) else {
                return Ok(());
            };
            let breaks: Vec<f64> = probe.breaks().into_iter().filter(|at| *at > x).collect();
            let rule = Rule::new((x, high), &breaks);
            let log_densities = probe.log_densities(&rule.points).unwrap_or_default();
            let expected = rule.sum(|at, _| log_densities[at].exp());
            near(&format!("survival at {x}"), survival[0], expected, 1e-7)?;
            let part = |name: &str| probe.part(name, &[x]).unwrap_or_default()[0];
            near("sum", part("cdf") + survival[0], 1.0, 1e-13)?;
            for (log, number) in [("log_cdf", part("cdf")), ("log_survival", survival[0])] {
                if number > 0.0 {
                    near(&format!("{log} at {x}"), part(log), number.ln(), 1e-10)?;
                }
            }
        }
        Ok(())
    });
}

/// A distribution with a cumulative function must also have a survival function. Without a survival
/// function, truncation far out would suffer from cancellation.
#[test]
fn every_cumulative_function_has_a_survival_of_its_own() {
    use bnnc_hir::parts::DistributionPart;
    all(|probe| {
        let item = probe.item();
        let has_own = [DistributionPart::Survival, DistributionPart::LogSurvival]
            .into_iter()
            .any(|part| item.declares(part));
        match probe.has("cdf") && !has_own {
            true => Err("`cdf` without `survival`".to_owned()),
            false => Ok(()),
        }
    });
}

/// Every distribution on the reals has a cumulative function. The horseshoe is an exception,
/// because its integral does not have a closed form.
#[test]
fn distributions_of_reals_have_cumulative_functions() {
    all(|probe| {
        let is_real = matches!(ends(probe), Support::Real | Support::Interval(..));
        match is_real && !probe.has("cdf") && &*probe.item().name != "Horseshoe" {
            true => Err("no `cdf`".to_owned()),
            false => Ok(()),
        }
    });
}

#[test]
fn quantiles_are_inverses() {
    all(|probe| {
        let p = [1e-6, 0.02, 0.4, 0.5, 0.77, 0.999];
        let Some(quantiles) = probe.part("quantile", &p) else {
            return Ok(());
        };
        let found = probe.cdf(&quantiles).ok_or("`quantile` without `cdf`")?;
        let mut pairs = p.iter().zip(found);
        pairs.try_for_each(|(p, found)| near("p", found / p, 1.0, 1e-8))
    });
}

/// The expected values were computed with SciPy 1.17. The value of the half-normal near zero was
/// computed with mpmath.
#[test]
fn quantiles_of_the_normal_families_are_the_known_ones() {
    let module = module("");
    let cases: [(&str, &[f64], f64, f64); 14] = [
        ("Normal", &[0.0, 1.0], 0.0, -f64::INFINITY),
        ("Normal", &[0.0, 1.0], 1e-300, -37.0470962993612),
        ("Normal", &[0.0, 1.0], 1e-12, -7.034483825301131),
        ("Normal", &[0.0, 1.0], 1e-3, -3.090232306167813),
        ("Normal", &[0.0, 1.0], 0.07, -1.4757910281791706),
        ("Normal", &[0.0, 1.0], 0.3, -0.5244005127080409),
        ("Normal", &[0.0, 1.0], 0.975, 1.959963984540054),
        ("Normal", &[1.5, 2.0], 0.9, 4.063103131089201),
        ("HalfNormal", &[2.0], 1e-12, 2.506628274631e-12),
        ("HalfNormal", &[2.0], 0.5, 1.3489795003921634),
        ("HalfNormal", &[2.0], 0.999, 6.581053462983851),
        ("HalfNormal", &[2.0], 1.0, f64::INFINITY),
        ("LogNormal", &[0.5, 1.2], 0.01, 0.101102800923986),
        ("LogNormal", &[0.5, 1.2], 0.999, 67.24070325748865),
    ];
    for (name, values, p, expected) in cases {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let found = probe.part("quantile", &[p]).unwrap_or_default()[0];
        let label = format!("{} at {p}", probe.label());
        if expected.is_infinite() {
            assert_eq!(found, expected, "{label}");
        } else {
            assert_eq!(near(&label, found / expected, 1.0, 1e-12), Ok(()));
        }
    }
}

/// The derivatives of the logarithms of both tails agree with central differences of fourth order.
/// The derivatives are taken with respect to the value and every parameter, including shapes.
#[test]
fn slopes_of_both_tails_match_differences() {
    all(|probe| {
        let at = if matches!(ends(probe), Support::Real) {
            -0.6
        } else {
            0.37
        };
        for part in ["log_cdf", "log_survival"] {
            let Some(function) = probe.part_function(part, 1) else {
                continue;
            };
            let mut inputs = probe.parameters().to_vec();
            inputs.push(vector(&[at]));
            let names: Vec<String> = function
                .params
                .iter()
                .filter_map(|param| function.param_name(*param).map(|name| name.to_string()))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if names.len() != inputs.len() {
                // The function does not depend on this parameter.
                continue;
            }
            let mut b = bnnc_graph::builder::Builder::new("sum");
            let mut args = Vec::new();
            for (param, name) in function.params.iter().zip(&names) {
                args.push(b.param(name, function.ty(*param).clone()));
            }
            let result = b.inline(&function, &args)[0];
            let sum = b.reduce_sum_all(result);
            let sum = b.finish(vec![("sum".into(), sum)]);
            let slopes = gradient(&sum, "sum", &names).map_err(|fault| fault.to_string())?;
            let slopes = evaluate(&slopes, &inputs, &Default::default());
            let slopes = &slopes[slopes.len() - names.len()..];
            for (at, slope) in slopes.iter().enumerate() {
                let value = |by: f64| {
                    let mut moved = inputs.clone();
                    moved[at].data[0] += by;
                    evaluate(&sum, &moved, &Default::default())[0].data[0]
                };
                if !value(0.0).is_finite() {
                    // A Pareto or a uniform variable has zero probability below its smallest value.
                    continue;
                }
                let h = 1e-3;
                let expected =
                    (8.0 * (value(h) - value(-h)) - (value(2.0 * h) - value(-2.0 * h))) / (12.0 * h);
                near(&format!("{part} by {}", names[at]), slope.data[0], expected, 1e-6)?;
            }
        }
        Ok(())
    });
}

/// The logarithms of both tails. The logarithms were computed with 60 digits (mpmath 1.3:
/// `gammainc`, `betainc`, `erfc`) and then rounded.
const TAILS: &[(&str, &[f64], f64, f64, f64)] = &[
    (
        "Gamma",
        &[0.001, 1.0],
        1e-8,
        -0.017_844_287_155_659_007,
        -4.034_980_745_456_604,
    ),
    (
        "Gamma",
        &[0.001, 1.0],
        3.0,
        -1.307_322_525_545_064_5e-5,
        -11.244_950_829_552_513,
    ),
    (
        "Gamma",
        &[0.05, 1.0],
        0.7,
        -0.019_569_465_632_023_64,
        -3.943_553_579_447_52,
    ),
    (
        "Gamma",
        &[0.5, 1.0],
        0.02,
        -1.841_878_176_587_603_6,
        -0.172_592_342_121_649_98,
    ),
    (
        "Gamma",
        &[0.5, 1.0],
        30.0,
        -9.485_737_571_073_894e-15,
        -32.288_987_032_704_74,
    ),
    ("Gamma", &[1.0, 1.0], 1.0, -0.458_675_145_387_081_9, -1.0),
    (
        "Gamma",
        &[2.5, 1.0],
        3.4,
        -0.269_114_897_809_801_2,
        -1.444_158_511_344_627_1,
    ),
    ("Gamma", &[2.5, 1.0], 1000.0, 0.0, -989.921_550_327_373_4),
    (
        "Gamma",
        &[7.0, 1.0],
        0.01,
        -40.770_102_055_039_224,
        -1.966_842_802_553_35e-18,
    ),
    (
        "Gamma",
        &[40.0, 1.0],
        30.0,
        -3.073_628_138_351_445_7,
        -0.047_356_881_338_311_1,
    ),
    (
        "Gamma",
        &[40.0, 1.0],
        80.0,
        -2.808_722_020_488_028_6e-7,
        -15.085_366_208_479_625,
    ),
    (
        "Gamma",
        &[1000.0, 1.0],
        950.0,
        -2.899_428_292_629_299,
        -0.056_628_222_190_107_07,
    ),
    (
        "Gamma",
        &[1000.0, 1.0],
        1200.0,
        -1.288_160_609_457_822_2e-9,
        -20.470_050_520_898_305,
    ),
    (
        "Beta",
        &[0.01, 0.02],
        0.3,
        -0.413_731_540_229_496_2,
        -1.082_281_644_238_150_7,
    ),
    (
        "Beta",
        &[0.5, 0.5],
        1e-6,
        -7.359_337_817_604_864,
        -0.000_636_822_606_950_976_3,
    ),
    (
        "Beta",
        &[0.5, 0.5],
        0.75,
        -0.405_465_108_108_164_4,
        -1.098_612_288_668_109_8,
    ),
    (
        "Beta",
        &[2.0, 3.0],
        0.4,
        -0.644_738_041_352_257_7,
        -0.744_019_510_933_702,
    ),
    (
        "Beta",
        &[30.0, 0.5],
        0.5,
        -22.740_517_160_931_482,
        -1.330_205_935_641_395_3e-10,
    ),
    (
        "Beta",
        &[30.0, 0.5],
        0.999,
        -0.214_137_594_262_015_73,
        -1.646_295_412_206_686,
    ),
    (
        "Beta",
        &[8.0, 300.0],
        0.1,
        -1.117_698_205_961_910_2e-7,
        -16.006_824_309_551_032,
    ),
    (
        "Beta",
        &[120.0, 150.0],
        0.3,
        -15.015_962_661_929_684,
        -3.010_581_169_097_368e-7,
    ),
    (
        "Beta",
        &[120.0, 150.0],
        0.46,
        -0.360_172_980_777_833,
        -1.195_857_991_708_886,
    ),
    (
        "StudentT",
        &[0.7, 0.0, 1.0],
        -3.0,
        -1.954_144_269_012_119_1,
        -0.152_784_894_196_146_16,
    ),
    (
        "StudentT",
        &[1.0, 0.0, 1.0],
        1e-3,
        -0.692_510_763_556_053_5,
        -0.693_784_002_848_383_7,
    ),
    (
        "StudentT",
        &[3.0, 0.0, 1.0],
        -1e6,
        -41.348_808_234_851_82,
        -1.102_657_790_839_614_4e-18,
    ),
    (
        "StudentT",
        &[4.5, 0.0, 1.0],
        1.2,
        -0.156_348_040_915_630_04,
        -1.932_826_423_556_237_8,
    ),
    (
        "StudentT",
        &[30.0, 0.0, 1.0],
        -12.0,
        -28.907_531_385_111_042,
        -2.790_092_707_600_017e-13,
    ),
    (
        "StudentT",
        &[300.0, 0.0, 1.0],
        3.0,
        -0.001_464_181_322_538_57,
        -6.527_191_018_254_451,
    ),
    ("Normal", &[0.0, 1.0], -40.0, -804.608_442_013_753_8, 0.0),
    (
        "Normal",
        &[0.0, 1.0],
        -8.0,
        -35.013_437_159_914_55,
        -6.220_960_574_271_786e-16,
    ),
    (
        "Normal",
        &[0.0, 1.0],
        -1.0,
        -1.841_021_645_009_263_6,
        -0.172_753_779_023_449_88,
    ),
    (
        "Normal",
        &[0.0, 1.0],
        0.5,
        -0.368_946_415_288_656_4,
        -1.175_911_761_593_618_5,
    ),
    (
        "Normal",
        &[0.0, 1.0],
        9.0,
        -1.128_588_405_953_840_5e-19,
        -43.628_149_113_332_114,
    ),
    (
        "InverseGaussian",
        &[1.0, 2.0],
        0.01,
        -100.889_791_431_934_91,
        -1.527_989_256_759_569_8e-44,
    ),
    (
        "InverseGaussian",
        &[1.0, 2.0],
        0.3,
        -2.866_589_522_402_322,
        -0.058_575_139_751_776_28,
    ),
    (
        "InverseGaussian",
        &[1.0, 3.0],
        2.5,
        -0.025_060_138_192_211_725,
        -3.698_980_717_203_428_4,
    ),
    (
        "InverseGaussian",
        &[1.0, 3.0],
        40.0,
        -3.012_436_973_771_106_3e-28,
        -63.369_633_226_805_12,
    ),
    (
        "InverseGaussian",
        &[1.0, 1.0],
        900.0,
        0.0,
        -459.433_258_292_185_54,
    ),
    (
        "Error",
        &[0.0, 1.0, 1.6],
        3.0,
        -0.049_688_033_275_292_136,
        -3.026_732_301_934_281_6,
    ),
    (
        "Error",
        &[0.0, 1.0, 0.4],
        0.5,
        -0.305_954_924_294_733_03,
        -1.333_397_643_634_141,
    ),
    (
        "Error",
        &[0.0, 1.0, 3.0],
        200.0,
        -8.990_265_504_137_019e-8,
        -16.224_538_407_581_843,
    ),
];

#[test]
fn both_tails_have_the_known_logarithms() {
    let module = module("");
    for (name, values, x, log_cdf, log_survival) in TAILS {
        let values: Vec<Tensor> = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        for (part, expected) in [("log_cdf", log_cdf), ("log_survival", log_survival)] {
            let found = probe.part(part, &[*x]).unwrap_or_default()[0];
            // The complement of a probability near one has the rounding error of this probability.
            let bound = 5e-12 * expected.abs() + 1e-15;
            assert!(
                (found - expected).abs() <= bound.max(3e-16 / expected.exp().max(1e-3)),
                "{part} of {} at {x}: {found:e}, not {expected:e}",
                probe.label()
            );
        }
    }
}

/// Far below the median, the arctangent rounds to a quarter turn. A formula that adds the
/// arctangent to a quarter turn would lose all digits. The expected probabilities are
/// `atan(1 / z) / pi`, computed with 60 digits.
#[test]
fn far_cauchy_tails_keep_their_digits() {
    let module = module("");
    let values = vec![Tensor::scalar(0.0), Tensor::scalar(1.0)];
    let probe = Probe::at(&module, named(&module, "Cauchy"), values);
    for (z, expected) in [
        (-1e20, 3.183_098_861_837_906_7e-21),
        (-300.0, 0.001_061_029_024_220_485_9),
        (-2.0, 0.147_583_617_650_433_26),
    ] {
        let found = probe.cdf(&[z]).unwrap_or_default()[0];
        assert!((found / expected - 1.0).abs() < 4e-15, "{found:e} at {z}");
        let found = probe.part("survival", &[-z]).unwrap_or_default()[0];
        assert!((found / expected - 1.0).abs() < 4e-15, "{found:e} above {}", -z);
    }
}

/// The formulas of the expected values contain differences between log gamma functions of large
/// arguments. The expected values were therefore computed with 60 digits.
#[test]
fn large_parameters_keep_their_digits() {
    let module = module("");
    let at = |name: &str, values: &[f64]| {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        Probe::at(&module, named(&module, name), values)
    };
    let counts = at("NegativeBinomial", &[2.0, 1e10]).log_densities(&[7.0]);
    assert_eq!(
        near(
            "counts",
            counts.unwrap_or_default()[0],
            -1.914_217_460_338_496,
            1e-13
        ),
        Ok(())
    );
    let moment = at("Gamma", &[1e8, 1.0]).moment(1.5).unwrap_or_default();
    assert_eq!(near("moment", moment, 1_000_000_003_749.999_9, 1e-13), Ok(()));
    let student = at("StudentT", &[1e10, 0.0, 1.0]).log_densities(&[0.0]);
    assert_eq!(
        near(
            "student",
            student.unwrap_or_default()[0],
            -0.918_938_533_229_672_7,
            1e-13
        ),
        Ok(())
    );
    let beta = at("Beta", &[1e9, 2.0]).log_densities(&[1.0 - 1e-9]);
    let expected = (1e9 - 1.0) * (-1e-9f64).ln_1p() + 1e-9f64.ln() + 41.446_531_674_892_825;
    assert_eq!(near("beta", beta.unwrap_or_default()[0], expected, 1e-7), Ok(()));
}

/// A density that is truncated to an interval far out still integrates to one. Far out, the
/// difference of two cumulative functions may be zero or consist of rounding errors.
#[test]
fn densities_truncated_far_out_integrate_to_one() {
    let module = module("");
    let cases: &[(&str, &[f64], (f64, f64))] = &[
        ("Normal", &[0.0, 1.0], (8.0, 9.0)),
        ("Normal", &[0.0, 1.0], (-41.0, -40.0)),
        ("Normal", &[-45.0, 1.0], (0.0, INFINITY)),
        ("Exponential", &[0.2], (10.0, 12.0)),
        ("Gamma", &[2.0, 0.1], (6.0, 7.0)),
        ("Gamma", &[9.0, 1.0], (0.0, 1e-3)),
        ("Beta", &[2.0, 60.0], (0.7, 0.8)),
        ("StudentT", &[6.0, 0.0, 1.0], (1e4, 1.1e4)),
        ("Weibull", &[2.0, 1.0], (7.0, 7.5)),
        ("Laplace", &[0.0, 0.1], (5.0, 6.0)),
        ("Logistic", &[0.0, 0.1], (5.0, 6.0)),
        ("LogGamma", &[2.0, 1.0], (4.0, 4.5)),
        ("HalfNormal", &[1.0], (20.0, 21.0)),
        ("InverseGamma", &[2.0, 1.0], (0.0, 0.01)),
        ("Error", &[0.0, 1.0, 1.0], (12.0, 13.0)),
        ("Cauchy", &[0.0, 1.0], (-1e9, -1e8)),
    ];
    for (name, values, (low, high)) in cases {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let rule = Rule::new((*low, *high), &[]);
        let instance = probe.declared(&[rule.points.len()], Support::Interval(*low, *high));
        let Some(density) = &instance.log_density_elements else {
            panic!("no density of {}", probe.label());
        };
        let log_densities = probe.call(density, &[vector(&rule.points)]).data;
        let mass = rule.sum(|at, _| log_densities[at].exp());
        assert_eq!(
            near(&format!("{} on {low}..{high}", probe.label()), mass, 1.0, 1e-8),
            Ok(())
        );
    }
}

/// The location is far outside the interval. The derivative of the normalisation with respect to
/// the location is `d/dm -log Phi(m)` at -30. This derivative is the negative inverse Mills ratio,
/// `-(30 + 1 / 30 - ..)`.
#[test]
fn truncated_densities_have_slopes_far_out() {
    let module = module("");
    let probe = Probe::at(
        &module,
        named(&module, "Normal"),
        vec![Tensor::scalar(-30.0), Tensor::scalar(1.0)],
    );
    let instance = probe.declared(&[], Support::Interval(0.0, INFINITY));
    let slope = gradient(&instance.log_density, "log_density", &["loc"]).unwrap();
    let mut inputs = probe.parameters().to_vec();
    inputs.push(Tensor::scalar(0.5));
    let found = evaluate(&slope, &inputs, &Default::default()).pop().unwrap().data[0];
    // The expected derivative is (x - loc) - phi(30) / Phi(-30), computed with mpmath.
    assert_eq!(near("slope", found, 30.5 - 30.033_259_667_433_68, 1e-10), Ok(()));
}

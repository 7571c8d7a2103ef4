//! Tests of values that were computed with many digits: tails, densities and moments.

use super::probe::{Probe, module, named};
use super::scalars::near;
use bnnc_graph::tensor::Tensor;

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

/// The integral of `|x|` times the density diverges if there is at most one degree of freedom.
#[test]
fn student_distributions_with_one_degree_of_freedom_have_no_mean() {
    let module = module("");
    for (df, exists) in [(0.5, false), (1.0, false), (1.5, true), (7.0, true)] {
        let values = [df, 3.0, 2.0].map(Tensor::scalar).to_vec();
        let probe = Probe::at(&module, named(&module, "StudentT"), values);
        let mean = probe.scalar(|instance| &instance.mean).unwrap_or_default();
        assert!(
            if exists { mean == 3.0 } else { mean.is_nan() },
            "{df} degrees: {mean}"
        );
    }
}

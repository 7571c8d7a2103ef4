//! Tests with networks whose units share weights, and with deeper networks.

use super::{affine, check_law, close, term, triangle};
use crate::{Cells, Law, LocalAffine, NoCells, ObservationNoise, PiecewiseAffine};

type Layer = (Vec<Vec<f64>>, Vec<f64>);

/// Returns a dense ReLU network as a piecewise affine function of its inputs.
fn network(layers: &[Layer], outgoing: &[f64], offset: f64) -> impl FnMut(&[f64], &mut LocalAffine) {
    move |point, local| {
        let count = point.len();
        local.kinks.clear();
        let unit = |index: usize| {
            (0..count)
                .map(|k| f64::from(u8::from(k == index)))
                .collect::<Vec<f64>>()
        };
        let mut values: Vec<(f64, Vec<f64>)> = (0..count).map(|index| (point[index], unit(index))).collect();
        let affine = |row: &[f64], bias: f64, values: &[(f64, Vec<f64>)]| {
            let value = row.iter().zip(values).fold(bias, |sum, (w, (x, _))| sum + w * x);
            let slope = |k: usize| row.iter().zip(values).map(|(w, (_, slope))| w * slope[k]).sum();
            (value, (0..count).map(slope).collect::<Vec<f64>>())
        };
        for (rows, biases) in layers {
            let inputs: Vec<_> = rows
                .iter()
                .zip(biases)
                .map(|(row, &bias)| affine(row, bias, &values))
                .collect();
            local.kinks.extend(inputs.iter().cloned());
            let relu = |(value, slope)| {
                if value > 0.0 {
                    (value, slope)
                } else {
                    (0.0, vec![0.0; count])
                }
            };
            values = inputs.into_iter().map(relu).collect();
        }
        (local.value, local.slope) = affine(outgoing, offset, &values);
    }
}

/// Computes the cells of a function that is evaluated in `f64`.
fn cells_of(
    function: &mut dyn PiecewiseAffine,
    lower: &[f64],
    upper: &[f64],
    most: usize,
) -> Result<Cells, NoCells> {
    Cells::with_tolerance(function, (lower, upper), most, 1e-13)
}

fn law_of(cells: &Cells, noise: ObservationNoise) -> Law {
    Law::of_measure(cells.measure().clone(), noise)
}

#[test]
fn two_units_that_share_weights_match_exact_rationals() {
    let layers = [(vec![vec![1.0, 0.5], vec![-0.7, 1.3]], vec![0.1, -0.2])];
    let cells = cells_of(
        &mut network(&layers, &[1.4, -0.9], 0.3),
        &[-1.0; 2],
        &[1.0; 2],
        1000,
    )
    .unwrap();
    let law = law_of(&cells, triangle(0.8));
    close(law.density(0.6), 119_211_122_311.0 / 237_015_979_200.0, 1e-14);
    close(cells.measure().mass(), 1.0, 1e-14);
    check_law(&law, 8.0, 1e-5);
    check_law(&law_of(&cells, ObservationNoise::Normal { sd: 0.3 }), 9.0, 1e-10);
}

#[test]
fn two_layers() {
    let layers = [
        (vec![vec![1.0, -0.5, 0.3], vec![-0.6, 0.9, 0.8]], vec![0.2, -0.1]),
        (vec![vec![1.2, -1.0], vec![-0.7, 1.1]], vec![0.1, 0.05]),
    ];
    let cells = cells_of(
        &mut network(&layers, &[1.0, 0.8], -0.2),
        &[-1.0; 3],
        &[1.0; 3],
        1000,
    )
    .unwrap();
    close(
        cells.measure().moments().0,
        128_074_754_680_631.0 / 253_293_713_971_200.0,
        1e-14,
    );
    check_law(&law_of(&cells, ObservationNoise::Normal { sd: 0.2 }), 9.0, 1e-10);
}

/// If all kinks lie outside the box, the distribution equals the distribution of an affine network. This also holds if a side of the
/// box has length 0.
#[test]
fn functions_without_kinks_are_affine() {
    let layers = [(vec![vec![1.0, 0.5, -0.3]], vec![5.0])];
    let (lower, upper) = ([-1.0, 0.25, 0.0], [1.0, 0.25, 0.4]);
    let cells = cells_of(&mut network(&layers, &[0.7], 0.1), &lower, &upper, 10).unwrap();
    assert_eq!(cells.count, 1);
    let network = affine(
        3.6,
        &[
            term(0.7, -1.0, 1.0),
            term(0.35, 0.25, 0.25),
            term(-0.21, 0.0, 0.4),
        ],
    );
    let noise = ObservationNoise::Normal { sd: 0.1 };
    for y in [2.9, 3.6, 4.4] {
        close(
            law_of(&cells, noise).density(y),
            Law::new(&network, noise).density(y),
            1e-12,
        );
    }
}

/// With many cells, the distribution is represented by a series. The series agrees with the pieces of the cells, and the mean agrees with random
/// draws.
#[test]
fn series_of_many_cells_agree_with_their_pieces() {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut layer = |inputs: usize, outputs: usize| -> Layer {
        let rows = (0..outputs)
            .map(|_| (0..inputs).map(|_| random()).collect())
            .collect();
        (rows, (0..outputs).map(|_| 0.5 * random()).collect())
    };
    let layers = [layer(3, 6), layer(6, 5)];
    let outgoing = [1.0, -0.7, 0.4, 0.9, -1.2];
    let mut function = network(&layers, &outgoing, 0.0);
    let cells = cells_of(&mut function, &[-1.0; 3], &[1.0; 3], 20_000).unwrap();
    close(cells.measure().mass(), 1.0, 1e-12);
    let law = law_of(&cells, ObservationNoise::Normal { sd: 0.2 });
    check_law(&law, 9.0, 1e-9);
    let mut local = LocalAffine::default();
    let draws = 20_000;
    let mean: f64 = (0..draws)
        .map(|_| {
            function(&[random(), random(), random()], &mut local);
            local.value / f64::from(draws)
        })
        .sum();
    let error = (cells.measure().moments().1 / f64::from(draws)).sqrt();
    assert!(
        (mean - law.mean()).abs() < 4.5 * error,
        "{mean} is not {} +- {error}",
        law.mean()
    );
    let few = cells_of(&mut function, &[-1.0; 3], &[1.0; 3], 20).unwrap_err();
    assert_eq!(
        few.to_string(),
        "the function of 3 weights has more than 20 affine pieces (simplices)"
    );
}

/// If a kink depends on nine weights, the function is rejected before any work is done.
#[test]
fn too_many_weights_are_rejected() {
    let layers = [(vec![vec![1.0; 9]], vec![0.1])];
    let found = cells_of(
        &mut network(&layers, &[1.0], 0.0),
        &[-1.0; 9],
        &[1.0; 9],
        usize::MAX,
    );
    assert!(
        matches!(found, Err(NoCells::TooMany { dimension: 9, .. })),
        "{found:?}"
    );
}

/// Several kinks differ only by `f32` rounding errors. If the tolerance is larger than these differences, the kinks are treated as one, and no
/// mass is lost.
#[test]
fn kinks_within_the_tolerance_are_one() {
    let mut count = 0u32;
    let mut function = move |point: &[f64], local: &mut LocalAffine| {
        count += 1;
        let value = point[0] - point[1];
        let noise = 3e-7 * f64::from(count % 7) - 1e-6;
        local.kinks = vec![(value + noise, vec![1.0, -1.0]), (value - noise, vec![1.0, -1.0])];
        let sign = f64::from(u8::from(value > 0.0));
        (local.value, local.slope) = (value * sign, vec![sign, -sign]);
    };
    let cells = Cells::with_tolerance(&mut function, (&[-1.0; 2], &[1.0; 2]), 100, 1e-5).unwrap();
    assert_eq!(cells.count, 2);
    close(cells.measure().mass(), 1.0, 1e-14);
    // If u and v are uniform on [-1, 1], E relu(u - v) is a sixth of the side length 2.
    close(cells.measure().moments().0, 1.0 / 3.0, 1e-5);
    let lost = NoCells::Lost { mass: 0.9 }.to_string();
    assert_eq!(
        lost,
        "the affine pieces fill 0.9 of the box of weights: some kinks meet so closely that rounding errors decide where pieces end"
    );
}

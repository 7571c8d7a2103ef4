//! Tests the grid search.

use crate::models::close;
use bnnc_laplace::marginal::search;

/// The score is a parabola in the logarithm of the factor. The grid finds the neighbourhood of the maximum, and golden section finds the maximum.
#[test]
fn grid_search_finds_the_maximum_of_a_parabola() {
    let mut asked = 0;
    let grid = search(|factor: f64| {
        asked += 1;
        Ok::<_, ()>(-(factor.ln() - 2.345).powi(2))
    })
    .unwrap();
    assert_eq!((asked, grid.curve.len(), grid.at_end), (33, 33, false));
    // The tolerance is the width of two grid intervals after eleven reductions.
    close(
        grid.factor.ln(),
        2.345,
        2.0 * 0.4 * 10f64.ln() * 0.618_034f64.powi(11),
    );
    assert!(grid.curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    close(grid.curve[0][0], 1e-4, 1e-16);
    close(grid.curve[32][0], 1e4, 1e-8);
    assert!(grid.curve.iter().any(|place| place[0] == 1.0));
    assert!(grid.curve.iter().all(|place| place[1] <= grid.score));
}

#[test]
fn grid_search_reports_a_best_factor_at_its_end() {
    let rising = search(|factor: f64| Ok::<_, ()>(factor.ln())).unwrap();
    assert!(rising.at_end);
    close(rising.factor.ln(), 1e4f64.ln(), 1e-12);
    let falling = search(|factor: f64| Ok::<_, ()>(-factor)).unwrap();
    assert!(falling.at_end);
    close(falling.factor, 1e-4, 1e-16);
}

#[test]
fn grid_search_handles_flat_nan_and_failing_scores() {
    let flat = search(|_| Ok::<_, ()>(-1.0)).unwrap();
    assert_eq!((flat.factor, flat.score, flat.at_end), (1.0, -1.0, false));
    let broken = search(|factor: f64| Ok::<_, ()>(if factor < 50.0 { f64::NAN } else { -factor })).unwrap();
    assert!(broken.factor >= 50.0 && broken.factor < 100.0);
    let nothing = search(|_| Ok::<_, ()>(f64::NAN)).unwrap();
    assert_eq!((nothing.factor, nothing.score), (1.0, f64::NEG_INFINITY));
    assert_eq!(search(|_| Err::<f64, _>("no rows")), Err("no rows"));
}

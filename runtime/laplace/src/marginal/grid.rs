//! The search for one factor on the precision of the prior by a score without derivatives, such as predictions of validation rows.

/// The ends of the grid.
const ENDS: [f64; 2] = [1e-4, 1e4];

/// The number of factors on the grid, equally spaced in their logarithms.
const POINTS: usize = 21;

/// The number of evaluations that refine the best factor of the grid, between its neighbours.
const REFINEMENTS: usize = 12;

/// The reciprocal of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The result of a search over a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The factor with the highest score.
    pub factor: f64,
    /// The score of the factor; minus infinity if no score was a number.
    pub score: f64,
    /// All evaluated factors with their scores, in ascending order of the factors.
    pub curve: Vec<[f64; 2]>,
    /// True if the best factor of the grid is the first or the last one, so that the maximum may be outside the grid.
    pub at_end: bool,
}

/// Searches for the factor with the highest score: 21 factors from 1e-4 to 1e4, then 12 more by golden section between the neighbours of the best. Of
/// factors with equal scores, the one nearest to 1 is taken, because 1 leaves the prior unchanged. A NaN score counts as minus infinity.
///
/// # Errors
/// The first error of `score`, which ends the search.
pub fn search<E>(mut score: impl FnMut(f64) -> Result<f64, E>) -> Result<Grid, E> {
    let [first, last] = ENDS.map(f64::ln);
    let spacing = (last - first) / (POINTS - 1) as f64;
    let mut tried = Vec::with_capacity(POINTS + REFINEMENTS);
    // The factor in the middle of the grid is exactly 1.
    let mut at = |log_factor: f64| -> Result<[f64; 2], E> {
        let score = score(log_factor.exp())?;
        Ok([log_factor, if score.is_nan() { f64::NEG_INFINITY } else { score }])
    };
    for point in 0..POINTS {
        tried.push(at((point as f64 - (POINTS / 2) as f64) * spacing)?);
    }
    let [centre, _] = best(&tried);
    let at_end = (centre.abs() - last).abs() < 0.5 * spacing;
    refine(
        [(centre - spacing).max(first), (centre + spacing).min(last)],
        &mut at,
        &mut tried,
    )?;
    let [log_factor, score] = best(&tried);
    tried.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Ok(Grid {
        factor: log_factor.exp(),
        score,
        curve: tried
            .iter()
            .map(|[log_factor, score]| [log_factor.exp(), *score])
            .collect(),
        at_end,
    })
}

/// Returns the log of the factor with the highest score, and the score.
fn best(tried: &[[f64; 2]]) -> [f64; 2] {
    tried
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |best, place| {
            let nearer = place[1] == best[1] && place[0].abs() < best[0].abs();
            if place[1] > best[1] || nearer {
                *place
            } else {
                best
            }
        })
}

/// Refines by golden section (Kiefer 1953): each evaluation shortens the bracket by the same ratio.
fn refine<E>(
    [mut low, mut high]: [f64; 2],
    at: &mut impl FnMut(f64) -> Result<[f64; 2], E>,
    tried: &mut Vec<[f64; 2]>,
) -> Result<(), E> {
    let mut left = at(high - GOLDEN * (high - low))?;
    let mut right = at(low + GOLDEN * (high - low))?;
    tried.extend([left, right]);
    for _ in 2..REFINEMENTS {
        if left[1] >= right[1] {
            (high, right) = (right[0], left);
            left = at(high - GOLDEN * (high - low))?;
            tried.push(left);
        } else {
            (low, left) = (left[0], right);
            right = at(low + GOLDEN * (high - low))?;
            tried.push(right);
        }
    }
    Ok(())
}

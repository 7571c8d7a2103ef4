//! Searches for the factor on the prior precision that maximises a score. The score need not have derivatives; an example is the accuracy of
//! predictions for validation rows.

/// The smallest and the largest factor of the grid.
const ENDS: [f64; 2] = [1e-4, 1e4];

/// The number of factors on the grid. Their logarithms are equally spaced.
const POINTS: usize = 21;

/// The number of evaluations after the grid. These evaluations refine the best factor on the grid by a search between the two
/// neighbouring grid points.
const REFINEMENTS: usize = 12;

/// One over the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The result of a search on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The factor with the highest score.
    pub factor: f64,
    /// The score of the best factor. It is minus infinity if all scores were NaN.
    pub score: f64,
    /// All factors that were evaluated, each with its score, in ascending order of the factors.
    pub curve: Vec<[f64; 2]>,
    /// True if the best factor is the first or the last factor of the grid, so that the maximum may be outside the grid.
    pub at_end: bool,
}

/// Searches for the factor with the highest score. First evaluates 21 factors from 1e-4 to 1e4. Then evaluates 12 more factors by golden section,
/// between the two neighbours of the best factor. If several factors have the highest score, chooses the factor nearest to 1, which leaves the prior
/// unchanged. A NaN score counts as minus infinity.
///
/// # Errors
/// Fails if `score` fails. The first error ends the search.
pub fn search<E>(mut score: impl FnMut(f64) -> Result<f64, E>) -> Result<Grid, E> {
    let [first, last] = ENDS.map(f64::ln);
    let spacing = (last - first) / (POINTS - 1) as f64;
    let mut tried = Vec::with_capacity(POINTS + REFINEMENTS);
    // The middle factor of the grid is exactly 1.
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

/// Returns the logarithm of the factor with the highest score, and this score.
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

/// Refines the factor by golden section (Kiefer 1953). Each evaluation shortens the bracket by the same factor.
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

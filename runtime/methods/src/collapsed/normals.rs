//! Predictions of Normal observations whose mean depends on integrated weights. Each prediction is
//! a mixture over the iterates, and consists of quantiles instead of draws. Draw `d` of `D` is the
//! quantile for the probability `(d + 1/2) / D`.

use crate::collapsed::around::Around;
use crate::collapsed::classes;
use crate::collapsed::errors::{self, Error};
use crate::collapsed::function::LocationDist;
use crate::collapsed::mixture::Mixture;
use crate::collapsed::published::Published;
use bnnc_abi::methods::collapsed::{self, Collapsed};
use bnnc_core::predict::{IntegralResults, PROBABILITIES, Predictive};
use bnnc_data::metrics::log_mean_exp;
use bnnc_kernels::pool::Pool;
use bnnc_piecewise::{Law, ObservationNoise};

/// The settings that all rows share.
pub struct MarginalNormals {
    noise: collapsed::LikelihoodNoise,
    /// The probabilities of the computed quantiles.
    probabilities: Vec<f64>,
    /// The published density of known targets, if the options select it.
    published: Option<Published>,
}

/// The predictions of one row.
#[derive(Clone, Debug, Default)]
struct Row {
    /// The quantiles of the mean: `[outputs, draws]`.
    mean: Vec<f64>,
    draw: Vec<f64>,
    epistemic: Vec<f64>,
    aleatoric: Vec<f64>,
    quantiles: Vec<[f64; 3]>,
    log_likelihood: f64,
    /// The integration error of each mean.
    error: Vec<f64>,
    log_density_error: f64,
    cdf: Vec<f64>,
}

/// The rounding error of a mean, as a fraction of the mean.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl MarginalNormals {
    /// Prepares predictions that consist of `draws` quantiles.
    pub fn new(collapsed: &Collapsed, draws: usize, published: Option<Published>) -> MarginalNormals {
        let probability = |draw: usize| (draw as f64 + 0.5) / draws as f64;
        MarginalNormals {
            noise: collapsed.options.noise,
            probabilities: (0..draws).map(probability).collect(),
            published,
        }
    }

    /// Writes the predictions of a block of rows. `all` contains the distributions around all
    /// iterates.
    pub fn write(
        &self,
        all: &[Around],
        (outputs, is_known): (usize, bool),
        pool: &Pool,
        predictive: &mut Predictive,
    ) {
        let rows = predictive.rows;
        let found = classes::each(rows, pool, &|row| self.row(all, (row, outputs), is_known));
        let (draws, elements) = (self.probabilities.len(), rows * outputs);
        predictive.draws = draws;
        predictive.probabilities.clear();
        predictive.log_likelihood = found.iter().map(|row| row.log_likelihood).collect();
        let spread = |of: fn(&Row) -> &Vec<f64>| -> Vec<f64> {
            let mut values = vec![0.0; draws * elements];
            for (row, found) in found.iter().enumerate() {
                for (at, value) in of(found).iter().enumerate() {
                    values[at % draws * elements + row * outputs + at / draws] = *value;
                }
            }
            values
        };
        (predictive.mean, predictive.draw) = (spread(|row| &row.mean), spread(|row| &row.draw));
        let of = |of: fn(&Row) -> &Vec<f64>| found.iter().flat_map(|row| of(row).iter().copied()).collect();
        (predictive.epistemic, predictive.aleatoric) = (of(|row| &row.epistemic), of(|row| &row.aleatoric));
        predictive.integrated = IntegralResults {
            error: of(|row| &row.error),
            cdf: of(|row| &row.cdf),
            ..IntegralResults::default()
        };
        if is_known {
            let errors = found.iter().map(|row| row.log_density_error);
            predictive.integrated.log_density_error = errors.collect();
            predictive.integrated.log_density = predictive.log_likelihood.clone();
        }
        for (at, values) in predictive.quantiles.iter_mut().enumerate() {
            *values = found
                .iter()
                .flat_map(|row| row.quantiles.iter().map(|exact| exact[at]))
                .collect();
        }
    }

    fn row(&self, all: &[Around], (row, outputs): (usize, usize), is_known: bool) -> Row {
        let mut found = Row::default();
        let mut densities = vec![0.0; all.len()];
        let mut off = vec![Error::default(); all.len()];
        for output in 0..outputs {
            let at = row * outputs + output;
            let noises: Vec<ObservationNoise> =
                all.iter().map(|around| self.noise(around.scale[at])).collect();
            let law = |(around, noise): (&Around, &ObservationNoise)| around.parts[at].law(*noise);
            let plain = |around: &Around| around.parts[at].law(ObservationNoise::Normal { sd: 0.0 });
            let location = Mixture::new(all.iter().map(plain).collect());
            let observed = Mixture::new(all.iter().zip(&noises).map(law).collect());
            let mut means = location.quantiles(&self.probabilities).quantiles;
            // The quantiles are shifted so that their mean equals the mean of the distribution.
            let shift = location.mean - means.iter().sum::<f64>() / means.len().max(1) as f64;
            means.iter_mut().for_each(|mean| *mean += shift);
            found.mean.extend(means);
            let table = observed.quantiles(&self.probabilities);
            found
                .quantiles
                .push(PROBABILITIES.map(|p| observed.quantile(p, &table.knots)));
            found.draw.extend(table.quantiles);
            found.epistemic.push(location.sd);
            let variance = noises.iter().map(variance).sum::<f64>() / noises.len().max(1) as f64;
            found.aleatoric.push(variance.sqrt());
            found.error.push(error_of_mean(all, at, location.mean));
            if is_known {
                let parts = observed.parts().iter().zip(&noises).zip(all).enumerate();
                for (iterate, ((law, noise), around)) in parts {
                    let target = around.target[at];
                    let (density, error) = self.score(&around.parts[at], law, (*noise, target));
                    densities[iterate] += density;
                    off[iterate] = off[iterate].plus(error);
                }
                // The observed values are the same for all iterates.
                let target = all.first().map(|around| around.target[at]);
                found
                    .cdf
                    .extend(target.map(|target| self.below(&observed, target)));
            }
        }
        found.log_density_error = errors::of_mixture(&densities, &off);
        found.log_likelihood = match is_known {
            true => log_mean_exp(densities.into_iter()),
            false => f64::NAN,
        };
        found
    }

    /// Returns the log density at a known target around one iterate, and the error of this log
    /// density.
    fn score(&self, part: &LocationDist, law: &Law, (noise, y): (ObservationNoise, f64)) -> (f64, Error) {
        match &self.published {
            None => (law.log_density(y), errors::of_density(part, law, (noise, y))),
            Some(published) => (
                published.log_density(law, y),
                published.error(part, law, (noise, y)),
            ),
        }
    }

    /// Returns the probability that the value is at most the known target.
    fn below(&self, observed: &Mixture, y: f64) -> f64 {
        let Some(published) = &self.published else {
            return observed.cdf(y);
        };
        let laws = observed.parts();
        let all = laws.iter().map(|law| published.cdf(law, y));
        all.sum::<f64>() / laws.len().max(1) as f64
    }

    fn noise(&self, scale: f64) -> ObservationNoise {
        match self.noise {
            collapsed::LikelihoodNoise::Normal => ObservationNoise::Normal { sd: scale },
            collapsed::LikelihoodNoise::Triangular { alpha, floor } => ObservationNoise::Triangular {
                radius: alpha * scale,
                floor,
            },
            collapsed::LikelihoodNoise::Published { alpha, .. } => ObservationNoise::Triangular {
                radius: alpha * scale,
                floor: 0.0,
            },
        }
    }
}

/// Returns the integration error of one mean over the iterates.
fn error_of_mean(all: &[Around], at: usize, mean: f64) -> f64 {
    let share = 1.0 / all.len().max(1) as f64;
    let of = |around: &Around| errors::of_mean(&around.parts[at], &|location| location, (mean, ROUNDING));
    let errors = all.iter().map(|around| of(around).times(share));
    errors.fold(Error::default(), Error::plus).total()
}

/// Returns the variance of the noise. Triangular noise may be mixed with a Normal of the same
/// variance (the floor). The mixture has this variance too.
fn variance(noise: &ObservationNoise) -> f64 {
    match noise {
        ObservationNoise::Normal { sd } => sd * sd,
        ObservationNoise::Triangular { radius, .. } => radius * radius / 6.0,
    }
}

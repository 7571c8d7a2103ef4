//! Factors on the precision of the prior: given, by the marginal likelihood, or by validation rows.

use crate::codes;
use crate::fit::Stop;
use crate::laplace::gaussian::{Facts, Gaussian};
use crate::laplace::machines::Evaluation;
use crate::laplace::predictor::Forecaster;
use bnnc_abi::laplace::{PriorPrecision, PriorStructure};
use bnnc_data::Dataset;
use bnnc_data::metrics::{Draws, log_mean_exp};
use bnnc_laplace::curvature::{Curvature, NotPositive, Prior};
use bnnc_laplace::marginal::{self, Scalar, Tuning};
use bnnc_laplace::posterior::{Posterior, whitened};
use std::sync::Arc;

/// What factors are tuned for.
pub struct Tuned<'a> {
    /// The rows, at the maximum.
    pub evaluation: &'a Evaluation<'a>,
    /// All data, for validation rows.
    pub dataset: &'a Dataset,
    /// The numbers of the weights that are random.
    pub index: Option<Vec<usize>>,
    /// The curvature of the log likelihood by these weights.
    pub curvature: Curvature,
    /// The precision of their prior.
    pub prior: Prior,
    /// The derivative of their log prior.
    pub slope: Vec<f64>,
    /// Of all training rows.
    pub log_likelihood: f64,
    /// The log density of the prior, where all weights are random and nothing is multiplied.
    pub log_prior: Option<f64>,
    /// Whether the prior of all weights is Normal.
    pub is_normal: bool,
}

impl Tuned<'_> {
    /// Multiplies the precision of the prior.
    pub fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            self.prior = self.prior.scaled(&vec![factor; self.slope.len()]);
            self.slope.iter_mut().for_each(|slope| *slope *= factor);
            self.log_prior = None;
        }
    }

    /// The derivative of the log posterior under which the maximum was searched, with a factor on the prior.
    pub fn log_posterior_slope(&self, gradient: &[f64], factor: f64) -> Vec<f64> {
        let pairs = gradient.iter().zip(&self.slope);
        pairs
            .map(|(likelihood, prior)| likelihood + factor * prior)
            .collect()
    }

    /// The Gaussian of that posterior; none where its precision is not positive definite.
    pub fn searched(&self, factor: f64) -> Option<Posterior> {
        let pool = &self.evaluation.context.pool;
        let posterior = match factor == 1.0 {
            true => self.curvature.posterior(&self.prior, 1.0, pool),
            false => {
                let prior = self.prior.scaled(&vec![factor; self.slope.len()]);
                self.curvature.posterior(&prior, 1.0, pool)
            }
        };
        posterior.ok()
    }

    fn temperature(&self) -> f64 {
        self.evaluation.laplace.options.temperature
    }

    fn failure(&self, failure: NotPositive) -> Stop {
        codes::not_positive(&self.evaluation.infer.name, &failure).into()
    }

    /// The posterior with these factors of the weights.
    fn posterior(&self, factors: &[f64]) -> Result<Posterior, NotPositive> {
        let pool = &self.evaluation.context.pool;
        match factors.iter().all(|factor| *factor == 1.0) {
            true => self.curvature.posterior(&self.prior, self.temperature(), pool),
            false => {
                let prior = self.prior.scaled(factors);
                self.curvature.posterior(&prior, self.temperature(), pool)
            }
        }
    }

    /// The Gaussian with the factors that the options ask for, or with the one that is given; and how far the log posterior of the model could rise
    /// in it where `slope` is its derivative by all weights.
    ///
    /// # Errors
    /// A precision that is not positive definite.
    pub fn gaussian(self, given: Option<f64>, mut facts: Facts) -> Result<Gaussian, Stop> {
        let groups = self.groups();
        let factors = self.factors(given, &groups, &mut facts)?;
        let weights: Vec<f64> = groups.iter().map(|group| factors[*group]).collect();
        let posterior = self
            .posterior(&weights)
            .map_err(|failure| self.failure(failure))?;
        facts.weights = weights.len();
        facts.prior_precision = self.named(&factors);
        facts.log_likelihood = self.log_likelihood;
        facts.log_marginal_likelihood = self.log_evidence(&posterior, &weights);
        if let Curvature::LowRank(pairs) = &self.curvature {
            facts.residual = Some(pairs.residual);
        }
        Ok(Gaussian {
            values: Arc::new(self.evaluation.values.clone()),
            index: self.index,
            posterior,
            facts,
        })
    }

    /// The log marginal likelihood with these factors of the weights. A prior that is not Normal has no normaliser for other factors than 1.
    fn log_evidence(&self, posterior: &Posterior, factors: &[f64]) -> Option<f64> {
        let log_likelihood = self.log_likelihood / self.temperature();
        let evidence = match self.is_normal {
            true => {
                let scatter = self.scatter().ok()?;
                let scatter = scatter
                    .iter()
                    .zip(factors)
                    .map(|(scatter, factor)| scatter * factor);
                let ratio = posterior.log_determinant_ratio()?;
                marginal::log_evidence_of_normal(log_likelihood, scatter.sum(), ratio)
            }
            false => {
                let log_prior = self
                    .log_prior
                    .filter(|_| factors.iter().all(|factor| *factor == 1.0))?;
                let log_determinant = posterior.log_determinant();
                marginal::log_evidence(log_likelihood, log_prior, factors.len(), log_determinant)
            }
        };
        Some(evidence).filter(|evidence| evidence.is_finite())
    }

    /// See [`Prior::scatter`].
    fn scatter(&self) -> Result<Vec<f64>, NotPositive> {
        self.prior.scatter(&self.slope, &self.evaluation.context.pool)
    }

    /// The number of the factor of each random weight.
    fn groups(&self) -> Vec<usize> {
        let laplace = self.evaluation.laplace;
        let elements: Vec<usize> = laplace.weights.iter().map(|weights| weights.elements).collect();
        let groups = match self.is_tuned() {
            true => marginal::groups(laplace.options.prior_structure, &elements),
            false => marginal::groups(PriorStructure::Scalar, &elements),
        };
        match &self.index {
            None => groups,
            Some(index) => match laplace.options.prior_structure {
                PriorStructure::Diagonal if self.is_tuned() => (0..index.len()).collect(),
                _ => index.iter().map(|at| groups[*at]).collect(),
            },
        }
    }

    fn is_tuned(&self) -> bool {
        self.evaluation.laplace.options.prior_precision == PriorPrecision::MarginalLikelihood
    }

    /// The factors of the groups.
    fn factors(&self, given: Option<f64>, groups: &[usize], facts: &mut Facts) -> Result<Vec<f64>, Stop> {
        let options = &self.evaluation.laplace.options;
        if let Some(given) = given {
            return Ok(vec![given; self.count(groups)]);
        }
        match options.prior_precision {
            PriorPrecision::Given(factor) => Ok(vec![factor; self.count(groups)]),
            PriorPrecision::Validation => Ok(vec![self.by_validation(facts)?]),
            PriorPrecision::MarginalLikelihood if options.prior_structure == PriorStructure::Scalar => {
                let tuned = self.by_evidence()?;
                (facts.at_end, facts.unsettled) = (tuned.at_bounds().next(), !tuned.converged);
                Ok(tuned.factors)
            }
            PriorPrecision::MarginalLikelihood => {
                let tuned = self.by_evidence_of_groups(groups)?;
                facts.unsettled = !tuned.converged;
                // Of factors of single weights most end there: that is what they are for.
                if options.prior_structure != PriorStructure::Diagonal {
                    facts.at_end = tuned.at_bounds().next();
                }
                Ok(tuned.factors)
            }
        }
    }

    fn count(&self, groups: &[usize]) -> usize {
        groups.iter().max().map_or(1, |last| last + 1)
    }

    /// The search for the factor that maximises the marginal likelihood.
    ///
    /// # Errors
    /// A prior that is not positive definite.
    pub fn by_evidence(&self) -> Result<marginal::Tuned, Stop> {
        let pool = &self.evaluation.context.pool;
        let eigenvalues = whitened(&self.curvature, &self.prior, pool);
        let eigenvalues = eigenvalues.map_err(|failure| self.failure(failure))?;
        let scatter = self.scatter().map_err(|failure| self.failure(failure))?;
        let scalar = Scalar {
            eigenvalues: &eigenvalues,
            temperature: self.temperature(),
            scatter: scatter.iter().sum(),
            log_likelihood: self.log_likelihood / self.temperature(),
        };
        Ok(scalar.maximise(1.0))
    }

    fn by_evidence_of_groups(&self, groups: &[usize]) -> Result<marginal::Tuned, Stop> {
        if self.prior.dense.is_some() {
            return Err(codes::dependent_prior(&self.evaluation.infer.name).into());
        }
        let pool = &self.evaluation.context.pool;
        let scatter = self.scatter().map_err(|failure| self.failure(failure))?;
        let tuning = Tuning {
            precision: &self.prior.precision,
            scatter: &scatter,
            groups,
            log_likelihood: self.log_likelihood / self.temperature(),
            steps: STEPS,
        };
        let evaluate = marginal::evaluate(&self.curvature, &self.prior, self.temperature(), pool);
        let tuned = tuning.maximise(&vec![1.0; self.count(groups)], evaluate);
        tuned.map_err(|failure| self.failure(failure))
    }

    /// The factor with the highest predictive log likelihood of the validation rows.
    fn by_validation(&self, facts: &mut Facts) -> Result<f64, Stop> {
        let evaluation = self.evaluation;
        let values = Arc::new(evaluation.values.clone());
        let mut score = |factor: f64| -> Result<f64, Stop> {
            evaluation.heed()?;
            let weights = vec![factor; self.slope.len()];
            let Ok(posterior) = self.posterior(&weights) else {
                return Ok(f64::NAN);
            };
            let member = Gaussian {
                values: values.clone(),
                index: self.index.clone(),
                posterior,
                facts: Facts::default(),
            };
            let how = (evaluation.infer.predictive_draws, evaluation.context);
            let members = std::slice::from_ref(&member);
            let rows = (&self.dataset.validation, true);
            let mut forecaster = Forecaster::of(
                members,
                (evaluation.infer, evaluation.laplace),
                rows,
                self.dataset,
                how,
            )?;
            mean_log_likelihood(&mut forecaster)
        };
        let found = marginal::search(&mut score)?;
        if !found.score.is_finite() {
            return Err(codes::no_posterior(
                &evaluation.infer.name,
                "no factor on the prior gives finite predictions",
            )
            .into());
        }
        facts.validation = Some(found.score);
        facts.at_end = found.at_end.then_some(found.factor);
        Ok(found.factor)
    }

    /// The factors by name.
    fn named(&self, factors: &[f64]) -> Vec<(String, f64)> {
        let laplace = self.evaluation.laplace;
        if let [only] = factors {
            return vec![(String::new(), *only)];
        }
        match laplace.options.prior_structure {
            PriorStructure::Layer => {
                let sites = laplace.weights.iter().map(|weights| weights.site.clone());
                sites.zip(factors.iter().copied()).collect()
            }
            PriorStructure::Scalar | PriorStructure::Diagonal => {
                let (low, high) = factors
                    .iter()
                    .fold((f64::INFINITY, 0.0f64), |(low, high), factor| {
                        (low.min(*factor), high.max(*factor))
                    });
                vec![("lowest".to_owned(), low), ("highest".to_owned(), high)]
            }
        }
    }
}

/// Steps of the search for factors of several groups.
const STEPS: usize = 200;

/// The mean log predictive density of the rows of a forecaster, on the model's scale.
fn mean_log_likelihood(forecaster: &mut Forecaster) -> Result<f64, Stop> {
    let (mut sum, mut count) = (0.0, 0);
    forecaster.run(|_, block| {
        let draws = Draws::new(&block.log_likelihood, block.rows);
        sum += (0..block.rows)
            .map(|row| log_mean_exp(draws.of_row(row)))
            .sum::<f64>();
        count += block.rows;
    })?;
    Ok(sum / count.max(1) as f64)
}

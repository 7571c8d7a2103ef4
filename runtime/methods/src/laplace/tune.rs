//! The factors on the precision of the prior. The factors are given, or they are tuned by the
//! marginal likelihood or by validation rows.

use crate::laplace::diagnostics;
use crate::laplace::gaussian::{Gaussian, GaussianFacts};
use crate::laplace::machines::Evaluator;
use crate::laplace::predictor::forecaster;
use crate::laplace::residual::CheckedGaussian;
use bnnc_abi::methods::laplace::{PriorPrecision, PriorStructure};
use bnnc_core::context::Stop;
use bnnc_core::forecast::Forecaster;
use bnnc_data::Dataset;
use bnnc_data::metrics::{DrawMatrix, log_mean_exp};
use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, NotPositive, Prior};
use bnnc_laplace::marginal::{self, ScalarEvidence, Tuning};
use bnnc_laplace::matrix::{Matrix, dot};
use bnnc_laplace::posterior::{GaussianPosterior, whitened};
use std::sync::Arc;

/// Two prior precisions count as equal if their relative difference is at most this value.
const VARIES: f64 = 1e-6;

/// The curvature and the prior from which the prior factors are tuned.
pub struct TuningProblem<'a> {
    /// The training rows, evaluated at the maximum.
    pub evaluation: &'a Evaluator<'a>,
    /// The data set. It contains the validation rows.
    pub dataset: &'a Dataset,
    /// The indices of the random weights; `None` if all weights are random.
    pub index: Option<Vec<usize>>,
    /// The curvature of the log likelihood with respect to the random weights.
    pub curvature: Curvature,
    /// The prior precision of the random weights.
    pub prior: Prior,
    /// The derivative of the log prior with respect to the random weights.
    pub slope: Vec<f64>,
    /// The log likelihood of all training rows.
    pub log_likelihood: f64,
    /// The log prior density. The log prior is absent if the weights are a subnetwork or if the
    /// prior is scaled.
    pub log_prior: Option<f64>,
    /// True if the prior of all weights is Normal.
    pub is_normal: bool,
}

impl TuningProblem<'_> {
    /// Multiplies the prior precision by a factor.
    pub fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            self.prior = self.prior.scaled(&vec![factor; self.slope.len()]);
            self.slope.iter_mut().for_each(|slope| *slope *= factor);
            self.log_prior = None;
        }
    }

    /// Returns the derivative of the log posterior that the search maximised, for the given prior
    /// factors of the weights.
    pub fn log_posterior_slope(&self, gradient: &[f64], factors: &[f64]) -> Vec<f64> {
        let triples = gradient.iter().zip(&self.slope).zip(factors);
        triples
            .map(|((likelihood, prior), factor)| likelihood + factor * prior)
            .collect()
    }

    fn temperature(&self) -> f64 {
        self.evaluation.laplace.options.temperature
    }

    fn failure(&self, failure: NotPositive) -> Stop {
        diagnostics::not_positive(&self.evaluation.infer.name, &failure).into()
    }

    /// Returns the posterior for a temperature and the given prior factors of the weights.
    ///
    /// # Errors
    /// Fails if a precision matrix is not positive definite.
    pub fn posterior(&self, factors: &[f64], temperature: f64) -> Result<GaussianPosterior, NotPositive> {
        let pool = &self.evaluation.context.pool;
        match factors.iter().all(|factor| *factor == 1.0) {
            true => self.curvature.posterior(&self.prior, temperature, pool),
            false => {
                let prior = self.prior.scaled(factors);
                self.curvature.posterior(&prior, temperature, pool)
            }
        }
    }

    /// Returns the Gaussian for the given prior factors. If the caller does not pass factors, the
    /// function uses the factors that the options select. If the derivative of the log likelihood
    /// is given, also predicts the increase of the log density from the centre to the maximum.
    ///
    /// # Errors
    /// Fails if a precision matrix is not positive definite.
    pub fn gaussian(
        self,
        given: Option<&marginal::TuningResult>,
        mut facts: GaussianFacts,
        gradient: Option<&[f64]>,
    ) -> Result<Gaussian, Stop> {
        let factors = self.factors(given, &mut facts)?;
        let weights = self.of_weights(&factors);
        let posterior = self
            .posterior(&weights, self.temperature())
            .map_err(|failure| self.failure(failure))?;
        facts.weights = weights.len();
        let factors_of_prior: Vec<f64> = weights.iter().map(|factor| factor * facts.prior_scale).collect();
        facts.misjudged = CheckedGaussian {
            evaluation: self.evaluation,
            index: self.index.as_deref(),
            posterior: &posterior,
            factors: &factors_of_prior,
        }
        .furthest()?;
        facts.rise_of_own =
            gradient.and_then(|gradient| self.rise_of_own(gradient, &weights, &posterior, &facts));
        facts.prior_precision = self.named(&factors);
        facts.log_likelihood = self.log_likelihood;
        facts.log_marginal_likelihood = self.log_evidence(&posterior, &weights);
        if let Curvature::LowRank(pairs) = &self.curvature {
            facts.residual = Some(pairs.residual);
        }
        if let Curvature::Kronecker { blocks, .. } = &self.curvature {
            let precision = |at: usize| self.prior.precision[at] * weights[at];
            facts.prior_averaged = blocks.iter().any(|block| {
                let first = precision(block.start);
                let mut others = block.start..block.start + block.elements();
                others.any(|at| (precision(at) - first).abs() > VARIES * first)
            });
        }
        Ok(Gaussian {
            values: Arc::new(self.evaluation.values.clone()),
            index: self.index,
            posterior,
            facts,
        })
    }

    /// Returns the predicted increase of the log density from the centre to its maximum. The log density is that
    /// for these factors and for the temperature in the options. The prior scale of a subnetwork is left out. The
    /// prior scale compensates for the weights that are not random, and does not move the maximum.
    fn rise_of_own(
        &self,
        gradient: &[f64],
        factors: &[f64],
        posterior: &GaussianPosterior,
        facts: &GaussianFacts,
    ) -> Option<f64> {
        let pool = &self.evaluation.context.pool;
        let temperature = self.temperature();
        let gradient: Vec<f64> = gradient.iter().map(|slope| slope / temperature).collect();
        if facts.prior_scale == 1.0 {
            return Some(rise(
                posterior,
                &self.log_posterior_slope(&gradient, factors),
                pool,
            ));
        }
        let factors: Vec<f64> = factors.iter().map(|factor| factor / facts.prior_scale).collect();
        let posterior = self.posterior(&factors, temperature).ok()?;
        Some(rise(
            &posterior,
            &self.log_posterior_slope(&gradient, &factors),
            pool,
        ))
    }

    /// Returns the log marginal likelihood for the given prior factors of the weights. If the prior
    /// is not Normal, its normalising constant is known only if all factors are 1.
    fn log_evidence(&self, posterior: &GaussianPosterior, factors: &[f64]) -> Option<f64> {
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

    /// Implements [`Prior::scatter`].
    fn scatter(&self) -> Result<Vec<f64>, NotPositive> {
        self.prior.scatter(&self.slope, &self.evaluation.context.pool)
    }

    /// Returns the rule that assigns weights to groups. All weights of a group have the same factor.
    fn structure(&self) -> PriorStructure {
        let options = &self.evaluation.laplace.options;
        match options.online || options.prior_precision == PriorPrecision::MarginalLikelihood {
            true => options.prior_structure,
            false => PriorStructure::Scalar,
        }
    }

    /// Returns the group of each weight. Weights that are not random are included.
    fn groups_of_all(&self) -> Vec<usize> {
        let weights = self.evaluation.laplace.weights.iter();
        let elements: Vec<usize> = weights.map(|weights| weights.elements).collect();
        marginal::groups(self.structure(), &elements)
    }

    /// Returns the group of each random weight.
    fn groups(&self) -> Vec<usize> {
        match (&self.index, self.structure()) {
            (Some(index), PriorStructure::Diagonal) => (0..index.len()).collect(),
            (Some(index), PriorStructure::Scalar | PriorStructure::Layer) => {
                let groups = self.groups_of_all();
                index.iter().map(|at| groups[*at]).collect()
            }
            (None, _) => self.groups_of_all(),
        }
    }

    /// Returns the number of groups. Each group has one factor.
    fn count(&self) -> usize {
        match self.structure() {
            PriorStructure::Scalar => 1,
            PriorStructure::Layer => self.evaluation.laplace.weights.len(),
            PriorStructure::Diagonal => self.slope.len(),
        }
    }

    /// Returns the factors of the random weights, given the factors of the groups.
    pub fn of_weights(&self, factors: &[f64]) -> Vec<f64> {
        self.groups().into_iter().map(|group| factors[group]).collect()
    }

    /// Returns the factors of all weights, given the factors of the groups. If each weight has its
    /// own factor, weights that are not random get the factor 1.
    pub fn of_all(&self, factors: &[f64]) -> Vec<f64> {
        let groups = self.groups_of_all();
        match (&self.index, self.structure()) {
            (Some(index), PriorStructure::Diagonal) => {
                let mut all = vec![1.0; groups.len()];
                let chosen = index.iter().zip(factors);
                chosen.for_each(|(at, factor)| all[*at] = *factor);
                all
            }
            _ => groups.into_iter().map(|group| factors[group]).collect(),
        }
    }

    /// Returns the factors of the groups, given the factors of all weights.
    pub fn of_groups(&self, all: &[f64]) -> Vec<f64> {
        let mut factors = vec![1.0; self.count()];
        for (at, group) in self.groups().into_iter().enumerate() {
            factors[group] = all[self.index.as_ref().map_or(at, |index| index[at])];
        }
        factors
    }

    /// Returns the indices of the random weights. Also returns the prior precision of these
    /// weights, given the factors of the groups.
    pub fn into_prior(self, factors: &[f64]) -> (Option<Vec<usize>>, Prior) {
        let prior = self.prior.scaled(&self.of_weights(factors));
        (self.index, prior)
    }

    /// Returns the factors of the groups. The options either give or tune them.
    fn factors(
        &self,
        given: Option<&marginal::TuningResult>,
        facts: &mut GaussianFacts,
    ) -> Result<Vec<f64>, Stop> {
        let options = &self.evaluation.laplace.options;
        let found = match (given, options.prior_precision) {
            (Some(given), _) => given.clone(),
            (None, PriorPrecision::Given(factor)) => return Ok(vec![factor; self.count()]),
            (None, PriorPrecision::Validation) => return Ok(vec![self.by_validation(facts)?]),
            (None, PriorPrecision::MarginalLikelihood) => {
                let found = self.by_evidence(&vec![1.0; self.count()], STEPS);
                found.map_err(|failure| self.failure(failure))?
            }
        };
        facts.unsettled = !found.converged;
        // If each weight has its own factor, most factors end at a bound. This removes their
        // weights. Factors at a bound are not reported in this case.
        if options.prior_structure != PriorStructure::Diagonal {
            facts.at_end = found.at_bounds().next();
        }
        Ok(found.factors)
    }

    /// Searches for the factors of the groups that maximise the marginal likelihood, from a start.
    /// The search for several factors takes at most `steps` steps.
    ///
    /// # Errors
    /// Fails if the prior precision, or the posterior precision at the start, is not positive definite.
    pub fn by_evidence(&self, start: &[f64], steps: usize) -> Result<marginal::TuningResult, NotPositive> {
        let pool = &self.evaluation.context.pool;
        let scatter = self.scatter()?;
        let log_likelihood = self.log_likelihood / self.temperature();
        if let (PriorStructure::Scalar, [start]) = (self.structure(), start) {
            let scalar = ScalarEvidence {
                eigenvalues: &whitened(&self.curvature, &self.prior, pool)?,
                temperature: self.temperature(),
                scatter: scatter.iter().sum(),
                log_likelihood,
            };
            return Ok(scalar.maximise(*start));
        }
        let tuning = Tuning {
            precision: &self.prior.precision,
            scatter: &scatter,
            groups: &self.groups(),
            log_likelihood,
            steps,
        };
        let evaluate = marginal::evaluate(&self.curvature, &self.prior, self.temperature(), pool);
        tuning.maximise(start, evaluate)
    }

    /// Returns the factor that gives the highest predictive log likelihood of the validation rows.
    fn by_validation(&self, facts: &mut GaussianFacts) -> Result<f64, Stop> {
        let evaluation = self.evaluation;
        let values = Arc::new(evaluation.values.clone());
        let mut score = |factor: f64| -> Result<f64, Stop> {
            evaluation.heed()?;
            let weights = vec![factor; self.slope.len()];
            let Ok(posterior) = self.posterior(&weights, self.temperature()) else {
                return Ok(f64::NAN);
            };
            let member = Gaussian {
                values: values.clone(),
                index: self.index.clone(),
                posterior,
                facts: GaussianFacts::default(),
            };
            let how = (evaluation.infer.predictive_draws(), evaluation.context);
            let members = std::slice::from_ref(&member);
            let rows = (&self.dataset.validation, true);
            let mut forecaster = forecaster(
                members,
                (evaluation.infer, evaluation.laplace),
                rows,
                self.dataset,
                how,
            )?;
            mean_log_likelihood(&mut *forecaster)
        };
        let found = marginal::search(&mut score)?;
        if !found.score.is_finite() {
            return Err(diagnostics::no_posterior(
                &evaluation.infer.name,
                "no factor on the prior gives finite predictions",
            )
            .into());
        }
        facts.validation = Some(found.score);
        facts.at_end = found.at_end.then_some(found.factor);
        Ok(found.factor)
    }

    /// Returns the factors with their names.
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

/// Returns half of the squared Newton decrement: `g' P^-1 g / 2`. If the log posterior were
/// quadratic, this would be its increase from the point to its maximum. The result is infinite if
/// the slope is not finite.
pub fn rise(posterior: &GaussianPosterior, slope: &[f64], pool: &Pool) -> f64 {
    let step = posterior.solve(&Matrix::from_row(slope), pool);
    let rise = 0.5 * dot(step.row(0), slope);
    if rise.is_finite() { rise } else { f64::INFINITY }
}

/// The largest number of steps that a search for the prior factors of several groups takes.
const STEPS: usize = 200;

/// Returns the log predictive density on the model's scale, averaged over the rows of a forecaster.
fn mean_log_likelihood(forecaster: &mut dyn Forecaster) -> Result<f64, Stop> {
    let (mut sum, mut count) = (0.0, 0);
    forecaster.run(&mut |_, block| {
        let draws = DrawMatrix::new(&block.log_likelihood, block.rows);
        sum += (0..block.rows)
            .map(|row| log_mean_exp(draws.of_row(row)))
            .sum::<f64>();
        count += block.rows;
    })?;
    Ok(sum / count.max(1) as f64)
}

//! A Gaussian of the weights around a maximum, and its reported properties.

use crate::laplace::jacobians::Which;
use crate::laplace::predictor::forecaster;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::{Laplace, Structure, Weights};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics;
use bnnc_core::forecast::Forecaster;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_laplace::posterior::{GaussianPosterior, PosteriorArray};
use bnnc_training::TrainingResult;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A Laplace approximation: one Gaussian, or a mixture of several Gaussians with equal weights.
#[derive(Clone, Debug)]
pub struct Approximated {
    /// The fit that found the maximum. In a mixture, it is the fit of the first member.
    pub fitted: TrainingResult,
    /// The states at the maximum. In a mixture, they are the states of the first member.
    pub values: Arc<StateValues>,
    /// The Gaussians: one, or the members of the mixture.
    pub members: Vec<Gaussian>,
    /// The warnings about the Gaussians.
    pub warnings: Vec<Diagnostic>,
}

/// A Gaussian around one maximum.
#[derive(Clone, Debug)]
pub struct Gaussian {
    /// The states at the maximum.
    pub values: Arc<StateValues>,
    /// The indices of the random weights among all weights, in ascending order; `None` if all weights are random.
    pub index: Option<Vec<usize>>,
    /// The distribution of the random weights.
    pub posterior: GaussianPosterior,
    /// The properties of the Gaussian that are reported.
    pub facts: GaussianFacts,
}

/// The properties of a Gaussian that are reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GaussianFacts {
    /// The number of random weights.
    pub weights: usize,
    /// The number of all weights that affect the outputs.
    pub parameters: usize,
    /// The factors on the precision of the prior, each with a name. There is a single factor, one
    /// factor per site, or the lowest and the highest factor.
    pub prior_precision: Vec<(String, f64)>,
    /// An additional factor on the precision of the prior. This factor is the fraction of the
    /// weights that are random, or 1.
    pub prior_scale: f64,
    /// The log likelihood of all training rows at the maximum.
    pub log_likelihood: f64,
    /// The log marginal likelihood of the training rows under the approximation; `None` if it is
    /// not defined.
    pub log_marginal_likelihood: Option<f64>,
    /// The number of rows whose second derivative with respect to the outputs had negative
    /// eigenvalues. These eigenvalues were set to zero.
    pub clipped: usize,
    /// The increase of the log posterior from the centre to the maximum that the Gaussian predicts.
    /// `None` if the slope is not known.
    pub rise: Option<f64>,
    /// The predicted increase of the log density that the Gaussian approximates, from the centre to
    /// its maximum. The increase is present only if the prior factors or the temperature differ
    /// from the values that the search used.
    #[serde(default)]
    pub rise_of_own: Option<f64>,
    /// The predicted increase of the log posterior if the states other than the weights moved to
    /// their maximum. `None` if the increase is negligible.
    #[serde(default)]
    pub others_rise: Option<f64>,
    /// The squared 2-Wasserstein distance between this Gaussian and the Gaussian of all weights.
    /// The distance is `None` if the factor on the prior was tuned, because the two Gaussians would
    /// have different factors.
    pub wasserstein: Option<f64>,
    /// The largest residual of the eigenpairs of a low-rank precision, as a fraction of the largest
    /// eigenvalue.
    pub residual: Option<f64>,
    /// The mean predictive log likelihood of the validation rows, if they were used to choose the
    /// prior factor.
    pub validation: Option<f64>,
    /// The prior factor, if it is at an end of the searched range.
    pub at_end: Option<f64>,
    /// True if the search for prior factors took the maximum number of steps before it converged.
    pub unsettled: bool,
    /// True if the prior of all weights is Normal.
    #[serde(default)]
    pub is_normal: bool,
    /// True if the prior precision varies within a block that has the Kronecker structure. The
    /// precision of the block then uses the mean prior precision in the eigenbasis of the block.
    pub prior_averaged: bool,
    /// The parameter whose standard deviation is too small by the largest factor, or, if all are
    /// large enough, too large by the largest factor. The standard deviation is wrong because the
    /// curvature omits a part of the second derivative.
    #[serde(default)]
    pub misjudged: Option<MisjudgedParameter>,
    /// A parameter whose posterior is nearly exponential at an end of its support, if such a
    /// parameter exists. If there are several such parameters, the parameter with the worst
    /// Gaussian approximation.
    #[serde(default)]
    pub piled_up: Option<ParameterAtEnd>,
}

/// A parameter whose Gaussian is much narrower or much wider than the posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MisjudgedParameter {
    /// The name of the parameter.
    pub name: String,
    /// The negative second derivative of the log posterior along the parameter, divided by the
    /// value under the Gaussian. Above 1, the ratio of the variance under the Gaussian to the
    /// variance under the complete second derivative.
    pub curvature: f64,
}

/// A parameter whose posterior is nearly exponential at an end of its support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterAtEnd {
    /// The name of the parameter.
    pub name: String,
    /// The end of the support.
    pub end: f64,
}

impl Gaussian {
    /// Returns the values of all weights at the maximum, concatenated.
    pub fn weights(&self, laplace: &Laplace) -> Vec<f64> {
        weights(laplace, &self.values)
    }

    /// Returns the selection of the random weights.
    pub fn which(&self) -> Which<'_> {
        self.index.as_deref().map_or(Which::All, Which::Selected)
    }
}

/// Returns the values of all weights of an inference block, concatenated.
pub fn weights(laplace: &Laplace, values: &StateValues) -> Vec<f64> {
    let states = laplace
        .weights
        .iter()
        .filter_map(|weights| values.get(&weights.state));
    states.flatten().copied().collect()
}

/// Returns the Laplace part of an inference block.
///
/// # Errors
/// Fails if the method of the inference block is not `laplace`. This would be a bug.
pub fn part(infer: &InferenceBlock) -> Result<&Laplace, Fault> {
    let bug = || Fault::Bug(format!("`{}` is not a Gaussian around a maximum", infer.name));
    infer.laplace().ok_or_else(bug)
}

impl Approximated {
    /// Prepares predictions for rows. The targets of the rows may be unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn predictor<'a>(
        &'a self,
        infer: &'a InferenceBlock,
        rows: (&Rows, bool),
        dataset: &Dataset,
        draws: (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        forecaster(&self.members, (infer, part(infer)?), rows, dataset, draws)
    }

    /// For each member of a mixture, returns the states at its maximum. The list is empty if there is
    /// only one Gaussian.
    pub fn maxima(&self) -> Vec<Arc<StateValues>> {
        match self.members.len() {
            1 => Vec::new(),
            _ => self.members.iter().map(|member| member.values.clone()).collect(),
        }
    }

    /// Returns the Gaussians as arrays with names. The name of an array contains the index of its
    /// member.
    pub fn arrays(&self, infer: &InferenceBlock) -> Vec<PosteriorArray<'_>> {
        let mut arrays = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            let mut own = member.posterior.arrays();
            for state in infer.states.iter().filter(|state| state.parameter) {
                // If there is only one member, its maximum is already in the states of the run.
                if let Some(values) = member.values.get(&state.name).filter(|_| self.members.len() > 1) {
                    own.push((
                        format!("maximum/{}", state.name),
                        vec![values.len()],
                        values.into(),
                    ));
                }
            }
            if let Some(index) = &member.index {
                let numbers: Vec<f64> = index.iter().map(|at| *at as f64).collect();
                own.push(("index".to_owned(), vec![index.len()], numbers.into()));
            }
            let named = own.into_iter();
            arrays.extend(
                named.map(|(name, shape, values)| (format!("{PREFIX}{number}/{name}"), shape, values)),
            );
        }
        arrays
    }

    /// Restores the approximation from the states and the arrays of [`Approximated::arrays`] in the
    /// folder of a run.
    ///
    /// # Errors
    /// Fails if the arrays are damaged or belong to another program.
    pub fn restore(
        infer: &InferenceBlock,
        values: &StateValues,
        arrays: &[PosteriorArray<'_>],
        folder: &Path,
    ) -> Result<Approximated, Stop> {
        let laplace = part(infer)?;
        let mut members = Vec::new();
        let values = Arc::new(values.clone());
        loop {
            let prefix = format!("{PREFIX}{}/", members.len());
            let own: Vec<PosteriorArray> = arrays
                .iter()
                .filter_map(|(name, shape, values)| {
                    let name = name.strip_prefix(&prefix)?;
                    Some((name.to_owned(), shape.clone(), Cow::from(&values[..])))
                })
                .collect();
            if own.is_empty() && !members.is_empty() {
                break;
            }
            let wrong =
                |why: &str| diagnostics::not_a_run(folder, &format!("posterior.safetensors: {why}")).into();
            members.push(restored(laplace, &values, &own, &wrong)?);
        }
        Ok(Approximated {
            fitted: found(values.clone()),
            values: members.first().map_or(values, |member| member.values.clone()),
            members,
            warnings: Vec::new(),
        })
    }
}

/// Arrays that belong to a Gaussian have names with this prefix.
pub const PREFIX: &str = "laplace/";

/// Restores one member from its arrays. `wrong` makes an error from the reason why the arrays do
/// not fit the program.
fn restored(
    laplace: &Laplace,
    values: &Arc<StateValues>,
    arrays: &[PosteriorArray<'_>],
    wrong: &dyn Fn(&str) -> Stop,
) -> Result<Gaussian, Stop> {
    let posterior = GaussianPosterior::from_arrays(arrays).map_err(|error| wrong(&error.to_string()))?;
    let mut maximum = values.as_ref().clone();
    let mut index = None;
    for (name, _, values) in arrays {
        if let Some(state) = name.strip_prefix("maximum/") {
            maximum.insert(state.to_owned(), values.to_vec());
        } else if name == "index" {
            index = Some(values.iter().map(|at| *at as usize).collect::<Vec<usize>>());
        }
    }
    let all = Weights::count(&laplace.weights);
    let is_of = |index: &Vec<usize>| {
        index.len() == posterior.elements()
            && index.is_sorted_by(|a, b| a < b)
            && index.last().is_none_or(|last| *last < all)
    };
    let fits = index.as_ref().map_or(posterior.elements() == all, is_of);
    if !fits || weights(laplace, &maximum).len() != all {
        return Err(wrong("the Gaussian covers other weights"));
    }
    let takes_blocks = laplace.programs.rotated.is_some()
        && laplace.options.structure != Structure::Diagonal
        && index.is_none();
    let blocks = posterior.rotated().map_or(0, |blocks| blocks.len());
    if takes_blocks && blocks != laplace.blocks.len() {
        let why = "the structure of the Gaussian differs from that of the program";
        return Err(wrong(why));
    }
    Ok(Gaussian {
        values: Arc::new(maximum),
        index,
        facts: GaussianFacts {
            weights: posterior.elements(),
            parameters: laplace.parameters,
            prior_scale: 1.0,
            ..GaussianFacts::default()
        },
        posterior,
    })
}

/// Returns a training result for a posterior that was not trained in this run. The statistics of
/// this result are placeholders.
pub fn found(values: Arc<StateValues>) -> TrainingResult {
    TrainingResult {
        values,
        loss: f64::NAN,
        ..TrainingResult::default()
    }
}

/// An approximation in the form that a checkpoint stores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept<'a> {
    fitted: TrainingResult,
    members: Vec<KeptMember<'a>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptMember<'a> {
    values: Arc<StateValues>,
    index: Option<Vec<usize>>,
    arrays: Vec<PosteriorArray<'a>>,
    facts: GaussianFacts,
}

impl<'a> Kept<'a> {
    /// Returns an approximation in the form that a checkpoint stores.
    pub fn of(found: &'a Approximated) -> Kept<'a> {
        let member = |member: &'a Gaussian| KeptMember {
            values: member.values.clone(),
            index: member.index.clone(),
            arrays: member.posterior.arrays(),
            facts: member.facts.clone(),
        };
        Kept {
            fitted: found.fitted.clone(),
            members: found.members.iter().map(member).collect(),
        }
    }

    /// Restores the approximation from this form; `None` if some arrays are missing.
    pub fn restore(self) -> Option<Approximated> {
        let member = |kept: KeptMember| {
            Some(Gaussian {
                values: kept.values,
                index: kept.index,
                posterior: GaussianPosterior::from_arrays(&kept.arrays).ok()?,
                facts: kept.facts,
            })
        };
        let members: Vec<Gaussian> = self.members.into_iter().map(member).collect::<Option<_>>()?;
        Some(Approximated {
            fitted: self.fitted,
            values: members.first()?.values.clone(),
            members,
            warnings: Vec::new(),
        })
    }
}

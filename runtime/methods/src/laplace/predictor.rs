//! Computes predictions from Gaussians of the weights, in blocks of rows.

use crate::laplace::functions::Functions;
use crate::laplace::gaussian::Gaussian;
use crate::laplace::machines::{Evaluator, LikelihoodBlock};
use crate::laplace::moments::OutputMoments;
use crate::laplace::{closed, diagnostics, weights};
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_abi::methods::laplace::{Laplace, Likelihood, Link};
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::{Forecaster, Take};
use bnnc_core::predict::{Predictive, Predictor};
use bnnc_data::{Dataset, Rows};

/// The computation of predictions from linearised outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The predictive distribution is Normal, and includes the noise. The distribution has a closed
    /// form.
    Normal,
    /// Class probabilities are computed from Gaussian logits.
    Classes(closed::ClassLink),
    /// The probability of a Boolean is computed by the probit approximation.
    Truth,
    /// The outputs are drawn.
    Functions,
}

/// Predictions by linearised networks.
pub struct LinearisedPredictor<'a> {
    members: &'a [Gaussian],
    /// One evaluator per member. It evaluates the rows at the maximum of the member.
    evaluations: Vec<Evaluator<'a>>,
    way: Way,
    /// The true classes, if they are known.
    classes: Option<Vec<i32>>,
    draws: usize,
}

/// Prepares predictions from a mixture of Gaussians. The targets of the rows may be unknown.
///
/// # Errors
/// Fails if some columns do not fit the program, if there is too little memory, or if the link does not fit the likelihood.
pub fn forecaster<'a>(
    members: &'a [Gaussian],
    (infer, laplace): (&'a InferenceBlock, &'a Laplace),
    (rows, target): (&Rows, bool),
    dataset: &Dataset,
    (draws, context): (usize, &'a Context),
) -> Result<Box<dyn Forecaster + 'a>, Stop> {
    let Some(first) = members.first() else {
        return Err(Fault::Bug(format!("`{}` has no Gaussian", infer.name)).into());
    };
    // Each member contributes at least one draw.
    let draws = draws.max(members.len());
    if laplace.options.link == Link::Weights {
        let is_weight = |name: &str| laplace.weights.iter().any(|weights| weights.state == name);
        let mut others = first.values.iter().filter(|(name, _)| !is_weight(name));
        let is_shared = |(name, values)| {
            members
                .iter()
                .all(|member| member.values.get(name) == Some(values))
        };
        if !others.all(is_shared) {
            return Err(diagnostics::weights_of_different_noise(&infer.name).into());
        }
        let values = weights::drawn(members, infer, laplace, draws, context);
        let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, target), context)?;
        predictor.set_parameters(&values)?;
        return Ok(Box::new(predictor));
    }
    let way = way(infer, laplace)?;
    let evaluation = Evaluator::new((infer, laplace), &first.values, (rows, target), dataset, context)?;
    Ok(Box::new(LinearisedPredictor {
        members,
        evaluations: members
            .iter()
            .map(|member| evaluation.at(&member.values))
            .collect(),
        way,
        classes: way.classes(infer, (rows, target))?,
        draws,
    }))
}

impl Way {
    /// Returns the true classes of rows. Returns `None` if the likelihood does not have classes, or
    /// if the classes are not known.
    fn classes(
        self,
        infer: &InferenceBlock,
        (rows, target): (&Rows, bool),
    ) -> Result<Option<Vec<i32>>, Stop> {
        match (self, infer.only_output()) {
            (Way::Classes(_) | Way::Truth, Some(output)) if target => {
                Ok(Some(rows.ints(infer.column(output))?))
            }
            (Way::Classes(_) | Way::Truth | Way::Normal | Way::Functions, _) => Ok(None),
        }
    }
}

/// Returns the method of computing predictions from linearised outputs.
pub(super) fn way(infer: &InferenceBlock, laplace: &Laplace) -> Result<Way, Stop> {
    // Predictions have a closed form only if the model has a single output. With several outputs, `elements` is 0, so none of the closed
    // forms below is selected.
    let elements = infer.only_output().map_or(0, Output::elements);
    let kind = infer.only_output().map(|output| &output.kind);
    let is_of_classes = match (laplace.likelihood, kind) {
        (Likelihood::Categorical, Some(OutputKind::Classes(count))) => {
            *count == laplace.outputs && elements == 1
        }
        _ => false,
    };
    let is_truth = laplace.likelihood == Likelihood::Bernoulli && laplace.outputs == 1 && elements == 1;
    let is_normal = laplace.likelihood == Likelihood::Normal && laplace.outputs == elements;
    match laplace.options.link {
        Link::Glm if is_normal => Ok(Way::Normal),
        Link::Glm | Link::Probit if is_of_classes => Ok(Way::Classes(closed::ClassLink::Probit)),
        Link::Glm | Link::Probit if is_truth => Ok(Way::Truth),
        Link::Bridge if is_of_classes => Ok(Way::Classes(closed::ClassLink::Bridge)),
        Link::BridgeNormalised if is_of_classes => Ok(Way::Classes(closed::ClassLink::BridgeNormalised)),
        Link::Glm | Link::MonteCarlo => Ok(Way::Functions),
        Link::Probit | Link::Bridge | Link::BridgeNormalised => Err(diagnostics::no_link(&infer.name).into()),
        Link::Weights => unreachable!("weights are drawn, not linearised"),
    }
}

impl Forecaster for LinearisedPredictor<'_> {
    fn replace_rows(&mut self, _: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop> {
        for evaluation in &mut self.evaluations {
            *evaluation = evaluation.on((rows, false), dataset)?;
        }
        self.classes = None;
        Ok(())
    }

    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop> {
        let pairs = self.evaluations.iter().zip(self.members);
        let mut moments = pairs
            .map(|(evaluation, member)| OutputMoments::new(evaluation, member))
            .collect::<Result<Vec<_>, Stop>>()?;
        let size = moments.iter().map(OutputMoments::size).min().unwrap_or(1);
        let mut functions = match (self.way, self.evaluations.first()) {
            (Way::Functions, Some(evaluation)) => Some(Functions::new(evaluation, size, self.draws)?),
            _ => None,
        };
        let normal = closed::OutputNormals::new(self.draws);
        let mut predictive = Predictive::default();
        let mut from = 0;
        loop {
            let mut members: Vec<(&LikelihoodBlock, &[f64])> = Vec::with_capacity(moments.len());
            for moments in &mut moments {
                members.extend(moments.advance(size)?);
            }
            let Some((first, _)) = members.first() else {
                return Ok(());
            };
            let rows = first.rows.clone();
            debug_assert_eq!(rows.start, from);
            from = rows.end;
            let right = self.classes.as_ref().map(|classes| &classes[rows.clone()]);
            match self.way {
                Way::Normal => normal.write(&members, &mut predictive),
                Way::Classes(how) => closed::classes(how, &members, right, &mut predictive),
                Way::Truth => closed::truth(&members, right, &mut predictive),
                Way::Functions => {
                    if let Some(functions) = &mut functions {
                        functions.write(&self.evaluations, &members, &mut predictive)?;
                    }
                }
            }
            take(rows, &mut predictive);
        }
    }
}

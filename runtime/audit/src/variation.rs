//! Computes the likelihood of a point estimate after some of its values have been changed.

use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::predict::Predictor;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;

/// The training rows, and a point estimate whose values can be changed.
pub struct Variation<'a> {
    predictor: Predictor,
    /// The number of rows.
    rows: f64,
    point: &'a StateValues,
}

impl<'a> Variation<'a> {
    /// Prepares the likelihood of the training rows.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(
        infer: &InferenceBlock,
        found: &'a dyn Posterior,
        dataset: &Dataset,
        context: &Context,
    ) -> Result<Variation<'a>, Stop> {
        Ok(Variation {
            predictor: Predictor::new(infer, &dataset.train, dataset, 1, context)?,
            rows: dataset.train.count as f64,
            point: found.point(),
        })
    }

    /// Multiplies elements of the estimate by `factor`. Returns the log likelihood of the training rows at the changed point, in nats.
    ///
    /// # Errors
    /// Fails if the user interrupts the run.
    pub fn multiplied(&mut self, elements: &[&MultipliedElement<'_>], factor: f64) -> Result<f64, Stop> {
        let mut changed = self.point.clone();
        for element in elements {
            let values = changed.entry(element.state.clone()).or_default();
            values[element.at] *= factor;
        }
        self.predictor.set_parameters(&changed)?;
        Ok(self.rows * self.predictor.log_likelihood()?)
    }
}

/// An element of a parameter, with its value in a point estimate.
pub struct MultipliedElement<'a> {
    /// The parameter.
    pub site: &'a SiteReport,
    state: String,
    /// The index of the element in the parameter.
    pub at: usize,
    /// The value on the unconstrained scale.
    pub value: f64,
}

impl MultipliedElement<'_> {
    /// Returns the name of the element: `al[a]`.
    pub fn name(&self, infer: &InferenceBlock) -> String {
        let shape = self.site.shape.resolve(&Sizes::default());
        infer.names.element(&self.site.name, &shape, self.at)
    }
}

/// Returns the elements of those parameters that `is_wanted` selects.
pub fn elements<'a>(
    infer: &'a InferenceBlock,
    point: &StateValues,
    is_wanted: impl Fn(&SiteReport) -> bool,
) -> Vec<MultipliedElement<'a>> {
    let of_site = |site: &'a SiteReport| {
        let state = site.location();
        let values = point.get(&state).cloned().unwrap_or_default();
        let element = move |(at, value)| MultipliedElement {
            site,
            state: state.clone(),
            at,
            value,
        };
        values.into_iter().enumerate().map(element)
    };
    let sites = infer.reports.iter().filter(|site| is_wanted(site));
    sites.flat_map(of_site).collect()
}

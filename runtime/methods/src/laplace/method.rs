//! Laplace's approximation as an implementation of the trait for methods.

use super::gaussian::{Approximated, PREFIX};
use super::{laplace, memory, weights};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::{Laplace, Link, Weights};
use bnnc_core::context::Stop;
use bnnc_core::memory::{feed, parameters, states, sum};
use bnnc_inference::method::{
    MemoryExtent, Method, MethodInputs, Saved, Summing, drawn_weights, predicting_draws,
};
use bnnc_inference::posterior::SharedPosterior;
use bnnc_inference::summary::{DRAWS, SMALL};
use std::sync::Arc;

/// An inference block whose posterior is a Gaussian around a maximum.
pub struct Approximates<'a> {
    /// The inference block that the method runs.
    pub infer: &'a InferenceBlock,
    /// The plan of the Laplace approximation.
    pub laplace: &'a Laplace,
}

impl Approximates<'_> {
    /// Returns the number of bytes that `members` Gaussians and their maxima take.
    fn gaussians(&self, rows: usize, members: usize) -> u64 {
        let one = memory::held(self.laplace, rows).saturating_add(parameters(self.infer));
        one.saturating_mul(members as u64)
    }
}

impl Method for Approximates<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let starts = (given.starts, given.split);
        let found = laplace(self.infer, given.dataset, starts, given.variances, given.context)?;
        Ok(Arc::new(found))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        let arrays = (saved.arrays)(PREFIX)?;
        let found = Approximated::restore(self.infer, saved.values, &arrays, saved.folder)?;
        Ok(Arc::new(found))
    }

    fn members(&self, before: usize) -> usize {
        before
    }

    fn planned(&self, _: usize, members: usize) -> usize {
        members
    }

    fn held(&self, rows: usize, planned: usize) -> u64 {
        let gaussians = self.gaussians(rows, planned);
        match self.laplace.options.link {
            // The draws of the weights are in memory twice: in the order in which they are drawn, and in the layout of the program.
            Link::Weights => {
                let draws = 2 * self.infer.predictive_draws() as u64 * parameters(self.infer);
                sum(&[gaussians, draws])
            }
            Link::Glm | Link::Probit | Link::Bridge | Link::BridgeNormalised | Link::MonteCarlo => gaussians,
        }
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Approximates { infer, laplace } = *self;
        let (rows, planned) = (extent.rows, extent.planned);
        let online = laplace.options.online;
        let trains = (infer, &laplace.train);
        let searching = match (laplace.search, online) {
            // The restarts of an online search run one after another, because each of them keeps
            // curvatures in memory.
            (true, true) => bnnc_training::memory::one(trains, extent.schema, rows, true),
            (true, false) => bnnc_training::memory::training(trains, extent.schema, rows, false),
            (false, _) => states(infer),
        };
        // The maximum, and the rows in the form that programs read.
        let around = feed(infer, &laplace.programs.rows, rows) + parameters(infer);
        let finding = sum(&[memory::finding(infer, laplace, rows), around]);
        let one = match online {
            // An online search computes curvatures during the search, and keeps the best parameters
            // in memory.
            true => sum(&[searching, finding, parameters(infer)]),
            false => searching.max(finding),
        };
        let before = self.gaussians(rows, planned.saturating_sub(1));
        // While a checkpoint is written, memory contains all Gaussians and their serialised form.
        let written = self.gaussians(rows, planned).saturating_mul(2);
        before.saturating_add(one).max(written)
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Approximates { infer, laplace } = *self;
        let draws = infer.predictive_draws();
        if laplace.options.link == Link::Weights {
            return predicting_draws(infer, extent, draws, (0, drawn_weights(infer)));
        }
        let rows = extent.scored(infer);
        sum(&[
            memory::predicting((infer, laplace), rows, (draws, extent.planned)),
            feed(infer, &laplace.train.step, rows),
        ])
    }

    fn packed(&self, rows: usize) -> u64 {
        memory::packed(self.laplace, rows)
    }

    fn summing(&self, members: usize) -> Summing {
        let all = &self.laplace.weights;
        // For a single Gaussian, the quantiles of weights with real support have a closed form. A
        // few draws show which weights have real support.
        let is_known = |weights: &Weights| weights.real || weights.elements > SMALL;
        let is_exact = members == 1 && all.iter().all(is_known);
        let elements = Weights::count(all);
        let draws = if is_exact { 2 } else { DRAWS };
        // While a block of draws is computed, memory contains the noise, a copy of the noise, and
        // the weights that are computed from the noise.
        let noise = 3 * weights::at_once(elements).min(draws) * elements;
        Summing {
            draws,
            weights: elements as u64,
            noise: noise as u64,
        }
    }
}

//! Predictions in closed form from linearised outputs, for the Normal likelihood, classes and
//! Booleans. The predictions of several members are a mixture with equal weights.

use crate::laplace::machines::LikelihoodBlock;
use bnnc_core::predict::{PROBABILITIES, Predictive};
use bnnc_data::metrics::log_mean_exp;
use bnnc_laplace::link;

/// The likelihood of a block of rows under one member, and the covariances
/// `[batch, outputs, outputs]` of the outputs.
pub type MemberBlock<'a> = (&'a LikelihoodBlock, &'a [f64]);

/// Predictions for outputs with a Normal distribution around `f`. The predictions consist of
/// quantiles instead of draws. Draw `d` of `D` is the quantile for the probability `(d + 1/2) / D`.
pub struct OutputNormals {
    /// The probabilities of the quantiles.
    probabilities: Vec<f64>,
    /// The quantiles of the standard Normal distribution for these probabilities.
    quantiles: Vec<f64>,
    /// The quantiles of the standard Normal distribution for [`PROBABILITIES`].
    exact: [f64; 3],
}

/// The distribution of one output of one row under one member.
#[derive(Clone, Copy, Debug, Default)]
struct Marginal {
    mean: f64,
    epistemic: f64,
    aleatoric: f64,
    total: f64,
}

impl OutputNormals {
    /// Prepares predictions that consist of `draws` quantiles.
    pub fn new(draws: usize) -> OutputNormals {
        let probabilities: Vec<f64> = (0..draws)
            .map(|draw| (draw as f64 + 0.5) / draws as f64)
            .collect();
        let quantiles = probabilities
            .iter()
            .map(|p| link::standard_quantile(*p))
            .collect();
        OutputNormals {
            probabilities,
            quantiles,
            exact: PROBABILITIES.map(link::standard_quantile),
        }
    }

    /// Writes the predictions of a block. Two values are computed from derivatives of the log
    /// likelihood. The scale `sigma` comes from the curvature `1 / sigma^2`, and the target `y`
    /// from the slope `(y - f) / sigma^2`.
    pub fn write(&self, members: &[MemberBlock], predictive: &mut Predictive) {
        let Some((first, _)) = members.first() else { return };
        let (rows, draws) = (first.rows.len(), self.quantiles.len());
        let outputs = first.outputs.len() / rows.max(1);
        (predictive.rows, predictive.draws) = (rows, draws);
        predictive.log_likelihood.clear();
        predictive.probabilities.clear();
        let elements = rows * outputs;
        for (values, size) in [
            (&mut predictive.mean, draws * elements),
            (&mut predictive.draw, draws * elements),
            (&mut predictive.epistemic, elements),
            (&mut predictive.aleatoric, elements),
        ] {
            values.clear();
            values.resize(size, 0.0);
        }
        predictive.quantiles.iter_mut().for_each(|values| {
            values.clear();
            values.resize(elements, 0.0);
        });
        if let [member] = members {
            self.of_one(member, (elements, outputs), predictive);
        } else {
            let mut marginals = Vec::with_capacity(members.len());
            for element in 0..elements {
                marginals.clear();
                marginals.extend(members.iter().map(|member| marginal(member, element, outputs)));
                self.mixture(&marginals, (element, elements), predictive);
            }
        }
        let mut density = Density::new(outputs);
        for row in 0..rows {
            let each: Vec<f64> = members.iter().map(|member| density.of(member, row)).collect();
            predictive.log_likelihood.push(log_mean_exp(each.into_iter()));
        }
    }

    /// Writes all outputs of all rows under one member. The quantiles are written one after
    /// another, in memory order.
    fn of_one(&self, member: &MemberBlock, (elements, outputs): (usize, usize), predictive: &mut Predictive) {
        let marginals: Vec<Marginal> = (0..elements)
            .map(|element| marginal(member, element, outputs))
            .collect();
        let draws = predictive.mean.chunks_exact_mut(elements.max(1));
        let draws = draws.zip(predictive.draw.chunks_exact_mut(elements.max(1)));
        for ((mean, draw), z) in draws.zip(&self.quantiles) {
            for ((mean, draw), one) in mean.iter_mut().zip(draw).zip(&marginals) {
                (*mean, *draw) = (one.mean + z * one.epistemic, one.mean + z * one.total);
            }
        }
        for (values, z) in predictive.quantiles.iter_mut().zip(self.exact) {
            for (value, one) in values.iter_mut().zip(&marginals) {
                *value = one.mean + z * one.total;
            }
        }
        let deviations = predictive.epistemic.iter_mut().zip(&mut predictive.aleatoric);
        for ((epistemic, aleatoric), one) in deviations.zip(&marginals) {
            (*epistemic, *aleatoric) = (one.epistemic, one.aleatoric);
        }
    }

    /// Writes one output of one row under several members.
    fn mixture(&self, marginals: &[Marginal], (at, elements): (usize, usize), predictive: &mut Predictive) {
        let all = |of: fn(&Marginal) -> f64| marginals.iter().map(of).collect::<Vec<f64>>();
        let means = all(|one| one.mean);
        let epistemic = all(|one| one.epistemic);
        let total = all(|one| one.total);
        for (draw, probability) in self.probabilities.iter().enumerate() {
            let quantile = |deviations: &[f64]| link::mixture_quantile(*probability, &means, deviations);
            predictive.mean[draw * elements + at] = quantile(&epistemic);
            predictive.draw[draw * elements + at] = quantile(&total);
        }
        for (values, probability) in predictive.quantiles.iter_mut().zip(PROBABILITIES) {
            values[at] = link::mixture_quantile(probability, &means, &total);
        }
        let count = marginals.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        // The mean of equally spaced quantiles differs slightly from the mean of the distribution
        // if the distribution is skewed. The shift removes this difference.
        for values in [&mut predictive.mean, &mut predictive.draw] {
            let own = (at..values.len()).step_by(elements);
            let missed = mean - own.clone().map(|own| values[own]).sum::<f64>() / self.quantiles.len() as f64;
            own.for_each(|own| values[own] += missed);
        }
        // The variance of a mixture: the mean of the variances plus the variance of the means.
        let within = marginals
            .iter()
            .map(|one| one.epistemic.powi(2) + (one.mean - mean).powi(2));
        predictive.epistemic[at] = (within.sum::<f64>() / count).sqrt();
        let noise: f64 = marginals.iter().map(|one| one.aleatoric.powi(2)).sum();
        predictive.aleatoric[at] = (noise / count).sqrt();
    }
}

/// For each row of a block, returns the moments of one element of the outputs.
fn marginal((block, covariance): &MemberBlock, element: usize, outputs: usize) -> Marginal {
    let (row, output) = (element / outputs, element % outputs);
    let square = (row * outputs + output) * outputs + output;
    let deviation = link::deviation(covariance[square], 1.0 / block.curvature[square]);
    Marginal {
        mean: block.outputs[element],
        epistemic: deviation.epistemic,
        aleatoric: deviation.aleatoric,
        total: deviation.total,
    }
}

/// The log densities of observed rows.
struct Density {
    normal: link::Normal,
    noise: Vec<f64>,
    target: Vec<f64>,
}

impl Density {
    fn new(outputs: usize) -> Density {
        Density {
            normal: link::Normal::new(outputs),
            noise: vec![0.0; outputs],
            target: vec![0.0; outputs],
        }
    }

    fn of(&mut self, (block, covariance): &MemberBlock, row: usize) -> f64 {
        let outputs = self.noise.len();
        let mean = &block.outputs[row * outputs..(row + 1) * outputs];
        for (output, mean) in mean.iter().enumerate() {
            let at = row * outputs + output;
            self.noise[output] = 1.0 / block.curvature[at * outputs + output];
            self.target[output] = mean + block.slope[at] * self.noise[output];
        }
        let square = outputs * outputs;
        let covariance = &covariance[row * square..(row + 1) * square];
        self.normal
            .log_density(mean, covariance, &self.noise, &self.target)
    }
}

/// The method that maps Gaussian logits to probabilities of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassLink {
    /// The probit approximation.
    Probit,
    /// The Laplace bridge.
    Bridge,
    /// The normalised Laplace bridge.
    BridgeNormalised,
}

/// Writes the probabilities of classes, and the log likelihood if the true classes are known.
pub fn classes(how: ClassLink, members: &[MemberBlock], right: Option<&[i32]>, predictive: &mut Predictive) {
    let link: fn(&[f64], &[f64], &mut [f64]) = match how {
        ClassLink::Probit => link::probit,
        ClassLink::Bridge => link::bridge,
        ClassLink::BridgeNormalised => link::bridge_normalised,
    };
    let Some((first, _)) = members.first() else { return };
    let rows = first.rows.len();
    let count = first.outputs.len() / rows.max(1);
    (predictive.rows, predictive.draws) = (rows, 1);
    predictive.log_likelihood.clear();
    predictive.probabilities.clear();
    let mut logs = vec![vec![0.0; count]; members.len()];
    for row in 0..rows {
        for ((block, covariance), log) in members.iter().zip(&mut logs) {
            let mean = &block.outputs[row * count..(row + 1) * count];
            let square = count * count;
            link(mean, &covariance[row * square..(row + 1) * square], log);
        }
        let of_class = |class: usize| log_mean_exp(logs.iter().map(|log| log[class]));
        predictive
            .probabilities
            .extend((0..count).map(|class| of_class(class).exp()));
        let class = right.and_then(|right| usize::try_from(right[row]).ok());
        let known = class.filter(|class| *class < count);
        predictive.log_likelihood.push(known.map_or(f64::NAN, of_class));
    }
}

/// Writes the probability that the Boolean is true, and the log likelihood if the true value is
/// known.
pub fn truth(members: &[MemberBlock], right: Option<&[i32]>, predictive: &mut Predictive) {
    let Some((first, _)) = members.first() else { return };
    let rows = first.rows.len();
    (predictive.rows, predictive.draws) = (rows, 1);
    predictive.log_likelihood.clear();
    predictive.mean.clear();
    for row in 0..rows {
        let each = members
            .iter()
            .map(|(block, covariance)| link::probit_truth(block.outputs[row], covariance[row]));
        let each: Vec<[f64; 2]> = each.collect();
        let of = |value: usize| log_mean_exp(each.iter().map(|log| log[value]));
        predictive.mean.push(of(1).exp());
        let value = right.map(|right| usize::from(right[row] != 0));
        predictive.log_likelihood.push(value.map_or(f64::NAN, of));
    }
}

//! Writes the report's sentence about sites that may be collapsed. It describes the integrated
//! weights, the box, and the accuracy.

use bnnc_abi::methods::collapsed::{
    BoxExtent, CollapsedSettings, LikelihoodNoise, LocationForm, MOST_CUT, MOST_SIMPLICES, Sigmoid,
};
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_rewrite::methods::collapse::Collapse;

/// Describes the integral over the sites that may be collapsed. The result is a sentence without a
/// full stop.
pub fn treated(found: &Collapse, options: &CollapsedSettings) -> String {
    let extent = match options.extent {
        BoxExtent::Range => "the range of the iterates",
        BoxExtent::Moments => {
            "the mean of the iterates plus and minus the square root of 3 standard deviations"
        }
    };
    if let LocationForm::Sampled(reason) = &found.form {
        return format!("drawn from its box, {extent}: {reason}");
    }
    let (which, how, form) = (which(found, options), how(found, options), form(found, options));
    let held = if found.held {
        ", with its scale fixed at the value in the iterate"
    } else {
        ""
    };
    format!("{which}, {extent}, {how}{held}: {form}")
}

/// Describes the integrated weights.
fn which(found: &Collapse, options: &CollapsedSettings) -> String {
    let rows = match options.fixed {
        true => "with the largest mean effect on the training rows",
        false => "with the largest effect on a row",
    };
    let always = options
        .always
        .iter()
        .map(|at| format!(" and all weights of `{}`", found.weights[*at].site));
    let always: String = always.collect();
    let which = match options.weights {
        0 => "integrated over its box".to_owned(),
        1 if always.is_empty() => format!("the weight {rows} is integrated over its box"),
        1 => format!("the weight {rows}{always} are integrated over their box"),
        count => format!("the {count} weights {rows}{always} are integrated over their box"),
    };
    match (options.units, options.is_published()) {
        (0, _) => which,
        (1, true) => format!("of the weights that feed the first unit, {which}"),
        (count, true) => format!("of the weights that feed the first {count} units, {which}"),
        (1, false) => {
            format!("of the weights that feed the unit with the largest effect on the outputs, {which}")
        }
        (count, false) => {
            format!(
                "of the weights that feed the {count} units with the largest effect on the outputs, {which}"
            )
        }
    }
}

/// Describes the density that replaces the likelihood in the integral.
fn how(found: &Collapse, options: &CollapsedSettings) -> &'static str {
    match (found.likelihood, options.sigmoid, options.noise) {
        (Likelihood::Categorical, Sigmoid::Exact, _) => {
            "for each class with the logits of the other classes at the iterate"
        }
        (Likelihood::Categorical | Likelihood::Bernoulli, Sigmoid::Cubic, _) => {
            "with a cubic instead of the sigmoid"
        }
        (Likelihood::Normal, _, LikelihoodNoise::Triangular { .. }) => "with triangular noise",
        (Likelihood::Normal, _, LikelihoodNoise::Published { .. }) => {
            "with triangular noise, truncated to the range of the known targets"
        }
        (Likelihood::Normal | Likelihood::Bernoulli | Likelihood::Other, _, _) => {
            "with the likelihood of the model"
        }
    }
}

/// Describes how the location depends on the weights, and for which weights the integral is
/// therefore exact.
fn form(found: &Collapse, options: &CollapsedSettings) -> String {
    let (kinks, direct) = match &found.form {
        LocationForm::Affine => {
            return "the integral is exact, because the location is affine in the weights".to_owned();
        }
        LocationForm::Sampled(reason) => return reason.clone(),
        LocationForm::Piecewise { kinks, direct } => (*kinks, *direct),
    };
    let elements: usize = found.weights.iter().map(|weights| weights.elements).sum();
    let at_once = match options.weights {
        0 => elements,
        count => {
            let always = options.always.iter().map(|at| found.weights[*at].elements);
            elements.min(count + always.sum::<usize>())
        }
    };
    let draws = format!("by {} draws per iterate", options.draws);
    let is_nested = direct < kinks;
    let closed = match is_nested {
        true => "the integral is exact where the box of a row crosses no kink",
        false => {
            "the integral is exact where the kinks that the box of a row crosses do not share weights, and each kink is flat on one side, like a ReLU"
        }
    };
    let cut = match options.units == 0 && at_once > MOST_CUT && is_nested {
        true => format!(
            "elsewhere it is estimated {draws}, because a box of {at_once} weights is not cut into pieces (up to {MOST_CUT} weights would be: `weights = {MOST_CUT}`)"
        ),
        false => {
            let bound = bound((kinks, direct), at_once).filter(|_| options.units == 0 && at_once <= MOST_CUT);
            let weights = if at_once == 1 { "weight" } else { "weights" };
            let bound = bound.map_or(String::new(), |bound| {
                format!(" ({at_once} {weights} and {kinks} kinks make at most {bound} pieces)")
            });
            format!(
                "elsewhere it is summed over pieces if these are at most {MOST_SIMPLICES} simplices of at most {MOST_CUT} weights{bound}, and estimated {draws} otherwise"
            )
        }
    };
    format!("the location is affine in the weights between {kinks} kinks; {closed}; {cut}")
}

/// Returns an upper bound of the number of pieces into which kinks cut a box of `weights`
/// dimensions. For kinks that do not depend on others, it is the largest number of regions between
/// hyperplanes (Zaslavsky 1975). Each other kink doubles it. Returns `None` if the bound is 1e100
/// or more, because such a number would not help the reader.
fn bound((kinks, direct): (usize, usize), weights: usize) -> Option<String> {
    let mut choices = 1.0;
    let mut pieces = 1.0;
    for taken in 1..=weights.min(direct) {
        choices *= (direct + 1 - taken) as f64 / taken as f64;
        pieces += choices;
    }
    let behind = i32::try_from(kinks - direct).unwrap_or(i32::MAX);
    let all = pieces * 2.0_f64.powi(behind);
    match all {
        few if few < 1e6 => Some(format!("{few:.0}")),
        many if many < 1e100 => Some(format!("{many:.1e}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three lines in general position divide the plane into seven regions. If the number of
    /// weights is at least the number of kinks, the number of regions is 2^kinks.
    #[test]
    fn pieces_are_bounded_by_the_regions_of_an_arrangement() {
        let bound = |kinks, weights| bound(kinks, weights).unwrap_or_default();
        assert_eq!(bound((3, 3), 2), "7");
        assert_eq!(bound((3, 3), 5), "8");
        assert_eq!(bound((4, 4), 1), "5");
        // One kink does not depend on other kinks, and two kinks depend on it.
        assert_eq!(bound((3, 1), 2), "8");
        assert_eq!(bound((4000, 2000), 2), "");
        assert_eq!(
            bound((60, 60), 30),
            format!("{:.1e}", (2.0_f64.powi(60) + 118_264_581_564_861_424.0) / 2.0)
        );
    }
}

//! Chooses the distribution of the output.

use super::facts::{ColumnFacts, ColumnMoments};
use super::guess::is_named_as_groups;
use bnnc_base::number::rounded;
use bnnc_base::reasons;

/// The distribution of the output, and the numbers from the data on which the program's priors depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputLikelihood {
    /// Standardised reals.
    Normal,
    /// Standardised reals with outliers.
    StudentT,
    /// Positive numbers. The fields are the mean and the standard deviation of their logarithm.
    LogNormal(f64, f64),
    /// Positive numbers, many of which are close to zero. The fields are the mean and the standard
    /// deviation of their logarithm.
    Gamma(f64, f64),
    /// The integers 0 and 1.
    Bernoulli,
    /// Two integers other than 0 and 1. The model predicts the probability of the integer in the
    /// field.
    Either(i64),
    /// Two different texts.
    TwoTexts,
    /// Three or more classes.
    Classes,
    /// Counts. The field is the logarithm of their mean.
    Poisson(f64),
    /// Counts with more variance than in a Poisson distribution. The fields are the logarithm of
    /// their mean, and the logarithm of the dispersion that their mean and variance imply.
    NegativeBinomial(f64, f64),
}

impl OutputLikelihood {
    /// The name of the distribution.
    pub fn name(self) -> &'static str {
        match self {
            OutputLikelihood::Normal => "Normal",
            OutputLikelihood::StudentT => "StudentT",
            OutputLikelihood::LogNormal(..) => "LogNormal",
            OutputLikelihood::Gamma(..) => "Gamma",
            OutputLikelihood::Bernoulli | OutputLikelihood::Either(_) => "Bernoulli",
            OutputLikelihood::TwoTexts | OutputLikelihood::Classes => "Categorical",
            OutputLikelihood::Poisson(_) => "Poisson",
            OutputLikelihood::NegativeBinomial(..) => "NegativeBinomial",
        }
    }

    /// Returns whether the output has classes. Each class needs training rows.
    pub fn has_classes(self) -> bool {
        matches!(
            self,
            OutputLikelihood::Bernoulli
                | OutputLikelihood::Either(_)
                | OutputLikelihood::TwoTexts
                | OutputLikelihood::Classes
        )
    }

    /// Returns whether the output is standardised.
    pub fn is_standardised(self) -> bool {
        matches!(self, OutputLikelihood::Normal | OutputLikelihood::StudentT)
    }
}

/// A likelihood, and the reason for its choice in one or two sentences.
pub type LikelihoodChoice = (OutputLikelihood, String);

/// The largest number of different values in an output that is taken as classes.
const MOST_CLASSES: usize = 50;

/// Integers from 0 upwards may be classes or counts. If there are more than `FEW_CLASSES` values,
/// equal frequencies are a sign of classes, but only if each value has at least `CLEAR_ROWS` rows.
/// With fewer rows, counts could have such frequencies by chance.
const FEW_CLASSES: usize = 4;
const CLEAR_ROWS: usize = 5;

/// Positive integers are taken as counts of events only if their mean is at most this. With a
/// larger mean, the gaps between integers are negligible, and the integers are taken as reals.
const LARGEST_COUNT: f64 = 100.0;

/// A bound on the ratio of variance to mean. Counts of events are rarely below it; ratings and
/// bounded counts often are.
const LARGEST_RATING_RATIO: f64 = 0.8;

reasons! {
    /// The reason why a column cannot be an output.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UnusableOutput {
        /// The column has the same value in every row.
        Constant = "it has the same value in every row";
        /// The column contains different integers that are equal in double precision.
        Rounded = "it has integers beyond 2^53, which reals cannot tell apart";
        /// The column contains texts that look like numbers.
        NumbersAsText = "its numbers are written as text";
        /// The column contains texts. The fields are the number of different values and the number of rows.
        Texts(values: usize, rows: usize) = "it is text with {values} different values in {rows} rows";
    }
}

/// Chooses the distribution of the output from the facts about its values.
///
/// # Errors
/// Fails if the column cannot be an output.
pub fn choose(name: &str, facts: &ColumnFacts) -> Result<LikelihoodChoice, UnusableOutput> {
    match &facts.texts {
        _ if facts.distinct < 2 => Err(UnusableOutput::Constant),
        _ if facts.is_rounded => Err(UnusableOutput::Rounded),
        Some(texts) => of_text(facts, texts),
        None if facts.whole && facts.fits_integers() => Ok(of_integers(name, facts)),
        None => Ok(of_reals(facts)),
    }
}

fn of_text(facts: &ColumnFacts, texts: &[String]) -> Result<LikelihoodChoice, UnusableOutput> {
    let count = texts.len();
    if count > MOST_CLASSES || count * 3 > facts.rows.max(6) {
        return Err(match facts.is_numbers_as_text() {
            true => UnusableOutput::NumbersAsText,
            false => UnusableOutput::Texts(count, facts.rows),
        });
    }
    Ok(match texts {
        [first, second] => {
            let (first, second) = (super::facts::shown(first), super::facts::shown(second));
            let why = format!(
                "The output is one of two texts. `eta` is the logit of the probability of `{second}`; the classes are in the order in which they \
                 first appear, so that 0 stands for `{first}`."
            );
            (OutputLikelihood::TwoTexts, why)
        }
        _ => {
            let why = format!(
                "The output is one of {count} classes. `eta` has a number for each class: the larger it is, the more probable is the class."
            );
            (OutputLikelihood::Classes, why)
        }
    })
}

fn of_integers(name: &str, facts: &ColumnFacts) -> LikelihoodChoice {
    let (low, high) = facts.extent();
    let moments = facts.moments(|x| x);
    if facts.distinct == 2 && (low, high) == (0.0, 1.0) {
        let why = "The output is 0 or 1. `eta` is the logit of the probability of 1: 0 means one half, 2 means 0.88.";
        return (OutputLikelihood::Bernoulli, why.to_owned());
    }
    if facts.distinct == 2 {
        let why = format!(
            "The output is {low} or {high}. The data item turns it into 0 and 1, and `eta` is the logit of the probability of {high}: 0 means one half, \
             2 means 0.88."
        );
        return (OutputLikelihood::Either(high as i64), why);
    }
    let are_classes = low == 0.0 && high + 1.0 == facts.distinct as f64 && facts.distinct <= 10;
    let is_clear = facts.distinct <= FEW_CLASSES || facts.rarest >= CLEAR_ROWS;
    let are_balanced = is_clear && facts.rarest * 2 >= facts.commonest;
    if are_classes && (are_balanced || is_named_as_groups(name)) {
        let why = format!(
            "The output is one of the classes 0 to {high}. `eta` has a number for each class: the larger it is, the more probable is the class. \
             If the numbers are counts, use `Poisson` instead."
        );
        return (OutputLikelihood::Classes, why);
    }
    let ratio = moments.variance / moments.mean;
    if low < 0.0 || (low > 0.0 && moments.mean > LARGEST_COUNT) {
        return of_reals(facts);
    }
    if ratio < 0.5 {
        let why = "The output is a whole number whose variance is less than half its mean. Counts of events vary more, so \
                   the model treats the output as a number with normal noise. If the output is a rating, see the recipe on \
                   ordinal regression in the book.";
        return (OutputLikelihood::Normal, why.to_owned());
    }
    if ratio < LARGEST_RATING_RATIO && low > 0.0 && high - low + 1.0 == facts.distinct as f64 && high <= 10.0
    {
        let why = format!(
            "The output is a whole number from {low} to {high} and never 0, so it is probably a rating and not a count. The \
             model treats the output as a number with normal noise. For a model of ordered classes, see the recipe on \
             ordinal regression in the book."
        );
        return (OutputLikelihood::Normal, why);
    }
    of_counts(facts, moments)
}

/// A comment mentions the zeros if their number is above its expectation by more than this number
/// of standard deviations. With two standard deviations, the comment is wrong for one table in
/// forty.
const EXTRA_ZEROS: f64 = 2.0;

/// Returns a remark if there are too many zeros for a distribution in which zero has this
/// probability.
fn many_zeros(facts: &ColumnFacts, probability: f64) -> Option<String> {
    let (zeros, rows) = (facts.zeros(), facts.rows as f64);
    let expected = rows * probability;
    let is_many = zeros as f64 > expected + EXTRA_ZEROS * (expected * (1.0 - probability)).sqrt() + 1.0;
    is_many.then(|| {
        format!(
            " {zeros} of {rows} counts are 0; without inputs, this distribution has about {expected:.0}. If zeros may have a cause of \
             their own, see the recipe on counts with too many zeros in the book."
        )
    })
}

fn of_counts(facts: &ColumnFacts, moments: ColumnMoments) -> LikelihoodChoice {
    let ratio = moments.variance / moments.mean;
    let log_mean = moments.mean.ln();
    let ratio_text = rounded(ratio, 2);
    match ratio <= 1.5 {
        true => {
            let zeros = many_zeros(facts, (-moments.mean).exp()).unwrap_or_default();
            let otherwise = match ratio < LARGEST_RATING_RATIO {
                true => {
                    "If the counts cannot exceed a known number of trials, use `Binomial`; for a rating, see the recipe on ordinal regression in the book."
                }
                false => "If intervals cover too few counts, use `NegativeBinomial`.",
            };
            let why = format!(
                "The output is a count whose variance is {ratio_text} times its mean. For a Poisson distribution, this ratio \
                 is 1. `eta` is the logarithm of the mean count. {otherwise}{zeros}"
            );
            (OutputLikelihood::Poisson(log_mean), why)
        }
        false => {
            let dispersion = moments.mean.powi(2) / (moments.variance - moments.mean);
            let of_zero = (dispersion / (dispersion + moments.mean)).powf(dispersion);
            let zeros = many_zeros(facts, of_zero).unwrap_or_default();
            let why = format!(
                "The output is a count whose variance is {ratio_text} times its mean. For a Poisson distribution, this ratio \
                 is 1. `eta` is the logarithm of the mean count. The smaller `dispersion` is, the more the counts vary: their \
                 variance is `mean + mean ^ 2 / dispersion`. The prior of `dispersion` lies around the value that this ratio implies, and \
                 allows values ten times as small or as large.{zeros}"
            );
            (OutputLikelihood::NegativeBinomial(log_mean, dispersion.ln()), why)
        }
    }
}

fn of_reals(facts: &ColumnFacts) -> LikelihoodChoice {
    let (low, high) = facts.extent();
    let plain = facts.moments(|x| x);
    // Taking logarithms removes skewness only if the largest value is more than twice the smallest.
    // Otherwise, the values are skewed above an offset, and their logarithms are skewed too.
    if low > 0.0 && high > 2.0 * low && plain.skewness > 1.0 {
        let log = facts.moments(f64::ln);
        let ends = (log.mean, log.sd());
        return match log.skewness < -0.5 {
            true => (
                OutputLikelihood::Gamma(ends.0, ends.1),
                "The output is positive, and many values are close to zero. `eta` is the logarithm of its mean, so an effect multiplies the output: \
                 0.1 means about 10 % more. The larger `shape` is, the less the output varies."
                    .to_owned(),
            ),
            false => (
                OutputLikelihood::LogNormal(ends.0, ends.1),
                "The output is positive, and a few values are much larger than the others. `eta` is the logarithm of its median, so an effect multiplies \
                 the output: 0.1 means about 10 % more."
                    .to_owned(),
            ),
        };
    }
    let far = facts.far_out();
    if far * 10_000 > facts.rows {
        let rows = match far {
            1 => "one row lies".to_owned(),
            far => format!("{far} rows lie"),
        };
        let why = format!(
            "The output is a number, and {rows} far from all others. A `StudentT` has heavy tails, so that such rows do not determine the fit; `df` measures \
             how heavy. Without outliers, `Normal(eta, sigma)` is enough."
        );
        return (OutputLikelihood::StudentT, why);
    }
    let mut why = "The output is a number that scatters around `eta` with the standard deviation `sigma`. If there are outliers, use `StudentT(4, eta, sigma)`."
        .to_owned();
    if 0.0 < low && high < 1.0 {
        why += " All values lie between 0 and 1; for a proportion, `Beta` has no predictions outside.";
    }
    (OutputLikelihood::Normal, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_data::table::ArrayValues;

    fn of(values: ArrayValues) -> OutputLikelihood {
        let rows: Vec<usize> = (0..values.len()).collect();
        choose("y", &ColumnFacts::of(&values, &rows))
            .expect("an output")
            .0
    }

    #[test]
    fn counts_are_chosen_by_the_ratio_of_variance_to_mean() {
        // The mean is 2 and the variance is 2.25, so their ratio is near 1.
        assert!(
            matches!(of(ArrayValues::Int(vec![0, 2, 4, 1, 3, 2, 0, 4])), OutputLikelihood::Poisson(log) if (log - 2f64.ln()).abs() < 1e-12)
        );
        // The mean is 5 and the variance is 19, so the counts vary more than in a Poisson
        // distribution. The dispersion with this variance is 5^2 / (19 - 5).
        assert!(matches!(
            of(ArrayValues::Int(vec![0, 0, 0, 10, 10, 10, 4, 6])),
            OutputLikelihood::NegativeBinomial(log_mean, log_dispersion)
                if (log_mean - 5f64.ln()).abs() < 1e-12 && (log_dispersion - (25f64 / 14.0).ln()).abs() < 1e-12
        ));
        // The mean is 3 and the variance is 2/3, so the values vary too little for counts.
        assert_eq!(
            of(ArrayValues::Int(vec![2, 3, 4, 2, 3, 4])),
            OutputLikelihood::Normal
        );
        assert_eq!(
            of(ArrayValues::Int(vec![0, 1, 2, 0, 1, 2])),
            OutputLikelihood::Classes
        );
        // Each integer from 0 to 4 occurs in every fifth row.
        assert_eq!(
            of(ArrayValues::Int((0..60).map(|row| row % 5).collect())),
            OutputLikelihood::Classes
        );
        // The values are ratings with mean 3 and variance 1.6.
        assert_eq!(
            of(ArrayValues::Int([1, 1, 2, 3, 3, 3, 4, 4, 5, 4].repeat(9))),
            OutputLikelihood::Normal
        );
        assert_eq!(
            of(ArrayValues::Int(vec![1, 2, 2, 1])),
            OutputLikelihood::Either(2)
        );
        assert_eq!(
            of(ArrayValues::Int(vec![-3, 2, 4, 1, -1])),
            OutputLikelihood::Normal
        );
    }

    #[test]
    fn positive_numbers_are_chosen_by_the_skewness_of_their_logarithm() {
        let grid =
            |of: fn(f64) -> f64| ArrayValues::Real((1..200).map(|i| of(f64::from(i) / 200.0)).collect());
        // The values of the first case are exponentials of the quantiles of a logistic variable.
        // The values of the second case are quantiles of an exponential variable.
        assert!(matches!(
            of(grid(|p| p / (1.0 - p))),
            OutputLikelihood::LogNormal(..)
        ));
        assert!(matches!(
            of(grid(|p| -(1.0 - p).ln())),
            OutputLikelihood::Gamma(..)
        ));
        assert_eq!(of(grid(|p| 10.0 + p)), OutputLikelihood::Normal);
        // The values are quantiles of an exponential variable plus a large offset. Effects on such
        // values are additive. A log-normal or gamma likelihood would therefore be a wrong choice.
        assert_eq!(of(grid(|p| 1000.0 - (1.0 - p).ln())), OutputLikelihood::StudentT);
        // The values are quantiles of a Cauchy variable, so some of them are outliers.
        assert_eq!(
            of(grid(|p| (std::f64::consts::PI * (p - 0.5)).tan())),
            OutputLikelihood::StudentT
        );
    }
}

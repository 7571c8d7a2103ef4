//! Collects facts about the values of a column. From these facts, `bnnc new` guesses how the column
//! is used.

use bnnc_abi::data::LARGEST_INTEGER;
use bnnc_base::number::rounded;
use bnnc_data::table::ArrayValues;
use std::collections::{HashMap, HashSet};

/// Facts about the values of a column in a set of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnFacts {
    /// The number of rows.
    pub rows: usize,
    /// The number of different values.
    pub distinct: usize,
    /// The number of rows that have the rarest value.
    pub rarest: usize,
    /// The number of rows that have the most frequent value.
    pub commonest: usize,
    /// The different texts in order of first appearance; `None` for a column of numbers.
    pub texts: Option<Vec<String>>,
    /// The values in the order of the rows. The list is empty if the values are texts.
    numbers: Vec<f64>,
    /// True if all values are integers.
    pub whole: bool,
    /// True if the column contains two different integers that are equal in double precision.
    pub is_rounded: bool,
}

impl ColumnFacts {
    /// Collects the facts about a column in the rows `rows`.
    pub fn of(values: &ArrayValues, rows: &[usize]) -> ColumnFacts {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        let mut order: Vec<usize> = Vec::new();
        // Integers are compared as integers, because different integers beyond 2^53 may be equal in
        // double precision.
        let key = |row: usize| match values {
            ArrayValues::Int(values) => values[row] as u64,
            _ => values.real(row).to_bits(),
        };
        for &row in rows {
            let count = counts.entry(key(row)).or_insert(0);
            *count += 1;
            if *count == 1 {
                order.push(row);
            }
        }
        let texts = match values {
            ArrayValues::Level { codes, levels } => {
                let text = |row: &usize| levels.get(codes[*row] as usize).cloned().unwrap_or_default();
                Some(order.iter().map(text).collect())
            }
            ArrayValues::Byte(_) | ArrayValues::Int(_) | ArrayValues::Real(_) => None,
        };
        let numbers: Vec<f64> = match texts {
            Some(_) => Vec::new(),
            None => rows.iter().map(|row| values.real(*row)).collect(),
        };
        let reals: HashSet<u64> = numbers.iter().map(|number| number.to_bits()).collect();
        ColumnFacts {
            is_rounded: texts.is_none() && reals.len() < counts.len(),
            rows: rows.len(),
            distinct: counts.len(),
            rarest: counts.values().copied().min().unwrap_or(0),
            commonest: counts.values().copied().max().unwrap_or(0),
            texts,
            whole: !numbers.is_empty() && matches!(values, ArrayValues::Byte(_) | ArrayValues::Int(_)),
            numbers,
        }
    }

    /// Returns the smallest and the largest number.
    pub fn extent(&self) -> (f64, f64) {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let all = self.numbers.iter();
        all.fold(ends, |(low, high), value| (low.min(*value), high.max(*value)))
    }

    /// Applies a function to the numbers, and returns the mean, the variance and the skewness of
    /// the results.
    pub fn moments(&self, of: impl Fn(f64) -> f64) -> ColumnMoments {
        let n = self.numbers.len() as f64;
        let mean = self.numbers.iter().map(|x| of(*x)).sum::<f64>() / n;
        let central = |power: i32| {
            self.numbers
                .iter()
                .map(|x| (of(*x) - mean).powi(power))
                .sum::<f64>()
                / n
        };
        let variance = central(2);
        ColumnMoments {
            mean,
            variance,
            skewness: central(3) / variance.powf(1.5),
        }
    }

    /// Returns whether each number is one more than the number in the previous row.
    pub fn numbers_the_rows(&self) -> bool {
        self.whole && self.rows > 2 && self.numbers.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
    }

    /// Returns whether the values ascend. Numbers ascend if they never decrease from one row to the
    /// next. Texts ascend if new texts appear in sorted order.
    pub fn ascends(&self) -> bool {
        match &self.texts {
            Some(texts) => texts.is_sorted(),
            None => self.numbers.is_sorted() && self.distinct > 2,
        }
    }

    /// Returns whether all texts are dates or times that begin with a year, a month and a day, such
    /// as `2024-05-31` or `2024/05/31 12:00`.
    pub fn is_dates(&self) -> bool {
        let is_date = |text: &String| {
            let parts: Vec<&str> = text.splitn(3, ['-', '/']).collect();
            let digits = |text: &str, count: usize| {
                let head: Vec<char> = text.chars().take(count).collect();
                head.len() == count && head.iter().all(char::is_ascii_digit)
            };
            matches!(parts[..], [year, month, day]
                if year.len() == 4 && digits(year, 4) && month.len() <= 2 && digits(month, 1) && digits(day, 1))
        };
        self.texts.as_ref().is_some_and(|texts| texts.iter().all(is_date))
    }

    /// Returns whether all texts look like numbers with a unit, a currency, a decimal comma or
    /// separators of thousands, such as `12 %`, `$10.50` or `1,5`.
    pub fn is_numbers_as_text(&self) -> bool {
        let is_number = |text: &String| {
            let text = text.trim_start_matches(|letter: char| "$\u{20ac}\u{a3}\u{a5}+- ".contains(letter));
            let unit =
                text.trim_start_matches(|letter: char| letter.is_ascii_digit() || ".,' ".contains(letter));
            text.starts_with(|letter: char| letter.is_ascii_digit()) && unit.chars().count() <= 4
        };
        let texts = self.texts.as_deref().unwrap_or_default();
        !texts.is_empty() && !self.is_dates() && texts.iter().all(is_number)
    }

    /// Returns the number of zeros.
    pub fn zeros(&self) -> usize {
        self.numbers.iter().filter(|number| **number == 0.0).count()
    }

    /// Returns whether a program can read the values as integers.
    pub fn fits_integers(&self) -> bool {
        let (low, high) = self.extent();
        low.abs().max(high.abs()) <= LARGEST_INTEGER as f64
    }

    /// Returns the number of outliers: values whose distance from the nearer quartile is more than
    /// three times the interquartile range. In a normal distribution, two values in a million are
    /// outliers by this definition.
    pub fn far_out(&self) -> usize {
        let mut sorted = self.numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let [Some(low), Some(high)] = [1, 3].map(|quarter| sorted.get(quarter * sorted.len() / 4)) else {
            return 0;
        };
        let reach = 3.0 * (high - low);
        // If half of the values are equal, the interquartile range may be zero. It then does not
        // measure the spread, so no value is an outlier.
        if reach == 0.0 {
            return 0;
        }
        let is_far = |value: &&f64| **value < low - reach || **value > high + reach;
        self.numbers.iter().filter(is_far).count()
    }

    /// Describes the values in a few words.
    pub fn described(&self) -> String {
        if let Some(texts) = &self.texts {
            let some: Vec<String> = texts.iter().take(4).map(|text| shown(text)).collect();
            let more = if texts.len() > 4 { ", .." } else { "" };
            return format!("{} different texts: {}{more}", texts.len(), some.join(", "));
        }
        let (low, high) = self.extent();
        let kind = match (self.whole, low) {
            (true, 0.0) if high == 1.0 => return "0 or 1".to_owned(),
            (true, low) if low >= 0.0 => "whole numbers",
            (true, _) => "integers",
            (false, low) if low > 0.0 => "positive numbers",
            (false, _) => "numbers",
        };
        format!("{kind} from {} to {}", rounded(low, 4), rounded(high, 4))
    }
}

/// Returns the F statistic of an analysis of variance for `values` in `rows`. It is the ratio of
/// the variance between groups to the variance within groups. The ratio is about 1 if
/// the groups do not differ. Returns `None` if no group has two rows, or if the values are texts.
pub fn variance_ratio(groups: &ArrayValues, values: &ArrayValues, rows: &[usize]) -> Option<f64> {
    if values.is_text() {
        return None;
    }
    let mut sums: HashMap<u64, (f64, f64)> = HashMap::new();
    for &row in rows {
        let (count, sum) = sums.entry(groups.real(row).to_bits()).or_default();
        *count += 1.0;
        *sum += values.real(row);
    }
    let mean_of = |row: usize| {
        let (count, sum) = sums[&groups.real(row).to_bits()];
        sum / count
    };
    let all = rows.iter().map(|row| values.real(*row)).sum::<f64>() / rows.len() as f64;
    let sum_of = |part: &dyn Fn(usize) -> f64| rows.iter().map(|row| part(*row).powi(2)).sum::<f64>();
    let between = sum_of(&|row| mean_of(row) - all) / (sums.len() as f64 - 1.0);
    let within = sum_of(&|row| values.real(row) - mean_of(row)) / (rows.len() - sums.len()) as f64;
    Some(between / within).filter(|ratio| ratio.is_finite())
}

/// The moments of a column's values after a function was applied to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnMoments {
    /// The mean.
    pub mean: f64,
    /// The variance, with the number of rows as its divisor.
    pub variance: f64,
    /// The third central moment, divided by the cube of the standard deviation. NaN for a constant
    /// column.
    pub skewness: f64,
}

impl ColumnMoments {
    /// Returns the standard deviation.
    pub fn sd(&self) -> f64 {
        self.variance.sqrt()
    }
}

/// Shortens a text from the file to one line of at most 30 characters. The line is used in a
/// comment of the program.
pub fn shown(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(30)
        .collect();
    match text.chars().count() > 30 {
        true => format!("{line}…"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_of_a_few_numbers_are_those_computed_by_hand() {
        let facts = ColumnFacts::of(&ArrayValues::Int(vec![9, 1, 2, 3, 3]), &[1, 2, 3, 4]);
        assert_eq!(
            (facts.rows, facts.distinct, facts.rarest, facts.commonest),
            (4, 3, 1, 2)
        );
        assert_eq!(facts.extent(), (1.0, 3.0));
        let moments = facts.moments(|x| x);
        assert_eq!((moments.mean, moments.variance), (2.25, 0.6875));
        assert!(facts.ascends() && !facts.numbers_the_rows());
    }

    #[test]
    fn the_variance_ratio_is_that_of_the_analysis_of_variance() {
        // The means of the groups are 2 and 6, and the mean of all values is 4. The variance between
        // the groups is 4 * 4 / 1, and the variance within the groups is (1 + 1 + 1 + 1) / 2.
        let groups = ArrayValues::Int(vec![0, 1, 0, 1]);
        let values = ArrayValues::Real(vec![1.0, 5.0, 3.0, 7.0]);
        assert_eq!(variance_ratio(&groups, &values, &[0, 1, 2, 3]), Some(8.0));
        assert_eq!(variance_ratio(&groups, &values, &[0, 1]), None);
    }

    #[test]
    fn dates_begin_with_a_year() {
        let dates = |texts: &[&str]| {
            let levels: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let codes = (0..levels.len() as u32).collect();
            let rows: Vec<usize> = (0..levels.len()).collect();
            ColumnFacts::of(&ArrayValues::Level { codes, levels }, &rows).is_dates()
        };
        assert!(dates(&["2024-05-31", "2024-6-1T12:00"]) && dates(&["1999/12/31"]));
        assert!(!dates(&["2024-05-31", "soon"]) && !dates(&["12-05-2024"]) && !dates(&["2024-may-1"]));
    }
}

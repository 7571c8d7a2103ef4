//! Splits rows into training, validation and test rows.

use crate::diagnostics::{self, Faults};
use crate::read::Reading;
use bnnc_abi::data::{DataSpec, Test};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_math::philox;
use serde::Deserialize;
use std::path::Path;

/// The row indices of the training, validation and test rows of a split.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts {
    /// Training rows, in the order of the files.
    pub(crate) train: Vec<usize>,
    /// Validation rows, in the order of the files.
    pub(crate) validation: Vec<usize>,
    /// Test rows, in the order of the split file or of the files.
    pub(crate) test: Vec<usize>,
}

/// The rows of a table before they are split.
pub(crate) struct Pool<'a> {
    /// The file that diagnostics name.
    pub(crate) path: &'a Path,
    /// The number of rows of the data files.
    pub(crate) rows: usize,
    /// The number of rows of the test files. They follow the data files.
    pub(crate) test_rows: usize,
    /// The test rows of each split of a split file.
    pub(crate) splits: &'a [Vec<usize>],
}

#[derive(Deserialize)]
struct SplitFile {
    n_rows: u64,
    #[serde(default)]
    index_base: u64,
    n_splits: Option<u64>,
    test: Vec<Vec<u64>>,
}

/// Reads a split file. Checks every index against a table of `rows` rows.
pub(crate) fn read_splits(path: &Path, rows: usize, reading: &Reading) -> Result<Vec<Vec<usize>>, Faults> {
    let bytes = crate::read::bytes(path, reading)?;
    let bad = |detail: &str| vec![diagnostics::bad_split_file(path, detail)];
    let file: SplitFile = serde_json::from_slice(&bytes).map_err(|error| bad(&error.to_string()))?;
    if file.n_rows != rows as u64 {
        return Err(vec![diagnostics::split_rows(path, rows, file.n_rows as usize)]);
    }
    if file.index_base > 1 {
        return Err(bad(&format!(
            "expected `index_base` 0 or 1, found {}",
            file.index_base
        )));
    }
    let count = file.test.len() as u64;
    if file.test.is_empty() || file.n_splits.is_some_and(|stated| stated != count) {
        let stated = file.n_splits.unwrap_or(1);
        return Err(bad(&format!("expected {stated} lists in `test`, found {count}")));
    }
    let lists = file.test.iter().enumerate();
    lists
        .map(|(split, list)| {
            let wrong = |message: &str| vec![diagnostics::split_index(path, split, message)];
            check_list(list, file.index_base, rows, &wrong)
        })
        .collect()
}

/// Converts the row numbers of a list to indices. The row numbers count from `base`. `wrong`
/// converts a message about the list to an error.
fn check_list<E>(list: &[u64], base: u64, rows: usize, wrong: &dyn Fn(&str) -> E) -> Result<Vec<usize>, E> {
    let mut seen = vec![false; rows];
    let mut indices = Vec::with_capacity(list.len());
    for &stated in list {
        let index = stated
            .checked_sub(base)
            .and_then(|index| usize::try_from(index).ok())
            .filter(|&index| index < rows);
        let Some(index) = index else {
            let last = base + rows as u64 - 1;
            return Err(wrong(&format!(
                "expected rows from {base} to {last}, found {stated}"
            )));
        };
        if std::mem::replace(&mut seen[index], true) {
            return Err(wrong(&format!("row {stated} occurs twice")));
        }
        indices.push(index);
    }
    match indices.len() {
        0 => Err(wrong("it has no test rows")),
        count if count == rows => Err(wrong("it has no training rows")),
        _ => Ok(indices),
    }
}

/// Computes the row indices of the parts of one split.
pub(crate) fn parts(spec: &DataSpec, pool: &Pool<'_>, split: usize, seed: u64) -> Result<Parts, Diagnostic> {
    let test: Vec<usize> = match &spec.test {
        Test::None => Vec::new(),
        Test::Files(_) => (pool.rows..pool.rows + pool.test_rows).collect(),
        Test::Splits { file, split: chosen } => {
            let split = chosen.unwrap_or(split);
            let list = pool
                .splits
                .get(split)
                .ok_or_else(|| diagnostics::no_such_split(file, split, pool.splits.len()))?;
            list.clone()
        }
        Test::Fraction(fraction) => {
            check_fraction(pool.path, "test", *fraction)?;
            chosen(
                &(0..pool.rows).collect::<Vec<_>>(),
                *fraction,
                stream(spec, "test", seed),
                split,
            )
        }
    };
    let mut is_test = vec![false; pool.rows + pool.test_rows];
    test.iter().for_each(|&row| is_test[row] = true);
    let mut train: Vec<usize> = (0..pool.rows).filter(|&row| !is_test[row]).collect();
    train.truncate(spec.limit.unwrap_or(usize::MAX));
    let mut validation = Vec::new();
    if spec.validation != 0.0 {
        check_fraction(pool.path, "validation", spec.validation)?;
        validation = chosen(&train, spec.validation, stream(spec, "validation", seed), split);
        train.retain(|row| validation.binary_search(row).is_err());
    }
    if train.is_empty() {
        return Err(diagnostics::too_few_rows(pool.path, "training", pool.rows));
    }
    Ok(Parts {
        train,
        validation,
        test,
    })
}

fn check_fraction(path: &Path, option: &str, fraction: f64) -> Result<(), Diagnostic> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(());
    }
    Err(diagnostics::bad_option(
        path,
        option,
        "above 0 and below 1",
        fraction,
    ))
}

/// Returns the key of the random numbers that determine one choice of rows, such as the choice of
/// test rows.
pub(crate) fn stream(spec: &DataSpec, purpose: &str, seed: u64) -> u64 {
    philox::key(seed, &format!("data/{}/{purpose}", spec.name))
}

/// Chooses a random fraction of `rows`, but at least one row. The chosen rows keep their order.
fn chosen(rows: &[usize], fraction: f64, key: u64, split: usize) -> Vec<usize> {
    let count = ((rows.len() as f64 * fraction).round() as usize)
        .max(1)
        .min(rows.len());
    let mut order = shuffled(rows.len(), key, split);
    order.truncate(count);
    order.sort_unstable();
    order.into_iter().map(|i| rows[i]).collect()
}

/// Returns a random permutation of `0..count` (Fisher and Yates; Durstenfeld 1964). The same key
/// and split give the same permutation on every machine.
pub(crate) fn shuffled(count: usize, key: u64, split: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        let uniform = philox::uniform(key, [0, split as u32, 0], i as u64);
        let j = ((uniform * (i + 1) as f64) as usize).min(i);
        order.swap(i, j);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_and_depends_on_key_and_split() {
        let mut sorted = shuffled(100, 7, 0);
        assert_ne!(sorted, shuffled(100, 8, 0));
        assert_ne!(sorted, shuffled(100, 7, 1));
        assert_eq!(sorted, shuffled(100, 7, 0));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_shuffle_is_uniform() {
        // There are 6000 permutations of six values. The number of permutations in which a given value
        // comes first has a binomial distribution, with the mean 1000 and the standard deviation 28.9.
        let mut counts = [0_i32; 6];
        for key in 0..6000 {
            counts[shuffled(6, key, 0)[0]] += 1;
        }
        assert!(
            counts.iter().all(|count| (count - 1000).abs() < 120),
            "{counts:?}"
        );
    }

    #[test]
    fn lists_are_checked() {
        assert_eq!(check_list(&[2, 0], 0, 3, &str::to_owned), Ok(vec![2, 0]));
        assert_eq!(check_list(&[3], 1, 3, &str::to_owned), Ok(vec![2]));
        assert_eq!(
            check_list(&[3], 0, 3, &str::to_owned),
            Err("expected rows from 0 to 2, found 3".into())
        );
        assert_eq!(
            check_list(&[0], 1, 3, &str::to_owned),
            Err("expected rows from 1 to 3, found 0".into())
        );
        assert_eq!(
            check_list(&[1, 1], 0, 3, &str::to_owned),
            Err("row 1 occurs twice".into())
        );
        assert_eq!(
            check_list(&[], 0, 3, &str::to_owned),
            Err("it has no test rows".into())
        );
        assert_eq!(
            check_list(&[0, 1, 2], 0, 3, &str::to_owned),
            Err("it has no training rows".into())
        );
    }
}

//! Words of other tools for what this language spells otherwise: one table, which every `did you mean` and every syntax error consults. Those for
//! options of methods stand with the options.

/// A word that users of other tools write.
struct Synonym {
    /// The word, in lower case.
    word: &'static str,
    /// Our names for it, the likeliest first; the first that exists at the place is suggested.
    names: &'static [&'static str],
    /// The advice where no name replaces the word.
    advice: &'static str,
}

const fn name(word: &'static str, names: &'static [&'static str]) -> Synonym {
    Synonym {
        word,
        names,
        advice: "",
    }
}

const fn advice(word: &'static str, advice: &'static str) -> Synonym {
    Synonym {
        word,
        names: &[],
        advice,
    }
}

const FUNCTION: &str = "a function is an item of its own: `fn f(x: real) -> real { return x + 1 }`";
const BOUNDS: &str = "bounds are types: `positive`, `unit`, or `real(lo, hi)`";
const ARRAYS: &str = "an array is an element type with dims: `beta: real[k]`, `w: real[n, m]`";
const REPORT: &str =
    "nothing prints from a program: named quantities are in the report, and `bnnc repl` shows values";
const ITEMS: &str =
    "a program is a list of items such as `data`, `model` and `infer`; the library is always in scope";
const MATRIX: &str = "a matrix product is written `a @ b`";
const ACTIVATION: &str = "apply it where the layer is called: `relu(h(x))`";
const LOOP: &str = "a loop is `for i in a..b { .. }`, a sum `sum(.. for i in a..b)`";
const LEVELS: &str = "a column of text is `index(k)`: one integer per level";

/// Sorted by word.
static TABLE: &[Synonym] = &[
    advice("activation", ACTIVATION),
    name("alpha", &["concentration", "shape", "a"]),
    advice("array", ARRAYS),
    name("bernoulli_logit", &["Bernoulli"]),
    name("boolean", &["bool"]),
    advice("class", ITEMS),
    name("conv2d", &["Conv"]),
    name("cov", &["cholesky", "scale"]),
    advice("def", FUNCTION),
    name("degrees_of_freedom", &["df"]),
    name("delta", &["Point"]),
    name("dirac", &["Point"]),
    name("double", &["real"]),
    name("expit", &["sigmoid"]),
    name("float", &["real"]),
    name("float32", &["real"]),
    name("float64", &["real"]),
    advice("function", FUNCTION),
    name("gaussian", &["Normal"]),
    name("high", &["high", "hi"]),
    advice("import", ITEMS),
    name("integer", &["int"]),
    name("inv_logit", &["sigmoid"]),
    name("k", &["trials"]),
    name("lam", &["rate", "log_rate"]),
    advice("lambda", FUNCTION),
    name("learning_rate", &["rate"]),
    name("len", &["length"]),
    name("ln", &["log"]),
    name("location", &["loc"]),
    name("log_std", &["scale"]),
    name("lower", &["low"]),
    name("lr", &["rate"]),
    advice("matmul", MATRIX),
    advice("matrix", ARRAYS),
    name("mcmc", &["nuts"]),
    name("mean", &["loc", "log_mean"]),
    advice("mm", MATRIX),
    name("mu", &["loc", "mean", "log_mean"]),
    name("multinormal", &["MultivariateNormal"]),
    name("mvnormal", &["MultivariateNormal"]),
    name("n", &["trials"]),
    name("negbinomial", &["NegativeBinomial"]),
    name("nu", &["df"]),
    name("num", &["real"]),
    name("number", &["real"]),
    name("phi", &["dispersion"]),
    advice("pow", "a power is written `x ^ y`"),
    advice("print", REPORT),
    name("prob", &["p", "probabilities"]),
    name("probs", &["probabilities", "p"]),
    advice("range", "a range is written `a..b`: `for i in 0..10`"),
    name("sd", &["scale"]),
    advice("shuffle", "the rows are shuffled in every epoch"),
    name("sigma", &["scale"]),
    name("size", &["trials", "out"]),
    name("std", &["scale"]),
    name("stddev", &["scale"]),
    name("stdev", &["scale"]),
    advice("str", LEVELS),
    advice("string", LEVELS),
    name("student", &["StudentT"]),
    name("svi", &["vi"]),
    name("total_count", &["trials"]),
    name("units", &["out"]),
    name("upper", &["high"]),
    advice("vector", ARRAYS),
    advice("while", LOOP),
];

fn find(word: &str) -> Option<&'static Synonym> {
    // No word of the table is longer.
    const LONGEST: usize = 24;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let at = TABLE.binary_search_by(|synonym| synonym.word.cmp(&word)).ok()?;
    Some(&TABLE[at])
}

/// The name among `names` that a word of another tool stands for.
///
/// ```
/// use bnnc_base::synonyms::synonym;
/// assert_eq!(synonym("lr", ["rate", "decay"]), Some("rate"));
/// assert_eq!(synonym("lr", ["loc", "scale"]), None);
/// ```
pub fn synonym<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let wanted = find(word)?.names.iter();
    let mut found = wanted.filter_map(|wanted| names.iter().find(|name| *name == wanted));
    found.next().copied()
}

/// The advice for a word of another tool that no single name replaces.
///
/// ```
/// use bnnc_base::synonyms::instead;
/// assert_eq!(instead("matmul"), Some("a matrix product is written `a @ b`"));
/// assert_eq!(instead("sigma"), None);
/// ```
pub fn instead(word: &str) -> Option<&'static str> {
    find(word)
        .map(|found| found.advice)
        .filter(|advice| !advice.is_empty())
}

/// The advice about bounds in angle brackets, `real<lower=0>`.
pub const ANGLE_BOUNDS: &str = BOUNDS;

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn the_table_is_sorted_by_word() {
        assert!(TABLE.windows(2).all(|pair| pair[0].word < pair[1].word));
    }
}

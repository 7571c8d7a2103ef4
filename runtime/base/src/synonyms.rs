//! A table of words that users of other tools know, with the names that this language uses instead.
//! Every `did you mean` and every syntax error uses this table. Options of methods declare their
//! own synonyms.

/// A word that users of other tools write.
struct Synonym {
    /// The word in lower case, except if the lower-case word has another meaning. A word that
    /// follows a point, as in `x.shape`, is stored with the point at its beginning.
    word: &'static str,
    /// The names in this language, beginning with the most likely. The first name that exists at
    /// the place of the mistake is suggested.
    names: &'static [&'static str],
    /// The advice that is given if no name can replace the word.
    advice: &'static str,
    /// True if the word alone explains why a line cannot be parsed.
    is_construct: bool,
}

const fn name(word: &'static str, names: &'static [&'static str]) -> Synonym {
    Synonym {
        word,
        names,
        advice: "",
        is_construct: false,
    }
}

const fn either(word: &'static str, names: &'static [&'static str], advice: &'static str) -> Synonym {
    Synonym {
        word,
        names,
        advice,
        is_construct: false,
    }
}

const fn advice(word: &'static str, advice: &'static str) -> Synonym {
    Synonym {
        word,
        names: &[],
        advice,
        is_construct: false,
    }
}

const fn construct(word: &'static str, advice: &'static str) -> Synonym {
    Synonym {
        word,
        names: &[],
        advice,
        is_construct: true,
    }
}

const FUNCTION: &str = "a function is an item of its own: `fn f(x: real) -> real { return x + 1 }`";
const BOUNDS: &str = "bounds are part of the type: `positive`, `unit`, or `real(lo, hi)`";
const ARRAYS: &str = "an array is an element type with dims: `beta: real[k]`, `w: real[n, m]`";
const REPORT: &str =
    "a program cannot print: the report shows named quantities, and `bnnc repl` shows values";
const ITEMS: &str =
    "a program is a list of items such as `data`, `model` and `infer`; the library is always in scope";
const MATRIX: &str = "a matrix product is written `a @ b`";
const ACTIVATION: &str = "apply it where the layer is called: `relu(h(x))`";
const LOOP: &str = "a loop is `for i in a..b { .. }`, a sum `sum(.. for i in a..b)`";
const MODULE: &str = "functions and distributions are written without a module: `exp(x)`, `Normal(0, 1)`";
const CHOICE: &str = "a choice is written `if c { a } else { b }`, in parentheses inside a larger expression";
const REMAINDER: &str = "the remainder of `a / b` is `a - b * floor(a / b)`";
const SEED: &str = "the seed is an option of the command line: `bnnc run FILE --seed 1`";
const THREADS: &str = "the number of threads is an option of the command line: `bnnc run FILE --threads 4`";
const SCHEDULES: &str =
    "a smooth decay is `schedule = cosine`, a drop by a factor `schedule = step(0.5, 0.1)`";
const OBSERVED: &str = "declare the predicted quantity as an output and observe it in its own line: `-> y: real` and `y ~ Normal(mu, sigma)`";
const DENSITY: &str = "a density is `exp(d.log_density(x))`";
const LEVELS: &str = "a column of text is `index(k)`: one integer per level";

/// The table of synonyms, sorted by word.
static TABLE: &[Synonym] = &[
    advice("%", REMAINDER),
    advice(
        ".shape",
        "the size of the first axis is `length(x)`; the type of a parameter can name a dim, such as `k` in `x: real[k]`",
    ),
    advice(".t", "a transpose is written `transpose(a)`"),
    advice("?", CHOICE),
    advice(
        "Phi",
        "the distribution function of the standard normal is `Normal(0, 1).cdf(x)`",
    ),
    construct("activation", ACTIVATION),
    name("advi", &["vi"]),
    name("alpha", &["concentration", "shape", "a"]),
    construct("array", ARRAYS),
    name("bernoulli_logit", &["Bernoulli"]),
    name("bfgs", &["map"]),
    name("boolean", &["bool"]),
    construct("class", ITEMS),
    name("conv2d", &["Conv"]),
    advice("cores", THREADS),
    name("cov", &["cholesky", "scale"]),
    construct("def", FUNCTION),
    name("degrees_of_freedom", &["df"]),
    name("delta", &["Point"]),
    advice("dims", ARRAYS),
    name("dirac", &["Point"]),
    name("double", &["real"]),
    construct("elif", "another case is written `else if c { .. } else { .. }`"),
    name("expit", &["sigmoid"]),
    either("exponential", &["Exponential"], SCHEDULES),
    name("float", &["real"]),
    name("float32", &["real"]),
    name("float64", &["real"]),
    name("fullrank_advi", &["vi"]),
    construct("function", FUNCTION),
    name("gaussian", &["Normal"]),
    name("high", &["high", "hi"]),
    name("icdf", &["quantile"]),
    construct("import", ITEMS),
    name("integer", &["int"]),
    name("inv_logit", &["sigmoid"]),
    advice("jnp", MODULE),
    name("k", &["trials"]),
    name("lam", &["rate", "log_rate"]),
    construct("lambda", FUNCTION),
    name("lbfgs", &["map"]),
    name("learning_rate", &["rate"]),
    name("len", &["length"]),
    name("linear", &["Dense"]),
    name("ln", &["log"]),
    name("location", &["loc"]),
    advice("log10", "the logarithm to base 10 is `log(x) / log(10)`"),
    advice("log2", "the logarithm to base 2 is `log(x) / log(2)`"),
    name("log_prob", &["log_density"]),
    name("log_std", &["scale"]),
    name("logcdf", &["log_cdf"]),
    name("logpdf", &["log_density"]),
    name("logpmf", &["log_density"]),
    name("lower", &["low"]),
    name("lpdf", &["log_density"]),
    name("lpmf", &["log_density"]),
    name("lr", &["rate"]),
    advice("math", MODULE),
    construct("matmul", MATRIX),
    construct("matrix", ARRAYS),
    name("maximum_likelihood", &["map"]),
    name("mcmc", &["nuts"]),
    name("mean", &["loc", "log_mean"]),
    name("meanfield_advi", &["vi"]),
    name("metropolis", &["random_walk"]),
    name("minimize", &["map"]),
    name("mle", &["map"]),
    name("mlp", &["Dense"]),
    construct("mm", MATRIX),
    advice("mod", REMAINDER),
    name("mu", &["loc", "mean", "log_mean"]),
    name("multinormal", &["MultivariateNormal"]),
    name("mvnormal", &["MultivariateNormal"]),
    name("n", &["trials"]),
    advice("n_jobs", THREADS),
    name("negbinomial", &["NegativeBinomial"]),
    advice("nn", MODULE),
    advice("not", "a condition is negated by `!`: `!(x > 0)`"),
    advice("np", MODULE),
    name("nu", &["df"]),
    name("num", &["real"]),
    advice("num_threads", THREADS),
    name("number", &["real"]),
    advice("numpy", MODULE),
    advice("obs", OBSERVED),
    advice("observed", OBSERVED),
    name("optimise", &["map"]),
    name("optimize", &["map"]),
    name("optimizing", &["map"]),
    advice("pdf", DENSITY),
    name("phi", &["dispersion"]),
    advice("pmf", DENSITY),
    construct("pow", "a power is written `x ^ y`"),
    name("ppf", &["quantile"]),
    construct("print", REPORT),
    name("prob", &["p", "probabilities"]),
    name("probs", &["probabilities", "p"]),
    advice("random_state", SEED),
    construct("range", "write the range as `a..b`: `for i in 0..10`"),
    name("rsample", &["draw"]),
    name("rvs", &["draw"]),
    name("sample", &["draw", "nuts"]),
    name("sampling", &["nuts"]),
    advice("scipy", MODULE),
    name("sd", &["scale"]),
    advice("seed", SEED),
    name("sf", &["survival"]),
    advice("shape", ARRAYS),
    construct("shuffle", "the rows are shuffled in every epoch"),
    name("sigma", &["scale"]),
    either("size", &["trials", "out"], ARRAYS),
    advice("stats", MODULE),
    name("std", &["scale"]),
    name("stddev", &["scale"]),
    name("stdev", &["scale"]),
    construct("str", LEVELS),
    construct("string", LEVELS),
    name("student", &["StudentT"]),
    name("svi", &["vi"]),
    advice("tf", MODULE),
    advice("threads", THREADS),
    advice("torch", MODULE),
    name("total_count", &["trials"]),
    name("units", &["out"]),
    name("upper", &["high"]),
    name("variational", &["vi"]),
    construct("vector", ARRAYS),
    construct("while", LOOP),
];

fn find(word: &str) -> Option<&'static Synonym> {
    // The maximum length of a word in the table.
    const LONGEST: usize = 24;
    if word.len() > LONGEST {
        return None;
    }
    let at = |word: &str| TABLE.binary_search_by(|synonym| synonym.word.cmp(word)).ok();
    let at = at(word).or_else(|| at(&word.to_lowercase()))?;
    Some(&TABLE[at])
}

/// Returns the advice for a word that belongs to the syntax of another language. Such a word
/// explains a syntax error.
///
/// ```
/// use bnnc_base::synonyms::construct_instead;
/// assert!(construct_instead("lambda").is_some());
/// assert_eq!(construct_instead("seed"), None);
/// ```
pub fn construct_instead(word: &str) -> Option<&'static str> {
    find(word)
        .filter(|found| found.is_construct)
        .map(|found| found.advice)
}

/// Returns whether a word is a module of another language, such as `np` in `np.exp(x)`.
///
/// ```
/// use bnnc_base::synonyms::is_module;
/// assert!(is_module("np"));
/// assert!(!is_module("exp"));
/// ```
pub fn is_module(word: &str) -> bool {
    instead(word) == Some(MODULE)
}

/// Returns the first name for a word of another tool, among those that `names` contains.
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

/// Returns the advice for a word of another tool that cannot be replaced by a single name.
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

/// The advice about bounds in angle brackets, as in `real<lower=0>`.
pub const ANGLE_BOUNDS: &str = BOUNDS;

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn the_table_is_sorted_by_word() {
        assert!(TABLE.windows(2).all(|pair| pair[0].word < pair[1].word));
    }
}

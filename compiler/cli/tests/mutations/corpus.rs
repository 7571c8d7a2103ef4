//! The programs and data files that the test mutates.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn visit(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// Returns the programs of the examples and of the tests, the library, and the code blocks of the book.
pub fn programs() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["examples", "tests/programs", "stdlib"] {
        visit(&root().join(folder), "bnn", &mut files);
    }
    files.sort();
    let mut pages = Vec::new();
    visit(&root().join("docs/src"), "md", &mut pages);
    pages.sort();
    let read = |path: PathBuf| fs::read_to_string(path).expect("the file is read");
    let book: String = pages.into_iter().map(read).collect();
    let blocks = book
        .split("```bnn")
        .skip(1)
        .filter_map(|rest| rest.split_once('\n')?.1.split("```").next());
    let mut all: Vec<String> = blocks.map(str::to_owned).collect();
    all.extend(files.into_iter().map(read));
    all.extend(SMALL.iter().map(|(_, program)| (*program).to_owned()));
    all
}

/// The rows of the small programs.
pub const TABLE: &str = "x,z,g,c,k,y\n0.1,1,a,0,1,0.3\n-0.5,2,b,1,0,-0.9\n1.2,3,a,2,4,2.2\n0.7,4,c,0,2,1.5\n-1.4,5,b,1,0,-2.9\n\
                         0.3,6,c,2,1,0.4\n2.0,7,a,0,7,4.1\n-0.2,8,b,1,1,-0.1\n0.9,9,c,2,3,1.7\n-0.8,10,a,0,0,-1.6\n";

/// The same table as JSON.
pub const ARRAYS: &str = "{\"n\": 10, \"s\": [1.5, 2.5], \"x\": [0.1, -0.5, 1.2, 0.7, -1.4, 0.3, 2.0, -0.2, 0.9, -0.8], \
                          \"k\": [1, 0, 4, 2, 0, 1, 7, 1, 3, 0], \"y\": [0.3, -0.9, 2.2, 1.5, -2.9, 0.4, 4.1, -0.1, 1.7, -1.6]}";

/// A file of splits for the table.
pub const SPLITS: &str = "{\"n_rows\": 10, \"index_base\": 0, \"test\": [[0, 1], [2, 3, 4]]}";

/// Small programs, each with the name of its data file. Together, the programs use every way of passing
/// data to a model, and every method.
pub const SMALL: &[(&str, &str)] = &[
    ("d.csv", "data d = csv(\"d.csv\") { inputs = [x, zscore(z), log(z) * x], target = y, test = fraction(0.2), standardise = [inputs, target] }
model M(x: real[d]) -> y: real {
  h = Dense(3)
  o = Dense(1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(o(tanh(h(x)))[0], sigma)
}
posterior Q of M {
  h.*, o.* ~ Normal(scale = 0.1)
  sigma ~ LogNormal(loc = 0, scale = 0.1)
}
infer v = vi(Q, d) { epochs = 5 }
infer m = map(M, d) { epochs = 5 }
infer l = laplace(M, d) { start = m }
infer e = ensemble(M, d) { epochs = 3, members = 2 }
infer w = swag(M, d) { epochs = 5 }
infer o = dropout(M, d) { epochs = 5 }
compare v, m by rmse, time
"),
    ("d.csv", "data d = csv(\"d.csv\") { target = k }
model M(g: index(J), x: real) -> k: count {
  mu ~ Normal(0, 1)
  tau: positive ~ HalfNormal(1)
  a: real[J] ~ Normal(mu, tau)
  k ~ Poisson(a[g] + x)
}
infer n = nuts(M, d) { chains = 2, warmup = 30, draws = 30 }
infer h = hmc(M, d) { chains = 1, warmup = 20, draws = 20 }
infer r = random_walk(M, d) { chains = 1, warmup = 20, draws = 20 }
infer s = sgld(M, d) { chains = 1, warmup = 20, draws = 20 }
"),
    ("d.csv", "data d = csv(\"d.csv\") { inputs = [x, z], target = c, test = splits(\"splits.json\") }
model M(x: real[d]) -> c: index(3) {
  h = Dense(3)
  c ~ Categorical(h(x))
}
infer m = map(M, d) { epochs = 5 }
infer l = laplace(M, d) { epochs = 5, structure = kronecker }
"),
    ("d.csv", "data d = csv(\"d.csv\") { inputs = [x, z], target = y }
layer Block(width: int, depth: int)(x: real[width]) -> real[width] {
  start = he
  half: int = width / 2
  blocks = [[Residual(Sequential(Dense(half), tanh, Linear(width))) for j in 0..i + 1] for i in 0..depth]
  return fold(blocks, x)
}
model M(x: real[d]) -> y: real {
  net = Sequential(Dense(4), tanh, [Block(4, 2)], Residual(Linear(3), projection = Dense(3)), Dense(1))
  y ~ Normal(net(x)[0], 1)
}
infer m = map(M, d) { epochs = 5 }
"),
    ("d.json", "data d = json(\"d.json\") { target = y }
model M(s: real[m])(x: real) -> y: real {
  b: real[m] ~ Normal(0, 1)
  p: simplex(3) ~ Dirichlet([1, 1, 1])
  c: ordered(2) ~ Normal(0, 1)
  y ~ Normal(dot(b, s) * x + p[0] + c[1], 1)
}
infer n = nuts(M, d) { chains = 1, warmup = 20, draws = 20 }
"),
    ("d.json", "data d = json(\"d.json\") { target = y }
model M() -> y: real[T] {
  b ~ Normal(0, 1)
  for t in 1..T {
    y[t] ~ Normal(b * y[t - 1], 1)
  }
}
infer n = nuts(M, d) { chains = 1, warmup = 20, draws = 20 }
"),
];

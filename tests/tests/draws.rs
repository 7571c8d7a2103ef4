//! A sampler writes files of draws for other tools. The values, order and units in these files are
//! correct, and every run writes the same bytes.
#![allow(clippy::unwrap_used)]

use bnnc_run::out;
use bnnc_tests::compile::{self, Compiled, options};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = r#"
use layers::Dense

data curve = csv("curve.csv") { standardise = [inputs, target] }

model Curve(x: real[1]) -> y: real {
  a ~ Normal(0, 1)
  w: real[2, 3] ~ Normal(0, 1)
  s: positive ~ HalfNormal(1)
  bend = Dense(1)
  y ~ Normal(a + w[0, 1] * x[0] + w[1, 2] * bend(x)[0], s)
}

infer chains = nuts(Curve, curve) { chains = 2, warmup = 60, draws = 30, thin = 2 }
"#;

const ROWS: [(f64, f64); 6] = [
    (0.0, 10.0),
    (1.0, 13.0),
    (2.0, 15.5),
    (3.0, 19.0),
    (4.0, 21.0),
    (6.0, 27.0),
];

/// A temporary folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bnnc-tests-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let rows: String = ROWS.iter().map(|(x, y)| format!("{x},{y}\n")).collect();
        fs::write(path.join("curve.csv"), format!("x,y\n{rows}")).unwrap();
        Folder(path)
    }

    fn compile(&self) -> Compiled {
        self.compile_text(PROGRAM)
    }

    fn compile_text(&self, text: &str) -> Compiled {
        compile::text(&self.0.join("curve.bnn"), text, &options("cranelift", None))
    }

    /// Runs the program, and returns the folder that contains its results.
    fn run(&self, compiled: &Compiled, out: &str, threads: usize) -> PathBuf {
        let result = compile::run(&compiled.manifest, threads);
        let saved = compile::saved(self.0.join("curve.bnn"));
        let folder = self.0.join(out);
        out::write(&folder, &compiled.manifest, &result, saved).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the draws of one variable in one chain. Each draw is a vector.
fn stored(store: &Path, name: &str, chain: usize) -> Vec<Vec<f64>> {
    let metadata: Value =
        serde_json::from_str(&fs::read_to_string(store.join(".zmetadata")).unwrap()).unwrap();
    let array = &metadata["metadata"][format!("{name}/.zarray")];
    let sizes = |key: &str| serde_json::from_value::<Vec<usize>>(array[key].clone()).unwrap();
    let (shape, chunks) = (sizes("shape"), sizes("chunks"));
    assert!(chunks[1] >= shape[1], "so few draws are one chunk");
    let key = [vec![chain.to_string()], vec!["0".to_owned(); shape.len() - 1]].concat();
    let bytes = fs::read(store.join(name).join(key.join("."))).unwrap();
    let values = bytes
        .chunks(8)
        .map(|eight| f64::from_le_bytes(eight.try_into().unwrap()));
    let values: Vec<f64> = values.collect();
    let width = shape[2..].iter().product();
    values.chunks(width).take(shape[1]).map(<[f64]>::to_vec).collect()
}

/// Returns the columns of a Stan CSV file.
fn columns(path: &Path) -> BTreeMap<String, Vec<f64>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines {
        for (name, cell) in names.iter().zip(line.split(',')) {
            columns
                .entry((*name).to_owned())
                .or_default()
                .push(cell.parse().unwrap());
        }
    }
    columns
}

/// Returns the content of every file below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    let inside = |path: PathBuf| path.strip_prefix(folder).map(Path::to_path_buf).unwrap_or(path);
    found
        .into_iter()
        .map(|(path, bytes)| (inside(path), bytes))
        .collect()
}

#[test]
fn both_formats_hold_the_same_draws() {
    let folder = Folder::new("draws");
    let out = folder.run(&folder.compile(), "out", 2);
    for chain in 0..2 {
        let csv = columns(&out.join(format!("stan/chains_{}.csv", chain + 1)));
        let of = |name: &str| stored(&out.join("posterior.zarr"), name, chain);
        let w = of("posterior/w");
        assert_eq!((w.len(), w[0].len()), (30, 6));
        for (at, w) in w.iter().enumerate() {
            // Zarr stores elements in C order. Stan CSV numbers the columns from 1.
            let indices = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)];
            for ((row, column), value) in indices.iter().zip(w) {
                assert_eq!(csv[&format!("w.{row}.{column}")][at], *value);
            }
        }
        let same = |column: &str, name: &str| {
            let stored: Vec<f64> = of(name).concat();
            assert_eq!(csv[column], stored, "{column}");
        };
        same("a", "posterior/a");
        same("s", "posterior/s");
        same("bend_w.1.1", "posterior/bend.w");
        same("lp__", "sample_stats/lp");
        same("energy__", "sample_stats/energy");
        assert!(csv["s"].iter().all(|s| *s > 0.0));
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    let parts = [
        "w[1,2]: R-hat",
        "Ranks",
        "Energy: E-BFMI",
        "Acceptance:",
        "Tree depth",
        "ESS tail",
        "Leave-one-out",
        "Calibration",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
}

/// The log likelihood of a row follows from the draws of the parameters, in the units of the
/// target.
#[test]
fn log_likelihoods_match_the_draws() {
    let folder = Folder::new("likelihoods");
    let out = folder.run(&folder.compile(), "out", 1);
    let store = out.join("posterior.zarr");
    let moments = |of: fn(&(f64, f64)) -> f64| {
        let mean = ROWS.iter().map(of).sum::<f64>() / ROWS.len() as f64;
        let variance = ROWS.iter().map(|row| (of(row) - mean).powi(2)).sum::<f64>() / ROWS.len() as f64;
        (mean, variance.sqrt())
    };
    let ((mean_x, sd_x), (mean_y, sd_y)) = (moments(|row| row.0), moments(|row| row.1));
    for chain in 0..2 {
        let of = |name: &str| stored(&store, name, chain);
        let parameters = ["a", "w", "s", "bend.w", "bend.b"].map(|site| of(&format!("posterior/{site}")));
        let [a, w, s, slope, offset] = &parameters;
        let found = of("log_likelihood/y");
        let predicted = of("posterior_predictive/y");
        for draw in 0..30 {
            for (row, (x, y)) in ROWS.iter().enumerate() {
                let z = (x - mean_x) / sd_x;
                let bend = slope[draw][0] * z + offset[draw][0];
                let mean = mean_y + sd_y * (a[draw][0] + w[draw][1] * z + w[draw][5] * bend);
                let sd = sd_y * s[draw][0];
                let expected = -0.5 * ((y - mean) / sd).powi(2) - sd.ln() - 0.5 * std::f64::consts::TAU.ln();
                assert!((found[draw][row] - expected).abs() < 1e-9 * expected.abs().max(1.0));
                assert!(
                    (predicted[draw][row] - mean).abs() < 6.0 * sd,
                    "a draw of the target, in its own units"
                );
            }
        }
    }
    let y = fs::read(store.join("observed_data/y/0")).unwrap();
    let y: Vec<f64> = y
        .chunks(8)
        .map(|eight| f64::from_le_bytes(eight.try_into().unwrap()))
        .collect();
    assert_eq!(y, ROWS.map(|row| row.1));
}

#[test]
fn axes_have_the_names_of_the_program_and_the_levels_of_the_data() {
    let folder = Folder::new("axes");
    fs::write(
        folder.0.join("places.csv"),
        "place,y\nsouth,1\nnörd,2\nsouth,3\nwest,2\n",
    )
    .unwrap();
    let program = r#"
data places = csv("places.csv")
model Places(place: index(J)) -> y: real {
  effect: real[J] ~ Normal(0, 1)
  twice = 2 * effect
  pair: real[2] ~ Normal(0, 1)
  y ~ Normal(twice[place] + pair[0], 1)
}
infer chains = nuts(Places, places) { chains = 1, warmup = 20, draws = 5 }
"#;
    let out = folder.run(&folder.compile_text(program), "out", 1);
    let store = out.join("posterior.zarr/posterior");
    let read = |path: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(store.join(path)).unwrap()).unwrap()
    };
    let dims = |name: &str| read(&format!("{name}/.zattrs"))["_ARRAY_DIMENSIONS"].clone();
    assert_eq!(dims("effect"), serde_json::json!(["chain", "draw", "J"]));
    assert_eq!(dims("twice"), dims("effect"));
    assert_eq!(dims("pair"), serde_json::json!(["chain", "draw", "pair_dim_0"]));
    assert_eq!(read("J/.zarray")["dtype"], "<U5");
    let labels = fs::read(store.join("J/0")).unwrap();
    let letters = labels
        .chunks(4)
        .map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    let letters: String = letters.map(|code| char::from_u32(code).unwrap()).collect();
    assert_eq!(letters, "southnörd\0west\0");
}

#[test]
fn the_same_run_writes_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new("bytes");
    let compiled = folder.compile();
    let more = folder.compile_text(&PROGRAM.replace("chains = 2", "chains = 3"));
    let (one, other) = (folder.run(&compiled, "one", 1), folder.run(&more, "other", 3));
    // A second run into the same folder replaces the files of the first run. The second run must
    // also remove the files of chains that no longer exist.
    assert!(other.join("stan/chains_3.csv").exists());
    folder.run(&compiled, "other", 2);
    for part in ["posterior.zarr", "stan"] {
        let (one, other) = (tree(&one.join(part)), tree(&other.join(part)));
        assert!(!one.is_empty() && one == other, "{part}");
    }
}

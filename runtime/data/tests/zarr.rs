//! Zarr stores contain the values that were passed to them. The tests read metadata and chunks by
//! the rules of the storage specification.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod folder;

use bnnc_data::write::zarr::{ZarrDim, ZarrLabels, ZarrStore, ZarrType, ZarrVariable};
use folder::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a dimension whose positions have these names as labels.
fn labelled(name: &str, labels: &[&str]) -> ZarrDim {
    ZarrDim {
        name: Some(name.to_owned()),
        size: labels.len(),
        labels: ZarrLabels::Text(labels.iter().map(|label| label.to_string()).collect()),
    }
}

const NO_ATTRIBUTES: [(String, Value); 0] = [];

/// One array of a store, read by the rules of Zarr version 2.
struct Array {
    folder: PathBuf,
    layout: Value,
    dims: Vec<String>,
}

impl Array {
    fn open(store: &Path, name: &str) -> Array {
        let consolidated = json_file(&store.join(".zmetadata"));
        assert_eq!(consolidated["zarr_consolidated_format"], 1);
        let of = |key: &str| consolidated["metadata"][format!("{name}/{key}")].clone();
        let folder = store.join(name);
        assert_eq!(of(".zarray"), json_file(&folder.join(".zarray")));
        let dims = of(".zattrs")["_ARRAY_DIMENSIONS"].clone();
        Array {
            folder,
            layout: of(".zarray"),
            dims: serde_json::from_value(dims).unwrap(),
        }
    }

    fn sizes(&self, key: &str) -> Vec<usize> {
        serde_json::from_value(self.layout[key].clone()).unwrap()
    }

    /// Returns the bytes of one element. The bytes are read from the chunk that holds the element.
    /// Chunks are in C order.
    fn bytes(&self, index: &[usize], width: usize) -> Vec<u8> {
        let chunks = self.sizes("chunks");
        let place = |(at, size): (&usize, &usize)| (at / size).to_string();
        let key: Vec<String> = index.iter().zip(&chunks).map(place).collect();
        let key = if key.is_empty() { "0".into() } else { key.join(".") };
        let chunk = fs::read(self.folder.join(key)).unwrap();
        assert_eq!(
            chunk.len(),
            chunks.iter().product::<usize>() * width,
            "chunks are whole"
        );
        let at = index
            .iter()
            .zip(&chunks)
            .fold(0, |at, (i, size)| at * size + i % size);
        chunk[at * width..(at + 1) * width].to_vec()
    }

    fn real(&self, index: &[usize]) -> f64 {
        assert_eq!(self.layout["dtype"], "<f8");
        f64::from_le_bytes(self.bytes(index, 8).try_into().unwrap())
    }

    fn int(&self, index: &[usize]) -> i64 {
        assert_eq!(self.layout["dtype"], "<i8");
        assert_eq!(self.layout["fill_value"], Value::Null);
        i64::from_le_bytes(self.bytes(index, 8).try_into().unwrap())
    }

    fn text(&self, index: &[usize]) -> String {
        let width: usize = self.layout["dtype"]
            .as_str()
            .unwrap()
            .strip_prefix("<U")
            .unwrap()
            .parse()
            .unwrap();
        let bytes = self.bytes(index, 4 * width);
        let letters = bytes
            .chunks(4)
            .map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        letters
            .filter(|code| *code != 0)
            .map(|code| char::from_u32(code).unwrap())
            .collect()
    }
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the path and the content of every file below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(
                    path.strip_prefix(folder).unwrap().to_path_buf(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    found
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn variable<'a>(name: &'a str, kind: ZarrType, dims: &'a [ZarrDim]) -> ZarrVariable<'a> {
    ZarrVariable { name, kind, dims }
}

/// Returns a number that identifies the element: no two elements have the same number.
fn value(chain: usize, draw: usize, element: usize) -> f64 {
    1e6 * chain as f64 + draw as f64 + 1e-6 * element as f64
}

/// Writes a store of 2 chains with 7 draws each. A draw has 80 x 80 elements, and a chunk holds
/// five draws. Draws are appended `block` at a time.
fn wide(path: &Path, block: usize) {
    let mut store = ZarrStore::create(path, [("model".to_owned(), json!("wide"))]).unwrap();
    let group = store.samples("posterior", 2, 7).unwrap();
    let dims = [ZarrDim::named("row", 80), ZarrDim::unnamed(80)];
    let w = store
        .variable(group, &variable("w", ZarrType::Real, &dims))
        .unwrap();
    let lp = store
        .variable(group, &variable("lp", ZarrType::Real, &[]))
        .unwrap();
    for first in (0..7).step_by(block) {
        for chain in [1, 0] {
            let draws = first..(first + block).min(7);
            let values: Vec<f64> = draws
                .clone()
                .flat_map(|draw| (0..6400).map(move |element| value(chain, draw, element)))
                .collect();
            store.append(w, chain, &values).unwrap();
            let values: Vec<f64> = draws.map(|draw| -value(chain, draw, 0)).collect();
            store.append(lp, chain, &values).unwrap();
        }
    }
    store.finish().unwrap();
}

#[test]
fn every_element_is_where_the_specification_says() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    wide(&path, 3);
    let w = Array::open(&path, "posterior/w");
    assert_eq!(w.dims, ["chain", "draw", "row", "w_dim_1"]);
    assert_eq!(w.sizes("shape"), [2, 7, 80, 80]);
    let chunks = w.sizes("chunks");
    assert_eq!((chunks[0], &chunks[2..]), (1, &[80, 80][..]));
    assert!(chunks[1] > 1 && chunks[1] < 7 && 7 % chunks[1] != 0, "{chunks:?}");
    let lp = Array::open(&path, "posterior/lp");
    assert_eq!(lp.sizes("shape"), [2, 7]);
    for chain in 0..2 {
        for draw in 0..7 {
            assert_eq!(lp.real(&[chain, draw]), -value(chain, draw, 0));
            for (i, j) in [(0, 0), (0, 79), (3, 17), (79, 79)] {
                assert_eq!(w.real(&[chain, draw, i, j]), value(chain, draw, 80 * i + j));
            }
        }
    }
    let last = Array::open(&path, "posterior/draw");
    assert_eq!((last.sizes("shape"), last.int(&[6])), (vec![7], 6));
    assert_eq!(Array::open(&path, "posterior/chain").int(&[1]), 1);
    assert_eq!(Array::open(&path, "posterior/w_dim_1").int(&[79]), 79);
}

#[test]
fn the_last_chunk_is_filled_up_with_the_fill_value() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    wide(&path, 7);
    let w = Array::open(&path, "posterior/w");
    assert_eq!(w.layout["fill_value"], "NaN");
    let end = fs::read(w.folder.join("1.1.0.0")).unwrap();
    let last = f64::from_le_bytes(end[end.len() - 8..].try_into().unwrap());
    assert!(last.is_nan());
}

#[test]
fn the_bytes_do_not_depend_on_how_draws_are_appended() {
    let folder = Folder::new();
    let paths = [1, 2, 7].map(|block| {
        let path = folder.0.join(format!("{block}.zarr"));
        wide(&path, block);
        path
    });
    let [one, two, seven] = paths.map(|path| tree(&path));
    assert!(one.len() > 10 && one == two && one == seven);
}

#[test]
fn all_kinds_and_groups_are_described() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    let mut store = ZarrStore::create(&path, [("seed".to_owned(), json!(3))]).unwrap();
    let posterior = store.samples("posterior", 1, 1).unwrap();
    let stats = store.samples("sample_stats", 1, 1).unwrap();
    let data = store.constants("observed_data").unwrap();
    let schools = labelled("school", &["Zürich", "", "b"]);
    let theta = store
        .variable(
            posterior,
            &variable("theta", ZarrType::Real, std::slice::from_ref(&schools)),
        )
        .unwrap();
    let empty = store
        .variable(
            posterior,
            &variable("empty", ZarrType::Real, &[ZarrDim::unnamed(0)]),
        )
        .unwrap();
    let steps = store
        .variable(stats, &variable("n_steps", ZarrType::Int, &[]))
        .unwrap();
    let diverging = store
        .variable(stats, &variable("diverging", ZarrType::Bool, &[]))
        .unwrap();
    let y = store
        .variable(data, &variable("y", ZarrType::Real, &[schools]))
        .unwrap();
    let total = store
        .variable(data, &variable("total", ZarrType::Int, &[]))
        .unwrap();
    let rows = ZarrDim {
        labels: ZarrLabels::Int(vec![4, 9]),
        ..ZarrDim::named("row", 2)
    };
    let x = store
        .variable(data, &variable("x", ZarrType::Real, &[rows]))
        .unwrap();
    store.append(theta, 0, &[1.0, -0.0, f64::INFINITY]).unwrap();
    store.append(empty, 0, &[]).unwrap();
    store.append(steps, 0, &[7.0]).unwrap();
    store.append(diverging, 0, &[1.0]).unwrap();
    store.append(y, 0, &[28.0, 8.0, -3.0]).unwrap();
    store.append(total, 0, &[-12.0]).unwrap();
    store.append(x, 0, &[0.5, f64::MIN_POSITIVE]).unwrap();
    store.finish().unwrap();

    let theta = Array::open(&path, "posterior/theta");
    assert_eq!(
        (theta.real(&[0, 0, 0]), theta.real(&[0, 0, 2])),
        (1.0, f64::INFINITY)
    );
    assert!(theta.real(&[0, 0, 1]).is_sign_negative());
    let school = Array::open(&path, "observed_data/school");
    assert_eq!([0, 1, 2].map(|at| school.text(&[at])), ["Zürich", "", "b"]);
    assert_eq!(Array::open(&path, "posterior/empty").sizes("shape"), [1, 1, 0]);
    assert_eq!(Array::open(&path, "sample_stats/n_steps").int(&[0, 0]), 7);
    let diverging = Array::open(&path, "sample_stats/diverging");
    assert_eq!(diverging.layout["dtype"], "|b1");
    assert_eq!(diverging.bytes(&[0, 0], 1), [1]);
    let y = Array::open(&path, "observed_data/y");
    assert_eq!(
        (y.dims.as_slice(), y.real(&[2])),
        (&["school".to_owned()][..], -3.0)
    );
    let total = Array::open(&path, "observed_data/total");
    assert_eq!((total.sizes("shape"), total.int(&[])), (vec![], -12));
    assert_eq!(Array::open(&path, "observed_data/row").int(&[1]), 9);
    let root = json_file(&path.join(".zmetadata"))["metadata"].clone();
    for key in [".zattrs", "posterior/.zattrs", "observed_data/.zattrs"] {
        assert_eq!(
            (&root[key]["inference_library"], &root[key]["seed"]),
            (&json!("bnnc"), &json!(3))
        );
        assert!(root[key].get("created_at").is_none());
    }
    assert_eq!(root["sample_stats/.zgroup"], json!({ "zarr_format": 2 }));
}

#[test]
fn names_are_kept_apart_and_are_parts_of_a_path() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    let mut store = ZarrStore::create(&path, NO_ATTRIBUTES).unwrap();
    let group = store.samples("posterior", 3, 2).unwrap();
    let mut add = |name: &str, dims: &[ZarrDim]| {
        store
            .variable(group, &variable(name, ZarrType::Real, dims))
            .unwrap();
    };
    add("draw", &[]);
    add("n", &[ZarrDim::named("chain", 3), ZarrDim::named("class", 2)]);
    add("class", &[ZarrDim::named("n", 2)]);
    add("cov", &[ZarrDim::named("class", 2), ZarrDim::named("class", 2)]);
    add("other", &[ZarrDim::named("class", 5)]);
    add("named", &[labelled("class", &["a", "b"])]);
    add("../x/y\u{0}", &[]);
    add("hidden.w[1]", &[]);
    add(".zgroup", &[]);
    store.finish().unwrap();
    let dims = |name: &str| Array::open(&path, &format!("posterior/{name}")).dims[2..].to_vec();
    assert_eq!(dims("draw_"), [""; 0]);
    assert_eq!(dims("n"), ["n_dim_0", "class"]);
    assert_eq!(dims("class_"), ["class__dim_0"]);
    assert_eq!(dims("cov"), ["class", "cov_dim_1"]);
    assert_eq!(dims("other"), ["other_dim_0"]);
    assert_eq!(dims("named"), ["named_dim_0"]);
    assert_eq!(dims("_.._x_y_"), [""; 0]);
    assert_eq!(dims("hidden.w[1]"), [""; 0]);
    assert_eq!(dims("_.zgroup"), [""; 0]);
    assert_eq!(entries(&folder.0), 1);
}

#[test]
fn chains_are_cut_to_the_shortest() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    let mut store = ZarrStore::create(&path, NO_ATTRIBUTES).unwrap();
    let group = store.samples("posterior", 2, 100).unwrap();
    let size = 1 << 14;
    let w = store
        .variable(group, &variable("w", ZarrType::Real, &[ZarrDim::unnamed(size)]))
        .unwrap();
    for (chain, draws) in [(0, 9), (1, 3)] {
        for draw in 0..draws {
            store
                .append(w, chain, &vec![value(chain, draw, 0); size])
                .unwrap();
        }
    }
    store.finish().unwrap();
    let w = Array::open(&path, "posterior/w");
    assert_eq!(w.sizes("shape"), [2, 3, size]);
    assert_eq!(
        (w.real(&[0, 2, 1]), w.real(&[1, 2, 1])),
        (value(0, 2, 0), value(1, 2, 0))
    );
    // A chunk holds two draws, so each chain has two chunks. The folder contains these four chunks
    // and two files of metadata.
    assert_eq!((w.sizes("chunks")[1], entries(&w.folder)), (2, 2 * 2 + 2));
}

#[test]
fn a_store_is_replaced_and_nothing_else_is() {
    let folder = Folder::new();
    let path = folder.0.join("a.zarr");
    wide(&path, 7);
    let mut store = ZarrStore::create(&path, NO_ATTRIBUTES).unwrap();
    store.constants("observed_data").unwrap();
    assert!(path.join("posterior").exists());
    store.finish().unwrap();
    assert!(path.join("observed_data/.zgroup").is_file() && !path.join("posterior").exists());

    let work = folder.file("notes.txt", "mine");
    fs::create_dir(folder.0.join("thesis")).unwrap();
    for theirs in [work, folder.0.join("thesis"), folder.0.join("no/folder/a.zarr")] {
        let fault = ZarrStore::create(&theirs, NO_ATTRIBUTES).unwrap_err();
        assert_eq!(fault.code.id, "E0432");
    }
    assert_eq!(entries(&folder.0), 3);
}

#[test]
fn an_unfinished_store_is_removed() {
    let folder = Folder::new();
    let mut store = ZarrStore::create(&folder.0.join("a.zarr"), NO_ATTRIBUTES).unwrap();
    let group = store.samples("posterior", 1, 1).unwrap();
    let w = store
        .variable(group, &variable("w", ZarrType::Real, &[]))
        .unwrap();
    store.append(w, 0, &[1.0]).unwrap();
    assert_eq!(entries(&folder.0), 1);
    drop(store);
    assert_eq!(entries(&folder.0), 0);
}

//! Only the program that returns complete Jacobians keeps the gradient of every row in memory.

use super::setup::{ALL, approximated, compiled, lowered, network};
use bnnc_abi::plan::BufferRole;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_kernels::arena::{buffer_bytes, predict_arena_bytes};
use bnnc_rewrite::methods::laplace::OptionalPrograms;
use bnnc_rewrite::pass::PassContext;
use bnnc_rewrite::{pipeline, pipelines};
use std::collections::HashMap;

const ROWS: usize = 256;
const COLUMNS: usize = 10;
const SELECTED: usize = 100;

fn sizes() -> Sizes {
    Sizes::default()
        .with(Symbol::Batch, ROWS)
        .with(Symbol::Columns, COLUMNS)
        .with(Symbol::Selected, SELECTED)
}

/// Returns the number of bytes in the arena of a function. Panics if a buffer has at least as many
/// elements per row as the first weight matrix has elements.
fn bytes(name: &str, function: &Function) -> u64 {
    let program = lowered(function, Precision::F32);
    for id in program.plan.buffers.ids() {
        let buffer = &program.plan.buffers[id];
        let is_of_row = buffer.shape.dims().contains(&Dim::Symbol(Symbol::Batch));
        let fixed: usize = buffer.shape.dims().iter().filter_map(|dim| dim.fixed()).product();
        assert!(
            !is_of_row || fixed < 784 * 50,
            "{name} keeps `{}` {}: {} bytes",
            buffer.name,
            buffer.shape,
            buffer_bytes(&program.plan, id, &sizes())
        );
        assert!(!matches!(buffer.role, BufferRole::State));
    }
    predict_arena_bytes(&program.plan, &sizes())
}

#[test]
fn gradients_of_rows_are_not_kept_in_memory() {
    let wanted = OptionalPrograms {
        jacobian: false,
        ..ALL
    };
    let text = network(50, 10, "relu", "index(10)", "Categorical(logits = f)");
    let found = approximated("large", &text, 784, wanted);
    let weights: usize = found.weights.iter().map(|weights| weights.elements).sum();
    assert_eq!(weights, 784 * 50 + 50 + 50 * 10 + 10);
    let (batch, selection) = (4 * ROWS * 784, 4 * ROWS * COLUMNS * SELECTED);
    let hidden = 4 * ROWS * COLUMNS * 50;
    // Usually, the memory consists of two copies of the data, and of a few arrays that are as large
    // as the weights or the hidden layer.
    let usual = (2 * batch + 4 * 4 * weights + 8 * hidden) as u64;
    let programs = [
        ("selected", found.selected, usual + 2 * selection as u64),
        ("squares", found.squares, usual),
        ("spread", found.spread, usual),
        ("factors", found.factors, usual + 4 * 784 * 784),
        (
            "products",
            found.products,
            usual + 4 * (COLUMNS * (weights * 4 + ROWS * 200)) as u64,
        ),
    ];
    for (name, function, most) in programs {
        let bytes = bytes(name, &function.unwrap());
        println!("{name}: {bytes} of {most}");
        assert!(bytes <= most, "{name} takes {bytes} bytes, more than {most}");
    }
}

/// The gradient of a data row is nonzero in only one row of an embedding table. The zeros in the
/// other rows of the table are not stored.
#[test]
fn gradients_of_tables_are_not_kept_for_every_row() {
    let wanted = OptionalPrograms {
        selected: true,
        squares: true,
        ..OptionalPrograms::default()
    };
    let text = "use layers::Embedding
data rows = csv(\"rows.csv\") { target = y }
model Net(x0: index(5000)) -> y: real {
  code = Embedding(5000, 8)
  w: real[8] ~ Normal(0, 1)
  y ~ Normal(sum(w * tanh(code(x0))), 1)
}
infer fit = map(Net, rows) { epochs = 1 }
";
    let found = approximated("table", text, 1, wanted);
    for (name, function) in [("selected", found.selected), ("squares", found.squares)] {
        let bytes = bytes(name, &function.unwrap());
        println!("{name} of a table: {bytes}");
        assert!(bytes <= 8 << 20, "{name} takes {bytes} bytes");
    }
}

/// The number of elements is larger than the integers that single precision represents exactly.
/// Positions are still split into their indices without error.
#[test]
fn positions_are_split_exactly() {
    const SIDE: usize = 4_101;
    let mut builder = Builder::new("positions");
    let real = Type::real(Shape::fixed(&[SIDE]));
    let [line, ones] = ["line", "ones"].map(|name| builder.param(name, real.clone()));
    let selected = Shape(vec![Dim::Symbol(Symbol::Selected)]);
    let index = builder.param("index", Type::int(selected));
    let mut results = Vec::new();
    for (name, left, right) in [("row", line, ones), ("column", ones, line)] {
        let outer = builder.contract(left, right, "i,j->ij");
        let flat = builder.reshape(outer, &Shape::fixed(&[SIDE * SIDE]));
        results.push((name.into(), builder.gather(flat, index, 0)));
    }
    let function = builder.finish(results);
    let function = pipeline::run(&function, pipelines::BEFORE_LOWERING, &mut PassContext::default()).unwrap();
    let ends = (0..SIDE).flat_map(|row| [row * SIDE, row * SIDE + SIDE / 2, row * SIDE + SIDE - 1]);
    let places: Vec<f64> = ends.map(|place| place as f64).collect();
    let sizes = Sizes::default().with(Symbol::Selected, places.len());
    let vector = |values: Vec<f64>| Tensor::new(vec![values.len()], values);
    let given = HashMap::from([
        ("line".to_owned(), vector((0..SIDE).map(|x| x as f64).collect())),
        ("ones".to_owned(), vector(vec![1.0; SIDE])),
        ("index".to_owned(), vector(places.clone())),
    ]);
    let found = compiled(&function, Precision::F32, &sizes, &given);
    for (at, place) in places.iter().enumerate() {
        let place = *place as usize;
        assert_eq!(found["row"][at], (place / SIDE) as f64, "{place}");
        assert_eq!(found["column"][at], (place % SIDE) as f64, "{place}");
    }
}

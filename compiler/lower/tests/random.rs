//! Compares lowered random functions with the reference evaluator. Their shapes have symbolic
//! sizes.

mod executor;

use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use bnnc_math::philox;

const BATCH: Dim = Dim::Symbol(Symbol::Batch);
const DRAWS: Dim = Dim::Symbol(Symbol::Draws);

/// Makes random choices from a counter-based stream.
struct Dice {
    graph: u32,
    next: u64,
}

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.next += 1;
        (philox::uniform(philox::key(3, "dice"), [self.graph, 0, 0], self.next) * below as f64) as usize
    }
}

struct Graph {
    builder: Builder,
    values: Vec<Value>,
    dice: Dice,
}

impl Graph {
    fn pick(&mut self) -> Value {
        // The more recent half of the values is chosen twice as often, so that graphs
        // become deep.
        let recent = self.values.len() / 2;
        let at = self.dice.roll(self.values.len() + recent);
        self.values[at.min(self.values.len() - 1 - at.saturating_sub(self.values.len()))]
    }

    /// Returns another value of the same shape, or the value itself.
    fn partner(&mut self, x: Value) -> Value {
        let shape = self.builder.shape(x);
        let alike: Vec<Value> = self
            .values
            .iter()
            .copied()
            .filter(|value| self.builder.shape(*value) == shape)
            .collect();
        alike[self.dice.roll(alike.len())]
    }

    fn step(&mut self) {
        let x = self.pick();
        let y = self.partner(x);
        let b = &mut self.builder;
        let (shape, rank) = (b.shape(x), b.rank(x));
        let new = match self.dice.roll(20) {
            0 => b.add(x, y),
            1 => b.mul(x, y),
            2 => b.tanh(x),
            3 => b.softplus(x),
            4 => b.max(x, y),
            5 if rank > 0 => {
                let axis = self.dice.roll(rank);
                b.reduce_sum(x, &[axis])
            }
            6 if rank > 0 => {
                let axis = self.dice.roll(rank);
                let largest = b.reduce_max(x, &[axis]);
                let spread = b.restore_axes(largest, &shape, &[axis]);
                b.sub(x, spread)
            }
            7 if rank < 4 => b.broadcast_leading(x, [BATCH, DRAWS, Dim::Fixed(3)][self.dice.roll(3)]),
            8 if rank > 1 => {
                let axis = self.dice.roll(rank);
                b.move_axis(x, axis, 0)
            }
            9 | 10 if rank > 1 => self.contract(x, y),
            11 if shape
                .dims()
                .iter()
                .any(|dim| dim.fixed().is_some_and(|size| size > 1)) =>
            {
                self.window(x, &shape)
            }
            12 => self.merge(x, &shape),
            13 => self.noise(&shape),
            14 if rank > 0 && shape.dims()[0].fixed().is_some() => b.concat(&[x, y], 0),
            15 if rank > 0 => {
                let axis = self.dice.roll(rank);
                b.cumsum(x, axis, shape.rank() > 2)
            }
            16 | 17 if rank > 0 => self.index(x, &shape),
            _ => b.sub(x, y),
        };
        let small = self.builder.rank(new) <= 4;
        if small {
            let bounded = self.builder.tanh(new);
            let keep_raw = self.dice.roll(2) == 0;
            self.values.push(if keep_raw { new } else { bounded });
        }
    }

    /// Contracts random axes of two values of one shape.
    fn contract(&mut self, x: Value, y: Value) -> Value {
        let rank = self.builder.rank(x);
        let (mut left, mut right, mut result) = (String::new(), String::new(), String::new());
        for axis in 0..rank {
            let (own, other) = ((b'a' + axis as u8) as char, (b'p' + axis as u8) as char);
            left.push(own);
            match self.dice.roll(4) {
                0 => {
                    right.push(own);
                    result.push(own);
                }
                1 => {
                    right.push(other);
                    result.push(own);
                    result.insert(0, other);
                }
                2 => {
                    right.push(other);
                    result.push(other);
                }
                _ => right.push(own),
            }
        }
        if result.len() > 4 {
            return self.builder.mul(x, y);
        }
        let product = self.builder.contract(x, y, &format!("{left},{right}->{result}"));
        self.builder.scale(product, 0.25)
    }

    /// Picks slices at computed positions, or adds slices at computed positions.
    fn index(&mut self, x: Value, shape: &Shape) -> Value {
        let axis = self.dice.roll(shape.rank());
        let adds = self.dice.roll(2) == 0;
        let b = &mut self.builder;
        let line = Type::real(Shape(vec![if adds { shape.dims()[axis] } else { DRAWS }]));
        let ramp = b.iota(line.dims()[0]);
        let ramp = b.to_real(ramp);
        let (squared, three) = (b.square(ramp), b.like(2.5, ramp));
        let position = b.sub(squared, three);
        let position = b.to_int(position);
        match adds {
            true => b.scatter_add(position, x, axis, Dim::Fixed(3)),
            false => b.gather(x, position, axis),
        }
    }

    fn window(&mut self, x: Value, shape: &Shape) -> Value {
        let long = |dim: &Dim| dim.fixed().is_some_and(|size| size > 1);
        let axis = shape.dims().iter().position(long).unwrap_or(0);
        let size = shape.dims()[axis].fixed().unwrap_or(1);
        let start = self.dice.roll(size - 1);
        let window = Window::full(shape.rank()).with(axis, start, size);
        let cut = self.builder.slice(x, window);
        if self.dice.roll(2) == 0 {
            return cut;
        }
        let mut low = vec![0; shape.rank()];
        low[axis] = start;
        let zeros = vec![0; shape.rank()];
        self.builder.pad(cut, &low, &zeros, &zeros)
    }

    /// Merges neighbouring static axes, or splits an axis of size 6.
    fn merge(&mut self, x: Value, shape: &Shape) -> Value {
        let mut dims: Vec<Dim> = Vec::new();
        for dim in shape.dims() {
            match (dims.last().copied(), dim) {
                (_, Dim::Fixed(6)) => dims.extend([Dim::Fixed(2), Dim::Fixed(1), Dim::Fixed(3)]),
                (Some(Dim::Fixed(before)), Dim::Fixed(size)) => {
                    dims.pop();
                    dims.push(Dim::Fixed(before * size));
                }
                _ => dims.push(*dim),
            }
        }
        self.builder.reshape(x, &Shape(dims))
    }

    fn noise(&mut self, shape: &Shape) -> Value {
        let zero = self.builder.int(0);
        let four = self.builder.int(4);
        let b = &mut self.builder;
        let Some((first, rest)) = shape.dims().split_first() else {
            return b.noise(NoiseKind::Normal, "scalar", [zero, four, zero], shape);
        };
        let line = b.iota(*first);
        let of = Shape(vec![*first]);
        let [zeros, fours] = [zero, four].map(|x| b.broadcast(x, &of, &[]));
        b.noise(
            NoiseKind::Uniform,
            "vector",
            [line, zeros, fours],
            &Shape(rest.to_vec()),
        )
    }
}

fn graph(number: u32) {
    let mut graph = Graph {
        builder: Builder::new(&format!("graph{number}")),
        values: Vec::new(),
        dice: Dice {
            graph: number,
            next: 0,
        },
    };
    let shapes: [&[Dim]; 6] = [
        &[BATCH, Dim::Fixed(3)],
        &[Dim::Fixed(6)],
        &[],
        &[DRAWS, BATCH, Dim::Fixed(4)],
        &[Dim::Fixed(4), Dim::Fixed(1), Dim::Fixed(6)],
        &[BATCH],
    ];
    for (at, dims) in shapes.iter().enumerate() {
        let value = graph
            .builder
            .param(&format!("p{at}"), Type::real(Shape(dims.to_vec())));
        graph.values.push(value);
    }
    let length = 10 + graph.dice.roll(20);
    (0..length).for_each(|_| graph.step());
    let mut results: Vec<(std::sync::Arc<str>, Value)> = Vec::new();
    for at in 0..3 {
        let value = graph.values[graph.values.len() - 1 - at];
        results.push((format!("r{at}").as_str().into(), value));
    }
    for at in 0..shapes.len() {
        let next = graph.partner(graph.values[at]);
        results.push((format!("p{at}").as_str().into(), next));
    }
    let function = graph.builder.finish(results);
    for (batch, draws) in [(5, 2), (1, 3), (9, 1)] {
        let sizes = Sizes::default()
            .with(Symbol::Batch, batch)
            .with(Symbol::Draws, draws);
        check(&function, number, &sizes);
    }
}

fn check(function: &Function, number: u32, sizes: &Sizes) {
    let inputs: Vec<_> = function
        .params
        .iter()
        .enumerate()
        .map(|(at, param)| {
            executor::numbers(function.ty(*param), (-1.0, 1.0), at as u32 + 10 * number, sizes)
        })
        .collect();
    executor::check(
        function,
        &["p0", "p1", "p2", "p3", "p4", "p5"],
        sizes,
        &inputs,
        1e-11,
    );
}

#[test]
fn random_graphs_agree_with_the_reference() {
    (0..400).for_each(graph);
}

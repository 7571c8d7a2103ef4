//! The output of `bnnc emit` can be parsed again. The later stages that are computed from it equal
//! the stages of the program. Invalid texts are reported as errors.

use super::{emitted, files, folder, options};
use bnnc_driver::emit;
use bnnc_driver::infer::CompileFailure;
use std::path::Path;

/// A linear congruential generator for the random choices of mutations.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// A program with a training step, and the text of the step as a graph and as loops.
struct Trained {
    name: String,
    graph: String,
    loops: String,
}

/// Returns the texts of a program; `None` if the program does not have a training step.
fn trained(path: &Path, text: &str) -> Option<Trained> {
    let graph = emitted(path, text, "training").ok()?;
    let loops = emitted(path, text, "loops").unwrap();
    Some(Trained {
        name: path.display().to_string(),
        graph,
        loops,
    })
}

/// Networks on images, whose pixels are the columns of a table: convolutions, groups, transposed convolutions, windows, paddings, norms of each row and of all rows of a step,
/// schedules and clipped gradients.
const NETWORKS: [&str; 6] = [
    "c = Conv(4, 2, 2, padding = 1); n = GroupNorm(2); f = mean_pool(n(c(x)), 2)",
    "c = Conv(4, 2, 2, stride = 2, padding = 2); n = BatchNorm(); f = max_pool(n(c(x)), 2)",
    "c = Conv(4, 1, 2); n = FilterResponseNorm(); f = n(c(x))",
    "c = Conv(4, 1, 1); n = LayerNorm(positions = false); f = pad(n(c(x)), 1)",
    "c = Conv(4, 1, 1); g = Conv(4, 3, 3, padding = 1, groups = 2); n = DepthwiseConv(1, 2); f = upsample(n(g(c(x))), 2)",
    "c = ConvTranspose(4, 2, 2, stride = 2); n = ConvTranspose(2, 3, 3, padding = 1, groups = 2); f = n(c(x))",
];

/// Returns a network on images of 1 by 2 pixels, which `map` trains.
fn network(layers: &str) -> String {
    let lines = layers.replace("; ", "\n  ");
    format!(
        "data d = csv(\"data.csv\") {{ inputs = [x, z], target = y }}\nmodel M(x: real[1, 1, 2]) -> y: real {{\n  {lines}\n  o = Dense(1)\n  \
         y ~ Normal(o(flatten(f))[0], 1)\n}}\ninfer q = map(M, d) {{\n  epochs = 9\n  clip = 1.0\n  optimiser = Nesterov(1e-3)\n  \
         schedule = warmup(1, steps([3, 6], 0.1))\n}}\n"
    )
}

#[test]
fn texts_of_training_and_of_loops_read_back_and_lead_to_the_same_loops() {
    let paths = files("bnn");
    let texts = paths
        .iter()
        .filter_map(|path| trained(path, &std::fs::read_to_string(path).unwrap()));
    let mut all: Vec<Trained> = texts.collect();
    assert!(all.len() > 50, "{}", all.len());
    for layers in NETWORKS {
        all.extend(trained(&folder().join("network.bnn"), &network(layers)));
    }
    assert!(all.len() > 56, "{}", all.len());
    all.iter().for_each(reads_back);
}

#[test]
fn texts_of_all_examples_read_back_and_lead_to_the_same_loops() {
    let names = bnnc_tests::compile::from_examples(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let trained = trained(path, &text);
        trained.iter().for_each(reads_back);
        trained.map(|trained| trained.name).into_iter().collect()
    });
    assert!(names.len() > 10);
}

/// Checks that the texts of a program can be parsed again, and that the same loops follow from its graph.
fn reads_back(trained: &Trained) {
    let Trained { name, graph, loops } = trained;
    let (graph_file, loops_file) = (Path::new("model.graph"), Path::new("model.loops"));
    assert_eq!(&emitted(graph_file, graph, "training").unwrap(), graph, "{name}");
    assert_eq!(&emitted(graph_file, graph, "graph").unwrap(), graph, "{name}");
    assert_eq!(&emitted(loops_file, loops, "loops").unwrap(), loops, "{name}");
    // The graph does not contain the name of the inference block, which the plan contains. It
    // does not contain states that steps do not change either.
    let body = |text: &str| {
        text.split_once('\n')
            .map(|(_, body)| body.replace(" state\n", " input\n"))
    };
    let mut given = options();
    given.precision = Some(
        match loops.lines().next().is_some_and(|line| line.contains(" f64 ")) {
            true => bnnc_base::dtype::Precision::F64,
            false => bnnc_base::dtype::Precision::F32,
        },
    );
    let (_, read) = emit::load("model.graph", graph).unwrap();
    let again = read
        .unwrap()
        .emit(bnnc_driver::stage::Stage::Loops, &given)
        .unwrap();
    assert_eq!(body(&again), body(loops), "{name}");
    assert_eq!(
        emitted(loops_file, loops, "clif").unwrap(),
        emitted(loops_file, loops, "clif").unwrap()
    );
}

/// Every later stage can be computed from a `.graph` file. The text of each stage can be parsed
/// again.
#[test]
fn passes_run_on_a_graph_file() {
    let file = Path::new("model.graph");
    let softmax = std::fs::read_to_string(folder().join("softmax.graph")).unwrap();
    let has_softmax = |stage| emitted(file, &softmax, stage).unwrap().contains(" = softmax ");
    assert!(has_softmax("expand-maps") && has_softmax("simplify"));
    assert!(!has_softmax("expand"));
    let last = emitted(file, &softmax, "simplify-kernels").unwrap();
    assert_eq!(last, emitted(file, &softmax, "training").unwrap());
    assert_eq!(emitted(file, &last, "training").unwrap(), last);
    // A pass that belongs to a method needs the model, which a `.graph` file does not contain.
    assert_eq!(code(&emitted(file, &softmax, "loss").unwrap_err()), "E0604");
}

fn code(failure: &CompileFailure) -> &'static str {
    match failure {
        CompileFailure::Program(found) => found[0].code.id,
        CompileFailure::Fault(_) => "",
    }
}

/// The error E0615 names the line of the mistake. If the requested stage is earlier than the stage
/// of the file, the error E0604 names the requested stage.
#[test]
fn other_texts_are_reported_at_their_line() {
    let graph = "fn f(%0 x: real[4]) -> (y: %1) {\n  %1 = exp %0 : real[5]\n}\n";
    let (sources, read) = emit::load("model.graph", graph).unwrap();
    let diagnostic = read.err().unwrap();
    assert_eq!(diagnostic.code.id, "E0615");
    let shown = bnnc_driver::render::text(&diagnostic, &sources, false);
    assert!(shown.contains("model.graph:2:1"), "{shown}");
    let model = std::fs::read_to_string(folder().join("map.bnn")).unwrap();
    let probabilistic = emitted(&folder().join("map.bnn"), &model, "graph").unwrap();
    let (sources, read) = emit::load("model.graph", &probabilistic).unwrap();
    let shown = bnnc_driver::render::text(&read.err().unwrap(), &sources, false);
    for part in ["E0615", "the distribution `Normal`", "bnnc emit training"] {
        assert!(shown.contains(part), "{shown}");
    }
    let rejected = emitted(Path::new("model.loops"), "plan", "loops");
    assert_eq!(code(&rejected.unwrap_err()), "E0615");
    let exp = std::fs::read_to_string(folder().join("exp.graph")).unwrap();
    assert_eq!(
        code(&emitted(Path::new("model.graph"), &exp, "density").unwrap_err()),
        "E0604"
    );
    let unused = emitted(&folder().join("map.bnn"), &model, "hoist");
    assert_eq!(code(&unused.unwrap_err()), "E0604");
}

/// Reading a text of these forms does not panic for any content of the text.
#[test]
fn damaged_texts_are_read_or_reported() {
    let words = [
        "-1",
        "0",
        "99999999999999999999",
        "%0",
        "%7",
        "]",
        "batch",
        "1e999",
        "real",
        "int",
        "\"",
        "v0",
        "b9",
    ];
    let mut random = Random(7);
    let (mut read, mut reported) = (0, 0);
    for path in files("graph") {
        let graph = std::fs::read_to_string(&path).unwrap();
        let loops = emitted(&path, &graph, "loops").unwrap();
        for (file, text) in [("model.graph", &graph), ("model.loops", &loops)] {
            for _ in 0..60 {
                let mut parts: Vec<&str> = text
                    .split_inclusive([' ', ',', '[', ']', '(', ')', '\n'])
                    .collect();
                let at = random.below(parts.len());
                match random.below(3) {
                    0 => parts[at] = words[random.below(words.len())],
                    1 => parts.insert(at, words[random.below(words.len())]),
                    _ => _ = parts.remove(at),
                }
                match emitted(Path::new(file), &parts.concat(), "clif") {
                    Ok(_) => read += 1,
                    Err(_) => reported += 1,
                }
            }
        }
    }
    assert!(read > 100 && reported > 1000, "{read} {reported}");
}

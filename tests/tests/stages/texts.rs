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

/// Returns the programs that have a training step. For each, returns the text of the step as a
/// graph and as loops.
fn trained() -> Vec<(String, String, String)> {
    let texts = files("bnn").into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let graph = emitted(&path, &text, "training").ok()?;
        let loops = emitted(&path, &text, "loops").unwrap();
        Some((path.display().to_string(), graph, loops))
    });
    texts.collect()
}

#[test]
fn texts_of_training_and_of_loops_read_back_and_lead_to_the_same_loops() {
    let trained = trained();
    assert!(trained.len() > 50, "{}", trained.len());
    for (name, graph, loops) in trained {
        let (graph_file, loops_file) = (Path::new("model.graph"), Path::new("model.loops"));
        assert_eq!(emitted(graph_file, &graph, "training").unwrap(), graph, "{name}");
        assert_eq!(emitted(graph_file, &graph, "graph").unwrap(), graph, "{name}");
        assert_eq!(emitted(loops_file, &loops, "loops").unwrap(), loops, "{name}");
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
        let (_, read) = emit::load("model.graph", &graph).unwrap();
        let again = read
            .unwrap()
            .emit(bnnc_driver::stage::Stage::Loops, &given)
            .unwrap();
        assert_eq!(body(&again), body(&loops), "{name}");
        assert_eq!(
            emitted(loops_file, &loops, "clif").unwrap(),
            emitted(loops_file, &loops, "clif").unwrap()
        );
    }
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
    let refused = emitted(Path::new("model.graph"), &probabilistic, "loops");
    assert_eq!(code(&refused.unwrap_err()), "E0615");
    let refused = emitted(Path::new("model.loops"), "plan", "loops");
    assert_eq!(code(&refused.unwrap_err()), "E0615");
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

//! Chooses settings with which a program of the book runs within a moment.

/// The words that begin an item.
const ITEMS: &[&str] = &[
    "infer ",
    "data ",
    "model ",
    "posterior ",
    "compare ",
    "fn ",
    "dist ",
    "layer ",
    "optimiser ",
    "const ",
];

/// Returns `NAME.OPTION=VALUE` for each inference of the program.
pub fn settings(program: &str) -> Vec<String> {
    let lines: Vec<&str> = program.lines().collect();
    let mut settings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, call)) = line.strip_prefix("infer ").and_then(|rest| rest.split_once('=')) else {
            continue;
        };
        let method = call.split('(').next().unwrap_or_default().trim();
        let rest = lines[at + 1..]
            .iter()
            .take_while(|line| !ITEMS.iter().any(|item| line.starts_with(item)));
        let options: String = rest.fold((*line).to_owned(), |text, line| text + "\n" + line);
        let own = few(method, &options);
        settings.extend(own.iter().map(|setting| format!("{}.{setting}", name.trim())));
    }
    settings
}

/// Returns settings that reduce the steps or draws of a method. `options` is the text of the method's option block in the program.
fn few(method: &str, options: &str) -> &'static [&'static str] {
    match method {
        "nuts" | "hmc" | "mala" | "random_walk" | "sgld" | "sghmc" | "penalty" => {
            &["chains=2", "warmup=30", "draws=30", "predictive_draws=20"]
        }
        "swag" | "collapsed" if options.contains("iterates") => &[],
        "swag" | "collapsed" if options.contains("epochs") => &["epochs=6"],
        "laplace" if options.contains("start") => &[],
        _ if options.contains("epochs") => &["epochs=1"],
        _ => &["steps=60"],
    }
}

#[test]
fn every_inference_has_settings() {
    let program = "infer a  = nuts(M, d)\ninfer b = map(M, d) {\n  epochs = 10\n}\ninfer c = laplace(M, d) { start = b }\n";
    let found = settings(program);
    assert_eq!(found[1], "a.warmup=30");
    assert_eq!(found.last().map(String::as_str), Some("b.epochs=1"));
    assert!(found.iter().all(|setting| !setting.starts_with("c.")));
}

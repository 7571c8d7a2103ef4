//! The places where the code may refer by name to registered things, such as methods, samplers and
//! data formats. The places are the files of a thing, the lists that register the thing, and a few
//! listed exceptions.
//!
//! A file refers to a thing if its code contains the word of the thing as a string, or a variant or
//! struct that belongs to the thing. Comments and tests do not count. For each kind of thing, the
//! table [`kinds`] gives the files that belong to a thing, and the lists that register all things
//! of the kind. Every other file that refers to a thing is listed in [`OTHERS`], with the reason.
//! An entry of [`OTHERS`] that is not needed is an error.

use bnnc_abi::method::Finds;
use bnnc_driver::backends;
use bnnc_tests::files::{File, under};
use std::collections::BTreeSet;

/// A thing that is registered in a list, such as a method.
struct Thing {
    name: &'static str,
    /// The strings and identifiers that only this thing has.
    words: Vec<String>,
    /// The beginnings of the paths of files and folders that belong to the thing.
    own: Vec<String>,
}

/// A kind of thing. All things of the kind are registered in the same lists.
struct Kind {
    name: &'static str,
    things: Vec<Thing>,
    /// The lists that register the things. Each thing has a few lines in them.
    registries: &'static [&'static str],
    /// The largest number of lines that a thing may have in all lists together.
    lines: usize,
}

/// Files that refer to a thing, although they do not belong to it and do not register it. Each
/// entry has the thing, the file, and the reason.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "collapsed",
        "compiler/driver/src/diagnostics.rs",
        "the diagnostic of its weights points at an option",
    ),
    (
        "collapsed",
        "runtime/abi/src/manifest.rs",
        "the accessor of its part of a manifest",
    ),
    (
        "cuda",
        "runtime/runner/src/program.rs",
        "the feature of executables that run on a device",
    ),
    (
        "mlir",
        "compiler/driver/src/stage.rs",
        "the stage that prints its text",
    ),
    (
        "dropout",
        "compiler/rewrite/src/pipelines.rs",
        "the list of its passes",
    ),
    (
        "dropout",
        "compiler/rewrite/src/diagnostics.rs",
        "options at which a diagnostic of likelihoods may point",
    ),
    (
        "ensemble",
        "runtime/abi/src/manifest.rs",
        "the accessor of its part of a manifest",
    ),
    (
        "ensemble",
        "runtime/core/src/diagnostics/curvature.rs",
        "advice for models with running means, which chains reject",
    ),
    (
        "idx",
        "compiler/hir/src/check/data.rs",
        "its files come as images and labels",
    ),
    (
        "laplace",
        "runtime/abi/src/manifest.rs",
        "the accessor of its part of a manifest",
    ),
    (
        "laplace",
        "runtime/run/src/cost/fitting.rs",
        "memory for smaller curvatures is offered in advice",
    ),
    (
        "csv",
        "compiler/hir/src/check/data.rs",
        "the format of data items with errors",
    ),
    (
        "mala",
        "runtime/abi/src/methods/sampling/samplers/penalty.rs",
        "a proposal of the same name",
    ),
    ("map", "compiler/graph/src/ops/map.rs", "an op of the same name"),
    (
        "random_walk",
        "runtime/abi/src/methods/sampling/samplers/penalty.rs",
        "a proposal of the same name",
    ),
    (
        "sgld",
        "compiler/driver/src/methods/sample.rs",
        "the diagnostic of a cycle that is not whole points at its option",
    ),
    (
        "sgld",
        "runtime/abi/src/methods/sampling/samplers/sghmc.rs",
        "the two share declarations of options",
    ),
    (
        "sgld",
        "runtime/abi/src/methods/sampling/schedule.rs",
        "diagnostics of the schedule point at its option",
    ),
    (
        "swag",
        "compiler/driver/src/methods/collapsed.rs",
        "the iterates of `collapsed` are made as those of `swag`",
    ),
    (
        "vi",
        "compiler/driver/src/diagnostics.rs",
        "the diagnostic of a pruning table points at an option",
    ),
    (
        "vi",
        "compiler/driver/src/compilation.rs",
        "the result of elaboration has its options",
    ),
    (
        "vi",
        "compiler/driver/src/infer.rs",
        "elaboration reads its options",
    ),
    (
        "vi",
        "compiler/rewrite/src/methods/likelihood/choice.rs",
        "options that choose an estimator of the likelihood",
    ),
    (
        "vi",
        "compiler/rewrite/src/diagnostics.rs",
        "options at which a diagnostic of likelihoods may point",
    ),
    (
        "vi",
        "runtime/abi/src/methods/training.rs",
        "the part of a training has its options",
    ),
];

/// A table of words that other tools use for things with a different name in bnnc.
const SYNONYMS: &str = "runtime/base/src/synonyms.rs";

fn camel(name: &str) -> String {
    let parts = name.split('_');
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    parts.map(upper).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The modules of the methods whose files are not named after them, in `runtime/abi`, `runtime/methods` and the compiler.
const MODULES: &[(&str, [&str; 3])] = &[
    ("dropout", ["dropout", "train", "dropout"]),
    ("ensemble", ["iterates", "iterates", "iterates"]),
    ("map", ["training", "train", "train"]),
    ("swag", ["iterates", "iterates", "iterates"]),
    ("vi", ["variational", "train", "train"]),
];

/// Returns the entry of a list that has this name.
fn listed<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    let found = list.iter().find(|(listed, _)| *listed == name);
    found.map(|(_, entry)| *entry)
}

/// Panics if an entry of a list belongs to none of the things.
fn assert_known<T>(list: &[(&str, T)], things: &[Thing]) {
    for (name, _) in list {
        assert!(
            things.iter().any(|thing| thing.name == *name),
            "`{name}` does not exist"
        );
    }
}

fn methods() -> Kind {
    let thing = |name: &'static str| {
        let camel = camel(name);
        let words = vec![
            quoted(name),
            format!("Work::{camel}"),
            format!("Finds::{camel}"),
            format!("{camel}Options"),
        ];
        let [abi, runtime, compiler] = listed(MODULES, name).unwrap_or([name; 3]);
        let own = vec![
            format!("runtime/abi/src/methods/{abi}"),
            format!("runtime/methods/src/{runtime}"),
            format!("compiler/driver/src/methods/{compiler}"),
        ];
        Thing { name, words, own }
    };
    let all = bnnc_abi::method::ALL.iter();
    let others = all.filter(|method| !matches!(method.finds, Finds::Chains(_)));
    let things: Vec<Thing> = others.map(|method| thing(method.name)).collect();
    assert_known(MODULES, &things);
    Kind {
        name: "method",
        things,
        registries: &[
            "runtime/abi/src/methods.rs",
            "runtime/methods/src/lib.rs",
            "compiler/driver/src/methods.rs",
        ],
        // Besides the entries by module, a method has one arm in the compiler. A method that a build can leave out has two.
        lines: 2,
    }
}

/// The files of `runtime/mcmc` that run several samplers.
const SAMPLER_FILES: &[(&str, &str)] = &[
    ("mala", "metropolis"),
    ("random_walk", "metropolis"),
    ("sghmc", "stochastic_gradient"),
    ("sgld", "stochastic_gradient"),
];

fn samplers() -> Kind {
    let file = |name: &'static str| listed(SAMPLER_FILES, name).unwrap_or(name);
    let thing = |name: &'static str| Thing {
        name,
        words: vec![
            quoted(name),
            format!("mod {name}"),
            format!("{}Options", camel(name)),
            format!("Transition::{}", camel(name)),
            format!("Sampler::{}", camel(name)),
        ],
        own: vec![
            format!("runtime/abi/src/methods/sampling/samplers/{name}.rs"),
            format!("runtime/mcmc/src/samplers/{}", file(name)),
            // For every sampler, this file has the lines that are needed to write files in the form
            // of CmdStan.
            "runtime/abi/src/methods/sampling/samplers/stan.rs".to_owned(),
        ],
    };
    let all = bnnc_abi::method::ALL.iter();
    let samplers = all.filter(|method| matches!(method.finds, Finds::Chains(_)));
    let things: Vec<Thing> = samplers.map(|method| thing(method.name)).collect();
    assert_known(SAMPLER_FILES, &things);
    Kind {
        name: "sampler",
        things,
        registries: &[
            "runtime/abi/src/methods/sampling/samplers.rs",
            "runtime/mcmc/src/samplers.rs",
        ],
        // In each of the two lists, the module and the entry.
        lines: 4,
    }
}

fn formats() -> Kind {
    let thing = |name: &&'static str| Thing {
        name,
        words: vec![format!("Format::{}", camel(name))],
        own: vec![format!("runtime/data/src/read/{name}")],
    };
    Kind {
        name: "data format",
        things: bnnc_abi::data::Format::WORDS.iter().map(thing).collect(),
        registries: &["runtime/abi/src/data.rs", "runtime/data/src/read/mod.rs"],
        lines: 4,
    }
}

/// The files of the backends that do not have a crate of their own.
const BACKEND_FILES: &[(&str, &str)] = &[
    ("cuda", "compiler/backend-mlir/src/gpu"),
    ("reference", "compiler/loops/src/reference"),
];

fn backends() -> Kind {
    let thing = |name: &'static str| {
        let of_crate = format!("compiler/backend-{name}/");
        Thing {
            name,
            words: vec![quoted(name)],
            own: vec![listed(BACKEND_FILES, name).map_or(of_crate, str::to_owned)],
        }
    };
    // A build without the feature `cuda` does not list this backend, but its files exist.
    let names = backends::ALL.iter().map(|backend| backend.name());
    let all: BTreeSet<&str> = names.chain([backends::DEVICE]).collect();
    let things: Vec<Thing> = all.into_iter().map(thing).collect();
    assert_known(BACKEND_FILES, &things);
    Kind {
        name: "backend",
        things,
        registries: &["compiler/driver/src/backends.rs"],
        lines: 1,
    }
}

fn kinds() -> Vec<Kind> {
    vec![methods(), samplers(), formats(), backends()]
}

/// Returns the lines of code of a file. Comments, attributes and tests are left out.
fn code(file: &File) -> Vec<&str> {
    let lines = file.lines().into_iter().map(|(_, line)| line.trim());
    lines
        .filter(|line| !line.starts_with("//") && !line.starts_with("#["))
        .collect()
}

/// Returns whether a line contains a word. A part of a longer word does not count.
fn has(line: &str, word: &str) -> bool {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    line.match_indices(word).any(|(at, _)| {
        !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next())
    })
}

#[test]
fn registered_things_are_known_in_few_places() {
    let files: Vec<File> = ["compiler", "runtime", "grammar"]
        .iter()
        .flat_map(|folder| under(folder, &["rs"]))
        .filter(|file| {
            !file.is_test() && !file.path.contains("/benches/") && !file.path.contains("/examples/")
        })
        .collect();
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for kind in kinds() {
        assert!(kind.things.len() > 3, "{}", kind.name);
        for thing in &kind.things {
            let mut registered = 0;
            let mut is_known = false;
            for file in &files {
                let lines = code(file);
                let count = lines
                    .iter()
                    .filter(|line| thing.words.iter().any(|word| has(line, word)))
                    .count();
                is_known |= count > 0;
                let is_own = thing.own.iter().any(|own| file.path.starts_with(own.as_str()));
                if count == 0 || is_own || file.path == SYNONYMS {
                    continue;
                }
                if kind.registries.contains(&&*file.path) {
                    registered += count;
                    continue;
                }
                let listed = OTHERS
                    .iter()
                    .position(|(name, path, _)| *name == thing.name && *path == file.path);
                match listed {
                    Some(at) => drop(used.insert(at)),
                    None => faults.push(format!(
                        "{} `{}` is known in {}",
                        kind.name, thing.name, file.path
                    )),
                }
            }
            assert!(
                is_known,
                "{} `{}` has words that no file has",
                kind.name, thing.name
            );
            if registered > kind.lines {
                let (name, most) = (thing.name, kind.lines);
                faults.push(format!(
                    "{} `{name}` has {registered} lines in lists, more than {most}",
                    kind.name
                ));
            }
        }
    }
    for (at, (name, path, reason)) in OTHERS.iter().enumerate() {
        assert!(!reason.is_empty());
        if !used.contains(&at) {
            faults.push(format!("{path} does not know `{name}`: remove the entry"));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn words_are_found_between_other_letters() {
    assert!(has("Work::Swag(swag)", "Work::Swag"));
    assert!(!has("Work::SwagLike(swag)", "Work::Swag"));
    assert!(!has("AnyWork::Swag", "Work::Swag"));
    assert_eq!(camel("random_walk"), "RandomWalk");
}

//! A check of the words in pages, comments and messages. Texts must not begin with a word that
//! hides the subject. Texts must not use a term of our own if the field has a term.
//!
//! Some words are banned in pages (Markdown), in programs (`.bnn`), and in the comments and
//! messages of Rust code. The exceptions are listed in [`ALLOWED`], each with a reason.

use bnnc_tests::book::Page;
use bnnc_tests::files::{File, under};

/// A rule that bans some words.
struct Rule {
    /// The name of the rule, in [`ALLOWED`] and in the messages of failed tests.
    name: &'static str,
    /// The banned words, in lower case and separated by `|`. Parts of longer words do not count.
    words: &'static str,
    /// True if the words are banned only at the beginning of a comment.
    is_opener: bool,
    /// The words that the author can use instead.
    instead: &'static str,
}

const fn term(name: &'static str, words: &'static str, instead: &'static str) -> Rule {
    Rule {
        name,
        words,
        is_opener: false,
        instead,
    }
}

const fn opener(name: &'static str, words: &'static str, instead: &'static str) -> Rule {
    Rule {
        name,
        words,
        is_opener: true,
        instead,
    }
}

const RULES: &[Rule] = &[
    opener("what", "what", "a noun: \"The prediction outputs of ..\""),
    opener("whether", "whether", "\"Returns whether ..\", \"True if ..\""),
    opener(
        "how-many",
        "how many|how much|how far|how long|how often",
        "\"The number of ..\"",
    ),
    term(
        "is-no",
        "is no|are no|was no|were no",
        "negate the verb: \"is not a ..\"",
    ),
    term(
        "has-none",
        "has none|have none",
        "negate the verb: \"does not have ..\"",
    ),
    term("so-many", "so many", "*n*, the number of .."),
    term("law", "law|laws", "distribution"),
    term("truth-value", "truth value|truth values", "Boolean"),
    term("carried", "carried", "transformed"),
    term("abreast", "abreast", "in lockstep, vectorised"),
    term("steer", "steer|steers|steered|steering", "set at run time"),
    term(
        "says",
        "say|says|said|saying|told|tells|hears|heard",
        "a verb for data: return, compute, state, report",
    ),
    term("asks", "asks|asked", "request, need, call"),
    term(
        "refused",
        "refuse|refuses|refused|refusal|refusals",
        "reject, rejected",
    ),
    term(
        "fault",
        "fault|faults|flaw|flaws|astray",
        "error, diagnostic; diverged",
    ),
    term(
        "infer",
        "infers|an infer|the infer|earlier infer|each infer|every infer|one infer|same infer|this infer",
        "inference, inference block, inference run",
    ),
    term(
        "graphics-processor",
        "graphics processor|graphics processors",
        "GPU",
    ),
    term(
        "effective-draws",
        "effective draws",
        "effective sample size (ESS)",
    ),
    term(
        "error-of-the-mean",
        "error of the mean|errors of the mean",
        "Monte Carlo standard error (MCSE)",
    ),
    term(
        "right-class",
        "right class|share that is right",
        "true class, accuracy",
    ),
    term(
        "noise-of-the-prior",
        "as its noise|as their noise",
        "non-centred parameterisation",
    ),
    term("treatment", "treatment|treatments", "gradient estimator"),
    term("detached", "detached", "stop-gradient"),
    term("whence", "whence|thither|whereof", "from where, there, of which"),
];

/// Banned words that are correct at one place. Each entry has the path, the rule, the banned word
/// with its neighbours, and the reason.
const ALLOWED: &[(&str, &str, &str, &str)] = &[
    ("stdlib/dist/pareto.bnn", "law", "power law", "the field's term"),
    (
        "docs/src/reference/library.md",
        "law",
        "power law",
        "the field's term",
    ),
];

/// A line of prose without code: its place, its path, its text, and whether it begins a comment.
struct Line {
    place: String,
    path: String,
    begins: bool,
    text: String,
}

/// Returns a line without its inline code. Any word is allowed in inline code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<&str>>().join("`")
}

/// Returns the lines of prose in all pages.
fn pages() -> Vec<Line> {
    let mut lines = Vec::new();
    for file in under("", &["md"]) {
        let page = Page {
            path: file.path.clone(),
            text: file.text.clone(),
        };
        // The tables of these pages are generated from the doc comments of options in
        // `runtime/abi`. The check of comments covers these doc comments.
        let has_options = file.path.starts_with("docs/src/reference/methods/");
        for (at, text) in page.prose() {
            if has_options && text.starts_with("| `") {
                continue;
            }
            lines.push(Line {
                place: format!("{}:{at}", file.path),
                path: file.path.clone(),
                begins: false,
                text: without_link_targets(&without_code(text)),
            });
        }
    }
    lines
}

/// Removes the targets of links: `[text](target)` becomes `[text]`.
fn without_link_targets(line: &str) -> String {
    let mut kept = String::new();
    for (at, part) in line.split("](").enumerate() {
        match at {
            0 => kept.push_str(part),
            _ => {
                kept.push(']');
                kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
            }
        }
    }
    kept
}

/// Returns the comments of a Rust file or of a program, line by line.
fn comments(file: &File) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before = "";
    let mut is_code = false;
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim();
        let marks = ["///", "//!", "//"];
        let Some(mark) = marks.into_iter().find(|mark| line.starts_with(mark)) else {
            (before, is_code) = ("", false);
            continue;
        };
        let text = line[mark.len()..].trim_start();
        if text.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(Line {
                place: format!("{}:{}", file.path, at + 1),
                path: file.path.clone(),
                begins: before != mark,
                text: without_code(text),
            });
        }
        before = mark;
    }
    lines
}

/// Returns the string literals of a file, line by line, if the file contains messages of its crate.
fn messages(file: &File) -> Vec<Line> {
    const HOLD: &[&str] = &["codes", "report", "advice", "expected", "foreign", "diagnostics"];
    let parts = file.path.trim_end_matches(".rs").split('/');
    if file.is_test() || !parts.into_iter().any(|part| HOLD.contains(&part)) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    // A string literal may extend over several lines. A quote inside it has a backslash.
    let mut is_string = false;
    for (at, line) in file.text.lines().enumerate() {
        if !is_string && line.trim_start().starts_with("//") {
            continue;
        }
        let mut text = String::new();
        // The character literal `'"'` does not begin a string.
        let line = line.replace("'\"'", "' '");
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if is_string => text.extend(letters.next().filter(|next| *next != 'n')),
                '"' => {
                    is_string = !is_string;
                    text.push(' ');
                }
                letter if is_string => text.push(letter),
                _ => {}
            }
        }
        lines.push(Line {
            place: format!("{}:{}", file.path, at + 1),
            path: file.path.clone(),
            begins: false,
            text: without_code(&text),
        });
    }
    lines
}

impl Rule {
    /// Returns the number of times that words of this rule occur in a line.
    fn count(&self, line: &Line) -> usize {
        if self.is_opener && !line.begins {
            return 0;
        }
        let text = line.text.to_lowercase();
        let count = |word: &str| match self.is_opener {
            // A question may begin with such a word.
            true => usize::from(is_word(&text, 0, word) && text.starts_with(word) && !text.contains('?')),
            false => text
                .match_indices(word)
                .filter(|(at, _)| is_word(&text, *at, word) && !self.is_fine(&text[..*at]))
                .count(),
        };
        self.words.split('|').map(count).sum()
    }

    /// Returns whether a banned term is usual after the words in `before`, as in "there is no x" or
    /// "the standard error of the mean".
    fn is_fine(&self, before: &str) -> bool {
        let before = before.trim_end();
        match self.name {
            "is-no" => before.ends_with("there"),
            "error-of-the-mean" => before.ends_with("standard"),
            _ => false,
        }
    }
}

/// Returns whether the word at this place is a whole word and not a part of a longer word.
fn is_word(text: &str, at: usize, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let after = text.get(at + word.len()..).unwrap_or_default();
    !text[..at].ends_with(is_part) && !after.starts_with(is_part)
}

fn is_allowed(rule: &Rule, line: &Line) -> bool {
    ALLOWED.iter().any(|(path, name, around, _)| {
        *path == line.path && *name == rule.name && line.text.to_lowercase().contains(around)
    })
}

/// Returns all lines of prose: pages, comments of programs and of Rust code, and messages.
fn all() -> Vec<Line> {
    let mut lines = pages();
    lines.extend(under("", &["bnn"]).iter().flat_map(comments));
    // The file `words.rs` is left out, because it contains the banned words.
    let rust = under("", &["rs"]);
    for file in rust.iter().filter(|file| file.path != "tests/tests/words.rs") {
        lines.extend(comments(file));
        lines.extend(messages(file));
    }
    lines
}

#[test]
fn prose_has_no_banned_words() {
    let lines = all();
    for kind in [".md:", ".bnn:", ".rs:"] {
        let count = lines.iter().filter(|line| line.place.contains(kind)).count();
        assert!(count > 100, "{count} lines of `{kind}` were found");
    }
    let mut faults = Vec::new();
    for line in &lines {
        for rule in RULES {
            if rule.count(line) > 0 && !is_allowed(rule, line) {
                faults.push(format!(
                    "{}: `{}`, write {}\n    {}",
                    line.place, rule.name, rule.instead, line.text
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn allowed_words_are_there() {
    let lines = all();
    for (path, name, around, reason) in ALLOWED {
        assert!(!reason.is_empty(), "{path} has no reason for `{around}`");
        let rule = RULES
            .iter()
            .find(|rule| rule.name == *name)
            .unwrap_or_else(|| panic!("there is no rule `{name}`"));
        let is_there = |line: &&Line| line.path == *path && rule.count(line) > 0 && is_allowed(rule, line);
        assert!(
            lines.iter().find(is_there).is_some(),
            "{path} has no `{around}` any more"
        );
    }
}

#[test]
fn words_are_found() {
    let line = |text: &str, begins: bool| Line {
        place: String::new(),
        path: String::new(),
        begins,
        text: without_code(text),
    };
    let count = |text: &str, begins: bool| -> usize {
        RULES.iter().map(|rule| rule.count(&line(text, begins))).sum()
    };
    assert_eq!(count("What a program says.", true), 2);
    assert_eq!(count("What is it?", true), 0);
    assert_eq!(count("The lawn is not a flaw of `law`.", false), 1);
    assert_eq!(count("There is no law here, it is no law.", false), 3);
    assert_eq!(count("Returns the number of draws.", true), 0);
    let file = File {
        path: "runtime/x/src/codes.rs".to_owned(),
        text: "/// So many draws.\nfn f() { g(\"it says \\\"so\\\" \\\n  and many faults\") }\n".to_owned(),
    };
    let texts: Vec<String> = messages(&file).into_iter().map(|line| line.text).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("it says \"so\" ") && texts[1].contains("and many faults"));
    assert_eq!(comments(&file).len(), 1);
    assert_eq!(without_link_targets("a [b](law.md) c"), "a [b] c");
}

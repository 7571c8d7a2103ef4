//! Completes commands, names, posterior values, options and file names.

use super::{Session, commands};
use bnnc_abi::method;
use bnnc_driver::stage::Stage;
use bnnc_hir::builtin;
use bnnc_hir::check::data_options;

/// The names in a session at one moment, which are the candidates for completing an entry.
#[derive(Clone, Debug, Default)]
pub struct CompletionTable {
    names: Vec<String>,
    infers: Vec<String>,
    /// The parameters of the inference blocks that have run, such as `fit.beta`.
    parameters: Vec<String>,
}

/// The completions of an entry at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completed {
    /// The candidate words in sorted order. A chosen word replaces the text from this byte of the
    /// line to the cursor.
    Words(usize, Vec<String>),
    /// The word at the cursor is the name of a file.
    File,
}

impl Session {
    /// Returns the names in the session that can complete an entry.
    pub fn completions(&self) -> CompletionTable {
        let mut names: Vec<String> = self.items.names().map(|name| name.to_string()).collect();
        let variables = self.environment.scope.keys().filter(|name| !name.contains('.'));
        names.extend(variables.map(|name| name.to_string()));
        names.extend(builtin::ALL.iter().map(|builtin| builtin.name.to_owned()));
        names.extend(["exit", "help", "quit"].map(str::to_owned));
        let parameters = self.fits.iter().flat_map(|fit| {
            let sites = fit.sites().iter();
            sites.map(|site| format!("{}.{}", fit.name(), site.name))
        });
        CompletionTable {
            names,
            infers: self.infer_names().iter().map(|name| name.to_string()).collect(),
            parameters: parameters.collect(),
        }
    }
}

impl CompletionTable {
    /// Completes an entry at the cursor. `line` is the text between the start of the line and the
    /// cursor. `earlier` holds the previous lines of the entry.
    pub fn complete(&self, earlier: &str, line: &str) -> Completed {
        let start = start(line);
        let word = &line[start..];
        let entry = format!("{earlier}{line}");
        let is_command = entry.trim_start().starts_with(':');
        let candidates: Vec<String> = if is_command {
            match self.arguments(line, word) {
                Some(candidates) => candidates,
                None => return Completed::File,
            }
        } else if line.matches('"').count() % 2 == 1 {
            return Completed::File;
        } else if word.is_empty() {
            options(&entry).unwrap_or_default()
        } else {
            options(&entry).unwrap_or_else(|| self.expressions(word))
        };
        let mut found: Vec<String> = candidates
            .into_iter()
            .filter(|candidate| candidate.starts_with(word))
            .collect();
        found.sort_unstable();
        found.dedup();
        Completed::Words(start, found)
    }

    /// Returns the candidates for a word of a command, or `None` if the word is the name of a file.
    fn arguments(&self, line: &str, word: &str) -> Option<Vec<String>> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if word.is_empty() || line.ends_with(char::is_whitespace) {
            words.push("");
        }
        let of = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<String>>()
        };
        Some(match words.as_slice() {
            [] | [_] => commands::ALL
                .iter()
                .map(|command| format!(":{}", command.name))
                .collect(),
            [":load", ..] | [":predict", _, _, ..] => return None,
            [":run", ..] | [":predict" | ":summary", _] => self.infers.clone(),
            [":emit", _] => of(&Stage::names()),
            [":explain" | ":help" | ":list" | ":quit" | ":exit" | ":reset", ..] => Vec::new(),
            [":plot", ..] => {
                let mut all = self.expressions(word);
                all.extend(of(&["prior", "trace"]));
                all
            }
            _ => self.expressions(word),
        })
    }

    /// Returns the candidates for a word of an expression.
    fn expressions(&self, word: &str) -> Vec<String> {
        match word.contains('.') {
            true => self.parameters.clone(),
            false if word.is_empty() => Vec::new(),
            false => self.names.clone(),
        }
    }
}

/// Returns the byte position at which the last word of a line starts. A word may contain dots, as
/// in the path `fit.beta`. A command starts at its colon.
fn start(line: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let word = line
        .char_indices()
        .rev()
        .take_while(|(_, letter)| is_part(*letter))
        .last()
        .map_or(line.len(), |(at, _)| at);
    match line[..word].trim_start() == ":" {
        true => word - 1,
        false => word,
    }
}

/// Returns the options of an `infer` or `data` item. Returns `None` unless the entry ends inside
/// the braces of the item, at a place where an option may stand.
fn options(entry: &str) -> Option<Vec<String>> {
    let brace = open_brace(entry)?;
    let inside = &entry[brace + 1..];
    let place = inside.rfind([',', '\n']).map_or(0, |at| at + 1);
    if inside[place..].contains('=') || open_bracket(inside) {
        return None;
    }
    let head = entry[..brace]
        .rfind(['}', '\n'])
        .map_or(&entry[..brace], |at| &entry[at + 1..brace]);
    let mut words = head.split_whitespace();
    match words.next()? {
        "infer" => {
            let method = head.split_once('=')?.1.split('(').next()?.trim();
            let options = method::lookup(method)?.options.iter();
            Some(options.map(|option| option.name.to_owned()).collect())
        }
        "data" => Some(data_options::names().map(str::to_owned).collect()),
        _ => None,
    }
}

/// Returns the position of the innermost brace that is open at the end of a text.
fn open_brace(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open.push(at),
            '}' => {
                open.pop();
            }
            _ => {}
        }
    }
    open.pop()
}

/// Returns whether a parenthesis or bracket is open at the end of a text.
fn open_bracket(text: &str) -> bool {
    let count = |letters: [char; 2]| text.matches(letters).count();
    count(['(', '[']) > count([')', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> CompletionTable {
        CompletionTable {
            names: ["tanh", "tan", "fit", "help"].map(str::to_owned).to_vec(),
            infers: vec!["fit".to_owned()],
            parameters: ["fit.beta", "fit.sigma"].map(str::to_owned).to_vec(),
        }
    }

    fn words(earlier: &str, line: &str) -> Vec<String> {
        match table().complete(earlier, line) {
            Completed::Words(_, words) => words,
            Completed::File => vec!["FILE".to_owned()],
        }
    }

    #[test]
    fn words_begin_after_the_last_character_that_is_not_part_of_a_path() {
        assert_eq!(start("1 + ta"), 4);
        assert_eq!(start(":sha"), 0);
        assert_eq!(start(":type Den"), 6);
        assert_eq!(start("w: re"), 3);
        assert_eq!(start("exp(fit.be"), 4);
    }

    #[test]
    fn names_and_parameters_are_completed() {
        assert_eq!(words("", "1 + ta"), ["tan", "tanh"]);
        assert_eq!(words("", "exp(fit."), ["fit.beta", "fit.sigma"]);
        assert_eq!(words("", "fit.s"), ["fit.sigma"]);
        assert_eq!(words("", ":plot prior fit.b"), ["fit.beta"]);
        assert!(words("", "").is_empty());
    }

    #[test]
    fn commands_and_their_arguments_are_completed() {
        assert_eq!(words("", ":su"), [":summary"]);
        assert_eq!(words("", ":summary "), ["fit"]);
        assert_eq!(words("", ":run f"), ["fit"]);
        assert_eq!(words("", ":load exa"), ["FILE"]);
        assert_eq!(words("", ":predict fit new"), ["FILE"]);
        assert_eq!(words("", "data d = csv(\"exa"), ["FILE"]);
    }

    #[test]
    fn options_are_completed_in_braces() {
        let epochs = words("", "infer fit = vi(Q, d) { epo");
        assert_eq!(epochs, ["epochs"]);
        assert!(words("infer fit = nuts(M, d) {\n", "  ").contains(&"draws".to_owned()));
        assert!(words("infer fit = nuts(M, d) {\n", "").contains(&"chains".to_owned()));
        assert_eq!(
            words("infer fit = nuts(M, d) {\n  draws = 10,\n", "  warm"),
            ["warmup"]
        );
        assert!(words("data d = csv(\"x\") {\n", "  ta").contains(&"target".to_owned()));
        // After `=`, the candidates are values.
        assert_eq!(words("", "infer fit = vi(Q, d) { epochs = ta"), ["tan", "tanh"]);
    }
}

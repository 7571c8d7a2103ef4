//! The parameters of functions and the names of public types, read from source text.

use crate::files::File;

/// A parameter of a function whose pattern is a tuple with more than two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidePattern {
    /// The name of the function.
    pub function: String,
    /// The text of the parameter, on one line.
    pub parameter: String,
}

/// Returns the function parameters whose pattern is a tuple of three or more names, or a nested
/// tuple.
pub fn wide_patterns(text: &str) -> Vec<WidePattern> {
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let of_function = |(name, parameters): (&str, Vec<&str>)| {
        let wide = parameters.into_iter().filter(|parameter| is_wide(parameter));
        let pattern = |parameter: &str| WidePattern {
            function: name.to_owned(),
            parameter: parameter.split_whitespace().collect::<Vec<&str>>().join(" "),
        };
        wide.map(pattern).collect::<Vec<WidePattern>>()
    };
    functions(&code).into_iter().flat_map(of_function).collect()
}

fn is_wide(parameter: &str) -> bool {
    let Some(inside) = parameter.strip_prefix('(') else {
        return false;
    };
    let parts = parts(inside);
    parts.len() > 2 || parts.iter().any(|part| part.starts_with('('))
}

/// Returns the functions in a text, with their parameters.
fn functions(code: &str) -> Vec<(&str, Vec<&str>)> {
    let keyword = "fn ";
    let mut found = Vec::new();
    for (at, _) in code.match_indices(keyword) {
        let rest = &code[at + keyword.len()..];
        let Some(end) = rest.find(|letter| !is_of_word(letter)) else {
            continue;
        };
        let (name, rest) = rest.split_at(end);
        let is_function = !code[..at].ends_with(is_of_word);
        if let Some(inside) = rest[generics(rest)..].strip_prefix('(').filter(|_| is_function) {
            found.push((name, parts(inside)));
        }
    }
    found
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the length of the list of generic parameters with which a text begins, or zero if the
/// text does not begin with such a list.
fn generics(text: &str) -> usize {
    match text.strip_prefix('<') {
        Some(inside) => closing(inside).map_or(0, |end| end + 2),
        None => 0,
    }
}

/// Returns the position of the bracket that closes the bracket directly before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            // The `>` of an arrow does not close a bracket.
            '>' if matches!(before, '-' | '=') => {}
            ')' | ']' | '}' | '>' if depth == 0 => return Some(at),
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        before = letter;
    }
    None
}

/// Splits a text at its commas. The text ends at the bracket that closes the bracket directly
/// before it.
fn parts(text: &str) -> Vec<&str> {
    let Some(end) = closing(text) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut rest = &text[..end];
    while !rest.trim().is_empty() {
        let comma = rest
            .match_indices(',')
            .map(|(at, _)| at)
            // A comma inside nested brackets does not separate parts.
            .find(|at| is_balanced(&rest[..*at]));
        let (part, after) = comma.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
        found.push(part.trim());
        rest = after;
    }
    found
}

fn is_balanced(text: &str) -> bool {
    let arrows = text.matches("->").count() + text.matches("=>").count();
    let count = |brackets: &[char]| text.matches(brackets).count();
    count(&['(', '[', '{', '<']) + arrows == count(&[')', ']', '}', '>'])
}

/// Returns the names of the types that a file declares as `pub`. Types in its tests are left out.
pub fn public_types(file: &File) -> Vec<String> {
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = |line: &str| {
        let item = line.trim_start().strip_prefix("pub ")?;
        let rest = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
        let end = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
        // In a macro, a variable may stand where the name is expected.
        (end > 0).then(|| rest[..end].to_owned())
    };
    let lines = file.lines();
    lines.into_iter().filter_map(|(_, line)| name(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::{public_types, wide_patterns};
    use crate::files::File;

    #[test]
    fn tuples_of_three_are_found() {
        let text = "function pair((a, b): (u8, u8), c: (u8, u8, u8)) {}\n\
                    pub function f<'a, T: Fn(u8) -> u8>(x: &'a T, (a, b, // one\n c): (u8, u8, u8)) -> u8 {}\n\
                    function nested(&self, (a, (b, c)): (u8, (u8, u8)), map: Map<u8, u8>) {}\n\
                    function closure(f: &dyn Fn((u8, u8, u8)) -> u8) {}\n";
        // The keyword `fn` is inserted only here, because otherwise this file itself would contain
        // such a function.
        let text = text.replace("function ", "fn ");
        let found: Vec<String> = wide_patterns(&text)
            .into_iter()
            .map(|pattern| format!("{} {}", pattern.function, pattern.parameter))
            .collect();
        assert_eq!(
            found,
            ["f (a, b, c): (u8, u8, u8)", "nested (a, (b, c)): (u8, (u8, u8))"]
        );
    }

    #[test]
    fn public_types_are_found() {
        let text = "pub struct A;\npub(crate) struct B;\n    pub enum C {\npub type D<T> = T;\npub struct $name {\n\
                    #[cfg(test)]\nmod tests {\n    pub trait E {}\n}\n";
        let file = File {
            path: "src/lib.rs".to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(public_types(&file), ["A", "C", "D"]);
    }
}

//! Reads an entry line by line, and detects its end.

use crate::Session;
use bnnc_base::source::SourceMap;
use bnnc_grammar::lexer;
use bnnc_grammar::token::Token;

/// The lines of an entry so far.
///
/// Only parsing all lines can show that an entry is complete. However, an entry with an open
/// bracket, or with an operator at its end, is certainly incomplete. These fast checks come first,
/// so that the whole entry is not parsed after most lines of a long entry.
#[derive(Debug, Default)]
pub struct PendingEntry {
    text: String,
    /// The number of opening brackets minus the number of closing brackets.
    open: isize,
    /// True after an operator that needs a right-hand side.
    lacks_operand: bool,
    /// True if the last token is a dot. In `hidden.*`, the star after the dot does not need a
    /// right-hand side.
    is_after_dot: bool,
    /// True after a lexical error. The erroneous token may continue in the next line.
    has_errors: bool,
    is_unfinished: bool,
}

impl PendingEntry {
    /// Returns the text of all lines so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a line. The line includes its line end. Returns whether the entry needs more lines.
    pub fn push(&mut self, line: &str) -> bool {
        self.text.push_str(line);
        self.is_unfinished = self.is_open_after(line) || Session::is_unfinished(&self.text);
        self.is_unfinished
    }

    /// Scans the tokens of the last line. Returns `true` if the tokens prove that more lines must
    /// follow, and `false` otherwise.
    fn is_open_after(&mut self, line: &str) -> bool {
        let source = SourceMap::default().add("entry", line);
        let lexed = lexer::lex(&source);
        self.has_errors |= !lexed.diagnostics.is_empty() || line.contains("/*");
        for (_, token, _) in &lexed.tokens {
            let is_glob = self.is_after_dot && *token == Token::Star;
            // A keyword is not treated as an operator, because it may be the name of an option.
            self.lacks_operand = !(token.ends_value() || token.is_keyword() || is_glob);
            self.is_after_dot = *token == Token::Dot;
            self.open += isize::from(token.is_opener()) - isize::from(token.is_closer());
        }
        let is_command = self.text.trim_start().starts_with(':');
        let is_blank = lexed.tokens.is_empty();
        let is_open = self.open > 0 || self.lacks_operand || (is_blank && self.is_unfinished);
        is_open && !is_command && !self.has_errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_if_their_text_is() {
        for text in [
            "model M() -> y: real {\n  a ~ Normal(0, 1)\n\n  y ~ Normal(a, 1)\n}\n",
            "model M()\n\n-> y: real {\n}\n",
            "infer f = map(M, d) {\n  loss = data\n}\n",
            "if a { b }\nelse\n{ c }\n",
            "1 +\n\n// two\n2\n",
            "hidden.\n*\n",
            "a *\nb\n",
            "f(1, // )\n2)\n",
            "x = \"(\"\n",
            "f(\"\n)\n",
            "f( /* (\n) */ 1\n",
            ":type (\n",
            "\n",
        ] {
            let (mut pending, mut whole) = (PendingEntry::default(), String::new());
            for line in text.split_inclusive('\n') {
                whole.push_str(line);
                assert_eq!(pending.push(line), Session::is_unfinished(&whole), "{whole}");
            }
            assert_eq!(pending.text(), text);
        }
    }
}
